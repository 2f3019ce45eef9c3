"""Jain's index of fairness, and its mean over runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from hopyard.statistics.intervals import Interval, bootstrap, sample
from hopyard.stats import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike


def jain_index(shares: ArrayLike) -> float:
    """The index of one run: 1 if all n flows have the same, 1/n if only one has any.

    Jain, Chiu and Hawe (1984). NaN where no flow has any.
    """
    found = sample(shares, "shares")
    if (found < 0).any():
        raise ValueError(f"shares: {found.min()} is negative; an index of fairness needs amounts")
    largest = found.max(initial=0.0)
    if largest == 0:
        return math.nan
    scaled = found / largest
    return float(scaled.sum() ** 2 / (scaled.size * (scaled**2).sum()))


def jain(runs: Iterable[ArrayLike], confidence: float = CONFIDENCE) -> Interval:
    """The mean of the runs' indices, with its bootstrap interval.

    `runs` has the flows' shares of each run. The index lies between 1/n and 1 and is skewed near
    both, where Student's interval goes beyond them; the bootstrap's cannot.
    """
    return bootstrap(np.array([jain_index(shares) for shares in runs]), confidence)
