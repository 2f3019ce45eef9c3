"""Columns of Arrow tables as arrays of numpy, and back.

pyarrow and numpy have functions for some of this that import `pyarrow.compute`, `numpy.ma` or
pandas. These imports take as long as a short run, so every run uses the functions here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.int64]
    Mask: TypeAlias = NDArray[np.bool_]


def integers(table: pa.Table, name: str) -> Integers:
    """A column of whole numbers, all of which have a value."""
    return np.asarray(np.from_dlpack(table[name].combine_chunks()), dtype=np.int64)


def floats(table: pa.Table, name: str) -> Floats:
    """A column as floating-point numbers, NaN where there is no value."""
    column = table[name]
    if column.null_count:
        column = column.cast("float64").fill_null(np.nan)
    return np.asarray(np.from_dlpack(column.combine_chunks()), dtype=np.float64)


def values(column: pa.ChunkedArray) -> list[Any]:
    """A column as Python values."""
    if not pa.types.is_dictionary(column.type):
        return list(column.to_pylist())
    # Values of a dictionary are slow to take one by one.
    found: list[Any] = []
    for chunk in column.chunks:
        known = chunk.dictionary.to_pylist()
        found += [None if index is None else known[index] for index in chunk.indices.to_pylist()]
    return found


def array(numbers: NDArray[Any]) -> pa.Array:
    """An array of numbers, all of which have a value, as one of Arrow's."""
    numbers = np.ascontiguousarray(numbers)
    kind = pa.from_numpy_dtype(numbers.dtype)
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)])


def distinct(numbers: Integers) -> Integers:
    """The different numbers, in order."""
    # Without the indices numpy would ask `numpy.ma` whether this is one of its arrays.
    found, _ = np.unique(numbers, return_index=True)
    return found


def where(table: pa.Table, mask: Mask) -> pa.Table:
    """The rows of a table where a mask is true."""
    places = np.flatnonzero(mask)
    if not len(places):
        return table.slice(0, 0)
    first, end = int(places[0]), int(places[-1]) + 1
    # The rows of a case or of a run are beside one another, so that none needs to be copied.
    return table.slice(first, end - first) if end - first == len(places) else taken(table, places)


def taken(table: pa.Table, places: Integers | Sequence[int]) -> pa.Table:
    """The rows of a table at these places."""
    return table.take(array(np.asarray(places, dtype=np.int64)))
