"""Runs with Linux kernels in simulated time. Without a built kernel most are skipped."""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import hopyard
import pyarrow as pa
import pyarrow.parquet
import pytest
from hopyard.kernels import cache, check
from short import command, ok, refused, sql
from test_docs import DOCS, blocks
from test_kernel_builds import waited
from test_kernels import TWO, two, two_in


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
    scenario = two()
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


# A scenario that is written whole has keys that kernels do not follow.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("kernel")
def test_a_parameter_that_the_kernel_lacks_is_named_before_a_run(tmp_path: Path) -> None:
    for sysctl, why in (
        ("net.ipv4.tcp_sock=0", "No such file or directory"),
        ("net.ipv4.ip_default_ttl=0", "Invalid argument"),
        # Each of the two kernels has one device.
        ("net.ipv4.conf.eth1.rp_filter=1", "No such file or directory"),
    ):
        linux = {"sysctls": ["net.ipv4.tcp_dsack=0", sysctl]}
        file = two_in(tmp_path, linux=linux)
        told = f"Linux 6.1 does not take `{sysctl}`: {why}"
        with pytest.raises(hopyard.ScenarioError, match=told) as caught:
            hopyard.run(file, out=tmp_path / "out")
        assert [problem.path for problem in caught.value.problems] == ["linux.sysctls"]
        assert not (tmp_path / "out").exists()
        assert told in refused("check", file).stderr


@pytest.mark.usefixtures("kernel")
def test_a_host_has_more_devices_than_addresses_that_mptcp_announces() -> None:
    nodes = {"count": 1, "area": ["10 m", "10 m"], "wired": 11}
    wires = [{"between": [1, other], "rate": "20 Mbps"} for other in range(2, 12)]
    host = {"node": 1, "run": "ip -brief address show eth9"}
    linux = {"sysctls": ["net.ipv4.conf.eth9.rp_filter=1"]}
    scenario = hopyard.Scenario(name="w", duration="2 s", runs=1, nodes=nodes, wire=wires, host=[host], linux=linux)
    programs = hopyard.run(scenario, jobs=1).programs.to_pylist()
    assert [(row["status"], "eth9" in row["output"]) for row in programs] == [(0, True)], programs


def test_check_boots_a_kernel(kernel: cache.Built) -> None:
    done = command("kernels", "check")
    answer = rf"kernel 6\.1: boots in \d+\.\d\d s; its agent answers from {kernel.release}"
    assert re.search(answer, done.stdout), done.stdout


@pytest.mark.usefixtures("kernel")
def test_programs_of_the_machine_are_in_the_results(tmp_path: Path) -> None:
    hosts = [
        {"node": 2, "run": "sh -c 'getent hosts node0; exit 4'", "start": "1 s"},
        {"node": 0, "run": "sh -c 'echo $A; sleep 100'", "environment": ["A=b"]},
    ]
    scenario = two(duration="3 s", runs=1, flow=[], host=hosts)
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
    hopyard.run(two(runs=1), capture=file)
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
    ((expected,),) = sql(tmp_path / "out", "SELECT digest FROM runs")
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
    assert waited(lambda: not _processes(copy / "linux"))

    simulation: hopyard.Simulation | None = begin()
    simulation = None
    gc.collect()
    assert simulation is None
    assert waited(lambda: not _processes(copy / "linux"))

    with pytest.raises(ZeroDivisionError), begin() as another:
        another.advance(1 / 0)
    assert waited(lambda: not _processes(copy / "linux"))

    broken = begin()
    for process in _processes(copy / "linux"):
        os.kill(int(process), signal.SIGKILL)
    with pytest.raises(hopyard.SimulationError, match="the kernel of node"):
        broken.advance("1 s")
    with pytest.raises(ValueError, match="the simulation is over"):
        broken.advance("1 s")


def test_results_say_which_kernel_it_was(kernel: cache.Built, tmp_path: Path) -> None:
    hopyard.run(two(runs=1, duration="2 s"), out=tmp_path / "results")
    (platform,) = sql(tmp_path / "results", "SELECT DISTINCT platform FROM runs")
    assert platform[0].endswith(f", Linux {kernel.release} ({kernel.key})")


