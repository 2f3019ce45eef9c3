"""The folder of results: taken by one process at a time, checked before the first run."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from hopyard.errors import StoreError, lacks_room
from hopyard.files import lock, unfinished
from hopyard.scenario.recorded import has_all
from hopyard.store import replacing
from hopyard.store.folder_check import (
    NO_STORE,
    FolderError,
    check_free,
    check_own,
    foreign,
    is_empty,
    listed,
    reason_against,
)
from hopyard.store.reading import LOCK
from hopyard.store.records import here, kernel_of
from hopyard.store.store import Store
from hopyard.terminal.words import many

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hopyard.scenario.plan import Planned
    from hopyard.store.records import StoredCase
    from hopyard.tables.measured import Measured


class Folder:
    """A folder that this process has taken for its results.

    Args:
        path: the folder.
        cases: what is to be run.
        force: whether the results here are replaced.
        writes: names of files that are going to be written beside the store.
        study: the name of the study of which these are all points.

    Raises:
        FolderError: when the folder cannot be made or written, another process has taken it, or it
            holds something else.
        StoreError: when there is no room for a store; nothing has been run.
    """

    def __init__(
        self,
        path: Path,
        cases: Sequence[Planned],
        *,
        force: bool = False,
        writes: Iterable[str] = (),
        study: str | None = None,
    ) -> None:
        self.path = path
        #: What the user should know about what was here.
        self.notes: list[str] = []
        self._replaces = False
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = _lock(path)
        except OSError as error:
            text = f"{path} cannot be a folder for results: {error.strerror}"
            raise _refused(text, error) from error
        except FolderError:
            raise
        except ValueError as error:
            raise FolderError(f"{str(path)!r} cannot be a folder for results: {error}") from error
        try:
            replacing.finish(path)
            self.store = self._open(cases, force=force, study=study)
            check_free(path, writes)
            self.store.sweep()
            # A process that was killed may have left what it was writing.
            for name in self.store.files():
                unfinished(self.store.folder / name).unlink(missing_ok=True)
            if study is not None:
                self.store.note(study=study)
            self.store.register(cases, anew=self._replaces or study is not None)
        except BaseException as error:
            os.close(self._lock)
            if isinstance(error, OSError) and not isinstance(error, FolderError):
                raise _refused(f"{path} cannot take results: {error}", error) from error
            raise

    @property
    def where(self) -> Path:
        """Where the results are: the folder itself, or a part of it until they replace others."""
        return self.store.folder

    def _open(self, cases: Sequence[Planned], *, force: bool, study: str | None) -> Store:
        if force and not is_empty(self.path):
            self._replaces = True
            others = foreign(self.path)
            if others:
                self.notes.append(
                    f"{self.path} has files that Hopyard did not write, which stay as they are: {listed(others)}"
                )
            return replacing.begin(self.path, cases)
        reason = reason_against(self.path, cases, study)
        if reason is not None:
            # What belongs to a store that cannot be read is not known: nothing here is replaced.
            way = "move it away" if reason.startswith(NO_STORE) else "replace them with --force"
            raise FolderError(f"{self.path} {reason}; choose another folder, or {way}")
        store = Store(self.path, write=True)
        for maker in store.makers():
            # A kernel comes after the platform: it belongs to the case, and not to the machine.
            system, _, _ = maker.platform.partition(", ")
            if system != here():
                self.notes.append(
                    f"{_were(maker.runs, self.path)} made by Hopyard {maker.version} on {system}; this is {here()}"
                )
        self.notes += _other_kernels(store, cases)
        return store

    def missing(self, cases: Sequence[Planned], *, retry: bool = True) -> list[Planned]:
        """The cases with those runs that are not here; with `retry`, failed ones are made again.

        Cases that differ in their names only have the same runs: these are made once.
        """
        found = []
        planned: dict[tuple[str, int], set[int]] = {}
        stored = {(case.config, case.seed): case for case in self.store.cases()}
        same: dict[tuple[str, int], list[str]] = {}
        for case in cases:
            same.setdefault(case.key, []).extend(case.observed)
        for case in cases:
            sampled = case.sampling(same[case.key])
            mine = _missing(self.store, sampled, stored[case.key], retry=retry)
            known = planned.setdefault(case.key, set())
            runs = [run for run in mine.runs if run not in known]
            known.update(runs)
            found.append(mine.only(runs))
        return found

    def write(self, results: Measured, format: str, measures: Sequence[str] = ()) -> list[Path]:
        """Writes the tables, and moves everything to its place if it replaces other results."""
        from hopyard.tables.writing import write

        self.store.check_there()
        where = self.where
        former = self.store.files()

        def begin(names: Sequence[str]) -> None:
            check_own(where, names, former)
            # A process that is killed now has noted all that may be there.
            self.store.add_files(names)

        written = write(results, where, format, measures, begin)
        names = [path.name for path in written]
        for name in set(former).difference(names):
            (where / name).unlink(missing_ok=True)
        self.store.note(files=json.dumps(names), complete="yes" if results.complete else "no")
        if self._replaces and results.complete:
            self.store.note(replaces=replacing.WHOLE)
            self.store.close()
            replacing.finish(self.path)
            self._replaces = False
            self.store = Store(self.path, write=True)
            written = [self.path / name for name in names]
        return written

    def finish_study(self, *, complete: bool) -> None:
        """Notes that a study's runs have ended; they take the place of those that they replace."""
        self.store.note(complete="yes" if complete else "no")
        if self._replaces:
            self.store.note(replaces=replacing.WHOLE)
            self.store.close()
            replacing.finish(self.path)
            self._replaces = False
            self.store = Store(self.path, write=True)

    def drawing(self, name: str) -> Path:
        """The file of a plot, which belongs to these results; it goes with the next ones."""
        return drawing(self.store, name)

    def close(self) -> None:
        """Lets the folder go."""
        try:
            self.store.close()
        finally:
            os.close(self._lock)


