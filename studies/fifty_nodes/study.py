"""Every routing protocol with every TCP on the same fifty nodes: how much of what is possible?

The measure is the oracle: paths with the fewest hops over the true links, without a routing
message. What a pair of a TCP and a protocol delivers is compared with what the same TCP delivers
over the oracle in the same runs, and with the best TCP over the oracle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from hopyard import catalogue
from hopyard.canvas import COLOURS, MARKERS, STYLE
from hopyard.stats import estimate

if TYPE_CHECKING:
    from hopyard import Estimate
    from hopyard.results import Results
    from numpy.typing import NDArray

    from studies.common import Lab

SCENARIO = "fifty_nodes.toml"
BOUND = "oracle"
#: These follow paths that are given, not found.
GIVEN = ("static", "source_routes")


def models(room: str) -> list[str]:
    """The names of the models of a room, in the order of their registry."""
    return [model["name"] for model in catalogue.models() if model["room"] == room]


def ratio(values: NDArray[np.float64], of: NDArray[np.float64]) -> Estimate:
    """The mean of the ratios of pairs of runs; a run in which nothing was possible has no ratio."""
    possible = of > 0
    return estimate(values[possible] / of[possible])


def run(lab: Lab) -> None:
    """Makes the tables and plots."""
    protocols = [name for name in models("routing") if name not in GIVEN]
    senders = models("congestion")
    pairs = [(protocol, sender) for protocol in protocols for sender in senders]
    made = {
        pair: lab.run(SCENARIO, set={"routing.protocol": [pair[0]], "flow.tcp": [pair[1]]})
        for pair in pairs
    }
    goodput = {pair: results.values("goodput", results.cases[0]) for pair, results in made.items()}
    rows: list[list[Any]] = []
    shares: dict[tuple[str, str], Estimate] = {}
    for protocol in protocols:
        for sender in senders:
            results = made[protocol, sender]
            case = results.cases[0]
            share = ratio(goodput[protocol, sender], goodput[BOUND, sender])
            shares[protocol, sender] = share
            rows.append(
                [
                    protocol,
                    sender,
                    results.estimate("goodput", case),
                    share,
                    results.estimate("delay", case),
                    results.estimate("loss", case),
                    results.estimate("timeouts", case),
                    results.estimate("routing_rate", case),
                    results.estimate("fairness", case),
                ]
            )
    lab.section("Every pair")
    lab.text(
        "Goodput is the sum of ten flows. The share is the goodput as a part of what the same TCP "
        "reaches over the oracle in the same run: the mean of these ratios. Overhead is the IP "
        "bytes of routing, in its packets and in others, counted at every hop, per second."
    )
    header = ["routing", "TCP", "goodput (kbit/s)", "share of the oracle", "delay (ms)"]
    header += ["loss (%)", "timeouts", "overhead (kbit/s)", "fairness"]
    lab.table("pairs", header, rows)
    heat_map(lab, protocols, senders, shares)
    scatter(lab, protocols, senders, made)
    lab.section("Protocols and senders alone")
    lab.text(
        "The mean over the senders for each protocol, and over the protocols but the oracle for "
        "each sender, run by run."
    )
    found = [protocol for protocol in protocols if protocol != BOUND]
    alone: list[list[Any]] = []
    for protocol in found:
        values = np.mean([goodput[protocol, sender] for sender in senders], axis=0)
        bound = np.mean([goodput[BOUND, sender] for sender in senders], axis=0)
        alone.append(["routing", protocol, estimate(values), ratio(values, bound)])
    best = np.max([goodput[BOUND, sender] for sender in senders], axis=0)
    for sender in senders:
        values = np.mean([goodput[protocol, sender] for protocol in found], axis=0)
        alone.append(["TCP", sender, estimate(values), ratio(values, best)])
    lab.text(
        "The share of a protocol is of the oracle's mean over the senders; that of a sender is of "
        "the best sender over the oracle in the same run."
    )
    lab.table("alone", ["kind", "name", "goodput (kbit/s)", "share"], alone)


def heat_map(
    lab: Lab, protocols: list[str], senders: list[str], shares: dict[tuple[str, str], Estimate]
) -> None:
    """Draws the share of every pair."""
    with mpl.rc_context(STYLE | {"axes.grid": False}):
        figure, axis = lab.figure(2.5 + 0.62 * len(senders), 1.2 + 0.5 * len(protocols))
        values = [[shares[protocol, sender].mean for sender in senders] for protocol in protocols]
        image = axis.imshow(values, cmap="cividis", vmin=0, vmax=1, aspect="auto")
        for y, row in enumerate(values):
            for x, value in enumerate(row):
                colour = "white" if value < 0.55 else "black"
                axis.text(x, y, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=8)
        axis.set_xticks(range(len(senders)), senders, rotation=40, ha="right")
        axis.set_yticks(range(len(protocols)), protocols)
        axis.set_title("Goodput as a share of the same TCP's over the oracle")
        figure.colorbar(image, ax=axis, label="share")
        lab.save(figure, "shares")


def scatter(
    lab: Lab,
    protocols: list[str],
    senders: list[str],
    made: dict[tuple[str, str], Results],
) -> None:
    """Draws goodput against overhead: a colour and a mark for each protocol, a point a sender."""
    with mpl.rc_context(STYLE):
        figure, axis = lab.figure(7.0, 4.5)
        for number, protocol in enumerate(protocols):
            own = [made[protocol, sender] for sender in senders]
            x = [results.estimate("routing_rate", results.cases[0]).mean for results in own]
            y = [results.estimate("goodput", results.cases[0]) for results in own]
            axis.errorbar(
                x,
                [it.mean for it in y],
                [it.half_width for it in y],
                label=protocol,
                linestyle="none",
                marker=MARKERS[number % len(MARKERS)],
                color=COLOURS[number % len(COLOURS)],
                markersize=4.5,
                elinewidth=0.7,
            )
        axis.set_xlabel("routing overhead (kbit/s, every hop counted)")
        axis.set_ylabel("goodput of ten flows (kbit/s)")
        axis.set_ylim(bottom=0)
        axis.set_title("A point for each TCP")
        figure.legend(loc="outside right upper", fontsize=9)
        lab.save(figure, "overhead")
