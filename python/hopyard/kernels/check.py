"""What kernels in simulated time need of a machine, and what to do where it is missing."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from hopyard import _core
from hopyard.kernels import cache

#: The memory that a guest touches, in bytes, with room to spare.
GUEST = 8 * 1024**2
#: The same of a guest with programs, at the least: what they take comes on top of it.
GUEST_WITH_PROGRAMS = 16 * 1024**2
#: Where the memory of guests is by default.
SHARED = Path("/dev/shm")
#: The file descriptors of this process that a kernel takes: its process, its time socket; for each
#: network device the socket that waits for it, its own, and that of its messages. A test of the
#: crate `kernels` counts them.
OF_KERNEL = 2
OF_DEVICE = 3
#: Those of a run: the time socket, the claim of a processor; its capture; five while a process is
#: started.
OF_RUN = 8
#: Those that the rest of Hopyard may still open: the store, tables, libraries.
SPARE = 64
#: The longest path of the folder for temporary files, in bytes. The address of a Unix socket has at
#: most 107, and the crate `kernels` makes sockets with names as long as this one.
LONGEST = 107 - len("/hopyard-kernels-4194304-9/k9999.9")
#: How long a question to the system may take, in seconds.
PATIENCE = 20

#: Asks the system for what a kernel asks it for, in a process of its own, which may be killed.
TRACE = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
raise SystemExit(ctypes.get_errno() if libc.ptrace(0, 0, None, None) else 0)
"""
PERSONALITY = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
before = libc.personality(ctypes.c_ulong(0xFFFFFFFF))
failed = before < 0 or libc.personality(ctypes.c_ulong(before | 0x0040000)) < 0
raise SystemExit(ctypes.get_errno() or 1 if failed else 0)
"""


@dataclass(frozen=True, order=True)
class Need:
    """What kernels need: memory in bytes, and file descriptors."""

    #: What they touch at the least.
    least: int = 2 * GUEST
    #: All that they have; none if it is not known.
    most: int = 0
    kernels: int = 2
    #: The file descriptors that this process has for them.
    descriptors: int = 2 * (OF_KERNEL + OF_DEVICE) + OF_RUN

    @classmethod
    def of(cls, core: _core.Scenario, runs: int = 1) -> Need:
        """What the kernels of a scenario need while this many runs are made at a time."""
        kernels, programs = core.kernels(), core.kernels_with_programs()
        least = (kernels - programs) * GUEST + programs * GUEST_WITH_PROGRAMS
        descriptors = kernels * OF_KERNEL + core.kernel_devices() * OF_DEVICE + OF_RUN
        return cls(least * runs, core.kernel_memory() * runs, kernels * runs, descriptors * runs)

    def __add__(self, other: Need) -> Need:
        return Need(
            self.least + other.least,
            self.most + other.most,
            self.kernels + other.kernels,
            self.descriptors + other.descriptors,
        )

    def __str__(self) -> str:
        text = f"{self.kernels} kernels need at least {_mb(self.least)}"
        return f"{text} and at most {_mb(self.most)}" if self.most else text


@dataclass(frozen=True)
class Room:
    """The memory that there is for kernels, in bytes."""

    folder: Path
    #: What is free in the folder.
    free: int
    #: What the machine can give, if the folder is in its memory and this is known.
    available: int | None

    @property
    def bytes(self) -> int:
        """The smaller of both."""
        return self.free if self.available is None else min(self.free, self.available)

    def __str__(self) -> str:
        text = f"{_mb(self.free)} free in {self.folder}"
        return text if self.available is None else f"{text}, {_mb(self.available)} of memory"


@dataclass(frozen=True)
class Finding:
    """One thing that is needed."""

    what: str
    good: bool
    found: str
    #: What to do where it is missing.
    cure: str = ""


def check() -> list[Finding]:
    """Looks at everything that is needed. The later findings need the earlier ones."""
    found = machine()
    return [*found, *_kernels(tried=all(it.good for it in found))] if found[0].good else found


def machine(need: Need | None = None) -> list[Finding]:
    """Looks at what the machine must have, whatever kernel it is."""
    here = f"{platform.system()} on {platform.machine()}"
    system = Finding("system", cache.available(), here, "Linux on an x86-64 processor is needed")
    if not system.good:
        return [system]
    return [system, _package(), _trace(), _personality(), memory(need), descriptors(need)]


def _package() -> Finding:
    what = "package hopyard-kernels"
    try:
        return Finding(what, True, str(cache.changes()))
    except ValueError:
        return Finding(what, False, "not installed", cache.INSTALL)


def _trace() -> Finding:
    code = _asked(TRACE)
    cure = "in a container: --cap-add SYS_PTRACE, or --security-opt seccomp=unconfined"
    return Finding("ptrace", code == 0, "allowed" if code == 0 else _refused(code), cure)


def _personality() -> Finding:
    code = _asked(PERSONALITY)
    cure = "in a container: --security-opt seccomp=unconfined; guests' memory would differ"
    return Finding("personality", code == 0, "allowed" if code == 0 else _refused(code), cure)


def room(shared: Path = SHARED) -> Room:
    """The memory that there is.

    Raises:
        OSError: when the folder cannot be looked at.
    """
    folder = _folder(shared)
    state = os.statvfs(folder)
    free = state.f_bavail * state.f_frsize
    return Room(folder, free, _available() if folder == SHARED else None)


def _folder(shared: Path) -> Path:
    """Where the memory of guests is. As kernels do it, TMPDIR comes first."""
    if given := os.environ.get("TMPDIR"):
        return Path(given)
    return shared if shared.is_dir() else Path(tempfile.gettempdir())


def _available() -> int | None:
    """The memory that the machine can give without swapping."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    lines = [line.split() for line in text.splitlines() if line.startswith("MemAvailable:")]
    return int(lines[0][1]) * 1024 if lines else None


