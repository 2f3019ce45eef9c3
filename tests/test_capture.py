"""Captures: their files, what is refused before the first run, and that they change nothing."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hopyard
import pytest
from hopyard import CaptureError, _core
from hopyard.running.capture import Capture
from hopyard.scenario.plan import plan
from short import SHORT, TCPS, command, ok, refused, sql, tshark
from test_docs import DOCS
from test_docs import blocks as blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = sorted(Path(__file__).parent.parent.joinpath("examples").glob("*.toml"))
#: What pcapng calls its blocks: section, interface, packet.
SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6


def blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """The blocks of a capture: their types and bodies."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        (again,) = struct.unpack_from("<I", data, at + length - 4)
        assert length == again
        yield kind, data[at + 8 : at + length - 4]
        at += length


def interfaces(path: Path) -> list[str]:
    """The names of a capture's interfaces."""
    found = []
    for kind, body in blocks(path):
        if kind == INTERFACE:
            code, length = struct.unpack_from("<HH", body, 8)
            assert code == 2
            found.append(body[12 : 12 + length].decode())
    return found


def packets(path: Path) -> list[tuple[int, int]]:
    """The interface and the time in nanoseconds of each packet."""
    heads = [struct.unpack_from("<III", body) for kind, body in blocks(path) if kind == PACKET]
    return [(interface, high << 32 | low) for interface, high, low in heads]


def test_a_run_is_captured(short: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.pcapng"
    assert f"Captured in {file}" in ok("run", short, "--runs", 1, "--capture", file, "--capture-nodes", "0, 2").stdout
    assert interfaces(file) == ["node 0 radio", "node 0 drops", "node 2 radio", "node 2 drops"]
    found = packets(file)
    assert len(found) > 1000
    assert {interface for interface, _ in found} <= {0, 1, 2, 3}
    times = [time for _, time in found]
    assert times == sorted(times)
    assert 1.9e9 < times[-1] <= 2e9
    kind, section = next(blocks(file))
    assert kind == SECTION
    scenario = hopyard.load(short)
    comment = f"scenario short, configuration {scenario.hash}, seed 1, run 0"
    assert comment.encode() in section


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_a_capture_changes_no_result(file: Path, tmp_path: Path) -> None:
    short: dict[str, Any] = {"duration": "3 s", "measure.from": "0 s"}
    if file.stem == "rwp50":
        short["flow.start"] = [["0 s", "2 s"]]
    plain = hopyard.run(file, set=short, runs=2, out=tmp_path / "plain")
    path = tmp_path / "out.pcapng"
    kinds = list(_core.CAPTURE_KINDS)
    out = tmp_path / "captured"
    captured = hopyard.run(file, set=short, runs=2, out=out, capture=path, capture_kinds=kinds)
    assert captured.flows.equals(plain.flows)
    assert captured.nodes.equals(plain.nodes)
    assert digests(tmp_path / "plain") == digests(tmp_path / "captured")
    assert packets(tmp_path / "out-0.pcapng") != packets(tmp_path / "out-1.pcapng")


def digests(folder: Path) -> list[tuple[int, str]]:

    return sql(folder, "SELECT run, digest FROM runs ORDER BY run")


def test_each_run_of_a_comparison_has_a_file(tmp_path: Path) -> None:
    hopyard.run(SHORT, set=TCPS | {"duration": "1 s"}, runs=[1, 4], capture=tmp_path / "a.pcapng")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"a-{tcp}-{run}.pcapng" for tcp in ("newreno", "vegas") for run in (1, 4)]


