"""What a run's flows and nodes say together: the measures that tables and plots show.

Each measure is one number a run, made from the run's rows; runs are then replications.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
#: From a table, the number of each row's run, and the number of runs: one value a run.
Reduction: TypeAlias = "Callable[[pa.Table, Integers, int], Floats]"


@dataclass(frozen=True, slots=True)
class Measure:
    """One number a run, in `unit`, made from the rows of `table`; NaN for a run that has none."""

    name: str
    title: str
    unit: str
    of_runs: Reduction
    table: str = "flows"

    @property
    def label(self) -> str:
        """The title with its unit, for a column or an axis."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


def _column(table: pa.Table, name: str) -> Floats:
    """A column as floating-point numbers, NaN where there is no value."""
    # `to_numpy` would do, but imports pandas where there is one, which takes longer than all else.
    column = table[name].cast("float64").fill_null(np.nan).combine_chunks()
    return np.asarray(np.from_dlpack(column), dtype=np.float64)


def integers(table: pa.Table, name: str) -> Integers:
    """A column of whole numbers, all of which have a value."""
    return np.asarray(np.from_dlpack(table[name].cast("int64").combine_chunks()), dtype=np.int64)


def _sum(values: Floats, group: Integers, runs: int) -> Floats:
    sums = np.zeros(runs)
    np.add.at(sums, group, np.nan_to_num(values))
    return sums


def _total(name: str) -> Reduction:
    return lambda rows, group, runs: _sum(_column(rows, name), group, runs)


def _percent(part: str, whole: str) -> Reduction:
    def of_runs(rows: pa.Table, group: Integers, runs: int) -> Floats:
        parts = _sum(_column(rows, part), group, runs)
        return 100 * _divide(parts, _sum(_column(rows, whole), group, runs))

    return of_runs


def _mean(name: str, weight: str) -> Reduction:
    """The mean of a column, each row counting for as much as its `weight`."""

    def of_runs(rows: pa.Table, group: Integers, runs: int) -> Floats:
        weights = _column(rows, weight)
        sums = _sum(_column(rows, name) * weights, group, runs)
        return _divide(sums, _sum(weights, group, runs))

    return of_runs


def _jain(rows: pa.Table, group: Integers, runs: int) -> Floats:
    """Jain, Chiu and Hawe (1984): 1 when all flows get the same, 1/n when one gets everything."""
    goodput = _column(rows, "goodput_kbps")
    flows = _sum(np.ones_like(goodput), group, runs)
    total, squares = _sum(goodput, group, runs), _sum(goodput**2, group, runs)
    return _divide(total**2, flows * squares)


def _divide(parts: Floats, wholes: Floats) -> Floats:
    quotients = np.full(parts.shape, np.nan)
    np.divide(parts, wholes, out=quotients, where=wholes > 0)
    return quotients


#: Every measure, by name. Rates are sums over the flows.
MEASURES = {
    measure.name: measure
    for measure in (
        Measure("goodput", "Goodput", "kbit/s", _total("goodput_kbps")),
        Measure("throughput", "Throughput", "kbit/s", _total("throughput_kbps")),
        Measure("payload", "Payload rate", "kbit/s", _total("payload_kbps")),
        Measure("delay", "Delay", "ms", _mean("delay_ms", "packets_arrived")),
        Measure(
            "application_delay",
            "Application delay",
            "ms",
            _mean("application_delay_ms", "packets_unique"),
        ),
        Measure("loss", "Loss", "%", _percent("packets_dropped", "packets_sent")),
        Measure("loss_ns2", "Loss as ns-2 scripts count", "%", _total("loss_ns2_percent")),
        Measure("retransmitted", "Resent", "%", _percent("retransmissions", "packets_sent")),
        Measure("timeouts", "Timeouts", "", _total("timeouts")),
        Measure("fast_retransmits", "Fast retransmits", "", _total("fast_retransmits")),
        Measure("hops", "Hops", "", _mean("hops", "packets_arrived")),
        Measure("route_changes", "Route changes", "", _total("route_changes")),
        Measure("fairness", "Fairness", "", _jain),
        Measure("routing", "Routing packets", "", _total("routing_packets"), "nodes"),
        Measure("collisions", "Collisions", "", _total("collisions"), "nodes"),
    )
}
#: The measures of a summary.
SHOWN = ("goodput", "delay", "loss", "retransmitted", "timeouts", "hops")
