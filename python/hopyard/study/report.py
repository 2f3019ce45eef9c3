"""The report of a study: one HTML page that contains its pictures, and the same figures as files.

The page is made by Jinja from a template, its figures by matplotlib. It holds its pictures as SVG, and a script of its
own of a few kilobytes that shows the value of a mark, and sorts tables: a library of charts such as Plotly would add
megabytes to each page, would draw every figure a second time in another way, and would leave nothing where scripts
are off or the page is printed.
"""

from __future__ import annotations

import json
import math
import platform
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from hopyard import _core
from hopyard.files import whole, write_text
from hopyard.plot.canvas import on_page, picture
from hopyard.study import figures, ledgers, tables
from hopyard.study.claims import judged
from hopyard.study.networks import networks_of
from hopyard.study.traffic import at_window
from hopyard.tables.pairs import signed
from hopyard.terminal.words import install, many

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hopyard.study.claims import Verdict
    from hopyard.study.figures import Source
    from hopyard.study.tables import Cell, Grid

#: A departure from a published value of this share or more is marked.
MARKED = 0.1


class ReportError(ValueError):
    """A report cannot be made."""


@dataclass(frozen=True)
class Made:
    """The files of a report."""

    page: Path
    figures: list[Path]
    tables: list[Path]
    verdicts: list[Verdict]


def make(source: Source, out: Path, *, command: str, quick: bool = False, width: str | float | None = None) -> Made:
    """Writes the report into a folder. `width` is that of its PDF files: "column", "text", or inches.

    Raises:
        ReportError: when a package is missing.
        OSError: when a file cannot be written.
    """
    try:
        import jinja2
    except ImportError as error:
        raise ReportError(f"a report needs the package {error.name}: {install('lab')}") from None
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
        printed = plot if width is None else on_page(width, partial(figures.draw, figure, source))
        for kind, made in (("png", plot), ("pdf", printed)):
            files.append(out / f"{figure.name}.{kind}")
            whole(files[-1], made.savefig)
        svg = picture(plot, figure.name)
        drawn.append({"name": figure.name, "title": figure.title, "text": figure.text, "svg": svg})
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
        tables=[_shown(each, source) for each in grids],
        figures=drawn,
        verdicts=verdicts,
        units=[source.values.label(each.claim.measure) for each in verdicts],
        published=any(cell.published is not None for grid in grids for _, row in grid.rows for cell in row if cell),
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


def _heads(grid: Grid, source: Source) -> list[str]:
    several = len({measure for _, measure in grid.columns}) > 1
    found = []
    for labels, measure in grid.columns:
        over = " / ".join(labels)
        label = source.values.label(measure)
        found.append(f"{over}: {label}" if over and several else over or label)
    return found


def _shown(grid: Grid, source: Source) -> dict[str, Any]:
    """A table as the template writes it: of each cell its number to sort by, and its lines."""
    heads = [*((head, False) for head in grid.head), *((head, True) for head in _heads(grid, source))]
    rows = [
        (labels, [([], None) if cell is None else _cell(cell, grid) for cell in cells]) for labels, cells in grid.rows
    ]
    # Above columns that are named after values of axes alone, no head says what is measured, and in which unit.
    measures = {measure for labels, measure in grid.columns if any(labels)}
    measured = source.values.label(measures.pop()) if len(measures) == 1 else ""
    return {"grid": grid, "measured": measured, "heads": heads, "rows": rows}


def _cell(cell: Cell | None, grid: Grid) -> tuple[list[tuple[str, bool]], float | None]:
    """The lines of a cell, each with whether it is marked, and its number."""
    if cell is None:
        return [], None
    mean, half = cell.value.parts()
    mark = f" {tables.MARK}" if cell.watched else ""
    lines = [(f"{mean} ± {half}{mark}" if half else f"{mean}{mark}", False)]
    if cell.difference is not None:
        lines.append((f"difference {' ± '.join(part for part in signed(cell.difference) if part)}", False))
    if cell.ratio is not None and not math.isnan(cell.ratio.figure):
        low, high = cell.ratio.low, cell.ratio.high
        # One run has no interval; few runs may allow every ratio.
        ends = "" if math.isnan(low) else f" ({low:.2f} to {high:.2f})" if math.isfinite(high - low) else " (no bounds)"
        lines.append((f"{cell.ratio.figure:.2f} times{ends}", False))
    if cell.published is not None:
        far = cell.departure is not None and abs(cell.departure) >= MARKED
        share = "" if cell.departure is None else f" ({100 * cell.departure:+.0f} %)"
        lines.append((f"{grid.said} {cell.published:g}{share}", far))
    return lines, None if math.isnan(cell.value.mean) else cell.value.mean


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
        ("Hopyard", "; ".join(f"{each.name} on {each.platform}, {many(each.runs, 'run')}" for each in made)),
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
