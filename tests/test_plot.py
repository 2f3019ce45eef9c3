"""Plots: their content, and equal files for equal results."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hopyard.cli.run import save_plot
from hopyard.plot.compare import comparison
from hopyard.plot.series import over_time
from hopyard.results.results import Results
from hopyard.running.run import run
from hopyard.scenario.axis import numbers
from hopyard.scenario.scenario import Scenario
from matplotlib.patches import Rectangle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.lines import Line2D


def made(values: Sequence[dict[str, str]], flows: int = 1, threshold: float = 0.0) -> Results:
    """Results of three runs of each of these settings."""
    keys = list(values[0])

    def table(rows: list[dict[str, object]]) -> pa.Table:
        return pa.Table.from_pylist(rows)

    def row(case: int, run: int, **more: object) -> dict[str, object]:
        head: dict[str, object] = {"scenario": "a$_{$b", **values[case], "run": run, **more}
        return head | {"seed": 1, "config": f"c{case}", "version": "0.1.0", "case": case}

    cases = [(case, run) for case in range(len(values)) for run in range(3)]
    goodput = [row(*each, flow=0, goodput_kbps=100.0 + 10 * sum(each)) for each in cases]
    series = [
        row(case, 0, flow=flow, time_s=t / 10, quantity="ssthresh", unit="segments", value=value)
        for case in range(len(values))
        for flow in range(flows)
        for t, value in enumerate([threshold, *range(5, 25)])
    ]
    assert keys
    nodes = table([row(*each, node=0) for each in cases])
    return Results({"flows": table(goodput), "nodes": nodes, "series": table(series)})


def places(lines: Sequence[Line2D]) -> list[list[float]]:
    return [np.asarray(line.get_xdata()).tolist() for line in lines]


def test_settings_are_numbers_with_their_unit() -> None:
    assert numbers(["5 m/s", "10 m/s"]) == ([5, 10], "m/s")
    assert numbers(["3", "4.5", "1e3"]) == ([3, 4.5, 1000], "")
    assert numbers(["500 ms", "1 s"]) == ([0.5, 1], "s")
    assert numbers(["500 kbps", "2 Mbps"]) == ([500, 2000], "kbps")
    assert numbers(["5 m", "3 s"]) is None
    assert numbers(["aodv", "3"]) is None


def test_numbers_lie_to_scale_on_lines() -> None:
    hops = ["1", "2", "8"]
    results = made([{"nodes.count": n, "flow.tcp": tcp} for tcp in ("reno", "vegas") for n in hops])
    (axis,) = comparison(results).axes
    assert places(axis.get_lines()) == [[1, 2, 8]] * 2
    assert axis.get_xlabel() == "count"
    assert len(axis.collections) == 2, "a band for each line"
    by_name = comparison(results, x="flow.tcp").axes[0]
    assert [text.get_text() for text in by_name.get_xticklabels()] == ["reno", "vegas"]
    with pytest.raises(ValueError, match=r"the compared keys are: nodes\.count, flow\.tcp"):
        comparison(results, x="node.count")


def test_a_key_that_was_not_compared_goes_along_the_axis(tmp_path: Path) -> None:
    long = Scenario(name="long", duration="1 s", nodes={"count": 3}, flow=[{"from": 0, "to": 2}])
    short = long.copy()
    short.update({"name": "short", "duration": "500 ms"})
    results = run([short, long], runs=2, set={"flow.tcp": ["newreno", "vegas"]}, out=tmp_path / "o")
    for each in (results, Results.load(tmp_path / "o")):
        assert [each.setting(case, "nodes.count") for case in each.cases] == ["3"] * 4
        assert each.setting(each.cases[2], "flow.tcp") == "newreno"
        assert each.setting(each.cases[0], "nodes") is None
        assert each.setting(each.cases[0], "flow.none") is None
        (axis,) = each.plot("delay", x="duration").axes
        # The duration of a run distinguishes the scenarios, because the colours show the variants.
        assert places(axis.get_lines()) == [[0.5, 1.0]] * 2
        with pytest.raises(ValueError, match="not every scenario has one value of a key 'nodes'"):
            each.plot(x="nodes")


def test_keys_that_go_together_are_one_axis() -> None:
    counts = [{"nodes.count": str(n), "flow.to": str(n - 1)} for n in (3, 4, 5)]
    (axis,) = made(counts).plot().axes
    assert places(axis.get_lines()) == [[3, 4, 5]]


def test_labels_of_many_variants_do_not_overlap() -> None:
    results = made([{"flow.tcp": f"a_variant_with_a_long_name_{i}", "duration": "20 s"} for i in range(14)])
    figure = comparison(results)
    assert not figure.legends, "a key with one value takes no colour"
    (axis,) = figure.axes
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in axis.get_yticklabels()]
    assert len(boxes) == 14
    assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))
    assert "duration" not in axis.get_title(loc="left")


def test_panels_share_their_axes_and_titles_stay_apart() -> None:
    results = made(
        [
            {"a.one": a, "b.two": b, "c.three": c * 40}
            for a in ("x", "y", "z", "w")
            for b in ("p", "q", "r")
            for c in ("k", "l")
        ]
    )
    figure = comparison(results)
    figure.canvas.draw()
    first, second = figure.axes
    assert first.get_ylim() == second.get_ylim()
    titles = [axis._left_title.get_window_extent() for axis in figure.axes]  # type: ignore[attr-defined]
    assert not titles[0].overlaps(titles[1])
    bars = [bar for bar in first.patches if isinstance(bar, Rectangle)]
    assert len(bars) == 12


def test_a_threshold_that_stands_for_none_hides_nothing() -> None:
    results = made([{"flow.tcp": "reno"}, {"flow.tcp": "vegas"}], threshold=65535.0)
    figure = over_time(results, "ssthresh")
    assert all(axis.get_ylim()[1] < 30 for axis in figure.axes)
    assert "65,535" in figure.axes[0].texts[0].get_text()


def test_twenty_flows_have_twenty_colours() -> None:
    figure = over_time(made([{"flow.tcp": "reno"}], flows=20), "ssthresh")
    lines = figure.axes[0].get_lines()
    assert len({str(line.get_color()) for line in lines}) == 20
    assert figure.axes[-1].get_ylabel() == "flow"


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_a_file_is_the_same_each_time(kind: str, tmp_path: Path) -> None:
    results = made([{"flow.tcp": "reno"}, {"flow.tcp": "vegas"}])
    for name in "ab":
        comparison(results).savefig(tmp_path / f"{name}.{kind}")
    first = (tmp_path / f"a.{kind}").read_bytes()
    assert first == (tmp_path / f"b.{kind}").read_bytes()
    assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind])


@pytest.mark.parametrize("name", ["a.gif", "a.jpg", "a", "a.eps"])
def test_endings_of_files_are_those_that_the_page_names(name: str, tmp_path: Path) -> None:
    figure = comparison(made([{"flow.tcp": "reno"}]))
    with pytest.raises(ValueError, match=r"expected the ending \.png, \.svg or \.pdf"):
        save_plot(figure, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_backend_that_does_not_exist_is_no_obstacle() -> None:
    code = "import hopyard.plot.compare, os; print(os.environ['MPLBACKEND'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"MPLBACKEND": "nonsense"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "nonsense"), done.stderr


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_a_full_disk_is_told_as_such(kind: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with pytest.raises(OSError, match="No space left"):
        comparison(made([{"flow.tcp": "reno"}, {"flow.tcp": "vegas"}])).savefig("/dev/full", format=kind)
