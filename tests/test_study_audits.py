"""Audits of studies, and differences of folders, runs and versions."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from chains import HOPS, SENDERS, chain
from hopyard.store.store import Store
from hopyard.study.audit import Audit, _movement
from hopyard.study.points import points
from hopyard.study.traffic import flows_of
from short import command, ok, refused
from sweeps import loaded, swept

CHAIN = chain("3 s", nodes=4)
STUDY = f"""
title = "Senders on a chain"
scenario = "chain.toml"
runs = 3
measures = ["goodput", "delay"]

{HOPS}
{SENDERS}"""


pytestmark = pytest.mark.usefixtures("folder")


def test_an_audit_names_what_is_missing(folder: Path) -> None:
    swept(folder, runs=3)
    result = command("audit", "study.toml", "--out", "store")
    assert result.exit_code == 1
    assert "POOR   replications" in result.output
    assert "3 runs a point" in result.output
    assert "hops on shortest paths" in result.output
    assert "Each was run 3 times for 3 s of simulated time" in result.output
    swept(folder, runs=20)
    assert "ok     replications" in ok("audit", "study.toml", "--out", "store").output


def test_an_audit_says_why_no_interval_is_known(folder: Path) -> None:
    (folder / "study.toml").write_text(
        STUDY.replace('["goodput", "delay"]', '["goodput", "rank", "late", "none"]')
        + """
[measure.rank]
compare = "goodput"
among = "sender"
reduce = "rank"
[measure.late]
column = "first_arrival_s"
scale = 0
[measure.none]
column = "battery_empty_s"
table = "nodes"
"""
    )
    swept(folder, runs=2)
    before = command("audit", "study.toml", "--out", "store").output
    assert re.search(r"precision of rank +95 % intervals of", before)
    assert re.search(r"precision of late +no point has an interval: all means are 0", before)
    assert re.search(r"precision of none +no point has an interval: at most 0 runs of a point have a value", before)
    with Store(folder / "store") as store:
        store.watch([points(loaded(folder))[0].planned], "goodput", 0.5)
    after = command("audit", "study.toml", "--out", "store").output
    why = r"no point has an interval: anytime-valid ones \(of sweep --until\) need more than the 2 runs"
    assert re.search(rf"precision of rank +{why}", after)
    assert re.search(r"precision of Goodput +95 % intervals of", after)
    assert "rank†" in command("results", "study.toml", "--out", "store").output


def test_an_audit_sees_how_single_nodes_move(folder: Path) -> None:
    script = '[[movement]]\nnodes = [1]\nwaypoints.track = [{ at = "1 s", x = "9 m", y = "0 m" }]\n'
    (folder / "chain.toml").write_text(CHAIN + script)
    swept(folder)
    text = command("audit", "study.toml", "--out", "store").output
    assert re.findall(r"movement +(\S+)\n", text) == ["stationary", "waypoints"]


def test_an_audit_looks_at_each_topology(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "area.toml").write_text(
        CHAIN.replace('count = 4\nspacing = "200 m"', 'count = 9\nplacement = "uniform"\narea = ["1 km", "500 m"]')
    )
    text = (
        STUDY.partition("[axes.hops]")[0]
        + """
