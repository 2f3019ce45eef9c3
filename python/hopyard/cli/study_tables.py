"""The points of a study as tables on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from hopyard.study.file import chosen
from hopyard.study.pairs import difference, pairings
from hopyard.study.tables import ANYTIME, MARK
from hopyard.tables import pairs
from hopyard.terminal import tables as terminal
from hopyard.terminal.tables import Names, Numbers, console

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from hopyard.study.file import Study, Where
    from hopyard.study.points import Point
    from hopyard.study.values import Values


def one_case(against: Where) -> dict[str, str]:
    """The values of `--against`, one for each axis."""
    found = chosen(against)
    for name, labels in found.items():
        if len(labels) != 1:
            raise click.UsageError(f"--against: expected one value of {name}, found {', '.join(labels)}")
    return {name: labels[0] for name, labels in found.items()}


def show(
    study: Study,
    points: Sequence[Point],
    values: Values,
    measures: Sequence[str],
    against: Mapping[str, str] | None = None,
) -> None:
    """Prints the measures of each point, and the differences of points that meet the same movement.

    Raises:
        StudyError: when `against` names no axis of the study, or no value of it.
    """
    out = console()
    for experiment in study.experiments:
        mine = [point for point in points if point.experiment == experiment]
        if not any(point.planned.runs for point in mine):
            continue
        found, reasons = pairings(study, mine, against)
        title = study.document.title
        if len(study.experiments) > 1:
            title = f"{title}: {study.experiments[experiment].title or experiment}"
        terminal.say(out, (title, "bold"), (" (mean ± 95 % interval)", ""))
        _means(mine, values, measures, out)
        _differences(mine, found, values, measures, out)
        for text in reasons:
            terminal.say(out, (f"{text}.", "dim"))


def _means(points: Sequence[Point], values: Values, measures: Sequence[str], out: Console) -> None:
    names = [Names(name, [point.labels[name] for point in points]) for name in points[0].labels]
    marks = [f" {MARK}" if values.watched([point]) else "" for point in points]
    counts = [point.runs for point in points]
    names.append(Names("runs", [f"{n}{mark}" for n, mark in zip(counts, marks, strict=True)]))
    # A comparison is watched at all points, where one of them is.
    more = {
        name: MARK
        for name in measures
        if any(values.watched([each], name) and not values.watched([each]) for each in points)
    }
    numbers = [
        Numbers(
            values.title(name)[0] + more.get(name, ""),
            values.title(name)[1],
            [values.estimate(point, name).parts() for point in points],
        )
        for name in measures
    ]
    terminal.show(out, names, numbers)
    if any(marks):
        note = f"{MARK} {ANYTIME} interval: runs were added until one was narrow enough"
        terminal.say(out, (note, "dim"))


def _differences(
    points: Sequence[Point],
    found: Sequence[tuple[str, Sequence[tuple[Point, Point]]]],
    values: Values,
    measures: Sequence[str],
    out: Console,
) -> None:
    """Prints how much more each point has than the one that it is compared with, run by run."""
    varying = [name for name in points[0].labels if len({point.labels[name] for point in points}) > 1]
    seen = False
    for label, compared in found:
        estimates = [[difference(values, measure, *pair) for pair in compared] for measure in measures]
        seen |= any(each.excludes_zero for column in estimates for each in column)
        terminal.say(out, ("difference", "bold"), (f" from {label}, run by run: mean ± 95 % interval", ""))
        names = [Names(name, [point.labels[name] for point, _ in compared]) for name in varying]
        numbers = [
            Numbers(*values.title(measure), [pairs.signed(each) for each in column])
            for measure, column in zip(measures, estimates, strict=True)
        ]
        terminal.show(out, names, numbers)
    if seen:
        terminal.say(out, (f"{pairs.MARK} zero is outside the interval", "dim"))
