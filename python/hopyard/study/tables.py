"""Tables of a study: all its points, and those that the file describes, beside published values."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hopyard.store.reading import MADE
from hopyard.study.points import beside, fits, named
from hopyard.study.values import Sample, Values, interval

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from hopyard.statistics import Interval
    from hopyard.statistics.estimates import Estimate
    from hopyard.study.file import Study, Table
    from hopyard.study.points import Point
    from hopyard.study.published import Published


#: What the interval is called that holds at every number of runs.
ANYTIME = "anytime-valid"
#: What stands beside it.
MARK = "†"


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of a table, and what a paper says it is."""

    value: Estimate
    difference: Estimate | None = None
    published: float | None = None
    #: The mean as a part of that of another case.
    ratio: Interval | None = None
    #: Whether the intervals hold at every number of runs, as runs were added until one was narrow.
    watched: bool = False

    @property
    def departure(self) -> float | None:
        """How much the mean differs from the published value, as a share of that."""
        if not self.published or self.value.runs == 0:
            return None
        return self.value.mean / self.published - 1


@dataclass
class Grid:
    """A table: its head, and for each row the labels and the cells."""

    name: str
    title: str
    text: str
    head: list[str]
    #: For each column of cells the labels of its axes, and the measure.
    columns: list[tuple[tuple[str, ...], str]]
    #: What the other case is called with which cells are compared; empty if with none.
    against: str = ""
    #: What published values are called.
    said: str = "published"
    rows: list[tuple[tuple[str, ...], list[Cell | None]]] = field(default_factory=list)

    @property
    def watched(self) -> bool:
        """Whether a cell has an interval that holds at every number of runs."""
        return any(cell is not None and cell.watched for _, cells in self.rows for cell in cells)


def whole(study: Study, points: Sequence[Point], values: Values, measures: Sequence[str]) -> pa.Table:
    """A row for each point: each measure's mean, and half the width of its 95 % interval."""
    axes = list(dict.fromkeys(name for point in points for name in point.labels))
    columns: dict[str, list[object]] = {}
    if len(study.experiments) > 1:
        columns["experiment"] = [point.experiment for point in points]
    for name in axes:
        columns[name] = [point.labels.get(name, "") for point in points]
    found = {name: [values.estimate(point, name) for point in points] for name in measures}
    counts = [len(values.of(point, measures[0])[0]) for point in points]
    columns["runs"] = list(counts)
    taken = {*columns, "interval", "config", "seed"}
    for name, title in titles(values, measures).items():
        label = _free(title, taken)
        taken |= {label, f"{label} ±"}
        columns[label] = [each.mean for each in found[name]]
        columns[f"{label} ±"] = [each.half_width for each in found[name]]
    if values.watched(points):
        columns["interval"] = [ANYTIME if values.watched([point]) else "Student" for point in points]
    columns["config"] = [point.planned.config for point in points]
    columns["seed"] = [point.planned.seed for point in points]
    return pa.table(columns)


def titles(values: Values, measures: Sequence[str]) -> dict[str, str]:
    """What the columns of measures are called; with its own name where several have one title."""
    labels = {name: values.label(name) for name in measures}
    shared = list(labels.values())
    return {name: label if shared.count(label) == 1 else f"{label} [{name}]" for name, label in labels.items()}


def _free(label: str, taken: Collection[str]) -> str:
    """A name for a column, and for its half width, that no other has.

    An axis, or a further measure, may be called like a measure.
    """
    found = label
    while {found, f"{found} ±"} & set(taken):
        found = f"{found} (measured)"
    return found


@dataclass(frozen=True, slots=True)
class Head:
    """What stands before the runs of a point: texts of its own, and the labels of its axes."""

    own: dict[str, str]
    labels: Mapping[str, str]
    config: str
    seed: int
    #: The numbers of its runs; all that have finished if not given.
    runs: Sequence[int] | None = None
    #: The point of a study.
    point: Point | None = None


def each_run(points: Sequence[Point], values: Values, measures: Sequence[str]) -> pa.Table:
    """A row for each run: the labels of its point, its number, and each measure."""
    heads = [
        Head({"experiment": each.experiment}, each.labels, *part.key, part.runs, each)
        for each in points
        for part in each.all
    ]
    return rows_of_runs(heads, values, titles(values, measures))


def rows_of_runs(heads: Sequence[Head], values: Values, measures: Mapping[str, str], *, made: bool = False) -> pa.Table:
    """A row for each finished run of these points.

    Labels that are all numbers make a column of numbers. `measures` says what the columns of
    measures are called. With `made`, the digest follows, and what made the run in what time.
    """
    types = {str: pa.string(), float: pa.float64()}
    further = MADE if made else {}
    counts: list[int] = []
    runs: list[int] = []
    known: dict[str, list[object]] = {name: [] for name in further}
    found: dict[str, list[float]] = {name: [] for name in measures}
    for head in heads:
        key = head.config, head.seed
        samples = {name: values.every(*key, name, head.runs, head.point) for name in measures}
        numbers = next(iter(samples.values()))[0].tolist()
        counts.append(len(numbers))
        runs += numbers
        for name, (_, sample) in samples.items():
            found[name] += sample.tolist()
        if further:
            mine = values.made(*key)
            for place, name in enumerate(further):
                known[name] += [mine[run][place] for run in numbers]

    def spread(each: Sequence[object]) -> list[object]:
        return [value for value, count in zip(each, counts, strict=True) for _ in range(count)]

    own = list(dict.fromkeys(name for head in heads for name in head.own))
    axes = list(dict.fromkeys(name for head in heads for name in head.labels))
    after = ["run", *further, "config"]
    columns: dict[str, pa.Array] = {}
    for name in own:
        columns[name] = pa.array(spread([head.own.get(name) for head in heads]), pa.string())
    for name in axes:
        label = name if name not in (*own, *after) else f"{name} (axis)"
        columns[label] = _typed(spread([head.labels.get(name) for head in heads]), heads, name)
    columns["run"] = pa.array(runs, pa.int64())
    for name, label in measures.items():
        columns[_free(label, (*columns, *after))] = pa.array(found[name], pa.float64())
    for name, kind in further.items():
        columns[name] = pa.array(known[name], types[kind])
    columns["config"] = pa.array(spread([head.config for head in heads]), pa.string())
    # A comparison of seeds has them as a setting already.
    columns["seed"] = pa.array(spread([head.seed for head in heads]), pa.int64())
    return pa.table(columns)


