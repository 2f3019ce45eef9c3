from hopyard import CongestionControl


class Aimd(CongestionControl):
    """A segment more for each round trip; after a loss, a share of what was outstanding."""

    increase: float = 1.0
    keep: float = 0.7

    def on_ack(self, ack):
        if ack.phase == "open":
            self.cwnd += 1 if self.cwnd < self.ssthresh else self.increase / self.cwnd

    def on_loss(self, loss):
        self.cwnd = self.ssthresh = max(self.keep * self.flight, 2)

    def on_timeout(self, timeout):
        if timeout.repeated == 0:
            self.ssthresh = max(self.keep * self.flight, 2)
        self.cwnd = 1
