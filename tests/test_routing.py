"""What is measured about routing: messages, changes of routes, and the paths of packets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hopyard
import pyarrow.compute as pc
import pytest
from hopyard import Results, Scenario
from short import SHORT

if TYPE_CHECKING:
    from pathlib import Path

RECORDED = SHORT | {"measure": {"routes": "all", "paths": True}}
OF_FLOWS = SHORT | {"measure": {"routes": "flows"}}


def test_the_messages_of_a_protocol_add_up() -> None:
    results = hopyard.run(Scenario(SHORT), runs=2)
    overhead, nodes = results.overhead, results.nodes
    assert set(overhead["message"].to_pylist()) >= {"RREQ", "RREP"}
    assert set(overhead["kind"].to_pylist()) == {"routing"}
    for column, total in (("sent", "routing_packets"), ("sent_bytes", "routing_bytes")):
        assert pc.sum(overhead[column]).as_py() == pc.sum(nodes[total]).as_py() > 0
    (case,) = results.cases
    packets = results.values("routing", case)
    arrived = results.flows["packets_unique"].to_pylist()
    assert results.values("normalised_routing_load", case) == pytest.approx(packets / arrived)
    seconds = nodes["simulated_s"][0].as_py()
    assert results.values("routing_packets_per_second", case) == pytest.approx(packets / seconds)


def test_nothing_is_recorded_unless_asked_for() -> None:
    results = hopyard.run(Scenario(SHORT), runs=1)
    assert len(results.route_changes) == len(results.paths) == 0
    assert not (results.values("looped_packets", results.cases[0]) >= 0).any()


def test_paths_say_which_nodes_packets_visited() -> None:
    results = hopyard.run(Scenario(RECORDED), runs=1)
    delivered = results.paths.filter(pc.field("fate") == "delivered")
    flow = results.flows.to_pylist()[0]
    row = delivered.to_pylist()[0]
    nodes = [int(node) for node in row["path"].split()]
    assert (nodes[0], nodes[-1]) == (flow["source"], flow["destination"])
    assert (row["hops"], row["repeats"]) == (len(nodes) - 1, 0)
    assert pc.sum(delivered["packets"]).as_py() == flow["packets_arrived"]
    assert pc.sum(delivered["share"]).as_py() == pytest.approx(1)
    assert results.values("looped_packets", results.cases[0]).tolist() == [0]


def test_route_changes_have_the_path_at_that_moment() -> None:
    results = hopyard.run(Scenario(RECORDED), runs=1)
    flow = results.flows.to_pylist()[0]
    ours = results.route_changes.filter(pc.field("flow") == 0).to_pylist()
    assert len(ours) == flow["route_changes"] > 0
    first = ours[0]
    assert (first["node"], first["destination"]) == (flow["source"], flow["destination"])
    assert (first["next_hop_before"], first["hops_before"]) == (None, None)
    assert first["path"].split()[:2] == [str(first["node"]), str(first["next_hop"])]
    assert first["path_ends"] == "destination"
    # Those of all nodes contain those of the flows.
    flows = hopyard.run(Scenario(OF_FLOWS), runs=1)
    assert flows.route_changes.num_rows == len(ours) < results.route_changes.num_rows


def test_recording_changes_no_result(tmp_path: Path) -> None:
    plain = hopyard.run(Scenario(SHORT), runs=1, out=tmp_path / "o")
    again = hopyard.run(Scenario(RECORDED), runs=1, out=tmp_path / "o")
    assert again.flows.equals(plain.flows)
    # A run that lacks what is asked for now is made again, and kept.
    assert len(again.paths) > 0
    stored = Results.load(tmp_path / "o")
    assert stored.paths.equals(again.paths)
    assert stored.route_changes.equals(again.route_changes)
    third = hopyard.run(Scenario(OF_FLOWS), runs=1, out=tmp_path / "o")
    assert third.paths.equals(again.paths)


def test_a_simulation_shows_paths_and_routes_so_far() -> None:
    with hopyard.start(Scenario(RECORDED)) as simulation:
        assert len(simulation.paths) == len(simulation.route_changes) == 0
        simulation.advance("1 s")
        assert len(simulation.paths) > 0
        assert len(simulation.route_changes) > 0
        assert len(simulation.overhead) > 0


def test_an_unknown_choice_of_routes_is_refused() -> None:
    with pytest.raises(hopyard.ScenarioError, match=r"measure\.routes"):
        hopyard.run(Scenario(SHORT), set={"measure.routes": "some"})
