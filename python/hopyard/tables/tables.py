"""Tables of results: put together from the runs' rows, told where each row comes from, written."""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hopyard import _core, startup
from hopyard.errors import StoreError
from hopyard.files import whole
from hopyard.tables.arrays import array, integers, taken, values, where

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from hopyard.tables.arrays import Integers, Mask
    from hopyard.tables.cases import Case


class _NoPandas:
    """Finds no pandas."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _do_without_pandas() -> None:
    """Lets pyarrow find no pandas: it would import it to ask whether a list is one of its Series.

    That takes longer than a short run. pyarrow looks once; others can import pandas afterwards.
    """
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas)
        # With a type given, pyarrow does not look for further libraries.
        pa.array([], pa.null())
        sys.meta_path.remove(_NoPandas)


if startup.is_command:
    _do_without_pandas()

FORMATS = ("parquet", "csv")

_TYPES = {
    str(kind): kind
    for kind in (
        pa.uint8(),
        pa.uint16(),
        pa.uint32(),
        pa.uint64(),
        pa.int32(),
        pa.int64(),
        pa.float32(),
        pa.float64(),
        pa.bool_(),
    )
}
_TEXT = pa.dictionary(pa.int32(), pa.string())


@cache
def empty() -> dict[str, pa.Table]:
    """Every table of a run's with its columns and no rows."""
    _, none = _core.Batch([], []).take()
    return arrow(none)


def check_format(format: str) -> None:
    """Refuses a format in which tables are not written."""
    if format not in FORMATS:
        raise ValueError(f"results are written as {' or '.join(FORMATS)}, not {format!r}")


def columns(schema: pa.Schema) -> list[tuple[str, str]]:
    """The columns of a run's own table, without the numbers of case and run: name and type."""
    return [
        (part.name, "text" if pa.types.is_dictionary(part.type) else str(part.type))
        for part in schema
        if part.name not in ("case", "run")
    ]


def sql_type(kind: str) -> str:
    """The type of a column in SQL."""
    return {"text": "TEXT", "double": "REAL", "float": "REAL"}.get(kind, "INTEGER")


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows of a table as Python values."""
    return list(zip(*map(values, table.columns), strict=True))


class WrongValueError(ValueError):
    """A value cannot stand in a table; `row` is the number of its row, from 0 on."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row


def from_rows(
    found: Sequence[tuple[object, ...]], kinds: Sequence[tuple[str, str]], head: Sequence[str], table: str
) -> pa.Table:
    """A table of rows that begin with the whole numbers of `head`.

    Raises:
        WrongValueError: when a value is not of the type of its column.
    """
    schema = empty()[table].schema
    may_lack = {part.name: part.nullable for part in schema}
    names = [*head, *(name for name, _ in kinds)]
    types = [pa.uint32()] * len(head)
    for name, kind in kinds:
        if kind != "text" and kind not in _TYPES:
            raise WrongValueError(0, f"{name}: there is no type of columns {kind!r}")
        types.append(_TEXT if kind == "text" else _TYPES[kind])
    parts: Iterable[Sequence[object]] = zip(*found, strict=True) if found else [()] * len(names)
    arrays = []
    for name, kind, part in zip(names, types, parts, strict=True):
        made = _array(part, kind)
        if made is None or (made.null_count and not may_lack.get(name, True)):
            row, value = next(
                (row, value)
                for row, value in enumerate(part)
                if _array([value], kind) is None or (value is None and not may_lack.get(name, True))
            )
            expected = pa.string() if kind is _TEXT else kind
            raise WrongValueError(row, f"{name}: expected {expected}, found {value!r:.80}")
        arrays.append(made)
    return pa.table(dict(zip(names, arrays, strict=True)))


def _array(values: Sequence[object], kind: pa.DataType) -> pa.Array | None:
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return None


def read(stream: object) -> pa.Table:
    """A table of the core's."""
    # `pa.table` does the same, but first imports pandas, where there is one, to ask it about the
    # table.
    return pa.RecordBatchReader.from_stream(stream).read_all()


def arrow(tables: Mapping[str, _core.Table]) -> dict[str, pa.Table]:
    """The tables of the core's, by their names."""
    return {name: read(table) for name, table in tables.items()}


def ordered(parts: Sequence[pa.Table]) -> pa.Table:
    """Tables of runs as one, in the order of cases and runs."""
    table = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
    case, run = integers(table, "case"), integers(table, "run")
    order = np.lexsort((run, case))
    if (order[1:] > order[:-1]).all():
        return table
    table = taken(table, order)
    for index, part in enumerate(table.schema):
        if pa.types.is_dictionary(part.type):
            table = table.set_column(index, part, _in_order_of_rows(table[part.name]))
    return table


