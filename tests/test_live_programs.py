"""Live runs of ping, iperf3 and ssh, the commands of the page, and what is refused."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
import sys
from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hopyard.live import namespaces, programs
from hopyard.live import session as live
from live_lab import ROOTLESS, Lab, allowed, installed, own, refused
from short import command
from test_docs import DOCS, blocks

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.mark.parametrize("lost", ["full", "gone"])
def test_what_a_program_writes_is_shown_when_it_cannot_be_kept(lost: str, tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full")
    command = programs.Command.of(0, f"{sys.executable} -c 'print(1); print(2)'", waited=True)
    process = subprocess.Popen(command.words, stdout=subprocess.PIPE)
    program = programs.Program(command, "", process)
    program.log = full if lost == "full" else tmp_path / "gone" / "program-0.log"
    shown = io.StringIO()
    with namespaces.Namespaces() as made:
        programs.Programs(made, shown)._pass_on(program)
    assert process.wait() == 0
    reason = "No space left on device" if lost == "full" else "No such file or directory"
    name = Path(sys.executable).name
    warning = f"warning: {program.log}: {reason}: what {name} writes is not kept from here on"
    lines = shown.getvalue().splitlines()
    assert sorted(lines) == sorted([f"[0 {name}] 1", f"[0 {name}] 2", warning])


def test_ping(lab: Lab) -> None:
    ping = installed("ping")
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
    iperf = installed("iperf3")
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
    if allowed():
        pytest.skip("sshd cannot change users in a user namespace with one user")
    sshd, ssh, keygen = map(installed, ("sshd", "ssh", "ssh-keygen"))
    for name in ("host", "user"):
        subprocess.run([keygen, "-q", "-t", "ed25519", "-N", "", "-f", lab.path / name], check=True)
    accounts = lab.path / "passwd"
    accounts.write_text(Path("/etc/passwd").read_text() + "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n")
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
        (["--attach", "a=0", "--mtu", 2297], "a=0 has a link that carries packets of at most 2296"),
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


def test_kernels_in_simulated_time_are_refused_before_anything_else(lab: Lab) -> None:
    text = (lab.path / "chain.toml").read_text()
    for more, named in (
        ('[[flow]]\nfrom = 0\nto = 1\ntcp = "reno"\nstack = "linux"\n', 'flows with `stack = "linux"`'),
        ('[[host]]\nnode = 0\nrun = "true"\n', "programs ([[host]])"),
    ):
        file = lab.path / "kernels.toml"
        file.write_text(f"{text}\n{more}")
        expected = f"kernels.toml has {named}, which need kernels in simulated time, and a live run"
        _check([file, "--attach", "a=0"], expected, "expected `hopyard run`")


def test_a_folder_with_other_files_is_refused(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "check_system", lambda: None)
    arguments = [lab.path / "chain.toml", "--attach", "a=0", "--out", lab.path]
    _check(arguments, "holds chain.toml, client.py, echo.py, wires.toml, which no live run has")


def test_a_system_that_cannot_is_told_what_is_missing(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    installed("ip")
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
    installed("ip")
    words = [sys.executable, "-m", "hopyard", "live", "chain.toml", "--attach", "a=0"]
    if os.geteuid() == 0:
        words = [installed("setpriv"), "--bounding-set=-all", "--inh-caps=-all", *words]
    done = subprocess.run(words, cwd=lab.path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "lacks CAP_NET_ADMIN and CAP_SYS_ADMIN: run it as root" in done.stderr
    assert namespaces.ROOTLESS in done.stderr


def test_the_command_for_a_user_namespace_works_as_it_is_told(lab: Lab) -> None:
    if (why := refused(ROOTLESS)) is not None:
        pytest.skip(f"no live run can be made in a user namespace here: {why}")
    hop = shlex.join([sys.executable, "-m", "hopyard", "live"])
    rest = 'chain.toml --attach a=0 --attach b=3 --bound 1s --quiet --run 0 "echo {node3}"'
    line = namespaces.ROOTLESS.replace("hopyard live ...", f"{hop} {rest}")
    done = subprocess.run(line, shell=True, cwd=lab.path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[0 echo] 10.0.0.4\n"), done.stderr


@pytest.mark.parametrize(
    ("every", "own", "expected"),
    [
        (["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"], ["10.0.0.1"], 2),
        ([f"10.0.0.{each}" for each in range(1, 255)], ["10.0.0.7"], 15),
        (["10.0.0.1"], ["10.0.0.1"], 0),
    ],
)
def test_routes_have_the_other_addresses_and_no_more(every: list[str], own: list[str], expected: int) -> None:
    found = namespaces.routes(every, own)
    covered = [str(each) for net in found for each in IPv4Network(net)]
    assert sorted(covered) == sorted(set(every) - set(own))
    assert len(found) == expected


def _lines_of_the_page() -> Iterator[str]:
    for block in blocks(DOCS / "linux" / "live.md"):
        if block.language == "sh":
            yield from block.text.replace("\\\n", " ").splitlines()


def test_the_commands_of_the_page_run(lab: Lab) -> None:
    prefix = allowed()
    for block in blocks(DOCS / "linux" / "live.md"):
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
