"""Comparisons: what is compared, what is the same, and what pairs are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hopyard
import pytest
from hopyard import Results, Scenario
from hopyard.cli import result_tables as report
from rich.console import Console
from short import SHORT, TCPS, command

if TYPE_CHECKING:
    from pathlib import Path


def test_runs_of_different_seeds_are_no_pairs(short: Path, tmp_path: Path) -> None:
    results = hopyard.run(short, set={"seed": [1, 2], **TCPS}, runs=3)
    one, other, two, _ = results.cases
    assert results.difference("delay", other, one).runs == 3
    with pytest.raises(ValueError, match=r"have the seeds 2 and 1: .* are no pairs"):
        results.difference("delay", two, one)
    out = Console(record=True, width=120)
    report.differences(results, ["delay"], out=out)
    text = out.export_text()
    assert text.count("by pairs") == 2
    assert "difference from seed = 1, tcp" not in text
    assert text.count("vegas") == 2
    assert command("run", short, "--set", "seed=1,2", "--runs", 2, "--out", tmp_path / "o").exit_code == 0
    done = command("show", tmp_path / "o", "--difference")
    assert done.exit_code == 0
    assert "by pairs" not in done.stdout
    assert "there is no other case of seed 2 to compare it with" in " ".join(done.stdout.split())


def test_a_difference_names_what_there_is(short: Path, tmp_path: Path) -> None:
    hopyard.run(short, set={"seed": [1, 2], **TCPS}, runs=2, out=tmp_path / "o")
    for given, expected in (
        ("flow.tpc=vegas", "no compared key is called 'flow.tpc'; there are seed, flow.tcp"),
        ("flow.tcp=cubic", "no case has flow.tcp=cubic; there are newreno, vegas"),
        ("seed=3", "no case has seed=3; there are 1, 2"),
        ("seed=1", "runs of different seeds are no pairs: expected another compared key"),
    ):
        done = command("show", tmp_path / "o", "--difference", given)
        assert (done.exit_code, expected in done.stderr) == (2, True), done.stderr
    done = command("show", tmp_path / "o", "--difference", "flow.tcp=vegas")
    assert (done.exit_code, done.stdout.count("by pairs")) == (0, 2)


def test_a_case_without_the_other_beside_it_is_told(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = hopyard.run(short, set={"tcp.segment_size": ["500 B", "1 kB"], **TCPS}, runs=2)
    # Vegas with the last size is not there, as after a sweep that was stopped.
    monkeypatch.setitem(vars(results), "cases", results.cases[:-1])
    out = Console(record=True, width=160)
    report.differences(results, ["delay"], out=out, case_is={"flow.tcp": "vegas"})
    text = " ".join(out.export_text().split())
    assert "there is no case beside it that has flow.tcp=vegas" in text
    assert text.count("by pairs") == 1


def test_lists_that_are_given_twice_add_up(short: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    line = ["run", short, "--runs", 1, "--out", out, "--series", "cwnd", "--series", "srtt,cwnd"]
    done = command(*line, "--measure", "delay", "--measure", "hops,goodput")
    assert done.exit_code == 0, done.stderr
    assert set(Results.load(out).series["quantity"].to_pylist()) == {"cwnd", "srtt"}
    assert all(title in done.stdout for title in ("Delay", "Hops", "Goodput"))
    shown = command("show", out, "--measure", "hops", "--measure", "loss").stdout
    assert ("Hops" in shown, "Loss" in shown, "Goodput" in shown) == (True, True, False)
    assert command("plot", out, "--series", "cwnd", "--series", "srtt").exit_code == 0


@pytest.fixture
def tuned(tmp_path: Path) -> Path:
    path = tmp_path / "tuned.toml"
    path.write_text("[tcp.vegas]\nalpha = 2\n[tcp.reno]\n[nodes]\ncount = 3\n[[flow]]\nfrom = 0\nto = 2\n")
    return path


def test_a_table_that_one_compared_case_uses_is_no_warning(tuned: Path) -> None:
    line = ["--set", "duration=1 s", "--set", "runs=1"]
    unused = "[tcp.vegas] is not used"
    for word in ("check", "run"):
        assert unused in command(word, tuned, *line).stderr
        done = command(word, tuned, *line, "--set", "flow.tcp=newreno,vegas")
        assert (done.exit_code, unused in done.stderr) == (0, False)
        # What no case uses is said once.
        assert done.stderr.count("[tcp.reno] is not used") == 1
        done = command(word, tuned, *line, "--set", "flow.tcp=newreno,sack,tahoe")
        assert done.stderr.count(unused) == 1


def test_an_axis_over_a_key_that_does_nothing_is_warned_of(short: Path) -> None:
    axis = ["check", short, "--set", "tcp.timestamps=false", "--set", "tcp.echo_copies=last,all,none"]
    # The first value is the default.
    assert command(*axis).stderr.count("`echo_copies` does nothing here") == 1
    axis[3] = "tcp.timestamps=false,true"
    assert "does nothing" not in command(*axis).stderr


def test_keys_are_a_scenario() -> None:
    made = hopyard.run(SHORT, runs=1)
    assert made.flows.equals(hopyard.run(Scenario(SHORT), runs=1).flows)
    other = SHORT | {"name": "other", "duration": "3 s"}
    results = hopyard.run([SHORT, other], runs=1)
    assert [case.scenario for case in results.cases] == ["short", "other"]


def test_numbers_of_runs_may_come_one_by_one() -> None:
    results = hopyard.run(SHORT, runs=(2 * each for each in range(3)))
    assert results.flows["run"].to_pylist() == [0, 2, 4]


def test_the_same_runs_under_two_names_of_a_value_are_refused(short: Path, tmp_path: Path) -> None:
    done = command("run", short, "--set", "runs=1,2", "--out", tmp_path / "o")
    assert (done.exit_code, "runs=1 and runs=2 are the same" in done.stderr) == (2, True)
    assert not (tmp_path / "o").exists()
    # Names may be compared, and keys that are compared together with others.
    assert len(hopyard.run(short, set={"name": ["a", "b"]}, runs=1).cases) == 2
    together = {("flow.tcp", "runs"): [("newreno", 1), ("vegas", 2)]}
    assert len(hopyard.run(short, set=together).flows) == 3
