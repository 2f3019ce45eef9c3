"""Live runs: real programs in network namespaces, over a simulated network, in real time.

Where this process may not make namespaces, the tests run in a user namespace of their own; where
the system refuses that too, those that need namespaces are skipped, and say why.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from functools import cache
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hopyard
import pytest
from hopyard import guard, live, namespaces
from hopyard.programs import Command, Programs
from hopyard.stepping import Datagram
from pyarrow import parquet
from short import command
from test_docs import DOCS, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

WIRES = """
name = "wires"
duration = "30 s"
routing.protocol = "static"
[nodes]
wired = 4
""" + "".join(
    f'[[wire]]\nbetween = [{each}, {each + 1}]\nrate = "10 Mbps"\ndelay = "5 ms"\n'
    for each in range(3)
)
#: Names of namespaces that no other process has which runs these tests at the same time.
LEFT, RIGHT, TAKEN = (f"{name}-{os.getpid()}" for name in ("left", "right", "taken"))
#: The time of an IP datagram over the three wires and back, in seconds.
WIRES_RTT = 6 * (5e-3 + 8 * 60 / 10e6)
CHAIN = """
name = "chain"
duration = "30 s"
routing.protocol = "static"
[nodes]
count = 4
spacing = "200 m"
[radio]
receive = "250 m"
sense = "550 m"
"""
#: Answers each datagram with the same bytes, and notes its process where that is wanted.
ECHO = """
import os, pathlib, socket, sys
if len(sys.argv) > 1:
    pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
it = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
it.bind(("", 7777))
while True:
    data, other = it.recvfrom(65536)
    it.sendto(data, other)
"""
#: Prints the round trips of datagrams of 60 bytes with headers, in seconds; null for a lost one.
CLIENT = """
import json, socket, sys, time
it = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
it.connect((sys.argv[1], 7777))
def trip(number, wait):
    it.settimeout(wait)
    began = time.monotonic()
    try:
        it.send(b"%032d" % number)
        while int(it.recv(99)) != number:
            pass
    except OSError:
        return None
    return time.monotonic() - began
# The other program may not be there yet.
for number in range(int(sys.argv[3])):
    if trip(number, 0.1) is not None:
        break
    time.sleep(0.05)
found = []
for number in range(100, 100 + int(sys.argv[2])):
    found.append(trip(number, 1))
    time.sleep(0.01)
