"""The store of results: one SQLite file, to which each run is added as it ends.

It holds the runs, their rows, and all that makes them again: the complete scenario behind every
configuration hash, the files that it names, the source of rules written in Python. It can
be read while runs go on. A process that is killed loses nothing that was committed.

Series and segments are large: those of each run are a Parquet file each, which the store names.
"""

from __future__ import annotations

import json
import re
import uuid
import zlib
from collections import Counter
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from hopyard.errors import StoreError
from hopyard.files import whole
from hopyard.scenario.inputs import Inputs
from hopyard.scenario.run_numbers import write_numbers
from hopyard.store.reading import SERIES, Reader
from hopyard.tables.names import FILED, ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa

    from hopyard.scenario.plan import Planned
    from hopyard.store.records import Record

#: The name of a file of a large table: configuration, seed, run, and a part of its own. It is
#: another one while the file is written.
_FILE = re.compile(r"\.?([0-9a-f]+)-([0-9]+)-[0-9]+-[0-9a-f]{8}\.parquet(?:\.part\.parquet)?")


class Store(Reader):
    """An open store, to which runs are added.

    Raises:
        StoreError: when the file cannot be opened, is no store, or cannot be written.
    """

    def add_files(self, names: Iterable[str]) -> None:
        """Notes files beside the store that belong to these results."""
        self.note(files=json.dumps(list(dict.fromkeys([*self.files(), *names]))))

    # What is to be run.

    def register(self, cases: Sequence[Planned], *, anew: bool = False) -> None:
        """Notes what is to be run, with all that makes it again.

        What was asked for before stays asked for: runs and series are added to it. With `anew`,
        the runs are these alone.
        """
        with self._named(), self._transaction():
            stored = self.cases()
            before = {(case.config, case.seed): case for case in stored}
            self._set("complete", "no")
            for case in cases:
                self._configuration(case)
            wanted: dict[tuple[str, int], tuple[object, ...]] = {}
            groups: dict[tuple[str, int], list[Planned]] = {}
            for case in cases:
                groups.setdefault(case.key, []).append(case)
            for key, same in groups.items():
                asked = {run for each in same for run in each.runs}
                series = [name for each in same for name in each.observed]
                interval = same[-1].interval
                if (old := before.get(key)) is not None:
                    asked |= set() if anew else set(old.runs)
                    interval = interval if series else old.interval
                    series = [*old.series, *series]
                wanted[key] = (len(asked), json.dumps(list(dict.fromkeys(series))), interval, write_numbers(asked))
            if not anew and wanted.keys() < before.keys():
                # A part of the comparison that is here: its order and its names stay.
                self._connection.executemany(
                    "UPDATE cases SET runs = ?, series = ?, interval = ?, numbers = ? WHERE config = ? AND seed = ?",
                    [(*values, *key) for key, values in wanted.items()],
                )
                return
            self._connection.execute("DELETE FROM cases")
            self._connection.executemany(
                "INSERT INTO cases (number, scenario, file, settings, config, seed, runs, series,"
                " interval, numbers) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        number,
                        case.scenario,
                        case.file,
                        json.dumps(list(case.settings.items())),
                        *case.key,
                        *wanted[case.key],
                    )
                    for number, case in enumerate(cases)
                ],
            )

    def watch(self, cases: Iterable[Planned], measure: str, share: float) -> None:
        """Notes that runs are added to these cases until the interval of a measure is narrow."""
        self.check_there()
        with self._named(), self._transaction():
            self._connection.executemany(
                "INSERT OR REPLACE INTO watched VALUES (?, ?, ?, ?)", [(*case.key, measure, share) for case in cases]
            )

    def _configuration(self, case: Planned) -> None:
        core = case.core
        known = self._connection.execute("SELECT 1 FROM configurations WHERE config = ?", (case.config,))
        if known.fetchone():
            return
        inputs = Inputs.of(core, case.base)
        hashes = {name: file_hash for name, file_hash, _ in core.files()}
        for name, content in inputs.files.items():
            self._connection.execute(
                "INSERT OR IGNORE INTO files VALUES (?, ?, ?, ?)",
                (hashes[name], name, len(content), zlib.compress(content)),
            )
        rules = {}
        for module, source in inputs.rules.items():
            import hashlib

            rules[module] = source_hash = hashlib.sha256(source.encode()).hexdigest()
            self._connection.execute("INSERT OR IGNORE INTO rules VALUES (?, ?, ?)", (source_hash, module, source))
        profile = json.loads(core.to_json(defaults=True)).get("profile", "")
        self._connection.execute(
            "INSERT INTO configurations VALUES (?, ?, ?, ?, ?, ?)",
            (case.config, core.name, str(profile), inputs.toml, json.dumps(hashes), json.dumps(rules)),
        )

    # Runs.

    def add(self, cases: Sequence[Planned], records: Sequence[Record], tables: Mapping[str, pa.Table]) -> None:
        """Adds runs that have ended: together, or, where they do not fit, as many as do.

        Raises:
            StoreError: when one could not be added; those before it are in the store.
        """
        from hopyard.tables.tables import restrict

        self.check_there()
        try:
            with self._named():
                self._add(cases, records, tables)
        except OSError as error:
            if len(records) == 1:
                if isinstance(error, StoreError):
                    raise
                raise StoreError(error.errno or 0, error.strerror or "", error.filename) from error
            for one in records:
                mine = {(one.case, one.run)}
                self.add(cases, [one], {name: restrict(t, mine) for name, t in tables.items()})

    def _add(self, cases: Sequence[Planned], records: Sequence[Record], tables: Mapping[str, pa.Table]) -> None:
        # Files first: the store names none that is not there.
        files: dict[str, dict[tuple[int, int], str]] = {name: {} for name in FILED}
        known = dict(self._tables)
        try:
            for name, written in files.items():
                self._write_files(cases, tables[name], written)
            self._insert(cases, records, tables, files)
        except BaseException:
            # Others may find room where these were, and tables made in the transaction are gone.
            self._tables = known
            for written in files.values():
                for path in written.values():
                    (self.folder / path).unlink(missing_ok=True)
            raise

    def _insert(
        self,
        cases: Sequence[Planned],
        records: Sequence[Record],
        tables: Mapping[str, pa.Table],
        files: Mapping[str, Mapping[tuple[int, int], str]],
    ) -> None:
        from hopyard.tables.tables import rows

        heads = {(each.case, each.run): (*cases[each.case].key, each.run, each.version) for each in records}
        added = {name: rows(tables[name]) for name in ROWS}
        counts = [(name, Counter((row[0], row[1]) for row in own)) for name, own in added.items()]
        with self._transaction():
            for each in records:
                case = cases[each.case]
                key = (*case.key, each.run)
                for name in ("runs", *self._tables):
                    self._connection.execute(f"DELETE FROM {name} WHERE config = ? AND seed = ? AND run = ?", key)
                self._connection.execute(
                    "INSERT INTO runs (config, seed, run, version, platform, ended, wall_s, cpu_s,"
                    " state, digest, error, series, segments, quantities, interval, build, rows)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        *key,
                        each.version,
                        each.platform,
                        each.ended,
                        each.wall_s,
                        each.cpu_s,
                        each.state,
                        each.digest,
                        each.error,
                        files["series"].get((each.case, each.run)),
                        files["segments"].get((each.case, each.run)),
                        json.dumps(each.quantities),
                        each.interval,
                        each.build,
                        json.dumps({name: count[each.case, each.run] for name, count in counts}),
                    ),
                )
            for name in ROWS:
                self._prepare(name, tables[name].schema)
                if own := added[name]:
                    marks = ", ".join("?" * (len(own[0]) + 2))
                    self._connection.executemany(
                        f"INSERT INTO {name} VALUES ({marks})", [(*heads[row[0], row[1]], *row[2:]) for row in own]
                    )

    def _write_files(self, cases: Sequence[Planned], table: pa.Table, names: dict[tuple[int, int], str]) -> None:
        """Writes the rows of each run, and adds the files' names as they are written."""
        import numpy as np

        from hopyard.tables.arrays import integers
        from hopyard.tables.tables import write_parquet

        if not len(table):
            return
        (self.folder / SERIES).mkdir(exist_ok=True)
        case, run = integers(table, "case"), integers(table, "run")
        new = np.flatnonzero((np.diff(case) != 0) | (np.diff(run) != 0)) + 1
        for first, end in zip([0, *new.tolist()], [*new.tolist(), len(table)], strict=True):
            pair = int(case[first]), int(run[first])
            config, seed = cases[pair[0]].key
            # A name of its own: a run that is made again does not touch the file of the former.
            name = f"{config}-{seed}-{pair[1]}-{uuid.uuid4().hex[:8]}.parquet"
            rows = table.slice(first, end - first).drop_columns(["case", "run"])
            whole(self.folder / SERIES / name, partial(write_parquet, rows))
            names[pair] = f"{SERIES}/{name}"

    def _prepare(self, name: str, schema: pa.Schema) -> None:
        """Makes the table of rows, or checks that it has the columns of this version."""
        from hopyard.tables.tables import columns, sql_type

        wanted = columns(schema)
        if name in self._tables:
            if self._tables[name] != wanted:
                raise StoreError(f"{self.path}: the columns of {name} are those of another build of Hopyard")
            return
        own = "".join(f', "{column}" {sql_type(kind)}' for column, kind in wanted)
        self._connection.execute(
            f"CREATE TABLE {name} (config TEXT NOT NULL, seed INTEGER NOT NULL,"
            f" run INTEGER NOT NULL, version TEXT NOT NULL{own})"
        )
        self._connection.execute(f"CREATE INDEX {name}_of_run ON {name} (config, seed, run)")
        self._set(f"columns of {name}", json.dumps(wanted))
        self._tables[name] = wanted

    def sweep(self, *, all_of_them: bool = False) -> None:
        """Removes files of large tables that no run names: the process that wrote them was killed.

        Only files that bear the name of a configuration and seed of this store are its own. With
        `all_of_them`, those that a run names are removed, too.
        """
        folder = self.folder / SERIES
        if not folder.is_dir():
            return
        with self._named():
            runs = self._connection.execute(f"SELECT {', '.join(FILED)} FROM runs")
            named = set() if all_of_them else {name for row in runs for name in row if name}
            keys = self._connection.execute("SELECT config, seed FROM cases UNION SELECT config, seed FROM runs")
            mine = {(config, str(seed)) for config, seed in keys}
        for path in folder.iterdir():
            found = _FILE.fullmatch(path.name)
            if found and found.groups() in mine and f"{SERIES}/{path.name}" not in named:
                path.unlink(missing_ok=True)
        # It goes when nothing is left in it.
        with suppress(OSError):
            folder.rmdir()
