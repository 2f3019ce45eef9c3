"""Scenarios from Python: made, read, changed, compared; always checked."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path

import hopyard
import numpy as np
import pytest
from hopyard import Scenario, ScenarioError

CHAIN = """
duration = "5 s"
[nodes]
count = 3
spacing = "200 m"
[tcp]
window = 8
[[flow]]
from = 0
to = 2
tcp = "vegas"
[flow.vegas]
alpha = 2
[[flow]]
from = 2
to = 0
"""


@pytest.fixture
def chain() -> Scenario:
    return Scenario.parse(CHAIN, name="chain.toml")


def test_made_in_python_is_read_from_a_file(chain: Scenario, tmp_path: Path) -> None:
    made = Scenario(
        name="chain",
        duration="5 s",
        nodes={"count": 3, "spacing": "0.2 km"},
        tcp={"window": 8},
        flow=[{"from": 0, "to": 2, "tcp": "vegas", "vegas": {"alpha": 2}}, {"from": 2, "to": 0}],
    )
    assert made.hash == chain.hash
    made.save(tmp_path / "made.toml")
    again = hopyard.load(tmp_path / "made.toml")
    assert again.hash == made.hash
    assert again == made


def test_keys_are_items_and_attributes(chain: Scenario) -> None:
    assert chain.tcp.window == chain["tcp"]["window"] == chain["tcp.window"] == 8
    assert chain.flow[0].vegas.alpha == chain["flow.0.vegas.alpha"] == 2
    assert [flow.tcp for flow in chain.flow] == ["vegas", "newreno"]
    assert chain.name == "chain"
    # Keys that are not given have their defaults.
    assert chain.routing.protocol == "aodv"
    assert "protocol" in chain.routing
    assert "window" in dir(chain.tcp)


def test_changes_are_checked_and_seen(chain: Scenario) -> None:
    before = chain.hash
    chain.tcp.window = 16
    chain["flow.1.to"] = 1
    assert (chain.tcp.window, chain.flow[1].to) == (16, 1)
    assert chain.hash != before
    del chain["tcp.window"]
    chain.flow[1].to = 0
    chain.tcp.window = np.int64(8)
    assert chain.hash == before


def test_a_change_of_all_flows(chain: Scenario) -> None:
    chain.flow.tcp = "sack"
    assert [flow.tcp for flow in chain.flow] == ["sack", "sack"]


def test_a_change_that_does_not_fit_changes_nothing(chain: Scenario) -> None:
    before = chain.to_dict()
    with pytest.raises(ScenarioError) as caught:
        chain.nodes.count = 2
    assert [problem.path for problem in caught.value.problems] == ["flow.0.to", "flow.1.from"]
    assert (chain.to_dict(), chain.nodes.count) == (before, 3)
    with pytest.raises(ScenarioError):
        chain.tcp.window = "wide"
    with pytest.raises(ScenarioError, match="windw"):
        chain["tcp.windw"] = 3
    assert chain.to_dict() == before


def test_changes_that_fit_only_together(chain: Scenario) -> None:
    chain.update({"nodes.count": 2, "flow.0.to": 1, "flow.1.from": 1})
    assert chain.nodes.count == 2
    chain.mac.update(model="dcf")


def test_copies_are_independent(chain: Scenario) -> None:
    for twin in (chain.copy(), pickle.loads(pickle.dumps(chain))):
        assert twin.hash == chain.hash
        twin.tcp.window = 3
        assert chain.tcp.window == 8


def test_unknown_keys_are_attribute_and_key_errors(chain: Scenario) -> None:
    with pytest.raises(AttributeError, match=r"\[tcp\] has no key 'windw'"):
        chain.tcp.windw  # noqa: B018 - looking is what is tested
    with pytest.raises(KeyError):
        chain["tcp.windw"]


def test_every_problem_is_reported_with_its_place() -> None:
    text = CHAIN.replace('"200 m"', '"200 Mbps"').replace("window", "windw").replace("to = 2", "to = 9")
    with pytest.raises(ScenarioError) as caught:
        Scenario.parse(text, name="broken.toml")
    problems = {problem.path: problem for problem in caught.value.problems}
    assert set(problems) == {"nodes.spacing", "tcp.windw", "flow.0.to"}
    spacing = problems["nodes.spacing"]
    assert (spacing.file, spacing.line, spacing.text) == ("broken.toml", 5, 'spacing = "200 Mbps"')
    assert spacing.expected is not None
    assert "window" in (problems["tcp.windw"].hint or "")
    assert "broken.toml:5:" in str(caught.value)
    assert "\x1b[" in caught.value.coloured
    assert "\x1b[" not in str(caught.value)


def test_a_comparison_is_a_product(chain: Scenario) -> None:
    cases = chain.cases({"flow.tcp": ["reno", "vegas"], "tcp.window": [4, 8, 16], "runs": 2})
    assert len(cases) == 6
    assert [(case.flow[0].tcp, case.tcp.window) for case in cases[:4]] == [
        ("reno", 4),
        ("reno", 8),
        ("reno", 16),
        ("vegas", 4),
    ]
    assert {case.runs for case in cases} == {2}
    assert len({case.hash for case in cases}) == 6
    assert chain.flow[0].tcp == "vegas"


def test_a_comparison_names_every_value_that_does_not_fit(chain: Scenario) -> None:
    with pytest.raises(ScenarioError) as caught:
        chain.cases({"flow.tcp": ["vegas", "vegass"], "mac.dcf.rate": "2 m"})
    text = str(caught.value)
    assert "vegass" in text
    assert "2 m" in text


def test_what_was_given_is_kept_apart_from_defaults(chain: Scenario) -> None:
    assert set(chain.to_dict()) == {"name", "duration", "nodes", "tcp", "flow"}
    assert "[routing.aodv]" in chain.to_toml()


def test_sections_are_mappings(chain: Scenario) -> None:
    assert dict(chain.tcp)["window"] == 8
    assert chain.copy().tcp == chain.tcp
    assert len(chain.flow) == 2
    assert [flow["from"] for flow in chain.flow[:1]] == [0]
    made = Scenario(duration="5 s", nodes=chain.nodes, flow=chain.flow, tcp=chain.tcp, name="chain")
    assert made.hash == chain.hash


def test_movement_files_lie_beside_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "two.tcl").write_text(
        "$node_(0) set X_ 0.0\n$node_(0) set Y_ 0.0\n$node_(1) set X_ 100.0\n$node_(1) set Y_ 0.0\n"
    )
    keys = {
        "duration": "2 s",
        "mobility": {"model": "movement_file", "movement_file": {"path": "two.tcl"}},
        "flow": [{"from": 0, "to": 1}],
    }
    made = Scenario(keys, base=tmp_path)
    assert made.nodes.count == 2
    with pytest.raises(ScenarioError, match=r"two\.tcl"):
        Scenario(keys, base=tmp_path / "elsewhere")


def test_the_schema_knows_every_section() -> None:
    from hopyard import _core

    schema = json.loads(_core.json_schema())
    assert {"nodes", "mobility", "radio", "mac", "routing", "tcp", "flow"} <= set(schema["properties"])


def test_numbers_of_numpy_and_lists_are_compared(chain: Scenario) -> None:
    cases = chain.cases({"tcp.window": np.arange(4, 7)})
    assert [case.tcp.window for case in cases] == [4, 5, 6]
    assert chain.cases({"name": "5"})[0].name == "5"
    assert chain.cases(series="cwnd")[0].measure.series == ["cwnd"]


def test_keys_go_together(chain: Scenario) -> None:
    together = {("nodes.count", "flow.0.to"): [(3, 2), (4, 3)]}
    assert [(case.nodes.count, case.flow[0].to) for case in chain.cases(together)] == [(3, 2), (4, 3)]
    ranged = chain.cases({"tcp.window": "3..5"})
    assert [case.tcp.window for case in ranged] == [3, 4, 5]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"set": "flow.tcp=vegas"}, "set: expected a mapping"),
        ({"set": {3: 4}}, "set: expected a key such as 'flow.tcp'"),
        ({"set": {"tcp.window": float("nan")}}, "tcp.window: expected a finite number"),
        ({"set": {"tcp.window": object()}}, "tcp.window: expected text, a number"),
        ({"set": {"tcp.window": []}}, "at least one value"),
        ({"set": {("a", "b"): [1, 2]}}, "tuples of 2 values"),
        ({"set": {"tcp.window": "9..3"}}, "begins above its end"),
        ({"seed": "x"}, "seed: expected a whole number"),
    ],
)
def test_what_a_program_gives_wrong_is_named(chain: Scenario, change: dict[str, object], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        chain.cases(**change)  # type: ignore[arg-type]


def test_a_key_that_is_not_there_is_a_scenario_error(chain: Scenario) -> None:
    with pytest.raises(ScenarioError, match=r"flow\.7: there are 2"):
        chain.update({"flow.7.tcp": "vegas"})
    with pytest.raises(ValueError, match="duration: expected a finite number"):
        Scenario(duration=float("nan"))


def test_a_file_that_is_no_text_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b'name = "a"\n# caf\xe9\n')
    with pytest.raises(ValueError, match=r"latin\.toml:2: expected UTF-8 text, found the byte 0xe9"):
        Scenario.load(tmp_path / "latin.toml")
    with (tmp_path / "large.toml").open("wb") as file:
        file.truncate(20 * 2**20)
    with pytest.raises(ValueError, match=r"large\.toml: a scenario has at most 16 MiB"):
        Scenario.load(tmp_path / "large.toml")


def test_a_pipe_that_the_process_was_given_is_read() -> None:
    reader, writer = os.pipe()
    os.write(writer, CHAIN.encode())
    os.close(writer)
    try:
        assert len(Scenario.load(f"/dev/fd/{reader}").flow) == 2
    finally:
        os.close(reader)


SWEEP = """
[nodes]
count = 3
[[flow]]
from = 0
to = "last"
[sweep]
"flow.tcp" = ["newreno", "vegas"]
[[sweep.together]]
"nodes.count" = "3..5"
"flow.to" = "last"
"""


def test_a_file_asks_for_a_comparison(tmp_path: Path) -> None:
    path = tmp_path / "hops.toml"
    path.write_text(f'duration = "1 s"\nruns = 1\n{SWEEP}')
    scenario = hopyard.Scenario.load(path)
    cases = scenario.cases()
    assert [case["flow.0.to"] for case in cases] == [2, 3, 4] * 2
    assert len(cases[0].cases()) == 1
    assert len(scenario.cases({"flow.tcp": "cubic"})) == 3
    # A change of another key keeps the comparison.
    scenario["tcp.window"] = 8
    assert [case["tcp.window"] for case in scenario.cases()] == [8] * 6
    results = hopyard.run(path, progress=False)
    assert [case.settings["flow.tcp"] for case in results.cases] == ["newreno"] * 3 + ["vegas"] * 3
    assert results.complete


def test_a_problem_of_a_sweep_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "hops.toml"
    path.write_text(SWEEP.replace('"vegas"', '"vegsa"'))
    with pytest.raises(hopyard.ScenarioError, match=r"hops\.toml:8:26"):
        hopyard.run(path, progress=False)


def test_tables_are_added_to_a_list(chain: Scenario) -> None:
    scenario = chain
    before = len(scenario.flow)
    scenario.flow.append({"from": 1, "to": 0, "tcp": "vegas"})
    assert len(scenario.flow) == before + 1
    assert (scenario.flow[-1]["from"], scenario.flow[-1].tcp) == (1, "vegas")
    assert Scenario.parse(scenario.to_toml()).hash == scenario.hash


@pytest.mark.parametrize("name", ["flood100", "tcp100", "swans1000", "roaming250"])
def test_the_scenarios_of_the_benchmarks_are_sound(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parent.parent / "bench")
    from make_scenarios import MADE

    assert Scenario.parse(MADE[name]).to_toml()
