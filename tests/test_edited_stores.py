"""Stores that were edited by hand, or are damaged: one error, with store, table and row."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import hopyard
import pytest
from hopyard import Results, Scenario, ScenarioError
from hopyard._core import result_tables
from hopyard.errors import StoreError
from hopyard.results.provenance import planned
from hopyard.store.reading import Reader
from short import SHORT, TCPS, command, ok, refused, sql

if TYPE_CHECKING:
    from pathlib import Path

TWO_FLOWS = SHORT | {"flow": [{"from": 0, "to": 2}, {"from": 2, "to": 0, "tcp": "vegas"}], "link": {"queue_length": 2}}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run for each of two cases, with a movement file and series."""
    base = tmp_path_factory.mktemp("edited")
    (base / "moves.txt").write_text("0 0 0\n0 200 0\n0 400 0\n")
    file = {"path": "moves.txt", "format": "bonnmotion"}
    mobility = {"model": "movement_file", "movement_file": file}
    moving = TWO_FLOWS | {"nodes": {"placement": "mobility"}, "mobility": mobility}
    scenario = Scenario(moving, base=base)
    hopyard.run(scenario, set=TCPS, runs=1, series=["cwnd"], out=base / "o", progress=False)
    return base / "o"


@pytest.fixture
def out(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "o")
    return tmp_path / "o"


@pytest.mark.parametrize("table", ["flows", "nodes", "drops"])
@pytest.mark.parametrize("which", ["", " WHERE run = 1", " WHERE rowid % 3 = 2"])
def test_rows_that_are_missing_are_an_error_and_their_runs_made_again(tmp_path: Path, table: str, which: str) -> None:
    out = tmp_path / "o"
    whole = hopyard.run(Scenario(TWO_FLOWS), set=TCPS, runs=3, out=out)
    sql(out, f"DELETE FROM {table}{which}")
    with pytest.raises(StoreError, match=rf"results.sqlite: {table} has \d+ rows, and \d+ were add"):
        Results.load(out)
    assert f": {table} has " in refused("show", out).stderr
    ok("run", out, "-q")
    assert getattr(Results.load(out), table).equals(getattr(whole, table))


def test_rows_of_a_run_that_is_not_there_are_an_error(tmp_path: Path) -> None:
    out = tmp_path / "o"
    whole = hopyard.run(Scenario(TWO_FLOWS), runs=3, out=out)
    sql(out, "DELETE FROM runs WHERE run = 1")
    with pytest.raises(StoreError, match="flows has rows of run 1 of case 0, which is not among"):
        Results.load(out)
    ok("run", out, "-q")
    assert Results.load(out).flows.equals(whole.flows)


