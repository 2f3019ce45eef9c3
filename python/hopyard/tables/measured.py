"""Tables of results, and means with confidence intervals computed from them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
import pyarrow as pa

from hopyard.errors import StoreError
from hopyard.statistics.estimates import estimate, paired_difference
from hopyard.tables import tables
from hopyard.tables.arrays import distinct, floats, integers, values, where
from hopyard.tables.cases import Case
from hopyard.tables.confusion import confusion
from hopyard.tables.labels import varying
from hopyard.tables.measures import SHOWN, answering, check, check_labels, named
from hopyard.tables.names import TABLES
from hopyard.tables.pairs import moving, pairings, places
from hopyard.terminal.words import many

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence
    from pathlib import Path

    from hopyard.scenario.scenario import Scenario
    from hopyard.statistics.estimates import Estimate
    from hopyard.tables.arrays import Floats, Integers
    from hopyard.tables.cases import Failure
    from hopyard.tables.confusion import Confusion
    from hopyard.tables.measures import Measure


class Origin(Protocol):
    """The source of results: it can make their runs again."""

    def scenario(self, case: Case) -> Scenario:
        """The scenario of a case."""

    def save(self, results: Measured, folder: Path, format: str, *, force: bool) -> list[Path]:
        """Writes the results into a folder."""


@dataclass(frozen=True)
class Measured:
    """Tables of results, with the measures that are computed from them.

    `hopyard.Results` says what they hold; it draws them, and reads and writes folders.
    """

    #: The tables by their names; those that are not given are empty. An error in the place of a
    #: table is raised where the table is used.
    tables: Mapping[str, pa.Table | StoreError]
    complete: bool = True
    failures: tuple[Failure, ...] = ()
    origin: Origin | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if lacking := [name for name in TABLES if name not in self.tables]:
            empty = {name: tables.empty()[name] for name in lacking}
            object.__setattr__(self, "tables", {**empty, **self.tables})

    def __getattr__(self, name: str) -> pa.Table:
        """The table with this name."""
        if name not in TABLES:
            raise AttributeError(f"results have no {name!r}", name=name, obj=self)
        found = self.tables[name]
        if isinstance(found, StoreError):
            raise StoreError(str(found))
        return found

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *TABLES]

    def scenario(self, case: Case) -> Scenario:
        """The complete scenario of a case, with the files that it names.

        Raises:
            ValueError: when the results do not come from runs, so that the scenario is not known.
        """
        if self.origin is None:
            raise ValueError(f"the scenario of {case} is not known")
        return self.origin.scenario(_case(case))

    def setting(self, case: Case, key: str) -> str | None:
        """The value of a key in the scenario of a case, as text; `None` if there is no such value.

        The key need not be a compared key: `results.setting(case, "nodes.count")`.
        """
        case = self.own(case)
        if case.settings.get(key):
            return case.settings[key]
        if self.origin is None:
            return None
        if case.number not in self._scenarios:
            self._scenarios[case.number] = self.origin.scenario(case)
        return self._scenarios[case.number].setting(key)

    @cached_property
    def _scenarios(self) -> dict[int, Scenario]:
        return {}

    def met(self, case: Case) -> Hashable:
        """The seed and the movement that the runs of a case meet; runs of one number are pairs where they are equal."""
        keys = [key for key in varying(self, self.cases) if moving(key)]
        where = ""
        # Settings tell cases of one scenario apart; where scenarios differ, they are read.
        if len({each.scenario for each in self.cases}) > 1:
            where = case.scenario if self.origin is None else json.dumps(places(self.scenario(case).core))
        return case.seed, where, tuple(case.settings[key] for key in keys)

    @property
    def problem(self) -> str | None:
        """Why series or segments cannot be read, if so; using them raises this as an error."""
        found = self.tables.values()
        return next((str(each) for each in found if isinstance(each, StoreError)), None)

    @cached_property
    def settings(self) -> tuple[str, ...]:
        """The compared keys."""
        names = self.nodes.column_names
        return tuple(names[names.index("scenario") + 1 : names.index("run")])

    @cached_property
    def cases(self) -> list[Case]:
        """The configurations that have runs here, in the order of the comparison."""
        head = list(dict.fromkeys(["case", "scenario", *self.settings, "config", "seed"]))
        _, firsts = np.unique(integers(self.nodes, "case"), return_index=True)
        rows = self.nodes.select(head)
        cases = [rows.slice(int(first), 1).to_pylist()[0] for first in firsts]
        return [
            Case(
                case["case"],
                case["scenario"],
                {key: case[key] for key in self.settings},
                case["config"],
                int(case["seed"]),
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
        """The rows of a case in a table.

        A case of other results means the case here with the same configuration and seed.

        Raises:
            ValueError: when there is no such case here.
        """
        if table not in TABLES:
            raise ValueError(f"there is no table {table!r}: expected {', '.join(TABLES)}")
        case = self.own(case)
        rows: pa.Table = getattr(self, table)
        return where(rows, integers(rows, "case") == case.number)

    def own(self, case: Case) -> Case:
        """The case here that has the same configuration, seed and settings.

        Raises:
            ValueError: when there is none.
        """
        if _case(case) in self.cases:
            return case
        same = [each for each in self.cases if (each.config, each.seed) == (case.config, case.seed)]
        if len(same) != 1:
            here = "; ".join(map(str, self.cases)) or "none"
            raise ValueError(
                f"{case} (configuration {case.config}, seed {case.seed}) is a case of other "
                f"results; those here are: {here}"
            )
        return same[0]

    def runs_of(self, case: Case) -> Integers:
        """The numbers of a case's runs, in order."""
        return distinct(integers(self.rows("nodes", case), "run"))

    @staticmethod
    def measure(name: str) -> Measure:
        """The measure of this name.

        Raises:
            ValueError: when there is none; the message lists them.
        """
        (chosen,) = check([name])
        return named(chosen)

    def values(self, measure: str, case: Case) -> Floats:
        """A measure of a case: one value for each run, in the measure's unit; NaN for none.

        Raises:
            ValueError: when there is no such measure, or no flow has the label that it names.
        """
        chosen, rows = self._of_measure(measure, case)
        runs = self.runs_of(case)
        group = np.searchsorted(runs, integers(rows, "run"))
        return chosen.of_runs(rows, group, len(runs))

    def _of_measure(self, measure: str, case: Case) -> tuple[Measure, pa.Table]:
        """A measure, and the rows of a case that it is about, without regard to a label."""
        chosen = self.measure(measure)
        if chosen.flows:
            check_labels([measure], set(values(self.flows["label"])))
        rows = self.rows(chosen.table, case)
        if not chosen.flows and "flow" in rows.column_names:
            answers = answering(self.rows("flows", case))
            rows = where(rows, ~np.isin(integers(rows, "flow"), [*answers]))
        return chosen, rows

    def values_of_rows(self, measure: str, case: Case) -> Floats | None:
        """The values of all rows of a case of which a measure is the mean: the times of objects.

        Nothing if it is another measure.

        Raises:
            ValueError: when there is no such measure, or no flow has the label that it names.
        """
        chosen, rows = self._of_measure(measure, case)
        if chosen.of_rows is None:
            return None
        if chosen.flows:
            rows = where(rows, np.asarray(values(rows["label"]), dtype=object) == chosen.flows)
        return chosen.of_rows(rows)

    def lacks(self, measure: str) -> bool:
        """Whether no run has a value of a measure."""
        return all(bool(np.isnan(self.values(measure, case)).all()) for case in self.cases)

    def estimate(self, measure: str, case: Case) -> Estimate:
        """A measure's mean over a case's runs, with its 95 % interval."""
        return estimate(self.values(measure, case))

    def difference(self, measure: str, case: Case, baseline: Case) -> Estimate:
        """The difference of a measure, `case` minus `baseline`, with its 95 % interval.

        Runs with the same number have the same movement and channel, so they are compared pair by
        pair. Runs that only one of the two cases has are left out.

        Raises:
            ValueError: when the cases have different seeds, so that their runs are no pairs.
        """
        seeds = self.own(case).seed, self.own(baseline).seed
        if seeds[0] != seeds[1]:
            raise ValueError(
                f"{case} and {baseline} have the seeds {seeds[0]} and {seeds[1]}: their runs of "
                "one number share nothing, and are no pairs; compare their estimates"
            )
        _, ours, theirs = np.intersect1d(self.runs_of(case), self.runs_of(baseline), return_indices=True)
        return paired_difference(self.values(measure, case)[ours], self.values(measure, baseline)[theirs])

    def confusion(self, case: Case | None = None, since: float = 0.0) -> Confusion:
        """The classifications of losses by the senders and the true causes, in all runs of a case.

        Args:
            case: the case; without it, all cases together.
            since: leaves out decisions before this time, in seconds.
        """
        if isinstance(since, float) and math.isnan(since):
            raise ValueError(f"since: expected a number of seconds, found {since!r}")
        if isinstance(since, bool) or not isinstance(since, (int, float)):
            raise TypeError(f"since: expected a number of seconds, found {since!r}")
        rows = self.decisions if case is None else self.rows("decisions", case)
        return confusion(where(rows, floats(rows, "time_s") >= since))

    def firsts(self, against: Mapping[str, str] | None = None) -> dict[int, Case]:
        """The case that each case is compared with run by run, by the number of the latter (`hopyard.tables.pairs`).

        Raises:
            ValueError: when no case has the values of `against`, such as `{"flow.tcp": "cubic"}`.
        """
        found, _ = pairings(self, self.cases, against)
        return {case.number: each.first for each in found for case in each.others}

    def summary(self, measures: str | Sequence[str] = SHOWN, against: Mapping[str, str] | None = None) -> pa.Table:
        """A row for each case: each measure's mean, and half the width of its 95 % interval.

        Where cases are compared, the differences follow in the same form, and `difference from` names the other case.
        """
        # With their types given, pyarrow imports no library to guess them.
        text = pa.string()
        columns = {"scenario": pa.array([case.scenario for case in self.cases], text)}
        for key in self.settings:
            columns[key] = pa.array([case.settings[key] for case in self.cases], text)
        runs = [len(self.runs_of(case)) for case in self.cases]
        columns["runs"] = pa.array(runs, pa.int64())
        chosen = check(measures)
        firsts = self.firsts(against)
        pairs = [(case, firsts.get(case.number)) for case in self.cases]
        for name in chosen:
            columns |= self._columns(self.measure(name).label, [self.estimate(name, case) for case in self.cases])
        if firsts:
            columns["difference from"] = pa.array([first and str(first) for _, first in pairs], text)
            for name in chosen:
                label = f"{self.measure(name).label} difference"
                apart = [None if first is None else self.difference(name, case, first) for case, first in pairs]
                columns |= self._columns(label, apart)
        columns["config"] = pa.array([case.config for case in self.cases], text)
        columns["version"] = pa.array([self.version] * len(self.cases), text)
        return pa.table(columns)

    @staticmethod
    def _columns(label: str, estimates: Sequence[Estimate | None]) -> dict[str, pa.Array]:
        means = [each and each.mean for each in estimates]
        halves = [each and each.half_width for each in estimates]
        return {label: pa.array(means, pa.float64()), f"{label} ±": pa.array(halves, pa.float64())}

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.tables, self.complete, self.failures, self.origin)

    def __deepcopy__(self, _memo: object) -> Self:
        # Nothing in it changes.
        return self

    def __repr__(self) -> str:
        state = "" if self.complete else ", failed" if self.failures else ", interrupted"
        cases, runs = many(len(self.cases), "case"), many(self.runs, "run")
        return f"<hopyard results: {cases}, {runs} each{state}>"

    def _repr_html_(self) -> str:
        """The summary for a notebook."""
        import html

        measures = [named(name) for name in SHOWN]
        head = _html_row("th", ["scenario", *self.settings, *(each.label for each in measures)])
        body = [
            [case.scenario, *case.settings.values(), *(str(self.estimate(each.name, case)) for each in measures)]
            for case in self.cases
        ]
        rows = "".join(_html_row("td", row) for row in body)
        return f"<table>{head}{rows}</table><p>{html.escape(repr(self))}</p>"


def _case(case: Case) -> Case:
    """The case; raises an error for anything else."""
    if not isinstance(case, Case):
        raise TypeError(f"expected a case, one of `results.cases`, found {case!r}")
    return case


def _html_row(tag: str, cells: Iterable[str]) -> str:
    import html

    return "<tr>{}</tr>".format("".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells))
