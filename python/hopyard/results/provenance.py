"""Where results come from: it makes their scenarios again, and saves them with their store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopyard import _core
from hopyard.errors import ScenarioError, StoreError
from hopyard.results.loading import part_of, together
from hopyard.scenario.inputs import Inputs
from hopyard.scenario.plan import Planned, measuring, numbers
from hopyard.scenario.scenario import Scenario
from hopyard.store.folder import Folder
from hopyard.store.folder_check import FolderError
from hopyard.store.reading import Reader
from hopyard.tables import tables
from hopyard.tables.names import TABLES, table_files

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa

    from hopyard.store.records import Record
    from hopyard.store.store import Store
    from hopyard.tables.cases import Case
    from hopyard.tables.measured import Measured


@dataclass(frozen=True)
class Batch:
    """Results that were made in this process."""

    cases: Sequence[Planned]
    records: tuple[Record, ...]

    def scenario(self, case: Case) -> Scenario:
        """The scenario of a case."""
        mine = self.cases[case.number]
        return Scenario._of(mine.core, mine.base)

    def save(self, results: Measured, folder: Path, format: str, *, force: bool) -> list[Path]:
        """Adds the runs to a folder."""
        return _save(results, self.cases, self.records, folder, format, force=force)

    def __reduce__(self) -> tuple[object, ...]:
        inputs = tuple(Inputs.of(case.core, case.base) for case in self.cases)
        named = tuple((case.scenario, case.file, case.settings, case.runs) for case in self.cases)
        seeds = tuple(case.seed for case in self.cases)
        return Apart, (inputs, named, seeds, self.records)


@dataclass(frozen=True)
class Apart:
    """Results that were made in another process, and came from there."""

    inputs: tuple[Inputs, ...]
    #: Of each case the name, the file, the settings and the runs.
    named: tuple[tuple[str, str | None, dict[str, str], Sequence[int]], ...]
    seeds: tuple[int, ...]
    records: tuple[Record, ...]

    def scenario(self, case: Case) -> Scenario:
        """The scenario of a case."""
        return self.inputs[case.number].scenario(case.scenario, self.seeds[case.number])

    def save(self, results: Measured, folder: Path, format: str, *, force: bool) -> list[Path]:
        """Adds the runs to a folder."""
        cases = []
        for inputs, (name, file, settings, runs), seed in zip(self.inputs, self.named, self.seeds, strict=True):
            made = inputs.scenario(name, seed)
            cases.append(Planned(made.core, name, file, settings, runs, base=made._base))
        return _save(results, cases, self.records, folder, format, force=force)


@dataclass(frozen=True)
class Folders:
    """Results that were read from folders."""

    folders: tuple[Path, ...]
    cases: tuple[Case, ...]
    #: Of each case the file, and the runs that were asked for.
    asked: tuple[tuple[str | None, Sequence[int]], ...]
    records: tuple[Record, ...]

    def scenario(self, case: Case) -> Scenario:
        """The scenario of a case."""
        for folder in self.folders:
            with Reader(folder) as store:
                if store.scenario(case.config) is not None:
                    return stored_scenario(store, case.config, case.seed, case.scenario)
        raise ValueError(f"the scenario of {case} is not known")

    def save(self, results: Measured, folder: Path, format: str, *, force: bool) -> list[Path]:
        """Adds the runs to a folder."""
        sampled: dict[int, tuple[list[str], str]] = {}
        for record in self.records:
            names, interval = sampled.get(record.case, ([], ""))
            if record.quantities:
                names, interval = [*names, *record.quantities], interval or record.interval
            sampled[record.case] = list(dict.fromkeys(names)), interval
        cases = []
        for case, (file, runs) in zip(self.cases, self.asked, strict=True):
            scenario = self.scenario(case)
            core = _same(scenario.core, case.config, self.folders[0])
            core = _sampling(core, *sampled.get(case.number, ([], "")))
            base = scenario._base
            cases.append(Planned(core, case.scenario, file, case.settings, runs, base=base))
        return _save(results, cases, self.records, folder, format, force=force)


def planned(store: Reader, runs: int | Sequence[int] | None, series: Sequence[str]) -> list[Planned]:
    """The cases of a store, with the runs that it was to have or those that are wanted now."""
    chosen = numbers(runs)
    found = []
    for case in store.cases():
        scenario = stored_scenario(store, case.config, case.seed, case.scenario)
        core = _same(scenario.core, case.config, store.path)
        try:
            core = _sampling(core, list(dict.fromkeys([*case.series, *series])), case.interval)
        except ScenarioError as error:
            problem = error.problems[0].message
            raise StoreError(f"{store.path}: cases, row {case.number}: {problem}") from error
        own = case.runs if chosen is None else chosen
        base = scenario._base
        found.append(Planned(core, case.scenario, None, case.settings, own, base=base))
    return found


def stored_scenario(store: Reader, config: str, seed: int, name: str) -> Scenario:
    """A scenario as a store holds it, with its files and rules laid out in a folder.

    Raises:
        ScenarioError: when it cannot be read, as when a rule of it is not to be found.
        StoreError: when the store does not have it.
    """
    return store.inputs(config).scenario(name, seed)


def _same(core: _core.Scenario, config: str, where: Path) -> _core.Scenario:
    if core.hash != config:
        raise StoreError(
            f"{where}: the scenario of {core.name} has the hash {core.hash} in this build of "
            f"Hopyard, {_core.__version__} (build {_core.BUILD}), and {config} in the one that "
            "made the results: they can be read, but neither saved nor continued by this build; "
            "make the runs anew in another folder"
        )
    return core


def _sampling(core: _core.Scenario, series: Sequence[str], interval: str) -> _core.Scenario:
    """The scenario with these series."""
    if not series:
        return core
    return core.with_settings(measuring(series, interval))


def _save(
    results: Measured, cases: Sequence[Planned], records: Sequence[Record], path: Path, format: str, *, force: bool
) -> list[Path]:
    rows = {name: _bare(getattr(results, name), results) for name in TABLES}
    folder = Folder(path, cases, force=force, writes=table_files(format))
    try:
        _check_same(folder.store, cases, records)
        wanted = {(number, run) for number, case in enumerate(folder.missing(cases)) for run in case.runs}
        new = [each for each in records if (each.case, each.run) in wanted]
        if new:
            mine = {name: tables.restrict(table, wanted) for name, table in rows.items()}
            folder.store.add(cases, new, mine)
        return folder.write(together([part_of(folder.store)]).measured(), format)
    finally:
        folder.close()


def _check_same(store: Store, cases: Sequence[Planned], records: Sequence[Record]) -> None:
    """Refuses runs of another build than those of a store, and other results of a run."""
    builds = {(maker.version, maker.build): maker.name for maker in store.makers()}
    for record in records:
        if builds and (record.version, record.build) not in builds:
            raise FolderError(
                f"{store.folder} has runs of Hopyard {next(iter(builds.values()))}, and these are "
                f"of {record.version} (build {record.build}): their results may differ"
            )
    kept = [store.kept(*case.key) for case in cases]
    for record in records:
        there = kept[record.case].get(record.run)
        digests = {each.digest for each in (there, record) if each and each.digest}
        if len(digests) > 1:
            raise FolderError(f"{store.folder} has another result of run {record.run} of {cases[record.case].scenario}")


def _bare(table: pa.Table, results: Measured) -> pa.Table:
    """The table without what `with_origin` has added, but for the numbers of case and run."""
    added = {"scenario", *results.settings, "seed", "config", "version"}
    names = [name for name in table.column_names if name not in added | {"case", "run"}]
    return table.select(["case", "run", *names])
