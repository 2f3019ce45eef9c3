"""Folders read as one: each run once, each configuration in one place, whatever the order."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hopyard import tables
from hopyard.database import TABLES, StoreError
from hopyard.results import Case
from hopyard.scenario import value_of
from hopyard.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from hopyard.reading import Maker, StoredCase

#: Configuration and seed.
Key = tuple[str, int]


@dataclass(frozen=True)
class Part:
    """What a folder held at one moment."""

    folder: Path
    cases: list[StoredCase]
    #: What is known of each run, in the order of cases and runs.
    runs: list[dict[str, Any]]
    makers: list[Maker]
    #: The rows of all runs, by table, with the numbers of case and run.
    rows: dict[str, pa.Table]
    complete: bool

    def own(self, key: Key) -> list[StoredCase]:
        """The cases of a configuration and seed: several if names were compared."""
        return [case for case in self.cases if (case.config, case.seed) == key]


@dataclass(frozen=True)
class Merged:
    """What parts hold together."""

    cases: list[Case]
    rows: dict[str, pa.Table]
    #: The runs that failed in every folder that has them: the case's number, the part's case.
    failed: list[tuple[StoredCase, dict[str, Any]]]


def merged(parts: Sequence[Part]) -> Merged:
    """The parts as one: a run that several have is there once.

    Raises:
        StoreError: when parts were made by different builds, or have different results of a run.
    """
    _one_build(parts)
    groups = _groups(parts)
    cases = [
        replace(case, number=number)
        for number, case in enumerate(case for group in groups.values() for case in group)
    ]
    numbers: dict[Key, list[int]] = {}
    for case in cases:
        numbers.setdefault((case.config, case.seed), []).append(case.number)
    done, failed = _sources(parts)
    rows: dict[str, list[pa.Table]] = {name: [] for name in TABLES}
    for index, part in enumerate(parts):
        first = {key: own[0].number for key in numbers if (own := part.own(key))}
        whose = {number: key for key, number in first.items()}
        wanted = {
            (first[config, seed], run)
            for (config, seed, run), source in done.items()
            if source.part == index
        }
        for name in TABLES:
            table = part.rows[name]
            if name == "series":
                table = _sampled(table, index, first, done)
            else:
                table = tables.restrict(table, wanted)
            rows[name] += _spread(table, [(old, numbers[key]) for old, key in whose.items()])
    return Merged(
        cases,
        {
            name: tables.ordered(each) if each else parts[0].rows[name]
            for name, each in rows.items()
        },
        failed,
    )


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
            with Store(folder) as store:
                text = store.scenario(case.config)
            if text is not None:
                return tomllib.loads(text)
        raise StoreError(f"none of the folders has the scenario of {case}")

    return document


def _one_build(parts: Sequence[Part]) -> None:
    builds: dict[str, Path] = {}
    for part in parts:
        for maker in part.makers:
            builds.setdefault(maker.name, part.folder)
    if len(builds) > 1:
        made = ", ".join(f"{where} by {name}" for name, where in builds.items())
        raise StoreError(
            f"the folders were made by different builds of Hopyard, and their results may "
            f"differ: {made}"
        )


def _groups(parts: Sequence[Part]) -> dict[Key, list[Case]]:
    """The cases of each configuration and seed.

    There is one, with what all folders compare, or one for each name where a folder compares names.
    """
    groups: dict[Key, list[Case]] = {}
    for key in dict.fromkeys((case.config, case.seed) for part in parts for case in part.cases):
        owns = [own for part in parts if (own := part.own(key))]
        several = [own for own in owns if len(own) > 1]
        shared: dict[str, str] = {}
        for own in owns:
            if len(own) == 1:
                shared = {**own[0].settings, **shared}
        chosen = {
            (case.scenario, tuple(case.settings.items())): case
            for own in several or owns[:1]
            for case in own
        }
        groups[key] = [
            Case(0, each.scenario, {**shared, **each.settings}, each.config, each.seed)
            for each in chosen.values()
        ]
    return groups


@dataclass(frozen=True)
class _Source:
    """Where the rows of a run are from."""

    part: int
    digest: str
    #: For each sampled quantity, the part that has it.
    quantities: dict[str, int]


def _sources(
    parts: Sequence[Part],
) -> tuple[dict[tuple[str, int, int], _Source], list[tuple[StoredCase, dict[str, Any]]]]:
    """The part from which each finished run is taken, and the runs that are finished nowhere."""
    done: dict[tuple[str, int, int], _Source] = {}
    failed: dict[tuple[str, int, int], tuple[StoredCase, dict[str, Any]]] = {}
    for index, part in enumerate(parts):
        by_number = {case.number: case for case in part.cases}
        for run in part.runs:
            key = run["config"], run["seed"], run["run"]
            if run["state"] != "done":
                failed.setdefault(key, (by_number[run["case"]], run))
                continue
            source = done.setdefault(key, _Source(index, run["digest"], {}))
            if source.digest != run["digest"]:
                raise StoreError(
                    f"{parts[source.part].folder} and {part.folder} have different results of run "
                    f"{key[2]} of configuration {key[0]}, seed {key[1]}"
                )
            for quantity in json.loads(run["quantities"]):
                source.quantities.setdefault(quantity, index)
    return done, [each for key, each in failed.items() if key not in done]


def _sampled(
    table: pa.Table,
    index: int,
    first: dict[Key, int],
    done: dict[tuple[str, int, int], _Source],
) -> pa.Table:
    """The samples that are taken from a part: each quantity of a run is from one part."""
    mask = np.zeros(len(table), dtype=bool)
    for quantity in pc.unique(table["quantity"]).to_pylist():
        wanted = {
            (first[config, seed], run)
            for (config, seed, run), source in done.items()
            if source.quantities.get(quantity) == index
        }
        here = np.asarray(pc.equal(table["quantity"], quantity))
        mask |= here & tables.of_runs(table, wanted)
    return table.filter(pa.array(mask))


def _spread(table: pa.Table, numbers: Iterable[tuple[int, Sequence[int]]]) -> list[pa.Table]:
    """The rows with the new numbers of their cases, once for each."""
    case = tables.numbers(table, "case")
    found = []
    for old, news in numbers:
        rows = table.filter(pa.array(case == old))
        for new in news if len(rows) else ():
            column = pa.array(np.full(len(rows), new, dtype=np.uint32))
            place = rows.schema.get_field_index("case")
            found.append(rows.set_column(place, rows.schema.field(place), column))
    return found
