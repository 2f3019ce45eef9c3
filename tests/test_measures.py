"""Names of measures and series, and the page that explains them."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hopyard import _core, run
from hopyard.cli import listing
from hopyard.congestion import CongestionControl
from hopyard.scenario.catalogue import ORIGIN, tables
from hopyard.scenario.scenario import Scenario
from hopyard.store.reading import Reader
from hopyard.tables.measures import MEASURES, check, check_series
from short import ok, refused

ROOT = Path(__file__).parent.parent


def test_names_are_checked() -> None:
    assert check("delay, goodput,delay") == ("delay", "goodput")
    assert check_series(["cwnd"]) == ("cwnd",)
    assert check_series("") == ()
    with pytest.raises(ValueError, match=r"did you mean 'fairness'\? There are goodput, "):
        check("fairnes")
    with pytest.raises(ValueError, match=r"no series is called 'rtt'; did you mean 'srtt'\?"):
        check_series("rtt")
    with pytest.raises(ValueError, match="no measure is named"):
        check(",")


def test_timeouts_that_a_flow_does_not_tell_are_not_none() -> None:
    rows = pa.table({"timeouts": pa.array([3, 1, None], pa.uint64())})
    group = np.array([0, 0, 1])
    reduce = MEASURES["timeouts"].of_runs
    np.testing.assert_array_equal(reduce(rows, group, 2), [4, np.nan])


def test_jitter_and_delivery_of_datagrams_whose_delays_take_turns() -> None:
    replay = [{"packet": packet, "delay": f"{(10, 30)[packet % 2]} ms"} for packet in range(8)]
    flow = {"from": 0, "to": 1, "udp": True, "start": "1 s"}
    cbr = {"packet_size": "100 B", "interval": "1 s", "packets": 8}
    scenario = Scenario(
        duration="12 s",
        nodes={"wired": 2},
        routing={"protocol": "oracle"},
        wire=[{"between": [0, 1], "rate": "1 Gbps", "delay": "0 s", "replay": replay}],
        flow=[flow | {"cbr": cbr}],
    )
    results = run(scenario, runs=1, progress=False)
    found = {
        name: results.values(name, results.cases[0])[0]
        for name in ("jitter", "delivery_ratio", "delay_p50", "delay_p95")
    }
    # Each packet takes 20 ms more or less than the one before (RFC 3550 §6.4.1).
    expected = {"jitter": 20, "delivery_ratio": 100, "delay_p50": 10, "delay_p95": 30}
    assert found == pytest.approx(expected, rel=2e-3)


def test_the_page_of_results_is_up_to_date() -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert listing.render(page) == page, "python -m hopyard.cli.listing makes it anew"


def test_every_column_of_a_run_is_explained() -> None:
    scenario = Scenario.parse(_core.new_scenario("chain"))
    results = run(scenario, runs=1, set={"duration": "2 s"}, progress=False)
    origin = {each["name"] for each in ORIGIN} | {"duration"}
    for info in tables():
        table: pa.Table = getattr(results, info["name"])
        explained = [column["name"] for column in info["columns"]]
        assert [name for name in table.column_names if name not in origin] == explained


def test_the_stub_says_what_help_says() -> None:
    tree = ast.parse((ROOT / "python" / "hopyard" / "_core.pyi").read_text(encoding="utf-8"))
    seen = 0
    for cls in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for method in (node for node in cls.body if isinstance(node, ast.FunctionDef)):
            said = ast.get_docstring(method)
            found = getattr(getattr(_core, cls.name, None), method.name, None)
            is_property = any(isinstance(it, ast.Name) for it in method.decorator_list)
            if said and is_property and cls.name not in ("Scenario", "Batch", "Table"):
                assert " ".join((found.__doc__ or "").split()) == " ".join(said.split()), method.name
                seen += 1
    assert seen > 40
    assert "SND.UNA" in (CongestionControl.una.__doc__ or "")


LABELLED = {
    "duration": "3 s",
    "nodes": {"count": 3, "spacing": "100 m"},
    "flow": [
        {"from": 0, "to": 1, "label": "files"},
        {"from": 1, "to": 2, "udp": True, "label": "video"},
        {"from": 2, "to": 1, "udp": True, "label": "video"},
    ],
    "flows": [{"random": 1, "label": "drawn"}, {"random": 1}],
}


def test_a_measure_of_the_flows_with_a_label() -> None:
    results = run(Scenario(LABELLED), runs=2, progress=False)
    (case,) = results.cases
    rows = results.flows.to_pylist()
    assert [row["label"] for row in rows[:5]] == ["files", "video", "video", "drawn", ""]
    for label in ("files", "video", "drawn"):
        mine = [
            sum(row["goodput_kbps"] for row in rows if (row["run"], row["label"]) == (run, label)) for run in (0, 1)
        ]
        assert results.values(f"goodput[{label}]", case) == pytest.approx(mine)
        assert min(mine) > 0
    assert results.measure("goodput[video]").label == "Goodput of video (kbit/s)"
    assert results.values("fairness[files]", case) == pytest.approx([1, 1])
    summary = results.summary(["delay[video]"])
    assert "Delay of video (ms)" in summary.column_names
    with pytest.raises(ValueError, match=r"label 'vidoe'; there are drawn, files, video$"):
        results.values("goodput[vidoe]", case)


def test_a_case_without_the_flows_of_a_label_has_no_value() -> None:
    results = run(Scenario(LABELLED), set={"flow.label": ["files", "talk"]}, runs=1, progress=False)
    files, talk = results.cases
    assert np.isfinite(results.values("goodput[files]", files)).all()
    assert np.isnan(results.values("goodput[files]", talk)).all()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("goodput[]", "expected a label of flows between the brackets"),
        ("energy[video]", "'energy' is not a measure of flows, as 'energy[video]' needs; those: "),
        ("looped_packets[video]", "is not a measure of flows"),
        ("goodptu[video]", "no measure is called 'goodptu'; did you mean 'goodput'?"),
        ("goodput[video", "no measure is called 'goodput[video'; did you mean 'goodput'?"),
    ],
)
def test_labels_are_of_measures_of_flows(given: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        check(given)


@pytest.mark.usefixtures("here")
def test_labels_of_the_command() -> None:
    Path("s.toml").write_text(Scenario(LABELLED).to_toml())
    said = refused("run", "s.toml", "--runs", "1", "--out", "o", "--measure", "goodput[vidoe]").output
    assert not Path("o").exists()
    assert "no flow has the label 'vidoe'; there are drawn, files, video" in said
    said = ok("run", "s.toml", "--runs", "2", "--out", "o", "--plot", "--measure", "goodput[video]").output
    assert "Goodput of" in said
    assert Path("o/goodput[video].png").exists()
    assert "Goodput of video (kbit/s)" in Path("o/summary.csv").read_text()
    for words in (("show", "o"), ("plot", "o", "-o", "t.png")):
        ok(*words, "--measure", "goodput[video]")
        assert "there are drawn, files, video" in refused(*words, "--measure", "goodput[vidoe]").output
    shown = ok("show", "o", "--format", "json", "--measure", "goodput[video]")
    assert json.loads(shown.output)["cases"][0]["measures"]["goodput[video]"]["unit"] == "kbit/s"


LABELLED_STUDY = """
title = "Sets of flows"
scenario = "s.toml"
runs = 2

