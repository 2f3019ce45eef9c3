"""SEDLANE: traces, classes, schedules, and replays of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hopyard
import numpy as np
import pytest
from click.testing import CliRunner
from hopyard import Scenario

from studies.sedlane import (
    Network,
    Over,
    Rules,
    Trace,
    classify,
    experiment,
    fidelity,
    kolmogorov_smirnov,
    replayed,
    schedules,
    traces,
)
from studies.sedlane.command import sedlane

if TYPE_CHECKING:
    from pathlib import Path

#: Two hops by radio, as in the paper's signal loss: the forwarder is away from 4 s to 6 s.
RADIO = """
name = "away"
profile = "ns2"
duration = "14 s"
runs = 1

[nodes]
positions = [[0, 0], [200, 0], [400, 0]]

[[movement]]
nodes = [1]
[movement.waypoints]
track = [
    { at = "4 s", x = "200 m", y = "0 m" },
    { at = "4.001 s", x = "200 m", y = "9000 m" },
    { at = "6 s", x = "200 m", y = "9000 m" },
    { at = "6.001 s", x = "200 m", y = "0 m" },
]

[tcp]
segment_size = "512 B"
window = 32

[[flow]]
from = 0
to = 2
tcp = "newreno"
acking = "every"
"""


def _wire(**keys: object) -> Scenario:
    wire = {"between": [0, 1], "rate": "100 Mbps", "delay": "1 ms", **keys}
    return Scenario(
        duration="4 s",
        runs=1,
        nodes={"wired": 2},
        wire=[wire],
        flow=[{"from": 0, "to": 1, "tcp": "newreno", "acking": "every", "window": 10}],
    )


def _trace(scenario: Scenario) -> Trace:
    results = hopyard.run(scenario, runs=[0], segments=[0], progress=False)
    return traces(results, 0)[0]


def _made(rtt: list[float], lost: list[int] = [], acks_lost: list[int] = []) -> Trace:  # noqa: B006
    """A packet each second, and an acknowledgement of each one 0.5 s later."""
    sent = np.arange(len(rtt), dtype=np.float64)
    return Trace(
        sent=sent,
        rtt=np.array(rtt),
        lost=np.isin(np.arange(len(rtt)), lost),
        ack_sent=sent + 0.5,
        ack_lost=np.isin(np.arange(len(rtt)), acks_lost),
        ack_of=np.arange(len(rtt)),
    )


@pytest.fixture(scope="module")
def radio(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sedlane") / "away.toml"
    path.write_text(RADIO)
    return path


def test_a_trace_has_the_round_trip_times_of_the_wire() -> None:
    found = _trace(_wire(delay="20 ms", delay_back="30 ms"))
    known = found.rtt[~np.isnan(found.rtt)]
    # 50 ms, the transmission of both packets, and the wait for those ahead: at most ten of them.
    assert len(known) > 500
    assert known.min() > 0.050
    assert known.max() < 0.0515
    assert found.loss == 0


def test_a_trace_leaves_out_how_long_the_receiver_waits() -> None:
    scenario = _wire(delay="20 ms")
    scenario["flow.0.acking"] = "delayed"
    scenario["flow.0.window"] = 1
    found = _trace(scenario)
    # Each segment is alone, and its acknowledgement is delayed by 200 ms.
    assert 10 < len(found) < 20
    assert np.nanmax(found.rtt) < 0.041


def test_a_trace_knows_the_packets_and_acknowledgements_that_were_lost() -> None:
    found = _trace(_wire(losses={"packets": [30, 41, 42]}, losses_back={"packets": [60, 61]}))
    assert np.flatnonzero(found.lost).tolist() == [30, 41, 42]
    assert np.flatnonzero(found.ack_lost).tolist() == [60, 61]
    # What was lost, or whose acknowledgement was, has no round-trip time.
    assert np.isnan(found.rtt[found.lost]).all()
    assert np.isnan(found.rtt).sum() >= 5


def test_classes_are_of_similar_round_trip_times() -> None:
    found = classify(_made([0.1, 0.105, 0.12, 0.109, 0.2, 0.13, np.nan], lost=[6]))
    # From 0.1 s on, each class is a tenth wider than its beginning: 0.1, 0.11, 0.121, 0.1331, ...
    spans = [(it.low, it.high, it.packets, it.lost) for it in found.classes]
    assert spans == [(0.1, 0.109, 3, 0), (0.12, 0.12, 1, 0), (0.13, 0.13, 2, 1), (0.2, 0.2, 1, 0)]
    assert found.classes[0].delay == pytest.approx((0.1 + 0.105 + 0.109) / 6)
    # A lost packet has the class of the one before.
    assert found.of.tolist() == [0, 0, 1, 0, 3, 2, 2]
    assert found.classes[2].loss == 0.5


def test_classes_may_have_equal_numbers_of_packets() -> None:
    rtt = [float(it) for it in range(1, 101)]
    found = classify(_made(rtt), Rules(quantiles=4))
    assert [it.packets for it in found.classes] == [25, 25, 25, 25]
    # Equal round-trip times are one class.
    assert len(classify(_made([0.5] * 30), Rules(quantiles=4)).classes) == 1


def test_what_was_lost_before_the_first_round_trip_time_is_in_its_class() -> None:
    found = classify(_made([np.nan, np.nan, 0.3, 0.6], lost=[0, 1]))
    assert found.of.tolist() == [0, 0, 0, 1]
    assert found.classes[0].lost == 2


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"width": 0.0}, "width 0: expected a number above 0"),
        ({"quantiles": 0}, "quantiles 0: expected 1 to 10,000"),
        ({"losses": "all"}, "losses 'all': expected 'class', 'entry' or 'packet'"),
        ({"by": "byte"}, "by 'byte': expected 'time' or 'packet'"),
    ],
)
def test_impossible_rules_are_refused(keys: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Rules(**keys)  # type: ignore[arg-type]


def test_traces_that_have_no_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="no packet of the trace was acknowledged"):
        classify(_made([np.nan, np.nan]))
    with pytest.raises(ValueError, match="more than 10,000 classes"):
        classify(_made([1e-6, 1e6]), Rules(width=0.001))


def test_a_schedule_has_an_entry_for_each_row_of_packets_of_a_class() -> None:
    trace = _made([0.2, 0.2, 0.4, np.nan, 0.4, 0.2], lost=[3], acks_lost=[5])
    forth, back = schedules(classify(trace))
    assert forth == [
        {"from": "0 ns", "delay": "100000000 ns", "loss": 0.0},
        {"from": "2000000000 ns", "delay": "200000000 ns", "loss": 0.333333333},
        {"from": "5000000000 ns", "delay": "100000000 ns", "loss": 0.0},
    ]
    # The same delays for acknowledgements, which are not lost unless that is asked for.
    assert [it["delay"] for it in back] == [it["delay"] for it in forth]
    assert all(it["loss"] == 0 for it in back)
    _, back = schedules(classify(trace, Rules(lose_acks=True)))
    assert [it["loss"] for it in back] == [0.333333333, 0.0, 0.333333333]
    forth, back = schedules(classify(trace, Rules(by="packet", losses="packet", lose_acks=True)))
    assert [(it["packet"], it["loss"]) for it in forth] == [(0, 0), (2, 0), (3, 1), (4, 0), (5, 0)]
    assert [(it["packet"], it["loss"]) for it in back] == [(0, 0), (2, 0), (5, 1)]
    forth, _ = schedules(classify(trace, Rules(losses="entry")))
    assert [it["loss"] for it in forth] == [0.0, 0.333333333, 0.0]


def test_a_replay_of_a_schedule_gives_its_classes_back() -> None:
    entries = [
        {"from": "0 s", "delay": "10 ms"},
        {"from": "1 s", "delay": "40 ms", "loss": 0.02},
        {"from": "3 s", "delay": "10 ms"},
    ]
    trace = _trace(_wire(delay="0 s", replay=entries, replay_back=entries))
    found = classify(trace, Rules(width=0.5))
    delays = {round(it.delay * 1000): it.loss for it in found.classes if it.packets > 100}
    assert set(delays) == {10, 40}
    assert delays[10] < 0.005
    assert 0.005 < delays[40] < 0.06
    # And its replay has the same delays, to within what one run can show.
    compared = fidelity(trace, _trace(replayed(_wire(), 0, found)))
    assert compared.rtt[1] == pytest.approx(compared.rtt[0], rel=0.1)
    assert compared.packets[1] == pytest.approx(compared.packets[0], rel=0.1)


def test_the_fate_of_each_packet_repeats_the_run(radio: Path) -> None:
    scenario = hopyard.load(radio)
    rules = Rules(width=0.001, by="packet", losses="packet", lose_acks=True)
    sent = []
    for each in (scenario, replayed(scenario, 0, classify(_trace(scenario), rules))):
        rows = hopyard.run(each, runs=[0], segments=[0], progress=False).segments.to_pylist()
        sent.append([(it["seq"], it["resent"]) for it in rows if it["event"] == "data_sent"])
    assert len(sent[0]) > 700
    assert sum(resent for _, resent in sent[0]) > 5
    # The last ones of either may be cut off by the end of the run.
    together = min(map(len, sent)) - 20
    assert together > 0.97 * len(sent[0])
    assert sent[0][:together] == sent[1][:together]


def test_a_replay_keeps_the_flow_and_replaces_the_network(radio: Path) -> None:
    scenario = hopyard.load(radio)
    network = Network(rate="11 Mbps", queue=7, overtaking=True)
    replay = replayed(scenario, 0, classify(_trace(scenario)), network).to_dict()
    assert replay["flow"] == [{"from": 0, "to": 1, "tcp": "newreno", "acking": "every"}]
    assert (replay["nodes"], replay["profile"]) == ({"wired": 2}, "ns2")
    assert "movement" not in replay
    (wire,) = replay["wire"]
    assert (wire["rate"], wire["queue_length"], wire["overtaking"]) == ("11 Mbps", 7, True)
    with pytest.raises(ValueError, match=r"no \[\[flow\]\] of number 3: expected less than 1"):
        replayed(scenario, 3, classify(_trace(scenario)))


def test_a_trace_of_one_sender_is_no_network_for_another(radio: Path) -> None:
    cases = []
    for tcp in ("newreno", "vegas"):
        scenario = hopyard.load(radio)
        scenario["flow.0.tcp"] = tcp
        cases.append((tcp, scenario))
    rows = experiment(cases, 0, 2)
    kinds = [(row.case, row.over, row.run) for row in rows]
    network, own, first = Over
    assert kinds == [
        *(("newreno", over, run) for over in (network, own) for run in (0, 1)),
        *(("vegas", over, run) for over in (network, own, first) for run in (0, 1)),
    ]
    goodput = {kind: row.goodput for kind, row in zip(kinds, rows, strict=True)}
    for run in (0, 1):
        # Vegas takes NewReno's queue, which is in the delays, for a queue of its own.
        assert goodput["vegas", first, run] < 0.4 * goodput["vegas", network, run]
    assert all(row.distance == 0 for row in rows if row.over is network)
    assert all(0 < row.distance < 1 for row in rows if row.over is not network)


def test_flows_without_segments_leave_no_trace() -> None:
    scenario = _wire()
    results = hopyard.run(scenario, runs=[0], progress=False)
    with pytest.raises(ValueError, match="no segments of flow 0 were recorded"):
        traces(results, 0)


def test_distances_between_distributions() -> None:
    first = np.array([1.0, 2.0, 3.0, 4.0])
    assert kolmogorov_smirnov(first, first) == 0
    assert kolmogorov_smirnov(first, first + 10) == 1
    assert kolmogorov_smirnov(first, np.array([2.5])) == 0.5
    assert np.isnan(kolmogorov_smirnov(first, first[:0]))


def _command(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(sedlane, [*map(str, words)])
    return done.exit_code, done.output


def test_the_command_shows_classes_and_writes_replays(radio: Path, tmp_path: Path) -> None:
    code, shown = _command("classes", radio, "--quantiles", 3)
    assert code == 0
    assert "of them lost; schedule:" in shown
    assert len(shown.splitlines()) == 5
    out = tmp_path / "replay.toml"
    code, shown = _command("replay", radio, "-o", out, "--rate", "2 Mbps", "--by", "packet")
    assert (code, "is written" in shown) == (0, True)
    replay = hopyard.load(out)
    assert replay.name == "away (replay)"
    assert replay["wire.0.rate"] == "2 Mbps"
    assert hopyard.run(replay, progress=False).flows["goodput_kbps"][0].as_py() > 10
    code, shown = _command("replay", radio, "-o", out)
    assert (code, "is there already; --force overwrites it" in shown) == (2, True)


def test_the_command_compares(radio: Path) -> None:
    words = ("compare", radio, "--runs", 1, "--quiet", "--set", "flow.tcp=newreno,vegas")
    code, shown = _command(*words)
    assert code == 0
    places = [line.split("  ")[0] + "," + line.split("  ")[1] for line in shown.splitlines()[1:]]
    assert len(places) == 5
    assert "first trace" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--width", "0.1", "--quantiles", "3"], "--width and --quantiles: expected one of them"),
        (["--set", "flow.tcp=vegas,reno"], "expected one case, whose run is traced, found 2"),
        (["--flow", "1"], "there is no flow 1"),
        (["--width", "1e-9"], "more than 10,000 classes"),
    ],
)
def test_the_command_refuses(radio: Path, words: list[str], said: str) -> None:
    code, shown = _command("classes", radio, *words)
    assert code == 2
    assert said in " ".join(shown.split())
