"""Live runs: real programs in network namespaces, over a simulated network, in real time."""

from __future__ import annotations

import json
import shlex
import statistics
import subprocess
import sys
import time
from collections import Counter
from ipaddress import IPv4Address
from typing import Any

import hopyard
import pytest
from hopyard.live import namespaces
from hopyard.live import session as live
from hopyard.running.stepping import Datagram
from live_lab import CHAIN, LEFT, RIGHT, WIRES_RTT, Echoed, Lab, allowed, host_network
from pyarrow import parquet
from short import command, ok


def _programs_of(node: int, echoed: Echoed) -> list[dict[str, Any]]:
    return [it for it in echoed.report["programs"] if it["node"] == node]


@pytest.mark.parametrize("scenario", ["wires.toml", "chain.toml"])
def test_round_trips_of_programs_are_those_of_the_network(lab: Lab, scenario: str) -> None:
    it = lab.echo(scenario, 40, "--bound", "10s")
    assert it.report["end"] == "programs"
    assert it.report["in_time"] is True
    simulated = it.simulated()
    assert None not in it.trips
    more = [trip - each for trip, each in zip(it.trips, simulated, strict=True) if trip]
    # A program sees its answer after the simulated time, later by the lateness and its own wake-up.
    assert min(more) > 0
    assert statistics.median(more) < 5e-3, more
    # Where the system allows it, the run goes before what else the machine does.
    set_policy = "import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"
    probe = [*allowed(), sys.executable, "-c", set_policy]
    may = subprocess.run(probe, check=False, stderr=subprocess.DEVNULL).returncode == 0
    assert it.report["scheduling"] == ("SCHED_FIFO" if may else "SCHED_OTHER")
    if scenario == "wires.toml":
        # By arithmetic, and never less.
        assert min(trip for trip in it.trips if trip) >= WIRES_RTT
        assert min(simulated) - WIRES_RTT < 2e-3
    late = it.report["lateness"]["packets"]
    assert late["count"] == sum(each["direction"] == "out" for each in it.packets)
    assert late["max_s"] == max(e["late_ns"] for e in it.packets if e["direction"] == "out") / 1e9
    assert late["min_s"] <= late["median_s"] <= late["p99_s"] <= late["max_s"]


@pytest.mark.parametrize("scenario", ["wires.toml", "chain.toml"])
def test_what_happens_live_is_what_is_simulated(lab: Lab, scenario: str) -> None:
    it = lab.echo(scenario, 20, "--bound", "10s", "--seed", 5)
    with hopyard.start(lab.path / scenario, seed=5) as simulation:
        simulation.attach(0, 3)
        address = {node: simulation.addresses(node)[0] for node in (0, 3)}
        for packet in it.packets:
            if packet["direction"] == "in":
                ends = address[packet["node"]], address[3 - packet["node"]]
                simulation.advance(until_ns=packet["at_ns"])
                content = _datagram(*ends, packet["bytes"])
                simulation.inject(packet["node"], content, at_ns=packet["at_ns"])
        simulation.advance("1 s")
        gone = [it for it in simulation.egress() if isinstance(it, Datagram)]
        left = [(it.at_ns, it.node, len(it.data)) for it in gone]
    found = [(e["at_ns"], e["node"], e["bytes"]) for e in it.packets if e["direction"] == "out"]
    assert found == left


def _datagram(source: str, destination: str, length: int) -> bytes:
    ends = IPv4Address(source).packed + IPv4Address(destination).packed
    head = bytearray(bytes([0x45, 0]) + length.to_bytes(2) + bytes([0, 0, 0x40, 0, 64, 17, 0, 0]))
    head += ends
    total = sum(int.from_bytes(head[place : place + 2]) for place in range(0, 20, 2))
    total = (total & 0xFFFF) + (total >> 16)
    head[10:12] = (~total & 0xFFFF).to_bytes(2)
    return bytes(head) + bytes(length - 20)


def test_a_node_out_of_range_gets_nothing_and_the_drops_say_why(lab: Lab) -> None:
    it = lab.echo("chain.toml", 3, "--set", "nodes.spacing=600 m", tries=1)
    assert it.trips == [None, None, None]
    drops = parquet.read_table(it.out / "drops.parquet").to_pylist()
    assert [(e["node"], e["kind"], e["reason"], e["count"]) for e in drops] == [(0, "external", "no_route", 4)]
    left, right = it.report["nodes"]
    assert (left["packets_in"], left["packets_out"]) == (4, 0)
    assert (right["packets_in"], right["packets_out"]) == (0, 0)


