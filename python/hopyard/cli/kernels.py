"""The commands of kernels in simulated time: `hopyard kernels build`, `list`, `check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hopyard.cli.options import Commands
from hopyard.cli.output import FAILED, of, say

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.group(cls=Commands)
def kernels() -> None:
    """Linux kernels whose TCP runs in simulated time."""


@kernels.command(
    epilog="Exit codes: 0 all are there; 1 a step failed; 2 a package is missing, or a version is unknown."
)
@click.argument("versions", nargs=-1, metavar="[VERSION...]")
@click.option("--jobs", type=click.IntRange(min=1), default=1, help="Compilers at a time; one otherwise.")
@click.option(
    "--source",
    type=click.Path(exists=True, path_type=Path),
    help="The source of Linux: an archive, or a folder with it. A package's otherwise.",
)
@click.option(
    "--patch",
    "own",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="A patch of your own, applied after Hopyard's; more than once for several, in their order.",
)
@click.option("--wifi", is_flag=True, help="With Linux's Wi-Fi (mac80211), for `wifi` in [linux]: a kernel of its own.")
@click.option("--force", is_flag=True, help="Build again what is there.")
@click.pass_context
def build(
    ctx: click.Context,
    versions: Sequence[str],
    jobs: int,
    source: Path | None,
    own: Sequence[Path],
    *,
    wifi: bool,
    force: bool,
) -> None:
    """Builds kernels from the source of Linux, and keeps them in the cache.

    Without a version, the one whose source is there; 6.1 if both are. A kernel with patches of your
    own has a name such as 6.1+a1b2c3d4, which `version` in [linux] takes; one with Wi-Fi is 6.1+wifi.
    """
    from hopyard.kernels.build import BuildError, recipe
    from hopyard.kernels.build import build as make

    # Everything is there before anything starts.
    if source is not None and len(versions) > 1:
        raise click.UsageError("--source is the source of one version")
    wanted = [recipe(version, source, own, wifi=wifi) for version in versions or (None,)]
    for one in wanted:
        try:
            kernel = make(one, say, jobs=jobs, force=force)
        except BuildError as error:
            say(f"error: kernel {one.name}: {error}")
            ctx.exit(FAILED)
        except OSError as error:
            say(f"error: {of(error)}")
            ctx.exit(FAILED)
        click.echo(f"{kernel.release}  {kernel.folder}")
        if own or wifi:
            click.echo(f'in a scenario: version = "{kernel.version}" in [linux]')


@kernels.command(name="list", epilog="Exit codes: 0 there is one or more; 1 there is none.")
@click.pass_context
def listed(ctx: click.Context) -> None:
    """Lists the kernels that were built, with their TCP variants."""
    from hopyard.kernels.cache import built, root, unreadable
    from hopyard.scenario.catalogue import models

    found = built()
    twins = {model["in_linux"] for model in models() if model["has_twin"]}
    for kernel in found:
        click.echo(f"{kernel.version}  {kernel.release}  {kernel.package}  made {kernel.made}")
        click.echo(f"  {kernel.folder}")
        flows = [name for name in kernel.variants if name in twins]
        click.echo(f"  tcp of flows: {', '.join(flows)}")
        others = [name for name in kernel.variants if name not in twins]
        click.echo(f"  tcp, for programs: {', '.join(others)}")
        if modules := kernel.module_variants():
            click.echo(f"  tcp, as modules of Hopyard: {', '.join(modules)}")
    for folder in unreadable():
        say(f"{folder}: this is no kernel that this version of Hopyard can use")
    if not found:
        say(
            f"there is no kernel in {root()}: `hopyard kernels build` makes one, and"
            " `hopyard kernels check` says whether it can run here"
        )
        ctx.exit(FAILED)


@kernels.command(epilog="Exit codes: 0 one kernel or more can run; 1 something is missing.")
@click.option("--machine", is_flag=True, help="Only what every kernel needs; none has to be built.")
@click.pass_context
def check(ctx: click.Context, *, machine: bool) -> None:
    """Says whether kernels can run here; where not, what is missing and what to do."""
    from hopyard.kernels import check as checks

    found = checks.machine() if machine else checks.check()
    for it in found:
        click.echo(f"{'ok     ' if it.good else 'missing'}  {it.what}: {it.found}")
        if not it.good and it.cure:
            click.echo(f"         -> {it.cure}")
    needed = [it for it in found if not it.what.startswith("kernel ")]
    built = [it for it in found if it.what.startswith("kernel ")]
    if not (all(it.good for it in needed) and (machine or any(it.good for it in built))):
        ctx.exit(FAILED)
