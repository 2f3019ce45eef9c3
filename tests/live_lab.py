"""What the tests of live runs share: scenarios, programs, and ways to look at the host.

Where this process may not make namespaces, the tests run in a user namespace of their own; where
the system refuses that too, those that need namespaces are skipped, and say why.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

WIRES = """
name = "wires"
duration = "30 s"
routing.protocol = "static"
[nodes]
wired = 4
""" + "".join(f'[[wire]]\nbetween = [{each}, {each + 1}]\nrate = "10 Mbps"\ndelay = "5 ms"\n' for each in range(3))
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


def refused(prefix: list[str]) -> str | None:
    """Why no live run can be made with this prefix of the command; none if one can."""
    probe = (
        "from hopyard.live import namespaces as it\n"
        "it.check_system()\n"
        "with it.Namespaces() as made: made.make('probe-' + str(it.os.getpid()))\n"
    )
    try:
        done = subprocess.run([*prefix, sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else None


@cache
def way_in() -> list[str] | str:
    """What stands before the command, or why there is no way."""
    return [] if (why := refused([])) is None else why if refused(ROOTLESS) else ROOTLESS


def allowed() -> list[str]:
    found = way_in()
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
        for name, text in {"wires.toml": WIRES, "chain.toml": CHAIN, "echo.py": ECHO, "client.py": CLIENT}.items():
            (path / name).write_text(text)

    def program(self, name: str, *arguments: object) -> str:
        """A command of a program here."""
        return shlex.join([sys.executable, str(self.path / name), *map(str, arguments)])

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        """Starts `hopyard live`."""
        words = [*allowed(), sys.executable, "-m", "hopyard", "live", *map(own, arguments)]
        process = subprocess.Popen(words, cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
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


def host_network() -> list[str]:
    """The network of this process, and the names of namespaces."""
    looks = (["ip", "-d", "link"], ["ip", "addr"], ["ip", "route"], ["ip", "netns"])
    found = [subprocess.run(it, capture_output=True, text=True, check=True).stdout for it in looks]
    found[3] = " ".join(name for name in (LEFT, RIGHT) if name in found[3])
    return [*found, Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").read_text()]


def is_alive(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_for(path: Path) -> str:
    for _ in range(600):
        if path.exists() and path.read_text():
            return path.read_text()
        time.sleep(0.05)
    raise AssertionError(f"{path} is not there")


def is_installed(name: str) -> bool:
    return _found(name) is not None


def installed(name: str) -> str:
    found = _found(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def _found(name: str) -> str | None:
    """The program; the folders of the system's programs may not be on the path of a user."""
    folders = [Path(each) for each in os.environ["PATH"].split(":")]
    folders += [each.with_name("sbin") for each in folders if each.name == "bin"]
    return shutil.which(name, path=":".join(map(str, folders)))
