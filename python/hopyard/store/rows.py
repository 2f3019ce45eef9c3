"""Rows of a store, whose values are checked when they are taken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hopyard.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: The largest whole number that SQLite holds.
MOST = 2**63 - 1


class Row:
    """A row of a table of a store, whose first value is its number there (`rowid`).

    Every method takes the value of a column.

    Raises:
        StoreError: when it is not what is expected; the message names store, table and row.
    """

    def __init__(self, path: Path, table: str, columns: Sequence[str], values: Sequence[object]) -> None:
        self._path = path
        self._table = table
        self._number, *rest = values
        self._values = dict(zip(columns, rest, strict=True))

    def wrong(self, column: str, expected: str) -> StoreError:
        """The error about a value."""
        return StoreError(
            f"{self._path}: {self._table}, row {self._number}: {column}: expected {expected}, "
            f"found {self._values[column]!r:.80}"
        )

    def text(self, column: str) -> str:
        """A text."""
        value = self._values[column]
        if not isinstance(value, str):
            raise self.wrong(column, "a text")
        return value

    def text_or_none(self, column: str) -> str | None:
        """A text, or none."""
        return None if self._values[column] is None else self.text(column)

    def whole(self, column: str, most: int = MOST) -> int:
        """A whole number from 0 on."""
        value = self._values[column]
        if not isinstance(value, int) or not 0 <= value <= most:
            raise self.wrong(column, f"a whole number from 0 to {most}")
        return value

    def seconds(self, column: str) -> float | None:
        """A number, or none."""
        value = self._values[column]
        if value is not None and not isinstance(value, (int, float)):
            raise self.wrong(column, "a number")
        return value

    def content(self, column: str) -> bytes:
        """Bytes."""
        value = self._values[column]
        if not isinstance(value, bytes):
            raise self.wrong(column, "bytes")
        return value

    def texts(self, column: str) -> tuple[str, ...]:
        """A list of texts, in JSON."""
        value = self._json(column)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self.wrong(column, "a list of texts in JSON")
        return tuple(value)

    def pairs(self, column: str) -> dict[str, str]:
        """Texts by name, in JSON: an object, or a list of pairs."""
        value = self._json(column)
        if isinstance(value, list) and all(isinstance(e, list) and len(e) == 2 for e in value):
            value = {key if isinstance(key, str) else None: each for key, each in value}
        if not isinstance(value, dict) or not all(isinstance(part, str) for pair in value.items() for part in pair):
            raise self.wrong(column, "pairs of texts in JSON")
        return value

    def counts(self, column: str) -> dict[str, int]:
        """Whole numbers by name, in JSON."""
        value = self._json(column)
        if not isinstance(value, dict) or not all(type(each) is int for each in value.values()):
            raise self.wrong(column, "whole numbers by name in JSON")
        return value

    def _json(self, column: str) -> Any:
        try:
            return json.loads(self.text(column))
        except (ValueError, RecursionError):
            return None
