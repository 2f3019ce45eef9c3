"""What differs between two folders of results, and when two runs part.

Two runs are alike as long as their digests are: the digest of a simulation covers all that has
happened so far, and nothing of what will happen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hopyard.statistics.estimates import Estimate, paired_difference

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hopyard.results.results import Results
    from hopyard.running.versions import Running, Side
    from hopyard.tables.cases import Case

#: Parts into which a span is divided to look for the event at which two runs part.
PARTS = 1000
#: The tables in which the event at which two runs part is looked for.
TABLES = ("flows", "nodes", "queues")
#: A difference is beyond chance below this.
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Moved:
    """A measure of a case in two folders."""

    case: Case
    measure: str
    first: float
    second: float
    #: The second less the first, run by run.
    difference: Estimate
    runs: int
    #: The p-value, corrected by Holm's method over all measures of all cases.
    p: float

    @property
    def beyond_chance(self) -> bool:
        """Whether the difference is more than chance makes."""
        return self.p < ALPHA


@dataclass(frozen=True)
class Comparison:
    """What two folders have in common, and what differs."""

    #: Cases of which every common run has the same digest.
    equal: list[Case]
    moved: list[Moved]
    #: Cases that only one of the folders has.
    only_first: list[Case]
    only_second: list[Case]


def compare(first: Results, second: Results, measures: Sequence[str]) -> Comparison:
    """Compares the cases that two results share: those of one name, settings and seed."""
    from scipy import stats

    from hopyard.statistics import holm
    from hopyard.statistics.comparisons import p_without_spread
    from hopyard.statistics.intervals import has_spread

    # One scenario under two names is one scenario.
    alone = all(len({case.scenario for case in each.cases}) == 1 for each in (first, second))
    theirs = {_name(case, alone=alone): case for case in second.cases}
    ours = {_name(case, alone=alone): case for case in first.cases}
    equal: list[Case] = []
    found: list[tuple[Case, str, Any, Any]] = []
    # One configuration may be set by different keys: `flow.tcp` and `flows.0.tcp`.
    by_hash = {(case.config, case.seed): name for name, case in theirs.items()}
    for name, case in list(ours.items()):
        same = by_hash.get((case.config, case.seed))
        if name not in theirs and same is not None and same not in ours:
            ours[same] = ours.pop(name)
    for name, case in ours.items():
        if name not in theirs:
            continue
        other = theirs[name]
        samples = list(_samples(first, case, second, other, measures))
        if all(np.array_equal(one, two, equal_nan=True) for _, one, two in samples):
            equal.append(case)
            continue
        found += [(case, measure, one, two) for measure, one, two in samples]
    p_values = []
    for _, _, one, two in found:
        known = ~np.isnan(one) & ~np.isnan(two)
        apart = two[known] - one[known]
        if apart.size < 2 or not apart.any():
            p_values.append(1.0)
        elif not has_spread(apart):
            p_values.append(p_without_spread(apart.size))
        else:
            p_values.append(float(stats.ttest_1samp(apart, 0.0).pvalue))
    corrected = holm(p_values) if p_values else []
    moved = [
        Moved(
            case,
            measure,
            float(np.nanmean(one)) if not np.isnan(one).all() else float("nan"),
            float(np.nanmean(two)) if not np.isnan(two).all() else float("nan"),
            paired_difference(two, one),
            len(one),
            p,
        )
        for (case, measure, one, two), p in zip(found, corrected, strict=True)
    ]
    return Comparison(
        equal,
        moved,
        [case for name, case in ours.items() if name not in theirs],
        [case for name, case in theirs.items() if name not in ours],
    )


def _name(case: Case, *, alone: bool) -> tuple[str, tuple[tuple[str, str], ...], int]:
    return "" if alone else case.scenario, tuple(case.settings.items()), case.seed


def _samples(
    first: Results, case: Case, second: Results, other: Case, measures: Sequence[str]
) -> Iterator[tuple[str, Any, Any]]:
    """For each measure the values of the runs that both have."""
    _, ours, theirs = np.intersect1d(first.runs_of(case), second.runs_of(other), return_indices=True)
    for measure in measures:
        yield measure, first.values(measure, case)[ours], second.values(measure, other)[theirs]


@dataclass(frozen=True)
class Parting:
    """Where two runs part."""

    #: The time of the first event in which they differ, in nanoseconds; none if they do not.
    at_ns: int | None
    #: Columns that differ after this event: table, row, column, and the two values.
    what: list[tuple[str, str, str, object, object]]


def part(first: Side, second: Side, run: int) -> Parting:
    """The first event at which two sides part in a run, and what each has done there."""
    with first.start(run) as one, second.start(run) as two:
        high = min(one.end_ns, two.end_ns)
        if one.advance(high) == two.advance(high):
            return Parting(None, [])
    low = 0
    while high - low > 1:
        low, high = _narrowed(first, second, run, low, high)
    with first.start(run) as one, second.start(run) as two:
        one.advance(high)
        two.advance(high)
        return Parting(high, list(_different(one, two)))


def _narrowed(first: Side, second: Side, run: int, low: int, high: int) -> tuple[int, int]:
    """A part of a span: alike at its beginning, and different at its end."""
    step = max((high - low) // PARTS, 1)
    with first.start(run) as one, second.start(run) as two:
        before = low
        for at in [*range(low + step, high, step), high]:
            if one.advance(at) != two.advance(at):
                return before, at
            before = at
    return high - 1, high


def _different(one: Running, two: Running) -> Iterator[tuple[str, str, str, object, object]]:
    """What differs between two networks: tables of flows, nodes, queues and drops."""
    for name in TABLES:
        for place, (left, right) in enumerate(zip(one.table(name), two.table(name), strict=False)):
            row = str(left.get("flow", left.get("node", place)))
            for column, value in left.items():
                if column in right and right[column] != value:
                    yield name, row, column, value, right[column]
