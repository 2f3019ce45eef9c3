"""Verdicts of claims: a claim holds, does not hold, or is undecided with so many runs.

Every kind of claim says that one figure, or each of several, lies in a region: a difference above
zero, a ratio of at least two, a mean within a range. It holds if the confidence interval lies in
the region; it does not hold if the interval lies outside; else the runs cannot tell. The p-value
says the same: it is the smallest error probability at which the interval decides.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from hopyard.statistics.comparisons import cohens_dz, holm, p_without_spread, ratio
from hopyard.statistics.estimates import CONFIDENCE
from hopyard.statistics.intervals import ROUNDING, Interval, check_confidence, has_spread, sample, subtract
from hopyard.statistics.methods import STUDENT, Method
from hopyard.terminal.words import many

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


class Kind(StrEnum):
    """What a claim says of the means of its cases."""

    #: The first case has more than each of the others, by more than `margin`.
    GREATER = "greater"
    #: The first case has less than each of the others, by more than `margin`.
    LESS = "less"
    #: No two cases differ by more than `tolerance`: in the unit of the measure, or as a part of the
    #: mean if it is `relative`.
    EQUAL = "equal"
    #: The first case has at least `factor` times as much as each of the others.
    RATIO_AT_LEAST = "ratio_at_least"
    #: The first case has at most `factor` times as much as each of the others.
    RATIO_AT_MOST = "ratio_at_most"
    #: The mean of each case lies between `low` and `high`.
    WITHIN = "within"
    #: It rises with the axis: the slope is above zero, and no step falls by more than `margin`.
    INCREASING = "increasing"
    #: It falls with the axis: the slope is below zero, and no step rises by more than `margin`.
    DECREASING = "decreasing"


class Outcome(StrEnum):
    """What the runs say about a claim."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "undecided"


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim as data, with the numbers that its kind needs."""

    kind: Kind
    #: GREATER, LESS: by how much at least. INCREASING, DECREASING: how much a step may go back.
    margin: float = 0.0
    #: EQUAL.
    tolerance: float | None = None
    relative: bool = False
    #: RATIO_AT_LEAST, RATIO_AT_MOST.
    factor: float | None = None
    #: WITHIN.
    low: float = -math.inf
    high: float = math.inf
    #: INCREASING, DECREASING: a value for each case; 0, 1, 2, ... if not given.
    axis: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "kind", Kind(self.kind))
        except ValueError:
            kinds = ", ".join(Kind)
            raise ValueError(f"kind {str(self.kind)!r}: expected one of {kinds}") from None
        if not 0 <= self.margin < math.inf:
            raise ValueError(f"margin {self.margin}: expected a number of 0 or above")
        if self.kind is Kind.EQUAL and not 0 < (self.tolerance or 0) < math.inf:
            raise ValueError(f"tolerance {self.tolerance}: {self.kind!s} needs a number above 0")
        if self.kind in _RATIOS and not 0 < (self.factor or 0) < math.inf:
            raise ValueError(f"factor {self.factor}: {self.kind!s} needs a number above 0")
        if self.kind is Kind.WITHIN:
            unbounded = math.isinf(self.low) and math.isinf(self.high)
            if unbounded or not self.low <= self.high:
                raise ValueError(
                    f"range {self.low} to {self.high}: {self.kind!s} needs low, high or both, with low <= high"
                )
        if self.axis is not None and len(set(self.axis)) < len(self.axis):
            raise ValueError(f"axis {self.axis}: a value stands twice")


_RATIOS = (Kind.RATIO_AT_LEAST, Kind.RATIO_AT_MOST)
_TRENDS = (Kind.INCREASING, Kind.DECREASING)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the runs say about a claim, and the figure that decides it.

    Where a claim has several figures (each of several cases is to have less), the one shown is
    that which is hardest for the claim.
    """

    outcome: Outcome
    #: What the figure is: "vegas - reno", "vegas / reno", "mean of vegas", "slope".
    quantity: str
    interval: Interval
    #: For the outcome to which the figure points, corrected for the figures of this claim.
    p: float
    #: The same after Holm's correction for the claims that were judged together.
    p_adjusted: float
    #: Cohen's d_z of the two cases; NaN where the figure does not compare two.
    effect: float
    #: To which outcome the figure points, however weakly.
    leaning: Outcome
    #: How far the figure is from the bound that decides, in standard errors; NaN where there is no such distance.
    distance: float
    #: How many figures share the probability of error.
    sharing: int

    def __str__(self) -> str:
        p = "p < 0.0001" if self.p_adjusted < 1e-4 else f"p = {self.p_adjusted:.2g}"
        runs = many(self.interval.runs, "run")
        return f"{self.outcome}: {self.quantity} {self.interval}, {p}, {runs}"


