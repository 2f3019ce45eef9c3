"""The common part of the input files: movements as `setdest` of ns-2 writes them, random waypoint, connections."""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence

Point = tuple[float, float]
#: When a node leaves, its number, and where it goes.
Order = tuple[float, int, Point]


def movement(
    about: str, places: Sequence[Point], orders: Iterable[Order], speed: float, *, digits: int = 4, clock: int = 6
) -> str:
    """A movement file, with so many digits of places and times behind the point."""
    lines = [f"# {about}"]
    for node, (x, y) in enumerate(places):
        for name, value in (("X_", x), ("Y_", y), ("Z_", 0.0)):
            lines.append(f"$node_({node}) set {name} {value:.{digits}f}")
    for time, node, (x, y) in sorted(orders):
        to = f"{x:.{digits}f} {y:.{digits}f} {speed:.{digits}f}"
        lines.append(f'$ns_ at {time:.{clock}f} "$node_({node}) setdest {to}"')
    return "\n".join(lines) + "\n"


def waypoints(draw: Callable[[], Point], start: Sequence[Point], speed: float, duration: float) -> Iterator[Order]:
    """The orders of nodes that never pause, node by node."""
    for node, here in enumerate(start):
        time = 0.0
        while time < duration:
            there = draw()
            yield time, node, there
            time += math.dist(here, there) / speed
            here = there


def connections(source: random.Random, nodes: int, count: int, last_start: float, duration: float) -> str:
    """A line for each connection: kind, source, destination, start and stop. No pair of nodes is there twice."""
    pairs: list[tuple[int, int]] = []
    while len(pairs) < count:
        pair = source.randrange(nodes), source.randrange(nodes)
        if pair[0] != pair[1] and pair not in pairs:
            pairs.append(pair)
    return "".join(f"tcp {a} {b} {source.uniform(0, last_start):.3f} {duration:g}\n" for a, b in pairs)
