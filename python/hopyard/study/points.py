"""The points of a study: each choice of one value for each axis, as a checked scenario."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hopyard import _core
from hopyard.errors import ScenarioError
from hopyard.scenario.plan import Planned, measuring
from hopyard.scenario.scenario import _read_text, _text
from hopyard.study.file import MOST_POINTS, StudyError, check_chosen, chosen, labels_of, sampled, text_of, values_of
from hopyard.terminal.words import many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hopyard.study.file import Axis, Scalar, Study

#: What stands before the name of an axis among the settings of a case: no column of a table of
#: results has such a name.
PREFIX = "axes."
#: The most problems of scenarios that are told.
TOLD = 10
#: After so many points it is told how many have been read.
TELL_EVERY = 1000


@dataclass(frozen=True)
class Point:
    """A point of a study."""

    experiment: str
    #: For each axis the label of its value.
    labels: dict[str, str]
    planned: Planned
    #: The axes whose values count as runs of one point.
    pool: tuple[str, ...] = ()
    #: What is pooled in it; nothing if it stands for one scenario.
    parts: tuple[Planned, ...] = ()

    @property
    def all(self) -> tuple[Planned, ...]:
        """Its scenarios with the numbers of their runs."""
        return self.parts or (self.planned,)

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return sum(len(each.runs) for each in self.all)

    def __str__(self) -> str:
        return named(self.labels) or self.experiment


def pooled(points: Iterable[Point]) -> list[Point]:
    """The points with those made one that differ in pooled axes alone."""
    found: dict[tuple[str, tuple[tuple[str, str], ...]], Point] = {}
    for point in points:
        labels = {name: label for name, label in point.labels.items() if name not in point.pool}
        key = point.experiment, tuple(labels.items())
        before = found.get(key)
        if before is not None:
            found[key] = replace(before, parts=(*before.all, *point.all))
        elif len(labels) < len(point.labels):
            found[key] = replace(point, labels=labels, parts=point.all)
        else:
            found[key] = point
    return list(found.values())


def named(labels: Mapping[str, object]) -> str:
    """Labels of axes in words: `hops=3, tcp=vegas`."""
    return ", ".join(f"{name}={label}" for name, label in labels.items())


def axes_of(settings: Mapping[str, str]) -> dict[str, str]:
    """The labels of axes among the settings of a case of a store."""
    return {key.removeprefix(PREFIX): value for key, value in settings.items() if key.startswith(PREFIX)}


def fits(labels: Mapping[str, str], where: Mapping[str, Scalar | list[Scalar]]) -> bool:
    """Whether a point is one of those that a `where` allows."""
    return all(labels.get(name) in allowed for name, allowed in chosen(where).items())


def beside(point: Point, others: Sequence[Point], change: Mapping[str, Scalar | list[Scalar]]) -> list[Point]:
    """The points that differ from one in these values of axes alone."""
    rest = {name: label for name, label in point.labels.items() if name not in change}
    return [
        each
        for each in others
        if each.experiment == point.experiment and each.labels != point.labels
        if fits(each.labels, change)
        if all(each.labels.get(name) == label for name, label in rest.items())
    ]


def points(
    study: Study,
    *,
    quick: bool = False,
    runs: int | None = None,
    seed: int | None = None,
    only: Mapping[str, Scalar | list[Scalar]] | None = None,
    tell: Callable[[int], None] | None = None,
) -> list[Point]:
    """The points of a study, in the order of its experiments and axes.

    Args:
        study: the study.
        quick: whether its quick version is meant.
        runs: runs of each point; the study's own number if not given.
        seed: the seed; the study's own if not given.
        only: the values of axes that are wanted.
        tell: is told, now and then, how many points have been read.

    Raises:
        StudyError: when a value makes an invalid scenario, with every such value; or when there is
            no point, or there are too many.
    """
    check_chosen(study, only or {})
    texts: dict[Path, str] = {}
    problems: dict[object, list[str]] = {}
    found: list[Point] = []
    for experiment in study.experiments:
        own = study.experiments[experiment]
        count = runs or (study.document.quick.runs if quick else own.runs or study.document.runs)
        for labels, settings, scenario in _choices(study, experiment, quick=quick):
            if any(fits(labels, where) for where in own.skip) or not fits(labels, only or {}):
                continue
            if len(found) >= MOST_POINTS:
                raise StudyError([f"{study.path}: expected at most {MOST_POINTS:,} points"])
            core = _scenario(study, experiment, labels, settings, scenario, seed, texts, problems)
            if tell is not None and len(found) % TELL_EVERY == TELL_EVERY - 1:
                tell(len(found) + 1)
            if core is not None:
                marked = {f"{PREFIX}{name}": label for name, label in labels.items()}
                path = study.folder / str(scenario)
                title = core.name if len(study.experiments) == 1 else experiment
                planned = Planned(core, title, str(path), marked, range(count), base=path.parent)
                found.append(Point(experiment, labels, planned, tuple(own.pool)))
    if problems:
        told = [_with_others(same) for same in problems.values()][:TOLD]
        more = len(problems) - len(told)
        raise StudyError([*told, *([f"and {many(more, 'further problem')}"] if more else [])])
    if not found:
        wanted = "; ".join(f"{n}={' or '.join(each)}" for n, each in chosen(only or {}).items())
        raise StudyError([f"{study.path}: there is no point {wanted}".rstrip()])
    return found


def _with_others(texts: Sequence[str]) -> str:
    """The first of several equal problems of points, with how many others there are."""
    first, *others = texts
    return f"{first.rstrip()}\nand so in {many(len(others), 'further point')}" if others else first


def _scenario(
    study: Study,
    experiment: str,
    labels: Mapping[str, str],
    settings: Sequence[tuple[str, str]],
    scenario: str | None,
    seed: int | None,
    texts: dict[Path, str],
    problems: dict[object, list[str]],
) -> _core.Scenario | None:
    """The scenario of a point, or none with its problems noted."""
    where = named(labels) or experiment
    if scenario is None:
        place = study.place("experiment", experiment)
        problems.setdefault(place, []).append(f"{place}: {where}: expected a scenario")
        return None
    path = study.folder / scenario
    try:
        if path not in texts:
            texts[path] = _read_text(path)
    except OSError as error:
        text = f"{study.path}: scenario {scenario}: {error.strerror or error}"
        problems.setdefault(path, []).append(text)
        return None
    given = list(settings)
    own = seed if seed is not None else study.document.seed
    if own is not None:
        given.append(("seed", str(own)))
    try:
        (core,) = _core.Scenario.parse_cases(texts[path], str(path), path.parent, given, [])
        if series := sampled(study, experiment):
            core = core.with_settings(measuring(series, ""))
    except ScenarioError as error:
        text = f"{study.path}: the point {where} is no valid scenario:\n{error}"
        # One wrong key or value of an axis is in many points.
        same = tuple((each.path, each.message, each.expected) for each in error.problems)
        problems.setdefault(same, []).append(text)
        return None
    return core


def _choices(
    study: Study, experiment: str, *, quick: bool
) -> Iterator[tuple[dict[str, str], list[tuple[str, str]], str | None]]:
    """For each point the labels, the settings and the base scenario."""
    document, own = study.document, study.experiments[experiment]
    axes = study.axes_of(experiment)
    sides = []
    for name, axis in axes.items():
        kept = document.quick.axes.get(name) if quick else None
        allowed = None if kept is None else [text_of(each) for each in kept]
        sides.append(
            [
                (name, label, value)
                for label, value in zip(labels_of(axis), values_of(axis), strict=True)
                if allowed is None or label in allowed
            ]
        )
    for combination in itertools.product(*sides):
        scenario = own.scenario or document.scenario
        changed: dict[str, Any] = {**document.set, **own.set}
        for name, _, value in combination:
            own_keys = settings_of(axes[name], value)
            scenario = own_keys.pop("scenario", scenario)
            changed |= own_keys
        if quick:
            changed |= document.quick.set
        labels = {name: label for name, label, _ in combination}
        if scenario is not None:
            scenario = _filled(scenario, labels)
        try:
            settings = [(key, _text(key, each)) for key, each in changed.items()]
        except (TypeError, ValueError) as error:
            where = f"{study.path}: the point {named(labels) or experiment}"
            raise StudyError([f"{where} is no valid scenario: {error}"]) from None
        yield labels, settings, scenario


def _filled(scenario: str, labels: Mapping[str, str]) -> str:
    """The name of a scenario file, in which `{axis}` stands for the value of an axis."""
    for name, label in labels.items():
        scenario = scenario.replace(f"{{{name}}}", label)
    return scenario


def settings_of(axis: Axis, value: Any) -> dict[str, Any]:
    """The settings that a value of an axis makes."""
    if axis.cases is not None:
        return dict(value)
    if axis.keys is not None:
        return dict(zip(axis.keys, value, strict=True))
    return {str(axis.key): value}
