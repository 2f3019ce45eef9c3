"""The environment of the tests, and results made by hand, so that every value is known."""

from __future__ import annotations

import importlib.util
import re
import sys
from typing import TYPE_CHECKING

import chains
import pyarrow as pa
import pytest
from hopyard.results.results import Results
from hopyard.scenario.scenario import Scenario
from hopyard.tables.names import TABLES
from live_lab import Lab
from short import SHORT

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

#: Packages of the extras, and of tests alone: what fails for want of one of them is skipped, and counted.
OPTIONAL = {
    *("distributed", "duckdb", "gymnasium", "hopyard_kernels", "jinja2"),
    *("pandas", "pettingzoo", "polars", "scipy", "statsmodels"),
}


def _skip(report: pytest.CollectReport | pytest.TestReport) -> None:
    """Turns a failure into a skip if it tells of one of the optional packages, and that is not installed."""
    told = "\n".join([str(report.longrepr), *(text for _, text in report.sections)])
    for found in re.findall(r"(?:No module named '|needs? the package )([\w-]+)", told) if report.failed else ():
        name = found.replace("-", "_")
        if name in OPTIONAL and importlib.util.find_spec(name) is None:
            report.outcome = "skipped"
            report.longrepr = (str(report.fspath), 0, f"Skipped: {name} is not installed")
            return


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _skip(report)
    return report


