"""The audit of an experiment: the points for which papers of the field have been criticised.

Pawlikowski, Jeong and Lee, "On credibility of simulation studies of telecommunication networks"
(2002); Kurkowski, Camp and Colagrosso, "MANET simulation studies: the incredibles" (2005).
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from hopyard import _core
from hopyard.study.networks import networks_of
from hopyard.study.traffic import at_window, drawn, flows_of
from hopyard.terminal.words import many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hopyard.store.reading import Reader
    from hopyard.store.records import Maker
    from hopyard.study.file import Study
    from hopyard.study.networks import Described, Network
    from hopyard.study.points import Point
    from hopyard.study.values import Values

Grade: TypeAlias = Literal["good", "look", "poor"]
#: Runs of a point that are enough for Student's interval, and those that are too few.
ENOUGH, FEW = 20, 5
#: Half of an interval, as a share of the mean, that is narrow, and one that is too wide.
NARROW, WIDE = 0.05, 0.2
#: Pairs without any path, as a share, above which a network is often partitioned.
PARTED = 0.1

#: What a platform says of a kernel in simulated time: its release, and the key of its build.
KERNEL = re.compile(r", Linux (?P<release>\S+?)(?:-hopyard)? \((?P<key>[0-9a-f]+)")


@dataclass(frozen=True, slots=True)
class Finding:
    """A point of the audit."""

    topic: str
    grade: Grade
    text: str


@dataclass
class Audit:
    """The findings, and the paragraph of method for a paper."""

    findings: list[Finding] = field(default_factory=list)
    method: str = ""

    def add(self, topic: str, grade: Grade, text: str) -> None:
        """Adds a finding."""
        self.findings.append(Finding(topic, grade, text))


def audit(
    study: Study,
    points: Sequence[Point],
    store: Reader,
    values: Values,
    measures: Sequence[str],
    wanted: Mapping[tuple[str, int], int],
) -> Audit:
    """Looks at a study and at what its store has; `wanted` are the runs of each configuration."""
    found = Audit()
    _versions(found, store)
    counts = _runs(found, points, store, wanted)
    _intervals(found, points, values, measures)
    documents = [json.loads(point.planned.core.to_json(defaults=True)) for point in points]
    _warm_up(found, documents)
    described = networks_of(points, documents)
    networks = _networks(found, described)
    _defaults(found, points, documents)
    _traffic(found, documents)
    _windows(found, points, documents, store)
    _movement(found, documents)
    _published(found, study)
    found.method = _method(study, points, store, values, counts, networks, documents)
    return found


def _versions(found: Audit, store: Reader) -> None:
    makers = store.makers()
    if not makers:
        found.add("version", "poor", "the store has no runs")
        return
    names = "; ".join(f"Hopyard {maker.name} on {maker.platform}" for maker in makers)
    builds = {(maker.version, maker.build) for maker in makers}
    if len(builds) > 1:
        found.add("version", "poor", f"runs of several builds are mixed: {names}")
    elif mixed := [version for version, keys in _kernels(makers).items() if len(keys) > 1]:
        linux = " and ".join(mixed)
        found.add("version", "poor", f"runs of several builds of Linux {linux} are mixed: {names}")
    else:
        found.add("version", "good", f"all runs are of {names}; scenarios and inputs are stored")


def _kernels(makers: Sequence[Maker]) -> dict[str, set[str]]:
    """The kernels in simulated time that runs had: for each release the keys of its builds."""
    found: dict[str, set[str]] = {}
    for maker in makers:
        if match := KERNEL.search(maker.platform):
            found.setdefault(match["release"], set()).add(match["key"])
    return found


def _of_linux(points: Sequence[Point], makers: Sequence[Maker]) -> list[str]:
    """The sentence about flows of Linux and programs, if there are any."""
    releases = list(_kernels(makers))
    senders = sum(bool(point.planned.core.linux_variants()) for point in points)
    hosts = sum(bool(point.planned.core.kernels_with_programs()) for point in points)
    if not releases or not (senders or hosts):
        return []
    every = many(len(points), "configuration")
    what = [
        f"the TCP of Linux at both ends of flows in {senders} of {every}" if senders else "",
        f"programs at nodes in {hosts} of {every}" if hosts else "",
    ]
    return [
        f"Kernels of Linux {' and '.join(releases)}, whose clocks and network devices are "
        f"simulated, had {' and '.join(filter(None, what))}."
    ]


def _runs(found: Audit, points: Sequence[Point], store: Reader, wanted: Mapping[tuple[str, int], int]) -> list[int]:
    ended = [[store.ended(*each.key) for each in point.all] for point in points]
    counts = [sum(len(done) for done, _ in each) for each in ended]
    failed = sum(len(lost) for each in ended for _, lost in each)
    least = min(counts)
    grade: Grade = "good" if least >= ENOUGH else "poor" if least < FEW else "look"
    text = f"{least} to {many(max(counts), 'run')} a point" if least < max(counts) else f"{many(least, 'run')} a point"
    advice = "" if grade == "good" else f"; {ENOUGH} or more: hopyard sweep --runs {ENOUGH}"
    found.add("replications", grade, text + advice)
    seeds = sorted({each.seed for point in points for each in point.all})
    found.add(
        "random numbers",
        "good",
        f"seed {', '.join(map(str, seeds))}; each run has streams of its own, and runs of one "
        "number meet the same movement and channel at all points",
    )
    asked = [sum(wanted.get(each.key, 0) for each in point.all) for point in points]
    lacking = [runs - count for runs, count in zip(asked, counts, strict=True)]
    missing = sum(max(each, 0) for each in lacking)
    if failed or missing:
        text = f"{many(missing, 'run')} {'is' if missing == 1 else 'are'} missing"
        found.add("completeness", "poor", f"{text}, {failed} of them failed")
    else:
        found.add("completeness", "good", "no run is missing")
    return counts


def _intervals(found: Audit, points: Sequence[Point], values: Values, measures: Sequence[str]) -> None:
    for measure in measures:
        shares = []
        for point in points:
            each = values.estimate(point, measure)
            if each.runs >= 2 and each.mean and not math.isnan(each.half_width):
                shares.append((each.half_width / abs(each.mean), point))
        title = values.title(measure)[0]
        if not shares:
            found.add(f"precision of {title}", "poor", f"no point has an interval: {_lacking(points, values, measure)}")
            continue
        worst, where = max(shares, key=lambda pair: pair[0])
        typical = float(np.median([share for share, _ in shares]))
        grade: Grade = "good" if worst <= NARROW else "poor" if typical > WIDE else "look"
        found.add(
            f"precision of {title}",
            grade,
            f"95 % intervals of ± {100 * typical:.2g} % (median), ± {100 * worst:.2g} % at {where}",
        )


def _lacking(points: Sequence[Point], values: Values, measure: str) -> str:
    """Why no point has an interval of a measure."""
    found = [values.estimate(point, measure) for point in points]
    runs = max(each.runs for each in found)
    if runs < 2:
        return f"at most {many(runs, 'run')} of a point {'has' if runs == 1 else 'have'} a value"
    if all(math.isnan(each.half_width) or not each.mean for each in found) and values.watched(points, measure):
        # Points that are compared with a watched one are watched with it.
        return f"anytime-valid ones (of sweep --until) need more than the {many(runs, 'run')} of these points"
    return "all means are 0"


def _warm_up(found: Audit, documents: Sequence[dict[str, Any]]) -> None:
    starts = sorted({str(each.get("measure", {}).get("from", "0 s")) for each in documents})
    if starts == ["0 s"]:
        found.add(
            "warm-up",
            "look",
            "measuring begins at 0 s: start-up of routing and TCP is part of the figures; measure.from leaves it out",
        )
    else:
        found.add("warm-up", "good", f"measuring begins at {', '.join(starts)}")


def _networks(found: Audit, described: Described) -> dict[str, Network]:
    """The findings about the networks; those that could be looked at."""
    networks: dict[str, Network] = {}
    for name, made in described.networks:
        if made is None:
            found.add(f"network of {name}", "look", "the radio's range is not given in metres")
            continue
        networks[name] = made
        grade: Grade = "look" if made.parted > PARTED or made.hops < 1.5 else "good"
        found.add(f"network of {name}", grade, str(made))
    if described.further:
        text = f"{many(described.further, 'network')} more, which this audit does not look at"
        found.add("further networks", "look", text)
    return networks


def _defaults(found: Audit, points: Sequence[Point], documents: Sequence[dict[str, Any]]) -> None:
    given = json.loads(points[0].planned.core.to_json(defaults=False))
    own, every = _leaves(given), _leaves(documents[0])
    rest = [key for key in every if key not in own]
    profile = documents[0].get("profile", "default")
    found.add(
        "parameters",
        "good",
        f"{len(own)} given, {len(rest)} at their defaults of profile {profile}; all are stored with the runs",
    )


def _leaves(value: Any, path: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        found: dict[str, Any] = {}
        for key, each in value.items():
            found |= _leaves(each, f"{path}.{key}" if path else key)
        return found
    return {path: value}


def _traffic(found: Audit, documents: Sequence[dict[str, Any]]) -> None:
    flows = sorted({flows_of(each) for each in documents})
    random = any(drawn(each) for each in documents)
    counts = f"{flows[0]}" if len(flows) == 1 else f"{flows[0]} to {flows[-1]}"
    flow = "flow" if flows == [1] else "flows"
    text = f"{counts} {flow}" + (", between pairs drawn anew in each run" if random else "")
    found.add("traffic", "good" if flows[-1] else "poor", text)


# Movement that does not change its distribution during a run: places and groups that the scenario
# gives, and a model that cuts off its start.
_SETTLED = ("stationary", "waypoints", "group", "roaming_group", "reference_point_group")


def _windows(found: Audit, points: Sequence[Point], documents: Sequence[dict[str, Any]], store: Reader) -> None:
    limited, text = at_window(points, documents, store)
    if limited:
        found.add("window", "look", f"{text}: a larger tcp.window lets the congestion control decide")
    elif text:
        found.add("window", "good", text)


def _movement(found: Audit, documents: Sequence[dict[str, Any]]) -> None:
    # `[[movement]]` has the models of single nodes.
    tables = [table for each in documents for table in (each.get("mobility") or {}, *(each.get("movement") or ()))]
    for model in sorted({str(each["model"]) for each in tables if "model" in each}):
        if model == "movement_file":
            found.add("movement", "look", "movement_file: every run has the same movement; results hold for it alone")
        elif model == "random_waypoint":
            starts = {(each.get("random_waypoint") or {}).get("start") for each in tables if each.get("model") == model}
            steady = starts == {"steady_state"}
            text = (
                "random_waypoint, from its steady state"
                if steady
                else ("random_waypoint from uniform places: density and speed change while it settles")
            )
            found.add("movement", "good" if steady else "look", text)
        elif model in _SETTLED:
            found.add("movement", "good", model)
        else:
            found.add("movement", "look", f"{model}: unknown whether it starts in its steady state")


def _published(found: Audit, study: Study) -> None:
    claims = len(study.document.claim)
    text = f"{many(claims, 'claim')} {'is' if claims == 1 else 'are'} judged"
    text = f"{text}, with Holm's correction" if claims else "no claim is judged"
    found.add("claims", "good" if claims else "look", text)


def _intervals_in_words(points: Sequence[Point], values: Values) -> str:
    watched = [point for point in points if values.watched([point])]
    if not watched:
        return "Means are given with 95 % Student intervals."
    text = "Runs were added until an interval was narrow enough"
    if len(watched) < len(points):
        text += f" in {many(len(watched), 'configuration')}"
        rest = ", those of the others with Student intervals"
    else:
        rest = ""
    return f"{text}; means of these are given with 95 % anytime-valid intervals (a confidence sequence){rest}."


def _method(
    study: Study,
    points: Sequence[Point],
    store: Reader,
    values: Values,
    counts: Sequence[int],
    networks: dict[str, Network],
    documents: Sequence[dict[str, Any]],
) -> str:
    """The paragraph of method for a paper."""
    makers = store.makers()
    version = makers[0].name if makers else _core.__version__
    runs = many(max(counts), "time")
    runs = runs if min(counts) == max(counts) else f"{min(counts)} to {runs}"
    sizes = {
        name: len({point.labels[name] for point in points if name in point.labels}) for name in study.document.axes
    }
    axes = ", ".join(
        f"{axis.title or name} ({many(sizes[name], 'value')})" for name, axis in study.document.axes.items()
    )
    durations = sorted({str(each.get("duration")) for each in documents})
    parts = [
        f"We simulated {many(len(points), 'configuration')} with Hopyard {version}: {axes}.",
        f"Each was run {runs} for {' or '.join(durations)} of simulated time, with seed "
        f"{', '.join(map(str, sorted({p.planned.seed for p in points})))} and independent streams "
        "of random numbers for each run; the runs of one number meet the same movement and channel "
        "in all configurations, so that differences are taken pair by pair.",
        *_of_linux(points, makers),
        _intervals_in_words(points, values),
    ]
    for name, each in networks.items():
        parts.append(
            f"In {name}, {many(each.nodes, 'node')}{each.density} have {each.neighbours:.1f} "
            "neighbours within "
            f"{each.range_m:g} m on average, shortest paths have {each.hops:.1f} hops, and "
            f"{100 * each.parted:.1f} % of the pairs are not connected."
        )
    return " ".join(parts)