def test_flows_of_the_scenario_are_cross_traffic(lab: Lab) -> None:
    flow = "[[flow]]\nfrom = 1\nto = 2\n"
    # Each of the twenty trips that is lost takes a second. The run ends with the last one.
    (lab.path / "busy.toml").write_text(CHAIN.replace('"30 s"', '"90 s"') + flow)
    it = lab.echo("busy.toml", 20, "--bound", "10s")
    flows = parquet.read_table(it.out / "flows.parquet").to_pylist()
    assert flows[0]["delivered_bytes"] > 10_000
    quiet = lab.echo("chain.toml", 20, "--bound", "10s", "--force")
    there = [trip for trip in it.simulated() if trip]
    assert statistics.median(there) > 1.2 * statistics.median(quiet.simulated())


def test_the_tables_are_complete(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    it = lab.echo("chain.toml", 5, "--bound", "10s", "--in-flight", 2)
    assert it.report["in_flight"] == 2
    names = {path.name for path in it.out.iterdir()}
    assert {"live.json", "live.parquet", "nodes.parquet", "scenario.toml", "program-0.log"} <= names
    table = parquet.read_table(it.out / "live.parquet").to_pylist()
    assert [row["namespace"] for row in table] == [LEFT, RIGHT]
    for row, node in zip(table, it.report["nodes"], strict=True):
        crossed = [each for each in it.packets if each["node"] == row["node"]]
        ways = Counter(each["direction"] for each in crossed)
        assert (row["packets_in"], row["packets_out"]) == (ways["in"], ways["out"])
        outward = sum(each["bytes"] for each in crossed if each["direction"] == "out")
        assert row["bytes_out"] == outward == node["bytes_out"]
        assert row["in_time"] is it.report["in_time"] is True
        assert row["lateness_count"] == ways["out"]
    nodes = parquet.read_table(it.out / "nodes.parquet").to_pylist()
    assert len(nodes) == 4
    assert nodes[1]["simulated_s"] == pytest.approx(it.report["simulated_s"])
    ok("check", it.out / "scenario.toml")
    (server,), (client,) = _programs_of(3, it), _programs_of(0, it)
    assert (server["ended_by_run"], server["signal"]) == (True, "SIGTERM")
    assert (client["ended_by_run"], client["exit_code"]) == (False, 0)

    # A second run is refused, unless it is to replace the first one.
    monkeypatch.setattr(live, "check_system", lambda: None)
    taken = command("live", lab.path / "chain.toml", "--attach", "a=0", "--out", it.out)
    assert taken.exit_code == 2
    assert "--force" in taken.output


def test_the_interface_has_the_address_of_its_node_and_nothing_else(lab: Lab) -> None:
    look = (
        "ip -j addr; echo; ip -j route; echo; cat /proc/sys/net/ipv6/conf/all/disable_ipv6 || "
        "echo 1; cat /sys/class/net/hopyard0/mtu"
    )
    said, _ = lab.run(
        "wires.toml",
        *("--attach", "left=1", "--mtu", 1234, "--quiet", "--bound", "10s"),
        *("--run", 1, f"sh -c {shlex.quote(look)}"),
    )
    lines = [line.removeprefix("[1 sh] ") for line in said.splitlines()]
    links, routes = json.loads(lines[0]), json.loads(lines[2])
    assert [link["ifname"] for link in links] == ["lo", "hopyard0"]
    inner = [it for it in links[1]["addr_info"] if it["family"] == "inet"]
    with hopyard.start(lab.path / "wires.toml") as simulation:
        own = simulation.addresses(1)
        others = [a for node in (0, 2, 3) for a in simulation.addresses(node)]
    assert [(it["local"], it["prefixlen"]) for it in inner] == [(each, 32) for each in own]
    assert [it["family"] for it in links[1]["addr_info"]] == ["inet"] * len(own)
    assert {route["prefsrc"] for route in routes} == {own[0]}
    assert sorted(namespaces.routes([*own, *others], own)) == sorted(
        it["dst"] if "/" in it["dst"] else f"{it['dst']}/32" for it in routes
    )
    assert lines[-2:] == ["1", "1234"]


def test_an_interface_is_as_wide_as_the_links_of_its_node(lab: Lab) -> None:
    for width, found in ((900, 900), (2000, 1500)):
        said, _ = lab.run(
            "wires.toml",
            *("--attach", "left=1", "--set", f"wire.mtu={width} B", "--json", "--bound", "10s"),
            *("--run", 1, "cat /sys/class/net/hopyard0/mtu"),
        )
        (node,) = json.loads(said)["nodes"]
        assert node["mtu"] == found


def test_a_datagram_longer_than_the_mtu_crosses_in_fragments(lab: Lab) -> None:
    send = "import socket,sys; it=socket.socket(2,2); it.sendto(bytes(3000),(sys.argv[1],9))"
    said, _ = lab.run(
        "wires.toml",
        *("--attach", "left=0", "--attach", "right=3", "--json", "--bound", "10s", "--mtu", 1000),
        *("--run", 0, shlex.join([sys.executable, "-c", send, "{node3}"])),
        *("--run", 3, "sleep 0.5"),
    )
    left, right = json.loads(said)["nodes"]
    # 3008 bytes of UDP in parts of 976.
    assert (left["packets_in"], left["bytes_in"]) == (4, 3008 + 4 * 20)
    # A port that nobody listens at: the kernel answers, and its answer arrives.
    assert (right["packets_out"], right["packets_in"], left["packets_out"]) == (4, 1, 1)


def test_what_has_no_place_in_the_network_is_counted(lab: Lab) -> None:
    send = (
        "ip route add 203.0.113.0/24 dev hopyard0; ip addr add 198.51.100.7/32 dev hopyard0; "
        f'exec {shlex.quote(sys.executable)} -c "import socket; it=socket.socket(2,2); '
        "it.sendto(b'x',('203.0.113.9',9)); it=socket.socket(2,2); it.bind(('198.51.100.7',0)); "
        "it.sendto(b'x',('{node3}',9))\""
    )
    said, _ = lab.run(
        "wires.toml",
        *("--attach", "left=0", "--attach", "right=3", "--json", "--bound", "10s"),
        *("--run", 0, f"sh -c {shlex.quote(send)}"),
        *("--run", 3, "sleep 0.5"),
    )
    left, _ = json.loads(said)["nodes"]
    assert (left["refused_destination"], left["refused_source"]) == (1, 1)
    assert left["packets_in"] == 0


def test_a_run_that_is_too_late_says_so_and_has_a_code_of_its_own(lab: Lab) -> None:
    ways = ("--attach", "left=0", "--attach", "right=3", "--run", 0, "true")
    arguments = ("wires.toml", *ways, "--serve", 3, lab.program("echo.py"))
    client = ("--run", 0, lab.program("client.py", "{node3}", 5, 50))
    said, errors = lab.run(*arguments, *client, "--bound", "1ns", "--out", "late", code=4)
    assert "TOO LATE: 100.0 % of packets and" in errors
    assert "later than 1e-06 ms" in errors
    report = json.loads((lab.path / "late" / "live.json").read_text())
    assert report["in_time"] is False
    assert report["lateness"]["packets"]["late"] == report["lateness"]["packets"]["count"]
    assert "(100.00 %)" in said
    rows = parquet.read_table(lab.path / "late" / "live.parquet").to_pylist()
    assert [row["in_time"] for row in rows] == [False, False]


def test_the_codes_of_programs_are_in_the_results(lab: Lab) -> None:
    said, errors = lab.run(
        "wires.toml",
        *("--attach", "left=0", "--json", "--bound", "10s"),
        *("--run", 0, "sh -c 'exit 7'", "--run", 0, "sh -c 'kill -USR1 $$'", "--run", 0, "true"),
        code=1,
    )
    codes = [(it["exit_code"], it["signal"]) for it in json.loads(said)["programs"]]
    assert codes == [(7, None), (None, "SIGUSR1"), (0, None)]
    assert "sh -c 'exit 7': exit code 7" in errors


def test_the_run_ends_with_the_time_of_the_scenario(lab: Lab) -> None:
    began = time.monotonic()
    said, _ = lab.run(
        "wires.toml",
        *("--set", "duration=1500 ms", "--attach", "left=0", "--json", "--bound", "10s"),
        *("--run", 0, "sleep 60"),
    )
    report = json.loads(said)
    assert (report["end"], report["simulated_s"]) == ("duration", 1.5)
    assert report["programs"][0]["ended_by_run"] is True
    assert 1.5 <= time.monotonic() - began < 30


def test_a_congestion_control_that_fails_ends_the_run(lab: Lab) -> None:
    (lab.path / "bad.py").write_text(
        "import hopyard\n"
        "class Bad(hopyard.CongestionControl):\n"
        "    def on_ack(self, ack): raise RuntimeError('no more')\n"
        "    def on_loss(self, loss): pass\n"
        "    def on_timeout(self, timeout): pass\n"
    )
    (lab.path / "bad.toml").write_text(f'{CHAIN}[[flow]]\nfrom = 0\nto = 3\ntcp = "bad:Bad"\n')
    before = [] if allowed() else host_network()
    _, errors = lab.run("bad.toml", "--attach", "left=0", "--out", "o", "--run", 0, "sleep 20", code=1)
    assert "Bad.on_ack raised RuntimeError: no more" in errors
    assert not before or host_network() == before
    # The folder is as it was for the next one.
    (lab.path / "o" / "notes.txt").touch()
    _, errors = lab.run("chain.toml", "--attach", "left=0", "--out", "o", "--force", code=2)
    assert "o holds notes.txt, which no live run has written" in errors
    (lab.path / "o" / "notes.txt").unlink()
    short = ("--run", 0, "true", "--bound", "10s")
    lab.run("chain.toml", "--attach", "left=0", "--out", "o", "--force", *short)
