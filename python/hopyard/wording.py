"""Words of messages."""

from __future__ import annotations


def many(count: int, name: str) -> str:
    """A number of things: `1 run`, `2,000 runs`."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"
