"""Congestion control written in Python: the messages about its faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hopyard
import pytest
from hopyard import Scenario, ScenarioError, SimulationError
from rules import GOOD, WIRE
from short import command

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("own_modules")

BAD = {
    "no_module:X": ("there is no module `no_module`", "sys.path"),
    "bad:Absent": ("bad has no `Absent`", "`Good`"),
    "bad:Goood": ("bad has no `Goood`", 'did you mean "Good"?'),
    "bad:NUMBER": ("`bad:NUMBER` is 3, and not a class",),
    "bad:NotARule": ("`bad:NotARule` is not a congestion control", "hopyard.CongestionControl"),
    "bad:Incomplete": ("does not say what happens in on_loss and on_timeout", "on_ack"),
    "bad:Typo": ("a method `on_timout`, which is no event", "did you mean `on_timeout`?"),
    "bad:WrongKind": ("`table` of `bad:WrongKind` is annotated with", "int, float, bool or str"),
    "bad:WrongDefault": ("`size` of `bad:WrongDefault` has the default 1.5", "expected int"),
    "bad:Reserved": ("`cwnd` of `bad:Reserved` belongs to every congestion control",),
    "bad:Raises": ("Raises.__init__ raised ValueError: share", "bad.py:", "raise ValueError"),
    "bad:Windows": ("cwnd can be used in events only",),
    "bad:Recovery": ("recovery is `magic`", "`new_reno`"),
    "bad:NoRecovery": ("recovery: expected a name such as 'newreno', found None",),
    "bad:Misspelt": ("sets `self.cwmd`, which nothing reads", "did you mean `self.cwnd`?"),
    "bad:NoTimer": ("sets `self.deadline`, and has no method", "def on_timer(self)"),
    "bad:Arguments": ("`on_ack(self, *, ack)` of `bad:Arguments` cannot be called", "def on_ack"),
    "nul:X": ("the module `nul` is not Python", "nul.py"),
    "syntax:X": ("the module `syntax` is not Python", "syntax.py:2"),
    "fails:X": ("cannot be imported: ZeroDivisionError", "fails.py:1"),
    "not a module:X": ("is not the name of a module",),
}

BAD_MODULE = (
    GOOD
    + """
NUMBER = 3

class NotARule:
    pass

class NoRecovery(Good):
    recovery = None

class Misspelt(Good):
    def on_timeout(self, timeout):
        self.cwmd = 1

class NoTimer(Good):
    def on_timeout(self, timeout):
        self.deadline = self.now + 1

class Arguments(Good):
    def on_ack(self, *, ack):
        pass

class Incomplete(CongestionControl):
    def on_ack(self, ack):
        pass

class Typo(Good):
    def on_timout(self, timeout):
        pass

class WrongKind(Good):
    table: dict = {}

class WrongDefault(Good):
    size: int = 1.5

class Reserved(Good):
    cwnd: float = 3.0

class Raises(Good):
    share: float = 2.0

class Windows(Good):
    def __init__(self):
        self.cwnd = 3

class Recovery(Good):
    recovery = "magic"
"""
)


@pytest.mark.parametrize("name", BAD)
def test_a_rule_that_cannot_be_used_is_reported_before_the_run(tmp_path: Path, name: str) -> None:
    (tmp_path / "bad.py").write_text(BAD_MODULE, encoding="utf-8")
    (tmp_path / "syntax.py").write_text("x = 1\nclass\n", encoding="utf-8")
    (tmp_path / "nul.py").write_bytes(b"x = 1\n\0")
    (tmp_path / "fails.py").write_text("x = 1 / 0\n", encoding="utf-8")
    text = Scenario(WIRE).to_toml().replace('tcp = "newreno"', f'tcp = "{name}"')
    with pytest.raises(ScenarioError) as caught:
        Scenario.parse(text, name="wire.toml", base=tmp_path)
    (problem,) = caught.value.problems
    assert problem.path == "flow.0.tcp"
    assert (problem.file, problem.text) == ("wire.toml", f'tcp = "{name}"')
    for words in BAD[name]:
        assert words in str(caught.value)


def test_parameters_that_do_not_fit_are_reported_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD, encoding="utf-8")
    text = Scenario(WIRE).to_toml().replace('tcp = "newreno"', 'tcp = "good:Good"')
    more = '\n[tcp."good:Good"]\nshar = 0.3\ncount = 1.5\nmode = 3\nfast = "yes"\n'
    with pytest.raises(ScenarioError) as caught:
        Scenario.parse(text + more, name="wire.toml", base=tmp_path)
    shown = {problem.text: problem for problem in caught.value.problems}
    assert shown["shar = 0.3"].hint == "did you mean `share`?"
    assert shown["count = 1.5"].expected == "a whole number"
    assert shown["mode = 3"].expected == "text in quotes"
    assert shown['fast = "yes"'].expected == "true or false"
    with pytest.raises(ScenarioError, match=r"share must lie between 0 and 1, not 1.5"):
        Scenario.parse(f'{text}\n[tcp."good:Good"]\nshare = 1.5\n', base=tmp_path)


FAILING = """
from hopyard import CongestionControl

