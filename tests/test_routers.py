"""Nodes that are Linux kernels: what is checked before a run, and the tutorial."""

from __future__ import annotations

import shutil
import tomllib
from typing import TYPE_CHECKING, Any

import hopyard
import pytest
from hopyard.kernels import cache, check
from test_docs import DOCS, blocks
from test_kernels import add

if TYPE_CHECKING:
    from pathlib import Path

MESH: dict[str, Any] = {
    "name": "mesh",
    "duration": "6 s",
    "runs": 1,
    "nodes": {"count": 3, "spacing": "200 m", "system": "linux"},
    "linux": {"routing": "batman_v"},
    "host": [{"node": 0, "run": "true"}],
}


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with a kernel that is not one."""
    monkeypatch.setenv("HOPYARD_KERNELS", str(tmp_path))
    return add(tmp_path, "6.1-a")


def test_a_kernel_that_was_built_without_what_routing_needs_is_named(built: Path) -> None:
    (built / "config").write_text("CONFIG_IPV6=y\n# CONFIG_BATMAN_ADV is not set\n")
    expected = r"without CONFIG_BATMAN_ADV_BATMAN_V, .*`hopyard kernels build 6\.1` builds it anew"
    with pytest.raises(ValueError, match=expected):
        hopyard.run(hopyard.Scenario(**MESH))
    assert cache.newest("6.1").has("CONFIG_IPV6")
    (built / "config").unlink()
    assert not cache.newest("6.1").has("CONFIG_IPV6")


def test_a_daemon_that_is_not_there_is_named(built: Path) -> None:
    (built / "config").write_text("CONFIG_IPV6=y\n")
    linux = {"routing": "no-such-daemon -i eth0"}
    text = "there is no program `no-such-daemon` .*: expected a command, or one of static, babeld"
    with pytest.raises(hopyard.ScenarioError, match=text) as caught:
        hopyard.run(hopyard.Scenario(**{**MESH, "linux": linux}))
    assert [problem.path for problem in caught.value.problems] == ["linux.routing"]


@pytest.fixture
def babeld() -> None:
    """Skips the test where a kernel cannot run babeld."""
    try:
        kernel = cache.newest("6.1")
    except ValueError as error:
        pytest.skip(str(error))
    missing = [it.what for it in check.machine() if not it.good]
    if missing or not kernel.has("CONFIG_IPV6") or shutil.which("babeld") is None:
        pytest.skip(f"a kernel with IPv6 and babeld are needed; {', '.join(missing)}")


@pytest.mark.usefixtures("babeld")
def test_a_flow_without_a_route_tries_again() -> None:
    # The destination comes into reach of node 1 five seconds after the start of the flow. Linux refuses the first
    # connection at once.
    orders = [{"at": "15 s", "x": "400 m", "y": "0 m", "speed": "1000 m/s"}]
    scenario: dict[str, Any] = {
        "duration": "30 s",
        "runs": 1,
        "nodes": {"positions": [[0, 0], [200, 0], [2000, 0]], "system": "linux"},
        "movement": [{"nodes": [2], "model": "waypoints", "waypoints": {"orders": orders}}],
        "radio": {"receive": "250 m", "sense": "550 m"},
        "linux": {"routing": "babeld"},
        "flow": [{"from": 0, "to": 2, "start": "10 s", "stack": "linux", "tcp": "cubic"}],
    }
    (flow,) = hopyard.run(hopyard.Scenario(name="late", **scenario)).flows.to_pylist()
    assert flow["first_arrival_s"] > 15
    assert flow["goodput_kbps"] > 0


@pytest.mark.usefixtures("babeld")
def test_the_tutorial_runs_and_repeats_itself() -> None:
    text = next(block.text for block in blocks(DOCS / "linux" / "routers.md") if block.language == "toml")
    scenario = tomllib.loads(text)
    scenario["duration"] = "35 s"
    runs = [hopyard.run(hopyard.Scenario(name="mesh", **scenario)) for _ in range(2)]
    first = runs[0].flows.to_pylist()[0]
    assert first["goodput_kbps"] > 0
    assert runs[0].flows.equals(runs[1].flows)
    changes = [run.route_changes for run in runs]
    assert changes[0].num_rows > 12 * 11 / 2
    assert changes[0].equals(changes[1])
