"""The measures of a study: one number for each run of a point, read from the store point by point.

Only the rows of one point are held at a time, so that memory does not grow with the study.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from hopyard import _core
from hopyard.scenario.scenario import Scenario
from hopyard.statistics.estimates import Estimate, estimate
from hopyard.study.file import MOST_RUNS, columns, is_text, nearest, picked, text_of, unit_of
from hopyard.study.networks import network
from hopyard.study.points import beside, fits
from hopyard.tables.arrays import floats, integers, where
from hopyard.tables.measures import SHOWN, answering, check, check_labels, named
from hopyard.tables.tables import read_filed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt
    import pyarrow as pa

    from hopyard.scenario.plan import Planned
    from hopyard.store.reading import Reader
    from hopyard.study.file import Quantity, Scalar, Study
    from hopyard.study.points import Point
    from hopyard.tables.arrays import Floats, Integers

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
    """The measures of a study's points in a store; without a study, the measures of Hopyard.

    Args:
        study: the study.
        store: the store.
        points: the points that measures with `compare` compare.
    """

    def __init__(self, study: Study | None, store: Reader, points: Sequence[Point] = ()) -> None:
        self._points = points
        self._own: Mapping[str, Quantity] = {} if study is None else study.document.measure
        self._store = store
        self._known: dict[tuple[str, int, str], Sample] = {}
        self._watched: set[tuple[str, int]] | None = None
        self._done: dict[tuple[str, int], Integers] = {}
        #: The values that were computed from the series of runs.
        self._sampled: dict[tuple[str, int, str], dict[int, float]] = {}
        self._unseen: dict[str, list[str]] = {}

    def of(self, point: Point, measure: str) -> Sample:
        """One value for each finished run of a point."""
        own = self._own.get(measure)
        if own is not None and own.of_points:
            return self._of_points(own, point, measure)
        # The store may have runs of former calls, beyond the runs that are asked for now.
        samples = [self.every(*each.key, measure, each.runs) for each in point.all]
        if len(samples) == 1:
            return samples[0]
        # Runs of different scenarios have different numbers here; in other points it is the same.
        numbers = [place * MOST_RUNS + runs for place, (runs, _) in enumerate(samples)]
        return np.concatenate(numbers), np.concatenate([found for _, found in samples])

    def every(
        self, config: str, seed: int, measure: str, numbers: Sequence[int] | None = None, point: Point | None = None
    ) -> Sample:
        """One value for each finished run of a configuration and seed, of these numbers.

        `point` is the point that has them, for measures that compare points.
        """
        key = config, seed, measure
        own = self._own.get(measure)
        if own is not None and own.of_points:
            return self._of_part(config, seed, measure, numbers, point)
        if own is not None and (own.series is not None or own.of in self._own):
            # Each run has a file, which may be damaged: the files of other runs are not read.
            runs = self._runs(config, seed)
            return self._read(*key, runs if numbers is None else _within(runs, numbers))
        if key not in self._known:
            self._known[key] = self._read(*key, self._runs(config, seed))
        runs, values = self._known[key]
        if numbers is None:
            return runs, values
        mine = np.isin(runs, np.asarray(numbers))
        return runs[mine], values[mine]

    def watched(self, points: Iterable[Point], measure: str = "") -> bool:
        """Whether runs were added to one of the points until an interval was narrow enough.

        A measure that compares points depends on the runs of others, too.
        """
        if self._watched is None:
            self._watched = self._store.watched()
        if measure in self._own and self._own[measure].compare is not None:
            mine = {point.experiment for point in points}
            points = [point for point in self._points if point.experiment in mine]
        return bool(self._watched) and any(each.key in self._watched for point in points for each in point.all)

    def absent(self, points: Iterable[Point], measure: str) -> bool:
        """Whether no run of the points has a value of a measure, for a reason that `unseen` does not tell."""
        if any(np.isfinite(self.of(point, measure)[1]).any() for point in points):
            return False
        own = self._own.get(measure)
        return own is None or own.of_points or not self.unseen(measure)

    def estimate(self, point: Point, measure: str) -> Estimate:
        """The mean of a measure over the runs of a point, with its interval."""
        return self.interval(self.of(point, measure)[1], [point], measure)

    def interval(self, sample: Floats, points: Iterable[Point], measure: str = "") -> Estimate:
        """The mean of a sample that is of these points, with its interval.

        It is Student's interval. Where the number of runs depends on their values, it is the interval that holds at
        every number of runs.
        """
        return interval(sample, watched=self.watched(points, measure))

    def _runs(self, config: str, seed: int) -> Integers:
        """The numbers of the finished runs, in order."""
        if (config, seed) not in self._done:
            done, _ = self._store.ended(config, seed)
            self._done[config, seed] = np.asarray(done, dtype=np.int64)
        return self._done[config, seed]

    def made(self, config: str, seed: int) -> dict[int, tuple[object, ...]]:
        """How the finished runs of a configuration and seed were made."""
        return self._store.made(config, seed)

    def forget(self) -> None:
        """Forgets what was read: runs have been added."""
        self._known.clear()
        self._watched = None
        self._done.clear()
        self._sampled.clear()
        self._unseen.clear()

    def _read(self, config: str, seed: int, measure: str, runs: Integers) -> Sample:
        """The values of these runs, which have finished."""
        own = self._own.get(measure)
        if own is not None and own.series is not None:
            found = self._of_series(own, (config, seed, measure), runs)
        else:
            name = measure if own is None else own.measure
            if name is not None and named(name).flows:
                check_labels([name], self._store.texts("flows", "label"))
            table = named(name).table if name is not None else str(own and own.table)
            rows = self._store.rows_of(table, config, seed)
            # Runs that have not finished may have lost rows.
            chosen = np.isin(integers(rows, "run"), runs)
            if "flow" in rows.column_names and not (own is None and named(measure).flows):
                flows = rows if table == "flows" else self._store.rows_of("flows", config, seed)
                chosen &= _of_flows(own, rows, answering(flows))
            if own is not None:
                chosen &= _chosen(own, rows)
            rows = where(rows, chosen)
            group = np.searchsorted(runs, integers(rows, "run"))
            if own is None or name is not None:
                found = named(str(name)).of_runs(rows, group, len(runs))
            else:
                found = _reduced(own, rows, group, len(runs))
        if own is None:
            return runs, found
        start = self._start(config) if own.relative else 0.0
        found = _combined(own, found, lambda name: self.every(config, seed, name, runs.tolist())[1], start)
        if self.unseen(measure):
            # A sum over no row would be zero, and the text in the study may be misspelt.
            found = np.full(len(runs), np.nan)
        return runs, found

    def _of_points(self, own: Quantity, point: Point, measure: str) -> Sample:
        """A measure of several points, or of the places of the nodes."""
        if own.network is not None:
            samples = [(runs, self._of_network(own, part, measure, runs)) for part, runs in self._parts(point)]
            runs = np.concatenate([place * MOST_RUNS + runs for place, (runs, _) in enumerate(samples)])
            found = np.concatenate([each for _, each in samples])
        else:
            runs, found = self._compared(own, point)
        return runs, _combined(own, found, lambda name: _at(self.of(point, name), runs))

    def _parts(self, point: Point) -> Iterator[tuple[Planned, Integers]]:
        for part in point.all:
            yield part, _within(self._runs(*part.key), part.runs)

    def _of_network(self, own: Quantity, part: Planned, measure: str, runs: Integers) -> Floats:
        known = self._sampled.setdefault((*part.key, measure), {})
        for run in runs.tolist():
            if run not in known:
                made = network(Scenario._of(part.core, part.base), run)
                known[run] = np.nan if made is None else float(getattr(made, str(own.network)))
        return np.array([known[run] for run in runs.tolist()], dtype=np.float64)

    def _compared(self, own: Quantity, point: Point) -> Sample:
        """The measure of a point beside that of others, run by run; NaN where there is no other."""
        runs, ours = self.of(point, str(own.compare))
        labels = {each.labels.get(str(own.among), "") for each in self._points}
        cases: dict[str, Scalar | list[Scalar]] = {str(own.among): [*labels]}
        if own.to is not None:
            cases = {**own.to}
        others = [] if fits(point.labels, own.to or {"": ""}) else beside(point, self._points, cases)
        if not others:
            return runs, np.full(len(runs), np.nan)
        theirs = np.array([_at(self.of(each, str(own.compare)), runs) for each in others])
        match own.reduce:
            case "difference":
                found = ours - theirs[0]
            case "ratio":
                found = _quotient(ours, theirs[0])
            case "rank":
                # The most has rank 1; equal ones share the mean of theirs.
                found = 1 + (theirs > ours).sum(axis=0) + (theirs == ours).sum(axis=0) / 2
                found = np.where(np.isnan(theirs).any(axis=0) | np.isnan(ours), np.nan, found)
            case _:
                found = np.maximum(ours, theirs.max(axis=0)) - np.minimum(ours, theirs.min(axis=0))
        return runs, found

    def _of_part(
        self, config: str, seed: int, measure: str, numbers: Sequence[int] | None, point: Point | None
    ) -> Sample:
        """The runs of one of the scenarios of a point, by their own numbers."""
        if point is None:
            runs = self._runs(config, seed)
            return runs, np.full(len(runs), np.nan)
        runs, values = self.of(point, measure)
        first = [each.key for each in point.all].index((config, seed)) * MOST_RUNS
        mine = (runs >= first) & (runs < first + MOST_RUNS)
        if numbers is not None:
            mine &= np.isin(runs - first, np.asarray(numbers))
        return runs[mine] - first, values[mine]

    def unseen(self, measure: str) -> list[str]:
        """The reasons why `where` chooses no row of any run: texts that no row has, and that may be misspelt.

        Columns whose texts are few and fixed are checked with the study file.
        """
        if measure not in self._unseen:
            self._unseen[measure] = list(self._texts_unseen(measure))
        return self._unseen[measure]

    def _texts_unseen(self, measure: str) -> Iterator[str]:
        own = self._own[measure]
        table = named(own.measure).table if own.measure is not None else own.table
        for column, given in own.where.items():
            wanted, without = picked(given)
            if without or not is_text(table, column) or columns(table)[column]:
                continue
            there = self._store.texts(table, column)
            if not set(there).intersection(map(text_of, wanted)):
                said = " or ".join(map(text_of, wanted))
                near = nearest(said, sorted(there))
                yield f"measure.{measure}: where: no run has a row with {column} = {said}; {near}"

    def _start(self, config: str) -> float:
        """When the measurement of a scenario begins, in seconds."""
        document = tomllib.loads(self._store.scenario(config) or "")
        return _core.parse_time(str(document.get("measure", {}).get("from", "0 s"))) / 1e9

    def _of_series(self, own: Quantity, key: tuple[str, int, str], runs: Integers) -> Floats:
        known = self._sampled.setdefault(key, {})
        lacking = [run for run in runs.tolist() if run not in known]
        if lacking:
            found = self._of_files(own, key, lacking)
            known.update(zip(lacking, found.tolist(), strict=True))
        return np.array([known[run] for run in runs.tolist()], dtype=np.float64)

    def _of_files(self, own: Quantity, key: tuple[str, int, str], runs: Sequence[int]) -> Floats:
        since = _core.parse_time(own.since) / 1e9 if own.since else -np.inf
        until = _core.parse_time(own.until) / 1e9 if own.until else np.inf
        files = self._store.series_of(*key[:2])
        answers = answering(self._store.rows_of("flows", *key[:2]))
        found = np.full(len(runs), np.nan)
        for place, run in enumerate(runs):
            if run not in files:
                continue
            rows = read_filed(files[run], "series")
            chosen = rows["quantity"].to_numpy() == own.series
            times = floats(rows, "time_s")
            chosen &= (times >= since) & (times < until) & _of_flows(own, rows, answers)
            for name, given in own.during.items():
                chosen &= _during(rows, name, [float(each) for each in picked(given)[0]])
            values, times = floats(rows, "value")[chosen], times[chosen]
            if own.window is not None:
                values, times = _windows(values, times, _core.parse_time(own.window) / 1e9)
            if own.reduce == "first":
                above = times[values > 0]
                if above.size:
                    found[place] = above[0] - (since if own.since else 0.0)
                continue
            known = ~np.isnan(values)
            values, times = values[known], times[known]
            if own.reduce == "below":
                found[place] = np.count_nonzero(values < float(own.limit or 0))
            elif own.reduce == "slope":
                found[place] = _slope(values, times)
            elif values.size:
                found[place] = _REDUCTIONS[own.reduce](values)
        return found

    def title(self, measure: str) -> tuple[str, str]:
        """The title of a measure, and its unit."""
        own = self._own.get(measure)
        if own is None:
            return named(measure).title, named(measure).unit
        return own.title or measure, unit_of(measure, self._own)

    def label(self, measure: str) -> str:
        """The title with its unit."""
        title, unit = self.title(measure)
        return f"{title} ({unit})" if unit else title


def interval(sample: Floats, *, watched: bool) -> Estimate:
    """The mean with Student's interval, or with the interval that holds at every number of runs."""
    if not watched:
        return estimate(sample)
    from hopyard.statistics import sequence

    found = sequence(sample)
    half = found.half_width
    return Estimate(found.figure, half if np.isfinite(half) else np.nan, found.runs)


