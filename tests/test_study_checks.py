"""What is refused in a study before its first run, with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from chains import SENDERS, chain
from hopyard.study import StudyError, load
from hopyard.study.published import read
from short import ok
from sweeps import loaded, refusal

if TYPE_CHECKING:
    from pathlib import Path

CHAIN = chain("1 s")
STUDY = f"""
title = "Senders"
scenario = "chain.toml"
runs = 2
measures = ["goodput", "delay"]

{SENDERS}
[axes.size]
key = "tcp.segment_size"
values = ["500 B", "1000 B"]

[measure.window]
series = "cwnd"
reduce = "mean"
since = "0.1 s"
until = "0.9 s"

[[claim]]
id = "less"
text = "Vegas has less."
measure = "goodput"
expect = "less"
case = {{ sender = "Vegas" }}
than = {{ sender = "NewReno" }}
"""
PUBLISHED = STUDY.replace("runs = 2", 'runs = 2\npublished = "published.csv"')


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            'series = "cwnd"\nreduce = "mean"\nsince = "0.1 s"\nuntil = "0.9 s"',
            'column = "transport"',
            "study.toml:15: measure.window: the column 'transport' has texts: expected a column",
        ),
        ('since = "0.1 s"', 'since = "0.9 s"', "since before until, found 0.9 s and 0.9 s"),
        (
            'reduce = "mean"',
            'reduce = "mean"\nflow = 99',
            "study.toml:18: measure.window: flow: no point has a flow 99; there are flows from 0",
        ),
        (
            'series = "cwnd"\nreduce = "mean"\nsince = "0.1 s"\nuntil = "0.9 s"',
            'table = "nodes"\ncolumn = "forwarded"\nflow = 2',
            "flow: the rows of the table nodes are of no flow: expected where, such as where = {",
        ),
        (
            'series = "cwnd"\nreduce = "mean"\nsince = "0.1 s"\nuntil = "0.9 s"',
            'table = "nodes"\ncolumn = "forwarded"\nwhere = { node = 3 }',
            "no point has a node 3; there are nodes from 0 to 2",
        ),
        ('measures = ["goodput", "delay"]', 'measures = ["delay", "delay"]', "delay is named twice"),
        ('key = "tcp.segment_size"', 'keys = ["a", "a"]', "keys: a is named twice"),
        ('"500 B", "1000 B"', '"500 B", ""', "axes.size: a value has an empty label"),
        ("NewReno = {", '" " = {', "axes.sender: a value has an empty label"),
        (
            '"500 B", "1000 B"',
            '"1000 B", "1 kB"',
            "the points sender=NewReno, size=1000 B and sender=NewReno, size=1 kB are the same",
        ),
        (
            'key = "tcp.segment_size"\nvalues = ["500 B", "1000 B"]',
            'key = "tcp.window"\nvalues = [4, nan]',
            "axes.size: values: expected finite numbers, found nan",
        ),
        (
            'reduce = "mean"',
            'reduce = "mean"\nscale = inf',
            "study.toml:18: measure.window.scale: expected a finite number",
        ),
        (
            'expect = "less"',
            'expect = "less"\nwhere = { size = "500 B" }\nvalue = nan',
            "claim.0.value: expected a finite number",
        ),
        *(
            (
                "[[claim]]",
                f'[measure.m]\ncolumn = "goodput_kbps"\nwhere = {{ {where} }}\n[[claim]]',
                f"study.toml:{line}: measure.m: where: {expected}",
            )
            for line, where, expected in (
                (23, 'transport = "tcp"', "no flow has the transport 'tcp'; all TCP flows are"),
                (23, 'transport = "Vegas"', "no flow has the transport 'Vegas'; did you mean"),
                (23, 'label = "files"', "no flow has the label 'files'; no flow has one"),
                (23, "flow = 9", "no point has a flow 9; there are flows from 0 to 0"),
                (23, "flow = [0, 99]", "no point has a flow 99;"),
                (23, "destination = { not = [7] }", "no point has a node 7 as destination;"),
                (21, 'source = "0"', "source: expected a whole number, found '0'"),
                (21, 'delay_ms = "x"', "delay_ms: expected a number, found 'x'"),
                (21, "transport = 3", "transport: expected a text, found 3"),
                (21, "flow = true", "flow: expected a whole number, found True"),
                (21, "flow = []", "flow: expected at least one value"),
            )
        ),
        (
            "[[claim]]",
            '[measure.m]\ncolumn = "time_s"\ntable = "decisions"\nreduce = "count"\n[[claim]]',
            "measure.m: the table decisions stays empty: no flow of these points has a sender that",
        ),
        (
            'measure = "goodput"',
            'measure = "looped_packets"',
            "looped_packets needs measure.paths = true, which the point sender=Vegas, size=500 B",
        ),
        (
            'measure = "goodput"',
            'measure = "energy"',
            "energy needs an energy.model other than off, which the point sender=Vegas",
        ),
        ('than = { sender = "NewReno" }', 'than = { sender = "Vegas" }', "claim less: no point of than differs"),
        ("runs = 2", "runs = 1_000_000", "expected at most 1,000,000 runs in one sweep, found 4,000,000"),
        (
            'expect = "less"',
            'expect = "similar"\ntolerance = 5',
            "claim less: tolerance: expected a share of at most 1, such as 0.1 for 10 %, found 5",
        ),
        ('expect = "less"', 'expect = "less"\ntolerance = 0.1', "tolerance is for similar alone"),
        (
            'expect = "less"\ncase = { sender = "Vegas" }\nthan = { sender = "NewReno" }',
            'expect = "correlated"\nalong = "size"\nagainst = "goodput"\nlow = 0.5',
            "claim less: against: goodput is compared with itself: expected another one",
        ),
        (
            'expect = "less"\ncase = { sender = "Vegas" }\nthan = { sender = "NewReno" }',
            'expect = "correlated"\nalong = "size"\nagainst = "delay"\nlow = -1',
            "claim less: every coefficient is from -1 to 1: expected a low or high that can fail",
        ),
        (
            "[[claim]]",
            '[measure.m]\nmeasure = "goodput"\nof = "goodput"\n[[claim]]',
            "measure.m: of: goodput is divided by itself: expected another one",
        ),
        (
            "[[claim]]",
            '[[figure]]\nname = "f"\ntitle = "F"\nkind = "scatter"\nx = "size"\n'
            'lines = "sender"\nmeasure = "goodput"\nbeside = "goodput"\n[[claim]]',
            "beside: goodput is drawn against itself: expected another one",
        ),
        ("runs = 2", 'runs = 2\npublished = "there_is_none.csv"', "there_is_none.csv: No such file"),
    ],
)
def test_what_is_wrong_is_named(folder: Path, old: str, new: str, expected: str) -> None:
    assert old in STUDY
    assert expected in refusal(folder, STUDY.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("runs = 2", "runs = 2\nruns = 3", "study.toml: the file cannot be read as TOML: Cannot"),
        ("runs = 2", "runs = 2 # \0", "study.toml: the file cannot be read as TOML: Found invalid"),
        (
            "[axes.size]",
            '[set]\n"nodes.spacing" = nan\n[axes.size]',
            "study.toml: the point sender=NewReno, size=500 B is no valid scenario: nodes.spacing:",
        ),
    ],
)
def test_a_study_that_is_no_toml_is_a_study(folder: Path, old: str, new: str, expected: str) -> None:
    said = refusal(folder, STUDY.replace(old, new, 1))
    assert expected in said
    assert said.count("\n") == 1


def _counting(table: str, where: str) -> str:
    columns = {"overhead": "sent", "handoffs": "host", "mobile_events": "host", "rate_changes": "node"}
    column = columns.get(table, "flow")
    own = f'[measure.m]\ntable = "{table}"\ncolumn = "{column}"\nreduce = "count"\n'
    return STUDY.replace("[[claim]]", f"{own}where = {{ {where} }}\n[[claim]]")


@pytest.mark.parametrize(
    ("table", "where", "expected"),
    [
        ("decisions", 'lost_reason = "queue_ful"', "did you mean 'queue_full'?"),
        ("decisions", 'true_cause = { not = "congestio" }', "did you mean 'congestion'?"),
        ("decisions", 'detected_by = ["timeout", "timout"]', "no row has detected_by = 'timout'"),
        ("decisions", "lost_at_node = 3", "no point has a node 3 as lost_at_node"),
        ("overhead", 'kind = "rooting"', "did you mean 'routing'?"),
        ("overhead", 'message = "RREPP"', "sends a message 'RREPP'; did you mean 'RREP'?"),
        ("overhead", 'message = ["RREP", "TC"]', "message 'TC'; there are HELLO, RERR, RREP"),
        ("handoffs", 'kind = "changed"', "did you mean 'change'?"),
        ("handoffs", "agent = 9", "no point has a node 9 as agent; there are nodes from 0 to 2"),
        ("mobile_events", 'event = "register"', "did you mean 'registered'?"),
        ("mobile_events", "node = 1", "mobile_events stays empty: no point has measure.mobile_events = true"),
        ("rate_changes", "node = 1", "rate_changes stays empty: no point has measure.rates = true"),
        ("rate_changes", "neighbour = 3", "no point has a node 3 as neighbour; there are nodes from 0 to 2"),
        ("detours", 'direction = "to_hosts"', "did you mean 'to_host'?"),
        ("flows", 'routing = "aodvv"', "did you mean 'aodv'?"),
        ("flows", 'routing = "olsr"', "no flow has the routing 'olsr'; there are aodv, static"),
    ],
)
def test_a_value_that_no_row_can_have(folder: Path, table: str, where: str, expected: str) -> None:
    assert expected in refusal(folder, _counting(table, where))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ('{ nto = "udp" }', "there is no key measure.m.where.transport.nto; did you mean 'not'?"),
        ('{ not = "udp", of = 1 }', "measure.m.where.transport.of; its only key is 'not'"),
        ('["udp", { no = 1 }]', "where.transport: expected a text, a number, true or false, a list"),
        ("{ not = { a = 1 } }", "transport.not: expected a text, a number, true or false or a list"),
    ],
)
def test_a_value_of_no_kind_is_one_problem(folder: Path, value: str, said: str) -> None:
    of_rows = refusal(folder, _counting("flows", f"transport = {value}"))
    of_points = refusal(folder, STUDY.replace('case = { sender = "Vegas" }', f"case = {{ sender = {value} }}"))
    assert said in of_rows
    assert "claim.0.case.sender: expected a text, a number, true or false or a list" in of_points
    for output, line in ((of_rows, 25), (of_points, 26)):
        assert output.count("error: ") == 1
        assert f"study.toml:{line}: " in output


def test_a_text_that_no_row_has_is_no_zero(folder: Path) -> None:
    claim = '[[claim]]\nid = "few"\ntext = "Few."\nmeasure = "m"\nexpect = "at most"\nvalue = 9\n'
    zero = 'reduce = "count"\nmissing = 0'
    for where, misspelt in (
        ('message = "RREP-ACK"', True),
        ('message = "RREP"', False),
        ('message = ["RREP", "RERR"]', False),
        ('message = { not = ["RREQ", "RREP", "HELLO"] }', False),
    ):
        text = _counting("overhead", where).replace('reduce = "count"', zero) + claim
        (folder / "study.toml").write_text(text)
        ok("sweep", "study.toml", "-q")
        report = ok("report", "study.toml")
        said = "measure.m: where: no run has a row with message = RREP-ACK; did you mean 'RREP'?"
        assert (said in report.output) == misspelt
        assert ("1 claim: no run has this measure" in report.output) == misspelt


def test_one_problem_of_many_points_is_told_once(folder: Path) -> None:
    said = refusal(folder, STUDY.replace("tcp.segment_size", "tcp.segment_sizee"))
    assert said.count("has no key `segment_sizee`") == 1
    assert "and so in 3 further points" in said
    said = refusal(folder, STUDY.replace('"500 B"', '"500 X"').replace('"1000 B"', '"9 X"'))
    assert said.count("and so in 1 further point") == 2


def test_a_claim_over_no_point(folder: Path) -> None:
    (folder / "study.toml").write_text(STUDY)
    ok("check", "study.toml")
    skip = '[experiment.main]\nskip = [{ sender = "Vegas" }]\n[[claim]]'
    said = refusal(folder, STUDY.replace("[[claim]]", skip))
    assert "claim less: it is about no point" in said
    trend = STUDY.replace("case = {", 'along = "size"\ncase = { size = "500 B" }\nwhere = {')
    trend = trend.replace('"less"\nalong', '"increasing"\nalong').partition("than =")[0]
    assert "claim less: its points have one value of size alone" in refusal(folder, trend)


def test_a_claim_over_two_axes_is_about_all_of_its_points(folder: Path) -> None:
    # Vegas with 1000 B differs from no point with 1000 B in the size alone.
    two = STUDY.replace('than = { sender = "NewReno" }', 'than = { size = "1000 B" }')
    said = refusal(folder, two)
    assert "claim less: case is of the axis sender and than of the axis size" in said
    assert "sender=Vegas, size=1000 B is compared with nothing" in said
    for all_of_them in (
        two.replace("case = {", 'case = { size = "500 B",'),
        STUDY.replace("than = {", 'than = { size = "1000 B",'),
    ):
        (folder / "study.toml").write_text(all_of_them)
        ok("check", "study.toml")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"sender,measure,value\nVegas,g\xe9,1\n", "published.csv:2: expected UTF-8 text, found the byte 0xe9"),
        (b"sender,measure,value\nVegas,goodput,\x001\n", "published.csv:2: expected text, found a null byte"),
        (b"sender,measure,value\nVegas,goodput,nan\n", "published.csv:2: value: expected a number, found 'nan'"),
        (b"sender,measure,value\nVegas,goodput,1,2\n", "published.csv:2: expected 3 values, found more"),
        (b'sender,measure,value\n"two\nlines",goodput,1\n', "published.csv:3: the axis sender has no value"),
        (b"sender,measure,value,value\nVegas,goodput,1,1\n", "two columns are called 'value'"),
        (b"sendr,measure,value\nVegas,goodput,1\n", "column sendr: no axis is called so; did you mean 'sender'"),
        (b"sender,measure,value\nVegas,goodputt,1\n", "no measure is called 'goodputt'"),
        (b"sender,measure,value\nReno,goodput,1\n", "the axis sender has no value 'Reno'"),
        (b"sender,measure,value\nVegas,goodput,1\nVegas,goodput,2\n", "there is a row of this measure"),
        (b"sender,measure\nVegas,goodput\n", "there is no column value"),
    ],
)
def test_published_values_that_cannot_be_read(folder: Path, content: bytes, expected: str) -> None:
    (folder / "published.csv").write_bytes(content)
    assert expected in refusal(folder, PUBLISHED)


@pytest.mark.parametrize(
    ("measure", "value", "unit", "expected"),
    [
        ("goodput", "1.2", "Mbit/s", 1200),
        ("goodput", "1200", "kb/s", 1200),
        ("goodput", "0.0012", "Gbps", 1200),
        ("delay", "1.2", "s", 1200),
        ("delay", "1200", "", 1200),
        ("hops", "2", "nodes", 2),
        ("goodput", "1.2", "s", "unit: expected kbit/s, or a unit of its kind, found 's'"),
        ("goodput", "1.2", "MB/s", "found 'MB/s'"),
        ("delay", "1.2", "packets", "unit: expected ms, or a unit of its kind, found 'packets'"),
        ("hops", "2", "ms", "unit: expected no unit, found 'ms'"),
        ("goodput", "1.2 Mbit/s", "", "found '1.2 Mbit/s'; a unit stands in the column unit"),
    ],
)
def test_published_values_have_units(folder: Path, measure: str, value: str, unit: str, expected: float | str) -> None:
    (folder / "published.csv").write_text(f"sender,measure,value,unit\nVegas,{measure},{value},{unit}\n")
    if isinstance(expected, str):
        assert expected in refusal(folder, PUBLISHED)
        return
    (folder / "study.toml").write_text(PUBLISHED)
    published = read(load("study.toml"))
    assert published is not None
    assert published.value(measure, {"sender": "Vegas"}) == pytest.approx(expected)
    # What is written beside our values has their unit.
    assert float(published.rows[0][0]["value"]) == pytest.approx(expected)


def test_long_fields_and_marks_of_editors_are_read(folder: Path) -> None:
    (folder / "study.toml").write_text("\ufeff" + PUBLISHED, encoding="utf-8")
    source = "x" * 200_000
    (folder / "published.csv").write_text(
        f"\ufeffsender,measure,value,source\nVegas,goodput,1,{source}\n", encoding="utf-8"
    )
    ok("check", "study.toml")
    published = read(load("study.toml"))
    assert published is not None
    assert published.value("goodput", {"sender": "Vegas"}) == 1
    assert published.rows[0][0]["source"] == source


def test_a_quick_version_may_lack_the_points_of_a_claim(folder: Path) -> None:
    quick = '[quick]\nruns = 1\naxes = { sender = ["NewReno"] }\n'
    (folder / "study.toml").write_text(STUDY + quick)
    ok("check", "study.toml")
    ok("sweep", "study.toml", "--quick", "-q")


def test_an_error_of_a_study_has_all_problems(folder: Path) -> None:
    text = STUDY.replace('since = "0.1 s"', 'since = "9 s"').replace(
        'id = "less"', 'id = "less"\nmean_over = ["size", "size"]'
    )
    with pytest.raises(StudyError) as caught:
        loaded(folder, text)
    assert len(caught.value.problems) == 2
