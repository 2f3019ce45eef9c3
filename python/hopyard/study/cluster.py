"""Runs on a Dask cluster: the same runs, with the same digests, on other processes and machines.

A task is some runs of one case. It carries the complete scenario with the files and rules that it
names, so that a worker needs nothing but the same build of Hopyard. Few tasks are under way at a
time: memory does not grow with the number of runs. The results come back to this process, which
alone writes into the store. A task whose worker has gone is given to another worker.
"""

from __future__ import annotations

import functools
import json
import logging
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hopyard import _core
from hopyard.errors import SimulationError
from hopyard.running.run import kernels_of
from hopyard.scenario.inputs import Inputs
from hopyard.scenario.plan import Planned, threads
from hopyard.store.records import Record
from hopyard.tables.names import TABLES
from hopyard.tables.tables import arrow
from hopyard.terminal.words import install, many

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa

    from hopyard.study.sweep import Add, Tell
    from hopyard.terminal.signals import Stop

#: Seconds of processor time that a task is meant to take: the cost of sending it is small beside.
TASK_S = 0.5
#: Tasks under way for each thread of the workers.
AHEAD = 3
#: How often a task is given to another worker after its worker has gone.
MOST_LOSSES = 20
#: Seconds to wait for the first worker.
PATIENCE_S = 60.0


class ClusterError(ValueError):
    """A cluster cannot be used: nothing has been run, or the runs so far are in the store."""


class ClusterLostError(SimulationError):
    """The scheduler of a cluster has gone; the runs that were made before are in the store."""


@dataclass
class _Task:
    """Runs of a case."""

    place: int
    runs: list[int]
    losses: int = 0


class Cluster:
    """A Dask cluster.

    Args:
        address: that of its scheduler, or `local` for workers of this machine.
        jobs: workers of a local cluster; one for each core if not given.
    """

    def __init__(self, address: str, jobs: int | None = None) -> None:
        try:
            import distributed
        except ImportError:
            raise ClusterError(f"a cluster needs the package distributed: {install('lab')}") from None
        # The end of a scheduler or worker is told by errors of this class alone.
        for name in logging.root.manager.loggerDict:
            if name.partition(".")[0] == "distributed":
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        self._local: Any = None
        if address == "local":
            import os

            count = threads(jobs, 1 << 20) or os.cpu_count() or 1
            local: Any = distributed.LocalCluster
            self._local = local(n_workers=count, threads_per_worker=1, dashboard_address=None)
            address = self._local.scheduler_address
        elif jobs is not None:
            raise ClusterError("--jobs is for this machine: the cluster has its own workers")
        try:
            client: Any = distributed.Client
            self._client = client(address, timeout="10s")
        except (OSError, ValueError, TimeoutError) as error:
            raise ClusterError(f"there is no Dask scheduler at {address}: {error}") from None
        self.address = address

    @property
    def dashboard(self) -> str | None:
        """The address of the scheduler's dashboard; none of a local cluster, which has none."""
        return None if self._local is not None else str(self._client.dashboard_link)

    def close(self) -> None:
        """Leaves the cluster, and ends a local one."""
        # A scheduler that has gone cannot be left.
        with suppress(OSError, TimeoutError):
            self._client.close(timeout=2)
        if self._local is not None:
            self._local.close()

    def check(self, cases: Sequence[Planned], path: Path) -> None:
        """Refuses nothing: each worker sees to what its machine can run."""

    def run(self, cases: Sequence[Planned], add: Add, tell: Tell, stop: Stop) -> None:
        """Makes the runs of cases.

        Raises:
            ClusterError: when no worker can make them; nothing has been run.
            ClusterLostError: when the scheduler goes meanwhile.
        """
        self._check()
        waiting = deque(_Task(place, [run]) for place, case in enumerate(cases) for run in case.runs)
        total = len(waiting)
        inputs: dict[int, tuple[Inputs, str, int]] = {}
        cost: dict[int, float] = {}
        under_way: dict[Any, _Task] = {}
        ended = 0
        lengths = [_seconds(case) for case in cases]
        duration = sum(lengths[task.place] for task in waiting)
        simulated = 0.0
        try:
            while waiting or under_way:
                if stop.number is not None:
                    return
                room = self._room(ended, total)
                while waiting and len(under_way) < room:
                    task = _joined(waiting, cost)
                    case = cases[task.place]
                    if task.place not in inputs:
                        given = Inputs.of(case.core, case.base), case.core.name, case.seed
                        inputs[task.place] = given
                    future = self._client.submit(
                        make, *inputs[task.place], case.config, task.runs, _core.BUILD, pure=False
                    )
                    under_way[future] = task
                for future in _done(under_way):
                    task = under_way.pop(future)
                    made = self._take(future, task, waiting, cases, cost, add)
                    ended += made
                    simulated += made * lengths[task.place]
                tell(ended, simulated, duration)
        finally:
            with suppress(OSError, TimeoutError):
                for future in under_way:
                    future.cancel()

    def _check(self) -> None:
        """Waits for a worker, and compares the builds of all that are there."""
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE_S)
        except TimeoutError:
            raise ClusterError(f"the cluster at {self.address} has no worker after {PATIENCE_S:.0f} s") from None
        builds = self._client.run(_build)
        for worker, build in builds.items():
            if build != _core.BUILD:
                raise ClusterError(_other_build(worker, build))

    def _room(self, ended: int, total: int) -> int:
        """How many tasks may be under way; the scheduler is asked, so that its end is noticed.

        Raises:
            ClusterLostError: when it has gone; of `total` runs, `ended` are in the store.
        """
        try:
            if self._client.status != "running":
                raise ConnectionError(self._client.status)
            return AHEAD * max(int(sum(self._client.nthreads().values())), 1)
        except (OSError, TimeoutError):
            raise ClusterLostError(
                f"the scheduler of the cluster at {self.address} has gone: {ended:,} of "
                f"{many(total, 'run')} were made and are kept; the same command makes the others"
            ) from None

    def _take(
        self,
        future: Any,
        task: _Task,
        waiting: deque[_Task],
        cases: Sequence[Planned],
        cost: dict[int, float],
        add: Add,
    ) -> int:
        """Adds what a task has made; gives the number of its runs."""
        from distributed.scheduler import KilledWorker

        gone = future.status in ("cancelled", "lost")
        error = None if gone else future.exception()
        if gone or isinstance(error, KilledWorker):
            task.losses += 1
            if task.losses > MOST_LOSSES:
                raise ClusterError(
                    f"the workers of {task.losses} tries of runs {task.runs} of "
                    f"{cases[task.place].scenario} have gone; is there enough memory?"
                )
            waiting.appendleft(task)
            return 0
        if error is not None:
            raise error
        records, tables = future.result()
        case = cases[task.place]
        made = [replace(record, case=0) for record in records]
        add([case], made, tables)
        spent = sum(record.cpu_s or 0.0 for record in records) / len(records)
        cost[task.place] = spent
        return len(records)