[axes.nodes.cases]
few = { "nodes.count" = 6, "flow.to" = 5 }
many = { "nodes.count" = 12 }
[axes.sender]
key = "flow.tcp"
values = ["newreno", "vegas"]
"""
    )
    (folder / "study.toml").write_text(text.replace("chain.toml", "area.toml"))
    swept(folder, runs=1)
    said = command("audit", "study.toml", "--out", "store").output
    found = re.findall(r"network of area.toml, (nodes=\w+) +(\d+ nodes in 0.5 km² \(\d+/km²\))", said)
    # One for each number of nodes, whatever the sender.
    assert found == [("nodes=few", "6 nodes in 0.5 km² (12/km²)"), ("nodes=many", "12 nodes in 0.5 km² (24/km²)")]
    assert "In area.toml, nodes=few, 6 nodes in 0.5 km²" in said
    monkeypatch.setattr("hopyard.study.networks.MOST_NETWORKS", 1)
    said = command("audit", "study.toml", "--out", "store").output
    assert "further networks" in said
    assert "1 network more, which this audit does not look at" in said


def test_the_network_of_an_audit() -> None:
    from hopyard.scenario.scenario import Scenario
    from hopyard.study.networks import network

    apart = [[0, 0], [200, 0], [400, 0], [5000, 0]]
    scenario = Scenario(
        duration="1 s", nodes={"positions": apart}, radio={"receive": "250 m"}, flow=[{"from": 0, "to": 2}]
    )
    found = network(scenario)
    assert found is not None
    assert found.range_m == 250
    assert found.neighbours == 1.0  # 1, 2, 1 and 0.
    assert found.hops == pytest.approx(4 / 3)  # 1, 1 and 2 among the first three.
    assert found.parted == pytest.approx(0.5)


def test_folders_that_differ(folder: Path) -> None:
    (folder / "other.toml").write_text(CHAIN + 'tcp = "vegas"\n')
    for name in ("chain", "other"):
        ok("run", f"{name}.toml", "--runs", "5", "--out", name, "-q")
    assert "1 case has the same values in both folders" in ok("diff", "chain", "chain").output
    result = command("diff", "chain", "other", "--measure", "delay")
    assert result.exit_code == 1
    assert "Delay (ms)" in result.output
    assert "yes" in result.output


def test_the_event_at_which_two_runs_part(folder: Path) -> None:
    import hopyard

    (folder / "other.toml").write_text(CHAIN + 'start = "1.5 s"\n')
    (folder / "first.toml").write_text(CHAIN + 'start = "1 s"\n')
    result = command("diff", "first.toml", "other.toml", "--run", "2")
    assert result.exit_code == 1
    assert "run 2 parts at 1.000000000 s" in result.output
    assert "flows 0: packets_sent is 1 in the first, and 0 in the second" in result.output
    ok("diff", "first.toml", "first.toml")
    with hopyard.start("first.toml", run=2) as one, hopyard.start("other.toml", run=2) as two:
        one.advance(until_ns=10**9 - 1)
        two.advance(until_ns=10**9 - 1)
        assert one.digest == two.digest


def test_two_versions_of_hopyard(folder: Path) -> None:
    (folder / "other.toml").write_text(CHAIN + 'start = "1.5 s"\n')
    (folder / "first.toml").write_text(CHAIN + 'start = "1 s"\n')
    assert "run 0 is the same in both" in ok("diff", "first.toml", "--with", sys.executable).output
    result = command("diff", "first.toml", "other.toml", "--with", sys.executable, "--run", "2")
    assert result.exit_code == 1
    assert "run 2 parts at 1.000000000 s" in result.output
    assert "flows 0: packets_sent is 1 in the first, and 0 in the second" in result.output
    bare = folder / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    bare.chmod(0o755)
    for python, told in (("none", "No such file"), ("./python", "has no Hopyard: ")):
        assert told in refused("diff", "first.toml", "--with", python).output
    # An older version may not read the scenario.
    (folder / "newer.toml").write_text(CHAIN + 'future = "1 s"\n')
    assert "future" in refused("diff", "first.toml", "newer.toml", "--with", sys.executable).output
    refused("diff", "first.toml")
    refused("diff", ".", ".", "--with", sys.executable)


def test_what_diff_cannot_compare() -> None:
    (Path("empty")).mkdir()
    refused("diff", "chain.toml", "empty")
    refused("diff", "chain.toml", "chain.toml", "--measure", "delay")
    assert command("diff", "empty", "empty").exit_code != 0


def test_an_audit_counts_the_flows_of_every_set() -> None:
    one = {"nodes": {"count": 18}, "flow": [{}], "flows": {"random": 3}}
    several = {"nodes": {"count": 18}, "flows": [{"random": 2}, {"random": 0, "share": 0.1}]}
    assert [flows_of(one), flows_of(several), flows_of({"flow": [{}, {}]})] == [4, 3, 2]
    assert flows_of({"nodes": {"count": 100}, "flows": {"share": 0.29}}) == 29


def test_movement_that_an_audit_does_not_know_is_not_good() -> None:
    found = Audit()
    documents = [{"mobility": {"model": "gauss_markov"}, "movement": [{"model": "stationary"}]}]
    _movement(found, documents)
    assert [(each.grade, each.text.partition(":")[0]) for each in found.findings] == [
        ("look", "gauss_markov"),
        ("good", "stationary"),
    ]
