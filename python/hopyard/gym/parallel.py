"""PettingZoo's interface, and the decisions that its environments are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hopyard.terminal.words import install

try:
    from pettingzoo import ParallelEnv
except ImportError as error:
    message = f"an environment of several agents needs the package pettingzoo: {install('gym')}"
    raise ImportError(message, name="pettingzoo") from error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ParallelEnv", "decisions"]


def decisions(agents: Sequence[str], actions: Mapping[str, Any]) -> list[Any]:
    """The decision of each agent, in order.

    Raises:
        ValueError: when an agent decides nothing, or somebody decides who is no agent.
    """
    if missing := [agent for agent in agents if agent not in actions]:
        raise ValueError(f"actions: expected one of each agent, found none of {', '.join(missing)}")
    if unknown := [str(name) for name in actions if name not in agents]:
        raise ValueError(f"actions: expected agents among {', '.join(agents)}, found {', '.join(unknown)}")
    return [actions[agent] for agent in agents]
