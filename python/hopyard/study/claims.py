"""Claims of a paper, judged by the runs of a study.

A claim is judged at each of its points. It holds where the runs show it beyond chance at all of
them; it does not hold where they show the opposite at one; otherwise it cannot be told with so many
runs. p-values are corrected by Holm's method over all comparisons of the study.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from hopyard.stats import Estimate, estimate
from hopyard.study.points import fits, named
from hopyard.study.tables import beside

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hopyard.arrays import Floats
    from hopyard.study.file import Claim, Study
    from hopyard.study.points import Point
    from hopyard.study.values import Values

HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot be told"
Judgement: TypeAlias = Literal["holds", "does not hold", "cannot be told"]
#: The share of claims that would hold by chance alone, at most.
ALPHA = 0.05
#: How many of a claim's points its figure names one by one.
TOLD = 4


@dataclass
class Test:
    """A claim at one of its points: the values of the runs, and what they show."""

    claim: Claim
    where: str
    #: What is compared with 0: differences, ratios less the expected one, slopes.
    shown: Estimate
    #: What the figure says.
    figure: str
    #: That the claim does not hold where it does: for and against.
    p_for: float
    p_against: float
    holm_for: float = math.nan
    holm_against: float = math.nan

    @property
    def judgement(self) -> Judgement:
        """What the runs show at this point."""
        if self.holm_for < ALPHA:
            return "holds"
        return "does not hold" if self.holm_against < ALPHA else "cannot be told"


@dataclass(frozen=True)
class Verdict:
    """A claim, judged."""

    claim: Claim
    verdict: Judgement
    figure: str
    interval: str
    p: str
    tests: list[Test]

    @property
    def style(self) -> str:
        """The class of the verdict in a page."""
        return {HOLDS: "holds", FAILS: "fails", OPEN: "open"}[self.verdict]


def judged(study: Study, points: Sequence[Point], values: Values) -> list[Verdict]:
    """The verdict of each claim of a study."""
    tests = [list(_tests(study, claim, points, values)) for claim in study.document.claim]
    every = [test for group in tests for test in group]
    if every:
        _correct(every)
    return [
        _verdict(claim, group, values)
        for claim, group in zip(study.document.claim, tests, strict=True)
    ]


def _correct(tests: Sequence[Test]) -> None:
    """Holm's correction, for what speaks for the claims and for what speaks against them."""
    from statsmodels.stats.multitest import multipletests

    for name in ("for", "against"):
        p = np.array([getattr(test, f"p_{name}") for test in tests])
        known = ~np.isnan(p)
        corrected = np.full(p.shape, np.nan)
        if known.any():
            corrected[known] = multipletests(p[known], method="holm")[1]
        for test, value in zip(tests, corrected.tolist(), strict=True):
            setattr(test, f"holm_{name}", value)


def _verdict(claim: Claim, tests: list[Test], values: Values) -> Verdict:
    if not tests:
        return Verdict(claim, "cannot be told", "there are no runs of its points", "", "", tests)
    found = [test.judgement for test in tests]
    verdict: Judgement = "cannot be told"
    if "does not hold" in found:
        verdict = "does not hold"
    elif all(each == "holds" for each in found):
        verdict = "holds"
    # Those that decide stand first.
    order = sorted(tests, key=lambda test: (test.judgement == "holds", test.judgement != FAILS))
    shown = order[:TOLD]
    more = f"; {len(order) - len(shown)} further points" if len(order) > len(shown) else ""
    figure = "; ".join(f"{t.where}: {t.figure}" if t.where else t.figure for t in shown) + more
    decides = order[0]
    p = decides.holm_against if decides.judgement == FAILS else decides.holm_for
    low, high = decides.shown.low, decides.shown.high
    unit = values.title(claim.measure)[1] if not claim.ratio else ""
    interval = "" if math.isnan(low) else f"{low:.4g} to {high:.4g} {unit}".strip()
    return Verdict(claim, verdict, figure, interval, _p(p), tests)


def _p(value: float) -> str:
    if math.isnan(value):
        return ""
    return "< 0.0001" if value < 1e-4 else f"{value:.2g}"


