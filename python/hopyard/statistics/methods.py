"""Two ways from a t statistic to an interval and a p-value: for a fixed number of runs, or any.

With t the mean's distance from a value in standard errors, all comparisons need two functions of a
method: the largest |t| that the interval takes in, and the two-sided p-value of a |t|.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

#: Runs that are watched decide nothing before there are so many. The sequence is exact for normal
#: values. The table in `docs/guide/statistics.md` shows that others need a start: where 10 % of
#: the runs end in another way, 30 runs show one of them with a probability of 96 %.
FEWEST_RUNS = 30
#: Variance of the mixture over the standardised mean. No other is narrower at about 8 / `MIXTURE`
#: runs: of the order of the runs that one watches.
MIXTURE = 0.1
#: As many runs as `runs_needed` looks at.
MOST_NEEDED = 1_000_000


@dataclass(frozen=True, slots=True)
class Method:
    """How certain a distance in standard errors is."""

    name: str
    #: The largest |t| in the interval, from the number of runs and the confidence.
    critical: Callable[[int, float], float]
    #: The two-sided p-value, from |t| and the number of runs.
    p_value: Callable[[float, int], float]
    #: Fewer runs decide nothing.
    fewest: int


def _student_critical(runs: int, confidence: float) -> float:
    return float(stats.t.isf((1 - confidence) / 2, runs - 1))


def _student_p(t: float, runs: int) -> float:
    return float(2 * stats.t.sf(abs(t), runs - 1))


def sequence_critical(runs: ArrayLike, confidence: float) -> Floats:
    """The largest |t| in the time-uniform interval, for each number of runs (two or more).

    Infinite while the runs are too few to exclude anything.
    """
    number = np.asarray(runs, dtype=np.float64)
    share = 1 + number * MIXTURE
    # The e-value of `_sequence_p`, solved for t where it is one over the error probability.
    growth = (np.sqrt(share) / (1 - confidence)) ** (2 / number)
    square = np.full(number.shape, np.inf)
    np.divide(growth - 1, 1 - growth / share, out=square, where=growth < share)
    return np.asarray(np.sqrt(square * (number - 1)))


def _sequence_critical(runs: int, confidence: float) -> float:
    return float(sequence_critical(runs, confidence))


def _sequence_p(t: float, runs: int) -> float:
    """One over the e-value: the mixture's likelihood of t over that of no effect.

    The standardised mean has a normal prior with variance `MIXTURE`, which makes the ratio a
    martingale of t (Wang and Ramdas 2023), so that Ville's inequality holds at every moment.
    """
    share = 1 + runs * MIXTURE
    square = t * t / (runs - 1)
    growth = math.log1p(square) - math.log1p(square / share)
    return math.exp(min(0.0, math.log(share) / 2 - runs / 2 * growth))


def runs_needed(method: Method, distance: float, runs: int, alpha: float) -> int | None:
    """The runs with which a figure would have a p-value of `alpha`, if its mean and its spread stay as they are.

    Args:
        method: how certain a distance in standard errors is.
        distance: how far the mean is from the bound, in standard errors.
        runs: the runs of these standard errors.
        alpha: the probability of error that is left for it.

    Returns:
        The number of runs; `MOST_NEEDED` stands for that or more. None where there is no distance.
    """
    if math.isnan(distance):
        return None
    few, many = max(method.fewest, 2), MOST_NEEDED
    while few < many:
        number = (few + many) // 2
        enough = method.p_value(distance * math.sqrt(number / runs), number) <= alpha
        few, many = (few, number) if enough else (number + 1, many)
    return few


#: For a number of runs that was fixed before.
STUDENT = Method("Student's t", _student_critical, _student_p, 2)
#: For runs that are watched: valid at every moment at once.
SEQUENCE = Method("time-uniform t", _sequence_critical, _sequence_p, FEWEST_RUNS)
