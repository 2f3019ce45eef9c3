"""The tables of results and their summary, written into a folder."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from hopyard.tables.names import TABLES, table_files
from hopyard.tables.tables import FORMATS, check_format, write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pyarrow as pa

    from hopyard.tables.measured import Measured

#: The folder in which tables are written before they are moved to their place.
BESIDE = ".writing"


def write(
    results: Measured,
    folder: Path,
    format: str,
    measures: Sequence[str] = (),
    before: Callable[[Sequence[str]], object] | None = None,
) -> list[Path]:
    """Writes each table that has rows, and the summary, into a folder.

    All are written beside and moved when all are whole. The summary is always CSV: it is small and
    meant to be read. `before` is told the names of the files before they are moved.

    Raises:
        ValueError: when `format` is not one of `FORMATS`.
        OSError: when a file cannot be written; the folder is as it was.
    """
    check_format(format)
    beside = folder / BESIDE
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    try:
        names = ["summary.csv"]
        chosen = results.summary(measures) if measures else results.summary()
        write_table(chosen, beside / names[0])
        for name in TABLES:
            table: pa.Table = getattr(results, name)
            if len(table):
                names.append(f"{name}.{format}")
                write_table(table, beside / names[-1])
        if before is not None:
            before(names)
        for name in names:
            (beside / name).replace(folder / name)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return [folder / name for name in names]


def write_alone(results: Measured, folder: Path, format: str) -> list[Path]:
    """Writes the tables of results that come from no run, and so have no store.

    Raises:
        ValueError: when the folder has tables that would stay beside these and say something else.
        OSError: when a file cannot be written; the folder is as it was.
    """

    def check(names: Sequence[str]) -> None:
        every = {name for ending in FORMATS for name in table_files(ending)}
        others = sorted(name for name in every.difference(names) if (folder / name).exists())
        if others:
            raise ValueError(
                f"{folder} has {', '.join(others)}, which would not be replaced: expected another "
                "folder, or one without them"
            )

    return write(results, folder, format, before=check)
