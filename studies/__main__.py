"""Runs studies that are programs: `python -m studies NAME ... [--runs N] [--jobs N] [--out DIR]`.

A study is a folder next to this file. Its `study.py` has a function `run(lab)`, which makes every
table and plot of the folder `results`.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import click

from studies.common import Lab

HERE = Path(__file__).resolve().parent
NAMES = sorted(path.parent.name for path in HERE.glob("*/study.py"))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", metavar="NAME...", nargs=-1, type=click.Choice(NAMES))
@click.option(
    "--runs",
    type=click.IntRange(min=2),
    help="Runs of each case; the study's own number if not given.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Runs at a time; one for each core if not given."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the results, a subfolder for each study; default: replace the committed ones.",
)
def main(names: tuple[str, ...], runs: int | None, jobs: int | None, out: Path | None) -> None:
    """Run the studies NAME..., or list them when none is named."""
    if not names:
        for name in NAMES:
            title = (importlib.import_module(f"studies.{name}.study").__doc__ or "").splitlines()[0]
            click.echo(f"{name:18} {title}")
        return
    for name in names:
        study = importlib.import_module(f"studies.{name}.study")
        folder = HERE / name
        lab = Lab(
            folder,
            out / name if out else folder / "results",
            (study.__doc__ or name).splitlines()[0],
        )
        lab.runs, lab.jobs = runs or lab.runs, jobs
        study.run(lab)
        click.echo(f"{name}: {lab.finish()}", file=sys.stderr)


if __name__ == "__main__":
    main()
