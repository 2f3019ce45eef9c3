"""One measure of a study's store, without a figure in the file: places of axes are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopyard.plot.canvas import on_page
from hopyard.scenario.axis import numbers
from hopyard.study.figures import draw
from hopyard.study.file import Figure, StudyError, check_chosen, keys_of, nearest
from hopyard.study.points import fits
from hopyard.study.references import figure_problems

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hopyard.plot.canvas import Plot
    from hopyard.study.figures import Source
    from hopyard.study.file import Axis, Scalar
    from hopyard.study.points import Point

#: An axis with at least so many values, all of them numbers, goes along the figure by itself.
POINTS_OF_A_LINE = 3
KINDS = ("lines", "bars", "box", "cdf")


def plot(
    source: Source,
    measure: str,
    *,
    kind: str | None = None,
    experiment: str | None = None,
    x: str | None = None,
    lines: str | None = None,
    panels: str | None = None,
    only: Mapping[str, Scalar | list[Scalar]] | None = None,
    width: str | float | None = None,
) -> Plot:
    """A measure of the points of an experiment.

    Axes of which the points have one value need no place. The others, if they are not named, go
    along the figure, then make its lines, then its panels. `width` is that of a page, in inches or as "column" or
    "text" of a paper.

    Raises:
        StudyError: when an axis, a value or a measure is not there, or an axis has no place left.
    """
    study = source.study
    chosen = study.experiment_of(experiment)
    check_chosen(study, only or {})
    mine = [point for point in source.points if point.experiment == chosen and fits(point.labels, only or {})]
    given = {"x": x, "lines": lines, "panels": panels}
    named = [axis for axis in given.values() if axis is not None]
    axes = study.axes_of(chosen)
    problems = [
        f"--{place} {axis}: expected an axis of the study; {_hint(axis, axes)}"
        for place, axis in given.items()
        if axis is not None and axis not in axes
    ]
    if len(set(named)) < len(named):
        problems.append(f"{study.path}: x, lines and panels need different axes, found {', '.join(named)}")
    if problems:
        raise StudyError(problems)
    placed = _placed(mine, given, without_x=kind == "cdf")
    if kind is None:
        kind = "lines" if _scale(mine, placed["x"]) else "bars"
    if kind != "cdf" and placed["x"] is None:
        # One point alone: its bar stands over the name of an axis.
        placed["x"] = next(iter(study.axes_of(chosen)), None)
    figure = Figure.model_validate(
        {
            # It stands in no report; a measure of flows with a label has brackets in its name.
            "name": "plot",
            "title": measure,
            "kind": kind,
            "experiment": chosen if study.document.experiment else None,
            "measure": measure,
            "where": dict(only or {}),
            **{name: axis for name, axis in placed.items() if axis is not None},
        }
    )
    if problems := list(figure_problems(study, figure, str(study.path))):
        raise StudyError(problems)
    return on_page(width, lambda: draw(figure, source))


def _hint(name: str, axes: Mapping[str, Axis]) -> str:
    """Which axis is meant: one that changes a key of this name, or one that is called so."""
    mine = [f"the axis {each} changes this key" for each in axes if name in keys_of(axes[each])]
    return mine[0] if mine else nearest(name, axes)


def _scale(points: Sequence[Point], axis: str | None) -> bool:
    """Whether an axis is drawn to scale: enough values, and all of them numbers."""
    texts = _values(points, axis)
    return len(texts) >= POINTS_OF_A_LINE and numbers(texts) is not None


def _values(points: Sequence[Point], axis: str | None) -> list[str]:
    return list(dict.fromkeys(p.labels[axis] for p in points if axis is not None and axis in p.labels))


def _placed(points: Sequence[Point], given: Mapping[str, str | None], *, without_x: bool) -> dict[str, str | None]:
    """Which axis goes where: the named ones first."""
    placed = dict(given)
    several = [name for name in (points[0].labels if points else ()) if len(_values(points, name)) > 1]
    free = [name for name in several if name not in given.values()]
    # What is a scale goes along; then what has the most values.
    free.sort(key=lambda name: (_scale(points, name), len(_values(points, name))), reverse=True)
    for place in ("x", "lines", "panels"):
        if placed[place] is None and free and not (place == "x" and without_x):
            placed[place] = free.pop(0)
    if free:
        raise StudyError([f"the points differ in {name} too: choose a value with --only {name}=..." for name in free])
    return placed
