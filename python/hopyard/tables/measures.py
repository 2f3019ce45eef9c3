"""The measures that tables and plots show.

Each measure is one number a run, made from the run's rows; runs are then replications.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hopyard.scenario import catalogue
from hopyard.tables.arrays import floats, integers, values, where

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from hopyard.tables.arrays import Floats, Integers

#: From a table, the number of each row's run, and the number of runs: one value a run.
Reduction: TypeAlias = "Callable[[pa.Table, Integers, int], Floats]"


@dataclass(frozen=True, slots=True)
class Measure:
    """One number a run, in `unit`, made from the rows of `table`; NaN for a run that has none."""

    name: str
    title: str
    unit: str
    of_runs: Reduction
    #: Its definition, in one or two sentences.
    meaning: str
    table: str = "flows"
    #: Whether it says something of a single flow, too.
    of_a_flow: bool = True
    #: The label of the flows that it is about; empty for the flows of the scenario, without answers to them.
    flows: str = ""
    #: The value of each row that has one, if the measure is the mean of the times of objects.
    of_rows: Callable[[pa.Table], Floats] | None = None

    @property
    def label(self) -> str:
        """The title with its unit, for a column or an axis."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


def _sum(values: Floats, group: Integers, runs: int) -> Floats:
    sums = np.zeros(runs)
    np.add.at(sums, group, np.nan_to_num(values))
    return sums


def _total(name: str) -> Reduction:
    return lambda rows, group, runs: _sum(floats(rows, name), group, runs)


def _total_if_known(name: str) -> Reduction:
    """As `_total`; NaN for a run of which a row has no value in the column."""

    def of_runs(rows: pa.Table, group: Integers, runs: int) -> Floats:
        sums = np.zeros(runs)
        np.add.at(sums, group, floats(rows, name))
        return sums

    return of_runs


def _percent(part: str, whole: str) -> Reduction:
    def of_runs(rows: pa.Table, group: Integers, runs: int) -> Floats:
        parts = _sum(floats(rows, part), group, runs)
        return 100 * _divide(parts, _sum(floats(rows, whole), group, runs))

    return of_runs


def _delivered(rows: pa.Table, group: Integers, runs: int) -> Floats:
    sent, again, unique = (
        _sum(floats(rows, name), group, runs) for name in ("packets_sent", "retransmissions", "packets_unique")
    )
    return 100 * _divide(unique, sent - again)


def _ratio(parts: tuple[str, ...], whole: str) -> Reduction:
    def of_runs(rows: pa.Table, group: Integers, runs: int) -> Floats:
        sums = sum(_sum(floats(rows, part), group, runs) for part in parts)
        return _divide(np.asarray(sums), _sum(floats(rows, whole), group, runs))

    return of_runs


def _per_second(parts: tuple[str, ...], factor: float = 1.0) -> Reduction:
    """Counts of the nodes, per second of simulated time, which each row has."""

    def of_runs(rows: pa.Table, group: Integers, runs: int) -> Floats:
        seconds = floats(rows, "simulated_s")
        rates = [_divide(floats(rows, part), seconds) for part in parts]
        return factor * _sum(np.asarray(sum(rates)), group, runs)

    return of_runs


def _quantile(name: str, share: float, *, pages: bool) -> Reduction:
    """A quantile of a column of objects, of all that have a value; NaN for a run without any."""

    def of_runs(rows: pa.Table, group: Integers, runs: int) -> Floats:
        times, group = _of_objects(rows, group, name, pages=pages)
        found = np.full(runs, np.nan)
        for run in np.unique(group):
            found[run] = np.quantile(times[group == run], share)
        return found

    return of_runs


def _mean_of_objects(name: str, factor: float = 1.0, *, pages: bool) -> Reduction:
    def of_runs(rows: pa.Table, group: Integers, runs: int) -> Floats:
        times, group = _of_objects(rows, group, name, pages=pages)
        return factor * _divide(_sum(times, group, runs), _sum(np.ones_like(times), group, runs))

    return of_runs


def _of_objects(rows: pa.Table, group: Integers, name: str, *, pages: bool) -> tuple[Floats, Integers]:
    """The values of a column that pages have, or other objects, and the run of each."""
    times = floats(rows, name)
    chosen = ~np.isnan(times) & ((np.asarray(values(rows["kind"]), dtype=object) == "page") == pages)
    return times[chosen], group[chosen]


