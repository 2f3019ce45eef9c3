"""What kernels in simulated time need of a machine, and what to do where it is missing."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hopyard.kernels import cache

#: The memory that a guest touches, in bytes, with room to spare.
GUEST = 8 * 1024**2
#: Where the memory of guests is by default.
SHARED = Path("/dev/shm")
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
    return [*found, *_kernels()] if found[0].good else found


def machine(guests: int = 2) -> list[Finding]:
    """Looks at what the machine must have, whatever kernel it is, for a number of guests."""
    here = f"{platform.system()} on {platform.machine()}"
    system = Finding("system", cache.available(), here, "Linux on an x86-64 processor is needed")
    return [system, _trace(), _personality(), memory(guests)] if system.good else [system]


def _trace() -> Finding:
    code = _asked(TRACE)
    cure = "in a container: --cap-add SYS_PTRACE, or --security-opt seccomp=unconfined"
    return Finding("ptrace", code == 0, "allowed" if code == 0 else _refused(code), cure)


def _personality() -> Finding:
    code = _asked(PERSONALITY)
    cure = "in a container: --security-opt seccomp=unconfined; guests' memory would differ"
    return Finding("personality", code == 0, "allowed" if code == 0 else _refused(code), cure)


def memory(guests: int = 2, shared: Path = SHARED) -> Finding:
    """The folder for the memory of guests, of which there are this many."""
    folder = shared if shared.is_dir() else Path(tempfile.gettempdir())
    what = f"memory in {folder}"
    try:
        state = os.statvfs(folder)
    except OSError as error:
        return Finding(what, False, str(error.strerror), "set TMPDIR to a folder that there is")
    free = state.f_bavail * state.f_frsize
    found = f"{free // 1024**2} MB free, for about {free // GUEST} guests"
    if not os.access(folder, os.W_OK):
        return Finding(what, False, "not writable", "set TMPDIR to a folder that is")
    if state.f_flag & os.ST_NOEXEC:
        return Finding(what, False, "mounted noexec", "mount -o remount,exec it, or set TMPDIR")
    cure = "in a container: --shm-size=1g; or set TMPDIR to a folder with more room"
    if free < guests * GUEST:
        found = f"{found}; {guests} guests need {guests * GUEST // 1024**2} MB"
    return Finding(what, free >= guests * GUEST, found, cure)


def _kernels() -> list[Finding]:
    findings = []
    kernels = {kernel.version: kernel for kernel in reversed(cache.built())}
    for version in cache.VERSIONS:
        what, cure = f"kernel {version}", f"hopyard kernels build {version}"
        if version not in kernels:
            findings.append(Finding(what, False, f"none in {cache.root()}", cure))
            continue
        try:
            done = subprocess.run(
                [kernels[version].program, "--version"],
                capture_output=True,
                text=True,
                check=False,
                timeout=PATIENCE,
            )
            good = done.returncode == 0
            found = done.stdout.strip() if good else f"exit code {done.returncode}"
        except (OSError, subprocess.TimeoutExpired) as error:
            good, found = False, str(error)
        findings.append(Finding(what, good, found, f"{cure} --force"))
    return findings


def _asked(program: str) -> int:
    try:
        done = subprocess.run([sys.executable, "-c", program], check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return -1
    return done.returncode


def _refused(code: int) -> str:
    return f"refused: {os.strerror(code)}" if code > 0 else f"killed by signal {-code}"
