"""Running scenarios: the core runs them in its own threads, Python polls it and keeps results."""

from __future__ import annotations

import importlib
import time
import warnings
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from hopyard import _core
from hopyard.errors import CaptureError, SimulationError, path_of
from hopyard.running import memory
from hopyard.scenario.plan import plan, threads
from hopyard.scenario.plan import warnings as doubts
from hopyard.store.records import Record
from hopyard.tables.names import table_files
from hopyard.terminal import signals
from hopyard.terminal.progress import Progress, watcher

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from os import PathLike
    from pathlib import Path

    import pyarrow as pa

    from hopyard.results.results import Results
    from hopyard.running.capture import Capture
    from hopyard.scenario.plan import Given, Planned
    from hopyard.scenario.scenario import Settings
    from hopyard.store.folder import Folder
    from hopyard.terminal.progress import Watch

# Seconds between two polls: short enough for Ctrl-C and the progress display, at little cost.
LOOK = 0.1


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or another signal, with the results of the runs that were finished before it."""

    def __init__(self, results: Results) -> None:
        super().__init__("interrupted; the finished runs are in .results")
        self.results = results


def run(
    scenario: Given | Iterable[Given],
    *,
    runs: int | Iterable[int] | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    set: Settings | None = None,
    series: str | Sequence[str] = (),
    segments: bool | str | Iterable[int] | None = None,
    progress: bool | Watch | None = None,
    out: str | PathLike[str] | None = None,
    format: str = "parquet",
    force: bool = False,
    capture: str | PathLike[str] | None = None,
    capture_nodes: str | Iterable[int] | None = None,
    capture_kinds: str | Iterable[str] | None = None,
) -> Results:
    """Runs a scenario, or several, and returns what was measured.

    Args:
        scenario: a scenario, its keys as a dict, the path of a file, or several of these to
            compare.
        runs: runs of each case, or the numbers of the runs to make (`[7]` is run 7 alone); the
            scenario's own number of runs if not given.
        seed: the seed; the scenario's own if not given. Run `n` of one seed is the same on every
            machine, and all cases of a comparison meet the same movement and channel in it.
        jobs: runs at a time; one for each core if not given. The results do not depend on it.
        set: keys to change, `{"flow.tcp": ["vegas", "newreno"]}`; a list makes a comparison.
        series: quantities to sample over time, such as `"cwnd"`.
        segments: the flows whose TCP segments are recorded: true for all, numbers, or `"0,2..4"`;
            as the scenario says if not given.
        progress: whether to show the progress of the runs (by default it is shown on a terminal and
            in a notebook), or a function that receives it.
        out: a folder to which each run is added as it ends, and the tables at the end. Runs that
            are in it are not made again.
        format: how the tables are written into the folder: "parquet" or "csv".
        force: replace the folder's results when the new ones are complete, and captures.
        capture: a file for a capture (pcapng) of what the nodes send, receive and drop. Where
            several runs are made, each has a file: the name gets what is compared and the number.
        capture_nodes: the nodes that are captured, as numbers or as `"0,3..5"`; all if not given.
        capture_kinds: what is captured there: "radio", "damaged", "wire", "host", "drops", or
            several of these; radio, wire and drops if not given.

    Raises:
        ScenarioError: when a scenario is wrong, with every problem found.
        ValueError: when there is nothing to run, too much to run, or the same run twice, and when
            the folder cannot take the results. Then nothing has been run.
        Interrupted: on Ctrl-C, with the results of the finished runs.
        SimulationError: when a congestion control written in Python raised an error, or an
            invariant did not hold, which is a defect of Hopyard. The message says how to repeat
            the run; the error has the results of the finished runs.
        StoreError: when the folder could not take a finished run or the tables; the folder has
            the runs that the message names as kept.
        CaptureError: when a capture could not be written to its end, as on a full disk, with the
            results, which are complete.
    """
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise TypeError(f"progress: expected true, false or a function, found {progress!r}")
    cases = plan(scenario, runs=runs, seed=seed, set=set, series=series, segments=segments)
    for text in doubts((case.file, case.core) for case in cases if case.core.linux is not None):
        warnings.warn(text.removeprefix("warning: "), stacklevel=2)
    capturing = _capture(capture, capture_nodes, capture_kinds, cases, force=force)
    if out is None:
        return make(cases, jobs=jobs, progress=progress, capture=capturing)
    from hopyard.store.folder import Folder
    from hopyard.tables.tables import check_format

    check_format(format)
    with signals.handled(leave=False) as stop:
        where = path_of(out, "a folder for the results (out)")
        check_machine(cases, jobs, where)
        folder = Folder(where, cases, force=force, writes=table_files(format))
        try:
            ahead = ("pyarrow.csv", f"pyarrow.{format}")
            results = make(cases, jobs=jobs, progress=progress, folder=folder, capture=capturing, ahead=ahead)
            folder.write(results, format)
        except (Interrupted, SimulationError, CaptureError) as error:
            if error.results is not None:
                folder.write(error.results, format)
            raise
        finally:
            folder.close()
        if stop.number is not None:
            raise Interrupted(results)
        return results


def _capture(
    path: str | PathLike[str] | None,
    nodes: str | Iterable[int] | None,
    kinds: str | Iterable[str] | None,
    cases: Sequence[Planned],
    *,
    force: bool,
) -> Capture | None:
    """The capture that was asked for, checked before the first run."""
    if path is None:
        if nodes is not None or kinds is not None:
            raise ValueError("capture_nodes and capture_kinds need a file to capture to (capture)")
        return None
    from hopyard.running.capture import Capture

    capture = Capture.of(path, nodes, kinds, force=force)
    for text in capture.check(cases):
        warnings.warn(text.removeprefix("warning: "), stacklevel=3)
    return capture


def kernels_of(cases: Sequence[Planned], threads: int = 1) -> dict[str, tuple[Path, Path, Path]] | None:
    """The kernels that cases need, with memory for this many runs at a time.

    Raises:
        ScenarioError: when a program is not there, with its place in the scenario.
        ValueError: when a kernel is not there, or cannot run.
    """
    if all(case.core.linux is None for case in cases):
        return None
    from hopyard.kernels.use import needed

    return needed([(case.core, len(case.runs)) for case in cases], threads)


def check_machine(cases: Sequence[Planned], jobs: int | None, path: Path) -> None:
    """Refuses what cannot run on this machine before a folder for its results is made.

    Where there are results already, those runs count that are missing there: `make` sees to them.

    Raises:
        ScenarioError, ValueError: as `make` does before the first run.
    """
    from hopyard.store.folder_check import is_empty

    if path.exists() and not (path.is_dir() and is_empty(path)):
        return
    # Cases that differ in their names only are made once.
    wanted = list({case.key: case for case in cases}.values())
    count = threads(jobs, sum(len(case.runs) for case in wanted))
    memory.check(wanted, count)
    kernels_of(wanted, count)


def make(
    cases: Sequence[Planned],
    *,
    jobs: int | None = None,
    progress: bool | Watch | None = None,
    folder: Folder | None = None,
    capture: Capture | None = None,
    ahead: Sequence[str] = (),
) -> Results:
    """Makes the runs of cases. With a folder, each run is added to it as it ends.

    The modules `ahead`, which are needed for the results, are imported while the runs are in
    progress.

    Raises: as `run` does.
    """
    wanted = cases if folder is None else folder.missing(cases)
    count = threads(jobs, sum(len(case.runs) for case in wanted))
    memory.check(wanted, count)
    kernels = kernels_of(wanted, count)
    captures = None if capture is None else capture.core(cases, wanted)
    watch = watcher() if progress is None or progress is True else nullcontext(progress or None)
    keep = _Memory(cases) if folder is None else _Stored(cases, wanted, folder)
    with signals.handled(leave=False) as stop, watch as tell:
        former, stop.idle = stop.idle, False
        try:
            cores = [each.core for each in wanted]
            batch = _core.Batch(cores, [each.runs for each in wanted], count, captures, kernels)
            with cancelling(batch):
                for name in ("hopyard.results.results", *ahead):
                    importlib.import_module(name)
                _look_on(batch, keep, tell, stop, capture)
        except BaseException:
            stop.idle = former
            raise
        results = keep.results()
    if stop.number is not None:
        raise Interrupted(results)
    if results.failures:
        raise SimulationError.of(results.failures, results)
    if capture is not None and capture.errors:
        raise CaptureError.of([*capture.errors.values()], results)
    return results


@contextmanager
def cancelling(batch: _core.Batch) -> Iterator[None]:
    """Ends the runs of a batch where an error ends the work with it."""
    try:
        yield
    except BaseException:
        batch.cancel()
        # The interpreter may end after this: no thread may be executing a class of the user's then. A cancelled run
        # ends at its next event.
        while not batch.poll(LOOK).over:
            pass
        raise


def _look_on(
    batch: _core.Batch, keep: _Memory | _Stored, tell: Watch | None, stop: signals.Stop, capture: Capture | None
) -> None:
    began = time.monotonic()
    while True:
        state = batch.poll(LOOK)
        if stop.number is not None:
            # Runs end when they next check the flag. Parts of runs are not kept.
            batch.cancel()
        records, tables = batch.take()
        if capture is not None:
            errors = {(it.case, it.run): it.capture_error for it in records if it.capture_error}
            capture.errors.update(errors)
        if records:
            keep.add(records, tables)
        if tell:
            ended = state.finished + state.failed
            elapsed = time.monotonic() - began
            tell(Progress(ended, batch.runs, state.simulated, batch.duration, elapsed))
        if state.over:
            return


class _Memory:
    """Keeps runs in memory."""

    def __init__(self, cases: Sequence[Planned]) -> None:
        self._cases = cases
        self._records: list[Record] = []
        self._tables: list[dict[str, pa.Table]] = []

    def add(self, records: Sequence[_core.Run], tables: Mapping[str, _core.Table]) -> None:
        from hopyard.tables.tables import arrow

        self._records += [Record.of(run, self._cases[run.case]) for run in records]
        self._tables.append(arrow(tables))

    def results(self) -> Results:
        from hopyard.results.results import of_batch

        return of_batch(self._cases, self._records, self._tables)


class _Stored:
    """Adds runs to a folder."""

    def __init__(self, cases: Sequence[Planned], wanted: Sequence[Planned], folder: Folder) -> None:
        self._cases = cases
        self._wanted = wanted
        self._folder = folder

    def add(self, records: Sequence[_core.Run], tables: Mapping[str, _core.Table]) -> None:
        from hopyard.tables.tables import arrow

        made = [Record.of(run, self._wanted[run.case]) for run in records]
        self._folder.store.add(self._wanted, made, arrow(tables))

    def results(self) -> Results:
        from hopyard.results.results import of_store

        return of_store(self._folder.store)
