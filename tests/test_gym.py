"""Environments of windows and rates: the interfaces' own tests, digests, closed forms, bad input."""

from __future__ import annotations

import re
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import hopyard
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from hopyard.gym import OBSERVED, Flows, Window, Windows
from pettingzoo.test import parallel_api_test, parallel_seed_test
from short import SHORT, python

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHAIN: dict[str, Any] = SHORT | {
    "name": "chain",
    "duration": "12 s",
    "nodes": {"count": 5, "spacing": "200 m"},
    "flow": [{"from": 0, "to": 4, "tcp": "newreno"}, {"from": 4, "to": 0, "start": "2 s"}],
}
#: 1 Mbit/s and 20 ms each way.
WIRE: dict[str, Any] = {
    "name": "wire",
    "duration": "20 s",
    "nodes": {"count": 0, "wired": 2},
    "wire": [{"between": [0, 1], "rate": "1 Mbps", "delay": "20 ms", "queue_length": 8}],
    "tcp": {"segment_size": "1000 B", "window": 64},
    "flow": [{"from": 0, "to": 1, "tcp": "newreno"}],
    "measure": {"from": "5 s"},
}
#: The time of a segment with its headers and timestamps, and of an acknowledgement, on this wire, in seconds.
SEGMENT, ACK = 1052 * 8 / 1e6, 52 * 8 / 1e6
SEEN = {name: number for number, name in enumerate(OBSERVED)}
ACKED, LOST, TIMEOUT = 1, 2, 3


