"""Numbers of runs: their limits, and how they are written as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Numbers of runs are below this one.
MOST_RUN = 2**32
#: The most runs of a case that can be asked for.
MOST_ASKED = 10_000_000


def write_numbers(numbers: Iterable[int]) -> str:
    """Numbers of runs as text, such as "0..4,7"."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(f"{first}..{last}" if last > first else f"{first}" for first, last in parts)


def read_numbers(text: str) -> Sequence[int]:
    """The numbers that `write_numbers` has written.

    Raises:
        ValueError: when the text is another one.
    """
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("..")
        numbers = range(int(first), int(last or first) + 1)
        if not (numbers and 0 <= numbers[0] <= numbers[-1] < MOST_RUN) or len(numbers) > MOST_ASKED:
            raise ValueError(f"expected numbers of runs, found {part!r}")
        found += numbers
    return found
