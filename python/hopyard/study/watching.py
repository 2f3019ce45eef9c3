"""The page of a sweep that is under way: a file that a browser loads again by itself, without a server or a network."""

from __future__ import annotations

import time
from contextlib import suppress
from html import escape
from typing import TYPE_CHECKING, TypeAlias

from hopyard.files import write_text
from hopyard.terminal.progress import clock
from hopyard.terminal.words import many

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hopyard.terminal.progress import Progress

#: A point: its name, its scenario and seed, the runs that are wanted, those that are there, and the numbers and
#: errors of those that failed. Points of one scenario and seed share their runs.
Row: TypeAlias = "tuple[str, tuple[str, int], int, int, Sequence[tuple[int, str]]]"

#: Seconds between two pages at least, and between two loads of a browser.
EVERY = 2.0
#: The share of the time that may be spent on the page.
SHARE = 0.02
#: The most points and failures that a page lists.
MOST_POINTS, MOST_FAILURES = 400, 50
#: The moments of the curve of progress.
MOMENTS = 200

_STYLE = """
body { color: #1c1c1c; font: 16px/1.5 "Source Sans 3", "Helvetica Neue", Arial, sans-serif; }
body { margin: 0 auto; max-width: 56rem; padding: 1rem; }
h1 { font-size: 1.4rem; line-height: 1.25; margin: 0 0 .6rem; }
h2 { border-bottom: 1px solid #bbb; font-size: 1.1rem; margin-top: 1.8rem; }
dl { display: grid; gap: .8rem; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); margin: 1rem 0; }
dt { color: #555; font-size: .85rem; }
dd { font-size: 1.25rem; font-variant-numeric: tabular-nums; margin: 0; }
.bar { background: #ddd; border-radius: .2rem; display: flex; height: 1rem; overflow: hidden; }
.bar i { background: #0072b2; height: 100%; }
.bar i.bad { background: repeating-linear-gradient(45deg, #d55e00 0 4px, #fff 4px 6px); }
td .bar { height: .6rem; min-width: 6rem; }
svg { border: 1px solid #ddd; box-sizing: border-box; display: block; height: 8rem; width: 100%; }
table { border-collapse: collapse; font-size: .92rem; width: 100%; }
td { border-bottom: 1px solid #ddd; overflow-wrap: anywhere; padding: .25rem .5rem .25rem 0; }
td.number { font-variant-numeric: tabular-nums; text-align: right; white-space: nowrap; }
.ended, #stale { border: 1.5px solid #444; border-radius: .3rem; padding: .4rem .8rem; }
#stale { border-style: dashed; }
@media print { #stale { display: none; } tr { break-inside: avoid; } }
"""
#: A process that was killed writes no last page: the page itself sees that it is old.
_STALE = """
const age = Date.now() / 1000 - %d;
if (age > %d) {
  const told = document.getElementById("stale");
  told.hidden = false;
  told.textContent = `No news for ${Math.round(age)} s: the sweep may have been killed. `
    + "Started again, it goes on where it was.";
}
"""


