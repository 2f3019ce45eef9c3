"""Environments of Gymnasium and PettingZoo in which a program decides for TCP or for routing.

    import gymnasium
    import hopyard.gym

    env = gymnasium.make("hopyard/Window-v0", scenario="chain.toml", step="100 ms")
    observation, info = env.reset(seed=1)

| name | what is decided | interface |
|---|---|---|
| `Window`, "hopyard/Window-v0" | the congestion window or the rate of one flow | `gymnasium.Env` |
| `Windows`, its vector form | the same for many runs at a time | `gymnasium.vector.VectorEnv` |
| `Flows` | the windows or the rates of several flows | `pettingzoo.ParallelEnv` |
| `NextHop`, "hopyard/NextHop-v0" | the next hops of all nodes | `gymnasium.Env` |
| `NextHops` | the same, with an agent for each node | `pettingzoo.ParallelEnv` |

The extra `gym` has the packages that these need.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from hopyard.terminal.words import install

try:
    from gymnasium.envs.registration import register
except ImportError as error:
    raise ImportError(f"hopyard.gym needs the package gymnasium: {install('gym')}", name="gymnasium") from error

if TYPE_CHECKING:
    from hopyard.gym.control import OBSERVED
    from hopyard.gym.flows import Flows
    from hopyard.gym.next_hop import NextHop
    from hopyard.gym.next_hops import NextHops
    from hopyard.gym.window import Window, Windows

__all__ = ["OBSERVED", "Flows", "NextHop", "NextHops", "Window", "Windows"]

_HOMES = {
    "OBSERVED": "control",
    "Flows": "flows",
    "NextHop": "next_hop",
    "NextHops": "next_hops",
    "Window": "window",
    "Windows": "window",
}

register("hopyard/Window-v0", entry_point="hopyard.gym.window:Window", vector_entry_point="hopyard.gym.window:Windows")
register("hopyard/NextHop-v0", entry_point="hopyard.gym.next_hop:NextHop")


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'hopyard.gym' has no attribute {name!r}")
    return getattr(importlib.import_module(f"hopyard.gym.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
