"""Tables of results read from folders, several of which are put together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hopyard import _core
from hopyard.errors import StoreError
from hopyard.results.merging import Merged, Part, completed, documents, merged
from hopyard.store.reading import Reader, lacking
from hopyard.tables import tables
from hopyard.tables.arrays import array
from hopyard.tables.cases import Case, Failure
from hopyard.tables.measured import Measured
from hopyard.tables.names import FILED, ROWS, TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hopyard.scenario.plan import Planned
    from hopyard.store.records import Record, StoredCase


@dataclass(frozen=True)
class Read:
    """What folders hold together."""

    #: The tables by name, or the error with which one was not read.
    tables: dict[str, Any]
    cases: list[Case]
    failures: tuple[Failure, ...]
    merged: Merged

    def measured(self) -> Measured:
        """The tables with their measures."""
        return Measured(self.tables, complete=self.merged.complete, failures=self.failures)


def parts_of(folders: Sequence[Path]) -> list[Part]:
    """What folders hold at the moment; a folder that is given twice is read once."""
    if not folders:
        raise ValueError("there is no folder to read")
    different: dict[Path, Path] = {}
    for folder in folders:
        different.setdefault(folder.resolve(), folder)
    parts = []
    for folder in different.values():
        with Reader(folder) as store:
            parts.append(part_of(store))
    return parts


def part_of(store: Reader) -> Part:
    """What a store holds at the moment."""
    with store.snapshot():
        cases = store.cases()
        runs = store.runs()
        makers = store.makers()
        rows = {name: store.table(name) for name in ROWS}
    _check_rows(store, runs, rows)
    # A file that a run names stays while the run's process lives.
    broken = {}
    for name in FILED:
        rows[name], error = _filed(store, runs, name)
        if error is not None:
            broken[name] = error
    empty = tables.empty()
    whole = {name: empty[name] if rows[name] is None else rows[name] for name in TABLES}
    return Part(store.folder, cases, runs, makers, whole, broken)


def together(parts: Sequence[Part]) -> Read:
    """The parts as one."""
    whole = merged(parts)
    known = completed(whole.cases, documents([part.folder for part in parts]))
    version = next((maker.version for part in parts for maker in part.makers), _core.__version__)
    found = {name: tables.with_origin(whole.rows[name], known, version) for name in TABLES}
    broken = {name: error for part in parts[::-1] for name, error in part.broken.items()}
    failures = tuple(failure(case, run.run, run.error or "") for case, run in whole.failed)
    return Read({**found, **broken}, known, failures, whole)


def _check_rows(store: Reader, runs: Sequence[Record], rows: Mapping[str, pa.Table | None]) -> None:
    """Checks that each finished run has the rows that were added with it, and no others have any.

    Raises:
        StoreError: when rows were removed or added by somebody else, or the file is damaged.
    """
    there: dict[tuple[int, int], dict[str, int]] = {}
    for name, table in rows.items():
        if table is None:
            continue
        codes = tables.codes(table)
        for code, count in zip(*np.unique(codes, return_counts=True), strict=True):
            there.setdefault(divmod(int(code), 2**32), {})[name] = int(count)
    for run in runs:
        if run.state == "done":
            found = there.pop((run.case, run.run), {})
            if (wrong := lacking(run.rows, found)) is not None:
                raise StoreError(
                    f"{store.path}: {wrong} of run {run.run} of configuration {run.config}, seed "
                    f"{run.seed}; `hopyard run {store.folder}` makes this run again"
                )
    if there:
        case, number = next(iter(there))
        name = next(iter(there[case, number]))
        raise StoreError(
            f"{store.path}: {name} has rows of run {number} of case {case}, which is not among the "
            f"finished runs; `hopyard run {store.folder} --run {number}` makes it again"
        )


def _filed(store: Reader, runs: Sequence[Record], table: str) -> tuple[pa.Table | None, StoreError | None]:
    """The rows of a large table of all runs; with the error of files that cannot be read."""
    parts, broken = [], []
    for run in runs:
        if table not in run.files:
            continue
        try:
            rows = tables.read_filed(store.folder / run.files[table], table)
        except StoreError as error:
            broken.append(str(error))
            continue
        for name, number in (("run", run.run), ("case", run.case)):
            numbers = array(np.full(len(rows), number, dtype=np.uint32))
            rows = rows.add_column(0, pa.field(name, pa.uint32(), nullable=False), numbers)
        parts.append(rows)
    found = tables.ordered(parts) if parts else None
    if not broken:
        return found, None
    more = f", and {len(broken) - 1} further files of {table}" if len(broken) > 1 else ""
    again = f"`hopyard run {store.folder}` makes such runs again"
    return found, StoreError(f"{broken[0]}{more}; {again}")


def failure(case: Planned | StoredCase, run: int, error: str) -> Failure:
    """A run that failed."""
    return Failure(case.scenario, case.file, case.settings, case.config, case.seed, run, error)
