"""Linux kernels in simulated time: the cache, the commands, and runs where a kernel is built."""

from __future__ import annotations

import gc
import json
import os
import re
import resource
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hopyard
import pyarrow as pa
import pytest
from click.testing import CliRunner
from hopyard.catalogue import models
from hopyard.cli import main
from hopyard.kernels import build, cache, check
from hopyard.kernels.use import most, needed
from hopyard.plan import plan
from test_docs import DOCS, blocks

if TYPE_CHECKING:
    from collections.abc import Callable

ABOUT = {
    "version": "6.1",
    "release": "6.1.192-hopyard",
    "package": "linux-source-6.1 6.1.192-2",
    "key": "0123456789ab",
    "compiler": "gcc 12",
    "variants": ["cubic", "htcp", "reno"],
    "made": "2026-01-02T03:04:05+00:00",
}

TWO: dict[str, Any] = {
    "name": "two",
    "duration": "6 s",
    "runs": 2,
    "nodes": {"count": 3, "spacing": "200 m"},
    "radio": {"receive": "250 m", "sense": "550 m"},
    "flow": [{"from": 0, "to": 2, "tcp": "reno", "stack": "linux", "start": "1 s"}],
}


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("HOPYARD_KERNELS", str(tmp_path))
    return tmp_path


def _add(root: Path, folder: str, **about: object) -> Path:
    path = root / folder
    path.mkdir()
    (path / "linux").write_text("#!/bin/sh\necho 6.1.192-hopyard\n")
    (path / "linux").chmod(0o755)
    cache.agent().parent.mkdir(exist_ok=True)
    cache.agent().write_text("#!/bin/sh\n")
    cache.agent().chmod(0o755)
    (path / cache.ABOUT).write_text(json.dumps({**ABOUT, **about}))
    return path


def test_the_newest_kernel_of_a_version_is_used(empty: Path) -> None:
    _add(empty, "6.1-a")
    new = _add(empty, "6.1-b", made="2026-02-02T03:04:05+00:00")
    other = _add(empty, "6.12-a", version="6.12")
    assert [kernel.folder for kernel in cache.built()] == [new, empty / "6.1-a", other]
    assert cache.newest("6.1").folder == new


@pytest.mark.usefixtures("empty")
def test_a_kernel_that_is_not_there_names_the_command() -> None:
    with pytest.raises(ValueError, match=r"`hopyard kernels build 6\.12` makes it"):
        cache.newest("6.12")
    with pytest.raises(ValueError, match=r"expected a kernel 6\.1 or 6\.12, found '5\.10'"):
        cache.newest("5.10")


def test_an_agent_of_another_version_does_not_count(empty: Path) -> None:
    _add(empty, "6.1-a")
    cache.agent().rename(cache.agent().with_name("another"))
    with pytest.raises(ValueError, match="there is no agent of this version of Hopyard"):
        cache.newest("6.1")


