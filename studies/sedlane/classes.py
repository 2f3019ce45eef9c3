"""Classes of packets with similar round-trip times.

The paper does not say how its classes were formed, how many there were, or how a lost packet, which
has no round-trip time, found its class. Here a class is a range of round-trip times, and a lost
packet has the class of the packet before it that has a round-trip time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from hopyard.terminal.words import one_of

if TYPE_CHECKING:
    from hopyard.tables.arrays import Floats, Integers

    from studies.sedlane.trace import Trace

#: More classes than this are refused: no round-trip time of a run needs them.
MOST = 10_000


@dataclass(frozen=True)
class Rules:
    """How classes are formed, and what a class says.

    Raises:
        ValueError: when a value is not possible.
    """

    #: The width of a class as a part of its shortest round-trip time; unless `quantiles` is given.
    width: float = 0.1
    #: In place of `width`: so many classes with equal numbers of packets.
    quantiles: int | None = None
    #: Of which packets the loss rate is: all of the class ("class", as in the paper), those of one
    #: entry of the schedule ("entry"), or each packet alone, lost or not ("packet").
    losses: str = "class"
    #: Whether acknowledgements are lost too.
    lose_acks: bool = False
    #: Whether entries begin at a time ("time") or with a packet ("packet").
    by: str = "time"

    def __post_init__(self) -> None:
        if not 0 < self.width < math.inf:
            raise ValueError(f"width {self.width:g}: expected a number above 0")
        if self.quantiles is not None and not 1 <= self.quantiles <= MOST:
            raise ValueError(f"quantiles {self.quantiles}: expected 1 to {MOST:,}")
        for name, value, known in (
            ("losses", self.losses, ("class", "entry", "packet")),
            ("by", self.by, ("time", "packet")),
        ):
            if value not in known:
                raise ValueError(f"{name} {value!r}: expected {one_of(known)}")


@dataclass(frozen=True)
class Class:
    """Packets with similar round-trip times."""

    #: The shortest and the longest round-trip time of its packets, and their mean, in seconds.
    low: float
    high: float
    rtt: float
    packets: int
    lost: int
    acks: int
    acks_lost: int

    @property
    def delay(self) -> float:
        """The delay of each direction, in seconds."""
        return self.rtt / 2

    @property
    def loss(self) -> float:
        """The share of the packets that were lost."""
        return self.lost / self.packets if self.packets else 0.0

    @property
    def ack_loss(self) -> float:
        """The share of the acknowledgements that were lost."""
        return self.acks_lost / self.acks if self.acks else 0.0


@dataclass(frozen=True)
class Classes:
    """The classes of a trace, in order of their round-trip times."""

    trace: Trace
    rules: Rules
    classes: tuple[Class, ...]
    #: The class of each packet of the trace, by its place in `classes`.
    of: Integers


def classify(trace: Trace, rules: Rules | None = None) -> Classes:
    """Puts the packets of a trace into classes.

    Raises:
        ValueError: when no packet has a round-trip time, or there are too many classes.
    """
    rules = rules or Rules()
    known = np.flatnonzero(~np.isnan(trace.rtt))
    if not len(known):
        raise ValueError("no packet of the trace was acknowledged: there is no round-trip time")
    numbers = _numbers(trace.rtt[known], rules)
    used, places = np.unique(numbers, return_inverse=True)
    # The place among those with a round-trip time of the last one before; the first for those
    # before it.
    last = np.searchsorted(known, np.arange(len(trace)), side="right") - 1
    of = places[np.maximum(last, 0)].astype(np.int64)
    of_ack = of[trace.ack_of]
    found = []
    for number in range(len(used)):
        rtts = trace.rtt[known[places == number]]
        mine, acks = of == number, of_ack == number
        found.append(
            Class(
                low=float(rtts.min()),
                high=float(rtts.max()),
                rtt=float(rtts.mean()),
                packets=int(mine.sum()),
                lost=int((mine & trace.lost).sum()),
                acks=int(acks.sum()),
                acks_lost=int((acks & trace.ack_lost).sum()),
            )
        )
    return Classes(trace, rules, tuple(found), of)


def _numbers(rtt: Floats, rules: Rules) -> Integers:
    """The number of the class of each round-trip time."""
    if rules.quantiles is not None:
        # Equal round-trip times are in one class.
        edges = np.quantile(rtt, np.arange(1, rules.quantiles) / rules.quantiles)
        return np.searchsorted(edges, rtt, side="left").astype(np.int64)
    shortest = float(rtt.min())
    if shortest <= 0:
        raise ValueError(f"a round-trip time of {shortest:g} s: classes by ratio need more than 0 s")
    # A class has all from its shortest on, without its end; a rounding error must not move the
    # shortest one of all.
    numbers = np.floor(np.log(rtt / shortest) / math.log1p(rules.width))
    if numbers.max() >= MOST:
        raise ValueError(
            f"width {rules.width:g} makes more than {MOST:,} classes of {shortest:g} s to "
            f"{rtt.max():g} s: expected a larger one"
        )
    return numbers.astype(np.int64)
