"""Plots: their content, and equal files for equal results."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hopyard import Estimate
from hopyard.cli.output import save_plot
from hopyard.plot import differences
from hopyard.plot.canvas import STYLE, colours, grid, mpl
from hopyard.plot.compare import comparison
from hopyard.plot.series import over_time
from hopyard.results.results import Results
from hopyard.running.run import run
from hopyard.scenario.axis import numbers
from hopyard.scenario.scenario import Scenario
from matplotlib.patches import Rectangle
from short import python

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
    (axis,) = comparison(results, kind="lines").axes
    assert places(axis.get_lines()) == [[1, 2, 8]] * 2
    assert axis.get_xlabel() == "count"
    assert len(axis.collections) == 2, "a band for each line"
    by_name = comparison(results, x="flow.tcp", kind="bars").axes[0]
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
        (axis,) = each.plot("delay", x="duration", kind="lines").axes
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
    figure = comparison(results, kind="bars")
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
    figure = comparison(results, kind="bars")
    figure.canvas.draw()
    first, second = figure.axes
    assert first.get_ylim() == second.get_ylim()
    titles = [axis._left_title.get_window_extent() for axis in figure.axes]  # type: ignore[attr-defined]
    assert not titles[0].overlaps(titles[1])
    bars = [bar for bar in first.patches if isinstance(bar, Rectangle)]
    assert len(bars) == 12


def row_names(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_yticklabels()]


def test_cases_have_a_row_with_the_difference_beside_it(results: Results) -> None:
    figure = results.plot("goodput")
    left, right = figure.axes
    assert row_names(left) == ["reno", "vegas"]
    assert row_names(right) == ["", ""]
    # A line for each run through its dots, and a mark for each mean.
    lines = [
        np.asarray(line.get_xdata()).tolist() for line in left.get_lines() if len(np.asarray(line.get_xdata())) == 2
    ]
    assert lines[:3] == [[150, 170], [160, 180], [90, 110]]
    dots = np.asarray(right.collections[0].get_offsets())
    assert dots[:, 0].tolist() == [20, 20, 20]
    assert [text.get_text() for text in right.texts] == ["reference", "+20"]
    assert right.get_xlabel() == "Goodput, difference from reno (kbit/s)"
    turned = results.plot("goodput", against={"flow.tcp": "vegas"})
    assert row_names(turned.axes[0]) == ["vegas", "reno"]
    assert [text.get_text() for text in turned.axes[1].texts] == ["reference", "-20"]
    with pytest.raises(ValueError, match="a plot of the kind bars has no differences"):
        results.plot("goodput", kind="bars", against={"flow.tcp": "vegas"})


def test_a_mark_is_full_where_zero_is_outside() -> None:
    line = differences.line
    figure, (axis,) = grid(1, [2])
    there = [(1.0, Estimate(5, 2, 3)), (2.0, Estimate(1, 2, 3)), (3.0, Estimate(-5, 2, 3))]
    line(axis, there, differences._look(0, "black"), hollow=True)
    hollow, full = axis.get_lines()
    assert (places([hollow]), hollow.get_markerfacecolor()) == ([[1, 2, 3]], "white")
    assert (places([full]), full.get_markerfacecolor()) == ([[1, 3]], "black")
    assert figure.axes == [axis]


def test_differences_lie_along_numbers() -> None:
    values = [{"tcp.window": n, "flow.tcp": tcp} for tcp in ("reno", "vegas") for n in ("4", "8", "16")]
    left, right = made(values).plot().axes
    assert places(left.get_lines()) == [[4, 8, 16]] * 2
    # The line of zero, and that of vegas with its marks.
    assert places(right.get_lines()[1:2]) == [[4, 8, 16]]
    assert right.get_ylabel().replace("\n", "").replace(" ", "") == "Goodput,differencefromreno(kbit/s)"
    # Where nodes differ in number, nothing is compared along it; nor is a single case.
    for keys in ("nodes.count", "mobility.model"):
        assert len(made([{keys: n} for n in ("3", "4", "5")]).plot().axes) == 1


def test_whole_numbers_have_no_ticks_between_them() -> None:
    values = [{"tcp.window": n, "flow.tcp": tcp} for tcp in ("reno", "vegas") for n in ("3", "4", "5", "6")]
    both, means = made(values).plot(), made(values).plot(kind="lines")
    assert (len(both.axes), len(means.axes)) == (2, 1)
    for axis in both.axes + means.axes:
        assert all(float(tick).is_integer() for tick in axis.get_xticks())


def test_blocks_have_the_case_first_that_others_are_compared_with() -> None:
    values = [{"routing.protocol": p, "flow.tcp": t} for p in ("aodv", "dsdv") for t in ("reno", "sack", "vegas")]
    left, right = made(values).plot().axes
    assert row_names(left) == ["reno", "sack", "vegas"] * 2
    assert [text.get_text() for text in left.texts] == ["protocol = aodv", "protocol = dsdv"]
    assert [text.get_text() for text in right.texts].count("reference") == 2
    other = made(values).plot(against={"routing.protocol": "dsdv"})
    assert row_names(other.axes[0]) == ["dsdv", "aodv"] * 3
    assert [text.get_text() for text in other.axes[0].texts] == ["tcp = reno", "tcp = sack", "tcp = vegas"]


@pytest.mark.parametrize("cases", [2, 20, 45])
def test_names_of_rows_do_not_overlap(cases: int) -> None:
    figure = made([{"flow.tcp": f"a_variant_with_a_long_name_{i}"} for i in range(cases)]).plot()
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
    assert len(boxes) == cases
    assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))


@pytest.mark.parametrize(("width", "inches"), [("column", 3.4), ("text", 7.1), (5, 5.0)])
def test_a_figure_for_a_paper_has_its_width_and_its_fonts(width: str | float, inches: float, tmp_path: Path) -> None:
    values = [{"flow.tcp": t, "a.one": a} for t in ("reno", "vegas") for a in ("x", "y")]
    for name, kind in (("a", None), ("b", "bars"), ("c", "box"), ("d", "cdf")):
        figure = made(values).plot(kind=kind, width=width)
        assert figure.get_figwidth() == pytest.approx(inches)
        sizes = {round(float(text.get_fontsize()), 2) for axis in figure.axes for text in axis.get_xticklabels()}
        assert sizes == {round(0.76 * 10.5, 2)}
        figure.savefig(tmp_path / f"{name}.pdf")
        # The font stands in the file, and as outlines that are no bitmaps.
        data = (tmp_path / f"{name}.pdf").read_bytes()
        assert b"/FontFile2" in data
        assert b"/Type3" not in data
        box = re.search(rb"/MediaBox \[ *0 0 ([0-9.]+) ([0-9.]+) *\]", data)
        assert box is not None
        assert float(box[1]) == pytest.approx(72 * inches, abs=0.01)
    figure.canvas.draw()
    for each in (*figure.axes, *figure.legends):
        assert each.get_tightbbox().x1 <= figure.bbox.x1 + 1  # type: ignore[union-attr]


def test_widths_that_no_page_has_are_refused() -> None:
    for width in ("page", 0.5, "100"):
        with pytest.raises(ValueError, match="expected column, text or inches from 2 to 40"):
            made([{"flow.tcp": "reno"}]).plot(width=width)


def test_a_time_line_has_a_row_for_each_thing(results: Results) -> None:
    figure = results.plot_timeline()
    first, second = figure.axes
    assert row_names(first) == [
        "flow 0: segments",
        "flow 0: hops of its route",
        "flow 0: losses, as judged",
        "flow 0: pages",
        "flow 0: requests",
        "flow 1: pages",
        "flow 1: requests",
        "host 2",
        "node 1: iperf3 -s",
    ]
    assert first.get_xlim() == second.get_xlim()
    # One hop from the first second on, two in the next one, none in the third.
    bars = [path for each in first.collections[:4] for path in each.get_paths()]
    sides = [np.asarray(path.vertices)[:, 0] for path in bars]
    spans = [(side.min(), side.max()) for side in sides]
    assert spans[:3] == [(0, 1), (1, 2), (2, 3)]
    assert [text.get_text() for text in first.texts][:2] == ["1", "2"]
    (said,) = (text.get_text() for text in figure.texts)
    assert said.startswith("Run 0. Grey: no route or not delivered.")
    # In a column, no text is wider than its span.
    narrow = results.plot_timeline(width="column")
    narrow.draw_without_rendering()
    axis = narrow.axes[0]
    assert len(axis.texts) < len(first.texts)
    for text in axis.texts:
        second_of = axis.transData.transform([(1, 0)])[0, 0] - axis.transData.transform([(0, 0)])[0, 0]
        assert text.get_window_extent().width <= second_of
    # Only reno has judged losses, and changes of routes.
    assert "flow 0: losses, as judged" not in row_names(second)
    (legend,) = figure.legends
    assert {"congestion", "wireless", "moved"} <= {text.get_text() for text in legend.get_texts()}
    with pytest.raises(ValueError, match="nothing with a time was recorded in run 9: expected segments"):
        results.plot_timeline(9)
    with pytest.raises(ValueError, match="nothing with a time was recorded: expected segments"):
        made([{"flow.tcp": "reno"}]).plot_timeline()


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


@pytest.mark.parametrize("count", [2, 7, 8, 20])
def test_in_grey_no_colour_is_as_pale_as_the_grid(count: int) -> None:
    grey = [np.dot(mpl.colors.to_rgb(each), (0.299, 0.587, 0.114)) for each in colours(count)]
    assert len(grey) == count
    assert max(grey) < 0.75 < mpl.colors.to_rgb(STYLE["grid.color"])[0] - 0.1


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
    done = python("-c", code, env=os.environ | {"MPLBACKEND": "nonsense"})
    assert (done.returncode, done.stdout.strip()) == (0, "nonsense"), done.stderr


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_a_full_disk_is_told_as_such(kind: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with pytest.raises(OSError, match="No space left"):
        comparison(made([{"flow.tcp": "reno"}, {"flow.tcp": "vegas"}])).savefig("/dev/full", format=kind)


def test_marks_at_the_top_of_an_axis_are_whole() -> None:
    values = [{"tcp.window": n, "flow.tcp": tcp} for tcp in ("reno", "vegas") for n in ("4", "8", "16")]
    left, _ = made(values).plot().axes
    highest = max(float(np.max(np.asarray(line.get_ydata()))) for line in left.get_lines())
    assert left.get_ylim()[0] == 0
    assert left.get_ylim()[1] >= 1.03 * highest
    figure = made(values).plot()
    assert "*" not in figure.texts[-1].get_text(), "no number stands beside a line"


def test_flows_differ_by_stroke_in_grey() -> None:
    figure = over_time(made([{"flow.tcp": "reno"}], flows=3), "ssthresh")
    assert len({str(line.get_linestyle()) for line in figure.axes[0].get_lines()}) == 3
    (legend,) = figure.legends
    assert [str(line.get_linestyle()) for line in legend.get_lines()] == ["-", "--", ":"]
