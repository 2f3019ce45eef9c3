"""Results that replace others: made in a folder of their own, and moved when they are whole."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from hopyard.errors import StoreError
from hopyard.store.database import NAME, EmptyStoreError
from hopyard.store.folder_check import FolderError, reason_against
from hopyard.store.reading import NEW, SERIES
from hopyard.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hopyard.scenario.plan import Planned

#: The notes of a store in `NEW`: it is being filled, or it is whole.
BEGUN, WHOLE = "begun", "yes"


def begin(path: Path, cases: Sequence[Planned]) -> Store:
    """The store of the results that will replace the results of a folder.

    The store of a former call that did not end is continued, if it has the same cases or some of them.

    Raises:
        FolderError: when something else is in its place.
    """
    new = path / NEW
    if new.is_dir() and _has_begun(new):
        with Store(new, write=True) as store:
            theirs = {(case.config, case.seed) for case in store.cases()}
        if not theirs <= {case.key for case in cases} or reason_against(new, cases) is not None:
            _remove(new)
    elif new.exists() and not (new.is_dir() and not any(new.iterdir())):
        raise FolderError(
            f"{new} holds files that are no results of a call with --force that was ended; move "
            "them, or choose another folder"
        )
    new.mkdir(exist_ok=True)
    store = Store(new, write=True)
    store.note(replaces=BEGUN)
    return store


def finish(path: Path) -> None:
    """Moves results that are whole to the place of the results that they replace."""
    new = path / NEW
    if not (new / NAME).exists():
        return
    try:
        with Store(new) as store:
            if store.meta("replaces") != WHOLE:
                return
            files, filed = store.files(), store.filed()
    except StoreError:
        return
    # The old tables go first: they can be made from the old store again, and they never stand beside the new store.
    if (path / NAME).exists():
        _remove(path)
    if filed:
        (path / SERIES).mkdir(exist_ok=True)
    # A log that a reader of the store needs is moved before the store.
    for name in (*filed, *files, f"{NAME}-wal", NAME):
        if (new / name).exists():
            (new / name).replace(path / name)
    with Store(path, write=True) as store:
        store.note(replaces="no")
    _clear(new)


def _has_begun(new: Path) -> bool:
    """Whether a folder was made by `begin`."""
    try:
        with Store(new) as store:
            return store.meta("replaces") == BEGUN
    except EmptyStoreError:
        return True
    except StoreError:
        return False


def _remove(folder: Path) -> None:
    """Removes a store, and the files that it names."""
    with suppress(EmptyStoreError), Store(folder) as store:
        for name in store.files():
            (folder / name).unlink(missing_ok=True)
        store.sweep(all_of_them=True)
    for end in ("-wal", "-shm", ""):
        (folder / f"{NAME}{end}").unlink(missing_ok=True)


def _clear(new: Path) -> None:
    """Removes empty folders."""
    (new / f"{NAME}-shm").unlink(missing_ok=True)
    for folder in (new / SERIES, new):
        with suppress(OSError):
            folder.rmdir()
