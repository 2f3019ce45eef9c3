"""The tables of coverage in `docs/guide/statistics.md`, from the CSV files."""

from __future__ import annotations

import csv
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guide" / "statistics.md"
RESULTS = ROOT / "validation" / "results"
#: The table of each file stands between two comments of the page.
FILES = {name: f"coverage_{name}.csv" for name in ("intervals", "watched", "decisions")}
_PLACE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def rows(folder: Path, table: str) -> list[dict[str, str]]:
    """The rows of one file."""
    with (folder / FILES[table]).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def percent(share: str) -> str:
    """A share as a percentage."""
    return f"{100 * float(share):.1f}"


def _marked(share: str, bad: bool) -> str:
    """In bold type if it is more than three standard errors of 10,000 draws on the wrong side."""
    return f"**{percent(share)}**" if bad else percent(share)


def _table(head: list[str], lines: list[list[str]]) -> str:
    texts = [head, ["---"] * len(head), *lines]
    return "".join(f"| {' | '.join(line)} |\n" for line in texts)


def _intervals(found: list[dict[str, str]]) -> str:
    runs = sorted({int(row["runs"]) for row in found})
    cells = {(row["interval"], row["distribution"], int(row["runs"])): row for row in found}
    names = dict.fromkeys((row["interval"], row["distribution"]) for row in found)
    lines = []
    for interval, distribution in names:
        found_here = [cells.get((interval, distribution, n)) for n in runs]
        texts = [_marked(row["coverage"], float(row["coverage"]) < 0.9435) if row else "" for row in found_here]
        lines.append([interval, distribution, *texts])
    return _table(["interval", "values", *(f"{n} runs" for n in runs)], lines)


def _watched(found: list[dict[str, str]]) -> str:
    targets = sorted({row["target"] for row in found}, key=float, reverse=True)
    keys = [("Student", "10"), ("Student", "30"), *(("time-uniform", n) for n in ("10", "20", "30"))]
    cells = {(row["interval"], row["fewest_runs"], row["distribution"], row["target"]): row for row in found}
    lines = []
    for interval, fewest in keys:
        for distribution in dict.fromkeys(row["distribution"] for row in found):
            of = [cells[interval, fewest, distribution, target] for target in targets]
            texts = [
                f"{_marked(row['coverage'], float(row['coverage']) < 0.9435)} ({float(row['median_runs']):,.0f})"
                for row in of
            ]
            lines.append([interval, fewest, distribution, *texts, percent(of[0]["ever_outside"])])
    head = ["interval", "from run", "values", *(f"until {float(t):.0%}" for t in targets)]
    return _table([*head, "ever outside"], lines)


def _decisions(found: list[dict[str, str]]) -> str:
    runs = sorted({int(row["runs"]) for row in found})
    cells = {(row["decision"], row["distribution"], int(row["runs"])): row for row in found}
    names = dict.fromkeys((row["decision"], row["distribution"]) for row in found)
    lines = []
    for decision, distribution in names:
        shares = [cells[decision, distribution, n]["wrong"] for n in runs]
        texts = [_marked(share, float(share) > 0.0565) for share in shares]
        lines.append([decision, distribution, *texts])
    return _table(["decision", "values", *(f"{n} runs" for n in runs)], lines)


_TABLES = {"intervals": _intervals, "watched": _watched, "decisions": _decisions}


def filled(page: str, folder: Path = RESULTS) -> str:
    """The page with the tables of this folder."""
    return _PLACE.sub(lambda m: f"{m[1]}{_TABLES[m[2]](rows(folder, m[2]))}{m[3]}", page)
