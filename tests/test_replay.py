"""Replays: the page, what makes it, and how it behaves in a browser."""

from __future__ import annotations

import base64
import io
import re
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import browser
import hopyard
import numpy as np
import pytest
from hopyard.errors import SimulationError
from hopyard.replaying.page import page
from hopyard.replaying.recording import MAGIC, Wanted, of_folder
from hopyard.scenario.plan import plan
from matplotlib import image
from short import SHORT, TCPS, command, ok, refused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

SOURCE = Path(__file__).parent.parent / "replay"
PLAYER = Path(__file__).parent.parent / "python/hopyard/replaying/player.html"
#: A chain whose queues are short, so that packets are dropped.
LOSSY = SHORT | {"name": "lossy", "duration": "6 s", "link": {"queue_length": 2}}
#: Colours of the map: the ends of the chosen flow, and other nodes.
GREEN, INK = (0, 158, 115), (48, 52, 59)

in_browser = pytest.mark.skipif(browser.found() is None, reason="chromium is not installed")


def recordings(text: str) -> list[bytes]:
    """The recordings in a page."""
    return [base64.b64decode(found) for found in re.findall(r'class="run">([^<]+)<', text)]


def test_a_scenario_becomes_one_page_that_names_no_other_place(short: Path, tmp_path: Path) -> None:
    ok("replay", short, "-o", tmp_path / "short.html")
    text = (tmp_path / "short.html").read_text()
    assert len(recordings(text)) == 1
    assert "default-src 'none'" in text
    assert not re.findall(r'(?:src|href)="(?!data:)', text)
    assert not re.findall(r"\bfetch\(|XMLHttpRequest|importScripts", text)


def test_two_variants_stand_side_by_side(short: Path, tmp_path: Path) -> None:
    ok("replay", short, "--set", "flow.tcp=newreno,vegas", "-o", tmp_path / "two.html")
    one, other = recordings((tmp_path / "two.html").read_text())
    assert one != other


def test_a_run_of_results_is_made_again(tmp_path: Path) -> None:
    hopyard.run(SHORT, set=TCPS, runs=2).save(tmp_path / "results")
    found = of_folder(tmp_path / "results", 1)
    assert [each.case.settings["flow.tcp"] for each in found] == ["newreno", "vegas"]
    assert all(each.digest is not None for each in found)
    assert found[0].digest != found[1].digest
    place = hopyard.replay(tmp_path / "results", tmp_path / "run.hopyard-replay", run=1, case={"flow.tcp": "vegas"})
    assert place.read_bytes() == found[1].record()
    ok("replay", tmp_path / "results", "--against", "flow.tcp=vegas", "-o", tmp_path / "two.html")
    assert len(recordings((tmp_path / "two.html").read_text())) == 2
    result = command("replay", tmp_path / "results", "--run", 7, "-o", tmp_path / "none.html")
    assert f"{tmp_path / 'results'} has no finished run 7: expected --run N with N of 0..1" in result.output


def test_another_digest_than_in_the_results_is_an_error() -> None:
    (case,) = plan(SHORT, runs=[0])
    right = hopyard.start(SHORT)
    right.advance(until=right.end)
    assert Wanted(case, 0, right.digest).record().startswith(MAGIC)
    with pytest.raises(SimulationError, match=r"has the digest \w{16} now, and 0123456789abcdef in the results"):
        Wanted(case, 0, "0123456789abcdef").record()


