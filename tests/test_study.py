"""Study files, sweeps, and what is made of their results."""

from __future__ import annotations

import csv
import json
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from chains import HOPS, SENDERS, chain
from hopyard.study import StudyError
from hopyard.study.figures import draw
from hopyard.study.file import is_study
from hopyard.study.points import points
from hopyard.study.sweep import Until
from hopyard.study.tables import each_run, grid, whole
from matplotlib.patches import Rectangle
from short import command, finished, ok, process, refused
from sweeps import loaded, made, swept, verdicts

if TYPE_CHECKING:
    from collections.abc import Callable


CHAIN = chain("3 s", nodes=4)
AXES = f"""
title = "Senders on a chain"
scenario = "chain.toml"
runs = 3
measures = ["goodput", "delay", "window"]

{HOPS}
{SENDERS}
[measure.window]
column = "cwnd_mean"
reduce = "mean"
unit = "segments"

[quick]
runs = 2
set = {{ duration = "1 s" }}
axes = {{ hops = ["2"] }}
"""
MORE = """
[[table]]
name = "goodput"
title = "Goodput"
rows = ["hops"]
columns = ["sender"]
measures = ["goodput"]
against = { sender = "NewReno" }

[[figure]]
name = "lines"
title = "Goodput"
x = "hops"
lines = "sender"
measure = "goodput"

[[figure]]
name = "boxes"
title = "Delay"
kind = "box"
x = "sender"
panels = "hops"
measure = "delay"

[[claim]]
id = "less"
text = "Vegas has less delay."
measure = "delay"
expect = "less"
case = { sender = "Vegas" }
than = { sender = "NewReno" }

[[claim]]
id = "more"
text = "Vegas has more delay."
measure = "delay"
expect = "greater"
case = { sender = "Vegas" }
than = { sender = "NewReno" }

[[claim]]
id = "falls"
text = "Goodput falls with the hops."
measure = "goodput"
expect = "decreasing"
along = "hops"
"""
STUDY = AXES + MORE


pytestmark = pytest.mark.usefixtures("folder")


def _rows(folder: Path, out: str = "store") -> list[dict[str, str]]:
    found = folder / f"{out}.csv"
    ok("results", "study.toml", "--out", out, "--each", "-o", str(found))
    with found.open() as file:
        return list(csv.DictReader(file))


# Files.


def test_points_are_the_product_of_the_axes(folder: Path) -> None:
    found = points(loaded(folder))
    assert [point.labels for point in found] == [
        {"hops": hops, "sender": sender} for hops in ("2", "3") for sender in ("NewReno", "Vegas")
    ]
    assert [len(point.planned.runs) for point in found] == [3] * 4
    assert len({point.planned.config for point in found}) == 4
    quick = points(loaded(folder), quick=True)
    assert [point.labels["hops"] for point in quick] == ["2", "2"]
    assert [len(point.planned.runs) for point in quick] == [2, 2]
    assert not {each.planned.config for each in quick} & {each.planned.config for each in found}


