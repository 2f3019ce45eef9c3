"""The reading of study files."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from hopyard import _core
from hopyard.errors import path_of
from hopyard.scenario.scenario import _read_text
from hopyard.study.file import (
    Axis,
    Claim,
    Document,
    Experiment,
    Figure,
    Part,
    Quantity,
    Quick,
    Study,
    StudyError,
    Table,
    is_study,
)
from hopyard.study.references import references

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike
    from pathlib import Path


def load(path: str | PathLike[str]) -> Study:
    """Reads a study file.

    Raises:
        StudyError: when it is wrong, with every problem found.
        OSError: when it cannot be read.
    """
    where = path_of(path, "a study file")
    if where.is_dir():
        where = where / "study.toml"
    return parse(_read_text(where), where)


def parse(text: str, path: Path) -> Study:
    """Reads a study from text; `path` stands for the file.

    Raises:
        StudyError: when it is wrong, with every problem found.
    """
    # Some editors put a mark before the first letter.
    text = text.removeprefix("\ufeff")
    try:
        keys = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise StudyError([f"{path}: the file cannot be read as TOML: {error}"]) from None
    if not is_study(text) and not keys.keys().isdisjoint({"nodes", "flow", "duration"}):
        raise StudyError([f"{path} is a scenario, not a study: hopyard run {path} runs it"])
    try:
        document = Document.model_validate(keys)
    except ValidationError as error:
        raise StudyError([_of_pydantic(each, path, text) for each in error.errors()]) from None
    study = Study(document, path, text)
    if problems := list(references(study)):
        raise StudyError(problems)
    return study


def _of_pydantic(error: Any, path: Path, text: str) -> str:
    """A problem of the form of the file."""
    steps = [str(step) for step in error["loc"]]
    line = _core.line_of(text, steps)
    place = f"{path}:{line}" if line else str(path)
    key = ".".join(steps)
    if error["type"] == "extra_forbidden":
        known = list(_keys_beside(steps))
        near = get_close_matches(steps[-1], known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
        return f"{place}: there is no key {key}; {hint}"
    if error["type"] == "missing":
        return f"{place}: {key} is missing"
    said = str(error["msg"]).replace("Input should be", "expected")
    found = error.get("input")
    return f"{place}: {key}: {said[0].lower()}{said[1:]}, found {found!r:.80}"


def _keys_beside(steps: Sequence[str]) -> Iterable[str]:
    """The keys of the table in which a key stands."""
    parts: dict[str, type[Part]] = {
        "axes": Axis,
        "experiment": Experiment,
        "measure": Quantity,
        "table": Table,
        "figure": Figure,
        "claim": Claim,
        "quick": Quick,
    }
    part = parts.get(steps[0], Document) if len(steps) > 1 else Document
    return part.model_fields


# What the parts of a study are called.
