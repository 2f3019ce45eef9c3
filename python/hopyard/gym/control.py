"""Runs whose senders follow decisions: what all environments of windows and rates share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box

from hopyard import _core
from hopyard.gym.episodes import Numbers, case_of, nanoseconds
from hopyard.running import memory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from hopyard.scenario.plan import Given
    from hopyard.scenario.scenario import Settings

#: The quantities of an observation, in order. Times are in seconds, amounts in segments.
OBSERVED: tuple[str, ...] = tuple(_core.Episodes.OBSERVED)
#: What a reward is computed from, and what it is: the last axis of the observations goes.
Reward: TypeAlias = "Callable[[NDArray[np.float64]], NDArray[np.float64]]"

#: The largest window that TCP can announce without an option, in segments of one byte.
MOST_WINDOW = 65_535.0
#: The usual bounds of a rate, in bit/s.
RATES = (1e3, 1e7)
ELAPSED, ROUND_TRIP, MIN_ROUND_TRIP, DELIVERED = map(
    OBSERVED.index, ("elapsed", "round_trip", "min_round_trip", "delivered")
)


def price_of_delay(segment: int, delay_price: float) -> Reward:
    """The usual reward: Mbit delivered, less the price of the time that segments wait in queues.

    Args:
        segment: the payload of a segment, in bytes.
        delay_price: what a second of queueing delay costs in each second, in Mbit.
    """
    if not (isinstance(delay_price, int | float) and np.isfinite(delay_price) and delay_price >= 0):
        raise ValueError(f"delay_price: expected a number from 0 on, found {delay_price!r}")

    def reward(seen: NDArray[np.float64]) -> NDArray[np.float64]:
        queueing = np.maximum(seen[..., ROUND_TRIP] - seen[..., MIN_ROUND_TRIP], 0.0)
        return seen[..., DELIVERED] * segment * 8e-6 - delay_price * queueing * seen[..., ELAPSED]

    return reward


class Control:
    """Runs of a scenario at a number of places, with an agent for each of some flows."""

    def __init__(
        self,
        scenario: Given,
        flows: Sequence[int],
        places: int,
        *,
        step: str | float,
        action: str,
        limits: tuple[float, float] | None,
        delay_price: float,
        reward: Reward | None,
        set: Settings | None,
    ) -> None:
        for flow in flows:
            if isinstance(flow, bool) or not hasattr(flow, "__index__") or flow < 0:
                raise ValueError(f"flow: expected the number of a flow, found {flow!r}")
        case = case_of(scenario, set)
        memory.check([case] * places, places)
        self._flows = list(flows)
        event = {"ack": "event", "rtt": "round_trip"}.get(step) if isinstance(step, str) else None
        interval = 0 if event else nanoseconds(step, "step")
        self._core = _core.Episodes(case.core, self._flows, places, event or "interval", action, interval)
        self._numbers = [Numbers(case) for _ in range(places)]
        self._seen: NDArray[np.float64] = np.zeros((places, len(flows), len(OBSERVED)))
        self._open = [False] * places
        #: The places whose run was begun, and those whose run ended before its first decision.
        self._begun: list[int] = []
        self._undecided: list[int] = []
        width = 2 if (event, action) == ("event", "window") else 1
        # Box has no type for its numbers.
        self.actions: list[Any] = [
            self._action_space(window, action, width, limits) for _, window in self._core.senders
        ]
        self.observations: Any = Box(0.0, 1e12, (len(OBSERVED),), np.float64)
        self.rewards = [reward or price_of_delay(segment, delay_price) for segment, _ in self._core.senders]
        self._given = np.zeros((places, len(flows), width))

    @staticmethod
    def _action_space(window: int, action: str, width: int, limits: tuple[float, float] | None) -> Box:
        if limits is None:
            limits = RATES if action == "rate" else (1.0, MOST_WINDOW if width == 2 else float(window))
        low, high = limits
        least = 1.0
        if not (np.isfinite(low) and np.isfinite(high) and least <= low < high):
            raise ValueError(f"limits: expected two rising numbers from {least:g} on, found {limits!r}")
        return Box(low, high, (width,), np.float64)

    def begin(self, place: int, seed: int | None, options: Mapping[str, Any] | None) -> None:
        """Starts a run at a place; the first observation is there after `wait`."""
        case, run = self._numbers[place].take(seed, options)
        self._core.begin(place, case.core, run)
        self._begun.append(place)

    def decide(self, place: int, agent: int, action: object) -> None:
        """Notes the decision of an agent, which is given to the run by `act`."""
        space, where = self.actions[agent], f"flow {self._flows[agent]}"
        try:
            given = np.asarray(action, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"action of {where}: expected {space.shape[0]} numbers, found {action!r}") from None
        if given.shape != space.shape:
            raise ValueError(f"action of {where}: expected an array of the shape {space.shape}, found {given.shape}")
        low, high = float(space.low[0]), float(space.high[0])
        for value in given:
            if not low <= value <= high:
                hint = "" if np.isnan(value) else "; gymnasium.wrappers.ClipAction keeps actions within bounds"
                raise ValueError(f"action of {where}: expected numbers from {low:g} to {high:g}, found {value}{hint}")
        self._given[place, agent] = given

    def act(self) -> None:
        """Gives the noted decisions to the runs that wait for some."""
        self._core.act(self._given.tobytes())

    def wait(self) -> NDArray[np.float64]:
        """The observations of all agents at all places, when every run waits for decisions or has ended."""
        self._open, seen = self._core.wait()
        self._seen = np.frombuffer(seen).reshape(self._seen.shape)
        self._undecided += [place for place in self._begun if not self._open[place]]
        self._begun = []
        return self._seen.copy()

    def is_open(self, place: int) -> bool:
        """Whether the run at a place goes on."""
        return self._open[place]

    def ended_undecided(self, place: int) -> bool:
        """Whether the run at a place ended before its first decision, which is told once: in the first step."""
        if place not in self._undecided:
            return False
        self._undecided.remove(place)
        return True

    def seen(self, place: int) -> NDArray[np.float64]:
        """The last observations at a place."""
        return np.array(self._seen[place])

    def check_open(self, place: int) -> None:
        """Refuses a step of a run that has ended, or was never begun."""
        if not self._open[place]:
            raise ResetNeeded("step: expected a run that goes on, found one that has ended or not begun: call reset()")

    def ending(self, place: int) -> dict[str, Any]:
        """The digest of the run that ended at a place, and the rows of its flows in the table of results."""
        digest, rows = self._core.ending(place)
        by_number = {row["flow"]: row for row in json.loads(rows)}
        return {"digest": digest, "flows": [by_number[flow] for flow in self._flows]}

    def close(self) -> None:
        """Ends all runs."""
        self._core.close()
        self._open = [False] * len(self._open)
