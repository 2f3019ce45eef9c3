"""The core: scenarios as it checks them, runs in threads of its own, tables."""

from collections.abc import Sequence
from os import PathLike
from typing import Literal, Self, final

from typing_extensions import disjoint_base

__all__ = [
    "KINDS",
    "Ack",
    "Batch",
    "Duplicate",
    "Loss",
    "Progress",
    "RateSample",
    "Route",
    "Run",
    "Scenario",
    "Sent",
    "Table",
    "Timeout",
    "WindowRule",
    "__version__",
    "json_schema",
    "models",
    "new_scenario",
    "parse_set",
    "student_t_quantile",
]

__version__: str
KINDS: list[str]

@final
class Scenario:
    """A scenario that is complete and possible; it does not change."""

    @staticmethod
    def parse(text: str, name: str, base: str | PathLike[str]) -> Scenario: ...
    @staticmethod
    def from_json(text: str, base: str | PathLike[str]) -> Scenario: ...
    def with_settings(self, settings: Sequence[tuple[str, str]]) -> Scenario: ...
    def expand(self, settings: Sequence[tuple[str, Sequence[str]]]) -> list[Scenario]: ...
    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def runs(self) -> int: ...
    @property
    def settings(self) -> list[tuple[str, str]]: ...
    def files(self) -> list[tuple[str, str, bytes]]: ...
    @property
    def hash(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    def to_json(self, defaults: bool) -> str: ...
    def to_toml(self, defaults: bool) -> str: ...

@final
class Batch:
    """Runs of scenarios, in threads of their own."""

    def __new__(
        cls,
        cases: Sequence[Scenario],
        runs: Sequence[Sequence[int]],
        jobs: int = ...,
    ) -> Batch: ...
    @property
    def runs(self) -> int: ...
    @property
    def duration(self) -> float: ...
    def poll(self, timeout: float) -> Progress: ...
    def cancel(self) -> None: ...
    def take(self) -> tuple[list[Run], tuple[Table, Table, Table, Table, Table]]: ...

@final
class Run:
    """A run that has ended; times are in seconds, `digest` is None for one that failed."""

    @property
    def case(self) -> int: ...
    @property
    def run(self) -> int: ...
    @property
    def digest(self) -> str | None: ...
    @property
    def error(self) -> str | None: ...
    @property
    def wall_s(self) -> float: ...
    @property
    def cpu_s(self) -> float: ...

@final
class Progress:
    """How far a batch is; `simulated` is in seconds, all runs together."""

    @property
    def finished(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def over(self) -> bool: ...
    @property
    def simulated(self) -> float: ...

@final
class Table:
    """Rows of results, for everything that speaks the Arrow PyCapsule interface."""

    @property
    def columns(self) -> list[str]: ...
    def __arrow_c_stream__(self, requested_schema: object = ...) -> object: ...
    def __len__(self) -> int: ...

def models(word: str | None = ...) -> str: ...
def json_schema() -> str: ...
def new_scenario(kind: str) -> str: ...
def student_t_quantile(probability: float, degrees: float) -> float: ...
def parse_set(text: str) -> tuple[str, list[str]]: ...

@disjoint_base
class WindowRule:
    """What a rule may know of its connection, and set: times in seconds, windows in segments."""

    def __new__(cls, *_args: object, **_kwargs: object) -> Self: ...
    #: The congestion window, without what recovery has added for duplicate acknowledgements.
    @property
    def cwnd(self) -> float: ...
    @cwnd.setter
    def cwnd(self, value: float) -> None: ...
    #: The slow start threshold.
    @property
    def ssthresh(self) -> float: ...
    @ssthresh.setter
    def ssthresh(self, value: float) -> None: ...
    #: When `on_timer` is called, in simulated seconds; None for never. Reached, it is None again.
    @property
    def deadline(self) -> float | None: ...
    @deadline.setter
    def deadline(self, value: float | None) -> None: ...
    #: The least time between two segments, in seconds; 0 for a sender that does not pace.
    @property
    def pacing_gap(self) -> float: ...
    @pacing_gap.setter
    def pacing_gap(self, value: float) -> None: ...
    #: The bandwidth that the rule estimates, in bytes per second, to be sampled as a series.
    @property
    def bandwidth(self) -> float | None: ...
    @bandwidth.setter
    def bandwidth(self, value: float | None) -> None: ...
    #: Whether the rule sends less than it could, so that rate samples count as application limited.
    @property
    def limits_itself(self) -> bool: ...
    @limits_itself.setter
    def limits_itself(self, value: bool) -> None: ...
    def rescale_rto(self, factor: float) -> None:
        """Multiplies the retransmission timeout; after a timeout, in place of doubling it."""

    def freeze(self, probe: float, *, before_timeout: bool = ...) -> None:
        """Keeps everything as it is and sends one segment every `probe` seconds, until an ack.

        With `before_timeout`, a thaw restores what was before the first timeout since the last
        acknowledgement of new data.
        """

    def thaw(self) -> None:
        """Ends a freeze: everything is restored as it was."""
    #: The simulated time.
    @property
    def now(self) -> float: ...
    #: What recovery has added to the window for duplicate acknowledgements.
    @property
    def inflation(self) -> float: ...
    #: The receiver's window.
    @property
    def advertised(self) -> float: ...
    #: Sent and not acknowledged.
    @property
    def flight(self) -> float: ...
    #: Estimated to be in the network (RFC 6675); `flight` where recovery keeps no scoreboard.
    @property
    def pipe(self) -> float: ...
    #: Whether losses are being repaired without a timeout.
    @property
    def recovering(self) -> bool: ...
    #: Deemed lost so far, in segments.
    @property
    def lost(self) -> float: ...
    #: Whether all that the application has written was sent.
    @property
    def app_limited(self) -> bool: ...
    #: Payload of a full segment in bytes.
    @property
    def segment_size(self) -> int: ...
    #: The first sequence number not acknowledged.
    @property
    def una(self) -> int: ...
    #: The sequence number sent next in the ordinary course.
    @property
    def next_seq(self) -> int: ...
    #: The first sequence number never sent.
    @property
    def max_seq(self) -> int: ...
    #: Duplicate acknowledgements in a row.
    @property
    def duplicates(self) -> int: ...
    #: Duplicate acknowledgements that mean a loss.
    @property
    def duplicate_threshold(self) -> int: ...
    #: The smoothed round trip, after the first sample.
    @property
    def srtt(self) -> float | None: ...
    #: The retransmission timeout.
    @property
    def rto(self) -> float: ...
    #: Hops to the receiver, as the network layer reported last; 0 when it did not.
    @property
    def hops(self) -> int: ...
    #: Hops that the latest acknowledgement took; 0 before the first.
    @property
    def ack_hops(self) -> int: ...
    #: The rate of data frames on the network's radios in bit/s, where it is known.
    @property
    def link_rate(self) -> float | None: ...

@final
class Ack:
    """New data was acknowledged."""

    #: Bytes of payload acknowledged.
    @property
    def bytes(self) -> int: ...
    #: Bytes that reached the receiver since the last event; less where SACK had reported some.
    @property
    def delivered(self) -> int: ...
    #: Segments acknowledged.
    @property
    def segments(self) -> int: ...
    #: The round trip of the newest segment covered, if it was sent but once.
    @property
    def round_trip(self) -> float | None: ...
    #: Outside recovery, within it, or at its end.
    @property
    def phase(self) -> Literal["open", "partial", "recovered"]: ...
    #: Duplicate acknowledgements that had come in a row before it.
    @property
    def duplicates(self) -> int: ...
    #: Whether the congestion window held the sender back.
    @property
    def window_limited(self) -> bool: ...
    #: What it tells of the delivery rate, for a rule that `wants_rate`.
    @property
    def rate(self) -> RateSample | None: ...

@final
class Duplicate:
    """A duplicate acknowledgement."""

    #: Its number in a row.
    @property
    def count(self) -> int: ...
    #: Bytes that SACK newly reports.
    @property
    def sacked(self) -> int: ...
    #: What it tells of the delivery rate, for a rule that `wants_rate`.
    @property
    def rate(self) -> RateSample | None: ...

@final
class Loss:
    """The first unacknowledged segment is lost."""

    #: When it was sent last.
    @property
    def sent(self) -> float: ...
    #: How often it was sent so far.
    @property
    def transmissions(self) -> int: ...

@final
class Timeout:
    """The retransmission timer went off."""

    #: How often it had gone off before, since the last new acknowledgement.
    @property
    def repeated(self) -> int: ...

@final
class Sent:
    """A segment was sent."""

    #: Its first sequence number.
    @property
    def seq(self) -> int: ...
    #: Payload in bytes.
    @property
    def length(self) -> int: ...
    #: Whether it was sent before.
    @property
    def retransmission(self) -> bool: ...

@final
class Route:
    """What the network layer tells of the route to the receiver."""

    #: It is lost, restored, or now has `hops` hops; or the segment that begins with `seq` could not
    #: be passed on, which is told to a rule that `wants_notices`.
    @property
    def kind(self) -> Literal["lost", "restored", "hops", "unreachable"]: ...
    #: Its hops, with the kind "hops".
    @property
    def hops(self) -> int | None: ...
    #: The segment's first sequence number, with the kind "unreachable".
    @property
    def seq(self) -> int | None: ...

@final
class RateSample:
    """What an acknowledgement tells of the delivery rate; payload in bytes."""

    #: Delivered over `interval`.
    @property
    def delivered(self) -> int: ...
    #: Over which time; None when the sample is not valid.
    @property
    def interval(self) -> float | None: ...
    #: Whether the path may be faster than the sample says.
    @property
    def app_limited(self) -> bool: ...
    #: `total_delivered` as it was when the segment was sent that this is measured by.
    @property
    def prior_delivered(self) -> int: ...
    #: Delivered by this acknowledgement.
    @property
    def newly_delivered(self) -> int: ...
    #: Deemed lost since the last sample.
    @property
    def newly_lost(self) -> int: ...
    #: Delivered so far.
    @property
    def total_delivered(self) -> int: ...
    #: Segments estimated to be in the network before this acknowledgement.
    @property
    def prior_pipe(self) -> float: ...
    #: The round trip of the newest segment now delivered, if it was sent but once.
    @property
    def round_trip(self) -> float | None: ...
    #: `delivered` over `interval`, in bytes per second.
    @property
    def rate(self) -> float | None: ...
