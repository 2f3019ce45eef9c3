"""Results as data frames, and the tables that pandas, polars and DuckDB read."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import hopyard
import numpy as np
import pytest
from chains import HOPS, SENDERS, chain, write
from hopyard.errors import StoreError
from hopyard.store.database import EmptyStoreError
from hopyard.study import StudyError
from short import ok, sql
from sweeps import swept

if TYPE_CHECKING:
    from pathlib import Path

CHAIN = chain("2 s", nodes=4)
STUDY = f"""
title = "Senders on a chain"
scenario = "chain.toml"
runs = 3
measures = ["goodput", "window"]
{HOPS}{SENDERS}[axes.share]
key = "radio.capture"
values = ["8.5 dB", "10 dB"]
labels = ["8.5", "10"]
[measure.window]
column = "cwnd_mean"
reduce = "mean"
unit = "segments"
"""
COLUMNS = [
    *("experiment", "hops", "sender", "share", "run", "goodput", "window"),
    *("digest", "version", "build", "ended", "wall_s", "cpu_s", "config", "seed"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a study and its results."""
    folder = write(tmp_path_factory.mktemp("frames"), CHAIN, STUDY).parent
    swept(folder)
    return folder


@pytest.fixture(autouse=True)
def folder(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


def test_a_row_for_each_run_with_axes_as_numbers() -> None:
    pd = pytest.importorskip("pandas")
    found = hopyard.load_results("study.toml", out="store")
    assert isinstance(found, pd.DataFrame)
    assert list(found.columns) == COLUMNS
    assert len(found) == 24
    assert found["hops"].dtype == np.int64
    assert found["share"].dtype == np.float64
    assert sorted(set(found["share"])) == [8.5, 10.0]
    assert found["run"].dtype == np.int64
    assert set(found["sender"]) == {"NewReno", "Vegas"}
    assert (found["goodput"] > 0).all()
    assert (found["cpu_s"] > 0).all()
    assert set(found["version"]) == {hopyard.__version__}
    alone = hopyard.run("chain.toml", set={"flow.tcp": "vegas", "radio.capture": "10 dB"}, runs=3)
    mine = found.query("hops == 3 and sender == 'Vegas' and share == 10")
    assert list(mine["goodput"]) == list(alone.values("goodput", alone.cases[0]))
    assert list(mine["config"]) == [alone.cases[0].config] * 3
    assert found["digest"].str.fullmatch("[0-9a-f]{16,}").all()


def test_a_study_is_found_in_its_folder(folder: Path) -> None:
    chosen = hopyard.load_results(folder, out="store", only={"hops": 2}, measures="delay,window", frame="pyarrow")
    assert chosen.num_rows == 12
    assert {"delay", "window"} < set(chosen.column_names)
    assert "goodput" not in chosen.column_names


def test_a_folder_without_its_study() -> None:
    found = hopyard.load_results("store", frame="pyarrow")
    assert found.column_names[:5] == ["scenario", "hops", "sender", "share", "run"]
    whole = hopyard.load_results("study.toml", out="store", frame="pyarrow")
    assert found["goodput"].equals(whole["goodput"])
    assert found["digest"].equals(whole["digest"])


def test_a_folder_of_hopyard_run(tmp_path: Path) -> None:
    (tmp_path / "chain.toml").write_text(CHAIN)
    hopyard.run(tmp_path / "chain.toml", set={"tcp.window": [2, 8], "seed": [1, 2]}, runs=2, out=tmp_path / "out")
    found = hopyard.load_results(tmp_path / "out", frame="pyarrow")
    assert found["tcp.window"].to_pylist() == [2] * 4 + [8] * 4
    assert found["seed"].to_pylist() == [1, 1, 2, 2] * 2
    assert found["run"].to_pylist() == [0, 1] * 4
    results = hopyard.Results.load(tmp_path / "out")
    goodput = np.concatenate([results.values("goodput", case) for case in results.cases])
    assert found["goodput"].to_pylist() == goodput.tolist()


def _write(name: str) -> None:
    ok("results", "study.toml", "--out", "store", "--each", "-o", name)


def test_polars() -> None:
    pl = pytest.importorskip("polars")
    found = hopyard.load_results("study.toml", out="store", frame="polars")
    assert found.columns == COLUMNS
    assert (found.schema["hops"], found.schema["share"]) == (pl.Int64, pl.Float64)
    _write("each.parquet")
    written = pl.read_parquet("each.parquet")
    assert written.schema["hops"] == pl.Int64
    assert len(written) == 24
    ours = found.group_by("hops").agg(pl.col("goodput").mean()).sort("hops")
    theirs = written.group_by("hops").agg(pl.col("Goodput (kbit/s)").mean()).sort("hops")
    assert ours["goodput"].to_list() == pytest.approx(theirs["Goodput (kbit/s)"].to_list())


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    table = hopyard.load_results("study.toml", out="store", frame="pyarrow")
    frame = hopyard.load_results("study.toml", out="store")
    _write("each.parquet")
    query = 'SELECT hops, avg("{}") FROM {} GROUP BY hops ORDER BY hops'
    with duckdb.connect() as base:
        base.register("arrow", table)
        base.register("frame", frame)
        found = [
            base.execute(query.format(name, source)).fetchall()
            for name, source in (("goodput", "arrow"), ("goodput", "frame"), ("Goodput (kbit/s)", "'each.parquet'"))
        ]
    assert [hops for hops, _ in found[0]] == [2, 3]
    assert found[0] == found[1] == found[2]


def test_results_are_read_while_a_sweep_writes(folder: Path, tmp_path: Path) -> None:
    for name in ("chain", "study"):
        (tmp_path / f"{name}.toml").write_text((folder / f"{name}.toml").read_text())
    line = [sys.executable, "-m", "hopyard", "sweep", "study.toml", "--runs", "60", "--jobs", "1"]
    process = subprocess.Popen([*line, "--out", "now", "-q"], cwd=tmp_path)
    seen: list[int] = []
    where: Any = {"source": tmp_path / "study.toml", "out": tmp_path / "now", "frame": "pyarrow"}
    try:
        while process.poll() is None:
            if (tmp_path / "now" / "results.sqlite").exists():
                # Its tables may not exist yet.
                with suppress(EmptyStoreError):
                    now = hopyard.load_results(**where)
                    seen.append(now.num_rows)
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    assert seen == sorted(seen)
    assert any(0 < count < 480 for count in seen), seen
    assert hopyard.load_results(**where).num_rows == 480


def test_failed_runs_are_no_rows(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "results.sqlite"
    copy.write_bytes((folder / "store" / "results.sqlite").read_bytes())
    sql(tmp_path, "UPDATE runs SET state = 'failed', error = 'no' WHERE run = 1")
    found = hopyard.load_results(tmp_path, frame="pyarrow")
    assert set(found["run"].to_pylist()) == {0, 2}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("UPDATE meta SET value = '9' WHERE key = 'format'", "has format 9: expected format 1"),
        ("UPDATE runs SET cpu_s = 'much'", "cpu_s: expected a number, found 'much'"),
        ("UPDATE flows SET goodput_kbps = 'x'", "goodput_kbps: expected double, found 'x'"),
        ("DROP TABLE runs", "no such table: runs"),
        (
            "UPDATE runs SET version = '0.0.1', config = 'aa' || config, build = 'bb'",
            "none of which is of .*study.toml as it is now: they were made by Hopyard 0.0.1",
        ),
    ],
)
def test_stores_that_cannot_be_used(folder: Path, tmp_path: Path, change: str, expected: str) -> None:
    copy = tmp_path / "results.sqlite"
    copy.write_bytes((folder / "store" / "results.sqlite").read_bytes())
    sql(tmp_path, change)
    with pytest.raises(StoreError, match=expected):
        hopyard.load_results("study.toml", out=tmp_path)


