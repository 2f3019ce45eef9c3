"""The commands of studies: `hopyard sweep` and `hopyard results`."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hopyard.cli.options import WIDTH
from hopyard.cli.output import FAILED, NOT_WRITTEN, of, say
from hopyard.cli.points import TOLD, Chosen, read_only, stored_points, tell, tell_absent
from hopyard.errors import StoreError
from hopyard.files import check_folder
from hopyard.terminal import signals
from hopyard.terminal.words import many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hopyard.study.file import Study
    from hopyard.study.sweep import Executor, Outcome, Until

#: What a study has, and a scenario has not, at the beginning of a line.
_OF_STUDIES = re.compile(r"^\s*(\[+\s*(axes|experiment|claim)\b|(scenario|axes)\s*=)", re.MULTILINE)
#: The exit code of a sweep that ended with intervals that are too wide.
WIDE = 4


def _share(_context: click.Context, _option: click.Parameter, given: str | None) -> float | None:
    """Reads a share such as `2%`."""
    if given is None:
        return None
    text = given.strip()
    try:
        share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise click.BadParameter(f"expected a share such as 2%, found {given!r}")
    return share


def named_measures(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> list[str]:
    """Reads `A,B`; whether there are such measures depends on the study."""
    return [name.strip() for text in given for name in text.split(",")]


def check_scenarios(files: Sequence[Path]) -> None:
    """Refuses a study among scenarios."""
    for path in files:
        if not (path.is_dir() and not (path / "study.toml").is_file()) and is_study(path):
            raise click.UsageError(f"{path} is a study: hopyard sweep {path} makes its runs")


def is_study(path: Path) -> bool:
    """Whether a file is a study; one that cannot be read is left to the reader of scenarios."""
    if path.is_dir():
        return (path / "study.toml").is_file()
    if not path.is_file() or path.suffix != ".toml":
        return False
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError):
        return False
    # Reading studies needs libraries that scenarios do not: `hopyard run` starts without them.
    if not _OF_STUDIES.search(text):
        return False
    import tomllib

    from hopyard.study.file import is_study as is_one

    try:
        tomllib.loads(text)
    except (ValueError, RecursionError):
        # Its reader says where it is no TOML.
        return True
    return is_one(text)


def checked(path: Path, settings: Mapping[Any, Any]) -> bool:
    """Says what is wrong with a study; gives whether nothing is."""
    from hopyard.study.checks import check, check_runs
    from hopyard.study.file import StudyError
    from hopyard.study.parsing import load
    from hopyard.study.points import points

    if settings:
        raise click.UsageError(f"{path} is a study, whose axes are in the file: --set is not used")
    try:
        study = load(path)
        found = points(study, tell=read_so_far)
        check(study, found)
        check_runs(study, found)
        check_runs(study, points(study, quick=True), " in its quick version")
    except StudyError as error:
        for problem in error.problems:
            say(f"error: {problem}")
        return False

    from hopyard.scenario.plan import warnings

    doubts = warnings((point.planned.file, part.core) for point in found for part in point.all)
    for text in doubts:
        say(text)
    verdict = f"no errors, {many(len(doubts), 'warning')}" if doubts else "nothing wrong"
    runs = sum(len(point.planned.runs) for point in found)
    tell(f"{path}: {verdict}, {many(len(found), 'point')}, {many(runs, 'run')}")
    return True


def read_so_far(count: int) -> None:
    """Says how many points have been read, where somebody waits at a terminal."""
    if sys.stderr.isatty():
        say(f"{many(count, 'point')} read")


_STUDY = click.argument("study", type=click.Path(path_type=Path, exists=True))
OUT = click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Folder of the store; results/NAME otherwise."
)
QUICK = click.option("--quick", is_flag=True, help="The study's quick version.")
_SEED = click.option(
    "--seed", type=click.IntRange(min=0, max=2**63 - 1), help="Seed of all runs; that of the study otherwise."
)
ONLY = click.option(
    "--only",
    multiple=True,
    metavar="AXIS=VALUE,...",
    callback=read_only,
    help="Only the points with this value of the axis, or with one of several: tcp=newreno,bbr3.",
)
_MEASURE = click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="M1,M2",
    callback=named_measures,
    help="Measures, of Hopyard or of the study; those that the study names otherwise.",
)


@click.command(
    epilog="Exit codes: 0 every run is there; 1 a run failed; 2 what was given is wrong, nothing "
    "was run; 3 results could not be written; 4 an interval is wider than --until; 130, 143, 129, "
    "152 a signal ended the sweep. What was finished is kept in every case."
)
@_STUDY
@click.option("--runs", type=click.IntRange(min=1), help="Runs of each point.")
@_SEED
@click.option("--jobs", type=click.IntRange(min=1), help="Runs at a time; all cores otherwise.")
@OUT
@QUICK
@ONLY
@click.option(
    "--run",
    "numbers",
    type=click.IntRange(min=0, max=2**32 - 1),
    multiple=True,
    help="Make these runs alone, by number, also if they failed before.",
)
@click.option(
    "--until",
    metavar="SHARE",
    callback=_share,
    help="Add runs to each point until half of its anytime-valid 95 % interval is at most this "
    "share of the mean, such as 2%.",
)
@click.option("--until-measure", metavar="MEASURE", help="The measure of --until; the study's first.")
@click.option("--most", type=click.IntRange(min=1), help="The most runs of a point with --until.  [default: 1000]")
@click.option("--retry-failed", is_flag=True, help="Make runs again that failed before.")
@click.option("--status", is_flag=True, help="Say how far each point is, and run nothing.")
@click.option("--dry-run", is_flag=True, help="List the points, and run nothing.")
@click.option("--force", is_flag=True, help="Replace the results of another study or version.")
@click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Send the runs to the Dask cluster whose scheduler has this address, such as "
    "tcp://host:8786; `local` starts one on this machine.",
)
@click.option(
    "--watch",
    metavar="FILE.html",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a page with progress, rate, failures and time left, which a browser loads again by itself.",
)
@click.option("--quiet", "-q", is_flag=True, help="Show neither progress nor a summary.")
@click.pass_context
def sweep(context: click.Context, /, study: Path, **given: Any) -> None:
    """Make the runs of a STUDY that its store lacks.

    A run is known by its scenario, its seed and its number: changing an axis runs only the new
    points, and more --runs only the new runs. Each run is in the store as soon as it has ended; a
    sweep that was stopped or killed goes on where it was.
    """
    from hopyard.study.parsing import load

    found = signals.patiently(lambda: load(study))
    given["only"] = given["only"].of(found)
    if given["status"] or given["dry_run"]:
        context.exit(_status(found, given))
    with signals.handled(leave=True) as stop:
        try:
            outcome = _sweep(found, given)
        except StoreError as error:
            say(f"error: {of(error)}")
            say("The runs that were added before are kept.")
            context.exit(NOT_WRITTEN)
        if not given["quiet"]:
            _tell(found, outcome, given)
        if stop.number is not None:
            context.exit(stop.exit_code)
    context.exit(FAILED if outcome.failed else WIDE if outcome.wide else 0)


def _sweep(study: Study, given: dict[str, Any]) -> Outcome:
    from hopyard.study import sweep as sweeps
    from hopyard.study.values import chosen_measures
    from hopyard.study.watching import Page

    until: Until | None = None
    if given["until"] is not None:
        named = [given["until_measure"]] if given["until_measure"] else []
        measure = chosen_measures(study, named)[0]
        until = sweeps.Until(given["until"], measure, given["most"] or sweeps.MOST)
    elif left := [name for name in ("until_measure", "most") if given[name]]:
        raise click.UsageError(f"--{left[0].replace('_', '-')} needs --until")
    if given["watch"] is not None and given["watch"].suffix not in (".html", ".htm"):
        raise click.UsageError(f"--watch {given['watch']}: expected a name that ends in .html")
    if given["watch"] is not None:
        check_folder(given["watch"])
    executor = _executor(given)
    try:
        page = None
        if given["watch"] is not None:
            page = Page(given["watch"], study.document.title, executor.dashboard)
            tell(f"{given['watch']} shows the progress")
        return sweeps.sweep(
            study,
            out=given["out"],
            runs=given["runs"],
            seed=given["seed"],
            quick=given["quick"],
            until=until,
            only=given["only"],
            numbers=given["numbers"],
            retry=given["retry_failed"],
            force=given["force"],
            executor=executor,
            progress=False if given["quiet"] else None,
            tell=None if given["quiet"] else read_so_far,
            page=page,
        )
    finally:
        executor.close()


def _executor(given: dict[str, Any]) -> Executor:
    from hopyard.study.sweep import Threads

    if given["cluster"] is None:
        return Threads(given["jobs"])
    from hopyard.study.cluster import Cluster

    return Cluster(given["cluster"], given["jobs"])


def _tell(study: Study, outcome: Outcome, given: dict[str, Any]) -> None:
    import shlex

    from hopyard.study.sweep import again, default
    from hopyard.terminal.progress import clock

    where = given["out"] or default(study, quick=given["quick"])
    bad = f", {outcome.bad} of them failed" if outcome.bad else ""
    tell(
        f"{many(len(outcome.points), 'point')}, {many(outcome.wanted, 'run')}: {outcome.before} "
        f"{'was' if outcome.before == 1 else 'were'} there, {outcome.made} made now{bad} in "
        f"{clock(outcome.elapsed_s)} ({outcome.cpu_s:,.1f} s of processor time). In {where}."
    )
    more = "" if given["out"] is None else f" --out {shlex.quote(str(given['out']))}"
    more += " --quick" if given["quick"] else ""
    more += "" if given["seed"] is None else f" --seed {given['seed']}"
    more += "" if given["runs"] is None else f" --runs {given['runs']}"
    for point, run, error in outcome.failed[:TOLD]:
        say(f"failed: {point}, run {run}: {error}\n  again: {again(study, point, run, more)}")
    if len(outcome.failed) > TOLD:
        say(f"and {many(len(outcome.failed) - TOLD, 'further run')} failed; --status lists all")
    for point, count in outcome.given_up[:TOLD]:
        say(f"no more runs of {point}: all of its {count} runs have failed")
    if len(outcome.given_up) > TOLD:
        say(f"and of {many(len(outcome.given_up) - TOLD, 'further point')}")
    for point, width in outcome.wide[:TOLD]:
        wide = "no interval as a share of the mean" if math.isinf(width) else f"± {100 * width:.3g} %"
        after = many(len(point.planned.runs), "run")
        say(f"wider than --until after {after}: {point}: {wide}")
    if len(outcome.wide) > TOLD:
        say(f"and {many(len(outcome.wide) - TOLD, 'further point')}")


def _status(study: Study, given: dict[str, Any]) -> int:
    from hopyard.study.points import points
    from hopyard.study.sweep import default, opened, status

    found = points(study, quick=given["quick"], runs=given["runs"], seed=given["seed"], only=given["only"])
    where = given["out"] or default(study, quick=given["quick"])
    if given["dry_run"] or not where.exists():
        for point in found:
            tell(f"{point}: {many(len(point.planned.runs), 'run')}")
        total = sum(len(p.planned.runs) for p in found)
        tell(f"{many(len(found), 'point')}, {many(total, 'run')}")
        return 0
    failed = False
    done = wanted = 0
    with opened(where) as store:
        for state in status(found, store):
            done, wanted = done + state.done, wanted + state.wanted
            text = f", {len(state.failed)} failed" if state.failed else ""
            tell(f"{state.point}: {state.done} of {many(state.wanted, 'run')}{text}")
            for run, error in state.failed:
                failed = True
                say(f"  run {run} failed: {error}")
    said = f"{done} of {many(wanted, 'run')} {'is' if wanted == 1 else 'are'} there"
    tell(f"{many(len(found), 'point')}, {said}")
    return FAILED if failed else 0


@click.command()
@_STUDY
@OUT
@QUICK
@_SEED
@ONLY
@_MEASURE
@click.option(
    "--against",
    multiple=True,
    metavar="AXIS=VALUE",
    callback=read_only,
    help="Show how much more each point has than the one with this value of the axis, and the same other values; "
    "otherwise than the first one.",
)
@click.option("--each", is_flag=True, help="A row for each run instead of one for each point.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the table into this file: .csv or .parquet.",
)
def results(
    study: Path,
    out: Path | None,
    quick: bool,
    seed: int | None,
    only: Chosen,
    measures: Sequence[str],
    against: Chosen,
    each: bool,
    output: Path | None,
) -> None:
    """Show what the store of a STUDY holds: each point's means with their 95 % intervals.

    Points whose runs meet the same movement are compared run by run: a second table has the differences. The store
    can be read while a sweep is writing.
    """
    from hopyard.cli.study_tables import one_case, show
    from hopyard.study import tables
    from hopyard.study.parsing import load
    from hopyard.study.points import points
    from hopyard.study.sweep import default, opened
    from hopyard.study.values import Values, chosen_measures

    if output is not None and output.suffix not in (".csv", ".parquet"):
        raise click.UsageError(f"{output}: expected a name that ends in .csv or .parquet")
    if against and (each or output is not None):
        raise click.UsageError(f"--against and {'--each' if each else '--output'} exclude each other")
    found = load(study)
    base = one_case(against.of(found)) if against else None
    chosen = chosen_measures(found, measures)
    wanted = only.of(found)
    mine = points(found, quick=quick, seed=seed, only=wanted)
    with opened(out or default(found, quick=quick)) as store, store.snapshot():
        stored = stored_points(found, mine, store)
        values = Values(found, store, stored)
        tell_absent(values, stored, chosen)
        table = tables.each_run(stored, values, chosen) if each else tables.whole(found, stored, values, chosen)
        if output is None and not each:
            show(found, stored, values, chosen, base)
            return
    if output is None:
        from pyarrow import csv

        csv.write_csv(table, sys.stdout.buffer)
        return
    from hopyard.tables.tables import write_table

    write_table(table, output)
    tell(f"{output}: {many(len(table), 'row')}")


@click.command()
@_STUDY
@OUT
@QUICK
@_SEED
@ONLY
@click.option(
    "--to",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the report; the folder of the store otherwise, in `report`.",
)
@WIDTH
@click.pass_context
def report(
    context: click.Context,
    study: Path,
    out: Path | None,
    quick: bool,
    seed: int | None,
    only: Chosen,
    to: Path | None,
    width: float | None,
) -> None:
    """Write a STUDY's report: one HTML page, its figures as PNG and PDF, its tables as CSV."""
    import shlex

    from hopyard.study.figures import Source
    from hopyard.study.file import chosen
    from hopyard.study.parsing import load
    from hopyard.study.points import points
    from hopyard.study.published import read
    from hopyard.study.report import ReportError, counted, make
    from hopyard.study.sweep import default, opened
    from hopyard.study.values import Values

    found = load(study)
    where = out or default(found, quick=quick)
    wanted = only.of(found)
    mine = points(found, quick=quick, seed=seed, only=wanted)
    published = read(found)
    with opened(where) as store, store.snapshot():
        stored = stored_points(found, mine, store)
        values = Values(found, store, stored)
        shown = [name for table in found.document.table for name in table.measures]
        shown += [name for each in found.document.figure for name in (each.measure, each.beside) if name]
        tell_absent(values, stored, dict.fromkeys(shown))
        source = Source(found, stored, values, store, published)
        words = shlex.quote(str(study)) + (" --quick" if quick else "")
        words += "" if out is None else f" --out {shlex.quote(str(out))}"
        words += "" if seed is None else f" --seed {seed}"
        for name, labels in chosen(wanted).items():
            words += "".join(f" --only {shlex.quote(f'{name}={each}')}" for each in labels)
        command = f"hopyard sweep {words}\nhopyard report {words}"
        try:
            made = make(source, to or where / "report", command=command, quick=quick, width=width)
        except ReportError as error:
            raise click.UsageError(str(error)) from None
        except OSError as error:
            say(f"error: {of(error)}")
            context.exit(NOT_WRITTEN)
    for name, count in counted(made.verdicts).items():
        tell(f"{many(count, 'claim')}: {name}")
    figures = f"{many(len(made.figures), 'file')} of figures"
    tell(f"{made.page}: {many(len(made.tables), 'table')}, {figures}")


