"""The folder of results: taken by one process at a time, checked before the first run."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hopyard import _core
from hopyard.database import NAME, EmptyStoreError, StoreError
from hopyard.store import SERIES, Store, here

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hopyard.plan import Planned
    from hopyard.results import Results

LOCK = ".lock"
#: Where results that are to replace others are until they are whole.
NEW = "new"
#: What earlier versions and this one write besides the store.
_TABLES = ("flows", "nodes", "drops", "series", "decisions")
_TABLE_FILES = {f"{name}.{end}" for name in _TABLES for end in ("parquet", "csv")} | {"summary.csv"}


class FolderError(ValueError):
    """A folder cannot take the results: nothing has been run."""


class Folder:
    """A folder that this process has taken for its results.

    Raises:
        FolderError: when the folder cannot be made or written, another process has taken it, or it
            holds something else.
    """

    def __init__(self, path: Path, cases: Sequence[Planned], *, force: bool = False) -> None:
        self.path = path
        #: What the user should know about what was here.
        self.notes: list[str] = []
        self._replaces = False
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = _lock(path)
        except OSError as error:
            raise FolderError(f"{path} cannot be a folder for results: {error.strerror}") from error
        except ValueError as error:
            raise FolderError(f"{str(path)!r} cannot be a folder for results: {error}") from error
        try:
            self._finish_former()
            self.store = self._open(cases, force=force)
            self.store.sweep()
            self.store.register(cases)
        except BaseException as error:
            os.close(self._lock)
            if isinstance(error, OSError) and not isinstance(error, FolderError):
                raise FolderError(f"{path} cannot take results: {error}") from error
            raise

    @property
    def where(self) -> Path:
        """Where the results are: the folder itself, or a part of it until they replace others."""
        return self.store.folder

    def _open(self, cases: Sequence[Planned], *, force: bool) -> Store:
        if force and not _empty(self.path):
            self._replaces = True
            new = self.path / NEW
            if new.exists() and not (new / NAME).exists() and not _empty(new):
                raise FolderError(f"{new} holds files that are no results; choose another folder")
            # Former results that were to replace others: they are gone on with, if they are the
            # same.
            if (new / NAME).exists() and reason_against(new, cases) is not None:
                shutil.rmtree(new)
            new.mkdir(exist_ok=True)
            return Store(new, write=True)
        reason = reason_against(self.path, cases)
        if reason is not None:
            raise FolderError(
                f"{self.path} {reason}; choose another folder, or replace them with --force"
            )
        store = Store(self.path, write=True)
        for maker in store.makers():
            if maker.platform != here():
                self.notes.append(
                    f"{maker.runs} runs in {self.path} were made by Hopyard {maker.version} on "
                    f"{maker.platform}; this is {here()}"
                )
        return store

    def missing(self, cases: Sequence[Planned]) -> list[Planned]:
        """The cases with those runs that are not here; failed ones are made again.

        Cases that differ in their names only have the same runs: these are made once.
        """
        found = []
        planned: dict[tuple[str, int], set[int]] = {}
        for case in cases:
            same = [name for each in cases if each.key == case.key for name in each.series]
            mine = _missing(self.store, case.sampling(same))
            known = planned.setdefault(case.key, set())
            runs = [run for run in mine.runs if run not in known]
            known.update(runs)
            found.append(mine.only(runs))
        return found

    def write(self, results: Results, format: str, measures: Sequence[str] = ()) -> list[Path]:
        """Writes the tables, and moves everything to its place if it replaces other results."""
        from hopyard.tables import write

        where = self.where
        written = write(results, where, format, _former_files(where), measures)
        self.store.note(files=json.dumps([path.name for path in written]))
        if self._replaces and results.complete:
            self.store.note(replaces="yes")
            self.store.close()
            self._finish_former()
            self._replaces = False
            self.store = Store(self.path, write=True)
            written = [self.path / path.name for path in written]
        return written

    def drawn(self, names: Iterable[str]) -> None:
        """Notes the plots that belong to these results; others go with the next ones."""
        self.store.add_files(names)

    def close(self) -> None:
        """Lets the folder go."""
        try:
            self.store.close()
        finally:
            os.close(self._lock)

    def _finish_former(self) -> None:
        """Moves results that are whole to the place of those that they replace."""
        new = self.path / NEW
        if not (new / NAME).exists():
            return
        try:
            with Store(new) as store:
                if store.meta("replaces") != "yes":
                    return
        except StoreError:
            return
        # The old tables go first: they can be made from the old store again, and never stand
        # beside the new one.
        for name in _former_files(self.path):
            (self.path / name).unlink(missing_ok=True)
        if (new / SERIES).is_dir():
            (self.path / SERIES).mkdir(exist_ok=True)
            for path in sorted((new / SERIES).iterdir()):
                path.replace(self.path / SERIES / path.name)
        for end in ("-wal", "-shm", ""):
            # The log of the old store must not meet the new one.
            (self.path / f"{NAME}{end}").unlink(missing_ok=True)
        (new / NAME).replace(self.path / NAME)
        for path in sorted(new.iterdir()):
            if path.is_file():
                path.replace(self.path / path.name)
        shutil.rmtree(new, ignore_errors=True)
        with Store(self.path, write=True) as store:
            store.note(replaces="no")


def reason_against(folder: Path, cases: Sequence[Planned]) -> str | None:
    """Why the results of these cases cannot be added to those of a folder; none if they can."""
    if not (folder / NAME).exists():
        return None if _empty(folder) else "holds files that are no results of this version"
    try:
        with Store(folder) as store:
            stored = store.cases()
            makers = store.makers()
            series = {case.key: store.kept(*case.key) for case in cases}
    except EmptyStoreError:
        return None
    except StoreError as error:
        return f"holds something that is no store of results ({error})"
    if not makers:
        return None
    theirs = {(case.config, case.seed): case.scenario for case in stored}
    ours = {case.key: case.scenario for case in cases}
    if not (theirs.keys() <= ours.keys() or ours.keys() <= theirs.keys()):
        key = next(key for key in theirs if key not in ours)
        return f"holds results of another scenario ({theirs[key]}, {key[0]}, seed {key[1]})"
    for maker in makers:
        if (maker.version, maker.build) != (_core.__version__, _core.BUILD):
            return (
                f"holds {maker.runs} runs of Hopyard {maker.name}, and this is "
                f"{_core.__version__} (build {_core.BUILD}): their results may differ"
            )
    for case in cases:
        for kept in series[case.key].values():
            if kept.quantities and case.series and kept.interval != case.interval:
                return f"holds series sampled every {kept.interval}, not every {case.interval}"
    return None


def default(cases: Sequence[Planned]) -> Path:
    """The folder for results that were given none: results/NAME, or NAME-2 and so on."""
    name = "-".join(dict.fromkeys(case.scenario for case in cases))
    safe = re.sub(r"[^\w.+=-]+", "_", name).strip("._")[:100] or "scenario"
    number = 1
    while True:
        path = Path("results") / (safe if number == 1 else f"{safe}-{number}")
        if not path.exists() or (reason_against(path, cases) is None and not _taken(path)):
            return path
        number += 1


def _missing(store: Store, case: Planned) -> Planned:
    kept = {run: each for run, each in store.kept(*case.key).items() if each.state == "done"}
    # Quantities that former runs have sampled are sampled again: nothing is lost by it.
    sampled = sorted({name for each in kept.values() for name in each.quantities})
    runs = [
        run
        for run in case.runs
        if run not in kept or not kept[run].quantities.issuperset(case.series)
    ]
    return (case.sampling(sampled) if runs and case.series else case).only(runs)


def _empty(folder: Path) -> bool:
    return not any(path.name != LOCK for path in folder.iterdir())


def _former_files(folder: Path) -> set[str]:
    """What was written beside the store of a folder."""
    from hopyard.measures import MEASURES

    names = set(_TABLE_FILES) | {f"{name}.png" for name in MEASURES}
    with suppress(StoreError, sqlite3.Error), Store(folder) as store:
        names |= set(json.loads(store.meta("files") or "[]"))
    return names


def _lock(folder: Path) -> int:
    """Takes the folder for this process; the operating system lets it go when the process ends."""
    import fcntl

    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        who = os.read(handle, 500).decode(errors="replace").strip()
        os.close(handle)
        raise FolderError(
            f"{folder} is in use by another process ({who or 'which has just begun'}); "
            "wait for it, or choose another folder"
        ) from None
    os.ftruncate(handle, 0)
    os.write(handle, f"{os.getpid()} on {os.uname().nodename}: {' '.join(sys.argv)}"[:500].encode())
    return handle


def _taken(folder: Path) -> bool:
    """Whether another process is writing into a folder."""
    try:
        os.close(_lock(folder))
    except (FolderError, OSError):
        return True
    return False
