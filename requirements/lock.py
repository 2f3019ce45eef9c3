"""Pins what the package, its build and its developers need; `make lock` runs it."""

import subprocess
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
HEAD = "# Made by `make lock`; change pyproject.toml or requirements/*.in and make it again.\n"


def pip(*arguments: str) -> str:
    """Runs pip in this environment and returns what it printed."""
    return subprocess.run(
        [sys.executable, "-m", "pip", *arguments], check=True, stdout=subprocess.PIPE, text=True
    ).stdout


def pins() -> list[str]:
    """What is installed, one `name==version` a line."""
    return pip("freeze").splitlines()


def main() -> None:
    """Writes run.txt (the package, its build), lab.txt (its extra `lab`), and what three tasks need beside these."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
    pip("install", *project["dependencies"], "--requirement", str(HERE / "build.in"))
    run = pins()
    (HERE / "run.txt").write_text(HEAD + "\n".join(run) + "\n")
    pip("install", *project["optional-dependencies"]["lab"])
    lab = [pin for pin in pins() if pin not in run]
    (HERE / "lab.txt").write_text(HEAD + "\n".join(lab) + "\n")
    pinned = {*run, *lab}
    for task in ("dev", "site", "release"):
        pip("install", "--requirement", str(HERE / f"{task}.in"))
        found = [pin for pin in pins() if pin not in pinned]
        (HERE / f"{task}.txt").write_text(HEAD + "\n".join(found) + "\n")
        pinned.update(found)


if __name__ == "__main__":
    main()