_SIGNS = {"good": "ok   ", "look": "doubt", "poor": "POOR "}


@click.command()
@_STUDY
@OUT
@QUICK
@_SEED
@_MEASURE
@click.pass_context
def audit(
    context: click.Context, study: Path, out: Path | None, quick: bool, seed: int | None, measures: Sequence[str]
) -> None:
    """Grade a STUDY on the points for which papers have been criticised, and write its method.

    The exit code is 1 where a point is poor.
    """
    from hopyard.study.audit import audit as look
    from hopyard.study.parsing import load
    from hopyard.study.points import points
    from hopyard.study.sweep import default, opened
    from hopyard.study.values import Values, chosen_measures

    found = load(study)
    chosen = chosen_measures(found, measures)
    mine = points(found, quick=quick, seed=seed)
    with opened(out or default(found, quick=quick)) as store, store.snapshot():
        wanted = {point.planned.key: len(point.planned.runs) for point in mine}
        stored = stored_points(found, mine, store)
        made = look(found, stored, store, Values(found, store, stored), chosen, wanted)
    wide = max(len(each.topic) for each in made.findings)
    for each in made.findings:
        tell(f"{_SIGNS[each.grade]}  {each.topic:<{wide}}  {each.text}")
    tell(f"\n{made.method}")
    context.exit(FAILED if any(each.grade == "poor" for each in made.findings) else 0)


