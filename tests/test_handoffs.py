"""The table of handoffs: hosts that move between networks with Mobile IP."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import hopyard
import pytest
from hopyard import Results

if TYPE_CHECKING:
    from pathlib import Path

#: A host leaves the cell of its home agent after 10 s.
SCENARIO = """
duration = "20 s"

[nodes]
positions = [[200, 300], [500, 300], [200, 100]]
wired = 1

[[movement]]
nodes = [2]
[movement.waypoints]
track = [{ at = "5 s", x = "200 m", y = "100 m" }, { at = "15 s", x = "500 m", y = "100 m" }]

[routing]
protocol = "static"

[agents.mobile_ip]
move_detection = "eager"
beacon_jitter = 0

[[home_agent]]
node = 0

[[foreign_agent]]
node = 1

[[mobile_host]]
nodes = [2]
home = 0

[[wire]]
between = [3, 0]

[[wire]]
between = [3, 1]

# The queue is short: a request waits behind what is for the former agent.
[tcp]
window = 8

[[flow]]
from = 2
to = 3
tcp = "newreno"
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("handoffs") / "host.toml"
    path.write_text(SCENARIO)
    return path


def test_a_handoff_is_a_row(file: Path, tmp_path: Path) -> None:
    results = hopyard.run(file, runs=2, out=tmp_path / "out")
    rows = results.handoffs.to_pylist()
    assert [row["run"] for row in rows] == [0, 1]
    for row in rows:
        assert (row["host"], row["agent_before"], row["agent"], row["kind"]) == (2, 0, 1, "change")
        times = [row[name] for name in ("last_exchange_s", "heard_s", "requested_s", "tunnel_s")]
        times += [row["registered_s"], row["first_up_s"], row["recovered_s"]]
        assert times == sorted(times)
        assert 9.9 < row["last_exchange_s"] < 10.2
        # By where host and agents are: at 350 m.
        assert row["left_s"] == pytest.approx(10, abs=1e-6)
        assert row["entered_s"] == pytest.approx(10, abs=1e-6)
        assert row["rate_before_kbps"] > 100
        assert sum(int(part.split()[1]) for part in row["lost_reasons"].split(", ")) == row["lost"]
    # The store has them, too.
    assert Results.load(tmp_path / "out").handoffs.to_pylist() == rows


def test_a_run_in_steps_has_the_same_rows(file: Path) -> None:
    whole = hopyard.run(file, runs=1).handoffs
    with hopyard.start(file) as simulation:
        simulation.advance(until="9 s")
        assert len(simulation.handoffs) == 0
        simulation.advance(until="20 s")
        rows = simulation.handoffs.to_pylist()
    ours = [{name: row[name] for name in rows[0]} for row in whole.to_pylist()]
    assert rows == ours


def test_without_such_hosts_the_table_is_empty() -> None:
    still = {"duration": "2 s", "measure.from": "0 s"}
    handoffs = hopyard.run("examples/chain.toml", runs=1, set=still).handoffs
    assert len(handoffs) == 0
    assert "agent_before" in handoffs.column_names


#: As many as the names of `measure.mobile_events` in the order of a handoff.
STEPS = ("cell_left", "heard", "moved", "requested", "tunnel_begun", "registered", "first_up")


def test_events_are_recorded_if_that_is_asked_for(file: Path, tmp_path: Path) -> None:
    assert len(hopyard.run(file, runs=1).mobile_events) == 0
    recorded = {"measure.mobile_events": True}
    results = hopyard.run(file, runs=1, set=recorded, out=tmp_path / "out")
    rows = results.mobile_events.to_pylist()
    times = [row["time_s"] for row in rows]
    assert times == sorted(times)
    later = [row for row in rows if row["time_s"] > 9]
    first = {name: next(row for row in later if row["event"] == name) for name in STEPS}
    assert [row["time_s"] for row in first.values()] == sorted(row["time_s"] for row in first.values())
    assert (first["moved"]["agent_before"], first["moved"]["agent"]) == (0, 1)
    assert (first["registered"]["care_of"], first["registered"]["lifetime"]) == (1, 300)
    assert first["tunnel_begun"]["node"] == 0
    assert first["heard"]["code"] is None
    assert Results.load(tmp_path / "out").mobile_events.to_pylist() == rows
    # A folder whose runs have recorded no events is no answer for one that asks for them.
    plain = hopyard.run(file, runs=1, out=tmp_path / "plain")
    again = hopyard.run(file, runs=1, set=recorded, out=tmp_path / "plain")
    assert (len(plain.mobile_events), len(again.mobile_events)) == (0, len(rows))


