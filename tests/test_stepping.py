"""Runs in steps: the same results, whatever the steps; what can be seen between them."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hopyard
import kills
import pytest
from hopyard import Completion, Datagram, Scenario, Simulation, SimulationError
from hopyard.tables.names import TABLES
from hypothesis import given, settings
from hypothesis import strategies as st
from short import SHORT, sql

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(ROOT.joinpath("examples").glob("*.toml"))
#: Keys that make a run of each example short.
SHORTER: dict[str, dict[str, Any]] = {
    "chain": {"duration": "6 s", "measure.from": "1 s"},
    "rwp50": {"duration": "3 s", "measure.from": "1 s", "flow.start": [["0 s", "2 s"]]},
}


def digest(simulation: Simulation) -> str:
    """The digest at the end of the run."""
    simulation.advance(until=simulation.end)
    return simulation.digest


def whole(scenario: Any, run: int, **arguments: Any) -> tuple[str, hopyard.Results]:
    """The digest and the results of a run that is not interrupted."""
    with hopyard.start(scenario, run=run, **arguments) as simulation:
        return digest(simulation), hopyard.run(scenario, runs=[run], **arguments)


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
@pytest.mark.parametrize("run", [0, 3])
def test_steps_change_nothing(file: Path, run: int) -> None:
    short = SHORTER[file.stem]
    expected, results = whole(file, run, set=short, series=["cwnd"])
    with hopyard.start(file, run=run, set=short, series=["cwnd"]) as simulation:
        step = 0
        while simulation.advance(f"{17 + step * 31 % 400} ms"):
            step += 1
            look_at_all(simulation)
        assert (simulation.digest, step > 5) == (expected, True)
        found = simulation.finish()
    for table in TABLES:
        assert getattr(found, table).equals(getattr(results, table)), table
    assert found.complete


def look_at_all(simulation: Simulation) -> None:
    for name in (*TABLES, "positions", "queues"):
        getattr(simulation, name)
    simulation.routes(0)
    assert simulation.counters


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 400_000_000), max_size=12), st.sampled_from(["aodv", "dsdv"]))
def test_random_steps_change_nothing(steps: list[int], routing: str) -> None:
    scenario = SHORT | {"routing": {"protocol": routing}}
    times = sorted(steps)
    with hopyard.start(scenario) as plain, hopyard.start(scenario) as simulation:
        for nanoseconds in times:
            simulation.advance(until=nanoseconds / 1e9)
            assert simulation.now_ns == nanoseconds
        assert digest(simulation) == digest(plain)


def test_the_digest_is_that_of_a_stored_run(tmp_path: Path) -> None:
    hopyard.run(SHORT, runs=[2], out=tmp_path / "out")
    ((expected,),) = sql(tmp_path / "out", "SELECT digest FROM runs")
    with hopyard.start(SHORT, run=2) as simulation:
        assert digest(simulation) == expected


def test_time_goes_on_by_durations_and_until_times() -> None:
    with hopyard.start(SHORT) as simulation:
        assert (simulation.now, simulation.end) == (0, 2)
        assert simulation.advance("250 ms")
        assert simulation.advance(0.25)
        assert simulation.now == 0.5
        assert simulation.advance(until="1.5 s")
        assert simulation.advance(until=1.5)
        assert simulation.now_ns == 1_500_000_000
        assert repr(simulation) == "<hopyard simulation: run 0 of short, 1.5 s of 2 s>"
        assert not simulation.advance("1 h")
        assert simulation.now == 2
        assert not simulation.advance("1 s")
    assert repr(simulation) == "<hopyard simulation: run 0 of short, over>"


@pytest.mark.parametrize("mac", ["dcf", "tdma"])
def test_nodes_have_the_columns_of_the_results(mac: str) -> None:
    with hopyard.start(SHORT | {"mac": {"model": mac}}) as simulation:
        simulation.advance("2 s")
        nodes = simulation.nodes
        expected = simulation.finish().nodes
    assert nodes.column_names == [name for name in expected.column_names if name in nodes.column_names]
    assert {"slots_unused", "rts_failures"} <= set(nodes.column_names)
    own = "slots_unused" if mac == "tdma" else "acks"
    assert sum(nodes[own].to_pylist()) > 0
    for name in nodes.column_names:
        assert nodes[name].to_pylist() == expected[name].to_pylist(), name


def test_the_network_can_be_seen() -> None:
    scenario = {
        **SHORT,
        "nodes": {"positions": [[0, 0], [200, 0], [400, 0]], "wired": 1},
        "wire": [{"between": [2, 3], "rate": "100 kbps", "queue_length": 5}],
        "routing": {"protocol": "oracle"},
        "flow": [{"from": 0, "to": 3}],
    }
    with hopyard.start(scenario) as simulation:
        assert simulation.positions.to_pylist() == [
            {"node": node, "x_m": 200.0 * node, "y_m": 0.0, "z_m": 0.0} for node in range(3)
        ]
        simulation.advance("1 s")
        sent = simulation.flows["packets_sent"][0].as_py()
        assert sent > 5
        ways = {row["destination"]: row for row in simulation.routes(0).to_pylist()}
        assert ways[3] == {
            "destination": 3,
            "address": simulation.addresses(3)[0],
            "next_hop": 1,
            "next_address": simulation.addresses(1)[0],
            "hops": 3,
        }
        queues = simulation.queues.to_pylist()
        assert [(each["node"], each["attached"]) for each in queues] == [
            (0, "radio"),
            (1, "radio"),
            (2, "radio"),
            (2, "wire"),
            (3, "wire"),
        ]
        assert 4 <= queues[3]["packets"] <= queues[3]["max"] == 5
        assert simulation.addresses(0) == [queues[0]["interface"]]
        assert len(simulation.addresses(2)) == 2
        counters: Any = simulation.counters
        made = sum(counters["originated"].values()) + counters["copied"]
        gone = counters["delivered"] + counters["handed_over"] + counters["dropped"]
        assert made - gone == counters["existing"] > 0
        assert counters["frames"] > sent
        assert sum(simulation.drops["count"].to_pylist()) == counters["dropped"]
        simulation.advance("1 s")
        assert simulation.flows["packets_sent"][0].as_py() > sent


def test_nodes_move() -> None:
    scenario = {
        "name": "moving",
        "duration": "20 s",
        "nodes": {"positions": [[0, 0], [10, 0]]},
        "mobility": {"model": "waypoints", "waypoints": {"track": [["0 s", "0 m", "0 m"], ["10 s", "100 m", "0 m"]]}},
        "flow": [{"from": 0, "to": 1}],
    }
    with hopyard.start(scenario) as simulation:
        simulation.advance("5 s")
        at = [(row["x_m"], row["y_m"]) for row in simulation.positions.to_pylist()]
        assert at[0] == (50.0, 0.0)


WRONG: dict[str, tuple[Callable[[Simulation], object], type[Exception], str]] = {
    "backwards": (lambda it: it.advance(until="0.5 s"), ValueError, "from 1 s on, found '0.5 s'"),
    "negative": (lambda it: it.advance("-1 s"), ValueError, 'expected a time such as .* found "-1 s"'),
    "no unit": (lambda it: it.advance("10"), ValueError, 'expected a time such as .* found "10"'),
    "negative number": (lambda it: it.advance(-1), ValueError, "from 0 s to .*, found -1"),
    "not a number": (lambda it: it.advance(float("nan")), ValueError, "found nan"),
    "nothing": (lambda it: it.advance(), TypeError, 'advance\\("10 s"\\), or until'),
    "both": (lambda it: it.advance("1 s", until="3 s"), TypeError, "or until"),
    "backwards by a nanosecond": (
        lambda it: it.advance(until_ns=999_999_999),
        ValueError,
        "from 1 s on, found 999999999 ns",
    ),
    "list": (lambda it: it.advance([1]), TypeError, "or seconds, found"),  # type: ignore[arg-type]
    "node": (lambda it: it.routes(3), ValueError, "expected a node from 0 to 2, found 3"),
    "no node": (lambda it: it.routes(-1), ValueError, "from 0 to .*, found -1"),
    "name": (lambda it: it.addresses("0"), TypeError, "node: .*'0'"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("wrong", WRONG)
def test_mistakes_are_named_and_change_nothing(wrong: str) -> None:
    act, kind, message = WRONG[wrong]
    with hopyard.start(SHORT) as simulation:
        simulation.advance("1 s")
        before = simulation.digest
        with pytest.raises(kind, match=message):
            act(simulation)
        assert (simulation.now, simulation.digest) == (1, before)


def test_nothing_goes_on_after_the_end() -> None:
    simulation = hopyard.start(SHORT)
    simulation.advance("1 s")
    assert simulation.finish().complete
    for use in (lambda: simulation.advance("1 s"), lambda: simulation.now, lambda: simulation.flows, simulation.finish):
        with pytest.raises(ValueError, match="is over: it was finished or closed"):
            use()
    simulation.close()


def test_one_run_of_one_case_is_made_in_steps() -> None:
    with pytest.raises(ValueError, match=r"expected one case .* found 2"):
        hopyard.start(SHORT, set={"flow.tcp": ["newreno", "vegas"]})
    with pytest.raises(ValueError, match=r"run: .* found -1"):
        hopyard.start(SHORT, run=-1)
    with pytest.raises(TypeError, match="run: expected a whole number"):
        hopyard.start(SHORT, run="0")  # type: ignore[arg-type]
    with pytest.raises(hopyard.ScenarioError, match="duratin"):
        hopyard.start(SHORT | {"duratin": "1 s"})
    with hopyard.start(SHORT, set={"flow.tcp": "vegas"}, seed=7) as simulation:
        assert simulation.flows["transport"].to_pylist() == ["vegas"]
        results = simulation.finish()
    assert results.flows["seed"].to_pylist() == [7]
    assert results.cases[0].settings == {"flow.tcp": "vegas"}


class Steady(hopyard.CongestionControl):
    """A window of eight segments."""

    def on_ack(self, ack: hopyard.congestion.Ack) -> None:
        self.cwnd = 8.0

    def on_loss(self, loss: hopyard.congestion.Loss) -> None:
        self.ssthresh = 4.0

    def on_timeout(self, timeout: hopyard.congestion.Timeout) -> None:
        self.cwnd = 1.0


class Halt(Steady):
    """Fails after a second."""

    def on_ack(self, ack: hopyard.congestion.Ack) -> None:
        if self.now > 1.0:
            raise ArithmeticError("enough")


def test_a_rule_that_fails_ends_the_simulation() -> None:
    scenario = Scenario(SHORT)
    scenario.flow.tcp = Halt
    simulation = hopyard.start(scenario)
    with pytest.raises(SimulationError, match=r"run 0 failed: flow 0 at .*enough"):
        simulation.advance("2 s")
    with pytest.raises(ValueError, match="or it failed"):
        simulation.advance("1 s")


def test_rules_in_python_run_in_steps() -> None:
    scenario = Scenario(SHORT)
    scenario.flow.tcp = Steady
    with hopyard.start(scenario) as plain, hopyard.start(scenario) as simulation:
        while simulation.advance("100 ms"):
            pass
        assert simulation.digest == digest(plain)


LONG = SHORT | {"duration": "100000 s"}


def test_other_threads_go_on_meanwhile() -> None:
    simulation = hopyard.start(LONG)
    refused: list[str] = []

    def other() -> None:
        # The other thread is in `advance` for seconds: this one runs, and is refused.
        while not refused:
            try:
                simulation.now  # noqa: B018
            except RuntimeError as error:
                refused.append(str(error))

    thread = threading.Thread(target=other)
    thread.start()
    while not refused:
        with contextlib.suppress(RuntimeError):
            simulation.advance("20 s")
    thread.join()
    assert refused == ["the simulation is used by another thread: expected one at a time"]


INTERRUPTED = """
import os, signal, threading, hopyard
simulation = hopyard.start({scenario})
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    simulation.advance(until=simulation.end)
except KeyboardInterrupt:
    before = simulation.now
    simulation.advance("1 s")
    print(0 < before < simulation.now < simulation.end)
