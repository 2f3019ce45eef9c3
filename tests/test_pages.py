"""Pages: the report of a study, and that of a sweep under way, as text and in a browser."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import time
from html import unescape
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from chains import chain
from hopyard.statistics import Interval
from hopyard.statistics.estimates import estimate
from hopyard.study import load
from hopyard.study.report import _cell
from hopyard.study.sweep import sweep
from hopyard.study.tables import Cell, Grid
from hopyard.study.watching import Page
from hopyard.terminal.progress import Progress
from short import command, ok, refused

if TYPE_CHECKING:
    from pathlib import Path

    from hopyard.study.watching import Row

CHAIN = chain("2 s", nodes=4)
STUDY = """
title = "Senders & sizes"
scenario = "chain.toml"
runs = 3
[axes.sender.cases]
NewReno = { "flow.tcp" = "newreno" }
Vegas = { "flow.tcp" = "vegas" }
[axes.size]
key = "tcp.segment_size"
values = ["300 B", "900 B", "500 B"]
[[table]]
name = "goodput"
title = "Goodput by size"
rows = ["size"]
columns = ["sender"]
measures = ["goodput"]
against = { sender = "NewReno" }
"""
FIGURES = {
    "lines": 'x = "size"\nlines = "sender"',
    "bars": 'x = "size"\nlines = "sender"',
    "box": 'x = "size"\nlines = "sender"',
    "cdf": 'lines = "sender"',
    "heat": 'x = "size"\nlines = "sender"',
    "scatter": 'x = "size"\nlines = "sender"\nbeside = "delay"',
}
for _kind, _places in FIGURES.items():
    STUDY += f'[[figure]]\nname = "{_kind}"\ntitle = "As {_kind}"\nkind = "{_kind}"\nmeasure = "goodput"\n{_places}\n'

#: What is done to the page in a browser, from a page around it with the width of a telephone.
ACTS = """
<iframe id="f" src="report.html" style="width: 390px; height: 800px; border: 0"></iframe>
<script>
document.getElementById("f").onload = () => {
  const w = document.getElementById("f").contentWindow, d = w.document, found = {};
  const tip = d.getElementById("tip");
  const mark = d.querySelector("#figure-lines").closest("figure").querySelector(".tips circle");
  found.wide = d.documentElement.scrollWidth;
  found.contents = d.querySelector("nav details").open;
  found.titles = d.querySelectorAll(".tips title").length;
  mark.scrollIntoView();
  const at = mark.getBoundingClientRect();
  const svg = mark.closest("svg");
  const move = (x, y) => svg.dispatchEvent(new w.PointerEvent("pointermove", { clientX: x, clientY: y }));
  move(at.x + at.width / 2 + 5, at.y + at.height / 2);
  found.tip = tip.hidden ? null : tip.textContent;
  move(at.x + 500, at.y + 500);
  found.away = tip.hidden;
  const press = (key) => svg.dispatchEvent(new w.KeyboardEvent("keydown", { key }));
  ["ArrowRight", "ArrowRight", "ArrowLeft"].forEach(press);
  found.keyed = tip.textContent === mark.dataset.tip && !tip.hidden;
  const lines = () => [...d.querySelectorAll("table.grid tbody tr")];
  const rows = () => lines().map((row) => row.cells[0].textContent);
  found.before = rows();
  const heads = d.querySelectorAll("table.grid thead button");
  heads[0].click(); found.up = rows();
  heads[0].click(); found.down = rows();
  heads[1].click(); found.by_value = lines().map((row) => Number(row.cells[1].dataset.v));
  document.body.textContent = JSON.stringify(found);
};
</script>
"""


def browser(page: Path, home: Path) -> str:
    """The document of a page after its scripts."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs Chromium")
    words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    words += [f"--user-data-dir={home}", "--virtual-time-budget=5000", "--dump-dom", f"file://{page}"]
    return subprocess.run([program, *words], capture_output=True, text=True, check=True, timeout=300).stdout


def test_a_report_can_be_pointed_at_and_sorted(folder: Path) -> None:
    ok("sweep", "study.toml", "--out", "store", "-q")
    ok("report", "study.toml", "--out", "store", "--to", "r", "--width", "column")
    page = (folder / "r" / "report.html").read_text(encoding="utf-8")
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    links = re.findall(r'<a href="#([^"]+)"', page)
    assert {"tables", "goodput", "figures", *(f"figure-{kind}" for kind in FIGURES), "method"} == set(links)
    assert set(links) <= set(ids)
    # Nothing is loaded: no file, and no address.
    assert not re.findall(r'\b(?:src|href)="(?!#|data:)[^"]+"|url\((?!#)', page)
    assert "difference" in page
    assert "Where a paper has published" not in page, "the study names no published value"
    titles = [unescape(each) for each in re.findall(r"<title>(.*?)</title>", page, re.DOTALL)[1:]]
    # Two lines of three points in four of the figures, nine shares of each of two lines in one.
    assert len(titles) == 5 * 6 + 9 * 2
    assert all(re.search(r"\d", text) for text in titles)
    assert sum("sender Vegas, size 300 B\nGoodput: " in text and "3 runs" in text for text in titles) == 5
    # Texts are texts, so that a page of six figures is small.
    assert ">sender</text>" in page
    assert len(page) < 200_000
    (box,) = re.findall(rb"/MediaBox \[ *0 0 ([0-9.]+) ", (folder / "r" / "lines.pdf").read_bytes())
    assert float(box) == pytest.approx(72 * 3.4)
    around = folder / "r" / "around.html"
    around.write_text(ACTS)
    text = re.search(r"<body>(\{.*\})</body>", browser(around, folder / "home"), re.DOTALL)
    assert text is not None
    found: dict[str, Any] = json.loads(unescape(text[1]))
    assert found["wide"] <= 390
    assert not found["contents"], "on a telephone, the contents are closed"
    assert found["titles"] == 0, "the browser would show a title beside the text"
    assert found["tip"] == titles[0]
    assert found["away"]
    assert found["keyed"]
    assert found["before"] == ["300 B", "900 B", "500 B"]
    assert found["up"] == ["300 B", "500 B", "900 B"]
    assert found["down"] == ["900 B", "500 B", "300 B"]
    assert found["by_value"] == sorted(found["by_value"])


