"""ELFN on a chain whose middle link breaks and is repaired: how soon new data is delivered again.

NewReno detects a break by its timer, which doubles while the break lasts, and the repair when the
timer expires next. ELFN is informed of the break and sends a probe every two seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import hopyard
import numpy as np
from hopyard import Scenario
from hopyard.stats import estimate, paired_difference

if TYPE_CHECKING:
    from hopyard import Estimate, Results
    from numpy.typing import NDArray

    from studies.common import Lab

BREAK = 30.0
OUTAGES = (1, 5, 10, 20)
SENDERS: dict[str, dict[str, Any]] = {
    "NewReno": {"flow.0.tcp": "newreno"},
    "ELFN": {"flow.0.tcp": "elfn"},
    "ELFN, restore": {"flow.0.tcp": "elfn", "tcp.elfn.race": "restore_before_timeout"},
}
ROUTING: dict[str, dict[str, Any]] = {
    "AODV": {"routing.protocol": "aodv"},
    "AODV, HELLO only": {
        "routing.protocol": "aodv",
        "routing.aodv.link_detection": "hello",
        "routing.aodv.allowed_hello_loss": 3,
        # RFC 3561 §10: longer than the silence after which a link counts as broken.
        "routing.aodv.active_route_timeout": "10 s",
    },
    "DSDV": {"routing.protocol": "dsdv"},
}
#: From the repair to the first segment with new payload, and to the first payload delivered.
TIMES = {"sent": "first_new_s", "delivered": "first_delivery_s"}
AFTER = 60.0


def outages(about: int, runs: int) -> NDArray[np.float64]:
    """Durations spread evenly over the two seconds around `about`, for all phases of the probes."""
    return about - 1 + 2 * (np.arange(runs) + 0.5) / runs


def breaking(lab: Lab, outage: float, changes: dict[str, Any]) -> Scenario:
    """The chain with an outage of this duration, measured from the repair on."""
    scenario = Scenario.load(lab.folder / "breaking_chain.toml")
    heals = BREAK + outage
    # Nodes move away and back within ten milliseconds, or a tenth of a short outage.
    blink = min(0.01, outage / 10)
    moves: dict[str, Any] = {}
    for place, node in enumerate((3, 4, 5)):
        x = f"{200 * node} m"
        moves[f"movement.{place}.waypoints.track"] = [
            {"at": f"{BREAK} s", "x": x, "y": "0 m"},
            {"at": f"{BREAK + blink} s", "x": x, "y": "2000 m"},
            {"at": f"{heals - blink} s", "x": x, "y": "2000 m"},
            {"at": f"{heals} s", "x": x, "y": "0 m"},
        ]
    scenario.update(
        {"duration": f"{heals + AFTER} s", "measure.from": f"{heals} s", **moves, **changes}
    )
    return scenario


def measured(results: Results, column: str) -> NDArray[np.float64]:
    """A column of the flows' table, one value for each case, in order of the cases."""
    flows = results.flows.sort_by("case")
    return np.asarray(flows[column].cast("float64").to_numpy(zero_copy_only=False), dtype=float)


def waits(results: Results, column: str, healed: NDArray[np.float64]) -> NDArray[np.float64]:
    """Seconds from the repair; an event that did not happen counts as the whole remaining time."""
    found = measured(results, column) - healed
    return np.where(np.isnan(found), AFTER, found)


def run(lab: Lab) -> None:
    """Makes the tables and plots."""
    rows: list[list[Any]] = []
    pairs: list[list[Any]] = []
    counts: list[list[Any]] = []
    plots: dict[str, dict[str, dict[str, list[tuple[float, Estimate | float]]]]] = {
        kind: {routing: {sender: [] for sender in SENDERS} for routing in ROUTING} for kind in TIMES
    }
    for routing, protocol in ROUTING.items():
        for about in OUTAGES:
            lengths = outages(about, lab.runs)
            healed = BREAK + lengths
            waited: dict[tuple[str, str], NDArray[np.float64]] = {}
            for sender, tcp in SENDERS.items():
                scenarios = []
                for number, length in enumerate(lengths):
                    scenario = breaking(lab, float(length), protocol | tcp)
                    scenario["seed"] = 1 + number
                    scenarios.append(scenario)
                results = hopyard.run(scenarios, runs=1, jobs=lab.jobs)
                row: list[Any] = [routing, about, sender]
                for kind, column in TIMES.items():
                    values = waits(results, column, healed)
                    waited[sender, kind] = values
                    row += [estimate(values), float(np.median(values)), float(values.max())]
                    plots[kind][routing][sender].append((about, estimate(values)))
                never = int(np.isnan(measured(results, "first_delivery_s")).sum())
                rows.append([*row, never])
                counts.append(
                    [
                        routing,
                        about,
                        sender,
                        estimate(measured(results, "goodput_kbps")),
                        estimate(measured(results, "timeouts")),
                        estimate(measured(results, "retransmissions")),
                    ]
                )
            for sender in list(SENDERS)[1:]:
                differences = [
                    paired_difference(waited[sender, kind], waited["NewReno", kind])
                    for kind in TIMES
                ]
                pairs.append([routing, about, sender, *differences])
    lab.section("From the repair to the first new data")
    lab.text(
        "Seconds from the repair of the link to the first segment with payload that was never sent "
        "before, and to the first payload that the application receives. A run in which nothing "
        f"was delivered within {AFTER:g} s counts as {AFTER:g} s (their number is in the last "
        "column). The durations of each outage are spread evenly over the two seconds around the "
        "nominal duration."
    )
    header = ["routing", "outage (s)", "TCP"]
    for kind in TIMES:
        header += [f"{kind} (s)", f"{kind}, median", f"{kind}, longest"]
    lab.table("waits", [*header, "never"], rows)
    for kind, by_routing in plots.items():
        for routing, lines in by_routing.items():
            name = f"{kind}_{routing.lower().replace(', ', '_').replace(' ', '_')}"
            lab.lines(
                name,
                lines,
                "outage (s)",
                f"repair to first new data {kind} (s)",
                title=routing,
            )
    lab.section("Difference from NewReno, pair by pair")
    lab.text("Delay after NewReno with the same seed and outage; negative means earlier.")
    lab.table("pairs", ["routing", "outage (s)", "TCP", "sent (s)", "delivered (s)"], pairs)
    lab.section(f"The {AFTER:g} s after the repair")
    lab.table(
        "after",
        ["routing", "outage (s)", "TCP", "goodput (kbit/s)", "timeouts", "retransmissions"],
        counts,
    )