def _combined(own: Quantity, found: Floats, of_run: Callable[[str], Floats], start: float = 0.0) -> Floats:
    """The values of a measure after what is made of them: `of_run` has other measures of the same runs."""
    for further in own.plus:
        found = found + of_run(further)
    for further in own.less:
        found = found - of_run(further)
    if own.of is not None:
        found = _quotient(found, of_run(own.of))
    found = own.scale * (found - start)
    return found if own.missing is None else np.where(np.isnan(found), own.missing, found)


def _quotient(found: Floats, by: Floats) -> Floats:
    return np.asarray(np.divide(found, by, out=np.full(len(found), np.nan), where=by != 0), dtype=float)


def _at(sample: Sample, runs: Integers) -> Floats:
    """The values of these runs; NaN where there are none."""
    found = np.full(len(runs), np.nan)
    _, there, place = np.intersect1d(runs, sample[0], return_indices=True)
    found[there] = sample[1][place]
    return found


def _during(rows: pa.Table, name: str, wanted: Sequence[float]) -> npt.NDArray[np.bool_]:
    """Which samples are of a flow and a time at which another series of it has one of these values."""
    of_it = np.asarray(rows["quantity"].to_numpy() == name) & np.isin(floats(rows, "value"), wanted)
    moments = np.rec.fromarrays([integers(rows, "flow"), floats(rows, "time_s")])
    return np.asarray(np.isin(moments, moments[of_it]), dtype=bool)


