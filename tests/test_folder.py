"""The folder of results: its name, what is written into it, and what is left alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hopyard import Results
from short import command

if TYPE_CHECKING:
    from pathlib import Path


NAMES = ["s3:b", "file:x", "12:30", "res:z", "a b?c=d&e#f%20", "größe"]


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_may_have_any_name(
    short: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(short.parent)
    line = ["run", short, "--runs", 1, "--series", "cwnd", "--out", name]
    for more in ([], ["--format", "csv"], ["--plot", "--runs", 2]):
        done = command(*line, *more)
        assert (done.exit_code, done.stderr) == (0, "")
    assert len(Results.load(name).series) > 0
    Results.load(name).save(f"{name}-2")
    assert command("plot", name, "--series", "cwnd").exit_code == 0
