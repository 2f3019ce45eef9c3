"""Measures that compare points of a study, and those of parts of a run: windows, hops, places of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hopyard
import numpy as np
import pytest
from chains import SENDERS, chain, write
from hopyard.study import StudyError, load
from hopyard.study.checks import check
from hopyard.study.frames import load_results
from hopyard.study.points import points
from sweeps import made, swept

if TYPE_CHECKING:
    from pathlib import Path

STUDY = f"""
title = "Senders on a chain"
scenario = "chain.toml"
runs = 3

{SENDERS}
[axes.segment]
key = "tcp.segment_size"
values = ["500 B", "1000 B"]

[measure.gain]
compare = "goodput"
to = {{ sender = "NewReno" }}
reduce = "ratio"

[measure.lack]
compare = "goodput"
to = {{ sender = "NewReno", segment = "500 B" }}
reduce = "difference"
less = ["late"]
scale = -1

[measure.place]
compare = "goodput"
among = "sender"
reduce = "rank"

[measure.apart]
compare = "late"
among = "segment"
reduce = "range"
plus = ["place"]

[measure.late]
series = "goodput"
reduce = "mean"
since = "2 s"

[measure.second]
series = "goodput"
reduce = "max"
window = "1 s"
unit = "kbit/s"

[measure.rise]
series = "goodput"
reduce = "slope"
window = "500 ms"
during = {{ hops = 2 }}

[measure.never]
series = "goodput"
reduce = "mean"
during = {{ hops = [1, 3] }}

[measure.reached]
network = "connected"

[[claim]]
id = "gain"
text = "Vegas gains more with large segments."
measure = "gain"
expect = "greater"
case = {{ segment = "1000 B" }}
than = {{ segment = "500 B" }}
where = {{ sender = "Vegas" }}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("across"), chain("4 s"), STUDY).parent


def test_points_are_compared_run_by_run(folder: Path) -> None:
    with made(folder) as source:
        values = source.values
        mine = {tuple(point.labels.values()): point for point in source.points}
        goodput, late = (
            {labels: values.of(point, name)[1] for labels, point in mine.items()} for name in ("goodput", "late")
        )
        for (sender, segment), point in mine.items():
            ours, reno = goodput[sender, segment], goodput["NewReno", segment]
            gain, lack, place, apart = (values.of(point, name)[1] for name in ("gain", "lack", "place", "apart"))
            if sender == "NewReno":
                # A case is not compared with itself.
                assert np.isnan(gain).all()
            else:
                assert np.allclose(gain, ours / reno)
            if (sender, segment) == ("Vegas", "1000 B"):
                # It differs from the case in two axes, and in nothing else.
                assert np.allclose(lack, goodput["NewReno", "500 B"] - ours + late[sender, segment])
            ranks = 1 + sum((goodput[other, segment] > ours).astype(int) for other in ("NewReno", "Vegas"))
            assert np.allclose(place, ranks)
            assert np.allclose(apart, abs(late[sender, "500 B"] - late[sender, "1000 B"]) + place)


