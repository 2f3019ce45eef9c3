"""Places of cases in a plot that compares them: along the axis, in a colour, in a panel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopyard.scenario.axis import numbers
from hopyard.tables.labels import short_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopyard.statistics.estimates import Estimate
    from hopyard.tables.arrays import Floats
    from hopyard.tables.cases import Case
    from hopyard.tables.measured import Measured
    from hopyard.tables.measures import Measure

#: A key with at least so many values, all of them numbers, goes along the axis by itself.
POINTS_OF_A_LINE = 3


@dataclass(frozen=True, slots=True)
class Point:
    """A case with what is drawn of it, and its place: panel, colour, position along the axis."""

    case: Case
    panel: str
    colour: str
    along: str
    estimate: Estimate
    values: Floats


@dataclass(frozen=True, slots=True)
class Places:
    """A measure of cases, with the keys along the axis and of the colours."""

    measure: Measure
    points: Sequence[Point]
    along: str | None
    colour: str | None


def place(results: Measured, measure: str, x: str | None) -> Places:
    """The place of each case. The key `x` goes along the axis, if it is given.

    Raises:
        ValueError: when the measure or the key does not exist; the message lists those that do.
    """
    chosen = results.measure(measure)
    cases = results.cases
    settings = {case.number: _settings(results, case, x) for case in cases}
    keys = list(dict.fromkeys(key for each in settings.values() for key in each))
    if x is not None and not all(x in each for each in settings.values()):
        able = ", ".join(key for key in keys if key not in ("scenario", x)) or "none"
        raise ValueError(f"not every scenario has one value of a key {x!r}; the compared keys are: {able}")
    values = {key: list(dict.fromkeys(each[key] for each in settings.values())) for key in keys}
    several = [key for key in keys if len(values[key]) > 1]
    along = x or _along(several, values)
    rest = sorted(
        (key for key in several if not _follows(key, along, list(settings.values()))), key=lambda key: -len(values[key])
    )
    # Scenarios are panels where something else can give the colours.
    hues = [key for key in rest if key != "scenario"] or rest
    colour = hues[0] if hues else None
    short = short_keys(keys)

    def heading(case: Case) -> str:
        parts = [key for key in rest if key != colour]
        named = [f"{short[key]} = {settings[case.number][key]}" for key in parts if key != "scenario"]
        if "scenario" in parts or not (named or "scenario" in several):
            named.insert(0, case.scenario)
        return ", ".join(named)

    points = [
        Point(
            case,
            heading(case),
            settings[case.number][colour] if colour else "",
            settings[case.number][along] if along else case.scenario,
            results.estimate(measure, case),
            results.values(measure, case),
        )
        for case in cases
    ]
    return Places(chosen, points, along and short[along], colour and short[colour])


def _settings(results: Measured, case: Case, x: str | None) -> dict[str, str]:
    """A case's compared keys with its values, its scenario among them, and `x` if it has that."""
    settings = {"scenario": case.scenario, **case.settings}
    if x is not None and not settings.get(x):
        value = results.setting(case, x)
        settings.pop(x, None)
        if value is not None:
            settings[x] = value
    return settings


def _along(several: Sequence[str], values: dict[str, list[str]]) -> str | None:
    """The key that goes along the axis when none is chosen."""

    def weight(key: str) -> tuple[bool, bool, int]:
        line = len(values[key]) >= POINTS_OF_A_LINE and numbers(values[key]) is not None
        return line, key != "scenario", len(values[key])

    return max(several, key=weight) if several else None


def _follows(key: str, along: str | None, cases: Sequence[dict[str, str]]) -> bool:
    """Whether the key along the axis says the value of `key` too, as where keys go together."""
    if along is None or key == along:
        return True
    return len({(case[along], case[key]) for case in cases}) == len({case[along] for case in cases})
