"""Figures without a display: their style, their panels, and files that are the same each time."""

from __future__ import annotations

import html
import io
import math
import os
import re
import sys
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    import matplotlib as mpl
    import matplotlib.collections
    import matplotlib.lines
    import matplotlib.patches
    import matplotlib.text
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
    import matplotlib.text

    if _backend is not None:
        os.environ["MPLBACKEND"] = _backend
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from hopyard.terminal.words import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.axes import Axes

# Others take `mpl` from here, so that it is imported in this way alone.
__all__ = ["LETTER", "MARKERS", "MOST_PANELS", "PANEL", "STYLE", "Plot"]
__all__ += ["COLOURS", "STROKES", "Ticks", "colours", "columns", "grid", "legend", "legend_of", "log_scale"]
__all__ += ["from_zero", "mpl", "note", "on_page", "picture", "rows_of", "style", "ticks", "title", "whole_ticks"]
__all__ += ["width_of"]

# Okabe and Ito's colours, which people who are colour-blind can tell apart too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#7F7F7F")
MARKERS = "osD^vPX<>*hd"
STROKES = ("-", "--", ":", "-.")
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
#: Widths of a paper in two columns, such as those of IEEE and ACM, in inches.
WIDTHS = {"column": 3.4, "text": 7.1}
#: A page narrower than this has one panel beside another.
NARROW = 5.0
#: The size of letters and marks on a page, as a part of those of a screen: 8 points.
SMALL = 0.76
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
        #: What a page says of places that are pointed at: the axes, the place in their data, the text.
        self.tips: list[tuple[Axes, float, float, str]] = []
        #: Texts that are to be shown if they fit between two places along their axis.
        self.fitting: list[tuple[mpl.text.Text, float, float]] = []

    def fit(self) -> None:
        """Takes away what does not fit at the width that the figure has."""
        self.draw_without_rendering()
        for text, begin, end in self.fitting:
            assert text.axes is not None
            (left, _), (right, _) = text.axes.transData.transform([(begin, 0), (end, 0)])
            if text.get_window_extent().width > right - left:
                text.remove()
        self.fitting.clear()

    def tip(self, axis: Axes, x: float, y: float, text: str) -> None:
        """Adds the text that a page shows where this place is pointed at."""
        if math.isfinite(x) and math.isfinite(y):
            self.tips.append((axis, x, y, text))

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


#: The width in inches of the page that is drawn for; none for a screen.
_page: ContextVar[float | None] = ContextVar("page", default=None)


def width_of(given: str | float | None) -> float | None:
    """A width in inches: that of a "column" or of the "text" of a paper, or a number.

    Raises:
        ValueError: when it is neither.
    """
    if given is None or given in WIDTHS:
        return None if given is None else WIDTHS[str(given)]
    try:
        width = float(given)
    except ValueError:
        width = math.nan
    if not 2 <= width <= 40:
        raise ValueError(f"width: expected column, text or inches from 2 to 40, found {given!r}")
    return width


def on_page(given: str | float | None, draw: Callable[[], Plot]) -> Plot:
    """A figure for a page of this width (see `width_of`), with letters of 8 points; for a screen if there is none."""
    width = width_of(given)
    if width is None:
        return draw()
    token = _page.set(width)
    try:
        figure = draw()
    finally:
        _page.reset(token)
    for text in figure.findobj(mpl.text.Text):
        text.set_fontsize(SMALL * float(text.get_fontsize()))
    for own in list(figure.legends) if width < NARROW else ():
        # Beside the panels there is no room.
        texts = [text.get_text() for text in own.get_texts()]
        heading = own.get_title().get_text()
        own.remove()
        most = max(1, int((width - 0.3) / (max(map(len, texts)) * 8 * LETTER + 0.5)))
        look: dict[str, Any] = {"fontsize": 8, "title_fontsize": 8, "ncols": min(most, len(texts)), "frameon": False}
        handles: list[Any] = list(own.legend_handles)
        figure.legend(handles, texts, title=heading or None, loc="outside upper center", **look)
    figure.set_size_inches(width, figure.get_figheight() * width / figure.get_figwidth())
    return figure


