"""The scenarios of the speed comparison, the same for every simulator."""

from dataclasses import dataclass
from pathlib import Path

INPUTS = Path(__file__).resolve().parents[1] / "inputs"
PAYLOAD_BYTES = 512
WINDOW_SEGMENTS = 20


@dataclass(frozen=True)
class Scenario:
    """NewReno transfers over AODV; RTS/CTS before every unicast frame, basic rate 1 Mb/s.

    With 802.11n: Minstrel-HT, one MPDU in a frame, Nakagami fading, no RTS/CTS, basic rate 6 Mb/s.
    """

    name: str
    nodes: int
    duration_s: float
    rate_mbps: int
    range_m: int
    # The area in which the nodes move.
    width_m: int
    height_m: int
    # Names of files in INPUTS. Without them: a chain with one flow from end to end from time 0 on.
    movement: str = ""
    traffic: str = ""
    spacing_m: int = 0
    sense_m: int = 550
    standard: str = "b"


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("chain6", 6, 360.0, 1, 200, 2000, 2000, spacing_m=110),
        Scenario("rwp50", 50, 360.0, 1, 200, 1600, 400, "rwp50_s1.tcl", "traffic50_20.txt"),
        Scenario("n50", 50, 60.0, 0, 200, 1600, 400, "rwp50_s1.tcl", "traffic50_early.txt", standard="n"),
        Scenario("rwp100", 100, 100.0, 2, 250, 1132, 1132, "rwp100_s1.tcl", "traffic100.txt"),
        Scenario("rwp200", 200, 100.0, 2, 250, 1600, 1600, "rwp200_s1.tcl", "traffic200.txt"),
        Scenario("rwp400", 400, 100.0, 2, 250, 2263, 2263, "rwp400_s1.tcl", "traffic400.txt"),
    )
}
