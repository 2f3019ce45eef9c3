"""Loops of ns-2's AODV: a chain of four nodes whose last node leaves during a transfer."""

from dataclasses import dataclass
from pathlib import Path

from peerlib import ns2
from peerlib.ns2_trace import Tally
from peerlib.peer import Option, Run
from peerlib.table import Row

INPUTS = Path(__file__).resolve().parents[2] / "inputs" / "loops"
LEAVING = ("1.3", "2.3", "3.3", "4.3", "5.3", "7.3")
INTERVALS = ("0.7", "1.0", "1.5", "2.5", "3.0", "4.0")
SEEDS = range(1, 11)
COLUMNS = ("leaves_s", "interval_s", "seed", "ttl_drops")


@dataclass(frozen=True)
class Case(Run):
    """One run: when the node leaves, the time between datagrams, and the seed."""

    leaves_s: str
    interval_s: str
    seed: int


def cases() -> list[Case]:
    """Each leaving time with each interval and each seed."""
    return [Case(leaves, interval, seed) for leaves in LEAVING for interval in INTERVALS for seed in SEEDS]


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run with a trace, and count the datagrams whose TTL reached zero."""
    tally = Tally()
    options: dict[str, Option] = {
        "movement": str(INPUTS / f"leave_{case.leaves_s}.tcl"),
        "nodes": 4,
        "width": 5000,
        "height": 1000,
        "flows": "cbr 0 3 1 60",
        "interval": case.interval_s,
        "jitter": 0,
        "seed": case.seed,
        "stop": 60,
    }
    ns2.run("adhoc.tcl", options, tally.read)
    return {"loops.csv": [{**case.key, "ttl_drops": tally.drops["RTR", "TTL", "cbr"]}]}
