"""Pairs: the cases whose runs of one number meet the same movement, and the case that the others are compared with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from hopyard.scenario.axis import numbers
from hopyard.tables.labels import Compared, short_keys, varying

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from hopyard import _core
    from hopyard.statistics.estimates import Estimate
    from hopyard.tables.arrays import Integers
    from hopyard.tables.cases import Case

#: The sections of a scenario that say where nodes are.
MOVES = ("nodes", "mobility", "movement", "mobile_host")
#: The keys of these sections that do not.
STILL = ("nodes.system", "nodes.network")
#: The sign beside a difference whose interval is without zero.
MARK = "*"
#: The word for the scenario among the keys in which cases differ.
SCENARIO = "scenario"


class Paired(Compared, Protocol):
    """Results of runs, of which some are pairs."""

    @property
    def cases(self) -> list[Case]:
        """All cases."""

    def runs_of(self, case: Case) -> Integers:
        """The numbers of a case's runs."""

    def met(self, case: Case) -> Hashable:
        """The seed and the movement that the runs of a case meet, as something to compare."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """Cases that are compared, run by run, with the first of them."""

    first: Case
    others: tuple[Case, ...]
    #: The keys in which the others differ from the first, with their short names.
    keys: Mapping[str, str]

    @property
    def label(self) -> str:
        """The words that tell the first from the others: `tcp = newreno`."""
        return ", ".join(f"{short} = {value(self.first, key)}" for key, short in self.keys.items())


def value(case: Case, key: str) -> str:
    """The value of a compared key; the name of the scenario for `scenario`."""
    return case.scenario if key == SCENARIO else case.settings[key]


def pairings(
    results: Paired, cases: Sequence[Case], against: Mapping[str, str] | None = None
) -> tuple[list[Pairing], list[str]]:
    """The comparisons of these cases, and the reasons why cases have none.

    Cases are compared if their seed and their movement are the same, and several runs were made. Each is compared
    with the first case that differs from it in one key alone: the last compared key whose values are names, otherwise
    the last one. With `against`, such as `{"flow.tcp": "cubic"}`, each is compared with the case that has these values
    and is otherwise the same.

    Raises:
        ValueError: when `against` names no compared key or a value that no case has.
    """
    if against is not None:
        check(against, results.cases)
    if len(cases) < 2 or all(len(results.runs_of(case)) < 2 for case in cases):
        return [], []
    groups: dict[Hashable, list[Case]] = {}
    for case in cases:
        groups.setdefault(results.met(case), []).append(case)
    found: list[Pairing] = []
    reasons: list[str] = []
    for group in groups.values():
        keys = _differing(results, group)
        chosen = list(against) if against is not None else _last(keys, group)
        rest = [key for key in keys if not _follows(key, chosen, group)]
        for part in _parted(group, rest):
            first = next((it for it in part if all(value(it, k) == v for k, v in (against or {}).items())), None)
            if first is None:
                wanted = ", ".join(f"{key}={each}" for key, each in (against or {}).items())
                reasons.append(f"{part[0]}: there is no case beside it that has {wanted}, with its seed and movement")
            elif len(part) > 1:
                others = tuple(case for case in part if case is not first)
                short = short_keys(_differing(results, part))
                found.append(Pairing(first, others, short))
    if against is None and any(len(group) == 1 for group in groups.values()):
        reasons.append(_why(results, cases))
    return found, reasons


def check(against: Mapping[str, str], cases: Sequence[Any]) -> None:
    """Refuses a case that nothing can be compared with; `cases` have settings, and a scenario.

    Raises:
        ValueError: when there is no such key, or no case with the value.
    """
    known = dict.fromkeys(key for case in cases for key in case.settings)
    for key, wanted in against.items():
        if key == "seed":
            raise ValueError("runs of different seeds are no pairs: expected another compared key than seed")
        if key != SCENARIO and key not in known:
            there = ", ".join([*known, SCENARIO])
            raise ValueError(f"no compared key is called {key!r}; there are {there}")
        values = list(dict.fromkeys(case.scenario if key == SCENARIO else case.settings.get(key) for case in cases))
        if wanted not in values:
            raise ValueError(f"no case has {key}={wanted}; there are {', '.join(map(str, values))}")


def _differing(results: Paired, cases: Sequence[Case]) -> list[str]:
    several = len({case.scenario for case in cases}) > 1
    return [SCENARIO] * several + varying(results, cases)


def _last(keys: Sequence[str], cases: Sequence[Case]) -> list[str]:
    """The last key whose values are names, as those of variants are; otherwise the last one."""
    names = [key for key in keys if numbers([value(case, key) for case in cases]) is None]
    return (names or list(keys))[-1:]


def _follows(key: str, chosen: Sequence[str], cases: Sequence[Case]) -> bool:
    """Whether the chosen keys say the value of this one too, as where keys are changed together."""
    places = {tuple(value(case, each) for each in chosen) for case in cases}
    return len({(*(value(case, each) for each in chosen), value(case, key)) for case in cases}) == len(places)


def _parted(cases: Sequence[Case], keys: Sequence[str]) -> list[list[Case]]:
    """The cases in groups of the same values of these keys."""
    found: dict[tuple[str, ...], list[Case]] = {}
    for case in cases:
        found.setdefault(tuple(value(case, key) for key in keys), []).append(case)
    return list(found.values())


def moving(key: str) -> bool:
    """Whether a compared key can change where nodes are."""
    return key == "profile" or (key.partition(".")[0] in MOVES and key not in STILL)


def places(core: _core.Scenario) -> object:
    """The parts of a complete scenario that say where nodes are, as something for JSON."""
    document = json.loads(core.to_json(defaults=True))
    still = [key.partition(".")[2] for key in STILL]
    nodes = {key: each for key, each in document.get("nodes", {}).items() if key not in still}
    return [nodes, *(document.get(name) for name in MOVES[1:])]


def _why(results: Paired, cases: Sequence[Case]) -> str:
    keys = [key for key in varying(results, cases) if moving(key) or key == "seed"]
    seeds = not keys and len({case.seed for case in cases}) > 1
    apart = "their seeds" if seeds else ", ".join(keys) or "their scenarios"
    same = "seed" if seeds or keys == ["seed"] else "movement"
    return f"Cases that differ in {apart} do not meet the same {same}: their runs are no pairs, and have no difference"


def signed(difference: Estimate) -> tuple[str, str]:
    """A difference and its half width as texts: with a sign, and a mark where zero is outside."""
    mean, half = difference.parts()
    if not mean.strip("-0.,"):
        mean = mean.removeprefix("-")
    elif difference.mean > 0:
        mean = f"+{mean}"
    return mean, f"{half} {MARK}" if difference.excludes_zero else half
