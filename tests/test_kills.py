"""A sweep that is killed: the short form of `python -m validation.kills`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from validation import kills
from validation.kills import main

if TYPE_CHECKING:
    import pytest


def test_a_sweep_that_is_killed_loses_nothing() -> None:
    result = CliRunner().invoke(main, ["--kills", "4", "--runs", "200", "--seed", "5"])
    assert result.exit_code == 0, result.output
    assert "4 kills, 1600 runs: equal to the undisturbed sweep, byte by byte" in result.output


def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = kills.table
    monkeypatch.setattr(kills, "table", lambda folder, out, runs: whole(folder, out, runs + (out == "killed")))
    result = CliRunner().invoke(main, ["--kills", "1", "--runs", "60"])
    assert result.exit_code == 1
    assert "NOT equal" in result.output
