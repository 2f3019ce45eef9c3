"""Linux kernels in simulated time: the cache, the commands, and what is checked before a run."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import sys
from pathlib import Path
from typing import Any

import hopyard
import pytest
from hopyard import _core
from hopyard.kernels import build, cache, check
from hopyard.kernels.use import most, needed
from hopyard.scenario.catalogue import models
from hopyard.scenario.plan import plan
from short import command, ok, refused

ABOUT = {
    "version": "6.1",
    "release": "6.1.192-hopyard",
    "package": "linux-source-6.1 6.1.192-2",
    "key": "0123456789ab",
    "compiler": "gcc 12",
    "variants": ["cubic", "hybla", "reno"],
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


def two(**keys: Any) -> hopyard.Scenario:
    """The scenario with two kernels, with other values of these keys."""
    return hopyard.Scenario(**TWO | keys)


def two_in(folder: Path, **keys: Any) -> Path:
    """Its file in a folder."""
    file = folder / "two.toml"
    file.write_text(two(**keys).to_toml())
    return file


def add(root: Path, folder: str, **about: object) -> Path:
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
    add(empty, "6.1-a")
    new = add(empty, "6.1-b", made="2026-02-02T03:04:05+00:00")
    other = add(empty, "6.12-a", version="6.12")
    assert [kernel.folder for kernel in cache.built()] == [new, empty / "6.1-a", other]
    assert cache.newest("6.1").folder == new


@pytest.mark.usefixtures("empty")
def test_a_kernel_that_is_not_there_names_the_command() -> None:
    with pytest.raises(ValueError, match=r"`hopyard kernels build 6\.12` makes it"):
        cache.newest("6.12")
    with pytest.raises(
        ValueError, match=r"expected a kernel 6\.1 or 6\.12, one with Wi-Fi .*, or one with patches .*, found '5\.10'"
    ):
        cache.newest("5.10")


def test_kernels_that_a_scenario_can_have_instead_are_named(empty: Path) -> None:
    add(empty, "6.1-a", variants=["reno"])
    # A kernel without Wi-Fi is of no use where Wi-Fi is needed.
    with pytest.raises(ValueError, match=r"`hopyard kernels build 6\.1 --wifi` makes it$"):
        cache.newest("6.1+wifi")
    add(empty, "6.1+wifi-a", version="6.1+wifi")
    with pytest.raises(ValueError, match=r"; built already: 6\.1\+wifi \(`version` in \[linux\] names one\)$"):
        cache.newest("6.12+wifi")
    # The error says which scenario it is of: a command can have several.
    with pytest.raises(ValueError, match=r"^two: there is no kernel 6\.12 .*: 6\.1, 6\.1\+wifi \(`version`"):
        hopyard.run(two(linux={"version": "6.12"}))


def test_an_agent_of_another_version_does_not_count(empty: Path) -> None:
    add(empty, "6.1-a")
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
    add(empty, "6.1-a", key=wanted.key())
    monkeypatch.setattr(cache, "modules", lambda: empty / "none")
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


# A scenario that is written whole has keys that kernels do not follow.
@pytest.mark.filterwarnings("ignore")
def test_a_kernel_that_cannot_be_started_is_found_before_a_run(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "_trace", lambda: check.Finding("ptrace", True, "allowed"))
    program = add(empty, "6.1-a", variants=["reno"]) / "linux"
    file = two_in(empty)

    def told() -> str:
        with pytest.raises(ValueError, match=r"`hopyard kernels build 6\.1") as caught:
            hopyard.run(file, out=empty / "out")
        assert not (empty / "out").exists()
        done = command("check", file)
        text = str(caught.value).removeprefix("two: ")
        assert f"{file}: {text}" in done.stdout
        assert "missing  kernel 6.1" in command("kernels", "check").stdout
        return text

    program.chmod(0o644)
    if os.access(program, os.X_OK):
        pytest.skip("every file is a program here")
    assert told() == f"{program} is not executable: `hopyard kernels build 6.1 --force` makes it anew"
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


def test_a_folder_of_kernels_that_cannot_be_read_is_named(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = add(empty, "6.1-a")
    file = two_in(empty)
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
    assert told in command("check", file).stdout
    assert told in command("kernels", "check").stdout
    done = command("kernels", "list")
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
    bad = add(empty, "6.1-a", unknown=1)
    worse = add(empty, "6.1-b")
    (worse / cache.ABOUT).write_text("{")
    assert cache.built() == []
    assert cache.unreadable() == [bad, worse]
    done = command("kernels", "list")
    assert f"{bad}: this is no kernel that this version of Hopyard can use" in done.stderr
    assert done.exit_code == 1


def test_a_list_without_a_kernel_says_what_to_do(empty: Path) -> None:
    done = command("kernels", "list")
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"there is no kernel in {empty}: `hopyard kernels build` makes one" in done.stderr


def test_the_list_shows_kernels_with_their_variants(empty: Path) -> None:
    add(empty, "6.1-a")
    done = ok("kernels", "list")
    assert "6.1.192-hopyard" in done.stdout
    assert "tcp of flows: cubic, reno\n  tcp, for programs: hybla" in done.stdout


def test_modules_are_listed_and_needed(empty: Path) -> None:
    add(empty, "6.1-a", variants=["cubic", "reno"])
    flow = {**TWO["flow"][0], "tcp": "welcome"}
    scenario = two(flow=[flow])
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
    assert "tcp, as modules of Hopyard: elfn, welcome" in command("kernels", "list").stdout


def test_check_says_what_is_missing(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = command("kernels", "check")
    assert done.exit_code == 1
    assert "missing  kernel 6.1: none in" in done.stdout
    assert "-> hopyard kernels build 6.1" in done.stdout
    add(empty, "6.1-a")
    monkeypatch.setattr(check, "machine", lambda: [check.Finding("system", True, "Linux")])
    assert "missing  kernel 6.1: the kernel of a trial ended at 0.000000000 s" in command("kernels", "check").stdout
    monkeypatch.setattr(_core, "try_kernel", lambda *_: "6.1.192-hopyard")
    done = command("kernels", "check")
    assert re.search(r"ok       kernel 6\.1: boots in 0\.\d\d s; its agent answers from 6\.1\.192", done.stdout)


@pytest.mark.usefixtures("empty")
def test_the_machine_is_checked_without_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "TRACE", "raise SystemExit(0)")
    monkeypatch.setattr(check, "PERSONALITY", "raise SystemExit(0)")
    monkeypatch.setattr(check, "GUEST", 1)
    assert "kernel 6.1" not in ok("kernels", "check", "--machine").stdout
    monkeypatch.setattr(check, "TRACE", "raise SystemExit(1)")
    done = command("kernels", "check", "--machine")
    assert done.exit_code == 1
    assert "missing  ptrace: refused: Operation not permitted" in done.stdout


def test_memory_that_forbids_programs_or_is_small_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setattr(shutil, "which", lambda name: None if name in missing else f"/bin/{name}")
    with pytest.raises(ValueError, match="apt install bison flex"):
        build.recipe("6.1")
    with pytest.raises(ValueError, match=r"expected a kernel 6\.1 or 6\.12, found '6\.6'"):
        build.recipe("6.6")
    refused("kernels", "build", "6.1")


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


def names_of(version: str) -> list[str]:
    return [path.name for path in build.patches(version)]


def test_the_patches_of_a_version_are_its_own_and_the_common_ones() -> None:
    for version, other in (("6.1", "6.12"), ("6.12", "6.1")):
        names = names_of(version)
        assert len(names) == 5
        assert names == sorted(names)
        assert not any(name.endswith(f"-{other}.patch") for name in names)
    of_wifi = [path.name for path in build.patches("6.1", wifi=True)]
    assert [*names_of("6.1"), "wifi-hwsim-aggregates-6.1.patch"] == of_wifi
    assert build.patches("6.12", wifi=True) == build.patches("6.12")


def test_scenarios_need_a_kernel_that_is_built(empty: Path) -> None:
    with pytest.raises(ValueError, match=r"`hopyard kernels build 6\.1` makes it"):
        hopyard.run(two())
    add(empty, "6.1-a", variants=["cubic"])
    with pytest.raises(ValueError, match=r"Linux 6\.1 has no TCP variant `reno`.*expected cubic"):
        hopyard.run(two())


def test_a_variant_without_a_twin_in_linux_is_named() -> None:
    flow = {**TWO["flow"][0], "tcp": "tahoe"}
    with pytest.raises(hopyard.ScenarioError, match=r"(?s)no TCP variant `tahoe`.*\"cubic\""):
        hopyard.run(two(flow=[flow]))


def test_a_program_that_is_not_there_is_named(empty: Path) -> None:
    add(empty, "6.1-a")
    hosts = [{"node": 0, "run": "true"}, {"node": 2, "run": "no-such-program -x"}]
    with pytest.raises(hopyard.ScenarioError, match="there is no program `no-such-program`") as caught:
        hopyard.run(two(flow=[], host=hosts))
    assert [problem.path for problem in caught.value.problems] == ["host.1.run"]
    # One error of several programs is one problem.
    hosts += [{"node": 0, "run": "no-such-program"}]
    with pytest.raises(hopyard.ScenarioError, match=r"no-such-program` in .*\(2 programs\)") as caught:
        hopyard.run(two(flow=[], host=hosts))
    assert [problem.path for problem in caught.value.problems] == ["host.1.run"]
    nowhere = [{"node": 3, "run": "true"}]
    with pytest.raises(ValueError, match=r"host\.0\.node|\[\[host\]\]"):
        hopyard.run(two(flow=[], host=nowhere))


def test_what_cannot_run_here_is_told_with_its_place_and_leaves_no_folder(empty: Path, tmp_path: Path) -> None:
    add(empty, "6.1-a")
    file = tmp_path / "programs.toml"
    text = '[nodes]\ncount = 2\n[[host]]\nnode = 1\nrun = "no-such-program -x"\n'
    file.write_text(text)
    out = tmp_path / "out"
    done = refused("run", file, "--out", out)
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
    add(empty, "6.1-a", variants=["reno"])
    monkeypatch.setattr(check, "PERSONALITY", "raise SystemExit(0)")
    monkeypatch.setattr(check, "TRACE", "raise SystemExit(1)")
    with pytest.raises(ValueError, match="cannot run here: ptrace: refused: Operation not"):
        hopyard.run(two())
    monkeypatch.setattr(check, "TRACE", "raise SystemExit(0)")
    monkeypatch.setattr(check, "GUEST", 2**60)
    with pytest.raises(ValueError, match=r"kernels need at least \d+ MB and .*container: --shm-si.*\(--jobs\)"):
        hopyard.run(two())


def test_check_compares_the_memory_of_kernels_with_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = [{"node": 1, "run": "true"}, {"node": 0, "run": "true"}]
    file = two_in(tmp_path, host=hosts)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = command("check", file)
    # One kernel has flows only; two have programs.
    need = f"{file}: 3 kernels need at least 40 MB and at most 288 MB; there are "
    assert (done.exit_code, need in done.stdout) == (0, True), done.output
    assert f"MB free in {tmp_path}\n" in done.stdout
    usual = os.statvfs(tmp_path)
    changed = [*usual]
    changed[4] = 39 * 1024**2 // usual.f_frsize
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(changed))
    done = refused("check", file)
    assert f"error: {need}39 MB free" in done.stderr
    assert "no errors" not in done.stdout
    changed[4] = 200 * 1024**2 // usual.f_frsize
    assert "less than they may take" in ok("check", file).stdout


def test_what_a_machine_lacks_is_said_before_a_run(empty: Path, tmp_path: Path) -> None:
    file = two_in(tmp_path)
    assert f"{file}: there is no kernel 6.1 in {empty}: `hopyard kernels build 6.1`" in ok("check", file).stdout
    study = tmp_path / "study.toml"
    study.write_text('title = "Two"\nscenario = "two.toml"\n')
    out = tmp_path / "out"
    done = command("sweep", study, "--out", out)
    assert (done.exit_code, out.exists()) == (2, False), done.output
    assert "`hopyard kernels build 6.1`" in done.stderr
    two_in(tmp_path, host=[{"node": 1, "run": "no-such-program -s"}])
    done = refused("check", file)
    assert "no-such-program" in done.stderr
    assert "two.toml:" in done.stderr


def test_file_descriptors_are_enough_or_are_refused_before_a_run(
    empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for question in ("_trace", "_personality"):
        finding = check.Finding(question, True, "allowed")
        monkeypatch.setattr(check, question, lambda it=finding: it)
    add(empty, "6.1-a", variants=["reno"])
    core = plan(two())[0].core
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
    file = two_in(tmp_path)
    assert "no errors" in ok("check", file).stdout
    assert "ok       file descriptors: 50, or up to 700 as they are needed, for" in command("kernels", "check").stdout
    limits[:] = [50, 60]
    done = refused("check", file)
    assert "no errors" not in done.stdout
    assert "error: " in done.stderr
    assert "file descriptors: at most 60 (ulimit -Hn); 2 kernels need" in done.stderr
    done = command("kernels", "check")
    assert (done.exit_code, "missing  file descriptors: at most 60" in done.stdout) == (1, True)


def test_each_device_of_a_kernel_with_programs_takes_descriptors() -> None:
    hosts = [{"node": 1, "run": "true"}]
    wires = [{"between": [1, it], "rate": "1 Mbps", "delay": "1 ms"} for it in (0, 2)]
    core = plan(two(host=hosts, wire=wires))[0].core
    assert (core.kernels(), core.kernel_devices()) == (3, 2 + 3)


def test_runs_at_a_time_need_their_memory_at_the_same_time() -> None:
    core = plan(two())[0].core
    one = most([(core, 1)], 8)
    assert (one.kernels, one.least, one.most) == (2, 2 * check.GUEST, 2 * 32 * 1024**2)
    three = check.Need(3 * one.least, 3 * one.most, 6, 3 * one.descriptors)
    assert most([(core, 5), (core, 5)], 3) == three


def test_a_long_folder_for_temporary_files_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * check.LONGEST)
    long.mkdir()
    monkeypatch.setenv("TMPDIR", str(long))
    found = check.memory()
    assert not found.good
    assert found.cure == f"set TMPDIR to a folder whose path has at most {check.LONGEST} bytes"


def test_variants_with_a_twin_in_linux_are_named(tmp_path: Path) -> None:
    def told(*variants: str, **keys: object) -> str:
        flows = [{"from": 0, "to": 2, "tcp": variant, **keys} for variant in variants]
        file = two_in(tmp_path, flow=flows)
        done = ok("check", file)
        return done.stdout

    assert "Linux kernels have cubic, reno too: --set flow.stack=linux" in told("reno", "cubic")
    assert "Linux kernels have" not in told("reno", "tahoe")
    assert "Linux kernels have" not in told("reno", traffic="request_response")
    listed = command("models", "veno").stdout
    assert "--set flow.stack=linux runs flows with Linux's TCP" in listed
    assert "flow.stack" not in command("models", "tahoe").stdout
    assert "Linux kernels have westwood_plus too" in told("westwood_plus")
    assert "Linux has it too, as `westwood`" in command("models", "westwood_plus").stdout
    assert "Linux kernels have" not in told("westwood")
    listed = command("models", "westwood").stdout
    assert "What Linux has under this name is another model." in listed
    assert "flow.stack" not in listed


def test_the_twins_are_variants_of_the_kernels() -> None:
    configuration = (cache.changes() / "fragment.config").read_text(encoding="utf-8")
    modules = {path.stem.removeprefix(cache.MODULE) for path in cache.modules().glob("hopyard_*.c")}
    there = {*build.variants(configuration), *modules}
    twins = {model["in_linux"] for model in models("congestion") if model["has_twin"]}
    assert twins <= there, twins - there
    assert {"reno", "cubic", "welcome"} <= twins


def test_a_simulation_in_steps_needs_a_kernel_that_is_built(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for question in ("TRACE", "PERSONALITY"):
        monkeypatch.setattr(check, question, "raise SystemExit(0)")
    with pytest.raises(ValueError, match=r"`hopyard kernels build 6\.1` makes it"):
        hopyard.start(two())
    add(empty, "6.1-a", variants=["reno"])
    with pytest.raises(hopyard.SimulationError, match="the kernel of node 0"):
        hopyard.start(two())


def test_a_run_in_python_warns_of_flows_of_linux_as_check_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPYARD_KERNELS", str(tmp_path))
    flow = {"from": 0, "to": 1, "tcp": "westwood", "stack": "linux"}
    scenario = {"duration": "1 s", "nodes": {"positions": [[0, 0], [100, 0]]}, "flow": [flow]}
    # There is no kernel: the run is refused, but not before the warning.
    with (
        pytest.warns(UserWarning, match=r"what Linux calls `westwood` is Westwood\+"),
        pytest.raises(ValueError, match="no kernel"),
    ):
        hopyard.run(scenario)
