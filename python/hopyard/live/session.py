"""Live runs: programs of this machine, in network namespaces, over a simulated network."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import IO, TYPE_CHECKING, Any

from hopyard import _core
from hopyard.live.namespaces import DEVICE, Namespaces, check_name, check_system, routes
from hopyard.live.programs import Command, Programs
from hopyard.running import memory
from hopyard.scenario.plan import plan
from hopyard.scenario.run_numbers import MOST_RUN
from hopyard.store.records import Record
from hopyard.terminal.words import many

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import pyarrow as pa

    from hopyard.results.results import Results
    from hopyard.scenario.plan import Planned
    from hopyard.scenario.scenario import Settings
    from hopyard.terminal.signals import Stop

#: Seconds between two looks at programs and signals.
LOOK = 0.05
#: The share of the packets, and of the events, that may be later than the bound.
SHARE = 0.01
#: The longest datagram of programs where the links of their node carry longer ones: Ethernet's.
MTU = 1500


@dataclass(frozen=True)
class Request:
    """What a live run is to be.

    Raises:
        ValueError: when something cannot be.
    """

    file: Path
    settings: Settings
    seed: int | None
    #: The number of the run.
    run: int
    #: The namespaces, and the node of each.
    attached: Sequence[tuple[str, int]]
    commands: Sequence[Command]
    #: The lateness in nanoseconds that only a small share may exceed.
    bound: int
    #: The longest datagram of programs; none: that of the links, up to `MTU`.
    mtu: int | None
    #: How many packets of a node may wait until it has sent them; none: any number.
    in_flight: int | None
    #: Whether each packet is recorded.
    packets: bool

    def __post_init__(self) -> None:
        seen: dict[object, str] = {}
        for name, node in self.attached:
            for what, of in ((name, f"the namespace {name}"), (node, f"node {node}")):
                if what in seen:
                    raise ValueError(f"{of} is attached twice: {seen[what]} and {name}={node}")
                seen[what] = f"{name}={node}"
        nodes = [node for _, node in self.attached]
        for command in self.commands:
            if command.node not in nodes:
                given = ", ".join(map(str, nodes))
                raise ValueError(
                    f"{command.option} {command.text!r}: node {command.node} is not "
                    f"attached: expected one of {given}, or --attach NAMESPACE={command.node}"
                )


@dataclass(frozen=True)
class Outcome:
    """What a live run has given."""

    case: Planned
    results: Results
    #: Lateness, nodes and programs, as they are in live.json.
    report: dict[str, Any]
    #: Every packet, if they were recorded.
    packets: pa.Table | None
    #: Processes of somebody else that were in the namespaces at the end.
    others: dict[str, Sequence[str]]


def _check_kernels(case: Planned) -> None:
    core = case.core
    found = ['flows with `stack = "linux"`'] if core.linux_variants() else []
    if core.kernels_with_programs():
        found.append("programs ([[host]])")
    if core.kernel_option():
        found = ['nodes with `system = "linux"`']
    if found:
        raise ValueError(
            f"{case.file or case.scenario} has {' and '.join(found)}, which need kernels in "
            "simulated time, and a live run is in real time: expected `hopyard run`, or a scenario "
            "without them (--set flow.stack=hopyard; --run NODE PROGRAM in the place of [[host]])"
        )


class Session:
    """A live run that is possible, as far as can be known before it starts.

    Raises:
        ScenarioError, ValueError: when something cannot be; nothing was started.
    """

    def __init__(self, request: Request) -> None:
        if not 0 <= request.run < MOST_RUN:
            raise ValueError(f"expected the number of a run from 0 on, found {request.run}")
        cases = plan(request.file, runs=[request.run], seed=request.seed, set=request.settings)
        if len(cases) > 1:
            raise ValueError(
                f"{request.file} has {many(len(cases), 'case')}: a live run is of one; expected one value for each key"
            )
        self.request = request
        self.case = cases[0]
        nodes = self.case.core.nodes
        for name, node in request.attached:
            if not 0 <= node < nodes:
                raise ValueError(
                    f"{name}={node}: there is no node {node}; {self.case.scenario} has nodes 0 to {nodes - 1}"
                )
        for name, _ in request.attached:
            check_name(name)
        _check_kernels(self.case)
        check_system()
        memory.check(cases, 1)
        self._core = _core.Simulation(self.case.core, request.run)
        of_nodes = {node: self._core.addresses(node) for node in range(nodes)}
        every = [each for own in of_nodes.values() for each in own]
        self._words = [command.at(of_nodes) for command in request.commands]
        #: The addresses of each attached node, and the prefixes of the others.
        self.addresses: dict[int, list[str]] = {}
        self._routes: dict[int, list[str]] = {}
        self.mtus: dict[int, int] = {}
        for name, node in request.attached:
            own = of_nodes[node]
            if not own:
                raise ValueError(f"{name}={node}: node {node} has neither a radio nor a wire, and so no address")
            self.addresses[node] = own
            self._routes[node] = routes(every, own)
            self.mtus[node] = self._mtu(name, node)

    def _mtu(self, name: str, node: int) -> int:
        """The longest datagram of a node's programs: its only interface leads to all its links."""
        most = min((each for each in self._core.mtus(node) if each is not None), default=None)
        asked = self.request.mtu
        if asked is None:
            return MTU if most is None else min(most, MTU)
        if most is not None and asked > most:
            raise ValueError(
                f"--mtu {asked}: {name}={node} has a link that carries packets of at most {most} "
                f"bytes: expected at most {most}"
            )
        return asked

    def go(
        self, stop: Stop, out: IO[str], logs: Path | None = None, ready: Callable[[], None] | None = None
    ) -> Outcome:
        """Makes the run: until its end, until all programs of `--run` have ended, or a signal.

        `ready` is called when the namespaces are there and the clock runs, before the programs.

        Raises:
            OSError, ValueError: when the system refuses something; what was made is removed.
            SimulationError: when the run fails.
        """
        it = self.request
        live = _core.Live(self._core, it.bound, SHARE, it.packets, it.in_flight)
        others: dict[str, Sequence[str]] = {}
        with Namespaces() as made:
            for name, node in self.request.attached:
                path = made.make(name)
                self._core.attach(node)
                live.open(node, path, DEVICE)
                made.configure(name, self.addresses[node], self._routes[node], self.mtus[node])
            programs = Programs(made, out, logs)
            ran = _Run(live)
            try:
                self._start(ran, programs, ready)
                while ran.goes_on(LOOK):
                    if stop.number is not None or programs.are_done:
                        # The network is there until they have ended: some say goodbye over it.
                        programs.end()
                        live.stop()
            finally:
                programs.end()
                live.stop()
                ran.join()
                others = programs.others()
        report = ran.report()
        done = programs.are_done and report["end"] == "stopped" and stop.number is None
        report["end"] = "programs" if done else report["end"]
        return self._outcome(report, ran.scheduling, programs, live, others)

    def _start(self, ran: _Run, programs: Programs, ready: Callable[[], None] | None) -> None:
        ran.start()
        if not ran.goes_on(0):
            return
        if ready is not None:
            ready()
        names = {node: name for name, node in self.request.attached}
        for command, words in zip(self.request.commands, self._words, strict=True):
            programs.start(command, words, names[command.node])

    def _outcome(
        self,
        report: dict[str, Any],
        scheduling: str,
        programs: Programs,
        live: _core.Live,
        others: dict[str, Sequence[str]],
    ) -> Outcome:
        from hopyard.results.results import of_batch
        from hopyard.tables.tables import arrow, read

        made, parts = self._core.finish()
        record = Record.of(made, self.case)
        results = of_batch([self.case], [record], [arrow(parts)])
        names = {node: name for name, node in self.request.attached}
        nodes = [
            {
                "node": row["node"],
                "namespace": names[row["node"]],
                "address": self.addresses[row["node"]][0],
                "mtu": self.mtus[row["node"]],
                **{key: value for key, value in row.items() if key != "node"},
            }
            for row in report.pop("nodes")
        ]
        head = {
            "scenario": self.case.scenario,
            "config": self.case.config,
            "seed": self.case.seed,
            "run": self.request.run,
            "version": _core.__version__,
            "build": _core.BUILD,
            "digest": made.digest,
            "end": report.pop("end"),
            "simulated_s": report.pop("simulated_ns") / 1e9,
            "bound_s": self.request.bound / 1e9,
            "share": SHARE,
            "in_time": report.pop("in_time"),
            "in_flight": self.request.in_flight,
            "scheduling": scheduling,
        }
        whole = {
            **head,
            "lateness": report,
            "nodes": nodes,
            "programs": [program.summary() for program in programs.started],
        }
        packets = read(live.crossings()) if self.request.packets else None
        return Outcome(self.case, results, whole, packets, others)