def test_scenarios_tell_files_apart(short: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(short.read_text().replace('name = "short"', 'name = "an other"'))
    ok("run", short, other, "--runs", 1, "--capture", tmp_path / "c", "-q")
    assert {"c-short-0", "c-an_other-0"} <= {path.name for path in tmp_path.iterdir()}


def test_kinds_are_chosen(tmp_path: Path) -> None:
    file = tmp_path / "out.pcapng"
    hopyard.run(SHORT, runs=1, capture=file, capture_nodes=[1], capture_kinds="host, drops")
    assert interfaces(file) == ["node 1 host", "node 1 drops"]


def test_what_is_there_is_replaced_only_with_force(tmp_path: Path) -> None:
    file = tmp_path / "out.pcapng"
    hopyard.run(SHORT, runs=1, capture=file, capture_nodes=[0])
    first = file.read_bytes()
    with pytest.raises(ValueError, match=r"is there already; .* --force \(force=True\)"):
        hopyard.run(SHORT, runs=1, capture=file)
    assert file.read_bytes() == first
    hopyard.run(SHORT, runs=1, capture=file, force=True)
    assert len(interfaces(file)) == 6
    file.write_text("no capture")
    with pytest.raises(ValueError, match="is there, and is no capture"):
        hopyard.run(SHORT, runs=1, capture=file, force=True)
    assert file.read_text() == "no capture"


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "folder": ({"capture": "."}, "is a folder: expected a file"),
    "missing": ({"capture": "nowhere/a"}, "there is no folder nowhere"),
    "empty": ({"capture": ""}, "a file for the capture"),
    "node": ({"capture": "a", "capture_nodes": [0, 3]}, "node 3 is to be captured, and short has 3"),
    "negative": ({"capture": "a", "capture_nodes": [-1]}, "from 0 on, found -1"),
    "no nodes": ({"capture": "a", "capture_nodes": []}, "at least one node"),
    "word": ({"capture": "a", "capture_nodes": "all"}, "such as 0,3..5, found 'all'"),
    "backwards": ({"capture": "a", "capture_nodes": "2..0"}, "from the smaller number on"),
    "kind": ({"capture": "a", "capture_kinds": "radios"}, "radio, damaged, .*found 'radios'"),
    "alone": ({"capture_nodes": [0]}, "need a file to capture to"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_mistakes_are_found_before_the_first_run(wrong: str, here: Path) -> None:
    arguments, message = WRONG[wrong]
    with pytest.raises(ValueError, match=message):
        hopyard.run(SHORT, runs=1, **arguments)
    words = [str(word) for word in command_line(arguments)]
    scenario = here / "short.toml"
    scenario.write_text(hopyard.Scenario(SHORT).to_toml())
    refused("run", scenario, "--runs", 1, *words)
    assert [path.name for path in here.iterdir()] == ["short.toml"]


def command_line(arguments: dict[str, Any]) -> Iterator[str]:
    """Arguments of Python as options."""
    for name, value in arguments.items():
        text = value if isinstance(value, str) else ",".join(map(str, value))
        yield from (f"--{name.replace('_', '-')}", text)


def test_nodes_are_numbers() -> None:
    with pytest.raises(TypeError, match="expected whole numbers"):
        hopyard.run(SHORT, runs=1, capture="a", capture_nodes=["0"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="expected numbers of nodes"):
        hopyard.run(SHORT, runs=1, capture="a", capture_nodes=0)  # type: ignore[arg-type]


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(ValueError, match="a capture cannot be written there: Permission denied"):
        hopyard.run(SHORT, runs=1, capture=tmp_path / "a")


def test_a_place_that_takes_no_file() -> None:
    with pytest.raises(ValueError, match="a capture cannot be written there"):
        hopyard.run(SHORT, runs=1, capture="/proc/hopyard.pcapng")


def test_the_scenario_is_not_replaced(short: Path) -> None:
    text = short.read_text()
    done = command("run", short, "--runs", 1, "--capture", short, "--force")
    assert (done.exit_code, short.read_text()) == (2, text)
    assert "is the scenario" in done.output


def test_runs_that_are_not_made_cannot_be_captured(short: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ok("run", short, "--runs", 1, "--out", out)
    done = refused("run", short, "--runs", 2, "--out", out, "--capture", tmp_path / "a.pcapng")
    assert "run 0 of short is in the folder of results" in done.output
    # The file is captured to beside new runs.
    more = ["--run", 1, "--out", out, "--capture", tmp_path / "a.pcapng"]
    ok("run", short, *more)
    assert len(packets(tmp_path / "a.pcapng")) > 1000


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_disk(short: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = command("run", short, "--runs", 1, "--capture", "/dev/full", "--out", out)
    assert done.exit_code == 3
    assert "error: /dev/full: cannot write the capture: No space left on device" in done.stderr
    assert "Captured in" not in done.output
    # The run is complete.
    assert hopyard.Results.load(out).flows.num_rows == 1
    with pytest.raises(CaptureError, match="cannot write the capture") as caught:
        hopyard.run(SHORT, runs=1, capture="/dev/full")
    assert caught.value.results is not None
    assert caught.value.results.flows.num_rows == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_capture_that_is_not_complete_is_not_told_with_the_others(short: Path, tmp_path: Path) -> None:
    (tmp_path / "a-vegas-1.pcapng").symlink_to("/dev/full")
    file = tmp_path / "a.pcapng"
    compared = ["--set", "flow.tcp=newreno,vegas", "--runs", 2]
    done = command("run", short, *compared, "--capture", file)
    assert done.exit_code == 3, done.output
    names = [tmp_path / f"a-{name}.pcapng" for name in ("newreno-0", "newreno-1", "vegas-0")]
    assert f"Captured in {', '.join(map(str, names))}" in done.stdout.replace("\n", " ")
    assert done.stderr.count("cannot write the capture") == 1


def test_runs_that_were_not_made_have_no_capture(tmp_path: Path) -> None:
    capture = Capture.of(tmp_path / "a.pcapng", None, None)
    cases = plan(SHORT, runs=3)
    capture.check(cases)
    for run in range(3):
        (tmp_path / f"a-{run}.pcapng").write_bytes(b"" if run else b"blocks")
    assert capture.summary(cases, stopped=False) == f"Captured in {tmp_path / 'a-0.pcapng'}"


def test_large_captures_are_warned_of(short: Path, tmp_path: Path) -> None:
    instant = ["--set", "duration=1 ms", "--set", "measure.from=0 s", "--runs", 1]
    many = ["--set", "nodes.count=10000", "--set", "flow.to=1"]
    file = tmp_path / "a.pcapng"
    done = ok("run", short, *instant, *many, "--capture", file)
    # 10,000 radios of 2 Mb/s for 1 ms, with what records add; and as much of drops.
    choices = "--capture-nodes and --capture-kinds capture less"
    more = ", or more if hosts send more than their links carry"
    assert f"warning: {file} may have up to 15 MB{more}; {choices}" in done.stderr
    assert file.stat().st_size < 15_000_000
    one = ["--capture", tmp_path / "d.pcapng", "--capture-kinds", "radio"]
    assert "may have up to 7.5 MB" in command("run", short, *instant, *many, *one).stderr
    assert not ok("run", short, *instant, *many, *one, "--force", "--quiet").stderr
    few = ["--capture", tmp_path / "b.pcapng", "--capture-nodes", "0..9"]
    assert "warning" not in command("run", short, *instant, *many, *few).stderr
    planned = plan(SHORT | {"duration": "20 min"}, runs=1)
    with_all = Capture.of(tmp_path / "c", None, None).check(planned)
    assert f"up to 5.4 GB{more}" in with_all[0]
    # A bound that packets may pass is told as a bound, too.
    host = Capture.of(tmp_path / "c", None, "host").check(planned)
    assert f"up to 2.7 GB{more}" in host[0]
    assert Capture.of(tmp_path / "c", [0], None).check(planned) == []
    # There is no wire.
    assert Capture.of(tmp_path / "c", None, "wire").check(planned) == []


def test_drops_have_no_bound(tmp_path: Path) -> None:
    """A source that sends more than its radio carries drops the rest, which a capture has too."""
    scenario = hopyard.Scenario(SHORT | {"duration": "1 s"})
    scenario.flow.udp = True
    scenario.flow.traffic = "cbr"
    scenario.traffic.cbr.rate = "100 Mbps"
    file = tmp_path / "drops.pcapng"
    hopyard.run(scenario, runs=1, capture=file)
    assert file.stat().st_size > scenario.core.capture_bytes(None, None)


def test_the_bound_holds(tmp_path: Path) -> None:
    """A capture has no more bytes than it is said to have at most."""
    for tcp in ("newreno", "vegas"):
        scenario = hopyard.Scenario(SHORT | {"duration": "5 s"})
        scenario.flow.tcp = tcp
        file = tmp_path / f"{tcp}.pcapng"
        hopyard.run(scenario, runs=1, capture=file, capture_kinds="radio")
        assert file.stat().st_size < scenario.core.capture_bytes(None, ["radio"])


#: Short packets on a wire that is always busy, most of which its queue drops.
FULL_WIRE = {
    "name": "full",
    "duration": "2 s",
    "nodes": {"count": 0, "wired": 2},
    "routing": {"protocol": "static", "static": {"others": "direct"}},
    "wire": [{"between": [0, 1], "rate": "1 Mbps", "delay": "1 ms", "queue_length": 5}],
    "flow": [{"from": 0, "to": 1, "udp": True, "cbr": {"packet_size": "12 B", "interval": "200 us"}}],
}


@pytest.mark.parametrize("kinds", ["wire", "host", "drops", "wire,host,drops"])
def test_the_bound_holds_for_short_packets_and_every_kind(tmp_path: Path, kinds: str) -> None:
    scenario = hopyard.Scenario(FULL_WIRE)
    file = tmp_path / "wire.pcapng"
    hopyard.run(scenario, runs=1, capture=file, capture_kinds=kinds)
    size = file.stat().st_size
    assert 1e5 < size < scenario.core.capture_bytes(None, kinds.split(","))


def test_standard_output_and_devices(short: Path, tmp_path: Path) -> None:
    assert "does not go to standard output" in refused("run", short, "--runs", 1, "--capture", "-").stderr
    ok("run", short, "--runs", 1, "--capture", "/dev/null")
    assert "/dev/null is a device" in refused("run", short, "--runs", 2, "--capture", "/dev/null").stderr
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "no regular file" in refused("run", short, "--runs", 1, "--capture", pipe).stderr


def test_a_scenario_that_cannot_run_leaves_the_capture(tmp_path: Path) -> None:
    file = tmp_path / "out.pcapng"
    hopyard.run(SHORT, runs=1, capture=file)
    before = file.read_bytes()
    bad = tmp_path / "bad.toml"
    bad.write_text('duration = "1 s"\n[nodes]\ncount = 2\nspcing = "1 m"\n')
    refused("run", bad, "--runs", 1, "--capture", file, "--force")
    assert file.read_bytes() == before


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_tshark_reads_what_the_command_writes(short: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.pcapng"
    ok("run", short, "--runs", 1, "--capture", file)
    assert tshark(file, "-Y", "_ws.malformed || _ws.expert.severity == error") == ""
    names = ["-T", "fields", "-e", "frame.interface_name", "-e", "frame.comment", "-e", "tcp.len"]
    lines = [line.split("\t") for line in tshark(file, *names).splitlines()]
    assert len(lines) == len(packets(file))
    comments = [line[1] for line in lines if line[0] == "node 0 radio" and line[1]]
    assert any(comment.startswith("tcp: cwnd:") for comment in comments)


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_the_commands_of_the_page_run(here: Path) -> None:
    """Each command of the page runs, and tshark prints what the page shows: first lines, and two comments."""
    (here / "chain.toml").write_text(_core.new_scenario("chain"), encoding="utf-8")
    ran = []
    for block in blocks_of(DOCS / "guide" / "captures.md"):
        lines = block.text.splitlines()
        for number, line in enumerate(lines):
            if block.language == "console" and not line.startswith("$ "):
                continue
            words = shlex.split(line.removeprefix("$ "))
            ran.append(words[0])
            program = [sys.executable, "-m", "hopyard"] if words[0] == "hopyard" else [words[0]]
            done = subprocess.run([*program, *words[1:]], capture_output=True, text=True)
            assert done.returncode == 0, f"{line}\n{done.stderr}"
            assert done.stdout, line
            shown = lines[number + 1 :] if block.language == "console" else []
            first = list(itertools.takewhile(lambda each: each != "..." and not each.startswith("$ "), shown))
            assert done.stdout.splitlines()[: len(first)] == first, line
    assert (ran.count("hopyard"), ran.count("tshark")) == (4, 6)
    comments = tshark("lossy.pcapng", "-T", "fields", "-e", "frame.comment")
    page = (DOCS / "guide" / "captures.md").read_text(encoding="utf-8")
    examples = re.findall(r"^\| `((?:tcp|dropped): .*?)` \|", page, re.MULTILINE)
    assert [each in comments for each in examples] == [True, True], examples
    # Wireshark's retransmissions are the simulator's.
    found = tshark("host.pcapng", "-Y", "tcp.analysis.retransmission")
    short = {"duration": "20 s", "link.queue_length": 10, "measure.from": "0 s"}
    (counted,) = hopyard.run("lossy.toml", set=short, runs=1).flows["retransmissions"].to_pylist()
    assert len(found.splitlines()) == counted > 5