def test_a_kernel_that_has_changed_is_told_and_the_same_one_is_not(
    kernel: cache.Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = two_in(tmp_path, duration="1.2 s"), tmp_path / "results"

    def run(runs: int) -> str:
        return str(ok("run", file, "--runs", runs, "--out", out).stderr)

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
    sql(out, "UPDATE runs SET platform = replace(platform, 'x86_64', 'riscv')")
    told = run(3)
    assert re.search(r"were made by Hopyard \S+ on Linux riscv; this is Linux x86_64", told), told


@pytest.mark.usefixtures("here")
def test_audits_and_plots_say_where_linux_was_and_where_it_lacks_something(kernel: cache.Built) -> None:
    two_in(Path(), duration="2 s")
    Path("study.toml").write_text(
        'title = "Two"\nscenario = "two.toml"\n[axes.stack]\nkey = "flow.stack"\nvalues = ["hopyard", "linux"]\n'
    )
    ok("sweep", "study.toml", "--runs", "2", "--out", "store")
    line = ["audit", "study.toml", "--out", "store"]
    told = " ".join(command(*line).output.split())
    release = kernel.release.removesuffix("-hopyard")
    expected = (
        f"Kernels of Linux {release}, whose clocks and network devices are simulated, had the TCP"
        " of Linux at both ends of flows in 1 of 2 configurations."
    )
    assert expected in told, told
    assert "are mixed" not in told
    sql(Path("store"), f"UPDATE runs SET platform = replace(platform, '{kernel.key}', 'ffffffffffff') WHERE run = 1")
    told = " ".join(command(*line).output.split())
    assert f"runs of several builds of Linux {release} are mixed: Hopyard" in told, told

    results = hopyard.run(
        two(duration="2 s", runs=1),
        set={"flow.tcp": "westwood_plus", "flow.stack": ["hopyard", "linux"]},
        series=["hops", "cwnd", "bandwidth"],
    )
    # Hopyard routes in both cases.
    of_hops = [row for row in results.series.to_pylist() if row["quantity"] == "hops"]
    assert {(row["flow.stack"], row["value"]) for row in of_hops} == {("hopyard", 2.0), ("linux", 2.0)}

    def notes(figure: Any) -> str:
        return " ".join(figure.get_supxlabel().split())

    none = "Left out, with no samples of bandwidth: stack = linux."
    assert none in notes(results.plot_series("bandwidth"))
    assert "Left out" not in notes(results.plot_series("cwnd"))


@pytest.mark.usefixtures("kernel")
def test_the_processor_time_of_kernels_counts(tmp_path: Path) -> None:
    before = os.times()
    hopyard.run(two(runs=1), out=tmp_path / "results", jobs=1)
    after = os.times()
    own = after.user + after.system - before.user - before.system
    others = sum(after[2:4]) - sum(before[2:4])
    ((taken, whole),) = sql(tmp_path / "results", "SELECT cpu_s, wall_s FROM runs")
    # The kernels' processes were waited for, so that the system has counted them; not all of what
    # computes in them are their children, and they also end.
    assert 0.5 * others < taken < own + 2 * others + 0.2
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
def test_the_commands_of_the_tutorial_run(here: Path) -> None:
    lines = []
    for block in blocks(DOCS / "start" / "linux.md"):
        if block.file:
            (here / block.file).write_text(block.text)
        elif block.language == "sh":
            lines += [line for line in block.text.splitlines() if line.startswith("hopyard run")]
    assert len(lines) == 5
    for line in lines:
        # One run of a case shows as well as five that the command is right.
        short = [] if "--run 0" in line else ["--runs", "1"]
        ok(*shlex.split(line)[1:], *short)
    assert (here / "window" / "cwnd.png").stat().st_size > 10_000
    assert (here / "team.pcapng").stat().st_size > 100_000


def _recipe(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes the files of the page of programs into a folder, and runs the commands with a scenario of this name."""
    monkeypatch.chdir(folder)
    for block in blocks(DOCS / "linux" / "programs.md"):
        if block.file:
            text = block.text.replace("/home/you/lab/venv/bin/python", sys.executable)
            (folder / block.file).write_text(text.replace("/home/you/lab", str(folder)), encoding="utf-8")
    for block in blocks(DOCS / "linux" / "programs.md"):
        for line in block.text.splitlines() if block.language == "sh" else []:
            words = shlex.split(line)
            if words[0] == "openssl" and name == "quic.toml":
                subprocess.run(words, check=True, capture_output=True)
            elif name in words:
                assert "exit status" not in ok(*words[1:]).output


def _printed(folder: Path) -> str:
    """The output of the programs of a folder of results that wrote seconds."""
    rows = pa.parquet.read_table(folder / "programs.parquet").to_pylist()
    return "".join(row["output"] for row in rows if " s\n" in row["output"])


@pytest.mark.usefixtures("kernel")
@pytest.mark.skipif(not Path("/usr/bin/python3").is_file(), reason="there is no /usr/bin/python3")
def test_the_recipe_of_mptcp_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _recipe("mptcp.toml", tmp_path, monkeypatch)
    both, mesh = (float(_printed(tmp_path / name).split()[-2]) for name in ("both", "mesh"))
    assert both < 0.8 * mesh
    page = (DOCS / "linux" / "programs.md").read_text(encoding="utf-8")
    assert f"MPTCP: {both:.1f} s over both ways, {mesh:.1f} s with TCP" in page


@pytest.mark.usefixtures("kernel")
def test_the_recipe_of_quic_runs_and_repeats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if importlib.util.find_spec("aioquic") is None or shutil.which("openssl") is None:
        pytest.skip("aioquic or openssl is not installed")
    _recipe("quic.toml", tmp_path, monkeypatch)
    first = (tmp_path / "quic.pcap").read_bytes()
    assert [line.split()[0] for line in _printed(tmp_path / "quic").splitlines()] == ["1000", "100000", "300000"]
    ok("run", "quic.toml", "--capture", "again.pcap")
    assert (tmp_path / "again.pcap").read_bytes() == first


def test_ctrl_c_leaves_no_kernel_behind(kernel: cache.Built, tmp_path: Path) -> None:
    copy = _copied(kernel, tmp_path)
    root = copy.parent
    file = two_in(tmp_path, duration="10000 s")
    command = [sys.executable, "-m", "hopyard", "run", str(file), "--jobs", "1"]
    environment = {"HOPYARD_KERNELS": str(root), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    for number in (signal.SIGINT, signal.SIGKILL):
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert waited(lambda: len(_processes(copy / "linux")) >= 2), process.poll()
        time.sleep(0.5)
        process.send_signal(number)
        process.communicate(timeout=60)
        assert waited(lambda: not _processes(copy / "linux")), number


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


def test_what_became_of_programs_is_said() -> None:
    from hopyard.cli.run import _programs

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
        "The output of programs is in the table `programs` (--out keeps it).",
    ]
    # What a daemon of all nodes does takes one line, so that the other programs are told.
    daemon = {**rows[0], "command": "babeld eth0", "run": 0}
    Found.programs = pa.Table.from_pylist(
        [{"run": 0, "node": 3, **row} for row in [*rows[:2] * 2, rows[2], rows[3]]]
        + [{**daemon, "node": node} for node in range(7)]
        + [{**rows[1], "run": 0, "node": node, "ended_s": node + 2.0} for node in range(3)]
    )
    found = _programs(Found())  # type: ignore[arg-type]
    assert found == [
        "warning: run 0, node 3: false: exit status 1: two",
        "warning: run 0, node 3: late: never began",
        "run 0, node 3 (2 programs): iperf3 -s: went on until the end of the run",
        "run 0, nodes 0, 1, 2, 3, 4 and 2 more: babeld eth0: went on until the end of the run",
        "run 0, node 3 (2 programs): true: ended at 1.004 s",
        "3 further programs ended without an error",
        "The output of programs is in the table `programs` (--out keeps it).",
    ]
