"""What the tests of congestion control written in Python share."""

from __future__ import annotations

from typing import Any

WIRE: dict[str, Any] = {
    "name": "wire",
    "duration": "20 s",
    "nodes": {"count": 0, "wired": 2},
    "routing": {"protocol": "static", "static": {"others": "direct"}},
    "wire": [{"between": [0, 1], "rate": "1 Mbps", "delay": "20 ms", "queue_length": 8}],
    "flow": [{"from": 0, "to": 1}],
}

GOOD = """
from hopyard import CongestionControl

class Good(CongestionControl):
    share: float = 0.5
    count: int = 3
    mode: str = "calm"
    fast: bool = False

    def __init__(self):
        if not 0 < self.share < 1:
            raise ValueError(f"share must lie between 0 and 1, not {self.share}")

    def on_ack(self, ack):
        self.cwnd += 1 / self.cwnd

    def on_loss(self, loss):
        self.cwnd = self.ssthresh = max(self.cwnd * self.share, 1)

    def on_timeout(self, timeout):
        self.cwnd = 1
"""
