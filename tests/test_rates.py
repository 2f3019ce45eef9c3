"""Changes of the rates of links, as a table of results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hopyard
from chains import chain, write
from hopyard import Results, Scenario, load_results
from short import SHORT, ok

if TYPE_CHECKING:
    from pathlib import Path


OF_A = SHORT | {"mac": {"dcf": {"standard": "a"}, "rate_control": "minstrel_ht"}}
RECORDED = OF_A | {"measure": {"rates": True}}


def test_changes_of_rates_are_recorded_if_they_are_asked_for(tmp_path: Path) -> None:
    plain = hopyard.run(Scenario(OF_A), runs=1, out=tmp_path / "o")
    assert len(plain.rate_changes) == 0
    results = hopyard.run(Scenario(RECORDED), runs=1, out=tmp_path / "o")
    # The run that lacks them is made again, with the same result.
    assert results.flows.equals(plain.flows)
    first = results.rate_changes.to_pylist()[0]
    assert first["node"] != first["neighbour"]
    assert first["mode"] == f"{first['rate_kbps'] / 1000:g} Mbps"
    assert 0 <= first["probability"] <= 1
    assert first["throughput_kbps"] < first["rate_kbps"]
    assert Results.load(tmp_path / "o").rate_changes.equals(results.rate_changes)


STUDY = """
title = "Rates"
scenario = "chain.toml"
runs = 2

[axes.control]
key = "mac.rate_control"
values = ["arf", "minstrel_ht"]

[measure.changes]
table = "rate_changes"
column = "rate_kbps"
reduce = "count"
where = { node = 0, neighbour = 1 }

[[table]]
name = "changes"
title = "Changes"
rows = ["control"]
measures = ["changes"]
"""


def test_a_study_measures_them(here: Path) -> None:
    write(here, chain("1 s", more='[mac]\ndcf.standard = "a"\n[measure]\nrates = true\n'), STUDY)
    ok("sweep", "study.toml", "--out", "store")
    for row in load_results("study.toml", out="store", measures="changes").to_dict("records"):
        only = {"mac.rate_control": row["control"]}
        changes = hopyard.run("chain.toml", runs=2, set=only).rate_changes.to_pylist()
        mine = [each for each in changes if (each["run"], each["node"], each["neighbour"]) == (row["run"], 0, 1)]
        assert row["changes"] == len(mine) > 0
