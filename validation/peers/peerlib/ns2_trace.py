"""The counters of a wireless ns-2 trace (old format), computed in one pass.

A line begins with: event, time, _node_, layer, reason, packet id, packet type, size.
At the AGT layer of TCP the rest holds [source:port destination:port ttl next] [seqno ack].
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from peerlib.table import Row, Value

_ENDS = re.compile(rb"\[(\d+):\d+ (\d+):\d+ (\d+) -?\d+\] \[(\d+) ")
_ROUTING = ("AODV", "AOMDV", "DSR", "message")
_TCP = ("tcp", "ack")
_RUNNING = 10

FRAME_COLUMNS = ("mac_rts", "mac_cts", "mac_ack", "mac_tcp", "mac_routing", "mac_arp")
DROP_COLUMNS = ("layer", "reason", "type", "count")


@dataclass
class FlowTally:
    """One TCP connection, as seen by its two agents."""

    sends: int = 0
    sent: set[int] = field(default_factory=set)
    received: set[int] = field(default_factory=set)
    deliveries: int = 0
    delay_s: float = 0.0
    ack_deliveries: int = 0
    ack_delay_s: float = 0.0
    first_delivery_s: float | None = None

    @property
    def retransmissions(self) -> int:
        """Data packets that were sent again."""
        return self.sends - len(self.sent)


@dataclass
class Tally:
    """Counts of a whole run."""

    flows: dict[tuple[int, int], FlowTally] = field(default_factory=dict)
    # (layer, packet type) of everything sent or forwarded by the MAC or the routing agent.
    sent: Counter[tuple[str, str]] = field(default_factory=Counter)
    # (layer, reason, packet type).
    drops: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    highest_id: int = 0
    deliveries: int = 0
    # Sum of the times to live of the data packets that arrived.
    lives: int = 0
    # While a route is being built, a single packet may arrive long before the others.
    tenth_delivery_s: float | None = None

    def read(self, trace: Iterable[bytes]) -> None:
        """Process a whole trace."""
        sent: Counter[tuple[bytes, bytes]] = Counter()
        drops: Counter[tuple[bytes, bytes, bytes]] = Counter()
        sent_at: dict[bytes, float] = {}
        for line in trace:
            words = line.split(None, 7)
            if len(words) < 7:
                continue
            event, time, _, layer, reason, packet, kind = words[:7]
            if layer == b"MAC":
                if event == b"s":
                    sent[layer, kind] += 1
                elif event == b"D":
                    drops[layer, reason, kind] += 1
            elif layer == b"AGT":
                if event == b"D":
                    drops[layer, reason, kind] += 1
                elif kind == b"tcp" or kind == b"ack":
                    self._on_agent(event, float(time), packet, kind, words[7], sent_at)
            elif event == b"D":
                drops[layer, reason, kind] += 1
            elif layer == b"RTR" and event != b"r":
                sent[layer, kind] += 1
        for (layer, kind), count in sent.items():
            self.sent[layer.decode(), kind.decode()] += count
        for (layer, reason, kind), count in drops.items():
            self.drops[layer.decode(), reason.decode(), kind.decode()] += count

    def _on_agent(
        self, event: bytes, time: float, packet: bytes, kind: bytes, rest: bytes, sent_at: dict[bytes, float]
    ) -> None:
        ends = _ENDS.search(rest)
        if ends is None:
            return
        source, destination, life, seqno = (int(text) for text in ends.groups())
        if kind == b"ack":
            source, destination = destination, source
        flow = self.flows.setdefault((source, destination), FlowTally())
        if event == b"s":
            sent_at[packet] = time
            self.highest_id = max(self.highest_id, int(packet))
            if kind == b"tcp":
                flow.sends += 1
                flow.sent.add(seqno)
        elif kind == b"tcp":
            flow.received.add(seqno)
            flow.deliveries += 1
            flow.delay_s += time - sent_at[packet]
            if flow.first_delivery_s is None:
                flow.first_delivery_s = time
            self.deliveries += 1
            self.lives += life
            if self.deliveries == _RUNNING:
                self.tenth_delivery_s = time
        else:
            flow.ack_deliveries += 1
            flow.ack_delay_s += time - sent_at[packet]

    def frames(self) -> dict[str, Value]:
        """Frames that the MAC sent, every attempt counted: the `FRAME_COLUMNS`."""
        return {
            "mac_rts": self.sent["MAC", "RTS"],
            "mac_cts": self.sent["MAC", "CTS"],
            "mac_ack": self.sent["MAC", "ACK"],
            "mac_tcp": sum(self.sent["MAC", kind] for kind in _TCP),
            "mac_routing": sum(self.sent["MAC", kind] for kind in _ROUTING),
            "mac_arp": self.sent["MAC", "ARP"],
        }

    def frames_sent(self) -> int:
        """All frames that the MAC sent."""
        return sum(count for (layer, _), count in self.sent.items() if layer == "MAC")

    def routing_sent(self) -> int:
        """Routing packets sent, each hop counted."""
        return sum(self.sent["RTR", kind] for kind in _ROUTING)

    def packet_drops(self, kind: str) -> int:
        """Packets of a type that were lost.

        Drops at the MAC are frames, not packets: a collision is followed by another attempt, and
        after the last attempt routing gets the packet back, to save it or to drop it itself.
        """
        return sum(count for (layer, _, dropped), count in self.drops.items() if layer != "MAC" and dropped == kind)

    def drop_rows(self, key: Row) -> list[Row]:
        """One row for each layer, reason and type: `key` and the `DROP_COLUMNS`."""
        return [
            {**key, "layer": layer, "reason": reason, "type": kind, "count": count}
            for (layer, reason, kind), count in sorted(self.drops.items())
        ]
