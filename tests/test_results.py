"""Results: measures over runs, summaries, files, plots."""

from __future__ import annotations

import csv
import math
from itertools import permutations
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hopyard.results.results import Results
from hopyard.statistics.estimates import estimate
from hopyard.tables import tables
from hopyard.tables.measures import MEASURES, SHOWN
from hopyard.tables.names import TABLES
from matplotlib.image import imread
from matplotlib.patches import Rectangle
from pyarrow import parquet

if TYPE_CHECKING:
    from pathlib import Path


def test_cases_say_what_is_compared(results: Results) -> None:
    assert results.settings == ("flow.tcp",)
    assert [case.settings["flow.tcp"] for case in results.cases] == ["reno", "vegas"]
    assert [str(case) for case in results.cases] == ["two, flow.tcp=reno", "two, flow.tcp=vegas"]
    assert (results.runs, results.version) == (3, "0.1.0")


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("goodput", [150, 160, 90]),
        ("throughput", [165, 176, 99]),
        # Weighted by what arrived: (10 ms x 100 + 20 ms x 50) / 150, and so on.
        ("delay", [2000 / 150, 2000 / 160, 20]),
        ("delay_p95", [3000 / 150, 3000 / 160, 30]),
        ("jitter", [200 / 150, 200 / 160, 2]),
        # Of 200 packets, 8 are repeated ones.
        ("delivery_ratio", [15000 / 192, 16000 / 192, 9000 / 192]),
        ("loss", [7.5, 7.5, 7.5]),
        ("loss_ns2", [1, 1, 1]),
        ("retransmitted", [4, 4, 4]),
        ("timeouts", [1, 1, 1]),
        ("fast_retransmits", [0, 2, 4]),
        ("hops", [2, 2, 2]),
        ("fairness", [150**2 / (2 * 12500), 160**2 / (2 * 16000), 0.5]),
        ("routing", [60, 60, 60]),
        ("routing_packets_per_second", [6, 6, 6]),
        # 3000 bytes of its own and 300 in others, in 10 s.
        ("routing_rate", [2.64, 2.64, 2.64]),
        ("normalised_routing_load", [1, 1, 1]),
        ("routing_bytes_per_byte", [1.1, 1.1, 1.1]),
        ("looped_packets", [4, 5, 6]),
        # Three of four objects of two flows; the first two in time.
        ("delivery_time", [200.5, 210.5, 220.5]),
        ("page_time_p50", [200.5, 210.5, 220.5]),
        ("delivery_time_p95", [300.75, 310.75, 320.75]),
        ("objects_in_time", [50, 50, 50]),
        ("objects_delivered", [75, 75, 75]),
        ("collisions", [0, 3, 6]),
        ("energy_in_vain", [25, 25, 25]),
    ],
)
def test_measures_of_each_run(results: Results, measure: str, expected: list[float]) -> None:
    assert results.values(measure, results.cases[0]) == pytest.approx(expected)


def test_every_measure_has_a_value(results: Results) -> None:
    for name in MEASURES:
        assert np.isfinite(results.values(name, results.cases[1])).all(), name


def test_estimates_are_over_runs(results: Results) -> None:
    reno, vegas = results.cases
    assert results.estimate("goodput", reno) == estimate([150, 160, 90])
    difference = results.difference("goodput", vegas, reno)
    assert difference == estimate([20, 20, 20])
    assert difference.half_width == pytest.approx(0, abs=1e-9)


def test_pairs_need_the_same_runs(results: Results) -> None:
    flows = results.flows.filter(pa.compute.invert(_is_vegas_run_1(results.flows)))
    nodes = results.nodes.filter(pa.compute.invert(_is_vegas_run_1(results.nodes)))
    partial = Results({**results.tables, "flows": flows, "nodes": nodes}, complete=False)
    reno, vegas = partial.cases
    assert partial.runs_of(vegas).tolist() == [0, 2]
    assert partial.difference("goodput", vegas, reno).runs == 2
    assert "interrupted" in repr(partial)


def test_each_table_is_an_attribute(results: Results) -> None:
    assert set(TABLES) <= set(dir(results))
    with pytest.raises(AttributeError, match="results have no 'flow'"):
        results.flow  # noqa: B018
    assert len(Results({"flows": results.flows}).paths) == 0


def _is_vegas_run_1(table: pa.Table) -> pa.ChunkedArray:
    return pa.compute.and_(pa.compute.equal(table["case"], 1), pa.compute.equal(table["run"], 1))


def test_an_unknown_measure_is_named(results: Results) -> None:
    with pytest.raises(ValueError, match="no measure is called 'goodputt'; did you mean 'goodput'"):
        results.estimate("goodputt", results.cases[0])


def test_names_of_measures_are_texts(results: Results) -> None:
    assert results.summary("goodput").column_names[3] == "Goodput (kbit/s)"
    with pytest.raises(TypeError, match=r"expected names of measure, found \[3\]"):
        results.summary([3])  # type: ignore[list-item]


def test_the_summary_has_a_row_a_case(results: Results) -> None:
    summary = results.summary()
    assert len(summary) == 2
    row = summary.to_pylist()[1]
    expected = estimate([170, 180, 110])
    assert (row["flow.tcp"], row["runs"], row["config"]) == ("vegas", 3, "c1")
    assert row["Goodput (kbit/s)"] == pytest.approx(expected.mean)
    assert row["Goodput (kbit/s) ±"] == pytest.approx(expected.half_width)


