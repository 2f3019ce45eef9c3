"""Loops of ns-2's AODV: a chain of four nodes whose last node leaves during a transfer."""

from dataclasses import dataclass
from pathlib import Path

from peerlib import ns2
from peerlib.ns2_trace import Tally
from peerlib.table import Row

INPUTS = Path(__file__).resolve().parents[2] / "inputs" / "loops"
LEAVING = ("1.3", "2.3", "3.3", "4.3", "5.3", "7.3")
INTERVALS = ("0.7", "1.0", "1.5", "2.5", "3.0", "4.0")
SEEDS = range(1, 11)
COLUMNS = ("leaves_s", "interval_s", "seed", "ttl_drops")


@dataclass(frozen=True)
class Case:
    """One run: when the node leaves, the time between datagrams, and the seed."""

    leaves: str
    interval: str
    seed: int

    def name(self) -> str:
        """The text of the progress line."""
        return f"{self.leaves} s, {self.interval} s, seed {self.seed}"


def cases() -> list[Case]:
    """Each leaving time with each interval and each seed."""
    return [Case(leaves, interval, seed) for leaves in LEAVING for interval in INTERVALS for seed in SEEDS]


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run with a trace, and count the datagrams whose TTL reached zero."""
    tally = Tally()
    options: dict[str, str | int | float] = {
        "movement": str(INPUTS / f"leave_{case.leaves}.tcl"),
        "nodes": 4,
        "width": 5000,
        "height": 1000,
        "flows": "cbr 0 3 1 60",
        "interval": case.interval,
        "jitter": 0,
        "seed": case.seed,
        "stop": 60,
    }
    ns2.run("adhoc.tcl", options, tally.read)
    row: Row = {
        "leaves_s": case.leaves,
        "interval_s": case.interval,
        "seed": case.seed,
        "ttl_drops": tally.drops["RTR", "TTL", "cbr"],
    }
    return {"loops.csv": [row]}
