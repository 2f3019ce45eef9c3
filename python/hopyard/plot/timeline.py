"""The time line of a run: what was recorded with its time, in a row for each flow, host and program."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from hopyard import _core
from hopyard.plot.canvas import COLOURS, MARKERS, MOST_PANELS, PANEL, grid, legend_of, mpl, note, style, title
from hopyard.plot.series import heading
from hopyard.terminal.words import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.text import Text

    from hopyard.plot.canvas import Plot
    from hopyard.tables.cases import Case
    from hopyard.tables.measured import Measured

#: The most rows of a panel.
MOST_ROWS = 40
#: Letters of a line of a row's name.
NAME = 26
#: More marks of a kind in one row would make a file of megabytes.
MANY = 4000
#: What a run has to record for its time line.
RECORDED = (
    "segments (--segments), routes (measure.routes), objects, losses that TCP WELCOME judges, handoffs or programs"
)


@dataclass
class _Row:
    """A row: spans of time with a text, and instants of several kinds."""

    name: str
    #: Begin, end, text, and the place on a scale of colours; none is a span in grey.
    spans: list[tuple[float, float, str, float | None]] = field(default_factory=list)
    instants: dict[str, list[float]] = field(default_factory=dict)
    #: What a span in grey says.
    grey: str = ""


def timeline(results: Measured, run: int | None = None) -> Plot:
    """A panel for each case with the events of one run.

    Raises:
        ValueError: when nothing with a time was recorded, in that run or at all.
    """
    names = ("segments", "route_changes", "decisions", "objects", "mobile_events", "programs")
    tables = {name: getattr(results, name) for name in names}
    runs = sorted({number for table in tables.values() for number in pc.unique(table["run"]).to_pylist()})
    if not runs or (run is not None and run not in runs):
        there = "" if run is None else f" in run {run}"
        raise ValueError(f"nothing with a time was recorded{there}: expected {RECORDED}")
    number = runs[0] if run is None else run
    found: list[tuple[Case, list[_Row]]] = []
    for case in results.cases:
        mine = {
            name: table.filter((pc.field("case") == case.number) & (pc.field("run") == number))
            for name, table in tables.items()
        }
        rows = [row for name in names for row in _ROWS[name](mine[name], _end(results, case, mine.values()))]
        # The rows of a flow stand together; flow 2 is before flow 10.
        rows.sort(key=lambda row: (row.name.split()[0], int(re.split(r"[ :]", row.name)[1])))
        if rows:
            found.append((case, rows))
    drawn = found[:MOST_PANELS]
    with mpl.rc_context(style()):
        heights = [0.9 + 0.3 * sum(_tall(row) for row in rows[:MOST_ROWS]) for _, rows in drawn]
        figure, axes = grid(len(drawn), heights, 1.2, width=1.6 * PANEL, across=1)
        kinds = list(dict.fromkeys(kind for _, rows in drawn for row in rows for kind in row.instants))
        looks: dict[str, dict[str, Any]] = {
            kind: {"color": COLOURS[(index + 4) % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}
            for index, kind in enumerate(kinds)
        }
        cut = 0
        for axis, (case, rows) in zip(axes, drawn, strict=True):
            cut += max(len(rows) - MOST_ROWS, 0)
            figure.fitting += _panel(axis, rows[:MOST_ROWS], looks)
            title(axis, heading(results, case), 1.6 * PANEL)
        axes[-1].set_xlabel("time (s)")
        last = max(axis.get_xlim()[1] for axis in axes)
        for axis in axes:
            axis.set_xlim(0, last)
        if kinds:
            legend_of(figure, [mpl.lines.Line2D([], [], linestyle="none", **looks[kind]) for kind in kinds], kinds)
        some = f" The first {len(drawn)} of {len(found)} cases." if len(drawn) < len(found) else ""
        some += f" {cut} more rows." if cut else ""
        greys = [
            row.grey for _, rows in drawn for row in rows[:MOST_ROWS] if any(span[3] is None for span in row.spans)
        ]
        some += f" Grey: {' or '.join(dict.fromkeys(greys))}." if greys else ""
        note(figure, f"Run {number}.{some} Hopyard {results.version}")
    return figure


def _tall(row: _Row) -> float:
    return max(1.0, 0.6 * len(fold(row.name, NAME)))


def _end(results: Measured, case: Case, tables: Any) -> float:
    """The end of a run: as its scenario says, or the last time of a table."""
    duration = results.setting(case, "duration")
    if duration is not None:
        return _core.parse_time(duration) / 1e9
    columns = ("time_s", "delivered_s", "written_s", "ended_s", "began_s")
    times = [pc.max(table[name]).as_py() for table in tables for name in columns if name in table.column_names]
    return max((time for time in times if time is not None), default=1.0)


def _panel(axis: Axes, rows: Sequence[_Row], looks: dict[str, dict[str, Any]]) -> list[tuple[Text, float, float]]:
    """Draws the rows, and gives the texts with their spans."""
    texts = []
    scale = mpl.colormaps["cividis"]
    place = 0.0
    ticks = []
    for row in rows:
        place += _tall(row) / 2
        for begin, end, text, shade in row.spans:
            paint = "#DDDDDD" if shade is None else scale(shade)
            axis.broken_barh(
                [(begin, end - begin)], (place - 0.32, 0.64), facecolor=paint, edgecolor="white", linewidth=0.4
            )
            if text:
                light = shade is None or shade > 0.55
                mid: dict[str, Any] = {"ha": "center", "va": "center", "clip_on": True}
                mid |= {"fontsize": 7.5, "color": "black" if light else "white"}
                texts.append((axis.text((begin + end) / 2, place, text, **mid), begin, end))
        for kind, times in row.instants.items():
            look = looks[kind]
            thin = len(times) > MANY
            axis.plot(
                times,
                np.full(len(times), place),
                linestyle="none",
                markersize=4.5,
                alpha=0.8,
                rasterized=thin,
                zorder=3,
                **look,
            )
        ticks.append((place, "\n".join(fold(row.name, NAME))))
        place += _tall(row) / 2
    axis.set_yticks([each for each, _ in ticks], [name for _, name in ticks])
    axis.set_ylim(place, 0)
    axis.tick_params(axis="y", length=0)
    axis.grid(visible=False, axis="y")
    ends = [end for row in rows for _, end, _, _ in row.spans] + [
        t for row in rows for each in row.instants.values() for t in each
    ]
    axis.set_xlim(0, 1.01 * max(ends, default=1.0))
    return texts


def _by(table: pa.Table, column: str) -> list[tuple[Any, pa.Table]]:
    values = sorted(value for value in pc.unique(table[column]).to_pylist() if value is not None)
    return [(value, table.filter(pc.field(column) == value)) for value in values]


def _routes(table: pa.Table, end: float) -> list[_Row]:
    """The hops of each flow's route: a span for each number, grey where there is none."""
    found = []
    most = max((hops for hops in table["hops"].to_pylist() if hops), default=1)
    for flow, rows in _by(table, "flow"):
        row = _Row(f"flow {flow}: hops of its route", grey="no route")
        times = [*rows["time_s"].to_pylist(), end]
        before = rows["hops_before"].to_pylist()[0]
        states = [before, *rows["hops"].to_pylist()]
        for begin, until, hops in zip([0.0, *times], times, states, strict=False):
            if until > begin and hops is not None:
                wide = until - begin > 0.02 * end
                row.spans.append((begin, until, str(hops) if wide else "", min(hops / (most + 1), 1.0)))
            elif until > begin and begin > 0:
                row.spans.append((begin, until, "none" if until - begin > 0.05 * end else "", None))
        found.append(row)
    return found


