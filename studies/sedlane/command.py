"""The commands of SEDLANE: `python -m studies.sedlane.command classes`, `replay`, `compare`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click
from hopyard.cli.main import Group
from hopyard.cli.options import SET, WITH, Comparing, Named
from hopyard.cli.output import NOT_WRITTEN, of, say
from hopyard.cli.studies import check_scenarios
from hopyard.running.run import run
from hopyard.scenario.scenario import Scenario
from hopyard.statistics.estimates import estimate
from hopyard.terminal import signals
from hopyard.terminal.words import many

from studies.sedlane import Network, Rules, classify, replayed, schedules, traces
from studies.sedlane.experiment import experiment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hopyard.scenario.scenario import Columns

    from studies.sedlane import Classes
    from studies.sedlane.experiment import Over, Row

    Command = TypeVar("Command", bound=Callable[..., Any])

_SCENARIO = click.argument("file", metavar="SCENARIO", type=Named(exists=True, dir_okay=False))
_FLOW = click.option("--flow", type=click.IntRange(min=0), default=0, show_default=True, help="The flow of the trace.")
_RUN = click.option(
    "--run", "number", type=click.IntRange(min=0), default=0, show_default=True, help="The run of the trace."
)


def _rules(command: Command) -> Command:
    """The options that say how classes are formed."""
    for option in reversed(
        [
            click.option(
                "--width",
                type=click.FloatRange(min=0, min_open=True),
                metavar="SHARE",
                help="The width of a class as a part of its shortest round-trip time; 0.1 if not given.",
            ),
            click.option(
                "--quantiles",
                type=click.IntRange(min=1),
                metavar="N",
                help="In place of --width: N classes with equal numbers of packets.",
            ),
            click.option(
                "--losses",
                type=click.Choice(["class", "entry", "packet"]),
                default="class",
                show_default=True,
                help="Whose share of lost packets is the loss rate of an entry: that of the class, "
                "that of the entry, or 0 or 1 for each packet.",
            ),
            click.option("--lose-acks", is_flag=True, help="Lose acknowledgements too."),
            click.option(
                "--by",
                type=click.Choice(["time", "packet"]),
                default="time",
                show_default=True,
                help="Whether entries begin at times or with packets.",
            ),
        ]
    ):
        command = option(command)
    return command


def _network(command: Command) -> Command:
    """The options of the link of a replay."""
    for option in reversed(
        [
            click.option("--rate", default="100 Mbps", show_default=True, help="The rate of the replay's wire."),
            click.option(
                "--queue",
                type=click.IntRange(min=1),
                default=1000,
                show_default=True,
                help="The packets that wait for the wire.",
            ),
            click.option(
                "--overtaking", is_flag=True, help="Let packets of a shorter delay arrive before earlier ones."
            ),
        ]
    ):
        command = option(command)
    return command


def _read_rules(options: dict[str, Any]) -> Rules:
    width, quantiles = options["width"], options["quantiles"]
    if width is not None and quantiles is not None:
        raise click.UsageError("--width and --quantiles: expected one of them")
    try:
        return Rules(
            width=0.1 if width is None else width,
            quantiles=quantiles,
            losses=options["losses"],
            lose_acks=options["lose_acks"],
            by=options["by"],
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def _read_network(options: dict[str, Any]) -> Network:
    return Network(options["rate"], options["queue"], options["overtaking"])


def _cases(file: Path, settings: dict[tuple[str, ...], Columns]) -> list[Scenario]:
    check_scenarios([file])
    return signals.patiently(partial(Scenario.load_cases, file, settings))


def _classified(
    file: Path, settings: dict[tuple[str, ...], Columns], flow: int, number: int, options: dict[str, Any]
) -> tuple[Scenario, Classes]:
    """The scenario and the classes of one run of it."""
    rules = _read_rules(options)
    cases = _cases(file, settings)
    if len(cases) > 1:
        raise click.UsageError(f"--set: expected one case, whose run is traced, found {len(cases)}")
    results = run(cases[0], runs=[number], segments=[flow], progress=False)
    try:
        return cases[0], classify(traces(results, flow)[0], rules)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


@click.group(cls=Group)
def sedlane() -> None:
    """Replay a run's delays and losses to other senders (SEDLANE)."""


