"""TCP over chains of 1 to 8 hops in ns-3."""

from dataclasses import dataclass

from peerlib import ns3
from peerlib.peer import Option, Run
from peerlib.table import Row

RUNS = range(1, 6)
START_S = 20
STOP_S = 80
# In w32 the send buffer limits the window, as in ns-2's runs; nosack has classic recovery.
CONFIGURATIONS: dict[str, dict[str, Option]] = {"w32": {"window": 32, "sack": 1}, "nosack": {"window": 0, "sack": 0}}
COLUMNS = ("configuration", "hops", "tcp", "run", "measured_s", "goodput_kbps", "frames_sent", "events")


@dataclass(frozen=True)
class Case(Run):
    """One run."""

    configuration: str
    hops: int
    tcp: str
    run: int


def cases() -> list[Case]:
    """NewReno and Vegas with a window of 32 segments, NewReno without SACK."""
    variants = (("w32", "TcpNewReno"), ("w32", "TcpVegas"), ("nosack", "TcpNewReno"))
    return [
        Case(configuration, hops, variant, run)
        for configuration, variant in variants
        for hops in range(1, 9)
        for run in RUNS
    ]


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run."""
    result = ns3.run(
        "manet",
        {
            "nodes": case.hops + 1,
            "spacing": 200,
            "rate": "DsssRate2Mbps",
            "variant": case.tcp,
            "payload": 1460,
            "start": START_S,
            "measure": START_S,
            "duration": STOP_S,
            "run": case.run,
            **CONFIGURATIONS[case.configuration],
        },
    )
    found = {name: ns3.number(result, name) for name in COLUMNS[4:]}
    return {"hops.csv": [{**case.key, **found}]}
