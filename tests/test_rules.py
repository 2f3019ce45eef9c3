"""Congestion control written in Python: its abilities."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, ClassVar, Literal

import hopyard
import pytest
from hopyard import CongestionControl, Scenario, SimulationError, _core
from rules import GOOD, WIRE
from short import ok, process

pytestmark = pytest.mark.usefixtures("own_modules")

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CHAIN = DOCS / "guide" / "custom-tcp" / "chain.toml"


def digests(*cases: Scenario, runs: int | None = None, jobs: int = 1) -> list[str | None]:
    numbers = [range(runs or case.core.runs) for case in cases]
    batch = _core.Batch([case.core for case in cases], numbers, jobs)
    while not batch.poll(1).over:
        pass
    return [run.digest for run in batch.take()[0]]


def blocks(language: str) -> list[str]:
    text = (DOCS / "guide" / "custom-tcp.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_example_of_the_documentation_runs_as_printed(tmp_path: Path) -> None:
    (example,) = (each for each in blocks("python") if "class Aimd" in each)
    assert len(example.splitlines()) == 20
    assert example == (DOCS / "guide" / "custom-tcp" / "aimd.py").read_text(encoding="utf-8")
    (tmp_path / "aimd.py").write_text(example, encoding="utf-8")
    (tmp_path / "chain.toml").write_text(CHAIN.read_text(encoding="utf-8"), encoding="utf-8")
    arguments = ["run", "chain.toml", "--set", "flow.tcp=newreno,aimd:Aimd", "--runs", "2"]
    result = ok(*arguments)
    assert "aimd:Aimd" in result.output
    assert "newreno" in result.output


def test_the_same_rule_in_rust_gives_the_same_runs() -> None:
    (example,) = (each for each in blocks("rust") if "pub struct Aimd" in each)
    assert example == (DOCS / "guide" / "custom-tcp" / "aimd.rs").read_text(encoding="utf-8")
    # With `--workspace` and what `make test` optimises, it is what `cargo test` has built.
    cargo = ["cargo", "build", "--quiet", "--workspace", "--message-format", "json", "--example", "own_control"]
    optimised = os.environ.get("SIMULATES", "").split()
    built = subprocess.run([*cargo, *optimised], cwd=ROOT, capture_output=True, text=True, check=True)
    (program,) = filter(None, (json.loads(line).get("executable") for line in built.stdout.splitlines()))
    for settings in ({}, {"profile": "ns2"}, {'tcp."aimd:Aimd".keep': 0.9}):
        words = [f"{key}={value}" for key, value in settings.items()]
        command = [program, str(CHAIN), *words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        rust = [f"{int(line, 16):016x}" for line in done.stdout.split()]
        loaded = Scenario.load(CHAIN)
        python = digests(*loaded.cases({"flow.tcp": "aimd:Aimd", **settings}))
        assert len(rust) == 3
        assert python == rust
        assert python != digests(*loaded.cases({"flow.tcp": "newreno", **settings}, seed=1)[:1])


def test_the_number_of_threads_changes_nothing() -> None:
    cases = Scenario.load(CHAIN).cases({"flow.tcp": ["aimd:Aimd", "vegas"]})
    one, two, eight = (digests(*cases, runs=4, jobs=jobs) for jobs in (1, 2, 8))
    assert one == two == eight
    assert len(set(one)) == 8


class NewReno(CongestionControl):
    """RFC 5681 in the profile rfc, like the model of that name."""

    recovery = "new_reno"

    def on_ack(self, ack: hopyard.congestion.Ack) -> None:
        if ack.phase == "open" and ack.window_limited:
            self.cwnd += 1 if self.cwnd < self.ssthresh else 1 / self.cwnd

    def on_loss(self, loss: hopyard.congestion.Loss) -> None:
        self.cwnd = self.ssthresh = max(self.flight / 2, 2)

    def on_timeout(self, timeout: hopyard.congestion.Timeout) -> None:
        if timeout.repeated == 0:
            self.ssthresh = max(self.flight / 2, 2)
        self.cwnd = 1


def test_a_class_itself_may_stand_in_a_scenario() -> None:
    scenario = Scenario(WIRE | {"flow": [{"from": 0, "to": 1, "tcp": NewReno}]})
    assert scenario.flow[0].tcp == f"{__name__}:NewReno"
    (model,) = scenario.cases({"flow.tcp": "newreno"})
    assert digests(scenario, runs=2) == digests(model, runs=2)
    results = hopyard.run(scenario, set={"flow.tcp": [NewReno, "newreno"]}, runs=1)
    assert set(results.flows["transport"].to_pylist()) == {f"{__name__}:NewReno", "newreno"}


def test_classes_made_in_a_function_are_told_apart() -> None:
    def fixed(size: int) -> type[CongestionControl]:
        class Fixed(NewReno):
            def on_ack(self, ack: hopyard.congestion.Ack) -> None:
                self.cwnd = size

        return Fixed

    small, large = fixed(2), fixed(6)
    cases = Scenario(WIRE).cases({"flow.tcp": [small, large, small]})
    first, second, third = (digests(case, runs=1) for case in cases)
    assert first == third != second


class Watching(NewReno):
    """Records the events that it receives."""

    seen: ClassVar[list[tuple[Any, ...]]] = []
    recovery = "sack"
    wants_rate = True

    def note(self, name: str, *what: object) -> None:
        self.seen.append((name, self.now, *what))

    def on_ack(self, ack: hopyard.congestion.Ack) -> None:
        super().on_ack(ack)
        self.note("ack", ack.phase, ack.bytes, ack.round_trip, ack.rate and ack.rate.rate)

    def on_duplicate(self, duplicate: hopyard.congestion.Duplicate) -> None:
        self.note("duplicate", duplicate.count, duplicate.sacked)

    def on_recovered(self) -> None:
        self.note("recovered", self.recovering)

    def on_sent(self, sent: hopyard.congestion.Sent) -> None:
        self.note("sent", sent.seq, sent.length, sent.retransmission)

    def on_route(self, route: hopyard.congestion.Route) -> None:
        self.note("route", route.kind, route.hops)

    def on_idle(self, restart: float) -> None:
        self.note("idle", restart)
        self.cwnd = restart


def test_a_rule_is_told_every_event() -> None:
    Watching.seen.clear()
    # Bursts with long pauses between them; a wire whose queue overflows; a route.
    pauses = {"packet_size": "20000 B", "rate": "400 kbps", "on": "1 s", "off": "4 s"}
    flow = {"from": 0, "to": 1, "tcp": Watching}
    bursts = flow | {"traffic": "on_off", "on_off": pauses}
    hopyard.run(Scenario(WIRE | {"flow": [bursts]}), runs=1)
    hopyard.run(Scenario(WIRE | {"flow": [flow]}), runs=1)
    chain = {"nodes": {"count": 3}, "duration": "10 s", "flow": [flow | {"to": 2}]}
    hopyard.run(Scenario(chain), runs=1)
    seen: dict[str, list[tuple[Any, ...]]] = {}
    for name, *rest in Watching.seen:
        seen.setdefault(name, []).append(tuple(rest))
    assert seen.keys() == {"ack", "duplicate", "recovered", "sent", "route", "idle"}
    assert any(phase == "partial" for _, phase, *_ in seen["ack"])
    assert all(bytes_ > 0 for _, _, bytes_, *_ in seen["ack"])
    assert any(0.02 < trip < 1 for _, _, _, trip, _ in seen["ack"] if trip)
    assert any(50_000 < rate < 130_000 for *_, rate in seen["ack"] if rate), "1 Mbps"
    assert any(sacked > 0 for _, _, sacked in seen["duplicate"])
    assert any(again for *_, again in seen["sent"])
    assert all(recovering for _, recovering in seen["recovered"])
    assert ("restored", None) in [each[1:] for each in seen["route"]]
    assert ("hops", 2) in [each[1:] for each in seen["route"]]


class Undoing(NewReno):
    """Records what only the TCP of Linux tells, and how far an undone reduction goes back."""

    seen: ClassVar[list[tuple[str, float, object]]] = []

    def on_arrival(self, arrival: hopyard.congestion.Arrival) -> None:
        self.seen.append(("arrival", self.cwnd, arrival.round_trip))

    def on_condition(self, condition: Literal["open", "disorder", "reduced", "recovery", "loss"]) -> None:
        self.seen.append(("condition", self.cwnd, condition))

    def on_undo(self, before: hopyard.congestion.Before) -> None:
        self.seen.append(("undo", before.cwnd, before.ssthresh))
        self.cwnd = before.cwnd / 2


class Returning(Undoing):
    """The same without an answer to the undone reduction."""

    on_undo = CongestionControl.on_undo


#: Datagrams fill the queue for a moment: segments arrive after the timeout, and none is lost. What
#: waits in its node is sent again, as if the queue were another node's.
BURST = {
    "profile": "linux",
    "tcp": {"window": 4, "linux": {"small_queues": False}},
    "wire": [{"between": [0, 1], "rate": "1 Mbps", "delay": "20 ms", "queue_length": 500}],
    "flow": [
        {"from": 0, "to": 1},
        {
            "from": 0,
            "to": 1,
            "udp": True,
            "traffic": "on_off",
            "start": "5 s",
            "on_off": {"packet_size": "1000 B", "rate": "8 Mbps", "on": "200 ms", "off": "50 s"},
        },
    ],
}


@pytest.mark.parametrize("rule", [Undoing, Returning])
def test_a_rule_is_told_of_conditions_and_undone_reductions(rule: type[Undoing]) -> None:
    rule.seen.clear()
    results = hopyard.run(Scenario(WIRE | BURST), set={"flow.0.tcp": rule}, runs=1)
    assert results.flows["timeouts"].to_pylist()[0] > 0
    seen: dict[str, list[object]] = {}
    for kind, _, what in rule.seen:
        seen.setdefault(kind, []).append(what)
    assert {"loss", "open"} <= set(seen["condition"])
    trips = [trip for trip in seen["arrival"] if isinstance(trip, float)]
    assert min(trips) < 0.1 < max(trips)
    assert ("undo" in seen) == (rule is Undoing)


class Paced(NewReno):
    """Sends a segment every 50 ms, and has its own tick every second."""

    ticks: ClassVar[list[float]] = []

    def __init__(self) -> None:
        self.pacing_gap = 0.05
        self.deadline = 1.0

    def on_timer(self) -> None:
        assert self.deadline is None
        self.ticks.append(self.now)
        self.deadline = self.now + 1


def test_a_rule_paces_and_has_a_timer() -> None:
    Paced.ticks.clear()
    flow = hopyard.run(Scenario(WIRE), set={"flow.tcp": Paced}, runs=1).flows.to_pylist()[0]
    assert Paced.ticks == [float(second) for second in range(1, 21)]
    # One segment of 1460 bytes each 50 ms is 233.6 kbit/s.
    assert flow["goodput_kbps"] == pytest.approx(233.6, rel=0.02)
    assert flow["retransmissions"] == 0


class Patient(NewReno):
    """Freezes while there is no route, and sends a probe every three seconds."""

    sent: ClassVar[list[float]] = []
    windows: ClassVar[list[float]] = []

    def on_route(self, route: hopyard.congestion.Route) -> None:
        if route.kind == "lost":
            self.windows.append(self.cwnd)
            self.freeze(3)
        elif route.kind == "restored" and self.windows:
            self.thaw()
            self.deadline = self.now + 1e-6

    def on_timer(self) -> None:
        self.windows.append(self.cwnd)

    def on_sent(self, sent: hopyard.congestion.Sent) -> None:
        self.sent.append(self.now)


def test_a_rule_freezes_and_thaws() -> None:
    Patient.sent.clear()
    Patient.windows.clear()
    places = [(0, 200), (10, 200), (10.1, 900), (30, 900), (30.1, 200)]
    track = [{"at": f"{time} s", "x": f"{x} m", "y": "0 m"} for time, x in places]
    moved = {"nodes": [1], "model": "waypoints", "waypoints": {"track": track}}
    scenario = Scenario(
        duration="40 s",
        # Without timestamps. Otherwise the loss of an acknowledgement before the outage gives a
        # round-trip time as long as the outage.
        tcp={"timestamps": False},
        nodes={"count": 2, "spacing": "200 m"},
        movement=[moved],
        flow=[{"from": 0, "to": 1, "tcp": Patient}],
    )
    hopyard.run(scenario, runs=1)
    gone = [time for time in Patient.sent if 12 < time < 29.5]
    gaps = [round(b - a, 6) for a, b in itertools.pairwise(gone)]
    assert len(gaps) >= 5
    assert set(gaps) == {3.0}, "probes and nothing else"
    assert max(Patient.sent) > 39, "it goes on"
    before, after = Patient.windows
    assert before == after > 2


class Elfn(NewReno):
    """Like the model `elfn`: stops when a node reports that it could not forward a segment."""

    wants_notices = True
    probe_interval: float = 2.0
    before_timeout: bool = False
    rates: ClassVar[set[object]] = set()

    def on_ack(self, ack: hopyard.congestion.Ack) -> None:
        super().on_ack(ack)
        self.rates.add((self.link_rate, self.ack_hops))

    def on_route(self, route: hopyard.congestion.Route) -> None:
        if route.kind == "unreachable":
            assert route.seq is not None
            assert route.seq <= self.max_seq
            self.freeze(self.probe_interval, before_timeout=self.before_timeout)


@pytest.mark.parametrize("race", ["published", "restore_before_timeout"])
def test_a_rule_hears_of_unreachable_segments(race: str) -> None:
    places = [(0, 400), (10, 400), (10.1, 900), (20, 900), (20.1, 400)]
    track = [{"at": f"{time} s", "x": f"{x} m", "y": "0 m"} for time, x in places]
    moved = {"nodes": [2], "model": "waypoints", "waypoints": {"track": track}}
    scenario = Scenario(
        duration="40 s", nodes={"count": 3, "spacing": "200 m"}, movement=[moved], flow=[{"from": 0, "to": 2}]
    )
    name = f"{__name__}:Elfn"
    (rule,) = scenario.cases({"flow.tcp": Elfn, f'tcp."{name}".before_timeout': race == "restore_before_timeout"})
    (model,) = scenario.cases({"flow.tcp": "elfn", "tcp.elfn.race": race})
    (other,) = scenario.cases({"flow.tcp": "newreno"})
    assert digests(rule, runs=2) == digests(model, runs=2) != digests(other, runs=2)
    assert (2e6, 2) in Elfn.rates


class Dice(NewReno):
    """Draws the share of the window that it keeps."""

    drawn: ClassVar[list[float]] = []

    def on_loss(self, loss: hopyard.congestion.Loss) -> None:
        share = self.random.uniform(0.3, 0.8)
        self.drawn.append(share)
        self.cwnd = self.ssthresh = max(self.flight * share, 2)


def test_random_numbers_repeat_with_the_seed() -> None:
    def drawn(seed: int) -> list[float]:
        Dice.drawn.clear()
        hopyard.run(Scenario(WIRE), set={"flow.tcp": Dice}, runs=2, seed=seed, jobs=1)
        return list(Dice.drawn)

    first = drawn(1)
    assert len(first) > 4
    assert first == drawn(1) != drawn(2)
    assert len(set(first)) == len(first), "runs differ"


def test_parameters_come_from_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD, encoding="utf-8")
    flow = {"from": 0, "to": 1, "tcp": "good:Good"}
    base = Scenario(WIRE | {"flow": [flow]}, base=tmp_path)
    assert base.tcp["good:Good"] == {"share": 0.5, "count": 3, "mode": "calm", "fast": False}
    other = base.copy()
    other.tcp["good:Good"].share = 0.8
    assert other.tcp["good:Good"].share == 0.8
    assert other.hash != base.hash
    assert digests(other, runs=1) != digests(base, runs=1)
    own = Scenario(WIRE | {"flow": [flow | {"good:Good": {"share": 0.8}}]}, base=tmp_path)
    assert digests(own, runs=1) == digests(other, runs=1)
    (again,) = other.cases({'tcp."good:Good".share': 0.5})
    assert again.hash == base.hash
    assert Scenario.parse(other.to_toml(), base=tmp_path).hash == other.hash


def test_changed_code_is_another_configuration(tmp_path: Path) -> None:
    file = tmp_path / "good.py"
    file.write_text(GOOD, encoding="utf-8")
    flow = {"flow": [{"from": 0, "to": 1, "tcp": "good:Good"}]}
    before = Scenario(WIRE | flow, base=tmp_path)
    assert Scenario(WIRE | flow, base=tmp_path).hash == before.hash
    file.write_text(GOOD.replace("+= 1 /", "+= 2 /"), encoding="utf-8")
    after = Scenario(WIRE | flow, base=tmp_path)
    assert after.hash != before.hash
    assert digests(after, runs=1) != digests(before, runs=1)


def test_modules_are_looked_for_beside_the_scenario_and_in_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder, share in ((here, "0.5"), (there, "0.9")):
        folder.mkdir()
        text = GOOD.replace("share: float = 0.5", f"share: float = {share}")
        (folder / "good.py").write_text(text, encoding="utf-8")
        text = Scenario(WIRE).to_toml()
        (folder / "wire.toml").write_text(text, encoding="utf-8")
    shares = []
    for folder in (here, there, here):
        (case,) = Scenario.load(folder / "wire.toml").cases({"flow.tcp": "good:Good"})
        shares.append(case.tcp["good:Good"].share)
    assert shares == [0.5, 0.9, 0.5]
    monkeypatch.chdir(there)
    (case,) = Scenario(WIRE, base=tmp_path).cases({"flow.tcp": "good:Good"})
    assert case.tcp["good:Good"].share == 0.9
    assert not list(tmp_path.rglob("__pycache__"))


def test_windows_cannot_be_set_when_a_segment_is_sent() -> None:
    class Late(NewReno):
        def on_sent(self, sent: hopyard.congestion.Sent) -> None:
            self.cwnd = 3

    with pytest.raises(SimulationError, match="cwnd cannot be used in on_sent"):
        hopyard.run(Scenario(WIRE), set={"flow.tcp": Late}, runs=1)


def test_events_that_a_class_leaves_out_are_not_called() -> None:
    from hopyard.congestion.loading import find

    assert find(f"{__name__}:NewReno", ".").events == ["on_ack", "on_loss", "on_timeout"]
    assert "on_timer" in find(f"{__name__}:Paced", ".").events


SLOW = """
import pathlib
import time

from hopyard import CongestionControl

class Slow(CongestionControl):
    def on_ack(self, ack):
        pathlib.Path("begun").touch()
        time.sleep(0.2)

    def on_loss(self, loss):
        pass

    def on_timeout(self, timeout):
        pass
"""


def test_ctrl_c_is_heard_between_the_events_of_a_slow_rule(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "wire.toml").write_text(Scenario(WIRE).to_toml())
    run = process("run", "wire.toml", "--runs", 1, "--set", "flow.tcp=slow:Slow", cwd=tmp_path)
    try:
        for _ in range(600):
            if (tmp_path / "begun").exists() or run.poll() is not None:
                break
            time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        # Its 1,600 acknowledgements would take five minutes.
        _, errors = run.communicate(timeout=20)
    finally:
        run.kill()
    assert run.returncode == 130, errors
