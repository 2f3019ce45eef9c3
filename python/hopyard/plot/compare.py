"""Plots that compare cases, drawn without a display; each is a `matplotlib` figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from hopyard.plot import differences
from hopyard.plot.canvas import (
    LETTER,
    MARKERS,
    MOST_PANELS,
    PANEL,
    STROKES,
    Plot,
    colours,
    grid,
    mpl,
    note,
    rows_of,
    style,
    title,
    whole_ticks,
)
from hopyard.plot.places import POINTS_OF_A_LINE, place
from hopyard.scenario.axis import numbers
from hopyard.tables.labels import short_keys, varying
from hopyard.terminal.words import fold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from hopyard.plot.places import Places, Point
    from hopyard.tables.measured import Measured

#: Letters of a line of a long name.
NAME = 26


def spread(results: Measured, measure: str, kind: str) -> Plot:
    """How the runs of each case spread: boxes, or the share of runs with at most each value.

    A measure of the times of objects is the distribution of all objects of the runs instead.
    """
    chosen = results.measure(measure)
    cases = results.cases
    short = short_keys(varying(results, cases))
    names = [
        ", ".join(f"{name} = {case.settings[key]}" for key, name in short.items()) or case.scenario for case in cases
    ]
    what = "runs" if chosen.of_rows is None else "objects"
    found = [
        results.values(measure, case) if (of_rows := results.values_of_rows(measure, case)) is None else of_rows
        for case in cases
    ]
    found = [values[~np.isnan(values)] for values in found]
    paints = colours(len(cases))
    with mpl.rc_context(style()):
        if kind == "box":
            figure, (axis,) = grid(1, [max(1.2 + 0.42 * len(cases), 2.4)], 2.0)
            axis.boxplot(
                found,
                orientation="horizontal",
                widths=0.6,
                patch_artist=True,
                boxprops={"facecolor": "#d9e6f2"},
                # It is told from an edge of the box that it falls together with.
                medianprops={"color": "black", "linewidth": 3.0},
                flierprops={"markersize": 3},
            )
            ticks = ["\n".join(fold(name, NAME)) for name in names]
            axis.set_yticks(range(1, len(cases) + 1), ticks)
            axis.invert_yaxis()
            axis.grid(visible=False, axis="y")
            axis.set_xlabel(chosen.label)
            told = "Boxes: quartiles; whiskers: 1.5 times their distance; line: median"
        else:
            figure, (axis,) = grid(1, [3.9], 2.4)
            for index, (name, values) in enumerate(zip(names, found, strict=True)):
                ordered = np.sort(values)
                if ordered.size:
                    axis.step(
                        np.concatenate([ordered[:1], ordered]),
                        np.arange(ordered.size + 1) / ordered.size,
                        where="post",
                        color=paints[index],
                        linestyle=STROKES[index % 4],
                        label="\n".join(fold(name, NAME)),
                    )
            axis.set_xlabel(chosen.label)
            axis.set_ylabel(f"share of {what}")
            if len(cases) > 1:
                figure.legend(loc="outside right upper", fontsize=9)
            told = f"The share of {what} with at most this value"
        counts = sorted({len(values) for values in found})
        number = str(counts[0]) if len(counts) == 1 else f"{counts[0]}-{counts[-1]}"
        note(figure, f"{told}; {number} {what[:-1] if number == '1' else what}. Hopyard {results.version}")
    return figure


def comparison(
    results: Measured,
    measure: str = "goodput",
    x: str | None = None,
    kind: str | None = None,
    against: Mapping[str, str] | None = None,
) -> Plot:
    """A measure's mean and interval for each case, and the difference from the case that it is compared with.

    A key goes along the axis: `x`, or one whose values are numbers, or the one with the most
    values. The next one gives the colours, and what remains makes panels, with the same axes.
    Numbers are drawn to scale, as lines with a band for the interval. Other values have a row each,
    with a dot for each run and lines between those of one run; where nothing is compared run by
    run, they are bars.

    Args:
        results: the results that are drawn.
        measure: the measure's name.
        x: the key along the axis; `"nodes.count"` for example. A key that was not set but differs
            between the scenarios that were compared is allowed.
        kind: "lines" or "bars" for the means alone.
        against: the values of compared keys that the case has with which others are compared.

    Raises:
        ValueError: when the measure, the key or the case does not exist; the message lists those that do.
    """
    found = place(results, measure, x)
    firsts = {} if kind else results.firsts(against)
    if against is not None and not firsts:
        raise ValueError("no case has a pair to be compared with: hopyard show says why")
    texts = [point.along for point in found.points]
    if firsts and numbers(texts) is not None and (x or len(set(texts)) >= POINTS_OF_A_LINE):
        return differences.along(results, found, firsts)
    if firsts:
        return differences.rows(results, found, firsts)
    return _draw(results, found, x, kind)


def _draw(results: Measured, found: Places, x: str | None, kind: str | None) -> Plot:
    along, colour, points = found.along, found.colour, found.points
    panels = list(dict.fromkeys(point.panel for point in points))
    drawn, hues = panels[:MOST_PANELS], list(dict.fromkeys(point.colour for point in points))
    texts = list(dict.fromkeys(point.along for point in points))
    lines = kind == "lines" or bool(along and (x or len(texts) >= POINTS_OF_A_LINE))
    scale = numbers(texts) if lines and kind != "bars" else None
    if kind == "lines" and scale is None:
        raise ValueError(f"lines need numbers along the axis, found {', '.join(texts)}")
    paints = dict(zip(hues, colours(len(hues)), strict=True))
    legend = min(max(map(len, [*hues, colour or ""])), NAME) * 10 * LETTER + 0.6 if colour else 0
    label = found.measure.label
    with mpl.rc_context(style()):
        if scale:
            figure, axes = grid(len(drawn), [3.7] * rows_of(len(drawn)), legend)
            places = dict(zip(texts, scale[0], strict=True))
            for axis, panel in zip(axes, drawn, strict=True):
                of_panel = [point for point in points if point.panel == panel]
                _draw_lines(axis, of_panel, places, paints)
                axis.set_xlabel(f"{along} ({scale[1]})" if scale[1] else str(along))
                whole_ticks(axis, scale[0])
                axis.set_ylabel(label)
        else:
            figure, axes = _bars(points, drawn, (along, texts), paints, label, legend)
        _same_limits(axes, points, lying=axes[0].get_xlabel() == label)
        for axis, panel in zip(axes, drawn, strict=True):
            title(axis, panel)
        if colour:
            handles, labels = _handles(paints, bool(scale))
            figure.legend(
                handles, labels, title="\n".join(fold(colour, NAME)), loc="outside right upper", alignment="left"
            )
        note(figure, _note(results, bool(scale), len(drawn), len(panels)))
    return figure


def _note(results: Measured, lines: bool, drawn: int, panels: int) -> str:
    counts = {len(results.runs_of(case)) for case in results.cases}
    runs = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else str(max(counts))
    parts = [f"Mean of {runs} runs and 95 % confidence interval" if max(counts) > 1 else "One run"]
    if max(counts) > 1 and not lines:
        parts.append("a dot is a run")
    some = f" The first {drawn} of {panels} panels." if drawn < panels else ""
    return f"{'; '.join(parts)}.{some} Hopyard {results.version}"


def _handles(paints: dict[str, Any], lines: bool) -> tuple[list[Any], list[str]]:
    handles: list[Any] = [
        mpl.lines.Line2D([], [], color=paint, marker=MARKERS[index % len(MARKERS)], markersize=5)
        if lines
        else mpl.patches.Patch(color=paint, alpha=0.85)
        for index, paint in enumerate(paints.values())
    ]
    return handles, ["\n".join(fold(name, NAME)) for name in paints]


def _draw_lines(axis: Axes, points: Sequence[Point], places: dict[str, float], paints: dict[str, Any]) -> None:
    """A line for each colour through the means, with a band for the intervals."""
    for index, (name, paint) in enumerate(paints.items()):
        mine = sorted((point for point in points if point.colour == name), key=lambda it: places[it.along])
        look = {"color": paint, "marker": MARKERS[index % len(MARKERS)], "linestyle": STROKES[index % len(STROKES)]}
        differences.line(axis, [(places[point.along], point.estimate) for point in mine], look)


def _bars(
    points: Sequence[Point],
    panels: Sequence[str],
    along: tuple[str | None, list[str]],
    paints: dict[str, Any],
    label: str,
    legend: float,
) -> tuple[Plot, list[Axes]]:
    """Bars: upright where their names fit below them, else lying, with a line for each name."""
    of_panels = {
        panel: [text for text in along[1] if any(p.panel == panel and p.along == text for p in points)]
        for panel in panels
    }
    most = max(map(len, of_panels.values()))
    letters = max(len(line) for text in along[1] for line in fold(text, NAME))
    lying = most * (letters + 2) * 10 * LETTER > PANEL - 0.9 or most * len(paints) > 16
    columns = 2 if len(panels) > 1 else 1
    if lying:
        tall = [
            max(
                0.9 + len(names) * max(0.2 * len(paints), 0.16 * _lines_of(names) + 0.08)
                for names in list(of_panels.values())[row * columns : (row + 1) * columns]
            )
            for row in range(rows_of(len(panels)))
        ]
        figure, axes = grid(len(panels), [max(each, 1.8) for each in tall], legend)
    else:
        figure, axes = grid(len(panels), [3.7] * rows_of(len(panels)), legend)
    for axis, (panel, names) in zip(axes, of_panels.items(), strict=True):
        width = 0.8 / len(paints)
        for point in (point for point in points if point.panel == panel):
            hue = list(paints).index(point.colour)
            place = names.index(point.along) + (hue - (len(paints) - 1) / 2) * width
            _bar(axis, point, place, width, paints[point.colour], lying)
        ticks = ["\n".join(fold(name, NAME)) for name in names]
        if lying:
            axis.set_yticks(range(len(names)), ticks)
            axis.set_ylim(len(names) - 0.4, -0.6)
            axis.grid(visible=False, axis="y")
            axis.set_xlabel(label)
            axis.set_ylabel(along[0] or "")
        else:
            axis.set_xticks(range(len(names)), ticks)
            axis.grid(visible=False, axis="x")
            axis.set_ylabel(label)
            axis.set_xlabel(along[0] or "")
            # A single bar need not be as wide as the panel.
            if len(names) == 1:
                axis.set_xlim(-1, 1)
    return figure, axes


def _lines_of(names: Sequence[str]) -> int:
    return max(len(fold(name, NAME)) for name in names)


def _bar(axis: Axes, point: Point, place: float, width: float, paint: Any, lying: bool) -> None:
    mean, half = point.estimate.mean, point.estimate.half_width
    if math.isnan(mean):
        where = (0, place) if lying else (place, 0)
        axis.annotate(
            "no value",
            where,
            (3, 0) if lying else (0, 3),
            textcoords="offset points",
            ha="left" if lying else "center",
            va="center" if lying else "bottom",
            rotation=0 if lying else 90,
            fontsize=7,
            color="#666666",
        )
        return
    (axis.barh if lying else axis.bar)(place, mean, width * 0.92, color=paint, alpha=0.85)
    count = len(point.values)
    spread = [place + width * 0.5 * ((i + 0.5) / count - 0.5) for i in range(count)]
    x, y = (point.values, spread) if lying else (spread, point.values)
    if count > 1:
        axis.scatter(x, y, s=6, color="black", alpha=0.3, linewidths=0, zorder=3)
    if point.estimate.has_width:
        style: dict[str, Any] = {"color": "#222222", "capsize": 3, "linewidth": 1.3, "zorder": 4}
        if lying:
            axis.errorbar(mean, place, xerr=half, **style)
        else:
            axis.errorbar(place, mean, yerr=half, **style)


def _same_limits(axes: Sequence[Axes], points: Sequence[Point], lying: bool) -> None:
    """The same scale for a measure in all panels, so that they can be compared."""
    ends = [
        end
        for point in points
        for end in (*point.values, point.estimate.low, point.estimate.high, point.estimate.mean)
        if not math.isnan(end)
    ]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    margin = 0.05 * (high - low) or 0.5
    limits = (low - margin if low < 0 else 0.0, high + margin)
    for axis in axes:
        (axis.set_xlim if lying else axis.set_ylim)(*limits)
    places = [axis.get_xlim() for axis in axes]
    if not lying and len({axis.get_xlabel() for axis in axes}) == 1 and not axes[0].patches:
        for axis in axes:
            axis.set_xlim(min(a for a, _ in places), max(b for _, b in places))
