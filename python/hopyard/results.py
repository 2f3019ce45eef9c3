"""What runs have shown: tables, and means with intervals made from them."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hopyard import store
from hopyard.confusion import confusion
from hopyard.measures import MEASURES, SHOWN, integers
from hopyard.stats import estimate, paired_difference

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from hopyard.confusion import Confusion
    from hopyard.measures import Floats, Integers, Measure
    from hopyard.plot import Plot
    from hopyard.stats import Estimate


@dataclass(frozen=True, slots=True)
class Case:
    """One configuration of a comparison: a scenario with one choice of the compared settings."""

    number: int
    scenario: str
    settings: dict[str, str]
    config: str

    def __str__(self) -> str:
        return ", ".join(
            [self.scenario, *(f"{key}={value}" for key, value in self.settings.items())]
        )


@dataclass(frozen=True)
class Results:
    """Tables of results: a row a flow, a node, a reason of loss, a sample, a loss that was judged.

    The tables are pyarrow's: pandas, polars and everything else that speaks the Arrow PyCapsule
    interface take them as they are. Every row says where it comes from: the scenario, the compared
    settings and the run, and the seed, the configuration's hash and the version with which the run
    can be made again.

    `complete` is false when Ctrl-C ended the runs before all were finished.
    """

    flows: pa.Table
    nodes: pa.Table
    drops: pa.Table
    series: pa.Table
    decisions: pa.Table
    complete: bool = True

    @cached_property
    def settings(self) -> tuple[str, ...]:
        """The compared keys."""
        names = self.nodes.column_names
        return tuple(names[names.index("scenario") + 1 : names.index("run")])

    @cached_property
    def cases(self) -> list[Case]:
        """The configurations of which runs are here, in the order of the comparison."""
        head = ["case", "scenario", *self.settings, "config"]
        _, firsts = np.unique(integers(self.nodes, "case"), return_index=True)
        rows = self.nodes.select(head)
        cases = [rows.slice(int(first), 1).to_pylist()[0] for first in firsts]
        return [
            Case(
                case["case"],
                case["scenario"],
                {key: case[key] for key in self.settings},
                case["config"],
            )
            for case in cases
        ]

    @cached_property
    def runs(self) -> int:
        """The largest number of runs that a case has."""
        return max((len(self.runs_of(case)) for case in self.cases), default=0)

    @property
    def version(self) -> str:
        """The version of Hopyard that made the runs."""
        return str(self.nodes["version"][0]) if len(self.nodes) else ""

    def rows(self, table: str, case: Case) -> pa.Table:
        """A case's rows of a table."""
        rows: pa.Table = getattr(self, table)
        # A mask: an expression would import the engine of queries, which takes longer than a run.
        return rows.filter(pc.equal(rows["case"], case.number))

    def runs_of(self, case: Case) -> Integers:
        """The numbers of a case's runs, in order."""
        return np.unique(integers(self.rows("nodes", case), "run"))

    @staticmethod
    def measure(name: str) -> Measure:
        """The measure of this name.

        Raises:
            ValueError: when there is none; the message lists them.
        """
        if name not in MEASURES:
            raise ValueError(f"no measure is called {name!r}; there are {', '.join(MEASURES)}")
        return MEASURES[name]

    def values(self, measure: str, case: Case) -> Floats:
        """A measure of a case, one value a run, in the measure's unit; NaN where a run has none."""
        chosen = self.measure(measure)
        rows, runs = self.rows(chosen.table, case), self.runs_of(case)
        group = np.searchsorted(runs, integers(rows, "run"))
        return chosen.of_runs(rows, group, len(runs))

    def estimate(self, measure: str, case: Case) -> Estimate:
        """A measure's mean over a case's runs, with its 95 % interval."""
        return estimate(self.values(measure, case))

    def difference(self, measure: str, case: Case, baseline: Case) -> Estimate:
        """How much more a measure is in `case` than in `baseline`, with its 95 % interval.

        Runs of the same number meet the same movement and channel, so they are compared pair by
        pair; runs that only one of the two has are left out.
        """
        _, ours, theirs = np.intersect1d(
            self.runs_of(case), self.runs_of(baseline), return_indices=True
        )
        return paired_difference(
            self.values(measure, case)[ours], self.values(measure, baseline)[theirs]
        )

    def confusion(self, case: Case | None = None, since: float = 0.0) -> Confusion:
        """What senders took losses for, against what the losses were, in all runs of a case.

        Args:
            case: the case; all of them together if none is given.
            since: only what was decided from this time on, in seconds.
        """
        rows = self.decisions if case is None else self.rows("decisions", case)
        return confusion(rows.filter(pc.field("time_s") >= since))

    def summary(self, measures: Sequence[str] = SHOWN) -> pa.Table:
        """A row a case: each measure's mean, and half of its 95 % interval's width."""
        columns: dict[str, list[object]] = {"scenario": [case.scenario for case in self.cases]}
        columns |= {key: [case.settings[key] for case in self.cases] for key in self.settings}
        columns["runs"] = [len(self.runs_of(case)) for case in self.cases]
        for name in measures:
            estimates = [self.estimate(name, case) for case in self.cases]
            label = self.measure(name).label
            columns[label] = [each.mean for each in estimates]
            columns[f"{label} ±"] = [each.half_width for each in estimates]
        columns["config"] = [case.config for case in self.cases]
        columns["version"] = [self.version] * len(self.cases)
        return pa.table(columns)

    def plot(self, measure: str = "goodput") -> Plot:
        """A measure of every case with its interval: `results.plot().savefig("goodput.png")`."""
        from hopyard.plot import comparison

        return comparison(self, measure)

    def plot_series(self, quantity: str, run: int | None = None) -> Plot:
        """A sampled quantity over time, a panel a case, of one run (the first if none is named)."""
        from hopyard.plot import over_time

        return over_time(self, quantity, run)

    def save(self, folder: str | Path, format: str = "parquet") -> list[Path]:
        """Writes the tables and the summary into a folder and returns the files' paths."""
        return store.save(self, folder, format)

    def __repr__(self) -> str:
        state = "" if self.complete else ", interrupted"
        return f"<hopyard results: {len(self.cases)} cases, {self.runs} runs each{state}>"

    def _repr_html_(self) -> str:
        """The summary, as a notebook shows it."""
        measures = [MEASURES[name] for name in SHOWN]
        head = _html_row("th", ["scenario", *self.settings, *(each.label for each in measures)])
        body = [
            [
                case.scenario,
                *case.settings.values(),
                *(str(self.estimate(each.name, case)) for each in measures),
            ]
            for case in self.cases
        ]
        rows = "".join(_html_row("td", row) for row in body)
        return f"<table>{head}{rows}</table><p>{html.escape(repr(self))}</p>"


def _html_row(tag: str, cells: Iterable[str]) -> str:
    return "<tr>{}</tr>".format("".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells))
