"""The common part of all studies: runs, tables with intervals, plots, and the page of results."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import hopyard
import matplotlib as mpl
from hopyard import Estimate
from hopyard.canvas import COLOURS, STYLE, Plot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from hopyard import Results, Scenario
    from matplotlib.axes import Axes

#: A cell of a table: an estimate becomes three columns of the CSV file, `mean ± half` on the page.
Cell = Estimate | float | int | str | bool | None


@dataclass
class Lab:
    """A study in progress: the folders of its scenarios and results, and its page of results."""

    folder: Path
    out: Path
    title: str
    runs: int = 30
    jobs: int | None = None
    parts: list[str] = field(default_factory=list)

    def run(
        self,
        scenario: Scenario | str,
        *,
        set: Mapping[str, Any] | None = None,
        series: Sequence[str] = (),
        runs: int | None = None,
    ) -> Results:
        """Runs a scenario: an object, or a file in the study's folder."""
        given = self.folder / scenario if isinstance(scenario, str) else scenario
        return hopyard.run(given, set=set, series=series, runs=runs or self.runs, jobs=self.jobs)

    def section(self, title: str) -> None:
        """Begins a section of the page."""
        self.parts.append(f"## {title}")

    def text(self, words: str) -> None:
        """Adds a paragraph to the page."""
        self.parts.append(words.strip())

    def table(self, name: str, header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
        """Writes `NAME.csv`, and the table on the page."""
        body = [list(row) for row in rows]
        for row in body:
            if len(row) != len(header):
                raise ValueError(
                    f"table {name}: {len(header)} columns, but a row has {len(row)} cells"
                )
        spread = [any(isinstance(row[i], Estimate) for row in body) for i in range(len(header))]
        self.out.mkdir(parents=True, exist_ok=True)
        with (self.out / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            names = [
                [title, f"{title} ±", f"{title} runs"] if wide else [title]
                for title, wide in zip(header, spread, strict=True)
            ]
            writer.writerow([name for group in names for name in group])
            for row in body:
                cells = [_plain(cell, wide) for cell, wide in zip(row, spread, strict=True)]
                writer.writerow([cell for group in cells for cell in group])
        lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
        lines += ["| " + " | ".join(_shown(cell) for cell in row) + " |" for row in body]
        self.parts.append("\n".join(lines))

    def lines(
        self,
        name: str,
        lines: Mapping[str, Sequence[tuple[float, Estimate | float]]],
        xlabel: str,
        ylabel: str,
        *,
        title: str = "",
        log_x: bool = False,
        log_y: bool = False,
    ) -> None:
        """Draws a line for each entry, with the intervals of estimates."""
        with mpl.rc_context(STYLE | {"axes.grid.axis": "both"}):
            figure, axis = self.figure(7.0, 4.2)
            for number, (label, points) in enumerate(lines.items()):
                x = [point[0] for point in points]
                y = [
                    point[1].mean if isinstance(point[1], Estimate) else point[1]
                    for point in points
                ]
                error = [
                    point[1].half_width if isinstance(point[1], Estimate) else 0.0
                    for point in points
                ]
                style: dict[str, Any] = {
                    "color": COLOURS[number % len(COLOURS)],
                    "linestyle": ("-", "--", ":")[number // len(COLOURS) % 3],
                }
                if any(error):
                    axis.errorbar(
                        x,
                        y,
                        error,
                        label=label,
                        marker="o",
                        markersize=3.5,
                        capsize=3,
                        linewidth=1.3,
                        **style,
                    )
                else:
                    axis.plot(x, y, label=label, linewidth=1.1, **style)
            axis.set_xlabel(xlabel)
            axis.set_ylabel(ylabel)
            axis.set_title(title)
            # The usual labels of such an axis are formulas, which the style does not read.
            if log_x:
                axis.set_xscale("log")
                axis.xaxis.set_major_formatter("{x:g}")
            if log_y:
                axis.set_yscale("log")
                axis.yaxis.set_major_formatter("{x:g}")
            else:
                axis.set_ylim(bottom=0)
            figure.legend(loc="outside right upper", fontsize=9)
            self.save(figure, name)

    @staticmethod
    def figure(width: float, height: float) -> tuple[Plot, Axes]:
        """An empty figure with one pair of axes."""
        figure = Plot(figsize=(width, height), layout="constrained")
        return figure, figure.subplots()

    def save(self, figure: Plot, name: str) -> None:
        """Writes `NAME.png`, and shows it on the page."""
        self.out.mkdir(parents=True, exist_ok=True)
        # The file must not contain the library's version, so that equal results give equal files.
        figure.savefig(self.out / f"{name}.png", metadata={"Software": None})
        self.parts.append(f"![{name.replace('_', ' ')}]({name}.png)")

    def finish(self) -> Path:
        """Writes the page, `RESULTS.md`, and returns its path."""
        self.out.mkdir(parents=True, exist_ok=True)
        made = (
            f"Made by `make study STUDY={self.folder.name}` with Hopyard {hopyard.__version__}, "
            f"{self.runs} runs of each case if no other number is given. "
            "± is half of the 95 % confidence interval."
        )
        page = self.out / "RESULTS.md"
        page.write_text(
            "\n\n".join([f"# {self.title}", made, *self.parts]) + "\n", encoding="utf-8"
        )
        return page


def _plain(cell: Cell, wide: bool) -> list[str]:
    """A cell as text for the CSV file."""
    if isinstance(cell, Estimate):
        return [_number(cell.mean), _number(cell.half_width), str(cell.runs)]
    text = "" if cell is None else _number(cell) if isinstance(cell, float) else str(cell)
    return [text, "", ""] if wide else [text]


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"


def _shown(cell: Cell) -> str:
    """A cell as text for the page."""
    if cell is None:
        return "-"
    if isinstance(cell, float):
        return "-" if math.isnan(cell) else f"{cell:.4g}"
    return str(cell)