def test_recordings_are_shown_later(short: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.hopyard-replay" for name in ("a", "b")]
    for file, seed in zip(files, (1, 2), strict=True):
        ok("replay", short, "--seed", seed, "-o", file)
    ok("replay", *files, "-o", tmp_path / "both.html")
    assert recordings((tmp_path / "both.html").read_text()) == [file.read_bytes() for file in files]
    for option in ("--run", "--rows", "--seed"):
        result = refused("replay", *files, option, 2, "-o", tmp_path / "not.html")
        assert "recordings are shown as they are" in result.output


def test_a_recording_is_the_same_each_time(short: Path, tmp_path: Path) -> None:
    made = [hopyard.replay(short, tmp_path / f"{name}.hopyard-replay").read_bytes() for name in "ab"]
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--set", "flow.tcp=newreno,vegas,cubic"], "found 3: flow.tcp=newreno; flow.tcp=vegas; flow.tcp=cubic;"),
        (["--against", "flow.tcp=vegas"], "no compared key is called 'flow.tcp'; all runs are of one case"),
        (["--set", "flow.tcp=newreno,vegas", "--case", "foo=1"], "called 'foo'; expected flow.tcp"),
        (
            ["--set", "flow.tcp=newreno,vegas", "--case", "flow.tcp=bic"],
            "no case has flow.tcp=bic: expected one of flow.tcp=newreno",
        ),
        (
            ["--set", "flow.tcp=newreno,vegas", "--set", "nodes.spacing=150 m,180 m", "--case", "flow.tcp=vegas"],
            "found 2 with flow.tcp=vegas: flow.tcp=vegas,nodes.spacing=150 m; flow.tcp=vegas,nodes.spacing=180 m",
        ),
        (
            ["--set", "flow.tcp=vegas", "--against", "flow.tcp=vegas"],
            "expected another case beside flow.tcp=vegas, which --against names, found none",
        ),
        (["--case", "vegas"], "expected KEY=VALUE, such as flow.tcp=vegas, found 'vegas'"),
        (["--rows", "0"], "0 is not in the range"),
        (["--set", "flow.tcp=newreno,vegas", "-o", "x.hopyard-replay"], "a recording is of one run, found 2"),
        (["-o", "nowhere/x.html"], "nowhere/x.html"),
        (["-o", "x.pdf"], "x.pdf: expected a name that ends in .html, or in .hopyard-replay for the recording alone"),
    ],
)
def test_what_cannot_be_shown_is_an_error(arguments: list[str], told: str, short: Path, here: Path) -> None:
    result = command("replay", short, *arguments)
    assert result.exit_code in (2, 3)
    assert told in result.output
    assert list(here.iterdir()) == [short]