class Page:
    """A page that is told how far the runs are, a few times a second, and is written every few seconds.

    Args:
        file: the HTML file.
        title: the title of the study.
        link: the address of the dashboard of a Dask cluster.
    """

    def __init__(self, file: Path, title: str, link: str | None = None) -> None:
        self._file = file
        self._title = title
        self._link = link
        self._look: Callable[[], Sequence[Row]] = tuple
        self._began = time.time()
        self._next = 0.0
        self._curve: list[tuple[float, float]] = []
        self._last: Progress | None = None

    def begin(self, look: Callable[[], Sequence[Row]]) -> None:
        """Writes the first page; `look` tells how far the points are.

        Raises:
            OSError: when the file cannot be written.
        """
        self._look = look
        self._write(None)

    def __call__(self, progress: Progress, /) -> None:
        """Writes the page anew, unless that was done a moment ago."""
        self._last = progress
        now = time.monotonic()
        if now < self._next:
            return
        # The runs do not depend on the page: a disk that is full for a while is no reason to end them.
        with suppress(OSError):
            self._write(None)
        self._next = now + max(EVERY, (time.monotonic() - now) / SHARE)

    def end(self, told: str) -> None:
        """Writes the last page, which loads no other.

        Raises:
            OSError: when the file cannot be written.
        """
        self._write(told)

    def _write(self, ended: str | None) -> None:
        now = time.time()
        rows = self._look()
        shared = {row[1]: row for row in sorted(rows, key=lambda row: row[2])}.values()
        wanted, done = sum(row[2] for row in shared), sum(row[3] for row in shared)
        bad = sum(len(row[4]) for row in shared)
        self._curve.append((now - self._began, done + bad))
        if len(self._curve) > MOMENTS:
            del self._curve[1:-1:2]
        share = (done + bad) / wanted if wanted else 1.0
        facts = {"runs": f"{done:,} of {wanted:,}", "failed": f"{bad:,}", "since the start": clock(now - self._began)}
        (since, before), (until, after) = self._curve[0], self._curve[-1]
        if until > since and after > before:
            facts["runs a minute"] = f"{60 * (after - before) / (until - since):,.1f}"
        if self._last is not None:
            facts["simulated s/s"] = f"{self._last.speed:,.0f}"
            if self._last.left is not None and ended is None:
                facts["time left"] = clock(self._last.left)
        written = time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(now))
        reload = f'<meta http-equiv="refresh" content="{EVERY + 1:.0f}">' if ended is None else ""
        parts = [
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{reload}',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{100 * share:.0f} % {escape(self._title)}</title><style>{_STYLE}</style></head><body>",
            f"<h1>{escape(self._title)}</h1>",
            _bar(done, bad, wanted, f"{100 * share:.0f} %"),
            f"<dl>{''.join(f'<div><dt>{name}</dt><dd>{value}</dd></div>' for name, value in facts.items())}</dl>",
            f'<p class="ended">{escape(ended)}</p>' if ended is not None else '<p id="stale" hidden></p>',
            f'<p><a href="{escape(self._link)}">Dashboard of the Dask cluster</a></p>' if self._link else "",
            self._picture(wanted),
            _failures(rows),
            _points(rows),
            f"<p><small>Written at {written}.</small></p>",
            "" if ended is not None else f"<script>{_STALE % (now, max(30, 10 * EVERY))}</script>",
            "</body></html>\n",
        ]
        write_text(self._file, "\n".join(part for part in parts if part))

    def _picture(self, wanted: int) -> str:
        """The runs that have ended, over time."""
        last = self._curve[-1][0]
        if len(self._curve) < 2 or not wanted or not last:
            return ""
        points = " ".join(f"{1000 * at / last:.1f},{100 - 100 * runs / wanted:.2f}" for at, runs in self._curve)
        look = 'fill="none" stroke="#0072b2" stroke-width="2" vector-effect="non-scaling-stroke"'
        line = f'<polyline points="{points}" {look}/>'
        before, after = (f"{each[1]:,.0f}" for each in (self._curve[0], self._curve[-1]))
        words = f"{before} at the start, {after} after {clock(last)}. The frame is as high as {many(wanted, 'run')}."
        return (
            f"<h2>Runs over time</h2>\n"
            f'<svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img"><title>{words}</title>{line}</svg>\n'
            f"<p><small>{words}</small></p>"
        )


def _bar(done: int, bad: int, wanted: int, told: str) -> str:
    good, wrong = (100 * each / wanted if wanted else 0.0 for each in (done, bad))
    style = f'<i style="width:{good:.2f}%"></i>', f'<i class="bad" style="width:{wrong:.2f}%"></i>' if bad else ""
    return f'<div class="bar" role="img" aria-label="{told}">{"".join(style)}</div>'


def _failures(rows: Sequence[Row]) -> str:
    failed = [(name, run, error) for name, *_, errors in rows for run, error in errors]
    if not failed:
        return ""
    lines = "".join(
        f'<tr><td>{escape(name)}</td><td class="number">run {run}</td><td>{escape(error)}</td></tr>'
        for name, run, error in failed[:MOST_FAILURES]
    )
    more = len(failed) - MOST_FAILURES
    rest = f"<p>and {many(more, 'further failure')}; hopyard sweep --status lists all</p>" if more > 0 else ""
    return f"<h2>Failures</h2>\n<table>{lines}</table>{rest}"


def _points(rows: Sequence[Row]) -> str:
    # Those that are not complete come first.
    ordered = sorted(rows, key=lambda row: row[3] + len(row[4]) >= row[2])
    lines = "".join(
        f"<tr><td>{escape(name)}</td><td>{_bar(done, len(failed), wanted, 'runs')}</td>"
        f'<td class="number">{done:,} of {wanted:,}</td></tr>'
        for name, _, wanted, done, failed in ordered[:MOST_POINTS]
    )
    more = len(rows) - MOST_POINTS
    rest = f"<p>and {many(more, 'further point')}</p>" if more > 0 else ""
    return f"<h2>Points</h2>\n<table>{lines}</table>{rest}" if rows else ""
