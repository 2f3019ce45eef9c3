"""Simulates the coverage: `python -m validation.coverage [--draws N] [--jobs N] [--only TABLE]`.

Writes validation/results/coverage_*.csv and the tables of docs/guide/statistics.md. The seeds are
fixed: the same numbers come out for any number of jobs.
"""

from __future__ import annotations

import csv
import gc
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import click

from validation.coverage import decisions, fixed, watched
from validation.coverage.page import FILES, PAGE, RESULTS, filled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Row = dict[str, object]


class Cell(Protocol):
    """A part of the work, which gives one row or several."""

    def simulate(self, draws: int) -> Row | list[Row]:
        """Its row or rows."""


TABLES: dict[str, Callable[[], Iterable[Cell]]] = {
    "intervals": fixed.cells,
    "watched": watched.cells,
    "decisions": decisions.cells,
}


def simulate(cell: Cell, draws: int) -> list[Row]:
    """The rows of a cell."""
    found = cell.simulate(draws)
    return found if isinstance(found, list) else [found]


def write(path: Path, found: Iterable[list[Row]]) -> None:
    """Writes rows with the same columns as CSV, as they come, numbers to six digits."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = None
        for rows in found:
            if writer is None:
                writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
                writer.writeheader()
            for row in rows:
                writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
            file.flush()
            print(f"{path.name}: {rows[-1]}", file=sys.stderr)


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--draws", type=click.IntRange(min=2), default=10_000, help="Draws of each cell.")
@click.option("--jobs", type=click.IntRange(min=1), default=1, help="Cells at a time.")
@click.option("--only", type=click.Choice(list(TABLES)), multiple=True, help="Only these tables.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the CSV files, without the page; default: replace the committed ones.",
)
def main(draws: int, jobs: int, only: tuple[str, ...], out: Path | None) -> None:
    """Simulate how often the intervals have the truth."""
    folder = out or RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    # statsmodels collects garbage at each correction: what is loaded is not looked through then.
    with ProcessPoolExecutor(jobs, initializer=gc.freeze) as pool:
        for table in only or TABLES:
            found = pool.map(partial(simulate, draws=draws), TABLES[table]())
            write(folder / FILES[table], found)
    if out is None:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
