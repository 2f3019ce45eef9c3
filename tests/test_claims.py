"""Verdicts of claims, over cases with known means."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hopyard.statistics import (
    FEWEST_RUNS,
    MOST_NEEDED,
    SEQUENCE,
    STUDENT,
    Claim,
    Kind,
    Outcome,
    equivalence,
    judge,
    judge_all,
    runs_needed,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

if TYPE_CHECKING:
    from hopyard.statistics import Method
    from numpy.typing import NDArray


def cases(*means: float, runs: int = 30, spread: float = 1.0) -> dict[str, NDArray[np.float64]]:
    """Cases a, b, c, ... with these means; what the runs share does not count."""
    random = np.random.default_rng(11)
    shared = random.normal(0, 5 * spread, runs)
    return {chr(ord("a") + number): mean + shared + random.normal(0, spread, runs) for number, mean in enumerate(means)}


@pytest.mark.parametrize(
    ("claim", "means", "outcome"),
    [
        (Claim(Kind.GREATER), (52, 50), Outcome.HOLDS),
        (Claim(Kind.GREATER), (50, 52), Outcome.FAILS),
        (Claim(Kind.GREATER), (50, 50), Outcome.OPEN),
        (Claim(Kind.GREATER, margin=2), (52, 50), Outcome.OPEN),
        (Claim(Kind.GREATER, margin=4), (52, 50), Outcome.FAILS),
        (Claim(Kind.LESS), (48, 50, 52), Outcome.HOLDS),
        (Claim(Kind.LESS), (48, 50, 46), Outcome.FAILS),
        (Claim(Kind.LESS), (48, 50, 48), Outcome.OPEN),
        (Claim(Kind.EQUAL, tolerance=2), (50, 50.2, 49.9), Outcome.HOLDS),
        (Claim(Kind.EQUAL, tolerance=2), (50, 50.2, 54), Outcome.FAILS),
        (Claim(Kind.EQUAL, tolerance=0.1), (50, 50), Outcome.OPEN),
        (Claim(Kind.EQUAL, tolerance=0.05, relative=True), (50, 50.5), Outcome.HOLDS),
        (Claim(Kind.EQUAL, tolerance=0.05, relative=True), (50, 56), Outcome.FAILS),
        (Claim(Kind.RATIO_AT_LEAST, factor=1.5), (90, 50), Outcome.HOLDS),
        (Claim(Kind.RATIO_AT_LEAST, factor=1.5), (60, 50), Outcome.FAILS),
        (Claim(Kind.RATIO_AT_LEAST, factor=1.5), (75, 50), Outcome.OPEN),
        (Claim(Kind.RATIO_AT_MOST, factor=0.5), (20, 50), Outcome.HOLDS),
        (Claim(Kind.RATIO_AT_MOST, factor=0.5), (40, 50), Outcome.FAILS),
        (Claim(Kind.WITHIN, low=45, high=55), (50,), Outcome.HOLDS),
        (Claim(Kind.WITHIN, low=55), (50,), Outcome.FAILS),
        (Claim(Kind.WITHIN, low=45, high=55), (50, 80), Outcome.FAILS),
        (Claim(Kind.WITHIN, high=50), (50,), Outcome.OPEN),
        (Claim(Kind.INCREASING), (50, 51, 53, 54), Outcome.HOLDS),
        (Claim(Kind.INCREASING), (50, 54, 51, 58), Outcome.FAILS),
        (Claim(Kind.INCREASING, margin=5), (50, 54, 51, 58), Outcome.HOLDS),
        (Claim(Kind.INCREASING), (54, 53, 51, 50), Outcome.FAILS),
        (Claim(Kind.INCREASING), (50, 50, 50, 50), Outcome.OPEN),
        (Claim(Kind.DECREASING), (54, 53, 51, 50), Outcome.HOLDS),
        (Claim(Kind.DECREASING, axis=(4, 3, 2, 1)), (50, 51, 53, 54), Outcome.HOLDS),
    ],
)
def test_claims_over_known_means(claim: Claim, means: tuple[float, ...], outcome: Outcome) -> None:
    found = judge(claim, cases(*means))
    assert found.outcome is outcome, str(found)


def test_figure_is_the_one_that_is_hardest_for_the_claim() -> None:
    found = judge(Claim(Kind.LESS), cases(48, 60, 50))
    assert found.quantity == "a - c"
    assert found.interval.figure == pytest.approx(-2, abs=0.5)
    assert found.effect < -0.8
    assert str(found).startswith("holds: a - c -")
    assert str(found).endswith("30 runs")


def test_p_value_is_students() -> None:
    made = cases(50.4, 50)
    found = judge(Claim(Kind.GREATER), made)
    assert found.p == pytest.approx(scipy_stats.ttest_rel(made["a"], made["b"]).pvalue)


@given(st.integers(0, 10_000), st.floats(-1, 1), st.floats(0.05, 1.5))
def test_outcome_is_what_the_interval_says(seed: int, apart: float, tolerance: float) -> None:
    random = np.random.default_rng(seed)
    base = random.normal(10, 3, 12)
    made = {"a": base + random.normal(apart, 1, 12), "b": base}
    found = judge(Claim(Kind.EQUAL, tolerance=tolerance), made)
    low, high = found.interval.low, found.interval.high
    if -tolerance < low and high < tolerance:
        expected = Outcome.HOLDS
    elif low > tolerance or high < -tolerance:
        expected = Outcome.FAILS
    else:
        expected = Outcome.OPEN
    assert found.outcome is expected
    # The two one-sided tests at half of alpha are the same decision.
    test = equivalence(made["a"], made["b"], tolerance, alpha=0.025)
    assert test.equivalent == (expected is Outcome.HOLDS)


def test_several_claims_are_corrected() -> None:
    # Alone 0.05 is passed, among twenty it is not.
    weak = cases(50.6, 50)
    alone = judge(Claim(Kind.GREATER), weak)
    assert alone.outcome is Outcome.HOLDS
    assert 0.05 / 20 < alone.p < 0.05
    nothing = [(Claim(Kind.GREATER), cases(50, 50, runs=20 + n)) for n in range(18)]
    strong = (Claim(Kind.GREATER), cases(60, 50))
    found = judge_all([(Claim(Kind.GREATER), weak), strong, *nothing])
    assert found[0].p == alone.p
    assert found[0].p_adjusted > 0.05
    assert (found[0].outcome, found[0].leaning) == (Outcome.OPEN, Outcome.HOLDS)
    assert found[1].outcome is Outcome.HOLDS
    assert judge_all([]) == []


def test_cases_against_a_claim_share_the_error() -> None:
    # Ten figures that are all as claimed, and one that seems not to be, by chance.
    made = cases(50.6, 50)
    one = judge(Claim(Kind.LESS), made)
    assert one.outcome is Outcome.FAILS
    many = judge(Claim(Kind.LESS), made | {f"c{n}": made["a"] + 3 + n for n in range(10)})
    assert many.p == pytest.approx(min(1, 11 * one.p))
    assert many.outcome is Outcome.OPEN


def test_equal_runs_need_six() -> None:
    def verdict(runs: int, **values: float) -> Outcome:
        return judge(Claim(Kind.GREATER), {k: [v] * runs for k, v in values.items()}).outcome

    assert verdict(5, a=2, b=1) is Outcome.OPEN
    assert verdict(6, a=2, b=1) is Outcome.HOLDS
    assert verdict(6, a=1, b=2) is Outcome.FAILS
    # No more is not more.
    assert verdict(6, a=1, b=1) is Outcome.FAILS


@pytest.mark.parametrize(("margin", "outcome"), [(5, Outcome.FAILS), (4, Outcome.HOLDS)])
def test_equal_runs_at_the_margin_are_not_above_it(margin: float, outcome: Outcome) -> None:
    high, low = [1000.2] * 10, [1000.2 - 5] * 10
    more, less = (Claim(kind, margin=margin) for kind in (Kind.GREATER, Kind.LESS))
    assert judge(more, {"a": high, "b": low}).outcome is outcome
    assert judge(less, {"a": low, "b": high}).outcome is outcome


@pytest.mark.parametrize("values", [[], [3.0], [math.nan, 4.0], [math.nan] * 3])
def test_too_few_runs_tell_nothing(values: list[float]) -> None:
    found = judge(Claim(Kind.GREATER), {"a": values, "b": [1.0] * len(values)})
    assert found.outcome is Outcome.OPEN
    assert found.p == 1


def test_a_baseline_of_zero_tells_nothing_about_a_ratio() -> None:
    found = judge(Claim(Kind.RATIO_AT_LEAST, factor=2), {"a": [1.0, 2, 3] * 5, "b": [0.0] * 15})
    assert found.outcome is Outcome.OPEN


def test_a_baseline_of_zero_hides_no_other_figure() -> None:
    first, zero, same, more = [1.0, 2, 3] * 5, [0.0] * 15, [1.1, 1.9, 3.1] * 5, [9.0, 10, 11] * 5
    twice = Claim(Kind.RATIO_AT_LEAST, factor=2)
    # One ratio is at least two; the other does not exist.
    found = judge(twice, {"a": more, "b": first, "c": zero})
    assert (found.outcome, found.p) == (Outcome.OPEN, 1)
    # One is not at most two, whatever the other is.
    found = judge(Claim(Kind.RATIO_AT_MOST, factor=2), {"a": more, "b": zero, "c": same})
    assert (found.outcome, found.quantity) == (Outcome.FAILS, "a / c")


def test_watched_runs_are_judged_by_the_sequence() -> None:
    made = cases(50.6, 50, runs=40)
    fixed, watched = (judge(Claim(Kind.GREATER), made, method=m) for m in (STUDENT, SEQUENCE))
    assert fixed.outcome is Outcome.HOLDS
    assert watched.interval.half_width > 1.4 * fixed.interval.half_width
    assert watched.p > fixed.p
    early = cases(90, 50, runs=FEWEST_RUNS - 1)
    assert judge(Claim(Kind.GREATER), early, method=SEQUENCE).outcome is Outcome.OPEN
    enough = cases(90, 50, runs=FEWEST_RUNS)
    assert judge(Claim(Kind.GREATER), enough, method=SEQUENCE).outcome is Outcome.HOLDS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "bigger"}, "kind 'bigger': expected one of greater, less, equal"),
        ({"kind": "greater", "margin": -1}, "margin -1: expected a number of 0 or above"),
        ({"kind": "equal"}, "tolerance None: equal needs a number above 0"),
        ({"kind": "ratio_at_least"}, "factor None: ratio_at_least needs a number above 0"),
        ({"kind": "within"}, "range -inf to inf: within needs low, high or both"),
        ({"kind": "within", "low": 3, "high": 2}, "range 3 to 2"),
        ({"kind": "increasing", "axis": (1, 2, 1)}, "a value stands twice"),
    ],
)
def test_bad_claims_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Claim(**arguments)


def test_bad_cases_are_named() -> None:
    greater = Claim(Kind.GREATER)
    with pytest.raises(ValueError, match="1 cases: greater needs 2 or more"):
        judge(greater, {"a": [1.0]})
    with pytest.raises(ValueError, match="the numbers of runs differ: a 3, b 2"):
        judge(greater, {"a": [1.0, 2, 3], "b": [1.0, 2]})
    with pytest.raises(ValueError, match="b: the value of run 0 is infinite"):
        judge(greater, {"a": [1.0, 2], "b": [math.inf, 2]})
    with pytest.raises(ValueError, match="axis: 2 values for 3 cases"):
        judge(Claim(Kind.INCREASING, axis=(1, 2)), cases(1, 2, 3))


@pytest.mark.parametrize("method", [STUDENT, SEQUENCE])
@pytest.mark.parametrize("apart", [0.1, 0.3, 1.0])
def test_the_runs_that_are_needed_decide(method: Method, apart: float) -> None:
    """A sample of exactly this mean and spread is decided by the number of runs, and not by one run less."""

    def exactly(runs: int) -> NDArray[np.float64]:
        values = np.random.default_rng(runs).normal(0, 1, runs)
        return np.asarray(apart + (values - values.mean()) / values.std(ddof=1))

    claim = Claim(Kind.WITHIN, low=0)
    found = judge(claim, {"a": exactly(40)}, method=method)
    needed = runs_needed(method, found.distance, 40, 0.05)
    assert needed is not None
    assert judge(claim, {"a": exactly(needed)}, method=method).outcome is Outcome.HOLDS
    if needed > method.fewest:
        assert judge(claim, {"a": exactly(needed - 1)}, method=method).outcome is Outcome.OPEN


def test_runs_that_no_number_is_enough_for() -> None:
    assert runs_needed(STUDENT, math.nan, 30, 0.05) is None
    assert runs_needed(STUDENT, 0.0, 30, 0.05) == MOST_NEEDED
    # The error that others share takes more runs.
    few, more = runs_needed(STUDENT, 1.3, 30, 0.05), runs_needed(STUDENT, 1.3, 30, 0.005)
    assert few is not None
    assert more is not None
    assert 30 < few < more