def _times(rows: pa.Table, *, pages: bool) -> Floats:
    return _of_objects(rows, np.zeros(len(rows), dtype=np.int64), "delivery_ms", pages=pages)[0]


def _present(name: str, of_runs: Reduction) -> Reduction:
    """As `of_runs`; NaN for a run of which no row has a value in the column `name`."""

    def of_present(rows: pa.Table, group: Integers, runs: int) -> Floats:
        known = _sum(np.isfinite(floats(rows, name)).astype(float), group, runs)
        return np.where(known > 0, of_runs(rows, group, runs), np.nan)

    return of_present


def _energy_per_bit(*parts: str) -> Reduction:
    def of_runs(rows: pa.Table, group: Integers, runs: int) -> Floats:
        energy = sum(_sum(floats(rows, part), group, runs) for part in parts)
        return _divide(np.asarray(energy), 8 * _sum(floats(rows, "data_bytes"), group, runs))

    return _present(parts[0], of_runs)


def _in_vain(rows: pa.Table, group: Integers, runs: int) -> Floats:
    names = ("energy_useful_j", "energy_in_vain_j", "energy_under_way_j")
    useful, in_vain, under_way = (_sum(floats(rows, name), group, runs) for name in names)
    return 100 * _divide(in_vain, useful + in_vain + under_way)


def _least(name: str) -> Reduction:
    def of_runs(rows: pa.Table, group: Integers, runs: int) -> Floats:
        least = np.full(runs, np.inf)
        np.fmin.at(least, group, floats(rows, name))
        return np.where(np.isfinite(least), least, np.nan)

    return of_runs


def _share(name: str) -> Reduction:
    """The share of the rows with a value in a column."""

    def of_runs(rows: pa.Table, group: Integers, runs: int) -> Floats:
        known = np.isfinite(floats(rows, name)).astype(float)
        return 100 * _divide(_sum(known, group, runs), _sum(np.ones_like(known), group, runs))

    return of_runs


def _repeated(rows: pa.Table, group: Integers, runs: int) -> Floats:
    """Packets with a repeated visit; NaN for a run without paths."""
    packets, repeats = floats(rows, "packets"), floats(rows, "repeats")
    found = _sum(packets * (repeats > 0), group, runs)
    return np.where(_sum(packets, group, runs) > 0, found, np.nan)


def _mean(name: str, weight: str) -> Reduction:
    """The mean of a column, weighted by the column `weight`."""

    def of_runs(rows: pa.Table, group: Integers, runs: int) -> Floats:
        weights = floats(rows, weight)
        sums = _sum(floats(rows, name) * weights, group, runs)
        return _divide(sums, _sum(weights, group, runs))

    return of_runs


def _computed(part: str | None) -> Reduction:
    """Millions of instructions of the senders; NaN for a run that has none whose cost is known."""

    def of_runs(rows: pa.Table, group: Integers, runs: int) -> Floats:
        from hopyard.tables.computation import instructions

        found = instructions(rows, part)
        known = _sum(~np.isnan(found), group, runs)
        return np.where(known > 0, _sum(found, group, runs), np.nan)

    return of_runs


def _jain(rows: pa.Table, group: Integers, runs: int) -> Floats:
    """Jain, Chiu and Hawe (1984): 1 if all flows have the same goodput, 1/n if only one has any."""
    goodput = floats(rows, "goodput_kbps")
    flows = _sum(np.ones_like(goodput), group, runs)
    total, squares = _sum(goodput, group, runs), _sum(goodput**2, group, runs)
    return _divide(total**2, flows * squares)


def _divide(parts: Floats, wholes: Floats) -> Floats:
    quotients = np.full(parts.shape, np.nan)
    np.divide(parts, wholes, out=quotients, where=wholes > 0)
    return quotients


