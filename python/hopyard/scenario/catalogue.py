"""What the core lists: models and their parameters, columns of results, quantities of series."""

from __future__ import annotations

import json
from typing import TypedDict

from hopyard import _core


class Default(TypedDict):
    """A default under a profile, as a scenario file writes it."""

    profile: str
    value: str


class Parameter(TypedDict):
    """A parameter: its key, what its values are, its default under each profile, what it does."""

    name: str
    kind: str
    #: Whether it has to be given: its default is none then.
    required: bool
    defaults: list[Default]
    description: str


class Model(TypedDict):
    """A model, or a section of a scenario: its room, where its parameters stand, what it is."""

    room: str
    name: str
    section: str
    summary: str
    #: Whether Linux has it too: flows with `stack = "linux"` can have it.
    has_twin: bool
    #: Linux's name of it; of a model that Linux lacks, the name of what comes nearest there.
    in_linux: str | None
    parameters: list[Parameter]


def models(word: str | None = None) -> list[Model]:
    """The models that a word names (a model's, a room's or a section's name), or all of them.

    Raises:
        ValueError: when nothing has the name; the message has the nearest.
    """
    found: list[Model] = json.loads(_core.models(word))
    return found


class Column(TypedDict):
    """A column of a table of results, or a quantity of a series; the unit may be empty."""

    name: str
    unit: str
    meaning: str
    optional: bool
    #: Every text that it can have, where these are few and fixed.
    values: list[str]


class ResultTable(TypedDict):
    """A table of results: its name, what a row is, its columns."""

    name: str
    meaning: str
    columns: list[Column]


def tables() -> list[ResultTable]:
    """The tables of results, without the columns that say which run a row is from."""
    found: list[ResultTable] = json.loads(_core.result_tables())
    return found


def quantities() -> list[Column]:
    """The quantities that can be sampled over time."""
    found: list[Column] = json.loads(_core.quantities())
    return found


#: The columns of every table that say which run a row is from.
ORIGIN: list[Column] = [
    {"name": name, "unit": "", "meaning": meaning, "optional": False, "values": []}
    for name, meaning in (
        ("scenario", "The name of the scenario."),
        ("(compared keys)", "A column for each compared key, such as `flow.tcp`, with its value."),
        ("run", "The number of the run within its case, from 0."),
        ("seed", "The seed. Runs of one number and seed meet the same movement and channel."),
        ("config", "The hash of the complete scenario of the case."),
        ("version", "The version of Hopyard that made the run."),
        ("case", "The number of the case within the comparison, from 0."),
    )
]
