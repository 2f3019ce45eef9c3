"""Counting instructions of a process by single steps, and the symbols of kernels."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hopyard.kernels.cache import built

from studies.test_bed.counting import RECEIVE, ROOTS, TIMER, TRANSMIT, _read, compiled
from studies.test_bed.symbols import SymbolError, functions

#: `outer` is called five times, and each time `inner` twice, and once more by itself.
PROGRAM = r"""
#include <unistd.h>
volatile int sum;
__attribute__((noinline)) void inner(int n) { for (int i = 0; i < n; i++) sum += i; }
__attribute__((noinline)) void outer(int n) { sum++; inner(n); inner(n); sum++; }
int main(void)
{
    char byte;
    if (read(0, &byte, 1) != 1)
        return 1;
    for (int i = 0; i < 5; i++)
        outer(100);
    inner(100);
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None or shutil.which("nm") is None:
        pytest.skip("there is no gcc, or no nm")
    folder = tmp_path_factory.mktemp("steps")
    (folder / "program.c").write_text(PROGRAM)
    words = ["gcc", "-O1", "-static", "-no-pie", "-o", "program", "program.c"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no static program can be compiled: {done.stderr}")
    return folder / "program"


#: What is said of a path: for each kind of its root's calls, how many there were, how many were
#: stepped, and the instructions.
Found = dict[tuple[str, int], tuple[int, int, int]]


def _stepped(program: Path, every: int, kinds: dict[str, str]) -> Found:
    """What the program that steps says of each path, and of calls with an inner function or not."""
    steps = compiled(program.parent)
    names = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
    known = {line.split()[2]: line.split()[0] for line in names.splitlines() if len(line.split()) == 3}
    orders = "".join(f"{kind} {known[name]} {name}\n" for name, kind in kinds.items())
    with subprocess.Popen([program], stdin=subprocess.PIPE) as run:
        assert run.stdin is not None
        with subprocess.Popen(
            [str(steps), str(run.pid), str(every)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as tracer:
            assert tracer.stdin is not None
            assert tracer.stdout is not None
            tracer.stdin.write(orders)
            tracer.stdin.close()
            # The program waits in its system call until it is traced.
            status = Path(f"/proc/{run.pid}/status")
            until = time.monotonic() + 60
            while f"TracerPid:\t{tracer.pid}\n" not in status.read_text():
                if tracer.poll() is not None or time.monotonic() > until:
                    run.kill()
                    tracer.kill()
                    pytest.skip("processes cannot be traced here")
                time.sleep(0.01)
            run.stdin.write(b"x")
            run.stdin.close()
            lines = tracer.stdout.read().splitlines()
        assert tracer.returncode == 0
    found = {}
    for line in lines:
        kind, calls, sampled, instructions, path = line.split()
        found[path, int(kind)] = (int(calls), int(sampled), int(instructions))
    return found


def test_the_instructions_of_a_call_are_counted(program: Path) -> None:
    found = _stepped(program, 1, {"outer": "root", "inner": "inner"})
    assert set(found) == {("outer", 1), ("outer>inner", 1), ("inner", 0)}
    assert found["outer", 1][:2] == (5, 5)
    assert found["outer>inner", 1][:2] == (10, 5)
    # All calls of it, also that outside of the root.
    assert found["inner", 0][0] == 11
    # A loop of 100 turns has 3 to 8 instructions in each; five calls of the rest are short.
    assert 3000 < found["outer>inner", 1][2] < 8100
    assert 50 < found["outer", 1][2] < 200
    # The same again, to the instruction.
    assert _stepped(program, 1, {"outer": "root", "inner": "inner"}) == found


def test_some_calls_alone_are_stepped(program: Path) -> None:
    every = _stepped(program, 1, {"outer": "root", "inner": "inner"})
    some = _stepped(program, 2, {"outer": "root", "inner": "inner"})
    assert some["outer", 1][:2] == (5, 3)
    assert some["outer", 1][2] * 5 == every["outer", 1][2] * 3
    # Calls that are not stepped are of the kind that they are of: each has called the inner one.
    assert ("outer", 0) not in some
    assert some["inner", 0][0] == 11


def test_calls_can_be_left_out(program: Path) -> None:
    every = _stepped(program, 1, {"outer": "root", "inner": "inner"})
    found = _stepped(program, 1, {"outer": "root", "inner": "over"})
    assert set(found) == {("outer", 0)}
    assert abs(found["outer", 0][2] - every["outer", 1][2]) <= 20


def test_a_root_within_another_one_is_counted_once(program: Path) -> None:
    """It is a part of a call that is stepped, and a root of its own elsewhere."""
    found = _stepped(program, 1, {"outer": "root", "inner": "root"})
    assert found["outer>inner", 0][0] == 10
    assert found["inner", 0][:2] == (1, 1)
    found = _stepped(program, 2, {"outer": "root", "inner": "root"})
    assert found["outer>inner", 0][0] == 6
    # The four in calls that are not stepped, and that outside.
    assert found["inner", 0][:2] == (5, 3)


def test_the_functions_of_kernels_are_found() -> None:
    kernels = built()
    if not kernels:
        pytest.skip("no kernel is built: `hopyard kernels build`")
    for kernel in kernels:
        known = functions(kernel.program)
        assert {RECEIVE, TIMER, TRANSMIT} <= set(known)
        assert len(set(ROOTS) & set(known)) >= 4
        assert known["tcp_v4_rcv"] != known[RECEIVE]
        assert all(address > 0x1000 for address in known.values())


def test_a_program_without_symbols_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "program"
    path.write_bytes(bytes(4096) + b"".join(bytes([it, 0]) for it in b"0123456789") + bytes(4096))
    with pytest.raises(SymbolError):
        functions(path)


def test_counts_are_scaled_to_all_calls_of_a_kind() -> None:
    text = f"""0 27 0 0 {TRANSMIT}
0 30 3 300 {RECEIVE}
1 10 1 140 {RECEIVE}
1 1 1 30 {RECEIVE}>{TRANSMIT}
0 3 3 60 {RECEIVE}>__tcp_push_pending_frames
0 10 10 70 __tcp_push_pending_frames
1 4 2 50 __tcp_push_pending_frames
1 2 2 20 __tcp_push_pending_frames>{TRANSMIT}
0 2 1 300 {TIMER}
"""
    counts = _read(text)
    assert (counts.acks, counts.stepped, counts.buffers) == (40, 4, 27)
    assert counts.receiving == 3000 + 1400
    # What is sent within a stepped call is not scaled: where the call is not stepped, the function
    # is a root of its own.
    assert counts.sending == 300 + 60 + 70 + 100 + 40
    assert counts.timers == 600
    assert counts.total == counts.receiving + counts.sending + counts.timers


def test_a_kind_of_which_no_call_was_stepped_counts_as_the_other() -> None:
    counts = _read(f"0 20 2 200 {RECEIVE}\n1 4 0 0 {RECEIVE}\n")
    assert (counts.acks, counts.stepped) == (24, 2)
    assert counts.receiving == 2400
