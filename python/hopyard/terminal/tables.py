"""Tables on the terminal that fit its width: no name and no number is cut."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hopyard.terminal.words import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

#: The width of output that goes to a file or a pipe, unless COLUMNS says another.
FILE_WIDTH = 200
#: Spaces beside each column, and beside all of them.
PADDING, EDGE = 2, 1


def console() -> Console:
    """The terminal, or the file that the output goes to."""
    out = Console(highlight=False)
    if out.is_terminal:
        return out
    return Console(width=int(os.environ.get("COLUMNS") or FILE_WIDTH), highlight=False)


def plain(text: str, out: Console) -> str:
    """The text in characters that the terminal has; control characters become visible."""
    if out.options.ascii_only:
        text = text.replace("±", "+/-").encode("ascii", "backslashreplace").decode()
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def say(out: Console, *parts: tuple[str, str]) -> None:
    """Prints a line of texts, each with its style; nothing in them is markup."""
    out.print(Text.assemble(*((plain(text, out), style) for text, style in parts)))


@dataclass(frozen=True, slots=True)
class Names:
    """A column of texts: its head and a text for each row."""

    head: str
    cells: Sequence[str]


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column of estimates: title, unit, and for each row the mean and the half width as texts."""

    title: str
    unit: str
    cells: Sequence[tuple[str, str]]


#: A column that is ready: the lines of its head, the lines of each cell, its justification.
_Column = tuple[list[str], list[list[str]], str]


def show(out: Console, names: Sequence[Names], numbers: Sequence[Numbers], gaps: Iterable[int] = ()) -> None:
    """Prints a table; `gaps` are the rows that an empty line precedes.

    Where the table is too wide, names are folded; then ± and the half width go below the mean; then
    the columns of numbers are spread over several tables. Where not even one of these has room, the
    rows are lists.
    """
    sign = plain("±", out)
    trials: list[tuple[int, Callable[[Numbers, str], _Column]]] = [
        (80, _beside),
        (16, _beside),
        (24, _below),
        (16, _below),
        (10, _below),
    ]
    for width, column in trials:
        left = [_folded(each, width, out) for each in names]
        right = [column(each, sign) for each in numbers]
        if _width([*left, *right]) <= out.width:
            break
    if max((_width([*left, each]) for each in right), default=0) > out.width:
        _list(out, names, numbers)
        return
    parts: list[list[_Column]] = [[]]
    for each in right:
        if parts[-1] and _width([*left, *parts[-1], each]) > out.width:
            parts.append([])
        parts[-1].append(each)
    for part in parts:
        _print(out, [*left, *part], set(gaps))


def _folded(column: Names, width: int, out: Console) -> _Column:
    cells = [fold(plain(cell, out), width) for cell in column.cells]
    return fold(plain(column.head, out), max(width, len("scenario"))), cells, "left"


def _head(column: Numbers, width: int) -> list[str]:
    words = fold(column.title, max(width, max(map(len, column.title.split()))))
    return [*words, *([column.unit] if column.unit else [])]


def _beside(column: Numbers, sign: str) -> _Column:
    """Means and half widths on one line, with the signs below one another."""
    most = max((len(half_width) for _, half_width in column.cells), default=0)
    cells = []
    for mean, half_width in column.cells:
        tail = f" {sign} {half_width:<{most}}" if half_width else " " * (most + len(sign) + 2)
        cells.append([mean + (tail if most else "")])
    return _head(column, max((len(cell[0]) for cell in cells), default=0)), cells, "right"


def _below(column: Numbers, sign: str) -> _Column:
    """Half widths on a line of their own."""
    cells = [[mean, *([f"{sign} {half_width}"] if half_width else [])] for mean, half_width in column.cells]
    return (_head(column, max((len(line) for cell in cells for line in cell), default=0)), cells, "right")


def _width(columns: Iterable[_Column]) -> int:
    return EDGE + sum(
        max(len(line) for cell in (head, *cells) for line in cell) + PADDING for head, cells, _ in columns
    )


def _print(out: Console, columns: Sequence[_Column], gaps: set[int]) -> None:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head, _, justify in columns:
        table.add_column(
            Text("\n".join(head), justify=justify),  # type: ignore[arg-type]
            justify=justify,  # type: ignore[arg-type]
            no_wrap=True,
        )
    rows = max((len(cells) for _, cells, _ in columns), default=0)
    for row in range(rows):
        if row in gaps:
            table.add_row()
        table.add_row(*(Text("\n".join(cells[row])) for _, cells, _ in columns))
    out.print(table)


def _list(out: Console, names: Sequence[Names], numbers: Sequence[Numbers]) -> None:
    """Each row as a list of its numbers."""
    wide = max(len(column.title) for column in numbers)
    for row in range(len(numbers[0].cells)):
        heading = ", ".join(f"{column.head} {column.cells[row]}" for column in names)
        say(out, (heading, "bold"))
        for column in numbers:
            mean, half_width = column.cells[row]
            value = f"{mean} ± {half_width}" if half_width else mean
            say(out, (f"  {column.title:<{wide}}  {value} {column.unit}".rstrip(), ""))


def definitions(out: Console, heads: Sequence[str], rows: Sequence[Sequence[str]], narrow: int = 70) -> None:
    """Prints short texts with a long one at the end of each row; below one another where narrow."""
    if out.width < narrow:
        for row in rows:
            first, *middle, last = (plain(cell, out) for cell in row)
            out.print(Text(first, style="bold"))
            for head, cell in zip(heads[1:-1], middle, strict=True):
                if cell:
                    out.print(Text(f"  {head}: {cell}"))
            for line in Text(last).wrap(out, max(out.width - 2, 10)):
                out.print(Text("  ") + line)
        return
    table = Table(box=SIMPLE_HEAD)
    for head in heads:
        table.add_column(head, overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(cell, out)) for cell in row))
    # The first columns are names and values: they keep their words as long as the last has room.
    wide = max(len(word) for row in rows for word in row[0].split() or [""])
    table.columns[0].min_width = min(wide, out.width // 3)
    out.print(table)
