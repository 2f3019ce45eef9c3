"""Checks of a study that need its points: what a claim is about, what the scenarios record.

`hopyard check` and `hopyard sweep` make them of the whole study, before the first run.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hopyard.scenario.plan import MOST_RUNS
from hopyard.scenario.recorded import MOBILE_EVENTS, PATHS, RATES
from hopyard.study.file import Claim, Quantity, Scalar, Study, StudyError, nearest, picked
from hopyard.study.networks import reach
from hopyard.study.points import beside, fits
from hopyard.study.published import read
from hopyard.tables.measures import MEASURES, named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hopyard.study.points import Point


#: Measures that only runs have which count energy.
OF_ENERGY = (*("energy", "energy_per_bit", "energy_per_bit_without_idle"), *("first_death", "dead"))


def check(study: Study, points: Sequence[Point]) -> None:
    """Checks a study with all of its points.

    Raises:
        StudyError: with every problem that was found.
    """
    problems = [*_same(study, points), *_rows(study, points), *_measures(study, points)]
    try:
        read(study)
    except StudyError as error:
        problems += error.problems
    for number, claim in enumerate(study.document.claim):
        place = f"{study.place('claim', number)}: claim {claim.id}"
        problems += _claim(study, claim, points, place)
    for kind in ("table", "figure"):
        for number, part in enumerate(getattr(study.document, kind)):
            names = part.measures if kind == "table" else [part.measure, part.beside]
            mine = _of(study, part.experiment, points)
            problems += [
                f"{study.place(kind, number)}: {kind} {part.name}: {problem}"
                for name in names
                if (problem := _unrecorded(study, name, mine, all_of_them=False))
            ]
    if problems:
        raise StudyError(problems)


def _same(study: Study, points: Sequence[Point]) -> Iterator[str]:
    """Points that would compare a scenario with itself."""
    first: dict[tuple[str, str, int], Point] = {}
    for point in points:
        it = point.planned
        other = first.setdefault((point.experiment, it.config, it.seed), point)
        if other is not point:
            yield (
                f"{study.path}: the points {other} and {point} are the same scenario: two values "
                "of an axis are equal, or one axis sets what another one has set"
            )
            return


def _measures(study: Study, points: Sequence[Point]) -> Iterator[str]:
    """Refuses a measure that no run of the study can have."""
    own = study.document.measure
    for name, quantity in own.items():
        mine = _asked(quantity, points)
        if problem := _unrecorded(study, name, mine, all_of_them=False):
            yield f"{study.place('measure', name)}: measure.{name}: {problem}"
    for number, name in enumerate(study.document.measures):
        if name not in own and (problem := _unrecorded(study, name, points, all_of_them=False)):
            yield f"{study.place('measures', number)}: measures: {problem}"


def check_measure(study: Study, name: str, points: Sequence[Point]) -> None:
    """Checks that some run has a measure.

    Raises:
        StudyError: when none has.
    """
    if problem := _unrecorded(study, name, points, all_of_them=False):
        raise StudyError([f"{study.path}: {problem}"])


def check_runs(study: Study, points: Sequence[Point], what: str = "") -> None:
    """Checks that one sweep may make all runs.

    Raises:
        StudyError: when they are too many.
    """
    runs = sum(len(point.planned.runs) for point in points)
    if runs > MOST_RUNS:
        most = f"expected at most {MOST_RUNS:,} runs in one sweep"
        raise StudyError([f"{study.path}: {most}, found {runs:,}{what}"])


def _of(study: Study, experiment: str | None, points: Sequence[Point]) -> list[Point]:
    name = study.experiment_of(experiment)
    return [point for point in points if point.experiment == name]


def _asked(own: Quantity, points: Sequence[Point]) -> list[Point]:
    """The points of the experiments that a measure is for."""
    return [point for point in points if own.experiments is None or point.experiment in own.experiments]


def _document(point: Point) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(point.planned.core.to_json(defaults=True))
    return document


def _rows(study: Study, points: Sequence[Point]) -> Iterator[str]:
    """Refuses a measure of rows that no point has: of a flow, a node, a transport."""
    for name, own in study.document.measure.items():
        mine = _asked(own, points)
        place = study.place("measure", name)
        table = _table(own)
        if own.flow is not None:
            there = study.place("measure", name, "flow")
            yield from _absent(f"{there}: measure.{name}: flow", "flow", [own.flow], mine)
        if own.answers and not any(_answers(own.flow, point) for point in mine):
            which = "no flow of these points is answered" if own.flow is None else f"flow {own.flow} is not answered"
            yield f"{study.place('measure', name, 'answers')}: measure.{name}: answers: {which}"
        for column, given in own.where.items():
            if column in _ROWS:
                there = study.place("measure", name, "where", column)
                where = f"{there}: measure.{name}: where"
                named, without = picked(given)
                # Where all flows are TCP's, leaving out UDP leaves out nothing.
                if without and column == "transport":
                    named = [each for each in named if each != "udp"]
                yield from _absent(where, column, named, mine)
        if own.series is None and table == "decisions" and not any(map(_classifies, mine)):
            why = "no flow of these points has a sender that classifies losses"
            yield f"{place}: measure.{name}: the table decisions stays empty: {why}"
        if own.network is not None and not any(reach(_document(point)) for point in mine):
            yield f'{place}: measure.{name}: network: no point has a radio.receive in metres, such as "250 m"'
        recorded = _RECORDED.get(table) if own.series is None else None
        if recorded and not any(recorded in point.planned.observed for point in mine):
            yield f"{place}: measure.{name}: the table {table} stays empty: no point has measure.{recorded} = true"


#: Columns of tables whose values a scenario tells before its runs.
_ROWS = (
    *("flow", "node", "neighbour", "source", "destination", "host", "agent", "agent_before", "lost_at_node"),
    *("transport", "label", "routing", "message"),
)
#: Tables that have rows if a scenario asks for them, with the key.
_RECORDED = {"rate_changes": RATES, "mobile_events": MOBILE_EVENTS}


def _table(own: Quantity) -> str:
    return named(own.measure).table if own.measure is not None else own.table


def _absent(place: str, column: str, values: Sequence[Scalar], points: Sequence[Point]) -> Iterator[str]:
    """A problem for each value of a column that no point has."""
    if column in ("transport", "routing", "message", "label"):
        has = "no node of these points sends a message" if column == "message" else f"no flow has the {column}"
        known = _texts(column, points)
        for value in values:
            if value not in known:
                near = "no flow has one" if column == "label" and not known else nearest(str(value), known)
                tcp = 'all TCP flows are { transport = { not = "udp" } }; ' if value == "tcp" else ""
                yield f"{place}: {has} {value!r}; {tcp if column == 'transport' else ''}{near}"
        return
    what = "flow" if column == "flow" else "node"
    most = max((_count(what, point) for point in points), default=0)
    there = f"{what}s from 0 to {most - 1}" if most else f"no {what}"
    for value in values:
        if not isinstance(value, int) or not 0 <= value < most:
            as_what = "" if what == column else f" as {column}"
            yield f"{place}: no point has a {what} {value}{as_what}; there are {there}"


def _texts(column: str, points: Sequence[Point]) -> list[str]:
    """The texts that points have in a column, each once."""
    match column:
        case "transport":
            found = [each for point in points for each in _transports(point)]
        case "routing":
            # Nodes at wires alone have static routes.
            found = [*(str(_document(point)["routing"]["protocol"]) for point in points), "static"]
        case "message":
            found = sorted({each for point in points for each in point.planned.core.messages()})
        case _:
            found = [each for point in points for each in _labels(point)]
    return list(dict.fromkeys(found))


def _answers(flow: int | None, point: Point) -> bool:
    """Whether a point has answers to a flow, or to any flow."""
    found = [each for each in point.planned.core.answered() if each is not None]
    return flow in found if flow is not None else bool(found)


def _transports(point: Point) -> list[str]:
    """What results call the transports of the flows of a point."""
    found = [name for part in point.all for name, _ in part.core.transports()]
    variants = [name for part in point.all for name in part.core.linux_variants()]
    return [*found, *(f"{name} (Linux)" for name in variants)]


def _labels(point: Point) -> list[str]:
    return sorted({label for part in point.all for label in part.core.labels()})


def _classifies(point: Point) -> bool:
    return any(told for part in point.all for _, told in part.core.transports())


def _count(what: str, point: Point) -> int:
    return point.planned.core.nodes if what == "node" else len(point.planned.core.answered())


def _claim(study: Study, claim: Claim, points: Sequence[Point], place: str) -> Iterator[str]:
    """Refuses a claim that has nothing to compare."""
    mine = [p for p in _of(study, claim.experiment, points) if fits(p.labels, claim.where)]
    cases = [point for point in mine if fits(point.labels, claim.case)]
    if not cases:
        yield f"{place}: it is about no point: case, where and skip leave none"
        return
    than = claim.than
    if than is not None and not any(beside(point, mine, than) for point in cases):
        yield f"{place}: no point of than differs from one of case in nothing else"
        return
    if than is not None and (problem := _two_axes(claim.case, than, cases, mine)):
        yield f"{place}: {problem}"
        return
    if claim.along is not None:
        groups: dict[tuple[str, ...], int] = {}
        for point in cases:
            rest = tuple(v for n, v in point.labels.items() if n != claim.along)
            groups[rest] = groups.get(rest, 0) + 1
        if max(groups.values()) < 2:
            yield f"{place}: its points have one value of {claim.along} alone: expected several"
            return
    others = [point for point in mine if than is not None and fits(point.labels, than)]
    if problem := _unrecorded(study, claim.measure, [*cases, *others], all_of_them=True):
        yield f"{place}: {problem}"


def _two_axes(
    case: Mapping[str, Scalar | list[Scalar]],
    than: Mapping[str, Scalar | list[Scalar]],
    cases: Sequence[Point],
    others: Sequence[Point],
) -> str | None:
    """Why a claim whose case and than are of different axes is judged for a part of its points."""
    own = ", ".join(name for name in case if name not in than)
    its = ", ".join(name for name in than if name not in case)
    if not (own and its):
        return None
    alone = next((point for point in cases if not beside(point, others, than)), None)
    if alone is None:
        return None
    return (
        f"case is of the axis {own} and than of the axis {its}, so that {alone} is compared "
        f"with nothing: expected both of one axis, or a {its} in case too"
    )


def _unrecorded(study: Study, measure: str | None, points: Sequence[Point], *, all_of_them: bool) -> str | None:
    """Why runs of the points have no value of a measure, of all of them or of one at least."""
    own = study.document.measure.get(measure or "")
    if own is not None:
        # What it is made of may not be recorded.
        parts = [name for name in (own.measure, own.compare, own.of, *own.plus, *own.less) if name]
        found = (_unrecorded(study, name, points, all_of_them=all_of_them) for name in parts)
        return next((problem for problem in found if problem), None)
    label = ""
    if measure in OF_ENERGY:
        needed = "an energy.model other than off"
        lacking = [p for p in points if _document(p).get("energy", {}).get("model") == "off"]
    elif measure is not None and (label := named(measure).flows):
        needed = f"a flow with the label {label!r}"
        lacking = [point for point in points if label not in _labels(point)]
    elif measure in MEASURES and MEASURES[measure].table == "paths":
        needed = "measure.paths = true"
        lacking = [point for point in points if PATHS not in point.planned.observed]
    else:
        return None
    if not lacking or (len(lacking) < len(points) and not all_of_them):
        return None
    if label and (known := sorted({each for point in points for each in _labels(point)})):
        needed += f" ({nearest(label, known)})"
    return f"{measure} needs {needed}, which the point {lacking[0]} has not"
