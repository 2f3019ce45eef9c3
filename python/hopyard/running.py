"""Running scenarios: the core works in threads of its own, Python looks on."""

from __future__ import annotations

import importlib
import time
from contextlib import nullcontext
from os import PathLike
from typing import TYPE_CHECKING

from hopyard import _core
from hopyard.errors import SimulationError
from hopyard.progress import Progress, watcher
from hopyard.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hopyard.progress import Watch
    from hopyard.results import Results
    from hopyard.scenario import Value

# Seconds between two looks: soon enough for Ctrl-C and for the eye, too seldom to cost anything.
LOOK = 0.1


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, with the results of the runs that were finished before it."""

    def __init__(self, results: Results) -> None:
        super().__init__("interrupted; the finished runs are in .results")
        self.results = results


def run(
    scenario: Scenario | str | PathLike[str] | Iterable[Scenario | str | PathLike[str]],
    *,
    runs: int | None = None,
    seed: int | None = None,
    jobs: int | None = None,
    set: Mapping[str, Value | Sequence[Value]] | None = None,
    series: Sequence[str] = (),
    progress: bool | Watch | None = None,
) -> Results:
    """Runs a scenario, or several, and returns what was measured.

    Args:
        scenario: a scenario, the path of a file, or several of either to compare.
        runs: runs of each case; the scenario's own number if not given.
        seed: the seed; the scenario's own if not given. Run `n` of one seed is the same on every
            machine, and all cases of a comparison meet the same movement and channel in it.
        jobs: runs at a time; one for each core if not given. The results do not depend on it.
        set: keys to change, `{"flow.tcp": ["vegas", "newreno"]}`; a list makes a comparison.
        series: quantities to sample over time, such as `"cwnd"`.
        progress: whether to show how far the runs are (the default shows it on a terminal and in a
            notebook), or a function that is told.

    Raises:
        ScenarioError: when a scenario is wrong, with every problem found.
        Interrupted: on Ctrl-C, with the results of the finished runs.
        SimulationError: when a window rule written in Python raised, or a run broke an invariant,
            which is a defect of Hopyard; with what is needed to make the run again, and the
            results of the finished runs.
    """
    given = [scenario] if isinstance(scenario, (Scenario, str, PathLike)) else list(scenario)
    scenarios = [each if isinstance(each, Scenario) else Scenario.load(each) for each in given]
    cases = [case for each in scenarios for case in each.cases(set, seed=seed, series=series)]
    batch = _core.Batch([case.core for case in cases], runs, jobs or 0)
    watch = watcher() if progress is None or progress is True else nullcontext(progress or None)
    with watch as tell:
        try:
            # The runs are under way: what their results will need is imported meanwhile.
            importlib.import_module("hopyard.results")
            _look_on(batch, tell)
        except KeyboardInterrupt:
            batch.cancel()
            # Runs end at their next look at the flag; a part of a run is not kept.
            while batch.poll(LOOK).ended < batch.runs:
                pass
            raise Interrupted(_results(batch, complete=False)) from None
        except SimulationError as error:
            error.results = _results(batch, complete=False)
            raise
    return _results(batch, complete=True)


def _look_on(batch: _core.Batch, tell: Watch | None) -> None:
    began = time.monotonic()
    while True:
        state = batch.poll(LOOK)
        if tell:
            tell(
                Progress(
                    state.finished,
                    batch.runs,
                    state.simulated,
                    batch.duration,
                    time.monotonic() - began,
                )
            )
        if state.ended == batch.runs:
            return


def _results(batch: _core.Batch, *, complete: bool) -> Results:
    import pyarrow as pa

    from hopyard.results import Results

    # `pa.table` does the same, but first imports pandas, where there is one, to ask it about the
    # table.
    flows, nodes, drops, series, decisions = (
        pa.RecordBatchReader.from_stream(table).read_all() for table in batch.tables()
    )
    return Results(flows, nodes, drops, series, decisions, complete)
