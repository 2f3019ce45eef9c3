"""Live runs that end by signals, or while others use what is theirs: nothing stays behind."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hopyard.live import guard
from hopyard.live.programs import Command, Programs
from live_lab import LEFT, TAKEN, Lab, allowed, host_network, is_alive, wait_for


@pytest.mark.parametrize("ways", [["SIGINT"], ["SIGTERM"], ["SIGKILL"], ["SIGINT", "SIGINT"]])
def test_a_signal_leaves_nothing_behind(lab: Lab, ways: list[str]) -> None:
    before = host_network() if not allowed() else []
    stubborn = lab.path / "stubborn"
    daemon = f"trap '' TERM HUP INT; {lab.program('echo.py', stubborn)} & wait; sleep 99"
    process = lab.start(
        *("chain.toml", "--attach", "left=0", "--attach", "right=3", "--bound", "10s", "--out", "o"),
        *("--serve", 3, lab.program("echo.py", lab.path / "server")),
        *("--run", 0, f"sh -c {shlex.quote(daemon)}"),
    )
    pids = [int(wait_for(path)) for path in (stubborn, lab.path / "server")]
    inside = Path(f"/proc/{process.pid}/root") if allowed() else Path("/")
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
    while (any(map(is_alive, pids)) or host_network() != before) and time.monotonic() < over:
        if before == [] and not any(map(is_alive, pids)):
            break
        time.sleep(0.05)
    assert not any(map(is_alive, pids))
    if before:
        assert host_network() == before
    if ways in (["SIGINT"], ["SIGTERM"]):
        report = json.loads((lab.path / "o" / "live.json").read_text())
        assert report["end"] == "stopped"
        assert report["simulated_s"] > 0


def test_the_network_of_the_host_stays_as_it_is(lab: Lab) -> None:
    if allowed():
        pytest.skip("the host's network is not that of this user namespace")
    before = host_network()
    process = lab.start("chain.toml", "--attach", "left=0", "--run", 0, "sleep 1", "--bound", "10s")
    while not (guard.PLACE / LEFT).exists() and process.poll() is None:
        time.sleep(0.01)
    during = host_network()
    process.communicate(timeout=60)
    assert [during[place] for place in (1, 2, 4)] == [before[place] for place in (1, 2, 4)]
    assert "hopyard0" not in during[0]
    assert host_network() == before


def test_a_namespace_that_exists_is_not_touched(lab: Lab) -> None:
    if allowed():
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
    if allowed():
        pytest.skip("the names of this user namespace cannot be reached from here")
    program = f"sh -c 'echo in > {lab.path / 'in'}; sleep 2'"
    process = lab.start("chain.toml", "--attach", "left=0", "--run", 0, program, "--bound", "10s")
    wait_for(lab.path / "in")
    subprocess.run(["ip", "netns", "delete", LEFT], check=True)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors


def test_a_device_that_is_removed_ends_the_run(lab: Lab) -> None:
    before = [] if allowed() else host_network()
    _, errors = lab.run(
        "chain.toml",
        *("--attach", "left=0", "--attach", "right=3", "--bound", "10s"),
        *("--run", 3, "ip link delete hopyard0", "--run", 0, "sleep 20"),
        code=1,
    )
    assert "the device of node 3 cannot be read any more: File descriptor in bad state" in errors
    assert not before or host_network() == before


def test_a_shell_of_somebody_else_is_named_and_goes_on(lab: Lab) -> None:
    if allowed():
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


def test_a_program_that_is_not_in_its_namespace_yet_is_ended_too(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
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
from hopyard.live.programs import Command, Programs
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
    done = subprocess.run([sys.executable, "-c", STARTING, made, when], env={**os.environ, "PATH": path}, check=False)
    assert done.returncode == 9
    over = time.monotonic() + (1 if when == "before" else 20)
    while not made.exists() and time.monotonic() < over:
        time.sleep(0.02)
    assert made.exists() == (when == "after")
