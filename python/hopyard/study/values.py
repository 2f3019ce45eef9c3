"""The measures of a study: one number for each run of a point, read from the store point by point.

What is held at a time are the rows of one point, so that memory does not grow with the study.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from hopyard import _core
from hopyard.arrays import floats, integers
from hopyard.measures import MEASURES
from hopyard.study.file import MOST_RUNS, text_of
from hopyard.study.file import chosen as labels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

    from hopyard.arrays import Floats, Integers
    from hopyard.reading import Reader
    from hopyard.study.file import Quantity, Study
    from hopyard.study.points import Point

#: The numbers of runs, in order, and the value of each; NaN where a run has none.
Sample: TypeAlias = "tuple[Integers, Floats]"

#: Reductions that need only values; `first` needs their times, `count` none.
_REDUCTIONS: dict[str, Callable[[Floats], float]] = {
    "sum": lambda values: float(np.sum(values)),
    "mean": lambda values: float(np.mean(values)),
    "median": lambda values: float(np.median(values)),
    "max": lambda values: float(np.max(values)),
    "min": lambda values: float(np.min(values)),
    "std": lambda values: float(np.std(values, ddof=1)) if values.size > 1 else float("nan"),
    "last": lambda values: float(values[-1]),
}


class Values:
    """The measures of a study's points in a store; without a study, those of Hopyard."""

    def __init__(self, study: Study | None, store: Reader) -> None:
        self._own: Mapping[str, Quantity] = {} if study is None else study.document.measure
        self._store = store
        self._known: dict[tuple[str, int, str], Sample] = {}

    def of(self, point: Point, measure: str) -> Sample:
        """One value for each finished run of a point."""
        # Runs beyond those that are asked for now may be there from former calls.
        samples = [self.every(*each.key, measure, each.runs) for each in point.all]
        if len(samples) == 1:
            return samples[0]
        # Runs of different scenarios have different numbers here; in other points it is the same.
        numbers = [place * MOST_RUNS + runs for place, (runs, _) in enumerate(samples)]
        return np.concatenate(numbers), np.concatenate([found for _, found in samples])

    def every(
        self, config: str, seed: int, measure: str, numbers: Sequence[int] | None = None
    ) -> Sample:
        """One value for each finished run of a configuration and seed, of these numbers."""
        key = config, seed, measure
        if key not in self._known:
            self._known[key] = self._read(config, seed, measure)
        runs, values = self._known[key]
        if numbers is None:
            return runs, values
        mine = np.isin(runs, np.asarray(numbers))
        return runs[mine], values[mine]

    def made(self, config: str, seed: int) -> dict[int, tuple[object, ...]]:
        """How the finished runs of a configuration and seed were made."""
        return self._store.made(config, seed)

    def forget(self) -> None:
        """Forgets what was read: runs have been added."""
        self._known.clear()

    def _read(self, config: str, seed: int, measure: str) -> Sample:
        done, _ = self._store.ended(config, seed)
        runs = np.asarray(done, dtype=np.int64)
        own = self._own.get(measure)
        if own is None:
            built = MEASURES[measure]
            rows = self._store.rows_of(built.table, config, seed)
            group = np.searchsorted(runs, integers(rows, "run"))
            return runs, built.of_runs(rows, group, len(runs))
        if own.series is not None:
            return runs, self._finished(own, self._of_series(own, config, seed, runs), config, seed)
        if own.measure is not None:
            built = MEASURES[own.measure]
            rows = self._store.rows_of(built.table, config, seed)
            rows = rows.filter(pa.array(_chosen(own, built.table, rows)))
            group = np.searchsorted(runs, integers(rows, "run"))
            found = built.of_runs(rows, group, len(runs))
            return runs, self._finished(own, found, config, seed)
        rows = self._store.rows_of(own.table, config, seed)
        return runs, self._finished(own, _reduced(own, str(own.column), rows, runs), config, seed)

    def _finished(self, own: Quantity, found: Floats, config: str, seed: int) -> Floats:
        """Values as a measure of the study's own shows them."""
        for name in own.plus:
            found = found + self.every(config, seed, name)[1]
        if own.of is not None:
            _, by = self.every(config, seed, own.of)
            found = np.divide(found, by, out=np.full(len(found), np.nan), where=by != 0)
        if own.relative:
            found = found - self._start(config)
        if own.missing is not None:
            found = np.where(np.isnan(found), own.missing, found)
        return own.scale * found

    def _start(self, config: str) -> float:
        """When the measurement of a scenario begins, in seconds."""
        document = tomllib.loads(self._store.scenario(config) or "")
        return _core.parse_time(str(document.get("measure", {}).get("from", "0 s"))) / 1e9

    def _of_series(self, own: Quantity, config: str, seed: int, runs: Integers) -> Floats:
        from hopyard.tables import read_filed

        since = _core.parse_time(own.since) / 1e9 if own.since else -np.inf
        until = _core.parse_time(own.until) / 1e9 if own.until else np.inf
        files = self._store.series_of(config, seed)
        found = np.full(len(runs), np.nan)
        for place, run in enumerate(runs.tolist()):
            if run not in files:
                continue
            rows = read_filed(files[run], "series")
            chosen = rows["quantity"].to_numpy() == own.series
            times = floats(rows, "time_s")
            chosen &= (times >= since) & (times < until)
            if own.flow is not None:
                chosen &= integers(rows, "flow") == own.flow
            values, times = floats(rows, "value")[chosen], times[chosen]
            if own.reduce == "first":
                above = times[values > 0]
                if above.size:
                    found[place] = above[0] - (since if own.since else 0.0)
                continue
            values = values[~np.isnan(values)]
            if values.size:
                found[place] = _REDUCTIONS[own.reduce](values)
        return found

    def title(self, measure: str) -> tuple[str, str]:
        """What a measure is called, and its unit."""
        own = self._own.get(measure)
        if own is None:
            return MEASURES[measure].title, MEASURES[measure].unit
        return own.title or measure, own.unit

    def label(self, measure: str) -> str:
        """The title with its unit."""
        title, unit = self.title(measure)
        return f"{title} ({unit})" if unit else title


