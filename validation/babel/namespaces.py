"""Runs babeld on a ring of five network namespaces in real time, and counts messages and times.

The runs tell IPv6 addresses or not, and smooth metrics or not. A link breaks at 200 s and comes back at 300 s.

`python validation/babel/namespaces.py` writes `namespaces.csv` beside it. It needs root, and Debian's `babeld` and
`iproute2`.
"""

import csv
import ctypes
import fcntl
import multiprocessing
import os
import select
import struct
import subprocess
import tempfile
import time
from pathlib import Path

NODES = 5
ALL = ["redistribute local"]
IPV4 = ["redistribute local ip 0.0.0.0/0 allow", "redistribute local deny"]
# Settings, options, and how many runs.
RUNS: dict[str, tuple[list[str], list[str], int]] = {
    "babeld": (ALL, [], 5),
    "babeld, IPv4 only": (IPV4, [], 3),
    "babeld, no smoothed metric": (ALL, ["-M", "0"], 5),
}
# As in the simulated ring, in seconds: when packets count, when the link between nodes 3 and 4 breaks and comes back,
# and the end.
COUNTED = (80, 190)
BREAK, REPAIR, END = 200, 300, 400
COLUMNS = [
    "network",
    "run",
    "broken_s",
    "repaired_s",
    "packets",
    "bytes",
    "hellos",
    "ihus",
    "updates",
    "updates6",
    "next_hops",
    "router_ids",
]
# The columns of the messages of RFC 8966 §4.6; an update of an IPv6 prefix has a column of its own.
MESSAGES = {4: "hellos", 5: "ihus", 6: "router_ids", 7: "next_hops", 8: "updates"}

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
TAP_WITHOUT_HEADER = 0x1002


def node(number: int, settings: list[str], options: list[str], folder: str) -> tuple[int, subprocess.Popen[bytes]]:
    """A tap in a namespace of its own, and babeld on it. The caller is in this namespace afterwards."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET):
        error = ctypes.get_errno()
        raise OSError(error, f"a network namespace: {os.strerror(error)}")
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", b"eth0", TAP_WITHOUT_HEADER))
    for command in (
        "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv6.conf.eth0.accept_dad=0",
        "ip link set lo up",
        f"ip link set eth0 address 02:00:00:00:00:0{number + 1}",
        f"ip addr add 10.0.0.{number + 1}/32 dev eth0",
        f"ip addr add fd00::a00:{number + 1}/128 dev eth0",
        "ip link set eth0 up",
    ):
        subprocess.run(command.split(), check=True)
    files = [*options, "-I", f"{folder}/{number}.pid", "-S", f"{folder}/{number}.state"]
    lines = ["interface eth0 type wireless", *settings]
    words = [word for line in lines for word in ("-C", line)]
    with Path(folder, f"{number}.log").open("wb") as log:
        daemon = subprocess.Popen(["babeld", *files, *words, "eth0"], stdout=log, stderr=log)
    return tap, daemon


def count(frame: bytes, sums: dict[str, int]) -> None:
    """Counts the messages of a frame, if it is Babel's."""
    if frame[12:14] != b"\x86\xdd" or frame[20] != 17 or frame[56:58] != struct.pack("!H", 6696):
        return
    sums["packets"] += 1
    sums["bytes"] += len(frame) - 14
    babel, place = frame[62:], 4
    while place < len(babel):
        kind = babel[place]
        if kind == 0:
            place += 1
            continue
        name = MESSAGES.get(kind)
        if name is not None:
            sums["updates6" if kind == 8 and babel[place + 2] == 2 else name] += 1
        place += 2 + babel[place + 1]


def next_hops(daemon: subprocess.Popen[bytes]) -> set[tuple[str, ...]]:
    """The device, destination and gateway of each IPv4 route in the namespace of a process."""
    lines = Path(f"/proc/{daemon.pid}/net/route").read_text().splitlines()[1:]
    return {tuple(line.split()[:3]) for line in lines}


def ring(name: str, number: int) -> dict[str, int | float | str]:
    """One run."""
    settings, options, _ = RUNS[name]
    sums = dict.fromkeys(COLUMNS[4:], 0)
    last = {BREAK: 0.0, REPAIR: 0.0}
    with tempfile.TemporaryDirectory() as folder:
        nodes = [node(it, settings, options, folder) for it in range(NODES)]
        taps, daemons = [tap for tap, _ in nodes], [daemon for _, daemon in nodes]
        start, looked, tables = time.monotonic(), 0.0, [next_hops(it) for it in daemons]
        while (now := time.monotonic() - start) < END:
            if now > looked + 0.25:
                before, tables, looked = tables, [next_hops(it) for it in daemons], now
                if now > BREAK and tables != before:
                    since = REPAIR if now > REPAIR else BREAK
                    last[since] = round(now - since, 1)
            for tap in select.select(taps, [], [], 0.25)[0]:
                frame, place = os.read(tap, 4096), taps.index(tap)
                if COUNTED[0] <= now < COUNTED[1]:
                    count(frame, sums)
                for neighbour in ((place + 1) % NODES, (place - 1) % NODES):
                    if not (BREAK <= now < REPAIR and {place, neighbour} == {3, 4}):
                        os.write(taps[neighbour], frame)
        for daemon in daemons:
            daemon.terminate()
            daemon.wait()
    return {"network": name, "run": number, "broken_s": last[BREAK], "repaired_s": last[REPAIR], **sums}


def main() -> None:
    """All runs at the same time."""
    runs = [(name, number) for name, (_, _, many) in RUNS.items() for number in range(1, many + 1)]
    with multiprocessing.Pool(len(runs)) as pool:
        rows = pool.starmap(ring, runs, chunksize=1)
    with Path(__file__).with_name("namespaces.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
