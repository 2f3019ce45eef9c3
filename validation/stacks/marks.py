"""Codepoints of ECN in captures of both stacks: `python -m validation.stacks.marks`.

Each case is a transfer over a fast wire and then over a slow one, whose queue marks (`fq_codel`,
`codel` or `red`); both ends want marks (`net.ipv4.tcp_ecn=1`, `tcp.ecn`). For each end, tshark reads
the segments that it sends: SYN, ACK, ECE and CWR, and the bits of IP, as they arrive at the other
end, so with the marks of the queue. The sequences of both stacks are compared. Writes
`results/marks.csv`. Needs Linux (`hopyard kernels build 6.1`) and tshark.
"""

from __future__ import annotations

import argparse
import random
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from . import captures

if TYPE_CHECKING:
    from collections.abc import Iterable

HERE = Path(__file__).resolve().parent
STACKS = ("hopyard", "linux")
QUEUES = ("fq_codel", "codel", "red")
NAMES = {"reno": "newreno"}
SEGMENT = 1448
HEAD = (
    *("seed", "case", "queue", "sender", "rate_mbps", "delay_ms", "segments"),
    *("marked_hopyard", "marked_linux", "cwr_hopyard", "cwr_linux", "ece_hopyard", "ece_linux"),
    *("same_opening", "sent_alike", "sent", "answers_alike", "answers"),
)

#: The flags SYN, ACK, ECE and CWR of a segment, and the bits of its packet.
Codepoints = tuple[str, int]


@dataclass(frozen=True)
class Case:
    """A path and its transfer."""

    queue: str
    sender: str
    rate: float
    delay: float
    segments: int


def cases(seed: int, count: int) -> list[Case]:
    """1 to 10 Mb/s, 5 to 50 ms, 200 to 800 segments."""
    drawn = random.Random(seed)
    return [
        Case(
            queue=QUEUES[number % len(QUEUES)],
            sender=drawn.choice(["reno", "cubic"]),
            rate=round(10 ** drawn.uniform(0, 1), 2),
            delay=round(10 ** drawn.uniform(0.7, 1.7), 1),
            segments=drawn.randint(200, 800),
        )
        for number in range(count)
    ]


def scenario(case: Case, stack: str) -> dict[str, object]:
    """The network of one side."""
    queue: dict[str, object] = {"ecn": True}
    if case.queue != "red":
        queue["profile"] = "linux"
    name = NAMES.get(case.sender, case.sender) if stack == "hopyard" else case.sender
    size = f"{case.segments * SEGMENT} B"
    flow = {"from": 0, "to": 2, "tcp": name, "stack": stack, "start": "1 s", "traffic": "transfer"}
    slow = {"between": [1, 2], "rate": f"{case.rate} Mbps", "delay": f"{case.delay} ms"}
    return {
        "name": "marks",
        "profile": "linux",
        "duration": "60 s",
        "runs": 1,
        "nodes": {"wired": 3},
        "wire": [
            {"between": [0, 1], "rate": "100 Mbps", "delay": "1 ms", "queue_length": 1000},
            {**slow, "queue": case.queue, "queue_length": 1000, case.queue: queue},
        ],
        "flow": [{**flow, "transfer": {"size": size}}],
        "tcp": {"segment_size": f"{SEGMENT} B", "ecn": True},
        "linux": {"version": "6.1", "sample": "10 s", "sysctls": ["net.ipv4.tcp_ecn=1"]},
    }


def arrived(case: Case, stack: str) -> tuple[list[Codepoints], list[Codepoints]]:
    """The codepoints of what the receiver's node got, and of what the sender's node got."""
    names = ("frame.interface_name", "ip.src", "tcp.flags", "ip.dsfield.ecn")
    _, lines = captures.on_wires(scenario(case, stack), names)
    sender = lines[0][1]
    found: tuple[list[Codepoints], list[Codepoints]] = ([], [])
    for interface, address, flags, bits in lines:
        here = int(interface.split()[1])
        if here == (2 if address == sender else 0):
            number = int(flags, 16)
            shown = "".join(name for name, bit in zip("SAEC", (2, 16, 64, 128), strict=True) if number & bit)
            found[address != sender].append((shown, int(bits)))
    return found


def alike(one: list[Codepoints], other: list[Codepoints]) -> int:
    """How many have the same codepoints from the first on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))


def compared(seed: int, count: int) -> Iterable[list[object]]:
    """A row for each case."""
    for number, case in enumerate(cases(seed, count)):
        mine, theirs = (arrived(case, stack) for stack in STACKS)
        opening = all(one[:2] == other[:2] for one, other in zip(mine, theirs, strict=True))
        row = [
            *(seed, number, case.queue, case.sender, case.rate, case.delay, case.segments),
            *(sum(bits == 3 for _, bits in side[0]) for side in (mine, theirs)),
            *(sum("C" in flags for flags, _ in side[0][1:]) for side in (mine, theirs)),
            *(sum("E" in flags for flags, _ in side[1][1:]) for side in (mine, theirs)),
            *(int(opening), alike(mine[0], theirs[0]), len(theirs[0])),
            *(alike(mine[1], theirs[1]), len(theirs[1])),
        ]
        print(row, flush=True)
        yield row


def main() -> None:
    """Writes the table."""
    parser = argparse.ArgumentParser(prog="python -m validation.stacks.marks", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the seed of the cases")
    parser.add_argument("--cases", type=int, default=12, help="how many cases there are")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "marks.csv", help="the table")
    given = parser.parse_args()
    # Kernels take `ecn` from the parameter of theirs.
    warnings.filterwarnings("ignore", message=".*does not follow `ecn`")
    captures.write(given.out, HEAD, compared(given.seed, given.cases))


if __name__ == "__main__":
    main()
