"""Coverage of the intervals: a short simulation, and what the committed tables must show."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner
from hopyard.statistics import FEWEST_RUNS, STUDENT, bootstrap, jain, jain_index, narrow_enough, sequence, student
from hopyard.statistics.intervals import bootstrap_ends
from scipy import stats as scipy_stats

from validation.coverage import decisions, distributions, fixed, watched
from validation.coverage.__main__ import main
from validation.coverage.page import FILES, PAGE, RESULTS, filled, rows

if TYPE_CHECKING:
    from pathlib import Path

#: Fewer draws than this are outside of 95 % by chance once in a thousand simulations.
DRAWS = 300
LEAST = float(scipy_stats.binom.ppf(0.001, DRAWS, 0.95)) / DRAWS


@pytest.mark.parametrize("name", list(distributions.ALL))
def test_means_and_medians_are_known(name: str) -> None:
    of = distributions.ALL[name]
    values = of.draw(np.random.default_rng(8), (400_000,))
    assert student(values, 0.999).covers(of.mean)
    assert np.mean(values < of.median) == pytest.approx(0.5, abs=0.004)
    assert not of.positive or values.min() >= 0


@pytest.mark.parametrize("interval", list(fixed.KINDS))
def test_intervals_cover_normal_values(interval: str) -> None:
    kinds = fixed.KINDS[interval].distributions
    found = fixed.Cell(interval, kinds[0], 30).simulate(DRAWS)
    assert isinstance(found["coverage"], float)
    # The bootstrap of 30 runs is a little too narrow.
    assert found["coverage"] >= LEAST - (0.02 if "bootstrap" in interval else 0)


def test_a_wrong_truth_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = fixed.KINDS["mean, Student"]
    monkeypatch.setitem(fixed.KINDS, "moved", fixed._Kind(kind.sampler, lambda of: of.mean + 0.1))
    found = fixed.Cell("moved", "normal", 30).simulate(DRAWS)
    assert isinstance(found["coverage"], float)
    assert found["coverage"] < 0.3


def test_the_sequence_covers_at_stopping_and_students_does_not() -> None:
    found = watched.Cell("lognormal", targets=(0.2,)).simulate(DRAWS)
    cells = {(row["interval"], row["fewest_runs"]): row for row in found}
    ours, theirs = cells["time-uniform", FEWEST_RUNS], cells["Student", 10]
    assert float(str(ours["coverage"])) >= LEAST
    assert float(str(theirs["coverage"])) < 0.95
    assert float(str(theirs["ever_outside"])) > 0.4 > float(str(ours["ever_outside"]))


def test_the_simulation_stops_where_the_library_does() -> None:
    cell = watched.Cell("two modes", targets=(0.2,))
    found = {(row["interval"], row["fewest_runs"]): row for row in cell.simulate(1)}
    of = distributions.ALL["two modes"]
    values = of.draw(distributions.random_of("watched", of.name), (1, watched.HORIZON))[0]
    values = (values - of.mean) + of.mean
    runs = next(n for n in range(2, 1000) if narrow_enough(values[:n], 0.2))
    row = found["time-uniform", FEWEST_RUNS]
    assert row["median_runs"] == runs
    assert row["coverage"] == float(sequence(values[:runs]).covers(of.mean))
    critical = watched.CRITICAL["Student"](np.array([10.0, 77.0]))
    assert critical == pytest.approx([STUDENT.critical(10, 0.95), STUDENT.critical(77, 0.95)])


def test_rows_have_the_ends_that_they_have_alone() -> None:
    samples = np.random.default_rng(2).lognormal(size=(4, 12))
    low, high = bootstrap_ends(samples, 0.95)
    alone = [bootstrap(values) for values in samples]
    assert low == pytest.approx([found.low for found in alone], rel=1e-12)
    assert high == pytest.approx([found.high for found in alone], rel=1e-12)


def test_indices_of_the_simulation_are_the_librarys() -> None:
    of = distributions.ALL["lognormal"]
    found = fixed._indices(np.random.default_rng(4), of, (1, 9))[0]
    shares = of.draw(np.random.default_rng(4), (9, fixed.FLOWS))
    assert found == pytest.approx([jain_index(run) for run in shares])
    assert jain(shares).figure == pytest.approx(found.mean())


def test_holms_correction_keeps_the_error() -> None:
    alone, corrected = (
        decisions.Cell(f"any verdict among 5, {word} Holm", "normal", 10).simulate(30)["wrong"]
        for word in ("without", "with")
    )
    assert float(str(alone)) > 0.1 > float(str(corrected))


def test_truncation_mends_the_mean() -> None:
    plain, cut = (
        decisions.Cell(f"mean of a series with a start, {word}", "normal", 10).simulate(60)["wrong"]
        for word in ("not truncated", "MSER-5")
    )
    assert float(str(plain)) > 0.9
    assert float(str(cut)) < 0.2


def test_program_gives_the_same_for_any_number_of_jobs(tmp_path: Path) -> None:
    texts = []
    for jobs in ("1", "2"):
        options = ["--draws", "2", "--only", "decisions", "--jobs", jobs, "--out", str(tmp_path)]
        done = CliRunner().invoke(main, options)
        assert done.exit_code == 0, done.output
        texts.append((tmp_path / FILES["decisions"]).read_text(encoding="utf-8"))
    assert texts[0] == texts[1]
    lines = list(csv.DictReader(texts[0].splitlines()))
    assert len(lines) == len(list(decisions.cells()))


def test_the_page_has_the_committed_tables() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page) == page
    assert page.count("<!-- table: ") == len(FILES)


def test_committed_tables_are_of_ten_thousand_draws() -> None:
    assert {row["draws"] for table in FILES for row in rows(RESULTS, table)} == {"10000"}


def test_committed_coverage_at_stopping() -> None:
    """At least 95 % with the rule that `--until` has, wherever the rare is not unseen."""
    ours = [
        row
        for row in rows(RESULTS, "watched")
        if row["interval"] == "time-uniform" and row["fewest_runs"] == str(FEWEST_RUNS)
    ]
    covered: dict[str, list[float]] = {row["distribution"]: [] for row in ours}
    for row in ours:
        covered[row["distribution"]].append(float(row["coverage"]))
    assert covered.keys() == distributions.ALL.keys()
    assert all(min(shares) >= 0.95 for name, shares in covered.items() if name != "rare mode")
    students = [row for row in rows(RESULTS, "watched") if row["interval"] == "Student"]
    assert all(float(row["ever_outside"]) > 0.2 for row in students)
