"""Comparisons: what is compared, what is the same, and what pairs are."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import hopyard
import pytest
from hopyard import Estimate, Results, Scenario
from hopyard.cli import result_tables as report
from hopyard.tables import pairs
from rich.console import Console
from short import SHORT, TCPS, command, ok, refused

if TYPE_CHECKING:
    from pathlib import Path


def test_runs_of_different_seeds_are_no_pairs(short: Path, tmp_path: Path) -> None:
    results = hopyard.run(short, set={"seed": [1, 2], **TCPS}, runs=3)
    one, other, two, _ = results.cases
    assert results.difference("delay", other, one).runs == 3
    with pytest.raises(ValueError, match=r"have the seeds 2 and 1: .* are no pairs"):
        results.difference("delay", two, one)
    out = Console(record=True, width=120)
    report.show(results, ["delay"], out=out)
    text = out.export_text()
    assert text.count("difference from tcp = newreno, run by run") == 1
    _, _, apart = text.partition("difference from")
    assert (apart.count("vegas"), apart.count("newreno")) == (2, 1)
    ok("run", short, "--set", "seed=1,2", "--runs", 2, "--out", tmp_path / "o")
    done = ok("show", tmp_path / "o")
    assert "run by run" not in done.stdout
    assert "Cases that differ in seed do not meet the same seed: their runs are no pairs" in done.stdout


def test_runs_of_other_movement_are_no_pairs() -> None:
    walk = {"mobility": {"model": "random_waypoint"}, "nodes": {"count": 4, "area": ["200 m", "200 m"]}}
    one, two = SHORT | walk, SHORT | walk | {"name": "other", "routing": {"protocol": "dsdv"}}
    results = hopyard.run(one, set={"nodes.count": [4, 5], **TCPS}, runs=2)
    assert {n: first.number for n, first in results.firsts().items()} == {1: 0, 3: 2}
    alone = hopyard.run(one, set={"nodes.count": [4, 5]}, runs=2)
    assert alone.firsts() == {}
    out = Console(record=True, width=160)
    report.show(alone, ["delay"], out=out)
    assert "Cases that differ in nodes.count do not meet the same movement" in out.export_text()
    # Scenarios of other names are read: these two differ in nothing that moves nodes.
    assert {n: first.number for n, first in hopyard.run([one, two], runs=2).firsts().items()} == {1: 0}
    two["mobility"] = {"model": "gauss_markov"}
    assert hopyard.run([one, two], runs=2).firsts() == {}
    # Nodes that are kernels stand where the others do; a profile may say that they walk in another way.
    keys = [pairs.moving(key) for key in ("nodes.system", "nodes.count", "mobility.model", "profile", "mac.model")]
    assert keys == [False, True, True, True, False]


def test_a_difference_of_folders_says_how_many_pairs_it_has(short: Path, tmp_path: Path) -> None:
    for tcp, runs, seed in (("newreno", 2, 1), ("vegas", 3, 1), ("vegas", 2, 9)):
        words = ["--set", f"flow.tcp={tcp}", "--runs", runs, "--seed", seed, "--out", tmp_path / f"{tcp}{seed}"]
        ok("run", short, *words)
    done = command("show", tmp_path / "newreno1", tmp_path / "vegas1", "--measure", "delay")
    means, _, apart = done.stdout.partition("difference from tcp = newreno")
    assert ("runs" in means, "pairs" in means, "runs" in apart, "pairs" in apart) == (True, False, False, True)
    (row,) = (line for line in apart.splitlines() if "vegas" in line)
    assert row.split()[1] == "2"
    done = command("show", tmp_path / "newreno1", tmp_path / "vegas9")
    assert "Cases that differ in their seeds do not meet the same seed" in done.stdout


def test_variants_are_compared_at_each_value_of_a_number(short: Path) -> None:
    sizes = {"tcp.segment_size": ["500 B", "1 kB", "750 B"]}
    for order in (sizes | TCPS, TCPS | sizes):
        results = hopyard.run(short, set=order, runs=2)
        firsts = results.firsts()
        assert len(firsts) == 3
        for case in results.cases:
            if case.number in firsts:
                first = firsts[case.number]
                assert (first.settings["flow.tcp"], case.settings["flow.tcp"]) == ("newreno", "vegas")
                assert first.settings["tcp.segment_size"] == case.settings["tcp.segment_size"]
        against = results.firsts({"tcp.segment_size": "1 kB"})
        assert sorted(against) == [case.number for case in results.cases if "1 kB" not in case.settings.values()]
    # One run has no interval.
    assert hopyard.run(short, set=TCPS, runs=1).firsts() == {}
    # Keys that change together are one.
    together = {("flow.tcp", "tcp.window"): [("newreno", 4), ("vegas", 8), ("sack", 9)]}
    results = hopyard.run(short, set=together, runs=2)
    assert {n: first.number for n, first in results.firsts({"flow.tcp": "vegas"}).items()} == {0: 1, 2: 1}


def test_machines_read_differences_too(short: Path, tmp_path: Path) -> None:
    results = hopyard.run(short, set=TCPS, runs=3, out=tmp_path / "o")
    newreno, vegas = results.cases
    expected = results.difference("delay", vegas, newreno)
    shown = json.loads(command("show", tmp_path / "o", "--format", "json", "--measure", "delay").stdout)
    first, second = (case["difference_from"] for case in shown["cases"])
    assert first is None
    assert second["settings"] == {"flow.tcp": "newreno"}
    assert second["measures"]["delay"]["mean"] == pytest.approx(expected.mean)
    text = command(
        "show", tmp_path / "o", "--format", "csv", "--measure", "delay", "--against", "flow.tcp=vegas"
    ).stdout
    rows = list(csv.DictReader(text.splitlines()))
    assert rows[1]["difference from"] == rows[1]["Delay (ms) difference"] == ""
    assert float(rows[0]["Delay (ms) difference"]) == pytest.approx(-expected.mean)
    assert float(rows[0]["Delay (ms) difference ±"]) == pytest.approx(expected.half_width)
    summary = list(csv.DictReader((tmp_path / "o" / "summary.csv").read_text().splitlines()))
    assert float(summary[1]["Delay (ms) difference"]) == pytest.approx(expected.mean)


def test_a_mark_stands_where_zero_is_outside() -> None:
    assert pairs.signed(Estimate(5.0, 2.0, 3)) == ("+5.0", "2.0 *")
    assert pairs.signed(Estimate(-5.0, 6.0, 3)) == ("-5.0", "6.0")
    assert pairs.signed(Estimate(-0.001, 0.2, 3)) == ("0.00", "0.20")
    # Runs that are all the same have no interval: whether the next one is too is not known.
    assert pairs.signed(Estimate(5.0, 0.0, 3)) == ("+5", "")


def test_the_case_that_others_are_compared_with_is_there(short: Path, tmp_path: Path) -> None:
    hopyard.run(short, set={"seed": [1, 2], **TCPS}, runs=2, out=tmp_path / "o")
    for given, expected in (
        ("flow.tpc=vegas", "no compared key is called 'flow.tpc'; there are seed, flow.tcp, scenario"),
        ("flow.tcp=cubic", "no case has flow.tcp=cubic; there are newreno, vegas"),
        ("scenario=long", "no case has scenario=long; there are short"),
        ("seed=1", "runs of different seeds are no pairs: expected another compared key"),
        ("vegas", "expected KEY=VALUE such as flow.tcp=cubic, found 'vegas'"),
    ):
        for words in (
            ["show", tmp_path / "o"],
            ["show", tmp_path / "o", "--format", "latex"],
            ["plot", tmp_path / "o"],
            ["run", short, "--set", "flow.tcp=newreno,vegas"],
        ):
            done = command(*words, "--against", given)
            said = expected.replace("seed, flow.tcp", "flow.tcp") if words[0] == "run" else expected
            assert (done.exit_code, said in done.stderr) == (2, True), done.stderr
            # A file into which a table is written has none, rather than half of it.
            assert done.stdout == ""
    done = command("show", tmp_path / "o", "--against", "flow.tcp=vegas")
    assert (done.exit_code, done.stdout.count("run by run")) == (0, 1)
    assert "difference from tcp = vegas" in done.stdout
    refused("show", tmp_path / "o", "--flows", "--against", "flow.tcp=vegas")


def test_a_case_without_the_other_beside_it_is_told(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = hopyard.run(short, set={"tcp.segment_size": ["500 B", "1 kB"], **TCPS}, runs=2)
    # Vegas with the last size is not there, as after a sweep that was stopped.
    monkeypatch.setitem(vars(results), "cases", results.cases[:-1])
    out = Console(record=True, width=160)
    report.show(results, ["delay"], out=out, against={"flow.tcp": "vegas"})
    text = " ".join(out.export_text().split())
    assert "there is no case beside it that has flow.tcp=vegas" in text
    assert text.count("run by run") == 1


def test_lists_that_are_given_twice_add_up(short: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    line = ["run", short, "--runs", 1, "--out", out, "--series", "cwnd", "--series", "srtt,cwnd"]
    done = ok(*line, "--measure", "delay", "--measure", "hops,goodput")
    assert set(Results.load(out).series["quantity"].to_pylist()) == {"cwnd", "srtt"}
    assert all(title in done.stdout for title in ("Delay", "Hops", "Goodput"))
    shown = command("show", out, "--measure", "hops", "--measure", "loss").stdout
    assert ("Hops" in shown, "Loss" in shown, "Goodput" in shown) == (True, True, False)
    ok("plot", out, "--series", "cwnd", "--series", "srtt")


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
        done = ok(word, tuned, *line, "--set", "flow.tcp=newreno,vegas")
        assert unused not in done.stderr
        # What no case uses is said once.
        assert done.stderr.count("[tcp.reno] is not used") == 1
        assert command(word, tuned, *line, "--set", "flow.tcp=newreno,sack,tahoe").stderr.count(unused) == 1


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
    done = refused("run", short, "--set", "runs=1,2", "--out", tmp_path / "o")
    assert "runs=1 and runs=2 are the same" in done.stderr
    assert not (tmp_path / "o").exists()
    # Names may be compared, and keys that are compared together with others.
    assert len(hopyard.run(short, set={"name": ["a", "b"]}, runs=1).cases) == 2
    together = {("flow.tcp", "runs"): [("newreno", 1), ("vegas", 2)]}
    assert len(hopyard.run(short, set=together).flows) == 3
