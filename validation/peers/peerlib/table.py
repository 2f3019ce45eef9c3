"""Reading and writing the tables of values."""

import csv
import gzip
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

Value = str | int | float | None
Row = Mapping[str, Value]


def rounded(value: float, digits: int = 6) -> float:
    """`value` with this number of significant digits, as in the tables."""
    return float(f"{value:.{digits}g}")


def write(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    """Write `rows` as CSV; a name that ends in .gz is compressed, without a time stamp."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    content = text.getvalue().encode()
    if path.suffix == ".gz":
        content = gzip.compress(content, compresslevel=9, mtime=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def read(path: Path) -> list[dict[str, str]]:
    """All rows of a table that `write` made."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    return list(csv.DictReader(io.StringIO(content.decode())))
