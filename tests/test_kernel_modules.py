"""The TCP variants for Linux, driven as a kernel drives them, by a usual program: their numbers.

The sources are compiled as for eBPF, with headers that have what they use of a socket.
"""

from __future__ import annotations

import itertools
import math
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).parent / "kernel_modules"
MODULES = HERE.parent.parent / "kernels" / "hopyard_kernels" / "modules"
MSS = 1000


class State(NamedTuple):
    """What is seen after a line."""

    cwnd: int
    ssthresh: int
    #: In bytes per second.
    bandwidth: float


Drive = Callable[[str, list[str]], list[State]]


@pytest.fixture(scope="session")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Drive:
    """Drives a variant by lines, and gives the state after each."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no gcc")
    folder = tmp_path_factory.mktemp("modules")

    def run(variant: str, lines: list[str]) -> list[State]:
        program = folder / variant
        if not program.exists():
            options = ["-O1", "-Wall", "-Werror", "-Wno-unused-function", "-DHOPYARD_BPF"]
            options += ["-fsanitize=undefined", "-fno-sanitize-recover", f"-I{HERE}", f"-I{MODULES}"]
            source = HERE / f"{variant}.c"
            subprocess.run([compiler, *options, "-o", program, source], check=True)
        text = "".join(f"{line}\n" for line in lines)
        done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
        found = [line.split() for line in done.stdout.splitlines()]
        return [State(int(a), int(b), int(c) / 256) for a, b, c in found]

    return run


def test_westwoods_filter_has_tustins_form(drive: Drive) -> None:
    # A burst, a steady time, a pause with samples of zero, a steady time.
    times = [*range(0, 50_000, 10_000), 50_001, 50_002]
    times += [*range(60_000, 900_000, 7_000), *range(3_000_000, 3_600_000, 11_000)]
    lines = [f"ack {1 + at} {(n + 1) * MSS} 0 30000" for n, at in enumerate(times)]
    tau, part, bandwidth, sample, last = 0.5, 0.25, 0.0, 0.0, None
    expected = []
    for at in times:
        now = at / 1e6
        while last is not None and last + part < now:
            bandwidth = ((2 * tau - part) * bandwidth + part * sample) / (2 * tau + part)
            sample, last = 0.0, last + part
            if bandwidth < 1:
                bandwidth, last = 0.0, None
        if last is None:
            last = now
        elif now > last:
            new, apart = MSS / (now - last), now - last
            bandwidth = ((2 * tau - apart) * bandwidth + apart * (new + sample)) / (2 * tau + apart)
            sample, last = new, now
        expected.append(bandwidth)
    found = [state.bandwidth for state in drive("westwood_2001", lines)]
    assert found == pytest.approx(expected, rel=2e-4, abs=1)


def test_westwoods_window_is_what_the_path_holds_and_never_grows(drive: Drive) -> None:
    # 100 segments a second, a round trip of 125 ms: the path holds 12 and a half.
    acks = [f"ack {1 + 10_000 * n} {n * MSS} 0 125000" for n in range(1, 1000)]
    states = drive("westwood_2001", [*acks, "loss 1000000", "recovered"])
    assert states[-1][:2] == (12, 12)
    assert states[-1].bandwidth == pytest.approx(100_000, rel=0.01)
    # A shorter window stays.
    states = drive("westwood_2001", ["loss 1000", "recovered", *acks, "loss 1000000", "recovered"])
    assert (states[1].cwnd, states[-1].cwnd, states[-1].ssthresh) == (2, 2, 12)
    states = drive("westwood_2001", [*acks, "timeout 10000000 1000000"])
    assert (states[-1].cwnd, states[-1].ssthresh) == (1, 12)


def test_duplicates_report_a_segment_each_and_what_follows_the_rest(drive: Drive) -> None:
    steady = [f"ack {1 + 10_000 * n} {n * MSS} 0 50000" for n in range(1, 500)]
    # Nine duplicates, then ten segments acknowledged: the same data as ten acknowledgements.
    dupes = [f"ack {1 + 10_000 * (499 + n)} {499 * MSS} {n} -1" for n in range(1, 10)]
    states = drive("westwood_2001", [*steady, *dupes, f"ack {1 + 10_000 * 509} {509 * MSS} 0 50000"])
    assert states[-1].bandwidth == pytest.approx(100_000, rel=0.001)


def test_welcomes_bandwidth_has_two_filters(drive: Drive) -> None:
    times = [0, 10_000, 30_000, 140_000, *range(150_000, 900_000, 8_000), 2_500_000, 2_510_000]
    lines = [f"ack {1 + at} {(n + 1) * MSS} 0 30000" for n, at in enumerate(times)]
    means: tuple[float, float] | None = None
    estimate, expected = 0.0, [0.0]
    for before, at in itertools.pairwise(times):
        apart = (at - before) / 1e6
        means = (MSS, apart) if means is None else (MSS, 0.9 * means[1] + 0.1 * apart)
        raw, kept = means[0] / means[1], math.exp(-apart) if estimate else 0
        estimate = kept * estimate + (1 - kept) * raw
        expected.append(estimate)
    found = [state.bandwidth for state in drive("welcome", lines)]
    assert found == pytest.approx(expected, rel=1e-3)


def ramp(rtts: list[int]) -> list[str]:
    """An acknowledgement every 10 ms, each with a round trip, and each of a segment that is new."""
    return [f"ack {1 + 10_000 * n} {n * MSS} 0 {rtt}" for n, rtt in enumerate(rtts, 1)]


def test_welcome_tells_three_causes_apart(drive: Drive) -> None:
    # The driver's next segment is always one that was sent after the last sample.
    steady = ramp([120_000] * 60)
    growing = ramp([120_000] * 50 + [120_000 + 15_000 * n for n in range(1, 11)])
    # Duplicates while the round trip is steady: the channel. The path holds 12 segments.
    *_, clamped, recovered = drive("welcome", [*steady, "loss 1000000", "recovered"])
    assert (clamped.ssthresh, recovered.cwnd, recovered.ssthresh) == (12, 12, 12)
    # Duplicates while it grows: congestion, half of the window.
    *_, halved, recovered = drive("welcome", [*growing, "loss 1000000", "recovered"])
    assert (halved.ssthresh, recovered.cwnd) == (10, 10)
    # A timeout while it grows: congestion.
    *_, halved = drive("welcome", [*growing, "timeout 700000 1000000"])
    assert (halved.cwnd, halved.ssthresh) == (1, 10)
    # A timeout while it is steady: a broken link. The first acknowledgement restores two thirds
    # of the window, at most what the path holds.
    *_, broken, back = drive("welcome", [*steady, "timeout 700000 1000000", f"ack 5000000 {61 * MSS} 0 -1"])
    assert (broken.cwnd, broken.ssthresh) == (1, 12)
    assert back.cwnd == 12


def test_four_round_trips_of_the_new_route_set_the_window_again(drive: Drive) -> None:
    # The path before has a round trip of 60 ms, and holds 60 segments: the window of 20 is no more.
    before = [f"ack {1 + 1_000 * n} {n * MSS} 0 60000" for n in range(1, 200)]
    out = [*before, "timeout 700000 300000", "ack 5000000 300000 0 -1"]
    # Over the new one it is 120 ms: a is one half.
    after = [f"ack {5_000_000 + 1_000 * n} {300_000 + n * MSS} 0 120000" for n in range(1, 5)]
    states = drive("welcome", out + after)
    assert states[len(out) - 1].cwnd == 13
    assert [state.cwnd for state in states[len(out) :]] == [13, 13, 13, 10]
