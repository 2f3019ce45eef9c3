"""Claims of a paper, judged by the runs of a study.

A claim is judged at each of its points, beside each case that it is compared with, by
`hopyard.statistics`. It holds where the runs show it beyond chance in all of these comparisons; it
does not hold where they show the opposite in one; otherwise it is undecided.

To show that all comparisons hold, each may use the whole probability of error (Berger 1982); to
show that one of them does not, they share it. Holm's method corrects for the claims of the study.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hopyard import statistics
from hopyard.scenario.axis import numbers
from hopyard.statistics import Kind, Outcome
from hopyard.statistics.estimates import CONFIDENCE
from hopyard.study.points import beside, fits, named
from hopyard.study.tables import less, mean_of
from hopyard.study.values import interval
from hopyard.terminal.words import many

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from hopyard.study.file import Claim, Study
    from hopyard.study.points import Point
    from hopyard.study.values import Sample, Values
    from hopyard.tables.arrays import Floats

#: How many comparisons of a claim its figure names one by one.
TOLD = 4
#: The verdict of a claim about a measure of which no run has a value.
NO_RUN = "no run has this measure"
#: The verdicts in short words.
WORDS = {Outcome.HOLDS: "holds", Outcome.FAILS: "does not hold", Outcome.OPEN: "undecided"}
_STYLES = {Outcome.HOLDS: "holds", Outcome.FAILS: "fails", Outcome.OPEN: "open"}


@dataclass(frozen=True)
class Comparison:
    """A claim at one of its points: what is asked of which samples."""

    claim: statistics.Claim
    samples: dict[str, Floats]
    #: The point, and the case that it is compared with.
    where: str
    #: Whether the number of runs depends on what they have shown.
    watched: bool = False
    #: Why there is nothing to compare, if there is not.
    lacks: str = ""

    @property
    def figure(self) -> str:
        """The means."""
        means = {name: str(interval(sample, watched=self.watched)) for name, sample in self.samples.items()}
        single = len(means) == 1
        text = ", ".join(mean if single else f"{name} {mean}" for name, mean in means.items())
        return f"{self.where}: {text}" if self.where else text


@dataclass(frozen=True)
class Verdict:
    """A claim, judged."""

    claim: Claim
    outcome: Outcome
    #: What was measured, in the comparisons that decide.
    figures: tuple[str, ...]
    interval: str
    p: str
    #: How many comparisons there are, and in how many of them it holds.
    comparisons: int
    holding: int
    #: Whether there are runs, and none has a value of its measure.
    valueless: bool = False
    #: The runs of the comparison that decides; of an undecided claim, how many would decide it if the means and the
    #: spreads stay as they are: `MOST_NEEDED` stands for that or more.
    runs: int = 0
    needed: int | None = None

    @property
    def figure(self) -> str:
        """What was measured, in one line."""
        return "; ".join(self.figures)

    @property
    def verdict(self) -> str:
        """The outcome in words."""
        return NO_RUN if self.valueless else WORDS[self.outcome]

    @property
    def style(self) -> str:
        """The class of the verdict in a page."""
        return _STYLES[self.outcome]


def judged(study: Study, points: Sequence[Point], values: Values) -> list[Verdict]:
    """The verdict of each claim of a study."""
    groups = [list(_comparisons(study, each, points, values)) for each in study.document.claim]
    single = [[(each, _judge(each)) for each in group] for group in groups]
    leaning = [_leaning([verdict for _, verdict in group]) for group in single]
    adjusted = statistics.holm([p for _, p in leaning]) if leaning else []
    # By Holm's method, the claims that are not decided share the probability of error.
    left = (1 - CONFIDENCE) / max(sum(p > 1 - CONFIDENCE for p in adjusted), 1)
    return [
        _verdict(claim, group, outcome if p <= 1 - CONFIDENCE else Outcome.OPEN, p, left)
        for claim, group, (outcome, _), p in zip(study.document.claim, single, leaning, adjusted, strict=True)
    ]


def _judge(comparison: Comparison) -> statistics.Verdict | None:
    """The verdict of one comparison; none where the samples have no such figure."""
    if comparison.lacks:
        return None
    try:
        method = statistics.SEQUENCE if comparison.watched else statistics.STUDENT
        return statistics.judge(comparison.claim, comparison.samples, method=method)
    except ValueError:
        # A ratio of values below zero says nothing.
        return None


def _leaning(found: Sequence[statistics.Verdict | None]) -> tuple[Outcome, float]:
    """To which outcome the comparisons of a claim point, and how surely so."""
    known = [each for each in found if each is not None and each.leaning is not Outcome.OPEN]
    against = [each.p for each in known if each.leaning is Outcome.FAILS]
    # One that shows the opposite decides, also where another one has no figure.
    if against:
        return Outcome.FAILS, min(1.0, len(found) * min(against))
    if not known or len(known) < len(found):
        return Outcome.OPEN, 1.0
    return Outcome.HOLDS, max(each.p for each in known)


def _verdict(
    claim: Claim, judged: list[tuple[Comparison, statistics.Verdict | None]], outcome: Outcome, p: float, left: float
) -> Verdict:
    found = [(comparison, verdict) for comparison, verdict in judged if verdict is not None]
    lacking = list(dict.fromkeys(each.lacks for each, _ in judged if each.lacks))
    if not found:
        told = lacking or ["not all of its points have runs"]
        return Verdict(claim, Outcome.OPEN, tuple(told), "", "", 0, 0)
    if all(np.isnan(each).all() for it, _ in judged for each in it.samples.values()):
        what = f"{many(len(judged), 'comparison')} without a value"
        return Verdict(claim, Outcome.OPEN, (what,), "", "", 0, 0, valueless=True)
    outcomes = [verdict.outcome for _, verdict in found]
    # Those that decide are told, in the order of the points.
    order = sorted(found, key=lambda each: _rank(each[1]))
    shown = [each[0].figure for each in found if any(each is told for told in order[:TOLD])]
    if len(order) > TOLD:
        more = len(order) - TOLD
        shown.append(f"and {more} further comparison{'s' if more > 1 else ''}")
    shown += lacking
    comparison, decides = order[0]
    low, high = decides.interval.low, decides.interval.high
    # Of several comparisons, the one that decides.
    whose = f"{comparison.where}: " if len(order) > 1 and comparison.where else ""
    interval = "" if math.isnan(low) else f"{whose}{decides.quantity}: {low:.4g} to {high:.4g}"
    return Verdict(
        claim,
        outcome,
        tuple(shown),
        interval,
        _p(p),
        len(found),
        outcomes.count(Outcome.HOLDS),
        runs=decides.interval.runs,
        needed=_needed(comparison, decides, left, len(judged)) if outcome is Outcome.OPEN else None,
    )


def _needed(comparison: Comparison, decides: statistics.Verdict, left: float, comparisons: int) -> int | None:
    """How many runs would decide a claim, by the comparison that decides: see `runs_needed`."""
    if decides.leaning is Outcome.OPEN:
        return None
    # One comparison that shows the opposite shares the probability of error with the others.
    sharing = decides.sharing * (comparisons if decides.leaning is Outcome.FAILS else 1)
    method = statistics.SEQUENCE if comparison.watched else statistics.STUDENT
    return statistics.runs_needed(method, decides.distance, decides.interval.runs, left / sharing)


def _rank(verdict: statistics.Verdict) -> tuple[int, float]:
    """What speaks against a claim first, and the surest of it; then the least sure for it."""
    against = verdict.leaning is Outcome.FAILS
    return (0, verdict.p) if against else (1, -verdict.p)


def _p(value: float) -> str:
    if math.isnan(value):
        return ""
    return "< 0.0001" if value < 1e-4 else f"{value:.2g}"


def _comparisons(study: Study, claim: Claim, points: Sequence[Point], values: Values) -> Iterator[Comparison]:
    experiment = study.experiment_of(claim.experiment)
    mine = [point for point in points if point.experiment == experiment and fits(point.labels, claim.where)]
    chosen = [point for point in mine if fits(point.labels, claim.case)]
    asked = [*chosen, *(p for p in mine if claim.than is not None and fits(p.labels, claim.than))]
    measures = [claim.measure, *([claim.against] if claim.against is not None else [])]
    if any(not values.of(point, name)[0].size for point in asked for name in measures):
        # A part of its points would be another claim.
        return
    if claim.expect == "correlated":
        yield from _correlations(claim, chosen, mine, values)
        return
    if claim.along is not None:
        yield from _trends(study, claim, chosen, mine, values)
        return
    if not chosen:
        return
    groups: dict[str, list[Point]] = {}
    for point in chosen:
        rest = {n: v for n, v in point.labels.items() if n not in claim.mean_over}
        groups.setdefault(named(rest), []).append(point)
    varied = {name for name in chosen[0].labels if len({p.labels[name] for p in chosen}) > 1}
    varied -= set(claim.mean_over)
    for group in groups.values():
        first = group[0]
        ours = mean_of(group, values, claim.measure)
        where = _short(study, first, varied - (claim.than or {}).keys())
        if claim.than is None:
            title = values.title(claim.measure)[0]
            for wanted in _sized(claim):
                yield Comparison(wanted, {where or title: ours[1]}, where, values.watched(group, claim.measure))
            continue
        # Each case beside which one of the points can stand.
        cases = [
            {name: base.labels[name] for name in claim.than}
            for point in group
            for base in beside(point, mine, claim.than)
        ]
        for other in {named(case): case for case in cases}.values():
            bases = [each for point in group for each in beside(point, mine, other)]
            if len(bases) != len(group):
                # A mean over fewer points would be another one.
                lacks = (
                    f"{named(other)}: {len(group) - len(bases)} of {len(group)} points have no such case beside them"
                )
                yield from (Comparison(each, {}, where, lacks=lacks) for each in _compared(claim))
                continue
            theirs = mean_of(bases, values, claim.measure)
            base = bases[0]
            _, left, right = np.intersect1d(ours[0], theirs[0], return_indices=True)
            apart = {name for name in claim.than if first.labels[name] != base.labels[name]}
            samples = {_short(study, first, apart): ours[1][left], _short(study, base, apart): theirs[1][right]}
            watched = values.watched([*group, *bases], claim.measure)
            for wanted in _compared(claim):
                yield Comparison(wanted, samples, where, watched)


def _short(study: Study, point: Point, axes: Collection[str]) -> str:
    """The labels of a point on these axes."""
    return ", ".join(_title(study, name, label) for name, label in point.labels.items() if name in axes)


def _title(study: Study, axis: str, label: str) -> str:
    """A value of an axis in words: `5 m/s`, or `speed=5` where the axis has no unit."""
    unit = study.document.axes[axis].unit
    if unit:
        return f"{label} {unit}"
    return f"{axis}={label}" if label[:1].isdigit() else label


def _trends(
    study: Study, claim: Claim, points: Sequence[Point], others: Sequence[Point], values: Values
) -> Iterator[Comparison]:
    """For each choice of the other axes, the points along an axis.

    With `than`, what is followed along the axis is the difference from that case, run by run.
    """
    along = str(claim.along)
    groups: dict[str, dict[str, Sample]] = {}
    watched: dict[str, bool] = {}
    for point in points:
        rest = named({n: v for n, v in point.labels.items() if n != along})
        sample = values.of(point, claim.measure)
        if claim.than is None:
            groups.setdefault(rest, {})[point.labels[along]] = sample
            watched[rest] = watched.get(rest, False) or values.watched([point], claim.measure)
            continue
        for base in beside(point, others, claim.than):
            gap = less(sample, values.of(base, claim.measure))
            case = named({name: base.labels[name] for name in claim.than})
            where = f"{rest} less {case}"
            groups.setdefault(where, {})[point.labels[along]] = gap
            watched[where] = watched.get(where, False) or values.watched([point, base], claim.measure)
    for where, samples in groups.items():
        if len(samples) < 2:
            continue
        common = next(iter(samples.values()))[0]
        for runs, _ in samples.values():
            common = np.intersect1d(common, runs)
        known = numbers(list(samples))
        axis = None if known is None else tuple(known[0])
        paired = {_title(study, along, name): found[np.isin(runs, common)] for name, (runs, found) in samples.items()}
        wanted = statistics.Claim(Kind(claim.expect), axis=axis)
        yield Comparison(wanted, paired, where, watched[where])


def _correlations(
    claim: Claim, points: Sequence[Point], others: Sequence[Point], values: Values
) -> Iterator[Comparison]:
    """For each choice of the other axes, the coefficient over the values of an axis, run by run.

    The other variable is another measure of the same points, or the same one of the points of
    `than`. Runs in which one of both has the same value everywhere have no coefficient.
    """
    along, against = str(claim.along), claim.against or claim.measure
    groups: dict[str, dict[str, list[tuple[Point, Point]]]] = {}
    for point in points:
        rest = named({n: v for n, v in point.labels.items() if n != along and n not in claim.mean_over})
        for base in [point] if claim.than is None else beside(point, others, claim.than):
            case = named({name: base.labels[name] for name in claim.than or {}})
            where = f"{rest} with {case}" if case else rest
            pairs = groups.setdefault(where, {}).setdefault(point.labels[along], [])
            pairs.append((point, base))
    for where, pairs_of in groups.items():
        ours = [mean_of([point for point, _ in it], values, claim.measure) for it in pairs_of.values()]
        theirs = [mean_of([base for _, base in it], values, against) for it in pairs_of.values()]
        if len(ours) < 3:
            lacks = f"{where}: a correlation needs three values of {along}, and there are {len(ours)}"
            yield Comparison(_correlated(claim), {}, where, lacks=lacks)
            continue
        common = ours[0][0]
        for runs, _ in (*ours, *theirs):
            common = np.intersect1d(common, runs)
        first, second = (np.array([found[np.isin(runs, common)] for runs, found in each]) for each in (ours, theirs))
        found = np.array([_coefficient(a, b, ranks=claim.ranks) for a, b in zip(first.T, second.T, strict=True)])
        watched = values.watched([each for it in pairs_of.values() for pair in it for each in pair], claim.measure)
        yield Comparison(_correlated(claim), {"coefficient": found[~np.isnan(found)]}, where, watched)


def _correlated(claim: Claim) -> statistics.Claim:
    """What is asked of a coefficient."""
    low = -math.inf if claim.low is None else claim.low
    high = math.inf if claim.high is None else claim.high
    return statistics.Claim(Kind.WITHIN, low=low, high=high)


def _coefficient(first: Floats, second: Floats, *, ranks: bool) -> float:
    """The coefficient of correlation: of the values (Pearson), or of their ranks (Spearman)."""
    if ranks:
        first, second = _ranks(first), _ranks(second)
    if np.ptp(first) == 0 or np.ptp(second) == 0 or np.isnan([*first, *second]).any():
        return math.nan
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: Floats) -> Floats:
    """The rank of each value; equal ones share the mean of theirs."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray(last - (count - 1) / 2, dtype=float)[place]


