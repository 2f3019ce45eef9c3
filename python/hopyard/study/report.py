"""The report of a study: one HTML page that contains its pictures, and the same figures as files.

The page is made by Jinja from a template, its tables by great-tables, its figures by matplotlib.
"""

from __future__ import annotations

import html
import io
import json
import math
import platform
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hopyard import _core
from hopyard.files import whole, write_text
from hopyard.study import figures, ledgers, tables
from hopyard.study.claims import judged
from hopyard.study.networks import networks_of
from hopyard.study.traffic import at_window
from hopyard.terminal.words import install, many

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hopyard.plot.canvas import Plot
    from hopyard.study.claims import Verdict
    from hopyard.study.figures import Source
    from hopyard.study.tables import Cell, Grid

#: A departure from a published value of this share or more is marked.
MARKED = 0.1
#: The formats of the files of figures.
FORMATS = ("png", "pdf")


class ReportError(ValueError):
    """A report cannot be made."""


@dataclass(frozen=True)
class Made:
    """The files of a report."""

    page: Path
    figures: list[Path]
    tables: list[Path]
    verdicts: list[Verdict]


def make(source: Source, out: Path, *, command: str, quick: bool = False) -> Made:
    """Writes the report into a folder.

    Raises:
        ReportError: when a package is missing.
        OSError: when a file cannot be written.
    """
    try:
        import great_tables
        import jinja2
    except ImportError as error:
        raise ReportError(f"a report needs the package {error.name}: {install('lab')}") from None
    del great_tables
    study = source.study
    if out.resolve() == study.folder.resolve():
        raise ReportError(f"{out} is the study's own folder, whose files a report might replace")
    out.mkdir(parents=True, exist_ok=True)
    grids = [tables.grid(study, each, source.points, source.values, source.published) for each in study.document.table]
    written = [_csv(each, out) for each in grids]
    drawn: list[dict[str, Any]] = []
    files: list[Path] = []
    for figure in study.document.figure:
        plot = figures.draw(figure, source)
        for kind in FORMATS:
            files.append(out / f"{figure.name}.{kind}")
            whole(files[-1], plot.savefig)
        drawn.append(
            {
                "name": figure.name,
                "title": figure.title,
                "text": figure.text,
                "svg": _svg(plot, figure.name),
            }
        )
    verdicts = judged(study, source.points, source.values)
    written += ledgers.write(out, source, verdicts)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hopyard.study"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    page = environment.get_template("report.html").render(
        study=study,
        quick=quick,
        mark=tables.MARK,
        tables=[{"grid": each, "html": _html(each, source)} for each in grids],
        figures=drawn,
        verdicts=verdicts,
        counts=counted(verdicts),
        method=_method(source),
        command=command,
    )
    path = out / "report.html"
    write_text(path, page)
    return Made(path, files, written, verdicts)


def counted(verdicts: Sequence[Verdict]) -> dict[str, int]:
    """How many claims there are of each verdict."""
    found: dict[str, int] = {}
    for each in verdicts:
        found[each.verdict] = found.get(each.verdict, 0) + 1
    return found


