"""How well a sender distinguishes causes of loss: its decisions compared with the true causes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from hopyard.tables.arrays import Integers

#: The causes that a sender may decide on.
DECIDED = ("congestion", "wireless", "link_failure")
#: The true causes, each with the right decision; None where no decision is right.
RIGHT = {
    "congestion": "congestion",
    "interference": "wireless",
    "channel_error": "wireless",
    "link_failure": "link_failure",
    "spurious": None,
    "other": None,
}


@dataclass(frozen=True)
class Confusion:
    """A confusion matrix: `counts[i, j]` losses by cause `true[i]` were judged as `decided[j]`."""

    true: tuple[str, ...]
    decided: tuple[str, ...]
    counts: Integers

    @property
    def total(self) -> int:
        """How many losses were judged."""
        return int(self.counts.sum())

    def count(self, true: str, decided: str | None = None) -> int:
        """The number of losses by cause `true`; only those judged as `decided` if it is given."""
        row = self.counts[self.true.index(true)]
        return int(row.sum() if decided is None else row[self.decided.index(decided)])

    @property
    def judged(self) -> int:
        """The number of losses for which one of the decisions is right."""
        return sum(self.count(true) for true, right in RIGHT.items() if right)

    @property
    def accuracy(self) -> float:
        """The share of right decisions among the `judged` losses; NaN if there were none."""
        right = sum(self.count(true, right) for true, right in RIGHT.items() if right)
        return right / self.judged if self.judged else float("nan")

    def recall(self, decided: str) -> float:
        """The share of losses by this cause that were judged as it; NaN if there were none."""
        kinds = [true for true, right in RIGHT.items() if right == decided]
        there = sum(self.count(true) for true in kinds)
        return sum(self.count(true, decided) for true in kinds) / there if there else float("nan")

    def precision(self, decided: str) -> float:
        """The share of losses judged as this cause that had it; NaN if none was judged so."""
        taken = int(self.counts[:, self.decided.index(decided)].sum())
        kinds = [true for true, right in RIGHT.items() if right == decided]
        return sum(self.count(true, decided) for true in kinds) / taken if taken else float("nan")

    def table(self) -> pa.Table:
        """The matrix as a table: one row for each true cause, one column for each decision."""
        columns: dict[str, list[object]] = {"true_cause": list(self.true)}
        for index, decided in enumerate(self.decided):
            columns[decided] = self.counts[:, index].tolist()
        return pa.table(columns)

    def __str__(self) -> str:
        rows = [["", *self.decided]]
        rows += [[true, *map(str, row)] for true, row in zip(self.true, self.counts.tolist(), strict=True) if sum(row)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def confusion(decisions: pa.Table) -> Confusion:
    """The matrix of a table of decisions, such as `Results.decisions` or a part of it."""
    counts = np.zeros((len(RIGHT), len(DECIDED)), dtype=np.int64)
    true, decided = list(RIGHT), list(DECIDED)
    pairs = decisions.group_by(["true_cause", "decided"], use_threads=False)
    for row in pairs.aggregate([([], "count_all")]).to_pylist():
        place = true.index(row["true_cause"]), decided.index(row["decided"])
        counts[place] += row["count_all"]
    return Confusion(tuple(RIGHT), DECIDED, counts)