print(json.dumps(found))
"""
#: The command in a user namespace, of which this process is root.
INSIDE = 'mount -t tmpfs tmpfs /run && exec "$@"'
ROOTLESS = ["unshare", "--user", "--map-root-user", "--net", "--mount", "sh", "-c", INSIDE, "-"]


def _refused(prefix: list[str]) -> str | None:
    """Why no live run can be made with this prefix of the command; none if one can."""
    probe = (
        "from hopyard import namespaces as it\n"
        "it.check_system()\n"
        "with it.Namespaces() as made: made.make('probe-' + str(it.os.getpid()))\n"
    )
    try:
        done = subprocess.run(
            [*prefix, sys.executable, "-c", probe], capture_output=True, text=True, check=False
        )
    except OSError as error:
        return str(error)
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else None


@cache
def _prefix() -> list[str] | str:
    """What stands before the command, or why there is no way."""
    return [] if (why := _refused([])) is None else why if _refused(ROOTLESS) else ROOTLESS


def _allowed() -> list[str]:
    found = _prefix()
    if isinstance(found, str):
        pytest.skip(f"no live run can be made here: {found}")
    return found


def own(argument: object) -> str:
    """An argument of the command, with names of this process."""
    found = str(argument)
    for side, name in (("left=", LEFT), ("right=", RIGHT)):
        if found.startswith(side):
            return found.replace(side, f"{name}=")
    return found


class Lab:
    """A folder with scenarios and programs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.started: list[subprocess.Popen[str]] = []
        for name, text in {
            "wires.toml": WIRES,
            "chain.toml": CHAIN,
            "echo.py": ECHO,
            "client.py": CLIENT,
        }.items():
            (path / name).write_text(text)

    def program(self, name: str, *arguments: object) -> str:
        """A command of a program here."""
        return shlex.join([sys.executable, str(self.path / name), *map(str, arguments)])

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        """Starts `hopyard live`."""
        words = [*_allowed(), sys.executable, "-m", "hopyard", "live", *map(own, arguments)]
        process = subprocess.Popen(
            words, cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.started.append(process)
        return process

    def run(self, *arguments: object, code: int = 0) -> tuple[str, str]:
        """Makes a live run, and returns what it says."""
        process = self.start(*arguments)
        said, errors = process.communicate(timeout=100)
        assert process.returncode == code, said + errors
        return said, errors

    def echo(self, scenario: str, trips: int, *arguments: object, tries: int = 50) -> Echoed:
        """Datagrams from node 0 to node 3 and back, with results in the folder `out`."""
        said, _ = self.run(
            scenario,
            *("--attach", "left=0", "--attach", "right=3", "--out", "out", "--packets", "--json"),
            *("--serve", 3, self.program("echo.py")),
            *("--run", 0, self.program("client.py", "{node3}", trips, tries)),
            *arguments,
        )
        return Echoed(self.path / "out", json.loads(said))


class Echoed:
    """What a run with datagrams and answers has given."""

    def __init__(self, out: Path, said: dict[str, Any]) -> None:
        self.report = said
        assert json.loads((out / "live.json").read_text()) == said
        #: What the client has measured.
        self.trips: list[float | None] = json.loads((out / "program-1.log").read_text())
        self.packets = parquet.read_table(out / "live_packets.parquet").to_pylist()
        self.out = out

    def simulated(self) -> list[float]:
        """The round trips in simulated time, from the way in to the way out at node 0."""
        sent = [it["at_ns"] for it in self.packets if (it["node"], it["direction"]) == (0, "in")]
        back = [it["at_ns"] for it in self.packets if (it["node"], it["direction"]) == (0, "out")]
        count = len(self.trips)
        pairs = zip(sent[-count:], back[-count:], strict=True)
        return [(after - before) / 1e9 for before, after in pairs]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    made = Lab(tmp_path)
    yield made
    for process in made.started:
        # A test that failed may have left it.
        process.kill()
        process.communicate()


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
    probe = [*_allowed(), sys.executable, "-c", set_policy]
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
    assert [(e["node"], e["kind"], e["reason"], e["count"]) for e in drops] == [
        (0, "external", "no_route", 4)
    ]
    left, right = it.report["nodes"]
    assert (left["packets_in"], left["packets_out"]) == (4, 0)
    assert (right["packets_in"], right["packets_out"]) == (0, 0)


def test_flows_of_the_scenario_are_cross_traffic(lab: Lab) -> None:
    flow = "[[flow]]\nfrom = 1\nto = 2\n"
    (lab.path / "busy.toml").write_text(CHAIN + flow)
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
    assert command("check", it.out / "scenario.toml").exit_code == 0
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
    before = [] if _allowed() else _host()
    _, errors = lab.run(
        "bad.toml", "--attach", "left=0", "--out", "o", "--run", 0, "sleep 20", code=1
    )
    assert "Bad.on_ack raised RuntimeError: no more" in errors
    assert not before or _host() == before
    # The folder is as it was for the next one.
    (lab.path / "o" / "notes.txt").touch()
    _, errors = lab.run("chain.toml", "--attach", "left=0", "--out", "o", "--force", code=2)
    assert "o holds notes.txt, which no live run has written" in errors
    (lab.path / "o" / "notes.txt").unlink()
    short = ("--run", 0, "true", "--bound", "10s")
    lab.run("chain.toml", "--attach", "left=0", "--out", "o", "--force", *short)


def _host() -> list[str]:
    """The network of this process, and the names of namespaces."""
    looks = (["ip", "-d", "link"], ["ip", "addr"], ["ip", "route"], ["ip", "netns"])
    found = [subprocess.run(it, capture_output=True, text=True, check=True).stdout for it in looks]
    found[3] = " ".join(name for name in (LEFT, RIGHT) if name in found[3])
    return [*found, Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").read_text()]


def _is_alive(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def _wait_for(path: Path) -> str:
    for _ in range(600):
        if path.exists() and path.read_text():
            return path.read_text()
        time.sleep(0.05)
    raise AssertionError(f"{path} is not there")


@pytest.mark.parametrize("ways", [["SIGINT"], ["SIGTERM"], ["SIGKILL"], ["SIGINT", "SIGINT"]])
def test_a_signal_leaves_nothing_behind(lab: Lab, ways: list[str]) -> None:
    before = _host() if not _allowed() else []
    stubborn = lab.path / "stubborn"
    daemon = f"trap '' TERM HUP INT; {lab.program('echo.py', stubborn)} & wait; sleep 99"
    process = lab.start(
        *(
            "chain.toml",
            "--attach",
            "left=0",
            "--attach",
            "right=3",
            "--bound",
            "10s",
            "--out",
            "o",
        ),
        *("--serve", 3, lab.program("echo.py", lab.path / "server")),
        *("--run", 0, f"sh -c {shlex.quote(daemon)}"),
    )
    pids = [int(_wait_for(path)) for path in (stubborn, lab.path / "server")]
    inside = Path(f"/proc/{process.pid}/root") if _allowed() else Path("/")
    assert (inside / f"run/netns/{LEFT}").exists()
    # In a namespace of its own, the command has taken the place of the shell.
    for way in ways:
        process.send_signal(getattr(signal, way))
        time.sleep(0.1)
    said, errors = process.communicate(timeout=60)
    number = getattr(signal, ways[0])
    expected = -number if number == signal.SIGKILL else 128 + number
    assert process.returncode == expected, said + errors
    over = time.monotonic() + 20
    while (any(map(_is_alive, pids)) or _host() != before) and time.monotonic() < over:
        if before == [] and not any(map(_is_alive, pids)):
            break
        time.sleep(0.05)
    assert not any(map(_is_alive, pids))
    if before:
        assert _host() == before
    if ways in (["SIGINT"], ["SIGTERM"]):
        report = json.loads((lab.path / "o" / "live.json").read_text())
        assert report["end"] == "stopped"
        assert report["simulated_s"] > 0


def test_the_network_of_the_host_stays_as_it_is(lab: Lab) -> None:
    if _allowed():
        pytest.skip("the host's network is not that of this user namespace")
    before = _host()
    process = lab.start("chain.toml", "--attach", "left=0", "--run", 0, "sleep 1", "--bound", "10s")
    while not (guard.PLACE / LEFT).exists() and process.poll() is None:
        time.sleep(0.01)
    during = _host()
    process.communicate(timeout=60)
    assert [during[place] for place in (1, 2, 4)] == [before[place] for place in (1, 2, 4)]
    assert "hopyard0" not in during[0]
    assert _host() == before


def test_a_namespace_that_exists_is_not_touched(lab: Lab) -> None:
    if _allowed():
        pytest.skip("the names of this user namespace end with the command")
    subprocess.run(["ip", "netns", "add", TAKEN], check=True)
    try:
        _, errors = lab.run("chain.toml", "--attach", f"{TAKEN}=0", code=2)
        assert f"{TAKEN} already" in errors
        assert f"ip netns delete {TAKEN}" in errors
        assert (guard.PLACE / TAKEN).exists()
    finally:
        subprocess.run(["ip", "netns", "delete", TAKEN], check=True)


def test_a_name_that_is_removed_meanwhile_does_no_harm(lab: Lab) -> None:
    if _allowed():
        pytest.skip("the names of this user namespace cannot be reached from here")
    program = f"sh -c 'echo in > {lab.path / 'in'}; sleep 2'"
    process = lab.start("chain.toml", "--attach", "left=0", "--run", 0, program, "--bound", "10s")
    _wait_for(lab.path / "in")
    subprocess.run(["ip", "netns", "delete", LEFT], check=True)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors


def test_a_device_that_is_removed_ends_the_run(lab: Lab) -> None:
    before = [] if _allowed() else _host()
    _, errors = lab.run(
        "chain.toml",
        *("--attach", "left=0", "--attach", "right=3", "--bound", "10s"),
        *("--run", 3, "ip link delete hopyard0", "--run", 0, "sleep 20"),
        code=1,
    )
    assert "the device of node 3 cannot be read any more: File descriptor in bad state" in errors
    assert not before or _host() == before


def test_a_shell_of_somebody_else_is_named_and_goes_on(lab: Lab) -> None:
    if _allowed():
        pytest.skip("the names of this user namespace cannot be reached from here")
    process = lab.start("chain.toml", "--attach", "left=0", "--run", 0, "sleep 3", "--bound", "10s")
    assert process.stdout is not None
    while "Programs reach" not in process.stdout.readline():
        assert process.poll() is None
    other = subprocess.Popen(["ip", "netns", "exec", LEFT, "sleep", "60"], start_new_session=True)
    try:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        assert f"{LEFT} is removed, and was used by {other.pid} (sleep)" in errors
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


class Made:
    """No namespaces, in which nobody is."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.told: list[str] = []

    def tell(self, word: str, _what: object) -> None:
        self.told.append(word)


def test_a_program_that_is_not_in_its_namespace_yet_is_ended_too(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    (lab.path / "ip").write_text("#!/bin/sh\nexec sleep 60\n")
    (lab.path / "ip").chmod(0o755)
    monkeypatch.setenv("PATH", str(lab.path), prepend=":")
    made = Made()
    programs = Programs(made, sys.stderr)  # type: ignore[arg-type]
    programs.start(Command.of(0, "true", waited=True), ["true"], "none")
    began = time.monotonic()
    programs.end()
    assert time.monotonic() - began < 20
    assert programs.started[0].summary()["signal"] in ("SIGTERM", "SIGKILL")
    assert made.told == [guard.STARTED, guard.ENDED]


def test_a_process_is_told_from_another_of_its_number() -> None:
    first = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        start = guard.began(first.pid)
        assert int(start) > 0
        assert guard.remove([], {first.pid: str(int(start) + 1)})
        with pytest.raises(subprocess.TimeoutExpired):
            first.wait(0.2)
        assert guard.remove([], {first.pid: start})
        assert first.wait(20) == -signal.SIGKILL
        assert guard.began(first.pid) == ""
    finally:
        first.kill()


#: Starts a program; the process ends, as by kill -9, before or after the guard has been told.
STARTING = """
import os, sys, time
from hopyard.programs import Command, Programs
class Made:
    names = []
    def tell(self, word, what):
        if sys.argv[2] == "before":
            os._exit(9)
command = Command.of(0, "touch " + sys.argv[1], waited=True)
Programs(Made(), sys.stdout).start(command, command.words, "none")
os._exit(9)
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_no_program_starts_of_which_the_guard_does_not_know(lab: Lab, when: str) -> None:
    (lab.path / "ip").write_text('#!/bin/sh\nshift 3\nexec "$@"\n')
    (lab.path / "ip").chmod(0o755)
    made = lab.path / "made"
    path = f"{lab.path}:{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, "-c", STARTING, made, when], env={**os.environ, "PATH": path}, check=False
    )
    assert done.returncode == 9
    over = time.monotonic() + (1 if when == "before" else 20)
    while not made.exists() and time.monotonic() < over:
        time.sleep(0.02)
    assert made.exists() == (when == "after")


def _installed(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def test_ping(lab: Lab) -> None:
    ping = _installed("ping")
    said, _ = lab.run(
        "wires.toml",
        *("--attach", "left=0", "--attach", "right=3", "--bound", "10s"),
        *("--run", 0, f"{ping} -c 5 -i 0.2 {{node3}}"),
    )
    assert "5 received, 0% packet loss" in said
    # Two of three nodes between them take one from the time to live.
    trips = [line for line in said.splitlines() if "ttl=62" in line]
    assert len(trips) == 5
    least = min(float(line.rpartition("time=")[2].split()[0]) for line in trips)
    exact = 6 * (5 + 8 * 84 / 10e3)
    assert exact <= least < exact + 5


def test_iperf3(lab: Lab) -> None:
    iperf = _installed("iperf3")
    client = f"{iperf} -c {{node3}} -t 3 -J"
    said, _ = lab.run(
        "wires.toml",
        *("--attach", "left=0", "--attach", "right=3", "--bound", "10s", "--out", "o"),
        *("--serve", 3, f"{iperf} -s"),
        *("--run", 0, f"sh -c 'sleep 1; {client}'"),
    )
    report = json.loads((lab.path / "o" / "program-1.log").read_text())
    rate = report["end"]["sum_received"]["bits_per_second"]
    # The wires carry 10 Mbit/s, of which headers are a part.
    assert 1e6 < rate < 10e6, said


def test_ssh(lab: Lab) -> None:
    if _allowed():
        pytest.skip("sshd cannot change users in a user namespace with one user")
    sshd, ssh, keygen = map(_installed, ("sshd", "ssh", "ssh-keygen"))
    for name in ("host", "user"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", lab.path / name], check=True)
    accounts = lab.path / "passwd"
    accounts.write_text(
        Path("/etc/passwd").read_text() + "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n"
    )
    # Programs have mounts of their own: neither the folder nor the account is that of the machine.
    options = {
        "HostKey": lab.path / "host",
        "AuthorizedKeysFile": lab.path / "user.pub",
        "StrictModes": "no",
        "PidFile": "none",
        "UsePAM": "no",
    }
    given = " ".join(f"-o {key}={value}" for key, value in options.items())
    server = (
        f"mount -t tmpfs tmpfs /run && mkdir /run/sshd && mount --bind {accounts} /etc/passwd && "
        f"exec {sshd} -D -e -f /dev/null -p 2222 {given}"
    )
    client = (
        f"sleep 1; {ssh} -F none -i {lab.path / 'user'} -p 2222 -o BatchMode=yes "
        "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null {node3} "
        "ip -4 -o addr show hopyard0"
    )
    said, _ = lab.run(
        "chain.toml",
        *("--attach", "left=0", "--attach", "right=3", "--bound", "10s", "--out", "o"),
        *("--serve", 3, f"sh -c {shlex.quote(server)}"),
        *("--run", 0, f"sh -c {shlex.quote(client)}"),
    )
    assert "inet 10.0.0.4/32" in (lab.path / "o" / "program-1.log").read_text(), said


def _check(arguments: list[object], *expected: str) -> None:
    done = command("live", *arguments)
    assert done.exit_code == 2, done.output
    for each in expected:
        assert each in done.output, done.output


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--attach", "a=9"], "a=9: there is no node 9; chain has nodes 0 to 3"),
        (["--attach", "a=0", "--attach", "b=0"], "node 0 is attached twice: a=0 and b=0"),
        (["--attach", "a=0", "--attach", "a=1"], "namespace a is attached twice: a=0 and a=1"),
        (["--attach", "a"], "expected NAMESPACE=NODE, such as a=0, found 'a'"),
        (["--attach", "a=-1"], "expected NAMESPACE=NODE, such as a=0, found 'a=-1'"),
        (["--attach", "=1"], "expected NAMESPACE=NODE, such as a=0, found '=1'"),
        (["--attach", "../a=1"], "expected the name of a namespace of at most 63 letters"),
        ([], "Missing option '--attach'"),
        (["--attach", "a=0", "--run", 0, "no-such"], "there is no program 'no-such'"),
        (["--attach", "a=0", "--run", 0, "sh -c 'x"], "cannot be read: No closing quotation"),
        (["--attach", "a=0", "--run", 0, " "], "expected a program, found ' '"),
        (["--attach", "a=0", "--serve", 1, "true"], "--serve 1 'true': node 1 is not attached"),
        (["--attach", "a=0", "--run", 0, "echo {node9}"], "{node9} has no address"),
        (["--attach", "a=0", "--set", "seed=1,2"], "has 2 cases: a live run is of one"),
        (["--attach", "a=0", "--bound", "0s"], "expected a time of more than 0 s"),
        (["--attach", "a=0", "--bound", "soon"], "expected a time such as"),
        (["--attach", "a=0", "--mtu", 67], "67 is not in the range 68<=x<=65535"),
        (["--attach", "a=0", "--packets"], "--packets needs --out"),
        (["--attach", "a=0", "--set", "nodes.count=0"], "there is no node 0"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(
    lab: Lab, arguments: list[object], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "check_system", lambda: None)
    monkeypatch.setattr(live, "Namespaces", None)
    if "{node9}" in expected or "no node 0" in expected:
        # What depends on the network is found when it is built.
        assert sys.platform == "linux"
    _check([lab.path / "chain.toml", *arguments], expected)


def test_a_folder_with_other_files_is_refused(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "check_system", lambda: None)
    arguments = [lab.path / "chain.toml", "--attach", "a=0", "--out", lab.path]
    _check(arguments, "holds chain.toml, client.py, echo.py, wires.toml, which no live run has")


def test_a_system_that_cannot_is_told_what_is_missing(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments: list[object] = [lab.path / "chain.toml", "--attach", "a=0"]
    monkeypatch.setattr(namespaces, "_lacking", list)
    monkeypatch.setattr(namespaces, "TUN", lab.path / "tun")
    _check(arguments, "tun is missing: load the module (modprobe tun); a container needs")
    (lab.path / "tun").mkdir()
    _check(arguments, "tun cannot be opened: Is a directory")
    monkeypatch.setattr(namespaces, "_lacking", lambda: ["CAP_NET_ADMIN"])
    _check(arguments, "lacks CAP_NET_ADMIN: run it as root, or in a user namespace, with unshare")
    monkeypatch.setenv("PATH", "/nowhere")
    _check(arguments, "live mode needs the command ip (Debian: apt install iproute2)")
    monkeypatch.setattr(sys, "platform", "darwin")
    _check(arguments, "Linux: this is darwin; hopyard run works everywhere")


def test_privileges_that_are_missing_are_named(lab: Lab) -> None:
    words = [sys.executable, "-m", "hopyard", "live", "chain.toml", "--attach", "a=0"]
    if os.geteuid() == 0:
        words = [_installed("setpriv"), "--bounding-set=-all", "--inh-caps=-all", *words]
    done = subprocess.run(words, cwd=lab.path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "lacks CAP_NET_ADMIN and CAP_SYS_ADMIN: run it as root" in done.stderr
    assert namespaces.ROOTLESS in done.stderr


def test_the_command_for_a_user_namespace_works_as_it_is_told(lab: Lab) -> None:
    if (why := _refused(ROOTLESS)) is not None:
        pytest.skip(f"no live run can be made in a user namespace here: {why}")
    hop = shlex.join([sys.executable, "-m", "hopyard", "live"])
    rest = 'chain.toml --attach a=0 --attach b=3 --bound 1s --quiet --run 0 "echo {node3}"'
    line = namespaces.ROOTLESS.replace("hopyard live ...", f"{hop} {rest}")
    done = subprocess.run(
        line, shell=True, cwd=lab.path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "[0 echo] 10.0.0.4\n"), done.stderr


@pytest.mark.parametrize(
    ("every", "own", "expected"),
    [
        (["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"], ["10.0.0.1"], 2),
        ([f"10.0.0.{each}" for each in range(1, 255)], ["10.0.0.7"], 15),
        (["10.0.0.1"], ["10.0.0.1"], 0),
    ],
)
def test_routes_have_the_other_addresses_and_no_more(
    every: list[str], own: list[str], expected: int
) -> None:
    found = namespaces.routes(every, own)
    covered = [str(each) for net in found for each in IPv4Network(net)]
    assert sorted(covered) == sorted(set(every) - set(own))
    assert len(found) == expected


def _lines_of_the_page() -> Iterator[str]:
    for block in blocks(DOCS / "live.md"):
        if block.language == "sh":
            yield from block.text.replace("\\\n", " ").splitlines()


def test_the_commands_of_the_page_run(lab: Lab) -> None:
    prefix = _allowed()
    for block in blocks(DOCS / "live.md"):
        if block.file:
            (lab.path / block.file).write_text(block.text)
    lines = [line.removeprefix("sudo ") for line in _lines_of_the_page()]
    lines = [line for line in lines if line.startswith("hopyard live")]
    assert len(lines) > 2
    lacking = []
    for line in lines:
        words = shlex.split(line, comments=True)
        needed = {each for word in words for each in ("ping", "iperf3", "ssh") if each in word}
        if not all(map(shutil.which, needed)):
            lacking.append(line)
            continue
        done = subprocess.run(
            [*prefix, sys.executable, "-m", *map(own, words), "--bound", "10s"],
            cwd=lab.path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    if lacking:
        pytest.skip(f"programs of these lines are not installed: {'; '.join(lacking)}")
