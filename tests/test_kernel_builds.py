"""Builds of kernels: their sources, and builds that are interrupted."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hopyard.kernels import build

if TYPE_CHECKING:
    from collections.abc import Callable


def waited(condition: Callable[[], bool]) -> bool:
    for _ in range(300):
        if condition():
            return True
        time.sleep(0.1)
    return False


SLOW = """
import sys
from pathlib import Path
from hopyard.kernels import build

def slow(wanted, key, work, *others):
    (work / "objects").mkdir()
    # A compiler as make starts it, beside one that is waited for.
    line = "sleep 1000 & echo $! $$ > ../new; mv ../new ../pids; while :; do date > $$; done"
    build._Steps(work / "log").run("it failed", ["sh", "-c", line], work / "objects")

build._kernel, build._agent = slow, lambda *_: None
source = Path(sys.argv.pop())
build.recipe = lambda *_, **__: build.Recipe("6.1", source, "package", "gcc", [], source)
from hopyard import _core
from hopyard.cli.main import main
main()
"""


def _build(root: Path) -> subprocess.Popen[str]:
    source = root.parent / "source"
    source.write_text("")
    command = [sys.executable, "-c", SLOW, "kernels", "build", str(source)]
    environment = {**os.environ, "HOPYARD_KERNELS": str(root)}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_build_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    root = tmp_path / "kernels"
    process = _build(root)
    assert waited(lambda: any(root.glob(".building-*/pids"))), process.poll()
    (file,) = root.glob(".building-*/pids")
    commands = [Path("/proc", pid) for pid in file.read_text().split()]
    assert all(path.exists() for path in commands)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert waited(lambda: not any(path.exists() for path in commands))
    assert waited(lambda: not any(root.glob(".building-*")))


def test_a_build_removes_what_a_dead_one_left_and_nothing_of_one_that_lives(tmp_path: Path) -> None:
    root = tmp_path / "kernels"
    root.mkdir()
    left = root / ".building-left"
    left.mkdir()
    (left / "linux").write_text("")
    with build._alone(root, lambda _: None):
        process = _build(root)
        assert process.stderr is not None
        assert "another build is under way" in process.stderr.readline()
        time.sleep(0.2)
        assert left.exists()
    assert waited(lambda: any(root.glob(".building-*/pids")))
    assert not left.exists()
    process.kill()
    process.communicate(timeout=60)
    assert waited(lambda: not any(root.glob(".building-*")))


def test_the_source_is_found_by_the_names_of_distributions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = tmp_path / "os-release"
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(build, "_output", lambda command: command[-1])
    monkeypatch.setattr(build, "SOURCES", tmp_path)
    monkeypatch.setattr(build, "RELEASE", release)
    for text, missing in (
        ('ID=debian\nVERSION_ID="12"\n', "apt install linux-source-6.1$"),
        ('ID=debian\nVERSION_ID="13"\n', "apt install linux-source-6.12$"),
        ('ID=ubuntu\nVERSION_ID="24.04"\n', r"--source linux-6\.1\.N\.tar\.xz"),
    ):
        release.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=missing):
            build.recipe()
    nested = tmp_path / "linux-source-6.12.0" / "linux-source-6.12.0.tar.bz2"
    nested.parent.mkdir()
    nested.touch()
    found = build.recipe()
    assert (found.version, found.source, found.package) == ("6.12", nested, "linux-source-6.12.0")
    first = tmp_path / "linux-source-6.1.tar.xz"
    first.touch()
    assert (build.recipe().version, build.recipe("6.12").source) == ("6.1", nested)


def test_the_source_may_be_a_file_or_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(build, "_output", lambda _: "gcc 1")
    folder = tmp_path / "linux-6.12.9"
    folder.mkdir()
    with pytest.raises(ValueError, match="found a folder without Makefile"):
        build.recipe(None, folder)
    (folder / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\n", encoding="utf-8")
    archive = tmp_path / "linux-6.12.9.tar.gz"
    with tarfile.open(archive, "w:gz") as file:
        file.add(folder, "linux-6.12.9")
    keys = set()
    for number, source in enumerate((folder, archive)):
        wanted = build.recipe(None, source)
        assert (wanted.version, wanted.package) == ("6.12", source.name)
        keys.add(wanted.key())
        work = tmp_path / str(number)
        work.mkdir()
        unpacked = build._unpack(wanted, build._Steps(work / "log"), work)
        assert (unpacked / "Makefile").is_file()
    (folder / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 1\n", encoding="utf-8")
    changed = build.recipe(None, folder)
    assert len({*keys, changed.key()}) == 3
    work = tmp_path / "other"
    work.mkdir()
    with pytest.raises(build.BuildError, match=r"expected Linux 6\.12, found 6\.1$"):
        build._unpack(changed, build._Steps(work / "log"), work)
    with pytest.raises(ValueError, match="the name does not say the version"):
        build.recipe(None, tmp_path)


#: A patch of two files and three hunks.
