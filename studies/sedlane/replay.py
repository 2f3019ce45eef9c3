"""The schedule of a trace's classes, and the network that replays it.

Two nodes, and a wire between them whose delay and loss rate follow the schedule: the place of the
laptop, the emulator and the PC of the paper's test-bed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from hopyard.scenario.scenario import Scenario

if TYPE_CHECKING:
    from hopyard.tables.arrays import Floats, Integers, Mask

    from studies.sedlane.classes import Classes

#: What a scenario keeps where its network is replaced by a replay.
KEPT = ("name", "profile", "duration", "runs", "seed", "tcp", "linux", "ip", "measure", "simulator")


@dataclass(frozen=True)
class Network:
    """The link of a replay.

    Args:
        rate: that of the wire in both directions: the network card of the emulator.
        queue: the packets that wait for it.
        overtaking: whether packets of a class with a shorter delay arrive before earlier ones.
    """

    rate: str = "100 Mbps"
    queue: int = 1000
    overtaking: bool = False


def schedules(classes: Classes) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The entries of the data's direction, and of the acknowledgements', for a `[[wire]]`."""
    trace, rules = classes.trace, classes.rules
    rates = [(it.delay, it.loss, it.ack_loss) for it in classes.classes]
    delays, loss, ack_loss = (np.array(it) for it in zip(*rates, strict=True))
    no_loss = np.zeros(len(trace.ack_sent), dtype=np.bool_)
    of_ack = classes.of[trace.ack_of]
    by = (rules.by, rules.losses)
    if rules.by == "packet":
        back = _entries(
            trace.ack_sent,
            of_ack,
            delays,
            ack_loss if rules.lose_acks else 0 * ack_loss,
            trace.ack_lost if rules.lose_acks else no_loss,
            by,
        )
    else:
        # The class of an instant is that of the packet sent last, in both directions.
        back = _entries(trace.sent, classes.of, delays, 0 * ack_loss, 0 * trace.lost, by)
        if rules.lose_acks:
            _lose(back, trace.ack_sent, trace.ack_lost, of_ack, ack_loss, rules.losses)
    return _entries(trace.sent, classes.of, delays, loss, trace.lost, by), back


def _entries(
    times: Floats, of: Integers, delays: Floats, rates: Floats, lost: Mask | Integers, by: tuple[str, str]
) -> list[dict[str, Any]]:
    """An entry for each longest row of packets of one class, and, if wanted, of one fate."""
    begin, losses = by
    if not len(of):
        return []
    changes = np.diff(of) != 0
    if losses == "packet":
        changes |= np.diff(np.asarray(lost, dtype=np.int8)) != 0
    starts = np.concatenate(([0], np.flatnonzero(changes) + 1))
    found: list[dict[str, Any]] = []
    for start, end in zip(starts, [*starts[1:], len(of)], strict=True):
        number = int(of[start])
        rate = float(rates[number] if losses == "class" else np.mean(lost[start:end]))
        entry = {"delay": _time(delays[number]), "loss": round(rate, 9)}
        at = 0.0 if start == 0 else float(times[start])
        if begin == "packet":
            found.append({"packet": int(start), **entry})
        elif found and found[-1]["from"] == _time(at):
            # Packets that were sent at once: the last of them decides.
            found[-1] = {"from": _time(at), **entry}
        else:
            found.append({"from": _time(at), **entry})
    return found


def _lose(entries: list[dict[str, Any]], times: Floats, lost: Mask, of: Integers, rates: Floats, losses: str) -> None:
    """Adds the losses of acknowledgements to entries that begin at times."""
    starts = np.array([_nanoseconds(it["from"]) for it in entries])
    place = np.maximum(np.searchsorted(starts, np.rint(times * 1e9), side="right") - 1, 0)
    for number, entry in enumerate(entries):
        mine = place == number
        if not mine.any():
            continue
        rate = rates[of[mine]].mean() if losses == "class" else lost[mine].mean()
        entry["loss"] = round(float(rate), 9)


def _time(seconds: float) -> str:
    return f"{round(seconds * 1e9)} ns"


def _nanoseconds(text: str) -> int:
    return int(text.removesuffix(" ns"))


def replayed(scenario: Scenario, flow: int, classes: Classes, network: Network | None = None) -> Scenario:
    """The scenario of one flow over the replay of a trace, in place of its network.

    Args:
        scenario: that of the trace.
        flow: the flow of the trace, which keeps all of its keys but its ends.
        classes: those of the trace.
        network: the link.

    Raises:
        ValueError: when the scenario has no `[[flow]]` of this number.
        ScenarioError: when the flow does not fit the replay.
    """
    network = network or Network()
    document = scenario.to_dict()
    flows = document.get("flow", [])
    if flow >= len(flows):
        raise ValueError(f"the scenario has no [[flow]] of number {flow}: expected less than {len(flows)}")
    forth, back = schedules(classes)
    kept = {key: value for key, value in document.items() if key in KEPT}
    kept["name"] = f"{kept.get('name', 'scenario')} (replay)"
    kept["nodes"] = {"wired": 2}
    kept["wire"] = [
        {
            "between": [0, 1],
            "rate": network.rate,
            "delay": "0 s",
            "queue_length": network.queue,
            "overtaking": network.overtaking,
            "replay": forth,
            "replay_back": back,
        }
    ]
    kept["flow"] = [{**flows[flow], "from": 0, "to": 1}]
    return Scenario(kept)
