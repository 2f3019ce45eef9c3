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
    from collections.abc import Iterable, Iterator, Sequence
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
        raise StudyError(list(_of_pydantic(error.errors(), keys, path, text))) from None
    study = Study(document, path, text)
    if problems := list(references(study)):
        raise StudyError(problems)
    return study


def _of_pydantic(errors: Iterable[Any], keys: dict[str, Any], path: Path, text: str) -> Iterator[str]:
    """The problems of the form of the file."""
    # A value that may be of several kinds has an error for each of them, below its own place.
    several: dict[tuple[str | int, ...], list[str]] = {}
    for error in errors:
        steps = error["loc"]
        there, _ = _found(keys, steps)
        if len(there) < len(steps) - (error["type"] == "missing"):
            several.setdefault(there, []).append(str(steps[len(there)]))
        else:
            yield _of_one(error, steps, path, text)
    for there, kinds in several.items():
        yield _of_several(there, kinds, _found(keys, there)[1], path, text)


def _found(keys: Any, steps: Sequence[str | int]) -> tuple[tuple[str | int, ...], Any]:
    """The part of a path that the file has, and the value there."""
    for count, step in enumerate(steps):
        try:
            keys = keys[step]
        except (KeyError, IndexError, TypeError):
            return tuple(steps[:count]), keys
    return tuple(steps), keys


def _of_several(steps: Sequence[str | int], kinds: Iterable[str], value: Any, path: Path, text: str) -> str:
    """A problem of a value that may be of several kinds, and is of none."""
    place, key = _place(steps, path, text), ".".join(map(str, steps))
    words = {"str": "a text", "float": "a number", "bool": "true or false", "Not": "{ not = ... }"}
    known = [words.get(kind, "a list") for kind in dict.fromkeys(kinds) if kind != "int"]
    if isinstance(value, dict) and "Not" in kinds:
        wrong = [name for name in value if name != "not"]
        if wrong:
            hint = "its only key is 'not'" if "not" in value else "did you mean 'not'?"
            return f"{place}: there is no key {key}.{wrong[0]}; {hint}"
        key, value, known = f"{key}.not", value.get("not"), known[:-1]
    *first, last = dict.fromkeys(known)
    wanted = f"{', '.join(first)} or {last}" if first else last
    return f"{place}: {key}: expected {wanted}, found {value!r:.80}"


def _place(steps: Iterable[str | int], path: Path, text: str) -> str:
    line = _core.line_of(text, [str(step) for step in steps])
    return f"{path}:{line}" if line else str(path)


def _of_one(error: Any, steps: Sequence[str | int], path: Path, text: str) -> str:
    """A problem of a value that is of one kind."""
    place, key = _place(steps, path, text), ".".join(map(str, steps))
    if error["type"] == "extra_forbidden":
        known = list(_keys_beside([str(step) for step in steps]))
        near = get_close_matches(str(steps[-1]), known, n=1)
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
