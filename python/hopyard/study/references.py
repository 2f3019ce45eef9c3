"""References between the parts of a study file: a table names axes, a claim a measure.

Every problem is told with the line of the part in which it stands.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, get_args

from hopyard import _core
from hopyard.scenario import catalogue
from hopyard.study.file import (
    OfPoints,
    chosen,
    columns,
    is_text,
    keys_of,
    kind_of,
    labels_of,
    nearest,
    picked,
    range_of,
    sampled,
    values_of,
    wrong_labels,
)
from hopyard.tables.measures import MEASURES, check
from hopyard.tables.measures import named as measure_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hopyard.study.file import Claim, Figure, Quantity, Scalar, Study, Table


def references(study: Study) -> Iterator[str]:
    """The problems of a study's references."""
    document = study.document
    if not document.axes and not document.experiment and document.scenario is None:
        yield f"{study.path}: expected a scenario, or experiments that name one"
    yield from _axes(study)
    yield from _lists(study)
    for name, experiment in study.experiments.items():
        place = study.place("experiment", name)
        if wrong := list(_unknown("axis", experiment.axes or (), document.axes, f"{place}: axes")):
            yield wrong[0]
            return
    for name in study.experiments:
        yield from _keys_once(study, name)
    for name, experiment in study.experiments.items():
        place = study.place("experiment", name)
        for number, where in enumerate(experiment.skip):
            yield from _where(study, name, where, f"{place}: skip {number + 1}")
        yield from _unknown("axis", experiment.pool, study.axes_of(name), f"{place}: pool")
    if not document.scenario:
        for name, experiment in study.experiments.items():
            named = any(
                "scenario" in case for axis in study.axes_of(name).values() for case in (axis.cases or {}).values()
            )
            if experiment.scenario is None and not named:
                yield f"{study.place('experiment', name)}: expected a scenario"
    for name, values in document.quick.axes.items():
        place = study.place("quick", "axes", name)
        yield from _unknown("axis", [name], document.axes, place)
        if name in document.axes:
            yield from wrong_labels(document.axes[name], name, values, place)
    for name, quantity in document.measure.items():
        yield from _quantity(study, name, quantity)
    known = [*document.measure, *MEASURES]
    for number, measure in enumerate(document.measures):
        yield from known_measures([measure], known, study.place("measures", number))
    for number, table in enumerate(document.table):
        yield from _table(study, table, study.place("table", number), known)
    for number, figure in enumerate(document.figure):
        yield from _figure(study, figure, study.place("figure", number), known)
    for number, claim in enumerate(document.claim):
        yield from _claim(study, claim, study.place("claim", number), known)
    for kind in ("table", "figure"):
        names = [each.name for each in getattr(document, kind)]
        for name in dict.fromkeys(each for each in names if names.count(each) > 1):
            yield f"{study.path}: two of [[{kind}]] are called {name!r}"
    ids = [claim.id for claim in document.claim]
    for name in dict.fromkeys(each for each in ids if ids.count(each) > 1):
        yield f"{study.path}: two of [[claim]] have the id {name!r}"


#: Names of columns that tables of results have themselves.
_TAKEN = {
    *("run", "runs", "config", "seed", "experiment", "scenario", "digest", "version", "build", "ended"),
    *("wall_s", "cpu_s"),
}
#: Files that a report writes beside the tables and figures of a study.
_LEDGERS = ("claims", "published", "report")


