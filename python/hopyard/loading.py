"""Results put together: from a batch's tables in memory, and from folders."""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from hopyard import _core, tables
from hopyard.database import NAME, ROWS, StoreError
from hopyard.plan import Planned, numbers
from hopyard.results import Case, Failure, Results
from hopyard.scenario import Scenario
from hopyard.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopyard.reading import Maker, StoredCase


def of_batch(
    cases: Sequence[Planned],
    records: Sequence[_core.Run],
    parts: Sequence[Sequence[pa.Table]],
) -> Results:
    """The results of runs that were kept in memory."""
    known = [
        Case(number, each.scenario, each.settings, each.config, each.seed)
        for number, each in enumerate(cases)
    ]
    empty = _empty()
    merged = {
        name: tables.ordered([empty[name], *(part[place] for part in parts)])
        for place, name in enumerate(tables.TABLES)
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


@dataclass(frozen=True)
class Part:
    """What a folder held at one moment."""

    results: Results
    #: What is known of each run, in the order of cases and runs.
    runs: list[dict[str, object]]
    makers: list[Maker]


def of_store(store: Store) -> Results:
    """What a store holds at the moment."""
    return _part(store).results


def _part(store: Store) -> Part:
    with store.snapshot():
        stored = store.cases()
        runs = store.runs()
        makers = store.makers()
        found = {name: store.table(name) for name in ROWS}
        complete = store.complete
    # A file of series that a run names stays while the run's process lives.
    found["series"] = _series(store, runs)
    known = [Case(c.number, c.scenario, c.settings, c.config, c.seed) for c in stored]
    by_number = {case.number: case for case in stored}
    empty = _empty()
    version = next((maker.version for maker in makers), _core.__version__)
    failures = [
        _failure(by_number[int(str(run["case"]))], int(str(run["run"])), str(run["error"]))
        for run in runs
        if run["state"] == "failed"
    ]
    results = Results(
        **{
            name: tables.with_origin(
                empty[name] if found[name] is None else found[name], known, version
            )
            for name in tables.TABLES
        },
        complete=complete,
        failures=tuple(failures),
        origin=_Folder(store.folder),
    )
    return Part(results, runs, makers)


def load(folders: Sequence[Path]) -> Results:
    """The results of folders, as one."""
    if not folders:
        raise ValueError("there is no folder to read")
    parts = []
    for folder in folders:
        with Store(folder) as store:
            parts.append(_part(store))
    return parts[0].results if len(parts) == 1 else _merged(parts, folders)


def _empty() -> dict[str, pa.Table]:
    """Every table of a run's with its columns and no rows."""
    _, none = _core.Batch([], []).take()
    return dict(zip(tables.TABLES, map(tables.read, none), strict=True))


def _series(store: Store, runs: Sequence[dict[str, object]]) -> pa.Table | None:
    parts = []
    for run in runs:
        if run["series"] is None:
            continue
        path = store.folder / str(run["series"])
        try:
            rows = parquet.ParquetFile(path).read()
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


def _merged(parts: Sequence[Part], folders: Sequence[Path]) -> Results:
    cases: list[Case] = []
    digests: dict[tuple[str, int, int], tuple[str, Path]] = {}
    rows: dict[str, list[pa.Table]] = {name: [] for name in tables.TABLES}
    versions = dict.fromkeys(part.results.version for part in parts if part.results.cases)
    builds: dict[str, Path] = {}
    for part, folder in zip(parts, folders, strict=True):
        for maker in part.makers:
            builds.setdefault(maker.name, folder)
        if len(builds) > 1:
            made = ", ".join(f"{where} by {name}" for name, where in builds.items())
            raise StoreError(
                f"the folders were made by different builds of Hopyard, and their results may "
                f"differ: {made}"
            )
        number = {}
        for case in part.results.cases:
            same = [each for each in cases if replace(each, number=0) == replace(case, number=0)]
            if not same:
                cases.append(replace(case, number=len(cases)))
            number[case.number] = (same or cases[-1:])[0].number
        keep: dict[tuple[int, int], bool] = {}
        for run in part.runs:
            key = str(run["config"]), int(str(run["seed"])), int(str(run["run"]))
            mine = str(run["digest"]), folder
            other = digests.setdefault(key, mine)
            if run["state"] == "done" and other[0] != mine[0]:
                raise StoreError(
                    f"{other[1]} and {folder} have different results of run {key[2]} of "
                    f"configuration {key[0]}, seed {key[1]}"
                )
            keep[int(str(run["case"])), key[2]] = other[1] == folder
        for name in tables.TABLES:
            table = tables.restrict(_bare(getattr(part.results, name), part.results), keep)
            renumbered = [number[each] for each in tables.numbers(table, "case").tolist()]
            table = table.set_column(0, "case", pa.array(renumbered, pa.uint32()))
            rows[name].append(table)
    version = next(iter(versions), _core.__version__)
    return Results(
        **{
            name: tables.with_origin(tables.ordered(each), cases, version)
            for name, each in rows.items()
        },
        complete=all(part.results.complete for part in parts),
        failures=tuple(failure for part in parts for failure in part.results.failures),
        origin=_Folders(tuple(map(_Folder, folders))),
    )


def _bare(table: pa.Table, results: Results) -> pa.Table:
    """The table without what `with_origin` has added, but for the numbers of case and run."""
    added = {"scenario", *results.settings, "seed", "config", "version"}
    names = [name for name in table.column_names if name not in added | {"case", "run"}]
    return table.select(["case", "run", *names])


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
class _Folder:
    """Results that were read from a folder."""

    folder: Path

    def scenario(self, case: Case) -> Scenario:
        with Store(self.folder) as store:
            return stored_scenario(store, case.config, case.seed, case.scenario)

    def save(self, results: Results, folder: Path, format: str, *, force: bool) -> list[Path]:
        del force
        return tables.write(results, folder, format, ())


@dataclass(frozen=True)
class _Folders:
    """Results that were read from several folders."""

    parts: tuple[_Folder, ...]

    def scenario(self, case: Case) -> Scenario:
        for part in self.parts:
            with Store(part.folder) as store:
                if case.config in store.scenarios():
                    return part.scenario(case)
        raise ValueError(f"the scenario of {case} is not known")

    def save(self, results: Results, folder: Path, format: str, *, force: bool) -> list[Path]:
        del force
        return tables.write(results, folder, format, ())


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

    folder = Folder(path, cases, force=force)
    try:
        wanted = {
            (number, run) for number, case in enumerate(folder.missing(cases)) for run in case.runs
        }
        new = [each for each in records if (each.case, each.run) in wanted]
        if new:
            keep = {(each.case, each.run): (each.case, each.run) in wanted for each in records}
            folder.store.add(
                cases, new, {name: tables.restrict(table, keep) for name, table in rows.items()}
            )
        done = all(not case.runs for case in folder.missing(cases))
        folder.store.note(complete="yes" if done else "no")
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
        own = numbers(case.runs if runs is None else runs)
        found.append(Planned(core, case.scenario, None, case.settings, own or range(case.runs)))
    return found


def stored_scenario(store: Store, config: str, seed: int, name: str) -> Scenario:
    """A scenario as a store holds it, with its movement files and rules laid out in a folder.

    Raises:
        ScenarioError: when it cannot be read, as when a rule of it is not to be found.
    """
    text = store.scenarios()[config]
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
