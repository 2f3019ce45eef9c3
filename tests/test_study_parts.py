"""Measures of a study's own, and tables and figures that compare its points."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import hopyard
import numpy as np
import pyarrow.compute as pc
import pytest
from chains import SENDERS, chain
from hopyard.scenario import catalogue
from hopyard.statistics.estimates import estimate
from hopyard.store.reading import Reader
from hopyard.study import StudyError, load
from hopyard.study.claims import _coefficient, _ranks, judged
from hopyard.study.figures import draw
from hopyard.study.points import Point, points
from hopyard.study.report import ReportError, make
from hopyard.study.sweep import LEAST_RUNS, Until, sweep
from hopyard.study.tables import grid
from hopyard.study.values import Sample, Values
from short import command
from sweeps import loaded, made, swept, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterable

STUDIES = Path(__file__).parent.parent / "studies"
CHAIN = chain(
    "4 s",
    more="""[[flow]]
from = 2
to = 0
start = "1 s"
""",
)
STUDY = f"""
title = "Senders on a chain"
scenario = "chain.toml"
runs = 3

{SENDERS}
[axes.segment]
key = "tcp.segment_size"
values = ["500 B", "1000 B"]

[measure.forth]
column = "goodput_kbps"
where = {{ source = 0 }}

[measure.flows]
column = "flow"
reduce = "count"

[measure.none]
column = "goodput_kbps"
where = {{ source = [1] }}
reduce = "mean"
scale = 10
missing = -1

[measure.share]
column = "goodput_kbps"
where = {{ source = 0 }}
of = "goodput"
scale = 100
unit = "%"

[measure.both]
measure = "delay"
where = {{ source = 2 }}
plus = ["forth", "goodput"]
of = "flows"
scale = 10

[measure.begun]
series = "goodput"
reduce = "first"
flow = 1
since = "0.5 s"

[[table]]
name = "ratios"
title = "Ratios"
rows = ["segment"]
columns = ["sender"]
measures = ["goodput"]
against = {{ sender = "NewReno" }}
ratio = true

[[table]]
name = "senders"
title = "Senders"
rows = ["sender"]
measures = ["goodput"]
mean_over = ["segment"]

[[figure]]
name = "heat"
title = "Shares"
kind = "heat"
x = "segment"
lines = "sender"
measure = "goodput"
against = {{ sender = "NewReno" }}