_OBJECTS: dict[str, Any] = {"table": "objects", "of_a_flow": False}
_NODES: dict[str, Any] = {"table": "nodes", "of_a_flow": False}
#: Every measure, by name. Rates and counts are sums over the flows, or over the nodes.
MEASURES = {
    measure.name: measure
    for measure in (
        Measure(
            "goodput",
            "Goodput",
            "kbit/s",
            _total("goodput_kbps"),
            "Payload that the applications received in order, each byte once, per second of the "
            "measuring window; the sum over the flows.",
        ),
        Measure(
            "throughput",
            "Throughput",
            "kbit/s",
            _total("throughput_kbps"),
            "IP bytes (including headers) of the data packets that reached their destinations, "
            "including duplicates, per second of the measuring window; the sum over the flows.",
        ),
        Measure(
            "payload",
            "Payload rate",
            "kbit/s",
            _total("payload_kbps"),
            "Payload of the data packets that reached their destinations for the first time, in "
            "order or not, per second of the measuring window; the sum over the flows.",
        ),
        Measure(
            "delay",
            "Delay",
            "ms",
            _mean("delay_ms", "packets_arrived"),
            "Mean time from the source to the destination, over the data packets that arrived. A "
            "retransmission is a separate packet.",
        ),
        Measure(
            "application_delay",
            "Application delay",
            "ms",
            _mean("application_delay_ms", "packets_unique"),
            "Mean time from the first transmission of payload to its delivery to the application "
            "in order. It includes the wait for retransmissions, and not the time that data wait "
            "at the source before, after the application has written them.",
        ),
        *(
            Measure(
                f"delay_p{percent}",
                f"Delay, {words}",
                "ms",
                _mean(f"delay_p{percent}_ms", "packets_arrived"),
                f"{words.capitalize()} of the delays of the data packets that arrived, of each "
                "flow; the mean over the flows, weighted by their packets.",
            )
            for percent, words in ((50, "median"), (95, "95th percentile"), (99, "99th percentile"))
        ),
        Measure(
            "jitter",
            "Jitter",
            "ms",
            _mean("jitter_ms", "packets_arrived"),
            "Mean difference, without its sign, of the delays of two data packets that arrived one "
            "after the other (D in RFC 3550 §6.4.1); the mean over the flows, weighted by their "
            "packets.",
        ),
        Measure(
            "delivery_ratio",
            "Delivery ratio",
            "%",
            _delivered,
            "Data packets that arrived for the first time, as a share of those sent for the first "
            "time. In a measuring window it can be more than 100 %: packets may have been sent "
            "before.",
        ),
        Measure(
            "loss",
            "Loss",
            "%",
            _percent("packets_dropped", "packets_sent"),
            "Data packets lost in the network, each counted once however many copies of it were "
            "dropped, as a share of the data packets sent.",
        ),
        Measure(
            "loss_ns2",
            "Loss (ns-2)",
            "%",
            _total("loss_ns2_percent"),
            "Data packets dropped, and those in interface queues at the end, as a share of all "
            "packets that ns-2 would number. Scripts for ns-2's traces use this definition. Each copy "
            "of a packet that is dropped counts, so it can be more than 100 %.",
        ),
        Measure(
            "retransmitted",
            "Resent",
            "%",
            _percent("retransmissions", "packets_sent"),
            "Retransmitted data packets, as a share of the data packets sent.",
        ),
        Measure(
            "timeouts",
            "Timeouts",
            "",
            _total_if_known("timeouts"),
            "How often retransmission timers expired; the sum over the flows.",
        ),
        Measure(
            "fast_retransmits",
            "Fast retransmits",
            "",
            _total_if_known("fast_retransmits"),
            "How often a sender entered recovery without a timeout; the sum over the flows.",
        ),
        Measure(
            "hops",
            "Hops",
            "",
            _mean("hops", "packets_arrived"),
            "Mean number of hops of the data packets that arrived.",
        ),
        Measure(
            "route_changes",
            "Route changes",
            "",
            _total("route_changes"),
            "How often a source's route to its destination changed in next hop or in length; the sum over the flows.",
        ),
        *(
            Measure(
                f"computation{suffix}",
                f"Computation{words}",
                "M instructions",
                _computed(part),
                f"What the TCP senders compute{words}: their events, each at its measured cost; "
                "the sum over the flows.",
            )
            for suffix, words, part in (
                ("", "", None),
                ("_slow_start", " in slow start", "slow_start"),
                ("_avoidance", " in congestion avoidance", "avoidance"),
                ("_recovery", " in recovery", "recovery"),
                ("_acks", " for acknowledgements", "acks"),
            )
        ),
        *(
            Measure(
                f"{name}_time{suffix}",
                f"{title} time{words and ', '}{words}",
                "ms",
                _mean_of_objects("delivery_ms", pages=pages)
                if share is None
                else _quantile("delivery_ms", share, pages=pages),
                f"{words.capitalize() or 'Mean'} of the times {meaning}",
                of_rows=partial(_times, pages=pages) if share is None else None,
                **_OBJECTS,
            )
            for name, title, pages, meaning in (
                (
                    "delivery",
                    "Delivery",
                    False,
                    "from the write of an object (message or request) to its delivery, of the objects "
                    "that were delivered. Answers are objects of a flow of their own.",
                ),
                ("page", "Page", True, "from the first request of a page to the last byte of its last answer."),
            )
            for suffix, words, share in (
                ("", "", None),
                ("_p50", "median", 0.5),
                ("_p95", "95th percentile", 0.95),
                ("_p99", "99th percentile", 0.99),
            )
        ),
        *(
            Measure(
                f"{name}_in_time",
                f"{title} in time",
                "%",
                _mean_of_objects("in_time", 100, pages=pages),
                f"Those delivered within their deadline, as a share of all {what} with one whose fate was "
                "known at the end.",
                **_OBJECTS,
            )
            for name, title, what, pages in (
                ("objects", "Objects", "messages", False),
                ("pages", "Pages", "pages", True),
            )
        ),
        Measure(
            "objects_delivered",
            "Objects delivered",
            "%",
            _present("bytes", _share("delivered_s")),
            "Objects that were delivered (messages, requests, pages), as a share of those that were written.",
            **_OBJECTS,
        ),
        Measure(
            "fairness",
            "Fairness",
            "",
            _jain,
            "Jain's index of the flows' goodputs: 1 if all flows have the same goodput, 1/n if "
            "only one of n flows has any.",
            of_a_flow=False,
        ),
        Measure(
            "routing",
            "Routing packets",
            "",
            _total("routing_packets"),
            "Packets of the routing protocol, counted at each hop; the sum over the nodes.",
            **_NODES,
        ),
        Measure(
            "routing_packets_per_second",
            "Routing packets/s",
            "1/s",
            _per_second(("routing_packets",)),
            "Packets of the routing protocol, counted at each hop, per second of the run; the sum over the nodes.",
            **_NODES,
        ),
        Measure(
            "routing_rate",
            "Routing rate",
            "kbit/s",
            _per_second(("routing_bytes", "piggybacked_bytes"), 0.008),
            "IP bytes of the routing protocol, counted at each hop, per second of the run: of its "
            "packets, and of what it puts into others, such as source routes.",
            **_NODES,
        ),
        Measure(
            "normalised_routing_load",
            "Routing load",
            "",
            _ratio(("routing_packets",), "data_packets"),
            "Packets of the routing protocol, counted at each hop, per data packet that arrived "
            "for the first time; over the whole run.",
            **_NODES,
        ),
        Measure(
            "routing_bytes_per_byte",
            "Routing bytes/byte",
            "",
            _ratio(("routing_bytes", "piggybacked_bytes"), "data_bytes"),
            "IP bytes of the routing protocol, counted at each hop, in its packets and in others, "
            "per byte of payload that applications received in order; over the whole run.",
            **_NODES,
        ),
        Measure(
            "looped_packets",
            "Looped packets",
            "",
            _repeated,
            "Data packets that visited a node twice, delivered or dropped; the sum over the flows. "
            "It needs `measure.paths`.",
            table="paths",
        ),
        Measure(
            "collisions",
            "Collisions",
            "",
            _total("collisions"),
            "Frames that a radio could not decode because of other frames; the sum over the nodes.",
            **_NODES,
        ),
        Measure(
            "energy",
            "Energy",
            "J",
            _present("energy_j", _total("energy_j")),
            "Energy that the radios took, over the whole run; the sum over the nodes. It needs "
            "`energy.model`, as all measures of energy do.",
            **_NODES,
        ),
        Measure(
            "energy_per_bit",
            "Energy/bit",
            "J/bit",
            _energy_per_bit("energy_j"),
            "Energy that the radios of all nodes took, per bit of payload that applications "
            "received in order; over the whole run.",
            **_NODES,
        ),
        Measure(
            "energy_per_bit_without_idle",
            "Energy/bit, no idle",
            "J/bit",
            _energy_per_bit("energy_send_j", "energy_hear_j"),
            "As `energy_per_bit`, without the energy that radios took while they were idle.",
            **_NODES,
        ),
        Measure(
            "energy_in_vain",
            "Energy in vain",
            "%",
            _present("energy_in_vain_j", _in_vain),
            "`energy_in_vain_j` as a share of the energy that the packets of flows took; over the whole run.",
        ),
        Measure(
            "first_death",
            "First death",
            "s",
            _least("battery_empty_s"),
            "When the first battery of the run became empty; no value if none did.",
            **_NODES,
        ),
        Measure(
            "dead",
            "Dead nodes",
            "%",
            _present("energy_j", _share("battery_empty_s")),
            "Nodes whose battery became empty, as a share of all nodes.",
            **_NODES,
        ),
    )
}
#: The measures of a table and of a summary, unless others are chosen.
SHOWN = ("goodput", "delay", "loss", "retransmitted", "timeouts", "hops")


