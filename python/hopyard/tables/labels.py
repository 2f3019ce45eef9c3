"""Short names for the cases of a comparison: the keys that tell them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopyard.tables.cases import Case


class Compared(Protocol):
    """Results with the keys that were compared."""

    @property
    def settings(self) -> tuple[str, ...]:
        """The compared keys."""


def short_keys(keys: Sequence[str]) -> dict[str, str]:
    """The last part of each key, with as many parts before it as tell it from the others."""
    short = {}
    for key in keys:
        parts = key.split(".")
        tails = (".".join(parts[-count:]) for count in range(1, len(parts) + 1))
        shared = (tail for tail in tails if sum(other == tail or other.endswith(f".{tail}") for other in keys) == 1)
        short[key] = next(shared, key)
    return short


def varying(results: Compared, cases: Sequence[Case]) -> list[str]:
    """The compared keys that have several values in these cases."""
    return [key for key in results.settings if len({case.settings[key] for case in cases}) > 1]
