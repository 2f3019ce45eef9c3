"""Both stacks in wired cases that are drawn from a seed: `python -m validation.stacks.drawn`.

Each case is a transfer over a wire of its own. Every sender of Linux 6.1 and the profile `linux`
carry out the same cases, under the conditions that a scenario has and under those of the captures.
The data segments that enter the wire's queue at the source are compared: their order, and the times
within 1 ms, counted from the first. BBR draws the phase of its first cycle at random, in both
stacks, so its times say little. Writes `results/drawn.csv` and prints the counts. Needs Linux
(`hopyard kernels build 6.1`) and tshark.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from . import captures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

RESULTS = Path(__file__).resolve().parent / "results"
#: The senders by Linux's names; those that have others in Hopyard: Linux's Westwood is Westwood+.
SENDERS = ("reno", "cubic", "vegas", "veno", "westwood", "illinois", "bbr")
NAMES = {"reno": "newreno", "westwood": "westwood_plus"}
#: The payload of a segment in bytes, and the segments of a transfer.
SEGMENT, SEGMENTS = 1448, 150
#: How far times may be apart, in seconds.
TOLERANCE = 0.001
STACKS = ("hopyard", "linux")
UNLIMITED: dict[str, object] = {"send_buffer": "unlimited"}
NO_LIMIT: dict[str, object] = {"small_queues": False}
BUFFER: dict[str, object] = {"sysctls": ["net.ipv4.tcp_wmem=4096 4194304 4194304"]}
AT_ONCE: dict[str, object] = {"completion": "immediate"}
#: What is set beside the defaults: of Hopyard's `[tcp.linux]`, and of `[linux]`.
CONDITIONS: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "as given": ({}, {}),
    "large buffer": (UNLIMITED, BUFFER),
    "at once": (NO_LIMIT, AT_ONCE),
    "as captured": ({**NO_LIMIT, **UNLIMITED}, {**AT_ONCE, **BUFFER}),
}
USUAL = ("as given", "large buffer", "as captured")
HEAD = (
    *("seed", "conditions", "sender", "case", "rate_mbps", "delay_ms", "queue"),
    *("losses", "acks_lost", "down_s", "segments_hopyard", "segments_linux"),
    *("first_in_order", "first_in_time", "completion_hopyard_s", "completion_linux_s"),
)

#: What tshark tells of each packet.
FIELDS = ("frame.time_epoch", "frame.interface_name", "tcp.srcport", "tcp.seq_raw", "tcp.len", "tcp.flags")

#: A departure: when, the first byte, and the payload.
Departure = tuple[float, int, int]


@dataclass(frozen=True)
class Case:
    """One wire and its transfer."""

    rate: float
    delay: float
    queue: int
    losses: list[int]
    acks_lost: list[int]
    down: tuple[float, float] | None

    def table(self) -> list[object]:
        """The columns of the case."""
        lists = (" ".join(map(str, it)) for it in (self.losses, self.acks_lost, self.down or ()))
        return [self.rate, self.delay, self.queue, *lists]


def cases(seed: int, count: int) -> list[Case]:
    """0.5 to 10 Mb/s, 3 to 100 ms; up to 5 losses, up to 8 lost acknowledgements, outages."""
    drawn = random.Random(seed)
    found = []
    for _ in range(count):
        rate = round(10 ** drawn.uniform(-0.3, 1), 2)
        delay = round(10 ** drawn.uniform(0.5, 2), 1)
        queue = drawn.choice([6, 10, 20, 40])
        losses = sorted(drawn.randrange(SEGMENTS) for _ in range(drawn.choice([0, 1, 1, 2, 3, 5])))
        acks_lost = sorted(drawn.sample(range(3, 80), drawn.choice([0, 0, 4, 8])))
        down = None
        if drawn.random() < 0.25:
            begin = 1 + drawn.uniform(0.1, 0.8)
            down = (round(begin, 3), round(begin + drawn.uniform(0.1, 1.2), 3))
        found.append(Case(rate, delay, queue, losses, acks_lost, down))
    return found


def scenario(drawn: Sequence[Case], sender: str, stack: str, settings: dict[str, object]) -> dict[str, object]:
    """All cases beside one another, each with two nodes of its own."""
    wires, flows = [], []
    for number, case in enumerate(drawn):
        ends = [2 * number, 2 * number + 1]
        wire: dict[str, object] = {
            "between": ends,
            "rate": f"{case.rate} Mbps",
            "delay": f"{case.delay} ms",
            "queue_length": case.queue,
            "losses": {"segments": case.losses},
            "losses_back": {"packets": case.acks_lost},
        }
        if case.down:
            wire["down"] = [{"from": f"{case.down[0]} s", "to": f"{case.down[1]} s"}]
        wires.append(wire)
        flow = {"from": ends[0], "to": ends[1], "tcp": sender, "stack": stack}
        flows.append({**flow, "start": "1 s", "traffic": "transfer"})
    of_tcp, of_linux = (settings if stack == it else {} for it in STACKS)
    return {
        "name": "drawn",
        "profile": "linux",
        "duration": "40 s",
        "runs": 1,
        "nodes": {"wired": 2 * len(drawn)},
        "tcp": {"segment_size": f"{SEGMENT} B", "linux": of_tcp},
        "linux": {"version": "6.1", "sample": "1 s", **of_linux},
        "wire": wires,
        "flow": flows,
        "traffic": {"transfer": {"size": f"{SEGMENTS * SEGMENT} B"}},
    }


def departures(lines: Iterable[list[str]]) -> Iterator[tuple[int, Departure]]:
    """What enters or leaves the wires, by node: data of the connections' first ends."""
    first: dict[tuple[int, str], int] = {}
    for when, interface, port, seq, length, flags in lines:
        node = int(interface.split()[1])
        if int(flags, 16) & 0x12 == 0x02:
            first.setdefault((node, port), int(seq))
        begin = first.get((node, port))
        if begin is not None and int(length):
            place = (int(seq) - begin - 1) & 0xFFFF_FFFF
            yield node, (float(when), place, int(length))


