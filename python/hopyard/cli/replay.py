"""`hopyard replay`: a run as a page for the browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hopyard.cli.options import SET, WITH, Comparing, Named
from hopyard.cli.output import tell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hopyard.scenario.scenario import Columns


def _values(_context: click.Context, _option: click.Parameter, given: str | None) -> dict[str, str] | None:
    """Reads `KEY=V,KEY=V`."""
    if given is None:
        return None
    pairs = [part.partition("=") for part in given.split(",")]
    if any(not (key.strip() and equals and value.strip()) for key, equals, value in pairs):
        raise click.BadParameter(f"expected KEY=VALUE, such as flow.tcp=vegas, found {given!r}")
    return {key.strip(): value.strip() for key, _, value in pairs}


@click.command(cls=Comparing)
@click.argument("targets", nargs=-1, required=True, metavar="FILE|FOLDER...", type=Named(exists=True))
@SET
@WITH
@click.option("--run", type=click.IntRange(0, 2**32 - 1), help="The number of the run.  [default: 0]")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Another seed, of a scenario.")
@click.option("--case", metavar="KEY=V", callback=_values, help="Of several cases, the one that is shown.")
@click.option(
    "--against", metavar="KEY=V", callback=_values, help="The case that stands beside it, such as flow.tcp=vegas."
)
@click.option(
    "--rows",
    type=click.IntRange(min=1, max=10**9),
    help="The most frames, drops or paths that are recorded; longer runs are thinned.  [default: 400000]",
)
@click.option(
    "-o",
    "--output",
    type=Named(dir_okay=False),
    help="The page; a name that ends in .hopyard-replay is the recording alone.  [default: NAME-replay.html]",
)
@click.pass_context
def replay(
    context: click.Context,
    targets: Sequence[Path],
    settings: Mapping[tuple[str, ...], Columns],
    run: int | None,
    seed: int | None,
    case: Mapping[str, str] | None,
    against: Mapping[str, str] | None,
    rows: int | None,
    output: Path | None,
) -> None:
    """Make a page that shows a run in any browser: nodes, frames, drops, paths, windows.

    A FILE is a scenario, whose run is made, or a recording of `hopyard replay -o NAME.hopyard-replay`. A FOLDER has
    results: its run is made again, and must have the same digest. Two cases, as with --set flow.tcp=newreno,vegas,
    and two recordings stand side by side. The page is one file, which needs neither a server nor a network.
    """
    from hopyard.cli.studies import check_scenarios
    from hopyard.replaying.page import ENDING, check, check_place, write
    from hopyard.replaying.recording import MOST_ROWS, chosen, of_folder, of_scenario

    recorded = [path for path in targets if path.suffix == ENDING]
    output = output or Path(f"{targets[0].resolve().stem}-replay.html")
    if output.resolve() in {path.resolve() for path in targets}:
        raise click.UsageError(f"{output} is what is to be shown: expected another file for the page")
    check_place(output)
    if recorded:
        others = bool(settings or case or against) or {run, seed, rows} != {None}
        if len(recorded) < len(targets) or others:
            raise click.UsageError("recordings are shown as they are: expected one or two of them, and -o alone")
        recordings = [path.read_bytes() for path in recorded]
        for path, recording in zip(recorded, recordings, strict=True):
            check(recording, str(path))
    elif len(targets) > 1:
        raise click.UsageError("expected one scenario or folder of results, or two recordings")
    else:
        target = targets[0]
        check_scenarios([target])
        if target.is_dir():
            if settings or seed is not None:
                raise click.UsageError(f"{target} is a folder of results: --case KEY=V chooses among its cases")
            wanted = of_folder(target, run or 0)
        else:
            wanted = of_scenario(target, run or 0, seed, settings)
        recordings = [each.record(rows or MOST_ROWS) for each in chosen(wanted, case or {}, against)]
    write(recordings, output)
    shown = f"hopyard replay {output} shows it" if output.suffix == ENDING else "open it in a browser"
    context.exit(tell(f"{output} is written ({output.stat().st_size / 1e6:.2g} MB); {shown}"))
