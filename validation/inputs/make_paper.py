#!/usr/bin/env python3
"""Make the movements and the connections of the paper of Oo and Othman, in inputs/paper.

    python3 validation/inputs/make_paper.py [--out DIR]

Chain: the third node leaves at 50 s and the fourth at 100 s, both sideways to the same side, 400 m
at 10 m/s; both start back at 250 s. The paper gives neither direction nor distance. Grid: the nodes
I and J leave to the left at 20 s and are back at 260 s, S and T leave to the left at 100 s and are
back at 300 s, 190 m at 10 m/s. Connections: fifty different ordered pairs of nodes for each of the
movements of inputs/rwp50; a run uses the first of them.
"""

import argparse
import random
from pathlib import Path

import setdest

SPEED_M_S = 10.0
CHAIN_SPACING_M, GRID_SPACING_M = 110.0, 95.0
#: ns-2 wants the places of movements within the area, not on its edge.
MARGIN_M = 250.0
FILES = range(1, 11)
NODES = CONNECTIONS = 50
LAST_START_S, DURATION_S = 180.0, 360.0

#: A node, when it leaves, when it starts back, and how far to the east and to the north it goes.
Trip = tuple[int, float, float, float, float]


def movement(about: str, places: list[setdest.Point], trips: list[Trip]) -> str:
    """A movement file."""
    orders = []
    for node, leaves, returns, east, north in trips:
        x, y = places[node]
        orders += [(leaves, node, (x + east, y + north)), (returns, node, (x, y))]
    return setdest.movement(about, places, orders, SPEED_M_S, clock=1)


def chain() -> str:
    """Six nodes in a row."""
    places = [(MARGIN_M + node * CHAIN_SPACING_M, MARGIN_M) for node in range(6)]
    trips = [(2, 50.0, 250.0, 0.0, 400.0), (3, 100.0, 250.0, 0.0, 400.0)]
    return movement("the chain of six: two nodes leave and come back", places, trips)


def grid() -> str:
    """25 nodes, row by row."""
    places = [(MARGIN_M + node % 5 * GRID_SPACING_M, MARGIN_M + node // 5 * GRID_SPACING_M) for node in range(25)]
    there_s = 190.0 / SPEED_M_S
    trips = [
        (node, leaves, back - there_s, -190.0, 0.0)
        for pair, leaves, back in (((8, 9), 20.0, 260.0), ((18, 19), 100.0, 300.0))
        for node in pair
    ]
    return movement("the grid of 25: two pairs of nodes leave and come back", places, trips)


def connections(seed: int) -> str:
    """One connection a line: kind, source, destination, start and stop."""
    return setdest.connections(random.Random(f"connections {seed}"), NODES, CONNECTIONS, LAST_START_S, DURATION_S)


def main() -> None:
    """Writes all files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent / "paper")
    folder: Path = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    files = {"chain.tcl": chain(), "grid.tcl": grid()}
    files |= {f"connections_{seed:02}.txt": connections(seed) for seed in FILES}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
