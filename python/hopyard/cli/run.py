"""What `hopyard run`, `show` and `plot` do, in the order in which nothing can be lost.

Every run is in the store first; then the tables are written; then the results are shown; then they
are drawn.
"""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopyard.cli.output import BROKEN_PIPE, FAILED, NOT_WRITTEN, measure_file, of, printed, save_plot, say, tell
from hopyard.errors import CaptureError, SimulationError, StoreError
from hopyard.scenario.recorded import SEGMENTS
from hopyard.scenario.scenario import Scenario
from hopyard.terminal import signals
from hopyard.terminal.words import many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hopyard.cli.plot import Drawn
    from hopyard.results.results import Results
    from hopyard.running.capture import Capture
    from hopyard.scenario.plan import Planned
    from hopyard.scenario.scenario import Settings
    from hopyard.statistics.estimates import Estimate
    from hopyard.store.folder import Folder
    from hopyard.tables.cases import Case, Failure
    from hopyard.terminal.signals import Stop

#: How many failures are told one by one.
TOLD = 5


@dataclass(frozen=True)
class Request:
    """What `hopyard run` was asked for."""

    files: Sequence[Path]
    settings: Settings
    runs: int | list[int] | None
    seed: int | None
    jobs: int | None
    out: Path | None
    force: bool
    format: str
    series: Sequence[str]
    #: The flows whose segments are recorded, if it is not for the scenario to say.
    segments: bool | str | None
    measures: Sequence[str]
    #: The values of compared keys that the case has with which others are compared.
    against: Mapping[str, str] | None
    plot: bool
    quiet: bool
    json: bool
    capture: Capture | None = None


def run(request: Request, stop: Stop) -> int:
    """Runs scenarios, and gives the exit code.

    Raises:
        ScenarioError, ValueError, OSError: when what was given is wrong; nothing has been run.
    """
    from hopyard.running.run import check_machine
    from hopyard.scenario.plan import warnings as doubts
    from hopyard.store.folder import Folder, default
    from hopyard.tables.measures import check_labels
    from hopyard.tables.names import table_files
    from hopyard.tables.pairs import check as check_against

    # Nothing can be lost yet: a signal ends the process at once.
    cases = signals.patiently(lambda: _cases(request))
    check_labels(request.measures, (label for case in cases for label in case.core.labels()))
    if request.against is not None:
        check_against(request.against, cases)
    if not request.quiet:
        for warning in doubts((case.file or case.scenario, case.core) for case in cases):
            say(warning)
    if request.capture is not None:
        for warning in request.capture.check(cases):
            if not request.quiet:
                say(warning)
    path = request.out
    if path is None and len(request.files) == 1 and request.files[0].is_dir():
        path = request.files[0]
    series = [*dict.fromkeys(name for case in cases for name in case.series)]
    recorded = request.segments is not None
    if path is None and (request.plot or request.series or recorded):
        path = default(cases)
    writes = table_files(request.format)
    if request.plot:
        writes += [measure_file(name) for name in request.measures or ["goodput"]]
        writes += [_series_file(name) for name in series]
        if any(name.startswith(SEGMENTS) for case in cases for name in case.recorded):
            writes.append(_segments_file())
    if path is not None:
        signals.patiently(lambda: check_machine(cases, request.jobs, path))
    folder = None if path is None else Folder(path, cases, force=request.force, writes=writes)
    try:
        for note in folder.notes if folder else ():
            say(note)
        return _run(request, stop, cases, folder, series)
    finally:
        if folder is not None:
            folder.close()


