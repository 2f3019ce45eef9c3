"""Sweeps: the runs of a study that are missing in its store, until all are there or narrow enough.

The store is that of `hopyard run`: each run is committed as it ends. Nothing of the results is held
in memory, so that the number of runs does not matter to it.
"""

from __future__ import annotations

import math
import time
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from hopyard import _core
from hopyard.errors import StoreError
from hopyard.running import memory
from hopyard.running.run import LOOK, cancelling, check_machine, kernels_of
from hopyard.scenario.plan import threads
from hopyard.store.database import NAME
from hopyard.store.folder import Folder
from hopyard.store.reading import Reader
from hopyard.store.records import Record
from hopyard.study.checks import check, check_measure, check_runs
from hopyard.study.file import StudyError, check_chosen
from hopyard.study.points import fits, points
from hopyard.study.published import read
from hopyard.study.values import Values
from hopyard.tables.tables import arrow
from hopyard.terminal import signals
from hopyard.terminal.progress import Progress, watcher
from hopyard.terminal.words import many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from hopyard.scenario.plan import Planned
    from hopyard.study.file import Scalar, Study
    from hopyard.study.points import Point
    from hopyard.study.watching import Page, Row
    from hopyard.terminal.progress import Watch
    from hopyard.terminal.signals import Stop

#: Takes runs that have ended: the cases that they are of, what is known of them, their tables.
Add: TypeAlias = "Callable[[Sequence[Planned], Sequence[Record], Mapping[str, pa.Table]], None]"
#: Is told how many runs have ended, the simulated seconds so far, and those of all runs.
Tell: TypeAlias = "Callable[[int, float, float], None]"

#: Runs that are added to a point at a time while its interval is too wide.
BATCH = 10
#: A point whose interval is watched, and of which all runs have failed, gets no more than these.
MOST_FAILURES = 10
#: A point whose interval is watched has this many runs at least.
LEAST_RUNS = 30
#: The most runs of a point, unless another number is given.
MOST = 1000


@dataclass(frozen=True, slots=True)
class Until:
    """The end of a sweep: each point's interval is at most this wide."""

    #: Half of the interval, as a share of the mean.
    share: float
    measure: str
    #: The most runs of a point.
    most: int = MOST


@dataclass
class Outcome:
    """What a sweep has done."""

    points: list[Point]
    #: The runs that were made now, and those that were in the store before.
    made: int = 0
    before: int = 0
    #: The runs that are asked for.
    wanted: int = 0
    failed: list[tuple[Point, int, str]] = field(default_factory=list)
    #: How many of the runs that were made now have failed.
    bad: int = 0
    #: Points that got no further runs, as all of theirs have failed, with the number of these.
    given_up: list[tuple[Point, int]] = field(default_factory=list)
    #: Points whose interval is still too wide, with the width that was reached.
    wide: list[tuple[Point, float]] = field(default_factory=list)
    cpu_s: float = 0.0
    elapsed_s: float = 0.0
    stopped: bool = False

    @property
    def complete(self) -> bool:
        """Whether every run that is asked for is there."""
        return not self.stopped and not self.failed and not self.wide


@dataclass(frozen=True, slots=True)
class Status:
    """How far the runs of a point are."""

    point: Point
    wanted: int
    done: int
    failed: list[tuple[int, str]]


class Executor(Protocol):
    """Makes the runs of cases, and hands each on as it has ended."""

    def check(self, cases: Sequence[Planned], path: Path) -> None:
        """Refuses runs that cannot be made, before the folder for their results is made."""

    def run(self, cases: Sequence[Planned], add: Add, tell: Tell, stop: Stop) -> None:
        """Makes the runs.

        Args:
            cases: the cases with the numbers of their runs.
            add: takes runs that have ended, with the cases that they are of, and their tables.
            tell: is told the runs that have ended, the simulated seconds, and those of all runs.
            stop: says whether a signal asks for the end.
        """

    @property
    def dashboard(self) -> str | None:
        """The address of a page about the workers, if there is one."""

    def close(self) -> None:
        """Lets go of what was taken for the runs."""