class _Run:
    """The thread in which the simulated clock runs."""

    def __init__(self, live: _core.Live) -> None:
        self._live = live
        self._text = ""
        self._error: BaseException | None = None
        self.scheduling = ""
        self._thread = Thread(target=self._work, daemon=True)

    def _work(self) -> None:
        try:
            self.scheduling = _in_real_time()
            self._text = self._live.run()
        except BaseException as error:
            # The main thread raises it again.
            self._error = error

    def start(self) -> None:
        """Starts, and returns when the clock runs."""
        self._thread.start()
        while self._thread.is_alive() and not self._live.has_begun:
            self._thread.join(0.001)

    def goes_on(self, seconds: float) -> bool:
        """Waits so long, or until the end; returns whether it goes on."""
        self._thread.join(seconds)
        return self._thread.is_alive()

    def join(self) -> None:
        """Waits for the end."""
        if self._thread.ident is not None:
            self._thread.join()

    def report(self) -> dict[str, Any]:
        """What the core reports.

        Raises:
            SimulationError: when the run has failed.
        """
        if self._error is not None:
            raise self._error
        found: dict[str, Any] = json.loads(self._text)
        return found


def _in_real_time() -> str:
    """Lets this thread run before all ordinary ones, if the system allows it; returns its policy.

    It sleeps most of the time. The system leaves a twentieth of each second to other threads,
    whatever it does.
    """
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
        return "SCHED_FIFO"
    return "SCHED_OTHER"


def table(outcome: Outcome) -> pa.Table:
    """A row for each attached node: what has crossed there, and how late."""
    import pyarrow as pa

    rows = []
    for node in outcome.report["nodes"]:
        late = node["lateness"]
        row = {key: value for key, value in node.items() if key != "lateness"}
        row["in_time"] = outcome.report["in_time"]
        rows.append({**row, **{f"lateness_{key}": value for key, value in late.items()}})
    kinds = {"min_s": pa.float64(), "median_s": pa.float64(), "p99_s": pa.float64()}
    kinds["max_s"] = pa.float64()
    found = pa.Table.from_pylist(rows)
    for name, kind in kinds.items():
        place = found.schema.get_field_index(f"lateness_{name}")
        found = found.set_column(place, f"lateness_{name}", found.column(place).cast(kind))
    return found
