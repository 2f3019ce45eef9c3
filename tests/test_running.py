"""Runs: equal for any number of threads, with or without observation; stopped on request."""

from __future__ import annotations

import re
import resource
import threading
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import hopyard
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hopyard import Scenario, _core
from short import SHORT, finished, python

if TYPE_CHECKING:
    from hopyard.terminal.progress import Progress

    Taken: TypeAlias = tuple[list[_core.Run], dict[str, _core.Table]]

CHAIN = SHORT | {
    "name": "chain",
    "duration": "10 s",
    "nodes": {"count": 4, "spacing": "200 m"},
    "flow": [{"from": 0, "to": 3}],
}


def over(made: _core.Batch) -> _core.Batch:
    while not made.poll(1).over:
        pass
    return made


def batch(jobs: int = 1, runs: int = 4, **keys: object) -> Taken:
    cases = Scenario(CHAIN | keys).cases({"flow.tcp": ["newreno", "vegas"]})
    return over(_core.Batch([case.core for case in cases], [range(runs)] * 2, jobs)).take()


def digests(taken: Taken) -> list[tuple[int, int, str | None]]:
    return [(run.case, run.run, run.digest) for run in taken[0]]


def test_the_number_of_threads_changes_nothing() -> None:
    one, two, eight = (batch(jobs) for jobs in (1, 2, 8))
    assert digests(one) == digests(two) == digests(eight)
    assert len({digest for *_, digest in digests(one)}) == 8
    for mine, theirs in zip(one[1].values(), eight[1].values(), strict=True):
        assert pa.table(mine).equals(pa.table(theirs))


def test_watching_changes_nothing() -> None:
    watched = batch(measure={"series": ["cwnd", "srtt", "hops"], "interval": "10 ms"})
    assert digests(watched) == digests(batch())
    assert len(watched[1]["series"]) > 1000


def test_runs_differ_and_seeds_differ() -> None:
    flows = hopyard.run(Scenario(CHAIN), runs=3).flows["delay_ms"].to_pylist()
    assert len(set(flows)) == 3
    again = hopyard.run(Scenario(CHAIN), runs=3).flows["delay_ms"].to_pylist()
    other = hopyard.run(Scenario(CHAIN), runs=3, seed=2).flows["delay_ms"].to_pylist()
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
    flows = batch(runs=1)[1]["flows"]
    first, second = (pa.table(flows)["goodput_kbps"].chunk(0).buffers()[1] for _ in range(2))
    assert first.address == second.address
    assert pl.DataFrame(flows)["goodput_kbps"].to_list() == pa.table(flows)["goodput_kbps"].to_pylist()
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
    # A thread that sleeps 1 ms in each round completes some rounds while the core waits.
    assert counted > 20 * took


def test_cancelled_runs_leave_the_finished_ones() -> None:
    cases = Scenario(CHAIN | {"duration": "60 s"}).cases()
    made = _core.Batch([case.core for case in cases], [range(10_000)], 2)
    while made.poll(0.01).finished < 3:
        pass
    made.cancel()
    began = time.monotonic()
    while not (state := made.poll(1)).over:
        pass
    assert time.monotonic() - began < 30
    assert 3 <= state.finished < 10_000
    taken = made.take()
    assert len(taken[1]["flows"]) == state.finished
    assert digests(taken)[0] == digests(batch(runs=1, duration="60 s"))[0]


def test_long_runs_start_first() -> None:
    short, long = (Scenario(CHAIN | {"duration": each}).core for each in ("1 s", "300 s"))
    made = _core.Batch([short, long], [range(3), [0]], 1)
    while not made.poll(0.01).finished:
        pass
    first, _ = made.take()
    assert 1 in [run.case for run in first]
    rest, _ = over(made).take()
    assert [(run.case, run.run) for run in [*rest, *first]].count((1, 0)) == 1
    assert len(first) + len(rest) == 4


def test_what_is_taken_is_not_kept() -> None:
    made = over(_core.Batch([Scenario(CHAIN).core], [range(3)]))
    records, tables = made.take()
    assert [run.run for run in records] == [0, 1, 2]
    assert all(0 <= run.cpu_s <= run.wall_s + 0.1 for run in records)
    assert len(tables["flows"]) == 3
    records, tables = made.take()
    assert (records, len(tables["flows"])) == ([], 0)
    assert tables["flows"].columns[:3] == ["case", "run", "flow"]


def test_runs_that_nobody_takes_do_not_fill_the_memory() -> None:
    made = _core.Batch([Scenario(CHAIN | {"duration": "1 s"}).core], [range(2000)], 2)
    before = -1
    while (state := made.poll(0.01)).finished != before or before < 100:
        before = state.finished
        time.sleep(0.3)
    assert before < 300
    records = 0
    while records < 2000:
        made.poll(0.01)
        records += len(made.take()[0])
    assert made.poll(0).over


