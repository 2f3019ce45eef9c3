"""The kernels that were built, in the user's cache.

Each is a folder `VERSION-KEY` with the kernel (`linux`), the first program of its guests (`agent`),
the configuration, and `kernel.json`, which is written last.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The source of the agent, which gets its orders from Hopyard: both have to be of one version.
AGENT = Path(__file__).parent / "guest" / "agent.c"
#: The versions that can be built.
VERSIONS = ("6.1", "6.12")
#: The file that says what a folder holds.
ABOUT = "kernel.json"


@dataclass(frozen=True)
class Built:
    """A kernel that was built."""

    folder: Path
    #: `6.1` or `6.12`.
    version: str
    #: What the kernel calls itself: `6.1.192-hopyard`.
    release: str
    #: The version of the package with its source.
    package: str
    #: Source, patches, configuration and compiler, as one number.
    key: str
    #: The source of the agent, as a number.
    agent_key: str
    #: The compiler's name for itself.
    compiler: str
    #: The TCP variants that it has.
    variants: Sequence[str]
    #: When it was made, in UTC.
    made: str

    @property
    def program(self) -> Path:
        """The kernel."""
        return self.folder / "linux"

    @property
    def agent(self) -> Path:
        """The first program of its guests."""
        return self.folder / "agent"

    def write(self) -> None:
        """Writes the file that makes the folder a built kernel."""
        content = {**asdict(self), "variants": list(self.variants)}
        del content["folder"]
        text = json.dumps(content, indent=2) + "\n"
        (self.folder / ABOUT).write_text(text, encoding="utf-8")


def agent_key() -> str:
    """The source of this version's agent, as a number."""
    return hashlib.sha256(AGENT.read_bytes()).hexdigest()[:12]


def available() -> bool:
    """Whether this system can have kernels in simulated time."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


def root() -> Path:
    """The folder of all built kernels: `HOPYARD_KERNELS`, or one in the user's cache."""
    if given := os.environ.get("HOPYARD_KERNELS"):
        return Path(given)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "hopyard" / "kernels"


def built() -> list[Built]:
    """All built kernels, by version, the newest of each version first."""
    found = [kernel for path in root().glob(f"*/{ABOUT}") if (kernel := _read(path)) is not None]
    found.sort(key=lambda it: it.made, reverse=True)
    return sorted(found, key=lambda it: [int(part) for part in it.version.split(".")])


def unreadable() -> list[Path]:
    """Folders that look like built kernels, and that this version of Hopyard cannot use."""
    return sorted(path.parent for path in root().glob(f"*/{ABOUT}") if _read(path) is None)


def _read(path: Path) -> Built | None:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        kernel = Built(folder=path.parent, **about)
    except (ValueError, TypeError):
        return None
    whole = kernel.version in VERSIONS and kernel.program.is_file() and kernel.agent.is_file()
    return kernel if whole else None


def newest(version: str) -> Built:
    """The kernel of a version that was built last.

    Raises:
        ValueError: when there is none, with the command that builds it.
    """
    if version not in VERSIONS:
        raise ValueError(f"expected a kernel {' or '.join(VERSIONS)}, found {version!r}")
    for kernel in built():
        if kernel.version == version and kernel.agent_key == agent_key():
            return kernel
        if kernel.version == version:
            raise ValueError(
                f"{kernel.folder}: the agent is that of another version of Hopyard:"
                f" `hopyard kernels build {version}` makes it anew, without the kernel"
            )
    raise ValueError(
        f"there is no kernel {version} in {root()}: `hopyard kernels build {version}` makes it"
    )
