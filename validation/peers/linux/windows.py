#!/usr/bin/env python3
"""The window of Linux's senders in each second of a long transfer: crates/model-tests/tests/data/linux_windows.csv.

Kernels in simulated time (`hopyard kernels build`) send over 10 Mb/s and 2 ms, then 0.8 Mb/s and 100 ms with a queue
of 40 packets. The program below reads the window from its socket (TCP_INFO).
"""

import csv
import sys
import tempfile
from pathlib import Path

import hopyard

ROOT = Path(__file__).resolve().parents[3]
TABLE = ROOT / "crates" / "model" / "tests" / "data" / "linux_windows.csv"
VARIANTS = ("htcp", "yeah", "reno")
SECONDS = 120
# As in linux/tcp.h: TCP_INFO, TCP_CONGESTION; the places of three values among the numbers of struct tcp_info.
AGENT = """
import select, socket, struct, sys, time

role, variant, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3])
link = socket.socket()
if role == "receive":
    link.bind(("", 5001))
    link.listen(1)
    accepted, _ = link.accept()
    while accepted.recv(1 << 20):
        pass
    sys.exit()
link.setsockopt(socket.IPPROTO_TCP, 13, variant.encode())
link.connect(("node2", 5001))
link.setblocking(False)
began, second = time.monotonic(), 1
while second < seconds:
    wait = began + second - time.monotonic()
    if wait <= 0:
        numbers = struct.unpack("8B24I", link.getsockopt(socket.IPPROTO_TCP, 11, 256)[:104])[8:]
        print(second, numbers[18], numbers[17], numbers[23], flush=True)
        second += 1
    elif select.select([], [link], [], wait)[1]:
        link.send(bytes(65536))
"""
SCENARIO = """
duration = "{end} s"
[nodes]
wired = 3
[[wire]]
between = [0, 1]
rate = "10 Mbps"
delay = "2 ms"
[[wire]]
between = [1, 2]
rate = "800 kbps"
delay = "100 ms"
queue_length = 40
[[host]]
node = 2
run = "{python} {agent} receive {variant} {seconds}"
[[host]]
node = 0
run = "{python} {agent} send {variant} {seconds}"
start = "2 s"
"""


def rows(variant: str, folder: Path) -> list[list[str]]:
    """The lines that the sender prints: second, window, threshold, segments sent again."""
    agent = folder / "agent.py"
    agent.write_text(AGENT)
    scenario = folder / f"{variant}.toml"
    scenario.write_text(
        SCENARIO.format(end=SECONDS + 3, python="/usr/bin/python3", agent=agent, variant=variant, seconds=SECONDS)
    )
    programs = hopyard.run(scenario, runs=1).programs.to_pydict()
    place = programs["node"].index(0)
    lines = [line.split() for line in programs["output"][place].splitlines()]
    if len(lines) != SECONDS - 1:
        raise SystemExit(f"{variant}: {len(lines)} lines of {SECONDS - 1}; {programs['errors'][place]}")
    return lines


def main() -> int:
    """Write the table."""
    # The programs do not see other files below /tmp.
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder, TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("variant", "second", "cwnd", "ssthresh", "again"))
        for variant in VARIANTS:
            for line in rows(variant, Path(folder)):
                writer.writerow((variant, *line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
