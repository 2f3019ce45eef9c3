"""Intervals, comparisons and the warm-up, compared with values of other programs and of books."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hopyard import statistics
from hopyard.statistics import (
    FEWEST_RUNS,
    SEQUENCE,
    STUDENT,
    bootstrap,
    cliffs_delta,
    cohens_dz,
    difference,
    equivalence,
    equivalence_of_ratio,
    hedges_g,
    holm,
    jain,
    jain_index,
    median,
    mser5,
    narrow_enough,
    ratio,
    sequence,
    student,
    welch,
)
from hopyard.statistics.methods import MIXTURE, sequence_critical
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal as scipy_signal
from scipy import stats as scipy_stats
from short import python

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Student's own example (1908): hours of sleep gained by two drugs, ten patients.
FIRST = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
SECOND = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]


def test_command_imports_no_statistics() -> None:
    code = "import sys, hopyard.statistics.estimates, hopyard.cli.main\nprint('scipy' in sys.modules)"
    assert python("-c", code, check=True).stdout == "False\n"


def test_all_names_are_there() -> None:
    assert all(hasattr(statistics, name) for name in statistics.__all__)


def test_sleep_of_student() -> None:
    found = difference(FIRST, SECOND)
    # R: t.test(extra ~ group, data = sleep, paired = TRUE) and paired = FALSE.
    assert found.figure == pytest.approx(1.58)
    assert (found.low, found.high) == pytest.approx((0.7001142, 2.4598858), abs=1e-6)
    apart = welch(FIRST, SECOND)
    assert (apart.low, apart.high) == pytest.approx((-0.2054832, 3.3654832), abs=1e-6)


def test_runs_without_a_value_are_left_out_of_both() -> None:
    assert difference([1, math.nan, 3, 7], [0, 1, math.nan, 2]).runs == 2
    assert student([1.0, math.nan, 3.0]) == student([1.0, 3.0])


def test_bad_samples_are_named() -> None:
    with pytest.raises(ValueError, match="the value of run 1 is infinite"):
        student([1.0, math.inf])
    with pytest.raises(ValueError, match="one value a run, found 2 dimensions"):
        median([[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"confidence 95: .* like 0.95"):
        bootstrap([1.0, 2.0], 95)
    with pytest.raises(ValueError, match="2 runs cannot be paired with 1"):
        ratio([1.0, 2.0], [1.0])


def test_bootstrap_is_reproducible_and_follows_the_skewness() -> None:
    values = np.random.default_rng(5).lognormal(size=40)
    found = bootstrap(values)
    assert found == bootstrap(values)
    assert found != bootstrap(values, seed=2)
    assert found.high - found.figure > 1.2 * (found.figure - found.low)


def test_bootstrap_of_equal_values_has_no_width() -> None:
    found = bootstrap([2.5] * 8)
    assert (found.figure, found.low, found.high) == (2.5, 2.5, 2.5)


@pytest.mark.parametrize(
    # Conover, Practical Nonparametric Statistics, table of the binomial: places of the ends.
    ("runs", "low", "high"),
    [(6, 1, 6), (8, 1, 8), (9, 2, 8), (10, 2, 9), (15, 4, 12), (20, 6, 15), (30, 10, 21)],
)
def test_interval_of_the_median_lies_between_order_statistics(runs: int, low: int, high: int) -> None:
    values = np.random.default_rng(1).permutation(np.arange(1.0, runs + 1))
    found = median(values)
    assert (found.low, found.high) == (low, high)
    assert found.figure == (runs + 1) / 2
    # The exact coverage of these places, from the binomial.
    outside = 2 * scipy_stats.binom.cdf(low - 1, runs, 0.5)
    assert outside <= 0.05 < 2 * scipy_stats.binom.cdf(low, runs, 0.5)


def test_five_runs_bound_no_median() -> None:
    found = median([1, 2, 3, 4, 5])
    assert (found.low, found.figure, found.high) == (-math.inf, 3.0, math.inf)


def test_sizes_of_effects_are_pingouins() -> None:
    # pingouin 0.7.0: compute_effsize with eftype="hedges", and "cohen_dz" with paired=True.
    assert hedges_g(FIRST, SECOND) == pytest.approx(0.7970185004474464, abs=1e-12)
    assert cohens_dz(FIRST, SECOND) == pytest.approx(1.2845575625910546, abs=1e-12)


def test_cliffs_delta_counts_pairs() -> None:
    above = sum(a > b for a in FIRST for b in SECOND) - sum(a < b for a in FIRST for b in SECOND)
    assert cliffs_delta(FIRST, SECOND) == pytest.approx(above / 100)
    assert cliffs_delta([1, 2], [3, 4, 5]) == -1
    assert cliffs_delta([1, 1], [1, 1]) == 0


def test_sizes_of_effects_without_spread() -> None:
    assert cohens_dz([2, 2], [1, 1]) == math.inf
    assert hedges_g([1, 1], [2, 2]) == -math.inf
    assert hedges_g([1, 1], [1, 1]) == cohens_dz([1, 3], [1, 3]) == 0
    assert math.isnan(cohens_dz([1], [2]))


def test_holms_own_steps() -> None:
    # R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm").
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    with_none = holm([0.01, math.nan, 0.04])
    assert with_none[::2] == pytest.approx([0.02, 0.04])
    assert math.isnan(with_none[1])
    assert holm([]) == []
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([1.5])


def test_equivalence_agrees_with_its_interval() -> None:
    # pingouin 0.7.0: tost(FIRST, SECOND, bound=2.5, paired=True).
    found = equivalence(FIRST, SECOND, 2.5)
    assert found.p == pytest.approx(0.02111686024650077, abs=1e-12)
    assert found.interval.confidence == 0.9
    for margin in (2.28, 2.30):
        assert equivalence(FIRST, SECOND, margin).equivalent == (found.interval.high < margin)
    with pytest.raises(ValueError, match="margin 0: expected a number above 0"):
        equivalence(FIRST, SECOND, 0)


def test_equal_runs_are_equivalent_only_after_some() -> None:
    assert equivalence([4.0] * 6, [4.1] * 6, 0.2).equivalent
    assert not equivalence([4.0] * 5, [4.1] * 5, 0.2).equivalent
    assert not equivalence([4.0] * 6, [4.3] * 6, 0.2).equivalent


def test_rounding_is_no_difference() -> None:
    values = np.array([0.1, 0.7, 1e6, 3.3, 2.2, 9.1])
    found = difference(values * (1 + 1e-15), values)
    assert (found.figure, found.half_width) == (0.0, 0.0)


POSITIVE = st.lists(st.tuples(st.floats(1, 100), st.floats(50, 100)), min_size=3, max_size=30)


@given(POSITIVE)
def test_fiellers_ends_are_where_the_test_changes(values: list[tuple[float, float]]) -> None:
    first, second = map(np.array, zip(*values, strict=True))
    found = ratio(first, second)
    if math.isinf(found.high) or found.half_width < 1e-6:
        return
    for end in (found.low, found.high):
        p = scipy_stats.ttest_1samp(first - end * second, 0.0).pvalue
        assert p == pytest.approx(0.05, abs=1e-5)
    assert found.low <= found.figure <= found.high


def test_a_baseline_that_may_be_zero_bounds_no_ratio() -> None:
    found = ratio([1.0, 2.0, 3.0], [0.0, 0.0, 1.0])
    assert (found.low, found.high) == (-math.inf, math.inf)
    with pytest.raises(ValueError, match="zero or above"):
        ratio([1.0, -2.0], [1.0, 1.0])


def test_equivalence_of_a_ratio_agrees_with_fiellers_interval() -> None:
    random = np.random.default_rng(3)
    base = random.uniform(50, 100, 20)
    first = base * random.normal(1.02, 0.05, 20)
    interval = ratio(first, base, 0.9)
    assert equivalence_of_ratio(first, base, 0.95, interval.high + 1e-9).equivalent
    assert not equivalence_of_ratio(first, base, 0.95, interval.high - 1e-9).equivalent
    # Equal runs of one case do not hide how much those of the other differ.
    level = np.full(20, 60.0)
    bound = ratio(level, base, 0.9).high
    assert equivalence_of_ratio(level, base, 0, bound + 1e-9).equivalent
    assert not equivalence_of_ratio(level, base, 0, bound - 1e-9).equivalent
    with pytest.raises(ValueError, match="expected 0 <= low < high"):
        equivalence_of_ratio(first, base, 1.2, 0.8)


def test_jains_index() -> None:
    assert jain_index([5, 5, 5, 5]) == 1
    assert jain_index([7, 0, 0, 0]) == 0.25
    assert jain_index([1, 3]) == pytest.approx(16 / 20)
    assert math.isnan(jain_index([0, 0]))
    assert math.isnan(jain_index([1, math.nan, 1])), "the share of a flow is unknown"
    with pytest.raises(ValueError, match=r"-1\.0 is negative"):
        jain_index([1, -1])


def test_interval_of_jains_index_stays_in_its_range() -> None:
    others = [1.0, 1.02, 0.99, 0.4, 1.0, 1.01]
    runs = [*([1.0, other] for other in others), [0.0, 0.0]]
    found = jain(runs)
    assert found.runs == 6
    assert 0.5 < found.low < found.figure < found.high <= 1
    assert student([jain_index(run) for run in runs]).high > 1


@given(st.integers(FEWEST_RUNS, 5000), st.sampled_from([0.9, 0.95, 0.99]))
def test_sequence_ends_where_its_p_value_is_alpha(runs: int, confidence: float) -> None:
    critical = SEQUENCE.critical(runs, confidence)
    assert SEQUENCE.p_value(critical, runs) == pytest.approx(1 - confidence, rel=1e-9)
    assert critical > STUDENT.critical(runs, confidence)


def test_e_value_of_the_sequence_is_the_bayes_factor_of_its_mixture() -> None:
    # The integral over the standardised mean of the noncentral t density, over the central one.
    runs, t = 40, 2.7
    scale = math.sqrt(MIXTURE)
    grid = np.linspace(-12 * scale, 12 * scale, 20_001)
    prior = scipy_stats.norm.pdf(grid, 0, scale)
    likelihood = scipy_stats.nct.pdf(t, runs - 1, grid * math.sqrt(runs))
    mixture = np.trapezoid(prior * likelihood, grid)
    factor = float(mixture / scipy_stats.t.pdf(t, runs - 1))
    assert 1 / SEQUENCE.p_value(t, runs) == pytest.approx(factor, rel=1e-6)


def test_sequence_of_few_runs_has_no_bound() -> None:
    assert math.isinf(sequence([1.0, 2.0, 3.0]).high)
    assert math.isinf(sequence([]).high)
    assert np.isinf(sequence_critical(np.arange(2, 10), 0.95)).all()


def test_narrow_enough_waits_for_the_fewest_runs() -> None:
    assert not narrow_enough([5.0] * (FEWEST_RUNS - 1), 0.02)
    assert narrow_enough([5.0] * FEWEST_RUNS, 0.02)
    values = np.random.default_rng(1).normal(10, 1, 1000)
    runs = next(n for n in range(2, 1000) if narrow_enough(values[:n], 0.02))
    assert sequence(values[:runs]).half_width <= 0.02 * values[:runs].mean()
    assert sequence(values[: runs - 1]).half_width > 0.02 * values[: runs - 1].mean()
    with pytest.raises(ValueError, match=r"a number above 0, like 0\.02"):
        narrow_enough(values, 0)


def _noise(seed: int, length: int) -> NDArray[np.float64]:
    """An autoregressive series about zero."""
    shocks = np.random.default_rng(seed).normal(size=length)
    return np.asarray(scipy_signal.lfilter([1.0], [1.0, -0.5], shocks))


def test_mser_finds_the_end_of_a_start() -> None:
    series = _noise(1, 2000) + 50
    series[:300] += 20
    found = mser5(series)
    assert found.truncation == 300
    assert found.mean_after == pytest.approx(series[300:].mean())
    assert str(found) == "the first 300 of 2000 values"


def test_mser_of_a_steady_series_cuts_little() -> None:
    cuts = [mser5(_noise(seed, 2000)).truncation for seed in range(20)]
    assert sum(cut is not None and cut <= 400 for cut in cuts) >= 17


def test_mser_cannot_tell_where_there_is_no_steady_state() -> None:
    found = mser5(np.linspace(0, 100, 1000) + _noise(2, 1000))
    assert found.truncation is None
    assert not found.told
    assert "make the runs longer" in str(found)


def test_mser_takes_the_mean_of_several_runs() -> None:
    runs = np.stack([_noise(seed, 500) for seed in range(10)])
    runs[:, :50] += 5
    assert mser5(runs) == mser5(runs.mean(axis=0))
    assert mser5(runs).truncation == 50


def test_mser_statistic_is_its_definition() -> None:
    series = _noise(7, 400) + 1e9
    series[:60] -= 8
    batches = series.reshape(80, 5).mean(axis=1)
    plain = [np.var(batches[cut:]) / (80 - cut) for cut in range(75)]
    assert mser5(series).minimum_at == 5 * int(np.argmin(plain))


@pytest.mark.parametrize("level", [0.1, 97.3, 1234.5, 123456.789])
@pytest.mark.parametrize("start", [25, 50, 100])
def test_mser_of_a_series_that_becomes_constant(level: float, start: int) -> None:
    series = np.concatenate([np.linspace(0, level, start, endpoint=False), np.full(500, level)])
    assert mser5(series).truncation == start


def test_mser_of_a_small_noise_after_a_large_start() -> None:
    series = np.concatenate([np.full(50, 1e8), 1e-3 * _noise(3, 450)])
    assert mser5(series).truncation == 50


def test_mser_names_what_it_cannot_use() -> None:
    with pytest.raises(ValueError, match="49 values; MSER-5 needs 50 or more"):
        mser5(np.zeros(49))
    with pytest.raises(ValueError, match="the value at place 3 is nan"):
        mser5([0, 1, 2, math.nan] * 20)
