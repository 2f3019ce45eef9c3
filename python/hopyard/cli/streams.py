"""The standard streams of a process that was started without some of them, as by `>&-`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

#: Of each stream the number, how the file in its place is opened, and how Python uses it. Reading
#: from the first and writing to the second give an error of the operating system's, as before.
_STREAMS = {"stdin": (0, os.O_WRONLY, "r"), "stdout": (1, os.O_RDONLY, "w"), "stderr": (2, os.O_WRONLY, "w")}


def complete() -> None:
    """Opens those that are closed.

    A file that is opened later would take the number of a closed one, and get what is printed.
    Messages to a closed standard error are lost.
    """
    for name, (number, flags, mode) in _STREAMS.items():
        if getattr(sys, name) is not None:
            continue
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is this one: those below it are open.
            os.open(os.devnull, flags)
        with suppress(OSError):
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