def _reduced(own: Quantity, column: str, rows: pa.Table, runs: Integers) -> Floats:
    group = np.searchsorted(runs, integers(rows, "run"))
    counted = own.reduce == "count"
    values = np.ones(rows.num_rows) if counted else floats(rows, column)
    chosen = ~np.isnan(values) & _chosen(own, own.table, rows)
    if counted:
        return np.bincount(group[chosen], minlength=len(runs)).astype(float)
    found = np.full(len(runs), np.nan)
    for place in range(len(runs)):
        mine = values[chosen & (group == place)]
        if mine.size:
            found[place] = _REDUCTIONS[own.reduce](mine)
    return found


def _chosen(own: Quantity, table: str, rows: pa.Table) -> npt.NDArray[np.bool_]:
    """Which rows of a table a measure is about."""
    chosen = np.ones(rows.num_rows, dtype=bool)
    if own.flow is not None:
        chosen &= integers(rows, "node" if table == "nodes" else "flow") == own.flow
    for name, allowed in labels(own.where).items():
        texts = np.array([text_of(each) for each in rows[name].to_pylist()], dtype=object)
        chosen &= np.isin(texts, allowed)
    return chosen


def chosen_measures(study: Study, given: Sequence[str] = ()) -> list[str]:
    """The measures that are shown: those given, those of the study, or the usual ones.

    Raises:
        ValueError: when there is no such measure.
    """
    from hopyard.measures import SHOWN, check

    own = study.document.measure
    if not given:
        return list(study.document.measures) or [*own] or list(SHOWN)
    for name in given:
        if name not in own:
            try:
                check([name])
            except ValueError as error:
                mine = f"; the study has {', '.join(own)}" if own else ""
                raise ValueError(f"{error}{mine}") from None
    return list(dict.fromkeys(given))
