"""Means with confidence intervals: over independent runs, and over pairs that share randomness."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopyard._core import student_t_quantile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

CONFIDENCE = 0.95
#: More would not fit a table.
MOST_DECIMALS = 9


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
        mean, half_width = self.parts()
        return f"{mean} ± {half_width}" if half_width else mean

    @property
    def has_width(self) -> bool:
        """Whether the interval has a width that is known: several runs, not all the same.

        What rounding leaves of equal values does not count as a width.
        """
        return self.half_width > 1e-12 * abs(self.mean)

    @property
    def excludes_zero(self) -> bool:
        """Whether zero lies outside the interval. Runs that are all the same have none, so that they never do."""
        return self.has_width and abs(self.mean) > self.half_width

    @property
    def decimals(self) -> int:
        """How many decimals say something: two digits of the half width, or three of the mean.

        Where zero is just outside the interval, as many as show it.
        """
        scale, digits = (self.half_width, 2) if self.has_width else (abs(self.mean), 3)
        if math.isnan(scale) or scale == 0 or (not self.has_width and self.mean.is_integer()):
            return 0
        # Rounded to its digits first: 0.0996 is 0.10, which needs a decimal less than it seems.
        power = int(f"{scale:.{digits - 1}e}".partition("e")[2])
        found = min(max(digits - 1 - power, 0), MOST_DECIMALS)
        mean, half_width = abs(self.mean), self.half_width
        while found < MOST_DECIMALS and self.excludes_zero and f"{mean:.{found}f}" == f"{half_width:.{found}f}":
            found += 1
        return found

    def parts(self) -> tuple[str, str]:
        """The mean and the half width as texts, to the decimals that say something.

        The mean is `-` where no run had a value. The half width is empty where there is none to
        show: after one run, and where every run had the same value.
        """
        if math.isnan(self.mean):
            return "-", ""
        mean = f"{self.mean:,.{self.decimals}f}"
        return mean, f"{self.half_width:,.{self.decimals}f}" if self.has_width else ""


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


def paired_difference(values: ArrayLike, baseline: ArrayLike, confidence: float = CONFIDENCE) -> Estimate:
    """The mean of `values` minus `baseline`, run by run, with its interval.

    Cases of a comparison meet the same movement and the same channel in the runs of one number, so
    what they share cancels and the interval is narrower than that of two independent means. Both
    must have a value for each run, in the same order.
    """
    first, second = np.asarray(values, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if first.shape != second.shape:
        raise ValueError(f"{first.size} runs cannot be paired with {second.size}")
    return estimate(first - second, confidence)
