"""The common command line of the peers: select experiments, run their cases, write tables."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peerlib import table
from peerlib.peer import PeerError, Run

DATA = Path(__file__).resolve().parent.parent / "data"
Tables = dict[str, list[table.Row]]


@dataclass(frozen=True)
class Experiment:
    """A group of runs, and their tables."""

    name: str
    about: str
    cases: Callable[[], Sequence[Run]]
    # The parameter has the experiment's own type of case.
    run: Callable[[Any], Tables]
    columns: dict[str, Sequence[str]]


def _cases(experiment: Experiment, seeds: int | None) -> Sequence[Run]:
    """The runs, or those of the first seeds alone."""
    cases = experiment.cases()
    if seeds is None:
        return cases
    return [case for case in cases if int(case.key.get("seed") or 0) <= seeds]


def _results(experiment: Experiment, cases: Sequence[Run], jobs: int) -> Iterator[tuple[Run, Tables]]:
    if jobs == 1:
        yield from ((case, experiment.run(case)) for case in cases)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from zip(cases, pool.map(experiment.run, cases), strict=True)


def _perform(peer: str, experiment: Experiment, seeds: int | None, jobs: int, folder: Path) -> None:
    started = time.monotonic()
    cases = _cases(experiment, seeds)
    total = len(cases)
    tables: Tables = {name: [] for name in experiment.columns}
    for done, (case, rows) in enumerate(_results(experiment, cases, jobs), start=1):
        for name, new in rows.items():
            tables[name] += new
        print(f"{peer} {experiment.name} {done}/{total}: {case.name()}", file=sys.stderr)
    for name, columns in experiment.columns.items():
        path = folder / f"{peer}_{name}"
        table.write(path, columns, tables[name])
        print(f"{path} ({len(tables[name])} rows)")
    seconds = time.monotonic() - started
    print(f"{peer} {experiment.name}: {total} runs in {seconds:.0f} s", file=sys.stderr)


def main(peer: str, experiments: Sequence[Experiment], prepare: Callable[[], object], about: str) -> int:
    """Run a peer's command line. The exit status is 1 when the peer is missing or a run fails."""
    listing = "\n".join(f"  {e.name:10} {e.about}" for e in experiments)
    parser = argparse.ArgumentParser(
        description=f"{about}\nExperiments:\n{listing}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", help="experiments, separated by commas (default: all)")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time (default: 1)")
    parser.add_argument("--seeds", type=int, help="only this many seeds (default: all)")
    parser.add_argument("--out", type=Path, default=DATA, help="folder for the tables")
    arguments = parser.parse_args()
    known = {experiment.name: experiment for experiment in experiments}
    names = arguments.only.split(",") if arguments.only else list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"unknown experiment {', '.join(unknown)}; known: {', '.join(known)}")
    if arguments.jobs < 1:
        parser.error(f"--jobs must be at least 1, not {arguments.jobs}")
    try:
        prepare()
        # Other programs may use the machine, because no value here is an execution time.
        os.nice(10)
        for name in names:
            _perform(peer, known[name], arguments.seeds, arguments.jobs, arguments.out)
    except PeerError as error:
        print(f"{peer}: {error}", file=sys.stderr)
        return 1
    return 0
