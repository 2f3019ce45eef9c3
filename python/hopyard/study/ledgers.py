"""The ledgers of a study: each claim with its verdict, each published value beside ours."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopyard.files import write_text
from hopyard.study.points import named

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from hopyard.statistics.estimates import Estimate
    from hopyard.study.claims import Verdict
    from hopyard.study.figures import Source

#: A mean is as published if it is within this share of the published value, or if that is in the
#: range of the runs: a paper's value is mostly that of one run.
CLOSE = 0.05


@dataclass(frozen=True, slots=True)
class Compared:
    """A published value, and our runs of the same point."""

    row: dict[str, str]
    #: Which of several points with these values of the file's axes; nothing if it is the only one.
    point: str
    published: float
    ours: Estimate
    #: The smallest and the largest value of our runs.
    least: float
    most: float

    @property
    def agrees(self) -> bool:
        """Whether the published value is in the range of our runs, or their mean near it."""
        near = abs(self.ours.mean - self.published) <= CLOSE * abs(self.published)
        return near or self.least <= self.published <= self.most


def compared(source: Source) -> list[Compared]:
    """Each published value of which there are runs, at each point that it is about.

    A file without a column for an axis says the same of all values of that axis.
    """
    if source.published is None:
        return []
    found = []
    for row, value in source.published.rows:
        fitting = [each for each in source.points if source.published.is_of(row, each.labels)]
        mine = [each for each in fitting if each.experiment == fitting[0].experiment]
        for point in mine:
            others = {name: label for name, label in point.labels.items() if name not in row}
            sample = source.values.of(point, row["measure"])[1]
            ours = source.values.interval(sample, [point])
            if ours.runs:
                known = sample[~np.isnan(sample)]
                least, most = float(known.min()), float(known.max())
                which = named(others) if len(mine) > 1 else ""
                found.append(Compared(row, which, value, ours, least, most))
    return found


def write(out: Path, source: Source, verdicts: Sequence[Verdict]) -> list[Path]:
    """Writes `claims.csv`, and `published.csv` if the study has published values."""
    rows = (
        [
            each.claim.id,
            each.verdict,
            each.claim.text,
            each.claim.source,
            each.figure,
            each.interval,
            each.p,
            each.holding,
            each.comparisons,
            each.runs or "",
            "" if each.needed is None else each.needed,
        ]
        for each in verdicts
    )
    shown = ["id", "verdict", "claim", "source", "figure", "interval", "p"]
    head = [*shown, "holding", "comparisons", "runs", "runs_needed"]
    written = [write_csv(out / "claims.csv", head, rows)] if verdicts else []
    if source.published is not None:
        names = source.published.columns
        ours = ["ours", "half_width", "least", "most", "runs", "agrees"]
        judged = compared(source)
        # Where the file tells all points apart, as it should, there is no such column.
        point = ["point"] if any(each.point for each in judged) else []
        written.append(
            write_csv(
                out / "published.csv",
                [*names, *point, *ours],
                (
                    [
                        *(each.row[name] for name in names),
                        *(each.point for _ in point),
                        f"{each.ours.mean:.6g}",
                        f"{each.ours.half_width:.6g}",
                        f"{each.least:.6g}",
                        f"{each.most:.6g}",
                        each.ours.runs,
                        "yes" if each.agrees else "no",
                    ]
                    for each in judged
                ),
            )
        )
    return written


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> Path:
    """Writes a table of texts and numbers; gives its path."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    write_text(path, text.getvalue())
    return path
