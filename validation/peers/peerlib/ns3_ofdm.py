"""OFDM in ns-3: saturated senders; lost broadcasts, and rate control, by the ratio of signal to noise."""

import math
from dataclasses import dataclass

from peerlib import ns3
from peerlib.dcf import jain_index, measured
from peerlib.peer import Option, Run
from peerlib.table import Row, rounded

PAYLOAD = 1472
WARM_UP_S = 1.0
# Half of the bits of a symbol of 4 us.
RATES_MBPS = (6, 24, 54)
SENDERS = (1, 2, 5, 10, 20)
RUNS = range(1, 3)
COLUMNS = ("rate_mbps", "senders", "run", "measured_s", "packets", "throughput_kbps", "jain")

# Modes with a ratio, in dB, at which about half of the frames of 1000 bytes are lost.
MODES = (
    ("OfdmRate6Mbps", 3.3),
    ("OfdmRate9Mbps", 6.2),
    ("OfdmRate12Mbps", 6.3),
    ("OfdmRate18Mbps", 9.2),
    ("OfdmRate24Mbps", 12.8),
    ("OfdmRate36Mbps", 15.9),
    ("OfdmRate48Mbps", 20.6),
    ("OfdmRate54Mbps", 21.9),
)
STEPS_DB = (-0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
PER_PAYLOAD = 936
FRAMES = 4000
PER_COLUMNS = ("rate_mbps", "snr_db", "bytes", "frames", "lost", "per")

# Rate controls, by their names in Hopyard, of each standard. For stations without HT, ns-3's
# Minstrel-HT is its older Minstrel.
MANAGERS = {
    "a": {"arf": "Arf", "aarf": "Aarf", "ideal": "Ideal", "minstrel_ht": "MinstrelHt"},
    "n": {"ideal": "Ideal", "minstrel_ht": "MinstrelHt"},
    "n, A-MPDU": {"ideal": "Ideal", "minstrel_ht": "MinstrelHt"},
}
RATIOS_DB = (5.0, 10.0, 15.0, 20.0, 25.0, 30.0)
RATES_PAYLOAD = 972
RATES_COLUMNS = ("standard", "control", "snr_db", "run", "measured_s", "packets", "throughput_kbps")


@dataclass(frozen=True)
class Control(Run):
    """One run of a saturated link under rate control."""

    standard: str
    control: str
    snr_db: float
    run: int


@dataclass(frozen=True)
class Contention(Run):
    """One run of saturated senders."""

    rate_mbps: int
    senders: int
    run: int


@dataclass(frozen=True)
class Loss(Run):
    """One run of broadcasts."""

    mode: str
    snr_db: float


def contention_cases() -> list[Contention]:
    """1 to 20 senders at three rates."""
    return [Contention(*case) for case in ((r, n, run) for r in RATES_MBPS for n in SENDERS for run in RUNS)]


def loss_cases() -> list[Loss]:
    """Eight rates at eight ratios."""
    return [Loss(mode, round(half + step, 1)) for mode, half in MODES for step in STEPS_DB]


def control_cases() -> list[Control]:
    """Each rate control at six ratios."""
    return [
        Control(standard, control, snr_db, run)
        for standard, controls in MANAGERS.items()
        for control in controls
        for snr_db in RATIOS_DB
        for run in range(1, 3)
    ]


def run_contention(case: Contention) -> dict[str, list[Row]]:
    """Make one run of saturated senders."""
    bits = 4 * case.rate_mbps
    frame_us = 20 + 4 * math.ceil((22 + 8 * (PAYLOAD + 28 + 36)) / bits)
    # DIFS, the mean back-off, SIFS, and an ACK.
    alone_us = 34 + 7.5 * 9 + frame_us + 16 + (28 if case.rate_mbps >= 24 else 44)
    measured_s = 2.0
    options: dict[str, Option] = {
        "mode": f"OfdmRate{case.rate_mbps}Mbps",
        "senders": case.senders,
        "payload": PAYLOAD,
        "interval": f"{0.8e-6 * alone_us:.9f}",
        "warm-up": WARM_UP_S,
        "duration": WARM_UP_S + measured_s,
        "run": case.run,
    }
    packets, _ = ns3.packets("ofdm", options)
    counted = measured(packets, PAYLOAD, measured_s)
    return {"ofdm.csv": [{**case.key, **counted, "jain": rounded(jain_index(packets))}]}


# Noise of 20 MHz at 290 K with a noise figure of 7 dB.
NOISE_DBM = 10 * math.log10(1.380649e-23 * 290 * 20e6 * 1000) + 7


def run_control(case: Control) -> dict[str, list[Row]]:
    """Make one run of a saturated link under rate control."""
    warm_up_s, measured_s = 2.0, 4.0
    aggregates = "A-MPDU" in case.standard
    options: dict[str, Option] = {
        "standard": case.standard[0],
        "ampdu": 65535 if aggregates else 0,
        "manager": MANAGERS[case.standard][case.control],
        "payload": RATES_PAYLOAD,
        "rss": f"{NOISE_DBM + case.snr_db:.6f}",
        "interval": "0.00011" if aggregates else "0.00018",
        "warm-up": warm_up_s,
        "duration": warm_up_s + measured_s,
        "run": case.run,
    }
    packets, _ = ns3.packets("ofdm", options)
    return {"rates.csv": [{**case.key, **measured(packets, RATES_PAYLOAD, measured_s)}]}


def run_loss(case: Loss) -> dict[str, list[Row]]:
    """Make one run of broadcasts."""
    interval_s = 0.003
    options: dict[str, Option] = {
        "mode": case.mode,
        "broadcast": 1,
        "payload": PER_PAYLOAD,
        "rss": f"{NOISE_DBM + case.snr_db:.6f}",
        "interval": interval_s,
        "warm-up": WARM_UP_S,
        "duration": WARM_UP_S + FRAMES * interval_s,
    }
    packets, sent = ns3.packets("ofdm", options)
    row: Row = {
        "rate_mbps": int(case.mode.removeprefix("OfdmRate").removesuffix("Mbps")),
        "snr_db": case.snr_db,
        "bytes": PER_PAYLOAD + 28 + 36,
        "frames": int(sent),
        "lost": int(sent) - packets[0],
        "per": rounded(1 - packets[0] / sent),
    }
    return {"ofdm_per.csv": [row]}
