"""Folders read as one: each run once, each configuration in one place, whatever the order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hopyard.errors import StoreError
from hopyard.scenario.inputs import read_toml
from hopyard.scenario.recorded import ALL_SEGMENTS, MOBILE_EVENTS, PATHS, RATES, ROUTES, SEGMENTS
from hopyard.scenario.scenario import value_of
from hopyard.store.reading import Reader
from hopyard.tables import tables
from hopyard.tables.arrays import array, integers, where
from hopyard.tables.cases import Case
from hopyard.tables.names import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from hopyard.store.records import Maker, Record, StoredCase

#: Configuration and seed; with the number of a run.
Key = tuple[str, int]
RunKey = tuple[str, int, int]

#: The tables of which a run records parts, by the value of a column, and the names under which a
#: store has recorded the part of a value.
CHOSEN: dict[str, tuple[str, Callable[[Any], tuple[str, ...]]]] = {
    "series": ("quantity", lambda quantity: (quantity,)),
    "segments": ("flow", lambda flow: (ALL_SEGMENTS, f"{SEGMENTS}{flow}")),
}


@dataclass(frozen=True)
class Part:
    """What a folder held at one moment."""

    folder: Path
    cases: list[StoredCase]
    #: What is known of each run, in the order of cases and runs.
    runs: list[Record]
    makers: list[Maker]
    #: The rows of all runs, by table, with the numbers of case and run.
    rows: dict[str, pa.Table]
    #: Why rows of a large table are missing, if some are, by the table's name.
    broken: dict[str, StoreError]

    @cached_property
    def by_key(self) -> dict[Key, list[StoredCase]]:
        """The cases of each configuration and seed: several if names were compared."""
        found: dict[Key, list[StoredCase]] = {}
        for case in self.cases:
            found.setdefault((case.config, case.seed), []).append(case)
        return found


@dataclass(frozen=True)
class Merged:
    """What parts hold together."""

    cases: list[Case]
    rows: dict[str, pa.Table]
    #: The runs that failed in every folder that has them, with their cases.
    failed: list[tuple[StoredCase, Record]]
    complete: bool
    #: All runs, with the numbers of these cases.
    records: tuple[Record, ...]
    #: Of each case the file from which it was read, and the runs that were asked for.
    asked: tuple[tuple[str | None, Sequence[int]], ...]


def merged(parts: Sequence[Part]) -> Merged:
    """The parts as one: a run that several have is there once.

    Raises:
        StoreError: when parts were made by different builds, or have different results of a run.
    """
    if len(parts) == 1:
        return _alone(parts[0])
    _one_build(parts)
    cases = [replace(case, number=number) for number, case in enumerate(_cases(parts))]
    numbers: dict[Key, list[int]] = {}
    for case in cases:
        numbers.setdefault((case.config, case.seed), []).append(case.number)
    done, failed = _sources(parts)
    rows: dict[str, list[pa.Table]] = {name: [table.slice(0, 0)] for name, table in parts[0].rows.items()}
    for index, part in enumerate(parts):
        first = {key: own[0].number for key, own in part.by_key.items()}
        for name in TABLES:
            wanted = {
                (first[config, seed], run)
                for (config, seed, run), source in done.items()
                if source.part_of(name) == index
            }
            table = part.rows[name]
            table = _chosen(table, name, index, first, done) if name in CHOSEN else tables.restrict(table, wanted)
            rows[name] += _renumbered(table, {old: numbers[key] for key, old in first.items()})
    whole = {name: tables.ordered(each) for name, each in rows.items()}
    made = [
        *((key[:2], replace(each.run, quantities=tuple(each.quantities))) for key, each in done.items()),
        *((_key(run)[:2], run) for _, run in failed),
    ]
    records = tuple(replace(run, case=number) for key, run in made for number in numbers[key])
    asked = tuple(_asked(parts, (case.config, case.seed)) for case in cases)
    return Merged(cases, whole, failed, _complete(parts, done), records, asked)


def _asked(parts: Sequence[Part], key: Key) -> tuple[str | None, Sequence[int]]:
    mine = [case for part in parts for case in part.by_key.get(key, ())]
    return mine[0].file, sorted({run for case in mine for run in case.runs})


def _alone(part: Part) -> Merged:
    by_number = {case.number: case for case in part.cases}
    done = {_key(run) for run in part.runs if run.state == "done"}
    failed = [(by_number[run.case], run) for run in part.runs if run.state != "done"]
    cases = [Case(c.number, c.scenario, c.settings, c.config, c.seed) for c in part.cases]
    asked = tuple((case.file, case.runs) for case in part.cases)
    return Merged(cases, part.rows, failed, _complete([part], done), tuple(part.runs), asked)


def _key(run: Record) -> RunKey:
    return run.config, run.seed, run.run


def _complete(parts: Sequence[Part], done: Container[RunKey]) -> bool:
    """Whether all runs are done that were asked for in any part."""
    return all((case.config, case.seed, run) in done for part in parts for case in part.cases for run in case.runs)


def completed(cases: Sequence[Case], document: Callable[[Case], dict[str, Any]]) -> list[Case]:
    """The cases with a value of every key that is compared: where it was not set, the scenario's.

    Args:
        cases: the cases of one comparison, whose keys may differ.
        document: gives the complete scenario of a case.
    """
    keys = list(dict.fromkeys(key for case in cases for key in case.settings))
    found = []
    for case in cases:
        if all(key in case.settings for key in keys):
            found.append(case)
            continue
        here = document(case) | {"seed": case.seed, "name": case.scenario}
        own = {key: case.settings.get(key) or value_of(here, key) or "" for key in keys}
        found.append(replace(case, settings=own))
    return found


def documents(folders: Sequence[Path]) -> Callable[[Case], dict[str, Any]]:
    """A function that gives the complete scenario of a case that one of the folders has."""

    def document(case: Case) -> dict[str, Any]:
        for folder in folders:
            with Reader(folder) as store:
                text = store.scenario(case.config)
            if text is not None:
                return read_toml(text, f"{store.path}: configurations, {case.config}")
        raise StoreError(f"none of the folders has the scenario of {case}")

    return document


def _one_build(parts: Sequence[Part]) -> None:
    builds: dict[str, Path] = {}
    for part in parts:
        for maker in part.makers:
            builds.setdefault(maker.name, part.folder)
    if len(builds) > 1:
        made = ", ".join(f"{where} by {name}" for name, where in builds.items())
        raise StoreError(f"the folders were made by different builds of Hopyard, and their results may differ: {made}")


def _cases(parts: Sequence[Part]) -> list[Case]:
    """The cases of all parts, in the order in which they come first.

    A configuration and seed is one case, with the settings of all parts; or one for each name
    where a part compares names.
    """
    found: dict[tuple[Key, object], Case] = {}
    for part in parts:
        for case in part.cases:
            key = case.config, case.seed
            owns = [each.by_key[key] for each in parts if key in each.by_key]
            several = [own for own in owns if len(own) > 1]
            shared: dict[str, str] = {}
            for own in owns:
                if len(own) == 1:
                    shared = {**own[0].settings, **shared}
            named = [each for own in several for each in own] or [owns[0][0]]
            mine = [each for each in named if _label(each) == _label(case)] or named
            for each in mine:
                settings = {**shared, **each.settings}
                found.setdefault((key, _label(each)), Case(0, each.scenario, settings, *key))
    return list(found.values())


def _label(case: StoredCase) -> object:
    return case.scenario, tuple(case.settings.items())


@dataclass(frozen=True)
class _Source:
    """Where the rows of a run are from."""

    part: int
    run: Record
    #: For each sampled quantity, the part that has it.
    quantities: dict[str, int]

    def part_of(self, table: str) -> int:
        """The part whose rows of a table are taken: one that has recorded them."""
        names = {"route_changes": ROUTES[::-1], "rate_changes": (RATES,), "paths": (PATHS,)}
        recorded = {**names, "mobile_events": (MOBILE_EVENTS,)}.get(table, ())
        found = self.part_with(recorded)
        return self.part if found is None else found

    def part_with(self, names: Iterable[str]) -> int | None:
        """The part that has recorded something under the first of these names that one has."""
        return next((self.quantities[name] for name in names if name in self.quantities), None)


def _sources(parts: Sequence[Part]) -> tuple[dict[RunKey, _Source], list[tuple[StoredCase, Record]]]:
    """The part from which each finished run is taken, and the runs that are finished nowhere."""
    done: dict[RunKey, _Source] = {}
    failed: dict[RunKey, tuple[StoredCase, Record]] = {}
    for index, part in enumerate(parts):
        by_number = {case.number: case for case in part.cases}
        for run in part.runs:
            key = _key(run)
            if run.state != "done":
                failed.setdefault(key, (by_number[run.case], run))
                continue
            source = done.setdefault(key, _Source(index, run, {}))
            if source.run.digest != run.digest:
                raise StoreError(
                    f"{parts[source.part].folder} and {part.folder} have different results of run "
                    f"{key[2]} of configuration {key[0]}, seed {key[1]}"
                )
            for quantity in run.quantities:
                source.quantities.setdefault(quantity, index)
    return done, [each for key, each in failed.items() if key not in done]


def _chosen(table: pa.Table, name: str, index: int, first: dict[Key, int], done: dict[RunKey, _Source]) -> pa.Table:
    """The rows that are taken from a part: each quantity or flow of a run is from one part."""
    from pyarrow import compute

    mask = np.zeros(len(table), dtype=bool)
    column, names = CHOSEN[name]
    for value in table[column].unique().to_pylist():
        wanted = {
            (first[config, seed], run)
            for (config, seed, run), source in done.items()
            if source.part_with(names(value)) == index
        }
        here = np.asarray(compute.equal(table[column], value))
        mask |= here & tables.of_runs(table, wanted)
    return where(table, mask)


def _renumbered(table: pa.Table, numbers: Mapping[int, Sequence[int]]) -> list[pa.Table]:
    """The rows with the new numbers of their cases: as often as a case has new ones."""
    case = integers(table, "case")
    place = table.schema.get_field_index("case")
    found = []
    for copy in range(max(map(len, numbers.values()), default=0)):
        new = np.full(max(numbers) + 1, -1, dtype=np.int64)
        for old, news in numbers.items():
            new[old] = news[copy] if copy < len(news) else -1
        mine = new[case] if len(case) else case
        column = array(mine[mine >= 0].astype(np.uint32))
        rows = where(table, mine >= 0)
        found.append(rows.set_column(place, table.schema.field(place), column))
    return found
