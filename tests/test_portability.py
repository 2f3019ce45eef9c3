"""What is of one system only is used there only: elsewhere Hopyard runs without it, and says what is missing."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hopyard.store.database import _uri
from short import finished, python

if TYPE_CHECKING:
    import subprocess

ROOT = Path(__file__).parent.parent
CHAIN = ROOT / "examples" / "chain.toml"
SHORT = ["--set", "duration=6 s", "--set", "measure.from=1 s", "--runs", "2"]

#: Takes away what Unix has and other systems lack, and then runs the command, or imports every module. What the
#: interpreter has imported itself stays with it.
ELSEWHERE = """
import importlib, os, pkgutil, signal, sys

NONE = {"fcntl", "grp", "pwd", "resource", "syslog", "termios", "tty", "pty"}
SYSTEM = sys.argv.pop(1)

def modules():
    import hopyard
    for each in pkgutil.walk_packages(hopyard.__path__, "hopyard."):
        importlib.import_module(each.name)

if SYSTEM == "win32" or sys.argv[1:] == ["import"]:
    # Libraries need modules of the system on which they are imported: they come first, and Hopyard once more after.
    modules()
    for name in [name for name in sys.modules if f"{name}.".startswith("hopyard.") and name != "hopyard._core"]:
        del sys.modules[name]

class Hiding:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in NONE:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hiding)
for name in NONE:
    sys.modules.pop(name, None)
for of, names in (
    (os, ["O_CLOEXEC", "O_NOFOLLOW", "fork", "getuid", "geteuid", "getpgid", "getsid", "statvfs"]),
    (signal, ["SIGHUP", "SIGKILL", "SIGXCPU", "pthread_sigmask", "setitimer"]),
):
    for name in names:
        if hasattr(of, name):
            delattr(of, name)
if SYSTEM == "emscripten":
    # A browser has no threads either. The core gets none because of RUST_MIN_STACK.
    import threading

    def start(self):
        raise RuntimeError("can't start new thread")

    threading.Thread.start = start
from hopyard import _core
if hasattr(_core, "Live"):
    del _core.Live
if SYSTEM != "linux":
    sys.platform = SYSTEM
if sys.argv[1:] == ["import"]:
    modules()
else:
    from hopyard.__main__ import main
    main()
"""
#: What may use names that only Unix has: modules that first look whether this is Linux.
LINUX = re.compile(r"hopyard/(live/\w+|kernels/(build|build_guard|check))\.py")


def _elsewhere(system: str, *arguments: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return python("-c", ELSEWHERE, system, *arguments, cwd=folder, env={**os.environ, **environment})


def _here(*arguments: str, folder: Path) -> str:
    return finished(*arguments, cwd=folder, check=True).stdout


@pytest.mark.parametrize("system", ["linux", "emscripten"])
def test_a_comparison_needs_nothing_of_one_system(system: str, tmp_path: Path) -> None:
    words = ["run", str(CHAIN), "--set", "flow.tcp=newreno,vegas", *SHORT, "--quiet", "--out"]
    # A stack of this size cannot be had: no thread of the core starts.
    stack = {"RUST_MIN_STACK": str(1 << 60)} if system == "emscripten" else {}
    there = _elsewhere(system, *words, "there", folder=tmp_path, **stack)
    assert there.returncode == 0, there.stderr
    here = _here(*words, "here", folder=tmp_path)
    assert there.stdout == here.replace("here", "there")
    # The folder can be read and continued here, and there.
    assert "newreno" in _here("show", "there", folder=tmp_path)
    again = _elsewhere(system, *words, "there", folder=tmp_path, **stack)
    assert again.returncode == 0, again.stderr


def test_a_run_in_steps_needs_no_thread(tmp_path: Path) -> None:
    code = f"""
import hopyard
settings = {{"duration": "6 s", "measure.from": "1 s"}}
with hopyard.start({str(CHAIN)!r}, set=settings) as simulation:
    while simulation.advance(1.0):
        pass
    print(simulation.digest)
