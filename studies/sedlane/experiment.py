"""The same TCP over a simulated network, and over replays of that network's traces.

A replay has the delays and losses that one sender met. Whether another sender would have met the
same ones is what this shows: each case runs over the network itself, over the replay of its own
trace, and over the replay of the first case's trace.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from hopyard.running.run import run as make
from hopyard.tables.arrays import floats, integers, where

from studies.sedlane.classes import Rules, classify
from studies.sedlane.comparing import kolmogorov_smirnov
from studies.sedlane.replay import Network, replayed
from studies.sedlane.trace import Trace, traces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hopyard.results.results import Results
    from hopyard.scenario.scenario import Scenario
    from hopyard.tables.arrays import Floats


class Over(StrEnum):
    """What a sender ran over."""

    NETWORK = "network"
    OWN = "own trace"
    FIRST = "first trace"


@dataclass(frozen=True)
class Row:
    """One run of one case."""

    case: str
    over: Over
    run: int
    #: kbit/s.
    goodput: float
    #: The share of the flow's data packets that were lost; of Linux's, by drops.
    loss: float
    #: The mean round-trip time of the packets in seconds, and the largest distance between its
    #: distribution and that over the network. NaN where no segments are recorded.
    rtt: float
    distance: float


def experiment(
    cases: Sequence[tuple[str, Scenario]],
    flow: int,
    runs: int,
    rules: Rules | None = None,
    network: Network | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> list[Row]:
    """Runs each case over the network, over its own trace, and over that of the first case.

    Args:
        cases: the name and the scenario of each; the flow of the first one has Hopyard's TCP.
        flow: the flow that is traced and replayed.
        runs: runs of each case; a trace is made of each run of its own.
        rules: how classes are formed.
        network: the link of the replays.
        tell: told what is being run.

    Raises:
        ValueError: when the flow of the first case leaves no trace.
    """
    found: list[Row] = []
    first: list[Trace] = []
    for name, scenario in cases:
        tell(f"{name}: over the network")
        results = make(scenario, runs=runs, segments=[flow], progress=False)
        own = _traces(results, flow)
        if not first and not own:
            # The message of the library.
            traces(results, flow)
        first = first or own
        found += _rows(name, Over.NETWORK, range(runs), _columns(results, flow), own, own)
        for over, used in ((Over.OWN, own), (Over.FIRST, first)):
            if not used or (over is Over.FIRST and used is own):
                continue
            tell(f"{name}: over the {over}")
            for number, trace in enumerate(used):
                classes = classify(trace, rules)
                replay = replayed(scenario, flow, classes, network)
                results = make(replay, runs=[number], segments=[0], progress=False)
                before = own[number : number + 1]
                columns = _columns(results, 0)
                found += _rows(name, over, [number], columns, before, _traces(results, 0))
    return found


def _traces(results: Results, flow: int) -> list[Trace]:
    """The traces of the flow; none if its segments are not recorded."""
    return traces(results, flow) if len(results.segments) else []


def _columns(results: Results, flow: int) -> tuple[Floats, Floats]:
    """Goodput and loss of a flow, by run."""
    rows = where(results.flows, integers(results.flows, "flow") == flow)
    sent, dropped = floats(rows, "packets_sent"), floats(rows, "packets_dropped")
    return floats(rows, "goodput_kbps"), dropped / np.maximum(sent, 1)


def _rows(
    name: str,
    over: Over,
    runs: Sequence[int],
    columns: tuple[Floats, Floats],
    own: Sequence[Trace],
    seen: Sequence[Trace],
) -> list[Row]:
    goodput, loss = columns
    found = []
    for place, number in enumerate(runs):
        rtt = distance = float("nan")
        if place < len(seen):
            now, before = (_known(it) for it in (seen[place], own[place]))
            rtt = float(now.mean()) if len(now) else rtt
            distance = kolmogorov_smirnov(before, now)
        found.append(Row(name, over, number, float(goodput[place]), float(loss[place]), rtt, distance))
    return found


def _known(trace: Trace) -> Floats:
    return trace.rtt[~np.isnan(trace.rtt)]