def style() -> dict[Any, Any]:
    """The style of figures: on a page, lines and marks are smaller."""
    if _page.get() is None:
        return STYLE
    sizes = {"lines.linewidth": 1.1, "lines.markersize": 4.5, "axes.linewidth": 0.6, "grid.linewidth": 0.6}
    return {**STYLE, **sizes}


def columns() -> int:
    """The panels that stand beside one another, where there are several."""
    return 1 if (_page.get() or NARROW) < NARROW else 2


def grid(
    panels: int, heights: Sequence[float], legend: float = 0.0, width: float | None = None, across: int = 2
) -> tuple[Plot, list[Axes]]:
    """A figure of panels, two in a row; a height in inches for each row, room for a legend.

    On a narrow page, each panel has a row of its own.
    """
    across = min(panels, columns(), across)
    page = _page.get()
    if across == 1 and len(heights) < panels:
        heights = [height for height in heights for _ in range(2)][:panels]
    size = ((width or PANEL) * across + legend, sum(heights) + 0.4)
    if page is not None:
        size = page, SMALL * size[1]
    figure = Plot(figsize=size, layout="constrained")
    axes = figure.subplots(len(heights), across, squeeze=False, height_ratios=heights if len(heights) > 1 else None)
    flat = list(axes.flat)
    for spare in flat[panels:]:
        spare.set_visible(False)
    return figure, flat[:panels]


def legend_of(figure: Plot, handles: Sequence[Any], labels: Sequence[str], heading: str | None = None) -> None:
    """A legend at the right of everything."""
    heading = None if heading is None else "\n".join(fold(heading, 26))
    figure.legend(handles, labels, title=heading, loc="outside right upper", alignment="left")


def picture(figure: Plot, name: str) -> str:
    """A figure as SVG for a page, with its texts as texts, and an invisible circle with a title for each tip.

    The names of its parts begin with `name`: two pictures of a page must not share them.
    """
    buffer = io.BytesIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg")
    text = buffer.getvalue().decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    # A hundredth of a point is less than a screen or a printer shows.
    text = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), text)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(xlink:href="#|url\(#)', rf"\1{name}-", text)
    # The page says how large it is, and which font it has.
    head, rest = text.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*pt"', "", head) + f' style="--inches: {figure.get_figwidth():.2f}"'
    rest = rest.replace("'DejaVu Sans', 'Bitstream Vera Sans', ", "")
    scale = 72 / figure.dpi
    top = figure.get_figheight() * 72
    tips = []
    for axis, x, y, said in figure.tips:
        across, up = axis.transData.transform((x, y)) * scale
        tips.append(f'<circle cx="{across:.1f}" cy="{top - up:.1f}" r="6"><title>{html.escape(said)}</title></circle>')
    group = f'<g class="tips">{"".join(tips)}</g>' if tips else ""
    return f"{head}>{rest}".replace("</svg>", f"{group}</svg>")


def rows_of(panels: int) -> int:
    """The rows of a grid, two panels in each."""
    return math.ceil(panels / 2) if panels > 1 else 1


def colours(count: int) -> list[Any]:
    """Colours for this many things: distinct ones for a few, a scale for many."""
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    scale = mpl.colormaps["viridis"]
    # Its last part is yellow: in grey as pale as the lines of the grid.
    return [scale(0.82 * index / (count - 1)) for index in range(count)]


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


def from_zero(axis: Axes) -> None:
    """Begins an axis of values above zero at zero, with room above the highest mark."""
    low, high = axis.get_ylim()
    if low > 0:
        # The margin that the axis has is a part of the distance between its lowest and its highest value.
        axis.set_ylim(0, 1.04 * high)


def whole_ticks(axis: Axes, places: Sequence[float]) -> None:
    """Puts no tick between whole numbers, such as those of nodes, where all values along the axis are whole."""
    from matplotlib.ticker import MaxNLocator

    if all(float(place).is_integer() for place in places):
        axis.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))


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
    figure.legend(list(entries.values()), labels, loc="outside right upper", fontsize=9, title=heading, ncols=columns)


def note(figure: Plot, text: str) -> None:
    """A line in small grey letters below everything."""
    letters = max(int((figure.get_figwidth() - 0.3) / (8.5 * LETTER * 0.9)), 30)
    lines = "\n".join(fold(text, letters))
    figure.supxlabel(lines, fontsize=8.5, color="#666666", x=0.01, ha="left")
