"""Scenarios: read from files or made in Python, changed, and checked after every change."""

from __future__ import annotations

import copy
import json
import math
import operator
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from hopyard import _core
from hopyard.errors import Problem, ScenarioError, path_of
from hopyard.files import write_text

if TYPE_CHECKING:
    from os import PathLike

#: The values of a scenario: text (such as "2 Mbps"), numbers, booleans, lists and tables. A class
#: of congestion control stands for its name.
Value: TypeAlias = str | int | float | bool | type | Sequence[Any] | Mapping[str, Any]
#: Keys to change, each with a value or a list of values to compare. A tuple of keys has tuples of
#: values, which change together.
Settings: TypeAlias = Mapping[str, Any] | Mapping[tuple[str, ...], Any] | Mapping[Any, Any]
#: The result of reading a key: a value, a `Section` or `Tables`, as the scenario defines.
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
        except (LookupError, TypeError, ValueError):
            raise KeyError(key) from None

    def __setitem__(self, key: str, value: Found) -> None:
        self._scenario._change([((*self._path, *_steps(key)), value)])

    def __delitem__(self, key: str) -> None:
        """Gives a key its default again."""
        if key not in self:
            raise KeyError(key)
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
        for change in changes:
            if not isinstance(change, Mapping):
                raise TypeError(f"update: expected a mapping of keys, found {change!r}")
        merged = {key: value for change in (*changes, keys) for key, value in change.items()}
        self._scenario._change([((*self._path, *_steps(key)), value) for key, value in merged.items()])

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
        name = ".".join(map(str, self._path))
        if not isinstance(index, slice) and not hasattr(index, "__index__"):
            raise TypeError(f"{name}: expected the number of a table, found {index!r}")
        try:
            numbers = range(len(self))[index]
        except IndexError:
            raise IndexError(f"there is no {name}[{index}]: there are {len(self)}, counted from 0") from None
        if isinstance(numbers, range):
            return [Section(self._scenario, (*self._path, number)) for number in numbers]
        return Section(self._scenario, (*self._path, numbers))

    def __getattr__(self, name: str) -> Found:
        if name.startswith("__"):
            raise AttributeError(name)
        what = ".".join(map(str, self._path))
        raise AttributeError(
            f"{what} is a list of tables, and has no {name!r}: expected a key of one of them, such as {what}[0].{name}"
        )

    def __setattr__(self, name: str, value: Found) -> None:
        self._scenario._change([((*self._path, name), value)])

    def append(self, table: Mapping[str, Any]) -> None:
        """Adds a table: `scenario.flow.append({"from": 0, "to": 3})`.

        Raises:
            ScenarioError: when the scenario is wrong with it.
        """
        what = ".".join(map(str, self._path))
        if not isinstance(table, (Mapping, Section)):
            raise TypeError(f"{what}.append: expected a mapping of keys, found {table!r}")
        given: Any = self._scenario._document
        for step in self._path:
            given = given[step]
        self._scenario._change([(self._path, [*given, table])])

    def __len__(self) -> int:
        return len(self._scenario._lookup(self._path))

    def __repr__(self) -> str:
        return repr(list(self))


