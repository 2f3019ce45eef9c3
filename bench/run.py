#!/usr/bin/env python3
"""Compare the speed of Hopyard with that of ns-2 and ns-3 on the same scenarios.

Every value belongs to a whole process: CPU seconds (user and system) and peak memory, as the
operating system counts them. The simulators run one after the other, `--repeat` times. The smallest
CPU time of each is used, because other load on the machine can only increase it. A peer that is not
installed is left out. If a peer simulates less time, it is compared with the core over the same
time, which has a row of its own. The results are written to `bench/results/`.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

from make_scenarios import MADE  # noqa: E402 - the line above adds this folder

# Scenarios of the comparison, and the simulated seconds for ns-3: all, or as many as it can
# simulate in about a minute.
COMPARED = {"chain6": 360.0, "rwp50": 60.0, "n50": 5.0, "rwp100": 12.0, "rwp200": 8.0, "rwp400": 3.0}
# The same density with increasing numbers of nodes: with the same number of flows, and with one
# kind of frame.
FAMILIES = {
    "Twenty flows of TCP over AODV": ("random100", "rwp1000", "rwp4000", "rwp10000"),
    "Floods alone": ("flood100", "flood1000", "flood10000", "flood100000"),
    "TCP alone, to a neighbour": ("tcp100", "tcp1000", "tcp10000", "tcp100000"),
    "The benchmark of JiST/SWANS": ("swans1000", "swans10000", "swans100000", "swans1000000"),
    "Mobile IP: hosts that roam among fifty foreign agents": ("roaming250", "roaming500", "roaming1000"),
}

#: What others have published about such networks, by the family.
PUBLISHED = {
    "The benchmark of JiST/SWANS": (
        "A million nodes elsewhere: JiST/SWANS on one machine (Barr, Haas and van Renesse, Software: Practice and "
        "Experience, 2005), and OLSR over 802.11 with ROSS on Blue Gene/L, 315 to 450 times as fast as on one "
        "processor (LaPre et al., 2012). We know of no published time of a run that is like this one."
    )
}
#: Scenarios that take minutes run once.
ONCE = ("swans1000000",)


#: What Hopyard runs alone.
ALONE = tuple(scenario for family in FAMILIES.values() for scenario in family)


@dataclass(frozen=True)
class Result:
    """The result and the cost of one simulator for one scenario."""

    scenario: str
    simulator: str
    simulated_s: float
    cpu_s: float
    peak_mb: float
    goodput_kbps: float
    frames: int | None
    receptions: int | None = None

    @property
    def speed(self) -> float:
        """Simulated seconds for each CPU second."""
        return self.simulated_s / self.cpu_s

    @property
    def frame_us(self) -> float | None:
        """CPU microseconds for each frame sent."""
        return 1e6 * self.cpu_s / self.frames if self.frames else None

    @property
    def reception_us(self) -> float | None:
        """CPU microseconds for each frame at each radio that sensed it."""
        return 1e6 * self.cpu_s / self.receptions if self.receptions else None


def run(words: Sequence[str]) -> tuple[str, float, float]:
    """Run a command; return its standard output, CPU seconds and peak memory in MB."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(words, stdout=output, cwd=ROOT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}: exit status {process.returncode}")
        output.seek(0)
        return output.read().decode(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def core(program: Path, scenario: str, duration: float | None = None) -> Result:
    """Hopyard's core, as a plain Rust program."""
    settings = [] if duration is None else [f"until={duration:g} s"]
    with tempfile.TemporaryDirectory() as folder:
        file = HERE / "scenarios" / f"{scenario}.toml"
        if scenario in MADE:
            file = Path(folder) / file.name
            file.write_text(MADE[scenario])
        text, cpu, peak = run([str(program), str(file), *settings])
    line = json.loads(text)
    return Result(
        scenario,
        "hopyard",
        line["simulated_s"],
        cpu,
        # The peak that `wait4` reports for a child is at least that of this process at its start.
        line["peak_mb"] or peak,
        line["goodput_kbps"],
        line["frames_sent"],
        line["receptions"],
    )


def command(scenario: str, hopyard: Path, like: Result) -> Result:
    """`hopyard run`, which includes everything around the core."""
    with tempfile.TemporaryDirectory() as folder:
        words = [str(hopyard), "run", str(HERE / "scenarios" / f"{scenario}.toml"), "--runs", "1"]
        _, cpu, peak = run([*words, "--out", folder])
    return Result(scenario, "hopyard run", like.simulated_s, cpu, peak, like.goodput_kbps, like.frames)


def peer(name: str, scenario: str, duration: float | None, seed: int = 1) -> Result | None:
    """A peer; `None` if it is not installed."""
    words = [sys.executable, str(HERE / "peers" / "run_peer.py"), name, scenario, "--seed", str(seed)]
    if duration is not None:
        words += ["--duration", f"{duration:g}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{name} {scenario}: {done.stderr.strip()}", file=sys.stderr)
        return None
    line = json.loads(done.stdout)
    return Result(
        scenario,
        name,
        line["simulated_s"],
        line["user_s"] + line["system_s"],
        line["peak_rss_mb"],
        line["goodput_kbps"],
        line["frames_sent"],
    )


def ns2_frames(scenario: str) -> int | None:
    """How many frames ns-2 sends; this needs a run with a trace."""
    words = [sys.executable, str(HERE / "peers" / "run_peer.py"), "ns2-frames", scenario]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["frames_sent"] if done.returncode == 0 else None


def best(results: Sequence[Result]) -> Result:
    """The run with the smallest CPU time."""
    return min(results, key=lambda result: result.cpu_s)


def parallel(hopyard: Path) -> tuple[float, float]:
    """Elapsed seconds of 30 runs of the chain on one core and on two."""
    times = []
    for jobs in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            words = [str(hopyard), "run", str(HERE / "scenarios" / "chain6.toml"), "--runs", "30"]
            started = time.monotonic()
            run([*words, "--jobs", str(jobs), "--out", folder])
            times.append(time.monotonic() - started)
    return times[0], times[1]


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a Markdown table; the first row is the header."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines) + "\n"


#: The core, by scenario and simulated time.
Cores = dict[tuple[str, float], Result]


def describe(results: Sequence[Result], cores: Cores) -> str:
    """The table of all results, with ratios to Hopyard's core over the same simulated time.

    It has no goodput: runs of one scenario differ by a tenth. `goodput.py` compares means over seeds.
    """
    rows = [
        [
            "scenario",
            "simulator",
            "simulated s",
            "CPU s",
            "peak MB",
            "simulated s / CPU s",
            "times slower than the core",
            "frames",
            "us / frame",
            "times the core's us / frame",
        ]
    ]
    for result in results:
        like = cores[result.scenario, result.simulated_s]
        ratio = like.speed / result.speed
        frame_ratio = result.frame_us / like.frame_us if result.frame_us and like.frame_us else None
        rows.append(
            [
                result.scenario,
                result.simulator,
                f"{result.simulated_s:g}",
                f"{result.cpu_s:.3g}",
                f"{result.peak_mb:.1f}",
                f"{result.speed:.4g}",
                f"{ratio:.2f}",
                str(result.frames) if result.frames else "",
                f"{result.frame_us:.2f}" if result.frame_us else "",
                f"{frame_ratio:.1f}" if frame_ratio else "",
            ]
        )
    return table(rows)


def describe_scaling(results: Sequence[Result], family: Sequence[str]) -> str:
    """The core's cost of a frame, and of its reception at each radio, with few and many nodes."""
    rows = [
        [
            "scenario",
            "simulated s",
            "CPU s",
            "peak MB",
            "frames",
            "receptions / frame",
            "us / frame",
            "times the first's",
            "us / reception",
            "times the first's",
        ]
    ]
    alone = [each for each in results if each.scenario in family and each.simulator == "hopyard"]
    for result in alone:
        frame, reception = result.frame_us or 0, result.reception_us or 0
        rows.append(
            [
                result.scenario,
                f"{result.simulated_s:g}",
                f"{result.cpu_s:.3g}",
                f"{result.peak_mb:.1f}",
                str(result.frames),
                f"{frame / reception:.1f}",
                f"{frame:.2f}",
                f"{frame / (alone[0].frame_us or 1):.2f}",
                f"{reception:.3f}",
                f"{reception / (alone[0].reception_us or 1):.2f}",
            ]
        )
    return table(rows) if len(alone) > 1 else ""


def chosen_of(parser: argparse.ArgumentParser, options: argparse.Namespace, known: Sequence[str]) -> list[str]:
    """The scenarios that `--only` names, or all; an error where one is not known or the core is not there."""
    chosen = options.only.split(",") if options.only else [*known]
    if unknown := [name for name in chosen if name not in known]:
        parser.error(f"--only: expected some of {', '.join(known)}, found {', '.join(unknown)}")
    if not options.core.exists():
        parser.error(f"--core: there is no {options.core}; `make bench` builds it")
    return chosen


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--core", type=Path, default=ROOT / "target" / "release" / "hopyard-bench")
    parser.add_argument("--hopyard", type=Path, default=ROOT / ".venv" / "bin" / "hopyard")
    parser.add_argument("--only", help="scenarios, separated by commas")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--skip", default="", help="simulators to leave out: ns2,ns3,run")
    options = parser.parse_args()
    skip = set(options.skip.split(","))
    chosen = chosen_of(parser, options, [*COMPARED, *ALONE])
    results: list[Result] = []
    known: Cores = {}
    for scenario in chosen:
        cores: list[Result] = []
        peers: list[Result] = []
        for _ in range(1 if scenario in ONCE else options.repeat):
            cores.append(core(options.core, scenario))
            if scenario in COMPARED and "ns2" not in skip:
                peers += [found] if (found := peer("ns2", scenario, None)) else []
        results.append(best(cores))
        known[scenario, results[-1].simulated_s] = results[-1]
        if "run" not in skip and options.hopyard.exists() and scenario not in MADE:
            runs = range(options.repeat)
            results.append(best([command(scenario, options.hopyard, best(cores)) for _ in runs]))
        if peers:
            found = best(peers)
            frames = ns2_frames(scenario)
            results.append(Result(**{**found.__dict__, "frames": frames}))
        if scenario in COMPARED and "ns3" not in skip:
            given = COMPARED[scenario]
            others = [found for _ in range(options.repeat) if (found := peer("ns3", scenario, given))]
            if others:
                results.append(best(others))
                given = results[-1].simulated_s
                if (scenario, given) not in known:
                    shorter = [core(options.core, scenario, given) for _ in range(options.repeat)]
                    known[scenario, given] = best(shorter)
                    results.insert(-1, known[scenario, given])
        print(describe([r for r in results if r.scenario == scenario], known), flush=True)
    text = describe([r for r in results if r.scenario not in MADE], known)
    for title, family in FAMILIES.items():
        if scaling := describe_scaling(results, family):
            text += f"\n{title}, with increasing numbers of nodes:\n\n{scaling}"
            text += f"\n{PUBLISHED[title]}\n" if title in PUBLISHED else ""
    if "run" not in skip and options.hopyard.exists():
        one, two = parallel(options.hopyard)
        text += f"\n30 runs of chain6: {one:.2f} s on one core, {two:.2f} s on two: "
        text += f"{one / two:.2f} times as fast.\n"
    print(text)
    if options.only:
        return
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    head = (
        "# Speed beside ns-2, ns-3 and others\n\n"
        "Made by `make bench`. The measured peak memory of the peers is at least that of the "
        "measuring process. Ratios are relative to the core over the same simulated time.\n\n"
    )
    (folder / "speed.md").write_text(head + text)
    with (folder / "speed.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(Result.__dataclass_fields__)
        writer.writerows([list(result.__dict__.values()) for result in results])


if __name__ == "__main__":
    main()
