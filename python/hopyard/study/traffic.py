"""The flows of a scenario, counted from its keys."""

from __future__ import annotations

import math
from typing import Any


def drawn(document: dict[str, Any]) -> int:
    """The number of flows between drawn pairs."""
    sets = document.get("flows") or ()
    nodes = int((document.get("nodes") or {}).get("count", 0))
    return sum(
        # 0.29 of 100 nodes is a little less than 29 in binary digits.
        int(each.get("random", 0)) or math.floor(float(each.get("share", 0)) * nodes + 1e-9)
        for each in ([sets] if isinstance(sets, dict) else sets)
    )


def flows_of(document: dict[str, Any]) -> int:
    """The number of all flows."""
    return len(document.get("flow") or ()) + drawn(document)
