"""TCP-WELCOME in the four situations of its paper, and how it classifies losses.

The README explains what is compared and why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hopyard.confusion import DECIDED, confusion
from hopyard.stats import estimate, paired_difference

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hopyard import Estimate, Results
    from hopyard.arrays import Floats

    from studies.common import Lab

#: The two readings of WELCOME's paper, each with the two ways of sampling round trips, and the
#: defaults of this implementation.
TEXT: dict[str, Any] = {"tcp.welcome.reading": "text", "tcp.welcome.wireless": "keep"}
PSEUDOCODE: dict[str, Any] = {"tcp.welcome.reading": "pseudocode", "tcp.welcome.wireless": "clamp"}
EACH_ACK: dict[str, Any] = {"tcp.welcome.sampling": "acknowledgement"}
READINGS: dict[str, dict[str, Any]] = {
    "WELCOME, text": TEXT,
    "WELCOME, text, each ACK": TEXT | EACH_ACK,
    "WELCOME, pseudo-code": PSEUDOCODE,
    "WELCOME, pseudo-code, each ACK": PSEUDOCODE | EACH_ACK,
    "WELCOME, default": {},
}

#: The other variants, those of the paper first.
OTHERS: dict[str, dict[str, Any]] = {
    "NewReno": {"tcp": "newreno"},
    "SACK": {"tcp": "sack"},
    "Vegas": {"tcp": "vegas"},
    "Westwood": {"tcp": "westwood"},
    "Westwood+ (Linux)": {"tcp": "westwood_plus", "tcp.westwood_plus.profile": "linux"},
}

#: Changes of one parameter of WELCOME at a time, from the reading by the text.
CHANGES: dict[str, dict[str, Any]] = {
    "text": {},
    "eta = 5": {"tcp.welcome.eta": 5},
    "growths in a row": {"tcp.welcome.growths": "consecutive"},
    "average by control limits": {"tcp.welcome.average": "control_limits"},
    "average by a band": {"tcp.welcome.average": "band"},
    "a sample at each ACK": EACH_ACK,
    "each ACK, average by a band": EACH_ACK | {"tcp.welcome.average": "band"},
    "growth = 20 %": {"tcp.welcome.growth": 0.2},
    "30 round trips, eta = 14": {"tcp.welcome.samples": 30, "tcp.welcome.eta": 14},
    "after a failure: keep": {"tcp.welcome.after_failure": "keep"},
    "after a failure: halve": {"tcp.welcome.after_failure": "halve"},
}


@dataclass(frozen=True)
class Situation:
    """A scenario, the key that selects the measured TCP, its flows, and the paper's figure."""

    title: str
    file: str
    key: str
    flows: int
    hops: int
    figure: int
    #: Settings that differ from the scenario file.
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of its files."""
        return self.title.lower().replace(",", "").replace(" kbit/s", "").replace(" ", "_")


SITUATIONS = (
    Situation("Congestion", "congestion.toml", "flow.tcp", 3, 2, 19),
    Situation("Interference, 150 kbit/s", "interference.toml", "flow.0.tcp", 1, 2, 21),
    Situation(
        "Interference, 300 kbit/s",
        "interference.toml",
        "flow.0.tcp",
        1,
        2,
        21,
        {"flow.1.cbr.rate": "300 kbps"},
    ),
    Situation("Link failure", "link_failure.toml", "flow.tcp", 1, 2, 23),
    Situation("Signal loss", "signal_loss.toml", "flow.tcp", 1, 2, 25),
)


#: When the signal is lost in `signal_loss.toml`, and when it comes back, in seconds.
LOSSES = (20.0, 35.0, 52.0, 75.0)
RETURNS = (22.0, 39.0, 60.0, 87.0)


def settings(situation: Situation, given: Mapping[str, Any]) -> dict[str, Any]:
    """A variant's settings; the key of the situation selects the variant."""
    rest = {key: value for key, value in given.items() if key != "tcp"}
    return {situation.key: given.get("tcp", "welcome")} | dict(situation.given) | rest