def test_a_scenario_may_be_named_by_axes_and_points_left_out(folder: Path) -> None:
    (folder / "short.toml").write_text(CHAIN.replace("3 s", "1 s"))
    text = """
title = "Two files"
scenario = "{file}.toml"
[axes.file]
cases = { chain = {}, short = {} }
[axes.nodes]
key = "nodes.spacing"
values = ["100 m", "200 m"]
[experiment.main]
skip = [{ file = "short", nodes = "100 m" }]
"""
    found = points(loaded(folder, text))
    assert [str(point) for point in found] == [
        "file=chain, nodes=100 m",
        "file=chain, nodes=200 m",
        "file=short, nodes=200 m",
    ]
    assert [Path(str(point.planned.file)).name for point in found] == ["chain.toml", "chain.toml", "short.toml"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ('title = "Senders', 'titel = "Senders', ["study.toml:2: there is no key titel", "'title'"]),
        ("runs = 3", "runs = 0", ["study.toml:4: runs:", "found 0"]),
        ("runs = 3", 'runs = "three"', ["runs:", "found 'three'"]),
        ('key = "', 'key = "', []),
        ('labels = ["2", "3"]', 'labels = ["2"]', ["axes.hops: expected 2 labels, found 1"]),
        ("[[3, 2], [4, 3]]", "[[3, 2], [4]]", ["axes.hops: values: expected lists of 2 values"]),
        ('"cwnd_mean"', '"cwnd_maen"', ["measure.window:", "did you mean 'cwnd_mean'?"]),
        ('x = "hops"', 'x = "hop"', ["no axis is called 'hop'; did you mean 'hops'?"]),
        ('expect = "less"', 'expect = "lower"', ["claim.0.expect:", "'lower'"]),
        ('case = { sender = "Vegas" }', 'case = { sender = "Vega" }', ["did you mean 'Vegas'?"]),
        ('along = "hops"', "", ["claim falls: along is given with increasing and decreasing, and with"]),
        ('measure = "goodput"', 'measure = "goodputt"', ["did you mean 'goodput'?"]),
        ('axes = { hops = ["2"] }', 'axes = { hops = ["5"] }', ["has no value '5'"]),
        ('"chain.toml"', '"chains.toml"', ["scenario chains.toml: No such file"]),
        (
            "[quick]",
            '[axes.again]\nkey = "flow.tcp"\nvalues = ["vegas", "reno"]\n[quick]',
            ["axes.again: flow.tcp is changed by the axis sender already"],
        ),
        ('duration = "1 s" }', '"flow.tcp" = "reno" }', ["quick.set: flow.tcp is that of the axis sender"]),
        ('"newreno"', '"newrino"', ["the point hops=2, sender=NewReno is no valid", "newreno"]),
    ],
)
def test_what_is_wrong_is_named_with_its_line(folder: Path, before: str, after: str, expected: list[str]) -> None:
    text = STUDY.replace(before, after)
    if not expected:
        points(loaded(folder, text))
        return
    with pytest.raises(StudyError) as caught:
        points(loaded(folder, text))
    for part in expected:
        assert part in str(caught.value)
    refused("sweep", "study.toml", "--dry-run")
    assert not (folder / "results").exists()


def test_all_problems_are_told_at_once(folder: Path) -> None:
    text = AXES + MORE.replace('x = "hops"', 'x = "hop"').replace('along = "hops"', 'along = "a"')
    with pytest.raises(StudyError) as caught:
        loaded(folder, text)
    assert len(caught.value.problems) == 2


def test_studies_are_told_from_scenarios() -> None:
    assert is_study(AXES)
    assert not is_study(CHAIN)
    assert not is_study("no TOML [")


def test_check_reads_studies(folder: Path) -> None:
    assert "study.toml: nothing wrong, 4 points, 12 runs" in ok("check", "study.toml", "chain.toml").output
    (folder / "study.toml").write_text(AXES.replace('"vegas"', '"veags"'))
    assert "sender=Vegas" in refused("check", "study.toml").output


# Sweeps.


def test_a_sweep_makes_what_is_missing(folder: Path) -> None:
    assert swept(folder).made == 12
    assert swept(folder).made == 0
    assert swept(folder, runs=5).made == 8
    # A further value of an axis: its points alone are run.
    longer = AXES.replace("[4, 3]]", "[4, 3], [5, 4]]").replace('"3"]', '"3", "4"]') + MORE
    again = swept(folder, longer, runs=5)
    assert (again.before, again.made) == (20, 10)
    # What is no longer asked for stays in the store, and comes back with the axis.
    assert swept(folder, STUDY).made == 0
    assert swept(folder, longer, runs=5).made == 0


def test_runs_of_a_point_alone(folder: Path) -> None:
    outcome = swept(folder, only={"hops": "3", "sender": ["Vegas"]}, numbers=[1])
    assert outcome.made == 1
    rows = _rows(folder)
    assert [(row["hops"], row["sender"], row["run"]) for row in rows] == [("3", "Vegas", "1")]
    with pytest.raises(StudyError, match="the axis hops has no value '9'"):
        swept(folder, only={"hops": ["2", "9"]})
    with pytest.raises(StudyError, match="no axis is called 'hop'; did you mean 'hops'"):
        swept(folder, only={"hop": "2"})
    with pytest.raises(ValueError, match="numbers of runs from 0 to 2, found 7"):
        swept(folder, numbers=[7])


def test_results_are_those_of_hopyard_run(folder: Path) -> None:
    import hopyard

    swept(folder)
    rows = [row for row in _rows(folder) if (row["hops"], row["sender"]) == ("3", "Vegas")]
    alone = hopyard.run("chain.toml", set={"flow.tcp": "vegas"}, runs=3)
    (case,) = alone.cases
    assert [float(row["Goodput (kbit/s)"]) for row in rows] == list(alone.values("goodput", case))
    assert rows[0]["config"] == case.config
    assert float(rows[0]["window (segments)"]) == alone.flows["cwnd_mean"][0].as_py()


