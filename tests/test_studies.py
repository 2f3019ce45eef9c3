"""The studies without simulation: each configuration is checked, each table and plot is made.

The runs are replaced: they return tables with the right columns and constant values.
"""

from __future__ import annotations

import csv
import importlib
import json
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hopyard import running
from hopyard.loading import of_batch
from hopyard.results import Results

from studies.__main__ import HERE, NAMES
from studies.common import Lab

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hopyard.plan import Planned

#: A series has a sample in each second of this time, which is longer than any study measures.
SECONDS = 100


def filled(schema: pa.Schema, given: Mapping[str, Sequence[object]], rows: int) -> pa.Table:
    """A table with these columns. The other numbers are 1, and other texts are empty."""

    def column(field: pa.Field) -> pa.Array:
        if field.name in given:
            return pa.array(given[field.name], field.type)
        number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        value: object = 1 if number else False if pa.types.is_boolean(field.type) else ""
        return pa.array([value] * rows, field.type)

    return pa.Table.from_arrays([column(field) for field in schema], schema=schema)


def stand_in(cases: Sequence[Planned]) -> Results:
    """Results with rows for each run of these cases. The flows of a run share a goodput of 1."""
    empty = of_batch(cases, [], [])
    runs = [(number, run) for number, case in enumerate(cases) for run in case.runs]
    documents = [json.loads(case.core.to_json(defaults=True)) for case in cases]
    counts = [
        len(document.get("flow", [])) + document.get("flows", {}).get("random", 0)
        for document in documents
    ]
    flows = [
        (case, run, flow, 1 / counts[case]) for case, run in runs for flow in range(counts[case])
    ]
    samples = [
        (case, run, 0, quantity, float(time))
        for case, run in runs
        for quantity in cases[case].series
        for time in range(SECONDS)
    ]

    def table(like: pa.Table, names: Sequence[str], keys: Sequence[tuple[object, ...]]) -> pa.Table:
        columns = {name: [key[place] for key in keys] for place, name in enumerate(names)}
        return filled(like.schema, columns, len(keys))

    return Results(
        flows=table(empty.flows, ["case", "run", "flow", "goodput_kbps"], flows),
        nodes=table(empty.nodes, ["case", "run"], runs),
        drops=empty.drops,
        series=table(empty.series, ["case", "run", "flow", "quantity", "time_s"], samples),
        decisions=empty.decisions,
    )


@pytest.mark.parametrize("name", NAMES)
def test_each_configuration_of_a_study_is_accepted_and_its_files_are_made(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked: list[Planned] = []

    def make(cases: Sequence[Planned], **_: object) -> Results:
        checked.extend(cases)
        return stand_in(cases)

    # The scenarios are read, changed and checked before this is called.
    monkeypatch.setattr(running, "make", make)
    study = importlib.import_module(f"studies.{name}.study")
    lab = Lab(HERE / name, tmp_path, name, runs=2)
    study.run(lab)
    lab.finish()
    assert len({case.config for case in checked}) > 10
    committed = HERE / name / "results"
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in committed.iterdir()}
    for path in tmp_path.glob("*.csv"):
        headers = []
        for folder in (tmp_path, committed):
            with (folder / path.name).open(newline="", encoding="utf-8") as file:
                headers.append(next(csv.reader(file)))
        assert headers[0] == headers[1], path.name
