"""What a store knows of cases and runs."""

from __future__ import annotations

import platform
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopyard import _core

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from hopyard.scenario.plan import Planned

#: Numbers of runs are below this one.
MOST_RUN = 2**32
#: The most runs of a case that can be asked for.
MOST_ASKED = 10_000_000
#: What a run may record beyond series, as a store names it among the quantities of the run: changes
#: of the routes of flows, those of all nodes, the paths of packets, the events of hosts that move
#: between networks, and the segments of all flows
#: or of one, such as "segments=3".
ROUTES = ("routes=flows", "routes=all")
PATHS = "paths"
MOBILE_EVENTS = "mobile_events"
SEGMENTS = "segments="
ALL_SEGMENTS = f"{SEGMENTS}all"
_RECORDED = re.compile(
    rf"{'|'.join((*ROUTES, PATHS, MOBILE_EVENTS, ALL_SEGMENTS))}|{SEGMENTS}[0-9]{{1,10}}"
)


@dataclass(frozen=True, slots=True)
class Kept:
    """A run that is in the store."""

    version: str
    platform: str
    state: str
    digest: str | None
    quantities: frozenset[str]
    interval: str
    #: The files of its large tables, in the folder, by the table's name.
    files: dict[str, str]
    #: Whether the store has as many rows of it as were added.
    whole: bool


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a run of a case; times are in seconds."""

    case: int
    config: str
    seed: int
    run: int
    version: str
    build: str
    platform: str
    #: When it ended, in UTC.
    ended: str
    wall_s: float | None
    cpu_s: float | None
    state: str
    digest: str | None
    error: str | None
    #: The files of its large tables, in the folder, by the table's name.
    files: dict[str, str]
    quantities: tuple[str, ...]
    interval: str
    #: How many rows each table has of it; not known of a run that was stored by an earlier version.
    rows: dict[str, int] | None

    @classmethod
    def of(cls, run: _core.Run, case: Planned) -> Record:
        """What is known of a run that has just ended here."""
        return cls(
            run.case,
            *case.key,
            run.run,
            _core.__version__,
            _core.BUILD,
            here() + kernel_of(case),
            time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            run.wall_s,
            run.cpu_s,
            "done" if run.error is None else "failed",
            run.digest,
            run.error,
            {},
            case.observed,
            case.interval,
            None,
        )


def kernel_of(case: Planned) -> str:
    """What the platform of a case's runs says of a kernel; nothing if it needs none.

    Raises:
        ValueError: when the kernel is not built, or cannot be used.
    """
    if case.core.linux is None:
        return ""
    from hopyard.kernels.use import named

    return named(case.core)


@dataclass(frozen=True, slots=True)
class Maker:
    """What has made runs that are in the store."""

    version: str
    #: The identity of the build; empty where the run was stored before there was one.
    build: str
    platform: str
    runs: int

    @property
    def name(self) -> str:
        """The version with the build."""
        return f"{self.version} (build {self.build or 'unknown'})"


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A case that is in the store."""

    number: int
    scenario: str
    file: str | None
    settings: dict[str, str]
    config: str
    seed: int
    #: The numbers of the runs that were asked for.
    runs: Sequence[int]
    series: tuple[str, ...]
    interval: str


def here() -> str:
    """This platform, as the store calls it."""
    return f"{platform.system()} {platform.machine()}"


def is_recorded(name: str) -> bool:
    """Whether a name among the quantities of a run is no series, but something else."""
    return _RECORDED.fullmatch(name) is not None


def has_all(kept: Collection[str], wanted: Iterable[str]) -> bool:
    """Whether a run that has recorded `kept` lacks nothing of what is wanted."""
    every = ALL_SEGMENTS in kept
    return all(name in kept or (every and name.startswith(SEGMENTS)) for name in wanted)


def write_numbers(numbers: Iterable[int]) -> str:
    """Numbers of runs as text, such as "0..4,7"."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(f"{first}..{last}" if last > first else f"{first}" for first, last in parts)


def read_numbers(text: str) -> Sequence[int]:
    """The numbers that `write_numbers` has written.

    Raises:
        ValueError: when the text is another one.
    """
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("..")
        numbers = range(int(first), int(last or first) + 1)
        if not (numbers and 0 <= numbers[0] <= numbers[-1] < MOST_RUN) or len(numbers) > MOST_ASKED:
            raise ValueError(f"expected numbers of runs, found {part!r}")
        found += numbers
    return found
