"""Results that are saved, pickled and copied; and the inputs of scenarios, kept in the store."""

from __future__ import annotations

import copy
import pickle
import shutil
import sys
from typing import TYPE_CHECKING

import hopyard
import pytest
from hopyard import Results, Scenario
from hopyard.errors import StoreError
from hopyard.store.reading import Reader
from hopyard.tables.names import TABLES
from short import SHORT, TCPS, finished, ok, python, refused, sql

if TYPE_CHECKING:
    from pathlib import Path


def same(one: Results, two: Results) -> bool:
    return all(getattr(one, name).equals(getattr(two, name)) for name in TABLES)


def test_loaded_results_are_saved_with_their_store(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    made = hopyard.run(Scenario(SHORT), set=TCPS, runs=2, series=["cwnd"], out=first)
    Results.load(first).save(second, "csv")
    saved = Results.load(second)
    assert same(saved, made)
    assert saved.complete
    with Reader(first) as one, Reader(second) as two:
        # Who made a run, when, and in which time, is kept.
        for a, b in zip(one.runs(), two.runs(), strict=True):
            assert (a.ended, a.wall_s, a.digest) == (b.ended, b.wall_s, b.digest)
    # More runs can be made there, when the first folder is gone.
    shutil.rmtree(first)
    ok("run", second, "--runs", 3, "-q")
    assert len(Results.load(second).flows) == 6


def test_several_folders_are_saved_as_one(tmp_path: Path) -> None:
    folders = [tmp_path / tcp for tcp in TCPS["flow.tcp"]]
    for tcp, folder in zip(TCPS["flow.tcp"], folders, strict=True):
        hopyard.run(Scenario(SHORT), set={"flow.tcp": tcp}, runs=2, out=folder)
    merged = Results.load(*folders)
    merged.save(tmp_path / "merged")
    assert same(Results.load(tmp_path / "merged"), merged)
    assert same(hopyard.run(Scenario(SHORT), set=TCPS, runs=2, out=tmp_path / "merged"), merged)


def test_saving_adds_runs_and_replaces_nothing(tmp_path: Path) -> None:
    one, two, other = (tmp_path / name for name in ("one", "two", "other"))
    hopyard.run(Scenario(SHORT), runs=[0, 1], out=one)
    hopyard.run(Scenario(SHORT), runs=[1, 2], out=two)
    hopyard.run(Scenario(SHORT), seed=9, runs=1, out=other)
    Results.load(one).save(two)
    assert Results.load(two).flows["run"].to_pylist() == [0, 1, 2]
    before = (other / "flows.parquet").read_bytes()
    with pytest.raises(ValueError, match="another scenario"):
        Results.load(one).save(other)
    assert (other / "flows.parquet").read_bytes() == before
    Results.load(one).save(other, force=True)
    assert {case.seed for case in Results.load(other).cases} == {1}
    Results.load(one).save(one, "csv")
    assert (one / "flows.csv").exists()
    assert not (one / "flows.parquet").exists()


@pytest.mark.parametrize(
    ("change", "words"), [("digest = '0'", "another result of run 0"), ("build = 'b'", r"build b.*may differ")]
)
def test_runs_that_do_not_belong_together_are_not_saved_together(tmp_path: Path, change: str, words: str) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    results = hopyard.run(Scenario(SHORT), runs=1, out=one)
    shutil.copytree(one, two)
    sql(one, f"UPDATE runs SET {change}")
    with pytest.raises(ValueError, match=words):
        Results.load(one).save(two)
    assert Results.load(two).flows.equals(results.flows)


def test_failed_runs_are_saved_as_such(tmp_path: Path) -> None:
    one = tmp_path / "one"
    hopyard.run(Scenario(SHORT), runs=2, out=one)
    sql(one, "UPDATE runs SET state = 'failed', digest = NULL, error = 'e' WHERE run = 1")
    sql(one, *(f"DELETE FROM {table} WHERE run = 1" for table in ("flows", "nodes", "drops", "overhead")))
    Results.load(one).save(tmp_path / "two")
    saved = Results.load(tmp_path / "two")
    assert [(each.run, each.error) for each in saved.failures] == [(1, "e")]
    assert not saved.complete


def test_results_are_pickled_and_copied(tmp_path: Path) -> None:
    made = hopyard.run(Scenario(SHORT), set=TCPS, runs=2, series=["cwnd"])
    hopyard.run(Scenario(SHORT), set=TCPS, runs=2, series=["cwnd"], out=tmp_path / "o")
    loaded = Results.load(tmp_path / "o")
    for results in (made, loaded):
        # What has been looked up is not pickled.
        assert results.setting(results.cases[0], "nodes.count") == "3"
        for copied in (pickle.loads(pickle.dumps(results)), copy.deepcopy(results)):
            assert same(copied, results)
            assert copied.cases == results.cases
            assert copied.scenario(copied.cases[1]).hash == results.cases[1].config
            assert copied.setting(copied.cases[1], "flow.tcp") == "vegas"


def test_results_that_come_from_another_process_are_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = f"""
import pickle, hopyard
moving = {MOVING!r}
results = hopyard.run(hopyard.Scenario(moving), runs=2)
open("results.pickle", "wb").write(pickle.dumps(results))
"""
    (tmp_path / "moves.txt").write_text(MOVES)
    python("-c", program, cwd=tmp_path, check=True)
    (tmp_path / "moves.txt").unlink()
    results = pickle.loads((tmp_path / "results.pickle").read_bytes())
    monkeypatch.chdir(tmp_path)
    results.save("o")
    assert same(Results.load("o"), results)
    ok("run", "o", "--runs", 3, "-q")


MOVES = "0 0 0\n0 200 0\n0 400 0 5 400 50\n"
MOVING = {
    **SHORT,
    "nodes": {"placement": "mobility"},
    "mobility": {"model": "movement_file", "movement_file": {"path": "moves.txt", "format": "bonnmotion"}},
}
NAMES = ["größe.txt", 'q"d.txt', "b\\n.txt", "'.txt", "a b.txt", "x" * 240, "sub/m.txt"]


@pytest.mark.parametrize("name", NAMES)
def test_a_movement_file_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    there = tmp_path / "there"
    (there / name).parent.mkdir(parents=True)
    (there / name).write_text(MOVES)
    mobility = {"model": "movement_file", "movement_file": {"path": name, "format": "bonnmotion"}}
    first = hopyard.run(Scenario(MOVING | {"mobility": mobility}, base=there), runs=2, out=tmp_path / "o")
    shutil.rmtree(there)
    monkeypatch.chdir(tmp_path)
    assert Results.load("o").scenario(first.cases[0]).hash == first.cases[0].config
    ok("run", "o", "--runs", 3, "-q")
    assert Results.load("o").flows.slice(0, 2).equals(first.flows)


RULE = """
from hopyard import CongestionControl
{imports}

class F(CongestionControl):
    def on_ack(self, ack):
        self.cwnd = WINDOW
    def on_loss(self, loss):
        self.cwnd = 2
    def on_timeout(self, timeout):
        self.cwnd = 1
"""
#: For each rule, the files of its modules.
MODULES = {
    "pa.tcpx:F": {"pa/__init__.py": "", "pa/tcpx.py": RULE.format(imports="WINDOW = 8")},
    "pb.deep.tcpx:F": {
        "pb/__init__.py": "",
        "pb/deep/__init__.py": "from .size import *",
        "pb/deep/size.py": "from ..more import WINDOW",
        "pb/more.py": "WINDOW = 8",
        "pb/deep/tcpx.py": RULE.format(imports="from . import WINDOW"),
    },
    "pc.tcpx:F": {
        "pc/tcpx.py": RULE.format(imports="import pc.size; WINDOW = pc.size.WINDOW"),
        "pc/size.py": "WINDOW = 8",
    },
    "helped:F": {
        "helped.py": RULE.format(imports="from helper_of_it import WINDOW"),
        "helper_of_it.py": "import another_of_it as a\nWINDOW = a.WINDOW",
        "another_of_it.py": "WINDOW = 8",
    },
}


@pytest.fixture
def _without_modules() -> object:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("pa", "pb", "pc", "helped", "helper_of_it", "another_of_it"):
            del sys.modules[name]


@pytest.mark.usefixtures("_without_modules")
@pytest.mark.parametrize("rule", MODULES)
def test_the_modules_of_a_rule_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    here.mkdir()
    for name, text in MODULES[rule].items():
        (there / name).parent.mkdir(parents=True, exist_ok=True)
        (there / name).write_text(text)
    (there / "s.toml").write_text(Scenario(SHORT).to_toml())
    line = ["run", there / "s.toml", "--set", f"flow.tcp={rule}", "--out", here / "o", "-q"]
    ok(*line, "--runs", 2)
    first = Results.load(here / "o")
    shutil.rmtree(there)
    monkeypatch.chdir(here)
    # In a process that has imported none of it.
    done = finished("run", "o", "--runs", 3, "-q")
    assert done.returncode == 0, done.stderr
    assert Results.load("o").flows.slice(0, 2).equals(first.flows)


@pytest.mark.usefixtures("_without_modules")
def test_helpers_of_two_folders_are_told_apart(tmp_path: Path) -> None:
    rates = []
    for window in (1, 8, 1):
        folder = tmp_path / str(window)
        folder.mkdir(exist_ok=True)
        (folder / "helped.py").write_text(RULE.format(imports="from helper_of_it import WINDOW"))
        (folder / "helper_of_it.py").write_text(f"WINDOW = {window}")
        scenario = Scenario(SHORT | {"flow": [{"from": 0, "to": 2, "tcp": "helped:F"}]}, base=folder)
        rates.append(hopyard.run(scenario, runs=1).flows["goodput_kbps"][0].as_py())
    assert rates[0] == rates[2] != rates[1]
    # The helper's source is another one, too, in one folder.
    (folder / "helper_of_it.py").write_text("WINDOW = 8")
    again = Scenario(scenario.to_dict(), base=folder)
    assert hopyard.run(again, runs=1).flows["goodput_kbps"][0].as_py() == rates[1]


def test_results_of_a_build_that_read_scenarios_in_another_way_are_refused_in_words(tmp_path: Path) -> None:
    out = tmp_path / "o"
    hopyard.run(Scenario(SHORT), runs=1, out=out)
    for (table,) in sql(out, "SELECT name FROM sqlite_master WHERE type = 'table'"):
        if "config" in [row[1] for row in sql(out, f"PRAGMA table_info({table})")]:
            sql(out, f"UPDATE {table} SET config = '0123456789abcdef'")
    loaded = Results.load(out)
    assert len(loaded.flows) == 1
    words = "can be read, but neither saved nor continued by this build; make the runs anew"
    with pytest.raises(StoreError, match=words):
        loaded.save(tmp_path / "again")
    assert words in refused("run", out, "--runs", 2, "--out", tmp_path / "more").stderr
    assert not (tmp_path / "again").exists()
