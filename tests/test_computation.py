"""What senders compute: the events of a run, each at its cost."""

from __future__ import annotations

import hopyard
import numpy as np
import pytest
from hopyard import Scenario
from hopyard.scenario import catalogue
from hopyard.tables.computation import EVENTS, PHASES, REFERENCE, costs, instructions

CHAIN = """
duration = "10 s"
[nodes]
count = 4
spacing = "200 m"
[[flow]]
from = 0
to = 3
tcp = "westwood"
[[flow]]
from = 3
to = 0
udp = true
"""


def test_every_variant_has_its_costs() -> None:
    """A new variant must not be forgotten."""
    known = [each["name"] for each in catalogue.models() if each["room"] == "congestion"]
    assert list(costs()) == known
    for variant, each in costs().items():
        assert set(each) == set(EVENTS.values()), variant
        assert all(50 < cost < 50_000 for cost in each.values()), variant
    # BBR models the path at each acknowledgement; NewReno adds to its window.
    assert costs()["bbr"]["ack_slow_start"] > 1.2 * costs()[REFERENCE]["ack_slow_start"]


def test_instructions_are_events_at_their_costs() -> None:
    results = hopyard.run(Scenario.parse(CHAIN), runs=2, progress=False)
    flows = results.flows
    found = instructions(flows)
    for place, row in enumerate(flows.to_pylist()):
        if row["transport"] == "udp":
            assert np.isnan(found[place])
            continue
        each = costs()[row["transport"]]
        expected = sum(row[column] * each[event] for column, event in EVENTS.items())
        assert found[place] == pytest.approx(expected / 1e6)
        assert expected > 0
    # The phases have all of it.
    parts = sum(np.nan_to_num(instructions(flows, phase)) for phase in PHASES)
    assert parts == pytest.approx(np.nan_to_num(found))
    (case,) = results.cases
    assert results.values("computation", case) == pytest.approx([np.nansum(found[:2]), np.nansum(found[2:])])
    acks = [
        sum(row[f"acks_{phase}"] * costs()["westwood"][f"ack_{phase}"] for phase in PHASES)
        for row in sorted(flows.to_pylist(), key=lambda row: row["run"])
        if row["transport"] == "westwood"
    ]
    assert results.values("computation_acks", case) == pytest.approx(np.array(acks) / 1e6)
