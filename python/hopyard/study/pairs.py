"""Pairs of a study: the points that meet the same movement, and the point that others are compared with."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from hopyard.study.file import check_chosen
from hopyard.study.points import named
from hopyard.study.tables import paired
from hopyard.tables import pairs
from hopyard.tables.cases import Case

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hopyard.statistics.estimates import Estimate
    from hopyard.study.file import Study
    from hopyard.study.points import Point
    from hopyard.study.values import Values
    from hopyard.tables.arrays import Integers


class _Points:
    """The points of an experiment as cases, whose settings are the labels of axes."""

    def __init__(self, points: Sequence[Point]) -> None:
        self._points = points
        self.settings = tuple(points[0].labels)
        self.cases = [
            Case(number, point.experiment, point.labels, *point.planned.key) for number, point in enumerate(points)
        ]

    def runs_of(self, case: Case) -> Integers:
        return np.arange(self._points[case.number].runs)

    def met(self, case: Case) -> str:
        parts = self._points[case.number].all
        return json.dumps([[part.seed, pairs.places(part.core)] for part in parts])


def pairings(
    study: Study, points: Sequence[Point], against: Mapping[str, str] | None = None
) -> tuple[list[tuple[str, list[tuple[Point, Point]]]], list[str]]:
    """The pairs of an experiment's points, by the name of the point that others are compared with; reasons for none.

    The rules are those of the tables of `hopyard run` (`hopyard.tables.pairs`).

    Raises:
        StudyError: when `against` names no axis, or no value of it.
    """
    check_chosen(study, dict(against or {}))
    as_cases = _Points(points)
    groups: dict[str, list[Case]] = {}
    for case in as_cases.cases:
        groups.setdefault(as_cases.met(case), []).append(case)
    found: dict[str, list[tuple[Point, Point]]] = {}
    reasons: list[str] = []
    for group in groups.values():
        mine, why = pairs.pairings(as_cases, group, against)
        reasons += why
        for each in mine:
            first = points[each.first.number]
            found.setdefault(each.label, []).extend((points[other.number], first) for other in each.others)
    alone = [points[group[0].number] for group in groups.values() if len(group) == 1]
    if alone and len(points) > 1:
        others = f" and {len(alone) - 1} others" if len(alone) > 1 else ""
        reasons.append(f"No other point meets the movement of {named(alone[0].labels)}{others}: no differences there")
    return list(found.items()), reasons


def difference(values: Values, measure: str, point: Point, first: Point) -> Estimate:
    """How much more of a measure a point has than another, run by run, with the interval of its mean."""
    both = [point, first]
    return paired(values.of(point, measure), values.of(first, measure), watched=values.watched(both, measure))
