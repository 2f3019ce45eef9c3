"""Reading the store of results: its cases, its runs, their rows, and what makes them again."""

from __future__ import annotations

import json
import zlib
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopyard.database import NAME, Database, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa

#: The folder of the files of series.
SERIES = "series"
LOCK = ".lock"
#: Where results that are to replace others are until they are whole.
NEW = "new"
#: Files and folders of a folder of results that are no tables and no plots.
OWN = frozenset({NAME, f"{NAME}-wal", f"{NAME}-shm", f"{NAME}-journal", SERIES, LOCK, NEW})
_JSON: dict[type, str] = {list: "list", dict: "object"}


@dataclass(frozen=True, slots=True)
class Kept:
    """A run that is in the store."""

    version: str
    platform: str
    state: str
    quantities: frozenset[str]
    interval: str


@dataclass(frozen=True, slots=True)
class Maker:
    """What has made runs that are in the store."""

    version: str
    #: The identity of the build; empty where the run was stored before there was one.
    build: str
    platform: str
    runs: int

    @property
    def name(self) -> str:
        """The version with the build."""
        return f"{self.version} (build {self.build or 'unknown'})"


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A case that is in the store."""

    number: int
    scenario: str
    file: str | None
    settings: dict[str, str]
    config: str
    seed: int
    #: The numbers of the runs that were asked for.
    runs: Sequence[int]
    series: tuple[str, ...]
    interval: str


def write_numbers(numbers: Iterable[int]) -> str:
    """Numbers of runs as text, such as "0..4,7"."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(f"{first}..{last}" if last > first else f"{first}" for first, last in parts)


def read_numbers(text: str) -> Sequence[int]:
    """The numbers that `write_numbers` has written.

    Raises:
        ValueError: when the text is another one.
    """
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("..")
        found += range(int(first), int(last or first) + 1)
    return found


class Reader(Database):
    """A store that is read; `snapshot` makes several reads one.

    Raises:
        StoreError: when the file cannot be opened, is no store, or cannot be read.
    """

    def files(self) -> list[str]:
        """The files beside the store that belong to these results.

        Raises:
            StoreError: when a name is not that of a file in the folder itself.
        """
        with self._named():
            text = self.meta("files") or "[]"
        names = self._json("meta, files", text, list)
        for name in names:
            if not (isinstance(name, str) and name == Path(name).name and name not in OWN):
                raise StoreError(
                    f"{self.path}: meta, files: expected names of files in the folder, found "
                    f"{name!r}"
                )
        return list(dict.fromkeys(names))

    def _json(self, place: str, text: object, kind: type[Any]) -> Any:
        """A value that stands in the store as JSON."""
        try:
            value = json.loads(text)  # type: ignore[arg-type]
        except (TypeError, ValueError, RecursionError):
            value = None
        if not isinstance(value, kind):
            raise StoreError(
                f"{self.path}: {place}: expected a JSON {_JSON[kind]}, found {text!r:.100}"
            )
        return value

    def series(self) -> list[str]:
        """The files of series that runs name."""
        with self._named():
            found = self._connection.execute("SELECT series FROM runs WHERE series IS NOT NULL")
            names = [str(name) for (name,) in found]
        for name in names:
            if name != f"{SERIES}/{Path(name).name}":
                raise StoreError(
                    f"{self.path}: runs, series: expected a file in {SERIES}/, found {name!r}"
                )
        return names

    # What is to be run.

    def cases(self) -> list[StoredCase]:
        """The cases, in the order of the comparison."""
        column = "numbers" if self._has("cases", "numbers") else "''"
        found = self._select(
            "SELECT number, scenario, file, settings, config, seed, runs, series, interval,"
            f" {column} FROM cases ORDER BY number"
        )
        return [
            StoredCase(
                number,
                scenario,
                file,
                dict(json.loads(settings)),
                config,
                seed,
                read_numbers(numbers) if numbers else range(runs),
                tuple(json.loads(series)),
                interval,
            )
            for number, scenario, file, settings, config, seed, runs, series, interval, numbers in (
                found
            )
        ]

    def _select(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._named():
            return self._connection.execute(query, values).fetchall()

    # Runs.

    def kept(self, config: str, seed: int) -> dict[int, Kept]:
        """The runs of a configuration and seed, by number; one whose series are gone is "lost"."""
        with self._named():
            found = self._connection.execute(
                "SELECT run, version, platform, state, quantities, interval, series FROM runs"
                " WHERE config = ? AND seed = ?",
                (config, seed),
            ).fetchall()
        return {
            run: Kept(
                version,
                platform,
                state if series is None or (self.folder / series).exists() else "lost",
                frozenset(json.loads(quantities)),
                interval,
            )
            for run, version, platform, state, quantities, interval, series in found
        }

    def makers(self) -> list[Maker]:
        """The builds and platforms that made the runs; first the one that has made most."""
        build = "build" if self._has("runs", "build") else "''"
        with self._named():
            found = self._connection.execute(
                f"SELECT version, {build}, platform, count(*) FROM runs GROUP BY 1, 2, 3"
                " ORDER BY count(*) DESC"
            ).fetchall()
        return [Maker(*each) for each in found]

    def table(self, name: str) -> pa.Table | None:
        """The rows of all cases, in the order of cases and runs; none if no run has been added."""
        from hopyard.tables import from_rows

        if name not in self._tables:
            return None
        own = "".join(f', r."{column}"' for column, _ in self._tables[name])
        with self._named():
            found = self._connection.execute(
                f"SELECT c.number, r.run{own} FROM cases c JOIN {name} r"
                " ON r.config = c.config AND r.seed = c.seed ORDER BY c.number, r.run, r.rowid"
            ).fetchall()
        return from_rows(found, self._tables[name], ("case", "run"))

    def runs(self) -> list[dict[str, object]]:
        """What is known of each run, in the order of cases and runs."""
        with self._named(), closing(self._connection.cursor()) as cursor:
            cursor.execute(
                "SELECT c.number AS 'case', r.* FROM cases c JOIN runs r"
                " ON r.config = c.config AND r.seed = c.seed ORDER BY c.number, r.run"
            )
            names = [part[0] for part in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def scenario(self, config: str) -> str | None:
        """The complete scenario behind a configuration hash."""
        with self._named():
            row = self._connection.execute(
                "SELECT toml FROM configurations WHERE config = ?", (config,)
            ).fetchone()
        return None if row is None else str(row[0])

    def inputs(self, config: str) -> tuple[dict[str, bytes], dict[str, str]]:
        """The movement files of a configuration by name, and the source of its rules by module."""
        with self._named():
            row = self._connection.execute(
                "SELECT files, rules FROM configurations WHERE config = ?", (config,)
            ).fetchone()
            files, rules = (json.loads(part) for part in row)
            contents = {}
            for name, file_hash in files.items():
                (content,) = self._connection.execute(
                    "SELECT content FROM files WHERE hash = ?", (file_hash,)
                ).fetchone()
                contents[name] = zlib.decompress(content)
            sources = {}
            for source_hash in rules.values():
                module, source = self._connection.execute(
                    "SELECT module, source FROM rules WHERE hash = ?", (source_hash,)
                ).fetchone()
                sources[module] = source
        return contents, sources