def _axes(study: Study) -> Iterator[str]:
    for name in [*study.document.axes, *study.document.measure]:
        if name in _TAKEN:
            why = "is a column of every table of results"
            yield f"{study.path}: {name!r} {why}: expected another name"
    for table in study.document.table:
        if table.name in _LEDGERS:
            why = f"a report has a file {table.name} itself"
            yield f"{study.path}: {why}: expected another name of a table"
    for name, axis in study.document.axes.items():
        place = f"{study.place('axes', name)}: axes.{name}"
        if any(not label.strip() for label in labels_of(axis)):
            yield f"{place}: a value has an empty label: expected a text"
        for key in _twice(axis.keys or []):
            yield f"{place}: keys: {key} is named twice"
        given = [each for each in (axis.key, axis.keys, axis.cases) if each is not None]
        if len(given) != 1:
            yield f"{place}: expected one of key, keys and cases, found {len(given)} of them"
            continue
        if axis.cases is not None:
            if not axis.cases:
                yield f"{place}: expected at least one case"
            for case, settings in axis.cases.items():
                if not isinstance(settings.get("scenario", ""), str):
                    found = settings["scenario"]
                    yield f"{place}: {case}: scenario: expected a file, found {found!r}"
            if axis.values is not None or axis.labels is not None:
                yield f"{place}: cases have names: expected neither values nor labels"
            continue
        if axis.values is None:
            yield f"{place}: values are missing"
            continue
        if not axis.values:
            yield f"{place}: expected at least one value"
            continue
        if isinstance(axis.values, str) and not range_of(axis.values):
            wanted = 'a list, or whole numbers such as "2..10", the lower one first'
            yield f"{place}: values: expected {wanted}; found {axis.values!r}"
            continue
        if axis.keys is not None:
            rows = axis.values if isinstance(axis.values, list) else []
            if not rows or any(not isinstance(r, list) or len(r) != len(axis.keys) for r in rows):
                yield f"{place}: values: expected lists of {len(axis.keys)} values, one for a key"
                continue
        labels = labels_of(axis)
        if axis.labels is not None and len(axis.labels) != len(values_of(axis)):
            yield f"{place}: expected {len(values_of(axis))} labels, found {len(axis.labels)}"
        for label in _twice(labels):
            yield f"{place}: the value {label} is given twice"
        for value in values_of(axis):
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, float) and not math.isfinite(each):
                    yield f"{place}: values: expected finite numbers, found {each}"


def _unknown(what: str, names: Iterable[str], known: Iterable[str], place: str) -> Iterator[str]:
    """A problem for each name that no axis, or no experiment, has."""
    there = list(known)
    for name in names:
        if name not in there:
            yield f"{place}: no {what} is called {name!r}; {nearest(name, there)}"


def _twice(names: Sequence[str]) -> list[str]:
    """The names that stand in a list more than once."""
    return list(dict.fromkeys(each for each in names if names.count(each) > 1))


def _lists(study: Study) -> Iterator[str]:
    """Refuses a name that stands twice in a list of names."""
    parts: list[tuple[str, object, tuple[str, ...]]] = [(str(study.path), study.document, ("series", "measures"))]
    for name, experiment in study.document.experiment.items():
        parts.append((study.place("experiment", name), experiment, ("axes", "series")))
    for number, table in enumerate(study.document.table):
        names = ("rows", "columns", "measures", "mean_over")
        parts.append((study.place("table", number), table, names))
    for number, claim in enumerate(study.document.claim):
        parts.append((study.place("claim", number), claim, ("mean_over",)))
    for place, part, keys in parts:
        for key in keys:
            for name in _twice(getattr(part, key) or []):
                yield f"{place}: {key}: {name} is named twice"


def _keys_once(study: Study, experiment: str) -> Iterator[str]:
    """Refuses a key that two axes of an experiment change, or `quick` beside an axis."""
    owner: dict[str, str] = {}
    for name, axis in study.axes_of(experiment).items():
        for key in keys_of(axis):
            if owner.setdefault(key, name) != name:
                place = study.place("axes", name)
                yield f"{place}: axes.{name}: {key} is changed by the axis {owner[key]} already"
    for key in study.document.quick.set:
        if key in owner:
            place = study.place("quick", "set")
            yield f"{place}: quick.set: {key} is that of the axis {owner[key]}"


def _where(study: Study, experiment: str, where: Mapping[str, Scalar | list[Scalar]], place: str) -> Iterator[str]:
    axes = study.axes_of(experiment)
    for name, values in chosen(where).items():
        if name in study.experiments[experiment].pool and "skip" not in place:
            yield f"{place}: {name} is pooled: its values are no points of their own"
        elif name in axes:
            yield from wrong_labels(axes[name], name, values, place)
        else:
            yield from _unknown("axis", [name], axes, place)


def _of_experiment(study: Study, name: str | None, place: str) -> Iterator[str]:
    if name is not None:
        yield from _unknown("experiment", [name], study.experiments, place)
    elif len(study.experiments) > 1:
        yield f"{place}: expected an experiment: {', '.join(study.experiments)}"


def _known_axes(study: Study, experiment: str | None, names: Iterable[str | None], place: str) -> Iterator[str]:
    axes = study.axes_of(study.experiment_of(experiment))
    pool = study.experiments[study.experiment_of(experiment)].pool
    for name in names:
        if name is not None and name in pool:
            yield f"{place}: {name} is pooled: its values are no points of their own"
        elif name is not None:
            yield from _unknown("axis", [name], axes, place)


