"""Results put together: from a batch's tables in memory, and from folders."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hopyard import _core, tables
from hopyard.database import ROWS, TABLES, StoreError
from hopyard.merging import Part, completed, documents, merged
from hopyard.origins import Batch, Folders
from hopyard.reading import Reader
from hopyard.results import Case, Failure, Results

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hopyard.plan import Planned
    from hopyard.reading import Record, StoredCase


def of_batch(
    cases: Sequence[Planned],
    records: Sequence[Record],
    parts: Sequence[Sequence[pa.Table]],
) -> Results:
    """The results of runs that were kept in memory."""
    known = completed(
        [
            Case(number, each.scenario, each.settings, each.config, each.seed)
            for number, each in enumerate(cases)
        ],
        lambda case: json.loads(cases[case.number].core.to_json(defaults=True)),
    )
    empty = _empty()
    merged = {
        name: tables.ordered([empty[name], *(part[place] for part in parts)])
        for place, name in enumerate(TABLES)
    }
    failures = [
        _failure(cases[each.case], each.run, each.error)
        for each in records
        if each.error is not None
    ]
    done = len(records) - len(failures)
    return Results(
        **{
            name: tables.with_origin(each, known, _core.__version__)
            for name, each in merged.items()
        },
        complete=done == sum(len(case.runs) for case in cases),
        failures=tuple(failures),
        origin=Batch(cases, tuple(records)),
    )


def of_store(store: Reader) -> Results:
    """What a store holds at the moment."""
    return _results([part_of(store)])


def load(folders: Sequence[Path]) -> Results:
    """The results of folders, as one; a folder that is given twice is read once."""
    if not folders:
        raise ValueError("there is no folder to read")
    different: dict[Path, Path] = {}
    for folder in folders:
        different.setdefault(folder.resolve(), folder)
    parts = []
    for folder in different.values():
        with Reader(folder) as store:
            parts.append(part_of(store))
    return _results(parts)


def part_of(store: Reader) -> Part:
    """What a store holds at the moment."""
    with store.snapshot():
        cases = store.cases()
        runs = store.runs()
        makers = store.makers()
        rows = {name: store.table(name) for name in ROWS}
    # A file of series that a run names stays while the run's process lives.
    rows["series"] = _series(store, runs)
    empty = _empty()
    whole = {name: empty[name] if rows[name] is None else rows[name] for name in TABLES}
    return Part(store.folder, cases, runs, makers, whole)


def _results(parts: Sequence[Part]) -> Results:
    whole = merged(parts)
    folders = [part.folder for part in parts]
    known = completed(whole.cases, documents(folders))
    version = next((maker.version for part in parts for maker in part.makers), _core.__version__)
    return Results(
        **{name: tables.with_origin(whole.rows[name], known, version) for name in TABLES},
        complete=whole.complete,
        failures=tuple(_failure(case, run.run, run.error or "") for case, run in whole.failed),
        origin=Folders(tuple(folders), tuple(known), whole.asked, whole.records),
    )


def _empty() -> dict[str, pa.Table]:
    """Every table of a run's with its columns and no rows."""
    _, none = _core.Batch([], []).take()
    return dict(zip(TABLES, map(tables.read, none), strict=True))


def _series(store: Reader, runs: Sequence[Record]) -> pa.Table | None:
    parts = []
    for run in runs:
        if run.series is None:
            continue
        path = store.folder / run.series
        try:
            rows = tables.read_parquet(path)
        except OSError as error:
            reason = "it is gone" if not path.exists() else error
            raise StoreError(
                f"{path} cannot be read: {reason}. Remove it, if it is there, and "
                f"`hopyard run {store.folder}` makes its run again"
            ) from error
        for name, number in (("run", run.run), ("case", run.case)):
            numbers = pa.array(np.full(len(rows), number, dtype=np.uint32))
            rows = rows.add_column(0, pa.field(name, pa.uint32(), nullable=False), numbers)
        parts.append(rows)
    return tables.ordered(parts) if parts else None


def _failure(case: Planned | StoredCase, run: int, error: str) -> Failure:
    return Failure(case.scenario, case.file, case.settings, case.config, case.seed, run, error)
