"""Figures of a study: lines with bands, bars, boxes, and series over time, beside published values.

Who sees no red and green can read them: lines differ by marker and stroke too, bars by hatching.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from hopyard.plot import canvas
from hopyard.plot.canvas import MARKERS, STROKES, Plot, mpl, style
from hopyard.scenario import axis as axes_of_numbers
from hopyard.scenario import catalogue
from hopyard.study.points import beside, fits, named
from hopyard.study.tables import paired, quotient_of
from hopyard.tables.arrays import floats, integers
from hopyard.tables.tables import read_filed
from hopyard.terminal.words import fold, many

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes

    from hopyard.statistics.estimates import Estimate
    from hopyard.store.reading import Reader
    from hopyard.study.file import Figure, Study
    from hopyard.study.points import Point
    from hopyard.study.published import Published
    from hopyard.study.values import Values

# Hatches of lines: each dot of a hatch would be a curve in an SVG file.
_HATCHES = ("", "///", "---", "xxx", "\\\\\\", "|||", "+++")


@dataclass(frozen=True)
class Source:
    """What figures are made of."""

    study: Study
    points: Sequence[Point]
    values: Values
    store: Reader
    published: Published | None


def draw(figure: Figure, source: Source) -> Plot:
    """Draws a figure as the study describes it."""
    experiment = source.study.experiment_of(figure.experiment)
    mine = [point for point in source.points if point.experiment == experiment and fits(point.labels, figure.where)]
    if figure.against is not None and figure.kind != "heat":
        # The case itself differs from itself in nothing.
        mine = [point for point in mine if beside(point, source.points, figure.against)]
    if not mine:
        return _blank(figure, quick=bool(source.points))
    panels = _different(mine, figure.panels)
    lines = _different(mine, figure.lines)
    with mpl.rc_context(style()):
        rows = canvas.rows_of(len(panels))
        width = _widest(figure, mine, len(lines)) if len(panels) == 1 else canvas.PANEL
        height = 3.6
        if figure.kind == "heat":
            downward = [_downward(line) for line in lines]
            height = 1.6 + sum(max(0.34, 0.17 * (each.count("\n") + 1)) for each in downward)
            longest = max(len(part) for each in downward for part in each.split("\n"))
            width += max(0.0, 10.5 * canvas.LETTER * (longest - 12))
        if not _to_scale(figure, mine):
            height += canvas.ticks(_texts(mine, figure.x), width).room
        made, axes = canvas.grid(len(panels), [height] * rows, legend=1.8, width=width)
        hues = dict(zip(lines, canvas.colours(len(lines)), strict=True))
        for axis, panel in zip(axes, panels, strict=True):
            here = [p for p in mine if figure.panels is None or p.labels[figure.panels] == panel]
            _PANELS[figure.kind](axis, figure, here, hues, source)
            if figure.panels is not None:
                name = source.study.document.axes[figure.panels].title or figure.panels
                canvas.title(axis, f"{name} = {panel}")
            if figure.log_x:
                places = _places(mine, figure)
                canvas.log_scale(axis.xaxis, places if len(places) <= 10 else ())
            if figure.log_y:
                canvas.log_scale(axis.yaxis)
            elif figure.kind not in ("time", "heat"):
                canvas.from_zero(axis)
        if len(axes) > 1 and figure.kind != "heat":
            # Panels are compared: they have one scale.
            low, high = zip(*(axis.get_ylim() for axis in axes), strict=True)
            for axis in axes:
                axis.set_ylim(min(low), max(high))
        found: dict[str, Any] = {}
        for axis in axes:
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
                found.setdefault(label, handle)
        said = source.study.document.published_title
        if said in found:
            found[said] = found.pop(said)
        if len(found) > 1:
            title = None
            if figure.lines is not None:
                title = source.study.document.axes[figure.lines].title or figure.lines
            canvas.legend(made, found, title)
        canvas.note(made, _method(figure, mine, source))
    return made


def _texts(points: Sequence[Point], axis: str | None) -> list[str]:
    return [str(label) for label in _different(points, axis)]


def _places(points: Sequence[Point], figure: Figure) -> list[float]:
    """The values of x, if they are numbers."""
    found = axes_of_numbers.numbers(_texts(points, figure.x)) if figure.x is not None else None
    return [] if found is None else found[0]


def _to_scale(figure: Figure, points: Sequence[Point]) -> bool:
    """Whether the direction of x is one of numbers, or of none of the labels."""
    if figure.x is None or figure.kind in ("scatter", "time", "cdf"):
        return True
    return figure.kind == "lines" and bool(_places(points, figure))


def _downward(label: str | None) -> str:
    """A label at the left of a field."""
    return "\n".join(canvas.ticks([str(label)], 3.2).texts)


def _blank(figure: Figure, *, quick: bool) -> Plot:
    """What stands for a figure of which there are no points, as in a quick version."""
    with mpl.rc_context(style()):
        made, (axis,) = canvas.grid(1, [2.4])
        axis.set_axis_off()
        which = ", ".join(f"{name}={value}" for name, value in figure.where.items())
        text = f"There are no points with {which}" if which else "There are no points"
        lines = "\n".join(fold(f"{text} in this version of the study" if quick else text, 60))
        told = axis.text(0.5, 0.5, lines, ha="center", va="center", fontsize=9, color="#666666")
        # What is longer than the panel may stand beyond it.
        told.set_in_layout(False)
    return made


def _widest(figure: Figure, points: Sequence[Point], lines: int) -> float:
    """The width of a panel in inches: many bars or boxes need more."""
    if figure.kind not in ("bars", "box"):
        return canvas.PANEL
    groups = len(_different(points, figure.x))
    return min(max(canvas.PANEL, 0.17 * groups * (lines + 1.5)), 2.2 * canvas.PANEL)


def _different(points: Sequence[Point], axis: str | None) -> list[str | None]:
    """The values of an axis, in order; nothing alone if there is no axis."""
    if axis is None:
        return [None]
    return list(dict.fromkeys(point.labels[axis] for point in points))


def _method(figure: Figure, points: Sequence[Point], source: Source) -> str:
    """What the figure shows, in a line."""
    if figure.kind == "time":
        return f"Run {figure.run}, seed {points[0].planned.seed}." if points else ""
    counts = sorted({len(source.values.of(p, str(figure.measure))[0]) for p in points})
    runs = "-".join(str(count) for count in dict.fromkeys((*counts[:1], *counts[-1:]))) or "0"
    runs += " run" if runs == "1" else " runs"
    if figure.kind == "heat":
        case = named(figure.against or {})
        return f"Means{f', as a part of those of {case}' if case else ''}; {runs} a point."
    if figure.kind == "cdf":
        return f"The share of runs with at most this value; {runs} a point."
    if figure.kind == "box":
        what = "Boxes: quartiles, whiskers 1.5 times their distance"
    elif not source.values.watched(points):
        what = "Mean and 95 % Student interval"
    else:
        every = all(source.values.watched([point]) for point in points)
        what = "Mean and 95 % anytime-valid interval"
        what += "" if every else ", Student's where no runs were added by it"
    if figure.against is not None:
        what = what.replace("Mean and", "Mean difference, run by run, and its", 1)
    return f"{what}; {runs} a point."


def _chosen(points: Sequence[Point], axis: str | None, value: str | None) -> list[Point]:
    return [point for point in points if axis is None or point.labels[axis] == value]


def _x_axis(axis: Axes, figure: Figure, source: Source, points: Sequence[Point]) -> list[float]:
    """The places of the values of x: to scale if they are numbers, else one after another."""
    name = str(figure.x)
    own = source.study.document.axes[name]
    labels = _different(points, name)
    numbers = axes_of_numbers.numbers([str(label) for label in labels])
    title = own.title or name
    if numbers is None or figure.kind in ("bars", "box"):
        axis.set_xlabel(f"{title} ({own.unit})" if own.unit else title)
        _below(axis, [str(label) for label in labels])
        axis.grid(visible=False, axis="x")
        return [float(place) for place in range(len(labels))]
    places, unit = numbers
    unit = own.unit or unit
    axis.set_xlabel(f"{title} ({unit})" if unit else title)
    if len(places) <= 10 and not figure.log_x:
        axis.set_xticks(places)
    return places


def _below(axis: Axes, labels: Sequence[str]) -> None:
    """Labels of values that stand one after another."""
    made = axis.get_figure()
    assert made is not None
    panels = 1 if len(made.axes) == 1 else 2
    width = made.get_window_extent().width / made.dpi
    room = canvas.ticks(labels, max(width - 1.8, 2.0) / panels)
    axis.set_xticks(range(len(labels)), room.texts)
    if room.rotated:
        for text in axis.get_xticklabels():
            text.set(rotation=30, ha="right", rotation_mode="anchor", fontsize=9)


def _label(axis: Axes, text: str) -> None:
    """What the vertical axis shows, in as many lines as its height asks for."""
    axis.set_ylabel("\n".join(fold(text, 34)))


def _estimate(point: Point, figure: Figure, source: Source) -> Estimate:
    """What stands for a point: its mean, or its difference from another case, run by run."""
    values, measure = source.values, str(figure.measure)
    if figure.against is None:
        return values.estimate(point, measure)
    base = beside(point, source.points, figure.against)[0]
    watched = values.watched([point, base])
    return paired(values.of(point, measure), values.of(base, measure), watched=watched)


def _tip(axis: Axes, place: tuple[float, float], point: Point, figure: Figure, source: Source, said: object) -> None:
    """What a page says of a point that is pointed at."""
    made = axis.get_figure()
    assert isinstance(made, Plot)
    placed = [name for name in (figure.lines, figure.x, figure.panels) if name in point.labels]
    names = dict.fromkeys([*placed, *point.labels])
    axes = source.study.document.axes
    labels = ", ".join(f"{axes[name].title or name} {point.labels[name]}" for name in names)
    measure = str(figure.measure)
    title, unit = source.values.title(measure)
    against = f", difference from {named(figure.against)}" if figure.against and figure.kind != "heat" else ""
    runs = len(source.values.of(point, measure)[0])
    text = f"{labels}\n{title}{against}: {said} {unit}".rstrip()
    made.tip(axis, *place, f"{text}\n{many(runs, 'run')}")


def _label_of_means(axis: Axes, figure: Figure, source: Source) -> None:
    label = source.values.label(str(figure.measure))
    if figure.against is not None:
        axis.axhline(0, color="#666666", linewidth=0.8)
        label = f"{label}, difference from {named(figure.against)}"
    _label(axis, label)


def _lines(axis: Axes, figure: Figure, points: Sequence[Point], hues: dict[Any, Any], source: Source) -> None:
    places = _x_axis(axis, figure, source, points)
    labels = _different(points, figure.x)
    said = False
    for number, (line, colour) in enumerate(hues.items()):
        mine = {p.labels[str(figure.x)]: p for p in _chosen(points, figure.lines, line)}
        there = [(x, mine[str(label)]) for x, label in zip(places, labels, strict=True) if label in mine]
        if not there:
            continue
        found = [_estimate(point, figure, source) for _, point in there]
        x = np.array([place for place, _ in there])
        mean = np.array([each.mean for each in found])
        half = np.nan_to_num(np.array([each.half_width for each in found]))
        axis.plot(
            x,
            mean,
            color=colour,
            marker=MARKERS[number % len(MARKERS)],
            linestyle=STROKES[number % len(STROKES)],
            markersize=5,
            linewidth=1.6,
            label=line,
        )
        axis.fill_between(x, mean - half, mean + half, color=colour, alpha=0.18, linewidth=0)
        for (across, point), each in zip(there, found, strict=True):
            _tip(axis, (across, each.mean), point, figure, source, each)
        theirs = [(place, _published(figure, source, point)) for place, point in there]
        shown = [(place, value) for place, value in theirs if value is not None]
        if shown:
            axis.plot(
                *zip(*shown, strict=True),
                color=colour,
                marker=MARKERS[number % len(MARKERS)],
                markerfacecolor="white",
                markersize=7,
                linestyle="none",
                label=None if said else source.study.document.published_title,
            )
            said = True
    _label_of_means(axis, figure, source)


def _published(figure: Figure, source: Source, point: Point) -> float | None:
    """The published value that stands beside ours, if the figure shows such values."""
    if source.published is None or not figure.published or figure.against:
        return None
    return source.published.value(str(figure.measure), point.labels)


def _groups(
    figure: Figure, points: Sequence[Point], hues: dict[Any, Any], places: Sequence[float]
) -> Iterator[tuple[int, Any, float, Point]]:
    """Each point of lines that stand beside one another, with the number and the label of its line, and its place."""
    width = 0.8 / max(len(hues), 1)
    for number, line in enumerate(hues):
        for place, label in zip(places, _different(points, figure.x), strict=True):
            for point in _chosen(_chosen(points, figure.lines, line), figure.x, label):
                yield number, line, place + (number - (len(hues) - 1) / 2) * width, point


def _bars(axis: Axes, figure: Figure, points: Sequence[Point], hues: dict[Any, Any], source: Source) -> None:
    places = _x_axis(axis, figure, source, points)
    width = 0.8 / max(len(hues), 1)
    said = False
    for number, line, x, point in _groups(figure, points, hues, places):
        found = _estimate(point, figure, source)
        axis.bar(
            x,
            found.mean,
            width * 0.92,
            color=hues[line],
            hatch=_HATCHES[number % len(_HATCHES)],
            edgecolor="white",
            linewidth=0.5,
            label=line,
        )
        _tip(axis, (x, found.mean), point, figure, source, found)
        if not np.isnan(found.half_width):
            axis.errorbar(x, found.mean, found.half_width, color="#222222", capsize=2)
        theirs = _published(figure, source, point)
        if theirs is not None:
            title = None if said else source.study.document.published_title
            axis.plot([x - width / 2, x + width / 2], [theirs, theirs], color="black", linewidth=2.2, label=title)
            said = True
    if len(places) == 1:
        # One group alone would be as wide as the figure.
        axis.set_xlim(places[0] - 1.2, places[0] + 1.2)
    _label_of_means(axis, figure, source)


def _boxes(axis: Axes, figure: Figure, points: Sequence[Point], hues: dict[Any, Any], source: Source) -> None:
    measure = str(figure.measure)
    width = 0.8 / max(len(hues), 1)
    for number, line, x, point in _groups(figure, points, hues, _x_axis(axis, figure, source, points)):
        values = source.values.of(point, measure)[1]
        values = values[~np.isnan(values)]
        if not values.size:
            continue
        drawn = axis.boxplot(
            [values],
            positions=[x],
            widths=width * 0.8,
            patch_artist=True,
            manage_ticks=False,
            medianprops={"color": "black", "linewidth": 2.5},
            flierprops={"markersize": 3},
        )
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
        said = f"median {middle:.4g}, quartiles {low:.4g} and {high:.4g}"
        _tip(axis, (x, middle), point, figure, source, said)
        drawn["boxes"][0].set(facecolor=hues[line], hatch=_HATCHES[number % len(_HATCHES)], label=line)
    _label(axis, source.values.label(measure))


def _over_time(axis: Axes, figure: Figure, points: Sequence[Point], hues: dict[Any, Any], source: Source) -> None:
    name = str(figure.series)
    known = {each["name"]: each for each in catalogue.quantities()}[name]
    for number, (line, colour) in enumerate(hues.items()):
        for point in _chosen(points, figure.lines, line):
            files = source.store.series_of(*point.planned.key)
            if figure.run not in files:
                continue
            rows = read_filed(files[figure.run], "series")
            mine = rows["quantity"].to_numpy() == name
            flows = integers(rows, "flow")[mine]
            times, values = floats(rows, "time_s")[mine], floats(rows, "value")[mine]
            for place, flow in enumerate(np.unique(flows).tolist()):
                own = flows == flow
                axis.plot(
                    times[own],
                    values[own],
                    color=colour,
                    linestyle=STROKES[number % len(STROKES)],
                    linewidth=1.1,
                    alpha=1.0 if place == 0 else 0.5,
                    label=(line or name) if place == 0 else None,
                )
    axis.set_xlabel("time (s)")
    unit = known.get("unit")
    axis.set_ylabel(f"{name} ({unit})" if unit and unit != name else name)
    values = np.concatenate([line.get_ydata() for line in axis.get_lines()] or [np.zeros(0)])
    if np.all(values[~np.isnan(values)] % 1 == 0):
        # Hops and other counts: no tick between two numbers.
        axis.yaxis.set_major_locator(MaxNLocator(integer=True))


def _heat(axis: Axes, figure: Figure, points: Sequence[Point], hues: dict[Any, Any], source: Source) -> None:
    """A field for each pair of values of `x` and `lines`, with its number."""
    measure, x, y = str(figure.measure), str(figure.x), str(figure.lines)
    across = _different(points, x)
    field = np.full((len(hues), len(across)), np.nan)
    for point in points:
        mine = source.values.of(point, measure)
        place = list(hues).index(point.labels[y]), across.index(point.labels[x])
        if figure.against is None:
            found = source.values.estimate(point, measure)
            field[place] = found.mean
            _tip(axis, place[::-1], point, figure, source, found)
            continue
        bases = beside(point, source.points, figure.against)
        if not bases and fits(point.labels, figure.against):
            # The other case itself.
            bases = [point]
        if bases:
            ratio = quotient_of(mine, source.values.of(bases[0], measure))
            field[place] = ratio.figure
            said = f"{ratio.figure:.3g} times ({ratio.low:.3g} to {ratio.high:.3g}) that of {named(figure.against)}"
            _tip(axis, place[::-1], point, figure, source, said)
    label = source.values.title(measure)[0] if figure.against else source.values.label(measure)
    known = field[~np.isnan(field)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if low < 0:
        # Two hues that meet at zero.
        most = max(-low, high)
        image = axis.imshow(field, cmap="PuOr", vmin=-most, vmax=most, aspect="auto")
    else:
        image = axis.imshow(field, cmap="cividis", vmin=0, vmax=high or 1.0, aspect="auto")
    for (down, right), value in np.ndenumerate(field):
        if not np.isnan(value):
            text = f"{value:.2f}" if figure.against else f"{value:.3g}"
            red, green, blue, _ = image.cmap(image.norm(value))
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            colour = "white" if dark else "black"
            axis.text(right, down, text, ha="center", va="center", color=colour, fontsize=7.5)
    _below(axis, [str(each) for each in across])
    axis.set_yticks(range(len(hues)), [_downward(each) for each in hues])
    axis.grid(visible=False)
    bar = axis.get_figure().colorbar(image, ax=axis)  # type: ignore[union-attr]
    bar.set_label(f"{label}, ratio" if figure.against else label)


def _scatter(axis: Axes, figure: Figure, points: Sequence[Point], hues: dict[Any, Any], source: Source) -> None:
    """A mark for each point: one measure against another, with both intervals."""
    up, right = str(figure.measure), str(figure.beside)
    for number, (line, colour) in enumerate(hues.items()):
        mine = _chosen(points, figure.lines, line)
        x = [source.values.estimate(point, right) for point in mine]
        y = [source.values.estimate(point, up) for point in mine]
        for point, across, above in zip(mine, x, y, strict=True):
            beside_it = f"{above}; {source.values.label(right)}: {across}"
            _tip(axis, (across.mean, above.mean), point, figure, source, beside_it)
        axis.errorbar(
            [each.mean for each in x],
            [each.mean for each in y],
            np.nan_to_num([each.half_width for each in y]),
            np.nan_to_num([each.half_width for each in x]),
            label=line,
            linestyle="none",
            marker=MARKERS[number % len(MARKERS)],
            color=colour,
            markersize=4.5,
            elinewidth=0.7,
        )
    low, high = axis.get_xlim()
    if low > 0:
        # The room beside the marks was a part of their distance, which is small beside all from 0.
        axis.set_xlim(0, 1.05 * high)
    axis.set_xlabel(source.values.label(right))
    _label(axis, source.values.label(up))


def _distribution(axis: Axes, figure: Figure, points: Sequence[Point], hues: dict[Any, Any], source: Source) -> None:
    """The share of the runs with at most each value."""
    measure = str(figure.measure)
    for number, (line, colour) in enumerate(hues.items()):
        mine = [source.values.of(p, measure)[1] for p in _chosen(points, figure.lines, line)]
        values = np.sort(np.concatenate(mine)) if mine else np.zeros(0)
        values = values[~np.isnan(values)]
        if values.size:
            for share in np.linspace(0.1, 0.9, 9):
                value = float(np.quantile(values, share, method="inverted_cdf"))
                made = axis.get_figure()
                assert isinstance(made, Plot)
                text = f"{line or ''}\n{100 * share:.0f} % of the runs have at most {value:.4g}".strip()
                made.tip(axis, value, share, text)
            axis.step(
                np.concatenate([values[:1], values]),
                np.arange(values.size + 1) / values.size,
                where="post",
                color=colour,
                linestyle=STROKES[number % len(STROKES)],
                linewidth=1.6,
                label=line,
            )
    axis.set_xlabel(source.values.label(measure))
    axis.set_ylabel("share of runs")


_PANELS: dict[str, Any] = {
    "lines": _lines,
    "bars": _bars,
    "box": _boxes,
    "time": _over_time,
    "cdf": _distribution,
    "heat": _heat,
    "scatter": _scatter,
}
