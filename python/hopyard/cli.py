"""The command `hopyard`.

Exit codes: 0 when all is well; 1 when a run could not go on (a window rule of the
user's raised, or an invariant broke, which is a defect of Hopyard); 2 when what
was given is wrong; 130 when Ctrl-C ended the runs, after the finished ones have been kept.

What a command needs is imported when it runs, so that the command itself starts at once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hopyard import _core
from hopyard.errors import ScenarioError, SimulationError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hopyard.results import Results

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130


class Group(click.Group):
    """Commands whose errors are printed as they are and end with their exit code."""

    def invoke(self, ctx: click.Context) -> object:
        """Runs a command."""
        try:
            return super().invoke(ctx)
        except ScenarioError as error:
            click.echo(error.coloured if sys.stderr.isatty() else str(error), err=True)
            ctx.exit(BAD_INPUT)
        except SimulationError as error:
            click.echo(f"error: {error}", err=True)
            ctx.exit(FAILED)
        except (OSError, ValueError) as error:
            click.echo(f"error: {error}", err=True)
            ctx.exit(BAD_INPUT)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(_core.__version__, prog_name="hopyard")
def main() -> None:
    """A laboratory for TCP over mobile ad hoc networks."""


def _settings(
    _context: click.Context, _option: click.Parameter, given: Sequence[str]
) -> dict[str, list[str]]:
    """Reads `KEY=V1,V2` into the values of each key."""
    settings: dict[str, list[str]] = {}
    for text in given:
        key, values = _core.parse_set(text)
        if key in settings:
            raise click.BadParameter(f"{key} is set twice; commas separate several values")
        settings[key] = values
    return settings


_FILES = click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
_SET = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=V1,V2",
    callback=_settings,
    help="Set a key of the scenario; several values are compared. `flow.tcp` is that of all flows.",
)


@main.command()
@_FILES
@_SET
@click.option(
    "--runs", type=click.IntRange(min=1), help="Runs of each case; the scenario says otherwise."
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="Seed of all runs: the same seed gives the same results.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Runs at a time; all cores otherwise.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for the results."
)
@click.option(
    "--format", type=click.Choice(["parquet", "csv"]), default="parquet", show_default=True
)
@click.option(
    "--series",
    metavar="Q1,Q2",
    default="",
    help="Sample these quantities over time: cwnd, rtt, ...",
)
@click.option("--measure", default="goodput", show_default=True, help="What the plot shows.")
@click.option("--plot", is_flag=True, help="Draw the comparison, and each series, into the folder.")
@click.pass_context
def run(
    context: click.Context,
    files: Sequence[Path],
    settings: dict[str, list[str]],
    runs: int | None,
    seed: int | None,
    jobs: int | None,
    out: Path | None,
    format: str,
    series: str,
    measure: str,
    plot: bool,
) -> None:
    """Run scenarios, and show each measure's mean with its 95 % interval.

    Several values of a --set make a comparison; several FILEs are compared too. Nothing is written
    without --out, --plot or --series; their folder is results/NAME when --out does not name one.
    """
    from hopyard import report
    from hopyard.running import Interrupted
    from hopyard.running import run as run_all

    failure: SimulationError | None = None
    sampled = [name.strip() for name in series.split(",") if name.strip()]
    try:
        results = run_all(files, runs=runs, seed=seed, jobs=jobs, set=settings, series=sampled)
    except Interrupted as interruption:
        results = interruption.results
    except SimulationError as error:
        if error.results is None or not error.results.cases:
            raise
        failure, results = error, error.results
    report.show(results)
    if (out or plot or sampled) and results.cases:
        folder = out or Path("results") / "-".join(
            dict.fromkeys(case.scenario for case in results.cases)
        )
        written = results.save(folder, format)
        if plot:
            written += _draw(results, folder, measure, sampled)
        click.echo(f"In {folder}: {', '.join(path.name for path in written)}")
    if failure:
        click.echo(f"error: {failure}", err=True)
        click.echo("Only the runs that were finished are kept.", err=True)
        context.exit(FAILED)
    if not results.complete:
        click.echo("Interrupted: only the runs that were finished are kept.", err=True)
        context.exit(INTERRUPTED)


def _draw(results: Results, folder: Path, measure: str, series: Sequence[str]) -> list[Path]:
    figures = {measure: results.plot(measure)} | {
        name: results.plot_series(name) for name in series
    }
    paths = []
    for name, figure in figures.items():
        paths.append(folder / f"{name}.png")
        figure.savefig(paths[-1])
    return paths


@main.command()
@_FILES
@_SET
def check(files: Sequence[Path], settings: Mapping[str, list[str]]) -> None:
    """Read scenarios, and report everything that is wrong with them."""
    from hopyard.scenario import Scenario

    for path in files:
        cases = Scenario.load(path).cases(settings)
        for warning in dict.fromkeys(warning for case in cases for warning in case.warnings):
            click.echo(warning, err=True)
        many = f", {len(cases)} cases" if len(cases) > 1 else ""
        click.echo(f"{path}: nothing wrong{many}")


@main.command()
@click.argument("kind", required=False)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="The file.")
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
        output.write_text(text, encoding="utf-8")
        click.echo(f"{output} is written; hopyard run {output}")


@main.command()
@click.argument("name", required=False, metavar="[ROOM|NAME]")
@click.option("--profile", type=click.Choice(["rfc", "ns2"]), help="Show this profile alone.")
def models(name: str | None, profile: str | None) -> None:
    """List models, or a model's parameters with their defaults."""
    from hopyard import catalogue

    catalogue.show(name, profile)


@main.command()
def schema() -> None:
    """Print the JSON schema of scenario files, for editors."""
    click.echo(_core.json_schema())
