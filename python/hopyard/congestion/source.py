"""The source of rules written in Python, with that of the modules that they import."""

from __future__ import annotations

import ast
import site
import sys
import sysconfig
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

#: The last part of the name under which the file of a package itself is kept.
PACKAGE = "__init__"


def rules_of(value: object) -> Iterator[str]:
    """The names of rules written in Python that the flows of a complete scenario use."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key == "tcp" and isinstance(each, str) and ":" in each:
                yield each
            else:
                yield from rules_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from rules_of(each)


def sources(rule: str) -> dict[str, str]:
    """The source of the module of a rule, which is imported, and of those that it imports.

    The others are kept where they belong to the same package or are not installed: they lie
    beside the scenario, or in the current folder.
    """
    found: dict[str, str] = {}
    first = rule.partition(":")[0]
    root = _root(first)
    waiting = _with_parents(first)
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        file = _file(name, root)
        if file is None or not (_is_own(file) or _top(name) == _top(first)):
            continue
        source = file.read_text(encoding="utf-8", errors="replace")
        package = file.stem == PACKAGE
        found[f"{name}.{PACKAGE}" if package else name] = source
        waiting += _imports(source, name if package else name.rpartition(".")[0])
    return found


def lay_out(sources: dict[str, str], folder: Path) -> None:
    """Writes modules into a folder, so that they can be imported from there."""
    for name, source in sources.items():
        path = folder.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")


def _top(name: str) -> str:
    return name.partition(".")[0]


def _with_parents(name: str) -> list[str]:
    """A module and the packages in which it is."""
    parts = name.split(".")
    return [".".join(parts[: count + 1]) for count in range(len(parts))]


def _root(name: str) -> Path | None:
    """The folder in which the module, or its package, is."""
    loaded = getattr(sys.modules.get(name), "__file__", None)
    if loaded is None:
        return None
    path = Path(loaded)
    up = name.count(".") + (path.stem == PACKAGE)
    return path.parents[up]


def _file(name: str, root: Path | None) -> Path | None:
    """The file of a module: of the imported one, or of one that a method imports later."""
    loaded = getattr(sys.modules.get(name), "__file__", None)
    if loaded is not None:
        path = Path(loaded)
        return path if path.suffix == ".py" and path.is_file() else None
    if root is None:
        return None
    path = root.joinpath(*name.split("."))
    places = (path.with_suffix(".py"), path / f"{PACKAGE}.py")
    return next((place for place in places if place.is_file()), None)


def _imports(source: str, package: str) -> list[str]:
    """The modules that a source text may import; some of the names are those of other things."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".") if package else []
            above = parts[: len(parts) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names += [base, *(f"{base}.{alias.name}" if base else alias.name for alias in node.names)]
    return [each for name in names if name for each in _with_parents(name)]


def _is_own(file: Path) -> bool:
    """Whether a file is the user's, and not installed."""
    here = file.resolve()
    return not any(here.is_relative_to(folder) for folder in _installed())


@cache
def _installed() -> list[Path]:
    """The folders of installed modules."""
    paths = sysconfig.get_paths()
    names = [paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")]
    names += [*site.getsitepackages(), site.getusersitepackages(), str(Path(__file__).parent.parent)]
    return [Path(name).resolve() for name in names]
