"""What commands say and print, and their exit codes."""

from __future__ import annotations

import os
import re
import sys
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hopyard.files import whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from hopyard.terminal.signals import Stop

FAILED, BAD_INPUT, NOT_WRITTEN, BROKEN_PIPE = 1, 2, 3, 141


def say(text: str) -> None:
    """Writes to the standard error, if there is anybody left who reads it."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def tell(text: str) -> int:
    """Writes to the standard output, and gives the exit code."""
    return printed(lambda: print(text))


def printed(write: Callable[[], object]) -> int:
    """Calls a function that prints to the standard output, and gives the exit code."""
    try:
        write()
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):
        # rich ends the process, which has more to do.
        mute()
        return BROKEN_PIPE
    except OSError as error:
        mute()
        say(f"error: standard output: {of(error)}")
        return NOT_WRITTEN
    return 0


def mute() -> None:
    """Writes nothing more to the standard output, not even when the interpreter ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def of(error: OSError) -> str:
    """An error of the operating system's with the file that it is about."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


#: What matplotlib says of a letter that its font lacks.
_GLYPH = re.compile(r"^Glyph (\d+) ")


def measure_file(name: str, kind: str | None = None) -> str:
    """The name of a plot; one of a kind that was asked for leaves that of the means alone."""
    return f"{name}-{kind}.png" if kind else f"{name}.png"


def save_plot(figure: Any, path: Path, stop: Stop | None = None) -> Path:
    """Writes a figure whole, and says which letters its font lacks; gives its path.

    Raises:
        Stopped: when a signal came while the figure was made.
    """
    if stop is not None:
        stop.check()
    # The file is written under another name first.
    figure.check_format(path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        whole(path, figure.savefig)
    letters = {found[1] for each in caught if (found := _GLYPH.search(str(each.message)))}
    if letters:
        shown = "".join(chr(int(each)) for each in sorted(letters))
        say(f"warning: {path}: the font of plots lacks {shown}: a box stands for each")
    return path
