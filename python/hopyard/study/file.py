"""Study files: their keys, and the checks that need no scenario.

The form of the file is checked by pydantic. References between its parts (a table that names an
axis, a claim that names a measure) are checked here. All problems are reported at once, each with
its line.
"""

from __future__ import annotations

import re
import tomllib
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from hopyard import _core
from hopyard.scenario import catalogue
from hopyard.tables.measures import named
from hopyard.tables.tables import empty

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hopyard.scenario.catalogue import Column

#: The experiment of a study that names none.
ONLY = "main"
#: The most points of a study.
MOST_POINTS = 100_000
#: The most runs of a point.
MOST_RUNS = 1_000_000
_RANGE = re.compile(r"(-?\d{1,15})\.\.(-?\d{1,15})")

Scalar: TypeAlias = str | int | float | bool
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")]
Where: TypeAlias = dict[str, Scalar | list[Scalar]]
#: The rows of a table: `{ flow = [0, 1] }`, `{ transport = { not = "udp" } }`.
Rows: TypeAlias = "dict[str, Scalar | list[Scalar] | Not]"


def _texts(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


#: How rows, samples of a series, and points are made one number a run.
OfRows: TypeAlias = Literal["sum", "mean", "median", "max", "min", "std", "last", "count"]
OfSeries: TypeAlias = Literal["first", "below", "slope"]
OfPoints: TypeAlias = Literal["ratio", "difference", "rank", "range"]

#: A name, or a list of names.
Names = Annotated[list[str], BeforeValidator(_texts)]


class Part(BaseModel):
    """A table of a study file. A key that it does not have is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True, allow_inf_nan=False)


class Not(Part):
    """All values but these."""

    but: Scalar | list[Scalar] = Field(alias="not")


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
    #: Axes whose values are no points of their own: their runs count as runs of one point.
    pool: Names = []
    runs: int | None = Field(default=None, ge=1, le=MOST_RUNS)
    series: Names = []


class Quantity(Part):
    """A measure of the study's own: one number a run."""

    #: A column of a table of results, or a series, or a measure of Hopyard of chosen rows.
    column: str | None = None
    measure: str | None = None
    #: Or another measure, of which points are compared run by run: with the case `to`, or along the axis `among`.
    compare: str | None = None
    to: dict[str, Scalar] | None = None
    among: str | None = None
    #: Or a property of the network, from the places of the nodes.
    network: Literal["connected", "neighbours", "hops"] | None = None
    table: Literal[
        "flows", "nodes", "decisions", "overhead", "rate_changes", "handoffs", "mobile_events", "detours", "objects"
    ] = "flows"
    series: str | None = None
    #: `first`: seconds from `since` to the first sample above zero. `count`: how many rows have a
    #: value in the column.
    #: `below`: how many samples of a series are below `limit`. `slope`: its rise in each second.
    #: Of points: `ratio` and `difference` to a case; `rank` (1 has the most) and `range` along an axis.
    reduce: Literal[OfRows, OfSeries, OfPoints] = "sum"
    limit: float | None = None
    #: Only this flow.
    flow: int | None = Field(default=None, ge=0)
    #: Only the answers to flows; with `flow`, only those to this flow.
    answers: bool = False
    #: Only rows with these values.
    where: Rows = {}
    #: Only samples from this time on, and before that one.
    since: str | None = None
    until: str | None = None
    #: Only samples at times at which other series have these values: `{ hops = 2 }`.
    during: Where = {}
    #: Samples are averaged over windows of this length first.
    window: str | None = None
    #: These measures of the same run are added to it, or subtracted.
    plus: Names = []
    less: Names = []
    #: Divided by this measure of the same run.
    of: str | None = None
    #: Only these experiments sample its series; all if not given.
    experiments: Names | None = None
    #: Whether the values are times that count from `measure.from` of the scenario.
    relative: bool = False
    #: The value of a run that has none.
    missing: float | None = None
    scale: float = 1.0
    title: str | None = None
    unit: str = ""

    @property
    def of_points(self) -> bool:
        """Whether the rows of one run do not tell its value: other points do, or the places of the nodes."""
        return self.compare is not None or self.network is not None


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
    #: Differences from this case, run by run, beside the values; with `ratio`, quotients instead.
    against: dict[str, Scalar] | None = None
    ratio: bool = False
    #: Axes over whose values the mean is taken, run by run.
    mean_over: Names = []
    published: bool = True


class Figure(Part):
    """A figure: a measure against an axis, or a series over time."""

    name: Name
    title: str
    text: str = ""
    kind: Literal["lines", "bars", "box", "cdf", "time", "heat", "scatter"] = "lines"
    experiment: str | None = None
    x: str | None = None
    measure: str | None = None
    #: For "scatter": the measure along the other direction.
    beside: str | None = None
    #: The case that others are compared with: by quotients for "heat", by differences otherwise.
    against: dict[str, Scalar] | None = None
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
        "greater", "less", "similar", "at least", "at most", "between", "increasing", "decreasing", "correlated"
    ]
    #: The case, and those that it is compared with: values of axes. It must hold beside each.
    case: Where = {}
    than: Where | None = None
    #: The axis along which the measure increases or decreases, or is correlated.
    along: str | None = None
    #: For "correlated": the other measure, of the same case. With `than`, it is the same measure.
    against: str | None = None
    #: For "correlated": whether ranks are compared (Spearman), and not values (Pearson).
    ranks: bool = False
    #: Axes over whose values the mean is taken, run by run.
    mean_over: Names = []
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

    runs: int = Field(default=3, ge=1, le=MOST_RUNS)
    set: dict[str, Any] = {}
    #: For axes, the values that are kept.
    axes: dict[str, list[Scalar]] = {}