"""
    found = [
        python("-c", code, cwd=tmp_path, env={**os.environ, **stack}, check=True).stdout
        for stack in ({}, {"RUST_MIN_STACK": str(1 << 60)})
    ]
    assert found[0] == found[1] != ""


@pytest.mark.parametrize("system", ["darwin", "win32", "emscripten"])
def test_every_module_is_imported_on_every_system(system: str, tmp_path: Path) -> None:
    done = _elsewhere(system, "import", folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_no_module_uses_a_name_that_a_system_lacks(system: str, tmp_path: Path) -> None:
    """Python's own modules have other names on each system, which typeshed knows and mypy compares."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    (tmp_path / "mypy.ini").write_text("[mypy]\nexplicit_package_bases = True\n")
    line = ["--platform", system, "--no-site-packages", "--ignore-missing-imports", "--config-file", "mypy.ini"]
    paths = {**os.environ, "MYPYPATH": f"{ROOT / 'python'}:{ROOT / 'kernels'}"}
    done = python("-m", "mypy", *line, ROOT / "python", cwd=tmp_path, env=paths)
    assert "source files" in done.stdout, done.stdout + done.stderr
    lacking = [line for line in done.stdout.splitlines() if "Module has no attribute" in line]
    # The modules of Linux alone have such names: the comparison works.
    assert any(LINUX.search(line) for line in lacking), done.stdout
    assert [line for line in lacking if not LINUX.search(line)] == []


@pytest.mark.parametrize("system", ["darwin", "win32", "emscripten"])
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["kernels", "check"], "Linux on an x86-64 processor is needed"),
        (["kernels", "build", "6.1"], "kernels in simulated time need Linux on an x86-64 processor"),
        (["run", "CHAIN", "--set", "flow.stack=linux", "--set", "flow.tcp=reno"], "Linux on an x86-64 processor"),
        (
            ["live", "CHAIN", "--attach", "left=0", "--attach", "right=6"],
            "live mode needs the network namespaces and TUN devices of Linux",
        ),
    ],
)
def test_what_needs_linux_says_so(system: str, arguments: list[str], told: str, tmp_path: Path) -> None:
    words = [str(CHAIN) if word == "CHAIN" else word for word in arguments]
    done = _elsewhere(system, *words, folder=tmp_path)
    assert done.returncode in (1, 2), done.stderr
    assert told in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_in_use_is_told_where_files_have_locks(tmp_path: Path) -> None:
    from hopyard.store.folder import _lock
    from hopyard.store.folder_check import FolderError

    first = _lock(tmp_path)
    with pytest.raises(FolderError, match=f"in use by another process \\({os.getpid()} on "):
        _lock(tmp_path)
    os.close(first)
    os.close(_lock(tmp_path))


def test_sqlite_gets_the_name_of_any_file() -> None:
    assert _uri(Path("/a b/c?.sqlite"), "ro") == "file:///a%20b/c%3F.sqlite?mode=ro"
    assert _uri(Path("c.sqlite"), "rw") == "file:c.sqlite?mode=rw"


def test_without_its_package_kernels_say_how_to_install_it(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden" / "sitecustomize.py"
    hidden.parent.mkdir()
    hidden.write_text("import sys\nsys.modules['hopyard_kernels'] = None\n")
    environment = {**os.environ, "PYTHONPATH": str(hidden.parent), "HOPYARD_KERNELS": str(tmp_path)}
    for arguments in (["build", "6.1"], ["check"], ["check", "--machine"]):
        done = finished("kernels", *arguments, env=environment)
        assert done.returncode in (1, 2)
        assert "pip install 'hopyard[kernels]', or pip install ./kernels in a clone" in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
    done = finished("run", CHAIN, "--set", "flow.stack=linux", "--set", "flow.tcp=reno", *SHORT, env=environment)
    assert done.returncode == 2
    assert "kernels need the package hopyard-kernels, which is not installed" in done.stderr