def test_a_sweep_writes_a_page(folder: Path) -> None:
    assert "w.html shows the progress" in ok("sweep", "study.toml", "--out", "store", "--watch", "w.html").output
    page = (folder / "w.html").read_text(encoding="utf-8")
    assert "The sweep has ended; every run is there." in page
    # The page that is the last loads no other.
    assert "http-equiv" not in page
    assert "18 of 18" in page
    assert "Senders &amp; sizes" in page
    assert page.count("3 of 3") == 6
    refused("sweep", "study.toml", "--out", "store", "--watch", "w.txt")
    done = command("sweep", "study.toml", "--out", "other", "--watch", str(folder / "none" / "w.html"))
    assert "w.html: No such file or directory: expected a folder that can be written, found" in done.output
    assert "shows the progress" not in done.output
    assert done.exit_code != 0
    assert "none" in done.output


def test_a_page_tells_how_far_the_runs_are(tmp_path: Path) -> None:
    file = tmp_path / "w.html"
    page = Page(file, "Sizes", "http://127.0.0.1:8787/status")
    # The last point has the scenario and the seed of the second one, and so its runs.
    rows: list[Row] = [
        ("a < b", ("1", 1), 4, 1, [(2, "broken & lost")]),
        ("c", ("2", 1), 4, 4, []),
        ("d", ("2", 1), 3, 3, []),
    ]
    page.begin(lambda: rows)
    first = file.read_text()
    assert '<meta http-equiv="refresh"' in first
    assert 'href="http://127.0.0.1:8787/status"' in first
    assert "5 of 8" in first
    assert "a &lt; b" in first
    assert re.search(r"Written at [-0-9]+ [:0-9]+ [-+]\d{4}\.", first), "a time has its zone"
    assert "broken &amp; lost" in first
    time.sleep(0.01)
    page(Progress(6, 8, 60.0, 80.0, 3.0))
    rows[0] = ("a < b", ("1", 1), 4, 2, rows[0][4])
    assert "time left" in (second := file.read_text())
    # A page is not written for each of many calls.
    page(Progress(7, 8, 70.0, 80.0, 4.0))
    assert file.read_text() == second
    page.end("It is over.")
    last = file.read_text()
    assert "It is over." in last
    assert "http-equiv" not in last
    assert "<polyline" in last
    assert "6 at the start, 7 after 0:00. The frame is as high as 8 runs." in last


def test_a_page_that_cannot_be_written_does_not_end_the_runs(folder: Path) -> None:
    class Gone(Page):
        told = 0

        def __call__(self, progress: Progress, /) -> None:
            self.told += 1
            self._file = folder / "gone" / "w.html"
            super().__call__(progress)
            self._file = folder / "w.html"

    page = Gone(folder / "w.html", "Sizes")
    outcome = sweep(load(folder / "study.toml"), out=folder / "store", progress=False, page=page)
    assert outcome.complete
    assert page.told
    assert "every run is there" in (folder / "w.html").read_text()


def test_a_page_without_news_says_so(tmp_path: Path) -> None:
    page = Page(tmp_path / "w.html", "Sizes")
    page.begin(lambda: [("a", ("1", 1), 4, 1, [])])
    text = (tmp_path / "w.html").read_text()
    old = re.sub(r"Date\.now\(\) / 1000 - \d+", f"Date.now() / 1000 - {int(time.time()) - 3600}", text)
    old = old.replace('<meta http-equiv="refresh" content="3">', "")
    (tmp_path / "old.html").write_text(old)
    shown = browser(tmp_path / "old.html", tmp_path / "home")
    assert re.search(r'<p id="stale">No news for 36\d\d s', shown), shown[-1500:]


def test_points_of_two_experiments_have_their_own_names(here: Path) -> None:
    (here / "chain.toml").write_text(chain("1 s"))
    head = 'title = "Both"\nscenario = "chain.toml"\nruns = 2\nmeasures = ["goodput"]\n'
    axis = '[axes.tcp]\nkey = "flow.tcp"\nvalues = ["newreno", "vegas"]\n'
    two = '[experiment.near]\ntitle = "Near nodes"\n[experiment.far.set]\n"nodes.spacing" = "240 m"\n'
    (here / "study.toml").write_text(head + axis + two)
    ok("sweep", "study.toml", "--out", "store", "--watch", "w.html")
    page = (here / "w.html").read_text(encoding="utf-8")
    for name in ("Near nodes: tcp=newreno", "Near nodes: tcp=vegas", "far: tcp=newreno", "far: tcp=vegas"):
        assert page.count(name) == 1


def test_a_ratio_that_few_runs_leave_without_bounds() -> None:
    grid = Grid("pages", "Pages", "", ["TCP"], [])
    for low, high, told in ((-math.inf, math.inf, "0.94 times (no bounds)"), (0.9, 1.0, "0.94 times (0.90 to 1.00)")):
        cell = Cell(estimate(np.array([1.0, 2.0])), ratio=Interval(0.94, low, high, 2))
        lines, _ = _cell(cell, grid)
        assert (told, False) in lines
