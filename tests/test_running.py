"""Runs: the same on any number of threads, watched or not, and stopped when asked."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import hopyard
import polars as pl
import pyarrow as pa
import pytest
from hopyard import Scenario, _core

if TYPE_CHECKING:
    from hopyard.progress import Progress

CHAIN = {
    "name": "chain",
    "duration": "10 s",
    "nodes": {"count": 4, "spacing": "200 m"},
    "radio": {"receive": "250 m", "sense": "550 m"},
    "flow": [{"from": 0, "to": 3}],
}


def batch(jobs: int = 1, runs: int = 4, **keys: object) -> _core.Batch:
    cases = Scenario(CHAIN | keys).cases({"flow.tcp": ["newreno", "vegas"]})
    made = _core.Batch([case.core for case in cases], runs, jobs)
    while made.poll(1).ended < made.runs:
        pass
    return made


def test_the_number_of_threads_changes_nothing() -> None:
    one, two, eight = (batch(jobs) for jobs in (1, 2, 8))
    assert one.digests() == two.digests() == eight.digests()
    assert len({digest for *_, digest in one.digests()}) == 8
    for mine, theirs in zip(one.tables(), eight.tables(), strict=True):
        assert pa.table(mine).equals(pa.table(theirs))


def test_watching_changes_nothing() -> None:
    watched = batch(measure={"series": ["cwnd", "rtt", "hops"], "interval": "10 ms"})
    assert watched.digests() == batch().digests()
    assert len(watched.tables()[3]) > 1000


def test_runs_differ_and_seeds_differ() -> None:
    flows = hopyard.run(Scenario(CHAIN), runs=3).flows["goodput_kbps"].to_pylist()
    assert len(set(flows)) == 3
    again = hopyard.run(Scenario(CHAIN), runs=3).flows["goodput_kbps"].to_pylist()
    other = hopyard.run(Scenario(CHAIN), runs=3, seed=2).flows["goodput_kbps"].to_pylist()
    assert flows == again != other


def test_more_runs_begin_with_the_same_runs() -> None:
    few = hopyard.run(Scenario(CHAIN), runs=2, jobs=1).flows
    many = hopyard.run(Scenario(CHAIN), runs=5, jobs=2).flows
    assert many.slice(0, 2).to_pylist() == few.to_pylist()


def test_every_row_says_where_it_comes_from() -> None:
    scenario = Scenario(CHAIN)
    results = hopyard.run(scenario, set={"flow.tcp": "sack"}, runs=2, seed=9, series=["cwnd"])
    (case,) = scenario.cases({"flow.tcp": "sack"}, seed=9, series=["cwnd"])
    for table in (results.flows, results.nodes, results.series):
        assert len(table) > 0
        assert set(table["config"].to_pylist()) == {case.hash}
        assert set(table["flow.tcp"].to_pylist()) == {"sack"}
        assert set(table["seed"].to_pylist()) == {9}
        assert set(table["version"].to_pylist()) == {hopyard.__version__}
        assert set(table["run"].to_pylist()) == {0, 1}
    assert results.nodes["node"].to_pylist() == [0, 1, 2, 3] * 2


def test_tables_without_rows_have_their_columns() -> None:
    results = hopyard.run(Scenario(CHAIN), runs=1)
    assert len(results.series) == 0
    assert {"time_s", "quantity", "value", "run"} <= set(results.series.column_names)
    assert pa.types.is_floating(results.series.schema.field("value").type)


def test_tables_are_read_without_a_copy() -> None:
    flows, *_ = batch(runs=1).tables()
    first, second = (pa.table(flows)["goodput_kbps"].chunk(0).buffers()[1] for _ in range(2))
    assert first.address == second.address
    assert (
        pl.DataFrame(flows)["goodput_kbps"].to_list() == pa.table(flows)["goodput_kbps"].to_pylist()
    )
    assert flows.columns == pa.table(flows).column_names
    assert len(flows) == 2


def test_progress_is_told_until_the_end() -> None:
    told: list[Progress] = []
    hopyard.run(Scenario(CHAIN), runs=3, progress=told.append)
    last = told[-1]
    assert (last.finished, last.runs, last.duration) == (3, 3, 30.0)
    assert last.simulated == pytest.approx(30.0)
    assert last.left == pytest.approx(0.0)
    assert "3/3 runs" in str(last)


def test_python_goes_on_while_runs_do() -> None:
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    watcher = threading.Thread(target=count)
    watcher.start()
    began = time.monotonic()
    batch(runs=20)
    took = time.monotonic() - began
    done.set()
    watcher.join()
    # A thread that sleeps 1 ms at a time gets through some of its rounds while the core waits.
    assert counted > 20 * took


def test_cancelled_runs_leave_the_finished_ones() -> None:
    cases = Scenario(CHAIN | {"duration": "60 s"}).cases()
    made = _core.Batch([case.core for case in cases], 10_000, 2)
    while made.poll(0.01).finished < 3:
        pass
    made.cancel()
    began = time.monotonic()
    while (state := made.poll(1)).ended < made.runs:
        pass
    assert time.monotonic() - began < 5
    assert 3 <= state.finished < 10_000
    assert len(made.tables()[0]) == state.finished
    whole = batch(runs=1, duration="60 s").digests()[0]
    assert made.digests()[0] == whole


def test_there_must_be_something_to_run() -> None:
    with pytest.raises(ValueError, match="no scenario"):
        hopyard.run([])
