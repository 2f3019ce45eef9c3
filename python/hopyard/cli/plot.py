"""`hopyard plot` of studies: its options, and what they draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from hopyard.cli.options import AGAINST, WIDTH
from hopyard.cli.output import measure_file, save_plot
from hopyard.cli.points import Chosen, stored_points, tell
from hopyard.cli.studies import ONLY, OUT, QUICK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path


#: The kinds of plots of measures, and of a run.
MEANS, OF_RUN = ("lines", "bars", "box", "cdf"), ("map", "timeline")


def of_plots(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of `hopyard plot` that place the axes of a study."""
    options = [
        click.option(
            "--kind",
            type=click.Choice([*MEANS, *OF_RUN]),
            help="What is drawn: means alone (lines, bars), the spread of runs (box, cdf), or one run (map, timeline); "
            "otherwise means, with the differences of cases that are compared run by run.",
        ),
        AGAINST,
        WIDTH,
        click.option("--lines", metavar="AXIS", help="Of a study: a line for each value."),
        click.option("--panels", metavar="AXIS", help="Of a study: a panel for each value."),
        click.option("--experiment", metavar="NAME", help="Of a study: the experiment."),
        ONLY,
        OUT,
        QUICK,
    ]
    for option in reversed(options):
        command = option(command)
    return command


@dataclass(frozen=True)
class Drawn:
    """How the points of a study are to be drawn."""

    kind: str | None
    x: str | None
    lines: str | None
    panels: str | None
    experiment: str | None
    only: Chosen
    out: Path | None
    quick: bool
    against: Mapping[str, str] | None = None
    width: float | None = None

    def check(self, target: Path) -> None:
        """Refuses what only studies have, of something else."""
        names = ("lines", "panels", "experiment", "only", "out", "quick")
        given = {f"--{name}": bool(getattr(self, name)) for name in names}
        refuse(given, f"{target} is no study")


def refuse(given: Mapping[str, bool], why: str) -> None:
    """Refuses options that do not fit what is drawn."""
    for name, there in given.items():
        if there:
            raise click.UsageError(f"{why}: {name} cannot be used with it")


def plot(study: Path, measures: Sequence[str], drawn: Drawn, output: Path | None, refused: dict[str, bool]) -> None:
    """Draws measures of a study's store, each in a file."""
    refuse(refused | {"--against": drawn.against is not None}, f"{study} is a study")
    if drawn.kind in OF_RUN:
        raise click.UsageError(f"{study} is a study: expected --kind {', '.join(MEANS)}, found {drawn.kind}")
    from hopyard.study.drawing import plot as draw
    from hopyard.study.figures import Source
    from hopyard.study.parsing import load
    from hopyard.study.points import points
    from hopyard.study.published import read
    from hopyard.study.sweep import default, opened
    from hopyard.study.values import Values, chosen_measures

    found = load(study)
    found.experiment_of(drawn.experiment)
    only = drawn.only.of(found)
    chosen = chosen_measures(found, measures)[: None if measures else 1]
    if output is not None and len(chosen) > 1:
        raise click.UsageError(f"expected one measure for {output}, found {', '.join(chosen)}")
    where = drawn.out or default(found, quick=drawn.quick)
    with opened(where) as store, store.snapshot():
        stored = stored_points(found, points(found, quick=drawn.quick), store)
        source = Source(found, stored, Values(found, store, stored), store, read(found))
        for name in chosen:
            figure = draw(
                source,
                name,
                kind=drawn.kind,
                experiment=drawn.experiment,
                x=drawn.x,
                lines=drawn.lines,
                panels=drawn.panels,
                only=only,
                width=drawn.width,
            )
            path = output or where / measure_file(name, drawn.kind)
            tell(str(save_plot(figure, path)))
