"""A program of a kernel's node that sends datagrams at drawn times: `bursts.py HOST SEED`.

Flows begin and pause, so that a queue behind it fills and drains. Each datagram has the number of
its flow and its own; some flows can be marked (ECN, RFC 3168). The draws are those
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
    #: Whether the datagrams of each flow can be marked.
    capable: list[bool]
    #: Time, flow and payload of each datagram, in the order of time.
    sends: list[tuple[float, int, int]]


def drawn(seed: int) -> Drawn:
    """1 to 4 Mb/s, one to five flows.

    One flow has 1.2 to 2 times the rate, steadily or with pauses. Of several, every second one is
    steady, and these alone have as much from the beginning on, so that the queue does not run empty:
    HTB does not ask an empty queue for a packet, as a device would, and an empty flow leaves its list
    when it is asked.
    """
    draw = random.Random(seed)
    rate = round(draw.uniform(1, 4), 2)
    flows = draw.randint(1, 5)
    limit = draw.choice([10240, 10240, 1000, 60])
    capable = [draw.random() < 0.6 for _ in range(flows)]
    alone = flows == 1
    steady = (flows + 1) // 2
    load = draw.uniform(1.2, 2)
    extra = draw.uniform(0.3, 0.6)
    sends = []
    for flow in range(flows):
        size = draw.choice([200, 500, 1000, 1472])
        bursts = draw.random() < 0.5 if alone else flow % 2 == 1
        share = load / steady if alone or not bursts else extra / (flows - steady)
        gap = 8e-6 * (size + 28) / (rate * share)
        at = START + (draw.uniform(0, 0.3) if alone or bursts else 0)
        if not alone and not bursts:
            sends += [(START + 1e-4 * number + 1e-5 * flow, flow, size) for number in range(10)]
            at += draw.uniform(0.002, 0.005)
        while at < START + LENGTH:
            sends.append((at, flow, size))
            at += gap * (0.5 if bursts else draw.uniform(0.5, 1.5))
            if bursts and draw.random() < 0.02:
                # As long a pause as a burst, on average.
                at += 0.5 * gap * draw.expovariate(0.02)
    return Drawn(rate, limit, flows, capable, sorted(sends))


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
        end.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, CAPABLE * case.capable[flow])
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
