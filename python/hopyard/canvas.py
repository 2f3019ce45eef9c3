"""Figures without a display: their style, their panels, and files that are the same each time."""

from __future__ import annotations

import io
import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    import matplotlib as mpl
    import matplotlib.collections
    import matplotlib.lines
    import matplotlib.patches
except ValueError:
    # MPLBACKEND names no backend that exists. No backend is needed here.
    _backend = os.environ.pop("MPLBACKEND", None)
    # What was imported before the error is not complete.
    for _module in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        del sys.modules[_module]
    import matplotlib as mpl
    import matplotlib.collections
    import matplotlib.lines
    import matplotlib.patches

    if _backend is not None:
        os.environ["MPLBACKEND"] = _backend
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from hopyard.terminal import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

# Others take `mpl` from here, so that it is imported in this way alone.
__all__ = ["LETTER", "MARKERS", "MOST_PANELS", "PANEL", "STYLE", "Plot"]
__all__ += ["COLOURS", "colours", "grid", "mpl", "note", "rows_of", "title"]

# Okabe and Ito's colours, which people who are colour-blind can tell apart too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#7F7F7F")
MARKERS = "osD^vPX<>*hd"
STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": "#999999",
    "axes.grid": True,
    "axes.grid.axis": "both",
    "axes.labelcolor": "#222222",
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.dpi": 150,
    "font.size": 10.5,
    "grid.color": "#E5E5E5",
    "legend.frameon": False,
    # A "$" in a name is a "$".
    "text.parse_math": False,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    # The same figure is the same file.
    "svg.hashsalt": "hopyard",
}
#: What would put the time of day into a file, by its kind.
_DATES = {"svg": {"Date": None}, "svgz": {"Date": None}, "pdf": {"CreationDate": None}}
#: Inches that a letter of a size in points takes, about.
LETTER = 0.6 / 72
PANEL = 5.6
#: A figure of more panels would be too large to look at.
MOST_PANELS = 48


class Plot(Figure):
    """A figure that a notebook shows by itself, and whose files are the same each time."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        FigureCanvasAgg(self)

    def savefig(self, fname: Any, *arguments: Any, **options: Any) -> None:
        """Writes the figure; the end of the file's name says how: .png, .svg, .pdf."""
        suffix = Path(fname).suffix if isinstance(fname, str | os.PathLike) else ""
        kind = str(options.get("format") or suffix.removeprefix(".")).lower()
        if kind and isinstance(fname, str | os.PathLike):
            self.check_format(Path(fname), kind)
        metadata = _DATES.get(kind, {}) | (options.pop("metadata", None) or {})
        with mpl.rc_context(STYLE):
            super().savefig(fname, *arguments, metadata=metadata or None, **options)

    def check_format(self, path: Path, kind: str | None = None) -> None:
        """Refuses a file whose ending names no format of pictures.

        Raises:
            ValueError: with the file and the endings that are expected.
        """
        kind = path.suffix.removeprefix(".") if kind is None else kind
        if kind.lower() not in self.canvas.get_supported_filetypes():
            raise ValueError(
                f"{path}: plots have no format {kind!r}: expected the ending .png, .svg or .pdf"
            )

    def _repr_png_(self) -> bytes:
        buffer = io.BytesIO()
        self.savefig(buffer, format="png")
        return buffer.getvalue()


def grid(
    panels: int, heights: Sequence[float], legend: float = 0.0, width: float | None = None
) -> tuple[Plot, list[Axes]]:
    """A figure of panels, two in a row; a height in inches for each row, room for a legend."""
    columns = min(panels, 2)
    size = ((width or PANEL) * columns + legend, sum(heights) + 0.4)
    figure = Plot(figsize=size, layout="constrained")
    axes = figure.subplots(
        len(heights), columns, squeeze=False, height_ratios=heights if len(heights) > 1 else None
    )
    flat = list(axes.flat)
    for spare in flat[panels:]:
        spare.set_visible(False)
    return figure, flat[:panels]


def rows_of(panels: int) -> int:
    """The rows of a grid."""
    return math.ceil(panels / 2) if panels > 1 else 1


def colours(count: int) -> list[Any]:
    """Colours for this many things: distinct ones for a few, a scale for many."""
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    scale = mpl.colormaps["viridis"]
    return [scale(0.95 * index / (count - 1)) for index in range(count)]


def title(axis: Axes, text: str, width: float = PANEL) -> None:
    """A title over a panel, in as many lines as the panel's width asks for."""
    size = 11 if len(text) < 60 else 9
    letters = max(int((width - 1.0) / (size * LETTER * 1.05)), 12)
    # A key stays beside its value.
    lines = fold(text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"), letters)
    axis.set_title("\n".join(lines).replace("\N{NO-BREAK SPACE}", " "), fontsize=size)


def note(figure: Plot, text: str) -> None:
    """A line in small grey letters below everything."""
    letters = max(int((figure.get_figwidth() - 0.3) / (8.5 * LETTER * 0.9)), 30)
    lines = "\n".join(fold(text, letters))
    figure.supxlabel(lines, fontsize=8.5, color="#666666", x=0.01, ha="left")
