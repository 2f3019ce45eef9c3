"""TCP over chains of 802.11a and n in ns-3: five senders, AODV and OLSR."""

from dataclasses import dataclass

from peerlib import ns3
from peerlib.peer import Option, Run
from peerlib.table import Row, rounded

RUNS = range(1, 4)
START_S = 20
STOP_S = 30
SENDERS = ("TcpNewReno", "TcpCubic", "TcpVegas", "TcpWestwoodPlus", "TcpBbr")
STANDARDS: dict[str, dict[str, Option]] = {
    "a": {"rate": "OfdmRate24Mbps"},
    "n": {"rate": "HtMcs3", "ampdu": 65535, "queue": 500},
}
# How long IP waits for what a device has received: until the MAC sends its ACK.
RECEIVED_S = 20e-6
CONFIGURATIONS: dict[str, dict[str, Option]] = {
    "persistent": {"tries": 1000, "received": RECEIVED_S},
    "limited": {"received": RECEIVED_S},
    "at once": {},
}
# Any window with alpha to beta segments queued is stable, and which is reached depends on the slow start before;
# with one threshold there is one. Without smoothing, a sample of the round trip is one round trip, not an average.
VEGAS: dict[str, Option] = {"ns3::TcpVegas::Alpha": 4, "ns3::RttMeanDeviation::Alpha": 1}
COLUMNS = ("configuration", "standard", "routing", "tcp", "hops", "run", "measured_s", "goodput_kbps")


@dataclass(frozen=True)
class Case(Run):
    """One run."""

    configuration: str
    standard: str
    routing: str
    tcp: str
    hops: int
    run: int


def cases() -> list[Case]:
    """All senders with as many tries as are needed; NewReno over 802.11a also with ns-3's own habits."""
    every = [("persistent", standard, sender) for standard in STANDARDS for sender in SENDERS]
    habits = [(configuration, "a", "TcpNewReno") for configuration in ("limited", "at once")]
    return [
        Case(configuration, standard, routing, sender, hops, run)
        for configuration, standard, sender in every + habits
        for routing in ("aodv", "olsr")
        for hops in range(1, 7)
        for run in RUNS
    ]


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run."""
    result = ns3.run(
        "manet",
        {
            "standard": case.standard,
            "rts": 0,
            "nodes": case.hops + 1,
            "spacing": 200,
            "routing": case.routing,
            "variant": case.tcp,
            "payload": 1460,
            "window": 32,
            "start": START_S,
            "measure": START_S,
            "duration": STOP_S,
            "run": case.run,
            **STANDARDS[case.standard],
            **CONFIGURATIONS[case.configuration],
            **(VEGAS if case.tcp == "TcpVegas" else {}),
        },
    )
    goodput = rounded(ns3.number(result, "goodput_kbps"))
    return {"chains.csv": [{**case.key, "measured_s": STOP_S - START_S, "goodput_kbps": goodput}]}
