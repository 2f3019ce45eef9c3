"""Network namespaces of a live run: made, given an interface, and removed in any case.

Everything is done by the command `ip`, as somebody would do it by hand. Only namespaces that this
process has made are ever touched.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, collapse_addresses
from pathlib import Path
from typing import TYPE_CHECKING

from hopyard.live import guard

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType
    from typing import Self

#: Where the system gives out TUN devices.
TUN = Path("/dev/net/tun")
#: What the interface of each namespace is called.
DEVICE = "hopyard0"
#: Capabilities that are needed, with their bits.
NEEDED = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
#: How to have them without being root.
ROOTLESS = "unshare --user --map-root-user --net --mount sh -c 'mount -t tmpfs tmpfs /run && exec hopyard live ...'"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}")


def check_system() -> None:
    """Refuses a system on which no live run can be made.

    Raises:
        ValueError: with what is missing, and what to do.
    """
    if sys.platform != "linux":
        raise ValueError(
            "live mode needs the network namespaces and TUN devices of Linux: this is "
            f"{sys.platform}; hopyard run works everywhere"
        )
    if shutil.which("ip") is None:
        raise ValueError("live mode needs the command ip (Debian: apt install iproute2)")
    if lacking := _lacking():
        raise ValueError(
            f"live mode makes network namespaces and TUN devices, and lacks {' and '.join(lacking)}"
            f": run it as root, or in a user namespace, with {ROOTLESS}"
        )
    try:
        os.close(os.open(TUN, os.O_RDWR | os.O_CLOEXEC))
    except FileNotFoundError:
        raise ValueError(
            f"{TUN} is missing: load the module (modprobe tun); a container needs the device from "
            "its host (--device /dev/net/tun)"
        ) from None
    except OSError as error:
        raise ValueError(f"{TUN} cannot be opened: {error.strerror}") from None


def _lacking() -> list[str]:
    """The capabilities that this process lacks."""
    text = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    found = re.search(r"^CapEff:\s*([0-9a-fA-F]+)$", text, re.MULTILINE)
    own = int(found[1], 16) if found else 0
    return [name for name, bit in NEEDED.items() if not own >> bit & 1]


def check_name(name: str) -> None:
    """Refuses what cannot be the name of a new namespace.

    Raises:
        ValueError: when it is no name, or there is such a namespace.
    """
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"expected the name of a namespace of at most 63 letters, digits, _, - and ., found {name!r}")
    if os.path.lexists(guard.PLACE / name):
        raise ValueError(
            f"there is a network namespace {name} already, and a live run uses only namespaces "
            f"that it makes: expected another name; `ip netns delete {name}` removes it"
        )


def routes(addresses: Iterable[str], own: Iterable[str]) -> list[str]:
    """The fewest prefixes that have all addresses of a network but a node's own, and no others."""
    others = {*addresses}.difference(own)
    return [str(each) for each in collapse_addresses(IPv4Network(it) for it in sorted(others))]


class Namespaces:
    """Namespaces that exist until the `with` is left, or until this process ends in another way.

    Raises:
        OSError: when the process that removes them cannot be started.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        # What a terminal sends to this process does not reach the guard.
        self._guard = subprocess.Popen(
            [sys.executable, "-I", guard.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._guard.stdin is not None
        assert self._guard.stdout is not None
        self._pipe, self._said = self._guard.stdin, self._guard.stdout
        if self._said.readline().strip() != "ready":
            raise OSError("the process that removes namespaces at the end cannot be started")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        try:
            self.close()
        except OSError as left:
            if error is None:
                raise
            error.add_note(str(left))

    def make(self, name: str) -> Path:
        """Makes a namespace, and returns its file.

        Raises:
            ValueError: when the system refuses it.
        """
        # Told before: if this process is killed meanwhile, the namespace is removed all the same.
        self.tell(guard.MADE, name)
        try:
            self._ip("netns", "add", name)
        except ValueError as error:
            self.tell(guard.GONE, name)
            raise ValueError(f"the namespace {name} cannot be made: {error}") from None
        self.names.append(name)
        return guard.PLACE / name

    def configure(self, name: str, addresses: Sequence[str], prefixes: Sequence[str], mtu: int) -> None:
        """Gives the interface of a namespace its addresses, and the routes to the network.

        Raises:
            ValueError: when the system refuses it.
        """
        lines = ["link set lo up", f"link set {DEVICE} mtu {mtu} up"]
        lines += [f"address add {each}/32 dev {DEVICE}" for each in addresses]
        source = IPv4Address(addresses[0])
        lines += [f"route add {each} dev {DEVICE} src {source}" for each in prefixes]
        try:
            self._ip("-netns", name, "-batch", "-", given="\n".join(lines))
        except ValueError as error:
            raise ValueError(f"the interface of {name} cannot be set up: {error}") from None

    def _ip(self, *arguments: str, given: str = "") -> None:
        # The guard waits for the end of this process too, since it has the pipe.
        done = subprocess.run(
            ["ip", *arguments], check=False, capture_output=True, text=True, input=given, pass_fds=[self._pipe.fileno()]
        )
        if done.returncode:
            raise ValueError(done.stderr.strip() or f"ip ended with {done.returncode}")

    def tell(self, word: str, what: object) -> None:
        """Tells the guard what is there, or is not any more."""
        self._pipe.write(f"{word} {what}\n")
        self._pipe.flush()

    def close(self) -> None:
        """Removes all namespaces.

        Raises:
            OSError: when one cannot be removed.
        """
        with suppress(OSError):
            self._pipe.close()
        said = self._said.read().strip()
        self._said.close()
        if self._guard.wait() and self.names:
            raise OSError(f"not every namespace was removed: {said or 'no reason is known'}")
        self.names.clear()
