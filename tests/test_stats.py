"""Means and intervals compared with values computed by other programs."""

import math

import numpy as np
import pytest
from hopyard.statistics.estimates import Estimate, estimate, paired_difference
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

FINITE = st.floats(-1e6, 1e6)


def test_interval_of_a_textbook_sample() -> None:
    # Montgomery and Runger, Applied Statistics, example 8-5: 22 loads at failure.
    loads = [19.8, 10.1, 14.9, 7.5, 15.4, 15.4, 15.4, 18.5, 7.9, 12.7, 11.9]
    loads += [11.4, 11.4, 14.1, 17.6, 16.7, 15.8, 19.5, 8.8, 13.6, 11.9, 11.4]
    found = estimate(loads)
    assert found.mean == pytest.approx(13.71, abs=0.01)
    assert (found.low, found.high) == pytest.approx((12.14, 15.28), abs=0.01)
    assert found.runs == 22


@given(st.lists(FINITE, min_size=2, max_size=40), st.sampled_from([0.9, 0.95, 0.99]))
def test_interval_is_scipys(values: list[float], confidence: float) -> None:
    found = estimate(values, confidence)
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    expected = float(scipy_stats.t.ppf(0.5 + confidence / 2, len(values) - 1)) * error
    assert found.half_width == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_one_run_has_no_interval() -> None:
    found = estimate([3.0])
    assert found.mean == 3.0
    assert math.isnan(found.half_width)
    assert str(found) == "3"


def test_runs_without_a_value_are_left_out() -> None:
    assert estimate([1.0, math.nan, 3.0]) == estimate([1.0, 3.0])
    nothing = estimate([math.nan])
    assert math.isnan(nothing.mean)
    assert (nothing.runs, str(nothing)) == (0, "-")


@given(st.lists(st.tuples(FINITE, FINITE), min_size=2, max_size=20))
def test_pairs_are_compared_run_by_run(pairs: list[tuple[float, float]]) -> None:
    ours, theirs = zip(*pairs, strict=True)
    found = paired_difference(ours, theirs)
    assert found.mean == pytest.approx(np.mean(ours) - np.mean(theirs), abs=1e-6)


def test_what_pairs_share_cancels() -> None:
    shared = np.array([10.0, 500.0, 90.0, 230.0])
    better = shared + np.array([1.0, 1.2, 0.8, 1.0])
    difference = paired_difference(better, shared)
    assert difference.low > 0.7
    assert estimate(better).half_width > 100 * difference.half_width


def test_unequal_runs_are_not_pairs() -> None:
    with pytest.raises(ValueError, match="3 runs cannot be paired with 2"):
        paired_difference([1, 2, 3], [1, 2])


@pytest.mark.parametrize(
    ("mean", "half_width", "text"),
    [
        (198.347, 2.13, "198.3 ± 2.1"),
        (1256.2, 31.0, "1,256 ± 31"),
        (0.01234, 0.0005, "0.01234 ± 0.00050"),
        (619.0213, 0.0213, "619.021 ± 0.021"),
        (619.0213, 0.0996, "619.02 ± 0.10"),
        (0.0, 0.42, "0.00 ± 0.42"),
        # Zero is outside the interval, and is seen to be.
        (-16.21, 15.94, "-16.2 ± 15.9"),
        (16.2, 16.18, "16.20 ± 16.18"),
        (-15.94, 16.21, "-16 ± 16"),
        # Every run has the same value, except for rounding: an interval of no width is not useful.
        (101.27, 0.0, "101"),
        (101.27, 1e-14, "101"),
        (0.0, 0.0, "0"),
        (14.0, math.nan, "14"),
        (1.5, math.nan, "1.50"),
    ],
)
def test_an_estimate_shows_the_digits_that_are_known(mean: float, half_width: float, text: str) -> None:
    assert str(Estimate(mean, half_width, 10)) == text


@given(st.floats(-1e6, 1e6), st.floats(1e-5, 1e6))
def test_a_half_width_keeps_two_digits(mean: float, half_width: float) -> None:
    shown = str(Estimate(mean, half_width, 10)).partition(" ± ")[2].replace(",", "")
    assert float(shown) == pytest.approx(half_width, rel=0.05)
    assert len(shown.replace(".", "").lstrip("0")) >= 2 or float(shown) >= 1
