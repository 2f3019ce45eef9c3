"""Imports of the package point downward only, form no circles, and are late for a reason only.

Every file is read as a syntax tree: imports for type checkers count as all others do.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "python" / "hopyard"
#: The folders and files of the package, from the bottom up. Those of one floor are apart.
FLOORS = (
    ("_core", "errors", "files", "startup"),
    ("terminal",),
    ("statistics",),
    ("kernels",),
    ("congestion",),
    ("scenario",),
    ("tables",),
    ("plot",),
    ("store",),
    ("results",),
    ("running",),
    ("gym", "netmap", "replaying"),
    ("live",),
    ("study",),
    ("cli",),
    ("__init__", "__main__"),
)
LEVELS = {name: level for level, floor in enumerate(FLOORS) for name in floor}
#: Packages that may not be installed: those of the extras, and IPython, which a notebook has.
OPTIONAL = {
    *("IPython", "distributed", "gymnasium", "hopyard_kernels", "jinja2"),
    *("pandas", "pettingzoo", "polars", "scipy"),
}
#: Libraries that take long to import, or of which a command uses no more than a rare part.
SLOW = {
    *("atexit", "difflib", "fcntl", "gc", "hashlib", "html", "importlib", "matplotlib", "msvcrt"),
    *("numpy", "os", "pyarrow", "resource", "rich", "shlex", "tempfile", "tomllib"),
}
#: The modules that are imported when they are used: what imports them, what is imported, and why.
LATE = {
    # Readers of rules are only needed where a flow has a rule that is written in Python.
    "scenario.inputs": {"congestion.loading"},
    "scenario.scenario": {"congestion.loading"},
    # Only runs with kernels need this.
    "store.records": {"kernels.use"},
    # The costs are read where a measure of computation is chosen.
    "tables.measures": {"tables.computation"},
    # pyarrow is imported while the runs are in progress, and results are drawn seldom.
    "store.folder": {"tables.tables", "tables.writing"},
    "store.reading": {"tables.tables"},
    "store.store": {"tables.arrays", "tables.tables"},
    "results.results": {"plot.canvas", "plot.compare", "plot.segments", "plot.series", "plot.timeline"},
    "running.run": {
        *("kernels.use", "results.results", "running.capture"),
        *("store.folder", "store.folder_check", "tables.tables"),
    },
    "running.stepping": {"results.results", "tables.tables"},
    "live.session": {"results.results", "tables.tables"},
    # These need the extra `lab`.
    "running.diff": {"statistics", "statistics.comparisons", "statistics.intervals"},
    "study.sweep": {"statistics"},
    "study.tables": {"statistics"},
    "study.values": {"statistics"},
}


@dataclass(frozen=True)
class Import:
    """An import of one module by another."""

    of: str
    what: str
    line: int
    #: Whether it stands in a function.
    late: bool

    def __str__(self) -> str:
        return f"{self.of}:{self.line} imports {self.what}"


def _modules() -> dict[str, Path]:
    """The modules of the package, by their names without `hopyard`."""
    found = {}
    for path in [*PACKAGE.rglob("*.py"), PACKAGE / "_core.pyi"]:
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and parts[1:] else parts)] = path
    return found


MODULES = _modules()


def _imports(name: str, tree: ast.AST, late: bool = False) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        inside = late or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name, alias.name, node.lineno, late)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}:{node.lineno}: expected the full name of the module"
            module = node.module or ""
            for alias in node.names:
                part = f"{module}.{alias.name}"
                is_module = part.removeprefix("hopyard.") in MODULES and module != "hopyard"
                is_module = is_module or (module == "hopyard" and alias.name in MODULES)
                yield Import(name, part if is_module else module, node.lineno, late)
        else:
            yield from _imports(name, node, inside)


IMPORTS = [
    each for name, path in MODULES.items() for each in _imports(name, ast.parse(path.read_text(encoding="utf-8")))
]


def _own() -> Iterator[tuple[Import, str]]:
    """The imports of the package's own modules, with the names of these."""
    for each in IMPORTS:
        if each.what.partition(".")[0] == "hopyard":
            yield each, each.what.removeprefix("hopyard").removeprefix(".") or "__init__"


def _room(module: str) -> str:
    return module.partition(".")[0]


def test_every_module_has_a_floor() -> None:
    assert {_room(module) for module in MODULES} == LEVELS.keys()


def test_imports_point_downward() -> None:
    upward = [
        str(each)
        for each, what in _own()
        if _room(what) != _room(each.of) and LEVELS[_room(what)] >= LEVELS[_room(each.of)]
    ]
    assert upward == []


def test_no_modules_import_one_another_in_a_circle() -> None:
    uses: dict[str, set[str]] = {module: set() for module in MODULES}
    for each, what in _own():
        uses[each.of].add(what)
    # Modules that use none of those which are left are in no circle: they leave one after another.
    while free := {module for module, used in uses.items() if not used & (uses.keys() - {module})}:
        for module in free:
            del uses[module]
    assert {module: sorted(used & uses.keys()) for module, used in uses.items()} == {}


def test_late_imports_are_those_of_start_up_and_of_optional_packages() -> None:
    wrong = []
    used: dict[str, set[str]] = {}
    for each, what in _own():
        # A command imports its modules when it runs.
        if each.late and _room(each.of) not in ("cli", "__main__", "__init__"):
            used.setdefault(each.of, set()).add(what)
            if what not in LATE.get(each.of, ()):
                wrong.append(str(each))
    wrong += [str(each) for each in IMPORTS if each.late and _room(each.what) not in {"hopyard", *OPTIONAL, *SLOW}]
    assert wrong == []
    assert used == LATE, "an exception that nothing needs is removed"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from hopyard.cli import main", ("hopyard.cli.main", False)),
        ("from hopyard import errors", ("hopyard.errors", False)),
        ("from hopyard.errors import Problem", ("hopyard.errors", False)),
        ("if TYPE_CHECKING:\n    import hopyard.files", ("hopyard.files", False)),
        ("def f():\n    with g():\n        import pandas as pd", ("pandas", True)),
        ("class A:\n    def f(self):\n        from pyarrow import csv", ("pyarrow", True)),
    ],
)
def test_an_import_is_found_wherever_it_stands(text: str, found: tuple[str, bool]) -> None:
    (each,) = _imports("m", ast.parse(text))
    assert (each.what, each.late) == found


def test_packages_of_the_standard_library_are_not_optional() -> None:
    assert not OPTIONAL & sys.stdlib_module_names
