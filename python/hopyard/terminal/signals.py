"""Signals that end the runs: what is finished is kept, and the exit code says which signal it was.

The first signal ends the runs that are under way; what is finished is written. A second one ends
the process at once: the store is whole at every moment. Until this is imported, `hopyard.startup`
says what Ctrl-C does.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

T = TypeVar("T")

# SIGXCPU: the limit on processor time of a shell or a batch system.
NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGXCPU")
# Seconds between two looks for a signal while a thread works.
LOOK = 0.05


class Stopped(BaseException):
    """A signal came while a plot was drawn."""


class Stop:
    """Whether a signal has asked for the end, and what a signal does at the moment."""

    def __init__(self, *, leave: bool) -> None:
        #: The first signal that came.
        self.number: int | None = None
        #: Whether a signal may end the process at once, because nothing is lost by it.
        self.idle = leave
        #: Whether a signal raises `Stopped`: at once, or at the next `check` if it comes during an import.
        self.drawing = False
        #: What Ctrl-C says.
        self.told = "\nThe finished runs are kept. Ctrl-C once more ends at once.\n"
        self._leave = leave

    @property
    def exit_code(self) -> int:
        """What a shell reports for a process that this signal ended."""
        return 128 + (self.number or 0)

    @property
    def name(self) -> str:
        """What the signal is called."""
        if self.number == signal.SIGINT:
            return "Ctrl-C"
        return signal.Signals(self.number).name if self.number else ""

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handles a signal."""
        if self.idle:
            _exit(number, "Interrupted.\n")
        first = self.number is None
        if first:
            self.number = number
            if self.drawing and not _imports(frame):
                raise Stopped
            if number == signal.SIGINT:
                _say(self.told)
        elif number == getattr(signal, "SIGXCPU", None):
            # The kernel repeats it each second until the hard limit, which cannot be handled.
            return
        elif self._leave:
            _exit(number, "")
        else:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raises `Stopped` if a signal has come."""
        if self.number is not None:
            raise Stopped


def _imports(frame: FrameType | None) -> bool:
    """Whether a module is being imported.

    An exception amid the start of an extension module leaves it half made: the import then fails with another
    exception, or the process aborts when the interpreter ends.
    """
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False


def _say(text: str) -> None:
    # The terminal may be gone.
    with suppress(OSError):
        os.write(2, text.encode())


def _exit(number: int, text: str) -> None:
    if text:
        _say(text)
    os._exit(128 + number)


_current: Stop | None = None


@contextmanager
def handled(*, leave: bool) -> Iterator[Stop]:
    """Handles signals until the block ends; inside another such block, that one does.

    With `leave`, all signals of `NAMES` are handled and end the process; without it, as in
    somebody's Python program, only Ctrl-C is, and only where Python itself would handle it.
    """
    global _current
    if _current is not None:
        yield _current
        return
    stop = Stop(leave=leave)
    former: dict[int, object] = {}
    if threading.current_thread() is threading.main_thread():
        for name in NAMES if leave else NAMES[:1]:
            number = getattr(signal, name, None)
            # What the caller ignores, as `nohup` does, stays ignored.
            if number is None or signal.getsignal(number) is signal.SIG_IGN:
                continue
            if leave or signal.getsignal(number) is signal.default_int_handler:
                former[number] = signal.signal(number, stop)
    _current = stop
    try:
        yield stop
    finally:
        _current = None
        for number, handler in former.items():
            signal.signal(number, handler)  # type: ignore[arg-type]


def patiently(work: Callable[[], T]) -> T:
    """Does something in another thread, so that signals are heard meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    found: list[T] = []
    errors: list[BaseException] = []

    def worker() -> None:
        try:
            found.append(work())
        except BaseException as error:
            # The main thread raises it again.
            errors.append(error)

    thread = threading.Thread(target=worker, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        # There is no memory for its stack.
        return work()
    while thread.is_alive():
        thread.join(LOOK)
    if errors:
        raise errors[0]
    return found[0]
