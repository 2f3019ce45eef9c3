"""A program of a kernel's node that sends datagrams at drawn times: `bursts.py HOST SEED`.

Flows begin and pause, so that a queue behind it fills and drains. Each datagram has the number of
its flow and its own; the flows with odd numbers can be marked (ECN, RFC 3168). The draws are those
of `drawn`, which the comparison uses too.
"""

from __future__ import annotations

import contextlib
import random
import signal
import socket
import struct
import sys
import time
from dataclasses import dataclass

PORT = 6000
#: When the flows begin, and for how long they send, in seconds.
START, LENGTH = 1.0, 3.0
CAPABLE = 2
#: It has no name in the module `socket`.
SO_SNDBUFFORCE = 32


@dataclass(frozen=True)
class Drawn:
    """One case: the rate of the bottleneck, and what is sent."""

    rate: float
    limit: int
    flows: int
    #: Time, flow and payload of each datagram, in the order of time.
    sends: list[tuple[float, int, int]]


def drawn(seed: int) -> Drawn:
    """1 to 4 Mb/s, one to five flows, with 0.8 to 2 times the rate."""
    draw = random.Random(seed)
    rate = round(draw.uniform(1, 4), 2)
    flows = draw.randint(1, 5)
    limit = draw.choice([10240, 10240, 1000, 60])
    load = draw.uniform(0.8, 2)
    sends = []
    for flow in range(flows):
        size = draw.choice([200, 500, 1000, 1472])
        gap = 8e-6 * (size + 28) / (rate * load / flows)
        at = START + draw.uniform(0, 0.3)
        bursts = draw.random() < 0.5
        while at < START + LENGTH:
            sends.append((at, flow, size))
            at += gap * (0.5 if bursts else draw.uniform(0.5, 1.5))
            if bursts and draw.random() < 0.02:
                # As long a pause as a burst, on average.
                at += 0.5 * gap * draw.expovariate(0.02)
    return Drawn(rate, limit, flows, sorted(sends))


class ExpiredError(Exception):
    """The time to wait is over."""


def expire(_signal: int, _frame: object) -> None:
    """Ends a wait."""
    raise ExpiredError


def main() -> None:
    """Sends all datagrams of a case."""
    host, seed = sys.argv[1:]
    case = drawn(int(seed))
    signal.signal(signal.SIGALRM, expire)
    ends = []
    for flow in range(case.flows):
        end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # Room for all that waits: nothing blocks, and datagrams leave when they are drawn to.
        end.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 26)
        end.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, CAPABLE * (flow % 2))
        end.bind(("", PORT + flow))
        end.connect((host, PORT + flow))
        ends.append(end)
    counts = [0] * case.flows
    for at, flow, size in case.sends:
        left = at - time.monotonic()
        if left > 0:
            signal.setitimer(signal.ITIMER_REAL, left)
            with contextlib.suppress(ExpiredError):
                signal.pause()
        ends[flow].send(struct.pack("!II", flow, counts[flow]) + bytes(size - 8))
        counts[flow] += 1


if __name__ == "__main__":
    main()
