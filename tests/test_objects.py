"""Objects of applications: their table, the measures of their times, and the plots of those."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hopyard import Results, Scenario, run
from short import ok

if TYPE_CHECKING:
    from pathlib import Path

SCENARIO = {
    "duration": "20 s",
    "nodes": {"count": 0, "wired": 2},
    "wire": [{"between": [0, 1], "rate": "2 Mbps", "delay": "20 ms"}],
    "routing": {"protocol": "static"},
    "measure": {"from": "5 s"},
    "traffic": {
        "request_response": {
            "answer": "lognormal(20 kB, 1)",
            "parts": 2,
            "think": "exponential(500 ms)",
            "deadline": "400 ms",
        },
        "messages": {"size": "exponential(3 kB)", "interval": "200 ms", "deadline": "40 ms"},
    },
    "flow": [
        {"from": 0, "to": 1, "traffic": "request_response", "label": "web"},
        {"from": 1, "to": 0, "traffic": "messages", "udp": True, "label": "talk"},
    ],
}


@pytest.fixture(scope="module")
def results() -> Results:
    return run(Scenario(SCENARIO), runs=3, progress=False)


def test_measures_are_of_the_objects_that_they_name(results: Results) -> None:
    (case,) = results.cases
    rows = results.objects.to_pylist()
    assert {row["kind"] for row in rows} == {"page", "request", "answer", "message"}
    assert min(row["written_s"] for row in rows) >= 5

    def times(kind: str, number: int) -> list[float]:
        return [
            row["delivery_ms"] for row in rows if (row["kind"], row["run"]) == (kind, number) and row["delivered_s"]
        ]

    for name, kind in {
        "page_time": "page",
        "delivery_time[web.answers]": "answer",
        "delivery_time[web]": "request",
        "delivery_time[talk]": "message",
    }.items():
        means = [np.mean(times(kind, number)) for number in range(3)]
        assert results.values(name, case) == pytest.approx(means), name
        every = results.values_of_rows(name, case)
        assert every is not None
        assert sorted(every) == pytest.approx(sorted(time for number in range(3) for time in times(kind, number)))
    assert results.values("page_time_p95", case) == pytest.approx(
        [np.quantile(times("page", it), 0.95) for it in range(3)]
    )
    late = [[it <= 400 for it in times("page", number)] for number in range(3)]
    assert results.values("pages_in_time", case) == pytest.approx([100 * np.mean(each) for each in late], abs=4)
    assert all(0 < it < 100 for it in results.values("objects_in_time", case))
    assert all(90 < it <= 100 for it in results.values("objects_delivered", case))
    assert results.values("goodput[web.answers]", case).min() > results.values("goodput[web]", case).max()
    assert results.values_of_rows("goodput", case) is results.values_of_rows("page_time_p95", case) is None


def test_a_distribution_is_that_of_all_objects(results: Results) -> None:
    (case,) = results.cases
    (axis,) = results.plot("page_time", kind="cdf").axes
    (line,) = axis.lines
    every = results.values_of_rows("page_time", case)
    assert every is not None
    assert np.asarray(line.get_xdata())[1:] == pytest.approx(np.sort(every))
    assert (axis.get_ylabel(), axis.get_xlabel()) == ("share of objects", "Page time (ms)")
    (axis,) = results.plot("goodput", kind="cdf").axes
    assert axis.get_ylabel() == "share of runs"


def test_the_command_draws_the_distribution_and_keeps_the_table(here: Path) -> None:
    (here / "web.toml").write_text(Scenario(SCENARIO).to_toml())
    arguments = ["run", "web.toml", "--runs", "2", "--out", "out", "--plot", "--measure", "page_time", "--quiet"]
    ok(*arguments)
    assert (here / "out" / "page_time.png").is_file()
    kept = Results.load(here / "out")
    assert kept.objects.num_rows > 100
    (case,) = kept.cases
    assert kept.values("page_time", case) == pytest.approx(
        run("web.toml", runs=2, progress=False).values("page_time", case)
    )


FILES = {
    "sizes": (
        "sizes.csv",
        "bytes\n100\n200\n",
        'nodes.count = 2\nnodes.spacing = "100 m"\n[[flow]]\nfrom = 0\nto = 1\ntraffic = "messages"\n'
        'messages.size = "file(sizes.csv)"\n',
    ),
    "packets": (
        "voice.csv",
        "time_s,bytes\n0,160\n0.02,160\n",
        'nodes.count = 2\nnodes.spacing = "100 m"\n[[flow]]\nfrom = 0\nto = 1\ntraffic = "trace"\n'
        'trace.path = "voice.csv"\n',
    ),
    "error rates": (
        "per.csv",
        "mode,size,snr_db,per\n2 Mbps,500,1,1\n2 Mbps,500,9,0\n",
        'nodes.count = 2\nnodes.spacing = "100 m"\nradio.error_rates = "per.csv"\nradio.reception = "sinr"\n'
        "[[flow]]\nfrom = 0\nto = 1\n",
    ),
}


@pytest.mark.parametrize("kind", FILES)
def test_files_need_not_be_there_to_run_again(kind: str, tmp_path: Path) -> None:
    name, content, text = FILES[kind]
    (tmp_path / name).write_text(content)
    file = tmp_path / "s.toml"
    file.write_text('duration = "3 s"\n' + text)
    results = run(file, runs=1, progress=False)
    results.save(tmp_path / "out")
    (tmp_path / name).unlink()
    kept = Results.load(tmp_path / "out")
    (case,) = kept.cases
    again = run(kept.scenario(case), runs=1, progress=False)
    assert again.cases[0].config == case.config
    assert again.flows.to_pylist() == kept.flows.to_pylist()
