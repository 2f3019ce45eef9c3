"""`hopyard plot`: studies, the spread of runs, and maps of a network."""

from __future__ import annotations

from pathlib import Path

import hopyard
import numpy as np
import pytest
from chains import chain
from hopyard import Scenario
from hopyard.errors import StoreError
from hopyard.netmap import network
from hopyard.store.store import Store
from short import command, ok

CHAIN = chain(
    "4 s",
    nodes=4,
    more="""[radio]
receive = "250 m"
sense = "550 m"
""",
)
STUDY = """
title = "Senders on a chain"
scenario = "chain.toml"
runs = 3

[axes.sender.cases]
NewReno = { "flow.tcp" = "newreno" }
"Vegas, the classic" = { "flow.tcp" = "vegas" }

[axes.size]
key = "tcp.segment_size"
values = ["500 B", "750 B", "1000 B"]

[axes.window]
key = "tcp.window"
values = [8, 16]

[measure.mine]
column = "goodput_kbps"
unit = "kbit/s"
"""


def _plot(*arguments: str) -> tuple[int, str]:
    result = command("plot", *arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


def test_a_study_is_drawn_without_a_figure_in_its_file(folder: Path) -> None:
    ok("sweep", "study.toml", "--out", "store", "--quiet")
    own = ("--out", "store")
    for name, words in {
        "a.png": (),
        "b.png": ("--measure", "mine", "--kind", "box", "--x", "sender"),
        "c.svg": ("--measure", "delay", "--kind", "cdf", "--only", "window=8"),
        "d.pdf": ("--measure", "goodput", "--x", "size", "--lines", "window", "--panels", "sender"),
        "e.png": ("--only", "sender=Vegas, the classic", "--only", "size=500 B,window=8"),
    }.items():
        code, said = _plot("study.toml", *own, *words, "-o", name)
        assert code == 0, said
        assert (folder / name).stat().st_size > 5000
    # What is drawn to scale lies along the figure without being named.
    assert b"<svg" in (folder / "c.svg").read_bytes()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--x", "siz"), "--x siz: expected an axis of the study; did you mean 'size'"),
        (("--only", "size=7 B"), "the axis size has no value '7 B'"),
        (("--only", "size"), "expected AXIS=VALUE, found 'size'"),
        (("--measure", "goodputt"), "'goodputt'"),
        (("--x", "size", "--lines", "size"), "panels need different axes, found size, size"),
        (("--experiment", "z"), "no experiment is called 'z'; there are main"),
        (("--kind", "cdf", "--lines", "size", "--only", "window=8"), ""),
        (("--kind", "cdf", "--lines", "size", "--panels", "window"), "differ in sender"),
        (("--series", "cwnd"), "study.toml is a study: --series cannot be used with it"),
        (("--at", "3s"), "study.toml is a study: --at cannot be used with it"),
        (("--kind", "pie"), "'pie'"),
        (("--kind", "map"), "expected --kind lines, bars, box, cdf, found map"),
        (("--against", "sender=NewReno"), "study.toml is a study: --against cannot be used with it"),
    ],
)
def test_what_cannot_be_drawn_of_a_study(folder: Path, words: tuple[str, ...], expected: str) -> None:
    command("sweep", "study.toml", "--out", "store", "--quiet", "--runs", "1")
    code, said = _plot("study.toml", "--out", "store", *words, "-o", "plot.png")
    assert (code != 0) == bool(expected), said
    assert expected in said
    assert (folder / "plot.png").exists() == (not expected)


def test_a_study_that_has_not_been_run(folder: Path) -> None:
    code, said = _plot("study.toml")
    assert code != 0
    assert "hopyard sweep" in said
    assert not list(folder.glob("*.png"))


def test_the_spread_of_runs(folder: Path) -> None:
    results = hopyard.run(folder / "chain.toml", set={"flow.tcp": ["newreno", "vegas"]}, runs=4, progress=False)
    boxes = results.plot("goodput", kind="box")
    assert [each.get_text() for each in boxes.axes[0].get_yticklabels()] == ["tcp = newreno", "tcp = vegas"]
    shares = results.plot("delay", kind="cdf")
    lines = shares.axes[0].get_lines()
    assert len(lines) == 2
    for line, case in zip(lines, results.cases, strict=True):
        x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        assert x[1:].tolist() == sorted(results.values("delay", case))
        assert y[-1] == 1
    with pytest.raises(ValueError, match="lines need numbers along the axis, found newreno, vegas"):
        results.plot("goodput", kind="lines")
    assert results.plot("goodput", kind="bars").axes[0].patches
    with pytest.raises(ValueError, match=r"a plot of the kind box has all cases .*; expected no x, found 'flow.tcp'"):
        results.plot("goodput", "flow.tcp", kind="box")