#: Edits, each with the words of the answer.
EDITS = {
    "DELETE FROM meta WHERE key = 'columns of flows'": "meta, columns of flows",
    "UPDATE meta SET value = '[[1]]' WHERE key = 'columns of flows'": "meta, columns of flows",
    "UPDATE meta SET value = '{' WHERE key = 'columns of nodes'": "meta, columns of nodes",
    "UPDATE runs SET run = 'abc'": "runs, row 1: run: expected a whole number",
    "UPDATE runs SET run = -1": "runs, row 1: run: expected a whole number",
    "UPDATE runs SET run = 1 << 40": "runs, row 1: run: expected a whole number",
    "UPDATE runs SET quantities = 'x'": "runs, row 1: quantities: expected a list of texts",
    "UPDATE runs SET series = '../../x.parquet'": "runs, row 1: series: expected the name",
    "UPDATE runs SET ended = x'ff'": "runs, row 1: ended: expected a text",
    "UPDATE cases SET settings = '[1]'": "cases, row 0: settings: expected pairs of texts",
    "UPDATE cases SET seed = 'x'": "cases, row 0: seed: expected a whole number",
    "UPDATE cases SET runs = -3": "cases, row 0: runs: expected a whole number",
    "UPDATE cases SET numbers = '4..0'": "cases, row 0: numbers: expected numbers of runs",
    "UPDATE cases SET numbers = '0..99999999999'": "cases, row 0: numbers: expected numbers",
    "UPDATE cases SET number = 7 WHERE number = 1": "cases, row 7: number: expected the number 1",
    "UPDATE flows SET goodput_kbps = 'abc'": "flows, row 1: goodput_kbps: expected double",
    "UPDATE flows SET goodput_kbps = NULL": "flows, row 1: goodput_kbps: expected double",
    "UPDATE flows SET timeouts = -1": "flows, row 1: timeouts: expected uint",
    "UPDATE flows SET run = 1 << 40 WHERE rowid = 2": "flows, row 2: run: expected uint32",
    "DROP TABLE flows": "meta, columns of flows",
    "DROP TABLE runs": "no such table: runs",
}
#: The same, where the scenarios are read.
INPUTS = {
    "DELETE FROM configurations": "configurations has no row",
    "UPDATE configurations SET toml = 'x'": "configurations",
    "UPDATE configurations SET toml = 'duration = \"2 s\"'": "configuration",
    "UPDATE configurations SET files = '[]'": "cannot be read",
    "UPDATE configurations SET files = '[1]'": "configurations, row 1: files: expected pairs",
    "UPDATE configurations SET rules = '[1]'": "configurations, row 1: rules: expected pairs",
    "DELETE FROM files": "files has no row",
    "UPDATE files SET content = 'text'": "files, row 1: content: expected bytes",
    "UPDATE files SET content = x'00'": "files, row 1: content: expected what zlib has",
}


@pytest.mark.parametrize("statement", EDITS)
def test_a_wrong_row_is_named(out: Path, statement: str) -> None:
    sql(out, statement)
    with pytest.raises(StoreError) as caught:
        Results.load(out)
    assert EDITS[statement] in str(caught.value)
    assert str(out / "results.sqlite") in str(caught.value)
    done = command("show", out)
    assert (done.exit_code, done.stderr.count("error: ")) == (2, 1)


@pytest.mark.parametrize("statement", INPUTS)
def test_a_wrong_row_is_named_where_scenarios_are_read(out: Path, statement: str) -> None:
    sql(out, statement)
    done = refused("run", out, "--runs", 2)
    assert INPUTS[statement] in done.stderr
    assert str(out / "results.sqlite") in done.stderr
    assert len(Results.load(out).flows) == 4


VALUES = ["NULL", "-1", "'abc'", "x'ff'", "'[[1, 2]]'"]


def test_no_value_is_a_traceback(made: Path, tmp_path: Path) -> None:
    """Each column of each table is given each value: it is read, or an error names the store."""
    with closing(sqlite3.connect(made / "results.sqlite")) as store:
        names = store.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        columns = [
            (table, column) for (table,) in names for _, column, *_ in store.execute(f"PRAGMA table_info({table})")
        ]
    # The tables of results are read in one way: the first columns of flows stand for all.
    results = [each for each in columns if each[0] in result_tables()]
    columns = [each for each in columns if each not in results or each in results[:8]]
    refused = 0
    shutil.copytree(made, tmp_path / "o")
    for table, column in columns:
        for value in VALUES:
            shutil.copy(made / "results.sqlite", tmp_path / "o" / "results.sqlite")
            try:
                sql(tmp_path / "o", f'UPDATE {table} SET "{column}" = {value}')
            except sqlite3.IntegrityError:
                continue
            answer = read(tmp_path / "o")
            assert "results.sqlite" in (answer or "results.sqlite"), (table, column, value)
            refused += answer is not None
    assert refused > 60


def read(folder: Path) -> str | None:
    """The error with which a folder and its scenarios are read, if there is one."""
    try:
        results = Results.load(folder)
        results.summary()
        with Reader(folder) as reader:
            planned(reader, None, ())
    except (StoreError, ScenarioError) as error:
        return str(error)
    return None
