"""Completions of the Tab key, with the protocol between shells and click."""

from __future__ import annotations

import os

import pytest
from short import command, python

ENTRY = "import sys; sys.argv[0] = 'hopyard'; from hopyard.cli.main import main; main()"


def offered(line: str) -> list[str]:
    """The answer to bash for a line whose last word is being typed."""
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = python("-c", ENTRY, env=os.environ | asked | {"_HOPYARD_COMPLETE": "bash_complete"})
    assert not done.stderr, done.stderr
    return [each.partition(",")[2] for each in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("hopyard models veg", ["vegas"]),
        ("hopyard new ch", ["chain"]),
        ("hopyard models vegas --profile r", ["rfc"]),
        ("hopyard run a.toml --measure thr", ["throughput"]),
        ("hopyard run a.toml --measure delay,fair", ["delay,fairness"]),
        ("hopyard run a.toml --series ssth", ["ssthresh"]),
        ("hopyard run a.toml --series cwnd,srt", ["cwnd,srtt"]),
        ("hopyard run a.toml --set routing.proto", ["routing.protocol="]),
        ("hopyard run a.toml --set flow.tc", ["flow.tcp="]),
        ("hopyard run a.toml --set routing.protocol=aod", ["routing.protocol=aodv"]),
        ("hopyard run a.toml --set flow.tcp=reno,veg", ["flow.tcp=reno,vegas"]),
        ("hopyard run a.toml --set mac.dcf.preamble=s", ["mac.dcf.preamble=short"]),
    ],
)
def test_a_word_is_completed(line: str, expected: list[str]) -> None:
    assert offered(line) == expected


def test_what_is_there_already_is_not_offered_again() -> None:
    assert "delay,delay" not in offered("hopyard run a.toml --measure delay,d")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_line(shell: str) -> None:
    assert f"_HOPYARD_COMPLETE={shell}_source" in command("completion", shell).stdout
