"""Results and lists as tables on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hopyard.measures import MEASURES, SHOWN
from hopyard.stats import aligned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopyard.results import Case, Results


def console() -> Console:
    """The terminal; where the output goes to a file, lines are not broken at its width."""
    out = Console()
    return out if out.is_terminal else Console(width=200)


def show(results: Results, measures: Sequence[str] | None = None) -> None:
    """Prints each case's measures: mean and 95 % interval over the runs; one table a scenario."""
    out = console()
    if not results.cases:
        out.print("No run was finished.")
        return
    for scenario in dict.fromkeys(case.scenario for case in results.cases):
        cases = [case for case in results.cases if case.scenario == scenario]
        out.print(_table(results, scenario, cases, measures or SHOWN))


def _table(results: Results, scenario: str, cases: list[Case], measures: Sequence[str]) -> Table:
    runs = f"{results.runs} runs: mean ± 95 % interval" if results.runs > 1 else "one run"
    table = Table(
        title=f"[bold]{escape(scenario)}[/], {runs}", title_justify="left", box=SIMPLE_HEAD
    )
    # A key that has one value only needs no column.
    keys = [key for key in results.settings if len({case.settings[key] for case in cases}) > 1]
    for key in keys:
        table.add_column(escape(key.rpartition(".")[2]))
    columns = []
    for name in measures:
        measure = MEASURES[name]
        table.add_column(f"{measure.title}\n[dim]{measure.unit}[/]", justify="right")
        columns.append(aligned([results.estimate(name, case) for case in cases]))
    group = keys[0] if len(keys) > 1 else None
    for index, case in enumerate(cases):
        if group and index and cases[index - 1].settings[group] != case.settings[group]:
            table.add_row()
        table.add_row(
            *(escape(case.settings[key]) for key in keys), *(column[index] for column in columns)
        )
    return table
