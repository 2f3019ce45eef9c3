"""What can go wrong. The core raises these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hopyard.results import Results


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a scenario.

    `path` is the key, as `--set` would name it. `file`, `line`, `column` and `text` (the line's)
    say where it stands, and are None in a scenario that was made in Python.
    """

    path: str
    message: str
    expected: str | None
    hint: str | None
    file: str | None
    line: int | None
    column: int | None
    text: str | None


class ScenarioError(ValueError):
    """A scenario is wrong: `problems` has everything that is, in the order of the file."""

    def __init__(self, shown: str, coloured: str, problems: list[Problem]) -> None:
        super().__init__(shown, coloured, problems)
        self.shown = shown
        self.coloured = coloured
        self.problems = problems

    def __str__(self) -> str:
        return self.shown


class SimulationError(RuntimeError):
    """Runs could not go on: `results` has those that were finished, and `results.failures` these.

    A window rule of the user's raised, and the message names its line; or an invariant broke, which
    is a defect of Hopyard. The message has what makes the run again.
    """

    results: Results | None = None

    @classmethod
    def of(cls, results: Results) -> SimulationError:
        """The error that tells of the failures of these results."""
        first, *others = results.failures
        more = f"\n{len(others)} further runs failed" if others else ""
        error = cls(f"{first}{more}")
        error.results = results
        return error
