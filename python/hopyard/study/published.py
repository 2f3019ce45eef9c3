"""Published values: a CSV file beside a study.

It has a column for each axis that tells the values apart, and the columns `measure` and `value`;
`unit` is that of the value: one of another size is converted into that of the measure. `source` and
others are for readers. A row that leaves an axis empty is about no single
value of it, and is compared with nothing.
"""

from __future__ import annotations

import csv
import io
import math
from difflib import get_close_matches
from typing import TYPE_CHECKING

from hopyard.scenario.axis import factor, is_unit
from hopyard.scenario.scenario import _read_text
from hopyard.study.file import StudyError, labels_of, unit_of
from hopyard.study.references import known_measures
from hopyard.tables.measures import MEASURES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hopyard.study.file import Study

#: Columns that every file has.
NEEDED = ("measure", "value")


class Published:
    """The published values of a study."""

    def __init__(self, study: Study) -> None:
        path = study.folder / str(study.document.published)
        try:
            text = _read_text(path)
        except OSError as error:
            raise StudyError([f"{study.place('published')}: {path}: {error.strerror}"]) from None
        except ValueError as error:
            # It is no text, or too large.
            raise StudyError([f"{study.place('published')}: {error}"]) from None
        names, rows = _rows(path, text)
        problems = [f"{path}: there is no column {name}" for name in NEEDED if name not in names]
        problems += [
            f"{path}:1: two columns are called {name!r}"
            for name in dict.fromkeys(each for each in names if names.count(each) > 1)
        ]
        axes = study.document.axes
        self._axes = [name for name in axes if name in names]
        for name in names:
            near = get_close_matches(name, axes, n=1, cutoff=0.8)
            if name not in axes and near and near[0] not in names:
                problems.append(f"{path}: column {name}: no axis is called so; did you mean {near[0]!r}?")
        known = [*study.document.measure, *MEASURES]
        #: The names of all columns.
        self.columns = names
        #: Each row as the file has it, with its value.
        self.rows: list[tuple[dict[str, str], float]] = []
        self._found: dict[tuple[str, tuple[str, ...]], float] = {}
        for line, row in [] if problems else rows:
            try:
                value = float(row["value"])
                if not math.isfinite(value):
                    raise ValueError
            except (TypeError, ValueError):
                found = f"{row['value']!r:.80}"
                hint = "; a unit stands in the column unit" if row["value"][:1].isdigit() else ""
                problems.append(f"{path}:{line}: value: expected a number, found {found}{hint}")
                continue
            place = f"{path}:{line}"
            unknown = list(known_measures([row["measure"]], known, place))
            problems += unknown
            if not unknown and "unit" not in axes and (unit := row.get("unit", "").strip()):
                wanted = unit_of(row["measure"], study.document.measure)
                size = factor(unit, wanted)
                if size is not None and size != 1:
                    value *= size
                    row |= {"value": f"{value:.6g}", "unit": wanted}
                elif size is None and (wanted or is_unit(unit)):
                    expected = f"{wanted}, or a unit of its kind" if wanted else "no unit"
                    problems.append(f"{place}: unit: expected {expected}, found {unit!r}")
            problems += [
                f"{place}: the axis {name} has no value {row[name]!r}"
                for name in self._axes
                if row[name] and row[name] not in labels_of(axes[name])
            ]
            key = self._key(row["measure"], row)
            if key in self._found:
                problems.append(f"{place}: there is a row of this measure and point already")
            self._found[key] = value
            self.rows.append(({name: row[name] or "" for name in names}, value))
        if problems:
            raise StudyError(problems)

    def _key(self, measure: str, labels: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
        return measure, tuple(labels.get(name) or "" for name in self._axes)

    def value(self, measure: str, labels: Mapping[str, str]) -> float | None:
        """The published value of a measure at a point, if there is one."""
        return self._found.get(self._key(measure, labels))

    def is_of(self, row: Mapping[str, str], labels: Mapping[str, str]) -> bool:
        """Whether a row is about the point with these labels."""
        measure = row["measure"]
        return self._key(measure, row) == self._key(measure, labels)

    def __len__(self) -> int:
        return len(self._found)


def _rows(path: Path, text: str) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """The names of the columns, and each row with its line.

    Raises:
        StudyError: when the text is no CSV.
    """
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise StudyError([f"{path}:{line}: expected text, found a null byte"])
    # Spreadsheets put a mark before the first letter.
    reader = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    former = csv.field_size_limit(len(text) + 1)
    rows: list[tuple[int, dict[str, str]]] = []
    try:
        names = list(reader.fieldnames or ())
        for row in reader:
            if None in row:
                raise StudyError([f"{path}:{reader.line_num}: expected {len(names)} values, found more"])
            rows.append((reader.line_num, {name: row[name] or "" for name in names}))
    except csv.Error as error:
        raise StudyError([f"{path}:{reader.line_num}: the file cannot be read: {error}"]) from None
    finally:
        csv.field_size_limit(former)
    return names, rows


def read(study: Study) -> Published | None:
    """The published values of a study, if it names a file of them.

    Raises:
        StudyError: when the file cannot be read, or a value is no number.
    """
    return None if study.document.published is None else Published(study)
