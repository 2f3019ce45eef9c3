"""One flow whose window or rate is decided: an environment, and its vector form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from hopyard.gym.control import Control, Reward

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hopyard.scenario.plan import Given
    from hopyard.scenario.scenario import Settings


def _info(control: Control, place: int) -> dict[str, Any]:
    """What is known when a run has ended."""
    ending = control.ending(place)
    return {"digest": ending["digest"], "flow": ending["flows"][0]}


class Window(gymnasium.Env["NDArray[np.float64]", "NDArray[np.float64]"]):
    """The congestion window or the rate of one TCP flow, in the place of its congestion control.

    An episode is a run, and is truncated when that ends; `info` then has the digest of the run, and the row of the
    flow in the table of results. `reset(seed=7)` begins run 0 of seed 7, and each further `reset()` the next run.
    `reset(options={"run": 3})` begins run 3.

    Args:
        scenario: the path of a scenario file, a `Scenario` or a mapping of its keys.
        flow: the number of the flow.
        step: how long a step is: a duration such as "100 ms"; "rtt" for a round trip; or "ack" for the time to the
            next acknowledgement outside recovery, loss or timeout.
        action: "window" for the congestion window in segments, and with "ack" the slow start threshold too; "rate"
            for the rate of payload in bit/s.
        limits: the least and the largest action, instead of the usual ones.
        delay_price: what a second of queueing delay costs in each second, in Mbit; the reward is the Mbit that were
            delivered, less that.
        reward: another reward: a function of the observation, in the order of `OBSERVED`.
        set: keys of the scenario with other values.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  Gymnasium declares it so.

    def __init__(
        self,
        scenario: Given,
        flow: int = 0,
        *,
        step: str | float = "rtt",
        action: str = "window",
        limits: tuple[float, float] | None = None,
        delay_price: float = 0.0,
        reward: Reward | None = None,
        set: Settings | None = None,
    ) -> None:
        self._control = Control(
            scenario,
            [flow],
            1,
            step=step,
            action=action,
            limits=limits,
            delay_price=delay_price,
            reward=reward,
            set=set,
        )
        (self.action_space,) = self._control.actions
        self.observation_space = self._control.observations

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Begins a run, and goes on to the first decision."""
        super().reset(seed=seed)
        self._control.begin(0, seed, options)
        return self._control.wait()[0, 0], {}

    def step(self, action: NDArray[np.float64]) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        """Puts a decision into effect, and goes on to the next one or to the end of the run."""
        if self._control.ended_undecided(0):
            return self._control.seen(0)[0], 0.0, False, True, _info(self._control, 0)
        self._control.check_open(0)
        self._control.decide(0, 0, action)
        self._control.act()
        seen = self._control.wait()[0, 0]
        is_over = not self._control.is_open(0)
        reward = float(self._control.rewards[0](seen))
        return seen, reward, False, is_over, _info(self._control, 0) if is_over else {}

    def close(self) -> None:
        """Ends the run."""
        self._control.close()


class Windows(VectorEnv["NDArray[np.float64]", "NDArray[np.float64]", "NDArray[Any]"]):
    """The vector form of `Window`: many runs at a time, on all processors, in threads of the core.

    All runs go on while Python waits without its lock. `reset(seed=7)` begins run 0 of the seeds 7, 8, 9 and so on;
    `reset(seed=[...])` that of each seed. A place whose run has ended begins its next one in the step after that,
    which has the reward 0 (`AutoresetMode.NEXT_STEP`).
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  Gymnasium declares it so.
        "render_modes": [],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        scenario: Given,
        flow: int = 0,
        *,
        num_envs: int = 1,
        step: str | float = "rtt",
        action: str = "window",
        limits: tuple[float, float] | None = None,
        delay_price: float = 0.0,
        reward: Reward | None = None,
        set: Settings | None = None,
    ) -> None:
        if isinstance(num_envs, bool) or not hasattr(num_envs, "__index__") or not 1 <= num_envs <= 4096:
            raise ValueError(f"num_envs: expected a number from 1 to 4096, found {num_envs!r}")
        self._control = Control(
            scenario,
            [flow],
            num_envs,
            step=step,
            action=action,
            limits=limits,
            delay_price=delay_price,
            reward=reward,
            set=set,
        )
        self.num_envs = num_envs
        (self.single_action_space,) = self._control.actions
        self.single_observation_space = self._control.observations
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._has_begun = False

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Begins a run at each place, and goes on to their first decisions."""
        if seed is None or hasattr(seed, "__index__"):
            first: Any = seed
            super().reset(seed=first)
            seeds = [None if first is None else first + place for place in range(self.num_envs)]
        else:
            seeds = list(seed)
            if len(seeds) != self.num_envs:
                raise ValueError(f"seed: expected {self.num_envs} seeds, found {len(seeds)}")
        for place, each in enumerate(seeds):
            self._control.begin(place, each, options)
        self._has_begun = True
        return self._control.wait()[:, 0], {}

    def step(
        self, actions: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Puts a decision into effect at each place, and goes on to the next ones."""
        if not self._has_begun:
            raise ResetNeeded("step: expected runs that go on, found none: call reset()")
        if np.shape(actions) != self.action_space.shape:
            raise ValueError(f"actions: expected the shape {self.action_space.shape}, found {np.shape(actions)}")
        control, places = self._control, range(self.num_envs)
        ended = [not control.is_open(place) and not control.ended_undecided(place) for place in places]
        for place in places:
            if control.is_open(place):
                control.decide(place, 0, actions[place])
        is_idle = np.array([not control.is_open(place) for place in places])
        for place in places:
            if ended[place]:
                control.begin(place, None, None)
        control.act()
        seen = control.wait()[:, 0]
        rewards = np.where(is_idle, 0.0, control.rewards[0](seen))
        for place in places:
            if ended[place]:
                control.ended_undecided(place)  # It is told now.
        over = np.array([not control.is_open(place) for place in places])
        return seen, rewards, np.zeros(self.num_envs, dtype=bool), over, self._infos(over)

    def _infos(self, over: NDArray[Any]) -> dict[str, Any]:
        """The information of the runs that have ended; `_digest` and `_flow` say at which places."""
        if not over.any():
            return {}
        infos = {name: np.full(self.num_envs, None, dtype=object) for name in ("digest", "flow")}
        for place in map(int, np.flatnonzero(over)):
            for name, value in _info(self._control, place).items():
                infos[name][place] = value
        return {**infos, "_digest": over.copy(), "_flow": over.copy()}

    def close_extras(self) -> None:
        """Ends all runs."""
        self._control.close()
