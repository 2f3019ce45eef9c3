"""Settings as numbers with a unit, for an axis to scale."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\S*)")
#: Units of one kind, each with its size; the first is that of an axis on which several meet.
_KINDS = (
    {"s": 1.0, "h": 3600.0, "min": 60.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9},
    {"m": 1.0, "km": 1e3},
    {"kbps": 1.0, "bps": 1e-3, "Mbps": 1e3, "Gbps": 1e6},
    {"B": 1.0, "kB": 1e3, "MB": 1e6, "KiB": 1024.0, "MiB": 1024.0**2},
    {"mW": 1.0, "W": 1e3},
    {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6, "kJ": 1e3},
    {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
)


#: How papers write the units of rates that Hopyard writes in another way.
_WRITTEN = {
    written: f"{size}bps" for size in ("", "k", "M", "G") for written in (f"{size}bit/s", f"{size}b/s", f"{size}bits/s")
}


def factor(unit: str, wanted: str) -> float | None:
    """How many of the unit `wanted` one `unit` is; none if they are not of one kind."""
    unit, wanted = (_WRITTEN.get(each, each) for each in (unit, wanted))
    if unit == wanted:
        return 1.0
    for kind in _KINDS:
        if unit in kind and wanted in kind:
            return kind[unit] / kind[wanted]
    return None


def is_unit(text: str) -> bool:
    """Whether a text is the unit of something that is measured, and no word such as `packets`."""
    unit = _WRITTEN.get(text, text)
    return any(unit in kind for kind in _KINDS)


def numbers(texts: Sequence[str]) -> tuple[list[float], str] | None:
    """The numbers and their common unit, if all texts are such: "5 m/s", "200 m", "3", "2 Mbps".

    The unit is that of the texts where they share one, and otherwise one that all can be given in.
    """
    found: list[tuple[float, str]] = []
    for text in texts:
        match = _NUMBER.fullmatch(text.strip().strip("\"'"))
        if match is None:
            return None
        found.append((float(match[1]), match[2]))
    units = {unit for _, unit in found}
    if len(units) == 1:
        return [number for number, _ in found], units.pop()
    for kind in _KINDS:
        if units <= kind.keys():
            return [number * kind[unit] for number, unit in found], next(iter(kind))
    return None