def _windows(values: Floats, times: Floats, length: float) -> tuple[Floats, Floats]:
    """The mean of the values in each window of time that has some, and the middle of the window.

    A sample belongs to the time before it. The first one, at the start of the run, belongs to none.
    """
    # The times of samples are rounded sums of intervals.
    of = np.ceil(times / length - 1e-9) - 1
    known = ~np.isnan(values) & (of >= 0)
    number, place = np.unique(of[known], return_inverse=True)
    means = np.bincount(place, values[known]) / np.bincount(place) if number.size else values[:0]
    return means, (number + 0.5) * length


def _slope(values: Floats, times: Floats) -> float:
    """The rise in each second, by least squares; NaN of fewer than two times."""
    apart = times - times.mean()
    square = float((apart**2).sum())
    return float((apart * values).sum()) / square if square > 0 else float("nan")


def _within(runs: Integers, numbers: Sequence[int]) -> Integers:
    return runs[np.isin(runs, np.asarray(numbers))]


def _reduced(own: Quantity, rows: pa.Table, group: Integers, runs: int) -> Floats:
    if own.reduce == "count":
        has = np.asarray(rows[str(own.column)].is_valid())
        return np.bincount(group[has], minlength=runs).astype(float)
    values = floats(rows, str(own.column))
    chosen = ~np.isnan(values)
    found = np.full(runs, np.nan)
    for place in range(runs):
        mine = values[chosen & (group == place)]
        if mine.size:
            found[place] = _REDUCTIONS[own.reduce](mine)
    return found