def memory(need: Need | None = None, shared: Path = SHARED) -> Finding:
    """The folder for the memory of guests, and what there is of it."""
    need, folder = need or Need(), _folder(shared)
    what = f"memory in {folder}"
    try:
        state, there = os.statvfs(folder), room(shared)
    except OSError as error:
        return Finding(what, False, str(error.strerror), "set TMPDIR to a folder that there is")
    if not os.access(folder, os.W_OK):
        return Finding(what, False, "not writable", "set TMPDIR to a folder that is")
    if state.f_flag & os.ST_NOEXEC:
        return Finding(what, False, "mounted noexec", "mount -o remount,exec it, or set TMPDIR")
    temporary = os.environ.get("TMPDIR") or "/tmp"
    if len(os.fsencode(temporary)) > LONGEST:
        cure = f"set TMPDIR to a folder whose path has at most {LONGEST} bytes"
        return Finding(what, False, f"{temporary}: too long for the sockets of kernels", cure)
    cure = (
        "in a container: --shm-size=1g; or set TMPDIR to a folder with more room, or make fewer runs at a time (--jobs)"
    )
    good = need.least <= there.bytes
    found = f"{there}, for about {there.bytes // GUEST} kernels"
    if not good:
        found = f"{there}; {need}"
    return Finding(what, good, found, cure)


def descriptors(need: Need | None = None) -> Finding:
    """The file descriptors that this process may have."""
    import resource

    need = need or Need()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _wanted(need)
    cure = (
        "ask for a higher hard limit: LimitNOFILE of a service, --ulimit nofile=N of a container,"
        " limits.conf(5) of a user; or make fewer runs at a time (--jobs)"
    )
    if hard == resource.RLIM_INFINITY:
        return Finding("file descriptors", True, f"{soft}, or as many as are needed", cure)
    if wanted > hard:
        found = f"at most {hard} (ulimit -Hn); {need.kernels} kernels need {wanted}"
        return Finding("file descriptors", False, found, cure)
    room = (hard - wanted) // (OF_KERNEL + OF_DEVICE) + need.kernels
    found = f"{soft}, or up to {hard} as they are needed, for about {room} kernels"
    return Finding("file descriptors", True, found, cure)


def raise_descriptors(need: Need) -> None:
    """Lets this process have as many file descriptors as are needed, if the system allows it.

    The usual limit, 1024, is for programs that call select(2), which this process does not.
    """
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _wanted(need)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        if hard != resource.RLIM_INFINITY:
            wanted = min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _wanted(need: Need) -> int:
    """How many file descriptors this process has at the most while the kernels run."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir()) + SPARE + need.descriptors


def _mb(count: int) -> str:
    return f"{count // 1024**2} MB"


def _kernels(*, tried: bool) -> list[Finding]:
    """The kernels that are there; where the machine allows it, each is booted."""
    findings = []
    try:
        kernels = {kernel.version: kernel for kernel in reversed(cache.built())}
    except ValueError as error:
        return [Finding(f"kernel {it}", False, str(error)) for it in cache.VERSIONS]
    for version in [*cache.VERSIONS, *(it for it in kernels if it not in cache.VERSIONS)]:
        base, plus, _ = version.partition("+")
        what, cure = f"kernel {version}", f"hopyard kernels build {base}" + (" --patch FILE" if plus else "")
        if version not in kernels:
            findings.append(Finding(what, False, f"none in {cache.root()}", cure))
            continue
        try:
            found = _booted(cache.newest(version)) if tried else f"{version}: not booted"
            findings.append(Finding(what, tried, found))
        except ValueError as error:
            findings.append(Finding(what, False, str(error), f"{cure} --force"))
    return findings


def _booted(kernel: cache.Built) -> str:
    """How long a trial boot took, and what the agent answered.

    Raises:
        ValueError: when the kernel does not boot.
    """
    began = time.monotonic()
    release = _core.try_kernel(kernel.program, cache.agent())
    return f"boots in {time.monotonic() - began:.2f} s; its agent answers from {release}"


def _asked(program: str) -> int:
    try:
        done = subprocess.run([sys.executable, "-c", program], check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return -1
    return done.returncode


def _refused(code: int) -> str:
    return f"refused: {os.strerror(code)}" if code > 0 else f"killed by signal {-code}"
