"""An agent for each node, which chooses its next hops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hopyard.gym.network import Network
from hopyard.gym.parallel import ParallelEnv, decisions

if TYPE_CHECKING:
    from gymnasium.spaces import Dict, MultiDiscrete
    from numpy.typing import NDArray

    from hopyard.scenario.plan import Given
    from hopyard.scenario.scenario import Settings


class NextHops(ParallelEnv):  # type: ignore[misc]
    """The next hops of each node, in the place of a routing protocol, with an agent for each.

    The agents are named "node_0", "node_1" and so on. An action has a next hop for each of `destinations`: the number
    of a node, or that of the agent's own node for no route. An agent sees its neighbours, its queue and its place. All
    have the same reward, the Mbit that all flows delivered in the step, and the same `info`, as in `NextHop`.

    Args:
        scenario: the path of a scenario file, a `Scenario` or a mapping of its keys; its routing is not used.
        step: how long a step is: a duration such as "1 s".
        set: keys of the scenario with other values.
    """

    metadata: ClassVar[dict[str, Any]] = {"name": "hopyard_next_hops_v0", "render_modes": [], "is_parallelizable": True}

    def __init__(self, scenario: Given, *, step: str | float = "1 s", set: Settings | None = None) -> None:
        self._network = Network(scenario, step=step, set=set)
        self.destinations = self._network.destinations
        self.possible_agents = [f"node_{node}" for node in range(self._network.nodes)]
        self.agents: list[str] = []
        self.observation_spaces = {agent: self._network.observation_space(None) for agent in self.possible_agents}
        self.action_spaces = {agent: self._network.action_space() for agent in self.possible_agents}

    def observation_space(self, agent: str) -> Dict:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> MultiDiscrete:
        return self.action_spaces[agent]

    def _observe(self, agents: list[str]) -> dict[str, dict[str, NDArray[Any]]]:
        seen = self._network.observe()
        return {agent: {name: rows[node] for name, rows in seen.items()} for node, agent in enumerate(agents)}

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, dict[str, NDArray[Any]]], dict[str, dict[str, Any]]]:
        """Builds the network of a run, without routes."""
        self._network.begin(seed, options)
        self.agents = list(self.possible_agents)
        return self._observe(self.agents), {agent: {} for agent in self.agents}

    def step(
        self, actions: dict[str, NDArray[np.int64]]
    ) -> tuple[
        dict[str, dict[str, NDArray[Any]]],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Gives the nodes their next hops, and goes on by a step or to the end of the run."""
        network, agents = self._network, self.agents
        network.check_open()
        rows = decisions(agents, actions)
        chosen = np.stack([network.checked(node, row) for node, row in enumerate(rows)])
        info: dict[str, Any] = dict(network.steer(chosen))
        reward, info["drops"], is_open = network.advance()
        seen = self._observe(agents)
        if not is_open:
            info |= network.ending()
            self.agents = []
        return (
            seen,
            dict.fromkeys(agents, reward),
            dict.fromkeys(agents, False),
            dict.fromkeys(agents, not is_open),
            {agent: dict(info) for agent in agents},
        )

    def close(self) -> None:
        """Lets the network go."""
        self._network.close()