def transfers(
    sender: str, stack: str, drawn: Sequence[Case], settings: dict[str, object]
) -> list[tuple[list[Departure], float]]:
    """For each case the departures, and when the last data arrived, counted from the first."""
    name = NAMES.get(sender, sender) if stack == "hopyard" else sender
    _, lines = captures.on_wires(scenario(drawn, name, stack, settings), FIELDS)
    nodes: list[list[Departure]] = [[] for _ in range(2 * len(drawn))]
    for node, departure in departures(lines):
        nodes[node].append(departure)
    found = []
    for number in range(len(drawn)):
        sent, arrived = nodes[2 * number], nodes[2 * number + 1]
        begin = sent[0][0]
        last = max(at for at, _, _ in arrived) - begin
        found.append(([(at - begin, seq, size) for at, seq, size in sent], last))
    return found


def differs(one: Sequence[Departure], other: Sequence[Departure]) -> tuple[int | None, int | None]:
    """The first departure that differs in order, and the first that does in time before that."""
    time = None
    for place, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine[1:] != theirs[1:]:
            return place, time
        if time is None and abs(mine[0] - theirs[0]) > TOLERANCE:
            time = place
    return (None if len(one) == len(other) else min(len(one), len(other))), time


def compared(seed: int, count: int, senders: Sequence[str], names: Sequence[str]) -> Iterable[list[object]]:
    """A row for each case, sender and condition; prints the counts."""
    drawn = cases(seed, count)
    print(f"{'conditions':12} {'sender':9} order  time  within 1 %  cases")
    for name in names:
        for sender in senders:
            order = time = near = 0
            ways = zip(STACKS, CONDITIONS[name], strict=True)
            pair = [transfers(sender, stack, drawn, settings) for stack, settings in ways]
            for number, (mine, theirs) in enumerate(zip(*pair, strict=True)):
                in_order, in_time = differs(mine[0], theirs[0])
                order += in_order is None
                time += in_order is None and in_time is None
                near += abs(mine[1] / theirs[1] - 1) <= 0.01
                yield [
                    *(seed, name, sender, number, *drawn[number].table()),
                    *(len(mine[0]), len(theirs[0])),
                    *("" if it is None else it for it in (in_order, in_time)),
                    *(round(it, 6) for it in (mine[1], theirs[1])),
                ]
            print(f"{name:12} {sender:9} {order:5} {time:5} {near:11} {count:6}", flush=True)


def main() -> None:
    """Writes the table."""
    parser = argparse.ArgumentParser(prog="python -m validation.stacks.drawn", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the seed of the cases")
    parser.add_argument("--cases", type=int, default=20, help="how many cases each sender has")
    parser.add_argument("--senders", default=",".join(SENDERS), help="separated by commas")
    parser.add_argument("--conditions", default=",".join(USUAL), help=", ".join(CONDITIONS))
    parser.add_argument("--out", type=Path, default=RESULTS / "drawn.csv", help="the table")
    given = parser.parse_args()
    rows = compared(given.seed, given.cases, given.senders.split(","), given.conditions.split(","))
    captures.write(given.out, HEAD, rows)


if __name__ == "__main__":
    main()
