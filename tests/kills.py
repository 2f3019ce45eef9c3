"""Kills runs at random times, starts pairs in one folder, fills disks; counts lost results.

    python tests/kills.py [KILLS] [PAIRS] [DISKS] [SEED]

Every number that it prints as lost, broken or mixed is expected to be 0. `tests/test_store.py` does
the same with fewer tries.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from hopyard.results.results import Results
from hopyard.tables.names import TABLES
from pyarrow import csv, parquet

if TYPE_CHECKING:
    from collections.abc import Iterator

SCENARIO = """
name = "killed"
duration = "4 s"
runs = 30
[nodes]
count = 4
spacing = "200 m"
[radio]
receive = "250 m"
sense = "550 m"
[[flow]]
from = 0
to = 3
[measure]
series = ["cwnd"]
interval = "10 ms"
"""
#: How a run is ended: by these signals, one after the other.
WAYS = {
    "SIGINT": [signal.SIGINT],
    "SIGINT five times": [signal.SIGINT] * 5,
    "SIGTERM": [signal.SIGTERM],
    "SIGHUP": [signal.SIGHUP],
    "SIGKILL": [signal.SIGKILL],
}
#: A process that is killed, or ended at once by a second signal, cannot remove what it was writing.
AT_ONCE = ("SIGKILL", "SIGINT five times")
#: The signals that end a process, and that the shell which starts the tests may have ignored.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU)


@dataclass
class Found:
    """The faults that were found."""

    problems: list[str] = field(default_factory=list)
    runs: int = 0
    #: How often Ctrl-C arrived before the interpreter had started Hopyard.
    before: int = 0

    def add(self, text: str) -> None:
        self.problems.append(text)


def command(scenario: Path, out: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "hopyard", "run", str(scenario), "--out", str(out), *more]


@contextlib.contextmanager
def signals_end_children() -> Iterator[None]:
    """Processes that are started meanwhile are ended by signals, even if the tests ignore these.

    A child inherits what is ignored, and Hopyard and Python leave an ignored signal ignored. Under
    nohup that is SIGHUP; of commands in the background of a script (`&`), it is SIGINT.
    """
    ignored = [each for each in ENDING if signal.getsignal(each) == signal.SIG_IGN]
    for each in ignored:
        signal.signal(each, signal.SIG_DFL)
    try:
        yield
    finally:
        for each in ignored:
            signal.signal(each, signal.SIG_IGN)


def start(line: list[str], **options: object) -> subprocess.Popen[str]:
    """Starts a process with pipes that signals end."""
    pipe = subprocess.PIPE
    given = {"stdout": pipe, "stderr": pipe, "text": True} | options
    with signals_end_children():
        return subprocess.Popen(line, **given)  # type: ignore[call-overload, no-any-return]


def committed(out: Path) -> set[tuple[str, int, int]]:
    """The runs in a store, as another process sees them while it is written."""
    path = out / "results.sqlite"
    if not path.exists():
        return set()
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
            return set(store.execute("SELECT config, seed, run FROM runs").fetchall())
    except sqlite3.OperationalError:
        # Its tables do not exist yet.
        return set()


def parts(out: Path) -> list[Path]:
    """The files that a process was writing when it ended."""
    return list(out.glob(".*.part*"))


def look(out: Path, before: set[tuple[str, int, int]], found: Found, what: str, *, at_once: bool = False) -> None:
    """Checks that a folder still has all its runs, and that all files are readable and agree."""
    if not (out / "results.sqlite").exists():
        if before:
            found.add(f"{what}: no store, but {len(before)} runs had been committed")
        return
    with closing(sqlite3.connect(out / "results.sqlite")) as store:
        if store.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            found.add(f"{what}: the store is broken")
        if not store.execute("SELECT 1 FROM sqlite_master").fetchone():
            return
        runs = set(store.execute("SELECT config, seed, run FROM runs").fetchall())
        rows = store.execute("SELECT count(*) FROM sqlite_master WHERE name = 'flows'").fetchone()
        flows = set()
        if rows != (0,):
            flows = set(store.execute("SELECT config, seed, run FROM flows").fetchall())
        named = [name for (name,) in store.execute("SELECT series FROM runs") if name]
        configs = {config for config, _, _ in runs}
    if not before <= runs:
        found.add(f"{what}: {len(before - runs)} committed runs lost")
    if flows != runs:
        found.add(f"{what}: rows of {len(flows)} runs, and {len(runs)} runs")
    for name in named:
        parquet.read_table(out / name)
    found.runs += len(runs)
    tables = {}
    for name in TABLES:
        for end in ("parquet", "csv"):
            path = out / f"{name}.{end}"
            if path.exists():
                tables[name] = (parquet.read_table if end == "parquet" else csv.read_csv)(path)
    counts = {name: _runs(table) for name, table in tables.items() if name in ("flows", "nodes")}
    if len({frozenset(each) for each in counts.values()}) > 1:
        found.add(f"{what}: tables of different runs")
    if any(not each <= runs for each in counts.values()):
        found.add(f"{what}: a table has runs that the store has not")
    if any(set(table["config"].to_pylist()) - configs for table in tables.values()):
        found.add(f"{what}: a table of another configuration")
    if parts(out) and not at_once:
        found.add(f"{what}: parts of files")
    results = Results.load(out)
    if len(results.flows) != len(runs):
        found.add(f"{what}: {len(results.flows)} of {len(runs)} runs are loaded")


def _runs(table: pa.Table) -> set[tuple[str, int, int]]:
    columns = (table[name].to_pylist() for name in ("config", "seed", "run"))
    return set(zip(*columns, strict=True))


def kills(folder: Path, tries: int, chance: random.Random) -> Found:
    """Stops runs at random times, from their start to some time after their end."""
    found = Found()
    scenario = folder / "killed.toml"
    scenario.write_text(SCENARIO)
    began = time.monotonic()
    subprocess.run(command(scenario, folder / "whole", "--plot"), check=True, capture_output=True)
    takes = time.monotonic() - began
    for number in range(tries):
        name, numbers = list(WAYS.items())[number % len(WAYS)]
        out = folder / f"o{number}"
        # Every second run uses a folder that already has some runs.
        if number // len(WAYS) % 2:
            shutil.copytree(folder / "few", out) if (folder / "few").exists() else None
        elif not (folder / "few").exists():
            subprocess.run(command(scenario, folder / "few", "--runs", "5"), check=True, capture_output=True)
        process = start(command(scenario, out, "--plot"))
        time.sleep(chance.uniform(0, 1.1 * takes))
        before = committed(out)
        for each in numbers:
            if process.poll() is None:
                process.send_signal(each)
                time.sleep(chance.uniform(0, 0.1))
        _, errors = process.communicate(timeout=60)
        wanted = {0, -numbers[0], 128 + numbers[0]}
        what = f"{number}, {name}, exit code {process.returncode}"
        if "KeyboardInterrupt" in errors and "hopyard" not in errors:
            # The interpreter itself was starting: no line of Hopyard had been executed.
            found.before += 1
        elif process.returncode not in wanted:
            found.add(f"{what}: {errors[-300:]}")
        look(out, before, found, what, at_once=name in AT_ONCE)
        if (parts(out) or number % 10 == 0) and (out / "results.sqlite").exists():
            # It can be continued, and then equals the result of an undisturbed call.
            subprocess.run(command(scenario, out), check=True, capture_output=True)
            if parts(out):
                found.add(f"{what}: gone on with, parts of files")
            if not _same(out, folder / "whole"):
                found.add(f"{what}: gone on with, it differs")
        shutil.rmtree(out, ignore_errors=True)
        _told("kills", number, found)
    return found


def _told(what: str, number: int, found: Found) -> None:
    """Prints the progress from time to time."""
    if number % 10 == 9:
        print(f"{number + 1} {what}: {len(found.problems)} problems", file=sys.stderr, flush=True)


def _same(one: Path, other: Path) -> bool:
    return all(
        parquet.read_table(one / f"{name}.parquet").equals(parquet.read_table(other / f"{name}.parquet"))
        for name in ("flows", "nodes", "series")
    )


def pairs(folder: Path, tries: int, chance: random.Random) -> tuple[Found, int]:
    """Starts two calls with different seeds and one folder."""
    found = Found()
    refused = 0
    scenario = folder / "pair.toml"
    scenario.write_text(SCENARIO.replace("runs = 30", "runs = 6"))
    for number in range(tries):
        out = folder / f"p{number}"
        both = []
        for seed in ("1", "2"):
            line = command(scenario, out, "--seed", seed)
            both.append(start(line))
            time.sleep(chance.choice([0, 0, 0.01, 0.1, 0.3]))
        errors = [process.communicate(timeout=60)[1] for process in both]
        codes = sorted(process.returncode for process in both)
        refused += codes == [0, 2]
        if codes != [0, 2]:
            found.add(f"pair {number}: exit codes {codes}")
        elif not any("in use by" in text or "another scenario" in text for text in errors):
            found.add(f"pair {number}: {errors}")
        look(out, set(), found, f"pair {number}")
        shutil.rmtree(out)
        _told("pairs", number, found)
    return found, refused


def disks(folder: Path, sizes: int) -> Found:
    """Runs with a disk that becomes full, or with a limit on the size of files."""
    found = Found()
    scenario = folder / "full.toml"
    scenario.write_text(SCENARIO)
    mount = folder / "disk"
    for number in range(sizes):
        mount.mkdir(exist_ok=True)
        size = 150_000 + 90_000 * number
        what = f"disk of {size} bytes"
        mounted = (
            os.geteuid() == 0
            and shutil.which("mount") is not None
            and not subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", mount], capture_output=True
            ).returncode
        )

        def limit(size: int = size, mounted: bool = mounted) -> None:
            if not mounted:
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        try:
            done = subprocess.run(command(scenario, mount / "o"), capture_output=True, text=True, preexec_fn=limit)
            if done.returncode not in (0, 2, 3) or "Traceback" in done.stderr:
                found.add(f"{what}: exit code {done.returncode}: {done.stderr[-800:]}")
            if done.returncode and str(mount) not in done.stderr:
                found.add(f"{what}: no file is named: {done.stderr}")
            if done.returncode == 2 and (mount / "o" / "flows.parquet").exists():
                found.add(f"{what}: exit code 2, but there are results")
            print(
                f"{what}: exit code {done.returncode}, {len(committed(mount / 'o'))} runs",
                done.stderr.strip().splitlines()[:1],
            )
            copy = folder / "copy"
            shutil.copytree(mount / "o", copy)
            look(copy, committed(mount / "o"), found, what)
            shutil.rmtree(copy)
            if committed(copy := mount / "o"):
                Results.load(copy)
        finally:
            if mounted:
                subprocess.run(["umount", mount], check=True)
            shutil.rmtree(mount, ignore_errors=True)
    return found


def main() -> None:
    """Runs everything and prints the faults that were found."""
    given = [int(each) for each in sys.argv[1:]]
    tries, couples, sizes, seed = [*given, *[200, 50, 10, 1][len(given) :]]
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        killed = kills(folder, tries, chance)
        met, refused = pairs(folder, couples, chance)
        full = disks(folder, sizes)
    figures = {
        "kills": {"tries": tries, "runs in stores": killed.runs, "problems": killed.problems},
        "Ctrl-C before the first line": killed.before,
        "pairs": {"tries": couples, "second refused": refused, "problems": met.problems},
        "disks": {"tries": sizes, "runs in stores": full.runs, "problems": full.problems},
    }
    print(json.dumps(figures, indent=2))
    sys.exit(bool(killed.problems or met.problems or full.problems))


if __name__ == "__main__":
    main()
