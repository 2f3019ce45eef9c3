"""One run of a scenario, in a process of its own: `once.py [--capture] SCENARIO [KEY=VALUE ...]`.

Prints a JSON object: `digest` of the run, `capture` (SHA-256 of its pcapng file, if it has
one), `cpu_s` (this
process, its kernels and their programs), `wall_s`, `segments` (data segments sent, all flows),
`memory_kb` (the most that this process and its kernels had, looked at once a second).
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import sys
import tempfile
import threading
import time
from pathlib import Path

import hopyard


def processor_s() -> float:
    """The processor time of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(it.ru_utime + it.ru_stime for it in used)


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


def main() -> None:
    """Makes the run."""
    wanted = "--capture" in sys.argv
    scenario, *settings = (word for word in sys.argv[1:] if word != "--capture")
    values = dict(setting.split("=", 1) for setting in settings)
    most = 0
    over = threading.Event()

    def watch() -> None:
        nonlocal most
        while not over.wait(1.0):
            most = max(most, memory_kb(os.getpid()))

    watcher = threading.Thread(target=watch, daemon=True)
    began, used = time.monotonic(), processor_s()
    watcher.start()
    with tempfile.TemporaryDirectory() as folder:
        out, capture = Path(folder) / "out", Path(folder) / "run.pcapng" if wanted else None
        results = hopyard.run(scenario, jobs=1, set=values, out=out, capture=capture)
        over.set()
        watcher.join()
        (digest,) = hopyard.load_results(out, frame="pyarrow")["digest"].to_pylist()
        found = {
            "digest": digest,
            "capture": hashlib.sha256(capture.read_bytes()).hexdigest() if capture else "",
            "cpu_s": processor_s() - used,
            "wall_s": time.monotonic() - began,
            "segments": sum(results.flows["packets_sent"].to_pylist()),
            "memory_kb": most,
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
