"""Whether a folder can take results: what it holds, and what in it belongs to somebody else."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from hopyard import _core
from hopyard.errors import StoreError
from hopyard.scenario.recorded import is_recorded
from hopyard.store.database import NAME, EmptyStoreError
from hopyard.store.reading import LOCK, OWN, Reader
from hopyard.terminal.words import many

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from hopyard.scenario.plan import Planned

#: The most names in a message.
MOST_NAMES = 5
#: How the reason begins where the file of the store is damaged, or another one.
NO_STORE = "holds something that is no store of results"


class FolderError(ValueError):
    """A folder cannot take the results: nothing has been run."""


def reason_against(folder: Path, cases: Sequence[Planned], study: str | None = None) -> str | None:
    """Why the results of these cases cannot be added to those of a folder; none if they can.

    Those of a study can be added to those of the same study, whose points may have changed.
    """
    if not (folder / NAME).exists():
        return None if is_empty(folder) else "holds files that are no results of this version"
    try:
        with Reader(folder) as store:
            stored = store.cases()
            makers = store.makers()
            whose = store.meta("study")
            series = {case.key: store.kept(*case.key) for case in cases}
    except EmptyStoreError:
        return None
    except StoreError as error:
        return f"{NO_STORE} ({error})"
    if makers and whose != study:
        holds = "results of runs" if whose is None else f"results of the study {whose}"
        return f"holds {holds}, not of {'runs' if study is None else f'the study {study}'}"
    if not makers:
        return None
    theirs = {(case.config, case.seed): case.scenario for case in stored}
    ours = {case.key: case.scenario for case in cases}
    if study is None and not (theirs.keys() <= ours.keys() or ours.keys() <= theirs.keys()):
        key = next(key for key in theirs if key not in ours)
        return f"holds results of another scenario ({theirs[key]}, {key[0]}, seed {key[1]})"
    for maker in makers:
        if (maker.version, maker.build) != (_core.__version__, _core.BUILD):
            return (
                f"holds {many(maker.runs, 'run')} of Hopyard {maker.name}, and this is "
                f"{_core.__version__} (build {_core.BUILD}): their results may differ"
            )
    for case in cases:
        for kept in series[case.key].values():
            sampled = any(not is_recorded(name) for name in kept.quantities)
            if sampled and case.series and kept.interval != case.interval:
                return f"holds series sampled every {kept.interval}, not every {case.interval}"
    return None


def is_empty(folder: Path) -> bool:
    """Whether there is nothing in a folder but the lock."""
    return not any(path.name != LOCK for path in folder.iterdir())


def known_files(folder: Path) -> list[str]:
    """The files beside the store of a folder that belong to its results; none without a store.

    Raises:
        StoreError: when there is something else in the place of the store.
    """
    if not (folder / NAME).exists():
        return []
    try:
        with Reader(folder) as store:
            return store.files()
    except EmptyStoreError:
        return []


def foreign(folder: Path) -> list[str]:
    """The names of what Hopyard did not write into a folder.

    Raises:
        StoreError: when there is something else in the place of the store.
    """
    own = {*OWN, *known_files(folder)}
    names = sorted(path.name for path in folder.iterdir())
    # A process that was killed may have left files that it was writing, whose names are hidden.
    return [name for name in names if name not in own and not name.startswith(".")]


def check_free(folder: Path, names: Iterable[str]) -> None:
    """Refuses, before the first run, a folder in which files would be written over.

    Raises:
        FolderError: when a file of one of these names is there that the store does not name.
        StoreError: when there is something else in the place of the store.
    """
    there = [name for name in names if os.path.lexists(folder / name)]
    others = sorted(set(there).difference(known_files(folder))) if there else []
    if others:
        raise FolderError(
            f"{folder} has {listed(others)}, which Hopyard did not write there: move what is "
            "yours, or choose another folder"
        )


def check_own(folder: Path, names: Iterable[str], known: Collection[str]) -> None:
    """Refuses to write over files other than the known ones, when the runs are made.

    Raises:
        FileExistsError: when one of the other names is there.
    """
    for name in names:
        if name not in known and os.path.lexists(folder / name):
            reason = "it is there, and Hopyard did not write it"
            raise FileExistsError(errno.EEXIST, reason, str(folder / name))


def listed(names: Sequence[str]) -> str:
    """Names in words; not too many of them."""
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more
