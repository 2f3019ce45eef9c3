"""Recordings of runs: they are made again, because a run is the same each time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopyard.errors import SimulationError
from hopyard.results.provenance import planned
from hopyard.running import memory
from hopyard.running.stepping import Simulation
from hopyard.scenario.plan import plan
from hopyard.scenario.run_numbers import write_numbers
from hopyard.store.reading import Reader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hopyard.scenario.plan import Given, Planned
    from hopyard.scenario.scenario import Settings

#: The most rows of a table that grows with traffic, unless another number is given.
MOST_ROWS = 400_000
#: The first bytes of a recording.
MAGIC = b"HOPYRPL1"


@dataclass(frozen=True)
class Wanted:
    """A run that is to be recorded."""

    case: Planned
    run: int
    #: The digest that it had when it was made; none if it was not made before.
    digest: str | None = None

    def record(self, rows: int = MOST_ROWS) -> bytes:
        """Makes the run, and returns its recording.

        Raises:
            SimulationError: when the run fails, or has another digest than it had before.
        """
        memory.check([self.case], 1)
        with Simulation(self.case, self.run, rows=rows) as simulation:
            simulation.advance(until=simulation.end)
            digest = simulation.digest
            simulation.finish()
            if self.digest is not None and digest != self.digest:
                raise SimulationError(
                    f"run {self.run} of {self.case.scenario} has the digest {digest} now, and {self.digest} in the "
                    "results: another build of Hopyard made them; expected that build, or a run of the scenario itself"
                )
            return simulation.recording()


def of_scenario(scenario: Given, run: int, seed: int | None, settings: Settings | None) -> list[Wanted]:
    """A run of each case of a scenario."""
    return [Wanted(case, run) for case in plan(scenario, runs=[run], seed=seed, set=settings)]


def of_folder(folder: Path, run: int) -> list[Wanted]:
    """A run of each case of a folder of results, in which it has ended.

    Raises:
        ValueError: when no case has ended that run.
    """
    found, ended = [], set[int]()
    with Reader(folder) as store:
        for case in planned(store, [run], []):
            digests = {number: kept.digest for number, kept in store.kept(*case.key).items()}
            ended |= {number for number, digest in digests.items() if digest is not None}
            if digests.get(run) is not None:
                found.append(Wanted(case, run, digests[run]))
    if not found:
        there = f"expected --run N with N of {write_numbers(ended)}" if ended else "no run has ended"
        raise ValueError(f"{folder} has no finished run {run}: {there}")
    return found


def chosen(wanted: Sequence[Wanted], case: Mapping[str, str], against: Mapping[str, str] | None) -> list[Wanted]:
    """One run, or the two that stand side by side.

    Args:
        wanted: a run of each case.
        case: values of compared keys that the first one has.
        against: values that the second one has.

    Raises:
        ValueError: when a key is no compared one, or the values are those of no case, or of several.
    """
    known = list(dict.fromkeys(key for each in wanted for key in each.case.settings))
    for key in [*case, *(against or {})]:
        if key not in known:
            there = f"expected {' or '.join(known)}" if known else "all runs are of one case"
            raise ValueError(f"no compared key is called {key!r}; {there}")
    first = [each for each in wanted if _has(each, case)]
    if against is not None:
        beside = _one([each for each in wanted if _has(each, against)], wanted, against)
        left = [each for each in first if each is not beside]
        if not left:
            raise ValueError(
                f"expected another case beside {_words(beside, wanted)}, which --against names, found none"
            )
        # Without --case, the first one is the first of the other cases.
        return [_one(left if case else left[:1], wanted, case), beside]
    if case:
        return [_one(first, wanted, case)]
    if len(first) > 2:
        raise ValueError(
            f"expected one case, or two that are compared, found {len(first)}: {_list(first, wanted)}; --case and "
            "--against choose"
        )
    return first


def _has(each: Wanted, values: Mapping[str, str]) -> bool:
    return all(each.case.settings.get(key) == value for key, value in values.items())


def _one(found: Sequence[Wanted], wanted: Sequence[Wanted], values: Mapping[str, str]) -> Wanted:
    if len(found) == 1:
        return found[0]
    asked = ",".join(f"{key}={value}" for key, value in values.items())
    if not found:
        raise ValueError(f"no case has {asked}: expected one of {_list(wanted, wanted)}")
    raise ValueError(f"expected values that one case has, found {len(found)} with {asked}: {_list(found, wanted)}")


def _list(cases: Sequence[Wanted], wanted: Sequence[Wanted]) -> str:
    return "; ".join(_words(each, wanted) for each in cases[:8]) + ("; ..." if len(cases) > 8 else "")


def _words(each: Wanted, wanted: Sequence[Wanted]) -> str:
    """The values that tell a case from the others, as --case takes them."""
    settings = each.case.settings
    telling = [key for key in settings if any(other.case.settings.get(key) != settings[key] for other in wanted)]
    return ",".join(f"{key}={settings[key]}" for key in telling or settings) or each.case.scenario
