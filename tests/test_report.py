"""Tables fit into any width without truncated text."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pytest
from hopyard.cli import result_tables as report
from hopyard.results.results import Results
from hopyard.tables.labels import short_keys
from hopyard.tables.names import TABLES
from hopyard.terminal.words import fold
from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

LONG = "a_variant_with_a_very_long_name_of_its_own", "a_variant_with_a_very_long_name_and_more"


def printed(show: Callable[..., None], results: Results, width: int, **options: object) -> str:
    out = io.StringIO()
    show(results, out=Console(file=out, width=width, highlight=False), **options)
    return out.getvalue()


def renamed(results: Results, column: str, names: dict[str, str]) -> Results:
    def table(rows: pa.Table) -> pa.Table:
        values = [names.get(value, value) for value in rows[column].to_pylist()]
        import pyarrow

        index = rows.schema.get_field_index(column)
        return rows.set_column(index, column, pyarrow.array(values).dictionary_encode())

    return Results({name: table(getattr(results, name)) for name in TABLES})


@pytest.mark.parametrize("width", [40, 60, 80, 200])
@pytest.mark.parametrize("show", [report.show, report.flows])
def test_nothing_is_cut(results: Results, show: Callable[..., None], width: int) -> None:
    long = renamed(results, "flow.tcp", dict(zip(("reno", "vegas"), LONG, strict=True)))
    for given in (results, long):
        text = printed(show, given, width)
        assert "…" not in text
        assert max(map(len, text.splitlines())) <= width
        assert "kbit/s" in text
        # Vegas has 20 more than reno.
        assert ("+20" in text) == (show is report.show)


def test_names_are_folded_and_not_cut_to_the_same_stem(results: Results) -> None:
    long = renamed(results, "flow.tcp", dict(zip(("reno", "vegas"), LONG, strict=True)))
    text = "".join(printed(report.show, long, 60).split())
    assert "own" in text
    assert "more" in text
    assert fold("westwood_plus", 10) == ["westwood_", "plus"]
    assert fold("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]
    assert "".join(fold("a-b.c/d:e,f_g", 3)) == "a-b.c/d:e,f_g"


def test_markup_in_a_name_is_text(results: Results) -> None:
    text = printed(report.show, renamed(results, "scenario", {"two": "[/x][red]two"}), 80)
    assert "[/x][red]two" in text


def test_an_ascii_terminal_gets_ascii(results: Results) -> None:
    raw = io.BytesIO()
    out = Console(file=io.TextIOWrapper(raw, encoding="ascii"), width=80)
    report.show(renamed(results, "scenario", {"two": "zwei ü"}), out=out)
    out.file.flush()
    text = raw.getvalue().decode("ascii")
    assert "+/-" in text
    assert "\\xfc" in text


def test_measures_choose_the_columns(results: Results) -> None:
    text = printed(report.show, results, 80, measures=["fairness", "delay"])
    assert "Fairness" in text
    assert text.index("0.73 ± 0.52") < text.index("15 ± 10")
    assert "Goodput" not in text
    with pytest.raises(ValueError, match="did you mean 'delay'"):
        report.show(results, ["dely"])


def test_flows_have_rows_of_their_own(results: Results) -> None:
    text = printed(report.flows, results, 100, measures=["goodput"])
    # The mean of 100, 120 and 0, with the interval of these.
    assert re.search(r"reno\s+0\s+.*73 ± 160", text), text
    with pytest.raises(ValueError, match="not a measure of single flows"):
        report.flows(results, ["fairness"])


def test_short_keys_tell_keys_apart() -> None:
    keys = ["flow.0.tcp", "flow.1.tcp", "routing.protocol"]
    assert list(short_keys(keys).values()) == ["0.tcp", "1.tcp", "protocol"]


def test_a_table_of_latex(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    report.latex(results, ["goodput", "delivery_ratio", "timeouts"])
    assert capsys.readouterr().out.splitlines() == [
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"tcp & Goodput (kbit/s) & Delivery ratio (\%) & Timeouts \\",
        r"\midrule",
        r"reno & $133 \pm 94$ & $69 \pm 49$ & $1$ \\",
        r"vegas & $153 \pm 94$ & $80 \pm 49$ & $1$ \\",
        r"\bottomrule",
        r"\end{tabular}",
        "% Difference from tcp = reno, run by run; *: zero is outside the 95 % interval.",
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"tcp & Goodput (kbit/s) & Delivery ratio (\%) & Timeouts \\",
        r"\midrule",
        r"vegas & $+20$ & $+10.4$ & $0$ \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_latex_prints_its_own_letters() -> None:
    assert report._tex(r"a_b & 5 % of {x}~\y^2") == (
        r"a\_b \& 5 \% of \{x\}\textasciitilde{}\textbackslash{}y\textasciicircum{}2"
    )
    assert report._tex_number("1,234", "5") == r"$1{,}234 \pm 5$"
    assert report._tex_number("-", "") == "--"
