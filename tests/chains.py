"""The files of a small study that tests run: a chain of nodes, and axes of its senders and hops."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

#: Axes of a study of a chain.
SENDERS = """[axes.sender.cases]
NewReno = { "flow.tcp" = "newreno" }
Vegas = { "flow.tcp" = "vegas" }
"""
HOPS = """[axes.hops]
keys = ["nodes.count", "flow.to"]
values = [[3, 2], [4, 3]]
labels = ["2", "3"]
"""


def chain(duration: str, *, nodes: int = 3, more: str = "") -> str:
    """A scenario with a flow along a chain; `more` follows the keys of the flow."""
    return f"""
duration = "{duration}"
[nodes]
count = {nodes}
spacing = "200 m"
[[flow]]
from = 0
to = {nodes - 1}
{more}"""


def write(folder: Path, scenario: str, study: str) -> Path:
    """Writes `chain.toml` and `study.toml` into a folder; gives the study."""
    (folder / "chain.toml").write_text(scenario)
    path = folder / "study.toml"
    path.write_text(study)
    return path
