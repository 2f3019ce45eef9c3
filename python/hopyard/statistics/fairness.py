"""Jain's index of fairness, and its mean over runs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hopyard.statistics.estimates import CONFIDENCE
from hopyard.statistics.intervals import Interval, sample, student

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike


def jain_index(shares: ArrayLike) -> float:
    """The index of one run: 1 if all n flows have the same, 1/n if only one has any.

    Jain, Chiu and Hawe (1984). NaN where no flow has any, and where the share of a flow is
    unknown (NaN): the index of the others would be that of another number of flows.
    """
    found = sample(shares, "shares")
    if found.size != np.size(shares):
        return math.nan
    if (found < 0).any():
        raise ValueError(f"shares: {found.min()} is negative; an index of fairness needs amounts")
    largest = found.max(initial=0.0)
    if largest == 0:
        return math.nan
    scaled = found / largest
    return float(scaled.sum() ** 2 / (scaled.size * (scaled**2).sum()))


def jain(runs: Iterable[ArrayLike], confidence: float = CONFIDENCE) -> Interval:
    """The mean of the runs' indices, with Student's interval.

    `runs` has the flows' shares of each run. The interval is cut where no index can be: below 1/n,
    with the largest number of flows, and above 1.
    """
    shares = [np.asarray(run, dtype=np.float64) for run in runs]
    found = student(np.array([jain_index(run) for run in shares]), confidence)
    if found.runs < 2:
        return found
    least = 1 / max(run.size for run in shares)
    return replace(found, low=max(found.low, least), high=min(found.high, 1.0))