def test_a_watched_case_makes_the_comparison_watched(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with made(folder) as source:
        reno, _, vegas, _ = source.points
        monkeypatch.setattr(source.store, "watched", lambda: {reno.planned.key})
        assert not source.values.watched([vegas], "goodput")
        assert source.values.watched([vegas], "gain")


def test_rows_of_runs_have_them_too(folder: Path) -> None:
    swept(folder)
    frame = load_results(folder, out=folder / "store", measures=["goodput", "gain", "reached"])
    vegas = frame[frame["sender"] == "Vegas"].set_index(["segment", "run"])
    reno = frame[frame["sender"] == "NewReno"].set_index(["segment", "run"])
    assert np.allclose(vegas["gain"], vegas["goodput"] / reno["goodput"])
    # The nodes of a chain stand still, each in the range of the next.
    assert (frame["reached"] == 100).all()
    # Without the case that it is compared with, a point has no value.
    alone = load_results(folder, out=folder / "store", measures=["gain"], only={"sender": ["Vegas"]})
    assert alone["gain"].isna().all()


def test_windows_and_hops(folder: Path) -> None:
    given = {"flow.tcp": "vegas", "tcp.segment_size": "500 B"}
    results = hopyard.run(folder / "chain.toml", set=given, runs=3, series=["goodput", "hops"], progress=False)
    rows = results.series.to_pandas()
    with made(folder) as source:
        _, _, point, _ = source.points
        values = source.values
        for run in range(3):
            mine = rows[rows["run"] == run]
            samples = mine[mine["quantity"] == "goodput"]
            means = samples[samples["time_s"] > 0].groupby(np.ceil(samples["time_s"] - 1e-9))["value"].mean()
            assert np.isclose(values.of(point, "second")[1][run], means.max())
            routed = set(mine[(mine["quantity"] == "hops") & (mine["value"] == 2)]["time_s"])
            there = samples[samples["time_s"].isin(routed)]
            assert 0 < len(there) < len(samples)
            halves = there.groupby(np.ceil(there["time_s"] / 0.5 - 1e-9) - 1)["value"].mean()
            slope = np.polyfit((halves.index.to_numpy() + 0.5) / 2, halves.to_numpy(), 1)[0]
            assert np.isclose(values.of(point, "rise")[1][run], slope)
        assert np.isnan(values.of(point, "never")[1]).all()


def test_a_network_needs_a_range_in_metres(tmp_path: Path) -> None:
    radio = '\n[radio]\nreceive = "-80 dBm"\nsense = "-90 dBm"\n'
    study = load(write(tmp_path, chain("4 s") + radio, STUDY))
    with pytest.raises(StudyError, match=r"network: no point has a radio\.receive in metres"):
        check(study, points(study))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('compare = "late"', 'compare = "lat"', "compare: no measure is called 'lat'; did you mean 'late'?"),
        ('compare = "late"', 'compare = "gain"', "expected a measure that compares no points itself"),
        ('among = "segment"', 'among = "segmen"', "no axis is called 'segmen'; did you mean 'segment'?"),
        ('among = "segment"\n', "", "compare needs a case (to) or an axis (among), and one"),
        ('among = "segment"', 'among = "segment"\nto = { sender = "Vegas" }', "and one"),
        ('reduce = "range"', 'reduce = "ratio"', "expected reduce = rank or range with among, found ratio"),
        ('reduce = "ratio"', 'reduce = "sum"', "expected reduce = ratio or difference with to, found sum"),
        ('"NewReno" }\nreduce = "ratio"', '"Reno" }\nreduce = "ratio"', "has no value 'Reno'; did you mean 'NewReno'?"),
        ('less = ["late"]', 'less = ["apart"]', "less: expected measures that are neither sums nor divided"),
        ('less = ["late"]', 'flow = 0\nless = ["late"]', "flow chooses rows, and a measure with compare"),
        ('since = "2 s"', 'since = "2 s"\nplus = ["place"]', "place is no measure of one run's rows"),
        ('since = "2 s"', 'among = "segment"', "to, among and reduce = ratio, difference, rank or range belong to"),
        ("hops = 2 }", "hop = 2 }", "during: no series is called 'hop'; did you mean 'hops'?"),
        ("hops = 2 }", 'hops = "two" }', "during: hops: expected a number, found 'two'"),
        ('window = "1 s"', 'window = "0 s"', "window: expected a time above 0, found 0 s"),
        ('window = "1 s"', 'window = "1"', "window: "),
        ('network = "connected"', 'network = "conected"', "expected 'connected', 'neighbours' or 'hops'"),
        ('network = "connected"', 'network = "hops"\nwindow = "1 s"', "during, window and reduce = slope are for"),
        ('network = "connected"', 'network = "hops"\nreduce = "max"', "network gives means: expected no reduce"),
        ("hops = 2 }", "hops = [] }", "during: hops: expected a number at least, found an empty list"),
        ('to = { sender = "NewReno" }', "to = {}", "to: expected a value of an axis at least"),
        ('compare = "late"', 'compare = "apart"', "expected a measure that compares no points itself"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in STUDY
    with pytest.raises(StudyError, match=r"study\.toml:") as caught:
        load(write(tmp_path, chain("4 s"), STUDY.replace(old, new, 1)))
    assert expected in str(caught.value)
