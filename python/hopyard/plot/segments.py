"""The time-sequence plot of a flow: segments, acknowledgements and windows at its sender."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from hopyard.plot.canvas import grid, mpl, note, style, title
from hopyard.plot.series import heading, left_out
from hopyard.scenario.run_numbers import write_numbers
from hopyard.tables.arrays import floats, integers, where

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from matplotlib.axes import Axes

    from hopyard.plot.canvas import Plot
    from hopyard.tables.arrays import Floats, Mask
    from hopyard.tables.measured import Measured

UNITS = ("kB", "segments")
#: More panels than this, one below the other, would be too tall to look at.
MOST = 8
#: From this many segments on, a file of lines takes them as a picture.
MANY = 20_000
WIDTH = 9.0
#: matplotlib's marker of a tick below its place.
_DOWN = 3

SENT, AGAIN, ACK, WINDOW, CWND, SACK = (*("#0072B2", "#D55E00", "#222222", "#E69F00", "#56B4E9", "#009E73"),)


def time_sequence(
    results: Measured,
    flow: int | None = None,
    run: int | None = None,
    *,
    since: float | None = None,
    until: float | None = None,
    unit: str = "kB",
) -> Plot:
    """The segments of a flow over time, as tcptrace draws them: a panel a case.

    Raises:
        ValueError: when no such segments were recorded, or none in this time.
    """
    if unit not in UNITS:
        raise ValueError(f"expected sequence numbers in {' or '.join(UNITS)}, found {unit!r}")
    start, end = _time("since", since, 0.0), _time("until", until, math.inf)
    if start >= end:
        raise ValueError(f"expected a time that begins before it ends, found {_span(start, end)}")
    rows = results.segments
    if not len(rows):
        raise ValueError("no segments were recorded: measure.segments, or --segments, does so")
    run = _chosen(rows, "run", run)
    rows = where(rows, integers(rows, "run") == run)
    flow = _chosen(rows, "flow", flow)
    rows = where(rows, integers(rows, "flow") == flow)
    numbers = set(pc.unique(rows["case"]).to_pylist())
    all_cases = [case for case in results.cases if case.number in numbers]
    cases = all_cases[:MOST]
    with mpl.rc_context(style()):
        height = 5.2 if len(cases) == 1 else 3.8
        figure, axes = grid(len(cases), [height] * len(cases), width=WIDTH, across=1)
        drawn: dict[str, Any] = {}
        for axis, case in zip(axes, cases, strict=True):
            trace = _Trace(where(rows, integers(rows, "case") == case.number), unit)
            drawn |= trace.draw(axis, start, end)
            title(axis, heading(results, case), WIDTH)
            axis.set_xlabel("time (s)")
            axis.set_ylabel(f"sequence number ({unit})")
        if not drawn:
            found = floats(rows, "time_s")
            raise ValueError(
                f"flow {flow} has no segments {_span(start, end)} in run {run}; "
                f"those that were recorded are from {found.min():.3f} s to {found.max():.3f} s"
            )
        order = [name for name in LABELS if name in drawn]
        figure.legend([drawn[name] for name in order], order, loc="outside upper center", ncols=4, fontsize=9)
        some = f" The first {len(cases)} of {len(all_cases)} cases." if cases != all_cases else ""
        note(
            figure,
            f"Flow {flow} at its sender, run {run}.{some}"
            f"{left_out(results, all_cases, 'no recorded segments')} Hopyard {results.version}",
        )
    return figure


def _time(name: str, value: float | None, default: float) -> float:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name}: expected a number of seconds, found {value!r}")
    if math.isnan(value) or value < 0:
        raise ValueError(f"{name}: expected a number of seconds from 0 on, found {value!r}")
    return float(value)


def _span(start: float, end: float) -> str:
    """A time in words."""
    return f"from {start:g} s on" if math.isinf(end) else f"from {start:g} s to {end:g} s"


def _chosen(rows: pa.Table, name: str, wanted: int | None) -> int:
    """The number of a run or a flow that has rows: the first one, or the one that is wanted."""
    if wanted is not None and (isinstance(wanted, bool) or not hasattr(wanted, "__index__")):
        raise TypeError(f"{name}: expected the number of a {name}, found {wanted!r}")
    there = sorted(pc.unique(rows[name]).to_pylist())
    if wanted is None:
        return int(there[0])
    if wanted not in there:
        raise ValueError(
            f"no segments of {name} {wanted} were recorded; there are those of {name} {write_numbers(there)}"
        )
    return int(wanted)


#: What is drawn, in the order of the legend.
LABELS = (
    *("segment", "segment sent again", "SYN", "FIN", "SYN or FIN sent again"),
    *("acknowledgement", "duplicate ACK", "SACK block"),
    *("advertised window", "congestion window"),
)


class _Trace:
    """The segments of a flow in one run of one case, at its sender."""

    def __init__(self, rows: pa.Table, unit: str) -> None:
        event = rows["event"]
        self.sent = where(rows, np.asarray(pc.equal(event, "data_sent")))
        self.acks = where(rows, np.asarray(pc.equal(event, "ack_received")))
        self.payload = int(integers(self.sent, "payload").max(initial=0))
        # A connection that never opened has no data: its axis has no scale of its own.
        self.largest = self.payload or 1000
        self.unit = unit
        self.scale = 1000.0 if unit == "kB" else float(self.largest)
        self.ack_times = floats(self.acks, "time_s")
        self.ack_numbers = floats(self.acks, "ack") / self.scale
        # The highest number so far: acknowledgements may come out of order.
        self.highest = np.fmax.accumulate(self.ack_numbers) if len(self.acks) else self.ack_numbers

    def draw(self, axis: Axes, start: float, end: float) -> dict[str, Any]:
        """Draws what happened in a time, and gives a sign for each kind of thing drawn."""
        times = floats(self.sent, "time_s")
        mine = (times >= start) & (times <= end)
        theirs = (self.ack_times >= start) & (self.ack_times <= end)
        if not mine.any() and not theirs.any():
            axis.set_xlim(start, end if math.isfinite(end) else start + 1)
            return {}
        last = max(times.max(initial=0), self.ack_times.max(initial=0))
        drawn: dict[str, Any] = {}
        tops = [self._segments(axis, mine, drawn)]
        tops += [self._acknowledgements(axis, theirs, start, drawn)]
        low = min(self._lowest(mine, theirs), *(bottom for bottom, _ in tops))
        high = max(top for _, top in tops)
        limit = self._windows(axis, (start, end), high + 0.4 * (high - low), drawn)
        high = max(high, limit)
        margin = max(0.03 * (high - low), 0.5 * self.largest / self.scale)
        axis.set_ylim(max(low - margin, -margin), high + margin)
        stop = min(end, last)
        first = start if start > 0 else min(times.min(initial=last), self.ack_times.min(initial=last))
        wide = 0.01 * (stop - first) or 0.5
        axis.set_xlim(first - wide, stop + wide)
        return drawn

    def _lowest(self, mine: Mask, theirs: Mask) -> float:
        seq = floats(self.sent, "seq")[mine] / self.scale
        return float(min(seq.min(initial=math.inf), np.nanmin(self.highest[theirs], initial=math.inf)))

    def _segments(self, axis: Axes, mine: Mask, drawn: dict[str, Any]) -> tuple[float, float]:
        rows = where(self.sent, mine)
        if not len(rows):
            return math.inf, -math.inf
        times = floats(rows, "time_s")
        low, high = floats(rows, "seq") / self.scale, floats(rows, "end") / self.scale
        again = np.asarray(rows["resent"])
        has_data = integers(rows, "payload") > 0
        if has_data.any():
            self._bars(axis, times, low, high, has_data & ~again, SENT, 1.6)
            drawn["segment"] = _sign(marker="|", markersize=9, markeredgewidth=1.8, color=SENT)
        if (chosen := has_data & again).any():
            self._bars(axis, times, low, high, chosen, AGAIN, 2.2)
            look: dict[str, Any] = {"marker": "D", "markersize": 4.5, "markerfacecolor": "white"}
            look |= {"markeredgecolor": AGAIN, "markeredgewidth": 1.2, "linestyle": "none"}
            axis.plot(times[chosen], ((low + high) / 2)[chosen], zorder=5, **look)
            drawn["segment sent again"] = _sign(**look)
        for name, marker in (("SYN", "^"), ("FIN", "s")):
            chosen = np.asarray(pc.match_substring(rows["flags"].cast("string"), name))
            if chosen.any():
                # One that was sent again is hollow.
                for part, fill in ((chosen & ~again, SENT), (chosen & again, "white")):
                    look = {"marker": marker, "markersize": 6, "markerfacecolor": fill}
                    look |= {"markeredgecolor": SENT, "linestyle": "none"}
                    axis.plot(times[part], high[part], zorder=4, **look)
                drawn[name] = _sign(marker=marker, markersize=6, color=SENT)
                if (chosen & again).any():
                    drawn["SYN or FIN sent again"] = _sign(**look)
        return float(low.min()), float(high.max())

    def _bars(
        self, axis: Axes, times: Floats, low: Floats, high: Floats, chosen: Mask, paint: str, width: float
    ) -> None:
        lines = np.stack([np.stack([times, low], axis=1)[chosen], np.stack([times, high], axis=1)[chosen]], axis=1)
        # A segment that is lower than a dot of the picture is a dot.
        bars = mpl.collections.LineCollection(
            list(lines), colors=paint, linewidths=width, capstyle="projecting", zorder=3, rasterized=len(lines) > MANY
        )
        axis.add_collection(bars, autolim=False)

    def _acknowledgements(self, axis: Axes, theirs: Mask, start: float, drawn: dict[str, Any]) -> tuple[float, float]:
        known = ~np.isnan(self.ack_numbers)
        if not known.any():
            return math.inf, -math.inf
        look: dict[str, Any] = {"color": ACK, "linewidth": 1.2}
        axis.plot(self.ack_times, self.highest, drawstyle="steps-post", zorder=2, **look)
        drawn["acknowledgement"] = _sign(linestyle="-", **look)
        low, high = self._sack(axis, theirs, drawn)
        # One that moves nothing, and carries no data of its own.
        before = np.concatenate([[-1.0], self.highest[:-1]])
        again = theirs & known & (self.ack_numbers <= before)
        if again.any():
            # A tick below the line of acknowledgements, so that it does not vanish in the line.
            look = {"marker": _DOWN, "markersize": 5, "color": ACK}
            look |= {"linestyle": "none", "markeredgewidth": 0.8}
            axis.plot(self.ack_times[again], self.ack_numbers[again], zorder=2, **look)
            drawn["duplicate ACK"] = _sign(**look)
        here = self.highest[theirs & known]
        earlier = self.highest[(self.ack_times < start) & known]
        numbers = [*here[[0, -1]], *earlier[-1:]] if len(here) else list(earlier[-1:])
        return min([low, *numbers]), max([high, *numbers])

    def _sack(self, axis: Axes, theirs: Mask, drawn: dict[str, Any]) -> tuple[float, float]:
        texts = self.acks["sack"].cast("string").to_pylist()
        lines = [
            [(time, first), (time, end)]
            for time, text, is_in in zip(self.ack_times, texts, theirs, strict=True)
            if is_in and text
            for first, end in blocks(text, self.scale)
        ]
        if not lines:
            return math.inf, -math.inf
        look: dict[str, Any] = {"colors": SACK, "linewidths": 1.0, "alpha": 0.75, "zorder": 1}
        bars = mpl.collections.LineCollection(lines, rasterized=len(lines) > MANY, **look)
        axis.add_collection(bars, autolim=False)
        drawn["SACK block"] = _sign(marker="|", markersize=9, markeredgewidth=1.0, color=SACK)
        ends = [number for line in lines for _, number in line]
        return min(ends), max(ends)

    def _windows(self, axis: Axes, time: tuple[float, float], ceiling: float, drawn: dict[str, Any]) -> float:
        """Draws up to where the sender may send, by the receiver's window and by its own.

        A window that lies far above all segments does not count for the axis, and is a remark.
        """
        highest = -math.inf
        lines: list[tuple[str, Floats, Floats, dict[str, Any]]] = [
            (
                "advertised window",
                self.ack_times,
                np.fmax.accumulate(self.ack_numbers + integers(self.acks, "window") / self.scale)
                if len(self.acks)
                else self.ack_numbers,
                {"color": WINDOW, "linestyle": "--", "linewidth": 1.4},
            ),
            ("congestion window", *self._allowed(), {"color": CWND, "linewidth": 1.0}),
        ]
        above = []
        for name, times, limits, look in lines:
            inside = (times >= time[0]) & (times <= time[1]) & ~np.isnan(limits)
            if not inside.any():
                continue
            if float(np.median(limits[inside])) > ceiling:
                least, most = limits[inside].min(), limits[inside].max()
                above.append(f"{name}, above the axis: {least:,.0f} to {most:,.0f} {self.unit}")
                continue
            axis.plot(times, limits, drawstyle="steps-post", zorder=1.5, **look)
            drawn[name] = _sign(**{"linestyle": "-", **look})
            highest = max(highest, min(float(limits[inside].max()), ceiling))
        if above:
            place: dict[str, Any] = {"xycoords": "axes fraction", "va": "top", "fontsize": 8, "color": "#444444"}
            axis.annotate("\n".join(above), (0.01, 0.98), **place)
        return highest

    def _allowed(self) -> tuple[Floats, Floats]:
        """The number up to which the congestion window lets the sender send, at each segment."""
        times = floats(self.sent, "time_s")
        place = np.searchsorted(self.ack_times, times, side="right") - 1
        floor = np.where(place >= 0, self.highest[place], 0.0) if len(self.acks) else 0.0 * times
        cwnd = floats(self.sent, "cwnd") * (self.payload or math.nan) / self.scale
        return times, np.nan_to_num(floor) + cwnd


def blocks(text: str, scale: float = 1.0) -> Sequence[tuple[float, float]]:
    """The blocks of SACK in a table: first byte and byte after the last, over a scale."""
    pairs = (part.split("-") for part in text.split(","))
    return [(int(first) / scale, int(end) / scale) for first, end in pairs]


def _sign(**look: Any) -> Any:
    """A sign for the legend."""
    return mpl.lines.Line2D([], [], **{"linestyle": "none", **look})