@click.command()
@click.argument("first", type=click.Path(path_type=Path, exists=True))
@click.argument("second", required=False, type=click.Path(path_type=Path, exists=True))
@_MEASURE
@click.option(
    "--run",
    type=click.IntRange(min=0, max=2**32 - 1),
    help="Compare this run of two scenarios, and say where they part; 0 otherwise.",
)
@click.option(
    "--with",
    "python",
    metavar="PYTHON",
    help="Run the second scenario, FIRST if there is no other, under the version of Hopyard that this interpreter has.",
)
@click.pass_context
def diff(
    context: click.Context,
    first: Path,
    second: Path | None,
    measures: Sequence[str],
    run: int | None,
    python: str | None,
) -> None:
    """Compare two folders of results, or a run of two scenarios, or of two versions.

    Of folders it says which measures of which cases have moved, by how much, and whether beyond
    chance; of scenarios, at which event the two runs part, and what differs after it. The exit code
    is 1 where something differs.
    """
    if second is None and python is None:
        raise click.UsageError("expected a second folder or scenario file, or --with PYTHON")
    second = second or first
    if first.is_dir() != second.is_dir():
        raise click.UsageError("expected two folders of results, or two scenario files")
    if first.is_dir():
        if run is not None or python is not None:
            wrong = "--run" if python is None else "--with"
            raise click.UsageError(f"{wrong} is for scenario files")
        context.exit(_diff_folders(first, second, measures))
    if measures:
        raise click.UsageError("--measure is for two folders of results")
    context.exit(_diff_runs(first, second, run or 0, python))


