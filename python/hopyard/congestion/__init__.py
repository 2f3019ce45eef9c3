"""Your own congestion control, written in Python.

    from hopyard import CongestionControl

    class Fixed(CongestionControl):
        size: float = 4.0                    # a parameter: [tcp."fixed:Fixed"] size = 8

        def on_ack(self, ack):
            self.cwnd = self.size

        def on_loss(self, loss):
            pass

        def on_timeout(self, timeout):
            self.cwnd = 1

If the class is in `fixed.py` in the scenario's folder, run it with
`hopyard run scenario.toml --set flow.tcp=fixed:Fixed`. In a program or a notebook, use
`hopyard.run("scenario.toml", set={"flow.tcp": Fixed})`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Literal

from hopyard._core import Ack, Arrival, Before, ControllerState, Duplicate, Loss, RateSample, Route, Sent, Timeout

if TYPE_CHECKING:
    from random import Random

__all__ = [
    "Ack",
    "Arrival",
    "Before",
    "CongestionControl",
    "Duplicate",
    "Loss",
    "RateSample",
    "Route",
    "Sent",
    "Timeout",
]


class CongestionControl(ControllerState):
    """The congestion control of a TCP sender: how the window changes at each event.

    A subclass defines `on_ack`, `on_loss` and `on_timeout`. It may define further events; events
    that it does not define cause no calls. Each connection of each run has its own instance. TCP
    itself (loss recovery, round-trip measurement, retransmission timer) is part of Hopyard.

    During an event, a method sets `self.cwnd` and `self.ssthresh` in segments. Otherwise they do
    not change. It may read `now`, `flight`, `srtt`, `rto`, `hops` and other attributes of the
    connection: times in seconds, windows in segments, sequence numbers in bytes.

    Annotated class attributes with a default (int, float, bool or str) are parameters. They have
    the scenario's values before `__init__` is called, which takes no argument. A name with a
    leading underscore, a `ClassVar`, or a name without a default is not a parameter.

    Use only `self.random` for random numbers and only `self.now` as a clock. Then the same
    scenario and seed give the same run.
    """

    #: The loss recovery, unless `[tcp] recovery` sets another: "go_back_n", "reno", "new_reno",
    #: "sack" and others; `hopyard models tcp` lists them.
    recovery: ClassVar[str] = "new_reno"
    #: Whether acknowledgements carry a sample of the delivery rate, `ack.rate`.
    wants_rate: ClassVar[bool] = False
    #: Whether nodes report segments that they cannot forward: `on_route` with kind "unreachable".
    wants_notices: ClassVar[bool] = False
    #: Whether the class also sets the window during recovery.
    governs_recovery: ClassVar[bool] = False

    #: Random numbers of this connection in this run, seeded from the scenario's seed.
    random: Random

    @abstractmethod
    def on_ack(self, ack: Ack) -> None:
        """New data was acknowledged. `ack.phase` says whether losses are being repaired."""

    @abstractmethod
    def on_loss(self, loss: Loss) -> None:
        """A loss was detected without a timeout."""

    @abstractmethod
    def on_timeout(self, timeout: Timeout) -> None:
        """The retransmission timer expired while data was in flight."""

    def on_arrival(self, arrival: Arrival) -> None:
        """An acknowledgement arrived, before it is known what it means for losses."""

    def on_duplicate(self, duplicate: Duplicate) -> None:
        """A duplicate acknowledgement arrived."""

    def on_recovered(self) -> None:
        """All losses are repaired. `on_ack` follows with phase "recovered"."""

    def on_undo(self, before: Before) -> None:
        """The loss that reduced the window was none; `before` has window and threshold before it.

        If a class does not define this event, both return to those values where they are larger.
        """

    def on_condition(self, condition: Literal["open", "disorder", "reduced", "recovery", "loss"]) -> None:
        """The sender begins or ends to see or to repair losses. Windows cannot be set here.

        Only Linux's TCP (`tcp.habits = "linux"`) says so, with the states that Linux has.
        """

    def on_sent(self, sent: Sent) -> None:
        """A segment was sent. Windows cannot be set here."""

    def on_route(self, route: Route) -> None:
        """The network layer reports a change of the route to the receiver."""

    def on_idle(self, restart: float) -> None:
        """Data will be sent after an idle period longer than the retransmission timeout.

        `restart` is the window that `[tcp] idle_restart` requires. If a class does not define this
        event, the window is set to `restart` if that is smaller.
        """

    def on_timer(self) -> None:
        """The time `self.deadline` has arrived. `self.deadline` is None again."""
