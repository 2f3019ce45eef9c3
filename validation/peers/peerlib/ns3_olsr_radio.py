"""OLSR over a radio in ns-3: a chain, fifty nodes at rest, fifty moving nodes."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from peerlib import ns3
from peerlib.peer import Option, Run
from peerlib.table import Row

INPUTS = Path(__file__).resolve().parent.parent.parent / "inputs" / "rwp50"
# What is measured begins here, after the routes are there.
MEASURE_S = 30
# Runs and the end of each scenario, in seconds.
CHAIN = (range(1, 6), 150)
REST = (range(1, 11), 90)
MOVING = (range(1, 3), 200)
MEASURED = (
    "goodput_kbps",
    "data_hops",
    "packets_per_s",
    "bytes_per_s",
    "hello_per_s",
    "tc_per_s",
    "tc_forwarded_per_s",
    "converged_s",
    "routes_pct",
    "route_hops",
    "shortest_hops",
)
COLUMNS = ("scenario", "run", *MEASURED)


@dataclass(frozen=True)
class Case(Run):
    """One run."""

    scenario: str
    run: int


def cases() -> list[Case]:
    """All scenarios."""
    scenarios = (("chain", CHAIN), ("rest", REST), ("moving", MOVING))
    return [Case(name, run) for name, (runs, _) in scenarios for run in runs]


def _options(case: Case, folder: Path) -> dict[str, Option]:
    """What the scenario adds to the common options."""
    if case.scenario == "chain":
        return {"nodes": 6, "spacing": 110, "start": MEASURE_S, "duration": CHAIN[1]}
    movement = INPUTS / f"movement_{case.run:02}.tcl"
    if case.scenario == "moving":
        traffic = INPUTS / f"traffic_{case.run:02}.txt"
        return {"nodes": 50, "movement": str(movement), "traffic": str(traffic), "duration": MOVING[1]}
    # The places at the start, without the commands that move the nodes.
    places = [line for line in movement.read_text().splitlines() if " set " in line]
    still = folder / "still.tcl"
    still.write_text("\n".join(places) + "\n")
    return {"nodes": 50, "movement": str(still), "traffic": "none", "duration": REST[1]}


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run."""
    with tempfile.TemporaryDirectory() as folder:
        result = ns3.run(
            "manet",
            {
                "range": 200,
                "routing": "olsr",
                "payload": 512,
                "window": 20,
                "measure": MEASURE_S,
                "run": case.run,
                **_options(case, Path(folder)),
            },
        )
    row: dict[str, Option | None] = {**case.key, **{name: ns3.number(result, name) for name in MEASURED}}
    # Quantities without a meaning in a scenario are empty.
    if case.scenario == "rest":
        row["goodput_kbps"] = row["data_hops"] = None
    if case.scenario == "moving":
        row["converged_s"] = row["shortest_hops"] = None
    if row["converged_s"] == -1:
        row["converged_s"] = None
    return {"olsr_radio.csv": [row]}
