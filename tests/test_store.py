"""Nothing is lost: the store, its folder, signals, full disks, and reading the store."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import hopyard
import kills
import pyarrow as pa
import pytest
from hopyard import Results, Scenario, _core
from hopyard.errors import StoreError
from hopyard.scenario.plan import plan
from hopyard.store.folder import Folder
from hopyard.store.folder_check import FolderError
from hopyard.store.store import Store
from hopyard.tables.names import TABLES
from short import SHORT, TCPS, command, ok, process, refused, sql


def test_a_folder_gives_back_what_was_measured(tmp_path: Path) -> None:
    kept = hopyard.run(Scenario(SHORT), set=TCPS, runs=3, series=["cwnd"])
    stored = hopyard.run(Scenario(SHORT), set=TCPS, runs=3, series=["cwnd"], out=tmp_path / "o")
    loaded = Results.load(tmp_path / "o")
    for name in TABLES:
        assert getattr(stored, name).equals(getattr(kept, name)), name
        assert getattr(loaded, name).equals(getattr(kept, name)), name
    assert loaded.complete
    assert [str(case) for case in loaded.cases] == [str(case) for case in kept.cases]


def test_other_programs_read_the_store(tmp_path: Path) -> None:
    results = hopyard.run(Scenario(SHORT), set=TCPS, runs=2, out=tmp_path / "o")
    with closing(sqlite3.connect(f"file:{tmp_path}/o/results.sqlite?mode=ro", uri=True)) as store:
        found = store.execute(
            "SELECT f.goodput_kbps FROM cases c JOIN flows f USING (config, seed) ORDER BY c.number, f.run"
        ).fetchall()
        (toml,) = store.execute(
            "SELECT toml FROM configurations WHERE config = ?", (results.cases[1].config,)
        ).fetchone()
        states = store.execute("SELECT DISTINCT state, version FROM runs").fetchall()
    assert [value for (value,) in found] == results.flows["goodput_kbps"].to_pylist()
    assert Scenario.parse(toml).hash == results.cases[1].config
    assert states == [("done", hopyard.__version__)]


def test_more_runs_add_only_those_that_are_missing(tmp_path: Path) -> None:
    out = tmp_path / "o"
    few = hopyard.run(Scenario(SHORT), runs=2, out=out)
    with Store(out) as store:
        before = {run.run: run.ended for run in store.runs()}
    told: list[int] = []
    many = hopyard.run(Scenario(SHORT), runs=4, out=out, progress=lambda p: told.append(p.runs))
    assert set(told) == {2}
    with Store(out) as store:
        after = {run.run: run.ended for run in store.runs()}
    assert {run: after[run] for run in before} == before
    assert many.flows.slice(0, 2).equals(few.flows)
    assert many.flows.equals(hopyard.run(Scenario(SHORT), runs=4).flows)
    # A call with fewer runs removes nothing, and another variant is added.
    assert len(hopyard.run(Scenario(SHORT), runs=1, out=out).flows) == 4
    assert len(hopyard.run(Scenario(SHORT), set=TCPS, runs=4, out=out).flows) == 8


def test_cases_of_two_folders_are_compared_run_by_run(tmp_path: Path) -> None:
    together = hopyard.run(Scenario(SHORT), set=TCPS, runs=3)
    for number, tcp in enumerate(TCPS["flow.tcp"]):
        hopyard.run(Scenario(SHORT), set={"flow.tcp": tcp}, runs=3 + number, out=tmp_path / tcp)
    apart = Results.load(*(tmp_path / tcp for tcp in TCPS["flow.tcp"]))
    first, second = apart.cases
    expected = together.difference("delay", together.cases[1], together.cases[0])
    assert apart.difference("delay", second, first) == expected
    assert expected.runs == 3


def test_builds_of_one_version_are_told_apart(short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    mine = _core.BUILD
    ok("run", short, "--runs", 1, "--out", one)
    monkeypatch.setattr(_core, "BUILD", "0123456789ab")
    done = refused("run", short, "--runs", 2, "--out", one)
    assert f"1 run of Hopyard {hopyard.__version__} (build {mine})" in done.stderr
    assert "(build 0123456789ab): their results may differ" in done.stderr
    # Reading does not mix runs.
    assert len(Results.load(one).flows) == 1
    ok("run", short, "--runs", 1, "--out", two)
    with pytest.raises(StoreError, match=rf"one by .*{mine}.*two by .*0123456789ab"):
        Results.load(one, two)


def test_series_that_are_asked_for_later_join_the_former(tmp_path: Path) -> None:
    out = tmp_path / "o"
    hopyard.run(Scenario(SHORT), runs=2, series=["cwnd"], out=out)
    both = hopyard.run(Scenario(SHORT), runs=2, series=["srtt"], out=out)
    assert set(both.series["quantity"].to_pylist()) == {"cwnd", "srtt"}
    assert both.series.equals(Results.load(out).series)
    assert len(list((out / "series").iterdir())) <= 4


def test_other_scenarios_are_refused_before_the_first_run(short: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    ok("run", short, "--runs", 2, "--out", out, "--plot")
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    began = time.monotonic()
    assert "another scenario" in refused("run", short, "--seed", 2, "--set", "duration=1000000 s", "--out", out).stderr
    assert time.monotonic() - began < 30
    after = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    assert {**after, ".lock": b""} == {**before, ".lock": b""}
    ok("run", short, "--seed", 2, "--out", out, "--force", "--format", "csv")
    assert not {"goodput.png", "flows.parquet", "new"} & {path.name for path in out.iterdir()}
    assert {case.seed for case in Results.load(out).cases} == {2}


def test_a_forced_call_that_is_ended_keeps_the_old_and_the_new(short: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    command("run", short, "--runs", 2, "--out", out)
    old = Results.load(out)
    line = ["run", short, "--seed", 2, "--out", out, "--force"]
    with process(*line, "--runs", 100_000) as forced:
        while len(kills.committed(out / "new")) < 3:
            time.sleep(0.02)
        forced.send_signal(signal.SIGTERM)
        _, errors = forced.communicate(timeout=30)
    assert forced.returncode == 143
    assert "has its former results" in errors
    assert Results.load(out).flows.equals(old.flows)
    assert len(Results.load(out / "new").flows) >= 3
    ok(*line, "--runs", 3)
    assert {case.seed for case in Results.load(out).cases} == {2}


def test_files_that_are_no_results_are_not_touched(short: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    assert "holds files" in refused("run", short, "--out", out).stderr
    ok("run", short, "--out", out, "--force")
    assert (out / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize("out", ["/proc/x", "/dev/null", "short.toml", "short.toml/x", "n" * 300])
def test_a_folder_that_cannot_be_is_found_before_the_first_run(short: Path, out: str) -> None:
    began = time.monotonic()
    where = Path(out) if out.startswith("/") else short.parent / out
    assert str(where) in refused("run", short, "--set", "duration=1000000 s", "--out", where).stderr
    assert time.monotonic() - began < 30


def test_the_default_folder_is_a_safe_name_of_its_own(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(short.parent)
    name = 'name="..[x] $y z"'
    for seed in (1, 2, 1):
        ok("run", short, "--set", name, "--seed", seed, "--series", "cwnd")
    assert {path.name for path in Path("results").iterdir()} == {"x_y_z", "x_y_z-2"}


def test_one_process_at_a_time(short: Path, tmp_path: Path) -> None:
    cases = plan(short)
    folder = Folder(tmp_path / "o", cases)
    with pytest.raises(FolderError, match=f"o is in use by another process .{os.getpid()}"):
        Folder(tmp_path / "o", cases)
    assert "in use by" in refused("run", short, "--out", tmp_path / "o").stderr
    folder.close()
    ok("run", short, "--out", tmp_path / "o")


@pytest.mark.parametrize("redirect", ["| true", "> /dev/full"])
def test_results_are_kept_whatever_becomes_of_the_output(short: Path, tmp_path: Path, redirect: str) -> None:
    line = f'"{sys.executable}" -m hopyard run "{short}" --out o {redirect}; echo ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ("141" if "true" in redirect else "3")
    assert "Traceback" not in done.stderr
    assert len(Results.load(tmp_path / "o").flows) == Scenario(SHORT).core.runs
    assert (tmp_path / "o" / "flows.parquet").exists()


def test_an_ascii_terminal_and_markup_in_a_name(short: Path, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    line = ["run", short, "--set", 'name="[red]foo"', "--runs", 2, "--out", tmp_path / "o"]
    with process(*line, env=environment) as running:
        shown, errors = running.communicate(timeout=60)
    assert running.returncode == 0, errors
    assert "[red]foo" in shown


@pytest.mark.parametrize(("name", "code"), [("SIGHUP", 129), ("SIGTERM", 143), ("SIGXCPU", 152)])
def test_a_signal_keeps_what_is_done(short: Path, tmp_path: Path, name: str, code: int) -> None:
    out = tmp_path / "o"
    with process("run", short, "--runs", 100_000, "--out", out) as running:
        while len(kills.committed(out)) < 5:
            time.sleep(0.02)
        running.send_signal(getattr(signal, name))
        _, errors = running.communicate(timeout=30)
    assert running.returncode == code, errors
    assert f"Interrupted by {name}" in errors
    results = Results.load(out)
    assert 5 <= len(results.flows) < 100_000
    assert not results.complete
    assert (out / "flows.parquet").exists()


def test_a_signal_does_not_cut_off_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hopyard.terminal import signals

    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "signalled_module.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\nwhole = 1\n"
    )
    with signals.handled(leave=True) as stop:
        stop.idle, stop.drawing = False, True
        import signalled_module  # type: ignore[import-not-found]

        assert (signalled_module.whole, stop.number) == (1, signal.SIGTERM)
        with pytest.raises(signals.Stopped):
            stop.check()
        # Of everything else, a signal is the end.
        stop.number = None
        with pytest.raises(signals.Stopped):
            os.kill(os.getpid(), signal.SIGTERM)


def test_kills_at_random_moments_lose_nothing(tmp_path: Path) -> None:
    found = kills.kills(tmp_path, 5, random.Random(7))
    assert found.problems == []
    assert found.runs > 0


def test_pairs_in_one_folder_do_not_mix(tmp_path: Path) -> None:
    found, refused = kills.pairs(tmp_path, 2, random.Random(7))
    assert (found.problems, refused) == ([], 2)


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    assert kills.disks(tmp_path, 3).problems == []


@pytest.mark.parametrize("what", ["run", "sweep"])
def test_a_disk_that_is_full_before_the_first_run(short: Path, tmp_path: Path, what: str) -> None:
    (tmp_path / "study.toml").write_text(f'title = "S"\nscenario = "{short}"\nruns = 2\n')
    file = short if what == "run" else "study.toml"
    line = f'ulimit -f 10; "{sys.executable}" -m hopyard {what} "{file}" -q --out o'
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr
    assert "o cannot take results: o/results.sqlite: " in done.stderr
    assert "nothing has been run" in done.stderr


@pytest.mark.parametrize("content", [b"no database, " * 1000, None])
def test_the_way_out_of_a_damaged_store_works(short: Path, tmp_path: Path, content: bytes | None) -> None:
    out = tmp_path / "o"
    line = ["run", short, "--runs", 2, "--out", out]
    ok(*line)
    store = out / "results.sqlite"
    # A store that has lost its end.
    store.write_bytes(content or store.read_bytes()[:20_000])
    for force in ([], ["--force"]):
        done = refused(*line, *force)
        assert f"{store}: " in done.stderr
        assert done.stderr.endswith("; choose another folder, or move it away\n")
    out.rename(tmp_path / "away")
    ok(*line)


def test_a_folder_of_folders_of_results_names_them(short: Path, tmp_path: Path) -> None:
    one = tmp_path / "all" / "one"
    ok("run", short, "--runs", 1, "--out", one)
    assert f"there is no results.sqlite; there is one in {one}" in refused("show", tmp_path / "all").stderr


def test_a_run_that_does_not_fit_leaves_the_store_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Store._insert
    tries: list[int] = []

    def full(self: Store, *given: object) -> None:
        first(self, *given)  # type: ignore[arg-type]
        tries.append(1)

    def insert(self: Store, *given: object) -> None:
        if not tries:
            with self._transaction():
                tries.append(1)
                self._prepare("flows", given[2]["flows"].schema)  # type: ignore[index]
                raise sqlite3.OperationalError("database or disk is full")
        full(self, *given)

    monkeypatch.setattr(Store, "_insert", insert)
    # All runs of results are saved in one transaction, for any duration of the runs.
    hopyard.run(Scenario(SHORT | {"duration": "1 s"}), runs=4).save(tmp_path / "o")
    assert len(tries) == 1 + 4, "together, and then one by one"
    assert len(Results.load(tmp_path / "o").flows) == 4


def test_parts_that_a_killed_process_left_go_with_the_next_call(tmp_path: Path) -> None:
    out = tmp_path / "o"
    hopyard.run(Scenario(SHORT), runs=1, out=out)
    part, other = out / ".flows.parquet.part.parquet", out / ".mine.part.txt"
    part.touch()
    other.touch()
    hopyard.run(Scenario(SHORT), runs=1, out=out)
    assert not part.exists()
    # The store names no file `mine.txt`.
    assert other.exists()


def test_a_store_without_tables_is_taken(tmp_path: Path) -> None:
    # The state after a process was killed before it made the tables.
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "results.sqlite").touch()
    with pytest.raises(StoreError, match="holds no results yet"):
        Results.load(tmp_path / "o")
    results = hopyard.run(Scenario(SHORT), runs=1, out=tmp_path / "o")
    assert len(results.flows) == 1


def test_a_run_whose_series_are_gone_is_made_again(tmp_path: Path) -> None:
    out = tmp_path / "o"
    before = hopyard.run(Scenario(SHORT), runs=3, series="cwnd", out=out).series
    next((out / "series").iterdir()).unlink()
    with pytest.raises(StoreError, match="is gone"):
        _ = Results.load(out).series
    assert hopyard.run(Scenario(SHORT), runs=3, series="cwnd", out=out).series.equals(before)
    assert Results.load(out).series.equals(before)
    shutil.rmtree(out / "series")
    assert len(hopyard.run(Scenario(SHORT), runs=3, out=out).flows) == 3


def test_a_folder_of_the_users_is_not_taken_for_a_former_one(tmp_path: Path) -> None:
    own = tmp_path / "o" / "new"
    hopyard.run(Scenario(SHORT), runs=1, out=tmp_path / "o")
    (own / "mine").mkdir(parents=True)
    (own / "notes.txt").write_text("mine")
    with pytest.raises(FolderError, match="new holds files that are no results"):
        hopyard.run(Scenario(SHORT), runs=1, seed=9, out=tmp_path / "o", force=True)
    assert (own / "notes.txt").exists()
    assert (own / "mine").exists()


FAILS = """
from hopyard import CongestionControl

