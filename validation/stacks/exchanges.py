"""Exchanges of both stacks over drawn wires: `python -m validation.stacks.exchanges`.

Each case is a connection over a wire of its own: an echo, requests with answers, or pages with
parts. In Hopyard it is a flow in the profile `linux`; in Linux 6.1, two programs (`talk.py`) that
write, read and wait as the model's application does. The segments with data that each end sends are
compared in their order, and the times of the exchanges: of each message or page, from its first
byte at the client to the last byte of its answer there, and of the opening of the connection; their
sum is the completion time, without the pauses between pages. Writes `results/exchanges.csv` and
prints the counts. Needs Linux (`hopyard kernels build 6.1`) and tshark.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from . import captures

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

HERE = Path(__file__).resolve().parent
STACKS = ("hopyard", "linux")
KINDS = ("echo", "request", "page")
#: How many cases are in one run: each has two kernels.
BATCH = 20
PORT = 5000
#: When the client begins, in microseconds.
START = 1_000_000
HEAD = (
    *("seed", "case", "kind", "rate_mbps", "delay_ms", "queue", "losses", "losses_back"),
    *("request_bytes", "answer_bytes", "count", "parts", "part_bytes", "pipelining", "pause_ms", "service_ms"),
    *("segments_hopyard", "segments_linux", "order", "order_with_acks"),
    *("completion_hopyard_s", "completion_linux_s", "percent"),
)


@dataclass(frozen=True)
class Case:
    """One wire and its connection."""

    kind: str
    rate: float
    delay: float
    queue: int
    losses: list[int]
    losses_back: list[int]
    #: Bytes of a message or request, and of an answer; how many; the parts of a page.
    request: int
    answer: int
    count: int
    parts: int
    part: int
    pipelining: int
    #: Milliseconds between messages or after a page, and before an answer.
    pause: int
    service: int

    def table(self) -> list[object]:
        """The columns of the case."""
        lists = (" ".join(map(str, it)) for it in (self.losses, self.losses_back))
        return [
            *(self.kind, self.rate, self.delay, self.queue, *lists, self.request, self.answer),
            *(self.count, self.parts, self.part, self.pipelining, self.pause, self.service),
        ]

    def flow(self) -> dict[str, object]:
        """The traffic of the flow."""
        if self.kind == "echo":
            # The client closes half an interval after its last message.
            stop = START // 1000 + self.pause * self.count - self.pause // 2
            settings = {"size": f"{self.request} B", "interval": f"{self.pause} ms"}
            return {"traffic": "echo", "echo": settings, "stop": f"{stop} ms"}
        settings = {
            "request": f"{self.request} B",
            "answer": f"{self.answer} B",
            "service": f"{self.service} ms",
            "think": f"{self.pause} ms",
        }
        numbers: dict[str, object] = {"pages": self.count}
        if self.parts:
            numbers |= {"parts": self.parts, "part": f"{self.part} B", "pipelining": self.pipelining}
        return {"traffic": "request_response", "request_response": {**settings, **numbers}}

    def scripts(self) -> tuple[str, str]:
        """The steps of the client, which begins at 1 s, and of the server."""
        pause = 1000 * self.pause
        if self.kind == "echo":
            times = [START + pause * number for number in range(self.count)]
            asked = [f"a{at} w{self.request}" for at in times[1:]]
            close = times[-1] + pause // 2
            return f"a{START} o0 w{self.request} {' '.join(asked)} a{close}", "o0 e0"
        asked, given = [f"a{START}", "o0"], ["o0"]
        ahead = min(self.pipelining, self.parts)
        for page in range(self.count):
            asked += [f"w{self.request}", f"r{self.answer}", *[f"w{self.request}"] * ahead]
            for part in range(self.parts):
                asked += [f"r{self.part}"] + [f"w{self.request}"] * (part + ahead < self.parts)
            asked += [f"t{pause}"] * (page + 1 < self.count)
            for size in [self.answer] + [self.part] * self.parts:
                given += [f"r{self.request}", f"t{1000 * self.service}", f"w{size}"]
        return " ".join(asked), " ".join(given)

    def exchanges(self) -> Iterator[tuple[int, int]]:
        """For each message or page its first byte, and the end of its answer."""
        asked, given = self.request * (1 + self.parts), self.answer + self.parts * self.part
        for number in range(self.count):
            yield asked * number, given * (number + 1)


def cases(seed: int, count: int) -> list[Case]:
    """0.5 to 20 Mb/s, 1 to 100 ms, up to 2 losses each way; sizes from a part of a segment to 200 kB."""
    drawn = random.Random(seed)

    def size(low: float, high: float) -> int:
        return round(10 ** drawn.uniform(low, high))

    found = []
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        is_echo = kind == "echo"
        request = size(1.8, 4.0 if is_echo else 3.3)
        parts = drawn.randint(1, 8) if kind == "page" else 0
        case = Case(
            kind=kind,
            rate=round(10 ** drawn.uniform(-0.3, 1.3), 2),
            delay=round(10 ** drawn.uniform(0, 2), 1),
            queue=drawn.choice([10, 20, 40, 100]),
            losses=sorted(drawn.sample(range(3, 40), drawn.choice([0, 0, 0, 1, 2]))),
            losses_back=sorted(drawn.sample(range(3, 80), drawn.choice([0, 0, 0, 1, 2]))),
            request=request,
            answer=request if is_echo else size(2.3, 5.3),
            count=drawn.randint(3, 8) if is_echo else drawn.randint(1, 4),
            parts=parts,
            part=size(2.3, 4.5) if parts else 0,
            pipelining=drawn.randint(1, 4) if parts else 1,
            pause=drawn.choice([20, 100, 400, 1000]),
            service=0 if is_echo else drawn.choice([0, 0, 5, 30, 100]),
        )
        found.append(case)
    return found


def scenario(drawn: Sequence[Case], stack: str) -> dict[str, object]:
    """All cases beside one another, each with two nodes of its own: the client is the first."""
    wires, flows, hosts = [], [], []
    for number, case in enumerate(drawn):
        client, server = 2 * number, 2 * number + 1
        wire: dict[str, object] = {
            "between": [client, server],
            "rate": f"{case.rate} Mbps",
            "delay": f"{case.delay} ms",
            "queue_length": case.queue,
            "losses": {"packets": case.losses},
            "losses_back": {"packets": case.losses_back},
        }
        wires.append(wire)
        flows.append({"from": client, "to": server, "tcp": "cubic", "start": "1 s", **case.flow()})
        # The server listens before the client comes.
        for node, host, start, script in zip(
            (client, server), (f"node{server}", "listen"), ("0.9 s", "0.5 s"), case.scripts(), strict=True
        ):
            program = f"{sys.executable} -S -E {HERE / 'talk.py'} {host} {PORT} '{script}'"
            hosts.append({"node": node, "run": program, "start": start})
    base: dict[str, object] = {
        "name": "exchanges",
        "profile": "linux",
        "duration": "120 s",
        "runs": 1,
        "nodes": {"wired": 2 * len(drawn)},
        "wire": wires,
    }
    if stack == "hopyard":
        return {**base, "flow": flows, "tcp": {"segment_size": "1448 B"}}
    # As for flows of Linux: the simulated network alone has queues.
    linux = {"version": "6.1", "sample": "10 s", "sysctls": ["net.core.default_qdisc=pfifo_fast"]}
    return {**base, "host": hosts, "linux": linux}


@dataclass
class Sent:
    """What one end sent and what reached it."""

    #: Time, place of the first byte, payload, flags (SYN, FIN), acknowledgement number.
    left: list[tuple[float, int, int, int, int]] = field(default_factory=list)
    #: Time and end of what arrived.
    came: list[tuple[float, int]] = field(default_factory=list)

    def segments(self, *, acks: bool = False) -> list[tuple[int, ...]]:
        """The segments in their order: with data, SYN or FIN, or all, with their acknowledgements."""
        if acks:
            return [it[1:] for it in self.left]
        return [it[1:4] for it in self.left if it[2] or it[3]]


def captured(lines: Iterable[list[str]], count: int) -> list[Sent]:
    """What each node sent and received."""
    found = [Sent() for _ in range(count)]
    first: dict[tuple[int, bool], int] = {}
    clients: dict[int, str] = {}
    for when, interface, address, seq, ack, length, flags in lines:
        node, bits = int(interface.split()[1]), int(flags, 16)
        pair = node // 2
        if bits & 0x12 == 0x02:
            clients.setdefault(pair, address)
        by_client = address == clients.get(pair)
        if bits & 0x02:
            first.setdefault((pair, by_client), int(seq))

        def place(number: str, pair: int = pair, *, by: bool) -> int:
            return (int(number) - first.get((pair, by), 0) - 1) & 0xFFFF_FFFF

        begin = place(seq, by=by_client) if not bits & 0x02 else 0
        if by_client == (node % 2 == 0):
            acknowledged = place(ack, by=not by_client) if bits & 0x10 else -1
            found[node].left.append((float(when), begin, int(length), bits & 0x03, acknowledged))
        elif int(length):
            found[node].came.append((float(when), begin + int(length)))
    return found


def completion(case: Case, client: Sent) -> float:
    """The time of the opening, and of all exchanges."""
    data = [(at, begin + length) for at, begin, length, _, _ in client.left if length]
    total = data[0][0] - client.left[0][0]
    for begin, end in case.exchanges():
        asked = next(at for at, stop in data if stop > begin)
        total += _delivered(client.came, end) - asked
    return total


def _delivered(came: Sequence[tuple[float, int]], end: int) -> float:
    """When everything before `end` was there: the last first arrival of a piece before it."""
    seen: set[int] = set()
    last = 0.0
    for at, stop in came:
        if stop <= end and stop not in seen:
            seen.add(stop)
            last = at
    return last


def carried_out(drawn: Sequence[Case], stack: str) -> list[Sent]:
    """What the nodes of all cases sent and received."""
    names = ("frame.time_epoch", "frame.interface_name", "ip.src", "tcp.seq_raw", "tcp.ack_raw", "tcp.len", "tcp.flags")
    _, lines = captures.on_wires(scenario(drawn, stack), names)
    return captured(lines, 2 * len(drawn))


def compared(seed: int, count: int) -> Iterable[list[object]]:
    """A row for each case; prints the counts."""
    all_cases = cases(seed, count)
    counts = {kind: [0, 0, 0, 0] for kind in KINDS}
    for start in range(0, count, BATCH):
        drawn = all_cases[start : start + BATCH]
        pair = [carried_out(drawn, stack) for stack in STACKS]
        for number, case in enumerate(drawn):
            ends = [sent[2 * number : 2 * number + 2] for sent in pair]
            mine, theirs = ([it.segments() for it in both] for both in ends)
            all_mine, all_theirs = ([it.segments(acks=True) for it in both] for both in ends)
            times = [completion(case, both[0]) for both in ends]
            apart = 100 * (times[0] / times[1] - 1)
            found = (mine == theirs, all_mine == all_theirs, abs(apart) <= 1, True)
            counts[case.kind] = [a + b for a, b in zip(counts[case.kind], found, strict=True)]
            yield [
                *(seed, start + number, *case.table()),
                *(sum(map(len, it)) for it in (mine, theirs)),
                *(int(it) for it in found[:2]),
                *(round(it, 6) for it in times),
                round(apart, 3),
            ]
    print(f"{'':8} order  with acks  within 1 %  cases")
    for kind, values in (*counts.items(), ("all", map(sum, zip(*counts.values(), strict=True)))):
        order, acks, near, cases_of = values
        print(f"{kind:8} {order:5} {acks:10} {near:11} {cases_of:6}", flush=True)


def main() -> None:
    """Writes the table."""
    parser = argparse.ArgumentParser(prog="python -m validation.stacks.exchanges", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the seed of the cases")
    parser.add_argument("--cases", type=int, default=200, help="how many cases there are")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "exchanges.csv", help="the table")
    given = parser.parse_args()
    captures.write(given.out, HEAD, compared(given.seed, given.cases))


if __name__ == "__main__":
    main()
