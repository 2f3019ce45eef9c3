"""Tables of a study: all its points, and those that the file describes, beside published values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hopyard.stats import Estimate, estimate, paired_difference
from hopyard.study.points import fits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from hopyard.study.file import Scalar, Study, Table
    from hopyard.study.points import Point
    from hopyard.study.published import Published
    from hopyard.study.values import Sample, Values


@dataclass(frozen=True, slots=True)
class Cell:
    """A value of a table, and what a paper says it is."""

    value: Estimate
    difference: Estimate | None = None
    published: float | None = None

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
    rows: list[tuple[tuple[str, ...], list[Cell | None]]] = field(default_factory=list)


def whole(
    study: Study, points: Sequence[Point], values: Values, measures: Sequence[str]
) -> pa.Table:
    """A row for each point: each measure's mean, and half the width of its 95 % interval."""
    import pyarrow as pa

    axes = list(dict.fromkeys(name for point in points for name in point.labels))
    columns: dict[str, list[object]] = {}
    if len(study.experiments) > 1:
        columns["experiment"] = [point.experiment for point in points]
    for name in axes:
        columns[name] = [point.labels.get(name, "") for point in points]
    found = {name: [estimate(values.of(point, name)[1]) for point in points] for name in measures}
    counts = [len(values.of(point, measures[0])[0]) for point in points]
    columns["runs"] = list(counts)
    for name in measures:
        label = _free(values.label(name), columns)
        columns[label] = [each.mean for each in found[name]]
        columns[f"{label} ±"] = [each.half_width for each in found[name]]
    columns["config"] = [point.planned.config for point in points]
    columns["seed"] = [point.planned.seed for point in points]
    return pa.table(columns)


def _free(label: str, columns: dict[str, list[object]]) -> str:
    """A name for a column that no other has: an axis may be called like a measure."""
    return label if label not in columns else f"{label} (measured)"


def each_run(points: Sequence[Point], values: Values, measures: Sequence[str]) -> pa.Table:
    """A row for each run: the labels of its point, its number, and each measure."""
    import pyarrow as pa

    axes = list(dict.fromkeys(name for point in points for name in point.labels))
    columns: dict[str, list[object]] = {name: [] for name in ("experiment", *axes, "run")}
    labels = {name: _free(values.label(name), columns) for name in measures}
    columns |= {label: [] for label in labels.values()}
    columns |= {name: [] for name in ("config", "seed")}
    for point in points:
        samples = [values.of(point, name) for name in measures]
        for place, run in enumerate(samples[0][0].tolist()):
            columns["experiment"].append(point.experiment)
            for name in axes:
                columns[name].append(point.labels.get(name, ""))
            columns["run"].append(run)
            for name, (_, found) in zip(measures, samples, strict=True):
                columns[labels[name]].append(float(found[place]))
            columns["config"].append(point.planned.config)
            columns["seed"].append(point.planned.seed)
    return pa.table(columns)


def grid(
    study: Study,
    table: Table,
    points: Sequence[Point],
    values: Values,
    published: Published | None = None,
) -> Grid:
    """A table as the study describes it.

    An axis that stands neither in the rows nor in the columns, and of which the points have several
    values, stands in the rows.
    """
    experiment = study.experiment_of(table.experiment)
    mine = [
        point
        for point in points
        if point.experiment == experiment and fits(point.labels, table.where)
    ]
    rows, columns = list(table.rows), list(table.columns)
    for name in study.axes_of(experiment):
        several = len({point.labels[name] for point in mine}) > 1
        if several and name not in (*rows, *columns):
            rows.append(name)
    across = list(dict.fromkeys(tuple(point.labels[name] for name in columns) for point in mine))
    made = Grid(
        table.name,
        table.title,
        table.text,
        [study.document.axes[name].title or name for name in rows],
        [(labels, measure) for labels in across for measure in table.measures],
    )
    down = list(dict.fromkeys(tuple(point.labels[name] for name in rows) for point in mine))
    by_place = {
        (tuple(p.labels[name] for name in rows), tuple(p.labels[name] for name in columns)): p
        for p in mine
    }
    for labels in down:
        cells: list[Cell | None] = []
        for over, measure in made.columns:
            point = by_place.get((labels, over))
            cells.append(
                None if point is None else _cell(table, point, mine, values, measure, published)
            )
        made.rows.append((labels, cells))
    return made


def _cell(
    table: Table,
    point: Point,
    others: Sequence[Point],
    values: Values,
    measure: str,
    published: Published | None,
) -> Cell:
    sample = values.of(point, measure)
    difference = None
    if table.against is not None:
        for base in beside(point, others, table.against)[:1]:
            difference = paired(sample, values.of(base, measure))
    said = None
    if published is not None and table.published:
        said = published.value(measure, point.labels)
    return Cell(estimate(sample[1]), difference, said)


def beside(
    point: Point, others: Sequence[Point], change: Mapping[str, Scalar | list[Scalar]]
) -> list[Point]:
    """The points that differ from one in these values of axes alone."""
    rest = {name: label for name, label in point.labels.items() if name not in change}
    return [
        each
        for each in others
        if each.experiment == point.experiment and each.labels != point.labels
        if fits(each.labels, change)
        if all(each.labels.get(name) == label for name, label in rest.items())
    ]


def paired(first: Sample, second: Sample) -> Estimate:
    """The mean difference of two samples over the runs that both have."""
    import numpy as np

    _, ours, theirs = np.intersect1d(first[0], second[0], return_indices=True)
    return paired_difference(first[1][ours], second[1][theirs])