def test_where_no_page_can_be_is_known_before_the_run(
    short: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(*_: object) -> bytes:
        raise AssertionError("the run is made")

    monkeypatch.setattr(Wanted, "record", made)
    (tmp_path / "file").touch()
    for folder, why in (("nowhere", "No such file or directory"), ("file", "Not a directory")):
        place = tmp_path / folder / "x.html"
        told = f"{place}: {why}: expected a folder that can be written, found {tmp_path / folder}"
        result = command("replay", short, "-o", place)
        assert result.exit_code == 3
        assert told in result.output
        with pytest.raises(OSError, match="expected a folder"):
            hopyard.replay(short, place)


def test_a_study_is_no_scenario(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text('title = "A study"\nscenario = "chain.toml"\n[axes.tcp]\nkey = "flow.tcp"\n')
    for target in (tmp_path, tmp_path / "study.toml"):
        result = refused("replay", target, "-o", tmp_path / "x.html")
        assert f"{target} is a study: hopyard sweep {target} makes its runs" in result.output


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.hopyard-replay").write_bytes(b"something else")
    result = refused("replay", tmp_path / "a.hopyard-replay", "-o", tmp_path / "a.html")
    assert "a.hopyard-replay: expected a recording of this version, which begins with" in result.output
    made = hopyard.replay(SHORT, tmp_path / "b.hopyard-replay")
    made.write_bytes(made.read_bytes()[:-100])
    result = refused("replay", made, "-o", tmp_path / "b.html")
    assert f"{made}: expected a whole recording, found {made.stat().st_size} bytes: " in result.output
    assert not (tmp_path / "b.html").exists()
    with pytest.raises(ValueError, match="expected one recording, or two to be compared, found 0"):
        page([])


@pytest.mark.skipif(
    shutil.which("node") is None or not (SOURCE / "node_modules").is_dir(), reason="replay/node_modules is not there"
)
def test_the_page_is_the_build_of_its_source(tmp_path: Path) -> None:
    subprocess.run(["node", "build.mjs", str(tmp_path / "player.html")], cwd=SOURCE, check=True)
    assert (tmp_path / "player.html").read_text() == PLAYER.read_text(), "npm run build in replay/ makes it anew"


def test_the_player_is_small() -> None:
    assert PLAYER.stat().st_size < 1_000_000


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[browser.Browser]:
    """A browser that shows two variants of a run with drops, side by side."""
    folder = tmp_path_factory.mktemp("browser")
    hopyard.replay(LOSSY, folder / "one.html", set={"flow.tcp": ["newreno"]})
    hopyard.replay(LOSSY, folder / "two.html", set=TCPS)
    with browser.Browser(folder, 1280, 800) as opened:
        yield opened


def at(window: browser.Browser) -> float:
    """The time that the page shows, in microseconds."""
    return float(window.value("document.body.dataset.time"))


def shown(window: browser.Browser) -> NDArray[np.float32]:
    """The pixels of the page, when it has drawn the time that it is at."""
    drawn = window.value("Number(document.body.dataset.drawn)")
    window.key("r")
    window.until(f"document.body.dataset.drawn > {drawn}")
    window.key("r")
    window.until(f"document.body.dataset.drawn > {drawn + 1}")
    pixels: NDArray[np.float32] = image.imread(io.BytesIO(window.picture()))[:, :, :3] * 255
    return pixels


def count(pixels: NDArray[np.float32], colour: tuple[int, int, int]) -> int:
    """How many pixels have a colour, or nearly."""
    return int((np.abs(pixels - np.array(colour)).max(axis=2) < 12).sum())


@in_browser
def test_one_run_is_drawn_and_stepped(window: browser.Browser) -> None:
    window.size(1280, 800)
    window.open(f"file://{window.folder}/one.html#t=3&speed=0.1")
    assert at(window) == 3e6
    # Discs of ten pixels: two ends of the flow in green, one node between them.
    pixels = shown(window)
    assert 500 < count(pixels, GREEN) < 4000
    assert 100 < count(pixels, INK) < 6000
    assert window.value("document.body.dataset.route") == "0 1 2"
    times = []
    for _ in range(3):
        window.key("ArrowRight")
        times.append(at(window))
    assert 3e6 < times[0] < times[1] < times[2] < 3.1e6
    window.key("ArrowLeft")
    assert at(window) == times[1]
    window.click("#back")
    assert at(window) == times[0]
    window.click("#step")
    assert at(window) == times[1]
    window.key("ArrowRight", shift=True)
    assert at(window) == times[1] + 6e6 / 100
    assert window.errors == []


@in_browser
def test_nodes_are_where_they_are_however_one_came_there(window: browser.Browser) -> None:
    # Six nodes that turn several times a second.
    restless = {
        "name": "restless",
        "duration": "20 s",
        "nodes": {"count": 6, "area": ["100 m", "100 m"]},
        "mobility": {"model": "random_waypoint", "random_waypoint": {"speed_min": "90 m/s", "speed_max": "99 m/s"}},
        "flow": [{"from": 0, "to": 5}],
    }
    page = hopyard.replay(restless, window.folder / "restless.html")
    window.open(f"file://{page}#t=10")
    sides = "(it => [it.top + 8, it.bottom - 8, it.left + 8, it.right - 8])"
    top, bottom, left, right = map(
        int, window.value(f"{sides}(document.querySelector('.map').getBoundingClientRect())")
    )
    direct = shown(window)[top:bottom, left:right]
    for time in (3, 17, 10):
        window.value(f"location.hash = 't={time}'")
        window.until(f"document.body.dataset.time === '{time}000000'")
        # The map alone: elsewhere the browser rounds a corner now one way, now another.
        pixels = shown(window)[top:bottom, left:right]
        assert np.array_equal(pixels, direct) == (time == 10)
    assert window.errors == []


@in_browser
def test_drops_are_jumped_to(window: browser.Browser) -> None:
    window.open(f"file://{window.folder}/one.html")
    assert window.value("document.querySelector('#kind').value") == "drop"
    window.key("n")
    first = at(window)
    assert first > 0
    window.until("document.querySelector('#events .now')?.textContent.includes('queue full')")
    window.click("#next")
    assert at(window) > first
    window.key("p")
    assert at(window) == first
    window.key("End")
    assert at(window) == 6e6
    window.key("n")
    assert at(window) == 6e6, "nothing is dropped after the end"
    assert window.errors == []


@in_browser
def test_it_plays_and_pauses(window: browser.Browser) -> None:
    window.open(f"file://{window.folder}/one.html#t=1&speed=0.5")
    window.key(" ")
    assert window.value("document.querySelector('#play').ariaLabel") == "Pause"
    window.until("document.body.dataset.time > 1100000")
    window.click("#play")
    assert window.value("document.querySelector('#play').ariaLabel") == "Play"
    stopped = at(window)
    drawn = window.value("Number(document.body.dataset.drawn)")
    window.key("r")
    window.until(f"document.body.dataset.drawn > {drawn}")
    assert at(window) == stopped
    assert window.errors == []


@in_browser
def test_two_runs_meet_their_first_difference(window: browser.Browser) -> None:
    window.open(f"file://{window.folder}/two.html")
    assert window.value("document.querySelectorAll('.map').length") == 2
    assert not window.value("document.querySelector('#difference').hidden")
    window.key("d")
    found = at(window)
    assert found == float(window.value("document.body.dataset.difference"))
    assert 0 < found < 6e6
    notes = window.value("document.querySelector('#notes').textContent")
    assert f"First difference at {found / 1e6:.6f} s" in notes
    assert "do not move in the same way" not in notes
    assert window.errors == []


@in_browser
def test_a_narrow_page_has_one_column(window: browser.Browser) -> None:
    window.size(390, 844)
    window.open(f"file://{window.folder}/one.html#t=3")
    assert window.value("document.documentElement.scrollWidth") == 390
    boxes = "[...document.querySelectorAll('#maps, #control, aside')].map(it => it.getBoundingClientRect().width)"
    assert all(width > 350 for width in window.value(boxes))
    assert count(shown(window), GREEN) > 200
    small = (
        "[...document.querySelectorAll('#control button, #control select')].filter(it => !it.hidden)"
        ".filter(it => it.getBoundingClientRect().height < 32).length"
    )
    assert window.value(small) == 0, "a finger needs some room"
    assert window.errors == []


@in_browser
def test_a_click_chooses_a_node(window: browser.Browser) -> None:
    window.size(1280, 800)
    window.open(f"file://{window.folder}/one.html#t=3")
    # Node 1 is in the middle of the chain.
    window.click(".map canvas:nth-of-type(2)")
    assert window.value("document.querySelector('#node').value") == "1"
    assert "Queue of node 1" in window.value("document.querySelector('#charts').textContent")
    assert window.errors == []


def at_focus(window: browser.Browser) -> str:
    """The name of the control that has the focus, and that it has an outline."""
    words = "(it => it.id || it.tagName)(document.activeElement)"
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert window.value(outline) != "none", window.value(words)
    return str(window.value(words))


@in_browser
def test_a_keyboard_reaches_and_uses_every_control(window: browser.Browser) -> None:
    window.size(1280, 800)
    window.open(f"file://{window.folder}/one.html#t=3")
    controls = "[...document.querySelectorAll('#timeline, button, select, input, summary')].filter(it => !it.hidden)"
    reached = []
    for _ in range(window.value(f"{controls}.length")):
        window.key("Tab")
        reached.append(at_focus(window))
    assert {"timeline", "home", "back", "play", "step", "speed", "previous", "kind", "next"} < {*reached}
    assert {"flow", "node", "ranges", "fit", "INPUT", "BUTTON", "SUMMARY"} < {*reached}
    # Space is for the control that has the focus, and else plays.
    playing = "document.querySelector('#play').ariaLabel === 'Pause'"
    window.value("document.querySelector('#legend input').focus()")
    window.key(" ")
    assert not window.value("document.querySelector('#legend input').checked")
    assert not window.value(playing)
    window.value("document.querySelector('#home').focus()")
    window.key(" ")
    assert at(window) == 0
    assert not window.value(playing)
    window.value("document.querySelector('#timeline').focus()")
    window.key(" ")
    assert window.value(playing)
    window.key(" ")
    window.value("location.hash = 't=4'")
    window.until("document.body.dataset.time === '4000000' && document.querySelectorAll('#events button').length === 6")
    # An event that is chosen keeps the focus in the list, which is another one then.
    window.value("[...document.querySelectorAll('#events button')].at(-1).focus()")
    window.value("document.activeElement.click()")
    window.until("document.querySelector('#events .now')")
    assert window.value("document.activeElement.matches('#events .now')")
    assert window.errors == []


@in_browser
def test_a_thinned_recording_says_what_it_has(window: browser.Browser) -> None:
    for rows, expected in (
        (400, r"frames: one slice of [\d.]+ s in \d+, as far as there is room, and none of the others"),
        (1, ""),
    ):
        hopyard.replay(SHORT, window.folder / "few.html", rows=rows)
        window.open((window.folder / "few.html").as_uri())
        assert re.search(rf"thinned: \d+ of \d+ {expected}", window.value("document.body.innerText"))


@in_browser
def test_a_replay_on_paper_has_its_map(window: browser.Browser) -> None:
    window.size(1280, 800)
    window.open(f"file://{window.folder}/two.html#t=3")
    count(shown(window), GREEN)
    # What is painted again without being drawn, as for paper, is the last picture.
    blank = "(it => (it.width = it.height = 1, it.getContext('2d')))(document.createElement('canvas'))"
    corner = f"(pen => (pen.drawImage(map, 0, 0), [...pen.getImageData(0, 0, 1, 1).data]))({blank})"
    light = f"(map => {corner})(document.querySelector('.map canvas'))"
    assert min(window.value(light)) > 150
    window.call("Emulation.setEmulatedMedia", media="print")
    window.size(794, 1123)
    window.until("document.querySelector('#control').getBoundingClientRect().width > 700")
    assert window.value("getComputedStyle(document.querySelector('.map canvas')).objectFit") == "contain"
    top = "it => Math.round(it.getBoundingClientRect().top)"
    tops = window.value(f"[...document.querySelectorAll('.chart')].map({top})")
    assert tops[0] == tops[1] < tops[2] == tops[3]
    # Paper that is wider than high has everything too.
    window.size(1123, 794)
    window.until("document.querySelector('#control').getBoundingClientRect().width > 1000")
    assert window.value("(it => it.scrollHeight - it.clientHeight)(document.querySelector('aside'))") == 0
    window.call("Emulation.setEmulatedMedia", media="")
    assert window.errors == []


@in_browser
def test_a_replay_asks_no_server(window: browser.Browser) -> None:
    asked = "performance.getEntriesByType('resource').map(it => it.name).filter(it => !it.startsWith('data:'))"
    window.open(f"file://{window.folder}/two.html")
    assert window.value(asked) == []


@in_browser
def test_a_page_of_a_run_without_events_says_what_is_known(window: browser.Browser) -> None:
    window.size(1280, 800)
    alone = {"name": "alone", "duration": "1 s", "nodes": {"positions": [[10, 10]]}}
    pages = [hopyard.replay(alone, window.folder / f"{name}.hopyard-replay").read_bytes() for name in "ab"]
    other = hopyard.replay(SHORT, window.folder / "c.hopyard-replay").read_bytes()
    (window.folder / "alone.html").write_text(page(pages))
    window.open(f"file://{window.folder}/alone.html#t=1")
    assert window.value("document.querySelector('#events').textContent") == (
        "no frame, drop or new path is recorded up to this time"
    )
    assert window.value("document.querySelector('#notes').textContent") == "Neither recording has a frame or a drop."
    # A flow that only the second run has can be chosen.
    (window.folder / "both.html").write_text(page([pages[0], other]))
    window.open(f"file://{window.folder}/both.html#t=1")
    assert window.value("document.querySelector('#flow').value") == "0"
    assert window.value("document.querySelector('#node').options.length") > 2
    assert "rate B" in window.value("document.querySelector('#charts').textContent")
    assert "rate A" not in window.value("document.querySelector('#charts').textContent")
    assert window.errors == []
