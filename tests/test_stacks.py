"""The comparison of Linux's TCP with Hopyard's over the same networks, in short."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hopyard.kernels.cache import built
from hopyard.study import load
from hopyard.study.sweep import sweep

from validation import stacks
from validation.stacks import __main__ as program
from validation.stacks import exchanges

if TYPE_CHECKING:
    from hopyard.study.file import Scalar

STUDY = Path(stacks.__file__).parent


def test_the_criterion() -> None:
    verdict = program._verdict
    assert verdict("wire", (0.9, 0.8, 1.2), 5) == "within 1 %"
    # Over wires, chance is no excuse.
    assert verdict("wire", (1.1, -3.0, 5.0), 5) == "differs"
    assert verdict("chain", (-1.9, -2.1, -1.7), 5) == "within 2 %"
    assert verdict("chain", (-9.0, -20.0, 2.0), 5) == "in the interval"
    assert verdict("chain", (-9.0, -12.0, -6.0), 5) == "differs"
    # A single run has no interval.
    assert verdict("chain", (-9.0, float("nan"), float("nan")), 1) == "one run"


def test_runs_are_compared_in_pairs() -> None:
    rows = [
        {"network": "chain", "sender": "Reno", "stack": stack, "run": run, "main_goodput": goodput}
        for stack, run, goodput in (
            ("Linux", 0, 100.0),
            ("Linux", 1, 200.0),
            ("Linux", 2, 900.0),
            ("Hopyard", 0, 103.0),
            ("Hopyard", 1, 206.0),
            ("Hopyard, at once", 0, 5.0),
        )
    ]
    # The third run of Linux has no partner, and the stack without small queues none at all.
    (row,) = program._compared(rows)
    assert row[:6] == ["chain", "Reno", "Linux", 2, 150.0, 154.5]
    assert row[6] == 3.0
    assert row[-1] == "in the interval"


def test_the_networks_in_short(tmp_path: Path) -> None:
    if not built():
        pytest.skip("no kernel is built: `hopyard kernels build`")
    only: dict[str, Scalar | list[Scalar]] = {
        "sender": ["Reno"],
        "network": ["wire", "chain"],
        "stack": ["Linux", "Hopyard"],
    }
    outcome = sweep(load(STUDY), quick=True, runs=1, out=tmp_path, only=only)
    assert outcome.made == 4
    assert not outcome.failed
    rows = program._runs(tmp_path, quick=True)
    found = {(row["network"], row["stack"]): row["main_goodput"] for row in rows}
    assert len(found) == 4
    for network in ("wire", "chain"):
        # Six seconds have much of the opening in them.
        assert found[network, "Hopyard"] == pytest.approx(found[network, "Linux"], rel=0.2)


def test_committed_results_have_the_columns_of_the_program() -> None:
    for name, head in (("runs.csv", program.HEAD), ("goodput.csv", program.COMPARED)):
        with (STUDY / "results" / name).open(newline="", encoding="utf-8") as file:
            assert tuple(next(csv.reader(file))) == head


@pytest.mark.filterwarnings("ignore:.* may have up to ")
def test_exchanges_in_short() -> None:
    if not built() or not shutil.which("tshark"):
        pytest.skip("no kernel is built (`hopyard kernels build`), or tshark is missing")
    for row in exchanges.compared(1, 3):
        found = dict(zip(exchanges.HEAD, row, strict=True))
        assert (found["order"], found["order_with_acks"]) == (1, 1), found
        assert abs(float(str(found["percent"]))) < 0.1, found


def test_programs_do_what_the_applications_do() -> None:
    page = exchanges.Case(
        *("page", 1.0, 1.0, 10, [], []),
        request=10,
        answer=20,
        count=2,
        parts=3,
        part=5,
        pipelining=2,
        pause=7,
        service=1,
    )
    client, server = page.scripts()
    assert client.split() == [
        *("a1000000", "o0", "w10", "r20", "w10", "w10", "r5", "w10", "r5", "r5", "t7000"),
        *("w10", "r20", "w10", "w10", "r5", "w10", "r5", "r5"),
    ]
    assert server.split() == ["o0", *(["r10", "t1000", "w20"] + ["r10", "t1000", "w5"] * 3) * 2]
    assert list(page.exchanges()) == [(0, 35), (40, 70)]


def test_committed_exchanges_bear_out_the_criterion() -> None:
    for name in ("exchanges.csv", "exchanges_held_out.csv"):
        with (STUDY / "results" / name).open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 200, name
        assert sum(abs(float(row["percent"])) <= 1 for row in rows) >= 190, name
        assert sum(row["order"] == "1" for row in rows) >= 180, name
