"""Finds and checks classes of congestion control, creates instances, and explains exceptions.

The core calls this module. Users need `hopyard.congestion` only.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import importlib
import inspect
import json
import keyword
import linecache
import math
import sys
import textwrap
import traceback
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from random import Random
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, get_origin

from hopyard.congestion import CongestionControl

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENTS = (
    "on_arrival",
    "on_ack",
    "on_duplicate",
    "on_loss",
    "on_timeout",
    "on_recovered",
    "on_undo",
    "on_condition",
    "on_sent",
    "on_route",
    "on_idle",
    "on_timer",
)
#: What a class may set of its connection.
SETTABLE = ("cwnd", "ssthresh", "deadline", "pacing_gap", "bandwidth", "limits_itself")
REQUIRED = ("on_ack", "on_loss", "on_timeout")
KINDS: dict[Any, type] = {kind: kind for kind in (bool, int, float, str)} | {
    kind.__name__: kind for kind in (bool, int, float, str)
}

#: Classes that a program has put into a scenario, by their names in the scenario.
_given: dict[str, type] = {}
#: Modules that were found in the folder of a scenario: that folder, the file and its content.
_beside: dict[str, tuple[Path, Path | None, bytes]] = {}
#: The hash of each class's source, taken when it was first seen.
_sources: dict[type, str] = {}


class RuleError(ValueError):
    """A class cannot be used: the problem, what was expected, and a hint."""

    def __init__(self, message: str, expected: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.expected = expected
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Found:
    """A class of congestion control, with the information for the core."""

    rule: type[CongestionControl]
    #: Its parameters with their defaults, as JSON.
    defaults: str
    #: The hash of its source.
    source: str
    #: The events that it defines.
    events: list[str]


def name_of(rule: type) -> str:
    """The name of a class in a scenario. Remembers the class under this name.

    If a class is defined again under the same name, the last definition is used. Classes defined in
    functions can have equal names; they get numbers.
    """
    name = f"{rule.__module__}:{rule.__qualname__}"
    if "<locals>" in name:
        number, first = 1, name
        while _given.get(name, rule) is not rule:
            number += 1
            name = f"{first}#{number}"
    _given[name] = rule
    return name


def find(name: str, folder: str | Path) -> Found:
    """The class with a name such as "my_module:MyTcp", for a scenario in `folder`.

    Raises:
        RuleError: if there is no such class, or it is not a congestion control.
    """
    module, _, path = name.partition(":")
    rule: Any = _given.get(name)
    if rule is None:
        rule = _import(module, Path(folder))
        for step in path.split("."):
            if not hasattr(rule, step):
                raise _missing(name, rule, step)
            rule = getattr(rule, step)
    if not isinstance(rule, type):
        raise RuleError(f"`{name}` is {rule!r}, and not a class")
    if not issubclass(rule, CongestionControl):
        raise RuleError(
            f"`{name}` is not a congestion control",
            "a subclass of hopyard.CongestionControl",
            f"class {rule.__name__}(CongestionControl):",
        )
    events = _events(name, rule)
    return Found(rule, json.dumps(_parameters(name, rule)), _source(rule), events)


def make(rule: type[CongestionControl], parameters: str, seed: int) -> CongestionControl:
    """Creates the instance of one connection of one run. The core calls this."""
    made = rule.__new__(rule)
    vars(made).update(json.loads(parameters))
    made.random = Random(seed)
    made.__init__()  # type: ignore[misc]  # The parameters are set before this call.
    if not isinstance(made.recovery, str):
        raise TypeError(f"recovery: expected a name such as 'newreno', found {made.recovery!r}")
    return made


def explain(error: BaseException, rule: type, during: str) -> str:
    """The message of an exception in an event, with the lines of code, the innermost first."""
    what = "".join(traceback.format_exception_only(error)).strip().splitlines()
    text = [f"{rule.__qualname__}.{during} raised {what[-1] if what else repr(error)}"]
    linecache.checkcache()
    here = Path(__file__)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename) == here:
            continue
        text.append(f"  {frame.filename}:{frame.lineno}, in {frame.name}")
        if frame.line:
            text.append(f"    {frame.line}")
    return "\n".join(text)


def _import(name: str, folder: Path) -> ModuleType:
    """Imports a module from sys.path, from the scenario's folder, or from the current directory."""
    steps = name.split(".")
    if not all(step.isidentifier() and not keyword.iskeyword(step) for step in steps):
        raise RuleError(f"`{name}` is not the name of a module", "module:Class")
    top = steps[0]
    if name in sys.modules and top not in _beside:
        return sys.modules[name]
    folders = list(dict.fromkeys((folder.resolve(), Path.cwd())))
    try:
        if PathFinder.find_spec(top) is not None:
            _forget()
            return importlib.import_module(name)
        for place in folders:
            if PathFinder.find_spec(top, [str(place)]) is not None:
                return _import_beside(name, place)
    except RuleError:
        raise
    except SyntaxError as error:
        spec = next((each for each in _specs(top, folders) if each.origin), None)
        at = error.filename or (spec.origin if spec and top == name else None) or name
        at += f":{error.lineno}" if error.lineno else ""
        line = (error.text or "").strip()
        raise RuleError(f"the module `{name}` is not Python: {error.msg}, at {at}", None, line or None) from error
    except ModuleNotFoundError as error:
        hint = f"it, or a module that it imports: {error}"
        raise RuleError(f"the module `{name}` cannot be imported", None, hint) from error
    except Exception as error:
        frames = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if "importlib" not in frame.filename and Path(frame.filename) != Path(__file__)
        ]
        at = f", at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
        what = f"{type(error).__name__}: {error}"
        raise RuleError(f"the module `{name}` cannot be imported: {what}{at}") from error
    places = " and ".join(str(place) for place in folders)
    raise RuleError(f"there is no module `{name}`", None, f"it was looked for on sys.path, in {places}")


