"""Comparisons of two cases: differences, ratios, sizes of effects, equivalence, many at once.

The cases of a study meet the same movement and the same channel in the runs of one number (common
random numbers). So the values are pairs, except where a function says otherwise. A run in which one
of the two has no value (NaN) is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats
from statsmodels.stats.meta_analysis import effectsize_smd
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired

from hopyard.statistics.estimates import CONFIDENCE
from hopyard.statistics.intervals import ROUNDING, Interval, check_confidence, has_spread, sample, student, subtract
from hopyard.statistics.methods import STUDENT, Method

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

#: The error probability of a test.
ALPHA = 0.05


def pairs(values: ArrayLike, baseline: ArrayLike) -> tuple[Floats, Floats]:
    """The values of the runs in which both cases have one."""
    first, second = np.asarray(values, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if first.shape != second.shape:
        raise ValueError(f"{first.size} runs cannot be paired with {second.size}")
    both = ~(np.isnan(first) | np.isnan(second))
    return sample(first[both]), sample(second[both], "baseline")


def difference(values: ArrayLike, baseline: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """The mean of `values` minus `baseline`, run by run, with Student's interval."""
    first, second = pairs(values, baseline)
    return student(subtract(first, second), confidence)


def welch(values: ArrayLike, baseline: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """The difference of the means of two samples that share nothing: other seeds, other program.

    Welch (1947), for variances that may differ. `runs` is the smaller number of runs.
    """
    check_confidence(confidence)
    first, second = sample(values), sample(baseline, "baseline")
    runs = min(first.size, second.size)
    figure = float(first.mean() - second.mean()) if runs else math.nan
    if runs < 2:
        return Interval(figure, math.nan, math.nan, runs, confidence)
    if not (has_spread(first) or has_spread(second)):
        return Interval(figure, figure, figure, runs, confidence)
    found = stats.ttest_ind(first, second, equal_var=False).confidence_interval(confidence)
    return Interval(figure, float(found.low), float(found.high), runs, confidence)


def ratio(values: ArrayLike, baseline: ArrayLike, confidence: float = CONFIDENCE, method: Method = STUDENT) -> Interval:
    """The mean of `values` divided by that of `baseline`, with Fieller's interval (1954) for pairs.

    It has every ratio r for which the mean of `values - r * baseline` may be zero. The ends are
    infinite where the mean of the baseline may be zero.
    """
    check_confidence(confidence)
    first, second = pairs(values, baseline)
    runs = first.size
    if (first < 0).any() or (second < 0).any():
        raise ValueError("a ratio needs values of zero or above")
    top, bottom = (float(each.mean()) if runs else math.nan for each in (first, second))
    figure = top / bottom if bottom else math.nan
    if runs < 2 or math.isnan(figure):
        return Interval(figure, math.nan, math.nan, runs, confidence)
    if not has_spread(subtract(first, figure * second)):
        return Interval(figure, figure, figure, runs, confidence)
    critical = method.critical(runs, confidence)
    if math.isinf(critical):
        return Interval(figure, -math.inf, math.inf, runs, confidence)
    # (top - r bottom)² = critical² (var(first) - 2 r cov + r² var(second)) / runs, solved for r.
    scatter = np.cov(first, second) * critical**2 / runs
    square = bottom**2 - scatter[1, 1]
    half = top * bottom - scatter[0, 1]
    constant = top**2 - scatter[0, 0]
    if square <= 0:
        return Interval(figure, -math.inf, math.inf, runs, confidence)
    root = math.sqrt(max(half**2 - square * constant, 0.0))
    return Interval(figure, (half - root) / square, (half + root) / square, runs, confidence)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values of several tests, adjusted so that all of them together err with one alpha.

    Holm (1979). A NaN is a test that was not made: it stays, and does not count.
    """
    found = np.asarray(p_values, dtype=np.float64)
    made = ~np.isnan(found)
    if ((found[made] < 0) | (found[made] > 1)).any():
        raise ValueError(f"p-values {list(p_values)}: expected numbers between 0 and 1")
    adjusted = np.full(found.shape, np.nan)
    if made.any():
        adjusted[made] = multipletests(found[made], method="holm")[1]
    return [float(p) for p in adjusted]


def hedges_g(values: ArrayLike, baseline: ArrayLike) -> float:
    """Hedges' g (1981): the difference in standard deviations of the runs of a case.

    The pairs are not used: it says how much the cases differ beside what differs among runs.
    Infinite where the runs of neither case differ among themselves, and zero if all are equal.
    """
    first, second = sample(values), sample(baseline, "baseline")
    if min(first.size, second.size) < 2:
        return math.nan
    apart = float(first.mean() - second.mean())
    if not (has_spread(first) or has_spread(second)):
        return _without_spread(apart, first)
    found = effectsize_smd(first.mean(), first.std(ddof=1), first.size, second.mean(), second.std(ddof=1), second.size)
    return float(found[0])


def cohens_dz(values: ArrayLike, baseline: ArrayLike) -> float:
    """Cohen's d_z (1988): the mean of the pairs' differences in their standard deviations."""
    first, second = pairs(values, baseline)
    apart = subtract(first, second)
    if apart.size < 2:
        return math.nan
    if not has_spread(apart):
        return _without_spread(float(apart.mean()), first)
    return float(apart.mean() / apart.std(ddof=1))


def _without_spread(apart: float, values: Floats) -> float:
    if abs(apart) <= ROUNDING * float(np.abs(values).max()):
        return 0.0
    return math.copysign(math.inf, apart)


def cliffs_delta(values: ArrayLike, baseline: ArrayLike) -> float:
    """Cliff's delta (1993): how much more often a run has more than less of the other case.

    From -1 (always less) over 0 to 1 (always more). It needs no distances, only an order. All runs
    are compared with all, so that the pairs are not used.
    """
    first, second = sample(values), sample(baseline, "baseline")
    if not (first.size and second.size):
        return math.nan
    above = float(stats.mannwhitneyu(first, second, method="asymptotic").statistic)
    return 2 * above / (first.size * second.size) - 1


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Two one-sided tests (Schuirmann 1987): whether a figure lies surely between two bounds.

    `p` is the larger of the two p-values, and `interval` has the confidence 1 - 2 alpha: it lies
    between the bounds exactly if p is below alpha.
    """

    interval: Interval
    low: float
    high: float
    p: float
    alpha: float

    @property
    def equivalent(self) -> bool:
        """Whether it is shown. If not, the two need not differ: there may be too few runs."""
        return self.p <= self.alpha


def equivalence(values: ArrayLike, baseline: ArrayLike, margin: float, alpha: float = ALPHA) -> Equivalence:
    """Whether the pairs' mean difference lies surely between -`margin` and `margin`."""
    if not 0 < margin < math.inf:
        raise ValueError(f"margin {margin}: expected a number above 0")
    first, second = pairs(values, baseline)
    found = difference(first, second, 1 - 2 * alpha)
    if has_spread(subtract(first, second)):
        p = float(ttost_paired(first, second, -margin, margin)[0])
    else:
        p = _p_without_spread(found, -margin, margin)
    return Equivalence(found, -margin, margin, p, alpha)


def equivalence_of_ratio(
    values: ArrayLike, baseline: ArrayLike, low: float, high: float, alpha: float = ALPHA
) -> Equivalence:
    """Whether the ratio of the means lies surely between `low` and `high`, like 0.8 and 1.25.

    The tests ask whether `values - low * baseline` is above zero, and `values - high * baseline`
    below (Sasabuchi 1980): no logarithm is needed, and a run may have zero.
    """
    if not 0 <= low < high < math.inf:
        raise ValueError(f"bounds {low} and {high}: expected 0 <= low < high")
    first, second = pairs(values, baseline)
    found = ratio(first, second, 1 - 2 * alpha)
    least, most = subtract(first, low * second), subtract(first, high * second)
    p = max(_p_above_zero(least), _p_above_zero(-most))
    return Equivalence(found, low, high, p, alpha)


def p_without_spread(runs: int) -> float:
    """The two-sided p-value of so many runs with one and the same value, beside any other value.

    Student's t would be infinite after two runs. That of the sign test is used: six equal runs are
    needed for 5 %. It is anytime-valid too: doubling one's stake at each run is a fair game.
    """
    return min(1.0, 2 * 0.5**runs)


def _p_above_zero(values: Floats) -> float:
    """The one-sided p-value of a mean above zero; of equal runs that of `p_without_spread`."""
    if has_spread(values):
        t = float(values.mean()) / (float(values.std(ddof=1)) / math.sqrt(values.size))
        return float(stats.t.sf(t, values.size - 1))
    return p_without_spread(values.size) if values.size and values.mean() >= 0 else 1.0


def _p_without_spread(found: Interval, low: float, high: float) -> float:
    return p_without_spread(found.runs) if low <= found.figure <= high else 1.0
