"""Coverage of the intervals for a number of runs that is fixed before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from hopyard.statistics import Interval, difference, jain, median, ratio, student, welch
from hopyard.statistics.estimates import CONFIDENCE
from hopyard.statistics.intervals import RESAMPLES, bootstrap_ends

from validation.coverage.distributions import ALL, Distribution, random_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RUNS = (5, 10, 30, 100)
#: For intervals that take long to make.
SLOW = (10, 30)
#: Resampled values that are made at once: so many stay in a processor's cache.
BLOCK = 1_000_000
#: Flows of a run, and draws from which the mean of Jain's index is known.
FLOWS = 5
TRUTH_DRAWS = 1_000_000
#: The first case has so much more than the second.
MORE = 1.2

#: Makes the intervals of so many draws, each of so many runs.
Sampler = Callable[[np.random.Generator, Distribution, int, int], Iterator[Interval]]


def _each(one: Callable[[np.random.Generator, Distribution, int], Interval]) -> Sampler:
    return lambda random, of, runs, draws: (one(random, of, runs) for _ in range(draws))


def _student(random: np.random.Generator, of: Distribution, runs: int) -> Interval:
    return student(of.draw(random, (runs,)))


def _median(random: np.random.Generator, of: Distribution, runs: int) -> Interval:
    return median(of.draw(random, (runs,)))


def _pairs(random: np.random.Generator, of: Distribution, runs: int) -> tuple[Floats, Floats]:
    """Two cases that share what a run's movement gives."""
    shared = random.lognormal(0.0, 0.3, runs)
    return MORE * shared * of.draw(random, (runs,)), shared * of.draw(random, (runs,))


def _difference(random: np.random.Generator, of: Distribution, runs: int) -> Interval:
    return difference(*_pairs(random, of, runs))


def _ratio(random: np.random.Generator, of: Distribution, runs: int) -> Interval:
    return ratio(*_pairs(random, of, runs))


def _welch(random: np.random.Generator, of: Distribution, runs: int) -> Interval:
    return welch(MORE * of.draw(random, (runs,)), of.draw(random, (2 * runs,)))


def _bootstraps(draw: Callable[[np.random.Generator, Distribution, tuple[int, int]], Floats]) -> Sampler:
    def sampler(random: np.random.Generator, of: Distribution, runs: int, draws: int) -> Iterator[Interval]:
        at_once = max(1, BLOCK // (runs * RESAMPLES))
        for start in range(0, draws, at_once):
            rows = draw(random, of, (min(at_once, draws - start), runs))
            ends = bootstrap_ends(rows, CONFIDENCE)
            for row, low, high in zip(rows, *ends, strict=True):
                yield Interval(float(row.mean()), float(low), float(high), runs)

    return sampler


def _jain(random: np.random.Generator, of: Distribution, runs: int) -> Interval:
    return jain(np.maximum(of.draw(random, (runs, FLOWS)), 0.0))


def _indices(random: np.random.Generator, of: Distribution, size: tuple[int, int]) -> Floats:
    """Jain's index of each run, as `jain_index` has it."""
    shares = np.maximum(of.draw(random, (*size, FLOWS)), 0.0)
    return np.asarray(shares.sum(axis=-1) ** 2 / (FLOWS * (shares**2).sum(axis=-1)))


@cache
def _mean_of_jain(name: str) -> float:
    random = random_of("jain", name)
    return float(_indices(random, ALL[name], (TRUTH_DRAWS, 1)).mean())


@dataclass(frozen=True)
class _Kind:
    sampler: Sampler
    truth: Callable[[Distribution], float]
    distributions: tuple[str, ...] = tuple(ALL)
    runs: tuple[int, ...] = RUNS


#: Mean of what the cases share.
_SHARED = float(np.exp(0.3**2 / 2))
_POSITIVE = tuple(name for name, of in ALL.items() if of.positive)
KINDS = {
    "mean, Student": _Kind(_each(_student), lambda of: of.mean),
    "mean, bootstrap": _Kind(
        _bootstraps(lambda random, of, size: of.draw(random, size)), lambda of: of.mean, runs=SLOW
    ),
    "median": _Kind(_each(_median), lambda of: of.median),
    "difference of pairs": _Kind(_each(_difference), lambda of: (MORE - 1) * _SHARED * of.mean),
    "difference, Welch": _Kind(
        _each(_welch), lambda of: (MORE - 1) * of.mean, ("normal", "lognormal", "two modes"), SLOW
    ),
    "ratio of pairs, Fieller": _Kind(_each(_ratio), lambda _: MORE, _POSITIVE),
    "Jain's index": _Kind(
        _each(_jain), lambda of: _mean_of_jain(of.name), ("lognormal", "two modes", "rare mode"), SLOW
    ),
}


@dataclass(frozen=True)
class Cell:
    """One interval, one distribution, one number of runs."""

    interval: str
    distribution: str
    runs: int

    def simulate(self, draws: int) -> dict[str, object]:
        """The share of the draws whose interval has the truth, and of those on each side of it."""
        kind, of = KINDS[self.interval], ALL[self.distribution]
        random = random_of(self.interval, self.distribution, self.runs)
        truth = kind.truth(of)
        below = above = 0
        for found in kind.sampler(random, of, self.runs, draws):
            if not found.covers(truth):
                below += found.high < truth
                above += found.low > truth
        return {
            "interval": self.interval,
            "distribution": self.distribution,
            "runs": self.runs,
            "draws": draws,
            "coverage": 1 - (below + above) / draws,
            "below_truth": below / draws,
            "above_truth": above / draws,
        }


def cells() -> Iterator[Cell]:
    """Every interval over every distribution for which it is made."""
    for name, kind in KINDS.items():
        for distribution in kind.distributions:
            yield from (Cell(name, distribution, runs) for runs in kind.runs)