@pytest.fixture(autouse=True)
def _no_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes COLUMNS, which shells and pytest-xdist set: Hopyard would take it for the width."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """A scenario file with short runs."""
    path = tmp_path / "short.toml"
    path.write_text(Scenario(SHORT).to_toml())
    return path


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of kernels."""
    monkeypatch.setenv("HOPYARD_KERNELS", str(tmp_path))
    return tmp_path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own, in which it works."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def folder(request: pytest.FixtureRequest, here: Path) -> Path:
    """A folder with CHAIN and STUDY of the test's module, in which commands are run."""
    chains.write(here, request.module.CHAIN, request.module.STUDY)
    return here


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A folder for live runs, whose processes end with the test."""
    made = Lab(tmp_path)
    yield made
    for process in made.started:
        # A test that failed may have left it.
        process.kill()
        process.communicate()


def _table(rows: list[dict[str, object]]) -> pa.Table:
    table = pa.Table.from_pylist(rows)
    for name in ("scenario", "flow.tcp", "config", "version"):
        index = table.schema.get_field_index(name)
        table = table.set_column(index, name, table[name].dictionary_encode())
    return table


def _origin(tcp: str, run: int, **values: object) -> dict[str, object]:
    head: dict[str, object] = {"scenario": "two", "flow.tcp": tcp, "run": run}
    case = ["reno", "vegas"].index(tcp)
    return head | values | {"seed": 7, "config": f"c{case}", "version": "0.1.0", "case": case}


@pytest.fixture
def results() -> Results:
    """Two variants, three runs, two flows each; one flow delivers nothing."""
    goodput = {"reno": [(100, 50), (120, 40), (0, 90)], "vegas": [(110, 60), (130, 50), (30, 80)]}
    both = [(tcp, run) for tcp in goodput for run in range(3)]
    times = {"delay_ms": 10.0, "delay_p50_ms": 9.0, "delay_p95_ms": 15.0, "delay_p99_ms": 20.0, "jitter_ms": 1.0}
    times["application_delay_ms"] = 12.0
    flows = [
        _origin(
            tcp,
            run,
            flow=flow,
            source=flow,
            destination=2,
            goodput_kbps=float(rate),
            throughput_kbps=rate * 1.1,
            payload_kbps=float(rate),
            **{name: value * (flow + 1) if rate else None for name, value in times.items()},
            packets_sent=100,
            packets_arrived=rate,
            packets_unique=rate,
            packets_dropped=5 * (flow + 1),
            retransmissions=4,
            timeouts=flow,
            fast_retransmits=run,
            loss_ns2_percent=0.5,
            hops=2.0 if rate else None,
            route_changes=1,
            transport=tcp,
            acks_slow_start=rate,
            acks_avoidance=rate,
            acks_recovery=1,
            segments_slow_start=rate,
            segments_avoidance=rate,
            segments_recovery=1,
            energy_useful_j=3.0,
            energy_in_vain_j=1.0,
            energy_under_way_j=0.0,
        )
        for tcp, run in both
        for flow, rate in enumerate(goodput[tcp][run])
    ]
    nodes = [
        _origin(
            tcp,
            run,
            node=node,
            routing_packets=10 * (node + 1),
            routing_bytes=500 * (node + 1),
            piggybacked_bytes=100 * node,
            data_packets=20 * node,
            data_bytes=1000 * node,
            simulated_s=10.0,
            collisions=run,
            energy_j=3.0 + node,
            energy_send_j=1.0,
            energy_hear_j=0.5,
            battery_empty_s=5.0 + run if node == 1 else None,
        )
        for tcp, run in both
        for node in range(3)
    ]
    drops = [_origin("reno", 0, node=1, kind="data", reason="queue full", count=3)]
    series = [
        _origin(tcp, 0, flow=0, time_s=t / 10, quantity="cwnd", unit="segments", value=t % 7)
        for tcp in goodput
        for t in range(50)
    ]
    judged = [
        ("congestion", "congestion", 7),
        ("wireless", "congestion", 2),
        ("link_failure", "link_failure", 4),
        ("congestion", "interference", 5),
        ("wireless", "interference", 1),
        ("wireless", "channel_error", 2),
        ("link_failure", "spurious", 3),
    ]
    decisions = [
        _origin("reno", run, flow=0, time_s=1.0 + run, decided=decided, true_cause=true)
        for decided, true, count in judged
        for run in range(count)
    ]
    overhead = [
        _origin(tcp, run, node=node, kind="routing", message=message, sent=5 * (node + 1))
        for tcp, run in both
        for node in range(3)
        for message in ("RREP", "RREQ")
    ]
    hops = [None, 1, 2, None, 2]
    changes = [
        _origin("reno", 0, time_s=float(at), node=0, destination=2, flow=0, hops_before=hops[at], hops=hops[at + 1])
        for at in range(4)
    ]
    rates = [_origin("reno", 0, time_s=float(at), node=0, neighbour=1, mode="6 Mbps", rate_kbps=6e3) for at in range(2)]
    paths = [
        _origin(tcp, run, flow=0, fate="delivered", path=path, packets=count, repeats=repeats)
        for tcp, run in both
        for path, count, repeats in (("0 1 2", 30, 0), ("0 1 0 1 2", 4 + run, 2))
    ]
    segments = [
        _origin(tcp, 0, flow=0, time_s=at / 10, event=event, seq=100 * at, end=100 * at + 100, resent=at == 2)
        for tcp in goodput
        for at in range(3)
        for event in ("data_sent", "data_received")
    ]
    handoffs = [
        _origin(tcp, run, host=2, agent_before=0, agent=1, kind="change", moved_s=10.0 + run) for tcp, run in both
    ]
    events = [_origin(tcp, run, time_s=10.0 + run, node=2, host=2, event="moved", agent=1) for tcp, run in both]
    detours = [
        _origin(tcp, run, flow=0, host=2, agent=1, direction="to_host", packets=9, hops=4.0) for tcp, run in both
    ]
    programs = [
        _origin(
            tcp, run, program=0, node=1, command="iperf3 -s", began_s=1.0, ended_s=None, status=0, output="", errors=""
        )
        for tcp, run in both
    ]
    objects = [
        _origin(
            tcp,
            run,
            flow=flow,
            kind=kind,
            number=number,
            bytes=1000,
            written_s=float(number),
            delivered_s=number + 0.5 if number < 3 else None,
            delivery_ms=100.0 * (number + 1) + 10 * run + flow if number < 3 else None,
            in_time=int(number < 2),
        )
        for tcp, run in both
        for flow in range(2)
        for kind in ("page", "request")
        for number in range(4)
    ]
    rows = flows, nodes, drops, series, decisions, overhead, changes, rates, paths, segments, handoffs
    whole = (*rows, events, detours, programs, objects)
    return Results(dict(zip(TABLES, map(_table, whole), strict=True)))


@pytest.fixture
def own_modules(here: Path) -> Iterator[None]:
    """Each test works in its own folder, and removes its modules."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", "") and str(here) in str(sys.modules[name].__file__):
            del sys.modules[name]
