"""The results of runs, which are drawn, saved in folders and read from them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hopyard import _core
from hopyard.errors import path_of
from hopyard.results import loading
from hopyard.results.loading import failure
from hopyard.results.merging import completed
from hopyard.results.provenance import Batch, Folders
from hopyard.tables import tables
from hopyard.tables.cases import Case
from hopyard.tables.measured import Measured
from hopyard.tables.names import TABLES
from hopyard.tables.tables import check_format
from hopyard.tables.writing import write_alone
from hopyard.terminal.words import one_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike
    from pathlib import Path

    import pyarrow as pa

    from hopyard.plot.canvas import Plot
    from hopyard.results.merging import Part
    from hopyard.scenario.plan import Planned
    from hopyard.store.reading import Reader
    from hopyard.store.records import Record

#: The kinds of plots of a measure.
PLOTS = ("lines", "bars", "box", "cdf")


class Results(Measured):
    """Tables of results: flows, nodes, drops, series, losses, messages, routes, handoffs and more.

    Each table is an attribute with its name, and a pyarrow table. pandas, polars and every other
    library with the Arrow PyCapsule interface accept them directly. Every row contains its
    scenario, compared settings and run, and also the seed, the configuration's hash and the version
    with which the run can be made again.
    The command `hopyard measures` and docs/results.md list the measures and the columns of each
    table, with their units and meanings.

    `complete` is false when requested runs are missing because Ctrl-C stopped them or because they
    failed. `failures` lists the failed runs.
    """

    @classmethod
    def load(cls, *folders: str | PathLike[str]) -> Results:
        """Reads the results of one folder, or of several as one.

        A folder may be one to which runs are still being added: its finished runs are read. If
        several folders contain the same run, it is read once.

        Raises:
            StoreError: when a folder has no results, or folders have different results of a run.
                Where only a file of series or segments is damaged, this is raised when they are
                used.
        """
        return _of_parts(loading.parts_of([path_of(folder, "a folder of results") for folder in folders]))

    def plot(
        self,
        measure: str = "goodput",
        x: str | None = None,
        *,
        kind: str | None = None,
        against: Mapping[str, str] | None = None,
        width: str | float | None = None,
    ) -> Plot:
        """A measure of every case with its interval: `results.plot().savefig("goodput.png")`.

        Cases that are compared run by run have their difference beside it.

        Args:
            measure: the measure.
            x: the key on the x axis: a compared key, or any other key of the scenarios.
            kind: "box" or "cdf" for the spread of the runs, "lines" or "bars" for the means alone.
            against: the values of compared keys that the case has with which others are compared,
                such as `{"flow.tcp": "cubic"}`; each is compared with the first one otherwise.
            width: for a paper: its "column", its "text", or a number of inches.

        Raises:
            ValueError: when there is no such measure, or the scenarios have no such key, or its
                values are no numbers and lines are asked for.
        """
        from hopyard.plot.canvas import on_page
        from hopyard.plot.compare import comparison, spread

        if kind not in (None, *PLOTS):
            raise ValueError(f"kind: expected {one_of(PLOTS)}, found {kind!r}")
        if self.cases and self.lacks(measure):
            raise ValueError(f"no run has the measure {measure}: there is nothing to draw")
        if kind is not None and against is not None:
            raise ValueError(f"against: a plot of the kind {kind} has no differences; expected no kind")
        if kind in ("box", "cdf") and x is not None:
            raise ValueError(
                f"x: a plot of the kind {kind} has all cases beside one another; expected no x, found {x!r}"
            )
        if kind in ("box", "cdf"):
            return on_page(width, lambda: spread(self, measure, kind))
        return on_page(width, lambda: comparison(self, measure, x, kind, against))

    def plot_series(self, quantity: str, run: int | None = None, *, width: str | float | None = None) -> Plot:
        """A sampled quantity over time in one run (default: the first), a panel for each case."""
        from hopyard.plot.canvas import on_page
        from hopyard.plot.series import over_time

        return on_page(width, lambda: over_time(self, quantity, run))

    def plot_timeline(self, run: int | None = None, *, width: str | float | None = None) -> Plot:
        """What was recorded of one run (default: the first) with its time, a panel for each case.

        Rows are the routes of flows, segments that were sent again, objects, judged losses, hosts that
        move between networks, and programs.

        Raises:
            ValueError: when nothing with a time was recorded.
        """
        from hopyard.plot.canvas import on_page
        from hopyard.plot.timeline import timeline

        figure = on_page(width, lambda: timeline(self, run))
        figure.fit()
        return figure

    def plot_segments(
        self,
        flow: int | None = None,
        run: int | None = None,
        *,
        since: float | None = None,
        until: float | None = None,
        unit: str = "kB",
        width: str | float | None = None,
    ) -> Plot:
        """The segments of a flow over time at its sender, a panel for each case.

        Args:
            flow: the number of the flow; the first one whose segments were recorded if not given.
            run: the number of the run; the first one if not given.
            since: the time at which the plot begins, in seconds.
            until: the time at which it ends, in seconds.
            unit: the unit of sequence numbers: "kB" or "segments" of the largest payload.
            width: for a paper: its "column", its "text", or a number of inches.

        Raises:
            ValueError: when no such segments were recorded, or none in this time.
        """
        from hopyard.plot.canvas import on_page
        from hopyard.plot.segments import time_sequence

        return on_page(width, lambda: time_sequence(self, flow, run, since=since, until=until, unit=unit))

    def save(self, folder: str | PathLike[str], format: str = "parquet", *, force: bool = False) -> list[Path]:
        """Adds the runs to a folder, writes the tables and the summary, and returns their paths.

        Raises:
            ValueError: when `format` is not "parquet" or "csv", or the folder has results of other
                scenarios and `force` is not set (it replaces them).
            StoreError: when the results were read from a folder of another build of Hopyard, which
                reads their scenario in another way.
            OSError: when a file cannot be written; the error names it.
        """
        check_format(format)
        where = path_of(folder, "a folder for the results")
        if self.origin is None:
            return write_alone(self, where, format)
        return self.origin.save(self, where, format, force=force)


def of_batch(cases: Sequence[Planned], records: Sequence[Record], parts: Sequence[Mapping[str, pa.Table]]) -> Results:
    """The results of runs that were kept in memory."""
    known = completed(
        [Case(number, each.scenario, each.settings, each.config, each.seed) for number, each in enumerate(cases)],
        lambda case: json.loads(cases[case.number].core.to_json(defaults=True)),
    )
    empty = tables.empty()
    merged = {name: tables.ordered([empty[name], *(part[name] for part in parts)]) for name in TABLES}
    failures = [failure(cases[each.case], each.run, each.error) for each in records if each.error is not None]
    done = len(records) - len(failures)
    return Results(
        {name: tables.with_origin(each, known, _core.__version__) for name, each in merged.items()},
        complete=done == sum(len(case.runs) for case in cases),
        failures=tuple(failures),
        origin=Batch(cases, tuple(records)),
    )


def of_store(store: Reader) -> Results:
    """What a store holds at the moment."""
    return _of_parts([loading.part_of(store)])


def _of_parts(parts: Sequence[Part]) -> Results:
    read = loading.together(parts)
    folders = tuple(part.folder for part in parts)
    origin = Folders(folders, tuple(read.cases), read.merged.asked, read.merged.records)
    return Results(read.tables, complete=read.merged.complete, failures=read.failures, origin=origin)
