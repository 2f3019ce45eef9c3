"""The points that a command of studies is about: `--only`, and what the store has of them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from hopyard.cli.output import say
from hopyard.cli.output import tell as told
from hopyard.errors import StoreError
from hopyard.terminal.words import many

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hopyard.store.reading import Reader
    from hopyard.study.file import Scalar, Study, Where
    from hopyard.study.points import Point
    from hopyard.study.values import Values

#: How many runs are told one by one.
TOLD = 5


def tell(text: str) -> None:
    """Writes to the standard output; ends the command where nobody can read it."""
    if code := told(text):
        click.get_current_context().exit(code)


class Chosen(dict[str, "Scalar | list[Scalar]"]):
    """The values of axes that `--only` names, with the texts as they were given."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__()
        self.texts = texts

    def of(self, study: Study) -> Where:
        """The values with the labels of a study: a label may have commas and equals signs itself.

        What names no label of the study is left as it was read, for the message.
        """
        from hopyard.study.file import labels_of

        known = {name: labels_of(axis) for name, axis in study.document.axes.items()}
        found: dict[str, list[Scalar]] = {}
        for text in self.texts:
            name, rest = "", text
            while rest:
                # A further value of the axis, or another axis.
                label = _first(known.get(name, ()), rest)
                if label is None:
                    axis, equals, value = rest.partition("=")
                    if equals and (not name or axis.strip() in known):
                        name, rest = axis.strip(), value
                        label = _first(known.get(name, ()), rest)
                        if label is None:
                            return dict(self)
                if label is None:
                    label = rest.lstrip().partition(",")[0]
                found.setdefault(name, []).append(label)
                rest = rest.lstrip()[len(label) :].lstrip().removeprefix(",")
        return dict(found)


def _first(labels: Iterable[str], text: str) -> str | None:
    """The longest of the labels with which a text begins, up to a comma or the end."""
    fitting = [label for label in labels if re.match(rf"\s*{re.escape(label)}\s*(,|$)", text)]
    return max(fitting, key=len, default=None)


def read_only(_context: click.Context, _option: click.Parameter, given: Sequence[str]) -> Chosen:
    """Reads `AXIS=VALUE,VALUE,AXIS=VALUE`; an axis that is named twice has both values."""
    found = Chosen(given)
    parts: list[str] = []
    for text in given:
        for number, part in enumerate(text.split(",")):
            # A value may have a comma itself: "uplink=100 Mb/s, 2 ms".
            if number and "=" not in part:
                parts[-1] += f",{part}"
            else:
                parts.append(part)
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"expected AXIS=VALUE, found {part!r}")
        former = found.get(name.strip(), [])
        found[name.strip()] = [*(former if isinstance(former, list) else [former]), value.strip()]
    return found


def stored_points(study: Study, points: Sequence[Point], store: Reader) -> list[Point]:
    """The points with all the runs that the store has of them, also beyond those asked for.

    Runs that have lost rows are not there, and those beyond the ones asked for whose series cannot
    be read; both are told.
    """
    from hopyard.study.points import pooled
    from hopyard.study.values import Values

    samples = any(own.series is not None for own in study.document.measure.values())
    found = []
    lost: list[str] = []
    for point in points:
        parts = []
        for part in point.all:
            asked = set(part.runs)
            done, _ = store.ended(*part.key)
            lost += [f"run {run} of {point}: {why}" for run, why in store.lacks(*part.key).items()]
            beyond = [run for run in done if run not in asked]
            damaged = _damaged(store, part.key, beyond) if samples else {}
            lost += [f"run {run} of {point}: {why}" for run, why in damaged.items()]
            parts.append(part.only([run for run in done if run not in damaged]))
        found.append(replace(point, planned=parts[0], parts=tuple(parts) if point.parts else ()))
    values = Values(study, store)
    for name in study.document.measure:
        for problem in values.unseen(name):
            say(f"warning: {problem}")
    for each in lost[:TOLD]:
        say(f"warning: left out: {each}")
    if len(lost) > TOLD:
        say(f"warning: and {many(len(lost) - TOLD, 'further run')}")
    if not any(point.runs for point in found):
        raise StoreError(f"{store.path} has no run of this study as it is now: hopyard sweep makes them")
    return pooled(found)


def tell_absent(values: Values, points: Sequence[Point], measures: Iterable[str]) -> None:
    """Warns of measures that no run of the points has: their rows may be left out by `where` or `during`."""
    for name in measures:
        if values.absent(points, name):
            say(f"warning: no run has the measure {name}")


def _damaged(store: Reader, key: tuple[str, int], runs: Sequence[int]) -> dict[int, str]:
    """Those of the runs whose series cannot be read, and why."""
    if not runs:
        return {}
    from hopyard.tables.tables import read_filed

    files = store.series_of(*key)
    found = {}
    for run in runs:
        if run in files:
            try:
                read_filed(files[run], "series")
            except StoreError as error:
                found[run] = str(error)
    return found
