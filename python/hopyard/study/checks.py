"""Checks of a study that need its points: what a claim is about, what the scenarios record.

`hopyard check` and `hopyard sweep` make them of the whole study, before the first run.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hopyard.measures import MEASURES
from hopyard.plan import MOST_RUNS
from hopyard.records import PATHS
from hopyard.study.points import fits
from hopyard.study.published import read
from hopyard.study.tables import beside
from hopyard.study.traffic import flows_of
from hopyard.study.values import OF_NODES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hopyard.study.file import Claim, Quantity, Study
    from hopyard.study.points import Point


#: Measures that only runs have which count energy.
OF_ENERGY = (
    *("energy", "energy_per_bit", "energy_per_bit_without_idle"),
    *("first_death", "dead"),
)


def check(study: Study, points: Sequence[Point]) -> None:
    """Checks a study with all of its points.

    Raises:
        StudyError: with every problem that was found.
    """
    from hopyard.study.file import StudyError

    problems = [*_flows(study, points)]
    try:
        read(study)
    except StudyError as error:
        problems += error.problems
    for number, claim in enumerate(study.document.claim):
        place = f"{study.place('claim', number)}: claim {claim.id}"
        problems += _claim(study, claim, points, place)
    for kind in ("table", "figure"):
        for number, part in enumerate(getattr(study.document, kind)):
            names = part.measures if kind == "table" else [part.measure, part.beside]
            mine = _of(study, part.experiment, points)
            problems += [
                f"{study.place(kind, number)}: {kind} {part.name}: {problem}"
                for name in names
                if (problem := _unrecorded(study, name, mine, all_of_them=False))
            ]
    if problems:
        raise StudyError(problems)


def check_runs(study: Study, points: Sequence[Point], what: str = "") -> None:
    """Checks that one sweep may make all runs.

    Raises:
        StudyError: when they are too many.
    """
    from hopyard.study.file import StudyError

    runs = sum(len(point.planned.runs) for point in points)
    if runs > MOST_RUNS:
        most = f"expected at most {MOST_RUNS:,} runs in one sweep"
        raise StudyError([f"{study.path}: {most}, found {runs:,}{what}"])


def _of(study: Study, experiment: str | None, points: Sequence[Point]) -> list[Point]:
    name = study.experiment_of(experiment)
    return [point for point in points if point.experiment == name]


def _document(point: Point) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(point.planned.core.to_json(defaults=True))
    return document


def _flows(study: Study, points: Sequence[Point]) -> Iterator[str]:
    """Refuses a measure of a flow, or node, that no point has."""
    for name, own in study.document.measure.items():
        if own.flow is None:
            continue
        most = 0
        for point in points:
            if own.experiments is not None and point.experiment not in own.experiments:
                continue
            most = max(most, _count(own, point))
            if most > own.flow:
                break
        else:
            what = "node" if own.series is None and own.table in OF_NODES else "flow"
            there = f"{what}s from 0 to {most - 1}" if most else f"no {what}"
            place = f"{study.place('measure', name, 'flow')}: measure.{name}: flow"
            yield f"{place}: no point has a {what} {own.flow}; there are {there}"


def _count(own: Quantity, point: Point) -> int:
    if own.series is None and own.table in OF_NODES:
        return point.planned.core.nodes
    return flows_of(_document(point))


def _claim(study: Study, claim: Claim, points: Sequence[Point], place: str) -> Iterator[str]:
    """Refuses a claim that has nothing to compare."""
    mine = [p for p in _of(study, claim.experiment, points) if fits(p.labels, claim.where)]
    cases = [point for point in mine if fits(point.labels, claim.case)]
    if not cases:
        yield f"{place}: it is about no point: case, where and skip leave none"
        return
    than = claim.than
    if than is not None and not any(beside(point, mine, than) for point in cases):
        yield f"{place}: no point of than differs from one of case in nothing else"
        return
    if claim.along is not None:
        groups: dict[tuple[str, ...], int] = {}
        for point in cases:
            rest = tuple(v for n, v in point.labels.items() if n != claim.along)
            groups[rest] = groups.get(rest, 0) + 1
        if max(groups.values()) < 2:
            yield f"{place}: its points have one value of {claim.along} alone: expected several"
            return
    others = [point for point in mine if than is not None and fits(point.labels, than)]
    if problem := _unrecorded(study, claim.measure, [*cases, *others], all_of_them=True):
        yield f"{place}: {problem}"


def _unrecorded(
    study: Study, measure: str | None, points: Sequence[Point], *, all_of_them: bool
) -> str | None:
    """Why runs of the points have no value of a measure, of all of them or of one at least."""
    own = study.document.measure.get(measure or "")
    if own is not None:
        # What it is divided by may not be recorded.
        return _unrecorded(study, own.of, points, all_of_them=all_of_them) if own.of else None
    if measure in OF_ENERGY:
        needed = "an energy.model other than off"
        lacking = [p for p in points if _document(p).get("energy", {}).get("model") == "off"]
    elif measure in MEASURES and MEASURES[measure].table == "paths":
        needed = "measure.paths = true"
        lacking = [point for point in points if PATHS not in point.planned.observed]
    else:
        return None
    if not lacking or (len(lacking) < len(points) and not all_of_them):
        return None
    return f"{measure} needs {needed}, which the point {lacking[0]} has not"
