"""Results as a data frame: a row for each run of a study, or of a folder of results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, overload

from hopyard import _core
from hopyard.errors import StoreError, path_of
from hopyard.store.database import NAME
from hopyard.store.reading import Reader
from hopyard.study.file import check_chosen
from hopyard.study.parsing import load
from hopyard.study.points import axes_of, points
from hopyard.study.sweep import default, opened
from hopyard.study.tables import Head, rows_of_runs
from hopyard.study.values import Values, chosen_measures
from hopyard.tables.measures import SHOWN, check
from hopyard.terminal.words import install, many

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike
    from pathlib import Path

    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from hopyard.study.file import Scalar, Study
    from hopyard.study.points import Point

#: The libraries whose data frames are made.
FRAMES = ("pandas", "polars", "pyarrow")


def in_pandas(table: pa.Table) -> pd.DataFrame:
    """A table as a data frame of pandas.

    Raises:
        ModuleNotFoundError: when pandas is not installed; the message has the command for it.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{error}; {install('pandas')} has it", name="pandas") from None
    frame = table.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    return frame


@overload
def load_results(
    source: str | PathLike[str],
    *,
    out: str | PathLike[str] | None = ...,
    quick: bool = ...,
    seed: int | None = ...,
    only: Mapping[str, Scalar | list[Scalar]] | None = ...,
    measures: str | Iterable[str] = ...,
    frame: Literal["pandas"] = ...,
) -> pd.DataFrame: ...
@overload
def load_results(
    source: str | PathLike[str],
    *,
    out: str | PathLike[str] | None = ...,
    quick: bool = ...,
    seed: int | None = ...,
    only: Mapping[str, Scalar | list[Scalar]] | None = ...,
    measures: str | Iterable[str] = ...,
    frame: Literal["polars"],
) -> pl.DataFrame: ...
@overload
def load_results(
    source: str | PathLike[str],
    *,
    out: str | PathLike[str] | None = ...,
    quick: bool = ...,
    seed: int | None = ...,
    only: Mapping[str, Scalar | list[Scalar]] | None = ...,
    measures: str | Iterable[str] = ...,
    frame: Literal["pyarrow"],
) -> pa.Table: ...
def load_results(
    source: str | PathLike[str],
    *,
    out: str | PathLike[str] | None = None,
    quick: bool = False,
    seed: int | None = None,
    only: Mapping[str, Scalar | list[Scalar]] | None = None,
    measures: str | Iterable[str] = (),
    frame: str = "pandas",
) -> pd.DataFrame | pl.DataFrame | pa.Table:
    """The finished runs of a study, or of a folder of results, as a data frame with a row for each.

    It can be called while a sweep or `hopyard run` adds runs, and then has those that are there.

    The columns are `experiment` (of a study) or `scenario` (of a folder); the axes of the study, or
    the settings that a folder compares, as numbers where all their values are numbers; `run`; a
    column for each measure, under its name; `digest`, `version`, `build`, `ended`, `wall_s`,
    `cpu_s`, `config` (the hash of the scenario) and `seed`.

    Args:
        source: a study, as a file or as a folder with a `study.toml`; or a folder of results.
        out: the folder of the study's store; results/NAME, or results/NAME-quick, if not given.
        quick: whether the quick version of the study is meant.
        seed: the seed of the runs, if they were made with another one than the study's.
        only: the values of axes of the points that are wanted: `{"sender": ["Vegas", "Reno"]}`.
        measures: measures of Hopyard or of the study; those that the study names if not given.
        frame: "pandas", "polars" or "pyarrow": the library whose table is made.

    Raises:
        StoreError: when there are no results, or the store is damaged, of another format, or has no
            run of the study.
        StudyError: when the study is wrong, or has no such axis or value.
        TypeError: when `only` is no mapping.
        ValueError: when there is no such measure, or library of data frames.
        ModuleNotFoundError: when the library is not installed.
    """
    if frame not in FRAMES:
        raise ValueError(f"frame: expected pandas, polars or pyarrow, found {frame!r}")
    if only is not None and not isinstance(only, Mapping):
        raise TypeError(
            f'only: expected the values of axes, such as {{"sender": ["Vegas", "Reno"]}}, found {only!r:.80}'
        )
    path = path_of(source, "a study or a folder of results")
    named = measures.split(",") if isinstance(measures, str) and measures else list(measures)
    if _is_folder(path):
        for name, given in (("out", out), ("seed", seed), ("only", only)):
            if given is not None:
                raise ValueError(f"{name} is for studies, and {path} is a folder of results")
        if quick:
            raise ValueError(f"quick is for studies, and {path} is a folder of results")
        table = _of_folder(path, named)
    else:
        where = None if out is None else path_of(out, "the folder of the store (out)")
        table = _of_study(load(path), where, named, quick=quick, seed=seed, only=only)
    if frame == "polars":
        import polars as pl

        found = pl.from_arrow(table)
        assert isinstance(found, pl.DataFrame)
        return found
    return in_pandas(table) if frame == "pandas" else table


def _is_folder(path: Path) -> bool:
    """Whether a path is that of a folder of results, and not of a study."""
    if path.is_dir() and not (path / "study.toml").is_file():
        if not (path / NAME).exists():
            raise StoreError(
                f"{path} holds no results: expected {NAME} in it, as `hopyard run --out` and "
                "`hopyard sweep` write it, or a study.toml"
            )
        return True
    return False


def _of_study(
    study: Study,
    out: Path | None,
    measures: Sequence[str],
    *,
    quick: bool,
    seed: int | None,
    only: Mapping[str, Scalar | list[Scalar]] | None,
) -> pa.Table:

    if only:
        check_chosen(study, only)
    chosen = chosen_measures(study, measures)
    there = points(study, quick=quick, seed=seed, only=only)
    heads = [Head({"experiment": each.experiment}, each.labels, *each.planned.key, point=each) for each in there]
    with opened(out or default(study, quick=quick)) as store, store.snapshot():
        table = _table(heads, study, store, chosen, there)
        if not len(table) and not only:
            _check_not_of_others(study, heads, store)
    return table


def _check_not_of_others(study: Study, heads: Sequence[Head], store: Reader) -> None:
    """Refuses a store that has runs, but none of the study's, not even a failed one.

    Raises:
        StoreError: when that is so.
    """
    makers = store.makers()
    if makers and not any(any(store.ended(head.config, head.seed)) for head in heads):
        runs = many(sum(each.runs for each in makers), "run")
        raise StoreError(
            f"{store.path} has {runs}, none of which is of "
            f"{study.path} as it is now: they were made by Hopyard {makers[0].name}, and this is "
            f"{_core.__version__} (build {_core.BUILD}); the seed or the scenario may have changed"
        )


def _of_folder(path: Path, measures: Sequence[str]) -> pa.Table:

    chosen = check(measures) if measures else SHOWN
    with Reader(path) as store, store.snapshot():
        heads = []
        for case in store.cases():
            axes = axes_of(case.settings) or case.settings
            heads.append(Head({"scenario": case.scenario}, axes, case.config, case.seed))
        return _table(heads, None, store, chosen)


def _table(
    heads: Sequence[Head], study: Study | None, store: Reader, measures: Sequence[str], points: Sequence[Point] = ()
) -> pa.Table:

    values = Values(study, store, points)
    return rows_of_runs(heads, values, {name: name for name in measures}, made=True)
