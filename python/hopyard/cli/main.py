"""The command `hopyard`.

Exit codes:

* 0: all is well.
* 1: a run failed: a congestion control written by the user raised an error, or an invariant did
  not hold, which is a defect of Hopyard. The other runs are finished.
* 2: an argument or a scenario is wrong, or the folder cannot take the results. Nothing was run.
* 3: results could not be written or shown. The folder holds what the message names as kept.
* 129, 130, 143, 152: a signal ended the command (SIGHUP, Ctrl-C, SIGTERM, SIGXCPU).
* 134, 137: the system had no more memory for the runs, and ended the process.
* 141: the program that read the output ended before it had read everything, as with `| head`.

The folder of the results keeps the runs that were finished before a failure or a signal.

A command imports its modules when it runs, so that the command line itself starts at once.
"""

from __future__ import annotations

import errno
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from hopyard import _core
from hopyard.cli import completion
from hopyard.cli import kernels as cli_kernels
from hopyard.cli import live as cli_live
from hopyard.cli import plot as cli_plot
from hopyard.cli import replay as cli_replay
from hopyard.cli import run as actions
from hopyard.cli import studies as cli_study
from hopyard.cli.options import AGAINST, FLOWS, SET, WITH, Commands, Comparing, Named, Once
from hopyard.cli.output import BAD_INPUT, BROKEN_PIPE, FAILED, NOT_WRITTEN, mute, of, say
from hopyard.errors import ScenarioError, SimulationError, lacks_room
from hopyard.files import WriteError, write_text
from hopyard.terminal import signals
from hopyard.terminal.words import install

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from hopyard.running.capture import Capture
    from hopyard.scenario.scenario import Columns, Scenario


class Group(Commands):
    """A group of commands: prints an error as one message, and ends with its exit code."""

    #: What the commands are, unless they say otherwise.
    command_class = Once

    def main(self, *args: Any, **options: Any) -> Any:
        """Runs the command line."""
        try:
            return super().main(*args, **options)
        except OSError as error:
            # The help could not be printed.
            mute()
            say(f"error: standard output: {of(error)}")
            sys.exit(NOT_WRITTEN)

    def invoke(self, ctx: click.Context) -> object:
        """Runs a command."""
        for stream in (sys.stdout, sys.stderr):
            # A terminal that cannot show ± shows another character.
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="replace")
        with signals.handled(leave=True):
            try:
                done = super().invoke(ctx)
                sys.stdout.flush()
                return done
            except BrokenPipeError:
                mute()
                ctx.exit(BROKEN_PIPE)
            except SystemExit as ended:
                # rich ends the process where the reader has gone.
                if not isinstance(ended.__context__, BrokenPipeError):
                    raise
                mute()
                ctx.exit(BROKEN_PIPE)
            except ScenarioError as error:
                say(error.coloured if sys.stderr.isatty() else str(error))
                ctx.exit(BAD_INPUT)
            except SimulationError as error:
                say(f"error: {error}")
                ctx.exit(FAILED)
            except ValueError as error:
                say(f"error: {error}")
                ctx.exit(BAD_INPUT)
            except ModuleNotFoundError as error:
                say(f"error: {error}; {install('lab')} has it")
                ctx.exit(BAD_INPUT)
            except (MemoryError, ImportError, RuntimeError, SystemError) as error:
                if isinstance(error, RuntimeError) and "new thread" not in str(error):
                    raise
                # Memory is short: a library cannot be loaded, or fails without a reason
                # (SystemError), or a thread cannot be started.
                reason = f" ({error})" if str(error) else ""
                say(f"error: there is not enough memory, or a library is broken{reason}")
                ctx.exit(NOT_WRITTEN)
            except OSError as error:
                if error.errno == errno.EBADF and not error.filename:
                    error.filename = "standard output"
                    mute()
                say(f"error: {of(error)}")
                ctx.exit(NOT_WRITTEN if _of_writing(error) else BAD_INPUT)


def _of_writing(error: OSError) -> bool:
    return isinstance(error, WriteError) or lacks_room(error) or error.filename == "standard output"


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    _core.__version__, prog_name="hopyard", message=f"%(prog)s, version %(version)s, build {_core.BUILD}"
)
def main() -> None:
    """A laboratory for TCP over mobile ad hoc networks."""


_FILES = click.argument("files", nargs=-1, required=True, metavar="FILE...", type=Named(allow_dash=True))


