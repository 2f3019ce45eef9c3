from hopyard.congestion import Ack, CongestionControl, Loss, Timeout


class Aimd(CongestionControl):
    """Adds segments in each round trip; after a loss, keeps a share of what was in flight."""

    increase: float = 1.0
    keep: float = 0.7

    def on_ack(self, ack: Ack) -> None:
        if ack.phase == "open":
            self.cwnd += 1 if self.cwnd < self.ssthresh else self.increase / self.cwnd

    def on_loss(self, loss: Loss) -> None:
        self.cwnd = self.ssthresh = max(self.keep * self.flight, 2)

    def on_timeout(self, timeout: Timeout) -> None:
        if timeout.repeated == 0:
            self.ssthresh = max(self.keep * self.flight, 2)
        self.cwnd = 1
