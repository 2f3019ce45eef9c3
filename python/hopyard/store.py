"""The store of results: one SQLite file, to which each run is added as it ends.

It holds the runs, their rows, and all that makes them again: the complete scenario behind every
configuration hash, the movement files that it names, the source of rules written in Python. It can
be read while runs go on. A process that is killed loses nothing that was committed.

Series are large: those of each run are a Parquet file, which the store names.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import time
import uuid
import zlib
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hopyard import _core
from hopyard.database import ROWS, Database, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from hopyard.plan import Planned

SERIES = "series"


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
    #: How many runs were asked for.
    runs: int
    series: tuple[str, ...]
    interval: str


def here() -> str:
    """This platform, as the store calls it."""
    return f"{platform.system()} {platform.machine()}"


class Store(Database):
    """An open store.

    Raises:
        StoreError: when the file cannot be opened, is no store, or cannot be written.
    """

    def add_files(self, names: Iterable[str]) -> None:
        """Notes files beside the store that belong to these results."""
        with self._named():
            files = json.loads(self.meta("files") or "[]")
        self.note(files=json.dumps(list(dict.fromkeys([*files, *names]))))

    @property
    def complete(self) -> bool:
        """Whether all runs of the last call were finished."""
        with self._named():
            return self.meta("complete") == "yes"

    # What is to be run.

    def cases(self) -> list[StoredCase]:
        """The cases, in the order of the comparison."""
        with self._named():
            found = self._connection.execute(
                "SELECT number, scenario, file, settings, config, seed, runs, series, interval"
                " FROM cases ORDER BY number"
            ).fetchall()
        return [
            StoredCase(
                number,
                scenario,
                file,
                dict(json.loads(settings)),
                config,
                seed,
                runs,
                tuple(json.loads(series)),
                interval,
            )
            for number, scenario, file, settings, config, seed, runs, series, interval in found
        ]

    def register(self, cases: Sequence[Planned]) -> None:
        """Notes what is to be run, with all that makes it again."""
        stored = self.cases()
        mine = {case.key for case in cases}
        with self._named(), self._transaction():
            self._set("complete", "no")
            for case in cases:
                self._configuration(case)
            if any((case.config, case.seed) not in mine for case in stored):
                # A part of the comparison that is here: its order and its names stay.
                for case in cases:
                    self._connection.execute(
                        "UPDATE cases SET runs = max(runs, ?) WHERE config = ? AND seed = ?",
                        (len(case.runs), *case.key),
                    )
                return
            before = {(case.config, case.seed): case.runs for case in stored}
            self._connection.execute("DELETE FROM cases")
            self._connection.executemany(
                "INSERT INTO cases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        number,
                        case.scenario,
                        case.file,
                        json.dumps(list(case.settings.items())),
                        case.config,
                        case.seed,
                        max(len(case.runs), before.get(case.key, 0)),
                        json.dumps(case.series),
                        case.interval,
                    )
                    for number, case in enumerate(cases)
                ],
            )

    def _configuration(self, case: Planned) -> None:
        core = case.core
        known = self._connection.execute(
            "SELECT 1 FROM configurations WHERE config = ?", (case.config,)
        )
        if known.fetchone():
            return
        files = {}
        for name, file_hash, content in core.files():
            files[name] = file_hash
            self._connection.execute(
                "INSERT OR IGNORE INTO files VALUES (?, ?, ?, ?)",
                (file_hash, name, len(content), zlib.compress(content)),
            )
        complete = json.loads(core.to_json(defaults=True))
        rules = {}
        for name in _rules(complete):
            module = name.partition(":")[0]
            source = _source(module)
            if source is None:
                continue
            rules[name] = source_hash = hashlib.sha256(source.encode()).hexdigest()
            self._connection.execute(
                "INSERT OR IGNORE INTO rules VALUES (?, ?, ?)", (source_hash, module, source)
            )
        self._connection.execute(
            "INSERT INTO configurations VALUES (?, ?, ?, ?, ?, ?)",
            (
                case.config,
                core.name,
                str(complete.get("profile", "")),
                core.to_toml(defaults=True),
                json.dumps(files),
                json.dumps(rules),
            ),
        )

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
        build = "build" if self._has_builds() else "''"
        with self._named():
            found = self._connection.execute(
                f"SELECT version, {build}, platform, count(*) FROM runs GROUP BY 1, 2, 3"
                " ORDER BY count(*) DESC"
            ).fetchall()
        return [Maker(*each) for each in found]

    def add(
        self,
        cases: Sequence[Planned],
        records: Sequence[_core.Run],
        tables: Mapping[str, pa.Table],
    ) -> None:
        """Adds runs that have ended: together, or, where they do not fit, as many as do.

        Raises:
            StoreError: when one could not be added; those before it are in the store.
        """
        from hopyard.tables import restrict

        try:
            with self._named():
                self._add(cases, records, tables)
        except OSError as error:
            if len(records) == 1:
                if isinstance(error, StoreError):
                    raise
                raise StoreError(error.errno or 0, error.strerror or "", error.filename) from error
            for one in records:
                keep = {(each.case, each.run): each is one for each in records}
                self.add(cases, [one], {name: restrict(t, keep) for name, t in tables.items()})

    def _add(
        self,
        cases: Sequence[Planned],
        records: Sequence[_core.Run],
        tables: Mapping[str, pa.Table],
    ) -> None:
        # Series first: the store names no file that is not there.
        series: dict[tuple[int, int], str] = {}
        known = dict(self._tables)
        try:
            self._write_series(cases, tables["series"], series)
            self._insert(cases, records, tables, series)
        except BaseException:
            # Others may find room where these were, and tables made in the transaction are gone.
            self._tables = known
            for name in series.values():
                (self.folder / name).unlink(missing_ok=True)
            raise

    def _insert(
        self,
        cases: Sequence[Planned],
        records: Sequence[_core.Run],
        tables: Mapping[str, pa.Table],
        series: Mapping[tuple[int, int], str],
    ) -> None:
        from hopyard.tables import rows

        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        keys = {(each.case, each.run): (*cases[each.case].key, each.run) for each in records}
        with self._transaction():
            for each in records:
                case = cases[each.case]
                key = (*case.key, each.run)
                old = self._connection.execute(
                    "SELECT series FROM runs WHERE config = ? AND seed = ? AND run = ?", key
                ).fetchone()
                if old:
                    for name in ("runs", *self._tables):
                        self._connection.execute(
                            f"DELETE FROM {name} WHERE config = ? AND seed = ? AND run = ?", key
                        )
                self._connection.execute(
                    "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        *key,
                        _core.__version__,
                        here(),
                        now,
                        each.wall_s,
                        each.cpu_s,
                        "done" if each.error is None else "failed",
                        each.digest,
                        each.error,
                        series.get((each.case, each.run)),
                        json.dumps(case.series),
                        case.interval,
                        _core.BUILD,
                    ),
                )
            for name in ROWS:
                table = tables[name]
                self._prepare(name, table.schema)
                own = rows(table)
                if own:
                    marks = ", ".join("?" * (len(own[0]) + 2))
                    self._connection.executemany(
                        f"INSERT INTO {name} VALUES ({marks})",
                        [(*keys[row[:2]], _core.__version__, *row[2:]) for row in own],  # type: ignore[index]
                    )

    def _write_series(
        self,
        cases: Sequence[Planned],
        table: pa.Table,
        names: dict[tuple[int, int], str],
    ) -> None:
        """Writes the series of each run, and adds the files' names as they are written."""
        import numpy as np
        from pyarrow import parquet

        from hopyard.tables import numbers, whole

        if not len(table):
            return
        (self.folder / SERIES).mkdir(exist_ok=True)
        case, run = numbers(table, "case"), numbers(table, "run")
        new = np.flatnonzero((np.diff(case) != 0) | (np.diff(run) != 0)) + 1
        for first, end in zip([0, *new.tolist()], [*new.tolist(), len(table)], strict=True):
            pair = int(case[first]), int(run[first])
            config, seed = cases[pair[0]].key
            # A name of its own: a run that is made again does not touch the file of the former.
            name = f"{config}-{seed}-{pair[1]}-{uuid.uuid4().hex[:8]}.parquet"
            rows = table.slice(first, end - first).drop_columns(["case", "run"])
            whole(
                self.folder / SERIES / name,
                lambda path, rows=rows: parquet.write_table(rows, path, compression="zstd"),  # type: ignore[misc]
            )
            names[pair] = f"{SERIES}/{name}"

    def _prepare(self, name: str, schema: pa.Schema) -> None:
        """Makes the table of rows, or checks that it has the columns of this version."""
        from hopyard.tables import columns, sql_type

        wanted = columns(schema)
        if name in self._tables:
            if self._tables[name] != wanted:
                raise StoreError(
                    f"{self.path}: the columns of {name} are those of another build of Hopyard"
                )
            return
        own = "".join(f', "{column}" {sql_type(kind)}' for column, kind in wanted)
        self._connection.execute(
            f"CREATE TABLE {name} (config TEXT NOT NULL, seed INTEGER NOT NULL,"
            f" run INTEGER NOT NULL, version TEXT NOT NULL{own})"
        )
        self._connection.execute(f"CREATE INDEX {name}_of_run ON {name} (config, seed, run)")
        self._set(f"columns of {name}", json.dumps(wanted))
        self._tables[name] = wanted

    # Reading.

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

    def scenarios(self) -> dict[str, str]:
        """The complete scenario behind each configuration hash."""
        with self._named():
            found = self._connection.execute("SELECT config, toml FROM configurations")
            return dict(found.fetchall())

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

    def sweep(self) -> None:
        """Removes files of series that no run names: the process that wrote them was killed."""
        folder = self.folder / SERIES
        if not folder.is_dir():
            return
        with self._named():
            named = {row[0] for row in self._connection.execute("SELECT series FROM runs")}
        for path in folder.iterdir():
            if f"{SERIES}/{path.name}" not in named and path.suffix == ".parquet":
                path.unlink(missing_ok=True)
        # It goes when nothing is left in it.
        with suppress(OSError):
            folder.rmdir()


def _rules(value: object) -> Iterable[str]:
    """The names of rules written in Python that a scenario's flows use."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key == "tcp" and isinstance(each, str) and ":" in each:
                yield each
            else:
                yield from _rules(each)
    elif isinstance(value, list):
        for each in value:
            yield from _rules(each)


def _source(module: str) -> str | None:
    """The source of a module, if it has a file."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not os.access(file, os.R_OK):
        return None
    return Path(file).read_text(encoding="utf-8", errors="replace")