@sedlane.command(cls=Comparing)
@_SCENARIO
@SET
@WITH
@_FLOW
@_RUN
@_rules
def classes(file: Path, settings: dict[tuple[str, ...], Columns], flow: int, number: int, **options: Any) -> None:
    """Show the classes of packets with similar round-trip times in a run."""
    _, found = _classified(file, settings, flow, number, options)
    click.echo("round-trip time, ms   mean   packets   lost   loss, %   delay each way, ms")
    for it in found.classes:
        span = f"{it.low * 1e3:.2f} to {it.high * 1e3:.2f}"
        click.echo(
            f"{span:>19} {it.rtt * 1e3:>6.1f} {it.packets:>9} {it.lost:>6} {it.loss * 100:>9.3f} "
            f"{it.delay * 1e3:>20.2f}"
        )
    forth, back = schedules(found)
    click.echo(
        f"{many(len(found.trace), 'packet')}, {int(found.trace.lost.sum())} of them lost; "
        f"schedule: {many(len(forth), 'entry').replace('entrys', 'entries')} for data, "
        f"{len(back)} for acknowledgements"
    )


@sedlane.command(cls=Comparing)
@_SCENARIO
@click.option("-o", "--output", type=Named(dir_okay=False), required=True, help="The scenario file.")
@click.option("--force", is_flag=True, help="Overwrite the file if it is there.")
@SET
@WITH
@_FLOW
@_RUN
@_rules
@_network
def replay(
    file: Path,
    output: Path,
    force: bool,
    settings: dict[tuple[str, ...], Columns],
    flow: int,
    number: int,
    **options: Any,
) -> None:
    """Write the scenario of a flow over the replay of a run, in place of its network."""
    if output.exists() and not force:
        raise click.UsageError(f"{output} is there already; --force overwrites it")
    network = _read_network(options)
    scenario, found = _classified(file, settings, flow, number, options)
    try:
        made = replayed(scenario, flow, found, network)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    try:
        made.save(output)
    except OSError as error:
        say(f"error: {of(error)}")
        click.get_current_context().exit(NOT_WRITTEN)
    click.echo(f"{output} is written; hopyard run {output}")


@sedlane.command(cls=Comparing)
@_SCENARIO
@SET
@WITH
@_FLOW
@click.option("--runs", type=click.IntRange(min=1), default=10, show_default=True, help="Runs of each case.")
@_rules
@_network
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
def compare(
    file: Path, settings: dict[tuple[str, ...], Columns], flow: int, runs: int, quiet: bool, **options: Any
) -> None:
    """Compare a network with replays of its traces.

    Each case of --set runs over the network, over the replay of its own trace, and over the replay
    of the first case's trace.
    """
    cases = _cases(file, settings)
    names = [", ".join(value for _, value in case.core.settings) or file.stem for case in cases]
    tell: Callable[[str], None] = (lambda _: None) if quiet else say
    try:
        rows = experiment(
            list(zip(names, cases, strict=True)), flow, runs, _read_rules(options), _read_network(options), tell
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    width = max(*map(len, names), 4)
    click.echo(f"{'case':<{width}}  over          goodput, kbit/s    loss, %   round trip, ms   KS")
    for line in _lines(rows, width):
        click.echo(line)


def _lines(rows: Sequence[Row], width: int) -> list[str]:
    """A line for each case and what it ran over."""
    groups: dict[tuple[str, Over], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.case, row.over), []).append(row)
    lines = []
    for (case, over), each in groups.items():
        goodput = estimate([it.goodput for it in each])
        loss = estimate([100 * it.loss for it in each])
        rtt = estimate([1000 * it.rtt for it in each])
        distance = estimate([it.distance for it in each])
        known = f"{rtt.mean:>12.1f}   {distance.mean:>7.3f}" if rtt.runs else ""
        lines.append(f"{case:<{width}}  {over:<12}  {goodput!s:>15}  {loss.mean:>9.3f}   {known}".rstrip())
    return lines


if __name__ == "__main__":
    sedlane(prog_name="python -m studies.sedlane.command")
