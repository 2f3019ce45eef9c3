"""Sweeps of the study in a folder, and what is made of their results."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hopyard.store.reading import Reader
from hopyard.study import load
from hopyard.study.claims import judged
from hopyard.study.figures import Source
from hopyard.study.points import points
from hopyard.study.sweep import Outcome, sweep
from hopyard.study.values import Values
from short import refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hopyard.study import Study
    from hopyard.study.claims import Verdict


def loaded(folder: Path, text: str | None = None) -> Study:
    """The study of a folder, after its file was given this text."""
    if text is not None:
        (folder / "study.toml").write_text(text)
    return load(folder / "study.toml")


def swept(folder: Path, text: str | None = None, **options: Any) -> Outcome:
    """Makes the runs that the folder's store lacks."""
    return sweep(loaded(folder, text), out=folder / "store", progress=False, **options)


@contextmanager
def made(folder: Path, text: str | None = None, **options: Any) -> Iterator[Source]:
    """The results of the study of a folder, after a sweep."""
    swept(folder, text, **options)
    study = loaded(folder)
    with Reader(folder / "store") as store:
        mine = points(study, runs=options.get("runs"))
        yield Source(study, mine, Values(study, store, mine), store, None)


def verdicts(source: Source) -> list[Verdict]:
    """The claims of a study, judged by its results."""
    return judged(source.study, source.points, source.values)


def refusal(folder: Path, text: str) -> str:
    """What `check` says of a study, which a sweep refuses too before its first run."""
    (folder / "study.toml").write_text(text)
    said = refused("check", folder / "study.toml").output
    refused("sweep", folder / "study.toml")
    assert not (folder / "results").exists()
    return str(said)