[axes.window]
key = "tcp.window"
values = [4, 8]

[measure.of_video]
measure = "goodput"
where = { label = "video" }
"""


@pytest.mark.usefixtures("here")
def test_labels_of_a_study() -> None:
    Path("s.toml").write_text(Scenario(LABELLED).to_toml())
    Path("study.toml").write_text(LABELLED_STUDY)
    ok("sweep", "study.toml", "--out", "o", "-q")
    chosen = ["--measure", "goodput[video],of_video"]
    ok("results", "study.toml", "--out", "o", "--each", "-o", "t.csv", *chosen)
    head, *rows = [line.split(",") for line in Path("t.csv").read_text().splitlines()]
    places = [i for i, name in enumerate(head) if "of_video" in name or "of video" in name]
    assert len(places) == 2, head
    assert all(row[places[0]] == row[places[1]] != "" for row in rows)
    wrong = ["--out", "o", "--measure", "goodput[vidoe]"]
    for name in ("results", "plot", "audit"):
        assert "there are drawn, files, video" in refused(name, "study.toml", *wrong).output
    ok("plot", "study.toml", "--out", "o", "--measure", "goodput[video]", "-o", "p.png")


ANSWERED = """
duration = "4 s"
[nodes]
count = 3
spacing = "200 m"
[[flow]]
from = 0
to = 2
label = "talk"
traffic = "echo"
[[flow]]
from = 2
to = 0
udp = true
traffic = "echo"
"""
ANSWERED_STUDY = """
title = "Data both ways"
scenario = "s.toml"
runs = 2

[axes.window]
key = "tcp.window"
values = [4]

