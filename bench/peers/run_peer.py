#!/usr/bin/env python3
"""Run one speed scenario in ns-2 or ns-3, and print its cost as one line of JSON.

Times and peak memory belong to the simulator's process only; compilation is not included.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from scenarios import INPUTS, PAYLOAD_BYTES, SCENARIOS, WINDOW_SEGMENTS, Scenario

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "validation" / "peers"))

from peerlib import ns2, ns3
from peerlib.ns2_trace import Tally
from peerlib.peer import Option, PeerError

#: The headers of IP and TCP, which ns-2's receivers count as received bytes.
HEADER_BYTES = 40


@dataclass(frozen=True)
class Usage:
    """The cost of a process."""

    user_s: float
    system_s: float
    wall_s: float
    peak_rss_mb: float


@dataclass(frozen=True)
class Outcome:
    """The result of the simulator; an ns-2 run without a trace does not count frames."""

    goodput_kbps: float
    frames_sent: int | None
    events: int | None


def measure(words: Sequence[str]) -> tuple[str, Usage]:
    """Run a command; return its standard output and its cost."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(words, stdout=output, stderr=complaints)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            complaints.seek(0)
            raise PeerError(f"{' '.join(words)}\n{complaints.read().decode()}")
        output.seek(0)
        text = output.read().decode()
    # Linux gives the peak memory in KiB.
    return text, Usage(usage.ru_utime, usage.ru_stime, round(wall, 3), usage.ru_maxrss / 1024)


def ns2_options(scenario: Scenario, duration: float, seed: int) -> dict[str, Option]:
    """Options of adhoc.tcl."""
    if scenario.standard != "b":
        raise PeerError("ns-2 has no 802.11n")
    options: dict[str, Option] = {
        "nodes": scenario.nodes,
        "width": scenario.width_m,
        "height": scenario.height_m,
        "rate": f"{scenario.rate_mbps}Mb",
        "range": scenario.range_m,
        "sense": scenario.sense_m,
        "payload": PAYLOAD_BYTES,
        "window": WINDOW_SEGMENTS,
        "seed": seed,
        "stop": duration,
    }
    if scenario.movement:
        options["movement"] = str(INPUTS / scenario.movement)
        options["traffic"] = str(INPUTS / scenario.traffic)
    else:
        places = (f"{i * scenario.spacing_m} 0" for i in range(scenario.nodes))
        options["positions"] = " ".join(places)
        options["flows"] = f"tcp 0 {scenario.nodes - 1} 0 {duration}"
    return options


def ns2_goodput_kbps(output: str, duration: float) -> float:
    """Payload that the receivers have passed on in order. The first packet, with headers alone, opens."""
    received = [flow.values["sink_bytes"] for flow in ns2.flows(output.splitlines())]
    packets = sum(max(each - HEADER_BYTES, 0) // (PAYLOAD_BYTES + HEADER_BYTES) for each in received)
    return packets * PAYLOAD_BYTES * 8 / duration / 1000


def run_ns2(scenario: Scenario, duration: float, seed: int) -> tuple[Outcome, Usage]:
    """A run without a trace."""
    output, usage = measure(ns2.command("adhoc.tcl", ns2_options(scenario, duration, seed)))
    return Outcome(ns2_goodput_kbps(output, duration), None, None), usage


def count_ns2(scenario: Scenario, duration: float, seed: int) -> tuple[Outcome, None]:
    """The same run with a trace, to count its frames; its cost is not used."""
    tally = Tally()
    options = {**ns2_options(scenario, duration, seed), "mac_trace": "ON"}
    output = "\n".join(ns2.run("adhoc.tcl", options, tally.read))
    return Outcome(ns2_goodput_kbps(output, duration), tally.frames_sent(), None), None


def run_ns3(scenario: Scenario, duration: float, seed: int) -> tuple[Outcome, Usage]:
    """Classic recovery without SACK; the send buffer has the size of the window."""
    options: dict[str, Option] = {
        "nodes": scenario.nodes,
        "rate": f"DsssRate{scenario.rate_mbps}Mbps",
        "range": scenario.range_m,
        "sense": scenario.sense_m,
        "payload": PAYLOAD_BYTES,
        "window": WINDOW_SEGMENTS,
        "sack": 0,
        "run": seed,
        "duration": duration,
    }
    if scenario.standard == "n":
        # Frames have one MPDU: with several, ns-3.37 ends with `bad_alloc`.
        options |= {"standard": "n", "rate": "HtMcs7", "manager": "MinstrelHt", "fading": "nakagami", "rts": 0}
    if scenario.movement:
        options["movement"] = str(INPUTS / scenario.movement)
        options["traffic"] = str(INPUTS / scenario.traffic)
    else:
        options["spacing"] = scenario.spacing_m
        options["start"] = 0
    output, usage = measure(ns3.command("manet", options))
    result = json.loads(output)
    return Outcome(result["goodput_kbps"], result["frames_sent"], result["events"]), usage


PEERS: dict[str, Callable[[Scenario, float, int], tuple[Outcome, Usage | None]]] = {
    "ns2": run_ns2,
    "ns2-frames": count_ns2,
    "ns3": run_ns3,
}


def main() -> int:
    """The command line; exit code 3 if the peer is missing or its run fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("peer", choices=PEERS, help="ns2-frames counts the frames of ns2 in a run with a trace")
    parser.add_argument("scenario", choices=SCENARIOS)
    parser.add_argument("--duration", type=float, help="simulated seconds (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    scenario = SCENARIOS[arguments.scenario]
    duration = scenario.duration_s if arguments.duration is None else arguments.duration
    if not 0 < duration <= scenario.duration_s:
        parser.error(f"--duration must be more than 0 and at most {scenario.duration_s:g}")
    try:
        outcome, usage = PEERS[arguments.peer](scenario, duration, arguments.seed)
    except PeerError as error:
        print(f"{arguments.peer}: {error}", file=sys.stderr)
        return 3
    record = {
        "peer": arguments.peer,
        "scenario": scenario.name,
        "seed": arguments.seed,
        "simulated_s": duration,
        **asdict(outcome),
        **(asdict(usage) if usage is not None else {}),
    }
    print(json.dumps(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
