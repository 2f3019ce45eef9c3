#!/usr/bin/env python3
"""Write the speed scenarios of `bench/scenarios/` from the same inputs that the peers run on.

The larger scenarios, which no peer runs, have the same density of nodes.
"""

import math
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

from scenarios import (  # noqa: E402 - the line above adds the peers' folder
    INPUTS,
    PAYLOAD_BYTES,
    SCENARIOS,
    WINDOW_SEGMENTS,
    Scenario,
)

COMMON = f"""profile = "ns2"
runs = 1
seed = 1

[tcp]
segment_size = "{PAYLOAD_BYTES} B"
window = {WINDOW_SEGMENTS}

[routing]
protocol = "aodv"
"""

# Nodes, flows and simulated seconds of the scenarios that Hopyard runs alone.
# They have few flows, because the cost of a frame is compared, and each route search floods the
# whole network. The first scenario gives the cost with few nodes.
LARGE = {
    "random100": (100, 20, 40),
    "rwp1000": (1000, 20, 20),
    "rwp4000": (4000, 20, 8),
    "rwp10000": (10000, 20, 4),
}


def radio(range_m: float, sense_m: float, rate_mbps: float) -> str:
    """The radio and MAC sections."""
    return (
        f'\n[radio]\nreceive = "{range_m:g} m"\nsense = "{sense_m:g} m"\n'
        f'\n[mac.dcf]\nrate = "{rate_mbps:g} Mbps"\n'
    )


def from_inputs(name: str, scenario: Scenario) -> str:
    """A scenario that the peers run too."""
    text = f'name = "{name}"\nduration = "{scenario.duration_s:g} s"\n' + COMMON
    text += radio(scenario.range_m, scenario.sense_m, scenario.rate_mbps)
    if not scenario.movement:
        text += '\n[nodes]\ncount = 6\nplacement = "chain"\nspacing = "110 m"\n'
        text += '\n[[flow]]\nfrom = 0\nto = 5\ntcp = "newreno"\n'
        return text
    positions = (INPUTS / scenario.movement).read_text().count("set X_")
    text += f"\n[nodes]\ncount = {positions}\n"
    text += (
        '\n[mobility]\nmodel = "movement_file"\n'
        f'\n[mobility.movement_file]\npath = "../inputs/{scenario.movement}"\n'
    )
    for line in (INPUTS / scenario.traffic).read_text().splitlines():
        words = line.split()
        if words:
            _, source, destination, start, *_ = words
            text += (
                f"\n[[flow]]\nfrom = {source}\nto = {destination}\n"
                f'tcp = "newreno"\nstart = "{float(start):g} s"\n'
            )
    return text


def large(name: str, nodes: int, flows: int, seconds: int) -> str:
    """A scenario with random waypoints at the density of the peers' scenarios."""
    side = 1131.37 * math.sqrt(nodes / 100)
    text = f'name = "{name}"\nduration = "{seconds} s"\n' + COMMON + radio(250, 550, 2)
    text += f'\n[nodes]\ncount = {nodes}\narea = ["{side:.0f} m", "{side:.0f} m"]\n'
    text += (
        '\n[mobility]\nmodel = "random_waypoint"\n'
        '\n[mobility.random_waypoint]\nspeed_min = "10 m/s"\nspeed_max = "10 m/s"\n'
        'pause_min = "0 s"\npause_max = "0 s"\n'
    )
    text += f'\n[flows]\nrandom = {flows}\ntcp = "newreno"\nstart = ["0 s", "{seconds / 2:g} s"]\n'
    return text


def main() -> None:
    """Write every file."""
    head = "# Made by bench/make_scenarios.py.\n"
    folder = HERE / "scenarios"
    for name, scenario in SCENARIOS.items():
        (folder / f"{name}.toml").write_text(head + from_inputs(name, scenario))
    for name, (nodes, flows, seconds) in LARGE.items():
        (folder / f"{name}.toml").write_text(head + large(name, nodes, flows, seconds))


if __name__ == "__main__":
    main()
