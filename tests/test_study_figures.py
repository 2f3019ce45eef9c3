"""Figures of studies with many lines, long labels, logarithmic scales and values below zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from chains import chain, write
from hopyard.study.figures import draw
from sweeps import made

if TYPE_CHECKING:
    from pathlib import Path

    from hopyard.plot.canvas import Plot

CHAIN = chain("1 s")
LONG = "a variant whose label says much more than it should " + "with a parameter, " * 4
STUDY = f"""
title = "Many lines"
scenario = "chain.toml"
runs = 1
[axes.size]
key = "tcp.segment_size"
values = ["300 B", "500 B", "900 B"]
[axes.window]
key = "tcp.window"
values = "1..30"
[axes.sender.cases]
"{LONG} 1" = {{ "flow.tcp" = "newreno" }}
"{LONG} 2" = {{ "flow.tcp" = "vegas" }}
[experiment.windows]
axes = ["size", "window"]
[experiment.senders]
axes = ["size", "sender"]
[measure.less]
column = "goodput_kbps"
scale = -1.0
[[figure]]
name = "lines"
title = "Lines"
experiment = "windows"
x = "size"
lines = "window"
measure = "goodput"
log_x = true
log_y = true
[[figure]]
name = "heat"
title = "Heat"
kind = "heat"
experiment = "senders"
x = "size"
lines = "sender"
measure = "less"
[[figure]]
name = "narrow"
title = "Less than a power of ten"
experiment = "senders"
x = "size"
lines = "sender"
measure = "goodput"
log_y = true
[[figure]]
name = "bars"
title = "Bars"
kind = "bars"
experiment = "senders"
x = "sender"
panels = "size"
measure = "goodput"
"""


@pytest.fixture(scope="module")
def plots(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Plot]:
    """The figures, drawn, by name."""
    folder: Path = tmp_path_factory.mktemp("figures")
    write(folder, CHAIN, STUDY)
    with made(folder) as source:
        drawn = {each.name: draw(each, source) for each in source.study.document.figure}
    for name, each in drawn.items():
        each.savefig(folder / f"{name}.png")
    return drawn


@pytest.mark.filterwarnings("error:constrained_layout")
@pytest.mark.parametrize("name", ["lines", "heat", "narrow", "bars"])
def test_nothing_stands_beyond_the_figure(plots: dict[str, Plot], name: str) -> None:
    plot = plots[name]
    whole = plot.bbox
    for axis in plot.axes:
        if not axis.get_visible():
            continue
        box = axis.get_tightbbox()
        assert box is not None
        assert (box.width, box.height) > (0, 0)
        slack = 2
        assert box.x0 >= whole.x0 - slack
        assert box.x1 <= whole.x1 + slack
        assert box.y0 >= whole.y0 - slack
        assert box.y1 <= whole.y1 + slack
    for legend in plot.legends:
        box = legend.get_window_extent()
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1


def test_a_legend_has_every_line(plots: dict[str, Plot]) -> None:
    (legend,) = plots["lines"].legends
    assert [text.get_text() for text in legend.get_texts()] == [str(n) for n in range(1, 31)]


def test_logarithmic_scales_have_plain_numbers(plots: dict[str, Plot]) -> None:
    (axis, *_) = plots["lines"].axes
    found = [text.get_text() for text in axis.get_xticklabels(which="both")]
    assert [text for text in found if text] == ["300", "500", "900"]
    for name in ("lines", "narrow"):
        (axis, *_) = plots[name].axes
        found = [text.get_text() for text in axis.get_yticklabels(which="both")]
        assert not any("$" in text for text in found)
        assert any(text.isdecimal() for text in found)


def test_values_below_zero_have_two_hues_about_zero(plots: dict[str, Plot]) -> None:
    (image,) = plots["heat"].axes[0].images
    low, high = image.get_clim()
    assert low == -high < 0
    assert image.get_cmap().name == "PuOr"


def test_labels_that_are_cut_stay_different(plots: dict[str, Plot]) -> None:
    found = [text.get_text().replace("\n", " ") for text in plots["bars"].axes[0].get_xticklabels()]
    assert len(set(found)) == 2
    assert all("…" in text and len(text) < 90 for text in found)
