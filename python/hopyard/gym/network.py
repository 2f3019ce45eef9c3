"""A run whose next hops are chosen between its steps: what both environments of next hops share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Dict, MultiBinary, MultiDiscrete

from hopyard.gym.episodes import Numbers, case_of, nanoseconds
from hopyard.running.stepping import Simulation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hopyard.scenario.plan import Given
    from hopyard.scenario.scenario import Settings

#: The most nodes: an observation has a number for each pair.
MOST_NODES = 1000
#: The hops of a route that does not arrive.
NOWHERE = 255


class Network:
    """Runs of a scenario in which each node sends packets for a destination to a chosen next hop.

    Destinations are the ends of flows: the nodes to which data goes and, where that is answered or acknowledged, the
    nodes that send it.
    """

    def __init__(self, scenario: Given, *, step: str | float, set: Settings | None) -> None:
        case = case_of(scenario, set)
        if not 2 <= case.core.nodes <= MOST_NODES:
            raise ValueError(f"scenario: expected 2 to {MOST_NODES} nodes, found {case.core.nodes}")
        self._interval = nanoseconds(step, "step")
        self.nodes = case.core.nodes
        with Simulation(case, 0) as simulation:
            ends = simulation.flows.select(["source", "destination"]).to_pylist()
        if not ends:
            raise ValueError("scenario: expected flows, found none")
        self.destinations = sorted({row[end] for row in ends for end in ("source", "destination")})
        # A scenario without ways for its flows would be refused. These are taken back before a run begins.
        pairs = {(row["source"], row["destination"]) for row in ends}
        self._written = sorted(pairs | {(to, at) for at, to in pairs})
        routes = ", ".join(f"{{ at = {at}, to = {to}, via = {to} }}" for at, to in self._written)
        steered = [("protocol", "static"), ("static.others", "drop"), ("static.routes", f"[{routes}]")]
        core = case.core.with_settings([(f"routing.{key}", value) for key, value in steered])
        self._numbers = Numbers(replace(case, core=core))
        self._simulation: Simulation | None = None
        #: For each node and destination the next hop; a node itself stands for no route.
        self._chosen = self._none()
        self._delivered = 0
        self._drops: dict[str, int] = {}

    def _none(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(self.nodes)[:, None], len(self.destinations), axis=1)

    def action_space(self) -> MultiDiscrete:
        """A next hop for each destination."""
        return MultiDiscrete([self.nodes] * len(self.destinations))

    def observation_space(self, nodes: int | None) -> Dict:
        """What is seen of one node, or of so many."""
        shape = () if nodes is None else (nodes,)
        return Dict(
            {
                "neighbours": MultiBinary((*shape, self.nodes)),
                "queue": Box(0.0, 1e9, (*shape, 1), np.float64),
                "position": Box(-1e9, 1e9, (*shape, 3), np.float64),
            }
        )

    def begin(self, seed: int | None, options: Mapping[str, Any] | None) -> None:
        """Builds the network of a run, at time zero, without routes."""
        self.close()
        case, run = self._numbers.take(seed, options)
        self._simulation = Simulation(case, run)
        for at, to in self._written:
            self._simulation.steer(at, to, None)
        self._chosen = self._none()
        self._delivered, self._drops = 0, {}

    @property
    def simulation(self) -> Simulation:
        """The run, which goes on."""
        if self._simulation is None:
            raise ResetNeeded("step: expected a run that goes on, found one that has ended or not begun: call reset()")
        return self._simulation

    def check_open(self) -> None:
        """Refuses a step of a run that has ended, or was never begun."""
        _ = self.simulation

    def observe(self) -> dict[str, NDArray[Any]]:
        """For each node its neighbours, the packets that wait there, and its place in metres."""
        simulation = self.simulation
        links = np.zeros((self.nodes, self.nodes), dtype=np.int8)
        for node, neighbours in enumerate(simulation.neighbours):
            links[node, neighbours] = 1
        queue = np.zeros((self.nodes, 1))
        queues = simulation.queues
        np.add.at(queue[:, 0], queues["node"].to_numpy(), queues["packets"].to_numpy())
        position = np.zeros((self.nodes, 3))
        places = simulation.positions
        at = places["node"].to_numpy()
        for axis, name in enumerate(("x_m", "y_m", "z_m")):
            position[at, axis] = places[name].to_numpy()
        return {"neighbours": links, "queue": queue, "position": position}

    def checked(self, node: int, action: object) -> NDArray[np.int64]:
        """The next hops of a node, by destination."""
        given = np.asarray(action)
        if given.dtype.kind not in "iu" or given.shape != (len(self.destinations),):
            expected = f"{len(self.destinations)} whole numbers, a next hop for each destination"
            raise ValueError(f"action of node {node}: expected {expected}, found {action!r}")
        for hop in given:
            if not 0 <= hop < self.nodes:
                raise ValueError(f"action of node {node}: expected nodes from 0 to {self.nodes - 1}, found {hop}")
        return given.astype(np.int64)

    def steer(self, chosen: NDArray[np.int64]) -> dict[str, int]:
        """Gives the nodes their next hops. Counts the pairs of node and destination whose way is none.

        `loops` counts those from which the next hops come back to a node, `unreachable` those that end at a node
        without a route, or at one whose next hop is out of its reach. Packets take such ways all the same: they end
        when their time to live is over, at the node without a route, or at the link that does not work.
        """
        simulation = self.simulation
        near = [frozenset(each) for each in simulation.neighbours]
        counts = {"loops": 0, "unreachable": 0}
        for column, destination in enumerate(self.destinations):
            for node in range(self.nodes):
                if node == destination:
                    continue
                hops, fault = self._walk(chosen[:, column], node, destination, near)
                if fault:
                    counts[fault] += 1
                hop = int(chosen[node, column])
                simulation.steer(node, destination, None if hop == node else hop, hops=hops)
        self._chosen = chosen
        return counts

    @staticmethod
    def _walk(
        next_hops: NDArray[np.int64], node: int, destination: int, near: list[frozenset[int]]
    ) -> tuple[int, str | None]:
        """How many hops a way has, and the fault of one that does not arrive."""
        at, seen = node, {node}
        while at != destination:
            hop = int(next_hops[at])
            if hop == at or hop not in near[at]:
                return NOWHERE, "unreachable"
            if hop in seen:
                return NOWHERE, "loops"
            seen.add(hop)
            at = hop
        return min(len(seen) - 1, NOWHERE), None

    def advance(self) -> tuple[float, dict[str, int], bool]:
        """Goes on by a step: the Mbit delivered by all flows, the packets dropped by reason, and whether it goes on."""
        simulation = self.simulation
        is_open = simulation.advance(until_ns=min(simulation.now_ns + self._interval, round(simulation.end * 1e9)))
        delivered = sum(simulation.flows["delivered_bytes"].to_pylist())
        drops: dict[str, int] = {}
        for row in simulation.drops.select(["reason", "count"]).to_pylist():
            drops[row["reason"]] = drops.get(row["reason"], 0) + row["count"]
        new = {reason: count - self._drops.get(reason, 0) for reason, count in drops.items()}
        mbit = (delivered - self._delivered) * 8e-6
        self._delivered, self._drops = delivered, drops
        return mbit, {reason: count for reason, count in new.items() if count}, is_open

    def ending(self) -> dict[str, Any]:
        """The digest of the run, which has ended, and the rows of its flows."""
        simulation = self.simulation
        found = {"digest": simulation.digest, "flows": simulation.flows.to_pylist()}
        self.close()
        return found

    def close(self) -> None:
        """Lets the network go."""
        if self._simulation is not None:
            self._simulation.close()
        self._simulation = None
