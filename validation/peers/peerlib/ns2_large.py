"""100, 200 and 400 moving nodes in ns-2, as it is and with every frame delivered to every node."""

import gzip
import math
import tempfile
from dataclasses import dataclass

from peerlib import ns2, ns2_tcp
from peerlib.ns2_trace import DROP_COLUMNS, FRAME_COLUMNS, FlowTally, Tally
from peerlib.peer import Option, Run
from peerlib.table import Row, rounded

INPUTS = ns2_tcp.INPUTS.parent / "large"
# How many movements each number of nodes has.
SEEDS = {100: 5, 200: 5, 400: 20}
AREA_OF_A_NODE_M2 = 12_800
DURATION_S = 60.0
# AODV of ns-2.35 sends data with this time to live, and each relay takes one.
FIRST_LIFE = 30

KEY = ("nodes", "reach", "seed")
COLUMNS = (*KEY, *(column for column in ns2_tcp.RUN_COLUMNS if column not in FRAME_COLUMNS), "hops")
FLOWS = (*KEY, *ns2_tcp.FLOW_COLUMNS)
DROPS = (*KEY, *DROP_COLUMNS)


@dataclass(frozen=True)
class Case(Run):
    """One run; the seed also names the input files."""

    nodes: int
    reach: str
    seed: int


def cases() -> list[Case]:
    """The runs, one seed after the other; the first seed also with every frame to every node."""
    return [
        Case(nodes, reach, seed)
        for seed in range(1, max(SEEDS.values()) + 1)
        for nodes, seeds in SEEDS.items()
        if seed <= seeds
        for reach in (("near", "all") if seed == 1 else ("near",))
    ]


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run, with a trace of agents and routing."""
    name = f"{case.nodes}_{case.seed:02}"
    side = math.ceil(math.sqrt(case.nodes * AREA_OF_A_NODE_M2))
    tally = Tally()
    with tempfile.NamedTemporaryFile(suffix=".tcl") as movement:
        movement.write(gzip.decompress((INPUTS / f"movement_{name}.tcl.gz").read_bytes()))
        movement.flush()
        options: dict[str, Option] = {
            "movement": movement.name,
            "nodes": case.nodes,
            "traffic": str(INPUTS / f"traffic_{name}.txt"),
            "width": side,
            "height": side,
            "rate": "2Mb",
            "reach": case.reach,
            "seed": case.seed,
            "stop": int(DURATION_S),
        }
        results = ns2.flows(ns2.run("adhoc.tcl", options, tally.read))
    as_tcp = ns2_tcp.Case("large", case.key, options, 512, DURATION_S, frames=False)
    row = ns2_tcp.run_row(as_tcp, tally, sum(result.values["timeouts"] for result in results))
    hops = rounded(FIRST_LIFE + 1 - tally.lives / tally.deliveries)
    flows = [
        ns2_tcp.flow_row(as_tcp, number, it, tally.flows.get((it.source, it.destination), FlowTally()))
        for number, it in enumerate(results)
        if case.reach == "near"
    ]
    return {
        "large.csv": [{**row, "hops": hops}],
        "large_flows.csv": flows,
        "large_drops.csv": tally.drop_rows(case.key),
    }
