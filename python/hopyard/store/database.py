"""The SQLite file of a store: its tables, how it is opened, its notes, and its errors in words."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing, contextmanager, suppress
from errno import EIO, ENOSPC
from pathlib import Path
from typing import TYPE_CHECKING, Self
from urllib.parse import quote

from hopyard import _core
from hopyard.errors import StoreError
from hopyard.tables.names import ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "results.sqlite"
#: The version of the tables below.
FORMAT = "1"

_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE configurations (
    config TEXT PRIMARY KEY, name TEXT NOT NULL, profile TEXT NOT NULL, toml TEXT NOT NULL,
    files TEXT NOT NULL, rules TEXT NOT NULL
);
CREATE TABLE files (
    hash TEXT PRIMARY KEY, name TEXT NOT NULL, bytes INTEGER NOT NULL, content BLOB NOT NULL
);
CREATE TABLE rules (hash TEXT PRIMARY KEY, module TEXT NOT NULL, source TEXT NOT NULL);
CREATE TABLE cases (
    number INTEGER PRIMARY KEY, scenario TEXT NOT NULL, file TEXT, settings TEXT NOT NULL,
    config TEXT NOT NULL, seed INTEGER NOT NULL, runs INTEGER NOT NULL, series TEXT NOT NULL,
    interval TEXT NOT NULL, numbers TEXT NOT NULL
);
CREATE TABLE runs (
    config TEXT NOT NULL, seed INTEGER NOT NULL, run INTEGER NOT NULL, version TEXT NOT NULL,
    platform TEXT NOT NULL, ended TEXT NOT NULL, wall_s REAL, cpu_s REAL,
    state TEXT NOT NULL CHECK (state IN ('done', 'failed')), digest TEXT, error TEXT,
    series TEXT, segments TEXT, quantities TEXT NOT NULL, interval TEXT NOT NULL,
    build TEXT NOT NULL, rows TEXT NOT NULL,
    PRIMARY KEY (config, seed, run, version)
);
CREATE TABLE watched (
    config TEXT NOT NULL, seed INTEGER NOT NULL, measure TEXT NOT NULL, share REAL NOT NULL,
    PRIMARY KEY (config, seed, measure)
);
"""


class GoneError(StoreError):
    """The file was moved, removed or replaced while it was open: nothing more can be added."""


class EmptyStoreError(StoreError):
    """The store has no tables yet: the process that made it has just begun, or was killed then."""


