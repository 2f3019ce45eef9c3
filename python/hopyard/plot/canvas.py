"""Figures without a display: their style, their panels, and files that are the same each time."""

from __future__ import annotations

import io
import math
import os
import sys
from dataclasses import dataclass
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

from hopyard.terminal.words import fold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

# Others take `mpl` from here, so that it is imported in this way alone.
__all__ = ["LETTER", "MARKERS", "MOST_PANELS", "PANEL", "STYLE", "Plot"]
__all__ += ["COLOURS", "Ticks", "colours", "grid", "legend", "log_scale", "mpl", "note", "rows_of"]
__all__ += ["ticks", "title"]

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
    # Fonts as outlines that publishers accept: not Type 3.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    # The same figure is the same file.
    "svg.hashsalt": "hopyard",
}
#: What would put the time of day into a file, by its kind.
_DATES = {"svg": {"Date": None}, "svgz": {"Date": None}, "pdf": {"CreationDate": None}}
#: Inches that a letter of a size in points takes, about.
LETTER = 0.6 / 72
PANEL = 5.6
#: The most columns of a legend.
MOST_COLUMNS = 3
#: A figure of more panels would be too large to look at.
MOST_PANELS = 48


#: The formats in which the same figure is the same file each time.
FORMATS = ("png", "svg", "pdf")


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
        if not kind or not isinstance(fname, str | os.PathLike):
            with mpl.rc_context(STYLE):
                super().savefig(fname, *arguments, metadata=metadata or None, **options)
            return
        # A writer of PDF that cannot close its file hides the reason, such as a full disk: the bytes are made first.
        picture = io.BytesIO()
        self.savefig(picture, *arguments, **(options | {"format": kind, "metadata": metadata}))
        Path(fname).write_bytes(picture.getvalue())

    def check_format(self, path: Path, kind: str | None = None) -> None:
        """Refuses a file whose ending names no format of pictures.

        Raises:
            ValueError: with the file and the endings that are expected.
        """
        kind = path.suffix.removeprefix(".") if kind is None else kind
        if kind.lower() not in FORMATS:
            raise ValueError(f"{path}: plots have no format {kind!r}: expected the ending .png, .svg or .pdf")

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
    axes = figure.subplots(len(heights), columns, squeeze=False, height_ratios=heights if len(heights) > 1 else None)
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


@dataclass(frozen=True)
class Ticks:
    """Labels of values that stand one after another, and the room in inches that they need."""

    texts: list[str]
    rotated: bool
    room: float


def ticks(labels: Sequence[str], width: float = PANEL) -> Ticks:
    """Labels below an axis: in one line, folded, or, where they are many, at an angle."""
    texts = [_shortened(each) for each in labels]
    longest = max(map(len, texts), default=0)
    letters = int((width - 1.0) / (10.5 * LETTER))
    if longest * len(texts) <= letters:
        return Ticks(texts, False, 0.0)
    each = letters // len(texts) - 1
    folded = [fold(text, each) for text in texts] if each >= 9 else []
    lines = max(map(len, folded), default=99)
    if lines <= 6:
        return Ticks(["\n".join(text) for text in folded], False, 0.16 * (lines - 1))
    folded = [fold(text, 24) for text in texts]
    wide = max(len(line) for text in folded for line in text)
    lines = max(map(len, folded))
    return Ticks(["\n".join(text) for text in folded], True, 0.5 * wide * 9 * LETTER + 0.14 * lines)


def _shortened(text: str, most: int = 72) -> str:
    """A label of at most so many letters: its beginning and its end, which tell it from others."""
    if len(text) <= most:
        return text
    beginning, end = text[: most * 2 // 3].rstrip(), text[3 - most // 3 :].lstrip()
    return f"{beginning} \N{HORIZONTAL ELLIPSIS} {end}"


def log_scale(axis: Any, places: Sequence[float] = ()) -> None:
    """A logarithmic scale with plain numbers, for `axes.xaxis` or `axes.yaxis`.

    Args:
        axis: one of the two axes of a panel.
        places: where numbers stand; if there are none, at powers of ten and between them.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

    getattr(axis.axes, f"set_{axis.axis_name}scale")("log")
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
    if places:
        axis.set_major_locator(FixedLocator(list(places)))
        return

    def between(value: float, _: object) -> str:
        low, high = sorted(axis.get_view_interval())
        digit = f"{value:e}"[0]
        # With a power of ten or two in sight, these are enough.
        return f"{value:g}" if high < 30 * max(low, 1e-300) and digit in "2357" else ""

    axis.set_minor_formatter(FuncFormatter(between))


def legend(figure: Plot, entries: Mapping[str, Any], title: str | None = None) -> None:
    """A legend at the right of everything: in as many columns as its labels need.

    The figure gets wider for them, and higher where more columns would be too wide.
    """
    labels = ["\n".join(fold(_shortened(each), 34)) for each in entries]
    heading = None if title is None else "\n".join(fold(title, 34))
    lines = sum(label.count("\n") + 1 for label in labels)
    line = 9 * 1.55 / 72
    spare = 0.5 if heading is None else 0.5 + line * (heading.count("\n") + 1)
    width, height = figure.get_size_inches()
    columns = math.ceil(lines * line / max(height - spare, line))
    if columns > MOST_COLUMNS:
        columns = MOST_COLUMNS
        height = spare + line * math.ceil(lines / columns)
    wide = max(len(part) for label in labels for part in label.split("\n")) * 9 * LETTER + 0.6
    figure.set_size_inches(width + max(columns * wide - 1.8, 0), height)
    figure.legend(
        list(entries.values()),
        labels,
        loc="outside right upper",
        fontsize=9,
        title=heading,
        ncols=columns,
    )


def note(figure: Plot, text: str) -> None:
    """A line in small grey letters below everything."""
    letters = max(int((figure.get_figwidth() - 0.3) / (8.5 * LETTER * 0.9)), 30)
    lines = "\n".join(fold(text, letters))
    figure.supxlabel(lines, fontsize=8.5, color="#666666", x=0.01, ha="left")
