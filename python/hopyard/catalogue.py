"""The models and their parameters, as the core lists them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypedDict

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from hopyard import _core
from hopyard.report import console

if TYPE_CHECKING:
    from rich.console import Console


class Default(TypedDict):
    """A default under a profile, as a scenario file writes it."""

    profile: str
    value: str


class Parameter(TypedDict):
    """A parameter: its key, what its values are, its default under each profile, what it does."""

    name: str
    kind: str
    defaults: list[Default]
    description: str


class Model(TypedDict):
    """A model, or a section of a scenario: its room, where its parameters stand, what it is."""

    room: str
    name: str
    section: str
    summary: str
    parameters: list[Parameter]


def models(word: str | None = None) -> list[Model]:
    """The models that a word names (a model's, a room's or a section's name), or all of them.

    Raises:
        ValueError: when nothing has the name; the message has the nearest.
    """
    found: list[Model] = json.loads(_core.models(word))
    return found


def show(word: str | None, profile: str | None) -> None:
    """Prints the list of all models, or of a room's, or the parameters of one.

    Raises:
        ValueError: when nothing has the name; the message has the nearest.
    """
    found, out = models(word), console()
    exact = [model for model in found if model["name"] == word]
    if not exact:
        _list(found, out)
    for model in exact:
        _parameters(model, profile, out)


def _list(found: list[Model], out: Console) -> None:
    table = Table(box=SIMPLE_HEAD)
    for title in ("room", "model", "where", "what it is"):
        table.add_column(title)
    previous = None
    for model in found:
        room = "" if model["room"] == previous else model["room"]
        previous = model["room"]
        table.add_row(room, model["name"], escape(model["section"]), escape(model["summary"]))
    out.print(table)
    out.print("hopyard models NAME lists the parameters of a model.", style="dim")


def _parameters(model: Model, profile: str | None, out: Console) -> None:
    title = f"[bold]{model['name']}[/] ({model['room']}), in {escape(model['section'])}"
    out.print(f"{title}: {escape(model['summary'])}")
    if not model["parameters"]:
        out.print("It has no parameters.")
        return
    profiles = [default["profile"] for default in model["parameters"][0]["defaults"]]
    if profile:
        # A model without defaults of its own under a profile has those of its first.
        profiles = [profile if profile in profiles else profiles[0]]
    table = Table(box=SIMPLE_HEAD)
    table.add_column("key")
    for each in profiles:
        table.add_column(f"profile {each}" if profile or len(profiles) > 1 else "default")
    table.add_column("what it is")
    for parameter in model["parameters"]:
        values = [each["value"] for each in parameter["defaults"] if each["profile"] in profiles]
        style = "bold" if len(set(values)) > 1 else ""
        table.add_row(
            parameter["name"],
            *(f"[{style}]{escape(value)}[/]" if style else escape(value) for value in values),
            escape(parameter["description"]),
        )
    out.print(table)