def test_a_plot_of_a_kind_leaves_the_plot_of_means(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hopyard.run(folder / "chain.toml", runs=2, out=folder / "results", progress=False)
    assert _plot("results")[0] == 0
    means = (folder / "results" / "goodput.png").read_bytes()
    assert _plot("results", "--kind", "box")[0] == 0
    assert (folder / "results" / "goodput.png").read_bytes() == means
    assert (folder / "results" / "goodput-box.png").stat().st_size > 5000

    def refuse(*_: object) -> None:
        raise StoreError("results/results.sqlite: attempt to write a readonly database")

    monkeypatch.setattr(Store, "add_files", refuse)
    code, said = _plot("results")
    assert code != 0
    assert "readonly database: expected a folder that can be written, or -o FILE" in " ".join(said.split())


def test_a_run_of_a_folder_is_drawn(folder: Path) -> None:
    words = ("--set", "flow.tcp=newreno,vegas", "--set", "measure.routes=flows", "--series", "cwnd", "--segments")
    ok("run", "chain.toml", *words, "--runs", "2", "--out", "o", "--quiet")
    drawn: list[tuple[tuple[str, ...], str]] = [
        (("--kind", "timeline", "--run", "1"), "timeline.png"),
        (("--kind", "map", "--at", "2s"), "map.png"),
        (("--kind", "timeline", "--width", "column"), "timeline.png"),
        (("--against", "flow.tcp=vegas", "--width", "text"), "goodput.png"),
    ]
    for arguments, name in drawn:
        code, said = _plot("o", *arguments)
        assert (code, said.strip()) == (0, str(Path("o") / name)), said
        assert (folder / "o" / name).stat().st_size > 5000
    wrong: list[tuple[tuple[str, ...], str]] = [
        (("--kind", "map"), "expected a time for the map, as --at 30s"),
        (("--kind", "map", "--at", "2s", "--measure", "delay"), "--kind map is of a run: --measure cannot be used"),
        (("--at", "2s"), "--at is the time of a map: expected --kind map with it"),
        (("--series", "cwnd", "--run", "7"), "'cwnd' was not sampled in run 7; sampled were: runs 0..1"),
        (("--kind", "timeline", "--run", "7"), "nothing with a time was recorded in run 7"),
        (("--kind", "bars", "--against", "flow.tcp=vegas"), "a plot of the kind bars has no differences"),
        (("--width", "page"), "expected column, text or inches from 2 to 40, found 'page'"),
    ]
    for arguments, expected in wrong:
        code, said = _plot("o", *arguments)
        assert (code, expected in " ".join(said.split())) == (2, True), said


def test_a_map(folder: Path) -> None:
    figure = network(Scenario.load(folder / "chain.toml"), "3 s")
    axis = figure.axes[0]
    # Three pairs of neighbours, and the way of the flow over them.
    assert len(axis.collections[0].get_paths()) == 3
    assert len(axis.get_lines()) == 3
    assert [text.get_text() for text in axis.texts] == ["0", "1", "2", "3"]
    assert axis.get_legend_handles_labels()[1] == ["flow 0: 3 hops"]
    # Before the flow has begun nobody has asked for a way.
    early = network(Scenario.load(folder / "chain.toml"), 0)
    assert early.axes[0].get_legend_handles_labels()[1] == ["flow 0: no way"]


def test_maps_from_the_shell(folder: Path) -> None:
    code, said = _plot("chain.toml", "--at", "2s")
    assert (code, said.strip()) == (0, "chain-map.png")
    for words, expected in (
        ((), "expected a time for its map, as --at 30s"),
        (("--at", "5s"), "expected a time up to 4 s, the end of the run, found 5s"),
        (("--at", "soon"), "soon"),
        (("--at", "1s", "--measure", "goodput"), "is a scenario: --measure cannot be used with it"),
        (("--at", "1s", "--only", "a=b"), "is no study: --only cannot be used with it"),
    ):
        code, said = _plot("chain.toml", *words)
        assert code != 0
        assert expected in said
    (folder / "wired.toml").write_text('duration = "1 s"\n[nodes]\nwired = 2\n[[wire]]\nbetween = [0, 1]\n')
    code, said = _plot("wired.toml", "--at", "1s")
    assert code != 0
    assert "no node has a radio" in said
