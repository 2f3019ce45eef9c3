#!/usr/bin/env python3
"""Make the movement and traffic files of the fifty-node comparison, in inputs/rwp50.

    python3 validation/inputs/make_rwp50.py [--out DIR]

Every file follows from its seed alone. Nodes start uniformly in the area, choose uniform
destinations, move at constant speed and never pause (random waypoint). Each flow has its own
ordered pair of nodes, a start uniform in the first half of the run, and goes on to the end.
"""

import argparse
import random
from pathlib import Path

import setdest

FILES = range(1, 11)
NODES = 50
WIDTH_M, HEIGHT_M = 1600.0, 400.0
SPEED_M_S = 10.0
DURATION_S = 360.0
FLOWS = 20
LAST_START_S = 180.0


def movement(seed: int) -> str:
    """One movement file."""
    random_source = random.Random(f"movement {seed}")

    def point() -> setdest.Point:
        x = round(random_source.uniform(0, WIDTH_M), 4)
        return x, round(random_source.uniform(0, HEIGHT_M), 4)

    starts = [point() for _ in range(NODES)]
    about = (
        f"random waypoint: {NODES} nodes, {WIDTH_M:g} m x {HEIGHT_M:g} m, "
        f"{SPEED_M_S:g} m/s, no pause, {DURATION_S:g} s, seed {seed}"
    )
    return setdest.movement(about, starts, setdest.waypoints(point, starts, SPEED_M_S, DURATION_S), SPEED_M_S)


def traffic(seed: int) -> str:
    """One traffic file."""
    return setdest.connections(random.Random(f"traffic {seed}"), NODES, FLOWS, LAST_START_S, DURATION_S)


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