def _run(request: Request, stop: Stop, cases: Sequence[Planned], folder: Folder | None, series: Sequence[str]) -> int:
    from hopyard.running.run import Interrupted, make

    stop.idle = False
    codes: list[int] = []
    ahead = [] if request.quiet else ["hopyard.cli.result_tables"]
    if folder is not None:
        ahead += ["pyarrow.csv", f"pyarrow.{request.format}"]
    try:
        results = make(
            cases,
            jobs=request.jobs,
            progress=False if request.quiet else None,
            folder=folder,
            capture=request.capture,
            ahead=ahead,
        )
    except Interrupted as interruption:
        results = interruption.results
    except CaptureError as error:
        if error.results is None:
            raise
        results = error.results
    except SimulationError as error:
        if error.results is None:
            raise
        results = error.results
        codes.append(FAILED)
    except OSError as error:
        if folder is None:
            raise
        from hopyard.results.results import of_store
        from hopyard.store.database import GoneError

        say(f"error: {of(error)}")
        if isinstance(error, GoneError):
            return NOT_WRITTEN
        codes.append(NOT_WRITTEN)
        try:
            results = of_store(folder.store)
        except OSError as reading:
            if of(reading) != of(error):
                say(f"error: {of(reading)}")
            return NOT_WRITTEN
        say("The runs that were added before are kept; what follows is theirs.")
    written: list[Path] = []
    if folder is not None and results.cases:
        try:
            written = folder.write(results, request.format, request.measures)
        except OSError as error:
            say(f"error: {of(error)}")
            say(f"The tables are not written; every finished run is in {folder.store.path}.")
            codes.append(NOT_WRITTEN)
    where = None if folder is None else str(folder.where)
    if request.json or not request.quiet:
        kind = "json" if request.json else "text"
        codes.append(shown(results, request.measures, kind, request.against, folder=where))
    if folder is not None and results.cases:
        if request.plot and stop.number is None:
            code, drawn = _draw(results, folder, request, series, stop)
            codes.append(code)
            written += drawn
        if written and not request.quiet:
            codes.append(tell(f"In {folder.where}: {', '.join(path.name for path in written)}"))
    if results.cases and not request.quiet and results.problem is None:
        for name in dict.fromkeys(series):
            if name not in _sampled(results, series):
                say(f"warning: no flow has a sample of {name}; hopyard measures says what has one")
    if request.capture is not None:
        for text in request.capture.failures():
            say(text)
            codes.append(NOT_WRITTEN)
        cut = stop.number is not None or NOT_WRITTEN in codes
        summary = request.capture.summary(cases, stopped=cut)
        if summary and not request.quiet:
            codes.append(tell(summary))
    _explain(results, folder, stop)
    if stop.number is not None:
        return stop.exit_code
    return next((code for code in (NOT_WRITTEN, FAILED, BROKEN_PIPE) if code in codes), 0)


def _cases(request: Request) -> list[Planned]:
    from hopyard.scenario.plan import plan

    files = request.files or [path for path in (request.out,) if path is not None]
    folders = [path for path in files if path.is_dir()]
    if folders:
        return _stored_cases(request, files)
    given = [read(path) if str(path) == "-" else path for path in files]
    return plan(
        given,
        runs=request.runs,
        seed=request.seed,
        set=request.settings,
        series=request.series,
        segments=request.segments,
    )


def read(path: Path) -> Scenario:
    """Reads a scenario file; - stands for the standard input."""
    if str(path) != "-":
        return Scenario.load(path)
    # So that its results are called after it where it has no name.
    try:
        text = sys.stdin.read()
    except OSError as error:
        raise OSError(error.errno or 0, error.strerror, "standard input") from error
    return Scenario.parse(text, name="stdin", base=Path())


def _stored_cases(request: Request, files: Sequence[Path]) -> list[Planned]:
    """The cases of a folder, with the runs that it was to have or those that are wanted now."""
    from hopyard.results.provenance import planned
    from hopyard.scenario.plan import segment_names
    from hopyard.store.reading import Reader

    if len(files) > 1:
        raise ValueError("expected scenario files, or one folder of results")
    if request.settings or request.seed is not None:
        raise ValueError(
            f"{files[0]} is a folder of results, whose scenarios are run as they are: expected neither --set nor --seed"
        )
    with Reader(files[0]) as store:
        return planned(store, request.runs, [*request.series, *segment_names(request.segments)])


