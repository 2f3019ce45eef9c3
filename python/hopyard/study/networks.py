"""What the networks of a study are like: one for each topology that its points have."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hopyard.running.stepping import start
from hopyard.scenario.axis import numbers
from hopyard.scenario.scenario import Scenario
from hopyard.terminal.words import many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopyard.study.points import Point
    from hopyard.tables.arrays import Floats

#: Moments of a run at which the network is looked at.
MOMENTS = 20
#: The most nodes of a network whose paths are looked at.
MOST_NODES = 2000
#: The most networks that are looked at: each is a run.
MOST_NETWORKS = 12
#: Tables of a scenario on which neither the places of nodes nor the ranges of radios depend.
_ELSEWHERE = frozenset(
    (
        *("acking", "address", "agents", "battery", "channel", "energy", "flow", "flows", "group"),
        *("host", "ip", "link", "linux", "mac", "measure", "multicast", "name", "profile", "routing"),
        *("runs", "simulator", "sleep", "tcp", "traffic", "tunnel", "udp", "wire"),
    )
)


@dataclass(frozen=True, slots=True)
class Network:
    """What a network is like over a run: means over moments; who is in range is linked."""

    range_m: float
    nodes: int
    #: The area in which the nodes are, in km^2; none if the scenario has none.
    area_km2: float | None
    #: Nodes within range.
    neighbours: float
    #: Hops of the shortest path between two nodes that have one.
    hops: float
    #: Pairs of nodes without any path, as a share.
    parted: float

    @property
    def connected(self) -> float:
        """Pairs of nodes with a path, in percent."""
        return 100 * (1 - self.parted)

    @property
    def density(self) -> str:
        """Nodes per area in words."""
        if not self.area_km2:
            return ""
        return f" in {self.area_km2:.3g} km² ({self.nodes / self.area_km2:.3g}/km²)"

    def __str__(self) -> str:
        return (
            f"{many(self.nodes, 'node')}{self.density}, {self.neighbours:.1f} neighbours within "
            f"{self.range_m:g} m, {self.hops:.1f} hops on shortest paths, {100 * self.parted:.1f} "
            f"% of the pairs without any path (means over {MOMENTS} moments of run 0)"
        )


@dataclass
class Described:
    """The networks of points, by name; and how many more there are."""

    networks: list[tuple[str, Network | None]] = field(default_factory=list)
    further: int = 0


def networks_of(points: Sequence[Point], documents: Sequence[dict[str, Any]]) -> Described:
    """A network for each distinct topology of the points, which have these complete scenarios."""
    groups: dict[str, list[Point]] = {}
    for point, document in zip(points, documents, strict=True):
        placed = {key: value for key, value in document.items() if key not in _ELSEWHERE}
        key = json.dumps([point.planned.file, placed], sort_keys=True)
        groups.setdefault(key, []).append(point)
    found = Described(further=max(len(groups) - MOST_NETWORKS, 0))
    for name, group in zip(_names(list(groups.values())), groups.values(), strict=True):
        if len(found.networks) == MOST_NETWORKS:
            break
        core, base = group[0].planned.core, group[0].planned.base
        found.networks.append((name, network(Scenario._of(core, base))))
    return found


def _names(groups: Sequence[Sequence[Point]]) -> list[str]:
    """The file of each group, with the labels that tell it from others of this file."""
    files = [str(group[0].planned.file).rpartition("/")[2] for group in groups]
    found = []
    for file, group in zip(files, groups, strict=True):
        others = [g for f, g in zip(files, groups, strict=True) if f == file]
        labels = group[0].labels
        telling = [
            f"{name}={labels[name]}"
            for name in labels
            if len({point.labels.get(name) for point in group}) == 1
            and len({each[0].labels.get(name) for each in others}) > 1
        ]
        parts = [file, *telling]
        if len({point.experiment for each in others for point in each}) > 1 and not telling:
            parts.append(group[0].experiment)
        found.append(", ".join(parts))
    return [
        name if found.count(name) == 1 else f"{name} ({found[: place + 1].count(name)})"
        for place, name in enumerate(found)
    ]


def network(scenario: Scenario, run: int = 0) -> Network | None:
    """What the network is like in a run; none if a radio has no range in metres."""
    given = json.loads(scenario.core.to_json(defaults=True))
    range_m = reach(given)
    if range_m is None:
        return None
    seen: list[tuple[float, float, float]] = []
    count = 0
    with start(scenario, run=run) as simulation:
        end = simulation.end
        for moment in range(MOMENTS):
            simulation.advance(until=end * (moment + 0.5) / MOMENTS)
            table = simulation.positions
            rows = [row for row in table.to_pylist() if row["x_m"] is not None]
            places = np.array([(row["x_m"], row["y_m"], row["z_m"]) for row in rows], dtype=float)
            count = len(places)
            if not 2 <= count <= MOST_NODES:
                return None
            seen.append(_graph(places, range_m))
    means = (float(each) for each in np.nanmean(np.array(seen), axis=0))
    return Network(range_m, count, _area(given), *means)


def reach(document: dict[str, Any]) -> float | None:
    """The range of the radios of a complete scenario in metres, if it is given so."""
    found = _metres([document.get("radio", {}).get("receive", "")])
    return None if found is None else found[0]


def _metres(texts: Sequence[Any]) -> list[float] | None:
    found = numbers([str(each) for each in texts])
    if found is None or found[1] not in ("m", "km"):
        return None
    return [each * (1000 if found[1] == "km" else 1) for each in found[0]]


def _area(document: dict[str, Any]) -> float | None:
    """The area of the nodes in km^2, where the scenario draws places in one."""
    nodes = document.get("nodes") or {}
    sides = nodes.get("area")
    moves = (document.get("mobility") or {}).get("model") not in (None, "stationary")
    if not (moves or nodes.get("placement") == "uniform") or not isinstance(sides, list):
        return None
    metres = _metres(sides)
    return None if metres is None or len(metres) < 2 else metres[0] * metres[1] / 1e6


def _graph(places: Floats, range_m: float) -> tuple[float, float, float]:
    """Mean neighbours, mean hops, and the share of pairs without a path."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import shortest_path

    apart = np.sqrt(((places[:, None, :] - places[None, :, :]) ** 2).sum(axis=2))
    linked = (apart <= range_m) & ~np.eye(len(places), dtype=bool)
    hops = shortest_path(csr_matrix(linked), unweighted=True, directed=False)
    others = hops[~np.eye(len(places), dtype=bool)]
    reached = others[np.isfinite(others)]
    mean = float(reached.mean()) if reached.size else math.nan
    return float(linked.sum(axis=1).mean()), mean, float(1 - reached.size / others.size)