def _specs(top: str, folders: list[Path]) -> Iterator[ModuleSpec]:
    """Where a module is found: on sys.path, or in one of the folders."""
    for places in (None, *([str(folder)] for folder in folders)):
        if (spec := PathFinder.find_spec(top, places)) is not None:
            yield spec


def _import_beside(name: str, folder: Path) -> ModuleType:
    """Imports a module from a folder; again if the folder or a file of the modules has changed.

    Modules that it imports from there are imported again, too.
    """
    importlib.invalidate_caches()
    if any(
        place != folder or (file is not None and _content(file) != content) for place, file, content in _beside.values()
    ):
        _forget()
    before, writes = set(sys.modules), sys.dont_write_bytecode
    sys.path.append(str(folder))
    # Compiled code can be older than the file although both have the same time stamp.
    sys.dont_write_bytecode = True
    try:
        module = importlib.import_module(name)
    except BaseException:
        for each in _new(before, folder):
            del sys.modules[each]
        raise
    finally:
        sys.dont_write_bytecode = writes
        sys.path.remove(str(folder))
    for each, file in _new(before, folder).items():
        _beside[each] = folder, file, _content(file)
    return module


def _new(before: set[str], folder: Path) -> dict[str, Path | None]:
    """The modules that were imported from a folder since then, with their files."""
    found: dict[str, Path | None] = {}
    for name in set(sys.modules) - before:
        module = sys.modules[name]
        file = getattr(module, "__file__", None)
        # A package without a file of its own has a path.
        places = [file] if file else list(getattr(module, "__path__", ()))
        if any(Path(place).is_relative_to(folder) for place in places):
            found[name] = Path(file) if file else None
    return found


def _content(file: Path | None) -> bytes:
    try:
        return b"" if file is None else file.read_bytes()
    except OSError:
        return b""


def _forget() -> None:
    """Removes the modules of a scenario's folder from the imported modules."""
    for name in _beside:
        sys.modules.pop(name, None)
    _beside.clear()


def _missing(name: str, where: Any, step: str) -> RuleError:
    """The error for a module without the class. It lists the classes of the module."""
    rules = [
        each
        for each, value in vars(where).items()
        if isinstance(value, type) and issubclass(value, CongestionControl) and value is not CongestionControl
    ]
    message = f"`{name}` is not there: {getattr(where, '__name__', where)} has no `{step}`"
    near = difflib.get_close_matches(step, rules, 1)
    expected = " or ".join(f"`{rule}`" for rule in rules) or None
    return RuleError(message, expected, f'did you mean "{near[0]}"?' if near else None)


def _events(name: str, rule: type) -> list[str]:
    """The events that a class defines."""
    for known in dir(rule):
        if known.startswith("on_") and known not in EVENTS:
            near = difflib.get_close_matches(known, EVENTS, 1)
            hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(EVENTS)}"
            raise RuleError(f"`{name}` has a method `{known}`, which is no event", None, hint)
    own = [event for event in EVENTS if getattr(rule, event) is not _base(event)]
    if missing := [event for event in REQUIRED if event not in own]:
        raise RuleError(
            f"`{name}` does not say what happens in {' and '.join(missing)}",
            f"a method for each of {', '.join(REQUIRED)}",
        )
    for event in own:
        if not callable(getattr(rule, event)):
            raise RuleError(f"`{event}` of `{name}` is not a method")
        _check_arguments(name, rule, event)
    _check_attributes(name, rule, own)
    return own


