#!/usr/bin/env python3
"""Make the movement and traffic files of the fifty-node comparison, in inputs/rwp50.

    python3 validation/inputs/make_rwp50.py [--out DIR]

Every file follows from its seed alone. Nodes start uniformly in the area, choose uniform
destinations, move at constant speed and never pause (random waypoint). Each flow has its own
ordered pair of nodes, a start uniform in the first half of the run, and goes on to the end.
"""

import argparse
import math
import random
from collections.abc import Iterator
from pathlib import Path

FILES = range(1, 11)
NODES = 50
WIDTH_M, HEIGHT_M = 1600.0, 400.0
SPEED_M_S = 10.0
DURATION_S = 360.0
FLOWS = 20
LAST_START_S = 180.0

Point = tuple[float, float]


def _point(random_source: random.Random) -> Point:
    x = round(random_source.uniform(0, WIDTH_M), 4)
    return x, round(random_source.uniform(0, HEIGHT_M), 4)


def _legs(random_source: random.Random, start: Point) -> Iterator[tuple[float, Point]]:
    """Times at which the node leaves for its next destination."""
    time, here = 0.0, start
    while time < DURATION_S:
        there = _point(random_source)
        yield time, there
        time += math.dist(here, there) / SPEED_M_S
        here = there


def movement(seed: int) -> str:
    """One movement file, as `setdest` of ns-2 writes them."""
    random_source = random.Random(f"movement {seed}")
    starts = [_point(random_source) for _ in range(NODES)]
    lines = [
        f"# random waypoint: {NODES} nodes, {WIDTH_M:g} m x {HEIGHT_M:g} m, "
        f"{SPEED_M_S:g} m/s, no pause, {DURATION_S:g} s, seed {seed}"
    ]
    for node, (x, y) in enumerate(starts):
        lines += [
            f"$node_({node}) set X_ {x:.4f}",
            f"$node_({node}) set Y_ {y:.4f}",
            f"$node_({node}) set Z_ 0.0000",
        ]
    departures = sorted(
        (time, node, there) for node, start in enumerate(starts) for time, there in _legs(random_source, start)
    )
    lines += [
        f'$ns_ at {time:.6f} "$node_({node}) setdest {x:.4f} {y:.4f} {SPEED_M_S:.4f}"'
        for time, node, (x, y) in departures
    ]
    return "\n".join(lines) + "\n"


def traffic(seed: int) -> str:
    """One traffic file: kind, source, destination, start and stop of each flow."""
    random_source = random.Random(f"traffic {seed}")
    pairs: list[tuple[int, int]] = []
    while len(pairs) < FLOWS:
        source, destination = random_source.randrange(NODES), random_source.randrange(NODES)
        if source != destination and (source, destination) not in pairs:
            pairs.append((source, destination))
    return "".join(
        f"tcp {source} {destination} {random_source.uniform(0, LAST_START_S):.3f} {DURATION_S:g}\n"
        for source, destination in pairs
    )


def main() -> None:
    """Write the ten pairs of files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent / "rwp50")
    folder: Path = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    for seed in FILES:
        (folder / f"movement_{seed:02}.tcl").write_text(movement(seed))
        (folder / f"traffic_{seed:02}.txt").write_text(traffic(seed))


if __name__ == "__main__":
    main()