class Threads:
    """Threads of this process."""

    dashboard: str | None = None

    def __init__(self, jobs: int | None = None) -> None:
        self._jobs = jobs

    def check(self, cases: Sequence[Planned], path: Path) -> None:
        """Refuses what this machine cannot run."""
        check_machine(cases, self._jobs, path)

    def run(self, cases: Sequence[Planned], add: Add, tell: Tell, stop: Stop) -> None:
        """Makes the runs."""
        count = threads(self._jobs, sum(len(case.runs) for case in cases))
        memory.check(cases, count)
        kernels = kernels_of(cases, count)
        cores, wanted = [each.core for each in cases], [each.runs for each in cases]
        batch = _core.Batch(cores, wanted, count, None, kernels)
        with cancelling(batch):
            while True:
                state = batch.poll(LOOK)
                if stop.number is not None:
                    batch.cancel()
                runs, tables = batch.take()
                if runs:
                    records = [Record.of(run, cases[run.case]) for run in runs]
                    add(cases, records, arrow(tables))
                tell(state.finished + state.failed, state.simulated, batch.duration)
                if state.over:
                    return

    def close(self) -> None:
        """The threads have ended with the runs."""


#: What the name of the folder of a quick version ends with.
_QUICK = "-quick"


def default(study: Study, *, quick: bool) -> Path:
    """The folder of a study's results: results/NAME, and results/NAME-quick."""
    return Path("results") / f"{study.name}{_QUICK if quick else ''}"


def sweep(
    study: Study,
    *,
    out: Path | None = None,
    runs: int | None = None,
    seed: int | None = None,
    quick: bool = False,
    until: Until | None = None,
    only: Mapping[str, Scalar | list[Scalar]] | None = None,
    numbers: Sequence[int] = (),
    retry: bool = False,
    force: bool = False,
    executor: Executor | None = None,
    progress: bool | Watch | None = None,
    tell: Callable[[int], None] | None = None,
    page: Page | None = None,
) -> Outcome:
    """Makes the runs of a study that its store lacks.

    Args:
        study: the study.
        out: the folder of the store.
        runs: runs of each point; the study's own number if not given.
        seed: the seed; the study's own if not given.
        quick: whether to run the quick version.
        until: adds runs to each point until its interval is narrow enough.
        only: the values of axes of the points that are run now; the others stay as they are.
        numbers: the numbers of the runs that are made now; all that are missing if not given.
        retry: whether to make runs again that failed before.
        force: whether to replace the results of another study or build in the folder.
        executor: what makes the runs; threads of this process if not given.
        progress: whether to show the progress, or a function that receives it.
        tell: is told how many points have been read, of a study that has many.
        page: a page in a file that shows the progress, the failures and the points.

    Raises:
        StudyError: when a point is no valid scenario; nothing has been run.
        FolderError: when the folder cannot take the results; nothing has been run.
        StoreError: when a run could not be added to the store; those before it are kept.
    """
    found = points(study, quick=quick, runs=runs, seed=seed, tell=tell)
    if quick:
        # It may leave out what a claim is about.
        read(study)
    else:
        check(study, found)
    began = time.monotonic()
    if only:
        check_chosen(study, only)
        if not any(fits(point.labels, only) for point in found):
            raise StudyError([f"{study.path}: there is no point {_named(only)}"])
    most = max(len(point.planned.runs) for point in found)
    if numbers and until is not None:
        raise ValueError("single runs are made without --until: expected one of them")
    if numbers and max(numbers) >= most:
        raise ValueError(f"expected numbers of runs from 0 to {most - 1}, found {max(numbers)}")
    if until is not None and until.most < most:
        raise ValueError(f"expected --most {most} or more, the runs of a point, found {until.most}")
    if until is not None:
        check_measure(study, until.measure, found)
    check_runs(study, found)
    with signals.handled(leave=False) as stop:
        where = out or default(study, quick=quick)
        executor = executor or Threads()
        chosen = [each for each in found if fits(each.labels, only or {})]
        executor.check([point.planned for point in chosen], where)
        folder = Folder(where, [point.planned for point in found], force=force, study=study.name)
        former, stop.idle = stop.idle, False
        try:
            outcome = Outcome(found)
            work = _Work(folder, executor, stop, outcome)
            shown = progress is None or progress is True
            with watcher() if shown else nullcontext(_watch(progress)) as own:
                watch = _both(own, page)
                if page is not None:
                    page.begin(lambda: _rows(study, outcome.points, folder.store))
                if numbers:
                    chosen = [_restricted(each, numbers) for each in chosen]
                work.fill(chosen, watch, retry=retry or bool(numbers))
                if until is not None:
                    places = [n for n, each in enumerate(found) if fits(each.labels, only or {})]
                    found = _narrow(study, work, found, places, until, watch)
            lacking = 0
            for state in status(found, folder.store):
                outcome.failed += [(state.point, run, error) for run, error in state.failed]
                lacking += state.wanted - state.done
            folder.finish_study(complete=not lacking)
            # Points of one scenario share their runs.
            outcome.points = [each for each in found if fits(each.labels, only or {})]
            keys = {(p.planned.key, run) for p in outcome.points for run in p.planned.runs}
            outcome.wanted = len(keys)
            outcome.stopped = stop.number is not None
            outcome.elapsed_s = time.monotonic() - began
            if page is not None:
                page.end(_ended(outcome, stop))
            return outcome
        finally:
            stop.idle = former
            folder.close()


