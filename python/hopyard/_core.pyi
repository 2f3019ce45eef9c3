"""The core: scenarios as it checks them, runs in threads of its own, tables."""

import sys
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Final, Literal, Self, final

from typing_extensions import disjoint_base

__all__ = [
    "BUILD",
    "CAPTURE_KINDS",
    "KINDS",
    "TABLES",
    "USUAL_CAPTURE_KINDS",
    "Ack",
    "Arrival",
    "Batch",
    "Before",
    "Captures",
    "ControllerState",
    "Duplicate",
    "Episodes",
    "Live",
    "Loss",
    "Progress",
    "RateSample",
    "Route",
    "Run",
    "Scenario",
    "Sent",
    "Simulation",
    "Table",
    "Timeout",
    "__version__",
    "json_schema",
    "key_parts",
    "line_of",
    "models",
    "new_scenario",
    "parse_set",
    "parse_time",
    "quantities",
    "result_tables",
    "student_t_quantile",
    "try_kernel",
]

__version__: str
#: A hash of the sources on which results depend: it tells builds of one version apart.
BUILD: str
KINDS: list[str]
#: The names of the tables of results, in order.
TABLES: tuple[str, ...]
#: What can be captured at a node, and what is captured unless other kinds are chosen.
CAPTURE_KINDS: list[str]
USUAL_CAPTURE_KINDS: list[str]

@final
class Scenario:
    """A scenario that is complete and possible; it does not change."""

    @staticmethod
    def parse(text: str, name: str, base: str | PathLike[str]) -> Scenario: ...
    @staticmethod
    def from_json(text: str, base: str | PathLike[str]) -> Scenario: ...
    def with_settings(self, settings: Sequence[tuple[str, str]]) -> Scenario: ...
    def expand(self, axes: Sequence[Sequence[tuple[str, Sequence[str]]]]) -> list[Scenario]: ...
    @staticmethod
    def parse_cases(
        text: str,
        name: str,
        base: str | PathLike[str],
        given: Sequence[tuple[str, str]],
        axes: Sequence[Sequence[tuple[str, Sequence[str]]]],
    ) -> list[Scenario]: ...
    @property
    def name(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def memory(self) -> int: ...
    @property
    def nodes(self) -> int: ...
    def capture_bytes(self, nodes: Sequence[int] | None = ..., kinds: Sequence[str] | None = ...) -> int: ...
    @property
    def runs(self) -> int: ...
    @property
    def settings(self) -> list[tuple[str, str]]: ...
    def files(self) -> list[tuple[str, str, bytes]]: ...
    @property
    def hash(self) -> str: ...
    @property
    def linux(self) -> str | None:
        """The version of Linux that flows and programs have."""
    def kernel_option(self) -> str | None:
        """The option of the kernel that the routing of nodes needs which are kernels."""
    def kernels(self) -> int: ...
    def kernel_devices(self) -> int: ...
    def kernels_with_programs(self) -> int: ...
    def kernel_memory(self) -> int: ...
    def twins(self) -> list[str]: ...
    def check_programs(self) -> None: ...
    def sysctls(self) -> list[str]: ...
    def try_sysctls(self, program: Path, agent: Path) -> None: ...
    def transports(self) -> list[tuple[str, bool]]: ...
    def linux_variants(self) -> list[str]: ...
    def messages(self) -> set[str]: ...
    def answered(self) -> list[int | None]: ...
    def labels(self) -> set[str]: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def unused(self) -> list[tuple[str, str | None]]:
        """The keys and tables that do nothing, each with its text among `warnings`; without one if it is as default."""
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
        captures: Captures | None = ...,
        kernels: Mapping[str, tuple[Path, Path, Path]] | None = ...,
    ) -> Batch: ...
    @property
    def runs(self) -> int: ...
    @property
    def duration(self) -> float: ...
    def poll(self, timeout: float) -> Progress: ...
    def cancel(self) -> None: ...
    def take(self) -> tuple[list[Run], dict[str, Table]]: ...

