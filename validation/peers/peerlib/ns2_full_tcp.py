"""Pages over one connection of FullTcp, with data both ways: every segment of both ends, from ns-2."""

import math
import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from peerlib import ns2
from peerlib.peer import Option, PeerError, Run
from peerlib.table import Row

SEED = 36
CASES = 25
HEADERS = 40
SEGMENT = 1448
# FullTcp as it is; without the acknowledgements that go alone, without a smaller window after a pause, and with the
# least timeout of RFC 6298; and besides with objects that are whole segments.
VARIANTS = ("as_is", "alike", "whole")
# The first columns describe the case, and are only in its first row.
COLUMNS = (
    "case",
    "variant",
    "rate_bps",
    "delay_s",
    "request",
    "answer",
    "parts",
    "pipelining",
    "pages",
    "time",
    "end",
    "seq",
    "ack",
    "payload",
    "flags",
)
FLAGS = ((0x02, "SYN"), (0x01, "FIN"), (0x10, "ACK"))


@dataclass(frozen=True)
class Case(Run):
    """One conversation, in one of the variants."""

    case: int
    variant: str
    rate_bps: int
    delay_s: float
    request: int
    answer: int
    parts: int
    pipelining: int
    pages: int


@dataclass(frozen=True)
class Segment:
    """A segment that an end sends; `is_client` says which."""

    time: str
    is_client: bool
    seq: int
    ack: int
    payload: int
    flags: str

    def is_bare(self) -> bool:
        """Whether it only acknowledges."""
        return self.payload == 0 and self.flags == "ACK"


@dataclass
class Conversation:
    """The segments of both ends, in the order in which they reach the wire."""

    segments: list[Segment] = field(default_factory=list)

    def read(self, trace: Iterable[bytes]) -> None:
        """Process a whole trace of `full_tcp.tcl`."""
        for line in trace:
            words = line.decode().split()
            if words[0] != "+":
                continue
            bits = int(words[13], 16)
            flags = " ".join(name for bit, name in FLAGS if bits & bit)
            payload = int(words[5]) - HEADERS
            segment = Segment(words[1], words[2] == "0", int(words[10]), max(int(words[12]), 0), payload, flags)
            self.segments.append(segment)

    def of(self, is_client: bool) -> list[Segment]:
        """The segments of one end."""
        return [segment for segment in self.segments if segment.is_client == is_client]


def cases() -> list[Case]:
    """All conversations: pages that are a request and an answer, and pages with large objects both ways."""
    draw = random.Random(SEED)

    def between(low: float, high: float) -> float:
        return math.exp(draw.uniform(math.log(low), math.log(high)))

    drawn = []
    for number in range(2 * CASES):
        rate, delay = round(between(500, 20_000)) * 1000, round(between(2, 200)) / 1000
        if number < CASES:
            drawn.append((rate, delay, round(between(100, 1400)), round(between(500, 200_000)), 0, 1, 2))
        else:
            request, answer = round(between(1500, 60_000)), round(between(500, 60_000))
            drawn.append((rate, delay, request, answer, draw.randint(2, 6), draw.randint(2, 4), 1))

    def whole(size: int) -> int:
        return max(1, round(size / SEGMENT)) * SEGMENT

    found = []
    for variant in VARIANTS:
        for number, (rate, delay, request, answer, *rest) in enumerate(drawn, start=1):
            sizes = (whole(request), whole(answer)) if variant == "whole" else (request, answer)
            found.append(Case(number, variant, rate, delay, *sizes, *rest))
    return found


def _conversation(case: Case, client_drops: list[int], server_drops: list[int]) -> Conversation:
    options: dict[str, Option] = {
        "rate": case.rate_bps,
        "delay": case.delay_s,
        "request": case.request,
        "answer": case.answer,
        "parts": case.parts,
        "pipelining": case.pipelining,
        "pages": case.pages,
        "restart": int(case.variant == "as_is"),
        "minrto": 0.2 if case.variant == "as_is" else 1.0,
        "clientdrops": " ".join(map(str, client_drops)),
        "serverdrops": " ".join(map(str, server_drops)),
    }
    conversation = Conversation()
    ns2.run("full_tcp.tcl", options, conversation.read)
    return conversation


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run: its segments."""
    lone = case.variant == "as_is"
    conversation = _conversation(case, [] if lone else [1], [])
    last = conversation.of(is_client=False)[-2:]
    if not (last[0].is_bare() and "FIN" in last[1].flags and last[0].time == last[1].time):
        raise PeerError(f"the server of {case.name()} does not acknowledge the FIN alone, and then send its own")
    if not lone:
        conversation = _conversation(case, [1], [len(conversation.of(is_client=False)) - 2])
    rows: list[Row] = []
    for segment in conversation.segments:
        rows.append(
            {
                **(dict.fromkeys(case.key) if rows else case.key),
                "time": segment.time,
                "end": "client" if segment.is_client else "server",
                "seq": segment.seq,
                "ack": segment.ack,
                "payload": segment.payload,
                "flags": segment.flags,
            }
        )
    return {"full_tcp.csv.gz": rows}
