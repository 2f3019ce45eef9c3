"""Saturated 802.11 DCF in ns-2: one sender, contending senders, two hidden senders."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from peerlib import ns2
from peerlib.dcf import RATES_MBPS, SIZES, frame_cycle_us, jain_index, measured
from peerlib.peer import Run
from peerlib.table import Row, rounded

WARM_UP_S = 5.0
# Hidden senders without RTS deliver only about thirty packets in ten seconds.
MEASURED_S = {"contend": 10.0, "hidden": 100.0}
COLUMNS = (
    "scenario",
    "size",
    "rate_mbps",
    "rts",
    "range_m",
    "sense_m",
    "senders",
    "seed",
    "measured_s",
    "packets",
    "throughput_kbps",
    "jain",
)


@dataclass(frozen=True)
class Case(Run):
    """One run."""

    scenario: str
    size: int
    rate_mbps: int
    rts: int
    senders: int
    seed: int
    measured_s: float

    @property
    def ranges_m(self) -> tuple[int, int]:
        """Reception and carrier sense range.

        With the usual 550 m no two senders could be hidden from each other and share a receiver.
        """
        return (250, 250) if self.scenario == "hidden" else (250, 550)

    def positions(self) -> list[tuple[float, float]]:
        """Receiver first."""
        if self.scenario == "hidden":
            return [(200.0, 0.0), (0.0, 0.0), (400.0, 0.0)]
        # Equal distances, so that no frame is strong enough to capture the receiver.
        angles = [2 * math.pi * i / self.senders for i in range(self.senders)]
        circle = [(200 + 100 * math.cos(a), 200 + 100 * math.sin(a)) for a in angles]
        return [(200.0, 200.0), *circle]


def one_hop_cases() -> list[Case]:
    """One sender, one receiver, 100 m."""
    return [
        Case("onehop", size, rate, rts, 1, seed, 20.0)
        for size in SIZES
        for rate in RATES_MBPS
        for rts in (1, 0)
        for seed in range(1, 6)
    ]


def contention_cases() -> list[Case]:
    """2, 5 and 10 senders on a circle of 100 m, and two hidden senders 400 m apart."""
    return [
        Case(scenario, size, rate, rts, senders, seed, MEASURED_S[scenario])
        for scenario, senders in (("contend", 2), ("contend", 5), ("contend", 10), ("hidden", 2))
        for size in (512, 1460)
        for rate in RATES_MBPS
        for rts in (1, 0)
        for seed in range(1, 1 + _seeds(senders, size, rate, rts))
    ]


def _seeds(senders: int, size: int, rate_mbps: float, rts: int) -> int:
    """The number of seeds. Long collisions make the throughput of ten senders vary most here."""
    return 40 if (senders, size, rate_mbps, rts) == (10, 1460, 1, 0) else 10


def _words(positions: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.6f} {y:.6f}" for x, y in positions)


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run, without a trace: the receivers count the datagrams."""
    end = WARM_UP_S + case.measured_s
    # Each sender offers a quarter more than it could send alone, so that its queue is never empty.
    interval = 0.8e-6 * frame_cycle_us(case.size, case.rate_mbps, case.rts)
    reception, sense = case.ranges_m
    flows = [f"cbr {i} 0 {1 + 0.01 * i:.2f} {end}" for i in range(1, case.senders + 1)]
    output = ns2.run(
        "adhoc.tcl",
        {
            "positions": _words(case.positions()),
            "flows": " ".join(flows),
            "routing": "DumbAgent",
            "payload": case.size,
            "interval": f"{interval:.9f}",
            "rate": f"{case.rate_mbps}Mb",
            "rts": case.rts,
            "range": reception,
            "sense": sense,
            "seed": case.seed,
            "measure": WARM_UP_S,
            "stop": end,
        },
    )
    packets = [result.values["packets"] for result in ns2.flows(output)]
    counted = measured(packets, case.size, case.measured_s)
    row = {**case.key, **counted, "range_m": reception, "sense_m": sense, "jain": rounded(jain_index(packets))}
    return {"dcf.csv" if case.scenario == "onehop" else "contend.csv": [row]}
