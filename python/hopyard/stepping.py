"""Runs in steps: a simulation goes on for a while, is looked at, and goes on."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

from hopyard import _core, memory
from hopyard.plan import plan
from hopyard.records import MOST_RUN, Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    import pyarrow as pa

    from hopyard.plan import Given, Planned
    from hopyard.results import Results
    from hopyard.scenario import Settings


def start(
    scenario: Given,
    *,
    run: int = 0,
    seed: int | None = None,
    set: Settings | None = None,
    series: str | Sequence[str] = (),
) -> Simulation:
    """Builds the network of one run, at time zero.

    Args:
        scenario: the path of a scenario file, a `Scenario` or a mapping of its keys.
        run: the number of the run, from 0 on.
        seed: another seed.
        set: keys with other values, one each.
        series: quantities to be sampled over time.

    Raises:
        ScenarioError: when the scenario is wrong, with every problem found.
        ValueError, TypeError: when what is given is wrong, or is a comparison of several cases.
    """
    if isinstance(run, bool) or not hasattr(run, "__index__"):
        raise TypeError(f"run: expected a whole number, found {run!r}")
    number = run.__index__()
    if not 0 <= number < MOST_RUN:
        raise ValueError(f"run: expected a number from 0 to {MOST_RUN - 1}, found {number}")
    cases = plan(scenario, runs=[number], seed=seed, set=set, series=series)
    if len(cases) != 1:
        raise ValueError(f"expected one case to be run in steps, found {len(cases)}")
    memory.check(cases, 1)
    return Simulation(cases[0], number)


class Simulation:
    """A run that goes on in steps, made by `hopyard.start`.

    Between steps the network can be looked at. The tables are pyarrow tables, as those of
    `Results`. Neither looking nor the choice of steps changes anything: the digest and the results
    are those of `hopyard.run`.

        with hopyard.start("chain.toml") as simulation:
            while simulation.advance("10 s"):
                print(simulation.now, simulation.queues.to_pylist())
            results = simulation.finish()

    Leaving the `with` lets the network go.
    """

    def __init__(self, case: Planned, run: int) -> None:
        self._case = case
        self._run = run
        self._core = _core.Simulation(case.core, run)

    def advance(self, by: str | float | None = None, *, until: str | float | None = None) -> bool:
        """Goes on, and returns whether the run has not reached its end.

        Other Python threads go on meanwhile. Ctrl-C stops between two events, and the simulation
        can go on from there.

        Args:
            by: for how long, such as "10 s"; a number is in seconds.
            until: to which time, such as "30 s", instead. All events up to and including those at
                this time are carried out. A time after the end is the end.

        Raises:
            ValueError, TypeError: when a time is none or has passed, or the simulation is over.
            SimulationError: when a congestion control written in Python fails.
        """
        if (by is None) == (until is None):
            raise TypeError('expected a duration, as in advance("10 s"), or until="30 s"')
        now = self._core.now
        if until is None:
            return self._core.advance(min(now + _nanoseconds(by, "10 s"), self._core.end))
        time = _nanoseconds(until, "30 s")
        if time < now:
            raise ValueError(f"expected a time from {now / 1e9:g} s on, found {until!r}")
        return self._core.advance(min(time, self._core.end))

    def finish(self) -> Results:
        """Goes on to the end of the run, and returns its results.

        Raises:
            ValueError: when the simulation is over.
            SimulationError: when the run fails.
        """
        from hopyard.loading import of_batch
        from hopyard.tables import read

        self._core.advance(self._core.end)
        made, tables = self._core.finish()
        record = Record.of(made, self._case)
        return of_batch([self._case], [record], [[read(table) for table in tables]])

    def close(self) -> None:
        """Lets the network go without results."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
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

    @property
    def flows(self) -> pa.Table:
        """A row for each flow, with the columns of `Results.flows`, as of now."""
        return self._table("flows")

    @property
    def nodes(self) -> pa.Table:
        """A row for each node, with the columns of `Results.nodes`, as of now."""
        return self._table("nodes")

    @property
    def drops(self) -> pa.Table:
        """A row for each node, kind of packet and reason with a drop so far."""
        return self._table("drops")

    @property
    def series(self) -> pa.Table:
        """A row for each sample so far, if series are sampled."""
        return self._table("series")

    @property
    def decisions(self) -> pa.Table:
        """A row for each loss whose cause a sender has classified so far."""
        return self._table("decisions")

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
        from hopyard.tables import read

        return read(self._core.routes(_node(node)))

    def addresses(self, node: int) -> list[str]:
        """The IPv4 addresses of a node's interfaces, the first one first."""
        return self._core.addresses(_node(node))

    def _table(self, name: str) -> pa.Table:
        from hopyard.tables import read

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
        raise ValueError(f"expected a time of 0 s or more, found {given!r}")
    return round(seconds * 1e9)


def _node(given: int) -> int:
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"node: expected a whole number, found {given!r}")
    number = given.__index__()
    if not 0 <= number < 2**32:
        raise ValueError(f"node: expected a number from 0 on, found {number}")
    return number