def test_a_run_in_steps_has_the_same_events_and_detours(file: Path) -> None:
    whole = hopyard.run(file, runs=1, set={"measure.mobile_events": True})
    text = file.read_text() + "\n[measure]\nmobile_events = true\n"
    with hopyard.start(hopyard.Scenario.parse(text)) as simulation:
        simulation.advance(until="20 s")
        for name in ("mobile_events", "detours", "handoffs"):
            rows = getattr(simulation, name).to_pylist()
            found = getattr(whole, name).to_pylist()
            assert rows
            assert rows == [{key: row[key] for key in rows[0]} for row in found], name


def test_acknowledgements_come_by_way_of_home(file: Path) -> None:
    (row,) = hopyard.run(file, runs=1).detours.to_pylist()
    assert (row["host"], row["agent"], row["direction"]) == (2, 1, "to_host")
    # Correspondent, home agent, correspondent, foreign agent, host: there is no other router.
    assert (row["hops"], row["direct_hops"]) == (4, 2)
    assert row["packets"] > 100
    assert row["delay_ms"] > row["direct_delay_ms"]


def test_messages_and_tunnels_are_counted(file: Path) -> None:
    results = hopyard.run(file, runs=1)
    nodes = {row["node"]: row for row in results.nodes.to_pylist()}
    assert nodes[0]["tunnelled"] > 100
    assert nodes[0]["tunnel_bytes"] == 20 * nodes[0]["tunnelled"]
    assert (nodes[0]["registrations_granted"], nodes[0]["bindings"]) == (1, 1)
    assert (nodes[1]["visitors"], nodes[1]["bindings"]) == (1, None)
    overhead = {(row["message"], row["node"]): row for row in results.overhead.to_pylist()}
    asked = overhead["REQUEST", 2]
    assert (asked["sent_radio"], asked["sent_wire"], asked["sent_radio_bytes"]) == (1, 0, 74)
    assert overhead["REQUEST", 1]["sent_wire_bytes"] == 74


class Reborn(hopyard.CongestionControl):
    """Begins again with two segments at each new care-of address."""

    told: ClassVar[list[tuple[float, str]]] = []
    windows: ClassVar[list[tuple[float, float]]] = []

    def on_ack(self, ack: hopyard.congestion.Ack) -> None:
        if ack.phase == "open":
            self.cwnd += 1
        self.windows.append((self.now, self.cwnd))

    def on_loss(self, loss: hopyard.congestion.Loss) -> None:
        self.cwnd = self.ssthresh = max(self.flight / 2, 2)

    def on_timeout(self, timeout: hopyard.congestion.Timeout) -> None:
        self.cwnd = 1

    def on_route(self, route: hopyard.congestion.Route) -> None:
        self.told.append((self.now, route.kind))
        if route.kind == "care_of":
            self.cwnd = self.ssthresh = 3
            self.windows.append((self.now, self.cwnd))


def test_a_rule_answers_a_new_care_of_address(file: Path) -> None:
    Reborn.told.clear()
    Reborn.windows.clear()
    results = hopyard.run(file, runs=1, set={"flow.tcp": Reborn})
    (handoff,) = results.handoffs.to_pylist()
    told = [at for at, kind in Reborn.told if kind == "care_of"]
    # At home, the host has not been registered.
    assert told == [pytest.approx(handoff["registered_s"], abs=1e-9)]
    before = [window for at, window in Reborn.windows if at < told[0]]
    after = [window for at, window in Reborn.windows if at >= told[0]]
    assert before[-1] > 3
    # The last window at home is lost: a timeout follows the event, then slow start from 1.
    assert (handoff["lost"], handoff["timeouts"]) == (6, 1)
    assert after[:5] == [3, 2, 3, 4, 5]
