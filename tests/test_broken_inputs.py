"""Broken inputs are refused at once, with the place, the value found and what is expected.

`python tests/broken_inputs.py` gives each of them to a process of its own.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from broken_inputs import CALL, LONGEST, Broken, cases, of_process, prepare
from short import command

#: After this number of inputs, one is also given to a separate process.
SEVERAL = 80


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("broken")
    prepare(path)
    return path


def _answer(broken: Broken) -> tuple[str, int]:
    if broken.kind.startswith("calls"):
        names: dict[str, object] = {}
        exec(CALL, names)
        try:
            exec(broken.text, names)
        except (ValueError, TypeError, AttributeError, LookupError, OSError) as error:
            return f"{type(error).__name__} {error}", 2
        return "", 0
    if broken.scenario is not None:
        Path("case.toml").write_text(broken.scenario, encoding="utf-8")
    done = command(*broken.arguments)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output, done.exit_code


@pytest.mark.parametrize("broken", cases(), ids=str)
def test_broken_input_is_refused(broken: Broken, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    # CPU time, because other programs may use the machine at the same time.
    began = time.process_time()
    answer, code = _answer(broken)
    taken = time.process_time() - began
    assert not broken.lacks(answer), answer
    assert code == 2, answer
    assert taken < LONGEST


@pytest.mark.parametrize("broken", cases()[::SEVERAL], ids=str)
def test_a_process_ends_with_2(broken: Broken, folder: Path) -> None:
    assert not of_process(broken, folder)