def _watch(progress: bool | Watch | None) -> Watch | None:
    return None if progress is None or isinstance(progress, bool) else progress


def _both(first: Watch | None, second: Watch | None) -> Watch | None:
    """What tells two watches of the progress, where there are two."""
    if first is None or second is None:
        return first or second
    one, two = first, second

    def tell(progress: Progress) -> None:
        one(progress)
        two(progress)

    return tell


def _rows(study: Study, found: Sequence[Point], store: Reader) -> list[Row]:
    def name(point: Point) -> str:
        # Points of several experiments may have the same values.
        title = study.experiments[point.experiment].title or point.experiment
        return f"{title}: {point}" if len(study.experiments) > 1 else str(point)

    return [(name(it.point), it.point.planned.key, it.wanted, it.done, it.failed) for it in status(found, store)]


def _ended(outcome: Outcome, stop: Stop) -> str:
    """The end of a sweep in a sentence."""
    if outcome.stopped:
        return f"{stop.name} ended the sweep; started again, it goes on where it was."
    if outcome.failed:
        return f"The sweep has ended; {many(len(outcome.failed), 'run')} failed."
    if outcome.wide:
        return f"The sweep has ended; the intervals of {many(len(outcome.wide), 'point')} are still too wide."
    return "The sweep has ended; every run is there."


def _named(only: Mapping[str, Scalar | list[Scalar]]) -> str:
    return ", ".join(f"{name}={value}" for name, value in only.items())


def _restricted(point: Point, numbers: Sequence[int]) -> Point:
    """A point with those of its runs that have these numbers."""
    mine = [run for run in point.planned.runs if run in numbers]
    return replace(point, planned=point.planned.only(mine))


