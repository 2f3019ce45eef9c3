"""Programs of a live run: started in namespaces, their output passed on, ended in any case."""

from __future__ import annotations

import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import IO, TYPE_CHECKING, Any

from hopyard.live import guard

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hopyard.live.namespaces import Namespaces

#: What stands for the address of a node.
_NODE = re.compile(r"\{node([0-9]{1,9})\}")
#: Runs a program, without standard input, when a line has come: the guard knows its session then.
#: If this process is killed before, no line comes, and the program is not started.
_WHEN_TOLD = ("/bin/sh", "-c", 'read -r told && exec "$@" </dev/null', "sh")
#: Seconds that programs have to end when they are asked to.
GRACE = 1.0


@dataclass(frozen=True)
class Command:
    """A program that is to be started at a node."""

    node: int
    text: str
    words: tuple[str, ...]
    #: Whether the run ends when this one and all others of its kind have ended.
    waited: bool

    def at(self, addresses: Mapping[int, Sequence[str]]) -> list[str]:
        """The words with addresses in the place of `{node3}`.

        Raises:
            ValueError: when there is no such node, or it has no address.
        """

        def address(found: re.Match[str]) -> str:
            own = addresses.get(int(found[1]))
            if not own:
                raise ValueError(f"{self.option} {self.text!r}: {found[0]} has no address")
            return own[0]

        return [_NODE.sub(address, word) for word in self.words]

    @property
    def option(self) -> str:
        """The option with which it was given."""
        return f"--{'run' if self.waited else 'serve'} {self.node}"

    @classmethod
    def of(cls, node: int, text: str, *, waited: bool) -> Command:
        """Reads a command: words as a shell reads them, without a shell.

        Raises:
            ValueError: when there is no such program.
        """
        option = "--run" if waited else "--serve"
        try:
            words = tuple(shlex.split(text))
        except ValueError as error:
            raise ValueError(f"{option} {node}: {text!r} cannot be read: {error}") from None
        if not words:
            raise ValueError(f"{option} {node}: expected a program, found {text!r}")
        if shutil.which(words[0]) is None:
            raise ValueError(
                f"{option} {node}: there is no program {words[0]!r}; a line for the shell is given as sh -c '...'"
            )
        return cls(node, text, words, waited)


@dataclass
class Program:
    """A program that was started."""

    command: Command
    namespace: str
    process: subprocess.Popen[bytes]
    #: Whether it was still there at the end, and was asked to end.
    ended_by_run: bool = False
    log: Path | None = None
    reader: Thread = field(init=False)

    def summary(self) -> dict[str, Any]:
        """What the results have of it."""
        code = self.process.returncode
        return {
            "node": self.command.node,
            "namespace": self.namespace,
            "command": self.command.text,
            "waited": self.command.waited,
            "exit_code": code if code >= 0 else None,
            "signal": signal.Signals(-code).name if code < 0 else None,
            "ended_by_run": self.ended_by_run,
        }


class Programs:
    """The programs of a run.

    Args:
        made: the namespaces, which are told what there is to end if this process does not.
        out: where what they write is shown, each line with the node before it.
        logs: a folder in which what they write is kept too.
    """

    def __init__(self, made: Namespaces, out: IO[str], logs: Path | None = None) -> None:
        self.started: list[Program] = []
        self._made = made
        self._out = out
        self._logs = logs

    def start(self, command: Command, words: Sequence[str], namespace: str) -> None:
        """Starts a program in a namespace; `words` are those of the command, with addresses.

        Raises:
            OSError: when it cannot be started.
        """
        # A session of its own: Ctrl-C reaches this process alone, which ends the others. What
        # programs start in the background belongs to the session too.
        process = subprocess.Popen(
            [*_WHEN_TOLD, "ip", "netns", "exec", namespace, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._made.tell(guard.STARTED, f"{process.pid} {guard.began(process.pid)}")
        assert process.stdin is not None
        with suppress(BrokenPipeError), process.stdin as told:
            told.write(b"go\n")
        program = Program(command, namespace, process)
        if self._logs is not None:
            program.log = self._logs / f"program-{len(self.started)}.log"
        program.reader = Thread(target=self._pass_on, args=[program], daemon=True)
        program.reader.start()
        self.started.append(program)

    def _pass_on(self, program: Program) -> None:
        """Shows what a program writes, and keeps it."""
        shown = f"[{program.command.node} {Path(program.command.words[0]).name}] "
        log = self._kept(program)
        assert program.process.stdout is not None
        with program.process.stdout as lines:
            for line in lines:
                # Nobody may read what is shown any more, or the disk may be full: the program
                # goes on.
                with suppress(OSError, ValueError):
                    self._out.write(shown + line.decode(errors="replace").rstrip("\r\n") + "\n")
                    self._out.flush()
                if log is not None:
                    try:
                        log.write(line)
                    except OSError as error:
                        self._give_up(program, error)
                        log.close()
                        log = None
        if log is not None:
            log.close()

    def _kept(self, program: Program) -> IO[bytes] | None:
        """The file that keeps what a program writes, if there can be one."""
        try:
            # Without a buffer: what is written is kept, whatever comes later.
            return program.log.open("wb", buffering=0) if program.log is not None else None
        except OSError as error:
            self._give_up(program, error)
            return None

    def _give_up(self, program: Program, error: OSError) -> None:
        """Says, once, that what a program writes is not kept any more. The program goes on."""
        with suppress(OSError, ValueError):
            self._out.write(
                f"warning: {program.log}: {error.strerror}: what "
                f"{Path(program.command.words[0]).name} writes is not kept from here on\n"
            )
            self._out.flush()

    @property
    def are_done(self) -> bool:
        """Whether all programs have ended for whose end the run waits, and there was one."""
        waited = [it for it in self.started if it.command.waited]
        return bool(waited) and all(it.process.poll() is not None for it in waited)

    def end(self) -> None:
        """Ends all programs that are left, and what they have started: gently first."""
        for program in self.started:
            program.ended_by_run |= program.process.poll() is None
        # The session is known by its processes: its number may belong to others when all are gone.
        for number, wait in ((signal.SIGTERM, GRACE), (signal.SIGKILL, 5.0)):
            guard.kill(self.left(), number)
            over = time.monotonic() + wait
            while (left := self.left()) and time.monotonic() < over:
                time.sleep(0.01)
            if not left:
                break
        for program in self.started:
            program.process.wait()
            # Something outside the session may still have the pipe.
            program.reader.join(0.5)
            self._made.tell(guard.ENDED, program.process.pid)

    def left(self) -> list[int]:
        """The programs that go on, and what they have started in the namespaces."""
        sessions = [program.process.pid for program in self.started]
        pids = [pid for name in self._made.names for pid in guard.members(name)]
        # One that has just been started may not be in its namespace yet.
        own = [it.process.pid for it in self.started if it.process.poll() is None]
        return list({*own, *guard.of_sessions(pids, sessions)})

    def others(self) -> dict[str, Sequence[str]]:
        """The processes of somebody else in each namespace: number and name."""
        ours = {program.process.pid for program in self.started}
        found: dict[str, Sequence[str]] = {}
        for name in self._made.names:
            pids = [pid for pid in guard.members(name) if pid not in ours]
            if pids:
                found[name] = [f"{pid} ({guard.name_of(pid)})" for pid in pids]
        return found


def output(*, as_json: bool) -> IO[str]:
    """Where the output of programs goes: not between the parts of a JSON text."""
    return sys.stderr if as_json else sys.stdout