def _tests(study: Study, claim: Claim, points: Sequence[Point], values: Values) -> Iterator[Test]:
    experiment = study.experiment_of(claim.experiment)
    mine = [
        point
        for point in points
        if point.experiment == experiment and fits(point.labels, claim.where)
    ]
    chosen = [point for point in mine if fits(point.labels, claim.case)]
    if claim.along is not None:
        yield from _trends(claim, chosen, values)
        return
    for point in chosen:
        runs, ours = values.of(point, claim.measure)
        where = named({n: v for n, v in point.labels.items() if n not in claim.case})
        if claim.than is None:
            yield _alone(claim, where, ours[~np.isnan(ours)])
            continue
        bases = beside(point, mine, claim.than)
        for base in bases:
            others, theirs = values.of(base, claim.measure)
            _, left, right = np.intersect1d(runs, others, return_indices=True)
            pairs = np.stack([ours[left], theirs[right]])
            pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
            name = named({n: base.labels[n] for n in claim.than}) if len(bases) > 1 else ""
            place = f"{where} beside {name}".strip() if name else where
            yield _compared(claim, place, pairs[0], pairs[1])


def _trends(claim: Claim, points: Sequence[Point], values: Values) -> Iterator[Test]:
    """Per run, the slope of the measure over the ranks of the axis's values."""
    along = str(claim.along)
    groups: dict[str, list[Point]] = {}
    for point in points:
        rest = named({n: v for n, v in point.labels.items() if n != along and n not in claim.case})
        groups.setdefault(rest, []).append(point)
    for where, group in groups.items():
        samples = [values.of(point, claim.measure) for point in group]
        common = samples[0][0]
        for runs, _ in samples[1:]:
            common = np.intersect1d(common, runs)
        table = np.stack([found[np.isin(runs, common)] for runs, found in samples])
        table = table[:, ~np.isnan(table).any(axis=0)]
        ranks = np.arange(len(group)) - (len(group) - 1) / 2
        slopes = (ranks @ table) / (ranks @ ranks) if len(group) > 1 else np.zeros(0)
        means = ", ".join(f"{each:.4g}" for each in table.mean(axis=1)) if table.size else "no runs"
        sign = 1.0 if claim.expect == "increasing" else -1.0
        p_for, p_against = _one_sided(sign * slopes)
        yield Test(claim, where, estimate(slopes), f"means {means}", p_for, p_against)


def _alone(claim: Claim, where: str, ours: Floats) -> Test:
    shown = estimate(ours)
    return Test(claim, where, shown, str(shown), *_sized(claim, ours))


def _compared(claim: Claim, where: str, ours: Floats, theirs: Floats) -> Test:
    first, second = estimate(ours), estimate(theirs)
    figure = f"{first} against {second}"
    if claim.ratio:
        values = ours / np.where(theirs == 0, np.nan, theirs)
        values = values[~np.isnan(values)]
        return Test(claim, where, estimate(values), figure, *_sized(claim, values, one=1.0))
    difference = ours - theirs
    shown = estimate(difference)
    if claim.expect == "similar":
        margin = float(claim.tolerance or 0) * abs(second.mean)
        return Test(claim, where, shown, figure, *_within(difference, -margin, margin))
    return Test(claim, where, shown, figure, *_sized(claim, difference))


def _sized(claim: Claim, values: Floats, one: float = 0.0) -> tuple[float, float]:
    """What speaks for values of the size that a claim expects, and against it."""
    if claim.expect == "between":
        return _within(values, float(claim.low or 0), float(claim.high or 0))
    if claim.expect == "similar":
        margin = float(claim.tolerance or 0)
        return _within(values, one - margin, one + margin)
    limit = one if claim.value is None else claim.value
    p_more, p_less = _one_sided(values - limit)
    return (p_more, p_less) if claim.expect in ("greater", "at least") else (p_less, p_more)


def _one_sided(values: Floats) -> tuple[float, float]:
    """That the mean is above 0, and below it: p-values of Student's t test."""
    if values.size < 2:
        return math.nan, math.nan
    if np.ptp(values) <= 1e-12 * abs(values).max():
        # Every run has the same value: there is no chance in it.
        sign = float(values[0])
        return (0.0 if sign > 0 else 1.0), (0.0 if sign < 0 else 1.0)
    from scipy import stats

    more = float(stats.ttest_1samp(values, 0.0, alternative="greater").pvalue)
    return more, 1.0 - more


def _within(values: Floats, low: float, high: float) -> tuple[float, float]:
    """That the mean is between two limits (two one-sided tests), and that it is outside."""
    above, below_low = _one_sided(values - low)
    above_high, below = _one_sided(values - high)
    return max(above, below), min(1.0, 2 * min(below_low, above_high))