@final
class Captures:
    """Where the captures of a batch go, and what they hold."""

    def __new__(
        cls,
        paths: Sequence[Sequence[str | PathLike[str]]],
        nodes: Sequence[int] | None = ...,
        kinds: Sequence[str] | None = ...,
    ) -> Captures: ...

@final
class Simulation:
    """A run in steps; times are in nanoseconds."""

    def __new__(
        cls,
        scenario: Scenario,
        run: int,
        kernels: Mapping[str, tuple[Path, Path, Path]] | None = ...,
        rows: int | None = ...,
    ) -> Simulation: ...
    def advance(self, until: int) -> bool: ...
    def finish(self) -> tuple[Run, dict[str, Table]]: ...
    def recording(self, scenario: str, settings: Sequence[tuple[str, str]]) -> bytes: ...
    def close(self) -> None: ...
    @property
    def is_open(self) -> bool: ...
    @property
    def now(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def digest(self) -> str: ...
    @property
    def counters(self) -> dict[str, int | dict[str, int]]: ...
    def table(self, name: str) -> Table: ...
    def routes(self, node: int) -> Table: ...
    def addresses(self, node: int) -> list[str]: ...
    def mtus(self, node: int) -> list[int | None]: ...
    def neighbours(self) -> list[list[int]]: ...
    def steer(self, node: int, destination: int, next_hop: int | None, hops: int) -> None: ...
    def attach(self, node: int) -> None: ...
    def inject(self, node: int, at: int, datagram: bytes) -> int: ...
    def egress(
        self,
    ) -> list[
        tuple[Literal["datagram"], int, int, str, bytes] | tuple[Literal["completion"], int, int, int, str | None]
    ]: ...
    @property
    def next_event(self) -> int | None: ...

@final
class Episodes:
    """Runs in which the senders of flows follow decisions, at a number of places."""

    OBSERVED: Final[list[str]]

    def __new__(
        cls, scenario: Scenario, flows: Sequence[int], places: int, decide: str, sets: str, interval: int = ...
    ) -> Episodes: ...
    @property
    def senders(self) -> list[tuple[int, int]]: ...
    def begin(self, place: int, scenario: Scenario, run: int) -> None: ...
    def act(self, actions: bytes) -> None: ...
    def wait(self) -> tuple[list[bool], bytes]: ...
    def ending(self, place: int) -> tuple[str, str]: ...
    def close(self) -> None: ...

if sys.platform == "linux":
    @final
    class Live:
        """A simulation that goes on with the clock of this machine, and its TUN devices."""

        def __new__(
            cls, simulation: Simulation, bound: int, share: float, crossings: bool, in_flight: int | None = ...
        ) -> Live: ...
        def open(self, node: int, namespace: str | PathLike[str], name: str) -> None: ...
        def run(self) -> str: ...
        def stop(self) -> None: ...
        @property
        def has_begun(self) -> bool: ...
        def crossings(self) -> Table: ...

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
    def capture_error(self) -> str | None: ...
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
def result_tables() -> str: ...
def quantities() -> str: ...
def json_schema() -> str: ...
def new_scenario(kind: str) -> str: ...
def student_t_quantile(probability: float, degrees: float) -> float: ...
def try_kernel(program: Path, agent: Path) -> str: ...
def key_parts(key: str) -> list[str]: ...
def line_of(text: str, path: Sequence[str]) -> int | None: ...
def parse_set(text: str) -> tuple[str, list[str]]: ...
def parse_time(text: str) -> int: ...

@disjoint_base
class ControllerState:
    """What a congestion control may know of its connection, and set.

    Times are in seconds, windows in segments.
    """

    def __new__(cls, *_args: object, **_kwargs: object) -> Self: ...
    @property
    def cwnd(self) -> float:
        """The congestion window in segments.

        The segments that recovery added for duplicate acknowledgements are not part of it.
        """
    @cwnd.setter
    def cwnd(self, value: float) -> None: ...
    @property
    def ssthresh(self) -> float:
        """The slow start threshold in segments."""
    @ssthresh.setter
    def ssthresh(self, value: float) -> None: ...
    @property
    def deadline(self) -> float | None:
        """The simulated time in seconds at which `on_timer` is called.

        None for never. It is None again when `on_timer` is called.
        """
    @deadline.setter
    def deadline(self, value: float | None) -> None: ...
    @property
    def pacing_gap(self) -> float:
        """The least time between two segments in seconds; 0 for a sender that does not pace."""
    @pacing_gap.setter
    def pacing_gap(self, value: float) -> None: ...
    @property
    def bandwidth(self) -> float | None:
        """The bandwidth that it estimates, in bytes per second.

        It can be sampled as the series `bandwidth`.
        """
    @bandwidth.setter
    def bandwidth(self, value: float | None) -> None: ...
    @property
    def limits_itself(self) -> bool:
        """Whether it sends less than it could.

        Rate samples then count as application limited.
        """
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
    @property
    def now(self) -> float:
        """The simulated time in seconds."""
    @property
    def inflation(self) -> float:
        """The segments that recovery has added to the window for duplicate acknowledgements."""
    @property
    def advertised(self) -> float:
        """The receiver's window in segments."""
    @property
    def flight(self) -> float:
        """The segments that were sent and are not yet acknowledged (FlightSize of RFC 5681)."""
    @property
    def pipe(self) -> float:
        """The segments estimated to be in the network (RFC 6675).

        Equal to `flight` where recovery keeps no scoreboard.
        """
    @property
    def recovering(self) -> bool:
        """Whether the sender is repairing losses that it found without a timeout."""
    @property
    def lost(self) -> float:
        """The segments deemed lost since the connection began."""
    @property
    def app_limited(self) -> bool:
        """Whether everything that the application has written was sent."""
    @property
    def segment_size(self) -> int:
        """The payload of a full segment in bytes."""
    @property
    def una(self) -> int:
        """The first sequence number that is not acknowledged (SND.UNA of RFC 9293)."""
    @property
    def next_seq(self) -> int:
        """The sequence number to be sent next (SND.NXT of RFC 9293).

        After a timeout it lies below `max_seq`.
        """
    @property
    def max_seq(self) -> int:
        """The first sequence number that was never sent."""
    @property
    def duplicates(self) -> int:
        """The number of duplicate acknowledgements in a row."""
    @property
    def duplicate_threshold(self) -> int:
        """The number of duplicate acknowledgements in a row that indicates a loss."""
    @property
    def srtt(self) -> float | None:
        """The smoothed round-trip time in seconds (SRTT of RFC 6298).

        None before the first sample.
        """
    @property
    def rto(self) -> float:
        """The retransmission timeout in seconds."""
    @property
    def hops(self) -> int:
        """The hops to the receiver that the network layer reported last.

        0 when it has reported none.
        """
    @property
    def ack_hops(self) -> int:
        """The hops that the latest acknowledgement took; 0 before the first."""
    @property
    def link_rate(self) -> float | None:
        """The rate of data frames on the first link of the way in bit/s, as rate control last changed it.

        None where it is not known.
        """

@final
class Ack:
    """New data was acknowledged."""

    @property
    def bytes(self) -> int:
        """The payload that it acknowledges, in bytes."""
    @property
    def delivered(self) -> int:
        """The bytes that reached the receiver since the last event.

        Less than `bytes` where SACK had reported some earlier.
        """
    @property
    def segments(self) -> int:
        """The number of segments that it acknowledges."""
    @property
    def round_trip(self) -> float | None:
        """The round-trip time in seconds of the newest segment that it covers.

        None if that was sent more than once.
        """
    @property
    def phase(self) -> Literal["open", "partial", "recovered"]:
        """Where the sender stands.

        "open" is outside recovery, "partial" within it, "recovered" at its end.
        """
    @property
    def duplicates(self) -> int:
        """The number of duplicate acknowledgements in a row that came before it."""
    @property
    def window_limited(self) -> bool:
        """Whether the congestion window kept the sender from sending more."""
    @property
    def rate(self) -> RateSample | None:
        """A sample of the delivery rate, for a class with `wants_rate`; None otherwise."""

@final
class Arrival:
    """An acknowledgement arrived, of whatever kind."""

    @property
    def round_trip(self) -> float | None:
        """The round trip in seconds of the newest segment delivered, if that was sent once."""

@final
class Before:
    """The window and the threshold before a reduction that turned out to be wrong."""

    @property
    def cwnd(self) -> float:
        """The congestion window, in segments."""
    @property
    def ssthresh(self) -> float:
        """The slow start threshold in segments, or three quarters of the window if that is more."""

@final
class Duplicate:
    """A duplicate acknowledgement."""

    @property
    def count(self) -> int:
        """Its number among the duplicate acknowledgements in a row: 1 for the first."""
    @property
    def sacked(self) -> int:
        """The bytes that its SACK blocks report for the first time."""
    @property
    def rate(self) -> RateSample | None:
        """A sample of the delivery rate, for a class with `wants_rate`; None otherwise."""

@final
class Loss:
    """The first unacknowledged segment is lost."""

    @property
    def sent(self) -> float:
        """The simulated time in seconds at which the lost segment was last sent."""
    @property
    def transmissions(self) -> int:
        """How often the lost segment was sent so far."""

@final
class Timeout:
    """The retransmission timer expired."""

    @property
    def repeated(self) -> int:
        """How often the timer had gone off before, since the last acknowledgement of new data."""

@final
class Sent:
    """A segment was sent."""

    @property
    def seq(self) -> int:
        """Its first sequence number."""
    @property
    def length(self) -> int:
        """Its payload in bytes."""
    @property
    def retransmission(self) -> bool:
        """Whether it was sent before."""

@final
class Route:
    """What the network layer tells of the route to the receiver."""

    @property
    def kind(self) -> Literal["lost", "restored", "hops", "care_of", "unreachable"]:
        """What happened to the route.

        "lost"; "restored"; "hops" when the number of hops is known; "care_of" when the sender's
        node is registered with another agent of Mobile IP; "unreachable" when a node could not pass
        on a segment. Only a class with `wants_notices` is told of the last.
        """
    @property
    def hops(self) -> int | None:
        """The number of hops, with the kind "hops"; None otherwise."""
    @property
    def seq(self) -> int | None:
        """The segment's first sequence number, with the kind "unreachable"; None otherwise."""

@final
class RateSample:
    """What an acknowledgement tells of the delivery rate; payload in bytes."""

    @property
    def delivered(self) -> int:
        """The payload in bytes that was delivered during `interval`."""
    @property
    def interval(self) -> float | None:
        """The length of the sample in seconds; None when the sample is not valid."""
    @property
    def app_limited(self) -> bool:
        """Whether the sender lacked data during the sample.

        The path may then be faster than `rate`.
        """
    @property
    def prior_delivered(self) -> int:
        """`total_delivered` at the time at which the segment that gives this sample was sent."""
    @property
    def newly_delivered(self) -> int:
        """The bytes delivered by this acknowledgement."""
    @property
    def newly_lost(self) -> int:
        """The segments deemed lost since the last sample."""
    @property
    def total_delivered(self) -> int:
        """The bytes delivered since the connection began."""
    @property
    def prior_pipe(self) -> float:
        """The segments estimated to be in the network before this acknowledgement."""
    @property
    def round_trip(self) -> float | None:
        """The round-trip time in seconds of the newest segment that is now delivered.

        None if that was sent more than once.
        """
    @property
    def rate(self) -> float | None:
        """`delivered` divided by `interval`, in bytes per second.

        None when the sample is not valid.
        """
