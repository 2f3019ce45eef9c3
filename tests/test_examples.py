"""The examples that stand in folders: uplinks that follow traces, groups, and a policy that was trained."""

from __future__ import annotations

import contextlib
import csv
import importlib
import json
import subprocess
import sys
from pathlib import Path

import hopyard
import pytest
from short import ok

EXAMPLES = Path(__file__).parents[1] / "examples"
FOLDER = EXAMPLES / "uplinks"


def test_the_script_draws_the_traces_of_the_folder(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(FOLDER / "traces.py"), str(tmp_path)], check=True)
    made = sorted(tmp_path.iterdir())
    assert [path.name for path in made] == ["lte_down.ms", "lte_up.csv", "satellite.csv"]
    for path in made:
        assert path.read_text(encoding="utf-8") == (FOLDER / path.name).read_text(encoding="utf-8"), path.name


@pytest.mark.parametrize("name", ["lte", "satellite"])
def test_an_uplink_carries_less_than_its_trace(name: str) -> None:
    file = FOLDER / f"{name}.toml"
    assert "warning" not in ok("check", file).output
    results = hopyard.run(file, runs=1, set={"duration": "20 s"})
    goodput = results.flows["goodput_kbps"][0].as_py()
    # Of the cell, the payload of all opportunities; of the satellite, its largest rate.
    most = {"lte": 5891 * 1460 * 8 / 12.0 / 1000, "satellite": 25_000.0}[name]
    assert 1000 < goodput < most


def test_messages_to_groups_reach_nearly_all() -> None:
    file = EXAMPLES / "groups" / "messages.toml"
    assert "warning" not in ok("check", file).output
    results = hopyard.run(file, runs=1, set={"duration": "40 s"})
    # Three flows to the other 24 nodes, and one to four scouts.
    assert results.flows.num_rows == 3 * 24 + 4
    sent, arrived = (sum(results.flows[name].to_pylist()) for name in ("packets_sent", "packets_unique"))
    assert 0.9 * sent < arrived <= sent


def test_the_trained_policy_makes_the_runs_of_its_table(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    import numpy as np
    from hopyard.gym import Windows

    folder = EXAMPLES / "gym"
    monkeypatch.syspath_prepend(str(folder))
    train = importlib.import_module("train")
    weights = np.array(list(json.loads((folder / "policy.json").read_text())["weights"].values()))
    with (folder / "comparison.csv").open() as file:
        rows = {(row["sender"], int(row["seed"])): row for row in csv.DictReader(file)}
    seeds = [1, 2]
    with contextlib.closing(
        Windows(train.CHAIN, num_envs=2, step="rtt", delay_price=train.DELAY_PRICE, set=train.SETTINGS)
    ) as env:
        _, found, steps = train.play(env, np.tile(weights, (2, 1)), seeds)
    assert steps > 100
    found += [
        hopyard.run(train.CHAIN, seed=1, runs=1, set=train.SETTINGS | {"flow.tcp": variant}).flows.to_pylist()[0]
        for variant in ("cubic", "vegas")
    ]
    for row, key in zip(found, [("policy", 1), ("policy", 2), ("cubic", 1), ("vegas", 1)], strict=True):
        for column in ("goodput_kbps", "delay_ms", "retransmissions", "timeouts"):
            assert round(float(row[column]), 3) == float(rows[key][column]), (key, column)
