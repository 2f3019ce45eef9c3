"""Short runs of the TCP-WELCOME study: the losses of each situation, and their classification."""

from __future__ import annotations

from pathlib import Path

import hopyard
import numpy as np
import pyarrow.compute as pc
import pytest
from hopyard.tables.confusion import confusion

STUDY = Path(__file__).parent.parent / "studies" / "tcp_welcome"


@pytest.mark.parametrize(
    ("situation", "cause"),
    [
        ("congestion", "congestion"),
        ("interference", "interference"),
        ("link_failure", "link_failure"),
        ("signal_loss", "link_failure"),
    ],
)
def test_each_situation_brings_about_its_loss(situation: str, cause: str) -> None:
    settings = {"flow.1.cbr.rate": "300 kbps"} if situation == "interference" else {}
    results = hopyard.run(STUDY / f"{situation}.toml", runs=2, set=settings, progress=False)
    matrix = results.confusion()
    # It is the only cause, except for late segments. A first segment may wait for its first route.
    assert matrix.count(cause) > 0
    assert matrix.total == len(results.decisions)
    later = confusion(results.decisions.filter(pc.field("sequence") > 0))
    assert later.count(cause) + later.count("spurious") == later.total > 0
    once = confusion(results.decisions.filter(pc.field("transmissions") == 1))
    assert 0 < once.total <= matrix.total
    # Duplicate acknowledgements mean that segments arrive, so there is a route.
    duplicates = results.decisions.filter(pc.field("detected_by") == "duplicate_acks")
    assert "link_failure" not in duplicates["decided"].to_pylist()
    if situation == "signal_loss":
        # With one sample in each round trip, the growth of the window looks like congestion.
        assert 0.4 < once.accuracy < 1
        fine = {"tcp.welcome.sampling": "acknowledgement", "tcp.welcome.average": "band"}
        results = hopyard.run(STUDY / "signal_loss.toml", runs=2, set=fine, progress=False)
        assert confusion(results.decisions.filter(pc.field("transmissions") == 1)).accuracy == 1


def test_a_shorter_wait_pays_when_the_signal_comes_back() -> None:
    scenario = STUDY / "signal_loss.toml"
    # An oracle finds the route at once, so that only TCP's own wait remains. With one sample in
    # each round trip, WELCOME classifies half of the outages as congestion, and waits like NewReno.
    settings = {
        "routing.protocol": "oracle",
        "tcp.welcome.sampling": "acknowledgement",
        "flow.tcp": ["newreno", "welcome"],
    }
    results = hopyard.run(scenario, runs=2, set=settings, progress=False)
    newreno, welcome = results.cases
    more = results.difference("goodput", welcome, newreno)
    assert more.mean > 0.1 * results.estimate("goodput", newreno).mean
    assert results.confusion(newreno).total == 0


@pytest.mark.parametrize("constants", ["ns2", "per_packet"])
def test_energy_changes_no_packet(constants: str) -> None:
    scenario = STUDY / "signal_loss.toml"
    settings = {"energy.model": "per_packet"}
    if constants != "per_packet":
        settings = {"energy.model": "state", "energy.state.profile": constants}
    off = hopyard.run(scenario, runs=1, progress=False)
    on = hopyard.run(scenario, runs=1, set=settings, progress=False)
    # Beside the case, which is another one, and energy, each column of each flow is the same.
    other = ("case", "config", "energy_useful_j", "energy_in_vain_j", "energy_under_way_j")
    names = [name for name in off.flows.column_names if name not in other]
    assert on.flows.select(names).equals(off.flows.select(names))
    parts = [np.asarray(on.nodes[name]) for name in ("sending_s", "hearing_s", "idle_s")]
    assert sum(parts) == pytest.approx(100)
    assert np.asarray(off.nodes["energy_j"], dtype=float) == pytest.approx(np.nan, nan_ok=True)
    (case,) = on.cases
    joules = np.asarray(on.nodes["energy_j"], dtype=float)
    assert on.values("energy", case) == pytest.approx([joules.sum()])
    if constants == "ns2":
        assert joules == pytest.approx(0.66 * parts[0] + 0.395 * parts[1])
