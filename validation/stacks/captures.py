"""What the comparisons share: a run whose wires are captured, tshark's fields of its packets, a table of cases."""

from __future__ import annotations

import csv
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import hopyard

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def fields(file: Path, which: str, names: Sequence[str]) -> list[list[str]]:
    """These fields of the packets that a filter finds in a capture."""
    words = [word for name in names for word in ("-e", name)]
    command = ["tshark", "-n", "-r", str(file), "-Y", which, "-T", "fields", *words]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in made.stdout.splitlines()]


def on_wires(
    scenario: dict[str, object], names: Sequence[str], which: str = "tcp"
) -> tuple[hopyard.Results, list[list[str]]]:
    """Makes a run: its results, and these fields of what entered and left its wires."""
    # The captures are small, and are not kept.
    warnings.filterwarnings("ignore", message=".* may have up to ")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.pcapng"
        results = hopyard.run(scenario, jobs=1, progress=False, capture=file, capture_kinds="wire")
        return results, fields(file, which, names)


def write(out: Path, head: Sequence[str], rows: Iterable[list[object]]) -> None:
    """Writes a table; each row is in the file as soon as it is there."""
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        for row in rows:
            writer.writerow(row)
            file.flush()
