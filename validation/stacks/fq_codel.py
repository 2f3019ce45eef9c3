"""`fq_codel` beside Linux's, packet by packet: `python -m validation.stacks.fq_codel --module sch_htb.ko`.

A program in a kernel sends the same datagrams on both sides (`bursts.py`). In Linux, `fq_codel` of
the kernel waits below HTB, which lets one packet go after the time that the rate takes for it: its
bucket holds one byte. In Hopyard, the kernel sends to a router at once, and the queue is the one of
the router's wire. Which datagrams are dropped, which are marked and in which order they come is
compared. Needs Linux (`hopyard kernels build 6.1`), tshark, tc, and HTB as a module for that kernel
(`docs/validation.md`). Writes `results/fq_codel.csv`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from . import bursts, captures

if TYPE_CHECKING:
    from collections.abc import Iterable

HERE = Path(__file__).resolve().parent
FAST = "10 Gbps"
HEAD = (
    *("seed", "rate_mbps", "limit", "flows", "sent"),
    *("dropped_hopyard", "dropped_linux", "marked_hopyard", "marked_linux"),
    *("same_drops", "same_marks", "same_order", "first_difference_s", "other_fates"),
)
#: A program that loads a module: the machine may have no `insmod`.
LOADS = "import ctypes, os; ctypes.CDLL(None).syscall(313, os.open({!r}, 0), b'', 0)"

#: A datagram that came: its flow, its number, and whether it is marked.
Came = tuple[int, int, bool]


def scenario(seed: int, stack: str, module: Path) -> dict[str, object]:
    """The network of one side."""
    case = bursts.drawn(seed)
    sends = f"{sys.executable} -S -E {HERE / 'bursts.py'} node2 {seed}"
    hosts = [{"node": 0, "run": sends, "start": "0.8 s"}]
    slow: dict[str, object] = {"between": [1, 2], "rate": FAST, "delay": "1 ms", "queue_length": 1000}
    if stack == "hopyard":
        queue = {"profile": "linux", "limit": case.limit, "backlog": "1514 B"}
        slow |= {"rate": f"{case.rate} Mbps", "queue": "fq_codel", "fq_codel": queue}
    else:
        # The table of sizes takes the header of Ethernet off: a wire counts IP.
        steps = [
            f'{sys.executable} -S -E -c "{LOADS.format(str(module))}"',
            "tc qdisc replace dev eth0 root handle 1: stab overhead -14 linklayer ethernet htb default 1",
            f"tc class add dev eth0 parent 1: classid 1:1 htb rate {round(1e6 * case.rate)}bit burst 1b cburst 1b",
            f"tc qdisc add dev eth0 parent 1:1 handle 2: fq_codel limit {case.limit}",
        ]
        hosts.append({"node": 0, "run": f"sh -e -c {_quoted('; '.join(steps))}", "start": "0.3 s"})
    return {
        "name": "fq_codel",
        "duration": f"{bursts.START + 2 * bursts.LENGTH + 5} s",
        "runs": 1,
        "nodes": {"wired": 3},
        "wire": [{"between": [0, 1], "rate": FAST, "delay": "0.001 ms", "queue_length": 1000}, slow],
        "linux": {"version": "6.1", "sample": "10 s", "sysctls": ["net.core.default_qdisc=pfifo_fast"]},
        "host": hosts,
    }


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def arrived(seed: int, stack: str, module: Path) -> list[tuple[float, Came]]:
    """What came to the destination, with its times."""
    names = ("frame.time_epoch", "frame.interface_name", "udp.payload", "ip.dsfield.ecn")
    made, lines = captures.on_wires(scenario(seed, stack, module), names, "udp")
    for row in made.programs.to_pylist():
        if row["status"] != 0:
            raise RuntimeError(f"{row['command']}: status {row['status']}: {row['errors']}")
    found = []
    for when, interface, payload, ecn in lines:
        if interface.startswith("node 2 "):
            flow, number = int(payload[:8], 16), int(payload[8:16], 16)
            found.append((float(when), (flow, number, int(ecn) == 3)))
    return found


def compared(seeds: Iterable[int], module: Path) -> Iterable[list[object]]:
    """A row for each case; prints the counts."""
    counts = [0, 0, 0, 0]
    for seed in seeds:
        case = bursts.drawn(seed)
        mine, theirs = (arrived(seed, stack, module) for stack in ("hopyard", "linux"))
        came = [{it[:2] for _, it in side} for side in (mine, theirs)]
        marked = [{it[:2] for _, it in side if it[2]} for side in (mine, theirs)]
        apart = next(
            (one[0] for one, other in zip(mine, theirs, strict=False) if one[1] != other[1]),
            "" if len(mine) == len(theirs) else mine[-1][0],
        )
        same = (came[0] == came[1], marked[0] == marked[1], apart == "")
        counts = [a + b for a, b in zip(counts, (*same, True), strict=True)]
        dropped = [len(case.sends) - len(side) for side in came]
        row = [seed, case.rate, case.limit, case.flows, len(case.sends), *dropped, *map(len, marked)]
        # Datagrams that are dropped, marked or neither in one stack, and something else in the other.
        fates = len((came[0] ^ came[1]) | (marked[0] ^ marked[1]))
        print(row, same, apart, fates, flush=True)
        yield [*row, *map(int, same), apart, fates]
    print("same drops, marks, order, of cases:", *counts)


def main() -> None:
    """Writes the table."""
    parser = argparse.ArgumentParser(prog="python -m validation.stacks.fq_codel", description=__doc__)
    parser.add_argument("--module", type=Path, required=True, help="HTB, built for the kernel")
    parser.add_argument("--seeds", default="1-20", help="the first and the last seed")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "fq_codel.csv", help="the table")
    given = parser.parse_args()
    first, _, last = given.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    captures.write(given.out, HEAD, compared(seeds, given.module.resolve()))


if __name__ == "__main__":
    main()