def newreno(seen: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rules of NewReno in the profile `rfc`: the window and the threshold after an event."""
    cwnd, ssthresh, flight = (float(seen[SEEN[name]]) for name in ("cwnd", "ssthresh", "flight"))
    half = max(flight * 0.5, 2.0)
    if seen[SEEN["signal"]] == LOST:
        return np.array([half, half])
    if seen[SEEN["signal"]] == TIMEOUT:
        return np.array([1.0, ssthresh if seen[SEEN["repeated"]] > 0 else half])
    if seen[SEEN["limited"]]:
        cwnd += 1.0 if cwnd < ssthresh else 1.0 / cwnd
    return np.array([cwnd, ssthresh])


def play(env: Window, policy: Any, **begin: Any) -> tuple[list[NDArray[np.float64]], dict[str, Any]]:
    """All observations of an episode, and its last information."""
    seen, info = env.reset(**begin)
    all_seen, is_over = [seen], False
    while not is_over:
        seen, _, terminated, is_over, info = env.step(policy(seen))
        assert not terminated
        all_seen.append(seen)
    return all_seen, info


@pytest.mark.parametrize(
    "chosen",
    [{"step": "100 ms"}, {"step": "rtt"}, {"step": "ack"}, {"step": 0.25, "action": "rate"}, {"action": "rate"}],
    ids=str,
)
# Windows and rates have their units; a wrapper normalizes them.
@pytest.mark.filterwarnings("ignore:.*symmetric and normalized space")
def test_gymnasium_finds_no_fault(chosen: dict[str, Any]) -> None:
    check_env(gymnasium.make("hopyard/Window-v0", scenario=CHAIN, **chosen).unwrapped)


def test_pettingzoo_finds_no_fault() -> None:
    parallel_api_test(Flows(CHAIN), num_cycles=200)
    parallel_seed_test(lambda: Flows(CHAIN, action="rate"), num_cycles=60)


@pytest.mark.parametrize("run", [0, 3])
@pytest.mark.parametrize(("scenario", "least"), [(CHAIN, 1), (WIRE, 1)], ids=["chain", "wire"])
@pytest.mark.parametrize("channel", [{}, {"flow.tcp": "sack"}], ids=str)
def test_an_agent_with_the_rules_of_newreno_makes_the_run_of_newreno(
    scenario: dict[str, Any], least: int, channel: dict[str, Any], run: int
) -> None:
    env = Window(scenario, step="ack", set=channel)
    seen, info = play(env, newreno, seed=5, options={"run": run})
    signals = [row[SEEN["signal"]] for row in seen]
    assert signals.count(LOST) >= least
    results = hopyard.run(scenario, seed=5, runs=[run], set=channel)
    (expected,) = results.flows.filter(pyarrow_equal(results.flows["flow"], 0)).to_pylist()
    with hopyard.start(scenario, seed=5, run=run, set=channel) as simulation:
        simulation.advance(until=simulation.end)
        assert info["digest"] == simulation.digest
    found = info["flow"]
    assert found["goodput_kbps"] == expected["goodput_kbps"] > 0
    assert found["timeouts"] == expected["timeouts"]


def pyarrow_equal(column: Any, value: int) -> Any:
    import pyarrow.compute as pc

    return pc.equal(column, value)


def test_timeouts_are_decided_too() -> None:
    """A segment and its retransmission are lost, so that only the timer helps."""
    scenario = WIRE | {
        "wire": [WIRE["wire"][0] | {"losses": {"segments": [200, 200, 600, 600]}}],
        "measure": {"from": "0 s"},
    }
    seen, info = play(Window(scenario, step="ack"), newreno, seed=1)
    assert [row[SEEN["signal"]] for row in seen].count(TIMEOUT) == info["flow"]["timeouts"] > 0
    with hopyard.start(scenario, seed=1) as simulation:
        simulation.advance(until=simulation.end)
        assert info["digest"] == simulation.digest


@pytest.mark.parametrize("step", ["100 ms", "rtt", "ack"])
@pytest.mark.parametrize("rate", [200e3, 640e3])
def test_a_constant_rate_is_the_goodput(rate: float, step: str) -> None:
    """A paced sender delivers its rate, to the segment."""
    env = Window(WIRE, step=step, action="rate")
    _, info = play(env, lambda _: np.array([rate]), seed=1)
    segments = info["flow"]["goodput_kbps"] * 1e3 * 15.0 / 8000.0
    assert segments == pytest.approx(rate * 15.0 / 8000.0, abs=1.0)


@pytest.mark.parametrize("window", [1, 2, 4])
@pytest.mark.parametrize("step", ["50 ms", "rtt"])
def test_a_constant_window_is_delivered_in_each_round_trip(window: int, step: str) -> None:
    """Below the bandwidth-delay product, a window is delivered in each round trip, which no queue makes longer."""
    env = Window(WIRE | {"tcp": {**WIRE["tcp"], "initial_window": 1}}, step=step, set={"flow.acking": "every"})
    seen, info = play(env, lambda _: np.array([float(window)]), seed=1)
    round_trip = SEGMENT + ACK + 0.04
    assert window * SEGMENT < round_trip
    assert seen[-1][SEEN["min_round_trip"]] == pytest.approx(round_trip, rel=1e-6)
    segments = info["flow"]["goodput_kbps"] * 1e3 * 15.0 / 8000.0
    assert segments == pytest.approx(window * 15.0 / round_trip, abs=window + 0.5)


def aimd(seen: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half the window after losses, one more otherwise; of one observation or of many."""
    window = np.maximum(seen[..., SEEN["cwnd"]], 1.0)
    window = np.where(seen[..., SEEN["lost"]] > 0, window / 2, window + 1)
    return np.clip(window, 1.0, 32.0)[..., None]


def test_a_vector_makes_the_episodes_of_single_environments() -> None:
    """Whatever else goes on, and across the next run of each place."""
    begin, count = 40, 5
    singles = [Window(CHAIN, set={"duration": "3 s"}) for _ in range(count)]
    expected = [[play(env, aimd, seed=begin + n), play(env, aimd)] for n, env in enumerate(singles)]
    many = gymnasium.make_vec(
        "hopyard/Window-v0",
        num_envs=count,
        vectorization_mode="vector_entry_point",
        scenario=CHAIN,
        set={"duration": "3 s"},
    )
    assert isinstance(many, Windows)
    seen, _ = many.reset(seed=begin)
    found: list[list[Any]] = [[[row.copy()]] for row in seen]
    digests: list[list[str]] = [[] for _ in range(count)]
    while any(len(each) < 2 for each in digests):
        before = [len(each) for each in digests]
        seen, rewards, _, over, info = many.step(aimd(seen))
        for n in range(count):
            if len(found[n]) > before[n]:
                found[n][-1].append(seen[n].copy())
            else:
                assert rewards[n] == 0.0
                found[n].append([seen[n].copy()])
            if over[n]:
                digests[n].append(info["digest"][n])
    for n in range(count):
        for episode in range(2):
            rows, last = expected[n][episode]
            assert digests[n][episode] == last["digest"]
            np.testing.assert_array_equal(np.array(found[n][episode]), np.array(rows))


def test_other_python_threads_go_on_during_a_step() -> None:
    env = Window(CHAIN, step="5000 s", set={"duration": "6000 s"})
    env.reset(seed=1)
    counted, done = [0], threading.Event()

    def count() -> None:
        while not done.is_set():
            counted[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    env.step(np.array([8.0]))
    # A step that held the lock of Python would let the thread count once or twice.
    assert counted[0] > before + 100
    done.set()
    thread.join()


def test_seeds_and_runs_are_those_of_hopyard_run() -> None:
    env = Window(CHAIN, step="100 ms", set={"duration": "3 s"})
    fixed = lambda _: np.array([4.0])  # noqa: E731
    first, second = (play(env, fixed, **begin)[1]["digest"] for begin in ({"seed": 9}, {}))
    assert first != second
    assert play(env, fixed, seed=9)[1]["digest"] == first
    assert play(env, fixed, options={"run": 1})[1]["digest"] == second


def test_several_flows_have_their_own_windows_and_rows() -> None:
    env = Flows(CHAIN, step="200 ms")
    seen, _ = env.reset(seed=2)
    assert set(seen) == {"flow_0", "flow_1"}
    infos: dict[str, dict[str, Any]] = {}
    while env.agents:
        seen, rewards, _, _, infos = env.step({"flow_0": np.array([6.0]), "flow_1": np.array([1.0])})
        assert set(rewards) == set(seen)
    assert [infos[f"flow_{n}"]["flow"]["flow"] for n in (0, 1)] == [0, 1]
    assert seen["flow_1"][SEEN["cwnd"]] == 1.0
    assert infos["flow_0"]["flow"]["cwnd_mean"] > 2 * infos["flow_1"]["flow"]["cwnd_mean"]


def test_the_reward_is_what_was_delivered_less_the_price_of_queues() -> None:
    deep = WIRE | {"wire": [WIRE["wire"][0] | {"queue_length": 50}], "measure": {"from": "0 s"}}
    free, dear = (Window(deep, step="500 ms", delay_price=price) for price in (0.0, 2.0))
    total = {}
    for env in (free, dear):
        env.reset(seed=1)
        _, reward, _, over, info = env.step(np.array([20.0]))
        total[env] = reward
        while not over:
            _, reward, _, over, info = env.step(np.array([20.0]))
            total[env] += reward
    delivered = info["flow"]["delivered_bytes"] * 8e-6
    assert total[free] == pytest.approx(delivered, abs=30 * 8e-3)
    # A window of 20 is more than the wire holds. The rest waits in its queue, or for a delayed acknowledgement.
    queueing = 20 * SEGMENT - (SEGMENT + ACK + 0.04)
    assert total[free] - total[dear] == pytest.approx(2.0 * queueing * 20.0, rel=0.1)
    own = Window(WIRE, step="500 ms", reward=lambda seen: seen[..., SEEN["cwnd"]])
    own.reset(seed=1)
    assert own.step(np.array([7.0]))[1] == 7.0


@pytest.mark.skipif(sys.platform != "linux", reason="threads are counted in /proc")
def test_runs_end_with_their_environment() -> None:
    tasks = Path("/proc/self/task")
    before = len(list(tasks.iterdir()))
    env = Windows(CHAIN, num_envs=8)
    env.reset(seed=0)
    env.close()
    env.close()
    left = Window(CHAIN)
    left.reset(seed=0)
    del left
    ends = time.monotonic() + 30
    while len(list(tasks.iterdir())) > before:
        assert time.monotonic() < ends, "the threads of runs that nobody can step are left"
        time.sleep(0.02)
    code = "import hopyard.gym as g; e = g.Window({'nodes': {'count': 2}, 'flow': [{'from': 0, 'to': 1}]}); e.reset()"
    python("-c", code, check=True, timeout=60)


def udp(flow: dict[str, Any]) -> dict[str, Any]:
    return CHAIN | {"flow": [{"from": 0, "to": 4, **flow}]}


@pytest.mark.parametrize(
    ("scenario", "arguments", "message"),
    [
        (CHAIN, {"flow": 2}, "flow: expected 0 to 1, found 2"),
        (CHAIN, {"flow": -1}, "flow: expected the number of a flow, found -1"),
        (CHAIN, {"flow": True}, "flow: expected the number of a flow, found True"),
        (udp({"udp": True, "traffic": "cbr"}), {}, "flow 0: expected a flow of TCP, found one of UDP"),
        (
            udp({"traffic": "request_response"}),
            {},
            "flow 0: expected data in one direction, found traffic that is answered",
        ),
        ({"nodes": {"count": 2}}, {}, "expected a scenario with flows, found 0"),
        (CHAIN, {"step": "soon"}, "soon"),
        (CHAIN, {"step": 0}, "step: expected a duration above zero, at most 50 years, found 0"),
        (CHAIN, {"step": float("nan")}, "step: expected a duration above zero, at most 50 years, found nan"),
        (CHAIN, {"action": "ssthresh"}, 'action: expected "window" or "rate", found "ssthresh"'),
        (CHAIN, {"limits": (4.0, 2.0)}, "limits: expected two rising numbers from 1 on, found (4.0, 2.0)"),
        (CHAIN, {"delay_price": -1.0}, "delay_price: expected a number from 0 on, found -1.0"),
        (CHAIN, {"set": {"flow.tcp": ["reno", "vegas"]}}, "set: expected one value for each key, found 2 cases"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_bad_environments_are_refused(scenario: dict[str, Any], arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        Window(scenario, **arguments)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (np.array([1.0, 2.0]), "action of flow 0: expected an array of the shape (1,), found (2,)"),
        (3.0, "action of flow 0: expected an array of the shape (1,), found ()"),
        (np.array([np.nan]), "action of flow 0: expected numbers from 1 to 32, found nan"),
        (np.array([np.inf]), "action of flow 0: expected numbers from 1 to 32, found inf; gymnasium.wrappers.ClipAct"),
        (np.array([0.5]), "action of flow 0: expected numbers from 1 to 32, found 0.5"),
        ("wide", "action of flow 0: expected 1 numbers, found 'wide'"),
    ],
    ids=str,
)
def test_bad_actions_are_refused_and_change_nothing(action: Any, message: str) -> None:
    env = Window(CHAIN, step="1 s", set={"tcp.window": 32, "duration": "3 s"})
    fixed = lambda _: np.array([4.0])  # noqa: E731
    expected = play(env, fixed, seed=1)[1]["digest"]
    env.reset(seed=1)
    env.step(np.array([4.0]))
    with pytest.raises(ValueError, match=re.escape(message)):
        env.step(action)
    over = False
    info: dict[str, Any] = {}
    while not over:
        *_, over, info = env.step(np.array([4.0]))
    assert info["digest"] == expected


def test_steps_before_and_after_an_episode_are_refused() -> None:
    env = Window(CHAIN, set={"duration": "3 s"})
    with pytest.raises(ResetNeeded, match="has ended or not begun"):
        env.step(np.array([4.0]))
    play(env, lambda _: np.array([4.0]), seed=0)
    with pytest.raises(ResetNeeded, match="has ended or not begun"):
        env.step(np.array([4.0]))
    many = Windows(CHAIN, num_envs=2)
    with pytest.raises(ResetNeeded, match="found none"):
        many.step(np.ones((2, 1)))
    many.reset(seed=[4, 4])
    with pytest.raises(ValueError, match=r"actions: expected the shape \(2, 1\), found \(1, 2\)"):
        many.step(np.ones((1, 2)))
    with pytest.raises(ValueError, match="seed: expected 2 seeds, found 3"):
        many.reset(seed=[1, 2, 3])
    with pytest.raises(ValueError, match="num_envs: expected a number from 1 to 4096, found 0"):
        Windows(CHAIN, num_envs=0)


def test_agents_that_are_missing_or_unknown_are_named() -> None:
    env = Flows(CHAIN)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="found none of flow_1"):
        env.step({"flow_0": np.array([2.0])})
    with pytest.raises(ValueError, match="expected agents among flow_0, flow_1, found flow_7"):
        env.step(dict.fromkeys(["flow_0", "flow_1", "flow_7"], np.array([2.0])))
    with pytest.raises(ValueError, match="step: expected a duration such as '100 ms'"):
        Flows(CHAIN, step="rtt")
    with pytest.raises(ValueError, match="flow: expected each flow once, found 0 twice"):
        Flows(CHAIN, flows=[0, 0])


def test_a_flow_that_gets_no_acknowledgement_ends_with_its_run() -> None:
    """Nobody hears the source: no decision is ever due, and the episode is told as one without steps."""
    lost = CHAIN | {"duration": "5 s", "nodes": {"count": 5, "spacing": "2 km"}}
    env, many = Window(lost, step="rtt"), Windows(lost, step="rtt", num_envs=2)
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(np.array([4.0]))
    assert (reward, terminated, truncated, info["flow"]["delivered_bytes"]) == (0.0, False, True, 0)
    with pytest.raises(ResetNeeded):
        env.step(np.array([4.0]))
    many.reset(seed=0)
    digests = []
    for _ in range(3):
        _, rewards, _, over, info = many.step(np.full((2, 1), 4.0))
        assert (rewards.tolist(), over.tolist()) == ([0.0, 0.0], [True, True])
        digests.append(info["digest"][0])
    assert len(set(digests)) == 3, "runs 0, 1 and 2"


@pytest.mark.parametrize(("package", "module"), [("gymnasium", "hopyard.gym"), ("pettingzoo", "hopyard.gym.flows")])
def test_without_the_extra_the_error_says_what_to_install(package: str, module: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; import {module}"
    done = python("-c", code, timeout=60)
    assert done.returncode == 1
    assert f'needs the package {package}: pip install ".[gym]"' in done.stderr
