"""Intervals of one sample, which has one value a run."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from hopyard.statistics.estimates import CONFIDENCE, estimate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

#: Resamples of a bootstrap. Davison and Hinkley (1997): so many that (resamples + 1) times half of
#: the error probability is a whole number, and at least a thousand for 95 %.
RESAMPLES = 1999
#: Seed of a bootstrap: the same values give the same interval.
SEED = 1
#: A spread below this part of the largest value is what rounding left.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and its confidence interval.

    The ends are NaN where the runs say nothing about them, and infinite where the interval has no
    bound.
    """

    figure: float
    low: float
    high: float
    runs: int
    confidence: float = CONFIDENCE

    @property
    def half_width(self) -> float:
        """Half of the interval's width."""
        return (self.high - self.low) / 2

    def covers(self, value: float) -> bool:
        """Whether the value lies in the interval. Rounding does not count as outside."""
        slack = ROUNDING * max(abs(self.figure), abs(value))
        return self.low - slack <= value <= self.high + slack

    def __str__(self) -> str:
        return f"{self.figure:.4g} [{self.low:.4g}, {self.high:.4g}]"


def sample(values: ArrayLike, name: str = "values") -> Floats:
    """The values of the runs that have one: NaN says that a run has none."""
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1:
        raise ValueError(f"{name}: expected one value a run, found {found.ndim} dimensions")
    infinite = np.flatnonzero(np.isinf(found))
    if infinite.size:
        raise ValueError(f"{name}: the value of run {infinite[0]} is infinite")
    return found[~np.isnan(found)]


def check_confidence(confidence: float) -> None:
    """Refuses a confidence that is no probability between zero and one."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence}: expected a number between 0 and 1, like 0.95")


def has_spread(values: Floats) -> bool:
    """Whether the values differ, by more than rounding."""
    return values.size > 1 and bool(np.ptp(values) > ROUNDING * np.abs(values).max())


def subtract(values: Floats, others: Floats) -> Floats:
    """The differences, where zero is zero: what rounding left of equal values is no difference."""
    apart = values - others
    apart[np.abs(apart) <= ROUNDING * np.maximum(np.abs(values), np.abs(others))] = 0.0
    return apart


def student(values: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """The mean, with the interval of Student's t."""
    check_confidence(confidence)
    found = estimate(sample(values), confidence)
    return Interval(found.mean, found.low, found.high, found.runs, confidence)


def bootstrap(
    values: ArrayLike, confidence: float = CONFIDENCE, *, resamples: int = RESAMPLES, seed: int = SEED
) -> Interval:
    """The mean, with the bias-corrected and accelerated bootstrap interval (Efron 1987).

    It follows the skewness of the values, which Student's interval does not. With 30 runs or fewer
    it is too narrow: see the table of coverage in `docs/guide/statistics.md`.
    """
    check_confidence(confidence)
    found = sample(values)
    if found.size < 2:
        return student(found, confidence)
    figure = float(found.mean())
    if not has_spread(found):
        return Interval(figure, figure, figure, found.size, confidence)
    low, high = bootstrap_ends(found[None, :], confidence, resamples, seed)
    return Interval(figure, float(low[0]), float(high[0]), found.size, confidence)


def bootstrap_ends(
    samples: Floats, confidence: float, resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[Floats, Floats]:
    """The ends of the bootstrap intervals of several samples, a row each, that all have spread.

    A row has the ends that it has alone: each is resampled at the same places.
    """
    low, high = stats.bootstrap(
        (samples,),
        np.mean,
        axis=-1,
        n_resamples=resamples,
        confidence_level=confidence,
        method="BCa",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return np.asarray(low), np.asarray(high)


def median(values: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """The median, with the exact interval between two order statistics.

    It holds for every distribution. The number of values below the median is binomial, so that
    some confidences cannot be had exactly, and the interval then has more. Five runs or fewer give
    no interval of 95 %: the ends are infinite.
    """
    check_confidence(confidence)
    found = sample(values)
    if found.size < 2:
        return student(found, confidence)
    figure = float(np.median(found))
    places = _places_of_median(found.size, confidence)
    if places is None:
        return Interval(figure, -math.inf, math.inf, int(found.size), confidence)
    low, high = np.sort(found)[list(places)]
    return Interval(figure, float(low), float(high), int(found.size), confidence)


@cache
def _places_of_median(runs: int, confidence: float) -> tuple[int, int] | None:
    """Which of so many values in order are the ends of the median's interval; none if too few.

    scipy says it by the interval of the values 0, 1, 2, ...: it depends on nothing but the order.
    """
    with warnings.catch_warnings():
        # It warns where the runs are too few, and gives NaN.
        warnings.simplefilter("ignore", RuntimeWarning)
        test = stats.quantile_test(np.arange(runs, dtype=np.float64), p=0.5)
        ends = np.asarray(test.confidence_interval(confidence))
    return None if np.isnan(ends).any() else (int(ends[0]), int(ends[1]))
