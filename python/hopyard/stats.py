"""Means with confidence intervals: over independent runs, and over pairs that share randomness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopyard._core import student_t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and how well it is known.

    `half_width` is half of the confidence interval's width, NaN when fewer than two runs were made:
    one run says nothing about the spread.
    """

    mean: float
    half_width: float
    runs: int

    @property
    def low(self) -> float:
        """The interval's lower end."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """The interval's upper end."""
        return self.mean + self.half_width

    def __str__(self) -> str:
        return self.text(self.decimals)

    @property
    def decimals(self) -> int:
        """How many decimals say something: two digits of the half width, or three of the mean."""
        known = not math.isnan(self.half_width) and self.half_width > 0
        scale, digits = (self.half_width, 2) if known else (abs(self.mean), 3)
        if math.isnan(scale) or scale == 0:
            return 0
        return min(max(digits - 1 - math.floor(math.log10(scale)), 0), 3)

    def text(self, decimals: int) -> str:
        """As `198.3 ± 2.1`, or `-` where no run had a value."""
        if math.isnan(self.mean):
            return "-"
        mean = f"{self.mean:,.{decimals}f}"
        return mean if math.isnan(self.half_width) else f"{mean} ± {self.half_width:,.{decimals}f}"


def aligned(estimates: Sequence[Estimate]) -> list[str]:
    """Estimates as texts for a column: all with the decimals that most of them need."""
    decimals = sorted(each.decimals for each in estimates if each.runs)
    usual = decimals[len(decimals) // 2] if decimals else 0
    return [each.text(usual) for each in estimates]


def estimate(values: ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of one value a run, with Student's t interval.

    Runs in which the value does not exist (NaN: the delay where nothing arrived) are left out.
    """
    sample = np.asarray(values, dtype=np.float64)
    sample = sample[~np.isnan(sample)]
    if sample.size == 0:
        return Estimate(np.nan, np.nan, 0)
    mean = float(sample.mean())
    if sample.size == 1:
        return Estimate(mean, np.nan, 1)
    error = float(sample.std(ddof=1)) / float(np.sqrt(sample.size))
    quantile = student_t_quantile(0.5 + confidence / 2, sample.size - 1)
    return Estimate(mean, quantile * error, int(sample.size))


def paired_difference(
    values: ArrayLike, baseline: ArrayLike, confidence: float = CONFIDENCE
) -> Estimate:
    """The mean of `values` minus `baseline`, run by run, with its interval.

    Cases of a comparison meet the same movement and the same channel in the runs of one number, so
    what they share cancels and the interval is narrower than that of two independent means. Both
    must have a value for each run, in the same order.
    """
    first, second = np.asarray(values, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if first.shape != second.shape:
        raise ValueError(f"{first.size} runs cannot be paired with {second.size}")
    return estimate(first - second, confidence)
