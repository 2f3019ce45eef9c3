"""Reading the store of results: its cases, its runs, their rows, and what makes them again."""

from __future__ import annotations

import json
import platform
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopyard import _core
from hopyard.database import NAME, Database, StoreError
from hopyard.inputs import Inputs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa

    from hopyard.plan import Planned

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
    digest: str | None
    quantities: frozenset[str]
    interval: str


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a run of a case; times are in seconds."""

    case: int
    config: str
    seed: int
    run: int
    version: str
    build: str
    platform: str
    #: When it ended, in UTC.
    ended: str
    wall_s: float
    cpu_s: float
    state: str
    digest: str | None
    error: str | None
    #: The file of its series, in the folder.
    series: str | None
    quantities: tuple[str, ...]
    interval: str

    @classmethod
    def of(cls, run: _core.Run, case: Planned) -> Record:
        """What is known of a run that has just ended here."""
        return cls(
            run.case,
            *case.key,
            run.run,
            _core.__version__,
            _core.BUILD,
            here(),
            time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            run.wall_s,
            run.cpu_s,
            "done" if run.error is None else "failed",
            run.digest,
            run.error,
            None,
            case.series,
            case.interval,
        )


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


def here() -> str:
    """This platform, as the store calls it."""
    return f"{platform.system()} {platform.machine()}"


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
        found = self._select(
            "SELECT run, version, platform, state, digest, quantities, interval, series FROM runs"
            " WHERE config = ? AND seed = ?",
            (config, seed),
        )
        return {
            run: Kept(
                version,
                platform,
                state if series is None or (self.folder / series).exists() else "lost",
                digest,
                frozenset(json.loads(quantities)),
                interval,
            )
            for run, version, platform, state, digest, quantities, interval, series in found
        }

    def makers(self) -> list[Maker]:
        """The builds and platforms that made the runs; first the one that has made most."""
        build = "build" if self._has("runs", "build") else "''"
        found = self._select(
            f"SELECT version, {build}, platform, count(*) FROM runs GROUP BY 1, 2, 3"
            " ORDER BY count(*) DESC"
        )
        return [Maker(*each) for each in found]

    def table(self, name: str) -> pa.Table | None:
        """The rows of all cases, in the order of cases and runs; none if no run has been added."""
        from hopyard.tables import from_rows

        if name not in self._tables:
            return None
        own = "".join(f', r."{column}"' for column, _ in self._tables[name])
        found = self._select(
            f"SELECT c.number, r.run{own} FROM cases c JOIN {name} r"
            " ON r.config = c.config AND r.seed = c.seed ORDER BY c.number, r.run, r.rowid"
        )
        return from_rows(found, self._tables[name], ("case", "run"))

    def runs(self) -> list[Record]:
        """What is known of each run, in the order of cases and runs."""
        build = "r.build" if self._has("runs", "build") else "''"
        found = self._select(
            f"SELECT c.number, r.config, r.seed, r.run, r.version, {build}, r.platform, r.ended,"
            " r.wall_s, r.cpu_s, r.state, r.digest, r.error, r.series, r.quantities, r.interval"
            " FROM cases c JOIN runs r ON r.config = c.config AND r.seed = c.seed"
            " ORDER BY c.number, r.run"
        )
        return [Record(*(*row[:14], tuple(json.loads(row[14])), row[15])) for row in found]

    def scenario(self, config: str) -> str | None:
        """The complete scenario behind a configuration hash."""
        found = self._select("SELECT toml FROM configurations WHERE config = ?", (config,))
        return str(found[0][0]) if found else None

    def inputs(self, config: str) -> Inputs:
        """What makes the scenario of a configuration again."""
        with self.snapshot():
            row = self._select(
                "SELECT toml, files, rules FROM configurations WHERE config = ?", (config,)
            )
            if not row:
                raise StoreError(f"{self.path}: there is no configuration {config}")
            toml, files, rules = row[0]
            contents = {
                name: zlib.decompress(self._select_one("content", "files", file_hash))
                for name, file_hash in json.loads(files).items()
            }
            # Earlier, a module had the name of a rule in it.
            sources = {
                name.partition(":")[0]: self._select_one("source", "rules", source_hash)
                for name, source_hash in json.loads(rules).items()
            }
        return Inputs(toml, contents, sources)

    def _select_one(self, column: str, table: str, hash: str) -> Any:
        found = self._select(f"SELECT {column} FROM {table} WHERE hash = ?", (hash,))
        if not found:
            raise StoreError(f"{self.path}: {table} has no row {hash}")
        return found[0][0]
