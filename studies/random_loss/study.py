"""Random losses on a wired bottleneck, and the estimates of Westwood and Westwood+.

The README explains the comparison.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
from hopyard import Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hopyard import Results

    from studies.common import Lab

#: The losses, in parts of the packets.
LOSSES = (0.0, 0.001, 0.003, 0.01, 0.02, 0.05)

#: The compared variants: a label, and its settings.
VARIANTS: dict[str, dict[str, Any]] = {
    "NewReno": {"flow.tcp": "newreno"},
    "SACK": {"flow.tcp": "sack"},
    "Westwood": {"flow.tcp": "westwood"},
    "Westwood+": {"flow.tcp": "westwood_plus"},
    "Westwood+ (Linux)": {"flow.tcp": "westwood_plus", "tcp.westwood_plus.profile": "linux"},
    "Veno": {"flow.tcp": "veno"},
    "Veno (Linux)": {"flow.tcp": "veno", "tcp.veno.profile": "linux"},
    "Illinois (Linux)": {"flow.tcp": "illinois"},
    "Vegas": {"flow.tcp": "vegas"},
    "CUBIC": {"flow.tcp": "cubic"},
    "BBR": {"flow.tcp": "bbr"},
}

#: The bottlenecks: rate in kbit/s, and a queue as long as the bandwidth-delay product of 100 ms.
BOTTLENECKS = {"2 Mbps": (2000, 17), "10 Mbps": (10_000, 85)}

#: The share of payload in the 1512 bytes of a segment with timestamps on the wire.
PAYLOAD = 1460 / 1512


def goodput(lab: Lab, settings: dict[str, Any]) -> dict[float, Estimate]:
    """Goodput in kbit/s at each loss rate."""
    results = lab.run("bottleneck.toml", set=settings | {"wire.1.losses.rate": list(LOSSES)})
    return {
        loss: results.estimate("goodput", case)
        for loss, case in zip(LOSSES, results.cases, strict=True)
    }


def reno_in_theory(share: float) -> dict[float, float]:
    """The macroscopic law MSS / RTT * sqrt(3 / 2p) in kbit/s, at most the rate of the path.

    Mathis, Semke, Mahdavi and Ott, ACM CCR 27(3), 1997, one acknowledgement for each packet.
    """
    return {
        loss: min(share, 1460 * 8 / 0.1 * math.sqrt(1.5 / loss) / 1000) if loss else share
        for loss in LOSSES
    }


def mean(value: Estimate | float) -> float:
    """The mean of an estimate, or the number itself."""
    return value.mean if isinstance(value, Estimate) else value


def losses(lab: Lab) -> None:
    """Goodput of every variant at every loss rate, each with its own recovery and all with SACK."""
    for rate, (kbps, queue) in BOTTLENECKS.items():
        share = kbps * PAYLOAD
        path = {
            "wire.1.rate": rate,
            "wire.1.queue_length": queue,
            # The bandwidth-delay product: slow start ends without a burst of losses.
            "tcp.initial_ssthresh": queue,
        }
        for name, short, title, more in (
            ("own", "own recovery", "each with its own loss recovery", {}),
            (
                "sack",
                "SACK recovery",
                "all with SACK recovery (RFC 6675)",
                {"tcp.recovery": "sack"},
            ),
        ):
            file = f"goodput_{kbps // 1000}_mbps_{name}"
            lab.section(f"{rate}, {title}")
            found: dict[str, Mapping[float, Estimate | float]] = {
                label: goodput(lab, path | settings | more)
                for label, settings in VARIANTS.items()
                # Vegas's window depends on its own recovery; BBR always uses SACK.
                if name == "own" or label not in ("Vegas", "BBR", "SACK")
            }
            # No file is faster than the bottleneck. Payload that waits behind a gap at 20 s is
            # counted after it, hence the tolerance.
            for label, values in found.items():
                for loss, value in values.items():
                    if isinstance(value, Estimate) and value.mean > share * 1.005:
                        raise ValueError(f"{label} at {loss}: {value} of {share:.0f} kbit/s")
            found["Reno in theory"] = reno_in_theory(share)
            lab.text(
                f"Goodput in kbit/s; the bottleneck carries {share:.0f} kbit/s of payload. "
                "The columns give the probability that the bottleneck loses a packet."
            )
            lab.table(
                file,
                ["variant", *(f"{loss:.1%}" for loss in LOSSES)],
                [[label, *values.values()] for label, values in found.items()],
            )
            lab.text("The same goodput, divided by that of NewReno (means).")
            lab.table(
                f"gain_{kbps // 1000}_mbps_{name}",
                ["variant", *(f"{loss:.1%}" for loss in LOSSES)],
                [
                    [label, *(mean(values[loss]) / mean(found["NewReno"][loss]) for loss in LOSSES)]
                    for label, values in found.items()
                ],
            )
            lab.lines(
                file,
                {
                    label: [(100 * loss, value) for loss, value in values.items() if loss > 0]
                    for label, values in found.items()
                },
                "packets lost (%)",
                "goodput (kbit/s)",
                title=f"{rate}, {short}",
                log_x=True,
            )


def sampled(results: Results, quantity: str) -> list[tuple[float, float]]:
    """A series of the first flow in the first run."""
    rows = results.series.filter(
        (pc.field("quantity") == quantity) & (pc.field("flow") == 0) & (pc.field("run") == 0)
    )
    return list(zip(rows["time_s"].to_pylist(), rows["value"].to_pylist(), strict=True))


def mean_after(points: list[tuple[float, float]], start: float) -> float:
    """The mean of the samples from a time on."""
    return fmean(value for time, value in points if time >= start)


def estimates(lab: Lab) -> None:
    """The estimates over time: alone on a wire, and with data in both directions over 802.11."""
    places: dict[str, tuple[str, str, dict[str, Any]]] = {
        "wire": (
            "bottleneck.toml",
            "alone on a wire of 2 Mb/s",
            {"wire.1.rate": "2 Mbps", "wire.1.queue_length": 17, "tcp.initial_ssthresh": 17},
        ),
        "chain": ("chain.toml", "four hops of 802.11", {}),
        "chain_both_ways": ("chain_both_ways.toml", "four hops of 802.11, data both ways", {}),
    }
    rules = {
        "Westwood": VARIANTS["Westwood"],
        "Westwood+": VARIANTS["Westwood+"],
        "Westwood+ (Linux)": VARIANTS["Westwood+ (Linux)"],
    }
    rows: list[list[Any]] = []
    for name, (file, title, more) in places.items():
        lines: dict[str, list[tuple[float, float]]] = {}
        for label, given in rules.items():
            settings = {key.replace("flow.", "flow.0."): value for key, value in given.items()}
            results = lab.run(
                file,
                set=settings | more | {"duration": "60 s"},
                series=["bandwidth", "goodput"],
                runs=1,
            )
            lines[label] = sampled(results, "bandwidth")
            received = mean_after(sampled(results, "goodput"), 20)
            estimated = mean_after(lines[label], 20)
            rows.append([title, label, received, estimated, estimated / received])
        lab.section(f"Estimates over time: {title}")
        lab.lines(
            f"estimate_{name}",
            lines,
            "time (s)",
            "bandwidth estimate (kbit/s)",
            title=title,
            log_y=name != "wire",
        )
    lab.section("Estimate and received rate")
    lab.text("One run; means from 20 s to 60 s, in kbit/s of payload.")
    lab.table("estimates", ["path", "variant", "received", "estimated", "ratio"], rows)


def run(lab: Lab) -> None:
    """Makes all tables and plots."""
    losses(lab)
    estimates(lab)
