"""Reading the store of results: its cases, its runs, their rows, and what makes them again."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopyard.errors import StoreError
from hopyard.scenario.inputs import Inputs
from hopyard.scenario.run_numbers import MOST_ASKED, MOST_RUN, read_numbers
from hopyard.store.database import NAME, Database
from hopyard.store.records import Kept, Maker, Record, StoredCase
from hopyard.store.rows import Row
from hopyard.tables.names import FILED, ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

#: What a store knows of how a run was made, with the type of each.
MADE = {"digest": str, "version": str, "build": str, "ended": str, "wall_s": float, "cpu_s": float}
#: The folder of the files of large tables.
SERIES = "series"
LOCK = ".lock"
#: Where results that are to replace others are until they are whole.
NEW = "new"
#: Files and folders of a folder of results that are no tables and no plots.
OWN = frozenset({NAME, f"{NAME}-wal", f"{NAME}-shm", f"{NAME}-journal", SERIES, LOCK, NEW})


class Reader(Database):
    """A store that is read; `snapshot` makes several reads one.

    Raises:
        StoreError: when the file cannot be opened, is no store, or cannot be read, and when it has
            a row that Hopyard does not write.
    """

    def files(self) -> list[str]:
        """The files beside the store that belong to these results."""
        names: list[str] = []
        for row in self._rows("meta", "value", "WHERE key = 'files'"):
            for name in row.texts("value"):
                if name != Path(name).name or name in OWN:
                    raise row.wrong("value", "names of files in the folder")
                names.append(name)
        return list(dict.fromkeys(names))

    def filed(self) -> list[str]:
        """The files of large tables that runs name."""
        rows = self._rows("runs", "series, segments")
        return [name for row in rows for name in _files(row).values()]

    # What is to be run.

    def cases(self) -> list[StoredCase]:
        """The cases, in the order of the comparison."""
        columns = "number, scenario, file, settings, config, seed, runs, series, interval, numbers"
        found = []
        for place, row in enumerate(self._rows("cases", columns, "ORDER BY number")):
            if row.whole("number") != place:
                raise row.wrong("number", f"the number {place}")
            row.whole("runs", MOST_ASKED)
            try:
                asked = read_numbers(row.text("numbers"))
            except ValueError:
                raise row.wrong("numbers", "numbers of runs such as 0..4,7") from None
            found.append(
                StoredCase(
                    place,
                    row.text("scenario"),
                    row.text_or_none("file"),
                    row.pairs("settings"),
                    row.text("config"),
                    row.whole("seed"),
                    asked,
                    row.texts("series"),
                    row.text("interval"),
                )
            )
        return found

    # Runs.

    def kept(self, config: str, seed: int) -> dict[int, Kept]:
        """The runs of a configuration and seed, by number."""
        columns = "run, version, platform, state, digest, quantities, interval, rows, series, segments"
        where = "WHERE config = ? AND seed = ?"
        with self.snapshot():
            there = self._counted(config, seed)
            rows = list(self._rows("runs", columns, where, (config, seed)))
        found = {}
        for row in rows:
            run = row.whole("run", MOST_RUN - 1)
            counts = {name: there.get(name, {}).get(run, 0) for name in ROWS}
            found[run] = Kept(
                row.text("version"),
                row.text("platform"),
                row.text("state"),
                row.text_or_none("digest"),
                frozenset(row.texts("quantities")),
                row.text("interval"),
                _files(row),
                row.text("state") != "done" or lacking(row.counts("rows"), counts) is None,
            )
        return found

    def watched(self) -> set[tuple[str, int]]:
        """The configurations and seeds whose number of runs depends on what the runs showed."""
        rows = self._rows("watched", "config, seed")
        return {(row.text("config"), row.whole("seed")) for row in rows}

    def makers(self) -> list[Maker]:
        """The builds and platforms that made the runs; first the one that has made most."""
        found = self._select(
            "SELECT version, build, platform, count(*) FROM runs GROUP BY 1, 2, 3 ORDER BY count(*) DESC"
        )
        return [Maker(*each) for each in found]

    def spent(self) -> tuple[float, str]:
        """The processor time of all runs, in seconds, and when the last of them ended."""
        ((cpu, ended),) = self._select("SELECT sum(cpu_s), max(ended) FROM runs")
        return float(cpu or 0.0), str(ended or "")

    def table(self, name: str) -> pa.Table | None:
        """The rows of all cases, in the order of cases and runs; none if no run has been added."""
        from hopyard.tables.tables import WrongValueError, from_rows

        if name not in self._tables:
            return None
        own = "".join(f', r."{column}"' for column, _ in self._tables[name])
        of_cases = (
            f"FROM cases c JOIN {name} r ON r.config = c.config AND r.seed = c.seed ORDER BY c.number, r.run, r.rowid"
        )
        found = self._select(f"SELECT c.number, r.run{own} {of_cases}")
        try:
            return from_rows(found, self._tables[name], ("case", "run"), name)
        except WrongValueError as error:
            ((number,),) = self._select(f"SELECT r.rowid {of_cases} LIMIT 1 OFFSET {error.row}")
            raise StoreError(f"{self.path}: {name}, row {number}: {error}") from None

    def rows_of(self, name: str, config: str, seed: int) -> pa.Table:
        """The rows of the finished runs of a configuration and seed, in the order of runs."""
        from hopyard.tables.tables import WrongValueError, empty, from_rows

        if name not in self._tables:
            return empty()[name].drop_columns(["case"])
        own = "".join(f', r."{column}"' for column, _ in self._tables[name])
        found = self._select(
            f"SELECT r.run{own} FROM {name} r JOIN runs u ON u.config = r.config"
            " AND u.seed = r.seed AND u.run = r.run AND u.version = r.version"
            " WHERE r.config = ? AND r.seed = ? AND u.state = 'done' ORDER BY r.run, r.rowid",
            (config, seed),
        )
        try:
            return from_rows(found, self._tables[name], ("run",), name)
        except WrongValueError as error:
            place = f"{self.path}: {name}, configuration {config}, seed {seed}"
            raise StoreError(f"{place}, row {error.row}: {error}") from None

    def texts(self, table: str, column: str) -> list[str]:
        """The different texts that the rows of all runs have in a column."""
        if column not in [name for name, _ in self._tables.get(table, ())]:
            return []
        found = self._select(f'SELECT DISTINCT "{column}" FROM {table}')
        return [text for (text,) in found if text is not None]

    def ended(self, config: str, seed: int) -> tuple[list[int], list[tuple[int, str]]]:
        """The numbers of the finished runs of a configuration and seed; the failed with errors.

        A run that lacks rows is not one of them: what is not there would count as zero.
        """
        with self.snapshot():
            found = self._select(
                "SELECT run, state, error FROM runs WHERE config = ? AND seed = ? ORDER BY run", (config, seed)
            )
            lacks = self.lacks(config, seed)
        done = [run for run, state, _ in found if state == "done" and run not in lacks]
        return done, [(run, error or "") for run, state, error in found if state == "failed"]

    def lacks(self, config: str, seed: int) -> dict[int, str]:
        """The finished runs that have other rows than were added to the store, and which."""
        where = "WHERE config = ? AND seed = ?"
        with self.snapshot():
            there = self._counted(config, seed)
            rows = self._rows("runs", "run, rows", f"{where} AND state = 'done'", (config, seed))
            wanted = {row.whole("run", MOST_RUN - 1): row.counts("rows") for row in rows}
        found = {}
        for run, counts in wanted.items():
            mine = {name: each[run] for name, each in there.items() if run in each}
            if (wrong := lacking(counts, mine)) is not None:
                found[run] = wrong
        return found

    def _counted(self, config: str, seed: int) -> dict[str, dict[int, int]]:
        """How many rows of each run the tables have."""
        where = "WHERE config = ? AND seed = ?"
        return {
            name: dict(self._select(f"SELECT run, count(*) FROM {name} {where} GROUP BY run", (config, seed)))
            for name in self._tables
        }

    def made(self, config: str, seed: int) -> dict[int, tuple[object, ...]]:
        """How the finished runs of a configuration and seed were made: the values of `MADE`."""
        where = "WHERE config = ? AND seed = ? AND state = 'done' ORDER BY run"
        found: dict[int, tuple[object, ...]] = {}
        for row in self._rows("runs", ", ".join(("run", *MADE)), where, (config, seed)):
            found[row.whole("run", MOST_RUN - 1)] = tuple(
                row.seconds(name) if kind is float else row.text_or_none(name) for name, kind in MADE.items()
            )
        return found

    def series_of(self, config: str, seed: int) -> dict[int, Path]:
        """The files of the series of the finished runs of a configuration and seed."""
        where = "WHERE config = ? AND seed = ? AND state = 'done' ORDER BY run"
        rows = self._rows("runs", "run, series, segments", where, (config, seed))
        files = [(row.whole("run"), _files(row)) for row in rows]
        return {run: self.folder / each["series"] for run, each in files if "series" in each}

    def runs(self) -> list[Record]:
        """What is known of each run, in the order of cases and runs."""
        columns = (
            "config, seed, run, version, build, platform, ended, wall_s, cpu_s, state, digest,"
            " error, quantities, interval, rows, series, segments"
        )
        found: list[Record] = []
        with self.snapshot():
            numbers: dict[tuple[str, int], list[int]] = {}
            for case in self.cases():
                numbers.setdefault((case.config, case.seed), []).append(case.number)
            rows = list(self._rows("runs", columns))
        for row in rows:
            record = Record(
                0,
                row.text("config"),
                row.whole("seed"),
                row.whole("run", MOST_RUN - 1),
                row.text("version"),
                row.text("build"),
                row.text("platform"),
                row.text("ended"),
                row.seconds("wall_s"),
                row.seconds("cpu_s"),
                row.text("state"),
                row.text_or_none("digest"),
                row.text_or_none("error"),
                _files(row),
                row.texts("quantities"),
                row.text("interval"),
                row.counts("rows"),
            )
            mine = numbers.get((record.config, record.seed), ())
            found += [replace(record, case=number) for number in mine]
        return sorted(found, key=lambda run: (run.case, run.run))

    def scenario(self, config: str) -> str | None:
        """The complete scenario behind a configuration hash."""
        for row in self._rows("configurations", "toml", "WHERE config = ?", (config,)):
            return row.text("toml")
        return None

    def inputs(self, config: str) -> Inputs:
        """What makes the scenario of a configuration again."""
        with self.snapshot():
            here = "WHERE config = ?"
            rows = list(self._rows("configurations", "toml, files, rules", here, (config,)))
            if not rows:
                raise StoreError(f"{self.path}: configurations has no row {config}")
            (row,) = rows
            contents = {}
            for name, key in row.pairs("files").items():
                file = self._by_hash("files", "content", key)
                try:
                    contents[name] = zlib.decompress(file.content("content"))
                except zlib.error:
                    raise file.wrong("content", "what zlib has compressed") from None
            sources = {
                name: self._by_hash("rules", "source", key).text("source") for name, key in row.pairs("rules").items()
            }
        place = f"{self.path}: configurations, {config}"
        return Inputs(row.text("toml"), contents, sources, place)

    def _by_hash(self, table: str, column: str, key: str) -> Row:
        for row in self._rows(table, column, "WHERE hash = ?", (key,)):
            return row
        raise StoreError(f"{self.path}: {table} has no row {key}")

    def _rows(self, table: str, columns: str, more: str = "", values: Sequence[object] = ()) -> Iterator[Row]:
        names = columns.split(", ")
        for found in self._select(f"SELECT rowid, {columns} FROM {table} {more}", values):
            yield Row(self.path, table, names, found)

    def _select(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._named():
            return self._connection.execute(query, values).fetchall()


def lacking(wanted: Mapping[str, int], there: Mapping[str, int]) -> str | None:
    """The first table that has other rows of a run than were added, in words; none if all agree."""
    for name in ROWS:
        found = there.get(name, 0)
        if found != wanted.get(name, 0):
            return f"{name} has {found} rows, and {wanted.get(name, 0)} were added"
    return None


def _files(row: Row) -> dict[str, str]:
    """The files of the large tables of a run."""
    found = {}
    for table in FILED:
        name = row.text_or_none(table)
        if name is not None:
            if name != f"{SERIES}/{Path(name).name}":
                raise row.wrong(table, f"the name of a file in {SERIES}/")
            found[table] = name
    return found
