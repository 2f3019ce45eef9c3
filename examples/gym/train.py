"""Trains a small policy for TCP's window over a chain, and compares it with CUBIC and Vegas.

    python examples/gym/train.py examples/gym

The policy has four weights. After each round trip it multiplies the window by a factor, which depends on the queueing
delay, the losses, the timeouts and a constant. The cross-entropy method trains it: it draws weights from a normal
distribution, keeps those with the largest rewards, and fits the next distribution to these. That needs numpy alone:
four weights have no use for gradients or a GPU. The folder that is given gets `policy.json` and `comparison.csv`.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from pathlib import Path

import hopyard
import numpy as np
from hopyard.gym import OBSERVED, Windows
from hopyard.statistics import estimate

HERE = Path(__file__).parent
CHAIN = HERE.parent / "chain.toml"
#: A shorter run than that of the example: routes are there after a second with AODV.
SETTINGS = {"duration": "12 s", "measure.from": "2 s"}
#: A second of queueing delay costs as much as this many Mbit in each second. The chain carries about a quarter.
DELAY_PRICE = 0.2
GENERATIONS, PEOPLE, BEST, RUNS = 4, 8, 3, 1
TRAINED_ON, HELD_OUT, TESTS = 1000, 1, 6
ROUND_TRIP, SHORTEST, LOST, TIMEOUTS, CWND, ELAPSED = map(
    OBSERVED.index, ("round_trip", "min_round_trip", "lost", "timeouts", "cwnd", "elapsed")
)


def decide(weights: np.ndarray, seen: np.ndarray, limit: float) -> np.ndarray:
    """The next windows of places with these weights, a row for each."""
    shortest = np.maximum(seen[:, SHORTEST], 1e-3)
    queueing = np.clip(seen[:, ROUND_TRIP] / shortest - 1.0, 0.0, 5.0)
    signs = np.stack([np.ones(len(seen)), queueing, np.minimum(seen[:, LOST], 3.0), np.minimum(seen[:, TIMEOUTS], 1.0)])
    change = np.clip(np.sum(weights * signs.T, axis=1), -0.7, 0.7)
    return np.clip(np.maximum(seen[:, CWND], 1.0) * np.exp(change), 1.0, limit)[:, None]


def play(env: Windows, weights: np.ndarray, seeds: list[int]) -> tuple[np.ndarray, list[dict], int]:
    """One episode at each place: the sum of its rewards, its row of the results, and the steps of all."""
    seen, _ = env.reset(seed=seeds)
    limit = float(env.single_action_space.high[0])
    total, rows, steps = np.zeros(len(seeds)), [{} for _ in seeds], 0
    goes_on = np.ones(len(seeds), dtype=bool)
    while goes_on.any():
        seen, rewards, _, over, info = env.step(decide(weights, seen, limit))
        total += np.where(goes_on, rewards, 0.0)
        steps += int(goes_on.sum())
        for place in np.flatnonzero(over & goes_on):
            rows[place] = info["flow"][place]
        goes_on &= ~over
    return total, rows, steps


def train() -> tuple[np.ndarray, list[float]]:
    """Weights with a large reward, and the mean reward of each generation."""
    env = Windows(CHAIN, num_envs=PEOPLE * RUNS, step="rtt", delay_price=DELAY_PRICE, set=SETTINGS)
    random = np.random.default_rng(1)
    mean, spread, history = np.array([0.1, -0.2, -0.2, -0.5]), np.array([0.3, 0.3, 0.3, 0.3]), []
    for generation in range(GENERATIONS):
        people = mean + spread * random.standard_normal((PEOPLE, 4))
        # All people meet the same runs, so that luck decides less.
        seeds = [TRAINED_ON + generation * RUNS + run for run in range(RUNS)] * PEOPLE
        began = time.perf_counter()
        total, _, steps = play(env, np.repeat(people, RUNS, axis=0), seeds)
        rewards = total.reshape(PEOPLE, RUNS).mean(axis=1)
        best = people[np.argsort(rewards)[-BEST:]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.02
        history.append(float(rewards.mean()))
        rate = steps / (time.perf_counter() - began)
        print(f"generation {generation}: reward {history[-1]:.2f}, best {rewards.max():.2f}, {rate:.0f} steps/s")
    env.close()
    return mean, history


def main(folder: Path) -> None:
    """Trains, compares over held-out seeds, and writes both results."""
    began = time.process_time(), time.perf_counter()
    weights, history = train()
    used = time.process_time() - began[0], time.perf_counter() - began[1]
    print(f"trained in {used[1]:.0f} s, with {used[0]:.0f} s of processor time")
    policy = {"weights": dict(zip(("constant", "queueing", "lost", "timeout"), weights.round(4), strict=True))}
    policy |= {"rewards": [round(reward, 3) for reward in history]}
    (folder / "policy.json").write_text(json.dumps(policy, indent=2) + "\n")
    weights = np.array(list(policy["weights"].values()))
    env = Windows(CHAIN, num_envs=TESTS, step="rtt", delay_price=DELAY_PRICE, set=SETTINGS)
    seeds = [HELD_OUT + number for number in range(TESTS)]
    _, mine, _ = play(env, np.tile(weights, (TESTS, 1)), seeds)
    env.close()
    found = {"policy": mine}
    for variant in ("cubic", "vegas", "newreno"):
        settings = SETTINGS | {"flow.tcp": variant}
        found[variant] = [
            hopyard.run(CHAIN, seed=seed, runs=1, set=settings, progress=False).flows.to_pylist()[0] for seed in seeds
        ]
    with (folder / "comparison.csv").open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["seed", "sender", "goodput_kbps", "delay_ms", "retransmissions", "timeouts"])
        for name, rows in found.items():
            for seed, row in zip(seeds, rows, strict=True):
                values = (row["goodput_kbps"], row["delay_ms"], row["retransmissions"], row["timeouts"])
                table.writerow([seed, name, *(round(float(value), 3) for value in values)])
    for measure in ("goodput_kbps", "delay_ms"):
        values = {name: np.array([float(row[measure]) for row in rows]) for name, rows in found.items()}
        for name in found:
            line = f"{measure} of {name}: {estimate(values[name])}"
            if name != "policy":
                line += f"; policy minus {name}: {estimate(values['policy'] - values[name])}"
            print(line)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