class Scenario(Section):
    """The description of a run, with the content of a scenario file.

    It is read from a file (`Scenario.load`) or made from the same keys::

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
        self, document: Mapping[str, Any] | None = None, /, *, base: str | PathLike[str] = ".", **keys: Value
    ) -> None:
        """Makes a scenario from its keys, given as a mapping or by name.

        Args:
            document: the keys, as in a file.
            base: the folder from which the names of files are looked up.
            keys: further keys.

        Raises:
            ScenarioError: when the scenario is wrong, with every problem found.
        """
        super().__init__(self, ())
        if document is not None and not isinstance(document, (Mapping, Section)):
            raise TypeError(f"Scenario: expected a mapping of keys, found {document!r}; Scenario.load reads a file")
        text = _json({**(document or {}), **keys})
        self._adopt(_core.Scenario.from_json(text, Path(base)), json.loads(text), Path(base))

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Scenario:
        """Reads a scenario file.

        Raises:
            ScenarioError: when the file is wrong, with every problem found in it.
            OSError: when it cannot be read.
            ValueError: when it is no text, or too large.
        """
        path = path_of(path, "a scenario file")
        return cls.parse(_read_text(path), name=str(path), base=path.parent)

    @classmethod
    def parse(cls, text: str, *, name: str = "scenario", base: str | PathLike[str] = ".") -> Scenario:
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
        """Warnings: settings that are allowed, but may be a mistake."""
        return self._checked.warnings

    def cases(
        self,
        set: Settings | None = None,
        *,
        seed: int | None = None,
        series: str | Sequence[str] = (),
        segments: bool | str | Iterable[int] | None = None,
    ) -> list[Scenario]:
        """The scenarios of a comparison: every choice of one value for each key of `set`.

        A list is several values to compare; so a value that is itself a list stands in a list.
        A tuple of keys has tuples of values, which go together:
        `{("nodes.count", "flow.to"): [(3, 2), (4, 3)]}`.
        `seed`, `series` and `segments` (`measure.segments`) are those of all cases.

        Raises:
            ScenarioError: when a value does not fit, with every problem found.
        """
        given = _given(seed, series, segments)
        core = self._checked.with_settings(given) if given else self._checked
        return [self._of(case, self._base) for case in core.expand(_axes(set))]

    @classmethod
    def load_cases(
        cls,
        path: str | PathLike[str],
        set: Settings | None = None,
        *,
        seed: int | None = None,
        series: str | Sequence[str] = (),
        segments: bool | str | Iterable[int] | None = None,
    ) -> list[Scenario]:
        """The scenarios of a comparison, read from a file; `set` may correct errors in the file.

        Raises:
            ScenarioError: when a value does not fit, with every problem found.
            OSError: when the file cannot be read.
        """
        path = path_of(path, "a scenario file")
        cases = _core.Scenario.parse_cases(
            _read_text(path), str(path), path.parent, _given(seed, series, segments), _axes(set)
        )
        return [cls._of(case, path.parent) for case in cases]

    def setting(self, key: str) -> str | None:
        """The value of a key as text; none where it has no single value.

        That of a key in a list of tables, such as `flow.tcp`, is the value that all of them share.
        """
        return value_of(self._complete, key)

    def copy(self) -> Scenario:
        """An independent scenario with the same keys."""
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
        write_text(path_of(path, "a file"), self.to_toml())

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
        text = _json(document)
        self._adopt(_core.Scenario.from_json(text, self._base), json.loads(text), self._base)


def value_of(complete: Mapping[str, Any], key: str) -> str | None:
    """The value of a key of a complete scenario as text; none where it has no single value."""
    found = _values(complete, _steps(key))
    texts = {value if isinstance(value, str) else json.dumps(value) for value in found}
    return texts.pop() if len(texts) == 1 else None


def _values(where: Any, path: Sequence[_Step]) -> list[Any]:
    """The values of a key: of every table of a list, if no number says which."""
    if not path:
        return [] if isinstance(where, (dict, list)) else [where]
    step, *rest = path
    if isinstance(where, list) and isinstance(step, str):
        return [value for table in where for value in _values(table, path)]
    try:
        return _values(where[step], rest)
    except (LookupError, TypeError):
        return []


def load(path: str | PathLike[str]) -> Scenario:
    """Reads a scenario file; see `Scenario.load`."""
    return Scenario.load(path)


def _remake(document: dict[str, Any], base: Path) -> Scenario:
    return Scenario(document, base=base)


def _steps(key: str) -> list[_Step]:
    """The parts of a dotted key. A part that contains a dot is quoted, as in TOML."""
    if not isinstance(key, str):
        raise TypeError(f"expected a key such as 'mac.dcf.rate', found {key!r}")
    if key and not {".", '"', "'"} & set(key):
        # A single part needs no quotes, so that what iterating over a section gives is a key of it.
        return [int(key) if key.isdecimal() else key]
    return [int(step) if step.isdecimal() else step for step in _core.key_parts(key)]


def _put(where: Any, path: Sequence[_Step], value: Found | None, above: str = "") -> None:
    """Sets a key, or removes it (None); in every table of a list if the path has no index."""
    step, *rest = path
    here = f"{above}.{step}" if above else str(step)
    if isinstance(where, list):
        if isinstance(step, str):
            for table in where:
                _put(table, path, value, above)
            return
        if not 0 <= step < len(where):
            raise _no_key(here, f"there are {len(where)}, counted from 0")
    elif not isinstance(where, dict):
        raise _no_key(here, f"{above} is {where!r}, which has no keys")
    elif rest and step not in where:
        where[step] = {}
    elif not rest and value is None and step not in where:
        return
    if rest:
        _put(where[step], rest, value, here)
    elif value is None:
        del where[step]
    else:
        where[step] = value


def _no_key(key: str, reason: str) -> ScenarioError:
    problem = Problem(key, f"there is no key {key}", reason, None, None, None, None, None)
    text = f"error: there is no key {key}: {reason}"
    return ScenarioError(text, text, [problem])


#: The largest seed.
MOST_SEED = 2**63 - 1
#: The largest scenario file that is read, in bytes.
MOST_BYTES = 16 * 2**20


def _read_text(path: Path) -> str:
    """The text of a scenario file."""
    kind = path.stat().st_mode
    # A pipe that this process was given, as with `<(...)`, has somebody who writes into it. Another
    # one may wait for ever, and a device may have no end.
    given = path.parent in (Path("/dev/fd"), Path("/proc/self/fd")) or path == Path("/dev/stdin")
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind) or (given and stat.S_ISFIFO(kind))):
        raise ValueError(f"{path}: expected a regular file, found {_kind_of(kind)}")
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"{path}: a scenario has at most {MOST_BYTES // 2**20} MiB")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}:{line}: expected UTF-8 text, found the byte 0x{data[error.start]:02x}") from None


def _kind_of(mode: int) -> str:
    """What a path leads to that is no regular file."""
    kinds = {
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "something else")


def _given(
    seed: int | None, series: str | Sequence[str], segments: bool | str | Iterable[int] | None = None
) -> list[tuple[str, str]]:
    if seed is not None and (isinstance(seed, bool) or not hasattr(seed, "__index__")):
        raise TypeError(f"seed: expected a whole number, found {seed!r}")
    if seed is not None and not 0 <= int(seed) <= MOST_SEED:
        raise ValueError(f"seed: expected a whole number from 0 to {MOST_SEED}, found {seed}")
    given = [] if seed is None else [("seed", str(seed))]
    if not isinstance(series, Iterable):
        raise TypeError(f"series: expected the name of a quantity, or several, found {series!r}")
    names = [series] if isinstance(series, str) else list(series)
    if names:
        given.append(("measure.series", _text("series", names)))
    if segments is not None:
        given.append(("measure.segments", _flows(segments)))
    return given


def _flows(segments: bool | str | Iterable[int]) -> str:
    """The value of the key `measure.segments`."""
    if isinstance(segments, (bool, str)):
        text = json.dumps(segments)
    else:
        numbers = list(segments) if isinstance(segments, Iterable) else [segments]
        if any(isinstance(each, bool) or not hasattr(each, "__index__") for each in numbers):
            raise TypeError(f"segments: expected numbers of flows, found {segments!r}")
        text = json.dumps([operator.index(each) for each in numbers])
    return text


def _axes(set: Settings | None) -> list[list[tuple[str, list[str]]]]:
    """The axes of a comparison: for each its keys, each with its values."""
    if set is None:
        return []
    if not isinstance(set, Mapping):
        raise TypeError(f"set: expected a mapping such as {{'flow.tcp': 'vegas'}}, found {set!r}")
    axes = []
    known: list[str] = []
    for key, value in set.items():
        for name in key if isinstance(key, tuple) else (key,):
            if name in known:
                raise ValueError(f"set: {name} is set twice")
            known.append(name)
        if isinstance(value, Columns):
            axes.append([(name, list(values)) for name, values in zip(key, value, strict=True)])
            continue
        if isinstance(key, str):
            axes.append([(key, _choices(key, value))])
            continue
        keys = list(key) if isinstance(key, tuple) else []
        if not keys or not all(isinstance(each, str) for each in keys):
            raise TypeError(f"set: expected a key such as 'flow.tcp', or a tuple, found {key!r}")
        rows = [_listed(row) for row in _listed(value) or [()]]
        if any(row is None or len(row) != len(keys) for row in rows):
            raise TypeError(f"set[{key!r}]: expected a list of tuples of {len(keys)} values each")
        axes.append([(name, [_text(name, row[i]) for row in rows if row]) for i, name in enumerate(keys)])
    return axes


def _listed(value: Any) -> list[Any] | None:
    """The values of a list, a tuple, an array or a Series; None for a single value."""
    if hasattr(value, "tolist") and not isinstance(value, (str, bytes)):
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, Section)):
        return list(value)
    return None


def _json(value: Any) -> str:
    """Values as JSON text. An error names the key of a value that JSON cannot express."""
    return json.dumps(_checked(value, ""), default=_as_plain)


def _checked(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise TypeError(f"{key or 'the scenario'}: expected keys that are text, found {name!r}")
        return {n: _checked(each, f"{key}.{n}" if key else n) for n, each in value.items()}
    if isinstance(value, (Section, Tables)):
        return value
    items = _listed(value)
    if items is not None:
        return [_checked(each, f"{key}.{i}") for i, each in enumerate(items)]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{key}: expected a finite number, found {value}")
    if isinstance(value, (str, int, float, type)) or value is None or hasattr(value, "__fspath__"):
        return value
    raise TypeError(f"{key}: expected text, a number, a list or a table, found {value!r}")


def _as_plain(value: Any) -> Any:
    """Views of scenarios and numbers of numpy, as plain values."""
    if isinstance(value, Section):
        return value._plain()
    if isinstance(value, type):
        from hopyard.congestion.loading import name_of

        return name_of(value)
    if isinstance(value, (Tables, tuple)):
        return [_as_plain(each) for each in value]
    if hasattr(value, "item"):
        return value.item()
    if hasattr(value, "__fspath__"):
        return str(value)
    raise TypeError(f"{value!r} cannot stand in a scenario")


def _choices(key: str, value: Any) -> list[str]:
    values = _listed(value)
    if values == []:
        raise ValueError(f"set[{key!r}]: expected at least one value, found an empty list")
    if value is None or None in (values or []):
        raise TypeError(f"set[{key!r}]: expected a value, or a list of values, found {value!r}")
    return [_text(key, each) for each in ([value] if values is None else values)]


class Columns(list[Any]):
    """For a tuple of keys that go together, the values of each key, as `Given`."""


class Given(str):
    """A value as the command line gives it: TOML, or bare words."""

    __slots__ = ()


def _text(key: str, value: Any) -> str:
    """A value as a setting's text. What a program gives as text stays text: "5" is no number."""
    plain = _as_plain(value) if isinstance(value, type) else value
    if isinstance(plain, str):
        return plain if isinstance(plain, Given) or not _NOT_TEXT.match(plain) else _inline(plain)
    return _inline(json.loads(_json_of(key, plain)))


#: Texts that TOML would read as something else.
_NOT_TEXT = re.compile(r"""\s*(["'\[{]|(true|false|[+-]?(inf|nan|[0-9_]*\.?[0-9_]+([eE].*)?))\s*$|$)""")


def _json_of(key: str, value: Any) -> str:
    return json.dumps(_checked(value, key), default=_as_plain)


def _inline(value: Any) -> str:
    """A value as TOML writes it on one line."""
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)} = {_inline(each)}" for key, each in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    return json.dumps(value)
