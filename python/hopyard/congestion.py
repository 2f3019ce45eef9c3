"""Congestion control of one's own, written in Python.

    from hopyard import CongestionControl

    class Fixed(CongestionControl):
        size: float = 4.0                    # a parameter: [tcp."fixed:Fixed"] size = 8

        def on_ack(self, ack):
            self.cwnd = self.size

        def on_loss(self, loss):
            pass

        def on_timeout(self, timeout):
            self.cwnd = 1

In `fixed.py` beside a scenario this is `hopyard run scenario.toml --set flow.tcp=fixed:Fixed`; in a
program or a notebook, `hopyard.run("scenario.toml", set={"flow.tcp": Fixed})`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar

from hopyard._core import Ack, Duplicate, Loss, RateSample, Route, Sent, Timeout, WindowRule

if TYPE_CHECKING:
    from random import Random

__all__ = [
    "Ack",
    "CongestionControl",
    "Duplicate",
    "Loss",
    "RateSample",
    "Route",
    "Sent",
    "Timeout",
]


class CongestionControl(WindowRule):
    """The window rule of a TCP sender: what becomes of the window on each event.

    A subclass defines `on_ack`, `on_loss`, `on_timeout`, and any other event that it wants to be
    told; those it leaves out are not called and cost nothing. Each connection of each run has an
    instance of its own. TCP itself, which repairs losses, measures round trips and keeps the
    retransmission timer, stays Hopyard's.

    During an event a rule sets `self.cwnd` and `self.ssthresh`, in segments; without, they stay as
    they are. It may know `now`, `flight`, `srtt`, `rto`, `hops` and more of its connection: times
    in seconds, windows in segments, sequence numbers in bytes.

    Annotated class attributes with a default (int, float, bool or str) are its parameters. They
    have the scenario's values when `__init__`, which takes no argument, is called. A name with a
    leading underscore, a `ClassVar` or one without a default is not a parameter.

    A rule must draw random numbers from `self.random` alone, and look at no clock but `self.now`:
    the same scenario and seed then give the same run.
    """

    #: How losses are repaired unless `[tcp] recovery` says otherwise: "go_back_n", "reno",
    #: "new_reno", "sack" and so on; `hopyard models tcp` has them all.
    recovery: ClassVar[str] = "new_reno"
    #: Whether acknowledgements carry a sample of the delivery rate, `ack.rate`.
    wants_rate: ClassVar[bool] = False
    #: Whether nodes that cannot pass a segment on shall tell: `on_route` with kind "unreachable".
    wants_notices: ClassVar[bool] = False
    #: Whether the rule sets the window during recovery too.
    governs_recovery: ClassVar[bool] = False

    #: Random numbers of this connection in this run; from the scenario's seed.
    random: Random

    @abstractmethod
    def on_ack(self, ack: Ack) -> None:
        """New data was acknowledged. `ack.phase` says whether losses are being repaired."""

    @abstractmethod
    def on_loss(self, loss: Loss) -> None:
        """A loss was found without a timeout."""

    @abstractmethod
    def on_timeout(self, timeout: Timeout) -> None:
        """The retransmission timer went off with data outstanding."""

    def on_duplicate(self, duplicate: Duplicate) -> None:
        """A duplicate acknowledgement arrived."""

    def on_recovered(self) -> None:
        """Losses are repaired; `on_ack` follows, with phase "recovered"."""

    def on_sent(self, sent: Sent) -> None:
        """A segment was sent. Windows cannot be set here."""

    def on_route(self, route: Route) -> None:
        """The network layer tells of the route to the receiver."""

    def on_idle(self, restart: float) -> None:
        """Data is to be sent after a pause longer than the retransmission timeout.

        `restart` is the window that `[tcp] idle_restart` asks for; a rule without this event takes
        it where it is smaller.
        """

    def on_timer(self) -> None:
        """The time is reached that the rule has set as `self.deadline`, which is None again."""
