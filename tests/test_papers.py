"""The page on top of all papers: its inventories, and what it counts."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest
from hopyard.study import load

from studies.papers.__main__ import FAILS, HERE, HOLDS, OPEN, Tally, page, rows, undecided, verdict, verdicts

if TYPE_CHECKING:
    from pathlib import Path

STUDIES = HERE.parent


def test_the_page_is_that_of_the_committed_results() -> None:
    assert page(STUDIES) == (HERE / "RESULTS.md").read_text(), "run `python -m studies.papers`"


def test_the_inventories_are_whole() -> None:
    values, claims = rows(HERE / "values.csv"), rows(HERE / "claims.csv")
    assert len({row["id"] for row in values}) == len(values) == 531
    assert len({row["id"] for row in claims}) == len(claims) == 142


@pytest.mark.parametrize(
    ("paper", "name"),
    [
        ("oo_othman_2011", "oo_othman_2011"),
        ("karlsson_kassler_2009", "karlsson_kassler_2009"),
        ("nashiry_2012", "nashiry"),
    ],
)
def test_what_a_study_asks_is_in_the_inventories(paper: str, name: str) -> None:
    known = {row["id"]: row for row in rows(HERE / "claims.csv")}
    study = load(STUDIES / name)
    # What is asked of another profile than the paper's has its name behind the claim's.
    claims = [claim.id for claim in study.document.claim if " " not in claim.id]
    for claim in claims:
        assert not known[claim.rstrip("abcd")]["why_not_asked"], claim
    asked = {claim.rstrip("abcd") for claim in claims}
    for row in known.values():
        if row["paper"] == paper and not row["why_not_asked"]:
            assert row["id"] in asked, row["id"]
    values = {row["id"]: row for row in rows(HERE / "values.csv")}
    for row in rows(STUDIES / name / "published.csv"):
        assert float(row["value"]) == float(values[row["id"]]["value"]), row
        assert row["source"] == values[row["id"]]["place"]


def test_a_claim_in_parts() -> None:
    assert verdict([HOLDS, HOLDS]) == HOLDS
    assert verdict([HOLDS, OPEN]) == OPEN
    assert verdict([OPEN, FAILS, HOLDS]) == FAILS
    ledger = [{"id": "C1-01a", "verdict": HOLDS}, {"id": "C1-01b", "verdict": FAILS}, {"id": "C1-02", "verdict": OPEN}]
    assert verdicts([ledger[:1], ledger[1:]]) == {"C1-01": FAILS, "C1-02": OPEN}
    # The first part alone is not the claim; it is enough against it.
    assert verdicts([ledger[:1]]) == {"C1-01": OPEN}
    assert verdicts([[{"id": "C1-04a", "verdict": FAILS}]]) == {"C1-04": FAILS}
    # A claim whose points have not been run is not judged.
    assert verdicts([[{"id": "C1-03", "verdict": OPEN, "comparisons": "0"}]]) == {}


def test_the_runs_that_would_decide(tmp_path: Path) -> None:
    results = tmp_path / "some" / "results"
    results.mkdir(parents=True)
    (tmp_path / "some" / "study.toml").write_text("")
    (results / "claims.csv").write_text(
        "id,verdict,figure,comparisons,runs,runs_needed\n"
        "C002-03b,undecided,5 beside 6,1,30,45\n"
        "C002-03a,undecided,5 beside 6,1,30,151\n"
        "C002-05,undecided,0 beside 0,1,30,\n"
        "C002-06,undecided,5 beside 6,1,30,1000000\n"
        "C002-07,holds,5 beside 6,1,30,\n"
        "C002-08,undecided,not all of its points have runs,0,,\n"
        "ours,undecided,5 beside 6,1,30,45\n"
    )
    assert undecided(tmp_path)[2:] == [
        "| C002-03a | 30 | 151 | 5.0 | no |",
        "| C002-03b | 30 | 45 | 1.5 | yes |",
        "| C002-05 | 30 | | | no number of runs: 0 beside 0 |",
        "| C002-06 | 30 | 1,000,000 or more | 33,333.3 | no |",
    ]


def test_nothing_is_left_out_of_a_tally(tmp_path: Path) -> None:
    tally = Tally()
    tally.add(HOLDS, "")
    tally.add(None, "why")
    tally.add(None, "")
    assert tally.total == 3
    assert tally.reasons == {"why": 1, "no results are committed": 1}
    assert rows(tmp_path / "none.csv") == []
    with (tmp_path / "one.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id"], ["a"]])
    assert rows(tmp_path / "one.csv") == [{"id": "a"}]


def test_a_study_that_has_not_been_run(tmp_path: Path) -> None:
    (tmp_path / "oo_othman_2011").mkdir()
    (tmp_path / "oo_othman_2011" / "study.toml").write_text("")
    text = page(tmp_path)
    assert "| **all** | 531 | 0 | 0 | 531 |" in text
    assert "| no results are committed | 210 |" in text