def check(names: str | Iterable[str]) -> tuple[str, ...]:
    """The measures that are named: `"goodput,delay"` or a sequence of names, each kept once.

    `goodput[video]` is the goodput of the flows with the label `video`.

    Raises:
        ValueError: when there is no such measure, or none is named; the message has the nearest
            name and lists all of them; or when a measure with a label is not one of flows.
    """
    chosen = _chosen(names, MEASURES, "measure")
    for name in chosen:
        base, label = _parts(name)
        if label is not None and not label:
            raise ValueError(f"{name!r}: expected a label of flows between the brackets")
        if label is not None and MEASURES[base].table not in ("flows", "objects"):
            able = ", ".join(name for name, each in MEASURES.items() if each.table in ("flows", "objects"))
            raise ValueError(f"{base!r} is not a measure of flows, as {name!r} needs; those: {able}")
    return chosen


def named(name: str) -> Measure:
    """The measure of a name that `check` has accepted."""
    base, label = _parts(name)
    measure = MEASURES[base]
    if label is None:
        return measure

    def of_runs(rows: pa.Table, group: Integers, runs: int) -> Floats:
        mine = np.asarray(values(rows["label"]), dtype=object) == label
        found = measure.of_runs(where(rows, mine), group[mine], runs)
        return np.where(np.bincount(group[mine], minlength=runs) > 0, found, np.nan)

    return replace(measure, name=name, title=f"{measure.title} of {label}", of_runs=of_runs, flows=label)


