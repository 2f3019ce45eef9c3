"""A run that can be stepped, here or under another version of Hopyard, for `hopyard diff`.

The other version runs in its own interpreter, which is given a program of a few lines: it uses only
`hopyard.start`, and tells what it is asked for as lines of JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from hopyard.running.stepping import start

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hopyard.running.stepping import Simulation
    from hopyard.scenario.scenario import Scenario

#: A row of a table.
Row = dict[str, Any]
#: What the other interpreter runs. Its arguments: the scenario file, the number of the run.
PROGRAM = """
import json, sys
import hopyard
def say(value):
    print(json.dumps(value, default=str), flush=True)
try:
    sim = hopyard.start(sys.argv[1], run=int(sys.argv[2]))
    say({"version": hopyard.__version__, "end_ns": round(sim.end * 1e9)})
    for line in sys.stdin:
        word, given = json.loads(line)
        if word == "advance":
            sim.advance(until_ns=given)
            say(sim.digest)
        else:
            say(getattr(sim, given).to_pylist())
except Exception as error:
    say({"error": f"{type(error).__name__}: {error}"})
"""


class OtherVersionError(Exception):
    """The other interpreter cannot run the scenario."""


class Running(Protocol):
    """A simulation that has been started."""

    @property
    def end_ns(self) -> int:
        """When the run ends."""

    def advance(self, until_ns: int) -> str:
        """The digest when all events up to a time have been carried out."""

    def table(self, name: str) -> list[Row]:
        """The rows of a table as it is now."""


class Side(Protocol):
    """A run that can be started any number of times."""

    @contextmanager
    def start(self, run: int) -> Iterator[Running]:
        """Starts the run; it is closed with the context."""


@dataclass
class _Here:
    simulation: Simulation

    @property
    def end_ns(self) -> int:
        return round(self.simulation.end * 1e9)

    def advance(self, until_ns: int) -> str:
        self.simulation.advance(until_ns=until_ns)
        return self.simulation.digest

    def table(self, name: str) -> list[Row]:
        rows: list[Row] = getattr(self.simulation, name).to_pylist()
        return rows


@dataclass(frozen=True)
class Here:
    """A scenario under this version."""

    scenario: Scenario

    @contextmanager
    def start(self, run: int) -> Iterator[Running]:
        """Starts the run."""
        with start(self.scenario, run=run) as simulation:
            yield _Here(simulation)


@dataclass
class _There:
    python: str
    questions: IO[str]
    answers: IO[str]
    end_ns: int = 0

    def read(self) -> Any:
        line = self.answers.readline()
        if not line:
            raise OtherVersionError(f"{self.python} has ended without an answer")
        try:
            answer = json.loads(line)
        except ValueError:
            raise OtherVersionError(f"{self.python}: expected JSON, found {line!r}") from None
        if isinstance(answer, dict) and "error" in answer:
            raise OtherVersionError(f"{self.python}: {answer['error']}")
        return answer

    def ask(self, word: str, given: object) -> Any:
        try:
            self.questions.write(json.dumps([word, given]) + "\n")
            self.questions.flush()
        except BrokenPipeError:
            raise OtherVersionError(f"{self.python} has ended early") from None
        return self.read()

    def advance(self, until_ns: int) -> str:
        return str(self.ask("advance", until_ns))

    def table(self, name: str) -> list[Row]:
        rows: list[Row] = self.ask("table", name)
        return rows


@dataclass(frozen=True)
class There:
    """A scenario file under the version that another interpreter has."""

    path: Path
    #: A name on `PATH`, or a path as it was given: without its `./`, one would be taken for a name.
    python: str

    @contextmanager
    def start(self, run: int) -> Iterator[Running]:
        """Starts the run in a process of its own.

        Raises:
            OtherVersionError: when the interpreter or its Hopyard cannot run the scenario.
        """
        # -P: no module of the working directory takes the place of the installed package.
        words = [self.python, "-P", "-c", PROGRAM, str(self.path), str(run)]
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True)
        except OSError as error:
            raise OtherVersionError(f"{self.python}: {error.strerror}") from None
        with process:
            assert process.stdin
            assert process.stdout
            there = _There(self.python, process.stdin, process.stdout)
            try:
                there.end_ns = int(there.read()["end_ns"])
                yield there
            finally:
                process.kill()

    def version(self) -> str:
        """The version that the interpreter has, with its build.

        Raises:
            OtherVersionError: when it has none.
        """
        words = [self.python, "-P", "-m", "hopyard", "--version"]
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        except OSError as error:
            raise OtherVersionError(f"{self.python}: {error.strerror}") from None
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
            raise OtherVersionError(f"{self.python} has no Hopyard: {last}")
        return done.stdout.strip()


def this_version() -> str:
    """This version, as [`There.version`] gives another one."""
    return There(Path(), sys.executable).version()
