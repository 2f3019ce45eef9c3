#!/usr/bin/env python3
"""The cost of a segment with each TCP variant, and with a congestion control written in Python.

Each variant sends a file over a wire with a few losses, `bench/scenarios/segments.toml`, in its own
process. The cost of a segment is the CPU time divided by the number of segments sent. The variants
run one after the other, `repeat` times, and the smallest cost of each is used. The congestion
control in Python (`docs/guide/custom-tcp/aimd.py`) runs in `hopyard run`. The cost of the same
command with NewReno is subtracted. `make bench` writes the table to `bench/results/segments.md`.
"""

import argparse
import json
import math
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from run import HERE, ROOT, run, table

SCENARIO = HERE / "scenarios" / "segments.toml"
#: The reference variant, and the maximum cost of the others relative to it.
REFERENCE, BOUND = "newreno", 1.3
PYTHON = "aimd:Aimd"
#: Simulated seconds of a run, and of the longest run, for a variant that sends slowly.
DURATION, LONGEST = 400, 100_000
#: With this number of segments the cost of the process itself is small.
ENOUGH = 500_000


@dataclass(frozen=True)
class Cost:
    """The cost of a variant's segments."""

    variant: str
    segments: int
    cpu_s: float

    @property
    def each_us(self) -> float:
        """CPU microseconds for each segment."""
        return 1e6 * self.cpu_s / self.segments


def variant(program: Path, name: str) -> Cost:
    """A built-in variant, run long enough that the cost of the process itself is small."""
    seconds = DURATION
    while True:
        words = [str(program), str(SCENARIO), name, f"duration={seconds} s"]
        text, cpu, _ = run(words)
        if int(text) > ENOUGH or seconds >= LONGEST:
            return Cost(name, int(text), cpu)
        seconds = min(LONGEST, math.ceil(seconds * 1.5 * ENOUGH / max(1, int(text))))


def python(hopyard: Path, builtin: Cost) -> Cost:
    """The congestion control in Python: its cost beyond `hopyard run` with a built-in variant."""
    costs = {}
    segments = 0
    for name in (builtin.variant, PYTHON):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "aimd.py").write_text((ROOT / "docs/guide/custom-tcp/aimd.py").read_text())
            (place / "segments.toml").write_text(SCENARIO.read_text())
            words = [str(hopyard), "run", str(place / "segments.toml"), "--set", f"flow.tcp={name}"]
            _, costs[name], _ = run([*words, "--out", str(place / "results"), "--format", "csv"])
            head, row = (place / "results" / "flows.csv").read_text().splitlines()
            segments = int(dict(zip(head.split(","), row.split(","), strict=True))['"packets_sent"'])
    beyond = costs[PYTHON] - costs[builtin.variant]
    return Cost(f"{PYTHON}, in Python", segments, beyond + builtin.each_us * segments / 1e6)


def measure(program: Path, hopyard: Path | None, repeat: int) -> list[Cost]:
    """The costs of every variant, the smallest of `repeat` runs each."""
    listed = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    names = listed.stdout.split()
    runs = [[variant(program, name) for name in names] for _ in range(repeat)]
    costs = [min(each, key=lambda cost: cost.cpu_s) for each in zip(*runs, strict=True)]
    if hopyard is not None and hopyard.exists():
        reference = next(cost for cost in costs if cost.variant == REFERENCE)
        rules = [python(hopyard, reference) for _ in range(repeat)]
        costs.append(min(rules, key=lambda cost: cost.cpu_s))
    return costs


def describe(costs: list[Cost]) -> str:
    """The costs as a table, with their ratios to that of NewReno."""
    reference = next(cost for cost in costs if cost.variant == REFERENCE).each_us
    rows = [["variant", "segments", "us / segment", f"times {REFERENCE}", f"at most {BOUND}"]]
    for cost in costs:
        ratio = cost.each_us / reference
        within = "" if ":" in cost.variant else "yes" if ratio <= BOUND else "no"
        rows.append([cost.variant, str(cost.segments), f"{cost.each_us:.2f}", f"{ratio:.2f}", within])
    return table(rows)


def main() -> None:
    """Measure, print the table and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--core", type=Path, default=ROOT / "target" / "release" / "hopyard-segments")
    parser.add_argument("--hopyard", type=Path, default=ROOT / ".venv" / "bin" / "hopyard")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print the values as JSON and write no file")
    options = parser.parse_args()
    costs = measure(options.core, options.hopyard, options.repeat)
    if options.json:
        print(json.dumps([cost.__dict__ | {"each_us": cost.each_us} for cost in costs]))
        return
    text = describe(costs)
    print(text)
    head = (
        "# What a segment costs with each variant\n\n"
        "Made by `make bench`: CPU time of a whole process, divided by the number of segments that it sent.\n\n"
    )
    (HERE / "results").mkdir(exist_ok=True)
    (HERE / "results" / "segments.md").write_text(head + text)


if __name__ == "__main__":
    main()
