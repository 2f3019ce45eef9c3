"""Measures of labelled flows in studies, and the units of measures that a study makes of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hopyard import load_results
from hopyard.study import StudyError, load
from hopyard.study.file import unit_of
from hopyard.study.published import read
from short import command, refused
from sweeps import refusal, swept

if TYPE_CHECKING:
    from pathlib import Path

CHAIN = """
duration = "6 s"
[nodes]
count = 0
wired = 2
[[wire]]
between = [0, 1]
rate = "2 Mbps"
delay = "20 ms"
[traffic.request_response]
answer = "20 kB"
think = "500 ms"
[[flow]]
from = 0
to = 1
traffic = "request_response"
label = "web"
[[flow]]
from = 0
to = 1
traffic = "request_response"
request_response.answer = "60 kB"
label = "video"
"""
STUDY = """
title = "Pages"
scenario = "chain.toml"
runs = 2
[axes.think]
key = "traffic.request_response.think"
values = ["500 ms", "1 s"]
"""

pytestmark = pytest.mark.usefixtures("folder")


def test_a_measure_of_the_study_may_be_of_labelled_flows(folder: Path) -> None:
    more = """
[measure.web]
measure = "page_time[web]"
[measure.same]
measure = "page_time"
where = { label = "web" }
[measure.answered]
measure = "goodput[web.answers]"
[measure.share]
measure = "goodput[video.answers]"
of = "goodput[web.answers]"
"""
    swept(folder, STUDY + more)
    names = ["web", "same", "answered", "share", "page_time[web]", "goodput[web.answers]", "goodput[video.answers]"]
    rows = load_results(folder, out=folder / "store", measures=names)
    assert np.isfinite(rows["web"]).all()
    assert (rows["web"] == rows["same"]).all()
    assert (rows["web"] == rows["page_time[web]"]).all()
    assert (rows["answered"] == rows["goodput[web.answers]"]).all()
    assert np.allclose(rows["share"], rows["goodput[video.answers]"] / rows["goodput[web.answers]"])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("page_tme[web]", "measure.m: measure: no measure is called 'page_tme[web]'"),
        ("hops[]", "measure.m: measure: 'hops[]': expected a label of flows between the brackets"),
        ("collisions[web]", "measure.m: measure: 'collisions' is not a measure of flows"),
    ],
)
def test_a_wrong_measure_of_labelled_flows(folder: Path, name: str, said: str) -> None:
    assert said in refusal(folder, f'{STUDY}[measure.m]\nmeasure = "{name}"\n')


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('measure = "page_time[wbe]"\n', "measure.m: page_time[wbe] needs a flow with the label 'wbe'"),
        ('compare = "page_time[wbe]"\namong = "think"\nreduce = "rank"\n', "measure.m: page_time[wbe]"),
        ('measure = "delay"\nof = "goodput[wbe]"\n', "measure.m: goodput[wbe]"),
        ('measure = "delay"\nplus = "delay[wbe]"\n', "measure.m: delay[wbe]"),
        ('measure = "delay"\nless = "delay[wbe]"\n', "measure.m: delay[wbe]"),
    ],
)
def test_a_label_that_no_flow_has_is_refused_before_the_runs(folder: Path, more: str, said: str) -> None:
    output = refusal(folder, f"{STUDY}[measure.m]\n{more}")
    assert f"study.toml:8: {said}" in output
    assert "did you mean 'web'? There are video, video.answers, web, web.answers" in output


def test_a_shown_measure_that_no_run_has_is_refused_before_the_runs(folder: Path) -> None:
    shown = STUDY.replace("runs = 2", 'runs = 2\nmeasures = ["page_time[web]", "page_time[wbe]", "energy"]')
    output = refusal(folder, shown)
    assert "study.toml:5: measures: page_time[wbe] needs a flow with the label 'wbe'" in output
    assert "study.toml:5: measures: energy needs an energy.model other than off" in output


def test_a_sweep_until_a_measure_is_narrow_needs_a_label_that_is_there(folder: Path) -> None:
    (folder / "study.toml").write_text(STUDY)
    words = ("sweep", "study.toml", "--until", "50%", "--until-measure", "page_time[wbe]")
    assert "page_time[wbe] needs a flow with the label 'wbe' (did you mean 'web'?" in refused(*words).output
    assert not (folder / "results").exists()


def test_a_measure_without_a_unit_has_that_of_what_it_is_made_of(folder: Path) -> None:
    (folder / "study.toml").write_text(
        STUDY.replace("runs = 2", 'runs = 2\npublished = "published.csv"')
        + """
[measure.pages]
measure = "page_time[web]"
[measure.later]
compare = "pages"
to = { think = "1 s" }
reduce = "difference"
[measure.wide]
compare = "page_time"
among = "think"
reduce = "range"
[measure.times]
compare = "pages"
to = { think = "1 s" }
reduce = "ratio"
[measure.place]
compare = "pages"
among = "think"
reduce = "rank"
[measure.load]
column = "delivery_ms"
table = "objects"
reduce = "count"
[measure.longest]
column = "delivery_ms"
table = "objects"
reduce = "max"
[measure.seconds]
measure = "page_time"
scale = 0.001
[measure.named]
measure = "page_time"
unit = "of a page"
[measure.none]
measure = "page_time"
unit = ""
[measure.share]
measure = "page_time[web]"
of = "page_time[video]"
[measure.rate]
series = "goodput"
reduce = "mean"
[measure.rise]
series = "goodput"
reduce = "slope"
[measure.began]
series = "goodput"
reduce = "first"
"""
    )
    (folder / "published.csv").write_text(
        "think,measure,value,unit\n500 ms,pages,0.25,s\n1 s,page_time[web],0.5,s\n1 s,wide,3,ms\n"
    )
    study = load(folder)
    units = {name: unit_of(name, study.document.measure) for name in study.document.measure}
    assert units == {
        **dict.fromkeys(["pages", "later", "wide", "longest"], "ms"),
        **dict.fromkeys(["times", "place", "load", "seconds", "none", "share", "rise"], ""),
        "named": "of a page",
        "rate": "kbit/s",
        "began": "s",
    }
    published = read(study)
    assert published is not None
    assert [value for _, value in published.rows] == [250, 500, 3]
    (folder / "published.csv").write_text("think,measure,value,unit\n1 s,times,3,s\n1 s,page_time[],1,ms\n")
    with pytest.raises(StudyError, match=r"published.csv:2: unit: expected no unit, found 's'") as caught:
        read(study)
    assert "published.csv:3: 'page_time[]': expected a label of flows" in str(caught.value)


def test_a_measure_that_no_run_has_is_warned_of(folder: Path) -> None:
    more = """
[measure.requests]
measure = "page_time"
where = { kind = "request" }
[measure.near]
series = "goodput"
reduce = "mean"
during = { hops = 2 }
[[table]]
name = "t"
title = "T"
rows = ["think"]
measures = ["requests", "page_time"]
"""
    swept(folder, STUDY + more)
    said = command("results", "study.toml", "--out", "store", "--measure", "requests,near,page_time").output
    assert "warning: no run has the measure requests\n" in said
    assert "warning: no run has the measure near\n" in said
    assert "measure page_time" not in said
    assert "warning: no run has the measure requests\n" in command("report", "study.toml", "--out", "store").output