[[figure]]
name = "scatter"
title = "Goodput and delay"
kind = "scatter"
x = "segment"
lines = "sender"
measure = "goodput"
beside = "delay"
"""
LESS = """
[[claim]]
id = "less"
text = "Vegas has less goodput than NewReno."
measure = "goodput"
expect = "less"
case = { sender = "Vegas" }
than = { sender = "NewReno" }
"""


def test_measures_of_a_study(folder: Path) -> None:
    with made(folder) as source:
        values = source.values
        for point in source.points:
            given = {"flow.tcp": point.labels["sender"].lower(), "tcp.segment_size": point.labels["segment"]}
            results = hopyard.run(folder / "chain.toml", set=given, runs=3, progress=False)
            flows = results.flows.sort_by([("run", "ascending"), ("flow", "ascending")])
            goodput = np.asarray(flows["goodput_kbps"], dtype=float).reshape(3, 2)
            assert np.allclose(values.of(point, "forth")[1], goodput[:, 0])
            assert values.of(point, "flows")[1].tolist() == [2, 2, 2]
            assert values.of(point, "none")[1].tolist() == [-1, -1, -1]
            share = 100 * goodput[:, 0] / goodput.sum(axis=1)
            assert np.allclose(values.of(point, "share")[1], share)
            own = results.flows.filter(pc.equal(results.flows["source"], 2))
            delay = np.asarray(own.sort_by("run")["delay_ms"], dtype=float)
            both = 10 * (delay + goodput[:, 0] + goodput.sum(axis=1)) / 2
            assert np.allclose(values.of(point, "both")[1], both)
            # Its flow begins at 1 s, half a second after the time from which it is counted.
            begun = values.of(point, "begun")[1]
            assert ((begun > 0.5) & (begun < 1.5)).all()


def test_quotients_and_means_over_an_axis(folder: Path) -> None:
    with made(folder) as source:
        study, mine, values = source.study, source.points, source.values
        ratios, senders = (grid(study, each, mine, values) for each in study.document.table)
        sample = {(p.labels["sender"], p.labels["segment"]): values.of(p, "goodput")[1] for p in mine}
    for (segment,), (first, second) in ratios.rows:
        assert first is not None
        assert second is not None
        assert first.ratio is None
        assert second.ratio is not None
        expected = sample["Vegas", segment].mean() / sample["NewReno", segment].mean()
        assert second.ratio.figure == pytest.approx(expected)
        assert second.ratio.low <= expected <= second.ratio.high
    for (sender,), (cell,) in senders.rows:
        assert cell is not None
        both = (sample[sender, "500 B"] + sample[sender, "1000 B"]) / 2
        assert cell.value.mean == pytest.approx(both.mean())
        assert cell.value.runs == 3


def test_a_claim_about_means_over_an_axis(folder: Path) -> None:
    mean_over = 'mean_over = ["segment"]\n'
    with made(folder, STUDY + LESS + mean_over) as source:
        (verdict,) = verdicts(source)
        vegas = [source.values.of(p, "goodput")[1] for p in source.points if p.labels["sender"] == "Vegas"]
        # Without a partner of one of its points, a mean has nothing to stand beside, and says so.
        first = next(p for p in source.points if p.labels["sender"] == "NewReno")
        (lacking,) = verdicts(replace(source, points=[p for p in source.points if p is not first]))
    assert verdict.comparisons == 1
    assert f"Vegas {estimate(np.mean(vegas, axis=0))}" in verdict.figure
    assert (lacking.verdict, lacking.comparisons) == ("undecided", 0)
    assert "1 of 2 points have no such case beside them" in lacking.figure
    # A measure that exists in no run is not a matter of too few runs.
    none = '[measure.energy_of_flows]\ncolumn = "energy_useful_j"\nreduce = "max"\n'
    with made(folder, STUDY + none + LESS.replace('"goodput"', '"energy_of_flows"')) as source:
        (verdict,) = verdicts(source)
    assert (verdict.verdict, verdict.p) == ("no run has this measure", "")
    with pytest.raises(StudyError, match="sender stands in mean_over"):
        loaded(folder, STUDY + LESS + mean_over.replace("segment", "sender"))


def test_a_trend_of_a_difference(folder: Path) -> None:
    # Both gain with larger segments; the difference is that of the gains.
    claim = """
[[claim]]
id = "apart"
text = "The larger the segments, the more NewReno is ahead of Vegas."
measure = "goodput"
expect = "increasing"
along = "segment"
case = { sender = "NewReno" }
than = { sender = "Vegas" }
"""
    with made(folder, STUDY + claim) as source:
        (verdict,) = verdicts(source)
        # NewReno is before Vegas among the points.
        found = {
            size: [source.values.of(p, "goodput")[1] for p in source.points if p.labels["segment"] == size]
            for size in ("500 B", "1000 B")
        }
    assert verdict.comparisons == 1
    for size, (ours, theirs) in found.items():
        # A label that begins with a digit stands beside the name of its axis.
        assert f"{size} {estimate(ours - theirs)}" in verdict.figure
    with pytest.raises(StudyError, match="segment stands in along and in than"):
        loaded(folder, STUDY + claim.replace('{ sender = "Vegas" }', '{ segment = "500 B" }'))


def test_a_correlation(folder: Path) -> None:
    claim = """
