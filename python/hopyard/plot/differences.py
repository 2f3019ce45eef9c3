"""Plots of differences: each case beside the case that it is compared with, run by run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopyard.plot.canvas import (
    COLOURS,
    MARKERS,
    MOST_PANELS,
    PANEL,
    STROKES,
    colours,
    columns,
    from_zero,
    grid,
    legend_of,
    mpl,
    note,
    style,
    title,
    whole_ticks,
)
from hopyard.scenario.axis import numbers
from hopyard.tables.pairs import signed
from hopyard.terminal.words import fold, many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from hopyard.plot.canvas import Plot
    from hopyard.plot.places import Places, Point
    from hopyard.statistics.estimates import Estimate
    from hopyard.tables.arrays import Floats
    from hopyard.tables.cases import Case
    from hopyard.tables.measured import Measured

#: Inches of a row, of the heading of a block of rows, and of an axis below and above them.
ROW, HEADING, FRAME = 0.27, 0.3, 0.85
#: Letters of a line of a row's name.
NAME = 22
#: The runs of which lines are drawn in full; those of more are fainter.
CLEAR = 10


@dataclass(frozen=True, slots=True)
class _Row:
    """A case in a row: its name, its place, its difference if it has one."""

    point: Point
    name: str
    place: float
    difference: Estimate | None
    #: The differences of the single runs.
    runs: Floats | None


@dataclass(frozen=True, slots=True)
class _Block:
    """Cases that are compared with one of them."""

    heading: str
    place: float
    rows: Sequence[_Row]


def rows(results: Measured, places: Places, firsts: Mapping[int, Case]) -> Plot:
    """A row for each case: at the left its runs, at the right its difference from the case that it is compared with.

    Lines join the dots of one run. A mark is full where zero is outside the interval of the difference.
    """
    panels = list(dict.fromkeys(point.panel for point in places.points))
    drawn = panels[:MOST_PANELS]
    blocks = [_blocks(results, places, firsts, panel) for panel in drawn]
    side = columns()
    heights = [FRAME + _end(each) * ROW for each in blocks for _ in range(3 - side)]
    with mpl.rc_context(style()):
        figure, axes = grid(2 * len(drawn), heights, width=PANEL - 0.4)
        for index, (panel, mine) in enumerate(zip(drawn, blocks, strict=True)):
            left, right = axes[2 * index : 2 * index + 2]
            for number, block in enumerate(mine):
                _means(left, block, COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)])
                _apart(right, block, COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)])
            for axis in (left, right):
                _frame(axis, mine, names=axis is left or side == 1)
            _values(right, mine)
            left.set_xlabel(places.measure.label)
            names = {block.rows[0].name.replace("\n", "") for block in mine if len(block.rows) > 1}
            right.set_xlabel(_difference(places, names))
            title(left, panel)
        # Scenarios are other networks: each has a scale of its own.
        if len({point.case.scenario for point in places.points}) == 1:
            _share(axes[::2])
            _share(axes[1::2])
        note(figure, _note(results, len(drawn), len(panels), lines=False))
    return figure


def along(results: Measured, places: Places, firsts: Mapping[int, Case]) -> Plot:
    """Lines over numbers: at the left the means, at the right the differences, each with a band for the interval."""
    panels = list(dict.fromkeys(point.panel for point in places.points))
    drawn = panels[:MOST_PANELS]
    hues = list(dict.fromkeys(point.colour for point in places.points))
    paints = dict(zip(hues, colours(len(hues)), strict=True))
    texts = list(dict.fromkeys(point.along for point in places.points))
    scale = numbers(texts)
    assert scale is not None, "the caller has looked"
    where = dict(zip(texts, scale[0], strict=True))
    with mpl.rc_context(style()):
        figure, axes = grid(2 * len(drawn), [3.7] * (len(drawn) * (3 - columns())))
        for index, panel in enumerate(drawn):
            left, right = axes[2 * index : 2 * index + 2]
            right.axhline(0, color="#666666", linewidth=0.9)
            for number, (hue, paint) in enumerate(paints.items()):
                mine = sorted(
                    (each for each in places.points if (each.panel, each.colour) == (panel, hue)),
                    key=lambda each: where[each.along],
                )
                look = _look(number, paint)
                line(left, [(where[each.along], each.estimate) for each in mine], look)
                apart = [
                    (where[each.along], results.difference(places.measure.name, each.case, firsts[each.case.number]))
                    for each in mine
                    if each.case.number in firsts
                ]
                line(right, apart, look, hollow=True)
            for axis in (left, right):
                axis.set_xlabel(f"{places.along} ({scale[1]})" if scale[1] else str(places.along))
                whole_ticks(axis, scale[0])
            left.set_ylabel(places.measure.label)
            right.set_ylabel("\n".join(fold(_difference(places, _names(places, firsts)), 36)))
            title(left, panel)
            from_zero(left)
        if places.colour:
            handles = [mpl.lines.Line2D([], [], **_look(number, paint)) for number, paint in enumerate(paints.values())]
            legend_of(figure, handles, ["\n".join(fold(name, NAME)) for name in paints], places.colour)
        note(figure, _note(results, len(drawn), len(panels), lines=True))
    return figure


def _look(number: int, paint: Any) -> dict[str, Any]:
    return {"color": paint, "marker": MARKERS[number % len(MARKERS)], "linestyle": STROKES[number % len(STROKES)]}


def line(axis: Axes, there: Sequence[tuple[float, Estimate]], look: Mapping[str, Any], *, hollow: bool = False) -> None:
    """A line through means, with a band for the intervals; with `hollow`, full marks where zero is outside."""
    if not there:
        return
    x = np.array([place for place, _ in there])
    mean = np.array([each.mean for _, each in there])
    half = np.nan_to_num([each.half_width for _, each in there])
    axis.fill_between(x, mean - half, mean + half, color=look["color"], alpha=0.18, linewidth=0)
    more = {**look, "linewidth": 1.4, "markersize": 5.5 if hollow else 4.5}
    if not hollow:
        axis.plot(x, mean, **more)
        return
    axis.plot(x, mean, **{**more, "markerfacecolor": "white"})
    shown = np.array([each.excludes_zero for _, each in there])
    axis.plot(x[shown], mean[shown], **{**more, "linestyle": "none"})


def _blocks(results: Measured, places: Places, firsts: Mapping[int, Case], panel: str) -> list[_Block]:
    mine = [point for point in places.points if point.panel == panel]
    groups: dict[int, list[Point]] = {}
    for point in mine:
        groups.setdefault(firsts.get(point.case.number, point.case).number, []).append(point)
    found: list[_Block] = []
    end = 0.0
    keys = {"along": places.along or "scenario", "colour": places.colour or ""}
    for number, points in groups.items():
        # The case that others are compared with comes first.
        points.sort(key=lambda each: each.case.number != number)
        several = {key for key in keys if len({getattr(each, key) for each in mine}) > 1}
        apart = {key for key in several if len({getattr(each, key) for each in points}) > 1}
        heading = ", ".join(f"{keys[key]} = {getattr(points[0], key)}" for key in keys if key in several - apart)
        own = [key for key in keys if key in apart] or ["along"]
        if len(groups) == 1 or len(points) == 1:
            heading = heading if len(points) > 1 else ""
            own = own if len(points) > 1 else [key for key in keys if key in several] or ["along"]
        place = end + (0.5 * HEADING / ROW if heading else 0.0)
        end += HEADING / ROW if heading else 0.3 if found else 0.0
        rows = []
        for point in points:
            name = "\n".join(fold(", ".join(getattr(point, key) for key in own), NAME))
            tall = max(1.0, 0.74 * (name.count("\n") + 1))
            rows.append(_row(results, places.measure.name, point, name, end + tall / 2, firsts))
            end += tall
        found.append(_Block(heading, place, rows))
    return found


def _row(results: Measured, measure: str, point: Point, name: str, place: float, firsts: Mapping[int, Case]) -> _Row:
    first = firsts.get(point.case.number)
    if first is None:
        return _Row(point, name, place, None, None)
    _, ours, theirs = np.intersect1d(results.runs_of(point.case), results.runs_of(first), return_indices=True)
    runs = point.values[ours] - results.values(measure, first)[theirs]
    return _Row(point, name, place, results.difference(measure, point.case, first), runs)


def _end(blocks: Sequence[_Block]) -> float:
    return blocks[-1].rows[-1].place + 0.8


def _means(axis: Axes, block: _Block, paint: Any, marker: str) -> None:
    """The runs of each case, lines between those of one run, and the means with their intervals."""
    places = [row.place for row in block.rows]
    longest = max(len(row.point.values) for row in block.rows)
    faint = min(1.0, CLEAR / max(longest, 1))
    if len({len(row.point.values) for row in block.rows}) == 1 and len(places) > 1:
        for values in np.array([row.point.values for row in block.rows]).T:
            axis.plot(values, places, color=paint, alpha=max(0.4 * faint, 0.05), linewidth=0.8, zorder=1)
    for row in block.rows:
        _dots(axis, row.point.values, row.place, paint, faint)
        _interval(axis, row.point.estimate, row.place, paint, marker, full=True)


def _apart(axis: Axes, block: _Block, paint: Any, marker: str) -> None:
    """The differences of each case, of single runs and in the mean."""
    for row in block.rows:
        if row.difference is not None and row.runs is not None:
            _dots(axis, row.runs, row.place, paint, min(1.0, CLEAR / max(len(row.runs), 1)))
            _interval(axis, row.difference, row.place, paint, marker, full=row.difference.excludes_zero)


def _dots(axis: Axes, values: Floats, place: float, paint: Any, faint: float) -> None:
    axis.scatter(values, np.full(len(values), place), s=9, color=paint, alpha=max(0.45 * faint, 0.1), linewidths=0)


def _interval(axis: Axes, found: Estimate, place: float, paint: Any, marker: str, *, full: bool) -> None:
    if math.isnan(found.mean):
        return
    if found.has_width:
        axis.errorbar(found.mean, place, xerr=found.half_width, color="#222222", linewidth=1.6, capsize=3, zorder=3)
    look: dict[str, Any] = {"marker": marker, "markersize": 6.5, "markeredgecolor": "#222222", "zorder": 4}
    axis.plot([found.mean], [place], **look, markerfacecolor=paint if full else "white", linestyle="none")


def _frame(axis: Axes, blocks: Sequence[_Block], *, names: bool) -> None:
    rows = [row for block in blocks for row in block.rows]
    axis.set_ylim(_end(blocks), -0.1)
    axis.set_yticks([row.place for row in rows], [row.name for row in rows] if names else [""] * len(rows))
    axis.grid(visible=False, axis="y")
    axis.tick_params(axis="y", length=0)
    for block in blocks if names else ():
        if block.heading:
            # At the left of the names, which are outside of the axis.
            place: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 9.5}
            axis.annotate(block.heading, (0.01, block.place), fontweight="bold", **place)


def _values(axis: Axes, blocks: Sequence[_Block]) -> None:
    """The differences as numbers, at the right of their rows."""
    axis.axvline(0, color="#666666", linewidth=0.9, zorder=0)
    for block in blocks:
        for row in block.rows:
            if row.difference is None:
                text = "reference" if len(block.rows) > 1 else "no pair"
            else:
                text = " ± ".join(part for part in signed(row.difference) if part)
            look: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 9}
            axis.annotate(text, (1.01, row.place), color="#222222" if row.difference else "#777777", **look)


def _names(places: Places, firsts: Mapping[int, Case]) -> set[str]:
    """The colours, or places along the axis, of the cases that others are compared with."""
    numbers = {first.number for first in firsts.values()}
    mine = [point for point in places.points if point.case.number in numbers]
    hues = {point.colour for point in mine}
    return hues if places.colour and len(hues) == 1 else {point.along for point in mine}


def _difference(places: Places, names: set[str]) -> str:
    """The label of the axis of differences."""
    unit = f" ({places.measure.unit})" if places.measure.unit else ""
    other = names.pop() if len(names) == 1 else "the first case of its block"
    return f"{places.measure.title}, difference from {other}{unit}"


def _share(axes: Sequence[Axes]) -> None:
    ends = [axis.get_xlim() for axis in axes]
    for axis in axes:
        axis.set_xlim(min(low for low, _ in ends), max(high for _, high in ends))


def _note(results: Measured, drawn: int, panels: int, *, lines: bool) -> str:
    counts = sorted({len(results.runs_of(case)) for case in results.cases})
    runs = many(counts[0], "run") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} runs"
    dots = "" if lines else " A dot is a run; lines join one run."
    some = f" The first {drawn} of {panels} panels." if drawn < panels else ""
    marks = f"Full marks{'' if lines else ' and *'}: zero is outside the interval of the difference."
    return f"Mean of {runs} and 95 % interval.{dots} {marks}{some} Hopyard {results.version}"
