"""What is to be run: the cases of a comparison, told apart, and the numbers of their runs."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, cast

from hopyard.scenario.recorded import ALL_SEGMENTS, MOBILE_EVENTS, PATHS, RATES, ROUTES, SEGMENTS, is_recorded
from hopyard.scenario.run_numbers import MOST_RUN, read_numbers, write_numbers
from hopyard.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopyard import _core
    from hopyard.scenario.scenario import Settings

#: A scenario: itself, its keys, or the path of its file.
Given: TypeAlias = "Scenario | Mapping[str, Any] | str | PathLike[str]"
#: The most runs of one call. More are split into calls, with a folder that collects them.
MOST_RUNS = 1_000_000
#: The most runs at a time.
MOST_JOBS = 1024


@dataclass(frozen=True)
class Planned:
    """A case whose runs are to be made."""

    core: _core.Scenario
    #: What the scenario is called, told apart from others of its name.
    scenario: str
    #: The file that it was read from, if it was.
    file: str | None
    settings: dict[str, str]
    #: The numbers of its runs.
    runs: Sequence[int]
    #: The folder from which the names of its files are looked up.
    base: Path = field(default=Path(), kw_only=True)
    config: str = field(init=False)
    seed: int = field(init=False)
    #: The quantities that are sampled over time, and how often.
    series: tuple[str, ...] = field(init=False)
    #: What is recorded beyond that, as names that do not occur among the quantities.
    recorded: tuple[str, ...] = field(init=False)
    interval: str = field(init=False)

    def __post_init__(self) -> None:
        measure = json.loads(self.core.to_json(defaults=True)).get("measure", {})
        values = {
            "config": self.core.hash,
            "seed": self.core.seed,
            "series": tuple(measure.get("series", ())),
            "recorded": _recorded(measure),
            "interval": str(measure.get("interval", "")),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def key(self) -> tuple[str, int]:
        """Configuration and seed: with a number they make a run."""
        return self.config, self.seed

    def sampling(self, series: Iterable[str], interval: str = "") -> Planned:
        """The case with further quantities sampled; at an interval, if it samples none itself."""
        mine = [*self.series, *self.recorded]
        wanted = list(dict.fromkeys([*mine, *series]))
        if wanted == mine:
            return self
        given = measuring(wanted, "" if self.series else interval)
        core = self.core.with_settings(given)
        return replace(self, core=core)

    @property
    def observed(self) -> tuple[str, ...]:
        """All that is sampled or recorded, by name."""
        return self.series + self.recorded

    def only(self, runs: Sequence[int]) -> Planned:
        """The case with these runs."""
        return replace(self, runs=runs)


def _recorded(measure: Mapping[str, Any]) -> tuple[str, ...]:
    """What a scenario records beyond series. Where the routes of all are, those of flows are."""
    routes = {"flows": ROUTES[:1], "all": ROUTES}.get(measure.get("routes", ""), ())
    rates = (RATES,) if measure.get("rates") else ()
    paths = (PATHS,) if measure.get("paths") else ()
    events = (MOBILE_EVENTS,) if measure.get("mobile_events") else ()
    return (*routes, *rates, *paths, *events, *segment_names(measure.get("segments", False)))


def segment_names(flows: bool | str | None) -> tuple[str, ...]:
    """The names of the flows whose segments are recorded, as a store has them."""
    if flows is None or isinstance(flows, bool):
        return (ALL_SEGMENTS,) if flows else ()
    return tuple(f"{SEGMENTS}{flow}" for flow in read_numbers(flows))


def measuring(names: Sequence[str], interval: str) -> list[tuple[str, str]]:
    """The settings of a scenario with which this is sampled, at an interval, and recorded."""
    series = [name for name in names if not is_recorded(name)]
    given = [("measure.series", json.dumps(series))] if series else []
    if series and interval:
        given.append(("measure.interval", json.dumps(interval)))
    if routes := [each for each in zip(ROUTES, ("flows", "all"), strict=True) if each[0] in names]:
        given.append(("measure.routes", json.dumps(routes[-1][1])))
    if RATES in names:
        given.append(("measure.rates", "true"))
    if PATHS in names:
        given.append(("measure.paths", "true"))
    if MOBILE_EVENTS in names:
        given.append(("measure.mobile_events", "true"))
    if segments := [name for name in names if name.startswith(SEGMENTS)]:
        flows = [int(name.removeprefix(SEGMENTS)) for name in segments if name != ALL_SEGMENTS]
        every = ALL_SEGMENTS in segments
        given.append(("measure.segments", "true" if every else json.dumps(write_numbers(flows))))
    return given


def plan(
    scenario: Given | Iterable[Given],
    *,
    runs: int | Iterable[int] | None = None,
    seed: int | None = None,
    set: Settings | None = None,
    series: str | Sequence[str] = (),
    segments: bool | str | Iterable[int] | None = None,
) -> list[Planned]:
    """The cases of a comparison with the numbers of their runs.

    Raises:
        ScenarioError: when a scenario is wrong.
        ValueError: when there is nothing to run, too much, or the same twice.
    """
    several = isinstance(scenario, Iterable) and not isinstance(scenario, (Mapping, str, bytes))
    given: list[Any] = list(scenario) if several else [scenario]  # type: ignore[arg-type]
    for place, each in enumerate(given):
        if isinstance(each, Mapping) and not isinstance(each, Scenario):
            given[place] = Scenario(each)
        elif not isinstance(each, (Scenario, str, PathLike)):
            raise TypeError(f"scenario: expected a scenario, its keys or the path of a file, found {each!r}")
    if not given:
        raise ValueError("there is no scenario to run")
    chosen = numbers(runs)
    _not_twice(set, {"seed": seed, "runs": runs, "measure.series": series or None, "measure.segments": segments})
    files = [None if isinstance(each, Scenario) else str(each) for each in given]
    # A file is read with its settings, which may mend what is wrong in it.
    read = [
        each.cases(set, seed=seed, series=series, segments=segments)
        if isinstance(each, Scenario)
        else Scenario.load_cases(each, set, seed=seed, series=series, segments=segments)
        for each in given
    ]
    names = _told_apart([each[0] for each in read], files)
    cases = []
    for name, file, each in zip(names, files, read, strict=True):
        for case in each:
            core = case.core
            own = range(core.runs) if chosen is None else chosen
            # A name that is compared is a setting already.
            label = core.name if name is None else name
            cases.append(Planned(core, label, file, dict(core.settings), own, base=case._base))
    no_case_twice((case.scenario, case.settings, case.core) for case in cases)
    total = sum(len(case.runs) for case in cases)
    if total > MOST_RUNS:
        raise ValueError(f"expected at most {MOST_RUNS:,} runs in one call, found {total:,}")
    return cases


def _not_twice(set: Settings | None, given: Mapping[str, object]) -> None:
    """Refuses a key that `set` and an argument of its own both give."""
    if not isinstance(set, Mapping):
        return  # None, or what the reader of `set` refuses.
    keys = {part for key in set for part in (key if isinstance(key, tuple) else (key,))}
    for key, value in given.items():
        if value is not None and key in keys:
            name = key.rpartition(".")[2]
            raise ValueError(f"{key} is set, and {name} is given too ({value}): expected one")


def threads(jobs: int | None, runs: int) -> int:
    """How many runs go on at a time; 0 stands for one for each core.

    Raises:
        ValueError: when so many threads are not made.
    """
    if jobs is None:
        return 0
    if isinstance(jobs, bool) or not hasattr(jobs, "__index__"):
        raise TypeError(f"jobs: expected a whole number, found {jobs!r}")
    if jobs < 1:
        raise ValueError(f"expected one run at a time or more (jobs), found {jobs}")
    wanted = min(jobs, max(runs, 1))
    if wanted > MOST_JOBS:
        raise ValueError(f"expected at most {MOST_JOBS} runs at a time (jobs), found {jobs}")
    return wanted


def numbers(runs: int | Iterable[int] | None) -> Sequence[int] | None:
    """The numbers of runs, given as how many or one by one."""
    if runs is None:
        return None
    if hasattr(runs, "__index__") and not getattr(runs, "shape", ()) and not isinstance(runs, bool):
        runs = operator.index(cast("SupportsIndex", runs))
    if isinstance(runs, int) and not isinstance(runs, bool):
        if runs < 1:
            raise ValueError(f"runs: expected one run or more, found {runs}")
        if runs > MOST_RUNS:
            raise ValueError(f"runs: expected at most {MOST_RUNS:,} runs in one call, found {runs:,}")
        return range(runs)
    if not isinstance(runs, Iterable) or isinstance(runs, (str, bytes, Mapping)):
        raise TypeError(f"runs: expected a whole number, or numbers of runs, found {runs!r}")
    given = list(runs)
    for run in given:
        if isinstance(run, bool) or not hasattr(run, "__index__"):
            raise TypeError(f"runs: expected whole numbers, found {run!r}")
    found = sorted({operator.index(run) for run in given})
    if not found:
        raise ValueError("runs: expected one run or more, found none")
    if found[0] < 0 or found[-1] >= MOST_RUN:
        wrong = found[0] if found[0] < 0 else found[-1]
        raise ValueError(f"runs: expected numbers from 0 to {MOST_RUN - 1}, found {wrong}")
    return found


def _told_apart(scenarios: Sequence[Scenario], files: Sequence[str | None]) -> list[str | None]:
    """A name for each scenario; none for one whose own name is enough."""
    names: list[str | None] = [None] * len(scenarios)
    groups: dict[str, list[int]] = {}
    for index, scenario in enumerate(scenarios):
        groups.setdefault(scenario.core.name, []).append(index)
    for name, members in groups.items():
        if len(members) == 1:
            continue
        seen: dict[tuple[str, int], int] = {}
        for index in members:
            core = scenarios[index].core
            other = seen.setdefault((core.hash, core.seed), index)
            if other != index:
                here = files[index] or f"scenario {index + 1}"
                there = files[other] or f"scenario {other + 1}"
                raise ValueError(f"{here} and {there} are the same scenario, {name!r}: expected different ones")
        stems = [Path(files[index] or "").stem for index in members]
        if all(stems) and len(dict.fromkeys(stems)) == len(stems):
            labels = stems
        else:
            labels = _by_their_keys(name, [scenarios[index] for index in members])
        for index, label in zip(members, labels, strict=True):
            names[index] = label
    return names


def _by_their_keys(name: str, scenarios: Sequence[Scenario]) -> list[str]:
    """Scenarios of one name, told apart by the keys that differ, or by number."""
    flat = [_flat(json.loads(each.core.to_json(defaults=True))) for each in scenarios]
    keys = [
        key
        for key in dict.fromkeys(key for each in flat for key in each)
        if len({json.dumps(each.get(key)) for each in flat}) > 1
    ]
    return [
        f"{name} ({', '.join(f'{key}={each.get(key)}' for key in keys)})" if len(keys) <= 3 else f"{name} {number}"
        for number, each in enumerate(flat, 1)
    ]


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        entries = dict(enumerate(value)).items()
    else:
        return {path: value}
    found: dict[str, Any] = {}
    for key, each in entries:
        found |= _flat(each, f"{path}.{key}" if path else str(key))
    return found


def no_case_twice(cases: Iterable[tuple[str, dict[str, str], _core.Scenario]]) -> None:
    """Refuses a comparison that has the same twice.

    Args:
        cases: the name, the settings, and the scenario of each case.

    Raises:
        ValueError: when two cases have the same name and settings, or the same name and runs: they
            differ in how a value is written, or in a key on which no result depends.
    """
    seen: dict[tuple[str, tuple[str, int]], str] = {}
    for name, settings, core in cases:
        key = (core.hash, core.seed)
        mine = ", ".join(f"{each}={value}" for each, value in settings.items()) or name
        if (name, key) in seen:
            other = seen[name, key]
            what = f"{mine} is given twice" if mine == other else f"{other} and {mine} are the same"
            problem = f"{what}: expected different values to compare"
            for each in settings:
                if hidden := _hidden_by(each, core):
                    problem += f"; `{hidden}` is given by itself, and holds there instead of `{each}`"
            raise ValueError(problem)
        seen[name, key] = mine


def _hidden_by(setting: str, core: _core.Scenario) -> str | None:
    """The key of a single flow, channel or movement that a scenario gives beside a shared one."""
    room, _, rest = setting.partition(".")
    if not rest:
        return None
    for path in _flat(json.loads(core.to_json(defaults=False))):
        words = [word for word in path.split(".") if not word.isdigit()]
        if words[0] != room and ".".join(words[1:]) == rest:
            return ".".join(words)
    return None


def warnings(cases: Iterable[tuple[str | None, _core.Scenario]]) -> list[str]:
    """The warnings of the cases of a comparison, each with the file that it is from.

    A table that one of the cases of a file uses is not one that is not used. A case in which a key has its default
    does not use it.
    """
    by_file: dict[str | None, list[_core.Scenario]] = {}
    for file, core in cases:
        by_file.setdefault(file, []).append(core)
    found: dict[str, None] = {}
    for cores in by_file.values():
        unused = [dict(core.unused) for core in cores]
        everywhere = {key for key in unused[0] if all(key in each for each in unused)}
        # The text names the model that is used instead: one of the texts is enough.
        shown = {next(filter(None, (each[key] for each in unused)), None) for key in everywhere}
        hidden = {text for each in unused for text in each.values()} - shown
        found |= dict.fromkeys(text for core in cores for text in core.warnings if text not in hidden)
    return list(found)
