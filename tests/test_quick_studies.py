"""The quick version of every study, one run of each point: its tables, its figures, its claims."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hopyard.study import load
from hopyard.study.figures import Source
from hopyard.study.points import points
from hopyard.study.published import read
from hopyard.study.report import make
from hopyard.study.sweep import opened, sweep
from hopyard.study.values import Values

ROOT = Path(__file__).parent.parent
STUDIES = sorted(path.parent.name for path in (ROOT / "studies").glob("*/study.toml"))


@pytest.mark.parametrize("name", STUDIES)
def test_a_quick_study(name: str, tmp_path: Path) -> None:
    folder = ROOT / "studies" / name
    study = load(folder)
    try:
        outcome = sweep(study, quick=True, runs=1, out=tmp_path / "store")
    except ValueError as error:
        # A study may need kernels and their programs.
        if re.search(r"there is no (kernel|agent|program)|kernels in simulated time|hopyard-kernels", str(error)):
            pytest.skip(str(error).splitlines()[0])
        raise
    assert outcome.made == outcome.wanted > 0
    assert not outcome.failed
    found = points(study, quick=True)
    with opened(tmp_path / "store") as store:
        source = Source(study, found, Values(study, store, found), store, read(study))
        made = make(source, tmp_path / "report", command="", quick=True)
    page = made.page.read_text()
    assert all(claim.id in page for claim in study.document.claim)
    assert len(made.verdicts) == len(study.document.claim)
    if study.document.claim:
        rows = (tmp_path / "report" / "claims.csv").read_text().splitlines()
        assert len(rows) == 1 + len(study.document.claim)
    for table in study.document.table:
        assert (tmp_path / "report" / f"{table.name}.csv").read_text().count("\n") > 1
    for figure in study.document.figure:
        assert (tmp_path / "report" / f"{figure.name}.png").stat().st_size > 5000
