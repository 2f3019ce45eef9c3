"""Results as tables on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopyard.statistics.estimates import estimate
from hopyard.tables import measures as known
from hopyard.tables.arrays import integers, where
from hopyard.tables.labels import short_keys, varying
from hopyard.tables.measures import MEASURES, SHOWN
from hopyard.tables.pairs import MARK, pairings, signed
from hopyard.terminal import tables as terminal
from hopyard.terminal.tables import Names, Numbers, console, say
from hopyard.terminal.words import many

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow as pa
    from rich.console import Console

    from hopyard.results.results import Results
    from hopyard.statistics.estimates import Estimate
    from hopyard.tables.cases import Case
    from hopyard.tables.measures import Measure
    from hopyard.tables.pairs import Pairing

#: The measures of a table of flows, unless others are chosen.
SHOWN_OF_FLOWS = tuple(name for name in SHOWN if MEASURES[name].of_a_flow)


def show(
    results: Results,
    measures: Sequence[str] | None = None,
    out: Console | None = None,
    against: Mapping[str, str] | None = None,
) -> None:
    """Prints the measures of each case, and the difference of each from the case that it is compared with.

    There is a table for each scenario; scenarios with one case each share a table. The difference is the mean of the
    differences of the pairs of runs with its 95 % interval. `hopyard.tables.pairs` says which cases have one;
    `against` names the case that others are compared with, such as `{"flow.tcp": "cubic"}`.

    Raises:
        ValueError: when a measure does not exist, or no case has the values of `against`.
    """
    chosen = [known.named(name) for name in known.check(measures or SHOWN)]
    out = out or console()
    if _nothing(results, out):
        return
    for cases in _groups(results):
        found, reasons = pairings(results, cases, against)
        _title(results, cases, "mean ± 95 % interval", out)
        numbers = [_numbers(measure, (results.estimate(measure.name, case) for case in cases)) for measure in chosen]
        terminal.show(out, _names(results, cases), numbers, _gaps(results, cases))
        _differences(results, chosen, cases, found, out)
        for text in reasons:
            say(out, (f"{text}.", "dim"))


def _differences(
    results: Results, measures: Sequence[Measure], cases: Sequence[Case], found: Sequence[Pairing], out: Console
) -> None:
    """Prints how much more each case has than the first one of its pairing, run by run."""
    seen = False
    for label, pairs in _by_label(found).items():
        estimates = [[results.difference(measure.name, *pair) for pair in pairs] for measure in measures]
        seen |= any(each.excludes_zero for column in estimates for each in column)
        say(out, ("difference", "bold"), (f" from {label}, run by run: mean ± 95 % interval", ""))
        numbers = [
            Numbers(measure.title, measure.unit, [signed(each) for each in column])
            for measure, column in zip(measures, estimates, strict=True)
        ]
        terminal.show(out, _pair_names(results, pairs, cases), numbers, _gaps(results, [case for case, _ in pairs]))
    if seen:
        say(out, (f"{MARK} zero is outside the interval", "dim"))


def _by_label(found: Sequence[Pairing]) -> dict[str, list[tuple[Case, Case]]]:
    """The cases with the ones that they are compared with, in a table for each name of the latter."""
    tables: dict[str, list[tuple[Case, Case]]] = {}
    for pairing in found:
        tables.setdefault(pairing.label, []).extend((case, pairing.first) for case in pairing.others)
    return tables


def flows(results: Results, measures: Sequence[str] | None = None, out: Console | None = None) -> None:
    """Prints the measures of each flow: the mean over the runs with its 95 % interval.

    Raises:
        ValueError: when a measure does not exist or says nothing of a single flow.
    """
    chosen = [known.named(name) for name in known.check(measures or SHOWN_OF_FLOWS)]
    for measure in chosen:
        if not measure.of_a_flow:
            able = ", ".join(name for name, each in MEASURES.items() if each.of_a_flow)
            text = f"{measure.name!r} is not a measure of single flows; expected one of {able}"
            raise ValueError(text)
    out = out or console()
    if _nothing(results, out):
        return
    for cases in _groups(results):
        _title(results, cases, "flows, mean ± 95 % interval", out)
        rows = [(case, *each) for case in cases for each in _flows_of(results, case)]
        names = _names(results, [case for case, _, _ in rows])
        # Flows that are drawn have other ends in each run.
        for head, column in (("flow", "flow"), ("from", "source"), ("to", "destination")):
            names.append(Names(head, [_only(table, column) for _, _, table in rows]))
        numbers = [
            _numbers(measure, (_of_flow(results, measure, case, table) for case, _, table in rows))
            for measure in chosen
        ]
        firsts = [i for i in range(1, len(rows)) if rows[i][0] is not rows[i - 1][0]]
        terminal.show(out, names, numbers, firsts if len(firsts) < len(rows) - 1 else ())


def latex(results: Results, measures: Sequence[str] | None = None, against: Mapping[str, str] | None = None) -> None:
    """Prints the tables of `show` for LaTeX, with the rules of its package booktabs.

    Raises:
        ValueError: when a measure does not exist, or no case has the values of `against`.
    """
    chosen = [known.named(name) for name in known.check(measures or SHOWN)]
    if _nothing(results, console()):
        return
    for cases in _groups(results):
        means = [[results.estimate(measure.name, case).parts() for case in cases] for measure in chosen]
        _tabular(_names(results, cases), chosen, means)
        found, reasons = pairings(results, cases, against)
        for label, pairs in _by_label(found).items():
            apart = [[signed(results.difference(measure.name, *pair)) for pair in pairs] for measure in chosen]
            print(f"% Difference from {_tex(label)}, run by run; {MARK}: zero is outside the 95 % interval.")
            _tabular(_pair_names(results, pairs, cases), chosen, apart)
        for text in reasons:
            print(f"% {text}.")


def _tabular(names: Sequence[Names], measures: Sequence[Measure], cells: Sequence[Sequence[tuple[str, str]]]) -> None:
    heads = [each.head for each in names] + [measure.label for measure in measures]
    columns = [[_tex(cell) for cell in each.cells] for each in names]
    columns += [[_tex_number(*parts) for parts in column] for column in cells]
    head, *rows = (" & ".join(line) + r" \\" for line in (map(_tex, heads), *zip(*columns, strict=True)))
    aligned = "l" * len(names) + "r" * len(measures)
    lines = [rf"\begin{{tabular}}{{{aligned}}}", r"\toprule", head, r"\midrule", *rows]
    print(*lines, r"\bottomrule", r"\end{tabular}", sep="\n")


#: Letters that LaTeX takes for its own.
_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def _tex(text: str) -> str:
    """A text as LaTeX prints it."""
    return "".join(_TEX.get(each, f"\\{each}" if each in "&%$#_{}" else each) for each in text)


def _tex_number(mean: str, half: str) -> str:
    half = half.replace(f" {MARK}", f"^{{{MARK}}}")
    number = f"{mean} \\pm {half}" if half else mean
    return "--" if mean == "-" else f"${number.replace(',', '{,}')}$"


def _nothing(results: Results, out: Console) -> bool:
    if not results.cases:
        say(out, ("No run was finished.", ""))
    return not results.cases


def _groups(results: Results) -> list[list[Case]]:
    """The cases of each table."""
    groups: dict[str, list[Case]] = {}
    for case in results.cases:
        groups.setdefault(case.scenario, []).append(case)
    if all(len(cases) == 1 for cases in groups.values()):
        return [list(results.cases)]
    return list(groups.values())


def _title(results: Results, cases: Sequence[Case], what: str, out: Console) -> None:
    scenarios = ", ".join(dict.fromkeys(case.scenario for case in cases))
    counts = sorted({len(results.runs_of(case)) for case in cases})
    runs = f"{counts[0]} to {counts[-1]} runs" if len(counts) > 1 else many(counts[0], "run")
    if counts == [1]:
        runs, what = "one run", what.replace("mean ± 95 % interval", "").rstrip(", ")
    say(out, (scenarios, "bold"), (f", {runs}{': ' if what else ''}{what}", ""))
    shared = [
        f"{key} = {cases[0].settings[key]}"
        for key in results.settings
        if key not in varying(results, cases) and cases[0].settings[key]
    ]
    if shared:
        say(out, (f"In all cases {', '.join(shared)}.", "dim"))


def _names(results: Results, rows: Sequence[Case], cases: Sequence[Case] | None = None) -> list[Names]:
    """The columns that tell rows apart: scenario, compared keys, and runs where they differ."""
    cases = cases or rows
    names = []
    keys = varying(results, cases)
    if len({case.scenario for case in cases}) > 1 or not keys:
        names.append(Names("scenario", [case.scenario for case in rows]))
    names += [Names(short, [case.settings[key] for case in rows]) for key, short in short_keys(keys).items()]
    counts = [len(results.runs_of(case)) for case in rows]
    if len(set(counts)) > 1:
        names.append(Names("runs", [str(count) for count in counts]))
    return names


def _pair_names(results: Results, pairs: Sequence[tuple[Case, Case]], cases: Sequence[Case]) -> list[Names]:
    """The columns that tell differences apart: those of `_names`, and pairs of runs where a case has more runs."""
    names = [each for each in _names(results, [case for case, _ in pairs], cases) if each.head != "runs"]
    runs = [(set(results.runs_of(case).tolist()), set(results.runs_of(first).tolist())) for case, first in pairs]
    if any(ours != theirs for ours, theirs in runs):
        names.append(Names("pairs", [str(len(ours & theirs)) for ours, theirs in runs]))
    return names


def _numbers(measure: Measure, estimates: Iterable[Estimate]) -> Numbers:
    return Numbers(measure.title, measure.unit, [each.parts() for each in estimates])


def _gaps(results: Results, cases: Sequence[Case]) -> list[int]:
    """The rows where the first of several keys changes."""
    keys = varying(results, cases)
    if len(keys) < 2:
        return []
    values = [case.settings[keys[0]] for case in cases]
    gaps = [row for row in range(1, len(values)) if values[row] != values[row - 1]]
    return gaps if len(gaps) < len(cases) - 1 else []


def _flows_of(results: Results, case: Case) -> list[tuple[int, pa.Table]]:
    rows = results.rows("flows", case)
    flow = integers(rows, "flow")
    return [(number, where(rows, flow == number)) for number in sorted(set(flow.tolist()))]


def _only(table: pa.Table, column: str) -> str:
    values = table[column].unique().to_pylist()
    return str(values[0]) if len(values) == 1 else "varies"


def _of_flow(results: Results, measure: Measure, case: Case, rows: pa.Table) -> Estimate:
    runs = results.runs_of(case)
    group = runs.searchsorted(integers(rows, "run"))
    return estimate(measure.of_runs(rows, group, len(runs)))
