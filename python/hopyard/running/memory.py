"""The memory that runs need, against a limit that the system sets."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopyard.scenario.plan import Planned


def check(cases: Sequence[Planned], threads: int) -> None:
    """Refuses runs that cannot have the memory that they need: the system would end the process.

    What a run needs is known as a lower bound. A run that needs more may still be ended.

    Raises:
        ValueError: when a limit on the address space (`ulimit -v`) leaves less than that.
    """
    room = _room()
    if room is None:
        return
    at_a_time = threads or os.cpu_count() or 1
    each = sorted(((case.core.memory, case) for case in cases if case.runs), key=lambda pair: pair[0], reverse=True)
    needs = [memory for memory, case in each for _ in range(min(len(case.runs), at_a_time))]
    needed = sum(needs[:at_a_time])
    if needed > room:
        largest = each[0][1]
        raise ValueError(
            f"{largest.scenario}: {min(len(needs), at_a_time)} runs at a time need at least "
            f"{needed / 1e9:.1f} GB of memory, and a limit of the system (ulimit -v) leaves "
            f"{max(room, 0) / 1e9:.1f} GB: expected fewer nodes or flows, fewer jobs, "
            "or a higher limit"
        )


def _room() -> int | None:
    """The bytes by which the process may grow; none if there is no limit, or it is not known."""
    if sys.platform == "win32":
        return None
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        return limit - pages * resource.getpagesize()
    except (ImportError, OSError):
        return None
