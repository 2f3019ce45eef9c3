"""Measures kernels in simulated time: `python -m validation.kernels repeated|cost|nodes`.

`repeated` makes the same run again and again, and counts how many have the digest and the capture
of the first. `cost` tells processor time for each data segment and for each second of an idle
kernel, and what fifty kernels at once take. `nodes` tells what fifty and a hundred nodes with babeld take.
Each writes a table in `validation/results`.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import click
from hopyard.kernels import cache

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "validation" / "results"
INPUTS = ROOT / "validation" / "inputs" / "kernels"
ONCE = Path(__file__).parent / "once.py"
#: The table of runs that were made again and again, and how busy the machine was meanwhile. The
#: idle runs come first: nothing has to rest during the others.
REPEATED = "kernels_repeated.csv"
#: The table of what nodes that are kernels take.
NODES = "kernels_nodes.csv"
STATES = ("idle", "loaded")
#: The scenarios of these runs: a network of Hopyard's nodes, and kernels that are nodes themselves.
SCENARIOS = ("mixed", "babeld", "batman_v", "batman_v_ibss")
#: The number of the user without rights.
NOBODY = 65534
#: For each stack the sizes of two transfers, and the duration of the runs: their difference is free
#: of what a run costs at its start.
TRANSFERS = {"linux": ("1 MB", "11 MB", "100 s"), "hopyard": ("1 MB", "1 GB", "1000 s")}
#: Durations of two runs in which nothing is sent but at their start, in seconds.
IDLE = (100, 10_100)
#: What fifty and a hundred nodes do: a scenario, and its settings. The area of a hundred nodes is twice that of fifty,
#: so that a node has as many neighbours.
MANY: dict[str, tuple[str, ...]] = {
    "50 kernels boot": ("boot.toml",),
    "50 kernels boot, and begin babeld": ("boot.toml", "linux.routing=babeld"),
    "50 nodes with babeld, a flow of 1 s, 40 s": (
        "routers.toml",
        "flows.random=1",
        'flows.start=[["39 s", "39 s"]]',
        "duration=40 s",
    ),
    "50 nodes with babeld, 10 flows, 120 s": ("routers.toml",),
    "100 nodes with babeld, 10 flows, 40 s": (
        "routers.toml",
        "nodes.count=100",
        'nodes.area=[["1414 m", "1414 m"]]',
        "duration=40 s",
    ),
}
#: The kernels of the scenario `wire`.
ENDS = 2
#: How often each run of the costs is made; the least processor time counts.
TRIES = 5


class Found(TypedDict):
    """What one run says of itself."""

    digest: str
    capture: str
    cpu_s: float
    wall_s: float
    kernels_s: float
    segments: int
    goodput_kbps: list[float]
    memory_kb: int


class Place:
    """Where runs are made: a Python that has Hopyard, a user, and the folder of kernels."""

    def __init__(self, python: str, kernels: Path, user: int | None = None) -> None:
        self.python = python
        self.user = user
        self.environment = {**os.environ, "HOPYARD_KERNELS": str(kernels)}
        if user is not None:
            # The home and the folder for temporary files of root are not for others.
            self.environment |= {"HOME": "/nonexistent", "TMPDIR": "/tmp"}

    def run(self, scenario: str, *settings: str, capture: bool = False) -> Found:
        """Makes a run in a process of its own."""
        options = ["--capture"] if capture else []
        done = subprocess.run(
            [self.python, str(ONCE), *options, str(INPUTS / scenario), *settings],
            env=self.environment,
            cwd="/",
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise click.ClickException(f"{scenario} {' '.join(settings)}: {done.stderr}")
        found: Found = json.loads(done.stdout)
        return found


def write(name: str, rows: Iterable[dict[str, object]]) -> None:
    """Writes a table of the results."""
    rows = list(rows)
    with (RESULTS / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keeps processors busy meanwhile."""
    with ExitStack() as stack:
        for _ in range(processes):
            command = [sys.executable, "-c", "while True: pass"]
            process = stack.enter_context(subprocess.Popen(command))
            stack.callback(process.kill)
        yield


@contextmanager
def public() -> Iterator[Path]:
    """A folder with the built kernels that every user can read."""
    with tempfile.TemporaryDirectory() as folder:
        kernels = Path(folder) / "kernels"
        shutil.copytree(cache.root(), kernels)
        for path in (Path(folder), kernels, *kernels.rglob("*")):
            path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        yield kernels


def places(kernels: Path, nobody: str | None) -> Iterator[tuple[str, Place]]:
    """Who makes the runs: this user, and `nobody` if this is root and has a Python for it."""
    yield "root" if os.geteuid() == 0 else "this user", Place(sys.executable, kernels)
    if os.geteuid() == 0 and nobody is not None:
        yield "nobody", Place(nobody, kernels, NOBODY)