def answering(flows: pa.Table) -> dict[int, int]:
    """The flows that answer others, each with the flow that it answers; none in a table without the column."""
    if "answers" not in flows.column_names or flows["answers"].null_count == flows.num_rows:
        return {}
    rows = where(flows, np.asarray(flows["answers"].is_valid()))
    return dict(zip(integers(rows, "flow").tolist(), integers(rows, "answers").tolist(), strict=True))


def check_labels(names: Iterable[str], labels: Iterable[str]) -> None:
    """Checks that measures such as `goodput[video]` name labels of flows that are there.

    Raises:
        ValueError: when no flow has the label; the message lists those that there are.
    """
    named = {name: label for name in names if (label := _parts(name)[1]) is not None}
    known = sorted({label for label in labels if label}) if named else []
    for name, label in named.items():
        if label in known:
            continue
        there = f"there are {', '.join(known)}" if known else "no flow has a label"
        raise ValueError(f"{name}: no flow has the label {label!r}; {there}")


def _parts(name: str) -> tuple[str, str | None]:
    """The name of a measure and the label of its flows: of `goodput[video]`, both."""
    base, bracket, label = name.partition("[")
    return (base, label[:-1]) if bracket and label.endswith("]") else (name, None)


def check_series(names: str | Iterable[str]) -> tuple[str, ...]:
    """The quantities to be sampled over time that are named; no name at all is allowed.

    Raises:
        ValueError: when there is no such quantity; the message has the nearest name and lists all.
    """
    known = [quantity["name"] for quantity in catalogue.quantities()]
    return _chosen(names, known, "series") if names else ()


def _chosen(names: str | Iterable[str], known: Iterable[str], what: str) -> tuple[str, ...]:
    if not isinstance(names, Iterable):
        raise TypeError(f"expected names of {what}, found {names!r}")
    given = names.split(",") if isinstance(names, str) else list(names)
    if not all(isinstance(name, str) for name in given):
        raise TypeError(f"expected names of {what}, found {given!r}")
    chosen = tuple(dict.fromkeys(name.strip() for name in given))
    if not any(chosen):
        raise ValueError(f"no {what} is named; there are {', '.join(known)}")
    for name in chosen:
        if not name:
            raise ValueError(f"a name of {what} is empty: expected names with commas between them")
        base = _parts(name)[0] if what == "measure" else name
        if base not in known:
            from difflib import get_close_matches

            near = get_close_matches(base, known, n=1)
            hint = f"did you mean {near[0]!r}? There" if near else "there"
            raise ValueError(f"no {what} is called {base!r}; {hint} are {', '.join(known)}")
    return chosen
