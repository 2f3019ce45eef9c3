"""Runs in steps: a simulation goes on for a while, is looked at, and goes on."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, cast

from hopyard import _core
from hopyard.running import memory
from hopyard.running.run import kernels_of
from hopyard.scenario.plan import plan
from hopyard.scenario.run_numbers import MOST_RUN
from hopyard.store.records import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType
    from typing import Self, SupportsIndex

    import pyarrow as pa

    from hopyard.results.results import Results
    from hopyard.scenario.plan import Given, Planned
    from hopyard.scenario.scenario import Settings


def start(
    scenario: Given,
    *,
    run: int = 0,
    seed: int | None = None,
    set: Settings | None = None,
    series: str | Sequence[str] = (),
    segments: bool | str | Iterable[int] | None = None,
) -> Simulation:
    """Builds the network of one run, at time zero.

    Args:
        scenario: the path of a scenario file, a `Scenario` or a mapping of its keys.
        run: the number of the run, from 0 on.
        seed: another seed.
        set: keys with other values, one each.
        series: quantities to be sampled over time.
        segments: the flows whose TCP segments are recorded: true for all, numbers, or `"0,2..4"`.

    Raises:
        ScenarioError: when the scenario is wrong, with every problem found.
        ValueError, TypeError: when what is given is wrong, or is a comparison of several cases, or
            a kernel that the scenario needs is not there, or cannot run here.
        SimulationError: when a kernel cannot be started.
    """
    if isinstance(run, bool) or not hasattr(run, "__index__"):
        raise TypeError(f"run: expected a whole number, found {run!r}")
    number = run.__index__()
    if not 0 <= number < MOST_RUN:
        raise ValueError(f"run: expected a number from 0 to {MOST_RUN - 1}, found {number}")
    cases = plan(scenario, runs=[number], seed=seed, set=set, series=series, segments=segments)
    if len(cases) != 1:
        raise ValueError(f"expected one case to be run in steps, found {len(cases)}")
    memory.check(cases, 1)
    return Simulation(cases[0], number)


@dataclass(frozen=True, slots=True)
class Datagram:
    """A datagram that has reached a host outside: its IPv4 bytes."""

    #: The simulated time in nanoseconds.
    at_ns: int
    #: The node whose host it has reached.
    node: int
    #: The address of the node that it is for.
    address: str
    data: bytes

    @property
    def at(self) -> float:
        """The simulated time in seconds."""
        return self.at_ns / 1e9


@dataclass(frozen=True, slots=True)
class Completion:
    """The report that a node has sent a datagram which was put in there, or why it has not."""

    #: The simulated time in nanoseconds.
    at_ns: int
    #: The node where it was put in.
    node: int
    #: The number that `Simulation.inject` returned.
    number: int
    #: Why it was not sent, as in the table of drops; none if it was.
    error: str | None

    @property
    def at(self) -> float:
        """The simulated time in seconds."""
        return self.at_ns / 1e9


class Simulation:
    """A run that goes on in steps, made by `hopyard.start`.

    Between steps the network can be looked at. Each table of `Results` is an attribute here too, a
    pyarrow table with the rows up to now. Neither looking nor the choice of steps changes anything:
    the digest and the results are those of `hopyard.run`::

        with hopyard.start("chain.toml") as simulation:
            while simulation.advance("10 s"):
                print(simulation.now, simulation.queues.to_pylist())
            results = simulation.finish()

    Leaving the `with` lets the network go, and ends its kernels, if it has some.
    """

    def __init__(self, case: Planned, run: int, *, rows: int | None = None) -> None:
        self._case = case
        self._run = run
        self._core = _core.Simulation(case.core, run, kernels_of([case]), rows)

    def advance(
        self, by: str | float | None = None, *, until: str | float | None = None, until_ns: int | None = None
    ) -> bool:
        """Goes on, and returns whether the run has not reached its end.

        Other Python threads go on meanwhile. Ctrl-C stops between two events, and the simulation
        can go on from there.

        Args:
            by: for how long, such as "10 s"; a number is in seconds.
            until: to which time, such as "30 s", instead. All events up to and including those at
                this time are carried out. A time after the end is the end.
            until_ns: the same in nanoseconds.

        Raises:
            ValueError, TypeError: when a time is none or has passed, or the simulation is over.
            SimulationError: when a congestion control written in Python fails, or a kernel. The
                simulation is over then, and its kernels have ended.
        """
        if sum(given is not None for given in (by, until, until_ns)) != 1:
            raise TypeError('expected a duration, as in advance("10 s"), or until="30 s"')
        now = self._core.now
        if by is not None:
            time = now + _nanoseconds(by, "10 s")
        elif until is not None:
            time = _nanoseconds(until, "30 s")
        else:
            time = _whole(until_ns, "until_ns", 2**64)
        if time < now:
            found = repr(until) if until_ns is None else f"{until_ns} ns"
            raise ValueError(f"expected a time from {now / 1e9:g} s on, found {found}")
        return self._core.advance(min(time, self._core.end))

    def finish(self) -> Results:
        """Goes on to the end of the run, and returns its results.

        Raises:
            ValueError: when the simulation is over.
            SimulationError: when the run fails.
        """
        from hopyard.results.results import of_batch
        from hopyard.tables.tables import arrow

        self._core.advance(self._core.end)
        made, tables = self._core.finish()
        return of_batch([self._case], [Record.of(made, self._case)], [arrow(tables)])

    def recording(self) -> bytes:
        """The recording of the finished run, if it was made with `rows`; it is given once."""
        return self._core.recording(self._case.scenario, list(self._case.settings.items()))

    def close(self) -> None:
        """Lets the network go without results, and ends its kernels."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def now(self) -> float:
        """The simulated time in seconds."""
        return self._core.now / 1e9

    @property
    def now_ns(self) -> int:
        """The simulated time in nanoseconds."""
        return self._core.now

    @property
    def end(self) -> float:
        """The simulated time in seconds at which the run ends."""
        return self._core.end / 1e9

    @property
    def digest(self) -> str:
        """The digest of all that has happened; at the end, that of the run."""
        return self._core.digest

    def __getattr__(self, name: str) -> pa.Table:
        """The rows so far of a table of results, by its name."""
        if name not in _core.TABLES:
            raise AttributeError(f"a simulation has no {name!r}", name=name, obj=self)
        return self._table(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *_core.TABLES]

    @property
    def positions(self) -> pa.Table:
        """A row for each node with a radio: `node`, and `x_m`, `y_m`, `z_m` in metres."""
        return self._table("positions")

    @property
    def queues(self) -> pa.Table:
        """A row for each radio and each end of a wire.

        `node`, `interface` (its IPv4 address), `attached` (radio or wire), `packets` that wait now,
        and the time-weighted `mean` and the `max` of their number since the start.
        """
        return self._table("queues")

    @property
    def counters(self) -> dict[str, int | dict[str, int]]:
        """Counters of packets from the start of the run.

        `originated` has the packets made of each kind. Those and what was `copied` by receivers
        are `delivered`, `handed_over` (the senders' copies), `dropped`, or `existing`. `events` and
        `frames` count those carried out and sent.
        """
        return self._core.counters

    def routes(self, node: int) -> pa.Table:
        """A row for each address of another node to which a node has a way.

        `destination` and `next_hop` are nodes, `address` and `next_address` their addresses.
        `hops` is what the routing protocol counts; it is null where a table of prefixes decides.
        """
        from hopyard.tables.tables import read

        return read(self._core.routes(_node(node)))

    @property
    def neighbours(self) -> list[list[int]]:
        """For each node the nodes in its reach now: over radio in both directions, or by a wire."""
        return self._core.neighbours()

    def steer(self, node: int, destination: int, next_hop: int | None, *, hops: int = 1) -> None:
        """Gives a node another route to a destination from now on.

        Its routing protocol is `static`. The same calls at the same simulated times give the same digest.

        Args:
            node: the node.
            destination: the node to which the packets go.
            next_hop: the node to which they go next; none to take back the route, so that `routing.static.others`
                decides again.
            hops: the number of hops over this route, which the node tells TCP senders.

        Raises:
            ValueError, TypeError: when there is no such node, or its protocol takes no routes.
        """
        via = None if next_hop is None else _node(next_hop)
        self._core.steer(_node(node), _node(destination), via, _whole(hops, "hops", 256))

    def addresses(self, node: int) -> list[str]:
        """The IPv4 addresses of a node's interfaces, the first one first."""
        return self._core.addresses(_node(node))

    def attach(self, *nodes: int) -> None:
        """Says that the hosts of nodes are outside: a program or a kernel, not the simulator.

        Their datagrams are put in by `inject`, and those for them are taken out by `egress`. Flows
        of the scenario at these nodes stay as they are.
        """
        for node in nodes:
            self._core.attach(_node(node))

    def inject(
        self,
        node: int,
        datagram: bytes | bytearray | memoryview,
        *,
        at: str | float | None = None,
        at_ns: int | None = None,
    ) -> int:
        """Puts an IPv4 datagram in: the host of a node passes it to IP. Returns its number.

        Args:
            node: the node, which is attached.
            datagram: all bytes of the datagram, with correct checksum. Its source is an address of
                the node, its destination one of another node.
            at: when, such as "1.5 s", or in seconds; now if it is not given.
            at_ns: the same in nanoseconds.

        Raises:
            ValueError, TypeError: when the datagram, its addresses or the time cannot be, or the
                hosts of the simulation are kernels.
        """
        if at is not None and at_ns is not None:
            raise TypeError("expected one time, at or at_ns")
        if at is not None:
            time = _nanoseconds(at, "1.5 s")
        else:
            time = self._core.now if at_ns is None else _whole(at_ns, "at_ns", 2**64)
        if not isinstance(datagram, bytes | bytearray | memoryview):
            raise TypeError(f"datagram: expected bytes, found {datagram!r:.80}")
        return self._core.inject(_node(node), time, bytes(datagram))

    def egress(self) -> list[Datagram | Completion]:
        """Takes out what has left the network since the last call, in the order of time.

        A `Datagram` has reached the host of an attached node. A `Completion` reports that a node
        has done with a datagram that was put in there: its MAC has the acknowledgement, its wire
        the last bit, or it was dropped or given up.
        """
        found: list[Datagram | Completion] = []
        for departure in self._core.egress():
            if departure[0] == "datagram":
                found.append(Datagram(*departure[1:]))
            else:
                found.append(Completion(*departure[1:]))
        return found

    @property
    def next_event_ns(self) -> int | None:
        """When the next event happens, in nanoseconds; none if none does before the end."""
        return self._core.next_event

    def _table(self, name: str) -> pa.Table:
        from hopyard.tables.tables import read

        return read(self._core.table(name))

    def __repr__(self) -> str:
        name = f"run {self._run} of {self._case.scenario}"
        if not self._core.is_open:
            return f"<hopyard simulation: {name}, over>"
        return f"<hopyard simulation: {name}, {self.now:g} s of {self.end:g} s>"


def _nanoseconds(given: object, example: str) -> int:
    if isinstance(given, str):
        return _core.parse_time(given)
    if isinstance(given, bool) or not isinstance(given, Real):
        raise TypeError(f"expected a time such as {example!r}, or seconds, found {given!r}")
    seconds = float(given)
    if not 0 <= seconds <= 1.6e9:
        raise ValueError(f"expected a time from 0 s to 50 years (1.6e9 s), found {given!r}")
    return round(seconds * 1e9)


def _node(given: object) -> int:
    return _whole(given, "node", 2**32)


def _whole(given: object, name: str, below: int) -> int:
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"{name}: expected a whole number, found {given!r}")
    number = operator.index(cast("SupportsIndex", given))
    if not 0 <= number < below:
        raise ValueError(f"{name}: expected a number from 0 to {below - 1}, found {number}")
    return number
