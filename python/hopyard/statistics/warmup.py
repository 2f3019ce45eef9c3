"""How much of the start of a series belongs to the warm-up: MSER-5."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

#: Values in a batch, hence the name.
BATCH = 5
#: Of the last few batches the statistic may be small by chance; Hoad et al. (2010) leave five out.
LAST_BATCHES = 5
#: Fewer batches say nothing.
FEWEST_BATCHES = 10


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Where a series may be cut.

    `truncation` values from the start are to be left out; none if it is undecided, because the
    statistic has its minimum in the second half: the series is too short for its warm-up, or has no
    steady state.
    """

    truncation: int | None
    #: The truncation where the statistic has its minimum, told or not.
    minimum_at: int
    #: The mean of all values, and of those after the minimum.
    mean: float
    mean_after: float
    values: int

    @property
    def told(self) -> bool:
        """Whether the series says where its warm-up ends."""
        return self.truncation is not None

    def __str__(self) -> str:
        if self.truncation is None:
            return (
                f"undecided: MSER-5 would cut {self.minimum_at} of {self.values} values, "
                "more than half; make the runs longer"
            )
        return f"the first {self.truncation} of {self.values} values"


def mser5(series: ArrayLike) -> WarmUp:
    """The truncation that makes the squared standard error of the mean of the rest least.

    White (1997); Franklin and White (2008) for batches of five, and the rule about the second
    half. `series` has values at equal distances in time: of one run,
    or a row for each of several runs, whose mean at each time is then taken first (Welch 1983).
    """
    values = np.asarray(series, dtype=np.float64)
    if values.ndim not in (1, 2):
        raise ValueError(f"series: expected one row or rows of runs, found {values.ndim} dimensions")
    if values.ndim == 2:
        values = values.mean(axis=0)
    if not np.isfinite(values).all():
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(f"series: the value at place {place} is {values[place]}")
    count = values.size // BATCH
    if count < FEWEST_BATCHES:
        raise ValueError(f"series: {values.size} values; MSER-5 needs {FEWEST_BATCHES * BATCH} or more")
    batches = values[: count * BATCH].reshape(count, BATCH).mean(axis=1)
    left = np.arange(count, 0, -1)
    statistic = _squares_from(batches) / left**2
    cut = int(np.argmin(statistic[: count - LAST_BATCHES]))
    minimum_at = cut * BATCH
    return WarmUp(
        truncation=minimum_at if cut <= count / 2 else None,
        minimum_at=minimum_at,
        mean=float(values.mean()),
        mean_after=math.fsum(values[minimum_at:]) / (values.size - minimum_at),
        values=int(values.size),
    )


def _squares_from(batches: Floats) -> Floats:
    """For each place the sum of squares about the mean of the batches from there on.

    Welford's recurrence (1962), from the end: equal batches have exactly zero. A difference of sums
    would leave rounding there, and the least of what rounding left is at any place.
    """
    squares = np.empty(batches.size)
    mean = total = 0.0
    for number, value in enumerate(batches[::-1].tolist(), 1):
        apart = value - mean
        mean += apart / number
        total += apart * (value - mean)
        squares[-number] = total
    return squares
