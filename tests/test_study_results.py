"""What commands say of a study's results: whole, damaged, failed, or not to be written."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import pytest
from chains import chain
from hopyard import load_results
from hopyard.errors import StoreError
from hopyard.study import load
from hopyard.study.points import points
from hopyard.study.sweep import Until, sweep
from short import command, finished, ok, refused, sql

CHAIN = chain("1 s")
STUDY = """
title = "Senders"
scenario = "chain.toml"
runs = 3
measures = ["goodput", "first", "second"]

[axes.sender.cases]
NewReno = { "flow.tcp" = "newreno" }
"a=1, sender=2" = { "flow.tcp" = "vegas" }

[measure.first]
column = "timeouts"
title = "Goodput"
unit = "kbit/s"

[measure.second]
column = "notices"
title = "Goodput"
unit = "kbit/s"
"""
SERIES = """
[measure.window]
series = "cwnd"
reduce = "mean"
"""


def _sweep(*arguments: str) -> None:
    ok("sweep", "study.toml", "--out", "store", *arguments)


def test_measures_of_one_title_have_columns_of_their_own(folder: Path) -> None:
    _sweep()
    for each in ([], ["--each"]):
        words = ["results", "study.toml", "--out", "store", "-o", "found.csv", *each]
        ok(*words)
        with (folder / "found.csv").open() as file:
            row = next(csv.DictReader(file))
        values = [float(row[f"Goodput (kbit/s) [{name}]"]) for name in ("goodput", "second")]
        assert values[0] > 0
        assert values[1] == 0
        assert "Goodput (kbit/s) [first]" in row
        assert "Goodput (kbit/s)" not in row


def test_a_run_whose_rows_are_gone_is_missing_and_not_zero(folder: Path) -> None:
    _sweep()
    before = load_results("study.toml", out="store", measures="goodput")
    config = before["config"][0]
    sql(folder / "store", f"DELETE FROM flows WHERE run = 1 AND config = '{config}'")
    result = command("results", "study.toml", "--out", "store", "--each")
    assert "warning: left out: run 1 of sender=NewReno: flows has 0 rows, and 1 were" in result.output
    after = load_results("study.toml", out="store", measures="goodput")
    assert len(after) == len(before) - 1
    assert (after["goodput"] > 0).all()
    status = command("sweep", "study.toml", "--out", "store", "--status")
    assert "sender=NewReno: 2 of 3 runs\n" in status.output
    assert "2 points, 5 of 6 runs are there" in status.output
    assert "1 run is missing, 0 of them failed" in command("audit", "study.toml", "--out", "store").output
    # The sweep makes it again, and nothing else.
    assert "5 were there, 1 made now" in command("sweep", "study.toml", "--out", "store").output


def test_a_damaged_file_of_a_run_that_nobody_asks_for(folder: Path) -> None:
    text = STUDY.replace('"first", "second"]', '"window"]')
    (folder / "study.toml").write_text(text + SERIES)
    _sweep("--runs", "5")
    for path in (folder / "store" / "series").glob("*-4-*.parquet"):
        path.write_bytes(b"nothing")
    result = ok("results", "study.toml", "--out", "store")
    assert "warning: left out: run 4 of sender=NewReno: " in result.output
    assert ".parquet cannot be read" in result.output
    assert len(points(load("study.toml"))[0].planned.runs) == 3
    # Other measures need no series.
    assert len(load_results("study.toml", out="store", measures="goodput")) == 10
    with pytest.raises(StoreError, match=r"\.parquet cannot be read"):
        load_results("study.toml", out="store", measures="window")
    # One that is asked for is an error until the sweep has made the run again.
    for path in (folder / "store" / "series").glob("*-1-*.parquet"):
        path.write_bytes(b"nothing")
    assert ".parquet cannot be read" in refused("results", "study.toml", "--out", "store").output
    _sweep()
    ok("results", "study.toml", "--out", "store")


RULE = """
from hopyard import CongestionControl

class Fails(CongestionControl):
    def on_ack(self, ack):
        raise RuntimeError("no such luck")

    def on_loss(self, loss):
        pass

    def on_timeout(self, timeout):
        pass
