"""Results as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import csv, parquet

if TYPE_CHECKING:
    from hopyard.results import Results

FORMATS = ("parquet", "csv")
TABLES = ("flows", "nodes", "drops", "series", "decisions")


def save(results: Results, folder: str | Path, format: str) -> list[Path]:
    """Writes each table that has rows, and the summary, into a folder.

    The summary is always CSV: it is small and meant to be read.

    Raises:
        ValueError: when `format` is not one of `FORMATS`.
        OSError: when the files cannot be written.
    """
    if format not in FORMATS:
        raise ValueError(f"results are written as {' or '.join(FORMATS)}, not {format!r}")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / "summary.csv"]
    csv.write_csv(results.summary(), written[0])
    for name in TABLES:
        table: pa.Table = getattr(results, name)
        # What an earlier call left must not be taken for a part of these results.
        for old in FORMATS:
            (folder / f"{name}.{old}").unlink(missing_ok=True)
        if not len(table):
            continue
        path = folder / f"{name}.{format}"
        if format == "csv":
            csv.write_csv(_plain(table), path)
        else:
            parquet.write_table(table, path, compression="zstd")
        written.append(path)
    return written


def load(folder: str | Path) -> dict[str, pa.Table]:
    """Reads the Parquet tables that `save` left in a folder, by name."""
    folder = Path(folder)
    return {
        name: parquet.read_table(path)
        for name in TABLES
        if (path := folder / f"{name}.parquet").exists()
    }


def _plain(table: pa.Table) -> pa.Table:
    """The table with its repeated texts written out, as CSV wants them."""
    for index, part in enumerate(table.schema):
        if pa.types.is_dictionary(part.type):
            table = table.set_column(index, part.name, table[part.name].cast(part.type.value_type))
    return table