def _sized(claim: Claim) -> Iterator[statistics.Claim]:
    """What is asked of the mean of one case."""
    if claim.expect == "between":
        low, high = float(claim.low or 0), float(claim.high or 0)
        yield statistics.Claim(Kind.WITHIN, low=low, high=high)
    elif claim.expect == "at least":
        yield statistics.Claim(Kind.WITHIN, low=float(claim.value or 0))
    else:
        yield statistics.Claim(Kind.WITHIN, high=float(claim.value or 0))


def _compared(claim: Claim) -> Iterator[statistics.Claim]:
    """What is asked of a case beside another one."""
    value = float(claim.value or 0)
    if claim.expect == "similar":
        yield statistics.Claim(Kind.EQUAL, tolerance=claim.tolerance, relative=True)
    elif claim.expect in ("greater", "less"):
        yield statistics.Claim(Kind(claim.expect), margin=value)
    elif claim.expect == "at least":
        yield statistics.Claim(Kind.RATIO_AT_LEAST, factor=value)
    elif claim.expect == "at most":
        yield statistics.Claim(Kind.RATIO_AT_MOST, factor=value)
    else:
        yield statistics.Claim(Kind.RATIO_AT_LEAST, factor=claim.low)
        yield statistics.Claim(Kind.RATIO_AT_MOST, factor=claim.high)
