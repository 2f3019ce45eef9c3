"""`hopyard live`: its options, and what it shows and writes."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import click

from hopyard import _core
from hopyard.cli.options import SET, WITH, Comparing, Named
from hopyard.cli.output import BROKEN_PIPE, FAILED, NOT_WRITTEN, of, say, tell
from hopyard.cli.run import shown
from hopyard.terminal import signals
from hopyard.terminal.words import many

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hopyard.live.session import Outcome, Request
    from hopyard.scenario.scenario import Columns
    from hopyard.terminal.signals import Stop

#: The exit code of a run that was too late.
LATE = 4
#: What a folder of a live run has besides tables.
REPORT = "live.json"
TABLES = ("live", "live_packets")
_LOG = re.compile(r"program-[0-9]+\.log")


def _bound(_context: click.Context, _option: click.Parameter, given: str) -> int:
    """Reads a duration that is not zero, in nanoseconds."""
    try:
        found = _core.parse_time(given)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    if found == 0:
        raise click.BadParameter("expected a time of more than 0 s")
    return found


@click.command(
    cls=Comparing,
    epilog="Exit codes: 0 all is well; 1 the run or a program failed; 2 what was given is wrong, "
    "nothing was started; 3 results could not be written or shown; 4 the run was too late; 130, "
    "143, 129 Ctrl-C, SIGTERM or SIGHUP ended it.",
)
@click.argument("file", metavar="SCENARIO", type=Named(exists=True, dir_okay=False))
@click.option(
    "--attach",
    "attached",
    metavar="NAMESPACE=NODE",
    multiple=True,
    required=True,
    help="Make this network namespace, whose programs are at this node; several may be given.",
)
@click.option(
    "--run",
    "waited",
    type=(int, str),
    metavar="NODE PROGRAM",
    multiple=True,
    help="Start a program at a node; {node3} in it is the address of node 3. The run ends when all "
    "of these have ended.",
)
@click.option(
    "--serve",
    "served",
    type=(int, str),
    metavar="NODE PROGRAM",
    multiple=True,
    help="Start a program before those of --run, for whose end the run does not wait.",
)
@SET
@WITH
@click.option("--seed", type=click.IntRange(min=0, max=2**63 - 1), help="Seed; the scenario's otherwise.")
@click.option(
    "--number",
    type=click.IntRange(min=0, max=2**32 - 1),
    default=0,
    show_default=True,
    help="The number of the run, which chooses its movement and its random numbers.",
)
@click.option(
    "--bound",
    metavar="TIME",
    default="1ms",
    show_default=True,
    callback=_bound,
    help="The lateness that at most 1 % of the packets, and of the events, may exceed.",
)
@click.option(
    "--mtu",
    type=click.IntRange(min=68, max=65535),
    metavar="N",
    help="The longest datagram of programs, in bytes; otherwise what all links of their node carry, at most 1500.",
)
@click.option(
    "--in-flight",
    type=click.IntRange(min=1),
    metavar="N",
    help="Take at most N packets from a node's programs that it has not sent yet, as a driver does; all otherwise.",
)
@click.option("--packets", is_flag=True, help="Record every packet; with --out.")
@click.option("--out", type=Named(), help="Folder for tables, live.json and programs' output.")
@click.option("--force", is_flag=True, help="Replace a former live run in the folder.")
@click.option("--format", type=click.Choice(["parquet", "csv"]), default="parquet", show_default=True)
@click.option("--quiet", "-q", is_flag=True, help="Show the output of programs alone.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def live(
    context: click.Context,
    file: Path,
    attached: Sequence[str],
    waited: Sequence[tuple[int, str]],
    served: Sequence[tuple[int, str]],
    settings: dict[tuple[str, ...], Columns],
    seed: int | None,
    number: int,
    bound: int,
    mtu: int | None,
    in_flight: int | None,
    packets: bool,
    out: Path | None,
    force: bool,
    format: str,
    quiet: bool,
    as_json: bool,
) -> None:
    """Let real programs talk over the simulated network, in real time (Linux).

    Each --attach makes a network namespace with one interface, which has the address of a node.
    What programs send there travels through the simulated network, and comes out where it belongs.
    Nothing else of this machine's network is touched, and the namespaces are removed at the end:
    after the scenario's duration, on Ctrl-C, or when all programs of --run have ended.
    """
    from hopyard.cli.studies import check_scenarios
    from hopyard.live.programs import Command
    from hopyard.live.session import Request

    if packets and out is None:
        raise click.UsageError("--packets needs --out DIRECTORY")
    check_scenarios([file])
    request = Request(
        file=file,
        settings=settings,
        seed=seed,
        run=number,
        attached=attachments(attached),
        commands=[
            *(Command.of(node, text, waited=False) for node, text in served),
            *(Command.of(node, text, waited=True) for node, text in waited),
        ],
        bound=bound,
        mtu=mtu,
        in_flight=in_flight,
        packets=packets,
    )
    with signals.handled(leave=True) as stop:
        code = run(request, stop, out=out, format=format, force=force, quiet=quiet or as_json, as_json=as_json)
    context.exit(code)


def attachments(given: Sequence[str]) -> list[tuple[str, int]]:
    """Reads `NAMESPACE=NODE`.

    Raises:
        ValueError: when it is something else.
    """
    found = []
    for text in given:
        name, sign, number = text.partition("=")
        if not (sign and name and number.isascii() and number.isdigit() and len(number) < 10):
            raise ValueError(f"--attach: expected NAMESPACE=NODE, such as a=0, found {text!r}")
        found.append((name, int(number)))
    return found


def run(request: Request, stop: Stop, *, out: Path | None, format: str, force: bool, quiet: bool, as_json: bool) -> int:
    """Makes a live run, and gives the exit code.

    Raises:
        ScenarioError, ValueError, OSError: when what was given is wrong; nothing has been started.
    """
    from hopyard.live.programs import output
    from hopyard.live.session import Session
    from hopyard.scenario.plan import warnings

    session = Session(request)
    if out is not None:
        _prepare(out, force=force)
    if not quiet:
        for warning in warnings([(session.case.file, session.case.core)]):
            # Programs send.
            if not warning.startswith("warning: nothing is sent"):
                say(warning)
    stream = output(as_json=as_json)
    ready = None if quiet else partial(_announce, session.addresses, request, stream)
    stop.idle = False
    stop.told = "\nThe run ends. Ctrl-C once more ends at once.\n"
    outcome = session.go(stop, stream, out, ready)
    codes = []
    if out is not None:
        try:
            _write(outcome, out, format)
        except OSError as error:
            say(f"error: {of(error)}")
            codes.append(NOT_WRITTEN)
    if as_json:
        codes.append(tell(json.dumps(outcome.report, indent=2, ensure_ascii=False)))
    elif not quiet:
        codes.append(tell("\n".join(_lines(outcome.report))))
        if len(outcome.results.flows):
            codes.append(shown(outcome.results, (), folder=None))
    codes.append(_judge(outcome))
    if stop.number is not None:
        return stop.exit_code
    return next((code for code in (NOT_WRITTEN, FAILED, LATE, BROKEN_PIPE) if code in codes), 0)


def _prepare(out: Path, *, force: bool) -> None:
    """Makes a folder that takes the results of one live run.

    Raises:
        ValueError: when it holds something else, or former results.
    """
    from hopyard.store.folder_check import listed
    from hopyard.tables.names import table_files
    from hopyard.tables.tables import FORMATS

    out.mkdir(parents=True, exist_ok=True)
    there = sorted(path.name for path in out.iterdir())
    own = {REPORT, "scenario.toml", *(f"{table}.{end}" for table in TABLES for end in FORMATS)}
    own |= {name for end in FORMATS for name in table_files(end)}
    foreign = [name for name in there if name not in own and _LOG.fullmatch(name) is None]
    if foreign:
        raise ValueError(f"{out} holds {listed(foreign)}, which no live run has written: expected another folder")
    if there and not force:
        raise ValueError(f"{out} holds the results of a live run; --force replaces them")
    for name in there:
        (out / name).unlink()


def _write(outcome: Outcome, out: Path, format: str) -> None:
    """Writes tables and report. The scenario stands beside, since there is no store."""
    from hopyard.files import write_text
    from hopyard.live import session as live
    from hopyard.tables.tables import write_table
    from hopyard.tables.writing import write

    write(outcome.results, out, format)
    write_table(live.table(outcome), out / f"live.{format}")
    if outcome.packets is not None:
        write_table(outcome.packets, out / f"live_packets.{format}")
    report = json.dumps(outcome.report, indent=2, ensure_ascii=False)
    texts = {"scenario.toml": outcome.case.core.to_toml(defaults=True), REPORT: f"{report}\n"}
    for name, text in texts.items():
        write_text(out / name, text)


def _announce(addresses: dict[int, list[str]], request: Request, out: IO[str]) -> None:
    lines = [f"{name}: node {node}, {', '.join(addresses[node])}" for name, node in request.attached]
    lines.append(f"Programs reach the network with `ip netns exec {request.attached[0][0]} PROGRAM`.")
    # The reader may have gone, as with `| head`: the run goes on, and its results are written.
    with suppress(OSError):
        print("\n".join(lines), file=out, flush=True)


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e3:.3f}"


def _lines(report: dict[str, Any]) -> list[str]:
    """The report as text."""
    bound = f"{report['bound_s'] * 1e3:g} ms"
    ends = {
        "duration": "the time of the scenario was over",
        "programs": "all programs had ended",
        "stopped": "it was asked to end",
    }
    lines = [
        f"{report['scenario']}, run {report['run']}: {report['simulated_s']:.3f} s in real time; "
        f"{ends.get(report['end'], report['end'])}",
        f"{'lateness in ms':<16}{'count':>10}{'min':>10}{'median':>10}{'99 %':>10}{'max':>10}  over {bound}",
    ]
    for name, it in report["lateness"].items():
        times = (it[key] for key in ("min_s", "median_s", "p99_s", "max_s"))
        cells = "".join(f"{_milliseconds(each):>10}" for each in times)
        share = f" ({100 * it['late'] / it['count']:.2f} %)" if it["count"] else ""
        lines.append(f"  {name:<14}{it['count']:>10,}{cells}  {it['late']:,}{share}")
    for node in report["nodes"]:
        refused = {
            key.removeprefix("refused_").replace("_", " "): value
            for key, value in node.items()
            if key.startswith("refused_") and value
        }
        why = "".join(f", {value:,} refused ({name})" for name, value in refused.items())
        lines.append(
            f"{node['namespace']} (node {node['node']}): from programs "
            f"{many(node['packets_in'], 'packet')} of {node['bytes_in']:,} B, to programs "
            f"{many(node['packets_out'], 'packet')} of {node['bytes_out']:,} B{why}"
        )
    lines += [_of_program(program) for program in report["programs"]]
    return lines


def _of_program(program: dict[str, Any]) -> str:
    how = f"exit code {program['exit_code']}" if program["signal"] is None else program["signal"]
    by = "ended with the run" if program["ended_by_run"] else how
    return f"{program['namespace']} (node {program['node']}): {program['command']}: {by}"


def _judge(outcome: Outcome) -> int:
    """Says loudly what makes the results worthless or is left behind, and gives the exit code."""
    report = outcome.report
    for name, processes in outcome.others.items():
        say(f"warning: {name} is removed, and was used by {', '.join(processes)}: these go on without a network")
    code = 0
    if not report["in_time"]:
        code = LATE
        worst = {
            name: it["late"] / it["count"]
            for name, it in report["lateness"].items()
            if name != "reads" and it["count"] and it["late"] / it["count"] > report["share"]
        }
        which = " and ".join(f"{100 * share:.1f} % of {name}" for name, share in worst.items())
        say(
            f"TOO LATE: {which} were later than {report['bound_s'] * 1e3:g} ms, and "
            f"{100 * report['share']:g} % may be: this run measured the machine as much as the "
            "network. Expected a smaller network, less traffic, an idle machine, or a larger "
            "--bound."
        )
    for program in report["programs"]:
        if not program["ended_by_run"] and program["exit_code"] != 0:
            say(f"error: {_of_program(program)}")
            code = FAILED
    return code
