#!/usr/bin/env python3
"""Write the speed scenarios of `bench/scenarios/` from the same inputs that the peers run on.

The larger scenarios, which no peer runs, have the same density of nodes.
"""

import math
import random
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

# What the peer has with 802.11n: TCP's settings, and the radio.
OF_N = f"""profile = "rfc"
runs = 1
seed = 1

[tcp]
segment_size = "{PAYLOAD_BYTES} B"
window = {WINDOW_SEGMENTS}
initial_window = 2
timestamps = false

[routing]
protocol = "aodv"

[radio]
receive = "{{receive}} m"
sense = "{{sense}} m"
capture = "300 dB"
fading = "nakagami"
two_ray_ground.frequency = "914 MHz"

[mac]
model = "edca"
rate_control = "minstrel_ht"

[mac.edca]
standard = "n"
rate = "mcs7"
max_ampdu = "0 B"
"""

# Nodes, flows and simulated seconds of the scenarios that Hopyard runs alone.
# They have few flows, because the cost of a frame is compared, and each route search floods the
# whole network. The first scenario gives the cost with few nodes.
LARGE = {"random100": (100, 20, 40), "rwp1000": (1000, 20, 20), "rwp4000": (4000, 20, 8), "rwp10000": (10000, 20, 4)}


# Nodes and simulated seconds of the scenarios that compare a reception of one kind of frame among
# few nodes and among many: floods alone, and TCP alone.
SIZES = {100: 240, 1000: 24, 10000: 4, 100000: 1}

# Nodes and simulated seconds of the benchmark of JiST/SWANS (its user guide, 2004): radios of
# 802.11b whose frames four or five others decode and about 35 sense, a beacon every 2 to 5 s,
# random waypoints at 2 to 10 m/s with pauses of 30 s.
SWANS = {1000: 300, 10000: 60, 100000: 60, 1000000: 60}

# Mobile hosts and simulated seconds: fifty foreign agents and a home agent, in cells that overlap.
ROAMING = {250: 300, 500: 300, 1000: 300}


def radio(range_m: float, sense_m: float, rate_mbps: float) -> str:
    """The radio and MAC sections."""
    return f'\n[radio]\nreceive = "{range_m:g} m"\nsense = "{sense_m:g} m"\n\n[mac.dcf]\nrate = "{rate_mbps:g} Mbps"\n'


def from_inputs(name: str, scenario: Scenario) -> str:
    """A scenario that the peers run too."""
    text, acking = f'name = "{name}"\nduration = "{scenario.duration_s:g} s"\n', ""
    if scenario.standard == "n":
        text, acking = text + OF_N.format(receive=scenario.range_m, sense=scenario.sense_m), 'acking = "every"\n'
    else:
        text += COMMON + radio(scenario.range_m, scenario.sense_m, scenario.rate_mbps)
    if not scenario.movement:
        text += '\n[nodes]\ncount = 6\nplacement = "chain"\nspacing = "110 m"\n'
        text += '\n[[flow]]\nfrom = 0\nto = 5\ntcp = "newreno"\n'
        return text
    positions = (INPUTS / scenario.movement).read_text().count("set X_")
    text += f"\n[nodes]\ncount = {positions}\n"
    text += (
        f'\n[mobility]\nmodel = "movement_file"\n\n[mobility.movement_file]\npath = "../inputs/{scenario.movement}"\n'
    )
    for line in (INPUTS / scenario.traffic).read_text().splitlines():
        words = line.split()
        if words:
            _, source, destination, start, *_ = words
            text += f'\n[[flow]]\nfrom = {source}\nto = {destination}\ntcp = "newreno"\n'
            text += f'start = "{float(start):g} s"\n{acking}'
    return text


def large(name: str, nodes: int, flows: int, seconds: int) -> str:
    """A scenario with random waypoints at the density of the peers' scenarios."""
    side = side_of(nodes)
    text = f'name = "{name}"\nduration = "{seconds} s"\n' + COMMON + radio(250, 550, 2)
    text += f'\n[nodes]\ncount = {nodes}\narea = ["{side:.0f} m", "{side:.0f} m"]\n'
    text += (
        '\n[mobility]\nmodel = "random_waypoint"\n'
        '\n[mobility.random_waypoint]\nspeed_min = "10 m/s"\nspeed_max = "10 m/s"\n'
        'pause_min = "0 s"\npause_max = "0 s"\n'
    )
    text += f'\n[flows]\nrandom = {flows}\ntcp = "newreno"\nstart = ["0 s", "{seconds / 2:g} s"]\n'
    return text


def side_of(nodes: int) -> float:
    """The side, in metres, of a square with the density of the peers' scenarios."""
    return 1131.37 * math.sqrt(nodes / 100)


def flood(nodes: int, seconds: int) -> str:
    """Nodes look for a node that nobody reaches, so that all frames are requests."""
    text = f'name = "flood{nodes}"\nduration = "{seconds} s"\n' + COMMON + radio(250, 550, 2)
    side = side_of(nodes)
    text += f'\n[nodes]\ncount = {nodes + 1}\narea = ["{side:.0f} m", "{side:.0f} m"]\n'
    text += (
        '\n[mobility]\nmodel = "random_waypoint"\n'
        '\n[mobility.random_waypoint]\nspeed_min = "10 m/s"\nspeed_max = "10 m/s"\n'
        'pause_min = "0 s"\npause_max = "0 s"\n'
        f"\n[[movement]]\nnodes = [{nodes}]\n"
        'waypoints.track = [{ at = "0 s", x = "90000 m", y = "90000 m" }]\n'
    )
    for i in range(20):
        text += f"\n[[flow]]\nfrom = {i * nodes // 20}\nto = {nodes}\nudp = true\n"
        text += f'start = "{i * seconds / 40:g} s"\n'
    return text