def per_run(results: Results, column: str, flows: int) -> Floats:
    """The sum of a column over the first flows, one value for each run."""
    table = results.flows.filter(pc.field("flow") < flows)
    sums = table.group_by("run", use_threads=False).aggregate([(column, "sum")]).sort_by("run")
    return np.asarray(sums[f"{column}_sum"].to_numpy(), dtype=np.float64)


def first_losses(results: Results) -> pa.Table:
    """Decisions on segments that had been sent once, so that an outage counts only once."""
    return results.decisions.filter(pc.field("transmissions") == 1)


def capacity(lab: Lab) -> dict[int, Estimate]:
    """The goodput of an undisturbed chain, by hops: the better of NewReno and Vegas."""
    lab.section("Goodput of an undisturbed chain")
    lab.text(
        "Goodput in kbit/s over a chain without disturbance, with 512-byte segments at 2 Mb/s. "
        "The study stops with an error if a situation below exceeds this goodput by more than two "
        "percent over the same number of hops."
    )
    best: dict[int, Estimate] = {}
    rows = []
    for hops in (1, 2, 3):
        chain = {"nodes.count": hops + 1, "flow.to": hops}
        results = lab.run("undisturbed.toml", set=chain | {"flow.tcp": ["newreno", "vegas"]})
        both = [results.estimate("goodput", case) for case in results.cases]
        best[hops] = max(both, key=lambda each: each.mean)
        rows.append([hops, *both])
    lab.table("undisturbed", ["hops", "NewReno (kbit/s)", "Vegas (kbit/s)"], rows)
    return best


def goodput(lab: Lab, situation: Situation, limit: Estimate) -> dict[str, Results]:
    """Every variant in a situation: goodput, and the difference from NewReno run by run."""
    lab.section(f"{situation.title} (figure {situation.figure})")
    found = {
        label: lab.run(situation.file, set=settings(situation, given))
        for label, given in (OTHERS | READINGS).items()
    }
    rates = {
        label: per_run(results, "goodput_kbps", situation.flows) for label, results in found.items()
    }
    rows = []
    for label, results in found.items():
        mean = estimate(rates[label])
        if not mean.mean <= limit.mean * 1.02:
            raise ValueError(f"{situation.title}: {label} carries {mean} of {limit} kbit/s")
        counts = [
            estimate(per_run(results, column, situation.flows))
            for column in ("timeouts", "fast_retransmits", "retransmissions")
        ]
        more = paired_difference(rates[label], rates["NewReno"])
        rows.append([label, mean, None if label == "NewReno" else more, *counts])
    header = [
        "variant",
        "goodput (kbit/s)",
        "more than NewReno (kbit/s)",
        "timeouts",
        "fast retransmits",
        "segments sent again",
    ]
    lab.table(f"goodput_{situation.name}", header, rows)
    bars = {situation.title: {label: estimate(values) for label, values in rates.items()}}
    lab.bars(f"goodput_{situation.name}", bars, "Goodput (kbit/s)")
    return found


def loads(lab: Lab) -> None:
    """The goodput of the main connection, by the load of the neighbour."""
    lab.section("The neighbour's load")
    lab.text(
        "Goodput in kbit/s of the disturbed connection, by the load of the neighbour. If the load "
        "exceeds the remaining share of the channel, the neighbour uses the whole channel."
    )
    rows = []
    for rate in (50, 100, 150, 200, 300, None):
        given = {"flow.1.cbr.rate": f"{rate} kbps"} if rate else {"flow.1.traffic": "ftp"}
        row: list[Any] = [str(rate or "without end")]
        for label in ("NewReno", "Vegas", "Westwood", "WELCOME, text"):
            one = settings(SITUATIONS[1], (OTHERS | READINGS)[label]) | given
            row.append(estimate(per_run(lab.run("interference.toml", set=one), "goodput_kbps", 1)))
        rows.append(row)
    header = ["neighbour (kbit/s)", "NewReno", "Vegas", "Westwood", "WELCOME, text"]
    lab.table("interference_by_load", header, rows)