"""


def test_until_ends_a_point_all_of_whose_runs_fail(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "always_fails.py").write_text(RULE)
    monkeypatch.syspath_prepend(str(folder))
    (folder / "study.toml").write_text(STUDY.replace('"vegas"', '"always_fails:Fails"'))
    until = Until(0.5, "goodput", 500)
    outcome = sweep(load("study.toml"), out=folder / "store", progress=False, until=until)
    assert [(str(point), count) for point, count in outcome.given_up] == [("sender=a=1, sender=2", 13)]
    assert outcome.bad == 13
    words = ["sweep", "study.toml", "--out", "store", "--until", "50%", "--most", "500"]
    result = command(*words)
    assert result.exit_code == 1
    assert "no more runs of sender=a=1, sender=2: all of its 13 runs have failed" in result.output


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
@pytest.mark.parametrize(
    "words",
    [
        ["sweep", "study.toml", "--out", "store", "--status"],
        ["sweep", "study.toml", "--dry-run"],
        ["sweep", "study.toml", "--out", "store"],
        ["results", "study.toml", "--out", "store"],
        ["audit", "study.toml", "--out", "store"],
        ["check", "study.toml"],
    ],
)
def test_output_that_cannot_be_written(folder: Path, words: list[str]) -> None:
    _sweep("--runs", "1")
    with Path("/dev/full").open("w") as full:
        done = finished(*words, cwd=folder, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 3, done.stderr
    assert "No space left on device" in done.stderr


def test_one_of_a_thing_is_no_plural(folder: Path) -> None:
    text = STUDY.partition('"a=1')[0] + STUDY.partition('"vegas" }\n')[2]
    (folder / "study.toml").write_text(text.replace("runs = 3", "runs = 1"))
    assert "nothing wrong, 1 point, 1 run\n" in command("check", "study.toml").output
    assert "1 point, 1 run\n" in command("sweep", "study.toml", "--dry-run").output
    assert "1 point, 1 run: 0 were there" in command("sweep", "study.toml", "--out", "store").output
    status = command("sweep", "study.toml", "--out", "store", "--status").output
    assert "1 of 1 run\n1 point, 1 of 1 run is there" in status
    audit = command("audit", "study.toml", "--out", "store").output
    for part in ("1 run a point", "1 flow\n", "We simulated 1 configuration", "was run 1 time for"):
        assert part in audit, part


def test_a_label_with_commas_and_equals_signs_is_chosen(folder: Path) -> None:
    del folder
    words = ["sweep", "study.toml", "--dry-run", "--only"]
    assert "1 point, 3 runs" in command(*words, "sender=a=1, sender=2").output
    assert "2 points, 6 runs" in command(*words, "sender=a=1, sender=2,sender=NewReno").output
    for several in ("sender=a=1, sender=2,NewReno", "sender=NewReno,a=1, sender=2", "sender=NewReno, a=1, sender=2,"):
        assert "2 points, 6 runs" in command(*words, several).output
    assert "the axis sender has no value 'Vgas'" in refused(*words, "sender=NewReno,Vgas").output
    assert "the axis sender has no value 'NewRino'; did you mean 'NewReno'?" in refused(*words, "sender=NewRino").output


def test_wrong_choices_are_named(folder: Path) -> None:
    _sweep()
    with pytest.raises(TypeError, match=r"only: expected the values of axes.*found 'sender=2'"):
        load_results("study.toml", out="store", only="sender=2")  # type: ignore[call-overload]
    for x, expected in (
        ("flow.tcp", "--x flow.tcp: expected an axis of the study; the axis sender changes this"),
        ("hops", "--x hops: expected an axis of the study; there are sender"),
    ):
        assert expected in refused("plot", "study.toml", "--out", "store", "--x", x).output
    for option, value in (("--most", 5), ("--until-measure", "delay")):
        assert f"{option} needs --until" in refused("sweep", "study.toml", "--out", "store", option, value).output
    sql(folder / "store", "UPDATE meta SET value = '999' WHERE key = 'format'")
    result = refused("results", "study.toml", "--out", "store")
    assert "has format 999: expected format 1, that of Hopyard" in result.output
    assert "a newer version of Hopyard has made it" in result.output


MORE = """
[[table]]
name = "goodput"
title = "Goodput"
rows = ["sender"]
measures = ["goodput"]