@dataclass(frozen=True, slots=True)
class _Finding:
    """One figure of a claim: whether it lies in the claim's region, and how surely so."""

    quantity: str
    interval: Interval
    inside: bool
    p: float
    effect: float = math.nan
    distance: float = math.nan


def judge(
    claim: Claim, cases: Mapping[str, ArrayLike], confidence: float = CONFIDENCE, method: Method = STUDENT
) -> Verdict:
    """The verdict of one claim over cases, each with one value a run.

    The cases are in the order that the claim means, and their runs are pairs: the first value of
    each is of the same run. A run in which a case has no value (NaN) is left out where that case is
    compared. `method` is `SEQUENCE` where runs were added until an interval was narrow enough, or
    until a verdict was reached.
    """
    check_confidence(confidence)
    samples = _samples(claim, cases)
    findings = list(_findings(claim, samples, confidence, method))
    alpha = 1 - confidence
    # To show that all lie inside, each test may use the whole alpha; to show that one of them does
    # not, they share it.
    # A figure that does not exist (a ratio to zero) speaks neither for the claim nor against it.
    unknown = [replace(f, p=1.0) for f in findings if math.isnan(f.interval.figure)]
    known = [f for f in findings if not math.isnan(f.interval.figure)]
    worst = min((f for f in known if not f.inside), key=lambda f: f.p, default=None)
    if claim.kind in _TRENDS:
        slope = findings[0]
        # A step that seems to go back does not speak against the trend until it is shown to.
        if worst is not None and slope.inside and worst.p * len(findings) > alpha:
            worst = None
        weakest = slope
    else:
        weakest = max(findings, key=lambda f: f.p)
    if worst is not None:
        found, leaning = worst, Outcome.FAILS
    elif unknown:
        found, leaning = unknown[0], Outcome.OPEN
    else:
        found, leaning = weakest, Outcome.HOLDS
    sharing = len(findings) if leaning is Outcome.FAILS else 1
    p = min(1.0, found.p * sharing)
    outcome = leaning if p <= alpha else Outcome.OPEN
    return Verdict(outcome, found.quantity, found.interval, p, p, found.effect, leaning, found.distance, sharing)


def judge_all(
    claims: Sequence[tuple[Claim, Mapping[str, ArrayLike]]], confidence: float = CONFIDENCE, method: Method = STUDENT
) -> list[Verdict]:
    """The verdicts of several claims, with Holm's correction: all hold together with `confidence`.

    The intervals are those of the single figures.
    """
    single = [judge(claim, cases, confidence, method) for claim, cases in claims]
    adjusted = holm([verdict.p for verdict in single])
    return [
        replace(verdict, p_adjusted=p, outcome=verdict.leaning if p <= 1 - confidence else Outcome.OPEN)
        for verdict, p in zip(single, adjusted, strict=True)
    ]


def _samples(claim: Claim, cases: Mapping[str, ArrayLike]) -> dict[str, Floats]:
    least = 1 if claim.kind is Kind.WITHIN else 2
    if len(cases) < least:
        raise ValueError(f"{len(cases)} cases: {claim.kind!s} needs {least} or more")
    samples = {name: np.asarray(values, dtype=np.float64) for name, values in cases.items()}
    for name, values in samples.items():
        sample(values, name)
    sizes = {name: values.size for name, values in samples.items()}
    if len(set(sizes.values())) > 1 and claim.kind is not Kind.WITHIN:
        counts = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise ValueError(f"cases are compared run by run, but the numbers of runs differ: {counts}")
    if claim.axis is not None and len(claim.axis) != len(cases):
        raise ValueError(f"axis: {len(claim.axis)} values for {len(cases)} cases")
    return samples


