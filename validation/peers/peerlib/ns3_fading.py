"""Fading links of one hop in ns-3: frames that arrive, and rate control, by distance."""

from dataclasses import dataclass

from peerlib import ns3
from peerlib.dcf import measured
from peerlib.peer import Option, Run
from peerlib.table import Row

PAYLOAD = 972
WARM_UP_S = 1.0
# Rates in Mb/s, with a distance in metres at which about half of the frames arrive without fading.
MEDIANS = ((6, 96), (24, 46), (54, 23))
PARTS = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
FRAMES = 10000
COLUMNS = ("fading", "rate_mbps", "metres", "frames", "arrived")

FADINGS = ("nakagami", "rayleigh", "jakes")
DOPPLER_HZ = 10
STANDARDS = ("n", "n, A-MPDU")
# Rate controls and a fixed mode, by their names in Hopyard.
CONTROLS: dict[str, dict[str, Option]] = {
    "mcs3": {"mode": "HtMcs3"},
    "ideal": {"manager": "Ideal"},
    "minstrel_ht": {"manager": "MinstrelHt"},
}
DISTANCES = (13, 19, 28, 41, 60)
RUNS = range(1, 4)
RATES_COLUMNS = ("fading", "standard", "control", "metres", "run", "measured_s", "packets", "throughput_kbps")


@dataclass(frozen=True)
class Delivery(Run):
    """One run of broadcasts."""

    fading: str
    rate_mbps: int
    metres: int


@dataclass(frozen=True)
class Control(Run):
    """One run of a saturated link."""

    fading: str
    standard: str
    control: str
    metres: int
    run: int


def delivery_cases() -> list[Delivery]:
    """Three rates at six distances, with fading for each frame."""
    return [
        Delivery(fading, rate, int(median * part))
        for fading in ("nakagami", "rayleigh")
        for rate, median in MEDIANS
        for part in PARTS
    ]


def control_cases() -> list[Control]:
    """Each rate control at five distances."""
    return [
        Control(fading, standard, control, metres, run)
        for fading in FADINGS
        for standard in STANDARDS
        for control in CONTROLS
        for metres in DISTANCES
        for run in RUNS
    ]


def run_delivery(case: Delivery) -> dict[str, list[Row]]:
    """Make one run of broadcasts."""
    interval_s = 0.003
    options: dict[str, Option] = {
        "payload": PAYLOAD,
        "mode": f"OfdmRate{case.rate_mbps}Mbps",
        "broadcast": 1,
        "distance": case.metres,
        "fading": case.fading,
        "interval": interval_s,
        "warm-up": WARM_UP_S,
        "duration": WARM_UP_S + FRAMES * interval_s,
    }
    [arrived], sent = ns3.packets("ofdm", options)
    return {"fading.csv": [{**case.key, "frames": int(sent), "arrived": arrived}]}


def run_control(case: Control) -> dict[str, list[Row]]:
    """Make one run of a saturated link."""
    warm_up_s, measured_s = 2.0, 4.0
    aggregates = "A-MPDU" in case.standard
    options: dict[str, Option] = {
        "payload": PAYLOAD,
        "standard": case.standard[0],
        "ampdu": 65535 if aggregates else 0,
        "distance": case.metres,
        "fading": case.fading,
        "doppler": DOPPLER_HZ,
        # Otherwise a request for block acknowledgement, at the lowest rate, follows each missing one.
        "ns3::QosTxop::UseExplicitBarAfterMissedBlockAck": 0,
        "interval": "0.00011" if aggregates else "0.00018",
        "warm-up": warm_up_s,
        "duration": warm_up_s + measured_s,
        "run": case.run,
        **CONTROLS[case.control],
    }
    packets, _ = ns3.packets("ofdm", options)
    return {"fading_rates.csv": [{**case.key, **measured(packets[:1], PAYLOAD, measured_s)}]}
