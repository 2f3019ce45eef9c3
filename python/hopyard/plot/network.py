"""The drawing of a network: its nodes, who is in range of whom, and the way of each flow."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hopyard.plot.canvas import COLOURS, Plot, mpl, note, style
from hopyard.scenario.axis import numbers

if TYPE_CHECKING:
    import pyarrow as pa

    from hopyard.scenario.scenario import Scenario

#: More flows than colours would not be told apart.
MOST_FLOWS = len(COLOURS)


def _range(scenario: Scenario) -> float | None:
    """The range within which frames are received, in metres."""
    given = json.loads(scenario.core.to_json(defaults=True))
    found = numbers([str(given.get("radio", {}).get("receive", ""))])
    if found is None or found[1] not in ("m", "km"):
        return None
    return found[0][0] * (1000 if found[1] == "km" else 1)


def draw(
    scenario: Scenario, table: pa.Table, ways: list[tuple[int, list[int], bool]], seconds: float, run: int, flows: int
) -> Plot:
    """A map of nodes and of the ways of flows.

    Args:
        scenario: what is run.
        table: the positions of the nodes.
        ways: of each flow the number, the nodes on its way, and whether the way arrives.
        seconds: the time.
        run: the number of the run.
        flows: how many flows there are.
    """
    names = table["node"].to_pylist()
    places = np.column_stack([table["x_m"].to_numpy(), table["y_m"].to_numpy()])
    at = dict(zip(names, places, strict=True))
    reach = _range(scenario)
    width, height = np.ptp(places, axis=0)
    tall = float(np.clip(7.0 * max(height, 1.0) / max(width, 1.0), 2.4, 7.0))
    with mpl.rc_context(style()):
        figure = Plot(figsize=(8.4, tall + 0.9), layout="constrained")
        axis = figure.subplots()
        linked = 0
        if reach is not None:
            apart = np.linalg.norm(places[:, None, :] - places[None, :, :], axis=2)
            first, second = np.nonzero(np.triu(apart <= reach, 1))
            linked = len(first)
            lines = mpl.collections.LineCollection(
                list(np.stack([places[first], places[second]], axis=1)), colors="#CCCCCC", linewidths=0.8
            )
            axis.add_collection(lines)
        for number, (flow, way, arrives) in enumerate(ways):
            _way_of(axis, flow, way, arrives, at, reach, number)
        many = len(names) > 150
        axis.scatter(places[:, 0], places[:, 1], s=12 if many else 90, color="#444444", zorder=5)
        if not many:
            for name, (x, y) in at.items():
                text: dict[str, Any] = {"ha": "center", "va": "center_baseline", "zorder": 6}
                axis.annotate(str(name), (x, y), color="white", fontsize=6.5, **text)
        axis.set_aspect("equal", adjustable="datalim")
        axis.margins(0.06)
        axis.set_xlabel("east (m)")
        axis.set_ylabel("north (m)")
        if ways:
            figure.legend(loc="outside right upper", fontsize=9)
        told = f"{len(names)} nodes at {seconds:g} s, run {run}."
        if reach is not None:
            told += f" Grey: {linked} pairs within {reach:g} m."
        if flows > len(ways):
            told += f" The first {len(ways)} of {flows} flows."
        note(figure, told)
    return figure


def _way_of(
    axis: Any, flow: int, way: list[int], arrives: bool, at: dict[int, Any], reach: float | None, number: int
) -> None:
    """The way of a flow, a little aside so that several can be seen."""
    colour = COLOURS[number % len(COLOURS)]
    hops = len(way) - 1
    label = f"flow {flow}: " + (f"{hops} hop{'s' * (hops > 1)}" if arrives else "no way")
    shown = False
    for one, two in pairwise(way):
        if one not in at or two not in at:
            # A wire: the hosts at its ends have no place on the map.
            continue
        ends = np.array([at[one], at[two]])
        out = reach is not None and np.linalg.norm(ends[0] - ends[1]) > reach
        axis.plot(
            *ends.T,
            color=colour,
            linewidth=2.4 + 1.1 * (MOST_FLOWS - number) / MOST_FLOWS,
            linestyle="--" if out else "-",
            alpha=0.85,
            zorder=3,
            label=None if shown else label,
        )
        shown = True
    if way[0] in at:
        axis.scatter(
            *at[way[0]],
            s=220,
            facecolors="none",
            edgecolors=colour,
            linewidths=2,
            zorder=4,
            label=None if shown else label,
        )
