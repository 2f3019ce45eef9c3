"""Axes whose values count as runs of one point, and times that count from the measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from chains import chain, write
from hopyard.study import StudyError, load
from hopyard.study.points import points, pooled
from sweeps import made

if TYPE_CHECKING:
    from pathlib import Path

CHAIN = chain(
    "6 s",
    more="""start = "1 s"
[measure]
from = "2 s"
""",
)
STUDY = """
title = "A flow that starts at several moments"
scenario = "chain.toml"
runs = 1

[axes.sender]
key = "flow.tcp"
values = ["newreno", "vegas"]

[axes.moment]
keys = ["seed", "flow.start"]
values = [[1, "1 s"], [2, "2.5 s"], [3, "3 s"]]
labels = ["1", "2.5", "3"]

[experiment.only]
pool = ["moment"]

[measure.first]
column = "first_delivery_s"
reduce = "min"
relative = true
missing = 4.0

[[table]]
name = "goodput"
title = "Goodput"
rows = ["sender"]
measures = ["goodput", "first"]
against = { sender = "newreno" }
"""


@pytest.fixture(name="study_file")
def _study_file(tmp_path: Path) -> Path:
    return write(tmp_path, CHAIN, STUDY)


def test_runs_of_pooled_axes_are_those_of_one_point(study_file: Path, tmp_path: Path) -> None:
    study = load(study_file)
    several = points(study)
    assert len(several) == 6
    merged = pooled(several)
    assert [point.labels for point in merged] == [{"sender": "newreno"}, {"sender": "vegas"}]
    assert [point.runs for point in merged] == [3, 3]
    assert pooled(merged) == merged, "what is pooled stays so"
    with made(tmp_path) as source:
        values = source.values
        for point, parts in zip(merged, (several[:3], several[3:]), strict=True):
            runs, found = values.of(point, "goodput")
            assert len(set(runs.tolist())) == 3, "each has a number of its own"
            assert found.tolist() == [values.of(part, "goodput")[1][0] for part in parts]
        first, second = (values.of(point, "goodput")[0] for point in merged)
        assert first.tolist() == second.tolist(), "so that differences are made moment by moment"


@pytest.mark.usefixtures("study_file")
def test_relative_times_count_from_the_measurement(tmp_path: Path) -> None:
    with made(tmp_path) as relative, made(tmp_path, STUDY.replace("relative = true\n", "")) as absolute:
        for point in relative.points:
            (one,), (other,) = (source.values.of(point, "first")[1] for source in (relative, absolute))
            assert np.isclose(one, other - 2.0)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('pool = ["moment"]', 'pool = ["momnt"]', "pool: no axis is called 'momnt'"),
        ('rows = ["sender"]', 'rows = ["sender", "moment"]', "moment is pooled"),
        ('against = { sender = "newreno" }', 'where = { moment = "3" }', "moment is pooled"),
    ],
)
def test_pooled_axes_stand_nowhere_else(study_file: Path, old: str, new: str, words: str) -> None:
    study_file.write_text(STUDY.replace(old, new))
    with pytest.raises(StudyError, match=words):
        load(study_file)