class Database:
    """An open file.

    Raises:
        StoreError: when the file cannot be opened, is no store, or cannot be written.
    """

    def __init__(self, folder: Path, *, write: bool = False) -> None:
        self.folder = folder
        self.path = folder / NAME
        self.write = write
        self._tables: dict[str, list[tuple[str, str]]] = {}
        with self._named():
            self._open()
        self._file = _identity(self.path)

    def _open(self) -> None:
        new = not self.path.exists()
        if new and not self.write:
            others = sorted(str(path.parent) for path in self.folder.glob(f"*/{NAME}"))
            inside = f"; there is one in {', '.join(others[:3])}" if others else ""
            raise StoreError(f"{self.folder} holds no results: there is no {NAME}{inside}")
        if self.write:
            # Who reads a large store without a log lets the writer wait until it has read it.
            self._connection = sqlite3.connect(_uri(self.path, "rwc"), uri=True, isolation_level=None, timeout=60)
            # Readers and the writer do not wait for one another.
            self._connection.execute("PRAGMA journal_mode = WAL")
            # A run that is committed is on the disk, not only on its way there.
            self._connection.execute("PRAGMA synchronous = FULL")
        else:
            self._connection = _reader(self.path)
        self._connection.execute("PRAGMA busy_timeout = 5000")
        empty = not self._connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
        if empty and self.write:
            with self._transaction():
                for statement in _SCHEMA.split(";"):
                    self._connection.execute(statement)
                self._set("format", FORMAT)
        if empty and not self.write:
            raise EmptyStoreError(f"{self.folder} holds no results yet: {NAME} is empty")
        found = self.meta("format")
        if found is None:
            raise StoreError(f"{self.path} is no store of results")
        if found != FORMAT:
            newer = found.isdecimal() and int(found) > int(FORMAT)
            hint = "; a newer version of Hopyard has made it, which can read it" if newer else ""
            raise StoreError(
                f"{self.path} has format {found}: expected format {FORMAT}, that of Hopyard {_core.__version__}{hint}"
            )
        self._read_columns()

    def _read_columns(self) -> None:
        for name in ROWS:
            key = f"columns of {name}"
            text = self.meta(key)
            if (text is not None) != self._has_table(name):
                raise StoreError(f"{self.path}: meta, {key}: expected a row for the table {name}, and none without it")
            if text is not None:
                self._tables[name] = _columns(text, f"{self.path}: meta, {key}")

    def _has_table(self, name: str) -> bool:
        query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return self._connection.execute(query, (name,)).fetchone() is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; what was written then stands in one file that can be copied."""
        if self.write:
            # Where somebody reads, or the disk is full, the log stays beside the file, as whole.
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Errors of SQLite's with the file's name."""
        try:
            yield
        except sqlite3.Error as error:
            raised = StoreError(f"{self.path}: {_reason(error)}")
            raised.errno = _errno(error)
            raise raised from error

    def check_there(self) -> None:
        """Checks that the file which is open is the one that others find.

        Raises:
            GoneError: when it is not.
        """
        if _identity(self.path) != self._file:
            raise GoneError(
                f"{self.path} is gone: it was moved, removed or replaced while it was in use; no run can be added to it"
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """All that is read until the block ends is of one moment, whatever is added meanwhile."""
        if self._connection.in_transaction:
            yield
            return
        with self._named():
            self._connection.execute("BEGIN")
        try:
            # The first run may have been added since the file was opened.
            with self._named():
                self._read_columns()
            yield
        finally:
            with self._named():
                self._connection.execute("COMMIT")

    def meta(self, key: str) -> str | None:
        """A note of the store's."""
        try:
            found = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,))
            row = found.fetchone()
        except sqlite3.DatabaseError as error:
            if "no such table" in str(error):
                return None
            raise
        return None if row is None else str(row[0])

    def _set(self, key: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def note(self, **values: str) -> None:
        """Writes notes."""
        self.check_there()
        with self._named(), self._transaction():
            for key, value in values.items():
                self._set(key, value)


def _columns(text: str, place: str) -> list[tuple[str, str]]:
    """The columns of a table of rows, each with its type, which stand in the store as JSON."""
    try:
        found = [(column, kind) for column, kind in json.loads(text)]
    except (TypeError, ValueError, RecursionError):
        found = []
    if not found or not all(isinstance(part, str) for pair in found for part in pair):
        raise StoreError(f"{place}: expected names and types of columns, found {text!r:.80}")
    return found


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _uri(path: Path, mode: str) -> str:
    """A name that SQLite takes for this file, whatever the file is called."""
    text = path.as_posix()
    # Before a path from the root stands an empty name of a machine. That of Windows begins with a drive.
    root = "//" if text.startswith("/") else "///" if path.is_absolute() else ""
    return f"file:{root}{quote(os.fsencode(text))}?mode={mode}"


def _reader(path: Path) -> sqlite3.Connection:
    """A connection that reads, whatever the writer has left behind and however full the disk is."""
    for mode in ("rw", "ro"):
        connection = sqlite3.connect(_uri(path, mode), uri=True)
        try:
            connection.execute("SELECT 1 FROM sqlite_master").fetchall()
        except sqlite3.OperationalError:
            connection.close()
        else:
            return connection
    # There is no room for the index of the log, or no right to write it: read a copy.
    import tempfile

    with tempfile.TemporaryDirectory(prefix="hopyard-") as folder:
        copy = Path(folder) / NAME
        copy.write_bytes(path.read_bytes())
        log = path.with_name(f"{NAME}-wal")
        if log.exists():
            copy.with_name(f"{NAME}-wal").write_bytes(log.read_bytes())
        memory = sqlite3.connect(":memory:")
        with closing(sqlite3.connect(copy)) as source:
            source.backup(memory)
    return memory


def _errno(error: sqlite3.Error) -> int | None:
    """The number of the operating system's error that SQLite has met."""
    name = getattr(error, "sqlite_errorname", "")
    return ENOSPC if name == "SQLITE_FULL" else EIO if name.startswith("SQLITE_IOERR") else None


def _reason(error: sqlite3.Error) -> str:
    """What is wrong in words of the operating system's, where SQLite has its own."""
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_FULL":
        return "No space left on device"
    if name.startswith("SQLITE_IOERR"):
        return f"the file cannot be read or written ({error}): is the disk full or a limit reached?"
    return str(error)
