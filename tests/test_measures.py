"""Names of measures and series, and the page that explains them."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hopyard import _core, listing, run
from hopyard.catalogue import ORIGIN, tables
from hopyard.congestion import CongestionControl
from hopyard.measures import MEASURES, check, check_series
from hopyard.scenario import Scenario

ROOT = Path(__file__).parent.parent


def test_names_are_checked() -> None:
    assert check("delay, goodput,delay") == ("delay", "goodput")
    assert check_series(["cwnd"]) == ("cwnd",)
    assert check_series("") == ()
    with pytest.raises(ValueError, match=r"did you mean 'fairness'\? There are goodput, "):
        check("fairnes")
    with pytest.raises(ValueError, match=r"no series is called 'rtt'; did you mean 'srtt'\?"):
        check_series("rtt")
    with pytest.raises(ValueError, match="no measure is named"):
        check(",")


def test_timeouts_that_a_flow_does_not_tell_are_not_none() -> None:
    rows = pa.table({"timeouts": pa.array([3, 1, None], pa.uint64())})
    group = np.array([0, 0, 1])
    reduce = MEASURES["timeouts"].of_runs
    np.testing.assert_array_equal(reduce(rows, group, 2), [4, np.nan])


def test_jitter_and_delivery_of_datagrams_whose_delays_take_turns() -> None:
    replay = [{"packet": packet, "delay": f"{(10, 30)[packet % 2]} ms"} for packet in range(8)]
    flow = {"from": 0, "to": 1, "udp": True, "start": "1 s"}
    cbr = {"packet_size": "100 B", "interval": "1 s", "packets": 8}
    scenario = Scenario(
        duration="12 s",
        nodes={"wired": 2},
        routing={"protocol": "oracle"},
        wire=[{"between": [0, 1], "rate": "1 Gbps", "delay": "0 s", "replay": replay}],
        flow=[flow | {"cbr": cbr}],
    )
    results = run(scenario, runs=1, progress=False)
    found = {
        name: results.values(name, results.cases[0])[0]
        for name in ("jitter", "delivery_ratio", "delay_p50", "delay_p95")
    }
    # Each packet takes 20 ms more or less than the one before (RFC 3550 §6.4.1).
    expected = {"jitter": 20, "delivery_ratio": 100, "delay_p50": 10, "delay_p95": 30}
    assert found == pytest.approx(expected, rel=2e-3)


def test_a_measure_that_an_older_version_did_not_count_is_an_error() -> None:
    chain = Scenario.parse(_core.new_scenario("chain"))
    results = run(chain, set={"duration": "1 s"}, runs=1, progress=False)
    older = results.nodes.drop_columns(["data_packets"])
    reduce = MEASURES["normalised_routing_load"].of_runs
    group = np.zeros(older.num_rows, dtype=np.int64)
    assert reduce(results.nodes, group, 1).shape == (1,)
    with pytest.raises(ValueError, match=r"have no `data_packets`: an older version .* --force"):
        reduce(older, group, 1)


def test_the_page_of_results_is_up_to_date() -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert listing.render(page) == page, "python -m hopyard.listing makes it anew"


def test_every_column_of_a_run_is_explained() -> None:
    scenario = Scenario.parse(_core.new_scenario("chain"))
    results = run(scenario, runs=1, set={"duration": "2 s"}, progress=False)
    origin = {each["name"] for each in ORIGIN} | {"duration"}
    for info in tables():
        table: pa.Table = getattr(results, info["name"])
        explained = [column["name"] for column in info["columns"]]
        assert [name for name in table.column_names if name not in origin] == explained


def test_the_stub_says_what_help_says() -> None:
    tree = ast.parse((ROOT / "python" / "hopyard" / "_core.pyi").read_text(encoding="utf-8"))
    seen = 0
    for cls in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for method in (node for node in cls.body if isinstance(node, ast.FunctionDef)):
            said = ast.get_docstring(method)
            found = getattr(getattr(_core, cls.name, None), method.name, None)
            is_property = any(isinstance(it, ast.Name) for it in method.decorator_list)
            if said and is_property and cls.name not in ("Scenario", "Batch", "Table"):
                assert " ".join((found.__doc__ or "").split()) == " ".join(said.split()), (
                    method.name
                )
                seen += 1
    assert seen > 40
    assert "SND.UNA" in (CongestionControl.una.__doc__ or "")
