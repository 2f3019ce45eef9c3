"""A sweep that is killed: the short form of `python -m validation.kills`."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from validation import kills
from validation.kills import main


def test_a_sweep_that_is_killed_loses_nothing() -> None:
    result = CliRunner().invoke(main, ["--kills", "4", "--runs", "400", "--seed", "5"])
    assert result.exit_code == 0, result.output
    assert "4 kills, 3200 runs: equal to the undisturbed sweep, byte by byte" in result.output


def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = kills.table
    monkeypatch.setattr(
        kills, "table", lambda folder, out, runs: whole(folder, out, runs + (out == "killed"))
    )
    result = CliRunner().invoke(main, ["--kills", "1", "--runs", "200"])
    assert result.exit_code == 1
    assert "NOT equal" in result.output