def _diff_folders(first: Path, second: Path, measures: Sequence[str]) -> int:
    from hopyard.results.results import Results
    from hopyard.running.diff import compare
    from hopyard.tables.measures import SHOWN, check, named
    from hopyard.terminal import tables as terminal
    from hopyard.terminal.tables import Names, Numbers, console

    ours, theirs = Results.load(first), Results.load(second)
    found = compare(ours, theirs, check(measures) if measures else SHOWN)
    out = console()
    for kind, cases in (("first", found.only_first), ("second", found.only_second)):
        for case in cases:
            tell(f"only in the {kind} folder: {case}")
    same = "case has" if len(found.equal) == 1 else "cases have"
    tell(f"{len(found.equal)} {same} the same values in both folders")
    moved = [each for each in found.moved if each.difference.mean]
    if moved:
        names = [
            Names("case", [str(each.case) for each in moved]),
            Names("measure", [named(each.measure).label for each in moved]),
            Names("beyond chance", ["yes" if each.beyond_chance else "no" for each in moved]),
            Names("p", [f"{each.p:.2g}" for each in moved]),
        ]
        numbers = [
            Numbers("first", "", [(f"{each.first:.5g}", "") for each in moved]),
            Numbers("second", "", [(f"{each.second:.5g}", "") for each in moved]),
            Numbers("difference", "by pairs", [each.difference.parts() for each in moved]),
        ]
        terminal.show(out, names, numbers)
    return FAILED if moved or found.only_first or found.only_second else 0


def _diff_runs(first: Path, second: Path, run: int, python: str | None) -> int:
    from hopyard.running.diff import part
    from hopyard.running.versions import Here, OtherVersionError, There, this_version
    from hopyard.scenario.scenario import Scenario

    try:
        if python is None:
            parting = part(Here(Scenario.load(first)), Here(Scenario.load(second)), run)
        else:
            other = There(second, python)
            tell(f"first: {this_version()}; second: {other.version()}")
            parting = part(Here(Scenario.load(first)), other, run)
    except OtherVersionError as error:
        raise click.UsageError(str(error)) from None
    if parting.at_ns is None:
        tell(f"run {run} is the same in both")
        return 0
    tell(f"run {run} parts at {parting.at_ns / 1e9:.9f} s")
    for table, row, column, ours, theirs in parting.what:
        tell(f"  {table} {row}: {column} is {ours} in the first, and {theirs} in the second")
    if not parting.what:
        tell("  no column of flows, nodes and queues differs there yet")
    return FAILED
