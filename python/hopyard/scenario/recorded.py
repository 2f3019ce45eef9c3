"""What a run records beside series, by the names that a store has for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

#: What a run may record beyond series, as a store names it among the quantities of the run: changes
#: of the routes of flows, those of all nodes, changes of the rates of links, the paths of packets,
#: the events of hosts that move between networks, and the segments of all flows or of one, such as
#: "segments=3".
ROUTES = ("routes=flows", "routes=all")
RATES = "rates"
PATHS = "paths"
MOBILE_EVENTS = "mobile_events"
SEGMENTS = "segments="
ALL_SEGMENTS = f"{SEGMENTS}all"
_RECORDED = re.compile(rf"{'|'.join((*ROUTES, RATES, PATHS, MOBILE_EVENTS, ALL_SEGMENTS))}|{SEGMENTS}[0-9]{{1,10}}")


def is_recorded(name: str) -> bool:
    """Whether a name among the quantities of a run is no series, but something else."""
    return _RECORDED.fullmatch(name) is not None


def has_all(kept: Collection[str], wanted: Iterable[str]) -> bool:
    """Whether a run that has recorded `kept` lacks nothing of what is wanted."""
    every = ALL_SEGMENTS in kept
    return all(name in kept or (every and name.startswith(SEGMENTS)) for name in wanted)
