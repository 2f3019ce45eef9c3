"""Measures the steps per second of `hopyard.gym`: single environments, and the vector form.

    python -m bench.gym

The scenario is the chain of the examples, with a constant window of eight segments. A step contains the simulation up
to the next decision; `idle` is an empty wire with a step of a millisecond, in which almost nothing is simulated, so
that the hand-over between Python and the run remains.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from hopyard.gym import Windows

CHAIN = Path(__file__).parent.parent / "examples" / "chain.toml"
IDLE: dict[str, Any] = {
    "name": "idle",
    "duration": "1000 s",
    "nodes": {"count": 0, "wired": 2},
    "wire": [{"between": [0, 1], "rate": "1 Mbps", "delay": "20 ms"}],
    "flow": [{"from": 0, "to": 1, "traffic": "transfer"}],
    "traffic": {"transfer": {"size": "1000 B"}},
}
#: How long each case is measured, in seconds.
TIME = 3.0


def steps_per_second(scenario: Any, step: str, places: int) -> tuple[float, float]:
    """Steps per second of elapsed time, and the processor time of a step in microseconds."""
    env = Windows(scenario, num_envs=places, step=step)
    width = env.action_space.shape or (places, 1)
    actions = np.full(width, 8.0)
    env.reset(seed=1)
    steps, began, used = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - began < TIME:
        env.step(actions)
        steps += places
    elapsed, used = time.perf_counter() - began, time.process_time() - used
    env.close()
    return steps / elapsed, used / steps * 1e6


def main() -> None:
    """Prints a row for each case."""
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print(f"{'scenario':8} {'step':>6} {'places':>6} {'steps/s':>9} {'CPU us/step':>11}")
    for scenario, name, step in ((CHAIN, "chain", "ack"), (CHAIN, "chain", "rtt"), (IDLE, "idle", "1 ms")):
        for places in (1, 2, 8, 32):
            rate, cost = steps_per_second(scenario, step, places)
            print(f"{name:8} {step:>6} {places:6} {rate:9,.0f} {cost:11.1f}")


if __name__ == "__main__":
    main()