def _svg(plot: Plot, name: str) -> str:
    """A figure as SVG that can stand in a page beside others."""
    buffer = io.BytesIO()
    plot.savefig(buffer, format="svg")
    text = buffer.getvalue().decode()
    text = text[text.index("<svg") :]
    # A hundredth of a point is less than a screen or a printer shows.
    text = re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), text)
    # The names of parts are those of one file: two pictures of a page must not share them.
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(xlink:href="#|url\(#)', rf"\1{name}-", text)
    # The page says how large it is.
    return re.sub(
        r'<svg ([^>]*?)width="[^"]*" ?',
        r"<svg \1",
        re.sub(r' height="[^"]*pt"', "", text, count=1),
        count=1,
    )


def _heads(grid: Grid, source: Source) -> list[str]:
    several = len({measure for _, measure in grid.columns}) > 1
    found = []
    for labels, measure in grid.columns:
        over = " / ".join(labels)
        label = source.values.label(measure)
        found.append(f"{over}: {label}" if over and several else over or label)
    return found


def _html(grid: Grid, source: Source) -> str:
    """A table as HTML: our mean with its interval; below it, what was published."""
    import pandas as pd
    from great_tables import GT

    heads = _heads(grid, source)
    rows = [
        {
            **{f"a{place}": label for place, label in enumerate(labels)},
            **{f"c{place}": _shown(cell, grid) for place, cell in enumerate(cells)},
        }
        for labels, cells in grid.rows
    ]
    names = {f"a{place}": head for place, head in enumerate(grid.head)}
    names |= {f"c{place}": head for place, head in enumerate(heads)}
    table = GT(pd.DataFrame(rows, columns=list(names)), id=f"table-{grid.name}")
    table = table.cols_label(cases=dict(names.items()))
    table = table.fmt_markdown(columns=[key for key in names if key.startswith("c")])
    return str(table.as_raw_html())


def _shown(cell: Cell | None, grid: Grid) -> str:
    if cell is None:
        return ""
    mean, half = cell.value.parts()
    mark = f" {tables.MARK}" if cell.watched else ""
    text = f"{mean} ± {half}{mark}" if half else f"{mean}{mark}"
    if cell.difference is not None:
        change, width = cell.difference.parts()
        text += f"<br>difference {change}" + (f" ± {width}" if width else "")
    if cell.ratio is not None and not math.isnan(cell.ratio.figure):
        low, high = cell.ratio.low, cell.ratio.high
        # One run has no interval.
        ends = "" if math.isnan(low) else f" ({low:.2f} to {high:.2f})"
        text += f"<br>{cell.ratio.figure:.2f} times{ends}"
    if cell.published is not None:
        text += f"<br>{html.escape(grid.said)} {cell.published:g}"
        if cell.departure is not None:
            share = f"{100 * cell.departure:+.0f} %"
            text += f" (**{share}**)" if abs(cell.departure) >= MARKED else f" ({share})"
    return text


def _csv(grid: Grid, out: Path) -> Path:
    """A table as a file."""
    path = out / f"{grid.name}.csv"
    heads = list(grid.head)
    there = [cell for _, cells in grid.rows for cell in cells if cell is not None]
    # What cells have beyond a mean, an interval and a number of runs.
    parts: dict[str, Callable[[Cell], float | None]] = {}
    if any(cell.published is not None for cell in there):
        parts["published"] = lambda cell: cell.published
    if any(cell.difference is not None for cell in there):
        parts["difference"] = lambda cell: getattr(cell.difference, "mean", None)
        parts["difference ±"] = lambda cell: getattr(cell.difference, "half_width", None)
    if any(cell.ratio is not None for cell in there):
        parts["ratio"] = lambda cell: getattr(cell.ratio, "figure", None)
        parts["ratio low"] = lambda cell: getattr(cell.ratio, "low", None)
        parts["ratio high"] = lambda cell: getattr(cell.ratio, "high", None)
    for labels, measure in grid.columns:
        name = " / ".join((*labels, measure))
        heads += [name, f"{name} ±", f"{name} runs", *(f"{name} {part}" for part in parts)]
        if grid.watched:
            heads.append(f"{name} interval")
    lines: list[list[object]] = []
    for labels, cells in grid.rows:
        row: list[object] = list(labels)
        for cell in cells:
            if cell is None:
                row += [""] * (3 + len(parts) + grid.watched)
                continue
            row += [_number(cell.value.mean), _number(cell.value.half_width), cell.value.runs]
            row += [_number(part(cell)) for part in parts.values()]
            if grid.watched:
                row.append(tables.ANYTIME if cell.watched else "Student")
        lines.append(row)
    return ledgers.write_csv(path, heads, lines)


def _number(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.6g}"


def _method(source: Source) -> list[tuple[str, str]]:
    """How the study was run."""
    made = source.store.makers()
    spent = source.store.spent()
    runs = sum(each.runs for each in made)
    seeds = sorted({point.planned.seed for point in source.points})
    documents = [json.loads(point.planned.core.to_json(defaults=True)) for point in source.points]
    described = networks_of(source.points, documents)
    networks = [(f"Network of {name}", str(each)) for name, each in described.networks if each]
    _, windows = at_window(source.points, documents, source.store)
    return [
        (
            "Hopyard",
            "; ".join(f"{each.name} on {each.platform}, {many(each.runs, 'run')}" for each in made),
        ),
        ("This report", f"Hopyard {_core.__version__}, Python {platform.python_version()}"),
        ("Points", str(len(source.points))),
        ("Runs in the store", str(runs)),
        ("Seeds", ", ".join(map(str, seeds)) + "; runs are numbered from 0"),
        ("Processor time", f"{spent[0]:,.1f} s"),
        ("Ended", spent[1]),
        ("Scenarios", ", ".join(dict.fromkeys(str(p.planned.file) for p in source.points))),
        *networks,
        *([("Windows", windows)] if windows else []),
    ]