def compare(place: Place, scenario: str, version: str, runs: int, jobs: int) -> dict[str, object]:
    """How many of some runs have the digest and the capture of the first."""
    loads = []

    def once(_number: int) -> Found:
        run = place.run(f"{scenario}.toml", f"linux.version={version}", capture=True)
        loads.append(os.getloadavg()[0])
        return run

    with ThreadPoolExecutor(jobs) as pool:
        found = list(pool.map(once, range(runs)))
    first = found[0]
    return {
        # Processes that ran or waited for a processor, of the last minute, as runs ended.
        "load": f"{min(loads):.1f} to {max(loads):.1f}",
        "runs": runs,
        "same_digest": sum(it["digest"] == first["digest"] for it in found),
        "same_capture": sum(it["capture"] == first["capture"] for it in found),
        "digest": first["digest"],
        "capture": first["capture"][:16],
    }


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Measure Linux kernels in simulated time."""


@main.command()
@click.option("--runs", type=click.IntRange(min=2), default=100, help="Runs of each kind.")
@click.option("--nobody", metavar="PYTHON", help="A Python with Hopyard that every user can start.")
@click.option("--state", type=click.Choice(STATES), help="This state only; the other's rows stay.")
@click.option("--scenario", type=click.Choice(SCENARIOS), help="This scenario only; the other's rows stay.")
@click.option(
    "--busy", "others", type=click.IntRange(min=1), help="Busy processes meanwhile, in place of two a processor."
)
def repeated(runs: int, nobody: str | None, state: str | None, scenario: str | None, others: int | None) -> None:
    """Make one run many times: all built versions, idle and under load, as root and as nobody."""
    cores = os.cpu_count() or 1
    made = [(name, each) for each in STATES for name in SCENARIOS if state in (None, each) and scenario in (None, name)]
    rows: list[dict[str, object]] = []
    if (RESULTS / REPEATED).exists():
        with (RESULTS / REPEATED).open(newline="", encoding="utf-8") as file:
            rows += [row for row in csv.DictReader(file) if (row["scenario"], row["state"]) not in made]
    built = {kernel.version for kernel in cache.built()}
    for name, each in made:
        meanwhile = (others or 2 * cores) if each == "loaded" else 0
        for version in filter(built.__contains__, cache.VERSIONS):
            with public() as kernels, busy(meanwhile):
                for user, place in places(kernels, nobody):
                    row = compare(place, name, version, runs, jobs=cores)
                    head = {"scenario": name, "kernel": cache.newest(version).release, "state": each, "user": user}
                    rows.append(head | row)
                    click.echo(json.dumps(rows[-1]))
                    write(REPEATED, sorted(rows, key=_place))


def _place(row: dict[str, object]) -> tuple[int, int]:
    return SCENARIOS.index(str(row["scenario"])), STATES.index(str(row["state"]))


def least(place: Place, scenario: str, *settings: str) -> Found:
    """The run with the least processor time of some that are alike."""
    return min((place.run(scenario, *settings) for _ in range(TRIES)), key=lambda it: it["cpu_s"])


def costs(place: Place, version: str) -> list[dict[str, object]]:
    """The rows of one version of Linux."""
    of = f"linux.version={version}"
    rows: list[dict[str, object]] = []

    def add(what: str, value: float, unit: str) -> None:
        release = cache.newest(version).release
        rows.append({"kernel": release, "what": what, "value": f"{value:.4g}", "unit": unit})
        click.echo(json.dumps(rows[-1]))

    for stack, (*sizes, duration) in TRANSFERS.items():
        settings = (of, f"flow.stack={stack}", f"duration={duration}")
        runs = [least(place, "wire.toml", *settings, f"traffic.transfer.size={size}") for size in sizes]
        more = runs[1]["segments"] - runs[0]["segments"]
        add(f"a data segment, {stack}", 1e3 * (runs[1]["cpu_s"] - runs[0]["cpu_s"]) / more, "ms")
    short, long = (least(place, "wire.toml", of, f"duration={each} s", "linux.sample=1000 s") for each in IDLE)
    idle = (long["cpu_s"] - short["cpu_s"]) / (IDLE[1] - IDLE[0]) / ENDS
    add("an idle kernel and second", 1e3 * idle, "ms")
    fifty = place.run("fifty.toml", of)
    for name, unit in (("cpu_s", "s"), ("wall_s", "s"), ("segments", ""), ("memory_kb", "kB")):
        add(f"50 kernels, 60 s: {name.partition('_')[0]}", fifty[name], unit)  # type: ignore[literal-required]
    return rows


@main.command()
def cost() -> None:
    """Measure processor time and memory; nothing else should run meanwhile."""
    place = Place(sys.executable, cache.root())
    write("kernels_cost.csv", [row for version in cache.VERSIONS for row in costs(place, version)])


@main.command()
@click.option("--only", metavar="TEXT", help="The rows that begin with this text only; the others stay.")
def nodes(only: str | None) -> None:
    """Measure nodes that are kernels: what they take to boot, with babeld alone, and with flows."""
    place = Place(sys.executable, cache.root())
    table = RESULTS / NODES
    known: dict[str, dict[str, object]] = {}
    if table.exists():
        with table.open(newline="", encoding="utf-8") as file:
            known = {row["what"]: dict(row) for row in csv.DictReader(file)}
    for what, (scenario, *settings) in MANY.items():
        if only is not None and not what.startswith(only):
            continue
        found = place.run(scenario, "linux.version=6.1", *settings)
        flows = found["goodput_kbps"]
        known[what] = {
            "what": what,
            "kernel": cache.newest("6.1").release,
            "cpu_s": f"{found['cpu_s']:.1f}",
            "of_kernels_s": f"{found['kernels_s']:.1f}",
            "wall_s": f"{found['wall_s']:.0f}",
            "memory_mb": found["memory_kb"] // 1000,
            "segments": found["segments"],
            "goodput_kbps": f"{sum(flows):.0f}",
            "flows": len(flows),
            "that_delivered": sum(each > 0 for each in flows),
            # Processes that ran or waited for a processor, in the last minute.
            "load": f"{os.getloadavg()[0]:.1f}",
        }
        click.echo(json.dumps(known[what]))
        write(NODES, (known[each] for each in MANY if each in known))


if __name__ == "__main__":
    main()
