"""The kernels that were built, in the user's cache.

Each is a folder `VERSION-KEY` with the kernel (`linux`), the configuration, what modules for it are
built with (`headers.tar.gz`), and `kernel.json`, which is written last. The first program of all
guests, the agent, is in a folder `agents`, under a key of its own: another agent needs no other
kernel. The modules for a kernel are in a folder beside it, under keys of both.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import struct
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The sources of the agent, which gets its orders from Hopyard: both have to be of one version.
AGENT = Path(__file__).parent / "guest"
#: How the name of a TCP variant's module begins.
MODULE = "hopyard_"
#: What installs the package with the patches: released, and from a clone of the repository.
INSTALL = "pip install 'hopyard[kernels]', or pip install ./kernels in a clone"
#: The versions that can be built.
VERSIONS = ("6.1", "6.12")
#: How many digits of the content of patches the name of a patched kernel has.
DIGITS = 8
#: What the name of a kernel with Linux's Wi-Fi has behind its version.
WIFI = "wifi"
#: The file that says what a folder holds.
ABOUT = "kernel.json"


@dataclass(frozen=True)
class Built:
    """A kernel that was built."""

    folder: Path
    #: `6.1` or `6.12`; of a kernel with Wi-Fi `6.1+wifi`, and with patches of the user with a number of these:
    #: `6.1+a1b2c3d4`, `6.1+wifi-a1b2c3d4`.
    version: str
    #: What the kernel calls itself: `6.1.192-hopyard`.
    release: str
    #: The version of the package with its source.
    package: str
    #: Source, patches, configuration and compiler, as one number.
    key: str
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
    def headers(self) -> Path:
        """What modules for it are built with."""
        return self.folder / "headers.tar.gz"

    @property
    def modules(self) -> Path:
        """The folder of its modules, as this version of Hopyard has them."""
        return root() / f"modules-{self.version}-{self.key}-{modules_key()}"

    def module_variants(self) -> list[str]:
        """The TCP variants that it has as modules of Hopyard."""
        return sorted(path.stem.removeprefix(MODULE) for path in self.modules.glob(f"{MODULE}*.ko"))

    def lacks_module(self, variant: str) -> bool:
        """Whether a TCP variant is a module of Hopyard that was not built for it."""
        source = modules() / f"{MODULE}{variant}.c"
        return source.is_file() and variant not in self.module_variants()

    def senders(self) -> list[str]:
        """The TCP variants that it has, those of modules that were built included."""
        return sorted({*self.variants, *self.module_variants()})

    def has(self, option: str) -> bool:
        """Whether it was built with an option."""
        try:
            lines = (self.folder / "config").read_text(encoding="utf-8").splitlines()
        except OSError:
            return False
        return f"{option}=y" in lines

    def defect(self) -> str:
        """What is wrong with its program; nothing if it can be started."""
        return defect(self.program)

    def write(self) -> None:
        """Writes the file that makes the folder a built kernel."""
        content = {**asdict(self), "variants": list(self.variants)}
        del content["folder"]
        text = json.dumps(content, indent=2) + "\n"
        (self.folder / ABOUT).write_text(text, encoding="utf-8")


def agent() -> Path:
    """Where the agent of this version of Hopyard is, if it was built."""
    return root() / "agents" / key_of(agent_sources())


def agent_sources() -> list[Path]:
    """The sources of the agent, headers included."""
    return sorted(AGENT.glob("*.[ch]"))


def changes() -> Path:
    """The folder with the patches and the configuration of Linux, of a package under Linux's licence.

    Raises:
        ValueError: when the package is not installed, with the command that installs it.
    """
    try:
        import hopyard_kernels
    except ModuleNotFoundError:
        raise ValueError(f"kernels need the package hopyard-kernels, which is not installed: {INSTALL}") from None
    return hopyard_kernels.FOLDER


def modules() -> Path:
    """The folder with the sources of modules for the kernels."""
    return changes() / "modules"


def modules_key() -> str:
    """The sources of the modules, as a number."""
    return key_of(sorted(modules().glob("*.[ch]")))


def key_of(sources: Sequence[Path]) -> str:
    """The names and contents of files, as a number."""
    found = hashlib.sha256()
    for path in sources:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"{path.name} {content}\n".encode())
    return found.hexdigest()[:12]


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
    """All built kernels, by version, the newest of each version first.

    Raises:
        ValueError: when the folder cannot be read.
    """
    found = [kernel for path in _abouts() if (kernel := _read(path)) is not None]
    found.sort(key=lambda it: it.made, reverse=True)

    def order(kernel: Built) -> tuple[list[int], str]:
        version, _, number = kernel.version.partition("+")
        return [int(part) for part in version.split(".")], number

    return sorted(found, key=order)


def unreadable() -> list[Path]:
    """Folders that look like built kernels, and that this version of Hopyard cannot use."""
    return sorted(path.parent for path in _abouts() if _read(path) is None)


def _abouts() -> list[Path]:
    """The files that make folders built kernels, those that cannot be read included."""
    try:
        folders = sorted(root().iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise ValueError(
            f"{root()}: the folder of kernels cannot be read: {error.strerror}; HOPYARD_KERNELS names another one"
        ) from error
    found = []
    for folder in folders:
        try:
            if (folder / ABOUT).is_file():
                found.append(folder / ABOUT)
        except OSError:
            found.append(folder / ABOUT)
    return found


def _read(path: Path) -> Built | None:
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        kernel = Built(folder=path.parent, **about)
    except (ValueError, TypeError, OSError):
        return None
    return kernel if is_version(kernel.version) and kernel.program.is_file() else None


def is_version(name: str) -> bool:
    """Whether a kernel can have this name: a version, or one with Wi-Fi, the number of patches, or both."""
    version, plus, parts = name.partition("+")
    kinds = f"{WIFI}|({WIFI}-)?[0-9a-f]{{{DIGITS}}}"
    return version in VERSIONS and (not plus or re.fullmatch(kinds, parts) is not None)


def building(name: str) -> str:
    """The command that builds a kernel with this name."""
    version, _, parts = name.partition("+")
    options = [" --wifi"] if parts.startswith(WIFI) else []
    options += [" --patch FILE"] if parts.removeprefix(WIFI) else []
    return f"hopyard kernels build {version}{''.join(options)}"


def _others(version: str) -> str:
    """Built versions to suggest in place of one that is not built; empty if there are none. Wi-Fi needs Wi-Fi."""

    def has_wifi(name: str) -> bool:
        return name.partition("+")[2].startswith(WIFI)

    there = sorted({it.version for it in built() if has_wifi(it.version) or not has_wifi(version)})
    return f"; built already: {', '.join(there)} (`version` in [linux] names one)" if there else ""


def newest(version: str) -> Built:
    """The kernel of a version that was built last.

    Raises:
        ValueError: when there is none, with the command that builds it, or a package is missing.
    """
    if not is_version(version):
        raise ValueError(
            f"expected a kernel {' or '.join(VERSIONS)}, one with Wi-Fi such as 6.1+wifi, or one with patches such as"
            f" 6.1+a1b2c3d4, found {version!r}"
        )
    if not available():
        raise ValueError("kernels in simulated time need Linux on an x86-64 processor")
    changes()
    command = building(version)
    kernel = next((it for it in built() if it.version == version), None)
    if kernel is None:
        closed = [it for it in unreadable() if not os.access(it / ABOUT, os.R_OK)]
        also = f" ({', '.join(map(str, closed))} cannot be read)" if closed else ""
        raise ValueError(f"there is no kernel {version} in {root()}{also}: `{command}` makes it{_others(version)}")
    if wrong := kernel.defect():
        raise ValueError(f"{wrong}: `{command} --force` makes it anew")
    if not agent().is_file():
        raise ValueError(
            f"{agent()}: there is no agent of this version of Hopyard: `{command}` makes it, without the kernel"
        )
    if wrong := defect(agent()):
        raise ValueError(f"{wrong}: remove it, and `{command}` makes it anew, without the kernel")
    return kernel


def defect(program: Path) -> str:
    """Why a program that was built cannot be started; nothing if it can.

    A copy that was cut off is found by its length: the table of sections is at the end of a program
    (ELF-64, fields `e_shoff`, `e_shentsize` and `e_shnum`).
    """
    try:
        with program.open("rb") as file:
            head, size = file.read(64), os.fstat(file.fileno()).st_size
    except OSError as error:
        return f"{program} cannot be read: {error.strerror}"
    if not os.access(program, os.X_OK):
        return f"{program} is not executable"
    if head.startswith(b"#!"):
        return ""
    if not head.startswith(b"\x7fELF\x02") or len(head) < 64:
        return f"{program} is no program: it has {size} bytes"
    (begin,) = struct.unpack_from("<Q", head, 40)
    each, count = struct.unpack_from("<HH", head, 58)
    if size < begin + each * count:
        return f"{program} is cut off: expected {begin + each * count} bytes, found {size}"
    return ""
