"""Files that are written whole: the former file stays until the new one is complete. Files that one process has."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class WriteError(OSError):
    """A file, which the error names, cannot be written."""


def unfinished(path: Path) -> Path:
    """The name under which a file is written until it is whole."""
    return path.with_name(f".{path.name}.part{path.suffix}")


def check_folder(path: Path) -> None:
    """Checks that the folder of a file is there, before the work whose result the file is to have.

    Raises:
        WriteError: when there is no such folder, or it cannot be written.
    """
    folder, code = path.parent, 0
    if not folder.is_dir():
        code = errno.ENOTDIR if folder.exists() else errno.ENOENT
    elif not os.access(folder, os.W_OK):
        code = errno.EACCES
    if code:
        raise WriteError(code, f"{os.strerror(code)}: expected a folder that can be written, found {folder}", str(path))


def whole(path: Path, save: Callable[[Path], object]) -> None:
    """Writes a file beside its place, and moves it there when it is whole and on the disk.

    A device, or another file that is no ordinary one, is written in place.

    Raises:
        WriteError: when it cannot be written.
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
        raise WriteError(error.errno or 0, reason, str(path)) from error
    finally:
        if not in_place:
            beside.unlink(missing_ok=True)


#: A place behind the end of a file: Windows lets nobody read what is locked.
_FAR = 1 << 30


def lock(handle: int) -> bool:
    """Takes an open file for this process, until the process ends. Returns whether no other process has it."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(handle, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
        return True
    try:
        import fcntl
    except ImportError:
        # In a browser there is no other process.
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def write_text(path: Path, text: str) -> None:
    """Writes a text.

    Raises:
        OSError: when it cannot be written; it names the file.
    """
    whole(path, lambda beside: beside.write_text(text, encoding="utf-8", newline=""))
