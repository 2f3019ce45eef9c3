"""Segments of flows: what is recorded of them, how it is kept, and the time-sequence plot."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import hopyard
import pyarrow.compute as pc
import pytest
from hopyard import Results, Scenario, ScenarioError
from hopyard.errors import StoreError
from hopyard.plot.segments import blocks
from hopyard.store.reading import Reader
from short import SHORT, command, ok, refused

if TYPE_CHECKING:
    from pathlib import Path

#: A short queue and a large window: segments are lost, and the receiver reports which.
LOSSY: dict[str, Any] = SHORT | {
    "name": "lossy",
    "duration": "8 s",
    "nodes": {"count": 4, "spacing": "200 m"},
    "link": {"queue_length": 5},
    "tcp": {"window": 64},
    "flow": [{"from": 0, "to": 3, "tcp": "sack"}, {"from": 3, "to": 0, "start": "1 s"}],
    "measure": {"segments": True},
}
SENDER, RECEIVER = ("data_sent", "ack_received"), ("data_received", "ack_sent")


@cache
def lossy() -> Results:
    return hopyard.run(Scenario(LOSSY), runs=2)


def rows(results: Results, **wanted: object) -> list[dict[str, Any]]:
    """The rows of segments with these values."""
    table = results.segments
    for name, value in wanted.items():
        table = table.filter(pc.field(name) == value)
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def test_segments_agree_with_the_counters_of_the_flow() -> None:
    results = lossy()
    for flow in results.flows.to_pylist():
        mine = {"flow": flow["flow"], "run": flow["run"]}
        sent = [row for row in rows(results, event="data_sent", **mine) if row["payload"]]
        again = [row for row in sent if row["resent"]]
        assert len(again) == flow["retransmissions"] > 0
        opening = [row for row in rows(results, event="data_sent", **mine) if "SYN" in row["flags"]]
        assert len(sent) + len(opening) == flow["packets_sent"]
        arrived = [row for row in rows(results, event="data_received", **mine) if row["payload"]]
        # What is new is sent in order, each byte once.
        new = [(row["seq"], row["end"]) for row in sent if not row["resent"]]
        assert all(end == seq for (_, end), (seq, _) in pairwise(new))
        assert {row["seq"] for row in again} <= {seq for seq, _ in new}
        acks = rows(results, event="ack_sent", **mine)
        assert max(row["ack"] for row in acks) - 1 <= flow["delivered_bytes"]
        assert 0 < len(arrived) < len(sent)
        assert len(rows(results, event="ack_received", **mine)) <= len(acks)


def test_each_column_has_values_where_it_must() -> None:
    table = lossy().segments
    assert set(table["event"].unique().to_pylist()) == {*SENDER, *RECEIVER}
    times = [row["time_s"] for row in rows(lossy(), case=0, run=0)]
    assert times == sorted(times)
    for row in table.to_pylist():
        assert (row["cwnd"] is not None) == (row["event"] == "data_sent")
        assert row["end"] == row["seq"] + row["payload"] + ("SYN" in row["flags"])
        assert (row["ack"] is None) == (row["flags"] == "SYN")
        assert row["window"] > 0
        assert not row["resent"] or row["event"].startswith("data")
    # Only the flow whose sender wants SACK has blocks; they lie beyond what is acknowledged.
    with_blocks = [row for row in table.to_pylist() if row["sack"]]
    assert {row["flow"] for row in with_blocks} == {0}
    assert {row["event"] for row in with_blocks} == {"ack_sent", "ack_received"}
    for row in with_blocks:
        for first, end in blocks(row["sack"]):
            # A block below the acknowledgement reports a duplicate (RFC 2883).
            assert first < end
            assert first > row["ack"] or end <= row["ack"] or "," in row["sack"]


def test_recording_changes_nothing_and_threads_do_not_matter() -> None:
    plain = hopyard.run(Scenario(LOSSY | {"measure": {}}), runs=2)
    assert len(plain.segments) == 0
    assert plain.flows.equals(lossy().flows)
    one, two = (hopyard.run(Scenario(LOSSY), runs=4, jobs=jobs) for jobs in (1, 2))
    assert one.segments.equals(two.segments)
    assert len(one.segments) > len(lossy().segments)
    assert one.segments.filter(pc.field("run") < 2).to_pylist() == lossy().segments.to_pylist()


@pytest.mark.parametrize("flows", ["1", "0..1", [1], (0, 1), 1])
def test_only_the_flows_that_are_named_are_recorded(flows: Any) -> None:
    found = hopyard.run(Scenario(LOSSY | {"measure": {}}), runs=1, segments=flows)
    numbers = {0, 1} if flows in ("0..1", (0, 1)) else {1}
    assert set(found.segments["flow"].to_pylist()) == numbers
    assert rows(found) == [row for row in rows(lossy(), run=0) if row["flow"] in numbers]


def test_udp_has_no_segments() -> None:
    flows = [*LOSSY["flow"], {"from": 1, "to": 2, "udp": True}]
    found = hopyard.run(Scenario(LOSSY | {"flow": flows, "duration": "2 s"}), runs=1)
    assert set(found.segments["flow"].to_pylist()) == {0, 1}


@pytest.mark.parametrize(
    ("flows", "said"),
    [
        ("0..2", "there is no flow 2"),
        ([5], "there is no flow 5"),
        ("1,", "numbers of flows such as"),
        ("", "numbers of flows such as"),
    ],
)
def test_flows_that_do_not_exist_are_refused(flows: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=said):
        hopyard.run(Scenario(LOSSY), runs=1, segments=flows)
    file = tmp_path / "lossy.toml"
    Scenario(LOSSY | {"measure": {}}).save(file)
    value = ",".join(map(str, flows)) if isinstance(flows, list) else flows
    assert said in refused("check", file, "--set", f'measure.segments="{value}"').output


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="segments: expected numbers of flows"):
        hopyard.run(Scenario(LOSSY), runs=1, segments=[0.5])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"measure\.segments is set, and segments is given too"):
        hopyard.run(Scenario(LOSSY), set={"measure.segments": True}, segments="0")


def filed(out: Path) -> set[str]:
    """The files of segments that the runs of a folder name."""
    with Reader(out) as store:
        return {record.files["segments"] for record in store.runs()}


def test_segments_are_kept_in_a_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    plain = Scenario(LOSSY | {"measure": {}, "name": "kept"})
    first = hopyard.run(plain, runs=2, segments="0", out=out)
    assert Results.load(out).segments.equals(first.segments)
    assert len(filed(out)) == 2
    assert (out / "segments.parquet").exists()
    # The other flow is recorded too: the runs are made again, with both.
    both = hopyard.run(plain, runs=2, segments="1", out=out)
    assert set(both.segments["flow"].to_pylist()) == {0, 1}
    before = filed(out)
    assert len(before) == 2
    # All of them: the runs are made again. Then what any call asks for is there.
    every = hopyard.run(plain, runs=2, segments=True, out=out)
    assert every.segments.equals(both.segments)
    files = filed(out)
    assert not files & before
    assert hopyard.run(plain, runs=2, segments="0..1", out=out).segments.equals(both.segments)
    assert hopyard.run(plain, runs=2, out=out).segments.equals(both.segments)
    # The files of the former runs were removed when the folder was opened.
    assert filed(out) == files == {f"series/{path.name}" for path in (out / "series").iterdir()}
    copy = tmp_path / "copy"
    Results.load(out).save(copy)
    assert Results.load(copy).segments.equals(both.segments)


def test_folders_with_different_flows_are_one(tmp_path: Path) -> None:
    plain = Scenario(LOSSY | {"measure": {}})
    for flow in (0, 1):
        hopyard.run(plain, runs=2, segments=[flow], out=tmp_path / str(flow))
    both = Results.load(tmp_path / "0", tmp_path / "1").segments
    assert both.num_rows == lossy().segments.num_rows
    for flow in (0, 1):
        mine = pc.field("flow") == flow
        expected = lossy().segments.filter(mine).drop_columns(["case"])
        assert both.filter(mine).drop_columns(["case"]).equals(expected)


def test_a_damaged_file_is_named_and_made_again(tmp_path: Path) -> None:
    out = tmp_path / "out"
    before = hopyard.run(Scenario(LOSSY), runs=2, out=out)
    (out / "series").joinpath(min(path.name for path in (out / "series").iterdir())).write_text("x")
    damaged = Results.load(out)
    assert damaged.flows.equals(before.flows)
    assert damaged.problem is not None
    with pytest.raises(StoreError, match=r"cannot be read.*makes such runs again"):
        _ = damaged.segments
    assert hopyard.run(Scenario(LOSSY), runs=2, out=out).segments.equals(before.segments)


def test_a_simulation_shows_its_segments_so_far() -> None:
    with hopyard.start(Scenario(LOSSY)) as simulation:
        assert len(simulation.segments) == 0
        simulation.advance("2 s")
        half = simulation.segments
        assert half.num_rows > 0
        assert max(half["time_s"].to_pylist()) <= 2.0
    expected = lossy().segments.filter((pc.field("run") == 0) & (pc.field("time_s") <= 2.0))
    assert half.column("seq").to_pylist() == expected.column("seq").to_pylist()


def captured(file: Path, node: int, *fields: str) -> list[list[str]]:
    """Fields of the TCP segments at a host, as tshark reads them."""
    words = ["tshark", "-n", "-r", str(file), "-T", "fields", "-Y", "tcp && tcp.stream == 0"]
    words += [word for name in ("frame.interface_name", *fields) for word in ("-e", name)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    lines = (line.split("\t") for line in done.stdout.splitlines())
    return [line[1:] for line in lines if line[0].startswith(f"node {node} host")]


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
@pytest.mark.parametrize("tcp", ["sack", "newreno"])
def test_tshark_sees_the_same_segments(tcp: str, tmp_path: Path) -> None:
    flow = [{"from": 0, "to": 3, "tcp": tcp}]
    file = tmp_path / "lossy.toml"
    Scenario(LOSSY | {"flow": flow, "measure": {}}).save(file)
    ok("run", file, "--runs", 1, "--segments", "--out", tmp_path / "out", "--quiet")
    results = Results.load(tmp_path / "out")
    fields = ["frame.p2p_dir", "frame.time_epoch", "tcp.seq_raw", "tcp.len", "tcp.ack_raw"]
    fields += ["tcp.options.sack_le", "tcp.options.sack_re", "tcp.flags.ack"]
    for node, (sends, receives) in ((0, SENDER), (3, RECEIVER[::-1])):
        capture = tmp_path / f"{node}.pcapng"
        chosen = ["--capture-nodes", node, "--capture-kinds", "host"]
        ok("run", file, "--runs", 1, "--quiet", "--capture", capture, *chosen)
        there = captured(capture, node, *fields)
        for direction, event in (("0", sends), ("1", receives)):
            lines = [line[1:] for line in there if line[0] == direction]
            mine = rows(results, event=event)
            assert len(lines) == len(mine) > 100
            for (time, seq, size, ack, left, right, has_ack), row in zip(lines, mine, strict=True):
                assert float(time) == pytest.approx(row["time_s"], abs=1e-8)
                assert (int(seq), int(size)) == (row["seq"], row["payload"])
                assert (int(ack) if has_ack in ("1", "True") else None) == row["ack"]
                pairs = zip(left.split(","), right.split(","), strict=True) if left else ()
                text = ",".join(f"{first}-{end}" for first, end in pairs) or None
                assert text == row["sack"]
    kinds = ["retransmission", "fast_retransmission", "duplicate_ack"]
    seen = captured(tmp_path / "0.pcapng", 0, *(f"tcp.analysis.{kind}" for kind in kinds))
    resent = [row for row in rows(results, event="data_sent") if row["resent"]]
    assert sum(bool(line[0]) for line in seen) == len(resent) > 5


def test_the_plot_shows_what_the_table_has() -> None:
    figure = lossy().plot_segments(0, 1, since=2.0, until=6.0)
    (axis,) = figure.axes
    inside = [row for row in rows(lossy(), flow=0, run=1) if 2.0 <= row["time_s"] <= 6.0]
    sent = [row for row in inside if row["event"] == "data_sent" and row["payload"]]
    lines = [len(each.get_segments()) for each in axis.collections]  # type: ignore[attr-defined]
    again = sum(row["resent"] for row in sent)
    reported = [row["sack"] for row in inside if row["event"] == "ack_received" and row["sack"]]
    assert lines == [len(sent) - again, again, sum(len(blocks(text)) for text in reported)]
    (low, high), (left, right) = axis.get_ylim(), axis.get_xlim()
    assert left < 2.0 < 6.0 < right < 6.5
    assert low < min(row["seq"] for row in sent) / 1000
    assert max(row["end"] for row in sent) / 1000 < high
    assert axis.get_ylabel() == "sequence number (kB)"
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels[:2] == ["segment", "segment sent again"]
    assert {"acknowledgement", "duplicate ACK", "SACK block", "congestion window"} <= {*labels}
    in_segments = lossy().plot_segments(0, 1, unit="segments").axes[0]
    assert in_segments.get_ylim()[1] < max(row["end"] for row in sent) / 100


def test_a_plot_has_a_panel_for_each_case() -> None:
    several = {"flow.tcp": ["sack", "vegas"]}
    found = hopyard.run(Scenario(LOSSY | {"duration": "3 s"}), runs=1, set=several)
    titles = [axis.get_title(loc="left") for axis in found.plot_segments().axes]
    assert titles == ["tcp = sack", "tcp = vegas"]


def test_a_flow_that_never_opens_is_drawn() -> None:
    apart: dict[str, Any] = {
        "nodes": {"count": 3, "placement": "uniform", "area": ["9 km", "9 km"]},
        "duration": "9 s",
        "measure": {"segments": True},
    }
    found = hopyard.run(Scenario(SHORT | apart), runs=1)
    flags = found.segments["flags"].to_pylist()
    assert flags == ["SYN"] * len(flags)
    assert found.segments["resent"].to_pylist() == [False] + [True] * (len(flags) - 1)
    (legend,) = found.plot_segments().legends
    assert [text.get_text() for text in legend.get_texts()] == ["SYN", "SYN or FIN sent again"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"flow": 7}, "no segments of flow 7 were recorded; there are those of flow 0..1"),
        ({"run": 9}, "no segments of run 9 were recorded; there are those of run 0..1"),
        ({"since": 5.0, "until": 4.0}, "begins before it ends, found from 5 s to 4 s"),
        ({"since": 100.0}, "flow 0 has no segments from 100 s on in run 0; those that were"),
        ({"since": -1.0}, "since: expected a number of seconds from 0 on"),
        ({"unit": "bytes"}, "expected sequence numbers in kB or segments, found 'bytes'"),
    ],
)
def test_what_cannot_be_drawn_is_said(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        lossy().plot_segments(**arguments)


def test_results_without_segments_are_not_drawn() -> None:
    with pytest.raises(ValueError, match="no segments were recorded"):
        hopyard.run(Scenario(SHORT), runs=1).plot_segments()


def test_the_command_records_and_draws(short: Path, here: Path) -> None:
    # A file after --segments is no list of flows.
    for arguments in (("--segments", short), (short, "--segments", "0"), (short, "--segments=0")):
        assert "segments.parquet" in ok("run", *arguments, "--runs", 1, "--force", "--out", "out").stdout
        assert set(Results.load("out").segments["flow"].to_pylist()) == {0}
    ok("run", short, "--runs", 1, "--segments")
    assert (here / "results" / "short" / "segments.parquet").exists()
    whole = command("plot", "out", "--segments")
    assert (whole.exit_code, whole.stdout.strip()) == (0, "out/segments.png")
    part = command("plot", "out", "--segments", "--flow", 0, "--run", 0, "--from", "1 s")
    assert part.stdout.strip() == "out/segments-run0-flow0.png"
    ok("plot", "out", "--segments", "--to", "1s", "--unit", "segments", "-o", "a.svg")
    assert (here / "a.svg").read_text().startswith("<?xml")
    assert "segments.png" in command("run", short, "--runs", 1, "--segments", "--plot", "--out", "drawn").stdout
    assert (here / "drawn" / "segments.png").exists()
    ok("run", "drawn", "--runs", 2, "--segments", "--quiet")
    assert set(Results.load("drawn").segments["run"].to_pylist()) == {0, 1}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "FILE", "--segments=x"), "expected numbers of flows such as 0,2..4, found 'x'"),
        (("run", "FILE", "--segments", "0,4"), "there is no flow 4"),
        (("plot", "OUT", "--from", "1s"), "--from needs --segments"),
        (("plot", "OUT", "--run", "0"), "--run needs --series, --segments, or --kind map or timeline"),
        (("plot", "OUT", "--segments", "--from", "soon"), "expected a time"),
        (("plot", "OUT", "--segments", "--flow", "3"), "no segments of flow 3 were recorded"),
        (("plot", "OUT", "--segments", "--unit", "bytes"), "is not one of 'kB', 'segments'"),
    ],
)
def test_what_the_command_cannot_do_is_said(arguments: tuple[str, ...], said: str, short: Path, tmp_path: Path) -> None:
    places = {"FILE": str(short), "OUT": str(tmp_path / "out")}
    if "OUT" in arguments:
        hopyard.run(short, runs=1, segments=True, out=places["OUT"])
    assert said in refused(*(places.get(word, word) for word in arguments)).output
