"""Removes what a live run has made, when the process of the run has ended, in whatever way.

`hopyard live` starts this file as a process of its own and tells it, by lines of a pipe, what there
is to remove. The pipe ends with the last process that has it open: after kill -9 of the run too.
The file imports nothing of Hopyard, so that it starts at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Where the command `ip` has the names of namespaces.
PLACE = Path("/var/run/netns")
#: What the lines say: a namespace, or a session of programs, is there from now on, or is not. A
#: session is the number of its first process, with the time at which that was started.
MADE, GONE, STARTED, ENDED = "made", "gone", "started", "ended"
#: The signals that end a run, and not its guard.
IGNORED = ("SIGINT", "SIGTERM", "SIGHUP")


def members(namespace: str) -> list[int]:
    """The processes in a network namespace; none where there is no such namespace."""
    found = subprocess.run(["ip", "netns", "pids", namespace], check=False, capture_output=True, text=True)
    return [int(word) for word in found.stdout.split()]


def of_sessions(pids: Iterable[int], sessions: Iterable[int]) -> list[int]:
    """Those of the processes that belong to one of the sessions."""
    wanted = set(sessions)
    found = []
    for pid in pids:
        with suppress(OSError):
            if os.getsid(pid) in wanted:
                found.append(pid)
    return found


def kill(pids: Iterable[int], number: int) -> None:
    """Sends a signal to processes, of which some may have ended."""
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, number)


def began(pid: int) -> str:
    """When a process was started, as the system counts; empty if there is none.

    Numbers of processes are used again, and this tells one from another of its number.
    """
    with suppress(OSError):
        # The name stands in brackets, and may have any characters.
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return stat.rpartition(")")[2].split()[19]
    return ""


def name_of(pid: int) -> str:
    """What a process is called."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    return "unknown"


def remove(namespaces: Iterable[str], sessions: Mapping[int, str]) -> bool:
    """Ends what is left of programs, and removes namespaces; returns whether all are removed."""
    done = True
    # A program may be about to enter its namespace.
    kill((pid for pid, start in sessions.items() if began(pid) == start), signal.SIGKILL)
    for name in namespaces:
        for _ in range(100):
            left = of_sessions(members(name), sessions)
            if not left:
                break
            kill(left, signal.SIGKILL)
            time.sleep(0.01)
        removed = subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True, text=True)
        # Somebody else may have removed it.
        if removed.returncode and os.path.lexists(PLACE / name):
            print(f"{name}: {removed.stderr.strip()}", flush=True)
            done = False
    return done


def main() -> int:
    """Waits for the end of the pipe, and removes what there is."""
    for name in IGNORED:
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    namespaces: dict[str, None] = {}
    sessions: dict[int, str] = {}
    print("ready", flush=True)
    for line in sys.stdin:
        word, _, what = line.strip().partition(" ")
        if word == MADE:
            namespaces[what] = None
        elif word == GONE:
            namespaces.pop(what, None)
        elif word == STARTED:
            pid, _, start = what.partition(" ")
            sessions[int(pid)] = start
        elif word == ENDED:
            sessions.pop(int(what), None)
    return 0 if remove(namespaces, sessions) else 1


if __name__ == "__main__":
    sys.exit(main())