def routings(lab: Lab) -> None:
    """Link failure and loss of signal with other routing protocols."""
    lab.section("The influence of routing")
    lab.text(
        "Goodput in kbit/s with the AODV of ns-2 (as above), with AODV by RFC 3561, and with an "
        "oracle that knows every route at once. With the oracle only TCP's own wait remains."
    )
    protocols: dict[str, dict[str, Any]] = {
        "AODV of ns-2": {},
        "AODV of RFC 3561": {"routing.aodv.profile": "rfc"},
        "oracle": {"routing.protocol": "oracle"},
    }
    chosen = (
        "NewReno",
        "Vegas",
        "Westwood",
        "WELCOME, text",
        "WELCOME, text, each ACK",
        "WELCOME, pseudo-code",
    )
    rows = []
    for situation in SITUATIONS[3:]:
        for protocol, given in protocols.items():
            row: list[Any] = [situation.title, protocol]
            for label in chosen:
                one = settings(situation, (OTHERS | READINGS)[label]) | given
                row.append(estimate(per_run(lab.run(situation.file, set=one), "goodput_kbps", 1)))
            rows.append(row)
    lab.table("routing", ["situation", "routing", *chosen], rows)


def matrices(lab: Lab, found: Mapping[str, Mapping[str, Results]]) -> None:
    """The decisions of WELCOME, and the true causes."""
    lab.section("How WELCOME classifies losses")
    lab.text(
        "Losses of segments that had been sent once, all runs together. Each row gives the number "
        "of losses with each decision. Correct decisions are: congestion for `congestion`, "
        "wireless for `interference`, link failure for `link_failure`. For `spurious` no decision "
        "is correct, because nothing was lost."
    )
    rows = []
    for situation, variants in found.items():
        for label in READINGS:
            matrix = confusion(first_losses(variants[label]))
            for cause, counts in zip(matrix.true, matrix.counts.tolist(), strict=True):
                if sum(counts):
                    rows.append([situation, label, cause, *counts])
    lab.table("confusion", ["situation", "reading", "true cause", *DECIDED], rows)
    lab.text(
        "The share of correct decisions, for the losses that have a correct decision. The last "
        "column includes losses of retransmitted segments, so that an outage counts once for each "
        "timeout."
    )
    rows = []
    for situation, variants in found.items():
        for label in READINGS:
            once, every = confusion(first_losses(variants[label])), variants[label].confusion()
            recalls = [once.recall(decided) for decided in DECIDED]
            rows.append([situation, label, once.judged, once.accuracy, *recalls, every.accuracy])
    header = ["situation", "reading", "losses", "right", *(f"{each} found" for each in DECIDED)]
    lab.table("accuracy", [*header, "right, with repeats"], rows)
    lab.text(
        "The true causes of the losses, and how many of the last ten round trips before them had "
        "grown (reading by the text). WELCOME uses this number to distinguish a full queue from a "
        "disturbed frame."
    )
    rows = []
    for situation, variants in found.items():
        losses = first_losses(variants["WELCOME, text"])
        keys = ["true_cause", "detected_by", "lost_reason"]
        groups = losses.group_by(keys, use_threads=False)
        sums = groups.aggregate([("evidence", "mean"), ("evidence", "count")])
        for row in sorted(sums.to_pylist(), key=lambda row: -row["evidence_count"]):
            rows.append(
                [
                    situation,
                    row["true_cause"],
                    row["detected_by"],
                    row["lost_reason"],
                    row["evidence_count"],
                    row["evidence_mean"],
                ]
            )
    header = ["situation", "true cause", "shown by", "dropped for", "losses", "grown of ten (mean)"]
    lab.table("evidence", header, rows)


