"""TCP over ad hoc networks in ns-2: chains of 1 to 8 hops, the chain of six, fifty moving nodes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from peerlib import ns2
from peerlib.ns2_trace import DROP_COLUMNS, FRAME_COLUMNS, FlowTally, Tally
from peerlib.peer import Option, Run
from peerlib.table import Row, rounded

SEEDS = range(1, 11)
# DSDV needs about a minute to build the routes, sometimes two, so that ten runs are too few.
CHAIN_SEEDS = {"AODV": SEEDS, "DSDV": range(1, 101)}
INPUTS = Path(__file__).resolve().parents[2] / "inputs" / "rwp50"

RUN_COLUMNS = (
    "sent",
    "received",
    "throughput_kbps",
    "delay_ms",
    "ack_delay_ms",
    "retransmissions",
    "timeouts",
    "plr_pct",
    "data_drops",
    "ack_drops",
    "first_delivery_s",
    "tenth_delivery_s",
    "routing_sent",
    *FRAME_COLUMNS,
)
HOPS_KEY = ("hops", "tcp", "seed")
CHAIN_KEY = ("routing", "tcp", "seed")
RWP50_KEY = ("routing", "seed")
HOPS_COLUMNS = (*HOPS_KEY, *RUN_COLUMNS)
CHAIN_COLUMNS = (*CHAIN_KEY, *RUN_COLUMNS)
RWP50_COLUMNS = (*RWP50_KEY, *RUN_COLUMNS)
HOPS_DROPS = (*HOPS_KEY, *DROP_COLUMNS)
CHAIN_DROPS = (*CHAIN_KEY, *DROP_COLUMNS)
RWP50_DROPS = (*RWP50_KEY, *DROP_COLUMNS)
FLOW_COLUMNS = (
    "flow",
    "source",
    "destination",
    "sent",
    "received",
    "throughput_kbps",
    "delay_ms",
    "retransmissions",
    "timeouts",
    "first_delivery_s",
)
LINUX_KEY = ("tcp", "seed")
LINUX_SENDERS = {"westwood": "Linux/westwood", "cubic": "Linux/cubic", "Newreno": "Newreno", "Sack1": "Sack1"}
LINUX_COLUMNS = (*LINUX_KEY, *(name for name in RUN_COLUMNS if name not in FRAME_COLUMNS))
LINUX_DROPS = (*LINUX_KEY, *DROP_COLUMNS)
RWP50_FLOWS = (*RWP50_KEY, *FLOW_COLUMNS)


@dataclass(frozen=True)
class Case(Run):
    """One run: its table, its first columns there, and the options of the script."""

    table: str
    columns: Mapping[str, Option | None]
    options: Mapping[str, Option]
    payload: int
    # Throughput is computed over this time.
    seconds: float
    # Whether the trace has the frames of the MAC.
    frames: bool = True

    @property
    def key(self) -> dict[str, Option | None]:
        """The columns that name the run."""
        return dict(self.columns)


def chain_positions(nodes: int, spacing: int) -> str:
    """A row of nodes, for -positions."""
    return " ".join(f"{i * spacing} 0" for i in range(nodes))


def hops_cases() -> list[Case]:
    """1 to 8 hops of 200 m at 2 Mb/s, one flow from second 1 to second 300."""
    return [
        Case(
            "hops",
            {"hops": hops, "tcp": variant, "seed": seed},
            {
                "positions": chain_positions(hops + 1, 200),
                "flows": f"tcp 0 {hops} 1 300",
                "variant": variant,
                "payload": 1460,
                "window": 32,
                "rate": "2Mb",
                "seed": seed,
                "stop": 300,
            },
            1460,
            299.0,
        )
        for hops in range(1, 9)
        for variant in ("Newreno", "Vegas")
        # Over seven and eight hops, the runs differ by a factor of two: a mean needs many of them.
        for seed in (SEEDS if hops < 7 else range(1, 41))
    ]


def linux_cases() -> list[Case]:
    """ns-2's port of Linux's senders over four hops of 200 m at 2 Mb/s, 120 s."""
    return [
        Case(
            "linux",
            {"tcp": control, "seed": seed},
            {
                "positions": chain_positions(5, 200),
                "flows": "tcp 0 4 1 121",
                "variant": variant,
                "rate": "2Mb",
                "seed": seed,
                "stop": 121,
            },
            512,
            120.0,
            frames=False,
        )
        for control, variant in LINUX_SENDERS.items()
        for seed in SEEDS
    ]


def chain_cases() -> list[Case]:
    """The static chain of Oo and Othman: six nodes 110 m apart, 1 Mb/s, from the start."""
    return [
        Case(
            "chain",
            {"routing": routing, "tcp": variant, "seed": seed},
            {
                "positions": chain_positions(6, 110),
                "flows": "tcp 0 5 0 360",
                "routing": routing,
                "variant": variant,
                "range": 200,
                "seed": seed,
            },
            512,
            360.0,
        )
        for routing in ("AODV", "DSDV")
        for variant in ("Tahoe", "Reno", "Newreno", "Vegas")
        for seed in CHAIN_SEEDS[routing]
    ]


def rwp50_cases() -> list[Case]:
    """Fifty random-waypoint nodes, twenty flows; the seed also names the input files."""
    return [
        Case(
            "rwp50",
            {"routing": routing, "seed": seed},
            {
                "movement": str(INPUTS / f"movement_{seed:02}.tcl"),
                "nodes": 50,
                "traffic": str(INPUTS / f"traffic_{seed:02}.txt"),
                "width": 1600,
                "height": 400,
                "routing": routing,
                "range": 200,
                "seed": seed,
            },
            512,
            360.0,
        )
        for routing in ("AODV", "DSDV")
        for seed in SEEDS
    ]


def _milliseconds(total_s: float, count: int) -> float | None:
    return rounded(1000 * total_s / count) if count else None


def _seconds(time: float | None) -> float | None:
    return None if time is None else rounded(time)


def run_row(case: Case, tally: Tally, timeouts: int) -> Row:
    """The row of a run in its table."""
    flows = list(tally.flows.values())
    ack_deliveries = sum(flow.ack_deliveries for flow in flows)
    received = sum(len(flow.received) for flow in flows)
    data_drops = tally.packet_drops("tcp")
    times = [flow.first_delivery_s for flow in flows if flow.first_delivery_s is not None]
    return {
        **case.key,
        "sent": sum(flow.sends for flow in flows),
        "received": received,
        "throughput_kbps": rounded(received * case.payload * 8 / case.seconds / 1000),
        "delay_ms": _milliseconds(sum(flow.delay_s for flow in flows), tally.deliveries),
        "ack_delay_ms": _milliseconds(sum(flow.ack_delay_s for flow in flows), ack_deliveries),
        "retransmissions": sum(flow.retransmissions for flow in flows),
        "timeouts": timeouts,
        "plr_pct": rounded(100 * data_drops / (tally.highest_id + 1)),
        "data_drops": data_drops,
        "ack_drops": tally.packet_drops("ack"),
        "first_delivery_s": _seconds(min(times, default=None)),
        "tenth_delivery_s": _seconds(tally.tenth_delivery_s),
        "routing_sent": tally.routing_sent(),
        **(tally.frames() if case.frames else {}),
    }


def flow_row(case: Case, number: int, result: ns2.FlowResult, flow: FlowTally) -> Row:
    """The row of a flow in its table."""
    return {
        **case.key,
        "flow": number,
        "source": result.source,
        "destination": result.destination,
        "sent": flow.sends,
        "received": len(flow.received),
        "throughput_kbps": rounded(len(flow.received) * case.payload * 8 / case.seconds / 1000),
        "delay_ms": _milliseconds(flow.delay_s, flow.deliveries),
        "retransmissions": flow.retransmissions,
        "timeouts": result.values["timeouts"],
        "first_delivery_s": _seconds(flow.first_delivery_s),
    }


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run, with a full trace."""
    tally = Tally()
    mac_trace = "ON" if case.frames else "OFF"
    output = ns2.run("adhoc.tcl", {**case.options, "mac_trace": mac_trace}, tally.read)
    results = ns2.flows(output)
    timeouts = sum(result.values["timeouts"] for result in results)
    tables: dict[str, list[Row]] = {
        f"{case.table}.csv": [run_row(case, tally, timeouts)],
        f"{case.table}_drops.csv": tally.drop_rows(case.key),
    }
    if len(results) > 1 and case.frames:
        tables[f"{case.table}_flows.csv"] = [
            flow_row(case, number, result, tally.flows.get((result.source, result.destination), FlowTally()))
            for number, result in enumerate(results)
        ]
    return tables