class Base(CongestionControl):
    def on_ack(self, ack):
        if self.now > 5:
            self.fail()
        self.cwnd += 1 / self.cwnd

    def on_loss(self, loss):
        self.cwnd = 2

    def on_timeout(self, timeout):
        self.cwnd = 1
"""

FAILURES = {
    "1 / 0": "ZeroDivisionError: division by zero",
    'self.cwnd = float("nan")': "ValueError: cwnd must be a finite number above zero, not nan",
    "self.cwnd = 0": "ValueError: cwnd must be a finite number above zero, not 0",
    "self.cwnd = -2": "ValueError: cwnd must be a finite number above zero, not -2",
    'self.cwnd = "many"': "ValueError: cwnd must be a finite number above zero, not 'many'",
    "self.ssthresh = 0": "ValueError: ssthresh must be a number above zero, not 0",
    "self.pacing_gap = -1": "ValueError: pacing_gap must be seconds, zero or more, not -1",
    "self.deadline = self.now": "ValueError: deadline must be later than now",
    "self.freeze(0)": "ValueError: probe must be seconds, at least 1e-9, not 0",
    "self.rescale_rto(-1)": "ValueError: factor must be a finite number above zero, not -1",
    "self.thaw(); self.cwnd = 3": "RuntimeError: cwnd cannot be set in an event that freezes",
    "self.cwnd = 3; self.freeze(1)": "RuntimeError: freeze goes with nothing else in one event",
    "self.flight = 3": "AttributeError:",
}


@pytest.mark.parametrize("line", FAILURES)
def test_an_exception_names_the_line_and_the_simulated_time(tmp_path: Path, line: str) -> None:
    text = f"{FAILING}\n    def fail(self):\n        {line}\n    def on_timer(self):\n        pass\n"
    (tmp_path / "failing.py").write_text(text, encoding="utf-8")
    scenario = Scenario(WIRE | {"flow": [{"from": 0, "to": 1, "tcp": "failing:Base"}]})
    with pytest.raises(SimulationError) as caught:
        hopyard.run(scenario, runs=1, seed=7)
    shown = str(caught.value)
    number = text.splitlines().index(f"        {line}") + 1
    assert "run 0 of wire with seed 7 failed: flow 0 at 5.0" in shown
    assert f"Base.on_ack raised {FAILURES[line]}" in shown
    assert f"{tmp_path}/failing.py:{number}, in fail\n    {line}" in shown
    assert "in on_ack\n    self.fail()" in shown


def test_an_event_gives_nothing(tmp_path: Path) -> None:
    (tmp_path / "gives.py").write_text(
        GOOD.replace("self.cwnd += 1 / self.cwnd", "return self.cwnd + 1"), encoding="utf-8"
    )
    scenario = Scenario(WIRE | {"flow": [{"from": 0, "to": 1, "tcp": "gives:Good"}]})
    with pytest.raises(SimulationError, match=r"an event gives None, not \d+\.\d+"):
        hopyard.run(scenario, runs=1)


def test_the_finished_runs_of_others_are_kept(tmp_path: Path) -> None:
    (tmp_path / "failing.py").write_text(f"{FAILING}\n    def fail(self):\n        1 / 0\n", encoding="utf-8")
    settings = {"flow.tcp": ["newreno", "failing:Base"]}
    with pytest.raises(SimulationError) as caught:
        hopyard.run(Scenario(WIRE), set=settings, runs=2, jobs=1)
    results = caught.value.results
    assert results is not None
    assert not results.complete
    assert results.flows["flow.tcp"].to_pylist() == ["newreno", "newreno"]
    (tmp_path / "wire.toml").write_text(Scenario(WIRE).to_toml(), encoding="utf-8")
    arguments = ["run", "wire.toml", "--set", "flow.tcp=newreno,failing:Base", "--runs", "2"]
    result = command(*arguments, "--jobs", "1", "--out", "kept")
    assert result.exit_code == 1
    assert "ZeroDivisionError" in result.output
    assert (tmp_path / "kept" / "flows.parquet").exists()
