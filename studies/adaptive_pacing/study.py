"""Adaptive Pacing on chains of 2 to 10 hops: gap, goodput and retransmissions.

Compares Adaptive Pacing (by the paper, and as the authors' agent for ns-2) with NewReno and Vegas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hopyard import Scenario
from hopyard.stats import estimate, paired_difference

if TYPE_CHECKING:
    from hopyard import Estimate, Results
    from numpy.typing import NDArray

    from studies.common import Lab

HOPS = range(2, 11)
SENDERS: dict[str, dict[str, Any]] = {
    "NewReno": {"flow.0.tcp": "newreno"},
    "Vegas": {"flow.0.tcp": "vegas"},
    # The paper's gap over ns-2's NewReno.
    "Adaptive Pacing": {"flow.0.tcp": "adaptive_pacing"},
    "Adaptive Pacing, agent": {
        "flow.0.tcp": "adaptive_pacing",
        "tcp.adaptive_pacing.profile": "agent",
    },
}
COLUMNS = {
    "goodput (kbit/s)": "goodput_kbps",
    "retransmissions (%)": "loss_transport_percent",
    "timeouts": "timeouts",
    "delay (ms)": "delay_ms",
    "window (segments)": "cwnd_mean",
}
PLOTS = {"goodput (kbit/s)": "goodput", "retransmissions (%)": "retransmissions"}


def chain(lab: Lab, hops: int, changes: dict[str, Any]) -> Scenario:
    """The chain with this number of hops."""
    scenario = Scenario.load(lab.folder / "chain.toml")
    scenario.update({"nodes.count": hops + 1, "flow.0.to": hops, **changes})
    return scenario


def column(results: Results, name: str) -> NDArray[np.float64]:
    """A column of the flows' table, one value for each run."""
    flows = results.flows.sort_by("run")
    return np.asarray(flows[name].cast("float64").to_numpy(zero_copy_only=False), dtype=float)


def gaps(results: Results, since: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each run's median and mean gap from `since` on, in milliseconds."""
    series = results.series
    times = series["time_s"].to_numpy()
    runs = series["run"].to_numpy()
    values = series["value"].to_numpy()
    chosen = times >= since
    of_run = [values[chosen & (runs == number)] for number in np.unique(runs[chosen])]
    return np.array([np.median(gap) for gap in of_run]), np.array([gap.mean() for gap in of_run])


def run(lab: Lab) -> None:
    """Makes the tables and plots."""
    rows: list[list[Any]] = []
    lines: dict[str, dict[str, list[tuple[float, Estimate | float]]]] = {
        name: {sender: [] for sender in SENDERS} for name in PLOTS
    }
    gap_rows: list[list[Any]] = []
    gap_lines: dict[str, list[tuple[float, Estimate | float]]] = {
        sender: [] for sender in SENDERS if "Pacing" in sender
    }
    gains: list[list[Any]] = []
    for hops in HOPS:
        goodput: dict[str, NDArray[np.float64]] = {}
        for sender, tcp in SENDERS.items():
            paced = "Pacing" in sender
            results = lab.run(chain(lab, hops, tcp), series=["pacing_gap"] if paced else [])
            goodput[sender] = column(results, "goodput_kbps")
            row: list[Any] = [hops, sender]
            for title, name in COLUMNS.items():
                value = estimate(column(results, name))
                row.append(value)
                if title in PLOTS:
                    lines[title][sender].append((hops, value))
            rows.append(row)
            if paced:
                medians, means = gaps(results, 20.0)
                gap_rows.append(
                    [hops, sender, estimate(medians), estimate(means), float(means.max())]
                )
                gap_lines[sender].append((hops, estimate(medians)))
        for sender in list(SENDERS)[2:]:
            against = [
                paired_difference(goodput[sender], goodput[other]) for other in ("NewReno", "Vegas")
            ]
            ratio = goodput[sender].mean() / goodput["NewReno"].mean()
            gains.append([hops, sender, *against, float(100 * (ratio - 1))])
    lab.section("Goodput, retransmissions, delay")
    lab.text("One flow from end to end, measured from second 20 to second 120.")
    lab.table("chains", ["hops", "TCP", *COLUMNS], rows)
    for title, name in PLOTS.items():
        lab.lines(name, lines[title], "hops", title)
    lab.section("Differences from NewReno and Vegas, run by run")
    lab.table(
        "gains",
        [
            "hops",
            "TCP",
            "more than NewReno (kbit/s)",
            "more than Vegas (kbit/s)",
            "more than NewReno (%)",
        ],
        gains,
    )
    lab.section("The gap")
    lab.text(
        "The minimum time between two segments, sampled every 100 ms: each run's median and mean, "
        "and the largest mean of a run. The plot shows the medians."
    )
    lab.table("gaps", ["hops", "TCP", "median (ms)", "mean (ms)", "largest mean (ms)"], gap_rows)
    lab.lines("gap", gap_lines, "hops", "gap (ms), median over time")
