"""A scenario of short runs, and the command as tests call it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import kills
from click.testing import CliRunner, Result
from hopyard.cli.main import main

if TYPE_CHECKING:
    import subprocess

SHORT = {
    "name": "short",
    "duration": "2 s",
    "nodes": {"count": 3, "spacing": "200 m"},
    "radio": {"receive": "250 m", "sense": "550 m"},
    "flow": [{"from": 0, "to": 2}],
}
TCPS = {"flow.tcp": ["newreno", "vegas"]}


def command(*arguments: object) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    # The report of a failure shows it.
    print(result.output)
    return result


def process(*arguments: object, **options: object) -> subprocess.Popen[str]:
    return kills.start([sys.executable, "-m", "hopyard", *map(str, arguments)], **options)