def test_only_what_is_missing_is_built(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for tool in ("gcc", "strip"):
        if shutil.which(tool) is None:
            pytest.skip(f"there is no {tool}")
    source = empty / "source"
    source.write_text("")
    wanted = build.Recipe("6.1", source, "package", "gcc", [], source)
    _add(empty, "6.1-a", key=wanted.key())
    monkeypatch.setattr(cache, "MODULES", empty / "none")
    cache.agent().unlink()
    told: list[str] = []
    found = build.build(wanted, told.append)
    assert told == ["the agent is compiled", f"kernel 6.1 is there: {empty / '6.1-a'}"]
    assert found.folder == empty / "6.1-a"
    assert cache.agent().stat().st_size > 100_000
    del told[:]
    build.build(wanted, told.append)
    assert told == [f"kernel 6.1 is there: {empty / '6.1-a'}"]


#: Builds a kernel that only computes, and says where: see `_build`.
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
build.recipe = lambda _: build.Recipe("6.1", source, "package", "gcc", [], source)
from hopyard.cli import main
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
    assert _wait(lambda: any(root.glob(".building-*/pids"))), process.poll()
    (file,) = root.glob(".building-*/pids")
    commands = [Path("/proc", pid) for pid in file.read_text().split()]
    assert all(path.exists() for path in commands)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert _wait(lambda: not any(path.exists() for path in commands))
    assert _wait(lambda: not any(root.glob(".building-*")))


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
    assert _wait(lambda: any(root.glob(".building-*/pids")))
    assert not left.exists()
    process.kill()
    process.communicate(timeout=60)
    assert _wait(lambda: not any(root.glob(".building-*")))


def test_a_kernel_that_cannot_be_started_is_found_before_a_run(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "_trace", lambda: check.Finding("ptrace", True, "allowed"))
    program = _add(empty, "6.1-a", variants=["reno"]) / "linux"
    file = empty / "two.toml"
    file.write_text(hopyard.Scenario(**TWO).to_toml())

    def told() -> str:
        with pytest.raises(ValueError, match=r"`hopyard kernels build 6\.1") as caught:
            hopyard.run(file, out=empty / "out")
        assert not (empty / "out").exists()
        done = CliRunner().invoke(main, ["check", str(file)])
        assert f"{file}: {caught.value}" in done.stdout
        listed = CliRunner().invoke(main, ["kernels", "check"])
        assert "missing  kernel 6.1" in listed.stdout
        return str(caught.value)

    program.chmod(0o644)
    if os.access(program, os.X_OK):
        pytest.skip("every file is a program here")
    assert (
        told() == f"{program} is not executable: `hopyard kernels build 6.1 --force` makes it anew"
    )
    whole = Path(sys.executable).read_bytes()
    program.write_bytes(whole)
    program.chmod(0o755)
    assert cache.defect(program) == ""
    program.write_bytes(whole[: len(whole) // 2])
    assert f"{program} is cut off: expected {len(whole)} bytes, found {len(whole) // 2}" in told()
    program.write_bytes(b"")
    assert f"{program} is no program: it has 0 bytes" in told()
    program.write_bytes(whole)
    cache.agent().write_bytes(whole[:1000])
    with pytest.raises(ValueError, match=r"is cut off: expected .* found 1000: remove it, and"):
        cache.newest("6.1")


def test_a_folder_of_kernels_that_cannot_be_read_is_named(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _add(empty, "6.1-a")
    file = empty / "two.toml"
    file.write_text(hopyard.Scenario(**TWO).to_toml())
    usual = Path.iterdir

    # Whoever runs the tests as root may read everything.
    def refuse(path: Path) -> object:
        if path == empty:
            raise PermissionError(13, "Permission denied", str(path))
        return usual(path)

    monkeypatch.setattr(Path, "iterdir", refuse)
    told = f"{empty}: the folder of kernels cannot be read: Permission denied"
    with pytest.raises(ValueError, match=told):
        cache.newest("6.1")
    assert told in CliRunner().invoke(main, ["check", str(file)]).stdout
    assert told in CliRunner().invoke(main, ["kernels", "check"]).stdout
    done = CliRunner().invoke(main, ["kernels", "list"])
    assert (done.exit_code != 0, told in str(done.exception) + done.stderr) == (True, True)
    monkeypatch.undo()
    monkeypatch.setenv("HOPYARD_KERNELS", str(empty))
    about = Path.read_text

    def closed(path: Path, **options: Any) -> str:
        if path == folder / cache.ABOUT:
            raise PermissionError(13, "Permission denied", str(path))
        return about(path, **options)

    monkeypatch.setattr(Path, "read_text", closed)
    monkeypatch.setattr(os, "access", lambda path, _: path != folder / cache.ABOUT)
    with pytest.raises(ValueError, match=r"no kernel 6\.1 in .* \(.*6\.1-a cannot be read\)"):
        cache.newest("6.1")


def test_folders_of_other_versions_are_told_and_not_used(empty: Path) -> None:
    bad = _add(empty, "6.1-a", unknown=1)
    worse = _add(empty, "6.1-b")
    (worse / cache.ABOUT).write_text("{")
    assert cache.built() == []
    assert cache.unreadable() == [bad, worse]
    done = CliRunner().invoke(main, ["kernels", "list"])
    assert f"{bad}: this is no kernel that this version of Hopyard can use" in done.stderr
    assert done.exit_code == 1


def test_a_list_without_a_kernel_says_what_to_do(empty: Path) -> None:
    done = CliRunner().invoke(main, ["kernels", "list"])
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"there is no kernel in {empty}: `hopyard kernels build` makes one" in done.stderr


def test_the_list_shows_kernels_with_their_variants(empty: Path) -> None:
    _add(empty, "6.1-a")
    done = CliRunner().invoke(main, ["kernels", "list"])
    assert done.exit_code == 0
    assert "6.1.192-hopyard" in done.stdout
    assert "tcp of flows: cubic, reno\n  tcp, for programs: htcp" in done.stdout


def test_modules_are_listed_and_needed(empty: Path) -> None:
    _add(empty, "6.1-a", variants=["cubic", "reno"])
    flow = {**TWO["flow"][0], "tcp": "welcome"}
    scenario = hopyard.Scenario(**{**TWO, "flow": [flow]})
    missing = r"module of the TCP variant `welcome` .*`hopyard kernels build 6\.1` makes it"
    with pytest.raises(ValueError, match=missing):
        hopyard.run(scenario)
    (kernel,) = cache.built()
    kernel.modules.mkdir()
    (kernel.modules / "hopyard_welcome.ko").touch()
    (kernel.modules / "hopyard_elfn.ko").touch()
    assert kernel.senders() == ["cubic", "elfn", "reno", "welcome"]
    assert not kernel.lacks_module("welcome")
    assert not kernel.lacks_module("bbr")
    done = CliRunner().invoke(main, ["kernels", "list"])
    assert "tcp, as modules of Hopyard: elfn, welcome" in done.stdout


def test_check_says_what_is_missing(empty: Path) -> None:
    done = CliRunner().invoke(main, ["kernels", "check"])
    assert done.exit_code == 1
    assert "missing  kernel 6.1: none in" in done.stdout
    assert "-> hopyard kernels build 6.1" in done.stdout
    _add(empty, "6.1-a")
    done = CliRunner().invoke(main, ["kernels", "check"])
    assert "ok       kernel 6.1: 6.1.192-hopyard" in done.stdout


@pytest.mark.usefixtures("empty")
def test_the_machine_is_checked_without_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "TRACE", "raise SystemExit(0)")
    monkeypatch.setattr(check, "PERSONALITY", "raise SystemExit(0)")
    monkeypatch.setattr(check, "GUEST", 1)
    done = CliRunner().invoke(main, ["kernels", "check", "--machine"])
    assert (done.exit_code, "kernel 6.1" in done.stdout) == (0, False), done.stdout
    monkeypatch.setattr(check, "TRACE", "raise SystemExit(1)")
    done = CliRunner().invoke(main, ["kernels", "check", "--machine"])
    assert done.exit_code == 1
    assert "missing  ptrace: refused: Operation not permitted" in done.stdout


def test_memory_that_forbids_programs_or_is_small_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check.memory(shared=tmp_path).good
    usual = os.statvfs(tmp_path)
    for place, value, found in ((8, os.ST_NOEXEC, "mounted noexec"), (4, 0, "0 MB free")):
        changed = [*usual]
        changed[place] = value
        monkeypatch.setattr(os, "statvfs", lambda _, it=changed: os.statvfs_result(it))
        finding = check.memory(shared=tmp_path)
        assert not finding.good
        assert finding.found.startswith(found)


def test_a_refusal_has_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "TRACE", "raise SystemExit(1)")
    found = [it for it in check.machine() if it.what == "ptrace"]
    assert [(it.good, it.found) for it in found] == [(False, "refused: Operation not permitted")]
    monkeypatch.setattr(check, "TRACE", "import os; os.kill(os.getpid(), 31)")
    found = [it for it in check.machine() if it.what == "ptrace"]
    assert [(it.good, it.found) for it in found] == [(False, "killed by signal 31")]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = {"flex", "bison"}
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name in missing else which(name))
    with pytest.raises(ValueError, match="apt install bison flex"):
        build.recipe("6.1")
    with pytest.raises(ValueError, match=r"expected a kernel 6\.1 or 6\.12, found '6\.6'"):
        build.recipe("6.6")
    done = CliRunner().invoke(main, ["kernels", "build", "6.1"])
    assert done.exit_code == 2


def test_variants_have_the_names_of_the_kernel() -> None:
    text = "CONFIG_TCP_CONG_ADVANCED=y\nCONFIG_TCP_CONG_CUBIC=y\nCONFIG_TCP_CONG_HSTCP=y\n"
    text += "# CONFIG_TCP_CONG_NV is not set\n"
    assert build.variants(text) == ["cubic", "highspeed", "reno"]


def test_the_key_depends_on_each_file(tmp_path: Path) -> None:
    files = []
    for name in ("source", "patch", "fragment"):
        files.append(tmp_path / name)
        files[-1].write_text(name)
    recipe = build.Recipe("6.1", files[0], "package", "gcc", [files[1]], files[2])
    keys = {recipe.key()}
    for file in files:
        file.write_text("changed")
        keys.add(recipe.key())
    keys.add(build.Recipe("6.1", files[0], "package", "gcc 13", [files[1]], files[2]).key())
    assert len(keys) == 5


def test_a_step_that_fails_shows_the_end_of_its_output(tmp_path: Path) -> None:
    steps = build._Steps(tmp_path / "log")
    command = [sys.executable, "-c", "print('what went wrong'); raise SystemExit(3)"]
    with pytest.raises(build.BuildError, match="it failed; the end of the output:") as caught:
        steps.run("it failed", command, tmp_path)
    assert str(caught.value).endswith("what went wrong")


def test_the_patches_of_a_version_are_its_own_and_the_common_ones() -> None:
    for version, other in (("6.1", "6.12"), ("6.12", "6.1")):
        names = [path.name for path in build.patches(version)]
        assert len(names) == {"6.1": 5, "6.12": 4}[version]
        assert names == sorted(names)
        assert not any(name.endswith(f"-{other}.patch") for name in names)


def test_scenarios_need_a_kernel_that_is_built(empty: Path) -> None:
    with pytest.raises(ValueError, match=r"`hopyard kernels build 6\.1` makes it"):
        hopyard.run(hopyard.Scenario(**TWO))
    _add(empty, "6.1-a", variants=["cubic"])
    with pytest.raises(ValueError, match=r"Linux 6\.1 has no TCP variant `reno`.*expected cubic"):
        hopyard.run(hopyard.Scenario(**TWO))


def test_a_variant_without_a_twin_in_linux_is_named() -> None:
    flow = {**TWO["flow"][0], "tcp": "tahoe"}
    with pytest.raises(hopyard.ScenarioError, match=r"(?s)no TCP variant `tahoe`.*\"cubic\""):
        hopyard.run(hopyard.Scenario(**{**TWO, "flow": [flow]}))


def test_a_program_that_is_not_there_is_named(empty: Path) -> None:
    _add(empty, "6.1-a")
    hosts = [{"node": 0, "run": "true"}, {"node": 2, "run": "no-such-program -x"}]
    with pytest.raises(
        hopyard.ScenarioError, match="there is no program `no-such-program`"
    ) as caught:
        hopyard.run(hopyard.Scenario(**{**TWO, "flow": [], "host": hosts}))
    assert [problem.path for problem in caught.value.problems] == ["host.1.run"]
    nowhere = [{"node": 3, "run": "true"}]
    with pytest.raises(ValueError, match=r"host\.0\.node|\[\[host\]\]"):
        hopyard.run(hopyard.Scenario(**{**TWO, "flow": [], "host": nowhere}))


def test_what_cannot_run_here_is_told_with_its_place_and_leaves_no_folder(
    empty: Path, tmp_path: Path
) -> None:
    _add(empty, "6.1-a")
    file = tmp_path / "programs.toml"
    text = '[nodes]\ncount = 2\n[[host]]\nnode = 1\nrun = "no-such-program -x"\n'
    file.write_text(text)
    out = tmp_path / "out"
    done = CliRunner().invoke(main, ["run", str(file), "--out", str(out)])
    assert done.exit_code == 2, done.output
    assert "there is no program `no-such-program`" in done.stderr
    assert f"{file}:5:7" in done.stderr
    assert not out.exists()
    with pytest.raises(hopyard.ScenarioError) as caught:
        hopyard.run(file, out=out)
    (problem,) = caught.value.problems
    assert (problem.path, problem.file, problem.line) == ("host.0.run", str(file), 5)
    assert not out.exists()


def test_a_machine_that_cannot_have_kernels_is_an_error_before_a_run(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _add(empty, "6.1-a", variants=["reno"])
    monkeypatch.setattr(check, "PERSONALITY", "raise SystemExit(0)")
    monkeypatch.setattr(check, "TRACE", "raise SystemExit(1)")
    with pytest.raises(ValueError, match="cannot run here: ptrace: refused: Operation not"):
        hopyard.run(hopyard.Scenario(**TWO))
    monkeypatch.setattr(check, "TRACE", "raise SystemExit(0)")
    monkeypatch.setattr(check, "GUEST", 2**60)
    with pytest.raises(ValueError, match=r"kernels need at least \d+ MB and .*container: --shm-si"):
        hopyard.run(hopyard.Scenario(**TWO))


def test_check_compares_the_memory_of_kernels_with_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = [{"node": 1, "run": "true"}, {"node": 0, "run": "true"}]
    file = tmp_path / "two.toml"
    file.write_text(hopyard.Scenario(**{**TWO, "host": hosts}).to_toml())
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = CliRunner().invoke(main, ["check", str(file)])
    # One kernel has flows only; two have programs.
    need = f"{file}: 3 kernels need at least 40 MB and at most 288 MB; there are "
    assert (done.exit_code, need in done.stdout) == (0, True), done.output
    assert f"MB free in {tmp_path}\n" in done.stdout
    usual = os.statvfs(tmp_path)
    changed = [*usual]
    changed[4] = 39 * 1024**2 // usual.f_frsize
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(changed))
    done = CliRunner().invoke(main, ["check", str(file)])
    assert (done.exit_code, f"error: {need}39 MB free" in done.stderr) == (2, True), done.output
    assert "no errors" not in done.stdout
    changed[4] = 200 * 1024**2 // usual.f_frsize
    done = CliRunner().invoke(main, ["check", str(file)])
    assert (done.exit_code, "less than they may take" in done.stdout) == (0, True), done.output


def test_what_a_machine_lacks_is_said_before_a_run(empty: Path, tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text(hopyard.Scenario(**TWO).to_toml())
    done = CliRunner().invoke(main, ["check", str(file)])
    assert done.exit_code == 0, done.output
    assert f"{file}: there is no kernel 6.1 in {empty}: `hopyard kernels build 6.1`" in done.stdout
    study = tmp_path / "study.toml"
    study.write_text('title = "Two"\nscenario = "two.toml"\n')
    out = tmp_path / "out"
    done = CliRunner().invoke(main, ["sweep", str(study), "--out", str(out)])
    assert (done.exit_code, out.exists()) == (2, False), done.output
    assert "`hopyard kernels build 6.1`" in done.stderr
    file.write_text(
        hopyard.Scenario(**{**TWO, "host": [{"node": 1, "run": "no-such-program -s"}]}).to_toml()
    )
    done = CliRunner().invoke(main, ["check", str(file)])
    assert done.exit_code == 2, done.output
    assert "no-such-program" in done.stderr
    assert "two.toml:" in done.stderr


def test_file_descriptors_are_enough_or_are_refused_before_a_run(
    empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for question in ("_trace", "_personality"):
        finding = check.Finding(question, True, "allowed")
        monkeypatch.setattr(check, question, lambda it=finding: it)
    _add(empty, "6.1-a", variants=["reno"])
    core = plan(hopyard.Scenario(**TWO))[0].core
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    limits = [before[0], before[1]]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: limits.__setitem__(slice(2), pair))
    # Two kernels with a device each take 10 for a run, and a run 8.
    need = most([(core, 100)], 40)
    assert need.descriptors == 40 * (2 * 5 + 8)
    limits[:] = [100, 20000]
    needed([(core, 100)], 40)
    assert need.descriptors + check.SPARE < limits[0] < need.descriptors + check.SPARE + 200
    assert limits[1] == 20000
    limits[:] = [10000, 20000]
    needed([(core, 100)], 40)
    assert limits == [10000, 20000]
    limits[:] = [50, resource.RLIM_INFINITY]
    needed([(core, 100)], 40)
    assert limits[0] > need.descriptors
    limits[:] = [50, 700]
    match = r"file descriptors: at most 700 \(ulimit -Hn\); 80 kernels need \d+ \(.*--jobs"
    with pytest.raises(ValueError, match=match):
        needed([(core, 100)], 40)
    assert limits == [50, 700]
    file = tmp_path / "two.toml"
    file.write_text(hopyard.Scenario(**TWO).to_toml())
    done = CliRunner().invoke(main, ["check", str(file)])
    assert (done.exit_code, "no errors" in done.stdout) == (0, True), done.output
    done = CliRunner().invoke(main, ["kernels", "check"])
    assert "ok       file descriptors: 50, or up to 700 as they are needed, for" in done.stdout
    limits[:] = [50, 60]
    done = CliRunner().invoke(main, ["check", str(file)])
    assert (done.exit_code, "no errors" in done.stdout) == (2, False), done.output
    assert "error: " in done.stderr
    assert "file descriptors: at most 60 (ulimit -Hn); 2 kernels need" in done.stderr
    done = CliRunner().invoke(main, ["kernels", "check"])
    assert (done.exit_code, "missing  file descriptors: at most 60" in done.stdout) == (1, True)


def test_each_device_of_a_kernel_with_programs_takes_descriptors() -> None:
    hosts = [{"node": 1, "run": "true"}]
    wires = [{"between": [1, it], "rate": "1 Mbps", "delay": "1 ms"} for it in (0, 2)]
    core = plan(hopyard.Scenario(**{**TWO, "host": hosts, "wire": wires}))[0].core
    assert (core.kernels(), core.kernel_devices()) == (3, 2 + 3)


def test_runs_at_a_time_need_their_memory_at_the_same_time() -> None:
    core = plan(hopyard.Scenario(**TWO))[0].core
    one = most([(core, 1)], 8)
    assert (one.kernels, one.least, one.most) == (2, 2 * check.GUEST, 2 * 32 * 1024**2)
    three = check.Need(3 * one.least, 3 * one.most, 6, 3 * one.descriptors)
    assert most([(core, 5), (core, 5)], 3) == three


def test_variants_with_a_twin_in_linux_are_named(tmp_path: Path) -> None:
    def told(*variants: str) -> str:
        flows = [{"from": 0, "to": 2, "tcp": variant} for variant in variants]
        file = tmp_path / "two.toml"
        file.write_text(hopyard.Scenario(**{**TWO, "flow": flows}).to_toml())
        done = CliRunner().invoke(main, ["check", str(file)])
        assert done.exit_code == 0, done.output
        return done.stdout

    assert "Linux has cubic, reno too: --set flow.stack=linux" in told("reno", "cubic")
    assert "Linux has" not in told("reno", "tahoe")
    listed = CliRunner().invoke(main, ["models", "veno"]).stdout
    assert "--set flow.stack=linux runs flows with Linux's TCP" in listed
    assert "flow.stack" not in CliRunner().invoke(main, ["models", "tahoe"]).stdout


def test_the_twins_are_variants_of_the_kernels() -> None:
    configuration = (build.HERE / "linux" / "fragment.config").read_text(encoding="utf-8")
    modules = {path.stem.removeprefix(cache.MODULE) for path in cache.MODULES.glob("hopyard_*.c")}
    there = {*build.variants(configuration), *modules}
    twins = {model["name"] for model in models("congestion") if model["has_twin"]}
    assert twins <= there, twins - there
    assert {"reno", "cubic", "welcome"} <= twins


def test_a_simulation_in_steps_needs_a_kernel_that_is_built(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for question in ("TRACE", "PERSONALITY"):
        monkeypatch.setattr(check, question, "raise SystemExit(0)")
    with pytest.raises(ValueError, match=r"`hopyard kernels build 6\.1` makes it"):
        hopyard.start(hopyard.Scenario(**TWO))
    _add(empty, "6.1-a", variants=["reno"])
    with pytest.raises(hopyard.SimulationError, match="the kernel of node 0"):
        hopyard.start(hopyard.Scenario(**TWO))


@pytest.fixture(scope="module")
def kernel() -> cache.Built:
    """A kernel that is built; without one, the test is skipped."""
    try:
        found = cache.newest("6.1")
    except ValueError as error:
        pytest.skip(str(error))
    missing = [it.what for it in check.machine() if not it.good]
    if missing:
        pytest.skip(f"kernels cannot run here: {', '.join(missing)}")
    return found


@pytest.mark.usefixtures("kernel")
def test_both_stacks_are_compared_in_one_table() -> None:
    scenario = hopyard.Scenario(**TWO)
    settings = {"flow.stack": ["hopyard", "linux"]}
    results = hopyard.run(scenario, set=settings, series=["cwnd", "goodput"])
    assert len(results.cases) == 2
    for case in results.cases:
        assert results.estimate("goodput", case).mean > 50
    flows = results.flows.to_pylist()
    assert {row["transport"] for row in flows} == {"reno", "reno (Linux)"}
    linux = [row for row in flows if row["transport"] == "reno (Linux)"]
    assert all(row["retransmissions"] <= row["packets_sent"] and row["hops"] == 2 for row in linux)
    again = hopyard.run(scenario, set=settings, series=["cwnd", "goodput"], jobs=1)
    assert again.flows.equals(results.flows)
    assert again.series.equals(results.series)


@pytest.mark.usefixtures("kernel")
def test_programs_of_the_machine_are_in_the_results(tmp_path: Path) -> None:
    hosts = [
        {"node": 2, "run": "sh -c 'getent hosts node0; exit 4'", "start": "1 s"},
        {"node": 0, "run": "sh -c 'echo $A; sleep 100'", "environment": ["A=b"]},
    ]
    scenario = hopyard.Scenario(**{**TWO, "duration": "3 s", "runs": 1, "flow": [], "host": hosts})
    results = hopyard.run(scenario, out=tmp_path / "out")
    rows = results.programs.to_pylist()
    first, second = rows
    assert (first["node"], first["status"], first["output"].split()[-1]) == (2, 4, "node0")
    assert 1 <= first["began_s"] < first["ended_s"] < 1.01
    assert (second["output"], second["status"], second["ended_s"]) == ("b\n", None, None)
    assert hopyard.Results.load(tmp_path / "out").programs.to_pylist() == rows


@pytest.mark.usefixtures("kernel")
def test_a_capture_holds_the_segments_of_linux(tmp_path: Path) -> None:
    file = tmp_path / "linux.pcapng"
    hopyard.run(hopyard.Scenario(**{**TWO, "runs": 1}), capture=file)
    assert file.stat().st_size > 100_000


#: A flow of each stack, and a program.
STEPS: dict[str, Any] = {
    **TWO,
    "flow": [TWO["flow"][0], {"from": 2, "to": 0, "tcp": "newreno", "start": "2 s"}],
    "host": [{"node": 1, "run": "sh -c 'echo here; sleep 3; exit 4'", "start": "1 s"}],
}


@pytest.mark.usefixtures("kernel")
def test_steps_give_the_run_in_one_go(tmp_path: Path) -> None:
    scenario = hopyard.Scenario(**STEPS)
    whole = hopyard.run(scenario, runs=[1], series=["cwnd", "goodput"], out=tmp_path / "out")
    (store,) = (tmp_path / "out").glob("*.sqlite*")
    with sqlite3.connect(store) as database:
        ((expected,),) = database.execute("SELECT digest FROM runs").fetchall()
    with hopyard.start(scenario, run=1, series=["cwnd", "goodput"]) as simulation:
        assert simulation.next_event_ns == 0
        assert simulation.advance("2.7 s")
        before = simulation.flows.to_pylist()
        assert [row["transport"] for row in before] == ["reno (Linux)", "newreno"]
        assert before[0]["delivered_bytes"] > 10_000
        windows = [row for row in simulation.series.to_pylist() if row["quantity"] == "cwnd"]
        # The kernel takes a sample after it has read its clock, which is a little later.
        last = max(row["time_s"] for row in windows if row["flow"] == 0)
        assert last == pytest.approx(2.6)
        (program,) = simulation.programs.to_pylist()
        assert (program["output"], program["status"]) == ("here\n", None)
        assert 2_700_000_000 < (simulation.next_event_ns or 0) < 2_800_000_000
        with pytest.raises(ValueError, match="hosts of this simulation are Linux kernels"):
            simulation.attach(1)
        with pytest.raises(ValueError, match="hosts of this simulation are Linux kernels"):
            simulation.egress()
        while simulation.advance("0.31 s"):
            pass
        assert simulation.flows["delivered_bytes"][0].as_py() > before[0]["delivered_bytes"]
        assert simulation.digest == expected
        results = simulation.finish()
    for table in ("flows", "series", "drops", "nodes", "programs"):
        assert getattr(results, table).equals(getattr(whole, table)), table


def test_kernels_end_with_a_simulation_in_steps(
    kernel: cache.Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = _copied(kernel, tmp_path)
    monkeypatch.setenv("HOPYARD_KERNELS", str(copy.parent))
    scenario = hopyard.Scenario(**STEPS)

    def begin() -> hopyard.Simulation:
        simulation = hopyard.start(scenario)
        simulation.advance("1.5 s")
        assert len(_processes(copy / "linux")) >= 3
        return simulation

    begin().close()
    assert _wait(lambda: not _processes(copy / "linux"))

    simulation: hopyard.Simulation | None = begin()
    simulation = None
    gc.collect()
    assert simulation is None
    assert _wait(lambda: not _processes(copy / "linux"))

    with pytest.raises(ZeroDivisionError), begin() as another:
        another.advance(1 / 0)
    assert _wait(lambda: not _processes(copy / "linux"))

    broken = begin()
    for process in _processes(copy / "linux"):
        os.kill(int(process), signal.SIGKILL)
    with pytest.raises(hopyard.SimulationError, match="the kernel of node"):
        broken.advance("1 s")
    with pytest.raises(ValueError, match="the simulation is over"):
        broken.advance("1 s")


def test_results_say_which_kernel_it_was(kernel: cache.Built, tmp_path: Path) -> None:
    hopyard.run(hopyard.Scenario(**{**TWO, "runs": 1, "duration": "2 s"}), out=tmp_path / "results")
    (store,) = (tmp_path / "results").glob("*.sqlite*")
    with sqlite3.connect(store) as database:
        (platform,) = database.execute("SELECT DISTINCT platform FROM runs").fetchall()
    assert platform[0].endswith(f", Linux {kernel.release} ({kernel.key})")


def test_a_kernel_that_has_changed_is_told_and_the_same_one_is_not(
    kernel: cache.Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "two.toml"
    short = {**TWO, "duration": "1.2 s"}
    file.write_text(hopyard.Scenario(**short).to_toml())
    out = tmp_path / "results"

    def run(runs: int) -> str:
        line = ["run", str(file), "--runs", str(runs), "--out", str(out)]
        done = CliRunner().invoke(main, line)
        assert done.exit_code == 0, done.output
        return done.stderr

    assert "made" not in run(1)
    assert "made" not in run(2)
    copy = _copied(kernel, tmp_path)
    monkeypatch.setenv("HOPYARD_KERNELS", str(copy.parent))
    about = json.loads((copy / cache.ABOUT).read_text())
    (copy / cache.ABOUT).write_text(json.dumps({**about, "key": "ffffffffffff"}))
    was, now = (f"Linux {kernel.release} ({key})" for key in (kernel.key, "ffffffffffff"))
    expected = f"2 runs in {out} were made with {was}; new runs have {now}, and results may differ"
    assert expected in run(3)
    # Those of both are there now: the one that has gone is still told.
    assert expected in run(3)
    # Another machine is told without the kernel.
    (store,) = out.glob("*.sqlite")
    with sqlite3.connect(store) as database:
        database.execute("UPDATE runs SET platform = replace(platform, 'x86_64', 'riscv')")
    told = run(3)
    assert re.search(r"were made by Hopyard \S+ on Linux riscv; this is Linux x86_64", told), told


def test_audits_and_plots_say_where_linux_was_and_where_it_lacks_something(
    kernel: cache.Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.toml").write_text(hopyard.Scenario(**{**TWO, "duration": "2 s"}).to_toml())
    Path("study.toml").write_text(
        'title = "Two"\nscenario = "two.toml"\n[axes.stack]\nkey = "flow.stack"\n'
        'values = ["hopyard", "linux"]\n'
    )
    done = CliRunner().invoke(main, ["sweep", "study.toml", "--runs", "2", "--out", "store"])
    assert done.exit_code == 0, done.output
    line = ["audit", "study.toml", "--out", "store"]
    told = " ".join(CliRunner().invoke(main, line).output.split())
    release = kernel.release.removesuffix("-hopyard")
    expected = (
        f"Kernels of Linux {release}, whose clocks and network devices are simulated, had the TCP"
        " of Linux at both ends of flows in 1 of 2 configurations."
    )
    assert expected in told, told
    assert "are mixed" not in told
    (store,) = Path("store").glob("*.sqlite")
    with sqlite3.connect(store) as database:
        change = "UPDATE runs SET platform = replace(platform, ?, 'ffffffffffff') WHERE run = 1"
        database.execute(change, (kernel.key,))
    told = " ".join(CliRunner().invoke(main, line).output.split())
    assert f"runs of several builds of Linux {release} are mixed: Hopyard" in told, told

    results = hopyard.run(
        hopyard.Scenario(**{**TWO, "duration": "2 s", "runs": 1}),
        set={"flow.stack": ["hopyard", "linux"]},
        series=["hops", "cwnd"],
    )

    def notes(figure: Any) -> str:
        return " ".join(figure.get_supxlabel().split())

    none = "Left out, with no samples of hops: stack = linux."
    assert none in notes(results.plot_series("hops"))
    assert "Left out" not in notes(results.plot_series("cwnd"))


@pytest.mark.usefixtures("kernel")
def test_the_processor_time_of_kernels_counts(tmp_path: Path) -> None:
    before = os.times()
    hopyard.run(hopyard.Scenario(**{**TWO, "runs": 1}), out=tmp_path / "results", jobs=1)
    after = os.times()
    own = after.user + after.system - before.user - before.system
    others = sum(after[2:4]) - sum(before[2:4])
    with sqlite3.connect(tmp_path / "results" / "results.sqlite") as database:
        ((taken,),) = database.execute("SELECT cpu_s FROM runs").fetchall()
    # The kernels' processes were waited for, so that the system has counted them; not all of what
    # computes in them are their children, and they also end.
    assert 0.5 * others < taken < own + 2 * others + 0.2
    with sqlite3.connect(tmp_path / "results" / "results.sqlite") as database:
        ((whole,),) = database.execute("SELECT wall_s FROM runs").fetchall()
    # One of all processes computes at a time.
    assert 0.3 * whole < taken < 1.05 * whole + 0.05


@pytest.mark.usefixtures("kernel")
def test_a_forked_process_cannot_use_the_kernels_of_its_parent() -> None:
    with hopyard.start(hopyard.Scenario(**STEPS)) as simulation:
        simulation.advance("1.5 s")
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            text = ""
            try:
                for use in (lambda: simulation.advance("1 s"), lambda: simulation.flows):
                    try:
                        use()
                    except RuntimeError as error:
                        text += f"{error}\n"
                simulation.close()
                del simulation
                gc.collect()
            finally:
                os.write(writing, text.encode())
                # As `os.fork` without `exec` does at its end.
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            lines = pipe.read().splitlines()
        assert os.waitpid(child, 0)[1] == 0
        expected = f"the kernels of this simulation belong to process {os.getpid()}, and this one"
        assert [line.startswith(expected) for line in lines] == [True, True]
        while simulation.advance("1 s"):
            pass
        assert simulation.flows["delivered_bytes"][0].as_py() > 10_000


@pytest.mark.usefixtures("kernel")
def test_the_commands_of_the_tutorial_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = []
    for block in blocks(DOCS / "linux.md"):
        if block.file:
            (tmp_path / block.file).write_text(block.text)
        elif block.language == "sh":
            lines += [line for line in block.text.splitlines() if line.startswith("hopyard run")]
    assert len(lines) == 5
    for line in lines:
        # One run of a case shows as well as five that the command is right.
        short = [] if "--run 0" in line else ["--runs", "1"]
        done = CliRunner().invoke(main, [*shlex.split(line)[1:], *short])
        assert done.exit_code == 0, f"{line}\n{done.output}"
    assert (tmp_path / "window" / "cwnd.png").stat().st_size > 10_000
    assert (tmp_path / "team.pcapng").stat().st_size > 100_000


def test_ctrl_c_leaves_no_kernel_behind(kernel: cache.Built, tmp_path: Path) -> None:
    copy = _copied(kernel, tmp_path)
    root = copy.parent
    file = tmp_path / "two.toml"
    file.write_text(hopyard.Scenario(**{**TWO, "duration": "10000 s"}).to_toml())
    command = [sys.executable, "-m", "hopyard", "run", str(file), "--jobs", "1"]
    environment = {"HOPYARD_KERNELS": str(root), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    for number in (signal.SIGINT, signal.SIGKILL):
        process = subprocess.Popen(
            command,
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert _wait(lambda: len(_processes(copy / "linux")) >= 2), process.poll()
        time.sleep(0.5)
        process.send_signal(number)
        process.communicate(timeout=60)
        assert _wait(lambda: not _processes(copy / "linux")), number


def _copied(kernel: cache.Built, folder: Path) -> Path:
    """A kernel of a name of its own, which is found among all processes."""
    root = folder / "kernels"
    root.mkdir()
    copy = root / kernel.folder.name
    shutil.copytree(kernel.folder, copy)
    shutil.copytree(cache.agent().parent, root / "agents")
    return copy


def _processes(program: Path) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/exe"):
        try:
            if path.readlink() == program:
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def _wait(condition: Callable[[], bool]) -> bool:
    for _ in range(300):
        if condition():
            return True
        time.sleep(0.1)
    return False


def test_what_became_of_programs_is_said() -> None:
    from hopyard.command import _programs

    rows: list[dict[str, object]] = [
        {"command": "iperf3 -s", "began_s": 1.0, "ended_s": None, "status": None, "errors": ""},
        {"command": "true", "began_s": 1.0, "ended_s": 1.004, "status": 0, "errors": ""},
        {"command": "false", "began_s": 1.0, "ended_s": 1.1, "status": 1, "errors": "one\ntwo\n"},
        {"command": "late", "began_s": None, "ended_s": None, "status": None, "errors": ""},
    ]

    class Found:
        problem = None
        programs = pa.Table.from_pylist([{"run": 0, "node": 3, **row} for row in rows])

    found = _programs(Found())  # type: ignore[arg-type]  # It has what is looked at.
    assert found == [
        "warning: run 0, node 3: false: exit status 1: two",
        "warning: run 0, node 3: late: never began",
        "run 0, node 3: iperf3 -s: went on until the end of the run",
        "run 0, node 3: true: ended at 1.004 s",
        "The output of programs is in the table `programs`.",
    ]
    Found.programs = pa.Table.from_pylist(
        [{"run": 0, "node": 3, **row} for row in [*rows[:2] * 3, rows[2], rows[3]]]
    )
    found = _programs(Found())  # type: ignore[arg-type]
    assert found[:2] == [
        "warning: run 0, node 3: false: exit status 1: two",
        "warning: run 0, node 3: late: never began",
    ]
    assert found[2:5] == ["run 0, node 3: iperf3 -s: went on until the end of the run"] * 3
    assert found[5] == "3 further programs ended without an error"
