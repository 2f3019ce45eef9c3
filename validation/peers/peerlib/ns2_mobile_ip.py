"""Mobile IP with DSDV: TCP from a host that moves between two cells, and its handoffs."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from peerlib import ns2, table
from peerlib.peer import Option, Run
from peerlib.table import Row

SPEEDS = (0, 15)
PAIRS = (("Newreno", "every"), ("Newreno", "delayed"), ("Vegas", "every"), ("Vegas", "delayed"), ("Sack1", "every"))
SEEDS = range(1, 21)
LOOP_SEEDS = range(1, 7)
START_S = 10
STOP_S = 150
INTERVAL_S = 7
# At 15 m/s, the host is half way between the agents at these times, each time on its way to the
# other one: 20 s after it has left an end.
BORDERS_S = (30.0, 71.0, 112.0)
COLUMNS = ("speed", "tcp", "acking", "seed", "throughput_kbps", "acks")
SERIES = ("speed", "tcp", "acking", "seed", "from_s", "throughput_kbps")
HANDOFFS = ("tcp", "acking", "seed", "crossing", "wait_s")
SIZES = ("message", "bytes")
LOOPS = ("seed", "ttl_drops", "most_visits", "delivered")

# Numbers that the trace has for the nodes, and addresses.
_CORRESPONDENT = b"0"
_HOST = b"_4_"
_AGENTS = {b"4194304": "home", b"8388608": "foreign"}
_ADVERTISEMENT = 68


@dataclass
class Trace:
    """What is counted in a trace."""

    delivered: set[bytes] = field(default_factory=set)
    arrivals: list[float] = field(default_factory=list)
    acks: int = 0
    # When the host had a reply of an agent.
    replies: list[tuple[float, str]] = field(default_factory=list)
    sizes: set[tuple[str, int]] = field(default_factory=set)

    def read(self, lines: Iterable[bytes]) -> None:
        """Read the lines of a trace."""
        for line in lines:
            words = line.split()
            if words[0] == b"r" and words[3] == _CORRESPONDENT and words[4] == b"tcp":
                self._arrived(float(words[1]), words[10])
            elif words[0] in b"rsf" and words[2].startswith(b"_"):
                self._by_radio(words)

    def _arrived(self, at: float, sequence: bytes) -> None:
        # The first packet opens the connection and has no data.
        if at >= START_S and sequence != b"0" and sequence not in self.delivered:
            self.delivered.add(sequence)
            self.arrivals.append(at)

    def _by_radio(self, words: list[bytes]) -> None:
        event, at, node, layer, _, _, kind, size = words[:8]
        if kind == b"ack":
            self.acks += node == _HOST and layer == b"AGT" and event == b"r"
            return
        if layer != b"AGT" or event != b"r" or kind != b"udp":
            return
        start = next(place for place, word in enumerate(words) if word == b"-------")
        source, destination = (word.strip(b"[]").split(b":")[0] for word in words[start + 1 : start + 3])
        bytes_ = int(size)
        broadcast = destination == b"2147483647"
        if node != _HOST:
            self.sizes.add(("solicitation" if broadcast else "request", bytes_))
        elif broadcast or bytes_ == _ADVERTISEMENT:
            self.sizes.add(("advertisement", bytes_))
        else:
            self.sizes.add(("reply", bytes_))
            self.replies.append((float(at), _AGENTS[source]))


@dataclass(frozen=True)
class LoopCase(Run):
    """One run of the network in which packets go round."""

    seed: int


def loop_cases() -> list[LoopCase]:
    """Each seed."""
    return [LoopCase(seed) for seed in LOOP_SEEDS]


@dataclass
class Rounds:
    """Datagrams whose time to live ended, and how often each was at the home agent by radio."""

    ttl_drops: int = 0
    visits: Counter[bytes] = field(default_factory=Counter)
    delivered: int = 0

    def read(self, lines: Iterable[bytes]) -> None:
        """Read the lines of a trace."""
        for line in lines:
            words = line.split()
            if words[0] == b"D" and words[3:5] == [b"RTR", b"TTL"]:
                self.ttl_drops += words[6] == b"cbr"
            elif words[0] == b"r" and len(words) > 6 and words[6] == b"cbr":
                self.delivered += words[2] == _HOST and words[3] == b"AGT"
                if words[2] == b"_2_" and words[3] == b"RTR":
                    self.visits[words[5]] += 1


def run_loop(case: LoopCase) -> dict[str, list[Row]]:
    """Make one run, and count what goes round."""
    rounds = Rounds()
    ns2.run("mobile_ip_loop.tcl", {"seed": case.seed}, rounds.read)
    row: Row = {
        **case.key,
        "ttl_drops": rounds.ttl_drops,
        "most_visits": max(rounds.visits.values(), default=0),
        "delivered": rounds.delivered,
    }
    return {"mobile_ip_loops.csv": [row]}


@dataclass(frozen=True)
class Case(Run):
    """One run."""

    speed: int
    tcp: str
    acking: str
    seed: int


def cases() -> list[Case]:
    """Each speed with each pair of sender and receiver, and each seed."""
    return [Case(speed, variant, acking, seed) for speed in SPEEDS for variant, acking in PAIRS for seed in SEEDS]


def _kbps(packets: int, seconds: float) -> float:
    return table.rounded(packets * 8.0 / seconds)


def _handoffs(case: Case, trace: Trace) -> list[Row]:
    """The time from each crossing to the first reply of the agent of the new cell."""
    rows: list[Row] = []
    if case.speed == 0:
        return rows
    for crossing, (border, until) in enumerate(zip(BORDERS_S, (*BORDERS_S[1:], STOP_S), strict=True), start=1):
        agent = "foreign" if crossing % 2 else "home"
        found = [at for at, by in trace.replies if border <= at < until and by == agent]
        wait = table.rounded(found[0] - border) if found else None
        key = {name: value for name, value in case.key.items() if name != "speed"}
        rows.append({**key, "crossing": crossing, "wait_s": wait})
    return rows


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run, and count what its trace has."""
    trace = Trace()
    options: dict[str, Option] = {
        "variant": case.tcp,
        "acking": case.acking,
        "speed": case.speed,
        "start": START_S,
        "stop": STOP_S,
        "seed": case.seed,
    }
    ns2.run("mobile_ip.tcl", options, trace.read)
    series: list[Row] = []
    for begin in range(0, STOP_S, INTERVAL_S):
        end = min(begin + INTERVAL_S, STOP_S)
        packets = sum(begin <= at < end for at in trace.arrivals)
        series.append({**case.key, "from_s": begin, "throughput_kbps": _kbps(packets, end - begin)})
    total = _kbps(len(trace.arrivals), STOP_S - START_S)
    # The sizes are the same in all runs.
    first = case == cases()[0]
    return {
        "mobile_ip.csv": [{**case.key, "throughput_kbps": total, "acks": trace.acks}],
        "mobile_ip_series.csv.gz": series,
        "mobile_ip_handoffs.csv": _handoffs(case, trace),
        "mobile_ip_sizes.csv": [{"message": it, "bytes": size} for it, size in sorted(trace.sizes)] if first else [],
    }
