"""Environments of next hops: the interfaces' own tests, a digest, loops and broken ways, bad input."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any

import gymnasium
import hopyard
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from hopyard.gym import NextHop, NextHops
from pettingzoo.test import parallel_api_test, parallel_seed_test
from short import SHORT

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHAIN: dict[str, Any] = SHORT | {
    "duration": "6 s",
    "nodes": {"count": 5, "spacing": "200 m"},
    "flow": [{"from": 0, "to": 4, "tcp": "newreno"}],
}
WALK = CHAIN | {
    "nodes": {"count": 12, "placement": "mobility"},
    "mobility": {"model": "random_waypoint", "random_waypoint": {"width": "600 m", "height": "600 m"}},
}


def shortest(links: NDArray[np.int8], destinations: list[int]) -> NDArray[np.int64]:
    """Next hops of shortest ways; the node itself where there is none."""
    nodes = len(links)
    chosen = np.repeat(np.arange(nodes)[:, None], len(destinations), axis=1)
    for column, destination in enumerate(destinations):
        reached, waiting = {destination}, deque([destination])
        while waiting:
            at = waiting.popleft()
            for neighbour in np.flatnonzero(links[at]):
                if int(neighbour) not in reached:
                    reached.add(int(neighbour))
                    waiting.append(int(neighbour))
                    chosen[neighbour, column] = at
    return chosen


def test_the_interfaces_find_no_fault() -> None:
    check_env(gymnasium.make("hopyard/NextHop-v0", scenario=CHAIN, step="500 ms").unwrapped)
    parallel_api_test(NextHops(CHAIN, step="500 ms"), num_cycles=20)
    parallel_seed_test(lambda: NextHops(WALK, step="500 ms"), num_cycles=20)


@pytest.mark.parametrize("step", ["1 s", "70 ms"])
def test_shortest_ways_make_the_run_of_static_routes(step: str) -> None:
    env = NextHop(CHAIN, step=step)
    seen, _ = env.reset(seed=3)
    over, total = False, 0.0
    info: dict[str, Any] = {}
    while not over:
        seen, reward, _, over, info = env.step(shortest(seen["neighbours"], env.destinations))
        assert (info["loops"], info["unreachable"]) == (0, 0)
        total += reward
    routing = {"routing.protocol": "static"}
    with hopyard.start(CHAIN, seed=3, set=routing) as simulation:
        simulation.advance(until=simulation.end)
        assert info["digest"] == simulation.digest
        delivered = sum(simulation.flows["delivered_bytes"].to_pylist())
    assert total > 0
    assert total == pytest.approx(delivered * 8e-6)


def test_ways_over_moving_nodes_deliver_more_than_ways_of_the_start() -> None:
    totals = {}
    for follow in (True, False):
        env = NextHop(WALK, step="500 ms", set={"duration": "60 s"})
        seen, _ = env.reset(seed=1)
        chosen, over, totals[follow] = shortest(seen["neighbours"], env.destinations), False, 0.0
        while not over:
            seen, reward, _, over, _ = env.step(chosen)
            totals[follow] += reward
            if follow:
                chosen = shortest(seen["neighbours"], env.destinations)
    assert totals[True] > totals[False]


def test_loops_and_broken_ways_are_counted_and_deliver_nothing() -> None:
    env = NextHop(CHAIN, step="1 s")
    assert env.destinations == [0, 4]
    seen, _ = env.reset(seed=0)
    good = shortest(seen["neighbours"], env.destinations)
    loop = good.copy()
    loop[2, 1], loop[3, 1] = 1, 2  # From 0, 1, 2 and 3 to 4: 1 and 2 send to each other.
    _, reward, _, _, info = env.step(loop)
    assert (reward, info["loops"], info["unreachable"]) == (0.0, 4, 0)
    assert info["drops"]["ttl_expired"] > 0
    # A node asks for the address of one that it does not reach for a few seconds, and then drops what waits.
    env = NextHop(CHAIN, step="5 s")
    env.reset(seed=0)
    far = good.copy()
    far[1, 1] = 4  # 600 m away.
    far[3, 0] = 3
    _, reward, _, _, info = env.step(far)
    # To 4 from 0 and 1; to 0 from 3 and 4.
    assert (reward, info["loops"], info["unreachable"]) == (0.0, 0, 4)
    assert sum(info["drops"].values()) > 0


def test_agents_of_nodes_make_the_run_of_the_single_chooser() -> None:
    single, several = NextHop(WALK, step="500 ms"), NextHops(WALK, step="500 ms")
    seen, _ = single.reset(seed=6)
    each, _ = several.reset(seed=6)
    over = False
    info: dict[str, Any] = {}
    infos: dict[str, dict[str, Any]] = {}
    while not over:
        for node, agent in enumerate(several.agents):
            for name, rows in seen.items():
                np.testing.assert_array_equal(each[agent][name], rows[node])
        chosen = shortest(seen["neighbours"], single.destinations)
        each, rewards, _, _, infos = several.step({f"node_{node}": row for node, row in enumerate(chosen)})
        seen, reward, _, over, info = single.step(chosen)
        assert set(rewards.values()) == {reward}
    assert several.agents == []
    assert infos["node_0"] == info


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (np.zeros((5, 3), dtype=np.int64), "action: expected the shape (5, 2), found (5, 3)"),
        (np.full((5, 2), np.nan), "action of node 0: expected 2 whole numbers, a next hop for each destination"),
        (np.full((5, 2), 5), "action of node 0: expected nodes from 0 to 4, found 5"),
        (np.full((5, 2), -1), "action of node 0: expected nodes from 0 to 4, found -1"),
    ],
    ids=str,
)
def test_bad_actions_are_refused(action: Any, message: str) -> None:
    env = NextHop(CHAIN)
    with pytest.raises(ResetNeeded):
        env.step(action)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=re.escape(message)):
        env.step(action)


def test_bad_environments_are_refused() -> None:
    with pytest.raises(ValueError, match="scenario: expected flows, found none"):
        NextHop({"nodes": {"count": 2}})
    with pytest.raises(ValueError, match="step: expected a duration above zero"):
        NextHop(CHAIN, step=0)
    env = NextHops(CHAIN)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="found none of node_0, node_1, node_2, node_3, node_4"):
        env.step({})


def test_only_static_routes_can_be_steered() -> None:
    with hopyard.start(CHAIN) as simulation:
        assert simulation.neighbours == [[1], [0, 2], [1, 3], [2, 4], [3]]
        with pytest.raises(ValueError, match=r'expected routing\.protocol = "static"'):
            simulation.steer(0, 4, 1)
    with hopyard.start(CHAIN, set={"routing.protocol": "static"}) as simulation:
        for wrong, message in [((0, 5, 1), "from 0 to 4, found 5"), ((0, 0, 1), "itself"), ((0, 4, 0), "itself")]:
            with pytest.raises(ValueError, match=message):
                simulation.steer(*wrong)
        with pytest.raises(ValueError, match="hops: expected a number from 0 to 255, found 256"):
            simulation.steer(0, 4, 1, hops=256)
        simulation.steer(0, 4, 1, hops=4)
        simulation.steer(0, 4, None)
        simulation.advance("1 s")
        assert simulation.routes(0).to_pylist()[-1]["next_hop"] == 1
