"""Plots of results, drawn without a display; each returns a `matplotlib` figure."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
import pyarrow.compute as pc
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from hopyard.results import Case, Results

# Okabe and Ito's colours, told apart by the colour-blind too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#7F7F7F")
STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#999999",
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": "#222222",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "figure.dpi": 150,
    "font.size": 11,
    "grid.color": "#E5E5E5",
    "legend.frameon": False,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
}


class Plot(Figure):
    """A figure that a notebook shows without further ado."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        FigureCanvasAgg(self)

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def _grid(panels: int, width: float, height: float) -> tuple[Plot, list[Axes]]:
    columns = min(panels, 2)
    rows = math.ceil(panels / columns)
    figure = Plot(figsize=(width * columns, height * rows + 0.4), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    flat = list(axes.flat)
    for spare in flat[panels:]:
        spare.set_visible(False)
    return figure, flat[:panels]


def comparison(results: Results, measure: str = "goodput", x: str | None = None) -> Plot:
    """A measure's mean and interval for each case, each run as a dot.

    The compared key with the most values goes along the axis, the next one gives the colours, and
    what remains (the scenario first of all) makes panels. `x` is the key along the axis.

    Raises:
        ValueError: when no measure is called so, or `x` is no compared key.
    """
    chosen = results.measure(measure)
    if x is not None and x not in results.settings:
        known = ", ".join(results.settings) or "none"
        raise ValueError(f"no key {x!r} is compared; the compared keys are: {known}")
    keys = sorted(
        results.settings,
        key=lambda key: (key != x, -len({case.settings[key] for case in results.cases})),
    )
    along, colour = (keys[0] if keys else None), (keys[1] if len(keys) > 1 else None)

    def panel_of(case: Case) -> str:
        rest = [f"{key} = {case.settings[key]}" for key in keys[2:]]
        return ", ".join([case.scenario, *rest])

    panels = list(dict.fromkeys(map(panel_of, results.cases)))
    colours = list(dict.fromkeys(case.settings[colour] if colour else "" for case in results.cases))
    with mpl.rc_context(STYLE):
        figure, axes = _grid(len(panels), 5.6, 3.7)
        for axis, panel in zip(axes, panels, strict=True):
            cases = [case for case in results.cases if panel_of(case) == panel]
            places = list(dict.fromkeys(case.settings[along] if along else "" for case in cases))
            _bars(axis, results, measure, cases, (along, places), (colour, colours))
            axis.set_title(panel)
            axis.set_ylabel(chosen.label)
        if colour:
            handles, labels = axes[0].get_legend_handles_labels()
            figure.legend(
                handles, labels, title=colour, loc="outside right upper", alignment="left"
            )
        runs = results.runs
        note = f"Mean of {runs} runs, 95 % confidence interval" if runs > 1 else "One run"
        figure.supxlabel(
            f"{note}; a dot is a run. Hopyard {results.version}",
            fontsize=8.5,
            color="#666666",
            x=0.01,
            ha="left",
        )
    return figure


def _bars(
    axis: Axes,
    results: Results,
    measure: str,
    cases: Sequence[Case],
    along: tuple[str | None, list[str]],
    colour: tuple[str | None, list[str]],
) -> None:
    width = 0.8 / len(colour[1])
    shown: set[str] = set()
    for case in cases:
        name = case.settings[colour[0]] if colour[0] else ""
        hue = colour[1].index(name)
        place = along[1].index(case.settings[along[0]]) if along[0] else 0
        x = place + (hue - (len(colour[1]) - 1) / 2) * width
        paint = COLOURS[hue % len(COLOURS)]
        estimate, values = results.estimate(measure, case), results.values(measure, case)
        axis.bar(
            x,
            estimate.mean,
            width * 0.92,
            color=paint,
            alpha=0.85,
            label=None if name in shown else name,
        )
        shown.add(name)
        spread = [x + width * 0.5 * ((i + 0.5) / len(values) - 0.5) for i in range(len(values))]
        axis.scatter(spread, values, s=7, color="black", alpha=0.3, linewidths=0, zorder=3)
        if not math.isnan(estimate.half_width):
            axis.errorbar(
                x,
                estimate.mean,
                estimate.half_width,
                color="#222222",
                capsize=4,
                linewidth=1.4,
                zorder=4,
            )
    axis.set_xticks(range(len(along[1])), along[1])
    if along[0]:
        axis.set_xlabel(along[0])
    axis.set_ylim(bottom=0)


def over_time(results: Results, quantity: str, run: int | None = None) -> Plot:
    """A sampled quantity of one run over time: a panel a case, a line a flow.

    Raises:
        ValueError: when the quantity was not sampled in that run.
    """
    wanted = pc.field("quantity") == quantity
    chosen = results.series.filter(wanted if run is None else wanted & (pc.field("run") == run))
    if not len(chosen):
        sampled = ", ".join(pc.unique(results.series["quantity"]).to_pylist()) or "nothing"
        raise ValueError(f"{quantity!r} was not sampled in such a run; what was: {sampled}")
    first = pc.min(chosen["run"])
    chosen = chosen.filter(pc.field("run") == first)
    cases = [
        case for case in results.cases if pc.any(pc.equal(chosen["case"], case.number)).as_py()
    ]
    with mpl.rc_context(STYLE | {"axes.grid.axis": "both"}):
        figure, axes = _grid(len(cases), 5.6, 2.6)
        for axis, case in zip(axes, cases, strict=True):
            rows = chosen.filter(pc.field("case") == case.number)
            flows = np.unique(rows["flow"].to_numpy())
            for index, flow in enumerate(flows):
                line = rows.filter(pc.field("flow") == int(flow))
                x, y = line["time_s"].to_numpy(), line["value"].to_numpy()
                few = len(flows) <= len(COLOURS)
                axis.plot(
                    x,
                    y,
                    color=COLOURS[index % len(COLOURS)],
                    linewidth=1.1 if few else 0.7,
                    alpha=1 if few else 0.6,
                    label=f"flow {flow}" if few and len(flows) > 1 else None,
                )
            settings = ", ".join(case.settings.values())
            axis.set_title(f"{case.scenario}: {settings}" if settings else case.scenario)
            axis.set_xlabel("time (s)")
            axis.set_ylabel(f"{quantity} ({rows['unit'][0]})")
            axis.set_ylim(0, 1.05 * pc.max(chosen["value"]).as_py())
            axis.set_xlim(0, pc.max(chosen["time_s"]).as_py())
            if 1 < len(flows) <= len(COLOURS):
                axis.legend(fontsize=8, ncols=2)
        note = f"Run {first}. Hopyard {results.version}"
        figure.supxlabel(note, fontsize=8.5, color="#666666", x=0.01, ha="left")
    return figure
