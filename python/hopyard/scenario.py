"""Scenarios: read from files or made in Python, which is the same; changed, and always checked."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from hopyard import _core

if TYPE_CHECKING:
    from os import PathLike

#: What may stand in a scenario: text ("2 Mbps" too), numbers, truth values, lists and tables; a
#: class of window rules stands for its name.
Value: TypeAlias = str | int | float | bool | type | Sequence[Any] | Mapping[str, Any]
#: What reading a key gives: a value, a `Section` or `Tables`; only the scenario knows which.
Found: TypeAlias = Any
_Step: TypeAlias = "str | int"


class Section(MutableMapping[str, Found]):
    """A table of a scenario: `scenario.tcp.window` is `scenario["tcp.window"]`."""

    __slots__ = ("_path", "_scenario")
    _path: tuple[_Step, ...]
    _scenario: Scenario

    def __init__(self, scenario: Scenario, path: tuple[_Step, ...]) -> None:
        object.__setattr__(self, "_scenario", scenario)
        object.__setattr__(self, "_path", path)

    def __getitem__(self, key: str) -> Found:
        try:
            return self._scenario._read((*self._path, *_steps(key)))
        except (LookupError, TypeError):
            raise KeyError(key) from None

    def __setitem__(self, key: str, value: Found) -> None:
        self._scenario._change([((*self._path, *_steps(key)), value)])

    def __delitem__(self, key: str) -> None:
        """Gives a key its default again."""
        self._scenario._change([((*self._path, *_steps(key)), None)])

    def __getattr__(self, name: str) -> Found:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"{self._title()} has no key {name!r}") from None

    def __setattr__(self, name: str, value: Found) -> None:
        self[name] = value

    def __iter__(self) -> Iterator[str]:
        return iter(self._plain())

    def __len__(self) -> int:
        return len(self._plain())

    def __eq__(self, other: object) -> bool:
        return bool(self._plain() == (other._plain() if isinstance(other, Section) else other))

    def __repr__(self) -> str:
        return f"<{self._title()}: {self._plain()}>"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def update(self, *changes: Mapping[str, Any], **keys: Value) -> None:  # type: ignore[override]
        """Makes several changes at once; they are checked together. Keys may be dotted paths."""
        merged = {key: value for change in (*changes, keys) for key, value in change.items()}
        self._scenario._change(
            [((*self._path, *_steps(key)), value) for key, value in merged.items()]
        )

    def _plain(self) -> Any:
        return self._scenario._lookup(self._path)

    def _title(self) -> str:
        return f"[{'.'.join(map(str, self._path))}]" if self._path else "scenario"


class Tables(Sequence["Section"]):
    """A list of tables, such as `scenario.flow`; setting a key of it sets it in every table."""

    __slots__ = ("_path", "_scenario")
    _path: tuple[_Step, ...]
    _scenario: Scenario

    def __init__(self, scenario: Scenario, path: tuple[_Step, ...]) -> None:
        object.__setattr__(self, "_scenario", scenario)
        object.__setattr__(self, "_path", path)

    @overload
    def __getitem__(self, index: int) -> Section: ...
    @overload
    def __getitem__(self, index: slice) -> list[Section]: ...
    def __getitem__(self, index: int | slice) -> Section | list[Section]:
        numbers = range(len(self))[index]
        if isinstance(numbers, range):
            return [Section(self._scenario, (*self._path, number)) for number in numbers]
        return Section(self._scenario, (*self._path, numbers))

    def __setattr__(self, name: str, value: Found) -> None:
        self._scenario._change([((*self._path, name), value)])

    def __len__(self) -> int:
        return len(self._scenario._lookup(self._path))

    def __repr__(self) -> str:
        return repr(list(self))


class Scenario(Section):
    """What a run is made of, as a scenario file says it.

    It is read from a file (`Scenario.load`) or made from the same keys:

        Scenario(
            duration="60 s",
            nodes={"count": 7, "spacing": "200 m"},
            flow=[{"from": 0, "to": 6, "tcp": "vegas"}],
        )

    A key that was not given has its default. Every change is checked against the whole scenario;
    one that does not fit raises `ScenarioError` and changes nothing. Changes that only fit together
    are made together, with `update`.
    """

    __slots__ = ("_base", "_checked", "_complete", "_document")
    _checked: _core.Scenario
    _document: dict[str, Any]
    _complete: dict[str, Any]
    _base: Path

    def __init__(
        self,
        document: Mapping[str, Any] | None = None,
        /,
        *,
        base: str | PathLike[str] = ".",
        **keys: Value,
    ) -> None:
        """Makes a scenario from its keys, given as a mapping or by name.

        Args:
            document: the keys, as in a file.
            base: the folder from which the names of movement files are looked up.
            keys: further keys.

        Raises:
            ScenarioError: when the scenario is wrong, with every problem found.
        """
        super().__init__(self, ())
        text = json.dumps({**(document or {}), **keys}, default=_as_plain)
        self._adopt(_core.Scenario.from_json(text, Path(base)), json.loads(text), Path(base))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Scenario:
        """Reads a scenario file.

        Raises:
            ScenarioError: when the file is wrong, with every problem found in it.
            OSError: when it cannot be read.
        """
        path = Path(path)
        return cls.parse(path.read_text(encoding="utf-8"), name=str(path), base=path.parent)

    @classmethod
    def parse(
        cls, text: str, *, name: str = "scenario", base: str | PathLike[str] = "."
    ) -> Scenario:
        """Reads a scenario from text; `name` stands for the file in problems.

        Raises:
            ScenarioError: when the text is wrong, with every problem found in it.
        """
        return cls._of(_core.Scenario.parse(text, name, Path(base)), Path(base))

    @classmethod
    def _of(cls, core: _core.Scenario, base: Path) -> Scenario:
        made = cls.__new__(cls)
        Section.__init__(made, made, ())
        made._adopt(core, json.loads(core.to_json(defaults=False)), base)
        return made

    def _adopt(self, core: _core.Scenario, document: dict[str, Any], base: Path) -> None:
        complete = json.loads(core.to_json(defaults=True))
        values = {"_checked": core, "_document": document, "_complete": complete, "_base": base}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def core(self) -> _core.Scenario:
        """The checked scenario, as the core runs it."""
        return self._checked

    @property
    def hash(self) -> str:
        """The hash of what the scenario means: equal for equal runs, however they were written."""
        return self._checked.hash

    @property
    def warnings(self) -> list[str]:
        """What is allowed, but may not be meant."""
        return self._checked.warnings

    def cases(
        self,
        set: Mapping[str, Value | Sequence[Any]] | None = None,
        *,
        seed: int | None = None,
        series: Sequence[str] = (),
    ) -> list[Scenario]:
        """The scenarios of a comparison: every choice of one value for each key of `set`.

        A list is several values to compare; so a value that is itself a list stands in a list.
        `seed` and `series` are those of all cases.

        Raises:
            ScenarioError: when a value does not fit, with every problem found.
        """
        given = [] if seed is None else [("seed", str(seed))]
        if series:
            given.append(("measure.series", json.dumps(list(series))))
        core = self._checked.with_settings(given) if given else self._checked
        settings = [(key, _choices(value)) for key, value in (set or {}).items()]
        return [self._of(case, self._base) for case in core.expand(settings)]

    def copy(self) -> Scenario:
        """A scenario of its own with the same keys."""
        return self._of(self._checked, self._base)

    def to_toml(self) -> str:
        """The scenario as a file that says every key, those with their defaults too."""
        return self._checked.to_toml(defaults=True)

    def to_dict(self) -> dict[str, Any]:
        """The keys that were given."""
        return copy.deepcopy(self._document)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the scenario as a file that says every key.

        Raises:
            OSError: when it cannot be written.
        """
        Path(path).write_text(self.to_toml(), encoding="utf-8")

    def __repr__(self) -> str:
        return f"<hopyard scenario {self._complete['name']!r}, {self.hash}>"

    def __reduce__(self) -> tuple[object, ...]:
        return _remake, (self._document, self._base)

    def _lookup(self, path: tuple[_Step, ...]) -> Any:
        value: Any = self._complete
        for step in path:
            value = value[step]
        return value

    def _read(self, path: tuple[_Step, ...]) -> Found:
        value = self._lookup(path)
        if isinstance(value, dict):
            return Section(self, path)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return Tables(self, path)
        return copy.deepcopy(value)

    def _change(self, changes: Sequence[tuple[tuple[_Step, ...], Found | None]]) -> None:
        document = copy.deepcopy(self._document)
        for path, value in changes:
            _put(document, path, value)
        text = json.dumps(document, default=_as_plain)
        self._adopt(_core.Scenario.from_json(text, self._base), json.loads(text), self._base)


