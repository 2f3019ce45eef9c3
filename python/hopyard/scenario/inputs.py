"""All that makes a scenario again, wherever its files have gone."""

from __future__ import annotations

import atexit
import json
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopyard import _core
from hopyard.congestion.source import lay_out, rules_of, sources
from hopyard.errors import ScenarioError, StoreError
from hopyard.scenario.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Inputs:
    """A complete scenario, with the content of what it names."""

    toml: str
    #: The files that it names: movements, links, error rates, sizes and times of traffic.
    files: dict[str, bytes]
    #: The source of rules written in Python, and of what they import, by module.
    rules: dict[str, str]
    #: Where all this stands, for errors.
    place: str = "the scenario"

    @classmethod
    def of(cls, core: _core.Scenario, base: Path) -> Inputs:
        """What makes a scenario again; `base` is the folder in which it names files and modules."""
        files = {name: content for name, _, content in core.files()}
        rules: dict[str, str] = {}
        for rule in rules_of(json.loads(core.to_json(defaults=True))):
            from hopyard.congestion.loading import RuleError, find

            # The module of this folder is the imported one, if others are called like it.
            with suppress(RuleError):
                find(rule, base)
            rules |= sources(rule)
        return cls(core.to_toml(defaults=True), files, rules)

    def scenario(self, name: str, seed: int) -> Scenario:
        """The scenario, whose files, if it has any, are laid out in a folder that goes with this process.

        Raises:
            ScenarioError: when it is wrong, as when a rule of it is not to be found.
            StoreError: when its text is no TOML.
        """
        own = {path: f"{number}-movements" for number, path in enumerate(self.files)}
        base = self._laid_out(own) if own or self.rules else Path()
        document = _moved(read_toml(self.toml, self.place), own)
        # What tells scenarios of one name apart may be a value such as "5 m/s"; a name has no
        # slash.
        document |= {"seed": seed, "name": name.replace("/", "_")}
        try:
            return Scenario._of(_core.Scenario.from_json(json.dumps(document), base), base)
        except ScenarioError as error:
            shown, coloured = (f"{self.place}: {text}" for text in (error.shown, error.coloured))
            raise ScenarioError(shown, coloured, error.problems) from error

    def _laid_out(self, names: Mapping[str, str]) -> Path:
        """A folder with the files, under these names, and with the modules; it goes with this process."""
        import tempfile

        base = Path(tempfile.mkdtemp(prefix="hopyard-"))
        atexit.register(shutil.rmtree, base, ignore_errors=True)
        for path, content in self.files.items():
            (base / names[path]).write_bytes(content)
        lay_out(self.rules, base)
        return base


def read_toml(text: str, place: str) -> dict[str, Any]:
    """A scenario that stands in a store.

    Raises:
        StoreError: when it is no TOML; `place` says where it stands.
    """
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{place}: {error}") from error


#: The keys whose text is the name of a file.
_NAMES = ("path", "error_rates")
#: A law of sizes or times whose numbers are in a file.
_LAW = re.compile(r"(file|sample)\((.*)\)")


def _moved(value: Any, names: Mapping[str, str], key: str = "") -> Any:
    """The value of a key of a scenario with other names of the files that it names."""
    if isinstance(value, dict):
        return {key: _moved(each, names, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_moved(each, names) for each in value]
    if isinstance(value, str) and key in _NAMES:
        return names.get(value, value)
    if isinstance(value, str) and (law := _LAW.fullmatch(value)):
        return f"{law[1]}({names.get(law[2], law[2])})"
    return value
