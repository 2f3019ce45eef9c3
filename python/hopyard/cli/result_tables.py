"""Results as tables on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopyard.statistics.estimates import estimate
from hopyard.tables import measures as known
from hopyard.tables.arrays import integers, where
from hopyard.tables.labels import short_keys, varying
from hopyard.tables.measures import MEASURES, SHOWN
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

#: The measures of a table of flows, unless others are chosen.
SHOWN_OF_FLOWS = tuple(name for name in SHOWN if MEASURES[name].of_a_flow)


def show(results: Results, measures: Sequence[str] | None = None, out: Console | None = None) -> None:
    """Prints the measures of each case: the mean over the runs with its 95 % interval.

    There is a table for each scenario; scenarios with one case each share a table.

    Raises:
        ValueError: when a measure does not exist.
    """
    chosen = [known.named(name) for name in known.check(measures or SHOWN)]
    out = out or console()
    if _nothing(results, out):
        return
    for cases in _groups(results):
        _title(results, cases, "mean ± 95 % interval", out)
        numbers = [_numbers(measure, (results.estimate(measure.name, case) for case in cases)) for measure in chosen]
        terminal.show(out, _names(results, cases), numbers, _gaps(results, cases))


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


def differences(
    results: Results,
    measures: Sequence[str] | None = None,
    baseline: Case | None = None,
    out: Console | None = None,
    case_is: Mapping[str, str] | None = None,
) -> None:
    """Prints how much more each case has than the first case of its scenario and seed, run by run.

    With `case_is`, values of compared keys such as `{"flow.tcp": "cubic"}`, each case is compared
    with the one that has these values and differs from it in nothing else.

    Runs of the same seed and number meet the same movement and channel, so the interval is that
    of the differences of the pairs, which is narrower than that of two independent means. An
    interval without 0 in it is a difference that the runs show.

    Raises:
        ValueError: when a measure does not exist, or no case has the values of `case_is`.
    """
    chosen = [known.named(name) for name in known.check(measures or SHOWN)]
    out = out or console()
    if _nothing(results, out):
        return
    groups = [part for group in _groups(results) for part in _by_seed(group)]
    if case_is is not None:
        _check_case(results, case_is)
        groups = [part for group in groups for part in _beside(group, case_is)]
    for cases in groups:
        first = baseline or _first(cases, case_is)
        if first is None:
            wanted = ", ".join(f"{key}={value}" for key, value in (case_is or {}).items())
            say(out, (f"{cases[0]}: there is no case beside it that has {wanted}.", ""))
            continue
        others = [case for case in cases if case is not first]
        if not others:
            of_seed = f" of seed {first.seed}" if len(results.cases) > 1 else ""
            say(out, (f"{first}: there is no other case{of_seed} to compare it with.", ""))
            continue
        _title(results, cases, f"difference from {_text(results, cases, first)}, by pairs", out)
        numbers = [
            _numbers(measure, (results.difference(measure.name, case, first) for case in others)) for measure in chosen
        ]
        names = _names(results, others, cases)
        terminal.show(out, names, numbers, _gaps(results, others))


def latex(results: Results, measures: Sequence[str] | None = None) -> None:
    """Prints the measures of each case as tables of LaTeX, with the rules of its package booktabs.

    Raises:
        ValueError: when a measure does not exist.
    """
    chosen = [known.named(name) for name in known.check(measures or SHOWN)]
    if _nothing(results, console()):
        return
    for cases in _groups(results):
        names = _names(results, cases)
        heads = [each.head for each in names] + [measure.label for measure in chosen]
        columns = [[_tex(cell) for cell in each.cells] for each in names] + [
            [_tex_number(*results.estimate(measure.name, case).parts()) for case in cases] for measure in chosen
        ]
        head, *rows = (" & ".join(line) + r" \\" for line in (map(_tex, heads), *zip(*columns, strict=True)))
        aligned = "l" * len(names) + "r" * len(chosen)
        lines = [rf"\begin{{tabular}}{{{aligned}}}", r"\toprule", head, r"\midrule", *rows]
        print(*lines, r"\bottomrule", r"\end{tabular}", sep="\n")


#: Letters that LaTeX takes for its own.
_TEX = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def _tex(text: str) -> str:
    """A text as LaTeX prints it."""
    return "".join(_TEX.get(each, f"\\{each}" if each in "&%$#_{}" else each) for each in text)


def _tex_number(mean: str, half: str) -> str:
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


def _by_seed(cases: Sequence[Case]) -> list[list[Case]]:
    """The cases of each seed, whose runs are pairs."""
    groups: dict[int, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.seed, []).append(case)
    return list(groups.values())


def _check_case(results: Results, case_is: Mapping[str, str]) -> None:
    for key, value in case_is.items():
        if key not in results.settings:
            there = ", ".join(results.settings) or "none"
            raise ValueError(f"no compared key is called {key!r}; there are {there}")
        values = list(dict.fromkeys(case.settings[key] for case in results.cases))
        if value not in values:
            raise ValueError(f"no case has {key}={value}; there are {', '.join(values)}")
        if key == "seed":
            others = ", ".join(name for name in results.settings if name != key) or "none"
            raise ValueError(f"runs of different seeds are no pairs: expected another compared key; there are {others}")


def _beside(cases: Sequence[Case], case_is: Mapping[str, str]) -> list[list[Case]]:
    """The cases in groups, which differ in these keys alone."""
    found: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        rest = tuple(v for key, v in case.settings.items() if key not in case_is)
        found.setdefault((case.scenario, *rest), []).append(case)
    return list(found.values())


def _first(cases: Sequence[Case], case_is: Mapping[str, str] | None) -> Case | None:
    """The case that the others are compared with, if there is one."""
    named = (case_is or {}).items()
    return next((it for it in cases if all(it.settings[k] == v for k, v in named)), None)


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


def _text(results: Results, cases: Sequence[Case], case: Case) -> str:
    """What tells a case from the others, such as `tcp = vegas`."""
    keys = short_keys(varying(results, cases))
    settings = [f"{short} = {case.settings[key]}" for key, short in keys.items()]
    if len({each.scenario for each in cases}) > 1 or not settings:
        settings.insert(0, case.scenario)
    return ", ".join(settings)


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
