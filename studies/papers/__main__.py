"""The page on top of all papers: `python -m studies.papers` writes `studies/papers/RESULTS.md`.

`values.csv` and `claims.csv` are the inventories: every value and claim that the papers print, with
the reason where no study asks. A study's results are the ledgers that `hopyard report` writes:
`published.csv` and `claims.csv` in its folder `results`.
"""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HERE = Path(__file__).resolve().parent
#: The papers, in the order of the page.
PAPERS = {
    "oo_othman_2011": "Oo and Othman (2011): TCP over five routing protocols",
    "karlsson_kassler_2009": "Karlsson and Kassler (2009): ad hoc networks at the Internet",
    "seddik_2012": "Ghaleb-Seddik et al. (2012): TCP-WELCOME",
    "karlsson_tactical": "Karlsson, Dimitrov et al.: tactical networks with TDMA",
    "nashiry_2012": "Nashiry et al. (2012): Mobile IP",
}
HOLDS, FAILS, OPEN = "holds", "does not hold", "undecided"
NOT_RUN = "no results are committed"
#: An undecided claim is out of reach if it needs more than this many times the runs that there are.
REACH = 5


@dataclass
class Tally:
    """How often each outcome was found, and why the others have none."""

    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """All values or claims."""
        return self.outcomes.total() + self.reasons.total()

    def add(self, outcome: str | None, reason: str) -> None:
        """Counts a value or a claim: its outcome, or else why it has none."""
        if outcome is None:
            self.reasons[reason or NOT_RUN] += 1
        else:
            self.outcomes[outcome] += 1


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file; none if it is not there."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def verdict(parts: Sequence[str]) -> str:
    """The verdict of a claim that is asked in parts: it holds where all of them do."""
    if FAILS in parts:
        return FAILS
    return OPEN if OPEN in parts else HOLDS


def verdicts(ledgers: Sequence[Sequence[Mapping[str, str]]]) -> dict[str, str]:
    """The verdict of each claim of the inventory; its parts are named by a letter after the id.

    Where the study asks the first part alone, this one can speak against the claim, but not for it.
    """
    parts: dict[str, list[str]] = {}
    asked: dict[str, set[str]] = {}
    for ledger in ledgers:
        for row in ledger:
            if row.get("comparisons") == "0":
                # None of its points has been run.
                continue
            name = row["id"].rstrip("abcdefgh")
            parts.setdefault(name, []).append(row["verdict"])
            asked.setdefault(name, set()).add(row["id"].removeprefix(name))
    for name, letters in asked.items():
        if letters == {"a"}:
            parts[name].append(OPEN)
    return {name: verdict(found) for name, found in parts.items()}


def tallies(studies: Path) -> tuple[dict[str, Tally], dict[str, Tally]]:
    """What was found of the values and of the claims of each paper."""
    folders = sorted(path.parent for path in studies.glob("*/study.toml"))
    agree = {
        row["id"]: "agrees" if row["agrees"] == "yes" else "differs"
        for folder in folders
        for row in rows(folder / "results" / "published.csv")
        # A ledger in which a value has several points tries assumptions, and judges no paper.
        if "id" in row and "point" not in row
    }
    judged = verdicts([rows(folder / "results" / "claims.csv") for folder in folders])
    values, claims = ({paper: Tally() for paper in PAPERS} for _ in range(2))
    for row in rows(HERE / "values.csv"):
        values[row["paper"]].add(agree.get(row["id"]), row["why_not_compared"])
    for row in rows(HERE / "claims.csv"):
        claims[row["paper"]].add(judged.get(row["id"]), row["why_not_asked"])
    return values, claims


def table(found: Mapping[str, Tally], outcomes: Sequence[str], rest: str) -> list[str]:
    """A row for each paper, and one for all."""
    lines = [f"| paper | in all | {' | '.join(outcomes)} | {rest} |", "|---|" + "---:|" * (len(outcomes) + 2)]
    whole = Tally()
    for paper, tally in found.items():
        lines.append(_row(PAPERS[paper], tally, outcomes))
        whole.outcomes += tally.outcomes
        whole.reasons += tally.reasons
    return [*lines, _row("**all**", whole, outcomes)]


def _row(title: str, tally: Tally, outcomes: Sequence[str]) -> str:
    cells = [tally.total, *(tally.outcomes[name] for name in outcomes), tally.reasons.total()]
    return f"| {title} | {' | '.join(map(str, cells))} |"


def reasons(found: Mapping[str, Tally]) -> list[str]:
    """Why values or claims have no outcome, and how many for each reason."""
    lines = ["| paper | why | number |", "|---|---|---:|"]
    for paper, tally in found.items():
        for why, count in tally.reasons.most_common():
            lines.append(f"| {PAPERS[paper]} | {why} | {count} |")
    return lines


def undecided(studies: Path) -> list[str]:
    """Each undecided claim of the inventory, and each such part, with the runs that would decide it."""
    known = {row["id"]: row["paper"] for row in rows(HERE / "claims.csv")}
    lines = ["| claim | runs | would decide | times | within reach |", "|---|---:|---:|---:|---|"]
    ledgers = [rows(path.parent / "results" / "claims.csv") for path in sorted(studies.glob("*/study.toml"))]
    for row in sorted((row for ledger in ledgers for row in ledger), key=lambda row: row.get("id", "")):
        if row.get("verdict") != OPEN or row["comparisons"] == "0" or row["id"].rstrip("abcdefgh") not in known:
            continue
        runs, needed = row.get("runs", ""), row.get("runs_needed", "")
        if not needed:
            lines.append(f"| {row['id']} | {runs} | | | no number of runs: {row['figure']} |")
            continue
        times = int(needed) / int(runs)
        said = "1,000,000 or more" if int(needed) >= 10**6 else f"{int(needed):,}"
        lines.append(f"| {row['id']} | {runs} | {said} | {times:,.1f} | {'yes' if times <= REACH else 'no'} |")
    return lines


def page(studies: Path) -> str:
    """The page, from the results of the studies in a folder."""
    values, claims = tallies(studies)
    parts = [
        ["# The five papers: published values and claims"],
        [
            "Made by `python -m studies.papers`, which `make papers` runs, from the results of the",
            "[studies](../README.md).",
        ],
        ["## Values"],
        [
            "A published value agrees if it lies in the range of our runs, or if their mean",
            "departs from it by at most 5 % of it: a paper's value is mostly that of one run.",
        ],
        table(values, ("agrees", "differs"), "not compared"),
        ["Why values are not compared:"],
        reasons(values),
        ["## Claims"],
        [
            "A claim holds where all comparisons that it makes show it beyond chance (95 %, Holm's",
            "correction over the claims of a study). A claim that a study asks in parts holds",
            "where all parts do; it is undecided where it holds in its first part, and the",
            "others are not asked.",
        ],
        table(claims, (HOLDS, FAILS, OPEN), "not asked"),
        ["Why claims are not asked:"],
        reasons(claims),
        ["## Undecided claims"],
        [
            "The number of runs that would decide a claim, or a part of it, if the means and the spreads",
            "stayed as they are, by the comparison that decides today. The probability of error is shared",
            "with the other undecided claims of the study, and, where one comparison would refute the",
            f"claim, with its other comparisons. Within reach is up to {REACH} times the runs of today.",
        ],
        undecided(studies),
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


if __name__ == "__main__":
    (HERE / "RESULTS.md").write_text(page(HERE.parent), encoding="utf-8")
