"""What a run's value may be distributed like, with mean and median known."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Distribution:
    """A distribution with known mean and median. `positive`: it has no value below zero."""

    name: str
    mean: float
    median: float
    draw: Callable[[np.random.Generator, tuple[int, ...]], Floats]
    positive: bool = True


def _two_modes(name: str, share: float) -> Distribution:
    """Runs about 1, and this share of them about 0.2, each mode with a deviation of 0.03."""

    def draw(random: np.random.Generator, size: tuple[int, ...]) -> Floats:
        about = np.where(random.random(size) < share, 0.2, 1.0)
        return about + 0.03 * random.standard_normal(size)

    # The lower mode is all below the median, so that the upper gives the rest of the half.
    median = 1 + 0.03 * float(stats.norm.ppf((0.5 - share) / (1 - share)))
    return Distribution(name, 1 - 0.8 * share, median, draw)


ALL = {
    each.name: each
    for each in (
        Distribution("normal", 1.0, 1.0, lambda random, size: random.normal(1.0, 0.15, size)),
        Distribution("exponential", 1.0, math.log(2), lambda random, size: random.standard_exponential(size)),
        Distribution("lognormal", 1.0, math.exp(-0.5), lambda random, size: random.lognormal(-0.5, 1.0, size)),
        Distribution(
            "Student, 3 degrees", 1.0, 1.0, lambda random, size: 1 + 0.3 * random.standard_t(3, size), positive=False
        ),
        _two_modes("two modes", 0.3),
        _two_modes("rare mode", 0.05),
    )
}


def random_of(*words: object) -> np.random.Generator:
    """The random numbers of one cell: those of others do not change when a cell is added."""
    text = "/".join(map(str, words))
    return np.random.default_rng(zlib.crc32(text.encode()))