def shown(
    results: Results,
    measures: Sequence[str],
    format: str = "text",
    against: Mapping[str, str] | None = None,
    *,
    folder: str | None,
) -> int:
    """Shows results in a format, or those of single flows (`flows`), and gives the exit code."""

    def show() -> None:
        if format == "json":
            print(json.dumps(summary(results, measures, folder, against), indent=2, ensure_ascii=False))
            return
        if format == "csv":
            write_csv(results.summary(measures or SHOWN, against), sys.stdout.buffer)
            return
        from hopyard.cli import result_tables as report

        if format == "flows":
            report.flows(results, measures or None)
        elif format == "latex":
            report.latex(results, measures or None, against)
        else:
            report.show(results, measures or None, against=against)
        for name in measures:
            if results.cases and results.lacks(name):
                say(f"warning: no run has the measure {name}; see hopyard measures")

    from hopyard.tables.measures import SHOWN

    if format == "csv":
        from pyarrow.csv import write_csv
    # Half a table in a file looks like a whole one: what is compared is looked for before the first line.
    results.firsts(against)
    return printed(show)


def summary(
    results: Results, measures: Sequence[str], folder: str | None, against: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The summary that JSON has; `folder` has the results, if one does."""
    from hopyard.tables.measures import SHOWN, named

    def number(value: float) -> float | None:
        return None if math.isnan(value) else value

    def estimates(found: Mapping[str, Estimate]) -> dict[str, Any]:
        return {
            name: {"mean": number(it.mean), "half_width": number(it.half_width), "unit": named(name).unit}
            for name, it in found.items()
        }

    chosen = measures or SHOWN
    firsts = results.firsts(against)

    def case(each: Case) -> dict[str, Any]:
        first = firsts.get(each.number)
        apart: dict[str, Any] | None = None
        if first is not None:
            apart = {"scenario": first.scenario, "settings": first.settings}
            apart["measures"] = estimates({name: results.difference(name, each, first) for name in chosen})
        return {
            "scenario": each.scenario,
            "settings": each.settings,
            "config": each.config,
            "seed": each.seed,
            "runs": len(results.runs_of(each)),
            "measures": estimates({name: results.estimate(name, each) for name in chosen}),
            "difference_from": apart,
        }

    return {
        "version": results.version,
        "folder": folder,
        "complete": results.complete,
        "cases": [case(each) for each in results.cases],
        "failures": [
            {
                "scenario": each.scenario,
                "settings": each.settings,
                "config": each.config,
                "seed": each.seed,
                "run": each.run,
                "error": each.error,
            }
            for each in results.failures
        ],
    }


def _draw(
    results: Results, folder: Folder, request: Request, series: Sequence[str], stop: Stop
) -> tuple[int, list[Path]]:
    paths: list[Path] = []
    try:
        stop.drawing = True
        for name in request.measures or ["goodput"]:
            if results.lacks(name):
                say(f"warning: no run has the measure {name}: it is not drawn")
                continue
            kind = "cdf" if results.measure(name).of_rows is not None else None
            figure = results.plot(name, kind=kind, against=None if kind else request.against)
            paths += [save_plot(figure, folder.drawing(measure_file(name)), stop)]
        for name in _sampled(results, series):
            paths += [save_plot(results.plot_series(name), folder.drawing(_series_file(name)), stop)]
        if results.problem is None and len(results.segments):
            paths += [save_plot(results.plot_segments(), folder.drawing(_segments_file()), stop)]
    except signals.Stopped:
        say(f"The results are in {folder.where}; not all plots are drawn.")
        return 0, paths
    except OSError as error:
        say(f"error: {of(error)}")
        return NOT_WRITTEN, paths
    finally:
        stop.drawing = False
    return 0, paths


def _sampled(results: Results, series: Sequence[str]) -> list[str]:
    """Those of the quantities that have a sample."""
    if results.problem is not None:
        return []
    there = set(results.series["quantity"].unique().to_pylist())
    return [name for name in series if name in there]


def _series_file(name: str) -> str:
    """A name that no plot of a measure has: "goodput" is both."""
    from hopyard.tables.measures import MEASURES

    return f"{name}_series.png" if name in MEASURES else f"{name}.png"


def _segments_file(flow: int | None = None, run: int | None = None) -> str:
    parts = {"run": run, "flow": flow}
    ends = [f"-{name}{number}" for name, number in parts.items() if number is not None]
    return f"segments{''.join(ends)}.png"


def _explain(results: Results, folder: Folder | None, stop: Stop) -> None:
    """Says what is not as it was asked for."""
    for failure in results.failures[:TOLD]:
        say(f"error: {failure}")
        if (again := _again(failure, folder)) is not None:
            say(f"This run alone: {again}")
    if len(results.failures) > TOLD:
        say(f"{len(results.failures) - TOLD} further runs failed.")
    if results.failures and folder is not None:
        say(f"{folder.where} has the finished runs, and the errors of the others.")
    for line in _programs(results):
        say(line)
    if stop.number is not None:
        where = f", in {folder.where}" if folder is not None and results.cases else ""
        say(f"Interrupted by {stop.name}: only the runs that were finished are kept{where}.")
        if folder is not None and folder.where != folder.path:
            say(f"{folder.path} has its former results; --force with the same scenario goes on.")


#: What can become of a program; those that did worst are told first.
_FATES = ("failed", "never began", "went on until the end of the run", "ended without an error")


def _programs(results: Results) -> list[str]:
    """What became of the programs in simulated time, in the order of `_FATES`.

    A command with the same fate at several nodes, such as a daemon of all routers, has one line.
    """
    rows = results.programs.to_pylist() if results.problem is None else []

    def fate(row: dict[str, Any]) -> tuple[int, str]:
        if row["began_s"] is None:
            return 1, "never began"
        if row["ended_s"] is None:
            return 2, "went on until the end of the run"
        if row["status"] == 0:
            return 3, f"ended at {row['ended_s']:.6g} s"
        last = row["errors"].strip().rpartition("\n")[2]
        return 0, f"exit status {row['status']}{last and ': '}{last}"

    alike: dict[tuple[int, str, int, str], list[int]] = {}
    for row in rows:
        alike.setdefault((*fate(row), row["run"], row["command"]), []).append(row["node"])
    lines = sorted(alike.items(), key=lambda it: it[0][0])
    left: Counter[str] = Counter()
    for (number, *_), nodes in lines[TOLD:]:
        left[_FATES[number]] += len(nodes)
    more = [f"{many(count, 'further program')} {became}" for became, count in left.items()]
    output = ["The output of programs is in the table `programs` (--out keeps it)."] if lines else []
    told = [
        f"{'warning: ' if number < 2 else ''}run {run}, {_nodes(nodes)}: {command}: {text}"
        for (number, text, run, command), nodes in lines[:TOLD]
    ]
    return [*told, *more, *output]


def _nodes(nodes: Sequence[int]) -> str:
    """The node of a program, or the first of those that have the same one."""
    if len(set(nodes)) == 1:
        return f"node {nodes[0]}" + (f" ({len(nodes)} programs)" if len(nodes) > 1 else "")
    shown = ", ".join(map(str, nodes[:TOLD]))
    return f"nodes {shown}" + (f" and {len(nodes) - TOLD} more" if len(nodes) > TOLD else "")


def _again(failure: Failure, folder: Folder | None) -> str | None:
    """The command that makes a run alone."""
    if failure.file is None:
        where = None if folder is None else str(folder.where)
        return None if where is None else f"hopyard run {shlex.quote(where)} --run {failure.run}"
    words = ["hopyard", "run", failure.file]
    for key, value in failure.settings.items():
        words += ["--set", f"{key}={value}"]
    words += ["--seed", str(failure.seed), "--run", str(failure.run)]
    return shlex.join(words)


def show(
    folders: Sequence[Path], measures: Sequence[str], format: str, against: Mapping[str, str] | None = None
) -> int:
    """Shows the results of folders, in a format of `shown`."""
    from hopyard.results.results import Results

    results = Results.load(*folders)
    if not results.complete:
        say("These results are not complete: runs are under way, were interrupted, or failed.")
    if results.problem is not None:
        say(f"warning: {results.problem}")
    where = ", ".join(map(str, folders))
    return shown(results, measures, format, against, folder=where)


@dataclass(frozen=True)
class Trace:
    """What part of the segments is drawn; times are in seconds."""

    flow: int | None
    since: float | None
    until: float | None
    unit: str


def plot_network(scenario: Path, at: str | None, run: int, output: Path | None, width: float | None) -> int:
    """Draws a map of a scenario's network at a time."""
    from hopyard.netmap import network
    from hopyard.scenario.scenario import Scenario

    if at is None:
        raise ValueError(f"{scenario} is a scenario: expected a time for its map, as --at 30s")
    figure = network(Scenario.load(scenario), at, run, width=width)
    return tell(str(save_plot(figure, output or Path(f"{scenario.stem}-map.png"))))


def plot(
    folder: Path,
    measures: Sequence[str],
    series: Sequence[str],
    drawn: Drawn,
    output: Path | None,
    stop: Stop,
    *,
    run: int | None = None,
    trace: Trace | None = None,
    at: str | None = None,
) -> int:
    """Draws what a folder holds; with `trace`, segments; with `at`, a map."""
    from hopyard.netmap import network
    from hopyard.results.results import Results
    from hopyard.store.folder import drawing
    from hopyard.store.store import Store

    results = Results.load(folder)
    if not results.cases:
        raise ValueError(f"{folder} has no finished run to draw")
    of_run = drawn.kind if drawn.kind in ("map", "timeline") else None
    if of_run == "map" and at is None:
        raise ValueError("expected a time for the map, as --at 30s")
    chosen = measures or ([] if series or trace or of_run else ["goodput"])
    wanted = [*chosen, *series, *(["segments"] if trace else [])]
    if output is not None and len(wanted) > 1:
        raise ValueError(f"expected one measure or series for {output}, found {', '.join(wanted)}")
    paths = []
    page = {"width": drawn.width}

    def place(name: str) -> Path:
        if output is not None:
            return output
        try:
            with Store(folder, write=True) as store:
                return drawing(store, name)
        except StoreError as error:
            told = StoreError(f"{error}: expected a folder that can be written, or -o FILE")
            told.errno = error.errno
            raise told from error

    try:
        stop.idle, stop.drawing = False, True
        for name in chosen:
            figure = results.plot(name, drawn.x, kind=drawn.kind, against=drawn.against, **page)
            paths.append(save_plot(figure, place(measure_file(name, drawn.kind)), stop))
        for name in series:
            figure = results.plot_series(name, run, **page)
            paths.append(save_plot(figure, place(_series_file(name)), stop))
        if trace is not None:
            cut = {"since": trace.since, "until": trace.until}
            figure = results.plot_segments(trace.flow, run, unit=trace.unit, **cut, **page)
            paths.append(save_plot(figure, place(_segments_file(trace.flow, run)), stop))
        if of_run == "timeline":
            paths.append(save_plot(results.plot_timeline(run, **page), place("timeline.png"), stop))
        elif at is not None:
            # The cases of one seed share their movement; the ways are those of the first.
            figure = network(results.scenario(results.cases[0]), at, run or 0, **page)
            paths.append(save_plot(figure, place("map.png"), stop))
    except signals.Stopped:
        return stop.exit_code
    finally:
        stop.drawing = False
    return tell(f"{', '.join(map(str, paths))}")
