#!/usr/bin/env python3
"""What the events of a TCP sender cost with each variant, in instructions.

`cargo build --release --package hopyard-bench`, then `python bench/costs.py`, write
`bench/results/costs.csv`. The program `hopyard-costs` lets a sender talk to a receiver over a path
with losses. Callgrind counts the instructions of each kind of event; they do not depend on the
machine's load, but on its compiler and on its processor. `--joules` adds the energy of an event.
"""

import argparse
import csv
import re
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
RESULT = HERE / "results" / "costs.csv"
PROGRAM = HERE.parent / "target" / "release" / "hopyard-costs"
#: Joules that an instruction takes, unless another number is given: a processor of 1 W that
#: carries out 1e9 instructions a second. This is an assumption.
JOULES = 1e-9
LINE = re.compile(r"^\s*([\d,]+)\s.*?hopyard_costs::(cost_\w+)")


def output(words: list[str]) -> str:
    """What a command prints."""
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def costs(program: Path, variant: str) -> list[tuple[str, int, int]]:
    """Of each kind of event that happened: its name, how often, and all of its instructions."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        printed = output([*valgrind, str(program), variant])
        counts = {name: int(count) for name, count in map(str.split, printed.splitlines())}
        listed = output(["callgrind_annotate", "--inclusive=yes", "--threshold=100", str(out)])
    instructions = dict.fromkeys(counts, 0)
    for line in listed.splitlines():
        if found := LINE.match(line):
            instructions[found[2]] += int(found[1].replace(",", ""))
    return [(name, count, instructions[name]) for name, count in counts.items() if count]


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("variants", nargs="*", help="the variants; all if none is named")
    parser.add_argument("--program", type=Path, default=PROGRAM)
    parser.add_argument("--joules", type=float, default=JOULES, help="joules of an instruction")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    variants = given.variants or output([str(given.program)]).split()
    with given.out.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["variant", "event", "count", "instructions_each", "nanojoules_each"])
        for variant in variants:
            for name, count, instructions in costs(given.program, variant):
                each = instructions / count
                event = name.removeprefix("cost_")
                rows.writerow(
                    [variant, event, count, f"{each:.0f}", f"{each * given.joules * 1e9:.0f}"]
                )


if __name__ == "__main__":
    main()