[[claim]]
id = "less"
text = "Less"
measure = "goodput"
expect = "at least"
value = 1
"""


def test_a_watched_point_has_an_interval_that_may_be_watched(folder: Path) -> None:
    from hopyard.statistics import sequence
    from hopyard.statistics.estimates import estimate
    from hopyard.store.reading import Reader
    from hopyard.study.values import Values

    (folder / "study.toml").write_text(STUDY.replace('"first", "second"', '"delay"') + MORE)
    _sweep("--until", "90%", "--only", "sender=NewReno")
    study = load("study.toml")
    newreno, vegas = points(study)
    with Reader(folder / "store") as store:
        values = Values(study, store)
        runs, sample = values.every(*newreno.planned.key, "delay")
        assert len(runs) > 30
        mine = values.interval(sample, [newreno])
        assert mine.half_width == pytest.approx(sequence(sample).half_width)
        assert mine.half_width > estimate(sample).half_width
        assert values.estimate(vegas, "delay") == estimate(values.of(vegas, "delay")[1])
    _sweep()
    said = command("results", "study.toml", "--out", "store").output
    assert f"{len(runs)} †" in said
    assert "† anytime-valid interval: runs were added until one was narrow enough" in said
    ok("results", "study.toml", "--out", "store", "-o", "found.csv")
    with (folder / "found.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["interval"] for row in rows] == ["anytime-valid", "Student"]
    assert float(rows[0]["Delay (ms) ±"]) == pytest.approx(mine.half_width)
    ok("report", "study.toml", "--out", "store", "--to", "report")
    assert "† Runs were added until an interval was narrow enough" in (folder / "report" / "report.html").read_text(
        encoding="utf-8"
    )
    with (folder / "report" / "goodput.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["goodput interval"] for row in rows] == ["anytime-valid", "Student"]
    audit = command("audit", "study.toml", "--out", "store").output
    assert "until an interval was narrow enough in 1 configuration; means of these are" in audit


@pytest.mark.usefixtures("here")
def test_points_of_one_movement_are_compared_run_by_run() -> None:
    Path("chain.toml").write_text(CHAIN)
    axes = '[axes.hops]\nkey = "nodes.count"\nvalues = [3, 4]\n'
    axes += '[axes.sender]\nkey = "flow.tcp"\nvalues = ["newreno", "vegas", "cubic"]\n'
    head = 'title = "Senders"\nscenario = "chain.toml"\nruns = 3\nmeasures = ["delay"]\n'
    Path("study.toml").write_text(head + axes)
    _sweep()

    def differences(*arguments: str) -> tuple[str, dict[tuple[str, str], float]]:
        result = ok("results", "study.toml", "--out", "store", *arguments)
        _, _, said = result.output.partition("difference from ")
        rows = [line.split() for line in said.splitlines()[1:] if line.strip()[:2] in ("3 ", "4 ")]
        return said.partition(",")[0], {(row[0], row[1]): float(row[2]) for row in rows}

    found = load_results("study.toml", out="store", measures="delay", frame="pyarrow").to_pylist()
    mean = {
        (hops, sender): sum(row["delay"] for row in found if (row["hops"], row["sender"]) == (hops, sender)) / 3
        for hops in (3, 4)
        for sender in ("newreno", "vegas", "cubic")
    }
    for base, arguments in (("newreno", []), ("cubic", ["--against", "sender=cubic"])):
        name, shown = differences(*arguments)
        assert name == f"sender = {base}"
        assert set(shown) == {(hops, each) for hops in "34" for each in ("newreno", "vegas", "cubic") if each != base}
        for (hops, sender), value in shown.items():
            exact = mean[int(hops), sender] - mean[int(hops), base]
            assert value == pytest.approx(exact, abs=max(1, abs(exact) / 10))
    # Chains of different length do not have the same places.
    name, shown = differences("--against", "hops=3")
    assert (name, shown) == ("", {})


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--against", "sender=Vega"], "the axis sender has no value 'Vega'"),
        (["--against", "tcp=Vegas"], "no axis is called 'tcp'"),
        (["--against", "Vegas"], "expected AXIS=VALUE, found 'Vegas'"),
        (["--against", "sender=NewReno", "--against", "sender=Vegas"], "expected one value of sender, found"),
        (["--against", "sender=NewReno", "--each"], "--against and --each exclude each other"),
        (["--against", "sender=NewReno", "-o", "x.csv"], "--against and --output exclude each other"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_points_cannot_be_compared_with(arguments: list[str], told: str) -> None:
    _sweep()
    assert told in refused("results", "study.toml", "--out", "store", *arguments).output
    assert not Path("x.csv").exists()
