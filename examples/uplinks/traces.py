"""Draws the traces of this folder: a cellular downlink and uplink, and a satellite that changes every 15 s.

    python traces.py FOLDER

The numbers are drawn, and no measurement: a capacity whose logarithm returns to its mean with a time
constant of a second, as fading and the load of a cell make it; and rates, delays and short losses that
jump, as paths over satellites in low orbits do. The same seed gives the same files.
"""

from __future__ import annotations

import math
import random
import sys
from pathlib import Path

SEED = 36
#: The time between two values of a cell's capacity, and the time constant of its logarithm.
STEP, MEMORY = 0.02, 1.0
#: Standard deviation of the logarithm.
SPREAD = 0.6


def normal(draws: random.Random) -> float:
    """A standard normal number, by Box and Muller."""
    return math.sqrt(-2.0 * math.log(1.0 - draws.random())) * math.cos(2.0 * math.pi * draws.random())


def capacity(draws: random.Random, mean: float, seconds: float) -> list[float]:
    """The capacity in Mbit/s, a value for each step. In one of 300 steps begins a gap of 0.2 s without any."""
    keep = math.exp(-STEP / MEMORY)
    log, gap, found = 0.0, 0, []
    for _ in range(round(seconds / STEP)):
        log = keep * log + SPREAD * math.sqrt(1.0 - keep * keep) * normal(draws)
        gap = 10 if draws.random() < 1 / 300 else gap - 1
        found.append(0.0 if gap > 0 else mean * math.exp(log - SPREAD * SPREAD / 2))
    return found


def opportunities(draws: random.Random, rates: list[float]) -> list[int]:
    """The milliseconds in which a packet of 1500 bytes can be delivered: a Poisson process of these rates."""
    found, due, sent = [], -math.log(1.0 - draws.random()), 0.0
    for number, rate in enumerate(rates):
        for milli in range(round(STEP * 1000)):
            sent += rate * 1e3 / (1500 * 8)
            while sent >= due:
                found.append(number * round(STEP * 1000) + milli)
                due -= math.log(1.0 - draws.random())
    return [*found, round(len(rates) * STEP * 1000)]


def main(folder: Path) -> None:
    """Writes the three files."""
    draws = random.Random(SEED)
    down = opportunities(draws, capacity(draws, 4.0, 12.0))
    (folder / "lte_down.ms").write_text("".join(f"{each}\n" for each in down), encoding="utf-8")

    rates = capacity(draws, 1.5, 12.0)[::5]
    rows = [f"{number * STEP * 5:.1f},{rate:.3f}" for number, rate in enumerate([*rates, 0.0])]
    (folder / "lte_up.csv").write_text("\n".join(["time_s,rate_mbps", *rows]) + "\n", encoding="utf-8")

    # The paths of a satellite: after each 15 s another one, with a gap of 60 ms, and some loss before it.
    lines, delay = ["time_s,rate_mbps,delay_ms,loss"], 28.0
    for start in range(0, 60, 15):
        rate = 12.0 + 16.0 * draws.random()
        delay = 22.0 + 14.0 * draws.random()
        lines += [
            f"{start},0,{delay:.2f},0",
            f"{start + 0.06:.2f},{rate:.2f},{delay:.2f},0.0005",
            f"{start + 14.8:.2f},{0.6 * rate:.2f},{delay + 2:.2f},0.01",
        ]
    lines.append(f"60,0,{delay:.2f},0")
    (folder / "satellite.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
