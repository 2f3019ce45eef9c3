"""The instructions of the TCP path of a kernel in simulated time, by single steps.

A user-mode kernel is a process, and its TCP executes in user mode. Where the machine has a counter
of instructions, `perf stat` could count all of the process, but not the part that is TCP; and
valgrind does not run such a kernel. So the process is traced: at the functions below it is stepped,
one instruction after the other, until they return.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from studies.test_bed.symbols import functions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE = Path(__file__).resolve().parent
#: Where TCP begins to work: for a segment that arrives, for a timer, for what was queued.
RECEIVE, TIMER = "tcp_v4_do_rcv", "tcp_write_timer_handler"
ROOTS = (RECEIVE, TIMER, "tcp_tasklet_func", "__tcp_push_pending_frames", "tcp_push_one")
#: Where it sends a segment.
TRANSMIT = "__tcp_transmit_skb"
#: What is below TCP, or wakes the application up; it is not counted.
OTHERS = ("__ip_queue_xmit", "try_to_wake_up")
#: Seconds in which the process of a kernel must appear.
PATIENCE = 60.0


class CountingError(RuntimeError):
    """Nothing could be counted."""


@dataclass(frozen=True)
class Counts:
    """What the TCP of one kernel executed in a run."""

    #: Segments that arrived, and how many of them were stepped.
    acks: int
    stepped: int
    #: Buffers that were sent: of one segment, or of two where the device divides them.
    buffers: int
    #: Instructions: for segments that arrived, without what they let be sent; for sending; and for
    #: timers. Those of calls that were not stepped are as those of the stepped ones of their kind:
    #: of those that send a buffer, and of those that send none.
    receiving: float
    sending: float
    timers: float

    @property
    def total(self) -> float:
        """All instructions."""
        return self.receiving + self.sending + self.timers


def compiled(folder: Path) -> Path:
    """The program that steps, compiled into a folder.

    Raises:
        CountingError: without a compiler.
    """
    program = folder / "steps"
    try:
        words = ["gcc", "-O2", "-o", str(program), str(HERE / "steps.c")]
        subprocess.run(words, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise CountingError("there is no gcc (Debian: `apt install gcc libc6-dev`)") from None
    except subprocess.CalledProcessError as error:
        raise CountingError(f"steps.c cannot be compiled:\n{error.stderr}") from None
    return program


def counted(arguments: Sequence[str], kernel: Path, number: int, every: int, steps: Path) -> Counts:
    """Runs `hopyard` with these arguments, and counts in one of its kernels.

    Args:
        arguments: those of the command.
        kernel: the program of the kernel.
        number: which of the run's kernels, in the order of their nodes.
        every: one call of so many is stepped.
        steps: the program that steps.

    Raises:
        CountingError: when the run fails, or its kernel cannot be traced.
    """
    known = functions(kernel)
    if missing := {RECEIVE, TIMER, TRANSMIT} - set(known):
        raise CountingError(f"{kernel} has no function {', '.join(sorted(missing))}")
    kinds = {"root": ROOTS, "inner": (TRANSMIT,), "over": OTHERS}
    lines = [f"{kind} {known[name]:x} {name}\n" for kind, names in kinds.items() for name in names if name in known]
    words = [sys.executable, "-m", "hopyard", *arguments]
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        process = _kernel_of(run, number)
        done = subprocess.run(
            [str(steps), str(process), str(every)], input="".join(lines), capture_output=True, text=True, check=False
        )
        said, _ = run.communicate()
    finally:
        if run.poll() is None:
            run.kill()
            run.communicate()
    if run.returncode:
        raise CountingError(f"hopyard {' '.join(arguments)} failed:\n{said}")
    if done.returncode:
        raise CountingError(done.stderr.strip())
    return _read(done.stdout)


def _kernel_of(run: subprocess.Popen[str], number: int) -> int:
    """The process of a kernel of a run, as soon as it is there."""
    until = time.monotonic() + PATIENCE
    wanted = f"umid=k{number}".encode()
    while run.poll() is None and time.monotonic() < until:
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                # It has ended.
                continue
            if wanted in words and parent == run.pid:
                return int(entry.name)
        time.sleep(0.002)
    said, _ = run.communicate() if run.poll() is not None else ("", "")
    raise CountingError(f"no kernel {number} has been started: {said}")


def _read(text: str) -> Counts:
    """The counts of the program that steps."""
    lines: list[tuple[int, int, int, int, str]] = []
    for line in text.splitlines():
        *numbers, path = line.split()
        kind, count, stepped, instructions = map(int, numbers)
        lines.append((kind, count, stepped, instructions, path))
    #: How many calls of a root there were of each kind, and how many of them were stepped.
    calls: dict[str, dict[int, tuple[int, int]]] = {}
    for kind, count, stepped, _, path in lines:
        if ">" not in path:
            calls.setdefault(path, {})[kind] = (count, stepped)
    found = dict.fromkeys(("receiving", "sending", "timers"), 0.0)
    for kind, _, _, instructions, path in lines:
        root, *within = path.split(">")
        if root not in ROOTS:
            continue
        # Another root within this one is counted as a root of its own where this one is not
        # stepped: there is nothing to scale.
        factor = 1.0 if {*within} & {*ROOTS} else _factor(calls[root], kind)
        name = "timers" if root == TIMER else "receiving" if path == RECEIVE else "sending"
        found[name] += factor * instructions
    arrivals = calls.get(RECEIVE, {}).values()
    acks, stepped = sum(it[0] for it in arrivals), sum(it[1] for it in arrivals)
    buffers = sum(it[0] for it in calls.get(TRANSMIT, {}).values())
    return Counts(acks, stepped, buffers, **found)


def _factor(calls: Mapping[int, tuple[int, int]], kind: int) -> float:
    """How many calls of a kind there were for each that was stepped."""
    if all(stepped for _, stepped in calls.values()):
        count, stepped = calls[kind]
    else:
        # Nothing is known of one kind: its calls are taken for such as the others.
        count, stepped = map(sum, zip(*calls.values(), strict=True))
    return count / stepped


def bind(process: int = 0) -> None:
    """Keeps a process on one core: a step is two changes of context."""
    os.sched_setaffinity(process, {min(os.sched_getaffinity(0))})