def _of_flows(own: Quantity | None, rows: pa.Table, answers: Mapping[int, int]) -> npt.NDArray[np.bool_]:
    """Which rows are of the flows that a measure is about: without another choice, the flows of the scenario.

    Args:
        own: the measure; a measure of Hopyard if there is none.
        rows: rows with a column `flow`.
        answers: the flows that answer others, each with the flow that it answers.
    """
    flows = integers(rows, "flow")
    if own is not None and own.answers:
        return np.isin(flows, [number for number, to in answers.items() if own.flow in (None, to)])
    if own is not None and own.flow is not None:
        return np.asarray(flows == own.flow)
    # A number or a label chooses rows by itself, whichever end wrote the data.
    picks = () if own is None else [name for name, given in own.where.items() if not picked(given)[1]]
    labelled = own is not None and own.measure is not None and bool(named(own.measure).flows)
    if labelled or {"flow", "label", "answers"}.intersection(picks):
        return np.ones(rows.num_rows, dtype=bool)
    return ~np.isin(flows, [*answers])


def _chosen(own: Quantity, rows: pa.Table) -> npt.NDArray[np.bool_]:
    """Which rows of a table have the values of `where`."""
    chosen = np.ones(rows.num_rows, dtype=bool)
    for name, given in own.where.items():
        named, without = picked(given)
        texts = np.array([text_of(each) for each in rows[name].to_pylist()], dtype=object)
        chosen &= np.isin(texts, [text_of(each) for each in named], invert=without)
    return chosen


def chosen_measures(study: Study, given: Sequence[str] = ()) -> list[str]:
    """The measures to show: the given ones, or the measures of the study, or the usual ones.

    Raises:
        ValueError: when there is no such measure.
    """
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
