"""The folder of results: its name, what is written into it, and what is left alone."""

from __future__ import annotations

import json
import shutil
import time
from typing import TYPE_CHECKING

import hopyard
import kills
import numpy as np
import pyarrow as pa
import pytest
from hopyard import Results
from hopyard.scenario.plan import plan
from hopyard.store.folder import Folder
from hopyard.tables.names import ROWS
from short import TCPS, command, ok, process, refused, sql

if TYPE_CHECKING:
    from pathlib import Path


NAMES = ["s3:b", "file:x", "12:30", "res:z", "a b?c=d&e#f%20", "größe"]


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_may_have_any_name(short: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(short.parent)
    line = ["run", short, "--series", "cwnd", "--out", name]
    for more in (["--runs", 1], ["--runs", 1, "--format", "csv"], ["--runs", 2, "--plot"]):
        assert not ok(*line, *more).stderr
    assert len(Results.load(name).series) > 0
    Results.load(name).save(f"{name}-2")
    ok("plot", name, "--series", "cwnd")
    # What cannot be written has one exit code, whatever it is.
    assert command("plot", name, "--series", "cwnd", "-o", "nowhere/x.png").exit_code == 3


@pytest.mark.parametrize("name", ["../victim.txt", "/etc/x", "a/b", ".lock", "results.sqlite", 7])
def test_nothing_outside_the_folder_is_removed(short: Path, tmp_path: Path, name: object) -> None:
    out = tmp_path / "o"
    command("run", short, "--runs", 1, "--out", out)
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    sql(out, f"INSERT OR REPLACE INTO meta VALUES ('files', '{json.dumps([name])}')")
    for more in (["--runs", 2], ["--force"], ["--plot"]):
        done = refused("run", short, "--out", out, *more)
        assert "results.sqlite: meta, row " in done.stderr
        assert f"found '{json.dumps([name])}'" in done.stderr
    refused("plot", out)
    assert victim.exists()
    assert len(Results.load(out).flows) == 1


def test_a_lock_that_leads_elsewhere_is_refused(short: Path, tmp_path: Path) -> None:
    out, victim = tmp_path / "o", tmp_path / "victim.txt"
    command("run", short, "--runs", 1, "--out", out)
    victim.write_text("mine")
    (out / ".lock").unlink()
    (out / ".lock").symlink_to(victim)
    refused("run", short, "--runs", 2, "--out", out)
    assert victim.read_text() == "mine"


def test_force_leaves_the_users_files(short: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    command("run", short, "--runs", 1, "--out", out, "--series", "cwnd", "--plot")
    before = {path.name for path in (out / "series").iterdir()}
    mine = [out / "nodes.csv", out / "delay.png", out / "series" / "my.parquet"]
    for path in mine:
        path.write_text("mine")
    done = ok("run", short, "--seed", 2, "--out", out, "--force", "--series", "srtt")
    assert "which stay as they are: delay.png, nodes.csv" in done.stderr
    ok("run", short, "--seed", 2, "--runs", 12, "--out", out)
    assert [path.read_text() for path in mine] == ["mine"] * 3
    # What Hopyard had written is replaced.
    assert not before & {path.name for path in (out / "series").iterdir()}
    assert not {"goodput.png", "cwnd.png", "new"} & {path.name for path in out.iterdir()}
    assert len(Results.load(out).flows) == 12


def test_files_of_the_user_are_not_written_over(short: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    command("run", short, "--runs", 1, "--out", out)
    for name, more in {"nodes.csv": ["--format", "csv"], "goodput.png": ["--plot"]}.items():
        (out / name).write_text("mine")
        for force in ([], ["--force"]):
            done = refused("run", short, "--runs", 2, "--out", out, *more, *force)
            assert f"{name}, which Hopyard did not write" in done.stderr
        assert (out / name).read_text() == "mine"
    assert len(Results.load(out).flows) == 1, "refused before the first run"
    assert "goodput.png" in refused("plot", out).stderr
    with pytest.raises(ValueError, match="did not write there"):
        hopyard.run(short, out=out, format="csv")
    # Its own files are replaced.
    (out / "goodput.png").unlink()
    for _ in range(2):
        ok("run", short, "--runs", 2, "--out", out, "--plot")
        ok("plot", out)


def test_results_of_the_users_are_not_taken_for_begun_ones(short: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    command("run", short, "--runs", 1, "--out", out)
    command("run", short, "--runs", 1, "--seed", 5, "--out", out / "new")
    assert "holds files that are no results" in refused("run", short, "--seed", 2, "--out", out, "--force").stderr
    assert [case.seed for case in Results.load(out / "new").cases] == [5]


def test_force_does_not_replace_what_is_no_store(short: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    out.mkdir()
    sql(out, "CREATE TABLE mine (value)")
    assert "is no store of results" in refused("run", short, "--out", out, "--force").stderr
    assert (out / "results.sqlite").exists()


def test_runs_of_another_scenario_follow_those_that_never_ended(short: Path, tmp_path: Path) -> None:
    # A call that was ended before its first run leaves its cases in the store.
    Folder(tmp_path / "o", plan(short, seed=5)).close()
    ok("run", short, "--runs", 2, "--out", tmp_path / "o")
    assert len(Results.load(tmp_path / "o").flows) == 2


@pytest.mark.parametrize("what", ["folder", "store", "moved"])
def test_a_folder_that_goes_during_the_runs_is_an_error(short: Path, tmp_path: Path, what: str) -> None:
    out = tmp_path / "o"
    with process("run", short, "--runs", 100_000, "--out", out) as running:
        while len(kills.committed(out)) < 5:
            time.sleep(0.02)
        if what == "folder":
            # The process may add a file meanwhile.
            while out.exists():
                shutil.rmtree(out, ignore_errors=True)
        elif what == "store":
            (out / "results.sqlite").unlink()
        else:
            out.rename(tmp_path / "moved")
        _, errors = running.communicate(timeout=30)
    assert running.returncode == 3, errors
    assert "results.sqlite is gone: it was moved, removed or replaced" in errors
    assert "are kept" not in errors
    assert out.exists() == (what == "store")
    if what == "store":
        assert not (out / "flows.parquet").exists()


def test_the_numbers_of_runs_are_kept(short: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    ok("run", short, "--run", 7, "--out", out)
    before = Results.load(out)
    assert before.complete
    ok("run", out, "-q")
    assert Results.load(out).flows.equals(before.flows)
    # Further numbers are added to those.
    ok("run", short, "--run", 3, "--run", 4, "--out", out)
    assert Results.load(out).runs_of(before.cases[0]).tolist() == [3, 4, 7]
    assert sql(out, "SELECT runs, numbers FROM cases") == [(3, "3..4,7")]
    sql(out, *(f"DELETE FROM {table} WHERE run IN (4, 7)" for table in ("runs", *ROWS)))
    assert not Results.load(out).complete
    ok("run", out, "-q")
    assert Results.load(out).runs_of(before.cases[0]).tolist() == [3, 4, 7]


def test_a_comparison_is_complete_when_all_its_cases_are(short: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    hopyard.run(short, set=TCPS, runs=3, out=out)
    vegas = "(SELECT config FROM cases WHERE settings LIKE '%vegas%')"
    sql(out, *(f"DELETE FROM {table} WHERE config = {vegas} AND run = 2" for table in ("runs", *ROWS)))
    # A call for a part of the comparison says nothing about the rest.
    part = hopyard.run(short, set={"flow.tcp": ["newreno"]}, runs=3, out=out)
    assert not part.complete
    assert not Results.load(out).complete
    assert "not complete" in command("show", out).stderr
    hopyard.run(short, set=TCPS, runs=1, out=out)
    assert not Results.load(out).complete, "three runs were asked for"
    ok("run", out, "-q")
    assert Results.load(out).complete


def test_series_stay_asked_for(short: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    line = ["run", short, "--out", out, "-q"]
    often = ["--set", "measure.interval=20 ms"]
    ok(*line, "--runs", 2, "--series", "cwnd", *often)
    ok(*line, "--runs", 4)
    rows = Results.load(out).series
    assert set(rows["run"].to_pylist()) == {0, 1, 2, 3}
    for run in range(4):
        times = rows.filter(pa.array(np.equal(rows["run"], run)))["time_s"].to_pylist()
        assert times[1] - times[0] == pytest.approx(0.02)
    ok("run", out, "-q", "--runs", 5)
    assert set(Results.load(out).series["run"].to_pylist()) == set(range(5))