def _seconds(case: Planned) -> float:
    """The simulated time of a run, in seconds."""
    document = json.loads(case.core.to_json(defaults=True))
    return _core.parse_time(str(document["duration"])) / 1e9


def _joined(waiting: deque[_Task], cost: dict[int, float]) -> _Task:
    """The next task: as many runs of a case as take long enough to be worth sending."""
    task = waiting.popleft()
    known = cost.get(task.place)
    most = 1 if known is None else max(1, int(TASK_S / max(known, 1e-4)))
    while (
        waiting
        and waiting[0].place == task.place
        and not (waiting[0].losses or task.losses)
        and len(task.runs) + len(waiting[0].runs) <= most
    ):
        task.runs += waiting.popleft().runs
    return task


def _done(under_way: dict[Any, _Task]) -> list[Any]:
    """The tasks that have ended, after a short wait if there are none."""
    found = [future for future in under_way if future.done()]
    if not found:
        time.sleep(0.01)
    return found


def _build() -> str:
    return _core.BUILD


def _other_build(worker: str, build: str) -> str:
    return (
        f"the worker {worker} has another build of Hopyard, {build}, and this is {_core.BUILD}: "
        "their results may differ; install the same version there"
    )


@functools.lru_cache(maxsize=32)
def _scenario(inputs: _Hashed) -> _core.Scenario:
    return inputs.inputs.scenario(inputs.name, inputs.seed).core


@dataclass(frozen=True)
class _Hashed:
    """The inputs of a scenario, known by its hash."""

    config: str
    seed: int
    name: str
    inputs: Inputs

    def __hash__(self) -> int:
        return hash((self.config, self.seed))

    def __eq__(self, other: object) -> bool:
        mine = self.config, self.seed
        return isinstance(other, _Hashed) and mine == (other.config, other.seed)


def make(
    inputs: Inputs, name: str, seed: int, config: str, runs: list[int], build: str
) -> tuple[list[Record], dict[str, pa.Table]]:
    """Makes runs of a scenario: what a worker does."""
    if build != _core.BUILD:
        raise ClusterError(_other_build("that was asked", _core.BUILD))
    core = _scenario(_Hashed(config, seed, name, inputs))
    if core.hash != config:
        raise ClusterError(f"a worker reads the scenario {name} as {core.hash}, not as {config}")
    case = Planned(core, name, None, {}, runs)
    batch = _core.Batch([core], [runs], 1, None, kernels_of([case]))
    records: list[Record] = []
    parts: dict[str, list[pa.Table]] = {name: [] for name in TABLES}
    over = False
    while not over:
        over = batch.poll(0.5).over
        made, tables = batch.take()
        records += [Record.of(run, case) for run in made]
        for name, table in arrow(tables).items():
            parts[name].append(table)
    import pyarrow as pa

    return records, {name: pa.concat_tables(part).unify_dictionaries().combine_chunks() for name, part in parts.items()}
