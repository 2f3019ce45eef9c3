"""Coverage of intervals that are watched after every run, at the moment when one stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from hopyard.statistics.methods import sequence_critical
from scipy import stats

from validation.coverage.distributions import ALL, random_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

CONFIDENCE = 0.95
#: Half of the width, as a part of the mean, at which one stops.
TARGETS = (0.2, 0.1, 0.05, 0.02)
#: The fewest runs before the interval is looked at.
FEWEST = (10, 20, 30)
#: Until here it is also asked whether the truth is outside at any moment.
HORIZON = 1_000
#: Runs after which a draw counts as not stopped.
MOST = 200_000
#: Runs made at once after the horizon, and values: so many stay in a processor's cache.
STRIDE = 2_000
BLOCK = 200_000


def _student(runs: Floats) -> Floats:
    return np.asarray(stats.t.isf((1 - CONFIDENCE) / 2, runs - 1))


def _sequence(runs: Floats) -> Floats:
    return sequence_critical(runs, CONFIDENCE)


CRITICAL: dict[str, Callable[[Floats], Floats]] = {"Student": _student, "time-uniform": _sequence}


class _Stop:
    """When the draws stop under one rule, and whether the truth is in the interval then."""

    def __init__(self, draws: int) -> None:
        self.runs = np.zeros(draws, dtype=np.int64)
        self.covered = np.zeros(draws, dtype=np.bool_)

    def look(self, draws: NDArray[np.intp], narrow: Flags, outside: Flags, runs: Floats) -> None:
        """Takes in a block: a row for each of these draws, a column a run."""
        waiting = np.flatnonzero((self.runs[draws] == 0) & narrow.any(axis=1))
        place = narrow[waiting].argmax(axis=1)
        self.runs[draws[waiting]] = runs[place].astype(np.int64)
        self.covered[draws[waiting]] = ~outside[waiting, place]


@dataclass(frozen=True)
class Cell:
    """One distribution: all rules of stopping watch the same runs."""

    distribution: str
    targets: tuple[float, ...] = TARGETS

    def simulate(self, draws: int) -> list[dict[str, object]]:
        """A row for each interval, fewest number of runs, and target."""
        of = ALL[self.distribution]
        random = random_of("watched", self.distribution)
        stops = {
            (interval, fewest, target): _Stop(draws)
            for interval in CRITICAL
            for fewest in FEWEST
            for target in self.targets
        }
        ever = {(interval, fewest): np.zeros(draws, dtype=np.bool_) for interval in CRITICAL for fewest in FEWEST}
        left = np.arange(draws)
        sums, squares = np.zeros(draws), np.zeros(draws)
        done = 0
        while left.size and done < MOST:
            length = HORIZON if done == 0 else min(STRIDE, MOST - done)
            runs = np.arange(done + 1, done + length + 1, dtype=np.float64)
            for part in np.array_split(left, max(1, left.size * length // BLOCK)):
                # About the true mean: sums of squares then keep their digits.
                values = of.draw(random, (part.size, length)) - of.mean
                total = sums[part, None] + values.cumsum(axis=1)
                square = squares[part, None] + (values**2).cumsum(axis=1)
                sums[part], squares[part] = total[:, -1], square[:, -1]
                mean = total / runs
                variance = np.maximum(square - total * mean, 0.0) / np.maximum(runs - 1, 1)
                error = np.sqrt(variance / runs)
                for interval, critical in CRITICAL.items():
                    waiting = [
                        (fewest, target, stop)
                        for (of_interval, fewest, target), stop in stops.items()
                        if of_interval == interval and not stop.runs[part].all()
                    ]
                    if done and not waiting:
                        continue
                    width = np.full(runs.shape, np.inf)
                    width[runs > 1] = critical(runs[runs > 1])
                    with np.errstate(invalid="ignore"):
                        half = np.where(np.isinf(width), np.inf, width * error)
                    outside = np.abs(mean) > half
                    if done == 0:
                        for fewest in FEWEST:
                            late = outside[:, fewest - 1 :]
                            ever[interval, fewest][part] = late.any(axis=1)
                    for fewest, target, stop in waiting:
                        narrow = half <= target * np.abs(mean + of.mean)
                        narrow[:, runs < fewest] = False
                        stop.look(part, narrow, outside, runs)
            done += length
            left = left[np.any([stop.runs[left] == 0 for stop in stops.values()], axis=0)]
        return [
            {
                "interval": interval,
                "distribution": self.distribution,
                "target": target,
                "fewest_runs": fewest,
                "draws": draws,
                "coverage": float(stop.covered[stop.runs > 0].mean()) if stop.runs.any() else "",
                "median_runs": float(np.median(np.where(stop.runs > 0, stop.runs, MOST))),
                "unstopped": float((stop.runs == 0).mean()),
                "ever_outside": float(ever[interval, fewest].mean()),
            }
            for (interval, fewest, target), stop in stops.items()
        ]


def cells() -> Iterator[Cell]:
    """Every distribution."""
    yield from map(Cell, ALL)
