"""Files that are written whole: the former file stays until the new one is complete."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def unfinished(path: Path) -> Path:
    """The name under which a file is written until it is whole."""
    return path.with_name(f".{path.name}.part{path.suffix}")


def whole(path: Path, save: Callable[[Path], object]) -> None:
    """Writes a file beside its place, and moves it there when it is whole and on the disk.

    A device, or another file that is no ordinary one, is written in place.

    Raises:
        OSError: when it cannot be written; it names the file.
    """
    # A link stays a link: the file that it names is replaced.
    place = path.resolve() if path.is_symlink() else path
    in_place = place.exists() and not place.is_file()
    beside = place if in_place else unfinished(place)
    try:
        save(beside)
        if not in_place:
            with beside.open("rb+") as file:
                os.fsync(file.fileno())
            beside.replace(place)
    except OSError as error:
        # pyarrow's errors do not name the file.
        reason = error.strerror or str(error).rpartition("] ")[2] or str(error)
        raise OSError(error.errno or 0, reason, str(path)) from error
    finally:
        if not in_place:
            beside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a text.

    Raises:
        OSError: when it cannot be written; it names the file.
    """
    whole(path, lambda beside: beside.write_text(text, encoding="utf-8", newline=""))
