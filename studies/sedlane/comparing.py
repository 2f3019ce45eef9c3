"""How near a replay comes to the network that was traced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopyard.tables.arrays import Floats

    from studies.sedlane.trace import Trace


def kolmogorov_smirnov(first: Floats, second: Floats) -> float:
    """The largest distance between the distribution functions of two samples.

    NaN where one of them is empty.
    """
    first, second = np.sort(first), np.sort(second)
    if not len(first) or not len(second):
        return float("nan")
    every = np.concatenate((first, second))
    below = [np.searchsorted(it, every, side="right") / len(it) for it in (first, second)]
    return float(np.abs(below[0] - below[1]).max())


@dataclass(frozen=True)
class Fidelity:
    """A replay beside the run that it replays."""

    #: The largest distance between the distributions of round-trip times, of one run each.
    distance: float
    #: Mean round-trip times in seconds, and shares of packets lost: of the run, and of its replay.
    rtt: tuple[float, float]
    loss: tuple[float, float]
    packets: tuple[int, int]


def fidelity(own: Trace, replay: Trace) -> Fidelity:
    """Compares two traces."""
    known: Sequence[Floats] = [it.rtt[~np.isnan(it.rtt)] for it in (own, replay)]
    means = [float(it.mean()) if len(it) else float("nan") for it in known]
    return Fidelity(
        distance=kolmogorov_smirnov(known[0], known[1]),
        rtt=(means[0], means[1]),
        loss=(own.loss, replay.loss),
        packets=(len(own), len(replay)),
    )