def _in_order_of_rows(column: pa.ChunkedArray) -> pa.Array:
    """A column of texts whose dictionary has them in the order of their first rows.

    Otherwise the dictionary would tell in which order the runs have ended.
    """
    texts = column.combine_chunks()
    indices = texts.indices.fill_null(-1) if texts.null_count else texts.indices
    codes = np.from_dlpack(indices)
    known, first = np.unique(codes, return_index=True)
    known = known[np.argsort(first)]
    known = known[known >= 0]
    places = np.zeros(len(texts.dictionary) + 1, dtype=np.int32)
    places[known] = np.arange(len(known), dtype=np.int32)
    made = places[codes]
    return pa.DictionaryArray.from_arrays(
        pa.array(made, mask=codes < 0) if texts.null_count else array(made), texts.dictionary.take(array(known))
    )


def with_origin(table: pa.Table, cases: Sequence[Case], version: str) -> pa.Table:
    """The table with what says where each row comes from, and makes its run again."""
    case = integers(table, "case")
    place = {each.number: index for index, each in enumerate(cases)}
    known = np.array([place.get(number, 0) for number in range(max(place, default=0) + 1)])
    index = known[case] if len(case) else case

    def text(of: Callable[[Case], str]) -> pa.Array:
        texts = [of(each) for each in cases]
        different = list(dict.fromkeys(texts))
        codes = np.array([different.index(each) for each in texts], dtype=np.int32)
        mine = codes[index] if len(index) else np.zeros(0, dtype=np.int32)
        return pa.DictionaryArray.from_arrays(array(mine), pa.array(different, pa.string()))

    keys = list(dict.fromkeys(key for each in cases for key in each.settings))
    made: dict[str, object] = {"scenario": text(lambda each: each.scenario)}
    for key in keys:
        made[key] = text(lambda each, key=key: each.settings.get(key, ""))  # type: ignore[misc]
    made["run"] = table["run"]
    made |= {name: table[name] for name in table.column_names if name not in ("case", "run")}
    # A comparison of seeds has them as a setting already.
    if "seed" not in made:
        seeds = np.array([each.seed for each in cases], dtype=np.uint64)
        own = seeds[index] if len(index) else np.zeros(0, dtype=np.uint64)
        made["seed"] = array(own)
    made["config"] = text(lambda each: each.config)
    made["version"] = text(lambda _: version)
    made["case"] = table["case"]
    return pa.table(made)


def write_table(table: pa.Table, path: Path) -> None:
    """Writes a table; the ending of the name says in which format.

    Raises:
        OSError: when it cannot be written; it names the file.
    """

    def save(beside: Path) -> None:
        if path.suffix == ".csv":
            with beside.open("wb") as file:
                from pyarrow import csv

                csv.write_csv(_plain(table), file)
        else:
            write_parquet(table, beside)

    whole(path, save)


def write_parquet(table: pa.Table, path: Path) -> None:
    """Writes a table as a Parquet file."""
    from pyarrow import parquet

    # An open file: pyarrow takes a path such as `word:name/file` for a URI.
    with path.open("wb") as file:
        parquet.write_table(table, file, compression="zstd")


def read_filed(path: Path, table: str) -> pa.Table:
    """The rows of a large table of a run, without the numbers of case and run.

    Raises:
        StoreError: when the file is gone, damaged, or another one.
    """
    from pyarrow import parquet

    schema = empty()[table].drop_columns(["case", "run"]).schema
    try:
        with path.open("rb") as file:
            # A precaution: threads of pyarrow's may hold the file a little longer than the call
            # lasts, and would then need the interpreter to let it go, which may be ending.
            return parquet.ParquetFile(file).read(use_threads=False).cast(schema)
    except FileNotFoundError as error:
        raise StoreError(f"{path} is gone") from error
    except (OSError, pa.ArrowException, ValueError, KeyError) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(" :.")
        raise StoreError(f"{path} cannot be read: {reason}") from error


def _plain(table: pa.Table) -> pa.Table:
    """The table with its repeated texts written out, as CSV wants them."""
    for index, part in enumerate(table.schema):
        if pa.types.is_dictionary(part.type):
            table = table.set_column(index, part.name, table[part.name].cast(part.type.value_type))
    return table


def of_runs(table: pa.Table, wanted: Collection[tuple[int, int]]) -> Mask:
    """Whether each row is of one of the runs, which are given by case and number."""
    chosen = np.array([case << 32 | run for case, run in wanted], dtype=np.int64)
    return np.isin(codes(table), chosen)


def codes(table: pa.Table) -> Integers:
    """A number for each row, which is that of the case times 2**32 and that of the run."""
    return integers(table, "case") << 32 | integers(table, "run")


def restrict(table: pa.Table, wanted: Collection[tuple[int, int]]) -> pa.Table:
    """The rows of the runs, which are given by case and number."""
    return where(table, of_runs(table, wanted))
