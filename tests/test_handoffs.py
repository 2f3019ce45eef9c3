"""The table of handoffs: hosts that move between networks with Mobile IP."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
