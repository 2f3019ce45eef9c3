"""Several flows, each with an agent that decides its window or its rate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from hopyard.gym.control import Control, Reward
from hopyard.gym.parallel import ParallelEnv, decisions

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from hopyard.scenario.plan import Given
    from hopyard.scenario.scenario import Settings


class Flows(ParallelEnv):  # type: ignore[misc]
    """The windows or the rates of several TCP flows, in the place of their congestion controls.

    All agents decide at the same times. They are named "flow_0", "flow_1" and so on; `agents` is empty when the run has
    ended, and the `info` of each then has the digest of the run, and its row in the table of results. Seeds and runs
    are those of `Window`.

    Args:
        scenario: the path of a scenario file, a `Scenario` or a mapping of its keys.
        flows: the numbers of the flows.
        step: how long a step is: a duration such as "100 ms".
        action: "window" for congestion windows in segments, "rate" for rates of payload in bit/s.
        limits: the least and the largest action, instead of the usual ones.
        delay_price: as for `Window`.
        reward: as for `Window`; each agent has the reward of its flow.
        set: keys of the scenario with other values.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "hopyard_flows_v0", "render_modes": [], "is_parallelizable": True}

    def __init__(
        self,
        scenario: Given,
        flows: Sequence[int] = (0, 1),
        *,
        step: str | float = "100 ms",
        action: str = "window",
        limits: tuple[float, float] | None = None,
        delay_price: float = 0.0,
        reward: Reward | None = None,
        set: Settings | None = None,
    ) -> None:
        if step in ("ack", "rtt"):
            raise ValueError(f"step: expected a duration such as '100 ms', at which all flows decide, found {step!r}")
        self._control = Control(
            scenario, flows, 1, step=step, action=action, limits=limits, delay_price=delay_price, reward=reward, set=set
        )
        self.possible_agents = [f"flow_{flow}" for flow in flows]
        self.agents: list[str] = []
        self.observation_spaces = dict.fromkeys(self.possible_agents, self._control.observations)
        self.action_spaces = dict(zip(self.possible_agents, self._control.actions, strict=True))

    def observation_space(self, agent: str) -> Any:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, NDArray[np.float64]], dict[str, dict[str, Any]]]:
        """Begins a run, and goes on to the start of the first flow."""
        self._control.begin(0, seed, options)
        seen = self._control.wait()[0]
        self.agents = list(self.possible_agents)
        return dict(zip(self.agents, seen, strict=True)), {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, NDArray[np.float64]]
    ) -> tuple[
        dict[str, NDArray[np.float64]], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
    ]:
        """Puts the decisions into effect, and goes on by a step or to the end of the run."""
        self._control.check_open(0)
        agents = self.agents
        for place, action in enumerate(decisions(agents, actions)):
            self._control.decide(0, place, action)
        self._control.act()
        seen = self._control.wait()[0]
        is_over = not self._control.is_open(0)
        infos: dict[str, dict[str, Any]] = {agent: {} for agent in agents}
        if is_over:
            ending = self._control.ending(0)
            infos = {
                agent: {"digest": ending["digest"], "flow": row}
                for agent, row in zip(agents, ending["flows"], strict=True)
            }
            self.agents = []
        rewards = [float(reward(row)) for reward, row in zip(self._control.rewards, seen, strict=True)]
        return (
            dict(zip(agents, seen, strict=True)),
            dict(zip(agents, rewards, strict=True)),
            dict.fromkeys(agents, False),
            dict.fromkeys(agents, is_over),
            infos,
        )

    def close(self) -> None:
        """Ends the run."""
        self._control.close()
