"""One agent that chooses the next hops of all nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium.spaces import MultiDiscrete

from hopyard.gym.network import Network

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hopyard.scenario.plan import Given
    from hopyard.scenario.scenario import Settings


class NextHop(gymnasium.Env[dict[str, "NDArray[Any]"], "NDArray[np.int64]"]):
    """The next hops of all nodes, in the place of a routing protocol.

    An action is a matrix with a row for each node and a column for each of `destinations`: the number of the next hop,
    or that of the node itself for no route. The reward is the Mbit that all flows delivered in the step. `info` counts
    the `loops` and the `unreachable` pairs of node and destination among the chosen next hops, and the packets dropped
    in the step by reason. An episode is a run, as for `Window`.

    Args:
        scenario: the path of a scenario file, a `Scenario` or a mapping of its keys; its routing is not used.
        step: how long a step is: a duration such as "1 s".
        set: keys of the scenario with other values.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  Gymnasium declares it so.

    def __init__(self, scenario: Given, *, step: str | float = "1 s", set: Settings | None = None) -> None:
        self._network = Network(scenario, step=step, set=set)
        nodes = self._network.nodes
        self.destinations = self._network.destinations
        self.action_space = MultiDiscrete(np.full((nodes, len(self.destinations)), nodes))
        self.observation_space: gymnasium.Space[Any] = self._network.observation_space(nodes)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Builds the network of a run, without routes."""
        super().reset(seed=seed)
        self._network.begin(seed, options)
        return self._network.observe(), {}

    def step(self, action: NDArray[np.int64]) -> tuple[dict[str, NDArray[Any]], float, bool, bool, dict[str, Any]]:
        """Gives the nodes their next hops, and goes on by a step or to the end of the run."""
        network = self._network
        network.check_open()
        if np.shape(action) != self.action_space.shape:
            raise ValueError(f"action: expected the shape {self.action_space.shape}, found {np.shape(action)}")
        chosen = np.stack([network.checked(node, row) for node, row in enumerate(action)])
        info: dict[str, Any] = dict(network.steer(chosen))
        reward, info["drops"], is_open = network.advance()
        seen = network.observe()
        if not is_open:
            info |= network.ending()
        return seen, reward, False, not is_open, info

    def close(self) -> None:
        """Lets the network go."""
        self._network.close()
