"""What a TCP sender computes, in instructions: the events of a run, each at its measured cost.

The costs stand in `computation.csv`, which `make computation` makes anew from this project's own
code: they compare variants, and say nothing of the code of another system.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np

from hopyard.tables.arrays import floats

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from hopyard.tables.arrays import Floats

#: A table's columns of events, and what each costs.
EVENTS = {
    "acks_slow_start": "ack_slow_start",
    "acks_avoidance": "ack_avoidance",
    "acks_recovery": "ack_recovery",
    "segments_slow_start": "segment",
    "segments_avoidance": "segment",
    "segments_recovery": "segment",
    "timeouts": "timeout",
}
#: The events of each phase. A timeout begins slow start.
PHASES = {
    "slow_start": ("acks_slow_start", "segments_slow_start", "timeouts"),
    "avoidance": ("acks_avoidance", "segments_avoidance"),
    "recovery": ("acks_recovery", "segments_recovery"),
}
#: All acknowledgements, in whatever phase.
ACKS = ("acks_slow_start", "acks_avoidance", "acks_recovery")
#: An event that a variant did not have in the measurement costs as much as NewReno's.
REFERENCE = "newreno"


@cache
def costs() -> Mapping[str, Mapping[str, float]]:
    """For each TCP variant the instructions of each kind of event."""
    text = (resources.files("hopyard.tables") / "computation.csv").read_text(encoding="utf-8")
    rows = {row.pop("variant"): row for row in csv.DictReader(text.splitlines())}
    reference = rows[REFERENCE]
    return {
        variant: {event: float(cost or reference[event]) for event, cost in row.items()}
        for variant, row in rows.items()
    }


def instructions(flows: pa.Table, part: str | None = None) -> Floats:
    """The instructions of each flow's sender, in millions; of one part of them if it is named.

    A sender that the table does not know, such as UDP or a rule written in Python, has none (NaN).

    Args:
        flows: the table of flows.
        part: a phase (`slow_start`, `avoidance` or `recovery`), or `acks`, those of all phases.
    """
    known = costs()
    variants = flows["transport"].to_pylist()
    total = np.zeros(len(variants))
    for column in EVENTS if part is None else {**PHASES, "acks": ACKS}[part]:
        each = [known.get(name, {}).get(EVENTS[column], np.nan) for name in variants]
        total += np.asarray(each) * floats(flows, column)
    return total / 1e6
