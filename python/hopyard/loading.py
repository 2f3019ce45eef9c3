"""Results put together: from a batch's tables in memory, and from folders."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hopyard import _core, tables
from hopyard.database import NAME, ROWS, TABLES, StoreError
from hopyard.fit import table_files
from hopyard.merging import Part, completed, documents, merged
from hopyard.plan import Planned, numbers
from hopyard.results import Case, Failure, Results
from hopyard.scenario import Scenario
from hopyard.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopyard.reading import StoredCase


def of_batch(
    cases: Sequence[Planned],
    records: Sequence[_core.Run],
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
        origin=_Batch(cases, tuple(records), merged),
    )


def of_store(store: Store) -> Results:
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
        with Store(folder) as store:
            parts.append(part_of(store))
    return _results(parts)


def part_of(store: Store) -> Part:
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
        failures=tuple(_failure(case, run["run"], run["error"]) for case, run in whole.failed),
        origin=_Folders(tuple(folders)),
    )


def _empty() -> dict[str, pa.Table]:
    """Every table of a run's with its columns and no rows."""
    _, none = _core.Batch([], []).take()
    return dict(zip(TABLES, map(tables.read, none), strict=True))


def _series(store: Store, runs: Sequence[dict[str, object]]) -> pa.Table | None:
    parts = []
    for run in runs:
        if run["series"] is None:
            continue
        path = store.folder / str(run["series"])
        try:
            rows = tables.read_parquet(path)
        except OSError as error:
            reason = "it is gone" if not path.exists() else error
            raise StoreError(
                f"{path} cannot be read: {reason}. Remove it, if it is there, and "
                f"`hopyard run {store.folder}` makes its run again"
            ) from error
        for name in ("run", "case"):
            numbers = pa.array(np.full(len(rows), run[name], dtype=np.uint32))
            rows = rows.add_column(0, pa.field(name, pa.uint32(), nullable=False), numbers)
        parts.append(rows)
    return tables.ordered(parts) if parts else None


def _failure(case: Planned | StoredCase, run: int, error: str) -> Failure:
    return Failure(case.scenario, case.file, case.settings, case.config, case.seed, run, error)


@dataclass(frozen=True)
class _Batch:
    """Results that were made in this process."""

    cases: Sequence[Planned]
    records: tuple[_core.Run, ...]
    rows: dict[str, pa.Table]

    def scenario(self, case: Case) -> Scenario:
        return Scenario._of(self.cases[case.number].core, Path())

    def save(self, results: Results, folder: Path, format: str, *, force: bool) -> list[Path]:
        del results
        return _save(self.cases, self.records, self.rows, folder, format, force=force)


@dataclass(frozen=True)
class _Folders:
    """Results that were read from folders."""

    folders: tuple[Path, ...]

    def scenario(self, case: Case) -> Scenario:
        for folder in self.folders:
            with Store(folder) as store:
                if store.scenario(case.config) is not None:
                    return stored_scenario(store, case.config, case.seed, case.scenario)
        raise ValueError(f"the scenario of {case} is not known")

    def save(self, results: Results, folder: Path, format: str, *, force: bool) -> list[Path]:
        del force
        return tables.write(results, folder, format)


def _save(
    cases: Sequence[Planned],
    records: Sequence[_core.Run],
    rows: dict[str, pa.Table],
    path: Path,
    format: str,
    *,
    force: bool,
) -> list[Path]:
    from hopyard.folder import Folder

    folder = Folder(path, cases, force=force, writes=table_files(format))
    try:
        wanted = {
            (number, run) for number, case in enumerate(folder.missing(cases)) for run in case.runs
        }
        new = [each for each in records if (each.case, each.run) in wanted]
        if new:
            folder.store.add(
                cases, new, {name: tables.restrict(table, wanted) for name, table in rows.items()}
            )
        return folder.write(of_store(folder.store), format)
    finally:
        folder.close()


def planned(store: Store, runs: int | Sequence[int] | None, series: Sequence[str]) -> list[Planned]:
    """The cases of a store, with the runs that it was to have or those that are wanted now."""
    found = []
    for case in store.cases():
        scenario = stored_scenario(store, case.config, case.seed, case.scenario)
        core = scenario.core
        if core.hash != case.config:
            raise StoreError(
                f"{store.path}: the scenario of {case.scenario} has the hash {core.hash} in this "
                f"version of Hopyard, {_core.__version__}: expected {case.config}"
            )
        sampled = list(dict.fromkeys([*case.series, *series]))
        if sampled:
            given = [("measure.series", json.dumps(sampled))]
            if case.interval:
                given.append(("measure.interval", json.dumps(case.interval)))
            core = core.with_settings(given)
        own = numbers(runs) or case.runs
        found.append(Planned(core, case.scenario, None, case.settings, own))
    return found


def stored_scenario(store: Store, config: str, seed: int, name: str) -> Scenario:
    """A scenario as a store holds it, with its movement files and rules laid out in a folder.

    Raises:
        ScenarioError: when it cannot be read, as when a rule of it is not to be found.
    """
    text = store.scenario(config)
    if text is None:
        raise StoreError(f"{store.path}: there is no configuration {config}")
    files, rules = store.inputs(config)
    base = Path(tempfile.mkdtemp(prefix="hopyard-"))
    atexit.register(shutil.rmtree, base, ignore_errors=True)
    for number, (path, content) in enumerate(files.items()):
        own = f"{number}-{Path(path).name}"
        (base / own).write_bytes(content)
        text = text.replace(f"path = {json.dumps(path)}", f"path = {json.dumps(own)}")
    for module, source in rules.items():
        (base / f"{module.rpartition('.')[2]}.py").write_text(source, encoding="utf-8")
    core = _core.Scenario.parse(text, str(store.folder / NAME), base)
    # What tells scenarios of one name apart may be a value such as "5 m/s"; a name has no slash.
    given = [("seed", str(seed)), ("name", json.dumps(name.replace("/", "_")))]
    return Scenario._of(core.with_settings(given), base)