class Sometimes(CongestionControl):
    def on_ack(self, ack):
        if self.random.random() < 0.004:
            raise RuntimeError("no more")
    def on_loss(self, loss):
        pass
    def on_timeout(self, timeout):
        pass
"""


@pytest.mark.usefixtures("here")
def test_a_failed_run_is_kept_with_what_makes_it_again() -> None:
    Path("sometimes.py").write_text(FAILS)
    Path("s.toml").write_text(Scenario(SHORT).to_toml())
    line = ["run", "s.toml", "--set", "flow.tcp=sometimes:Sometimes", "--runs", 12, "--out", "o"]
    done = command(*line)
    assert done.exit_code == 1, done.output
    with Store(Path("o")) as store:
        runs = store.runs()
    states = [run.state for run in runs]
    assert len(runs) == 12
    assert 0 < states.count("failed") < 12
    failed = next(run for run in runs if run.state == "failed")
    assert "no more" in str(failed.error)
    assert len(Results.load("o").flows) == states.count("done")
    again = next(text for text in done.stderr.splitlines() if text.startswith("This run alone: "))
    assert f"--seed 1 --run {failed.run}" in again
    alone = command(*again.removeprefix("This run alone: hopyard ").split())
    assert (alone.exit_code, "no more" in alone.stderr) == (1, True)


def test_the_store_alone_makes_a_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "own_rule.py").write_text(FAILS.replace("0.004", "-1"))
    (there / "moves.txt").write_text("0 0 0 10 0 200\n0 200 0\n0 400 0\n")
    moving = SHORT | {
        "nodes": {"count": 3},
        "mobility": {"model": "movement_file", "movement_file": {"path": "moves.txt", "format": "bonnmotion"}},
        "flow": [{"from": 0, "to": 2, "tcp": "own_rule:Sometimes"}],
    }
    first = hopyard.run(Scenario(moving, base=there), runs=2, out=tmp_path / "o")
    shutil.rmtree(there)
    sys.modules.pop("own_rule")
    monkeypatch.chdir(tmp_path)
    again = Results.load("o").scenario(first.cases[0])
    assert again.hash == first.cases[0].config
    assert hopyard.run(again, runs=2).flows["goodput_kbps"].equals(first.flows["goodput_kbps"])
    ok("run", "o", "--runs", 3, "-q")
    assert len(Results.load("o").flows) == 3
    sys.modules.pop("own_rule", None)


def test_folders_are_shown_and_merged_without_a_simulation(short: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    command("run", short, "--out", one, "--run", 0, "--run", 1)
    command("run", short, "--out", two, "--run", 1, "--run", 2)
    merged = Results.load(one, two)
    assert merged.flows["run"].to_pylist() == [0, 1, 2]
    assert merged.flows.equals(hopyard.run(Scenario(SHORT), runs=3).flows)
    done = command("show", one, two, "--measure", "delay")
    assert (done.exit_code, "Delay" in done.stdout, "Goodput" in done.stdout) == (0, True, False)
    told = json.loads(command("show", one, "--format", "json").stdout)
    assert told["cases"][0]["runs"] == 2
    assert told["cases"][0]["measures"]["goodput"]["unit"] == "kbit/s"
    ok("plot", one, "--measure", "delay", "-o", tmp_path / "delay.svg")
    assert (tmp_path / "delay.svg").read_text().lstrip().startswith("<?xml")
    with pytest.raises(StoreError, match="holds no results"):
        Results.load(tmp_path)


def test_a_run_of_another_version_is_not_mixed_in(short: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    command("run", short, "--out", out)
    sql(out, "UPDATE runs SET version = '0.0.9'")
    assert "of Hopyard 0.0.9" in refused("run", short, "--runs", 5, "--out", out).stderr


def test_scenarios_of_one_name_are_told_apart(tmp_path: Path) -> None:
    small, large = Scenario(SHORT), Scenario(SHORT | {"nodes": {"count": 4, "spacing": "200 m"}})
    results = hopyard.run([small, large], runs=1)
    assert [case.scenario for case in results.cases] == ["short (nodes.count=3)", "short (nodes.count=4)"]
    for name, each in {"a": small, "b": large}.items():
        each.save(tmp_path / f"{name}.toml")
    results = hopyard.run([tmp_path / "a.toml", tmp_path / "b.toml"], runs=1)
    assert [case.scenario for case in results.cases] == ["a", "b"]
    with pytest.raises(ValueError, match="are the same scenario"):
        hopyard.run([tmp_path / "a.toml"] * 2)
    with pytest.raises(ValueError, match=r"flow\.tcp=vegas is given twice"):
        hopyard.run(small, set={"flow.tcp": ["vegas", "vegas"]})


def test_cases_of_other_results_are_recognised() -> None:
    both = hopyard.run(Scenario(SHORT), set=TCPS, runs=2)
    reno = hopyard.run(Scenario(SHORT), set={"flow.tcp": ["newreno"]}, runs=2)
    vegas = hopyard.run(Scenario(SHORT), set={"flow.tcp": ["vegas"]}, runs=2)
    assert both.estimate("goodput", vegas.cases[0]) == vegas.estimate("goodput", vegas.cases[0])
    with pytest.raises(ValueError, match=r"flow\.tcp=vegas .* is a case of other results"):
        reno.estimate("goodput", vegas.cases[0])
    with pytest.raises(ValueError, match="is a case of other results"):
        reno.difference("goodput", vegas.cases[0], reno.cases[0])


@pytest.mark.parametrize("runs", [0, -1, 10**7, 10**9, 2**40, 10**20])
def test_a_number_of_runs_that_cannot_be_is_said_at_once(short: Path, runs: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        hopyard.run(short, runs=runs)
    began = time.monotonic()
    refused("run", short, "--runs", runs)
    assert time.monotonic() - began < 30


def test_any_number_of_jobs_is_answered(short: Path) -> None:
    assert len(hopyard.run(short, runs=2, jobs=10**20).flows) == 2
    with pytest.raises(ValueError, match="at most 1024 runs at a time"):
        hopyard.run(short, runs=5000, jobs=4000)
    with pytest.raises(ValueError, match="found -1"):
        hopyard.run(short, jobs=-1)


def test_saved_results_are_a_store(tmp_path: Path) -> None:
    results = hopyard.run(Scenario(SHORT), set=TCPS, runs=2, series=["cwnd"])
    results.save(tmp_path / "o")
    loaded = Results.load(tmp_path / "o")
    assert loaded.flows.equals(results.flows)
    assert loaded.series.equals(results.series)
    with pytest.raises(ValueError, match="another scenario"):
        hopyard.run(Scenario(SHORT), seed=9, runs=1).save(tmp_path / "o")


def test_a_scenario_comes_from_the_standard_input(short: Path) -> None:
    text = short.read_text().replace('name = "short"\n', "")
    done = ok("run", "-", "--json", "--runs", 1, input=text)
    assert json.loads(done.stdout)["cases"][0]["scenario"] == "stdin"


def test_a_log_has_a_line_every_so_often(capsys: pytest.CaptureFixture[str]) -> None:
    from hopyard.terminal.progress import Lines, Progress

    lines = Lines()
    for second in range(100):
        lines(Progress(second, 100, float(second), 100.0, float(second)))
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 9
    assert told[0].startswith("10 %: 10/100 runs")


def test_an_endless_rule_is_ended_by_the_second_ctrl_c(short: Path, tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text(FAILS.replace('raise RuntimeError("no more")', "while 1: 1"))
    line = ["run", short, "--set", "flow.tcp=newreno,endless:Sometimes", "--jobs", 1, "--runs", 5]
    with process(*line, "--out", "o", cwd=tmp_path) as running:
        # The endless run is the second one: each case has its first run started before others.
        while not kills.committed(tmp_path / "o"):
            time.sleep(0.02)
        time.sleep(1)
        for _ in range(2):
            running.send_signal(signal.SIGINT)
            time.sleep(0.3)
        running.communicate(timeout=5)
    assert running.returncode == 130
    assert len(Results.load(tmp_path / "o").flows) >= 1


def test_tables_have_the_types_of_the_core(tmp_path: Path) -> None:
    results = hopyard.run(Scenario(SHORT), runs=1, out=tmp_path / "o")
    assert pa.types.is_dictionary(results.flows.schema.field("transport").type)
    assert results.flows.schema.field("packets_sent").type == pa.uint64()