def tcp(nodes: int, seconds: int) -> str:
    """One node in twenty sends to its neighbour, without routing and without movement."""
    text = f'name = "tcp{nodes}"\nduration = "{seconds} s"\n'
    text += COMMON.replace("aodv", "static") + 'static.others = "direct"\n' + radio(250, 550, 2)
    spacing = side_of(nodes) / math.sqrt(nodes)
    columns = math.ceil(math.sqrt(nodes))
    text += f'\n[nodes]\ncount = {nodes}\nplacement = "grid"\ncolumns = {columns}\n'
    text += f'spacing = "{spacing:.1f} m"\n'
    # The last node of a row has its neighbour in the next row, at the other end.
    for node in (node for node in range(0, nodes, 20) if (node + 1) % columns):
        text += f'\n[[flow]]\nfrom = {node}\nto = {node + 1}\ntcp = "newreno"\n'
    return text


def swans(nodes: int, seconds: int) -> str:
    """The benchmark of JiST/SWANS."""
    # Four and a half nodes in reach of a radio, and 35 in reach of its signal.
    side = math.sqrt(nodes * math.pi * 100**2 / 4.5)
    sense = 100 * math.sqrt(35 / 4.5)
    text = f'name = "swans{nodes}"\nduration = "{seconds} s"\nruns = 1\nseed = 1\n'
    text += '\n[routing]\nprotocol = "static"\n\n[agents]\nrun = ["neighbours"]\n'
    text += 'neighbours.interval = "4.6 s"\nneighbours.jitter = "2.2 s"\nneighbours.hold = "12 s"\n'
    text += radio(100, round(sense), 11)
    text += f'\n[nodes]\ncount = {nodes}\narea = ["{side:.0f} m", "{side:.0f} m"]\n'
    text += (
        '\n[mobility]\nmodel = "random_waypoint"\n'
        '\n[mobility.random_waypoint]\nspeed_min = "2 m/s"\nspeed_max = "10 m/s"\n'
        'pause_min = "30 s"\npause_max = "30 s"\n'
    )
    return text


def roaming(hosts: int, seconds: int) -> str:
    """Mobile hosts that walk through the cells of fifty foreign agents, with a packet each second.

    The correspondent has a wire to a router, and so has each agent.
    """
    columns, agents, spacing = 7, 51, 350
    side = spacing * columns
    router, correspondent = agents + hosts, agents + hosts + 1
    text = f'name = "roaming{hosts}"\nduration = "{seconds} s"\nruns = 1\nseed = 1\n'
    text += '\n[routing]\nprotocol = "static"\n' + radio(250, 550, 11)
    text += '\n[agents.mobile_ip]\nmove_detection = "eager"\n'
    rng = random.Random(hosts)
    places = [(spacing * (number % columns + 0.5), spacing * (number // columns + 0.5)) for number in range(agents)]
    places += [(rng.uniform(0, side), rng.uniform(0, side)) for _ in range(hosts)]
    shown = ", ".join(f"[{x:.0f}, {y:.0f}]" for x, y in places)
    text += f"\n[nodes]\npositions = [{shown}]\nwired = 2\n"
    text += f'area = ["{side} m", "{side + spacing} m"]\n'
    numbers = list(range(agents, router))
    text += f'\n[[movement]]\nnodes = {numbers}\nmodel = "random_waypoint"\n'
    text += 'random_waypoint.speed_min = "2 m/s"\nrandom_waypoint.speed_max = "20 m/s"\n'
    text += '\n[[home_agent]]\nnode = 0\nnetwork = "10.0.0.0/16"\n'
    text += "".join(f"\n[[foreign_agent]]\nnode = {node}\n" for node in range(1, agents))
    text += f"\n[[mobile_host]]\nnodes = {numbers}\nhome = 0\n"
    for end in (correspondent, *range(agents)):
        text += f'\n[[wire]]\nbetween = [{router}, {end}]\nrate = "100 Mbps"\ndelay = "2 ms"\n'
    for host in numbers:
        text += f"\n[[flow]]\nfrom = {correspondent}\nto = {host}\nudp = true\n"
        text += 'cbr.packet_size = "172 B"\ncbr.interval = "1 s"\n'
        text += f'start = "{rng.uniform(5, 6):.3f} s"\n'
    return text


#: The scenarios that are made when they are needed: some have thousands of flows.
MADE = {
    **{f"flood{nodes}": flood(nodes, seconds) for nodes, seconds in SIZES.items()},
    **{f"tcp{nodes}": tcp(nodes, seconds) for nodes, seconds in SIZES.items()},
    **{f"swans{nodes}": swans(nodes, seconds) for nodes, seconds in SWANS.items()},
    **{f"roaming{hosts}": roaming(hosts, seconds) for hosts, seconds in ROAMING.items()},
}


def main() -> None:
    """Write every file that is kept in the repository."""
    head = "# Made by bench/make_scenarios.py.\n"
    folder = HERE / "scenarios"
    for name, scenario in SCENARIOS.items():
        (folder / f"{name}.toml").write_text(head + from_inputs(name, scenario))
    for name, (nodes, flows, seconds) in LARGE.items():
        (folder / f"{name}.toml").write_text(head + large(name, nodes, flows, seconds))


if __name__ == "__main__":
    main()
