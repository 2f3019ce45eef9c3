"""Starting ns-2.35, and reading its trace while it runs.

The trace goes through a pipe: a run of several hundred megabytes of trace leaves nothing on disk.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from peerlib.peer import Option, PeerError

SCRIPTS = Path(__file__).resolve().parent.parent / "ns2"


@dataclass(frozen=True)
class FlowResult:
    """The script's values of one flow at the end of the run."""

    kind: str
    source: int
    destination: int
    values: Mapping[str, int]


def executable() -> str:
    """Path of ns-2; raises a `PeerError` that names the package if it is missing."""
    path = shutil.which("ns")
    if path is None:
        raise PeerError("ns-2 is not installed: the Debian package is ns2 (apt-get install ns2)")
    return path


def command(script: str, options: Mapping[str, Option]) -> list[str]:
    """The command line of one run of one of our scripts."""
    words = [executable(), str(SCRIPTS / script)]
    for name, value in options.items():
        words += [f"-{name.replace('_', '-')}", str(value)]
    return words


def run(
    script: str, options: Mapping[str, Option], on_trace: Callable[[Iterable[bytes]], None] | None = None
) -> list[str]:
    """Run `script` and return the lines of its standard output.

    `on_trace` is given the trace line by line while the run goes on; without it the script is
    told nothing about a trace.
    """
    words = command(script, options)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as complaints:
        if on_trace is None:
            status = subprocess.run(words, stdout=output, stderr=complaints, check=False).returncode
        else:
            reading, writing = os.pipe()
            words += ["-trace", f"/dev/fd/{writing}"]
            with subprocess.Popen(words, stdout=output, stderr=complaints, pass_fds=(writing,)) as process:
                os.close(writing)
                with os.fdopen(reading, "rb", buffering=1 << 20) as trace:
                    on_trace(trace)
                status = process.wait()
        complaints.seek(0)
        if status != 0:
            raise PeerError(f"{' '.join(words)}\n{complaints.read().decode()}")
        output.seek(0)
        return output.read().decode().splitlines()


def flows(lines: Iterable[str]) -> list[FlowResult]:
    """The flow lines that `adhoc.tcl` prints, in the order of the flows."""
    results = []
    for line in lines:
        words = line.split()
        if words[:1] != ["flow"]:
            continue
        _, _, kind, source, destination, *pairs = words
        values = {name: int(value) for name, value in zip(pairs[::2], pairs[1::2], strict=True)}
        results.append(FlowResult(kind, int(source), int(destination), values))
    return results