_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-]?[0-9]+)?")


def _typed(labels: list[object], heads: Sequence[Head], name: str) -> pa.Array:
    """The labels of an axis as numbers, where all that the points have are numbers."""
    texts = {head.labels[name] for head in heads if name in head.labels}
    if not all(_NUMBER.fullmatch(text) for text in texts):
        return pa.array(labels, pa.string())
    whole = all(text.lstrip("-").isdigit() and len(text) < 19 for text in texts)
    number = int if whole else float
    kind = pa.int64() if whole else pa.float64()
    return pa.array([None if each is None else number(str(each)) for each in labels], kind)


def grid(
    study: Study, table: Table, points: Sequence[Point], values: Values, published: Published | None = None
) -> Grid:
    """A table as the study describes it.

    An axis that stands neither in the rows nor in the columns, and of which the points have several
    values, stands in the rows.
    """
    experiment = study.experiment_of(table.experiment)
    mine = [point for point in points if point.experiment == experiment and fits(point.labels, table.where)]
    rows, columns = list(table.rows), list(table.columns)
    for name in study.axes_of(experiment):
        several = len({point.labels.get(name) for point in mine}) > 1
        if several and name not in (*rows, *columns, *table.mean_over):
            rows.append(name)
    across = list(dict.fromkeys(tuple(point.labels[name] for name in columns) for point in mine))
    made = Grid(
        table.name,
        table.title,
        table.text,
        [study.document.axes[name].title or name for name in rows],
        [(labels, measure) for labels in across for measure in table.measures],
        named(table.against or {}),
        study.document.published_title,
    )
    down = list(dict.fromkeys(tuple(point.labels[name] for name in rows) for point in mine))
    by_place: dict[tuple[tuple[str, ...], tuple[str, ...]], list[Point]] = {}
    for point in mine:
        place = tuple(tuple(point.labels[name] for name in side) for side in (rows, columns))
        by_place.setdefault((place[0], place[1]), []).append(point)
    for labels in down:
        cells: list[Cell | None] = []
        for over, measure in made.columns:
            here = by_place.get((labels, over))
            cells.append(None if here is None else _cell(table, here, points, values, measure, published))
        made.rows.append((labels, cells))
    return made


def _cell(
    table: Table,
    here: Sequence[Point],
    others: Sequence[Point],
    values: Values,
    measure: str,
    published: Published | None,
) -> Cell:
    sample = mean_of(here, values, measure)
    difference = quotient = None
    watched = values.watched(here, measure)
    if table.against is not None:
        # The case itself is one of those that it is compared with: it has no figure there.
        bases = [base for point in here for base in beside(point, others, table.against)[:1]]
        if len(bases) == len(here):
            base = mean_of(bases, values, measure)
            watched |= values.watched(bases, measure)
            if table.ratio:
                quotient = quotient_of(sample, base, watched=watched)
            else:
                difference = paired(sample, base, watched=watched)
    said = None
    if published is not None and table.published and len(here) == 1:
        said = published.value(measure, here[0].labels)
    value = values.interval(sample[1], here, measure)
    return Cell(value, difference, said, quotient, watched)


def mean_of(points: Sequence[Point], values: Values, measure: str) -> Sample:
    """The mean over several points, run by run, of the runs that all of them have."""
    runs, total = values.of(points[0], measure)
    for point in points[1:]:
        more, further = values.of(point, measure)
        runs, ours, theirs = np.intersect1d(runs, more, return_indices=True)
        total = total[ours] + further[theirs]
    return runs, total / len(points)


def paired(first: Sample, second: Sample, *, watched: bool = False) -> Estimate:
    """The mean difference of two samples over the runs that both have."""
    _, ours, theirs = np.intersect1d(first[0], second[0], return_indices=True)
    return interval(first[1][ours] - second[1][theirs], watched=watched)


def less(first: Sample, second: Sample) -> Sample:
    """The differences of two samples, of the runs that both have."""
    runs, ours, theirs = np.intersect1d(first[0], second[0], return_indices=True)
    return runs, first[1][ours] - second[1][theirs]


def quotient_of(first: Sample, second: Sample, *, watched: bool = False) -> Interval:
    """The ratio of the means of two samples over the runs that both have."""
    from hopyard.statistics import SEQUENCE, STUDENT, Interval, ratio

    _, ours, theirs = np.intersect1d(first[0], second[0], return_indices=True)
    values, baseline = first[1][ours], second[1][theirs]
    if np.any(values < 0) or np.any(baseline < 0):
        return Interval(np.nan, np.nan, np.nan, 0)
    return ratio(values, baseline, method=SEQUENCE if watched else STUDENT)
