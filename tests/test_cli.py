"""The command, from the view of its user."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from hopyard import Results, Scenario, _core
from hopyard.scenario.catalogue import models
from matplotlib.image import imread
from pyarrow import csv, parquet
from short import command, finished, ok, process, refused

EXAMPLES = sorted(Path(__file__).parent.parent.joinpath("examples").glob("*.toml"))
SHORT = ["--set", "duration=2 s", "--set", "measure.from=0 s"]


@pytest.fixture
def chain(tmp_path: Path) -> Path:
    path = tmp_path / "chain.toml"
    path.write_text(_core.new_scenario("chain"))
    return path


def test_run_shows_and_writes_a_comparison(chain: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    compare = ["--set", "flow.tcp=newreno,vegas", "--series", "cwnd", "--plot"]
    done = ok("run", chain, *SHORT, *compare, "--runs", "2", "--seed", "5", "--out", out)
    assert "newreno" in done.stdout
    assert "2 runs: mean ± 95 % interval" in done.stdout
    assert str(out) in done.stdout
    flows = parquet.read_table(out / "flows.parquet")
    assert flows.select(["flow.tcp", "run", "seed"]).to_pylist() == [
        {"flow.tcp": tcp, "run": run, "seed": 5} for tcp in ("newreno", "vegas") for run in (0, 1)
    ]
    assert (flows["goodput_kbps"].to_numpy() > 0).all()
    assert len(set(flows["config"].to_pylist())) == 2
    assert set(parquet.read_table(out / "series.parquet")["quantity"].to_pylist()) == {"cwnd"}
    assert len(csv.read_csv(out / "summary.csv")) == 2
    assert imread(out / "goodput.png").shape[1] > 500
    assert (out / "cwnd.png").exists()


def test_nothing_is_written_unless_asked(chain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(chain.parent)
    ok("run", chain, *SHORT, "--runs", "1")
    assert [path.name for path in chain.parent.iterdir()] == ["chain.toml"]
    ok("run", chain, *SHORT, "--runs", "1", "--plot", "--format", "csv")
    written = {path.name for path in (chain.parent / "results" / "chain").iterdir()}
    assert {"flows.csv", "goodput.png"} <= written


def test_several_files_are_compared(chain: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(chain.read_text().replace('name = "chain"', 'name = "other"'))
    ok("run", chain, other, *SHORT, "--runs", "1", "--out", tmp_path / "out")
    flows = parquet.read_table(tmp_path / "out" / "flows.parquet")
    assert flows["scenario"].to_pylist() == ["chain", "other"]


def test_mistakes_are_shown_as_they_are_and_exit_with_2(chain: Path) -> None:
    chain.write_text(chain.read_text().replace("spacing", "spacng"))
    for name in ("run", "check"):
        done = refused(name, chain)
        assert f"{chain}:" in done.stderr
        assert "did you mean `spacing`?" in done.stderr
        assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--set", "flow.tcp"], "expected KEY=VALUE"),
        (["--set", "runs=1", "--set", "runs=2"], "runs is set twice"),
        (["--set", "flow.tcp=vegass"], 'did you mean "vegas"?'),
        (["--series", "cwdn"], "cwnd"),
        (["--series", ""], "no series is named"),
        (["--runs", "0"], "0 is not in the range"),
        (["--measure", "speed", "--plot", *SHORT], "no measure is called 'speed'"),
        (["--set", "seed=1,2", "--seed", "3"], "seed is set, and seed is given too (3)"),
        (["--set", "runs=1,2", "--runs", "3"], "runs is set, and runs is given too (3)"),
        (["--with"], "--with: expected KEY=V1,V2 after it"),
    ],
)
def test_wrong_arguments_exit_with_2(chain: Path, arguments: list[str], said: str) -> None:
    assert said in refused("run", chain, *arguments).stderr


def test_check_looks_at_every_file(chain: Path, tmp_path: Path) -> None:
    bad = [tmp_path / "a.toml", tmp_path / "b.toml", tmp_path / "c.toml"]
    for path in bad[:2]:
        path.write_text(chain.read_text().replace("spacing", "spacng"))
    bad[2].write_bytes(b"name = \xff")
    done = refused("check", bad[0], bad[2], chain, bad[1])
    assert f"{chain}: nothing wrong" in done.stdout
    assert all(f"{path}:" in done.stderr for path in bad)


def test_a_missing_file_exits_with_2(tmp_path: Path) -> None:
    assert "nowhere.toml" in refused("run", tmp_path / "nowhere.toml").stderr


@pytest.mark.parametrize("kind", _core.KINDS)
def test_new_scenarios_have_nothing_wrong(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "new.toml"
    ok("new", kind, "-o", path)
    refused("new", kind, "-o", path)
    assert command("new", kind).stdout == path.read_text()
    assert not ok("check", path).stderr


def test_new_lists_its_kinds() -> None:
    listed = command("new").stdout.splitlines()
    assert [line.split()[0] for line in listed] == _core.KINDS
    assert "chain" in refused("new", "chian").stderr


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_have_nothing_wrong(example: Path) -> None:
    done = ok("check", example, "--set", "routing.protocol=aodv,dsdv")
    assert not done.stderr
    assert "2 cases" in done.stdout


def test_models_are_listed_with_every_default() -> None:
    listed = command("models").stdout
    for model in models():
        assert model["name"] in listed
        shown = command("models", model["name"]).stdout
        for parameter in model["parameters"]:
            assert parameter["name"] in shown
    assert "vegas" in command("models", "congestion").stdout


def test_the_name_of_a_room_lists_its_models_beside_the_section_of_this_name() -> None:
    for room in {model["room"] for model in models()}:
        shown = command("models", room).stdout
        for model in models():
            if model["room"] == room:
                assert model["name"] in shown, (room, model["name"])
    assert "The movement model of all nodes" in command("models", "mobility").stdout


def test_a_profile_is_shown_alone() -> None:
    both = command("models", "aodv").stdout
    assert "profile rfc" in both
    assert "profile ns2" in both
    assert "profile rfc" not in command("models", "aodv", "--profile", "ns2").stdout


def test_an_unknown_model_is_named() -> None:
    assert "did you mean `aodv`?" in refused("models", "aovd").stderr


def test_the_schema_is_json() -> None:
    assert json.loads(command("schema").stdout)["type"] == "object"


def test_a_series_without_samples_is_named_and_the_others_are_drawn(chain: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    wanted = ["--series", "bandwidth,cwnd", "--plot", "--runs", "1"]
    assert "no flow has a sample of bandwidth" in ok("run", chain, *SHORT, *wanted, "--out", out).stderr
    assert (out / "cwnd.png").exists()


@pytest.mark.parametrize("command", ["models", "measures", "schema"])
def test_a_reader_that_has_gone_ends_every_command_alike(command: str) -> None:
    line = f"{sys.executable} -m hopyard {command} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (141, "")


def test_too_little_memory_is_said(chain: Path) -> None:
    said = []
    # There is room for Python and Hopyard, and not for all libraries; how much that is depends on
    # the machine.
    for room in (240_000_000, 220_000_000, 200_000_000, 180_000_000, 160_000_000):
        limit = partial(resource.setrlimit, resource.RLIMIT_AS, (room, room))
        done = finished("run", chain, "--set", "duration=2 s", preexec_fn=limit)
        assert "hopyard/cli/" not in done.stderr
        if done.returncode == 3:
            said.append(done.stderr)
    assert said
    assert all("there is not enough memory" in text for text in said)


def test_ctrl_c_keeps_what_is_done(chain: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    # Many short runs, so that some are finished and some are not when the signal arrives.
    ended = process("run", chain, "--out", out, "--set", "duration=20 s", "--runs", 100_000)
    time.sleep(3)
    ended.send_signal(signal.SIGINT)
    _, errors = ended.communicate(timeout=30)
    assert ended.returncode == 130, errors
    assert "only the runs that were finished are kept" in errors
    flows = parquet.read_table(out / "flows.parquet")
    assert 0 < len(flows) < 100_000
    assert (flows["goodput_kbps"].to_numpy() > 0).any()


def test_check_judges_all_files_and_keys_go_together(chain: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text(chain.read_text().replace("spacing", "spacng"))
    done = refused("check", bad, chain)
    assert f"{chain}: nothing wrong" in done.stdout
    assert "spacng" in done.stderr
    assert "3 cases" in ok("check", chain, "--set", "nodes.count=3..5", "--with", "flow.to=last").stdout
    assert "expected a --set before it" in refused("check", chain, "--with", "flow.to=last").stderr


def test_check_counts_warnings_and_does_not_say_that_nothing_is_wrong(chain: Path) -> None:
    done = ok("check", chain, "--set", "flow.stop=9999 s")
    assert "warning: the run ends at" in done.stderr
    assert done.stdout == f"{chain}: no errors, 1 warning\n"


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("run FILE --out o >&-", 3, "standard output: Bad file descriptor"),
        ("run FILE --out o -q >&-", 0, ""),
        ("run FILE --out o 2>&-", 0, ""),
        ("run FILE --out o --plot <&- >&- 2>&-", 3, ""),
        ("run - --out o <&-", 2, "standard input: Bad file descriptor"),
        ("check FILE >&-", 3, "standard output: Bad file descriptor"),
        ("new chain >&-", 3, "standard output: Bad file descriptor"),
        ("--help >&-", 3, "standard output: Bad file descriptor"),
        ("--help >/dev/full", 3, "standard output: No space left on device"),
        ("check nothing.toml >&- 2>&-", 2, ""),
    ],
)
def test_closed_streams_are_answered(short: Path, tmp_path: Path, line: str, code: int, words: str) -> None:
    command = f"{sys.executable} -m hopyard {line.replace('FILE', str(short))}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
    if "--out" in line and "run -" not in line:
        assert len(Results.load(tmp_path / "o").flows) == Scenario.load(short).runs