[measure.own]
measure = "goodput"
[measure.there]
column = "goodput_kbps"
[measure.by_label]
measure = "goodput"
where = { label = "talk.answers" }
[measure.by_number]
measure = "goodput"
flow = 2
[measure.answers]
measure = "goodput"
answers = true
[measure.of_one]
column = "goodput_kbps"
answers = true
flow = 1
[measure.rest]
measure = "goodput"
where = { label = { not = "talk" } }
[measure.window]
series = "srtt"
reduce = "mean"
[measure.window_back]
series = "srtt"
reduce = "mean"
answers = true
"""


#: The measures of `ANSWERED_STUDY`.
OWN = ("own", "there", "by_label", "by_number", "answers", "of_one", "rest", "window", "window_back")


def test_answers_count_where_they_are_named() -> None:
    results = run(Scenario.parse(ANSWERED), runs=1, segments="2", progress=False)
    (case,) = results.cases
    rows = {row["flow"]: row["goodput_kbps"] for row in results.flows.to_pylist()}
    assert sorted(rows) == [0, 1, 2, 3]
    assert min(rows.values()) > 0
    assert set(results.segments["flow"].to_pylist()) == {2}
    for measure, flows in [
        ("goodput", [0, 1]),
        ("goodput[talk]", [0]),
        ("goodput[talk.answers]", [2]),
        ("goodput[answers]", [3]),
    ]:
        assert results.values(measure, case) == pytest.approx(sum(rows[flow] for flow in flows)), measure


@pytest.mark.usefixtures("here")
def test_answers_of_a_study_and_of_the_command() -> None:
    Path("s.toml").write_text(ANSWERED)
    Path("study.toml").write_text(ANSWERED_STUDY)
    ok("sweep", "study.toml", "--out", "o", "-q")
    ok("results", "study.toml", "--out", "o", "--each", "-o", "t.csv", "--measure", ",".join(OWN))
    rows = [line.split(",") for line in Path("t.csv").read_text().splitlines()[1:]]
    with Reader(Path("o")) as store:
        (case,) = store.cases()
        flows = store.rows_of("flows", case.config, case.seed).to_pylist()
    for number, row in enumerate(rows):
        found = dict(zip(OWN, map(float, row[3:]), strict=False))
        mine = {each["flow"]: each["goodput_kbps"] for each in flows if each["run"] == number}
        assert found["own"] == found["there"] == pytest.approx(mine[0] + mine[1])
        assert found["by_label"] == found["by_number"] == pytest.approx(mine[2])
        assert found["answers"] == pytest.approx(mine[2] + mine[3])
        assert (found["of_one"], found["rest"]) == pytest.approx((mine[3], mine[1]))
        assert found["window"] != found["window_back"] > 0
    said = ok("show", "o", "--flows").output
    assert re.findall(r"s +(\d) +(\d) +(\d) +4\.10 ", said) == [tuple(row) for row in ("002", "120", "220", "302")]
    for old, new, told in [
        ("flow = 2\n", "flow = 4\n", "no point has a flow 4; there are flows from 0 to 3"),
        ('"talk.answers"', '"talk.answer"', "no flow has the label 'talk.answer'; did you mean 'talk.answers'?"),
        ("answers = true\nflow = 1", "answers = true\nflow = 2", "flow 2 is not answered"),
        (
            "[measure.window]\nseries",
            '[measure.nodes]\ntable = "nodes"\ncolumn = "collisions"\nanswers = true\n[measure.window]\nseries',
            "are of no flow",
        ),
    ]:
        Path("wrong.toml").write_text(ANSWERED_STUDY.replace(old, new))
        assert told in refused("check", "wrong.toml").output
    # A table of a study takes the measures that the command takes.
    table = '[[table]]\nname = "t"\ntitle = "T"\nmeasures = ["goodput[{}]"]\nrows = ["window"]\n'
    Path("labelled.toml").write_text(ANSWERED_STUDY + table.format("talk.answers"))
    both = "goodput[talk.answers],by_label"
    said = ok("results", "labelled.toml", "--out", "o", "--each", "--measure", both).output
    assert all(row.split(",")[3] == row.split(",")[4] > "0" for row in said.splitlines()[1:]), said
    for label, told in [
        ("talk.answers", ""),
        ("talk.answer", "goodput[talk.answer] needs a flow with the label 'talk.answer' (did you mean 'talk.answers'?"),
        ("", "'goodput[]': expected a label of flows between the brackets"),
    ]:
        Path("labelled.toml").write_text(ANSWERED_STUDY + table.format(label))
        assert told in (refused if told else ok)("check", "labelled.toml").output
    # Before the first run, it is known which flows are answered.
    Path("one_way.toml").write_text(ANSWERED.replace('traffic = "echo"\n[[', "[["))
    for file, label, there in [
        ("s.toml", "vidoe", "answers, talk, talk.answers"),
        ("one_way.toml", "talk.answers", "answers, talk"),
    ]:
        said = refused("run", file, "--runs", "1", "--out", "w", "--measure", f"goodput[{label}]").output
        assert f"no flow has the label '{label}'; there are {there}" in said
