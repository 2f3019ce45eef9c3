"""One run of a scenario, in a process of its own: `once.py [--capture] SCENARIO [KEY=VALUE ...]`.

Prints a JSON object: `digest` of the run, `capture` (SHA-256 of its pcapng file, if it has one), `cpu_s` (this
process, its kernels and their programs), `kernels_s` (the kernels and their programs alone), `wall_s`, `segments`
(data segments sent, all flows), `goodput_kbps` (of each flow), `memory_kb` (the most that this process and its kernels
had, looked at every three seconds; this look is not in `cpu_s`).
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import resource
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import hopyard

#: `prctl`: what descendants leave behind becomes this process's own, so that their processor time counts here.
PR_SET_CHILD_SUBREAPER = 36


def processor_s(who: int) -> float:
    """The processor time of this process, or of its children that have ended."""
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def memory_kb(root: int) -> int:
    """The memory of a process and of all below it; what several share is counted once."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            # It has ended.
            continue
    found = 0
    for process in parents:
        above = process
        while above != root and above in parents:
            above = parents[above]
        try:
            text = Path(f"/proc/{process}/smaps_rollup").read_text() if above == root else ""
        except OSError:
            continue
        found += sum(int(it.split()[1]) for it in text.splitlines() if it.startswith("Pss:"))
    return found


def value_of(text: str) -> Any:
    """A number, or a list as JSON has it; everything else is a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def main() -> None:
    """Makes the run."""
    wanted = "--capture" in sys.argv
    scenario, *settings = (word for word in sys.argv[1:] if word != "--capture")
    values = {key: value_of(value) for key, _, value in (setting.partition("=") for setting in settings)}
    # A version is a text, although it looks like a number.
    values |= {key: str(value) for key, value in values.items() if key == "linux.version"}
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    most, looking = 0, 0.0
    over = threading.Event()

    def watch() -> None:
        nonlocal most, looking
        while not over.wait(3.0):
            most = max(most, memory_kb(os.getpid()))
            looking = time.thread_time()

    watcher = threading.Thread(target=watch, daemon=True)
    began, used = time.monotonic(), processor_s(resource.RUSAGE_SELF)
    watcher.start()
    with tempfile.TemporaryDirectory() as folder:
        out, capture = Path(folder) / "out", Path(folder) / "run.pcapng" if wanted else None
        results = hopyard.run(scenario, jobs=1, set=values, out=out, capture=capture)
        over.set()
        watcher.join()
        (digest,) = hopyard.load_results(out, frame="pyarrow")["digest"].to_pylist()
        with suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
        kernels = processor_s(resource.RUSAGE_CHILDREN)
        found = {
            "digest": digest,
            "capture": hashlib.sha256(capture.read_bytes()).hexdigest() if capture else "",
            "cpu_s": processor_s(resource.RUSAGE_SELF) - used - looking + kernels,
            "kernels_s": kernels,
            "wall_s": time.monotonic() - began,
            "segments": sum(results.flows["packets_sent"].to_pylist()),
            "goodput_kbps": results.flows["goodput_kbps"].to_pylist(),
            "memory_kb": most,
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
