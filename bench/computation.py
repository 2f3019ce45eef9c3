#!/usr/bin/env python3
"""What the events of a TCP sender cost, in instructions of this project's own code.

callgrind counts the instructions of `hopyard-computation`, in which each kind of event has a
function of its own; divided by how often it was called, that is the cost of one event. The counts
are the same on each machine of one architecture. `make computation` writes the table that the
package uses, `python/hopyard/tables/computation.csv`.
"""

import argparse
import csv
import json
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "python" / "hopyard" / "tables" / "computation.csv"
#: The functions of the program, and the columns of the table.
EVENTS = {
    "ack_slow_start": "ack_slow_start",
    "ack_avoidance": "ack_avoidance",
    "ack_recovery": "ack_recovery",
    "transmit": "segment",
    "timeout": "timeout",
}
_LINE = re.compile(r"^\s*([\d,]+)\s+\(.*?\)\s+.*hopyard_computation::(\w+)")


def variants(program: Path) -> list[str]:
    """The TCP variants that there are."""
    listed = subprocess.run([program], capture_output=True, text=True, check=True)
    return listed.stdout.split()


def costs(program: Path, variant: str) -> dict[str, float]:
    """Instructions of each kind of event; nothing for one that never happened."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind"
        counted = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program, variant],
            capture_output=True,
            text=True,
            check=True,
        )
        words: list[str | Path] = ["callgrind_annotate", "--inclusive=yes", "--threshold=100", out]
        text = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    calls = json.loads(counted.stdout)
    spent: dict[str, int] = {}
    for line in text.splitlines():
        if found := _LINE.match(line):
            spent.setdefault(found[2], int(found[1].replace(",", "")))
    return {column: spent[name] / calls[name] for name, column in EVENTS.items() if name in spent and calls[name] > 0}


def main() -> None:
    """Measure every variant, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    program = ROOT / "target" / "release" / "hopyard-computation"
    parser.add_argument("--program", type=Path, default=program)
    parser.add_argument("--out", type=Path, default=TABLE)
    options = parser.parse_args()
    rows = [["variant", *EVENTS.values()]]
    for variant in variants(options.program):
        found = costs(options.program, variant)
        rows.append([variant, *(f"{found[each]:.0f}" if each in found else "" for each in EVENTS.values())])
        print(*rows[-1])
    with options.out.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
