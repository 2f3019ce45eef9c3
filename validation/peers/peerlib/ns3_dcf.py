"""Saturated 802.11 DCF in ns-3: one sender, contending senders."""

from dataclasses import dataclass

from peerlib import ns3
from peerlib.dcf import RATES_MBPS, SIZES, frame_cycle_us, jain_index, measured
from peerlib.peer import Run
from peerlib.table import Row, rounded

RUNS = range(1, 6)
WARM_UP_S = 1.0
COLUMNS = ("scenario", "size", "rate_mbps", "rts", "senders", "run", "measured_s", "packets", "throughput_kbps", "jain")


@dataclass(frozen=True)
class Case(Run):
    """One run."""

    scenario: str
    size: int
    rate_mbps: int
    rts: int
    senders: int
    run: int
    measured_s: float


def one_hop_cases() -> list[Case]:
    """One sender."""
    return [
        Case("onehop", size, rate, rts, 1, run, 10.0)
        for size in SIZES
        for rate in RATES_MBPS
        for rts in (1, 0)
        for run in RUNS
    ]


def contention_cases() -> list[Case]:
    """2, 5 and 10 senders on a circle."""
    return [
        Case("contend", size, rate, rts, senders, run, 5.0)
        for senders in (2, 5, 10)
        for size in (512, 1460)
        for rate in RATES_MBPS
        for rts in (1, 0)
        for run in RUNS
    ]


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run."""
    packets, _ = ns3.packets(
        "dcf",
        {
            "senders": case.senders,
            "payload": case.size,
            "rate": f"DsssRate{case.rate_mbps}Mbps",
            "rts": case.rts,
            "interval": f"{0.8e-6 * frame_cycle_us(case.size, case.rate_mbps, case.rts):.9f}",
            "warm-up": WARM_UP_S,
            "duration": WARM_UP_S + case.measured_s,
            "run": case.run,
        },
    )
    counted = measured(packets, case.size, case.measured_s)
    row = {**case.key, **counted, "jain": rounded(jain_index(packets))}
    return {"dcf.csv" if case.scenario == "onehop" else "contend.csv": [row]}
