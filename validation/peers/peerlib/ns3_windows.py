"""Long transfers over a wired bottleneck with a short queue: the window in each second, from ns-3."""

from dataclasses import dataclass

from peerlib import ns3
from peerlib.peer import Run
from peerlib.table import Row

DURATION_S = 120
# Packets at the bottleneck; 20 segments fill the path.
QUEUE = 40
COLUMNS = ("tcp", "second", "sent", "again", "cwnd")


@dataclass(frozen=True)
class Case(Run):
    """One run."""

    variant: str


def cases() -> list[Case]:
    """All runs, in the order of the table."""
    return [Case(variant) for variant in ("TcpHtcp", "TcpYeah", "TcpLedbat", "TcpNewReno")]


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run: for each second the sent segments, those sent again, and the window in bytes at its end."""
    lines = ns3.output(
        "wired",
        {
            "variant": case.variant,
            "recovery": "classic",
            "segments": 100 * DURATION_S,
            "drops": "none",
            "queue": QUEUE,
            "timestamps": 1,
            "stop": DURATION_S,
        },
    ).splitlines()
    sent, again, cwnd = [0] * DURATION_S, [0] * DURATION_S, ["0"] * DURATION_S
    for line in lines:
        time, _, repeated, window, _ = line.split(",")
        second = int(float(time))
        sent[second] += 1
        again[second] += int(repeated)
        cwnd[second] = window
    rows: list[Row] = [
        {
            "tcp": case.variant.removeprefix("Tcp") if second == 0 else None,
            "second": second,
            "sent": sent[second],
            "again": again[second],
            "cwnd": cwnd[second],
        }
        for second in range(DURATION_S)
    ]
    return {"windows.csv": rows}
