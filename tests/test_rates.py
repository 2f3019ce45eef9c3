"""Changes of the rates of links, as a table of results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hopyard
from hopyard import Results, Scenario
from short import SHORT

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