[[claim]]
id = "alike"
text = "Over the sizes of segments, goodput and throughput go together."
measure = "goodput"
against = "throughput"
expect = "correlated"
along = "segment"
low = 0.5
case = { sender = "NewReno" }
"""
    sizes = STUDY.replace('values = ["500 B", "1000 B"]', 'values = ["300 B", "600 B", "1000 B"]')
    assert sizes != STUDY
    with made(folder, sizes + claim) as source:
        (verdict,) = verdicts(source)
        newreno = [point for point in source.points if point.labels["sender"] == "NewReno"]
        table = [[source.values.of(point, name)[1] for point in newreno] for name in ("goodput", "throughput")]
        few = [p for p in source.points if p.labels["segment"] != "300 B"]
        (lacking,) = verdicts(replace(source, points=few))
    first, second = np.array(table)
    expected = [np.corrcoef(a, b)[0, 1] for a, b in zip(first.T, second.T, strict=True)]
    assert (verdict.verdict, verdict.comparisons) == ("holds", 1)
    assert str(estimate(np.array(expected))) in verdict.figure
    assert "needs three values of segment, and there are 2" in lacking.figure
    for old, new, told in (
        ('against = "throughput"\n', "", "needs another measure \\(against\\) or another case"),
        ("low = 0.5", "", "needs low or high, bounds"),
        ("low = 0.5", "low = 1.5", "expected a coefficient from -1 to 1, found 1.5"),
        ('expect = "correlated"', 'expect = "increasing"', "against and ranks are for correlated"),
    ):
        with pytest.raises(StudyError, match=told):
            loaded(folder, sizes + claim.replace(old, new))


def test_ranks_of_equal_values_are_shared() -> None:
    assert _ranks(np.array([3.0, 1.0, 3.0, 2.0])).tolist() == [3.5, 1, 3.5, 2]
    up, down = np.array([1.0, 2.0, 30.0]), np.array([9.0, 8.0, 1.0])
    assert _coefficient(up, down, ranks=True) == pytest.approx(-1)
    assert -1 < _coefficient(up, down, ranks=False) < -0.9
    assert np.isnan(_coefficient(up, np.ones(3), ranks=True))


class Given(Values):
    """Values that no store has: eight runs of each point."""

    def __init__(self, found: dict[tuple[str, str], list[float]]) -> None:
        self._found = found

    def watched(self, points: Iterable[Point], measure: str = "") -> bool:
        return False

    def of(self, point: Point, measure: str) -> Sample:
        labels = point.labels["sender"], point.labels["segment"]
        return np.arange(8), np.array(self._found[labels])


def test_a_point_without_values_hides_no_other(folder: Path) -> None:
    study = loaded(folder, STUDY + LESS)
    low, high = [1.0, 2, 3, 4, 5, 6, 7, 8], [11.0, 13, 12, 15, 14, 17, 16, 19]
    nothing = [math.nan] * 8
    found = {("NewReno", "500 B"): low, ("Vegas", "500 B"): nothing, ("NewReno", "1000 B"): low}

    def outcome(vegas: list[float]) -> str:
        given = Given({**found, ("Vegas", "1000 B"): vegas})
        (verdict,) = judged(study, points(study), given)
        return verdict.verdict

    # The opposite at one point is enough. That it holds at one of two is not.
    assert outcome(high) == "does not hold"
    assert outcome([each - 20 for each in high]) == "undecided"


def test_fields_and_marks(folder: Path) -> None:
    with made(folder) as source:
        figures = source.study.document.figure
        heat, scatter = (draw(each, source) for each in figures)
        texts = [text.get_text() for text in heat.axes[0].texts]
        assert len(texts) == 4
        # NewReno beside itself.
        assert texts[:2] == ["1.00", "1.00"]
        assert len(scatter.axes[0].containers) == 2
        assert scatter.axes[0].get_xlabel() == "Delay (ms)"
        # No mark is cut by the edge, however close to each other the marks are: all have two hops.
        near = figures[1].model_copy(update={"beside": "hops"})
        low, high = draw(near, source).axes[0].get_xlim()
        assert low == 0
        assert high > 2.15
        report = make(source, folder / "report", command="")
    head = (folder / "report" / "ratios.csv").read_text().splitlines()[0]
    assert head.endswith("Vegas / goodput ratio low,Vegas / goodput ratio high")
    text = report.page.read_text()
    assert "times (" in text
    # The heads of the columns are names of senders.
    assert "<p>Goodput (kbit/s)</p>" in text


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("where = { source = 0 }", "where = { sorce = 0 }", "no column 'sorce'; did you mean"),
        ('of = "goodput"', 'of = "share"', "expected a measure that is not divided itself"),
        ('of = "goodput"', 'of = "godput"', "of: no measure is called 'godput'"),
        ('measure = "delay"', 'measure = "forth"', "measure: no measure is called 'forth'"),
        ('measure = "delay"', 'measure = "delay"\nreduce = "max"', "a way to reduce it"),
        ('measure = "delay"', 'measure = "delay"\ncolumn = "flow"', "a column, a series or a measure"),
        ("{ source = 2 }", "{ sorce = 2 }", "no column 'sorce'; did you mean"),
        ('plus = ["forth"', 'plus = ["share"', "plus: expected measures that are neither sums"),
        ('plus = ["forth"', 'plus = ["fort"', "plus: no measure is called 'fort'"),
        ('reduce = "first"', 'reduce = "count"', "median, max, min, std, last, first, below or slope for a"),
        ('reduce = "count"', 'reduce = "first"', "reduce = first or below are for series"),
        ('since = "0.5 s"', "where = { flow = 1 }", "where is for columns of tables"),
        ('since = "0.5 s"', 'experiments = ["no"]', "no experiment is called 'no'"),
        ('mean_over = ["segment"]', 'mean_over = ["sender"]', "sender stands in mean_over"),
        ('beside = "delay"', "", "beside is given with kind = scatter"),
        ('beside = "delay"', 'beside = "dely"', "no measure is called 'dely'"),
        ('lines = "sender"\nmeasure = "goodput"\nagainst', 'measure = "goodput"\nagainst', "lines"),
        ("ratio = true", 'ratio = true\npublishd = "no"', "there is no key table.0.publishd"),
        ('against = { sender = "NewReno" }\nratio', "ratio", "a ratio needs the case"),
        ('kind = "heat"', 'kind = "box"', "against is for kind = lines, bars or heat"),
        ('kind = "heat"', 'kind = "lines"\nlog_y = true', "may be below zero: expected no log_y"),
        ('lines = "sender"\nmeasure = "goodput"\nbeside', 'measure = "goodput"\nbeside', "which is not shown"),
        ('values = ["500 B", "1000 B"]', 'values = "9..2"', "the lower one first; found '9..2'"),
        ("[axes.segment]", "[axes.seed]", "'seed' is a column of every table of results"),
        ('name = "senders"', 'name = "claims"', "a report has a file claims itself"),
        ("runs = 3", "runs = 99999999999999999999", "runs"),
        ('{ "flow.tcp" = "vegas" }', "{ scenario = 3 }", "scenario: expected a file, found 3"),
    ],
)
def test_what_is_wrong_is_named(folder: Path, old: str, new: str, expected: str) -> None:
    assert old in STUDY
    with pytest.raises(StudyError, match=r"study\.toml:") as caught:
        loaded(folder, STUDY.replace(old, new, 1))
    assert expected in str(caught.value)


def test_a_range_of_whole_numbers(folder: Path) -> None:
    old = 'key = "tcp.segment_size"\nvalues = ["500 B", "1000 B"]'
    assert old in STUDY
    study = loaded(folder, STUDY.replace(old, 'key = "tcp.window"\nvalues = "4..6"'))
    found = points(study, only={"sender": "Vegas"})
    assert [point.labels["segment"] for point in found] == ["4", "5", "6"]
    windows = [json.loads(point.planned.core.to_json(defaults=False))["tcp"]["window"] for point in found]
    assert windows == [4, 5, 6]


def test_a_case_that_a_table_leaves_out_is_compared_with(folder: Path) -> None:
    text = STUDY.replace("ratio = true", 'ratio = true\nwhere = { sender = "Vegas" }')
    text = text.replace('kind = "heat"', 'kind = "heat"\nwhere = { sender = "Vegas" }')
    with made(folder, text) as source:
        document = source.study.document
        ratios = grid(source.study, document.table[0], source.points, source.values)
        heat = draw(document.figure[0], source)
    found = [cell.ratio.figure for _, cells in ratios.rows for cell in cells if cell and cell.ratio]
    assert len(found) == 2
    assert [text.get_text() for text in heat.axes[0].texts] == [f"{each:.2f}" for each in found]


def test_a_report_does_not_replace_the_study_and_needs_runs(folder: Path) -> None:
    with made(folder, runs=1) as source, pytest.raises(ReportError, match="the study's own folder"):
        make(source, folder, command="")
    (folder / "study.toml").write_text(STUDY.replace('"500 B"', '"600 B"').replace("1000", "900"))
    for name in ("results", "report", "plot"):
        result = command(name, folder, "--out", folder / "store")
        assert result.exit_code != 0
        assert "has no run of this study as it is now: hopyard sweep" in result.output


def test_figures_without_points(folder: Path) -> None:
    with made(folder, runs=1) as source:
        vegas = [point for point in source.points if point.labels["sender"] == "Vegas"]
        figure = source.study.document.figure[0].model_copy(update={"where": {"sender": "NewReno"}})
        blank = draw(figure, replace(source, points=vegas))
    (text,) = blank.axes[0].texts
    assert text.get_text().startswith("There are no points with sender=NewReno")


def test_a_watched_interval_has_thirty_runs(folder: Path) -> None:
    outcome = swept(folder, runs=2, until=Until(10.0, "goodput"))
    assert not outcome.wide
    # Runs are added ten at a time.
    assert outcome.made == 4 * (LEAST_RUNS + 2)


def test_the_decisions_of_a_study_are_those_of_a_run(tmp_path: Path) -> None:
    study = load(STUDIES / "tcp_welcome")
    only = {"variant": "WELCOME", "situation": "Signal loss"}
    sweep(study, out=tmp_path, runs=2, only=only, progress=False)
    results = hopyard.run(STUDIES / "tcp_welcome" / "signal_loss.toml", runs=2, set={"flow.tcp": "welcome"})
    rows = [row for row in results.decisions.to_pylist() if row["transmissions"] == 1]
    with Reader(tmp_path) as store:
        values = Values(study, store)
        point = next(p for p in points(study, runs=2, only=only) if p.experiment == "goodput")
        runs, lost = values.of(point, "lost_link_failure")
        _, found = values.of(point, "link_failure_as_link_failure")
    broken = [row for row in rows if row["true_cause"] == "link_failure"]
    for run, number, share in zip(runs.tolist(), lost.tolist(), found.tolist(), strict=True):
        mine = [row["decided"] for row in broken if row["run"] == run]
        assert len(mine) == number > 0
        assert share == pytest.approx(100 * mine.count("link_failure") / len(mine))


def test_fifty_nodes_has_every_protocol_and_sender() -> None:
    """A new model must not be forgotten."""
    axes = load(STUDIES / "fifty_nodes").document.axes
    known = {
        room: [model["name"] for model in catalogue.models() if model["room"] == room]
        for room in ("routing", "congestion")
    }
    # Senders and a protocol whose runs are not made yet: `hopyard sweep studies/fifty_nodes` with them.
    later = ("htcp", "yeah", "compound", "copa", "ledbat", "bbr3", "babel")
    # Static and source routes are given, not found.
    found = [name for name in known["routing"] if name not in ("static", "source_routes", *later)]
    assert axes["routing"].values == found
    assert axes["tcp"].values == [name for name in known["congestion"] if name not in later]
