"""The flows of scenarios: how many there are, and how many the receiver's window holds back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hopyard.tables.arrays import floats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopyard.store.reading import Reader
    from hopyard.study.points import Point

#: A mean congestion window, as a share of the receiver's, that is at this limit most of the time.
AT_LIMIT = 0.9


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


def at_window(points: Sequence[Point], documents: Sequence[dict[str, Any]], store: Reader) -> tuple[int, str]:
    """How many flows have a mean congestion window at `tcp.window`, and that in words.

    There are no words where no run has a flow of TCP.
    """
    limited = flows = 0
    where = None
    for point, document in zip(points, documents, strict=True):
        # The receiver's window, in segments.
        most = (document.get("tcp") or {}).get("window", math.inf)
        for part in point.all:
            means = floats(store.rows_of("flows", *part.key), "cwnd_mean")
            means = means[~np.isnan(means)]
            mine = int(np.count_nonzero(means >= AT_LIMIT * most))
            limited, flows = limited + mine, flows + means.size
            where = where or (point if mine else None)
    if not flows:
        return 0, ""
    if not limited:
        return 0, "tcp.window limits no flow most of the time"
    return limited, (
        f"{100 * limited / flows:.0f} % of the flows of all runs have a mean congestion window of "
        f"at least {100 * AT_LIMIT:.0f} % of tcp.window, which limits them then, as at {where}"
    )
