"""What several commands have: options of scenarios, paths, and how options are read."""

from __future__ import annotations

import re
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hopyard import _core
from hopyard.cli import completion
from hopyard.errors import path_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopyard.scenario.scenario import Columns


class Once(click.Command):
    """A command that refuses an option that is given twice, unless it collects values."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the arguments."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for option in order:
            single = isinstance(option, click.Option) and not (option.multiple or option.is_flag)
            if single and order.count(option) > 1 and not ctx.resilient_parsing:
                raise click.UsageError(f"{option.opts[-1]} is given twice: expected it once", ctx)
        return super().parse_args(ctx, args)


class Commands(click.Group):
    """A group that names its commands where one is asked for that it lacks."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of a name, and its arguments."""
        name = args[0]
        if self.get_command(ctx, name) is None and name[:1].isalnum():
            from hopyard.study.file import nearest

            ctx.fail(f"No such command {name!r}; {nearest(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


#: Numbers of flows, as the value of `--segments`.
FLOWS = re.compile(r"[0-9]+(\.\.[0-9]+)?(,[0-9]+(\.\.[0-9]+)?)*")


class Comparing(Once):
    """A command with `--set` and `--with`, which belongs to the `--set` before it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Turns `--with` into a marked `--set`, because click does not keep the order of both.

        `--segments` gets its value: what follows is one where it is a list of numbers, and
        otherwise the next argument, such as a file.
        """
        joined: list[str] = []
        left = deque(args)
        while left:
            argument = left.popleft()
            if argument == "--segments":
                given = left.popleft() if left and FLOWS.fullmatch(left[0]) else "all"
                joined.append(f"--segments={given}")
            elif argument == "--":
                joined += [argument, *left]
                break
            elif argument == "--with":
                if not left:
                    raise click.UsageError("--with: expected KEY=V1,V2 after it", ctx)
                joined += ["--set", f"&{left.popleft()}"]
            elif argument.startswith("--with="):
                joined += ["--set", f"&{argument.removeprefix('--with=')}"]
            else:
                joined.append(argument)
        return super().parse_args(ctx, joined)


def _settings(
    _context: click.Context, _option: click.Parameter, given: Sequence[str]
) -> dict[tuple[str, ...], Columns]:
    """Reads `KEY=V1,V2` into the values of each key; those of `--with` go with the key before."""
    from hopyard.scenario.scenario import Columns, Given

    groups: list[tuple[list[str], Columns]] = []
    for text in given:
        values: list[str] | None = None
        key = text.removeprefix("&")
        if "=" in text or not text.startswith("&"):
            key, values = _core.parse_set(key)
        if any(key in keys for keys, _ in groups):
            raise click.BadParameter(f"{key} is set twice; commas separate several values")
        if not text.startswith("&"):
            groups.append(([], Columns()))
        elif not groups:
            raise click.BadParameter(f"{key}: expected a --set before it, to go with", param_hint="'--with'")
        keys, columns = groups[-1]
        keys.append(key)
        columns.append(columns[0] if values is None else [Given(value) for value in values])
    return {tuple(keys): columns for keys, columns in groups}


class Named(click.Path):
    """A path that is not empty: the empty text would stand for the working folder."""

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuses the empty text, and symbolic links that form a circle."""
        try:
            path_of(value, "a file")
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return super().convert(value, param, ctx)


SET = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=V1,V2",
    callback=_settings,
    shell_complete=completion.settings,
    help="Set a key of the scenario; several values are compared, and 3..9 stands for all from 3 to"
    " 9. `flow.tcp` is that of all flows.",
)
WITH = click.option(
    "--with",
    "together",
    multiple=True,
    metavar="KEY[=V1,V2]",
    expose_value=False,
    help="A key that changes together with the --set before it: as many values, one for all, or"
    " none for the same values; `flow.to=last` is the last node.",
)


def _against(_context: click.Context, _option: click.Parameter, given: str | None) -> dict[str, str] | None:
    """Reads the case that others are compared with: `KEY=V`, or several with commas."""
    if given is None:
        return None
    found: dict[str, str] = {}
    for part in given.split(","):
        key, equals, value = part.partition("=")
        if not (key and equals and value):
            raise click.BadParameter(f"expected KEY=VALUE such as flow.tcp=cubic, found {part!r}")
        found[key] = value
    return found


AGAINST = click.option(
    "--against",
    metavar="KEY=V",
    callback=_against,
    help="Show how much more each case has than the one with this value of a compared key, such as flow.tcp=cubic, and "
    "the same other values; otherwise than the first one. `scenario=NAME` is that scenario.",
)


def _width(_context: click.Context, _option: click.Parameter, given: str | None) -> float | None:
    """Reads the width of a page, in inches."""
    if given is None:
        return None
    from hopyard.plot.canvas import width_of

    try:
        return width_of(given)
    except ValueError as error:
        raise click.BadParameter(str(error).removeprefix("width: ")) from None


WIDTH = click.option(
    "--width",
    metavar="WIDTH",
    callback=_width,
    help="The width of figures for a paper: `column` (3.4 inches), `text` (7.1 inches), or inches; letters have 8 "
    "points. Of a report, that of its PDF files.",
)
