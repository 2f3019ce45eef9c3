"""The links of the mesh: `python links.py > links.csv` writes the file that the scenario reads.

Sixteen nodes at random places; each has links to its three nearest neighbours, and more that make the
mesh whole. The chance that a frame arrives is drawn for each link, from 0.6 to 1 with more good links
than bad ones, and for each direction up to 0.1 more or less. The product of both directions, which is
the quality that B.A.T.M.A.N. and ETX see, is between 0.3 and 1. The shape is assumed.
"""

from __future__ import annotations

import itertools
import math
import random

NODES = 16
NEIGHBOURS = 3


def main() -> None:
    """Print the links, both directions of each pair of nodes."""
    draws = random.Random(37)
    places = [(draws.random(), draws.random()) for _ in range(NODES)]
    ends = sorted(itertools.combinations(range(NODES), 2), key=lambda it: math.dist(places[it[0]], places[it[1]]))
    links = set()
    for node in range(NODES):
        links.update([it for it in ends if node in it][:NEIGHBOURS])
    groups = {node: {node} for node in range(NODES)}
    for a, b in [*sorted(links), *ends]:
        if groups[a] is groups[b]:
            continue
        links.add((a, b))
        groups[a] |= groups[b]
        for node in groups[a]:
            groups[node] = groups[a]
    print("from,to,delivery")
    for a, b in ends:
        if (a, b) not in links:
            # Nodes hear each other's frames without understanding them.
            print(f"{a},{b},0\n{b},{a},0")
            continue
        good = 0.6 + 0.4 * draws.random() ** 0.5
        for one, other in ((a, b), (b, a)):
            share = min(1.0, max(0.55, good + draws.uniform(-0.1, 0.1)))
            print(f"{one},{other},{share:.2f}")


if __name__ == "__main__":
    main()
