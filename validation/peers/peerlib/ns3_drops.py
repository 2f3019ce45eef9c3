"""Forced drops over a wired bottleneck: every segment of the sender, from ns-3."""

from dataclasses import dataclass

from peerlib import ns3
from peerlib.peer import Option, PeerError, Run
from peerlib.table import Row

SEGMENTS = 300
# With SACK. BBR does not use proportional rate reduction.
VARIANTS = {
    "classic": ("TcpNewReno", "TcpCubic", "TcpWestwoodPlus", "TcpBbr"),
    "prr": ("TcpNewReno", "TcpCubic", "TcpWestwoodPlus"),
}
# Data packets that the router loses, counted from 1.
LOSSES = ((), (20,), (20, 23), (20, 23, 26), (20, 23, 26, 29))

COLUMNS = ("tcp", "recovery", "drops", "time", "segment", "again", "cwnd", "ssthresh")


@dataclass(frozen=True)
class Case(Run):
    """One run."""

    tcp: str
    recovery: str
    #: Places of the data packets that the router loses.
    drops: str


def cases() -> list[Case]:
    """All runs, in the order of the table."""
    return [
        Case(variant, recovery, " ".join(map(str, losses)) or "none")
        for recovery, variants in VARIANTS.items()
        for variant in variants
        for losses in LOSSES
    ]


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run: its segments. A value equal to that of the previous row is left out."""
    options: dict[str, Option] = {
        "variant": case.tcp,
        "recovery": case.recovery,
        "segments": SEGMENTS,
        # The program does not accept an option without a value.
        "drops": case.drops.replace(" ", ","),
    }
    lines = ns3.output("wired", options).splitlines()
    if len(lines) < SEGMENTS:
        raise PeerError(f"{case.name()}: {len(lines)} segments were sent, not {SEGMENTS}")
    rows: list[Row] = []
    before = ("", "")
    for line in lines:
        time, segment, again, *window = line.split(",")
        state = (window[0], window[1])
        first = not rows
        rows.append(
            {
                "tcp": case.tcp.removeprefix("Tcp") if first else None,
                "recovery": case.recovery if first else None,
                "drops": case.drops if first else None,
                "time": time,
                "segment": segment,
                "again": "1" if again == "1" else None,
                "cwnd": None if state[0] == before[0] else state[0],
                "ssthresh": None if state[1] == before[1] else state[1],
            }
        )
        before = state
    return {"forced_drops.csv": rows}
