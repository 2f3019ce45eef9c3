"""The README's examples run as printed where only Hopyard and its dependencies are installed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from test_docs import ROOT, blocks

if TYPE_CHECKING:
    from pathlib import Path

README = ROOT / "README.md"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of a new environment with the wheel and its pinned dependencies."""
    wheels = list((ROOT / "dist").glob("*.whl"))
    assert len(wheels) == 1, "`make test` builds the wheel in dist/"
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [
        folder / "bin" / "python",
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "install",
    ]
    subprocess.run([*pip, "--requirement", ROOT / "requirements" / "run.txt"], check=True)
    subprocess.run([*pip, "--no-index", wheels[0]], check=True)
    return folder / "bin"


def test_pandas_is_not_there(environment: Path) -> None:
    done = subprocess.run([environment / "python", "-c", "import pandas"], capture_output=True)
    assert b"ModuleNotFoundError" in done.stderr


def test_the_python_example_runs_as_printed(environment: Path, tmp_path: Path) -> None:
    (block,) = (each for each in blocks(README) if each.language == "python")
    (tmp_path / "readme.py").write_text(block.text, encoding="utf-8")
    done = subprocess.run(
        [environment / "python", "readme.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    means = [line.rpartition(": ")[2].split(" ± ")[0] for line in done.stdout.splitlines()]
    assert len(means) == 4
    # A comparison that shows nothing would be a bad example.
    assert all(abs(float(mean)) > 1 for mean in means), done.stdout
    assert (tmp_path / "delay.png").stat().st_size > 10_000


def test_the_commands_run_as_printed(environment: Path, tmp_path: Path) -> None:
    (block,) = (each for each in blocks(README) if each.language == "sh")
    path = f"{environment}:/usr/bin:/bin"
    done = subprocess.run(
        ["sh", "-e", "-c", block.text],
        cwd=tmp_path,
        env={"PATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert {"summary.csv", "goodput.png", "cwnd.png"} <= {
        each.name for each in (tmp_path / "results").iterdir()
    }
    assert (tmp_path / "hopyard.json").stat().st_size > 10_000
