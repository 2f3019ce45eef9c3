"""The functions of a kernel, from the table that it has of its own symbols (CONFIG_KALLSYMS).

The kernels of the cache are stripped, so this table is the only one. Names are sequences of tokens;
the tables of tokens, names and addresses lie beside one another in the program, and are found by
what they must be: the token of each digit is that digit, markers rise, and addresses do not fall.
"""

from __future__ import annotations

import itertools
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

#: The tokens of the digits, in order, as the table of tokens has them.
_DIGITS = b"".join(bytes([it, 0]) for it in b"0123456789")
#: Every so many names there is a marker.
_MARKED = 256
#: The most bytes between two markers, and the fewest markers of a kernel.
_LONGEST = _MARKED * 512
_FEWEST = 8


class SymbolError(ValueError):
    """A program without a table of symbols that can be read."""


def functions(path: Path) -> dict[str, int]:
    """The address of each function; of several with one name, that of the first.

    Raises:
        SymbolError: when the program has no such table.
    """
    image = path.read_bytes()
    place = image.find(_DIGITS)
    while place >= 0:
        found = _read(image, place)
        if found is not None:
            return found
        place = image.find(_DIGITS, place + 1)
    raise SymbolError(f"{path}: this program has no table of its symbols")


def _read(image: bytes, digits: int) -> dict[str, int] | None:
    """The symbols of a table whose token for "0" is at this place; nothing if there is none."""
    start = digits
    for _ in range(ord("0") + 1):
        start = image.rfind(b"\0", 0, start)
    start += 1
    end, tokens = start, []
    for _ in range(_MARKED):
        stop = image.index(b"\0", end)
        tokens.append(image[end:stop])
        end = stop + 1
    index = _aligned(end)
    offsets = struct.unpack_from("<256H", image, index)
    if any(image[start + it : start + it + len(t)] != t for it, t in zip(offsets, tokens, strict=True)):
        return None
    markers, first = _markers(image, start)
    names = _names(image, first, markers)
    if names is None:
        return None
    count = struct.unpack_from("<I", image, names - 8)[0]
    addresses = _addresses(image, names, index + 2 * _MARKED, count)
    found: dict[str, int] = {}
    place = names
    for address in addresses:
        length, place = _length(image, place)
        text = b"".join(tokens[it] for it in image[place : place + length]).decode("ascii")
        place += length
        if text[0] in "tT":
            found.setdefault(text[1:], address)
    return found


def _aligned(place: int) -> int:
    return (place + 7) & ~7


def _markers(image: bytes, end: int) -> tuple[list[int], int]:
    """The markers before the table of tokens, and where they begin.

    They begin with 0 and rise. Some kernels have the order of the names between them and the table.
    """
    for start in range((end & ~3) - 4, 0, -4):
        if image[start : start + 4] != bytes(4):
            continue
        found = [0]
        for place in range(start + 4, end - 3, 4):
            value = struct.unpack_from("<I", image, place)[0]
            if not _MARKED < value - found[-1] <= _LONGEST:
                break
            found.append(value)
        if len(found) >= _FEWEST:
            return found, start
    raise SymbolError("there are no markers before the table of tokens")


def _length(image: bytes, place: int) -> tuple[int, int]:
    """The length of a name, and where its tokens begin."""
    length = image[place]
    if length < 0x80:
        return length, place + 1
    return length & 0x7F | image[place + 1] << 7, place + 2


def _names(image: bytes, end: int, markers: list[int]) -> int | None:
    """Where the names begin that have these markers; nothing if they are not there."""
    latest = end - markers[-1]
    for start in range(latest & ~7, max(latest - _LONGEST, 8), -8):
        count = struct.unpack_from("<I", image, start - 8)[0]
        if -(-count // _MARKED) != len(markers):
            continue
        place = start
        for number in range(count):
            if number % _MARKED == 0 and place - start != markers[number // _MARKED]:
                break
            length, place = _length(image, place)
            place += length
        else:
            if end - 8 < place <= end:
                return start
    return None


def _addresses(image: bytes, names: int, after: int, count: int) -> list[int]:
    """The addresses: before the names up to Linux 6.3, and after the table of tokens since."""
    size = _aligned(4 * count)
    for start, base in ((names - 16 - size, names - 16), (_aligned(after), _aligned(after) + size)):
        offsets = struct.unpack_from(f"<{count}I", image, start)
        if all(a <= b for a, b in itertools.pairwise(offsets)):
            relative = struct.unpack_from("<Q", image, base)[0]
            return [relative + it for it in offsets]
    raise SymbolError("the addresses of the symbols are not where they are expected")
