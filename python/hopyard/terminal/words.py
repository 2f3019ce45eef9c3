"""Words of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: A line of a name may end behind one of these.
SEPARATORS = " _-.:/,"


def install(extra: str) -> str:
    """The command that installs the packages of an extra: `pip install ".[lab]"`.

    It is given in the folder of Hopyard's source: no index has a package of this name.
    """
    return f'pip install ".[{extra}]" in the folder of Hopyard\'s source'


def many(count: int, name: str) -> str:
    """A number of things: `1 run`, `2,000 runs`."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def one_of(words: Sequence[str]) -> str:
    """Several words, of which one is expected: `'a', 'b' or 'c'`."""
    *first, last = map(repr, words)
    return f"{', '.join(first)} or {last}" if first else last


def fold(text: str, width: int) -> list[str]:
    """A name in lines of at most `width` characters, broken behind separators where it can be."""
    lines = [""]
    word = ""
    for index, letter in enumerate(text):
        word += letter
        if letter not in SEPARATORS and index + 1 < len(text):
            continue
        if lines[-1] and len(lines[-1] + word.rstrip()) > width:
            lines.append("")
        while len(word.rstrip()) > width:
            lines[-1] = word[:width]
            lines.append("")
            word = word[width:]
        lines[-1] += word
        word = ""
    return [line.rstrip() for line in lines]
