"""OLSR on graphs without losses in ns-3: the lengths of its routes, and what it sends."""

from dataclasses import dataclass

from peerlib import ns3
from peerlib.peer import Run
from peerlib.table import Row

MEASURE_S = 30
STOP_S = 90
COLUMNS = ("graph", "nodes", "reach", "seed", "links", "routes", "hops", "longest", "packets_per_s", "bytes_per_s")


@dataclass(frozen=True)
class Case(Run):
    """One graph."""

    graph: str
    nodes: int
    reach: int
    seed: int


def cases() -> list[Case]:
    """A chain, a grid, and random graphs of 10 to 50 nodes."""
    fixed = [Case("chain", 6, 0, 0), Case("grid", 25, 0, 0)]
    sizes = ((10, 450), (25, 320), (50, 230))
    return fixed + [Case("random", nodes, reach, seed) for nodes, reach in sizes for seed in range(1, 4)]


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run."""
    result = ns3.run(
        "olsr",
        {
            "graph": case.graph,
            "nodes": case.nodes,
            "reach": case.reach,
            "seed": case.seed,
            "measure": MEASURE_S,
            "duration": STOP_S,
        },
    )
    return {"olsr.csv": [{**case.key, **{name: ns3.number(result, name) for name in COLUMNS[4:]}}]}
