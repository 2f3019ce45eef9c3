"""What a store knows of cases and runs."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopyard import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopyard.scenario.plan import Planned


@dataclass(frozen=True, slots=True)
class Kept:
    """A run that is in the store."""

    version: str
    platform: str
    state: str
    digest: str | None
    quantities: frozenset[str]
    interval: str
    #: The files of its large tables, in the folder, by the table's name.
    files: dict[str, str]
    #: Whether the store has as many rows of it as were added.
    whole: bool


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a run of a case; times are in seconds."""

    case: int
    config: str
    seed: int
    run: int
    version: str
    build: str
    platform: str
    #: When it ended, in UTC.
    ended: str
    wall_s: float | None
    cpu_s: float | None
    state: str
    digest: str | None
    error: str | None
    #: The files of its large tables, in the folder, by the table's name.
    files: dict[str, str]
    quantities: tuple[str, ...]
    interval: str
    #: How many rows each table of the store has of it.
    rows: dict[str, int]

    @classmethod
    def of(cls, run: _core.Run, case: Planned) -> Record:
        """What is known of a run that has just ended here."""
        return cls(
            run.case,
            *case.key,
            run.run,
            _core.__version__,
            _core.BUILD,
            here() + kernel_of(case),
            time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            run.wall_s,
            run.cpu_s,
            "done" if run.error is None else "failed",
            run.digest,
            run.error,
            {},
            case.observed,
            case.interval,
            {},
        )


def kernel_of(case: Planned) -> str:
    """What the platform of a case's runs says of a kernel; nothing if it needs none.

    Raises:
        ValueError: when the kernel is not built, or cannot be used.
    """
    if case.core.linux is None:
        return ""
    from hopyard.kernels.use import named

    return named(case.core)


@dataclass(frozen=True, slots=True)
class Maker:
    """What has made runs that are in the store."""

    version: str
    #: The identity of the build.
    build: str
    platform: str
    runs: int

    @property
    def name(self) -> str:
        """The version with the build."""
        return f"{self.version} (build {self.build})"


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A case that is in the store."""

    number: int
    scenario: str
    file: str | None
    settings: dict[str, str]
    config: str
    seed: int
    #: The numbers of the runs that were asked for.
    runs: Sequence[int]
    series: tuple[str, ...]
    interval: str


def here() -> str:
    """This platform, as the store calls it."""
    return f"{platform.system()} {platform.machine()}"