def _check_arguments(name: str, rule: type, event: str) -> None:
    """Refuses a method that cannot be called with the argument of its event."""
    wanted = list(inspect.signature(_base(event)).parameters)  # type: ignore[arg-type]
    static = isinstance(inspect.getattr_static(rule, event), staticmethod | classmethod)
    try:
        signature = inspect.signature(getattr(rule, event))
    except (TypeError, ValueError):
        # A callable that tells nothing of its arguments.
        return
    try:
        signature.bind(*wanted[static:])
    except TypeError as error:
        raise RuleError(
            f"`{event}{signature}` of `{name}` cannot be called with its event: {error}",
            f"def {event}({', '.join(wanted)})",
        ) from None


def _check_attributes(name: str, rule: type, events: list[str]) -> None:
    """Refuses an attribute that is set without any effect: nothing reads it.

    It is a misspelling of one of the connection's, or the deadline of a class without `on_timer`.
    """
    stored, loaded = set[str](), set[str]()
    for each in _own_classes(rule):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(each)))
        except (OSError, TypeError, SyntaxError):
            # There is no source text, as in an interactive session.
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                (stored if isinstance(node.ctx, ast.Store) else loaded).add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                # It may be the name of an attribute, for `getattr`.
                loaded.add(node.value)
    settable = [each for each in SETTABLE if hasattr(CongestionControl, each)]
    for attribute in sorted(stored - loaded - set(dir(CongestionControl))):
        if near := difflib.get_close_matches(attribute, settable, 1, 0.75):
            raise RuleError(
                f"`{name}` sets `self.{attribute}`, which nothing reads", None, f"did you mean `self.{near[0]}`?"
            )
    if "deadline" in stored and "on_timer" not in events:
        raise RuleError(f"`{name}` sets `self.deadline`, and has no method for what happens then", "def on_timer(self)")


def _base(event: str) -> object:
    return getattr(CongestionControl, event)


def _parameters(name: str, rule: type) -> dict[str, Any]:
    """The parameters of a class with their defaults: annotated attributes with a default."""
    parameters: dict[str, Any] = {}
    for each in reversed(_own_classes(rule)):
        for key, annotation in inspect.get_annotations(each).items():
            if key.startswith("_") or _is_class_variable(annotation) or not hasattr(rule, key):
                continue
            if hasattr(CongestionControl, key):
                raise RuleError(f"`{key}` of `{name}` belongs to every congestion control: it is no parameter")
            kind = KINDS.get(annotation.strip() if isinstance(annotation, str) else annotation)
            if kind is None:
                raise RuleError(
                    f"the parameter `{key}` of `{name}` is annotated with {annotation}",
                    "int, float, bool or str",
                    "a ClassVar, or a name with a leading underscore, is not a parameter",
                )
            parameters[key] = _default(name, key, kind, getattr(rule, key))
    return parameters


def _default(name: str, key: str, kind: type, value: Any) -> Any:
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        raise RuleError(
            f"the parameter `{key}` of `{name}` has the default {value!r}",
            f"{'a finite ' if kind is float else ''}{kind.__name__}",
        )
    return value


def _is_class_variable(annotation: object) -> bool:
    if isinstance(annotation, str):
        return annotation.strip().removeprefix("typing.").startswith("ClassVar")
    return annotation is ClassVar or get_origin(annotation) is ClassVar


def _own_classes(rule: type) -> list[type]:
    """A class and its base classes, up to `CongestionControl`."""
    above = CongestionControl.__mro__
    return [each for each in rule.__mro__ if each not in above]


def _source(rule: type) -> str:
    """The hash of the source text of a class and of its base classes."""
    if rule not in _sources:
        digest = hashlib.sha256()
        for each in _own_classes(rule):
            try:
                text = inspect.getsource(each)
            except (OSError, TypeError):
                # There is no source text, as in an interactive session: hash compiled functions.
                members = sorted(vars(each).items())
                functions = [(key, v.__code__) for key, v in members if isinstance(v, FunctionType)]
                text = repr([(key, _code(code)) for key, code in functions])
            digest.update(text.encode())
        _sources[rule] = digest.hexdigest()[:16]
    return _sources[rule]


def _code(code: CodeType) -> tuple[object, ...]:
    constants = [_code(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return code.co_code.hex(), constants, code.co_names, code.co_varnames