def test_there_are_no_more_threads_than_runs() -> None:
    made = _core.Batch([Scenario(CHAIN | {"duration": "1000 s"}).core], [range(2)], 5000)
    names = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    made.cancel()
    assert sum(name.startswith("run-") for name in names) <= 2
    over(made)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"runs": "3"}, "runs: expected a whole number, or numbers of runs, found '3'"),
        ({"runs": 1.5}, "runs: expected a whole number, or numbers of runs, found 1.5"),
        ({"runs": True}, "runs: expected a whole number, or numbers of runs, found True"),
        ({"jobs": "3"}, "jobs: expected a whole number, found '3'"),
        ({"set": [1]}, "set: expected a mapping"),
        ({"set": {3: 4}}, "set: expected a key such as"),
        ({"set": {("seed", "runs"): [(1, 2)], "seed": 3}}, "set: seed is set twice"),
        ({"set": {"seed": 3}, "seed": 4}, "seed is set, and seed is given too"),
        ({"out": "o", "format": "xls"}, "results are written as parquet or csv, not 'xls'"),
    ],
)
def test_what_cannot_be_run_is_named_first(given: dict[str, Any], said: str, here: Path) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(said)):
        hopyard.run(Scenario(CHAIN), **given)
    assert not list(here.iterdir()), "nothing was run"


def test_numbers_of_numpy_are_numbers() -> None:
    given: dict[str, Any] = {"runs": np.int64(2), "seed": np.int64(3)}
    results = hopyard.run(Scenario(CHAIN | {"duration": "100 ms"}), **given)
    assert results.runs == 2
    assert results.cases[0].seed == 3


def test_there_must_be_something_to_run() -> None:
    with pytest.raises(ValueError, match="no scenario"):
        hopyard.run([])


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("[nodes]\ncount = 1000000\n[[flow]]\nfrom = 0\nto = 1\n", "2.0 GB"),
        ("[nodes]\ncount = 2000\nspacing = '1 m'\n[flows]\nrandom = 3998000\n", "96.0 GB"),
    ],
)
def test_runs_that_cannot_have_their_memory_are_refused(tmp_path: Path, text: str, needed: str) -> None:
    scenario = tmp_path / "large.toml"
    scenario.write_text(f"duration = '1 s'\n{text}")
    limit = partial(resource.setrlimit, resource.RLIMIT_AS, (2 * 10**9, 2 * 10**9))
    done = finished("run", scenario, "--runs", 1, preexec_fn=limit)
    assert done.returncode == 2, done.stderr
    assert f"large: 1 runs at a time need at least {needed} of memory" in done.stderr
    assert "expected fewer nodes or flows, fewer jobs, or a higher limit" in done.stderr


def test_flows_take_the_memory_that_is_reckoned_with() -> None:
    program = """
from pathlib import Path
from hopyard import Scenario, _core
def most():
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024
flow = {"from": 0, "to": 1, "start": "0.05 s"}
scenario = Scenario(duration="0.1 s", nodes={"count": 2, "spacing": "1 m"}, flow=[flow] * 500)
before = most()
batch = _core.Batch([scenario.core], [[0]], 1)
while not batch.poll(1).over:
    pass
print((most() - before) / scenario.core.memory)
"""
    done = python("-c", program, check=True)
    # The bound is a lower one, and not far from what a run takes.
    assert 1 <= float(done.stdout) < 1.5


def test_columns_of_a_mac_have_no_value_at_other_nodes() -> None:
    slotted = {"nodes": [2, 3], "mac": "tdma"}
    results = hopyard.run(CHAIN | {"duration": "2 s", "runs": 1, "channel": [slotted]})
    slots = results.nodes["slots"].to_pylist()
    assert [value is None for value in slots] == [True, True, False, False]
    for frames, rts, acks in zip(*(results.nodes[name].to_pylist() for name in ("frames", "rts", "acks")), strict=True):
        assert frames >= rts + acks


class Started(hopyard.CongestionControl):
    """Notes when its run starts."""

    order: ClassVar[list[str]] = []

    def __init__(self) -> None:
        self.order.append(type(self).__name__)

    def on_ack(self, ack: hopyard.congestion.Ack) -> None:
        self.cwnd = min(self.cwnd + 1, 8)

    def on_loss(self, loss: hopyard.congestion.Loss) -> None:
        self.ssthresh = 2

    def on_timeout(self, timeout: hopyard.congestion.Timeout) -> None:
        self.ssthresh = 2


class Short(Started):
    """Of a flow that sends for a moment."""


class Long(Started):
    """Of a flow that sends all the time."""


def test_the_runs_that_take_longest_are_started_first() -> None:
    # Which of the cases takes longer cannot be seen from their nodes and durations.
    keys = ("flow.tcp", "flow.start")
    hopyard.run(Scenario(CHAIN), set={keys: [(Short, "9.99 s"), (Long, "0 s")]}, runs=3, jobs=1)
    # Those before were made when the scenario was checked.
    assert Started.order[-6:] == ["Short", "Long", "Long", "Long", "Short", "Short"]
