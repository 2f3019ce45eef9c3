#!/usr/bin/env python3
"""Make the movement and traffic files of 100, 200 and 400 moving nodes, in inputs/large.

    python3 validation/inputs/make_large.py [--out DIR]

Every file follows from its number of nodes and its seed alone. The nodes of all files have the
same density; one node of ten has a flow to another one. The nodes start uniformly in a square and
move by random waypoint without pause. Places are whole decimetres: the files are compressed, and
so they stay small.
"""

import argparse
import gzip
import math
import random
from pathlib import Path

import setdest

# How many pairs of files each number of nodes has. The ratios of 400 nodes differ most from movement to movement.
FILES = {100: 5, 200: 5, 400: 20}
AREA_OF_A_NODE_M2 = 12_800
SPEED_M_S = 10.0
DURATION_S = 60.0
LAST_START_S = 10.0


def side(nodes: int) -> float:
    """The side of the square, in metres."""
    return round(math.sqrt(nodes * AREA_OF_A_NODE_M2), 1)


def movement(nodes: int, seed: int) -> str:
    """One movement file."""
    random_source = random.Random(f"large movement {nodes} {seed}")
    length = side(nodes)

    def point() -> setdest.Point:
        # ns-2 refuses a destination on the edge of its area.
        x = round(random_source.uniform(0.1, length - 0.1), 1)
        return x, round(random_source.uniform(0.1, length - 0.1), 1)

    starts = [point() for _ in range(nodes)]
    about = (
        f"random waypoint: {nodes} nodes, {length:g} m x {length:g} m, "
        f"{SPEED_M_S:g} m/s, no pause, {DURATION_S:g} s, seed {seed}"
    )
    orders = setdest.waypoints(point, starts, SPEED_M_S, DURATION_S)
    return setdest.movement(about, starts, orders, SPEED_M_S, digits=1)


def traffic(nodes: int, seed: int) -> str:
    """One traffic file: kind, source, destination, start and stop of each flow.

    No node is in two flows.
    """
    random_source = random.Random(f"large traffic {nodes} {seed}")
    ends = random_source.sample(range(nodes), nodes // 5)
    lines = []
    for source, destination in zip(ends[::2], ends[1::2], strict=True):
        start = random_source.uniform(0.5, LAST_START_S)
        lines.append(f"tcp {source} {destination} {start:.3f} {DURATION_S:g}\n")
    return "".join(lines)


def main() -> None:
    """Write the pairs of files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent / "large")
    folder: Path = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    for nodes, files in FILES.items():
        for seed in range(1, files + 1):
            # Without a time of its own, the compressed file depends on its text alone.
            text = gzip.compress(movement(nodes, seed).encode(), 9, mtime=0)
            (folder / f"movement_{nodes}_{seed:02}.tcl.gz").write_bytes(text)
            (folder / f"traffic_{nodes}_{seed:02}.txt").write_text(traffic(nodes, seed))


if __name__ == "__main__":
    main()