RULE = """
from hopyard import CongestionControl

class Fails(CongestionControl):
    def on_ack(self, ack):
        import pathlib
        if self.now > 1.0 and pathlib.Path("broken").exists():
            raise RuntimeError("no such luck")
        self.cwnd += 1 / self.cwnd

    def on_loss(self, loss):
        self.ssthresh = max(self.cwnd / 2, 2)
        self.cwnd = self.ssthresh

    def on_timeout(self, timeout):
        self.ssthresh = max(self.cwnd / 2, 2)
        self.cwnd = 1
"""


def test_failed_runs_are_kept_and_repeated_when_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "failing_rule.py").write_text(RULE)
    (folder / "broken").touch()
    monkeypatch.syspath_prepend(str(folder))
    text = AXES.replace('"vegas"', '"failing_rule:Fails"')
    outcome = swept(folder, text)
    assert outcome.made == 12
    assert [(str(p), run) for p, run, _ in outcome.failed] == [
        (f"hops={hops}, sender=Vegas", run) for hops in "23" for run in range(3)
    ]
    assert {"no such luck" in error for _, _, error in outcome.failed} == {True}, outcome.failed
    result = command("sweep", "study.toml", "--out", "store")
    assert result.exit_code == 1
    assert "hopyard sweep study.toml --only hops=2,sender=Vegas --run 0" in result.output
    (folder / "broken").unlink()
    assert swept(folder).made == 0
    assert swept(folder, retry=True).made == 6
    assert swept(folder).failed == []


def test_a_folder_of_other_results_is_refused() -> None:
    ok("run", "chain.toml", "--runs", "1", "--out", "store", "-q")
    assert "holds results of runs, not of the study" in refused("sweep", "study.toml", "--out", "store").output
    ok("sweep", "study.toml", "--out", "store", "--force", "-q")
    assert "holds results of the study" in refused("run", "chain.toml", "--out", "store").output


def _start(folder: Path, out: str) -> subprocess.Popen[str]:
    return process("sweep", "study.toml", "--out", out, "--jobs", "2", cwd=folder, stderr=subprocess.STDOUT)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_sweep_goes_on_where_it_was(folder: Path, number: signal.Signals) -> None:
    loaded(folder, AXES.replace("runs = 3", "runs = 12"))
    ok("sweep", "study.toml", "--out", "whole", "-q")
    chance = random.Random(5)
    for _ in range(4):
        killed = _start(folder, "store")
        time.sleep(0.3 + chance.random() * 0.5)
        killed.send_signal(number)
        killed.communicate(timeout=60)
    ok("sweep", "study.toml", "--out", "store", "-q")
    assert _rows(folder) == _rows(folder, "whole")


def test_two_sweeps_at_once(folder: Path) -> None:
    loaded(folder, AXES.replace("runs = 3", "runs = 20"))
    both = [_start(folder, "store"), _start(folder, "store")]
    said = [process.communicate(timeout=120)[0] for process in both]
    codes = sorted(process.returncode for process in both)
    # One of them has the folder; the other one says so, or came after it had ended.
    assert codes in ([0, 2], [0, 0]), said
    if codes == [0, 2]:
        assert any("is in use by another process" in text for text in said)
    assert len(_rows(folder)) == 80