def _findings(claim: Claim, samples: dict[str, Floats], confidence: float, method: Method) -> Iterator[_Finding]:
    def mean(quantity: str, values: Floats, low: float, high: float) -> _Finding:
        return _mean(quantity, values, (low, high), confidence, method)

    def quotient(pair: tuple[str, str], low: float, high: float) -> _Finding:
        first, second = (samples[name] for name in pair)
        return _ratio(" / ".join(pair), first, second, (low, high), confidence, method)

    def apart(pair: tuple[str, str], low: float, high: float) -> _Finding:
        first, second = (samples[name] for name in pair)
        found = mean(" - ".join(pair), subtract(first, second), low, high)
        return replace(found, effect=cohens_dz(first, second))

    names = list(samples)
    against_first = [(names[0], name) for name in names[1:]]
    # What equals a bound is inside for a tolerance; "greater" and "less" need more than that, and
    # more than the rounding that equal runs are allowed.
    above = math.nextafter(claim.margin * (1 + 2 * ROUNDING), math.inf)
    below = -above
    match claim.kind:
        case Kind.GREATER:
            yield from (apart(pair, above, math.inf) for pair in against_first)
        case Kind.LESS:
            yield from (apart(pair, -math.inf, below) for pair in against_first)
        case Kind.EQUAL:
            tolerance = claim.tolerance or 0.0
            for pair in itertools.combinations(names, 2):
                if claim.relative:
                    # The same whichever of the two comes first.
                    yield quotient(pair, 1 / (1 + tolerance), 1 + tolerance)
                else:
                    yield apart(pair, -tolerance, tolerance)
        case Kind.RATIO_AT_LEAST:
            yield from (quotient(pair, claim.factor or 0.0, math.inf) for pair in against_first)
        case Kind.RATIO_AT_MOST:
            yield from (quotient(pair, -math.inf, claim.factor or 0.0) for pair in against_first)
        case Kind.WITHIN:
            for name, values in samples.items():
                yield mean(f"mean of {name}", values, claim.low, claim.high)
        case Kind.INCREASING | Kind.DECREASING:
            sign = 1.0 if claim.kind is Kind.INCREASING else -1.0
            axis = np.array(claim.axis or range(len(names)), dtype=np.float64)
            order = np.argsort(axis)
            distance = (axis - axis.mean()) / ((axis - axis.mean()) ** 2).sum()
            # The slope of each run, by least squares: their mean is the slope of the means.
            slopes = distance @ np.stack(list(samples.values()))
            start = math.nextafter(0.0, sign)
            yield mean("slope", slopes, *_ordered(start, sign * math.inf))
            for earlier, later in itertools.pairwise(order):
                pair = (names[later], names[earlier])
                yield apart(pair, *_ordered(-sign * claim.margin, sign * math.inf))


def _ordered(first: float, second: float) -> tuple[float, float]:
    return min(first, second), max(first, second)


def _mean(quantity: str, values: Floats, region: tuple[float, float], confidence: float, method: Method) -> _Finding:
    """A finding about the mean of one value a run."""
    values = values[~np.isnan(values)]
    runs = int(values.size)
    figure = float(values.mean()) if runs else math.nan
    low, high = region
    if runs < 2:
        interval = Interval(figure, math.nan, math.nan, runs, confidence)
        return _Finding(quantity, interval, low <= figure <= high, 1.0)
    if not has_spread(values):
        interval = Interval(figure, figure, figure, runs, confidence)
        slack = ROUNDING * abs(figure)
        inside = low - slack <= figure <= high + slack
        p = p_without_spread(runs) if runs >= method.fewest else 1.0
        return _Finding(quantity, interval, inside, p)
    error = float(values.std(ddof=1)) / math.sqrt(runs)
    half_width = method.critical(runs, confidence) * error
    interval = Interval(figure, figure - half_width, figure + half_width, runs, confidence)
    # The nearer bound is the one that is harder to exclude; outside, it is the one that was passed.
    nearest = min(abs(figure - bound) for bound in region) / error
    p = method.p_value(nearest, runs) if runs >= method.fewest else 1.0
    return _Finding(quantity, interval, low <= figure <= high, p, distance=nearest)


def _ratio(
    quantity: str, values: Floats, baseline: Floats, region: tuple[float, float], confidence: float, method: Method
) -> _Finding:
    """A finding about a ratio of means, from the means of `values - bound * baseline`."""
    interval = ratio(values, baseline, confidence, method)
    low, high = region
    bounds = []
    for bound, sign in ((low, 1.0), (high, -1.0)):
        if math.isinf(bound):
            continue
        finding = _mean(quantity, sign * subtract(values, bound * baseline), (0.0, math.inf), confidence, method)
        bounds.append(finding)
    # Inside if both bounds say so; outside as surely as the surer of those that say so.
    outside = [each for each in bounds if not each.inside]
    decides = min(outside, key=lambda f: f.p) if outside else max(bounds, key=lambda f: f.p)
    return _Finding(quantity, interval, not outside, decides.p, cohens_dz(values, baseline), decides.distance)