def test_a_damaged_file(folder: Path, tmp_path: Path) -> None:
    content = bytearray((folder / "store" / "results.sqlite").read_bytes())
    content[:5000] = b"x" * 5000
    (tmp_path / "results.sqlite").write_bytes(content)
    with pytest.raises(StoreError, match=r"results\.sqlite: file is not a database"):
        hopyard.load_results("study.toml", out=tmp_path)


def test_what_has_no_results(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="holds no results: hopyard sweep STUDY makes"):
        hopyard.load_results("study.toml")
    with pytest.raises(StoreError, match="holds no results: hopyard sweep STUDY --quick makes"):
        hopyard.load_results("study.toml", quick=True)
    with pytest.raises(StoreError, match=r"holds no results: expected results.sqlite in it"):
        hopyard.load_results(tmp_path)
    with pytest.raises(OSError, match="nothing-here"):
        hopyard.load_results("nothing-here")
    with pytest.raises(ValueError, match="expected pandas, polars or pyarrow, found 'numpy'"):
        hopyard.load_results("study.toml", frame="numpy")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="only is for studies"):
        hopyard.load_results("store", only={"hops": 2})
    with pytest.raises(StudyError, match="the axis hops has no value '9'"):
        hopyard.load_results("study.toml", out="store", only={"hops": 9})
    with pytest.raises(ValueError, match="did you mean 'goodput'"):
        hopyard.load_results("study.toml", out="store", measures="goodputt")
    with pytest.raises(StoreError, match="the seed or the scenario may have changed"):
        hopyard.load_results("study.toml", out="store", seed=77)
