"""Ends the commands of a build and removes its folder when the process that builds has ended.

`hopyard kernels build` starts this file as a process of its own, whose standard input is a pipe.
The pipe ends with the process that builds, however that ends: after kill -9 too. The commands of
the build belong to this process's group. The file imports nothing of Hopyard, so that it starts at
once.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

#: The signals that end a build, and not its guard.
IGNORED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGXCPU")
#: How often it is tried: processes that are killed may write for a moment.
TRIES = 200


def members(group: int) -> list[int]:
    """The other processes of a process group."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        pid = int(folder.name)
        with suppress(OSError):
            if pid != os.getpid() and os.getpgid(pid) == group:
                found.append(pid)
    return found


def main() -> int:
    """Waits for the end of the pipe, and removes what there is."""
    for name in IGNORED:
        signal.signal(signal.Signals[name], signal.SIG_IGN)
    folder = Path(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.read()
    for _ in range(TRIES):
        left = members(os.getpgrp())
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)
        if not left and not folder.exists():
            return 0
        time.sleep(0.05)
    return 1


if __name__ == "__main__":
    sys.exit(main())