def test_a_full_disk_is_told_and_nothing_is_lost(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hopyard.errors import StoreError
    from hopyard.store.store import Store

    add = Store.add
    added: list[object] = []

    def full(self: Store, *arguments: object) -> None:
        if added:
            raise StoreError(28, "No space left on device", str(self.path))
        added.append(arguments)
        add(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "add", full)
    loaded(folder, AXES.replace('duration = "1 s"', 'duration = "60 s"'))
    result = command("sweep", "study.toml", "--out", "store", "--runs", "60", "--jobs", "1")
    assert result.exit_code == 3, result.output
    assert "No space left on device" in result.output
    assert "The runs that were added before are kept." in result.output
    kept = len(_rows(folder))
    assert kept > 0
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    ok("sweep", "study.toml", "--out", "store", "--runs", "60", "-q")
    assert len(_rows(folder)) == 240


def test_a_cluster_gives_the_same_to_the_byte(folder: Path) -> None:
    pytest.importorskip("distributed")
    swept(folder)
    result = finished("sweep", "study.toml", "--out", "cluster", "--cluster", "local", "--jobs", "2", cwd=folder)
    assert result.returncode == 0, result.stdout + result.stderr
    assert _rows(folder, "cluster") == _rows(folder)


def test_the_progress_of_a_cluster_is_in_simulated_seconds(folder: Path) -> None:
    pytest.importorskip("distributed")
    from hopyard.study.cluster import Cluster
    from hopyard.terminal.signals import Stop

    told: list[tuple[int, float, float]] = []
    case = replace(points(loaded(folder))[0].planned, runs=[0, 1, 2])
    # Runs of 1 s would be told alike if they were counted instead.
    case = replace(case, core=case.core.with_settings([("duration", "4 s")]))
    cluster = Cluster("local", 1)
    try:
        cluster.run([case], lambda *_: None, lambda *all: told.append(all), Stop(leave=False))
    finally:
        cluster.close()
    assert told[-1] == (3, 12.0, 12.0)
    assert {(ended, 4.0 * ended, 12.0) for ended, _, _ in told} == set(told)


def test_a_scheduler_that_ends_is_told_and_what_was_made_is_kept(folder: Path) -> None:
    pytest.importorskip("distributed")
    scheduler_file = folder / "scheduler.json"
    dask = [sys.executable, "-m", "distributed.cli.dask_"]
    started = []

    def start(command: list[str]) -> subprocess.Popen[str]:
        started.append(subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return started[-1]

    def wait(over: Callable[[], object]) -> None:
        for _ in range(600):
            if over() or (started[-1].poll() is not None):
                return
            time.sleep(0.1)

    (folder / "chain.toml").write_text(CHAIN.replace('"3 s"', '"20 s"'))
    loaded(folder)
    try:
        there = ["--scheduler-file", str(scheduler_file)]
        local = ["--host", "127.0.0.1", "--no-dashboard"]
        scheduler = start([*dask[:2], f"{dask[2]}scheduler", *there, *local, "--port", "0"])
        wait(scheduler_file.exists)
        address = json.loads(scheduler_file.read_text())["address"]
        start([*dask[:2], f"{dask[2]}worker", address, "--nthreads", "1", "--no-nanny", *local])
        sweeping = [sys.executable, "-m", "hopyard", "sweep", "study.toml", "--out", "store"]
        sweep = start([*sweeping, "--runs", "500", "--cluster", address])
        # The first run is there.
        wait(lambda: command("results", "study.toml", "--out", "store").exit_code == 0)
        scheduler.kill()
        _, errors = sweep.communicate(timeout=90)
    finally:
        for process in started:
            process.kill()
            process.communicate()
    kept = len(_rows(folder))
    assert sweep.returncode == 1, errors
    assert f"has gone: {kept} of 2,000 runs were made and are kept" in errors
    assert "Traceback" not in errors


def test_an_address_without_a_cluster(folder: Path) -> None:
    pytest.importorskip("distributed")
    result = finished("sweep", "study.toml", "--cluster", "tcp://127.0.0.1:9", cwd=folder)
    assert result.returncode == 2
    assert "there is no Dask scheduler at tcp://127.0.0.1:9" in result.stderr
    assert not (folder / "results").exists()


# What is made of the results.


def test_tables(folder: Path) -> None:
    with made(folder) as source:
        study, mine, values = source.study, source.points, source.values
        table = whole(study, mine, values, ["goodput", "window"])
        assert table.column_names[:4] == ["hops", "sender", "runs", "Goodput (kbit/s)"]
        runs = each_run(mine, values, ["goodput"])
        shown = grid(study, study.document.table[0], mine, values)
    assert len(table) == 4
    assert len(runs) == 12
    means = np.asarray(runs["Goodput (kbit/s)"]).reshape(4, 3).mean(axis=1)
    assert np.allclose(means, np.asarray(table["Goodput (kbit/s)"]))
    assert [labels for labels, _ in shown.rows] == [("2",), ("3",)]
    first, second = shown.rows[0][1]
    assert first is not None
    assert second is not None
    assert first.difference is None
    assert second.difference is not None
    assert second.difference.mean == pytest.approx(second.value.mean - first.value.mean)


def test_claims_are_judged(folder: Path) -> None:
    text = STUDY.replace('duration = "3 s"', 'duration = "8 s"')
    with made(folder, text, runs=8) as source:
        found = verdicts(source)
        few = verdicts(replace(source, points=points(source.study, runs=1)))
    assert [each.verdict for each in found] == ["holds", "does not hold", "holds"]
    assert all(each.figure for each in found)
    # One run says nothing of chance.
    assert {each.verdict for each in few} == {"undecided"}


@pytest.mark.parametrize("kind", ["lines", "bars"])
def test_a_figure_of_differences_has_the_means_of_the_pairs(folder: Path, kind: str) -> None:
    figure = (
        f'[[figure]]\nname = "d"\ntitle = "D"\nkind = "{kind}"\nx = "hops"\nlines = "sender"\n'
        'measure = "goodput"\nagainst = { sender = "NewReno" }\n'
    )
    with made(folder, AXES + figure) as source:
        drawn = draw(source.study.document.figure[0], source)
        found = {tuple(each.labels.values()): source.values.of(each, "goodput")[1] for each in source.points}
    pairs = [found[hops, "Vegas"] - found[hops, "NewReno"] for hops in ("2", "3")]
    means = [float(np.mean(each)) for each in pairs]
    axis = drawn.axes[0]
    if kind == "lines":
        (line,) = [each for each in axis.get_lines() if each.get_label() == "Vegas"]
        assert np.asarray(line.get_ydata()).tolist() == pytest.approx(means)
    else:
        heights = [bar.get_height() for bar in axis.patches if isinstance(bar, Rectangle)]
        assert heights == pytest.approx(means)
    assert "difference from sender=NewReno" in axis.get_ylabel().replace("\n", " ")
    assert "Mean difference, run by run" in " ".join(text.get_text() for text in drawn.texts)


def test_a_report(folder: Path) -> None:
    (folder / "published.csv").write_text("hops,sender,measure,value\n2,NewReno,goodput,500\n3,Vegas,goodput,1\n")
    loaded(folder, STUDY.replace("runs = 3", 'runs = 3\npublished = "published.csv"'))
    ok("sweep", "study.toml", "-q")
    ok("report", "study.toml")
    where = folder / "results" / folder.name / "report"
    page = (where / "report.html").read_text()
    # What an audit knows of the networks and of the windows.
    assert "of the pairs without any path" in page
    assert "tcp.window limits no flow most of the time" in page
    parts = ["published 500", "does not hold", "<svg", "hopyard sweep study.toml"]
    for part in [*parts, "<small>Goodput (kbit/s)</small>", "Where a paper has published"]:
        assert part in page, part
    assert "http" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", "")
    names = {path.name for path in where.iterdir()}
    assert names == {
        "report.html",
        "claims.csv",
        "published.csv",
        "goodput.csv",
        *(f"{name}.{kind}" for name in ("lines", "boxes") for kind in ("png", "pdf")),
    }
    # The same results make the same page.
    ok("report", "study.toml", "--to", "again")
    assert (folder / "again" / "report.html").read_text() == page
    # A value without the axis that tells its points apart is judged at each of them.
    assert "point" not in (where / "published.csv").read_text().splitlines()[0]
    (folder / "published.csv").write_text("hops,measure,value\n2,goodput,500\n")
    ok("report", "study.toml", "--to", "both")
    lines = (folder / "both" / "published.csv").read_text().splitlines()
    assert lines[0].startswith("hops,measure,value,point,ours")
    assert [line.split(",")[3] for line in lines[1:]] == ["sender=NewReno", "sender=Vegas"]


def test_a_trend_follows_the_values_of_the_axis(folder: Path) -> None:
    text = STUDY.replace("[[3, 2], [4, 3]]", "[[4, 3], [3, 2]]")
    with made(folder, text.replace('labels = ["2", "3"]', 'labels = ["3", "2"]'), runs=8) as source:
        assert verdicts(source)[2].verdict == "holds"


def test_until_adds_runs_where_intervals_are_wide(folder: Path) -> None:
    wide = swept(folder, until=Until(0.002, "goodput", 13))
    assert wide.wide
    assert wide.made > 12
    assert not wide.complete
    enough = swept(folder, until=Until(0.5, "goodput", 60))
    assert not enough.wide


def test_a_package_that_is_not_installed_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    swept(folder)
    for name in [name for name in sys.modules if name.startswith(("scipy", "hopyard.statistics"))]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("audit", "claims", "report"):
        monkeypatch.delitem(sys.modules, f"hopyard.study.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert 'pip install ".[lab]"' in refused("audit", "study.toml", "--out", "store").output


def test_no_terminal_is_needed(folder: Path) -> None:
    done = finished("sweep", "study.toml", "--quick", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert f"In results/{folder.name}-quick" in done.stdout