def _segments(table: pa.Table, _end: float) -> list[_Row]:
    again = table.filter((pc.field("event") == "data_sent") & pc.field("resent"))
    return [
        _Row(f"flow {flow}: segments", instants={"segment sent again": rows["time_s"].to_pylist()})
        for flow, rows in _by(again, "flow")
    ]


def _decisions(table: pa.Table, _end: float) -> list[_Row]:
    return [
        _Row(
            f"flow {flow}: losses, as judged",
            instants={kind: of["time_s"].to_pylist() for kind, of in _by(rows, "decided")},
        )
        for flow, rows in _by(table, "flow")
    ]


def _objects(table: pa.Table, end: float) -> list[_Row]:
    """Each object from its write to its delivery; grey where it was not delivered."""
    found = []
    for flow, rows in _by(table, "flow"):
        for kind, mine in _by(rows, "kind"):
            row = _Row(f"flow {flow}: {kind}s", grey="not delivered")
            for written, delivered in zip(mine["written_s"].to_pylist(), mine["delivered_s"].to_pylist(), strict=True):
                row.spans.append(
                    (written, end if delivered is None else delivered, "", None if delivered is None else 0.35)
                )
            found.append(row)
    return found


def _hosts(table: pa.Table, _end: float) -> list[_Row]:
    return [
        _Row(f"host {host}", instants={kind: of["time_s"].to_pylist() for kind, of in _by(rows, "event")})
        for host, rows in _by(table, "host")
    ]


def _programs(table: pa.Table, end: float) -> list[_Row]:
    found = []
    for row in table.to_pylist():
        if row["began_s"] is not None:
            span = row["began_s"], row["ended_s"] if row["ended_s"] is not None else end, "", 0.35
            found.append(_Row(f"node {row['node']}: {row['command']}", [span]))
    return found


#: What makes the rows of a table.
_ROWS: dict[str, Callable[[Any, float], list[_Row]]] = {
    "route_changes": _routes,
    "segments": _segments,
    "decisions": _decisions,
    "objects": _objects,
    "mobile_events": _hosts,
    "programs": _programs,
}