class _Work:
    """Runs of points, made and added to a folder."""

    def __init__(self, folder: Folder, executor: Executor, stop: Stop, outcome: Outcome) -> None:
        self.folder = folder
        self.stop = stop
        self.outcome = outcome
        self._executor = executor

    def fill(self, found: Sequence[Point], tell: Watch | None, *, retry: bool = False) -> None:
        """Makes the runs that the store lacks."""
        planned = [point.planned for point in found]
        cases = [case for case in self.folder.missing(planned, retry=retry) if case.runs]
        lacking = sum(len(case.runs) for case in cases)
        if not self.outcome.made:
            self.outcome.before = len({(c.key, run) for c in planned for run in c.runs}) - lacking
        if not cases or self.stop.number is not None:
            return
        began = time.monotonic()

        def add(mine: Sequence[Planned], records: Sequence[Record], tables: Mapping[str, pa.Table]) -> None:
            self.folder.store.add(mine, records, tables)
            self.outcome.made += len(records)
            self.outcome.bad += sum(each.state == "failed" for each in records)
            self.outcome.cpu_s += sum(each.cpu_s or 0.0 for each in records)

        def told(ended: int, simulated: float, duration: float) -> None:
            if tell:
                tell(Progress(ended, lacking, simulated, duration, time.monotonic() - began))

        self._executor.run(cases, add, told, self.stop)


def _narrow(
    study: Study, work: _Work, found: list[Point], places: Sequence[int], until: Until, tell: Watch | None
) -> list[Point]:
    """Adds runs to the points at these places until the interval of each is narrow enough."""
    cases = [found[place].planned for place in places]
    work.folder.store.watch(cases, until.measure, until.share)
    values = Values(study, work.folder.store, found)
    while work.stop.number is None:
        values.forget()
        wide = {
            place: width
            for place in places
            if (width := half_width(values, found[place], until.measure)) > until.share
            # With fewer, the interval is too narrow for skewed values (docs/guide/statistics.md).
            or len(found[place].planned.runs) < min(LEAST_RUNS, until.most)
        }
        states = {place: next(status([found[place]], work.folder.store)) for place in wide}
        lost = {
            place: len(each.failed)
            for place, each in states.items()
            if not each.done and len(each.failed) >= min(MOST_FAILURES, until.most)
        }
        more = [place for place in wide if place not in lost and len(found[place].planned.runs) < until.most]
        work.outcome.given_up = [(found[place], count) for place, count in lost.items()]
        work.outcome.wide = [
            (found[place], width) for place, width in wide.items() if width > until.share and place not in lost
        ]
        if not more:
            break
        for place in more:
            planned = found[place].planned
            count = min(len(planned.runs) + BATCH, until.most)
            found[place] = replace(found[place], planned=planned.only(range(count)))
        work.folder.store.register([point.planned for point in found], anew=True)
        work.fill([found[place] for place in more], tell)
    return found


def half_width(values: Values, point: Point, measure: str) -> float:
    """Half of a point's anytime-valid interval, as a share of the mean; infinite if not known."""
    from hopyard.statistics import sequence

    found = sequence(values.of(point, measure)[1])
    half = (found.high - found.low) / 2
    if math.isinf(half) or math.isnan(half) or found.figure == 0:
        return math.inf
    return half / abs(found.figure)


def status(found: Sequence[Point], store: Reader) -> Iterator[Status]:
    """How far each point is."""
    for point in found:
        done, failed = store.ended(*point.planned.key)
        wanted = set(point.planned.runs)
        mine = [each for each in failed if each[0] in wanted]
        yield Status(point, len(wanted), len(wanted.intersection(done)), mine)


def again(study: Study, point: Point, run: int, more: str = "") -> str:
    """The command that makes a run alone, with further options."""
    import shlex

    chosen = ",".join(f"{name}={label}" for name, label in point.labels.items())
    only = f" --only {shlex.quote(chosen)}" if chosen else ""
    return f"hopyard sweep {shlex.quote(str(study.path))}{only} --run {run}{more}"


@contextmanager
def opened(path: Path) -> Iterator[Reader]:
    """A store that is read, also while a sweep is writing."""
    if not (path / NAME).exists():
        quick = " --quick" if path.name.endswith(_QUICK) else ""
        raise StoreError(
            f"{path} holds no results: hopyard sweep STUDY{quick} makes the runs of a study, and "
            "--out FOLDER names another folder of them"
        )
    with Reader(path) as store:
        yield store
