"""The paper of Oo and Othman in ns-2: chain and grid, and 10 to 50 connections of moving nodes."""

from peerlib.ns2_tcp import INPUTS, RUN_COLUMNS, Case, chain_positions
from peerlib.ns2_trace import DROP_COLUMNS, FRAME_COLUMNS
from peerlib.peer import Option

ROUTING = ("AODV", "DSDV", "AOMDV", "DSR")
VARIANTS = ("Tahoe", "Reno", "Newreno", "Sack1", "Vegas")
# Without movement, the runs hardly differ.
SEEDS = {"static": range(1, 21), "mobile": range(1, 21)}
CONNECTIONS = (10, 20, 30, 40, 50)
LOAD_SEEDS = range(1, 11)
#: The nodes of the grid are this far apart: the whole grid senses every sender.
GRID_SPACING_M = 95
MOVEMENTS = INPUTS.parent / "paper"

_COLUMNS = tuple(column for column in RUN_COLUMNS if column not in FRAME_COLUMNS)
PAPER_KEY = ("topology", "mobility", "routing", "tcp", "seed")
PAPER_COLUMNS = (*PAPER_KEY, *_COLUMNS)
PAPER_DROPS = (*PAPER_KEY, *DROP_COLUMNS)
LOAD_KEY = ("connections", "routing", "seed")
LOAD_COLUMNS = (*LOAD_KEY, *_COLUMNS)
LOAD_DROPS = (*LOAD_KEY, *DROP_COLUMNS)

_TOPOLOGIES: dict[str, dict[str, Option]] = {
    "chain": {"nodes": 6, "positions": chain_positions(6, 110), "flows": "tcp 0 5 0 360"},
    "grid": {
        "nodes": 25,
        "positions": " ".join(f"{i % 5 * GRID_SPACING_M} {i // 5 * GRID_SPACING_M}" for i in range(25)),
        "flows": "tcp 0 24 100 360 tcp 4 20 100 360",
    },
}


def paper_cases() -> list[Case]:
    """All combinations, one seed after the other."""
    cases = []
    for seed in max(SEEDS.values(), key=len):
        for mobility, seeds in SEEDS.items():
            for topology, layout in _TOPOLOGIES.items():
                if seed not in seeds:
                    continue
                where: dict[str, Option] = (
                    {"positions": layout["positions"]}
                    if mobility == "static"
                    else {"movement": str(MOVEMENTS / f"{topology}.tcl"), "nodes": layout["nodes"]}
                )
                options = {**where, "flows": layout["flows"], "range": 200, "seed": seed}
                cases += [
                    Case(
                        "paper",
                        {"topology": topology, "mobility": mobility, "routing": routing, "tcp": variant, "seed": seed},
                        {**options, "routing": routing, "variant": variant},
                        512,
                        360.0,
                        frames=False,
                    )
                    for routing in ROUTING
                    for variant in VARIANTS
                ]
    return cases


def load_cases() -> list[Case]:
    """Fifty moving nodes with the first connections of a list of fifty."""
    cases = []
    for seed in LOAD_SEEDS:
        lines = (MOVEMENTS / f"connections_{seed:02}.txt").read_text(encoding="utf-8").splitlines()
        cases += [
            Case(
                "load",
                {"connections": connections, "routing": routing, "seed": seed},
                {
                    "movement": str(INPUTS / f"movement_{seed:02}.tcl"),
                    "nodes": 50,
                    "flows": " ".join(lines[:connections]),
                    "width": 1600,
                    "height": 400,
                    "routing": routing,
                    "range": 200,
                    "seed": seed,
                },
                512,
                360.0,
                frames=False,
            )
            for connections in CONNECTIONS
            for routing in ROUTING
        ]
    return cases