def sensitivity(lab: Lab) -> None:
    """The effect of one changed parameter at a time."""
    lab.section("One parameter at a time")
    runs = max(lab.runs // 3, 2)
    lab.text(
        f"The reading by the text with one parameter changed, {runs} runs each: goodput in kbit/s, "
        "and the share of losses that are classified correctly."
    )
    header = ["changed"]
    header += [f"{each.title}{part}" for each in SITUATIONS for part in (" (kbit/s)", ", right")]
    rows = []
    for label, change in CHANGES.items():
        row: list[Any] = [label]
        for situation in SITUATIONS:
            given = settings(situation, READINGS["WELCOME, text"] | change)
            results = lab.run(situation.file, set=given, runs=runs)
            row += [
                estimate(per_run(results, "goodput_kbps", situation.flows)),
                confusion(first_losses(results)).accuracy,
            ]
        rows.append(row)
    lab.table("sensitivity", header, rows)


def waits(results: Results) -> list[Estimate]:
    """The time from each return of the signal to the next delivery, in seconds."""
    delivers = (pc.field("quantity") == "goodput") & (pc.field("value") > 0)
    rows = results.series.filter(delivers)
    run, time = rows["run"].to_numpy(), rows["time_s"].to_numpy()
    found = []
    for back, gone_again in zip(RETURNS, (*LOSSES[1:], float("inf")), strict=True):
        each = []
        for number in range(results.runs):
            later = time[(run == number) & (time > back) & (time <= gone_again)]
            each.append(later.min() - back if later.size else float("nan"))
        found.append(estimate(each))
    return found


def after_signal_loss(lab: Lab) -> None:
    """The first delivery after a loss of signal, and the congestion window."""
    lab.section("After the signal has returned")
    lab.text(
        "Seconds from the return of the signal to the next delivery, for each of the four losses, "
        "and the sums of timeouts and routing packets, with the AODV of ns-2 and with an oracle. "
        "Runs in which nothing is delivered before the next loss are left out."
    )
    protocols: dict[str, dict[str, Any]] = {
        "AODV of ns-2": {},
        "oracle": {"routing.protocol": "oracle"},
    }
    rows = []
    lines = {}
    for protocol, given in protocols.items():
        for label in ("NewReno", "Vegas", "Westwood", "WELCOME, text", "WELCOME, text, each ACK"):
            one = settings(SITUATIONS[-1], (OTHERS | READINGS)[label]) | given
            results = lab.run("signal_loss.toml", set=one, series=["goodput", "cwnd"])
            (case,) = results.cases
            counts = [results.estimate(name, case) for name in ("timeouts", "routing")]
            rows.append([protocol, label, *waits(results), *counts])
            if label in ("NewReno", "WELCOME, text"):
                near = (pc.field("time_s") >= 48) & (pc.field("time_s") <= 76)
                first = (pc.field("quantity") == "cwnd") & (pc.field("run") == 0)
                series = results.series.filter(first & near)
                lines[f"{label}, {protocol}"] = list(
                    zip(series["time_s"].to_pylist(), series["value"].to_pylist(), strict=True)
                )
    gone = [f"after {back - lost:.0f} s (s)" for lost, back in zip(LOSSES, RETURNS, strict=True)]
    lab.table("waits", ["routing", "variant", *gone, "timeouts", "routing packets"], rows)
    lab.text(
        "The congestion window of the first run around the third loss of signal, from 52 s to 60 s."
    )
    lab.lines("window_after_signal_loss", lines, "time (s)", "congestion window (segments)")


def run(lab: Lab) -> None:
    """Makes every table and plot."""
    limits = capacity(lab)
    found = {
        situation.title: goodput(lab, situation, limits[situation.hops]) for situation in SITUATIONS
    }
    matrices(lab, found)
    loads(lab)
    routings(lab)
    after_signal_loss(lab)
    sensitivity(lab)