def _refused(text: str, error: OSError) -> FolderError | StoreError:
    """The error about a folder in which there is no room, or which cannot take results."""
    if lacks_room(error):
        full = StoreError(f"{text}; nothing has been run")
        full.errno = error.errno
        return full
    damaged = isinstance(error, StoreError)
    return FolderError(f"{text}; choose another folder, or move it away" if damaged else text)


def _were(runs: int, place: Path) -> str:
    return f"{many(runs, 'run')} in {place} {'was' if runs == 1 else 'were'}"


def _other_kernels(store: Store, cases: Sequence[Planned]) -> list[str]:
    """Which kernels have made runs of these cases that are not those which would make them now."""
    found: Counter[tuple[str, str]] = Counter()
    for case in {case.key: case for case in cases if case.core.linux is not None}.values():
        try:
            mine = kernel_of(case)
        except ValueError:
            # The runs may all be there. If not, the error comes before the first one.
            continue
        for kept in store.kept(*case.key).values():
            _, comma, name = kept.platform.partition(", ")
            if comma + name != mine and kept.state == "done":
                found[name, mine.removeprefix(", ")] += 1
    return [
        f"{_were(runs, store.folder)} made with {other or 'an unknown kernel'}; new runs have"
        f" {mine}, and results may differ: --force makes all of them anew"
        for (other, mine), runs in found.items()
    ]


def drawing(store: Store, name: str) -> Path:
    """The file of a plot beside a store, which is noted before it is drawn.

    Raises:
        FileExistsError: when there is such a file that Hopyard did not write.
    """
    check_own(store.folder, [name], store.files())
    store.add_files([name])
    return store.folder / name


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


def _missing(store: Store, case: Planned, stored: StoredCase, *, retry: bool) -> Planned:
    """The case with those of its runs that the store lacks, or has without a series of the case.

    A run that lacks rows, or whose series or segments cannot be read, is lacking.
    """
    wanted = set(case.runs)
    there = store.kept(*case.key)
    kept = {
        run: each
        for run, each in there.items()
        if each.state == "done" and each.whole and (run not in wanted or _is_whole(store, each.files))
    }
    failed = set() if retry else {run for run, each in there.items() if each.state == "failed"}
    runs = [
        run
        for run in case.runs
        if run not in failed
        if run not in kept or not has_all(kept[run].quantities, case.observed)
    ]
    if not runs:
        return case.only(runs)
    # What former calls have sampled is sampled in these runs, too: all runs of a case have it.
    sampled = [*stored.series, *sorted({name for each in kept.values() for name in each.quantities})]
    return case.sampling(sampled, stored.interval).only(runs)


def _is_whole(store: Store, files: Mapping[str, str]) -> bool:
    if not files:
        return True
    from hopyard.tables.tables import read_filed

    try:
        for table, name in files.items():
            read_filed(store.folder / name, table)
    except StoreError:
        return False
    return True


def _lock(folder: Path) -> int:
    """Takes the folder for this process; the operating system lets it go when the process ends."""
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
    if not lock(handle):
        who = os.read(handle, 500).decode(errors="replace").strip()
        os.close(handle)
        raise FolderError(
            f"{folder} is in use by another process ({who or 'which has just begun'}); "
            "wait for it, or choose another folder"
        )
    os.ftruncate(handle, 0)
    os.write(handle, f"{os.getpid()} on {platform.node()}: {' '.join(sys.argv)}"[:500].encode())
    return handle


def _taken(folder: Path) -> bool:
    """Whether another process is writing into a folder."""
    try:
        os.close(_lock(folder))
    except (FolderError, OSError):
        return True
    return False
