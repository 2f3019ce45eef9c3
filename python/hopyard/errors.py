"""The errors that Hopyard raises."""

from __future__ import annotations

from dataclasses import dataclass
from errno import EDQUOT, EFBIG, EIO, ELOOP, ENOSPC
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def path_of(given: str | PathLike[str], what: str) -> Path:
    """A path that was given; the empty text, which would stand for the working folder, is none.

    Raises:
        TypeError: when it is no path; `what` says what is expected.
        ValueError: when it is empty, or its symbolic links form a circle.
    """
    if given == "":
        raise ValueError(f"expected the name of {what}, found ''")
    if not isinstance(given, str | PathLike):
        raise TypeError(f"expected the name of {what}, found {given!r}")
    path = Path(given)
    try:
        path.stat()
    except OSError as error:
        if error.errno == ELOOP:
            raise ValueError(f"{path}: its symbolic links form a circle") from None
    return path


def lacks_room(error: BaseException) -> bool:
    """Whether the disk is full or broken, or a limit on the size of files is reached."""
    return isinstance(error, OSError) and error.errno in (ENOSPC, EFBIG, EDQUOT, EIO)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a scenario.

    `path` is the key, as in `--set`. `file`, `line`, `column` and `text` (the text of the line)
    say where the key is. They are None if the scenario was made in Python. If something is missing
    in a file, only `file` is given.
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
    """A scenario is wrong: `problems` lists every error, in the order of the file."""

    def __init__(self, shown: str, coloured: str, problems: list[Problem]) -> None:
        super().__init__(shown, coloured, problems)
        self.shown = shown
        self.coloured = coloured
        self.problems = problems

    def __str__(self) -> str:
        return self.shown


class SimulationError(RuntimeError):
    """Runs failed: `results` has the finished runs, and `results.failures` the failed ones.

    Either a congestion control written by the user raised an error, and the message names its line;
    or an invariant did not hold, which is a defect of Hopyard. The message says how to repeat the
    run.
    """

    #: A `hopyard.Results`, of which this module knows nothing; none where no run was finished.
    results: Any = None

    @classmethod
    def of(cls, failures: Sequence[object], results: object) -> SimulationError:
        """The error that reports these failures, with the results of the finished runs."""
        first, *others = failures
        more = f"\n{len(others)} further runs failed" if others else ""
        error = cls(f"{first}{more}")
        error.results = results
        return error


class CaptureError(OSError):
    """Captures could not be written: `results` has the finished runs, which they do not change."""

    #: A `hopyard.Results`, of which this module knows nothing; none where no run was finished.
    results: Any = None

    @classmethod
    def of(cls, errors: Sequence[str], results: object) -> CaptureError:
        """The error that reports these errors of captures."""
        first, *others = errors
        more = f"\n{len(others)} further captures could not be written" if others else ""
        error = cls(f"{first}{more}")
        error.results = results
        return error


class StoreError(OSError):
    """The store cannot be used, or a run could not be added to it."""
