"""Plots of sampled quantities over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from hopyard.plot.canvas import COLOURS, MOST_PANELS, STROKES, colours, grid, mpl, note, rows_of, style, title
from hopyard.scenario.run_numbers import write_numbers
from hopyard.tables.labels import short_keys, varying

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from matplotlib.axes import Axes

    from hopyard.plot.canvas import Plot
    from hopyard.tables.cases import Case
    from hopyard.tables.measured import Measured

#: How many cases without a panel are named.
MOST_NAMED = 6


def over_time(results: Measured, quantity: str, run: int | None = None) -> Plot:
    """A sampled quantity of one run over time: a panel a case, a line a flow.

    Raises:
        ValueError: when the quantity was not sampled in that run.
    """
    if run is not None and (isinstance(run, bool) or not hasattr(run, "__index__")):
        raise TypeError(f"run: expected the number of a run, found {run!r}")
    wanted = pc.field("quantity") == quantity
    chosen = results.series.filter(wanted if run is None else wanted & (pc.field("run") == run))
    if not len(chosen):
        sampled = ", ".join(pc.unique(results.series["quantity"]).to_pylist()) or "nothing"
        runs = write_numbers(pc.unique(results.series.filter(wanted)["run"]).to_pylist())
        where, there = ("", sampled) if run is None else (f" in run {run}", f"runs {runs}" if runs else sampled)
        raise ValueError(f"{quantity!r} was not sampled{where}; sampled were: {there}")
    first = pc.min(chosen["run"])
    chosen = chosen.filter(pc.field("run") == first)
    numbers = set(pc.unique(chosen["case"]).to_pylist())
    all_cases = [case for case in results.cases if case.number in numbers]
    cases = all_cases[:MOST_PANELS]
    flows = pc.unique(chosen["flow"]).to_pylist()
    paints = dict(zip(sorted(flows), colours(len(flows)), strict=True))
    # In grey, strokes tell a few flows apart; more are shades.
    few = len(flows) <= len(COLOURS)
    strokes: dict[int, Any] = {flow: STROKES[place % len(STROKES)] if few else "-" for place, flow in enumerate(paints)}
    top, hidden = _top(quantity, chosen["value"].to_numpy())
    end = pc.max(chosen["time_s"]).as_py()
    with mpl.rc_context(style()):
        figure, axes = grid(len(cases), [2.6] * rows_of(len(cases)), 0.8 if len(flows) > 1 else 0)
        for axis, case in zip(axes, cases, strict=True):
            rows = chosen.filter(pc.field("case") == case.number)
            _lines(axis, rows, paints, strokes)
            title(axis, heading(results, case))
            axis.set_xlabel("time (s)")
            axis.set_ylabel(f"{quantity} ({rows['unit'][0]})")
            # The same axes in all panels, so that they can be compared.
            axis.set_ylim(0, 1.05 * top or 1)
            axis.set_xlim(0, end or 1)
            if hidden and pc.max(rows["value"]).as_py() > top:
                text = f"above the axis: {hidden:,.0f}"
                axis.annotate(text, (0.02, 0.97), xycoords="axes fraction", va="top", fontsize=8)
        if not few:
            shades = mpl.colors.ListedColormap(list(paints.values()))
            limits = mpl.colors.Normalize(-0.5, len(flows) - 0.5)
            bar = figure.colorbar(mpl.cm.ScalarMappable(limits, shades), ax=axes, label="flow", aspect=30)
            places = np.unique(np.linspace(0, len(flows) - 1, 6).round()).astype(int)
            bar.set_ticks(places.tolist(), labels=[str(sorted(flows)[place]) for place in places])
        elif len(flows) > 1:
            handles = [mpl.lines.Line2D([], [], color=paints[it], linestyle=strokes[it]) for it in paints]
            labels = [f"flow {flow}" for flow in paints]
            figure.legend(handles, labels, loc="outside right upper")
        some = f" The first {len(cases)} of {len(all_cases)} cases." if cases != all_cases else ""
        none = left_out(results, all_cases, f"no samples of {quantity}")
        note(figure, f"Run {first}.{some}{none} Hopyard {results.version}")
    return figure


def _lines(axis: Axes, rows: pa.Table, paints: dict[int, Any], strokes: dict[int, Any]) -> None:
    width = 1.2 if len(paints) <= len(COLOURS) else 0.7
    for flow in sorted(pc.unique(rows["flow"]).to_pylist()):
        line = rows.filter(pc.field("flow") == flow)
        x, y = line["time_s"].to_numpy(), line["value"].to_numpy()
        # A single sample is a dot.
        look = {"color": paints[flow], "linestyle": strokes[flow], "linewidth": width}
        axis.plot(x, y, **look, marker="." if len(x) == 1 else None)


def _top(quantity: str, values: Any) -> tuple[float, float]:
    """The largest value to be seen, and what lies beyond it: 0 where nothing does.

    The slow start threshold begins at a value that stands for no threshold, far above all windows.
    """
    largest = float(values.max())
    lower = values[values < largest / 10]
    if quantity == "ssthresh" and lower.size and not ((values > largest / 10) & (values < largest)).any():
        return float(lower.max()), largest
    return largest, 0.0


def left_out(results: Measured, cases: Sequence[Case], what: str) -> str:
    """Which cases have no panel, because they lack what is drawn; nothing if all have one."""
    shown = {case.number for case in cases}
    names = [heading(results, case) for case in results.cases if case.number not in shown]
    if not names:
        return ""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f" Left out, with {what}: {'; '.join(names[:MOST_NAMED])}{more}."


def heading(results: Measured, case: Case) -> str:
    """What tells a case from the others of a comparison."""
    keys = short_keys(varying(results, results.cases))
    settings = ", ".join(f"{short} = {case.settings[key]}" for key, short in keys.items())
    several = len({each.scenario for each in results.cases}) > 1
    if settings:
        return f"{case.scenario}: {settings}" if several else settings
    return case.scenario
