"""Kills a sweep again and again, and compares what it has with an undisturbed one.

`python -m validation.kills [--kills 200] [--seed 1]`: `hopyard sweep` is started and killed
(SIGKILL) after a random time, until it has been killed so often; then it may end. The table of its
runs must be equal, byte by byte, to that of a sweep which nobody has disturbed. Prints one line,
and ends with 1 if they differ.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import click

SCENARIO = """
duration = "20 s"
[nodes]
count = 4
spacing = "200 m"
[[flow]]
from = 0
to = 3
"""
STUDY = """
title = "A sweep that is killed"
scenario = "chain.toml"
measures = ["goodput", "delay"]
[axes.sender]
key = "flow.tcp"
values = ["newreno", "vegas"]
[axes.window]
key = "tcp.window"
values = [4, 8, 16, 32]
"""
#: How long a sweep lives at most, in seconds: its start takes about half of that.
LONGEST = 1.2


def command(*words: str) -> list[str]:
    """A call of Hopyard in the interpreter that runs this."""
    return [sys.executable, "-m", "hopyard", *words]


def swept(folder: Path, out: str, runs: int) -> list[str]:
    """The command that sweeps the study into a folder."""
    return command("sweep", str(folder / "study.toml"), "--out", out, "--runs", str(runs), "-q")


def table(folder: Path, out: str, runs: int) -> tuple[bytes, int]:
    """The table of all runs, and their number."""
    subprocess.run(swept(folder, out, runs), cwd=folder, check=True)
    path = folder / f"{out}.csv"
    words = ["results", str(folder / "study.toml"), "--out", out, "--each", "-o", str(path)]
    subprocess.run(command(*words), cwd=folder, check=True, stdout=subprocess.DEVNULL)
    text = path.read_bytes()
    return text, text.count(b"\n") - 1


@click.command()
@click.option("--kills", type=click.IntRange(min=1), default=200, help="How often to kill it.")
@click.option("--runs", type=click.IntRange(min=1), default=5000, help="Runs of each point.")
@click.option("--seed", type=int, default=1, help="Seed of the times of the kills.")
def main(kills: int, runs: int, seed: int) -> None:
    """Kill a sweep, and compare its results with those of an undisturbed one."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "chain.toml").write_text(SCENARIO)
        (folder / "study.toml").write_text(STUDY)
        killed = 0
        while killed < kills:
            process = subprocess.Popen(swept(folder, "killed", runs), cwd=folder)
            try:
                process.wait(timeout=draw.uniform(0, LONGEST))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                killed += 1
            else:
                raise click.ClickException(f"the sweep ended after {killed} kills: more --runs")
        ours, count = table(folder, "killed", runs)
        theirs, _ = table(folder, "undisturbed", runs)
    same = "equal to" if ours == theirs else "NOT equal to"
    click.echo(f"{killed} kills, {count} runs: {same} the undisturbed sweep, byte by byte")
    sys.exit(ours != theirs)


if __name__ == "__main__":
    main()
