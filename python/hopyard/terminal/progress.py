"""How far the runs are, shown on a terminal or in a notebook."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from types import TracebackType


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a batch of runs.

    Times are in seconds. `simulated` is the simulated time of all runs so far, `duration` what it
    will be at the end.
    """

    finished: int
    runs: int
    simulated: float
    duration: float
    elapsed: float

    @property
    def speed(self) -> float:
        """Simulated seconds for each second of the wall clock."""
        return self.simulated / self.elapsed if self.elapsed > 0 else 0.0

    @property
    def left(self) -> float | None:
        """Seconds to the end at the present speed, or nothing while there is no speed yet."""
        return (self.duration - self.simulated) / self.speed if self.speed > 0 else None

    def __str__(self) -> str:
        left = "" if self.left is None else f", {clock(self.left)} left"
        return f"{self.finished}/{self.runs} runs, {self.speed:,.0f} simulated s/s{left}"


def clock(seconds: float) -> str:
    """A span as 1:02:03."""
    minutes, second = divmod(round(max(seconds, 0)), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


class Watch(Protocol):
    """Something that is told how far the runs are, a few times a second and once at the end."""

    def __call__(self, progress: Progress, /) -> object: ...


class Bar:
    """A bar on the terminal: runs done, simulated time per second, time left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Display

        self._display = Display(
            TextColumn("{task.fields[finished]}/{task.fields[runs]} runs"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%  {task.fields[speed]:,.0f} simulated s/s  {task.fields[left]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._display.add_task("", total=None, finished=0, runs="?", speed=0.0, left="")

    def __enter__(self) -> Bar:
        self._display.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self._display.stop()

    def __call__(self, progress: Progress, /) -> None:
        # The bar follows simulated time, which moves while long runs are under way.
        self._display.update(
            self._task,
            total=progress.duration,
            completed=progress.simulated,
            finished=progress.finished,
            runs=progress.runs,
            speed=progress.speed,
            left="" if progress.left is None else f"{clock(progress.left)} left",
        )


class Lines:
    """A line every so often, for a log: no sooner than after ten seconds, and 5 % or a minute."""

    EVERY = 10.0

    def __init__(self) -> None:
        self._told = 0.0
        self._share = 0.0

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __call__(self, progress: Progress, /) -> None:
        share = progress.simulated / progress.duration if progress.duration else 1.0
        waited = progress.elapsed - self._told
        if waited < self.EVERY or (share - self._share < 0.05 and waited < 6 * self.EVERY):
            return
        self._told, self._share = progress.elapsed, share
        # Whoever reads the log may have gone; the runs go on.
        with suppress(OSError):
            print(f"{100 * share:.0f} %: {progress}", file=sys.stderr, flush=True)


class NotebookLine:
    """One line under a notebook's cell."""

    def __init__(self) -> None:
        from IPython.display import display

        self._handle: Any = display({"text/plain": "starting"}, raw=True, display_id=True)

    def __enter__(self) -> NotebookLine:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __call__(self, progress: Progress, /) -> None:
        self._handle.update({"text/plain": str(progress)}, raw=True)


def in_notebook() -> bool:
    """Whether this is a Jupyter kernel; looks only at what is imported already."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in getattr(shell, "config", {})


def watcher() -> AbstractContextManager[Watch]:
    """What shows progress here: a line in a notebook, a bar on a terminal, lines in a log."""
    if in_notebook():
        return NotebookLine()
    return Bar() if sys.stderr.isatty() else Lines()