def load(path: str | PathLike[str]) -> Scenario:
    """Reads a scenario file; see `Scenario.load`."""
    return Scenario.load(path)


def _remake(document: dict[str, Any], base: Path) -> Scenario:
    return Scenario(document, base=base)


def _steps(key: str) -> list[_Step]:
    """The steps of a dotted key; one with dots in it stands in quotes, as in TOML."""
    steps = [step or quoted.strip("\"'") for quoted, step in _STEP.findall(key)]
    return [int(step) if step.isdecimal() else step for step in steps]


_STEP = re.compile(r"""(?:^|(?<=\.))(?:("[^"]*"|'[^']*')(?=\.|$)|([^.]*))""")


def _put(where: Any, path: Sequence[_Step], value: Found | None) -> None:
    """Sets a key, or takes it away (None); in every table of a list, if no number says which."""
    step, *rest = path
    if isinstance(where, list) and isinstance(step, str):
        for table in where:
            _put(table, path, value)
    elif rest:
        _put(where.setdefault(step, {}) if isinstance(step, str) else where[step], rest, value)
    elif value is None:
        del where[step]
    else:
        where[step] = value


def _as_plain(value: Any) -> Any:
    """Views of scenarios, and numbers of numpy's, as what they stand for."""
    if isinstance(value, Section):
        return value._plain()
    if isinstance(value, type):
        from hopyard.rules import name_of

        return name_of(value)
    if isinstance(value, (Tables, tuple)):
        return [_as_plain(each) for each in value]
    if hasattr(value, "item"):
        return value.item()
    if hasattr(value, "__fspath__"):
        return str(value)
    raise TypeError(f"{value!r} cannot stand in a scenario")


def _choices(value: Value | Sequence[Any]) -> list[str]:
    values = [value] if isinstance(value, str) or not isinstance(value, Sequence) else value
    return [each if isinstance(each, str) else _text(each) for each in values]


def _text(value: Any) -> str:
    plain = _as_plain(value) if isinstance(value, type) else value
    return plain if isinstance(plain, str) else json.dumps(plain, default=_as_plain)
