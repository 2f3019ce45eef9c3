"""Maps of a network at a time: its nodes, who is in range of whom, and the way of each flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopyard import _core
from hopyard.plot.canvas import on_page
from hopyard.plot.network import MOST_FLOWS, draw
from hopyard.running.stepping import start

if TYPE_CHECKING:
    from hopyard.plot.canvas import Plot
    from hopyard.running.stepping import Simulation
    from hopyard.scenario.scenario import Scenario

#: A flow's way that is longer goes in a circle.
MOST_HOPS = 64


def network(scenario: Scenario, at: str | float, run: int = 0, *, width: str | float | None = None) -> Plot:
    """A map of a run at a time.

    A line joins nodes within the reception range, if the scenario gives one in metres. A coloured
    way follows the routing tables from a flow's source to its destination, as they are then; it is
    dashed where the next node is out of range, and ends where a node knows no way.

    Args:
        scenario: what is run.
        at: the time, such as "30 s".
        run: the number of the run.
        width: for a paper: its "column", its "text", or a number of inches.

    Raises:
        ValueError: when the time lies after the end, or no node has a radio.
    """
    with start(scenario, run=run) as simulation:
        simulation.advance(until=at)
        seconds = simulation.now
        if simulation.now >= simulation.end and seconds < _seconds(at):
            raise ValueError(f"expected a time up to {simulation.end:g} s, the end of the run, found {at}")
        table = simulation.positions
        if not table.num_rows:
            raise ValueError("no node has a radio: there is nothing to draw")
        flows = simulation.flows
        ways = [
            (int(row["flow"]), *_way(simulation, int(row["source"]), int(row["destination"])))
            for row in flows.slice(0, MOST_FLOWS).to_pylist()
        ]
    return on_page(width, lambda: draw(scenario, table, ways, seconds, run, flows.num_rows))


def _seconds(at: str | float) -> float:
    return _core.parse_time(at) / 1e9 if isinstance(at, str) else float(at)


def _way(simulation: Simulation, source: int, destination: int) -> tuple[list[int], bool]:
    """The nodes on the way that the routing tables describe, and whether it arrives."""
    way = [source]
    while way[-1] != destination and len(way) <= MOST_HOPS:
        rows = simulation.routes(way[-1]).to_pylist()
        step = next((row["next_hop"] for row in rows if row["destination"] == destination), None)
        if step is None or step in way:
            break
        way.append(step)
    return way, way[-1] == destination
