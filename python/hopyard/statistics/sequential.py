"""An interval that may be watched: it holds at all moments at once, so also when one stops by it.

Whoever looks at a Student interval after every run, and stops when it is narrow or when it excludes
a value, stops more often where it is wrong. A confidence sequence (Darling and Robbins 1967; Wang
and Ramdas 2023 for a mean with unknown variance) pays for that with width.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hopyard.statistics.estimates import CONFIDENCE
from hopyard.statistics.intervals import Interval, check_confidence, has_spread, sample
from hopyard.statistics.methods import FEWEST_RUNS, SEQUENCE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def sequence(values: ArrayLike, confidence: float = CONFIDENCE) -> Interval:
    """The mean, with the interval that holds after each number of runs at once.

    The values must be in the order in which the runs were made, or in that of their numbers, and
    none may have been left out for what it is. The ends are infinite while the runs are too few.
    """
    check_confidence(confidence)
    found = sample(values)
    figure = float(found.mean()) if found.size else math.nan
    if found.size < 2:
        return Interval(figure, -math.inf, math.inf, int(found.size), confidence)
    error = float(found.std(ddof=1)) / math.sqrt(found.size) if has_spread(found) else 0.0
    critical = SEQUENCE.critical(found.size, confidence)
    if math.isinf(critical):
        return Interval(figure, -math.inf, math.inf, int(found.size), confidence)
    half_width = critical * error
    return Interval(figure, figure - half_width, figure + half_width, int(found.size), confidence)


def narrow_enough(
    values: ArrayLike, relative: float, confidence: float = CONFIDENCE, fewest: int = FEWEST_RUNS
) -> bool:
    """Whether half of the sequence's width is at most `relative` times the mean.

    That is how `--until 2%` is meant. Never before `fewest` runs. After values that are all the
    same the width is zero, so that the fewest runs suffice.
    """
    if not 0 < relative < math.inf:
        raise ValueError(f"relative width {relative}: expected a number above 0, like 0.02")
    found = sequence(values, confidence)
    return found.runs >= fewest and found.half_width <= relative * abs(found.figure)
