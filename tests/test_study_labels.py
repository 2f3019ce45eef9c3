"""Measures of labelled flows in studies, and the units of measures that a study makes of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hopyard import load_results
from hopyard.study import load
from hopyard.study.sweep import sweep
from short import command

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


def _swept(folder: Path, more: str) -> None:
    (folder / "study.toml").write_text(STUDY + more)
    sweep(load(folder), out=folder / "store", progress=False)


def test_a_measure_of_the_study_may_be_of_labelled_flows(folder: Path) -> None:
    _swept(
        folder,
        """
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
""",
    )
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
    (folder / "study.toml").write_text(f'{STUDY}[measure.m]\nmeasure = "{name}"\n')
    result = command("check", "study.toml")
    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize(
    ("more", "line", "said"),
    [
        ('[measure.m]\nmeasure = "page_time[wbe]"\n', 8, "measure.m: page_time[wbe] needs a flow with the label 'wbe'"),
        ('[measure.m]\ncompare = "page_time[wbe]"\namong = "think"\nreduce = "rank"\n', 8, "measure.m: page_time[wbe]"),
        ('[measure.m]\nmeasure = "delay"\nof = "goodput[wbe]"\n', 8, "measure.m: goodput[wbe]"),
        ('[measure.m]\nmeasure = "delay"\nplus = "delay[wbe]"\n', 8, "measure.m: delay[wbe]"),
        ('[measure.m]\nmeasure = "delay"\nless = "delay[wbe]"\n', 8, "measure.m: delay[wbe]"),
    ],
)
def test_a_label_that_no_flow_has_is_refused_before_the_runs(folder: Path, more: str, line: int, said: str) -> None:
    (folder / "study.toml").write_text(STUDY + more)
    result = command("check", "study.toml")
    assert result.exit_code == 2
    assert f"study.toml:{line}: {said}" in result.output
    assert "did you mean 'web'? There are video, video.answers, web, web.answers" in result.output
    assert command("sweep", "study.toml").exit_code == 2
    assert not (folder / "results").exists()


def test_a_shown_measure_that_no_run_has_is_refused_before_the_runs(folder: Path) -> None:
    shown = STUDY.replace("runs = 2", 'runs = 2\nmeasures = ["page_time[web]", "page_time[wbe]", "energy"]')
    (folder / "study.toml").write_text(shown)
    result = command("check", "study.toml")
    assert result.exit_code == 2
    assert "study.toml:5: measures: page_time[wbe] needs a flow with the label 'wbe'" in result.output
    assert "study.toml:5: measures: energy needs an energy.model other than off" in result.output


def test_a_sweep_until_a_measure_is_narrow_needs_a_label_that_is_there(folder: Path) -> None:
    (folder / "study.toml").write_text(STUDY)
    words = ("sweep", "study.toml", "--until", "50%", "--until-measure", "page_time[wbe]")
    result = command(*words)
    assert result.exit_code == 2
    assert "page_time[wbe] needs a flow with the label 'wbe' (did you mean 'web'?" in result.output
    assert not (folder / "results").exists()
