"""Study files: their keys, and the checks that need no scenario.

The form of the file is checked by pydantic. References between its parts (a table that names an
axis, a claim that names a measure) are checked here. All problems are reported at once, each with
its line.
"""

from __future__ import annotations

import math
import tomllib
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from hopyard import _core, catalogue
from hopyard.errors import path_of
from hopyard.measures import MEASURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from os import PathLike
    from pathlib import Path

#: The experiment of a study that names none.
ONLY = "main"
#: The most points of a study.
MOST_POINTS = 100_000

Scalar: TypeAlias = str | int | float | bool
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")]
Where: TypeAlias = dict[str, Scalar | list[Scalar]]


def _texts(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


#: A name, or a list of names.
Names = Annotated[list[str], BeforeValidator(_texts)]


class Part(BaseModel):
    """A table of a study file. A key that it does not have is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


class Axis(Part):
    """Values of one key, values of keys that change together, or named cases."""

    key: str | None = None
    keys: list[str] | None = None
    #: A list of values; for `keys`, a list of lists; or "2..10".
    values: list[Any] | str | None = None
    #: What the values are called in tables and figures.
    labels: list[str] | None = None
    #: Named cases: each a table of settings, in which `scenario` names another base scenario.
    cases: dict[str, dict[str, Any]] | None = None
    title: str | None = None
    unit: str = ""


class Experiment(Part):
    """Points of one base scenario."""

    #: A file; `{axis}` in its name stands for the value of an axis.
    scenario: str | None = None
    title: str | None = None
    #: The axes, by name; all if not given.
    axes: list[str] | None = None
    set: dict[str, Any] = {}
    #: Points that are left out.
    skip: list[Where] = []
    runs: int | None = Field(default=None, ge=1)
    series: Names = []


class Quantity(Part):
    """A measure of the study's own: one number a run."""

    #: A column of a table of results, or a series.
    column: str | None = None
    table: Literal["flows", "nodes"] = "flows"
    series: str | None = None
    reduce: Literal["sum", "mean", "median", "max", "min", "last"] = "sum"
    #: Only this flow.
    flow: int | None = Field(default=None, ge=0)
    #: Only samples from this time on, and before that one.
    since: str | None = None
    until: str | None = None
    scale: float = 1.0
    title: str | None = None
    unit: str = ""


class Table(Part):
    """A table: a row for each value of the axes `rows`, columns for those of `columns`."""

    name: Name
    title: str
    text: str = ""
    experiment: str | None = None
    rows: Names = []
    columns: Names = []
    measures: Names
    where: Where = {}
    #: Differences from this case, run by run, beside the values.
    against: dict[str, Scalar] | None = None
    published: bool = True


class Figure(Part):
    """A figure: a measure against an axis, or a series over time."""

    name: Name
    title: str
    text: str = ""
    kind: Literal["lines", "bars", "boxes", "time"] = "lines"
    experiment: str | None = None
    x: str | None = None
    measure: str | None = None
    series: str | None = None
    #: A line, or a colour of bars, for each value of this axis.
    lines: str | None = None
    #: A panel for each value of this axis.
    panels: str | None = None
    where: Where = {}
    run: int = Field(default=0, ge=0)
    log_x: bool = False
    log_y: bool = False
    published: bool = True


class Claim(Part):
    """A statement of a paper, and how it is judged."""

    id: str
    text: str
    #: Where the paper says it.
    source: str = ""
    experiment: str | None = None
    measure: str
    expect: Literal[
        "greater", "less", "similar", "at least", "at most", "between", "increasing", "decreasing"
    ]
    #: The case, and those that it is compared with: values of axes. It must hold beside each.
    case: Where = {}
    than: Where | None = None
    #: The axis along which the measure increases or decreases.
    along: str | None = None
    where: Where = {}
    #: The size that is expected: of the measure, or as a ratio or difference to `than`.
    value: float | None = None
    low: float | None = None
    high: float | None = None
    ratio: bool = False
    #: For "similar": the margin, as a share of the other value.
    tolerance: float | None = Field(default=None, gt=0)


class Quick(Part):
    """What `--quick` changes: fewer runs, fewer values, shorter runs."""

    runs: int = Field(default=3, ge=1)
    set: dict[str, Any] = {}
    #: For axes, the values that are kept.
    axes: dict[str, list[Scalar]] = {}


class Document(Part):
    """The keys of a study file."""

    title: str
    text: str = ""
    paper: str = ""
    scenario: str | None = None
    runs: int = Field(default=30, ge=1)
    seed: int | None = Field(default=None, ge=0)
    set: dict[str, Any] = {}
    series: Names = []
    axes: dict[Name, Axis] = {}
    experiment: dict[Name, Experiment] = {}
    #: Measures of the study's own.
    measure: dict[Name, Quantity] = {}
    #: What `hopyard results` shows.
    measures: Names = []
    table: list[Table] = []
    figure: list[Figure] = []
    claim: list[Claim] = []
    #: A CSV file of published values.
    published: str | None = None
    quick: Quick = Quick()


class StudyError(ValueError):
    """A study file is wrong; the message has every problem that was found."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


class Study:
    """A study that has been read and checked.

    Args:
        document: its keys.
        path: the file.
        text: the text of the file.
    """

    def __init__(self, document: Document, path: Path, text: str) -> None:
        self.document = document
        self.path = path
        self.text = text

    @property
    def folder(self) -> Path:
        """The folder from which scenarios and published values are looked up."""
        return self.path.parent

    @property
    def name(self) -> str:
        """The name of the file, or that of its folder if the file is called `study.toml`."""
        stem = self.path.stem
        return self.path.resolve().parent.name if stem == "study" else stem

    @property
    def experiments(self) -> dict[str, Experiment]:
        """The experiments; one where the file names none."""
        return self.document.experiment or {ONLY: Experiment()}

    def axes_of(self, experiment: str) -> dict[str, Axis]:
        """The axes of an experiment, in the order of the points."""
        named = self.experiments[experiment].axes
        axes = self.document.axes
        return dict(axes) if named is None else {name: axes[name] for name in named}

    def experiment_of(self, name: str | None) -> str:
        """The experiment that a table, figure or claim is about."""
        return name or next(iter(self.experiments))

    def place(self, *path: str | int) -> str:
        """The file with the line of a key, for messages."""
        line = _core.line_of(self.text, [str(step) for step in path])
        return f"{self.path}:{line}" if line else str(self.path)


def is_study(text: str) -> bool:
    """Whether a TOML text is a study rather than a scenario: it names scenarios or axes."""
    try:
        keys = tomllib.loads(text).keys()
    except (ValueError, RecursionError):
        return False
    return not keys.isdisjoint({"scenario", "axes", "experiment", "claim"})


def load(path: str | PathLike[str]) -> Study:
    """Reads a study file.

    Raises:
        StudyError: when it is wrong, with every problem found.
        OSError: when it cannot be read.
    """
    from hopyard.scenario import _read_text

    where = path_of(path, "a study file")
    if where.is_dir():
        where = where / "study.toml"
    return parse(_read_text(where), where)


def parse(text: str, path: Path) -> Study:
    """Reads a study from text; `path` stands for the file.

    Raises:
        StudyError: when it is wrong, with every problem found.
    """
    try:
        keys = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise StudyError([f"{path}: the file cannot be read as TOML: {error}"]) from None
    if not is_study(text) and not keys.keys().isdisjoint({"nodes", "flow", "duration"}):
        raise StudyError([f"{path} is a scenario, not a study: hopyard run {path} runs it"])
    try:
        document = Document.model_validate(keys)
    except ValidationError as error:
        raise StudyError([_of_pydantic(each, path, text) for each in error.errors()]) from None
    study = Study(document, path, text)
    if problems := list(_references(study)):
        raise StudyError(problems)
    return study


def _of_pydantic(error: Any, path: Path, text: str) -> str:
    """A problem of the form of the file."""
    steps = [str(step) for step in error["loc"]]
    line = _core.line_of(text, steps)
    place = f"{path}:{line}" if line else str(path)
    key = ".".join(steps)
    if error["type"] == "extra_forbidden":
        known = list(_keys_beside(steps))
        near = get_close_matches(steps[-1], known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
        return f"{place}: there is no key {key}; {hint}"
    if error["type"] == "missing":
        return f"{place}: {key} is missing"
    said = str(error["msg"]).replace("Input should be", "expected")
    found = error.get("input")
    return f"{place}: {key}: {said[0].lower()}{said[1:]}, found {found!r:.80}"


def _keys_beside(steps: Sequence[str]) -> Iterable[str]:
    """The keys of the table in which a key stands."""
    parts: dict[str, type[Part]] = {
        "axes": Axis,
        "experiment": Experiment,
        "measure": Quantity,
        "table": Table,
        "figure": Figure,
        "claim": Claim,
        "quick": Quick,
    }
    part = parts.get(steps[0], Document) if len(steps) > 1 else Document
    return part.model_fields


# References.


def _near(name: str, known: Iterable[str]) -> str:
    there = list(known)
    near = get_close_matches(name, there, n=1)
    listed = ", ".join(there) or "none"
    return f"did you mean {near[0]!r}? There are {listed}" if near else f"there are {listed}"


def _references(study: Study) -> Iterator[str]:
    document = study.document
    if not document.axes and not document.experiment and document.scenario is None:
        yield f"{study.path}: expected a scenario, or experiments that name one"
    yield from _axes(study)
    for name, experiment in study.experiments.items():
        place = study.place("experiment", name)
        for axis in experiment.axes or ():
            if axis not in document.axes:
                yield f"{place}: axes: no axis is called {axis!r}; {_near(axis, document.axes)}"
                return
    for name in study.experiments:
        yield from _keys_once(study, name)
    for name, experiment in study.experiments.items():
        place = study.place("experiment", name)
        for number, where in enumerate(experiment.skip):
            yield from _where(study, name, where, f"{place}: skip {number + 1}")
    if not document.scenario:
        for name, experiment in study.experiments.items():
            named = any(
                "scenario" in case
                for axis in study.axes_of(name).values()
                for case in (axis.cases or {}).values()
            )
            if experiment.scenario is None and not named:
                yield f"{study.place('experiment', name)}: expected a scenario"
    for name, values in document.quick.axes.items():
        place = study.place("quick", "axes", name)
        if name not in document.axes:
            yield f"{place}: no axis is called {name!r}; {_near(name, document.axes)}"
        else:
            yield from _labels(document.axes[name], name, values, place)
    for name, quantity in document.measure.items():
        yield from _quantity(study, name, quantity)
    known = [*document.measure, *MEASURES]
    for number, measure in enumerate(document.measures):
        if measure not in known:
            place = study.place("measures", number)
            yield f"{place}: no measure is called {measure!r}; {_near(measure, known)}"
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


def _axes(study: Study) -> Iterator[str]:
    for name, axis in study.document.axes.items():
        place = f"{study.place('axes', name)}: axes.{name}"
        given = [each for each in (axis.key, axis.keys, axis.cases) if each is not None]
        if len(given) != 1:
            yield f"{place}: expected one of key, keys and cases, found {len(given)} of them"
            continue
        if axis.cases is not None:
            if not axis.cases:
                yield f"{place}: expected at least one case"
            if axis.values is not None or axis.labels is not None:
                yield f"{place}: cases have names: expected neither values nor labels"
            continue
        if axis.values is None:
            yield f"{place}: values are missing"
            continue
        if not axis.values:
            yield f"{place}: expected at least one value"
            continue
        if axis.keys is not None:
            rows = axis.values if isinstance(axis.values, list) else []
            if not rows or any(not isinstance(r, list) or len(r) != len(axis.keys) for r in rows):
                yield f"{place}: values: expected lists of {len(axis.keys)} values, one for a key"
                continue
        labels = labels_of(axis)
        if axis.labels is not None and len(axis.labels) != len(values_of(axis)):
            yield f"{place}: expected {len(values_of(axis))} labels, found {len(axis.labels)}"
        for label in dict.fromkeys(each for each in labels if labels.count(each) > 1):
            yield f"{place}: the value {label} is given twice"


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


def keys_of(axis: Axis) -> list[str]:
    """The keys that an axis changes."""
    if axis.cases is not None:
        keys = [key for case in axis.cases.values() for key in case if key != "scenario"]
        return list(dict.fromkeys(keys))
    return axis.keys or [str(axis.key)]


def check_chosen(study: Study, where: Mapping[str, Scalar | list[Scalar]]) -> None:
    """Checks the axes and values of `--only`.

    Raises:
        StudyError: when the study has no such axis or value.
    """
    problems = []
    for name, values in chosen(where).items():
        if name not in study.document.axes:
            problems.append(f"no axis is called {name!r}; {_near(name, study.document.axes)}")
        else:
            problems += _labels(study.document.axes[name], name, values, str(study.path))
    if problems:
        raise StudyError(problems)


def values_of(axis: Axis) -> list[Any]:
    """The values of an axis: a list for each, if several keys change together."""
    if axis.cases is not None:
        return list(axis.cases.values())
    if isinstance(axis.values, str):
        _, texts = _core.parse_set(f"{axis.key}={axis.values}")
        return list(texts)
    return list(axis.values or ())


def labels_of(axis: Axis) -> list[str]:
    """What the values of an axis are called."""
    if axis.cases is not None:
        return list(axis.cases)
    if axis.labels is not None:
        return axis.labels
    values = values_of(axis)
    return [text_of(each[0] if isinstance(each, list) and axis.keys else each) for each in values]


def text_of(value: Any) -> str:
    """A value as a label."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def chosen(where: Mapping[str, Scalar | list[Scalar]]) -> dict[str, list[str]]:
    """The labels that a `where` allows."""
    return {
        name: [text_of(each) for each in (given if isinstance(given, list) else [given])]
        for name, given in where.items()
    }


def _labels(axis: Axis, name: str, values: Iterable[Scalar], place: str) -> Iterator[str]:
    known = labels_of(axis)
    for value in values:
        if text_of(value) not in known:
            near = _near(text_of(value), known)
            yield f"{place}: the axis {name} has no value {text_of(value)!r}; {near}"


def _where(
    study: Study, experiment: str, where: Mapping[str, Scalar | list[Scalar]], place: str
) -> Iterator[str]:
    axes = study.axes_of(experiment)
    for name, values in chosen(where).items():
        if name not in axes:
            yield f"{place}: no axis is called {name!r}; {_near(name, axes)}"
        else:
            yield from _labels(axes[name], name, values, place)


def _of_experiment(study: Study, name: str | None, place: str) -> Iterator[str]:
    if name is not None and name not in study.experiments:
        yield f"{place}: no experiment is called {name!r}; {_near(name, study.experiments)}"
    if name is None and len(study.experiments) > 1:
        yield f"{place}: expected an experiment: {', '.join(study.experiments)}"


def _known_axes(
    study: Study, experiment: str | None, names: Iterable[str | None], place: str
) -> Iterator[str]:
    axes = study.axes_of(study.experiment_of(experiment))
    for name in names:
        if name is not None and name not in axes:
            yield f"{place}: no axis is called {name!r}; {_near(name, axes)}"


def _known_measures(names: Iterable[str | None], known: list[str], place: str) -> Iterator[str]:
    for name in names:
        if name is not None and name not in known:
            yield f"{place}: no measure is called {name!r}; {_near(name, known)}"


def _quantity(study: Study, name: str, quantity: Quantity) -> Iterator[str]:
    place = f"{study.place('measure', name)}: measure.{name}"
    if name in MEASURES:
        yield f"{place}: Hopyard has a measure of this name: expected another one"
    if (quantity.column is None) == (quantity.series is None):
        yield f"{place}: expected a column or a series"
        return
    if quantity.column is not None:
        known = columns(quantity.table)
        if quantity.column not in known:
            near = _near(quantity.column, known)
            yield f"{place}: the table {quantity.table} has no column {quantity.column!r}; {near}"
        if quantity.since or quantity.until:
            yield f"{place}: since and until are for series"
    if quantity.series is not None:
        sampled = [each["name"] for each in catalogue.quantities()]
        if quantity.series not in sampled:
            near = _near(quantity.series, sampled)
            yield f"{place}: no series is called {quantity.series!r}; {near}"
        if quantity.reduce == "sum":
            yield f"{place}: expected reduce = mean, median, max, min or last for a series"
        for key in ("since", "until"):
            if (text := getattr(quantity, key)) is not None:
                try:
                    _core.parse_time(text)
                except ValueError as error:
                    yield f"{place}: {key}: {error}"


def columns(table: str) -> list[str]:
    """The columns of numbers of a table of results."""
    import json

    found = json.loads(_core.result_tables())
    names: list[str] = []
    for each in found:
        if each["name"] == table:
            names = [column["name"] for column in each["columns"]]
    return names


def _table(study: Study, table: Table, place: str, known: list[str]) -> Iterator[str]:
    wrong = list(_of_experiment(study, table.experiment, place))
    yield from wrong
    if wrong:
        return
    yield from _known_axes(study, table.experiment, [*table.rows, *table.columns], place)
    for name in set(table.rows) & set(table.columns):
        yield f"{place}: {name} stands in rows and in columns: expected it in one"
    yield from _known_measures(table.measures, known, place)
    experiment = study.experiment_of(table.experiment)
    yield from _where(study, experiment, table.where, place)
    yield from _where(study, experiment, table.against or {}, f"{place}: against")


def _figure(study: Study, figure: Figure, place: str, known: list[str]) -> Iterator[str]:
    wrong = list(_of_experiment(study, figure.experiment, place))
    yield from wrong
    if wrong:
        return
    used = [figure.x, figure.lines, figure.panels]
    yield from _known_axes(study, figure.experiment, used, place)
    yield from _known_measures([figure.measure], known, place)
    experiment = study.experiment_of(figure.experiment)
    yield from _where(study, experiment, figure.where, place)
    if figure.kind == "time":
        if figure.series is None or figure.measure is not None or figure.x is not None:
            yield f"{place}: a figure over time has a series: expected neither measure nor x"
        elif figure.series not in sampled(study, experiment):
            there = ", ".join(sampled(study, experiment)) or "none"
            yield f"{place}: the series {figure.series!r} is not sampled; there are {there}"
    elif figure.measure is None or figure.x is None or figure.series is not None:
        yield f"{place}: expected measure and x, and no series"
    axes = [name for name in used if name is not None]
    for name in dict.fromkeys(each for each in axes if axes.count(each) > 1):
        yield f"{place}: {name} stands for two of x, lines and panels: expected it for one"


def sampled(study: Study, experiment: str) -> list[str]:
    """The series that an experiment samples: those that it names, and those of measures."""
    own = study.experiments[experiment].series
    of_measures = [each.series for each in study.document.measure.values() if each.series]
    return list(dict.fromkeys([*study.document.series, *own, *of_measures]))


def _claim(study: Study, claim: Claim, place: str, known: list[str]) -> Iterator[str]:
    place = f"{place}: claim {claim.id}"
    wrong = list(_of_experiment(study, claim.experiment, place))
    yield from wrong
    if wrong:
        return
    experiment = study.experiment_of(claim.experiment)
    yield from _known_measures([claim.measure], known, place)
    yield from _known_axes(study, claim.experiment, [claim.along], place)
    for part in (claim.case, claim.than or {}, claim.where):
        yield from _where(study, experiment, part, place)
    trend = claim.expect in ("increasing", "decreasing")
    if trend != (claim.along is not None):
        yield f"{place}: along is given with increasing and decreasing, and with these alone"
    if claim.expect in ("greater", "less", "similar") and claim.than is None:
        yield f"{place}: {claim.expect} needs the case that it is compared with (than)"
    if claim.expect == "similar" and claim.tolerance is None:
        yield f"{place}: similar needs a tolerance, such as 0.1 for 10 %"
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