def _series(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> Sequence[str]:
    """Reads the names of quantities: `A,B`."""
    if not given:
        return []
    from hopyard.tables.measures import check_series

    return _checked(check_series, ",".join(given) or " ")


def _segments(_context: click.Context, _option: click.Parameter, given: str | None) -> bool | str | None:
    """Reads the flows whose segments are recorded."""
    if given is None or given == "all":
        return None if given is None else True
    if FLOWS.fullmatch(given) is None:
        raise click.BadParameter(f"expected numbers of flows such as 0,2..4, found {given!r}")
    return given


def _instant(_context: click.Context, _option: click.Parameter, given: str | None) -> float | None:
    """Reads a time such as 10s, in seconds."""
    if given is None:
        return None
    try:
        return _core.parse_time(given) / 1e9
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _measures(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> Sequence[str]:
    """Reads the names of measures: `A,B`."""
    if not given:
        return []
    from hopyard.tables.measures import check

    return _checked(check, ",".join(given))


def _checked(check: Callable[[str], Sequence[str]], given: str) -> Sequence[str]:
    try:
        return check(given)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


_MEASURE = click.option(
    "--measure",
    "measures",
    metavar="M1,M2",
    multiple=True,
    callback=_measures,
    shell_complete=completion.measures,
    help="Measures of the table, of summary.csv and of the plots: goodput, delay, ...",
)


def _capture(path: Path | None, nodes: str | None, kinds: str | None, *, force: bool) -> Capture | None:
    if path is None:
        if nodes is not None or kinds is not None:
            raise click.UsageError("--capture-nodes and --capture-kinds need --capture FILE")
        return None
    from hopyard.running.capture import Capture

    return Capture.of(path, nodes, kinds, force=force)


@main.command(
    cls=Comparing,
    epilog="Exit codes: 0 all is well; 1 a run failed; 2 what was given is wrong, nothing was run; "
    "3 results could not be written or shown; 130, 143, 129, 152 Ctrl-C, SIGTERM, SIGHUP or a "
    "limit on processor time ended the runs; 141 the reader of the output has gone.",
)
@click.argument("files", nargs=-1, metavar="[FILE...]", type=Named(allow_dash=True))
@SET
@WITH
@click.option("--runs", type=click.IntRange(min=1), help="Runs of each case; the scenario says otherwise.")
@click.option(
    "--run",
    "only",
    type=click.IntRange(min=0, max=2**32 - 1),
    multiple=True,
    help="Make this run alone, by its number from 0 on; several may be given.",
)
@click.option(
    "--seed", type=click.IntRange(min=0, max=2**63 - 1), help="Seed of all runs: the same seed gives the same results."
)
@click.option("--jobs", type=click.IntRange(min=1), help="Runs at a time; all cores otherwise.")
@click.option(
    "--out", type=Named(), help="Folder to which each run is added as it ends. Runs that are there are not made again."
)
@click.option("--force", is_flag=True, help="Replace what the folder holds, once the new is whole, and captures.")
@click.option("--format", type=click.Choice(["parquet", "csv"]), default="parquet", show_default=True)
@click.option(
    "--series",
    "sampled",
    metavar="Q1,Q2",
    multiple=True,
    callback=_series,
    shell_complete=completion.series,
    help="Sample these quantities over time, such as cwnd,srtt",
)
@click.option(
    "--segments",
    metavar="[N1,N2]",
    callback=_segments,
    help="Record the TCP segments of all flows, or of those with these numbers, such as 0,2..4.",
)
@_MEASURE
@AGAINST
@click.option(
    "--plot", is_flag=True, help="Draw the measures, each series, and the segments of a flow, into the folder."
)
@click.option(
    "--capture",
    metavar="FILE",
    type=Named(),
    help="Write what nodes send, receive and drop into this pcapng file; several runs have one each.",
)
@click.option("--capture-nodes", metavar="N1,N2", help="Capture these nodes, such as 0,3..5; all otherwise.")
@click.option(
    "--capture-kinds",
    metavar="K1,K2",
    shell_complete=completion.capture_kinds,
    help="Capture these there: radio, damaged, wire, host, drops.  [default: radio,wire,drops]",
)
@click.option("--quiet", "-q", is_flag=True, help="Show no progress and no table.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_context
def run(
    context: click.Context,
    files: Sequence[Path],
    settings: dict[tuple[str, ...], Columns],
    runs: int | None,
    only: Sequence[int],
    seed: int | None,
    jobs: int | None,
    out: Path | None,
    force: bool,
    format: str,
    sampled: Sequence[str],
    segments: bool | str | None,
    measures: Sequence[str],
    against: dict[str, str] | None,
    plot: bool,
    capture: Path | None,
    capture_nodes: str | None,
    capture_kinds: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run scenarios, and show each measure's mean with its 95 % interval.

    Several values of a --set make a comparison; several FILEs are compared too; - reads a scenario
    from the standard input. A FILE may be the folder of former results: their scenarios are run,
    and only the runs that are missing there are made. Cases that meet the same movement are shown
    with their difference from the first one, run by run.

    Nothing is written without --out, --plot, --series or --segments; their folder is results/NAME
    when --out does not name one. Each run is in the folder as soon as it has ended, and the tables
    follow at the end. Ctrl-C ends the runs and keeps those that are finished; a second one ends at
    once.
    """
    if runs and only:
        raise click.UsageError("--runs and --run exclude each other")
    cli_study.check_scenarios(files)
    if not files and out is None:
        raise click.UsageError("expected a scenario FILE, or a folder of results with --out")
    request = actions.Request(
        files=files,
        settings=settings,
        runs=list(only) or runs,
        seed=seed,
        jobs=jobs,
        out=out,
        force=force,
        format=format,
        series=sampled,
        segments=segments,
        measures=measures,
        against=against,
        plot=plot,
        quiet=quiet or as_json,
        json=as_json,
        capture=_capture(capture, capture_nodes, capture_kinds, force=force),
    )
    with signals.handled(leave=True) as stop:
        code = actions.run(request, stop)
    context.exit(code)


_FOLDER = Named(exists=True, file_okay=False)


@main.command()
@click.argument("folders", nargs=-1, required=True, metavar="FOLDER...", type=_FOLDER)
@_MEASURE
@AGAINST
@click.option("--flows", is_flag=True, help="Show each flow.")
@click.option(
    "--format",
    type=click.Choice(["text", "csv", "json", "latex"]),
    default="text",
    show_default=True,
    help="How the table is written; latex: with the package booktabs.",
)
@click.pass_context
def show(
    context: click.Context,
    folders: Sequence[Path],
    measures: Sequence[str],
    against: dict[str, str] | None,
    flows: bool,
    format: str,
) -> None:
    """Show the results that a folder holds, also while runs go on.

    Several FOLDERs are shown as one: runs of one scenario that were made on several machines.
    """
    if flows and (format != "text" or against is not None):
        raise click.UsageError(f"--flows and {'--against' if against else '--format'} exclude each other")
    context.exit(actions.show(folders, measures, "flows" if flows else format, against))


@main.command()
@click.argument("target", type=Named(exists=True))
@click.option(
    "--measure",
    "measures",
    metavar="M1,M2",
    multiple=True,
    callback=cli_study.named_measures,
    shell_complete=completion.measures,
    help="Measures; those of a study too.  [default: goodput]",
)
@click.option(
    "--series",
    "sampled",
    metavar="Q1,Q2",
    multiple=True,
    callback=_series,
    shell_complete=completion.series,
    help="Draw these series.",
)
@cli_plot.of_plots
@click.option("--at", metavar="TIME", help="Of a scenario: a map of the network at this time, as 30s.")
@click.option(
    "--segments",
    is_flag=True,
    help="Draw the segments of a flow: sequence numbers, acknowledgements and windows over time.",
)
@click.option(
    "--run",
    "number",
    type=click.IntRange(min=0, max=2**32 - 1),
    help="The run whose series or segments are drawn; the first one otherwise.",
)
@click.option(
    "--flow",
    type=click.IntRange(min=0, max=2**32 - 1),
    help="The flow whose segments are drawn; the first one otherwise.",
)
@click.option("--from", "since", metavar="TIME", callback=_instant, help="Draw segments from here, as 10s.")
@click.option("--to", "until", metavar="TIME", callback=_instant, help="Draw segments up to here, as 12s.")
@click.option("--unit", type=click.Choice(["kB", "segments"]), help="The unit of sequence numbers.  [default: kB]")
@click.option("--x", metavar="KEY", help="The compared key that is drawn along the x axis.")
@click.option(
    "-o",
    "--output",
    type=Named(dir_okay=False),
    help="The file: its ending says whether it is PNG, SVG or PDF. FOLDER/NAME.png otherwise, or FOLDER/NAME-KIND.png.",
)
@click.pass_context
def plot(
    context: click.Context,
    /,
    target: Path,
    measures: Sequence[str],
    sampled: Sequence[str],
    at: str | None,
    segments: bool,
    number: int | None,
    flow: int | None,
    since: float | None,
    until: float | None,
    unit: str | None,
    output: Path | None,
    **of_axes: Any,
) -> None:
    """Draw what TARGET holds: a folder of results, a study, or a scenario.

    Of a folder: measures, series or segments, a map or a time line of a run. Of a study: measures
    of its runs. Of a scenario: a map of its network at a time.
    """
    drawn = cli_plot.Drawn(**of_axes)
    of_folder = {"--series": bool(sampled), "--segments": segments}
    if cli_study.is_study(target):
        refused = {**of_folder, "--at": at is not None, "--run": number is not None}
        cli_plot.plot(target, measures, drawn, output, refused)
        return
    drawn.check(target)
    if target.is_file():
        refused = {**of_folder, "--measure": bool(measures), "--x": bool(drawn.x), "--against": bool(drawn.against)}
        refused[f"--kind {drawn.kind}"] = drawn.kind not in (None, "map")
        cli_plot.refuse(refused, f"{target} is a scenario")
        context.exit(actions.plot_network(target, at, number or 0, output, drawn.width))
    if at is not None and drawn.kind != "map":
        raise click.UsageError("--at is the time of a map: expected --kind map with it")
    try:
        measures = _measures(context, context.command.params[0], measures)
    except click.BadParameter as error:
        error.param_hint = "--measure"
        raise
    of_segments = {"--flow": flow, "--from": since, "--to": until, "--unit": unit}
    if not segments and (given := [name for name, it in of_segments.items() if it is not None]):
        raise click.UsageError(f"{given[0]} needs --segments")
    of_run = drawn.kind in cli_plot.OF_RUN
    if number is not None and not (segments or sampled or of_run):
        raise click.UsageError("--run needs --series, --segments, or --kind map or timeline")
    if of_run:
        refused = {"--measure": bool(measures), "--x": bool(drawn.x), "--against": bool(drawn.against), **of_folder}
        cli_plot.refuse(refused, f"--kind {drawn.kind} is of a run")
    trace = actions.Trace(flow, since, until, unit or "kB") if segments else None
    with signals.handled(leave=True) as stop:
        code = actions.plot(target, measures, sampled, drawn, output, stop, run=number, trace=trace, at=at)
    context.exit(code)


def _cases(path: Path, settings: Mapping[tuple[str, ...], Columns]) -> list[Scenario]:
    from hopyard.scenario.scenario import Scenario

    # A file is read together with the settings, which may correct errors in it.
    if str(path) == "-":
        return actions.read(path).cases(settings)
    return Scenario.load_cases(path, settings)


@main.command(cls=Comparing)
@_FILES
@SET
@WITH
@click.pass_context
def check(context: click.Context, files: Sequence[Path], settings: Mapping[tuple[str, ...], Columns]) -> None:
    """Read scenarios, and report everything that is wrong with them, in all files."""
    from hopyard.scenario.plan import no_case_twice, warnings

    wrong = False
    for path in files:
        if cli_study.is_study(path):
            wrong |= not cli_study.checked(path, settings)
            continue
        try:
            cases = signals.patiently(partial(_cases, path, settings))
            no_case_twice((case.core.name, dict(case.core.settings), case.core) for case in cases)
        except ScenarioError as error:
            say(error.coloured if sys.stderr.isatty() else str(error))
            wrong = True
            continue
        except ValueError as error:
            # The file is no text, or compares the same twice.
            place = "" if str(path) in str(error) else f"{path}: "
            say(f"error: {place}{error}")
            wrong = True
            continue
        notes, errors = _of_linux(path, [case.core for case in cases])
        doubts = list(warnings((None, case.core) for case in cases))
        for warning in doubts:
            click.echo(warning, err=True)
        plural = "s" if len(doubts) > 1 else ""
        verdict = f"no errors, {len(doubts)} warning{plural}" if doubts else "nothing wrong"
        many = f", {len(cases)} cases" if len(cases) > 1 else ""
        for text in errors:
            say(text)
        if not errors:
            click.echo(f"{path}: {verdict}{many}")
        for note in notes:
            click.echo(f"{path}: {note}")
        wrong |= bool(errors)
    context.exit(BAD_INPUT if wrong else 0)


def _can_be_of_linux(core: _core.Scenario) -> bool:
    """Whether a scenario can have the TCP of Linux in all of its flows: it has none for some traffic."""
    try:
        core.with_settings([("flow.stack", "linux")])
    except ScenarioError:
        return False
    return True


def _of_linux(path: Path, cores: Sequence[_core.Scenario]) -> tuple[list[str], list[str]]:
    """What kernels and programs need, or which variants Linux has too; what forbids the runs."""
    if all(core.linux is None for core in cores):
        twins = [core.twins() for core in cores]
        if twins and all(twins) and all(map(_can_be_of_linux, cores)):
            names = ", ".join(sorted({name for each in twins for name in each}))
            return [
                f"Linux kernels have {names} too: --set flow.stack=linux uses their TCP in place of Hopyard's own"
            ], []
        return [], []
    from hopyard.kernels.check import machine
    from hopyard.kernels.use import descriptors_of, impossible, lacking, memory_of, try_sysctls

    text, fits = memory_of(cores)
    notes = [text] if fits and text else []
    errors = [] if fits else [f"error: {path}: {text}"]
    if few := descriptors_of(cores):
        errors.append(f"error: {path}: {few}")
    try:
        never = next((reason for core in cores if (reason := impossible(core))), "")
    except ValueError:
        # A package is missing: the next question says so.
        never = ""
    if never:
        errors.append(f"error: {path}: {never}")
    if (lack := lacking(cores)) and not never:
        notes.append(lack)
    try:
        for core in cores:
            core.check_programs()
        if any(core.sysctls() for core in cores) and not lack and all(it.good for it in machine()):
            try_sysctls(cores)
    except ScenarioError as error:
        errors.append(error.coloured if sys.stderr.isatty() else str(error))
    return notes, errors


@main.command()
@click.argument("kind", required=False, shell_complete=completion.kinds)
@click.option("-o", "--output", type=Named(dir_okay=False), help="The file.")
@click.option("--force", is_flag=True, help="Overwrite the file if it is there.")
def new(kind: str | None, output: Path | None, force: bool) -> None:
    """Write a commented scenario to start from.

    Without a KIND, the kinds are listed.
    """
    if kind is None:
        for each in _core.KINDS:
            title = _core.new_scenario(each).partition("\n")[0].removeprefix("# ")
            click.echo(f"{each:<{max(map(len, _core.KINDS))}}  {title}")
        return
    text = _core.new_scenario(kind)
    if output is None:
        click.echo(text, nl=False)
    elif output.exists() and not force:
        raise click.UsageError(f"{output} is there already; --force overwrites it")
    else:
        if not output.parent.is_dir():
            raise click.UsageError(f"{output}: there is no folder {output.parent}")
        try:
            write_text(output, text)
        except OSError as error:
            say(f"error: {of(error)}")
            click.get_current_context().exit(NOT_WRITTEN)
        click.echo(f"{output} is written; hopyard run {output}")


@main.command()
@click.argument("name", required=False, metavar="[ROOM|NAME]", shell_complete=completion.models)
@click.option(
    "--profile", metavar="PROFILE", shell_complete=completion.profiles, help="Show this profile of the model alone."
)
def models(name: str | None, profile: str | None) -> None:
    """List models, or a model's parameters with their defaults."""
    from hopyard.cli import listing

    listing.show_models(name, profile)


@main.command(name="completion")
@click.argument("shell", type=click.Choice(sorted(completion.SHELLS)))
def show_completion(shell: str) -> None:
    """Print the line that makes a shell complete commands, models, keys, measures and series."""
    click.echo(completion.SHELLS[shell])


@main.command()
def measures() -> None:
    """List measures, series and result columns with their units and meanings."""
    from hopyard.cli import listing

    listing.show_measures()


@main.command()
def schema() -> None:
    """Print the JSON schema of scenario files, for editors."""
    click.echo(_core.json_schema())


main.add_command(cli_live.live)
main.add_command(cli_replay.replay)
main.add_command(cli_study.sweep)
main.add_command(cli_study.results)
main.add_command(cli_study.report)
main.add_command(cli_study.audit)
main.add_command(cli_study.diff)
main.add_command(cli_kernels.kernels)
