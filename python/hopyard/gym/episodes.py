"""The scenario of an environment, and the numbers of its runs."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Real
from typing import TYPE_CHECKING, Any

from hopyard import _core
from hopyard.scenario.plan import plan
from hopyard.scenario.run_numbers import MOST_RUN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hopyard.scenario.plan import Given, Planned
    from hopyard.scenario.scenario import Settings


def case_of(scenario: Given, set: Settings | None) -> Planned:
    """The only case of a scenario."""
    cases = plan(scenario, runs=[0], set=set)
    if len(cases) != 1:
        raise ValueError(f"set: expected one value for each key, found {len(cases)} cases")
    return cases[0]


def nanoseconds(given: object, name: str) -> int:
    """A duration above zero: text with a unit, or a number of seconds."""
    if isinstance(given, str):
        found = _core.parse_time(given)
    elif isinstance(given, Real) and not isinstance(given, bool):
        seconds = float(given)
        found = round(seconds * 1e9) if math.isfinite(seconds) and 0 <= seconds <= 1.6e9 else 0
    else:
        raise TypeError(f"{name}: expected a duration such as '100 ms', or seconds, found {given!r}")
    if found < 1:
        raise ValueError(f"{name}: expected a duration above zero, at most 50 years, found {given!r}")
    return found


class Numbers:
    """Which run comes next at one place.

    A seed given to `reset` begins with its run 0. Each further `reset` without one makes the next run of the same
    seed. `hopyard.run(scenario, seed=..., runs=...)` makes the same runs.
    """

    def __init__(self, case: Planned) -> None:
        self._case = case
        self._next = 0

    def take(self, seed: int | None, options: Mapping[str, Any] | None) -> tuple[Planned, int]:
        """The case, with its seed, and the number of the run."""
        if seed is not None:
            if self._case.seed != seed:
                core = self._case.core.with_settings([("seed", str(seed))])
                self._case = replace(self._case, core=core)
            self._next = 0
        run = (options or {}).get("run", self._next)
        if isinstance(run, bool) or not hasattr(run, "__index__"):
            raise TypeError(f"options: expected a whole number as run, found {run!r}")
        number = run.__index__()
        if not 0 <= number < MOST_RUN:
            raise ValueError(f"options: expected a run from 0 to {MOST_RUN - 1}, found {number}")
        self._next = number + 1
        return self._case, number
