"""A scenario of short runs, and the command as tests call it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING, Any

import kills
from click.testing import CliRunner, Result
from hopyard.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

SHORT = {
    "name": "short",
    "duration": "2 s",
    "nodes": {"count": 3, "spacing": "200 m"},
    "radio": {"receive": "250 m", "sense": "550 m"},
    "flow": [{"from": 0, "to": 2}],
}
TCPS = {"flow.tcp": ["newreno", "vegas"]}


def command(*arguments: object, **options: Any) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], **options)
    # The report of a failure shows it.
    print(result.output)
    return result


def ok(*arguments: object, **options: Any) -> Result:
    """A command that ends well."""
    result = command(*arguments, **options)
    assert result.exit_code == 0, (arguments, result.exception)
    return result


def refused(*arguments: object, **options: Any) -> Result:
    """A command that refuses what it is given."""
    result = command(*arguments, **options)
    assert result.exit_code == 2, (arguments, result.exception)
    assert "Traceback" not in result.output
    return result


def process(*arguments: object, **options: object) -> subprocess.Popen[str]:
    return kills.start([sys.executable, "-m", "hopyard", *map(str, arguments)], **options)


def finished(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, which has ended."""
    return python("-m", "hopyard", *arguments, **options)


def python(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """A process of the interpreter that runs the tests; it has ended, and its output is text."""
    given = {"capture_output": True, "text": True, "timeout": 300, "check": False} | options
    return subprocess.run([sys.executable, *map(str, words)], **given)


def sql(folder: Path, *statements: str) -> list[Any]:
    """Executes statements in the store of a folder, whatever its constraints say; the rows of the last one."""
    with closing(sqlite3.connect(folder / "results.sqlite")) as store, store:
        store.execute("PRAGMA ignore_check_constraints = ON")
        return [store.execute(each).fetchall() for each in statements][-1]


def tshark(file: object, *words: str) -> str:
    """What tshark prints of a capture."""
    line = ["tshark", "-n", "-r", str(file), *words]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout
