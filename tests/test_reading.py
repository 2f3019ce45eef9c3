"""Reading folders: at one moment, several as one, and what is damaged in them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import hopyard
from hopyard import Results, Scenario
from hopyard.reading import Reader
from hopyard.store import Store
from short import SHORT

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_what_is_read_is_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "o"
    hopyard.run(Scenario(SHORT), runs=2, out=out)
    table, added = Reader.table, []

    def add_a_run(self: Reader, name: str) -> object:
        # Another process commits a run between the reads of two tables.
        if name == "nodes":
            with closing(sqlite3.connect(out / "results.sqlite")) as other, other:
                for each in ("runs", "flows", "nodes"):
                    columns = [row[1] for row in other.execute(f"PRAGMA table_info({each})")]
                    chosen = ", ".join("9" if name == "run" else f'"{name}"' for name in columns)
                    other.execute(f"INSERT INTO {each} SELECT {chosen} FROM {each} WHERE run = 0")
            added.append(name)
        return table(self, name)

    # While runs go on, the file has a log.
    with Store(out, write=True):
        monkeypatch.setattr(Reader, "table", add_a_run)
        results = Results.load(out)
        assert added == ["nodes"]
        assert len(set(results.flows["run"].to_pylist())) == 2
        assert set(results.nodes["run"].to_pylist()) == set(results.flows["run"].to_pylist())
        monkeypatch.setattr(Reader, "table", table)
        assert len(Results.load(out).flows) == 3
