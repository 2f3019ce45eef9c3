"""Reading folders: at one moment, several as one, and what is damaged in them."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import hopyard
import numpy as np
import pyarrow as pa
import pytest
from hopyard import Results, Scenario
from hopyard.errors import StoreError
from hopyard.store.reading import Reader
from hopyard.store.store import Store
from hopyard.tables.names import ROWS
from pyarrow import parquet
from short import SHORT, TCPS, ok, refused, sql

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_read_is_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "o"
    hopyard.run(Scenario(SHORT), runs=2, out=out)
    table, added = Reader.table, []

    def add_a_run(self: Reader, name: str) -> object:
        # Another process commits a run between the reads of two tables.
        if name == "nodes":
            with closing(sqlite3.connect(out / "results.sqlite")) as other, other:
                for each in ("runs", *ROWS):
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


def test_a_folder_that_is_given_twice_is_read_once(here: Path) -> None:
    once = hopyard.run(Scenario(SHORT), runs=2, out="o")
    (here / "linked").symlink_to("o")
    for same in ("o", "./o/", here / "o", "linked"):
        both = Results.load("o", same)
        assert both.flows.equals(once.flows)
        assert both.estimate("goodput", both.cases[0]) == once.estimate("goodput", once.cases[0])
    # A copy has the same runs, too.
    shutil.copytree("o", "copy")
    assert Results.load("o", "copy").flows.equals(once.flows)


def test_a_configuration_is_one_case_whatever_its_folders_compare(tmp_path: Path) -> None:
    plain, compared, other = (tmp_path / name for name in ("plain", "compared", "other"))
    hopyard.run(Scenario(SHORT), runs=[0, 1], out=plain)
    hopyard.run(Scenario(SHORT), set=TCPS, runs=[1, 2], out=compared)
    hopyard.run(Scenario(SHORT), set={"nodes.count": [3]}, runs=[5], out=other)
    whole = hopyard.run(Scenario(SHORT), runs=6)
    wanted = np.isin(whole.flows["run"], [0, 1, 2, 5])
    for order in itertools.permutations([plain, compared, other]):
        merged = Results.load(*order)
        by_tcp = {case.settings["flow.tcp"]: case for case in merged.cases}
        assert sorted(by_tcp) == ["newreno", "vegas"]
        assert merged.runs_of(by_tcp["newreno"]).tolist() == [0, 1, 2, 5]
        assert merged.runs_of(by_tcp["vegas"]).tolist() == [1, 2]
        rates = merged.values("goodput", by_tcp["newreno"]).tolist()
        assert rates == whole.flows.filter(pa.array(wanted))["goodput_kbps"].to_pylist()


def test_names_that_are_compared_stay_cases(tmp_path: Path) -> None:
    named, plain = tmp_path / "named", tmp_path / "plain"
    hopyard.run(Scenario(SHORT), set={"name": ["a", "b"]}, runs=1, out=named)
    hopyard.run(Scenario(SHORT), runs=2, out=plain)
    for order in ([named, plain], [plain, named]):
        merged = Results.load(*order)
        assert [(case.scenario, len(merged.runs_of(case))) for case in merged.cases] == [("a", 2), ("b", 2)]


def samples(results: Results) -> list[tuple[object, ...]]:
    columns = ("run", "flow", "quantity", "time_s", "value")
    return sorted(tuple(row[name] for name in columns) for row in results.series.to_pylist())


def test_series_are_taken_from_the_folder_that_has_them(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("none", "cwnd", "both")]
    for folder, series in zip(folders, ([], ["cwnd"], ["cwnd", "srtt"]), strict=True):
        hopyard.run(Scenario(SHORT), runs=2, series=series, out=folder)
    whole = Results.load(folders[2]).series
    assert Results.load(*folders[:2]).series.equals(Results.load(folders[1]).series)
    assert len(Results.load(folders[0], folders[2]).series) == len(whole)
    for order in itertools.permutations(folders):
        assert samples(Results.load(*order)) == samples(Results.load(folders[2]))


def test_a_key_that_was_not_compared_has_the_value_of_the_scenario(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    hopyard.run(Scenario(SHORT), set=TCPS, runs=1, out=one)
    hopyard.run(Scenario(SHORT), set={"nodes.count": [4, 5]}, runs=1, out=two)
    merged = Results.load(one, two)
    pairs = [(merged.setting(c, "flow.tcp"), merged.setting(c, "nodes.count")) for c in merged.cases]
    assert pairs == [("newreno", "3"), ("vegas", "3"), ("newreno", "4"), ("newreno", "5")]
    assert merged.flows["nodes.count"].to_pylist() == ["3", "3", "4", "5"]
    (axis,) = merged.plot(x="nodes.count").axes
    ticks = [label.get_text() for label in axis.get_xticklabels()]
    assert "" not in ticks
    # The same within one comparison of two files.
    sweep = Scenario(SHORT | {"name": "sweep", "sweep": {"nodes.count": [4, 5]}})
    both = hopyard.run([Scenario(SHORT), sweep], runs=1)
    assert both.flows["nodes.count"].to_pylist() == ["3", "4", "5"]


def test_a_run_that_failed_in_one_folder_is_taken_from_another(tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    whole = hopyard.run(Scenario(SHORT), runs=2, out=good)
    shutil.copytree(good, bad)
    sql(bad, "UPDATE runs SET state = 'failed', digest = NULL, error = 'e' WHERE run = 1")
    sql(bad, *(f"DELETE FROM {table} WHERE run = 1" for table in ROWS))
    assert [failure.run for failure in Results.load(bad).failures] == [1]
    for order in ([bad, good], [good, bad]):
        merged = Results.load(*order)
        assert merged.flows.equals(whole.flows)
        assert merged.failures == ()


def damaged(path: Path, how: str) -> None:
    if how == "gone":
        path.unlink()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    elif how == "zeros":
        data = bytearray(path.read_bytes())
        data[len(data) // 8 : len(data) // 2] = bytes(len(data) // 2 - len(data) // 8)
        path.write_bytes(data)
    elif how == "text":
        path.write_text("no table")
    elif how == "other":
        parquet.write_table(pa.table({"mine": [1]}), path)
    else:
        path.unlink()
        path.mkdir()


@pytest.mark.parametrize("how", ["gone", "empty", "cut", "zeros", "text", "other", "folder"])
def test_a_damaged_file_of_series_is_named_and_made_again(short: Path, tmp_path: Path, how: str) -> None:
    out = tmp_path / "o"
    whole = hopyard.run(short, runs=3, series="cwnd", out=out)
    path = sorted((out / "series").iterdir())[1]
    damaged(path, how)
    results = Results.load(out)
    assert results.flows.equals(whole.flows)
    assert results.estimate("goodput", results.cases[0]).runs == 3
    with pytest.raises(StoreError, match=rf"{path.name} (is gone|cannot be read: .+); `hopyard run"):
        results.plot_series("cwnd")
    done = ok("show", out)
    assert path.name in done.stderr
    assert "Goodput" in done.stdout
    assert path.name in refused("plot", out, "--series", "cwnd").stderr
    ok("plot", out)
    # The first run after it makes this run again, and no other.
    told: list[int] = []
    again = hopyard.run(short, runs=3, series="cwnd", out=out, progress=lambda p: told.append(p.runs))
    assert set(told) == {1}
    assert again.series.equals(whole.series)
    assert Results.load(out).problem is None
