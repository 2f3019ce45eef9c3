"""What a shell offers at the Tab key: models, scenario keys and their values, measures, series."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hopyard import _core

if TYPE_CHECKING:
    from collections.abc import Iterable

    import click

#: Keys that name a model, with the room whose models are their values.
_ROOMS = {
    "flow.tcp": "congestion",
    "flow.acking": "acking",
    "flow.traffic": "traffic",
    "flows.tcp": "congestion",
    "flows.acking": "acking",
    "flows.traffic": "traffic",
    "link.queue": "queue",
    "mac.model": "mac",
    "mac.rate_control": "rate_control",
    "mobility.model": "mobility",
    "multicast.protocol": "multicast",
    "radio.fading": "fading",
    "radio.propagation": "propagation",
    "routing.protocol": "routing",
}
#: The line that switches completion on, by shell.
SHELLS = {
    "bash": 'eval "$(_HOPYARD_COMPLETE=bash_source hopyard)"    # in ~/.bashrc',
    "zsh": 'eval "$(_HOPYARD_COMPLETE=zsh_source hopyard)"    # in ~/.zshrc',
    "fish": "_HOPYARD_COMPLETE=fish_source hopyard | source    # in config.fish",
}


def models(_context: click.Context, _parameter: click.Parameter, word: str) -> list[str]:
    """Names of models and rooms."""
    from hopyard.scenario.catalogue import models as listed

    names = {name for model in listed() for name in (model["name"], model["room"])}
    return _that_begin(word, sorted(names))


def kinds(_context: click.Context, _parameter: click.Parameter, word: str) -> list[str]:
    """Kinds of new scenarios."""
    return _that_begin(word, _core.KINDS)


def profiles(context: click.Context, _parameter: click.Parameter, word: str) -> list[str]:
    """Profiles of the model that the line names, or of all models."""
    from hopyard.scenario.catalogue import models as listed

    name = context.params.get("name")
    found = {
        default["profile"]
        for model in listed()
        if name is None or name in (model["name"], model["room"])
        for parameter in model["parameters"]
        for default in parameter["defaults"]
    }
    return _that_begin(word, sorted(found))


def measures(_context: click.Context, _parameter: click.Parameter, word: str) -> list[str]:
    """Measures, after a comma too."""
    from hopyard.tables.measures import MEASURES

    return _of_list(word, MEASURES)


def series(_context: click.Context, _parameter: click.Parameter, word: str) -> list[str]:
    """Quantities of series, after a comma too."""
    from hopyard.scenario.catalogue import quantities

    return _of_list(word, [quantity["name"] for quantity in quantities()])


def capture_kinds(_context: click.Context, _parameter: click.Parameter, word: str) -> list[str]:
    """Kinds of capture, after a comma too."""
    return _of_list(word, _core.CAPTURE_KINDS)


def settings(_context: click.Context, _parameter: click.Parameter, word: str) -> list[str]:
    """Keys of a scenario, and behind the `=` the values of those that name something."""
    from hopyard.scenario.catalogue import models as listed

    key, equals, value = word.partition("=")
    if not equals:
        return _that_begin(word, [f"{name}=" for name in _keys()])
    if key in _ROOMS:
        room = [model["name"] for model in listed() if model["room"] == _ROOMS[key]]
        return [f"{key}={each}" for each in _of_list(value, room)]
    return [f"{key}={each}" for each in _of_list(value, _choices(key))]


def _keys() -> dict[str, str]:
    """Every key of a scenario, with what its values are."""
    from hopyard.scenario.catalogue import models as listed

    keys = {}
    for model in listed():
        section = model["section"].strip("[]")
        prefix = "" if section.startswith("the ") else f"{section}."
        for parameter in model["parameters"]:
            keys[f"{prefix}{parameter['name']}"] = parameter["kind"]
            if model["name"] == "tcp":
                keys[f"flow.{parameter['name']}"] = parameter["kind"]
    return keys


def _choices(key: str) -> list[str]:
    """The values of a key that has a few: those in quotes of `"long" or "short"`."""
    kind = _keys().get(key, "")
    if kind == "true or false":
        return ["true", "false"]
    choices = re.fullmatch(r'("[^"]*"(, | or )?)+', kind)
    return re.findall(r'"([^"]*)"', kind) if choices else []


def _of_list(word: str, names: Iterable[str]) -> list[str]:
    """Names that go on with the last word of a list with commas; none is offered twice."""
    before, comma, last = word.rpartition(",")
    there = before.split(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in there]


def _that_begin(word: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(word)]