def test_tables_do_not_tell_in_which_order_runs_ended() -> None:
    def part(runs: str, texts: list[str | None]) -> pa.Table:
        numbers = pa.array([int(run) for run in runs], pa.uint32())
        columns = {"case": pa.array([0] * len(texts), pa.uint32()), "run": numbers}
        return pa.table(columns | {"text": pa.array(texts).dictionary_encode()})

    # Each part has the runs that ended together, in order.
    parts = [part("03", ["a", "d"]), part("1", ["b"]), part("24", [None, "a"]), part("55", ["e", "b"])]
    for given in (parts, parts[:2], parts[:1], [parts[0], part("1", ["d"]), part("2", ["a"])]):
        first, *others = (tables.ordered(each) for each in permutations(given))
        assert first["run"].to_pylist() == sorted(first["run"].to_pylist())
        assert all(each.equals(first) for each in others)
        (text,) = first["text"].chunks
        assert text.dictionary.to_pylist() == [it for it in dict.fromkeys(text.to_pylist()) if it]


def test_pandas_and_polars_take_the_tables(results: Results) -> None:
    # The stubs of pandas 3 do not have this yet.
    frame = cast("Any", pd.DataFrame).from_arrow(results.flows)
    assert frame.groupby("flow.tcp", observed=True)["goodput_kbps"].sum().to_dict() == {"reno": 400.0, "vegas": 460.0}
    total = pl.DataFrame(results.flows).group_by("flow.tcp").agg(pl.col("goodput_kbps").sum())
    assert dict(total.iter_rows()) == {"reno": 400.0, "vegas": 460.0}


def test_a_notebook_shows_the_summary(results: Results) -> None:
    shown = results._repr_html_()
    assert shown.count("<tr>") == 3
    assert str(results.estimate("goodput", results.cases[1])) in shown
    assert results.plot()._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_files_say_what_the_tables_say(results: Results, tmp_path: Path, form: str) -> None:
    written = results.save(tmp_path / "out", form)
    names = [f"{name}.{form}" for name in TABLES]
    assert [path.name for path in written] == ["summary.csv", *names]
    if form == "parquet":
        assert parquet.read_table(written[1]).equals(results.flows)
    else:
        rows = list(csv.DictReader(written[1].read_text().splitlines()))
        assert len(rows) == 12
        assert (rows[0]["flow.tcp"], rows[0]["seed"], rows[0]["config"]) == ("reno", "7", "c0")
        assert float(rows[1]["goodput_kbps"]) == 50


def test_tables_without_runs_leave_no_others_beside_them(results: Results, tmp_path: Path) -> None:
    results.save(tmp_path)
    without = Results({name: getattr(results, name) for name in ("flows", "nodes", "drops")})
    for form, others in {"csv": "drops.parquet", "parquet": "series.parquet"}.items():
        with pytest.raises(ValueError, match=f"has decisions.*{others}"):
            without.save(tmp_path, form)
    there = sorted(path.name for path in tmp_path.iterdir())
    assert there == sorted([*(f"{name}.parquet" for name in TABLES), "summary.csv"])
    results.save(tmp_path)


def test_a_confusion_matrix_is_made_from_decisions(results: Results) -> None:
    matrix = results.confusion()
    assert (matrix.total, matrix.judged) == (24, 21)
    assert matrix.count("interference") == 6
    assert matrix.count("interference", "wireless") == 1
    # 7 losses by congestion, 1 + 2 on the channel and 4 by broken links were classified correctly.
    assert matrix.accuracy == pytest.approx((7 + 1 + 2 + 4) / 21)
    assert matrix.recall("wireless") == pytest.approx(3 / 8)
    assert matrix.precision("wireless") == pytest.approx(3 / 5)
    assert matrix.precision("link_failure") == pytest.approx(4 / 7)
    assert matrix.table().to_pylist()[1] == {
        "true_cause": "interference",
        "congestion": 5,
        "wireless": 1,
        "link_failure": 0,
    }
    assert "other" not in str(matrix)
    assert str(matrix).splitlines()[1].split() == ["congestion", "7", "2", "0"]


def test_a_confusion_matrix_is_of_a_case_and_from_a_time_on(results: Results) -> None:
    reno, vegas = results.cases
    assert results.confusion(reno).total == 24
    assert results.confusion(vegas).total == 0
    assert math.isnan(results.confusion(vegas).accuracy)
    assert results.confusion(reno, since=4.0).total == 4 + 1 + 2


def test_an_unknown_format_is_named(results: Results, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="parquet or csv, not 'xlsx'"):
        results.save(tmp_path, "xlsx")


def test_bars_stand_at_the_means(results: Results) -> None:
    figure = results.plot("goodput", kind="bars")
    (axis,) = figure.axes
    heights = [bar.get_height() for bar in axis.patches if isinstance(bar, Rectangle)]
    assert heights == pytest.approx([400 / 3, 460 / 3])
    assert axis.get_ylabel() == "Goodput (kbit/s)"
    assert [label.get_text() for label in axis.get_xticklabels()] == ["reno", "vegas"]


def test_series_are_drawn_as_sampled(results: Results, tmp_path: Path) -> None:
    figure = results.plot_series("cwnd")
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["tcp = reno", "tcp = vegas"]
    x, y = map(np.asarray, figure.axes[0].get_lines()[0].get_data())
    assert (len(x), max(y), x[-1]) == (50, 6, 4.9)
    figure.savefig(tmp_path / "cwnd.png")
    assert math.prod(imread(tmp_path / "cwnd.png").shape) > 0


def test_a_quantity_that_was_not_sampled_is_named(results: Results) -> None:
    with pytest.raises(ValueError, match="'srtt' was not sampled; sampled were: cwnd"):
        results.plot_series("srtt")


def test_shown_measures_exist() -> None:
    assert set(SHOWN) <= set(MEASURES)