def _sampled_there(
    study: Study, experiment: str, names: Iterable[str | None], place: str, seen: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Refuses a measure of a series that an experiment does not sample."""
    # Measures that compare themselves are refused elsewhere.
    for name in (name for name in names if name not in seen):
        own = study.document.measure.get(name or "")
        if own is not None and own.experiments is not None and experiment not in own.experiments:
            there = ", ".join(own.experiments)
            yield f"{place}: {name} is measured in {there} alone, and not in {experiment}"
        if own is not None and own.compare is not None:
            others = [own.compare, *own.plus, *own.less]
            yield from _sampled_there(study, experiment, others, place, seen | {name or ""})
            for axis in [own.among] if own.among else own.to or ():
                if axis in study.document.axes and axis not in study.axes_of(experiment):
                    yield f"{place}: {name} compares values of {axis}, which is no axis of {experiment}"


def known_measures(names: Iterable[str | None], known: list[str], place: str) -> Iterator[str]:
    """Refuses names of no measure, of the study's own or of Hopyard."""
    for name in names:
        if name is None or name in known:
            continue
        try:
            # It may be about the flows with a label: `goodput[video]`.
            check([name])
        except ValueError as error:
            if name.partition("[")[0] in MEASURES:
                yield f"{place}: {error}"
            else:
                yield f"{place}: no measure is called {name!r}; {nearest(name, known)}"


def _quantity(study: Study, name: str, quantity: Quantity) -> Iterator[str]:
    place = f"{study.place('measure', name)}: measure.{name}"
    if name in MEASURES:
        yield f"{place}: Hopyard has a measure of this name: expected another one"
    own = study.document.measure
    if quantity.of is not None:
        yield from known_measures([quantity.of], [*own, *MEASURES], f"{place}: of")
        if quantity.of == name or (quantity.of in own and own[quantity.of].of is not None):
            yield f"{place}: of: expected a measure that is not divided itself"
    for key in ("plus", "less"):
        added: list[str] = getattr(quantity, key)
        yield from known_measures(added, [*own, *MEASURES], f"{place}: {key}")
        parts = [own[each] for each in added if each in own]
        if name in added or any(each.of or each.plus or each.less for each in parts):
            yield f"{place}: {key}: expected measures that are neither sums nor divided themselves"
    if not quantity.of_points:
        for each in (*quantity.plus, *quantity.less, *([quantity.of] if quantity.of else ())):
            if each in own and own[each].of_points:
                yield f"{place}: {each} is no measure of one run's rows: expected it in a measure with compare"
    if quantity.of is not None and quantity.of == quantity.measure and not _picks(quantity):
        yield f"{place}: of: {quantity.of} is divided by itself: expected another one"
    if (quantity.reduce == "below") != (quantity.limit is not None):
        yield f"{place}: reduce = below and limit are given together"
    yield from _compared(study, name, quantity, place)
    given = (quantity.column, quantity.series, quantity.measure, quantity.compare, quantity.network)
    if sum(each is not None for each in given) != 1:
        yield f"{place}: expected a column, a series or a measure, or compare or network"
        return
    if quantity.measure is not None:
        unknown = list(known_measures([quantity.measure], [*MEASURES], f"{place}: measure"))
        yield from unknown
        if {"table", "reduce"} & quantity.model_fields_set:
            yield f"{place}: a measure of Hopyard has a table and a way to reduce it: expected none"
        if not unknown:
            yield from _rows(quantity, measure_of(quantity.measure).table, place)
    if quantity.column is not None:
        known = columns(quantity.table)
        if quantity.column not in known:
            near = nearest(quantity.column, known)
            yield f"{place}: the table {quantity.table} has no column {quantity.column!r}; {near}"
        elif quantity.reduce != "count" and is_text(quantity.table, quantity.column):
            hint = "expected a column of numbers, or reduce = count with where"
            yield f"{place}: the column {quantity.column!r} has texts: {hint}"
        yield from _rows(quantity, quantity.table, place)
    if quantity.series is not None:
        sampled = [each["name"] for each in catalogue.quantities()]
        if quantity.series not in sampled:
            near = nearest(quantity.series, sampled)
            yield f"{place}: no series is called {quantity.series!r}; {near}"
        if quantity.reduce in ("sum", "count"):
            yield f"{place}: expected reduce = mean, median, max, min, std, last, first, below or slope for a series"
        if quantity.where:
            yield f"{place}: where is for columns of tables"
        for each in quantity.during:
            if each not in sampled:
                yield f"{place}: during: no series is called {each!r}; {nearest(each, sampled)}"
            elif not picked(quantity.during[each])[0]:
                yield f"{place}: during: {each}: expected a number at least, found an empty list"
            elif any(isinstance(value, str | bool) for value in picked(quantity.during[each])[0]):
                yield f"{place}: during: {each}: expected a number, found {quantity.during[each]!r}"
        for each in quantity.experiments or ():
            yield from _of_experiment(study, each, f"{place}: experiments")
        times = []
        for key in ("since", "until", "window"):
            if (text := getattr(quantity, key)) is not None:
                try:
                    times.append(_core.parse_time(text))
                except ValueError as error:
                    yield f"{place}: {key}: {error}"
                else:
                    if key == "window" and times.pop() == 0:
                        yield f"{place}: window: expected a time above 0, found {text}"
        if len(times) == 2 and times[0] >= times[1]:
            found = f"found {quantity.since} and {quantity.until}"
            yield f"{place}: expected since before until, {found}"


def _compared(study: Study, name: str, quantity: Quantity, place: str) -> Iterator[str]:
    """What is wrong with a measure of several points, or with keys of one that is not."""
    own = study.document.measure
    compares = quantity.reduce in get_args(OfPoints)
    if quantity.compare is None:
        if quantity.to is not None or quantity.among is not None or compares:
            yield f"{place}: to, among and reduce = ratio, difference, rank or range belong to compare"
    else:
        yield from known_measures([quantity.compare], [*own, *MEASURES], f"{place}: compare")
        if quantity.compare == name or (quantity.compare in own and own[quantity.compare].compare is not None):
            yield f"{place}: compare: expected a measure that compares no points itself"
        if quantity.to is not None and not quantity.to:
            yield f"{place}: to: expected a value of an axis at least"
        if (quantity.to is None) == (quantity.among is None):
            yield f"{place}: compare needs a case (to) or an axis (among), and one"
        wanted = ("ratio", "difference") if quantity.among is None else ("rank", "range")
        if quantity.reduce not in wanted:
            key = "to" if quantity.among is None else "among"
            yield f"{place}: expected reduce = {' or '.join(wanted)} with {key}, found {quantity.reduce}"
        axes = study.document.axes
        yield from _unknown("axis", [quantity.among] if quantity.among else quantity.to or (), axes, place)
        for axis, value in (quantity.to or {}).items():
            if axis in axes:
                yield from wrong_labels(axes[axis], axis, [value], f"{place}: to")
    if quantity.network is not None and "reduce" in quantity.model_fields_set and quantity.reduce != "mean":
        yield f"{place}: network gives means: expected no reduce, found {quantity.reduce}"
    if quantity.series is None and (quantity.during or quantity.window or quantity.reduce == "slope"):
        yield f"{place}: during, window and reduce = slope are for series"
    chooses = {"table", "flow", "answers", "where", "since", "until", "experiments", "relative"}
    if quantity.of_points and (wrong := sorted(chooses & quantity.model_fields_set)):
        yield f"{place}: {wrong[0]} chooses rows, and a measure with compare or network has none"


def _picks(quantity: Quantity) -> bool:
    """Whether a measure of Hopyard is taken of some rows, or with others beside it."""
    return bool(quantity.where or quantity.plus or quantity.answers) or quantity.flow is not None


def _rows(quantity: Quantity, table: str, place: str) -> Iterator[str]:
    """What is wrong with the choice of rows of a table."""
    known = columns(table)
    if quantity.since or quantity.until or quantity.reduce in ("first", "below"):
        yield f"{place}: since, until and reduce = first or below are for series"
    if quantity.flow is not None and "flow" not in known:
        hint = f", such as where = {{ node = {quantity.flow} }}" if "node" in known else ""
        yield f"{place}: flow: the rows of the table {table} are of no flow: expected where{hint}"
    if quantity.answers and "flow" not in known:
        yield f"{place}: answers: the rows of the table {table} are of no flow: expected a table of flows"
    for column, given in quantity.where.items():
        if column not in known:
            near = nearest(column, known)
            yield f"{place}: where: the table {table} has no column {column!r}; {near}"
            continue
        words, kinds = kind_of(table, column)
        values, _ = picked(given)
        if not values:
            yield f"{place}: where: {column}: expected at least one value"
        for value in values:
            # True and false are whole numbers for Python.
            if not isinstance(value, kinds) or isinstance(value, bool) != (kinds == (bool,)):
                yield f"{place}: where: {column}: expected {words}, found {value!r}"
            elif known[column] and value not in known[column]:
                near = nearest(str(value), known[column])
                yield f"{place}: where: no row has {column} = {value!r}; {near}"


def _table(study: Study, table: Table, place: str, known: list[str]) -> Iterator[str]:
    wrong = list(_of_experiment(study, table.experiment, place))
    yield from wrong
    if wrong:
        return
    yield from _known_axes(study, table.experiment, [*table.rows, *table.columns], place)
    for name in set(table.rows) & set(table.columns):
        yield f"{place}: {name} stands in rows and in columns: expected it in one"
    yield from known_measures(table.measures, known, place)
    experiment = study.experiment_of(table.experiment)
    yield from _sampled_there(study, experiment, table.measures, place)
    yield from _where(study, experiment, table.where, place)
    yield from _where(study, experiment, table.against or {}, f"{place}: against")
    if table.ratio and table.against is None:
        yield f"{place}: a ratio needs the case that the values are divided by (against)"
    yield from _known_axes(study, table.experiment, table.mean_over, place)
    for name in set(table.mean_over) & {*table.rows, *table.columns, *(table.against or {})}:
        yield f"{place}: {name} stands in mean_over: expected it neither in rows nor in columns"


def figure_problems(study: Study, figure: Figure, place: str) -> Iterator[str]:
    """What is wrong with a figure, which may be about the flows with a label."""
    yield from _figure(study, figure, place, [*study.document.measure, *MEASURES])


def _figure(study: Study, figure: Figure, place: str, known: list[str]) -> Iterator[str]:
    wrong = list(_of_experiment(study, figure.experiment, place))
    yield from wrong
    if wrong:
        return
    used = [figure.x, figure.lines, figure.panels]
    yield from _known_axes(study, figure.experiment, used, place)
    yield from known_measures([figure.measure, figure.beside], known, place)
    experiment = study.experiment_of(figure.experiment)
    yield from _sampled_there(study, experiment, [figure.measure, figure.beside], place)
    yield from _where(study, experiment, figure.where, place)
    yield from _where(study, experiment, figure.against or {}, f"{place}: against")
    if figure.beside is not None and figure.beside == figure.measure:
        yield f"{place}: beside: {figure.measure} is drawn against itself: expected another one"
    if (figure.beside is not None) != (figure.kind == "scatter"):
        yield f"{place}: beside is given with kind = scatter, and with this alone"
    if figure.against is not None and figure.kind not in ("lines", "bars", "heat"):
        yield f"{place}: against is for kind = lines, bars or heat"
    if figure.against is not None and figure.kind != "heat" and figure.log_y:
        yield f"{place}: differences may be below zero: expected no log_y"
    if figure.kind == "time":
        if figure.series is None or figure.measure is not None or figure.x is not None:
            yield f"{place}: a figure over time has a series: expected neither measure nor x"
        elif figure.series not in sampled(study, experiment):
            there = ", ".join(sampled(study, experiment)) or "none"
            yield f"{place}: the series {figure.series!r} is not sampled; there are {there}"
    elif figure.kind == "cdf":
        if figure.measure is None or figure.x is not None or figure.series is not None:
            yield f"{place}: a distribution has a measure: expected neither x nor series"
    elif figure.measure is None or figure.x is None or figure.series is not None:
        yield f"{place}: expected measure and x, and no series"
    elif figure.kind == "heat" and figure.lines is None:
        yield f"{place}: expected lines: the axis that goes downward"
    known_axes = study.axes_of(experiment)
    if figure.kind != "cdf" and all(name in known_axes for name in used if name):
        allowed = chosen(figure.where)
        for name, axis in known_axes.items():
            several = len(allowed.get(name, labels_of(axis))) > 1
            if several and name not in used and name not in study.experiments[experiment].pool:
                hint = "name it in lines or panels, or choose a value in where"
                yield f"{place}: the points differ in {name}, which is not shown: {hint}"
    axes = [name for name in used if name is not None]
    for name in dict.fromkeys(each for each in axes if axes.count(each) > 1):
        yield f"{place}: x, lines and panels need different axes, and {name} stands in two of them"


def _correlated(study: Study, claim: Claim, experiment: str, place: str, known: list[str]) -> Iterator[str]:
    if (claim.against is None) == (claim.than is None):
        yield f"{place}: correlated needs another measure (against) or another case (than), and one"
    if claim.against is not None:
        yield from known_measures([claim.against], known, place)
        yield from _sampled_there(study, experiment, [claim.against], place)
        if claim.against == claim.measure:
            yield f"{place}: against: {claim.measure} is compared with itself: expected another one"
    if claim.low is None and claim.high is None:
        yield f"{place}: correlated needs low or high, bounds of the coefficient from -1 to 1"
    elif claim.low in (None, -1) and claim.high in (None, 1):
        yield f"{place}: every coefficient is from -1 to 1: expected a low or high that can fail"
    for bound in (claim.low, claim.high):
        if bound is not None and not -1 <= bound <= 1:
            yield f"{place}: expected a coefficient from -1 to 1, found {bound:g}"


def _claim(study: Study, claim: Claim, place: str, known: list[str]) -> Iterator[str]:
    place = f"{place}: claim {claim.id}"
    wrong = list(_of_experiment(study, claim.experiment, place))
    yield from wrong
    if wrong:
        return
    experiment = study.experiment_of(claim.experiment)
    yield from known_measures([claim.measure], known, place)
    yield from _sampled_there(study, experiment, [claim.measure], place)
    yield from _known_axes(study, claim.experiment, [claim.along], place)
    for part in (claim.case, claim.than or {}, claim.where):
        yield from _where(study, experiment, part, place)
    yield from _known_axes(study, claim.experiment, claim.mean_over, place)
    for name in set(claim.mean_over) & {*(claim.than or {}), claim.along}:
        yield f"{place}: {name} stands in mean_over: expected it neither in than nor in along"
    if claim.along is not None and claim.along in (claim.than or {}):
        yield f"{place}: {claim.along} stands in along and in than: expected it in one"
    correlated = claim.expect == "correlated"
    trend = claim.expect in ("increasing", "decreasing")
    if claim.mean_over and trend:
        yield f"{place}: mean_over is not for increasing and decreasing"
    if (trend or correlated) != (claim.along is not None):
        also = "along is given with increasing and decreasing, and with correlated,"
        yield f"{place}: {also} and with these alone"
    if correlated:
        yield from _correlated(study, claim, experiment, place, known)
    elif claim.against is not None or claim.ranks:
        yield f"{place}: against and ranks are for correlated alone"
    if claim.expect in ("greater", "less", "similar") and claim.than is None:
        yield f"{place}: {claim.expect} needs the case that it is compared with (than)"
    if claim.expect == "similar" and claim.tolerance is None:
        yield f"{place}: similar needs a tolerance, such as 0.1 for 10 %"
    if claim.tolerance is not None and claim.expect != "similar":
        yield f"{place}: tolerance is for similar alone"
    elif (claim.tolerance or 0) > 1:
        found = f"found {claim.tolerance:g}, which is {claim.tolerance:.0%}"
        yield f"{place}: tolerance: expected a share of at most 1, such as 0.1 for 10 %, {found}"
    if claim.expect in ("at least", "at most") and claim.value is None:
        yield f"{place}: {claim.expect} needs a value"
    if claim.expect == "between" and (claim.low is None or claim.high is None):
        yield f"{place}: between needs low and high"
    sized = claim.expect in ("at least", "at most", "between")
    if claim.than is not None and sized != claim.ratio:
        with_it = "ratio = true" if sized else "no ratio"
        yield f"{place}: expected {with_it} with than and {claim.expect}"
    if claim.low is not None and claim.high is not None and not claim.low < claim.high:
        yield f"{place}: expected low < high, found {claim.low} and {claim.high}"
    given = (claim.value, claim.low, claim.high, claim.tolerance)
    if any(each is not None and not math.isfinite(each) for each in given):
        yield f"{place}: expected finite numbers"
    if claim.ratio and claim.than is None:
        yield f"{place}: a ratio needs the case that it is compared with (than)"
    if claim.ratio and min(each for each in (claim.value, claim.low, 1.0) if each is not None) <= 0:
        yield f"{place}: a ratio is compared with numbers above 0"
    if claim.expect in ("greater", "less") and (claim.value or 0) < 0:
        yield f"{place}: value: expected 0 or more, found {claim.value}"