"""


def test_ctrl_c_stops_between_two_events() -> None:
    code = INTERRUPTED.replace("{scenario}", repr(LONG))
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    shown, errors = kills.start([sys.executable, "-c", code], env=environment).communicate(timeout=60)
    assert shown == "True\n", errors


OUTSIDE = SHORT | {"name": "outside", "duration": "10 s", "flow": [{"from": 2, "to": 0}]}


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total >> 16) + (total & 0xFFFF)
    return ~total & 0xFFFF


def datagram(source: str, destination: str, payload: bytes, ttl: int = 64) -> bytes:
    """An IPv4 datagram of the experimental protocol."""
    ends = socket.inet_aton(source) + socket.inet_aton(destination)
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 7, 0x4000, ttl, 253, 0)
    check = struct.pack(">H", checksum(head + ends))
    return head[:10] + check + ends + payload


def exchanged(step: str) -> tuple[list[Datagram | Completion], str, list[int]]:
    """Ten datagrams each way, one a second: what left, the digest, the numbers."""
    with hopyard.start(OUTSIDE) as simulation:
        simulation.attach(0, 2)
        (first,), (last,) = simulation.addresses(0), simulation.addresses(2)
        there, back = datagram(first, last, b"there"), datagram(last, first, b"back", ttl=9)
        numbers = []
        for second in range(1, 9):
            numbers.append(simulation.inject(0, there, at=f"{second} s"))
            numbers.append(simulation.inject(2, bytearray(back), at=float(second)))
        left = []
        while simulation.advance(step):
            left += simulation.egress()
        return left + simulation.egress(), simulation.digest, numbers


def test_datagrams_cross_the_network() -> None:
    left, found, numbers = exchanged("10 s")
    assert numbers == list(range(16))
    done = [each for each in left if isinstance(each, Completion)]
    assert sorted(each.number for each in done) == numbers
    assert {(each.node, each.error) for each in done} <= {(0, None), (2, None)}
    came = [each for each in left if isinstance(each, Datagram)]
    assert [each.address for each in came if each.node == 2] == ["10.0.0.3"] * 8
    assert {each.data for each in came if each.node == 2} == {datagram("10.0.0.1", "10.0.0.3", b"there", ttl=63)}
    assert {each.data for each in came if each.node == 0} == {datagram("10.0.0.3", "10.0.0.1", b"back", ttl=8)}
    assert [each.at_ns for each in left] == sorted(each.at_ns for each in left)
    assert all(second < each.at < second + 1 for second, each in zip(range(1, 9), came[::2], strict=True))
    # The same calls in other steps give the same.
    assert exchanged("90 ms") == (left, found, numbers)
    with hopyard.start(OUTSIDE) as simulation:
        assert digest(simulation) != found


def test_an_answer_leaves_when_the_question_comes() -> None:
    with hopyard.start(OUTSIDE, set={"flow.start": "5 s"}) as simulation:
        simulation.attach(0, 1)
        (first,), (second,) = simulation.addresses(0), simulation.addresses(1)
        simulation.inject(0, datagram(first, second, b"ping"), at_ns=2_000_000_001)
        came = []
        while (time := simulation.next_event_ns) is not None and time < 3e9:
            simulation.advance(until_ns=time)
            for each in simulation.egress():
                if isinstance(each, Datagram):
                    came.append(each)
                    assert each.at_ns == simulation.now_ns
                    if each.node == 1:
                        simulation.inject(1, datagram(second, first, b"pong"))
        assert [(each.node, each.data[20:]) for each in came] == [(1, b"ping"), (0, b"pong")]
        assert came[0].at_ns < came[1].at_ns < 2_050_000_000
        results = simulation.finish()
    assert results.complete


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "node": ({"node": 3}, ValueError, "expected a node from 0 to 2, found 3"),
    "not attached": ({"node": 1}, ValueError, "the host of node 1 is not outside"),
    "past": ({"at": "0.5 s"}, ValueError, "expected a time from 1.000000000 s to 10.000000000 s, found 0.5"),
    "late": ({"at": "11 s"}, ValueError, "expected a time from 1.0.* to 10.0.* s, found 11"),
    "two times": ({"at": "2 s", "at_ns": 3}, TypeError, "expected one time"),
    "bytes": ({"datagram": b"E"}, ValueError, "expected an IPv4 datagram"),
    "text": ({"datagram": "text"}, TypeError, "expected bytes, found 'text'"),
    "source": (
        {"datagram": datagram("10.0.0.2", "10.0.0.3", b"")},
        ValueError,
        r"among the addresses of node 0 \(10.0.0.1\), found 10.0.0.2",
    ),
    "destination": (
        {"datagram": datagram("10.0.0.1", "10.0.0.1", b"")},
        ValueError,
        "expected the address of another node as destination, found 10.0.0.1",
    ),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_what_cannot_be_put_in_is_refused(wrong: str) -> None:
    changed, kind, message = REFUSED[wrong]
    good: dict[str, Any] = {"node": 0, "datagram": datagram("10.0.0.1", "10.0.0.3", b"good")}
    with hopyard.start(OUTSIDE) as simulation:
        simulation.attach(0)
        simulation.advance("1 s")
        with pytest.raises(kind, match=message):
            simulation.inject(**(good | changed))
        assert simulation.inject(**good) == 0
        with pytest.raises(ValueError, match="expected a node from 0 to 2, found 7"):
            simulation.attach(7)