class Document(Part):
    """The keys of a study file."""

    title: str
    text: str = ""
    paper: str = ""
    scenario: str | None = None
    runs: int = Field(default=30, ge=1, le=MOST_RUNS)
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
    #: A CSV file of published values, and what they are called.
    published: str | None = None
    published_title: str = "published"
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
        """The experiment that a table, figure or claim is about; the first one if none is named.

        Raises:
            StudyError: when there is no such experiment.
        """
        if name is not None and name not in self.experiments:
            near = nearest(name, self.experiments)
            raise StudyError([f"{self.path}: no experiment is called {name!r}; {near}"])
        return name or next(iter(self.experiments))

    def place(self, *path: str | int) -> str:
        """The file with the line of a key, for messages."""
        line = _core.line_of(self.text, [str(step) for step in path])
        return f"{self.path}:{line}" if line else str(self.path)


def is_study(text: str) -> bool:
    """Whether a TOML text is a study rather than a scenario: it names scenarios or axes."""
    try:
        keys = tomllib.loads(text.removeprefix("\ufeff")).keys()
    except (ValueError, RecursionError):
        return False
    return not keys.isdisjoint({"scenario", "axes", "experiment", "claim"})


def nearest(name: str, known: Iterable[str]) -> str:
    """What a message says of a name that is not known: the nearest one, and all."""
    there = list(known)
    near = get_close_matches(name, there, n=1)
    listed = ", ".join(there) or "none"
    return f"did you mean {near[0]!r}? There are {listed}" if near else f"there are {listed}"


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
            problems.append(f"no axis is called {name!r}; {nearest(name, study.document.axes)}")
        else:
            problems += wrong_labels(study.document.axes[name], name, values, str(study.path))
    if problems:
        raise StudyError(problems)


def values_of(axis: Axis) -> list[Any]:
    """The values of an axis: a list for each, if several keys change together."""
    if axis.cases is not None:
        return list(axis.cases.values())
    if isinstance(axis.values, str):
        return list(range_of(axis.values))
    return list(axis.values or ())


def range_of(text: str) -> range:
    """The whole numbers of `"2..10"`, both ends included; none if the text is no such range."""
    found = _RANGE.fullmatch(text.strip())
    if found is None or abs(int(found[2]) - int(found[1])) > MOST_POINTS:
        return range(0)
    return range(int(found[1]), int(found[2]) + 1)


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


def picked(given: Scalar | list[Scalar] | Not) -> tuple[list[Scalar], bool]:
    """The values that the `where` of a measure names, and whether rows with these are left out."""
    values = given.but if isinstance(given, Not) else given
    return values if isinstance(values, list) else [values], isinstance(given, Not)


def wrong_labels(axis: Axis, name: str, values: Iterable[Scalar], place: str) -> Iterator[str]:
    """A problem for each value that an axis does not have."""
    known = labels_of(axis)
    for value in values:
        if text_of(value) not in known:
            near = nearest(text_of(value), known)
            yield f"{place}: the axis {name} has no value {text_of(value)!r}; {near}"


#: Reductions whose value has the unit of what is reduced.
_KEEPS_UNIT = (*get_args(OfRows), "difference", "range")


def unit_of(measure: str, own: Mapping[str, Quantity]) -> str:
    """The unit of a measure of Hopyard, or of one of the study's `own`.

    A measure that names none has the unit of what it is made of, where neither `scale` nor `of` nor its reduction
    changes the unit.
    """
    it = own.get(measure)
    if it is None:
        return named(measure).unit
    if "unit" in it.model_fields_set or it.scale != 1 or it.of is not None:
        return it.unit
    if it.reduce == "first":
        return "s"
    if it.reduce == "count" or it.reduce not in _KEEPS_UNIT:
        return ""
    if it.compare is not None:
        return unit_of(it.compare, own)
    if it.measure is not None:
        return named(it.measure).unit
    known = catalogue.quantities() if it.series is not None else _columns(it.table)
    return next((each["unit"] for each in known if each["name"] in (it.series, it.column)), "")


def columns(table: str) -> dict[str, list[str]]:
    """The columns of a table of results, each with its texts where these are few and fixed."""
    return {column["name"]: column["values"] for column in _columns(table)}


def _columns(table: str) -> list[Column]:
    return [column for each in catalogue.tables() if each["name"] == table for column in each["columns"]]


def is_text(table: str, column: str) -> bool:
    """Whether a column of a table of results has texts."""
    return _type_of(table, column).startswith("dictionary")


def kind_of(table: str, column: str) -> tuple[str, tuple[type, ...]]:
    """What the values of a column are, in words and as types."""
    name = _type_of(table, column)
    if name.startswith("dictionary"):
        return "a text", (str,)
    if name == "bool":
        return "true or false", (bool,)
    return ("a whole number", (int,)) if "int" in name else ("a number", (int, float))


def _type_of(table: str, column: str) -> str:
    return str(empty()[table].schema.field(column).type)


def sampled(study: Study, experiment: str) -> list[str]:
    """The series that an experiment samples: those that it names, and those of measures."""
    own = study.experiments[experiment].series
    of_measures = [
        series
        for each in study.document.measure.values()
        if each.series and (each.experiments is None or experiment in each.experiments)
        for series in (each.series, *each.during)
    ]
    return list(dict.fromkeys([*study.document.series, *own, *of_measures]))
