"""Building and starting our ns-3.37 programs."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from peerlib.peer import Option, PeerError

SOURCES = Path(__file__).resolve().parent.parent / "ns3"
_HEADER = Path("/usr/include/ns3/core-module.h")
_MODULES = (
    "aodv",
    "dsdv",
    "olsr",
    "applications",
    "internet",
    "traffic-control",
    "point-to-point",
    "wifi",
    "mobility",
    "propagation",
    "traffic-control",
    "network",
    "core",
)
_FLAGS = ("-std=c++17", "-O2", "-Wall", "-Wextra")
# Numbers, and lists of them.
Result = dict[str, float | list[int]]


def check() -> None:
    """Raises a `PeerError` that names the packages if ns-3 or the compiler is missing."""
    if not _HEADER.exists():
        raise PeerError(
            "ns-3 is not installed: the Debian packages are ns3 and libns3-dev (apt-get install ns3 libns3-dev)"
        )
    if shutil.which("g++") is None:
        raise PeerError("no C++ compiler: the Debian package is g++ (apt-get install g++)")


def build(program: str) -> Path:
    """Compile a program if its sources have changed; return its path."""
    check()
    source = SOURCES / f"{program}.cc"
    binary = SOURCES / "build" / program
    newest = max(path.stat().st_mtime for path in (source, *SOURCES.glob("*.h")))
    if binary.exists() and binary.stat().st_mtime > newest:
        return binary
    binary.parent.mkdir(exist_ok=True)
    libraries = [f"-lns3-{module}" for module in _MODULES]
    words = ["g++", *_FLAGS, "-o", str(binary), str(source), *libraries]
    compiler = subprocess.run(words, capture_output=True, text=True, check=False)
    if compiler.returncode != 0:
        raise PeerError(f"{' '.join(words)}\n{compiler.stderr}")
    return binary


def command(program: str, options: Mapping[str, Option]) -> list[str]:
    """The command line of one run."""
    return [str(build(program)), *(f"--{name}={value}" for name, value in options.items())]


def output(program: str, options: Mapping[str, Option]) -> str:
    """Run a program and return what it prints."""
    words = command(program, options)
    process = subprocess.run(words, capture_output=True, text=True, check=False)
    if process.returncode != 0:
        raise PeerError(f"{' '.join(words)}\n{process.stderr}")
    return process.stdout


def run(program: str, options: Mapping[str, Option]) -> Result:
    """Run a program and return the content of its line of JSON."""
    result: Result = json.loads(output(program, options))
    return result


def packets(program: str, options: Mapping[str, Option]) -> tuple[list[int], float]:
    """Run a program of stations; return the packets of each receiver, and how many frames were sent."""
    result = run(program, options)
    found, sent = result["packets"], result.get("sent", 0.0)
    if not isinstance(found, list) or isinstance(sent, list):
        raise PeerError(f"{program} printed no list of packets for {options}")
    return found, sent


def number(result: Result, name: str) -> float:
    """A single number of a result."""
    value = result[name]
    if isinstance(value, list):
        raise TypeError(f"expected a number, found {value}")
    return value
