"""Linux's Minstrel-HT and Hopyard's on the same links: `python -m validation.stacks.minstrel`.

A case is one link between two stations, on which one sends datagrams of UDP without end: a distance, fading, bursts of
interference, or a movement. Each is run with kernels that have Linux's Wi-Fi, and with Hopyard's nodes; fading,
interference and movement are the same for both, and the draws of errors and probes are not. Captures at the sender
tell, for both in the same way, in which rates frames were tried, and which of them were acknowledged.

Writes three tables in `results`: `minstrel.csv` (throughput by case, with the interval of the mean of seeds),
`minstrel_rates.csv` (the share of tries by rate, and the share of them that was acknowledged), and
`minstrel_seconds.csv` (the mean rate of tries in each second). Needs `hopyard kernels build 6.1 --wifi`.
"""

from __future__ import annotations

import argparse
import csv
import math
import statistics
import struct
import tempfile
import warnings
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hopyard
from scipy import stats

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

RESULTS = Path(__file__).resolve().parent / "results"
STACKS = ("linux", "hopyard")
#: Bytes of payload of a datagram.
PAYLOAD = 1400
#: The interval of a ratio that is narrow enough.
WITHIN = 0.01
#: When the source begins, when the measuring begins, and when it ends, in seconds.
BEGIN, FROM, UNTIL = 1.5, 2.5, 5.5
#: The rates of HT at 20 MHz with the long guard interval, for one stream, in Mb/s.
OF_HT = (6.5, 13, 19.5, 26, 39, 52, 58.5, 65)
#: The size and alignment of the fields of radiotap, by their number.
FIELDS = {
    0: (8, 8), 1: (1, 1), 2: (1, 1), 3: (4, 2), 4: (2, 1), 5: (1, 1), 6: (1, 1), 7: (2, 2), 8: (2, 2), 9: (2, 2),
    10: (1, 1), 11: (1, 1), 12: (1, 1), 13: (1, 1), 14: (2, 2), 15: (2, 2), 18: (8, 4), 19: (3, 1), 20: (8, 4),
}  # fmt: skip
FLAGS, RATE, MCS, AMPDU = 1, 2, 19, 20


@dataclass(frozen=True)
class Case:
    """A link, as parts of a scenario."""

    name: str
    #: Metres between the stations.
    spacing: float
    radio: dict[str, Any] = field(default_factory=dict)
    #: The receiver moves away from the sender so far, and comes back, at this speed in m/s.
    moves: tuple[float, float] | None = None
    #: Of a jammer: its distance from the receiver in metres, and the period in ms and duty of its bursts.
    jammer: tuple[float, float, float] | None = None


def rayleigh(coherence: str) -> dict[str, Any]:
    """Fading without a direct path, which lasts so long."""
    return {"fading": "rayleigh", "rayleigh": {"coherence": coherence}}


def rician(coherence: str) -> dict[str, Any]:
    """Fading with a direct path."""
    return {"fading": "rician", "rician": {"coherence": coherence}}


CASES = [
    *(Case(f"{it} m", it) for it in (200, 300, 350, 400, 450, 500, 550, 600, 620, 650, 700, 750, 800, 850, 900)),
    *(Case(f"rayleigh {it} m, 100 ms", it, rayleigh("100 ms")) for it in (150, 300, 450)),
    *(Case(f"rayleigh {it} m, 1 s", it, rayleigh("1 s")) for it in (200, 350)),
    *(Case(f"rician {it} m, 100 ms", it, rician("100 ms")) for it in (300, 500)),
    Case("bursts of 5 ms in 50 ms at 300 m", 300, jammer=(300, 50, 0.1)),
    Case("bursts of 2 ms in 10 ms at 300 m", 300, jammer=(300, 10, 0.2)),
    Case("bursts of 100 ms in 400 ms at 400 m", 400, jammer=(500, 400, 0.25)),
    Case("bursts of 20 ms in 100 ms at 500 m", 500, jammer=(700, 100, 0.2)),
    Case("away and back at 20 m/s from 300 m", 300, moves=(60, 20)),
    Case("away and back at 100 m/s from 200 m", 200, moves=(300, 100)),
    Case("away and back at 200 m/s from 200 m", 200, moves=(600, 200)),
    Case("away and back at 50 m/s from 600 m", 600, moves=(150, 50)),
]
"""The cases with 802.11g; the same links are used with 802.11n."""


def scenario(case: Case, stack: str, standard: str, seed: int) -> dict[str, Any]:
    """The network of one side."""
    positions = [[0, 0], [case.spacing, 0]]
    if case.jammer:
        positions.append([case.spacing + case.jammer[0], 0])
    amendment = {"standard": standard}
    if standard == "n":
        amendment |= {"band": "2.4 GHz", "rate": "mcs7"}
    else:
        amendment |= {"rate": "54 Mbps"}
    network: dict[str, Any] = {
        "name": "minstrel",
        "profile": "linux" if standard == "n" else "rfc",
        "duration": f"{UNTIL} s",
        "runs": 1,
        "seed": seed,
        "nodes": {"positions": positions},
        "radio": {"receive": "3000 m", "sense": "3000 m", **case.radio},
        "mac": {
            "model": "edca",
            "rate_control": "minstrel_ht",
            "edca": amendment,
            # The number of tries of the driver.
            "minstrel_ht": {"most_tries": 11},
        },
        "link": {"queue_length": 100},
    }
    if case.jammer:
        _, period, duty = case.jammer
        network["jammer"] = [{"nodes": [2], "from": "0 s", "period": f"{period} ms", "duty": duty}]
    if case.moves:
        far, speed = case.moves
        track = [{"at": f"{BEGIN} s", "x": f"{case.spacing} m", "y": "0 m"}]
        at, there = BEGIN, False
        while at < UNTIL:
            at, there = at + far / speed, not there
            track.append({"at": f"{at} s", "x": f"{case.spacing + far * there} m", "y": "0 m"})
        network["movement"] = [{"nodes": [1], "waypoints": {"track": track}}]
    if stack == "linux":
        # A frame has the rates of the time when it left Linux, so that few frames should wait. Aggregates need more.
        buffer = "64K" if standard == "n" else "4K"
        sends = f"iperf3 -c node1 -u -b 200M -l {PAYLOAD} -t 100 -i 0 -w {buffer}"
        told = "sh -c 'cat /sys/kernel/debug/ieee80211/phy0/netdev:wlan0/stations/*/rc_stats_csv'"
        network["nodes"]["system"] = "linux"
        network["linux"] = {"wifi": "ibss", "memory": 64}
        # A station refuses a session until it has heard a beacon of the other, and begins its statistics anew then.
        network["linux"]["beacon_interval"] = 250
        network["host"] = [
            {"node": 1, "start": "1 s", "run": "iperf3 -s -1 -i 0"},
            {"node": 0, "start": f"{BEGIN} s", "run": sends},
            {"node": 0, "start": f"{UNTIL - 0.05} s", "run": told},
        ]
    else:
        interval = "100 us" if standard == "n" else "190 us"
        cbr = {"packet_size": f"{PAYLOAD} B", "interval": interval}
        flow = {"from": 0, "to": 1, "udp": True, "start": f"{BEGIN} s", "traffic": "cbr", "cbr": cbr}
        network |= {"routing": {"protocol": "static"}, "flow": [flow], "measure": {"rates": True}}
    return network


@dataclass
class Found:
    """A run: the share of payload that was acknowledged, and the tries by rate in Mb/s."""

    kbps: float = 0.0
    tries: Counter[str] = field(default_factory=Counter)
    acknowledged: Counter[str] = field(default_factory=Counter)
    #: The sum of the rates of tries, and their number, in each second.
    seconds: dict[int, tuple[float, int]] = field(default_factory=dict)
    #: The estimate of the probability of success at the end, by rate.
    probability: dict[str, float] = field(default_factory=dict)


def packets(path: Path) -> Iterator[tuple[float, bool, bytes]]:
    """The packets of a capture (pcapng): when, whether the radio has sent it, and its bytes."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            _, high, low, size, _ = struct.unpack_from("<IIIII", data, at + 8)
            options = at + 28 + (size + 3) // 4 * 4
            is_outbound = False
            while options + 4 <= at + length - 4:
                code, size_of = struct.unpack_from("<HH", data, options)
                if code == 2:
                    is_outbound = struct.unpack_from("<I", data, options + 4)[0] & 3 == 2
                options += 4 + (size_of + 3) // 4 * 4
            yield (high << 32 | low) / 1e9, is_outbound, data[at + 28 : at + 28 + size]
        at += length


def radiotap(packet: bytes) -> tuple[dict[int, bytes], bytes]:
    """The fields of the header of radiotap, and the frame."""
    _, _, length, present = struct.unpack_from("<BBHI", packet)
    found, at = {}, 8
    for number, (size, alignment) in FIELDS.items():
        if present >> number & 1:
            at = (at + alignment - 1) // alignment * alignment
            found[number] = packet[at : at + size]
            at += size
    return found, packet[length:]


def rate_of(fields: dict[int, bytes]) -> tuple[str, float]:
    """The name of a mode, and its rate in Mb/s."""
    if RATE in fields:
        rate = fields[RATE][0] / 2
        return f"{rate:g}", rate
    _, flags, index = fields[MCS]
    is_short = bool(flags & 4)
    rate = OF_HT[index % 8] * (index // 8 + 1) * (10 / 9 if is_short else 1)
    return f"mcs{index}{' short' if is_short else ''}", rate


def read(path: Path) -> Found:
    """What a capture at the sender tells of the measuring time."""
    found = Found()
    #: The frames on the air that wait for an answer: their sequence numbers, with their mode.
    waiting: dict[int, str] = {}
    burst = None
    arrived: dict[int, float] = {}
    for time, is_outbound, packet in packets(path):
        fields, frame = radiotap(packet)
        kind = frame[0] & 0xFC
        if is_outbound and kind in (0x08, 0x88) and len(frame) > PAYLOAD:
            name, rate = rate_of(fields)
            number = int.from_bytes(frame[22:24], "little") >> 4
            group = fields.get(AMPDU, b"")[:4] or None
            if group is None or group != burst:
                waiting = {}
            burst = group
            waiting[number] = name
            if FROM <= time < UNTIL:
                found.tries[name] += 1
                total, count = found.seconds.get(int(time), (0.0, 0))
                found.seconds[int(time)] = total + rate, count + 1
        elif not is_outbound and kind in (0x94, 0xD4) and waiting:
            there = list(waiting)
            if kind == 0x94:
                start, bits = struct.unpack_from("<HQ", frame, 18)
                # Python's numbers have no bits beyond the window of 64.
                there = [it for it in waiting if bits >> ((it - (start >> 4)) % 4096) & 1]
            for number in there:
                if FROM <= time < UNTIL:
                    found.acknowledged[waiting[number]] += 1
                    # Numbers come again after 4096 frames, which take longer than this.
                    if time - arrived.get(number, -1.0) > 0.5:
                        found.kbps += 8 * PAYLOAD / 1000 / (UNTIL - FROM)
                arrived[number] = time
            waiting = {}
    return found


def estimates(text: str) -> dict[str, float]:
    """The probabilities of success in Linux's `rc_stats_csv`, in percent there."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        words = line.split(",")
        if len(words) < 10:
            continue
        kind, guard, _, _, name = words[:5]
        rate = name.strip().removesuffix("M").lower()
        if kind.startswith("HT"):
            rate += " short" if guard == "SGI" else ""
        else:
            rate = f"{float(rate):g}"
        found.setdefault(rate, float(words[9]) / 100)
    return found


def run(case: Case, stack: str, standard: str, seed: int) -> Found:
    """Makes a run."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.pcapng"
        network = scenario(case, stack, standard, seed)
        results = hopyard.run(network, jobs=1, progress=False, capture=file, capture_nodes="0", capture_kinds="radio")
        found = read(file)
        if stack == "linux":
            found.probability = estimates(results.programs["output"].to_pylist()[2])
    return found


def _once(what: tuple[Case, str, str, int]) -> Found:
    return run(*what)


def is_narrow(both: dict[str, list[Found]]) -> bool:
    """Whether the interval of the ratio is at most 1 %."""
    return ratio(both)[1] <= WITHIN


def ratio(both: dict[str, list[Found]]) -> tuple[float, float]:
    """The ratio of the mean throughputs, and half its 95 % interval, from pairs of runs with the same seed."""
    linux, own = ([each.kbps for each in both[stack]] for stack in STACKS)
    mean, count = statistics.mean(own), len(own)
    if count < 2:
        return linux[0] / own[0], math.inf
    apart = [one - other for one, other in zip(linux, own, strict=True)]
    quantile: float = stats.t.ppf(0.975, count - 1)
    return statistics.mean(linux) / mean, quantile * statistics.stdev(apart) / math.sqrt(count) / mean


def shares(runs: Iterable[Found]) -> dict[str, float]:
    """The share of tries of each mode."""
    total: Counter[str] = Counter()
    for each in runs:
        total.update(each.tries)
    return {name: count / total.total() for name, count in total.items()}


def compared(case: Case, standard: str, both: dict[str, list[Found]]) -> dict[str, list[dict[str, object]]]:
    """The rows of a case in each table."""
    kbps = {stack: [each.kbps for each in runs] for stack, runs in both.items()}
    of_both, around = ratio(both)
    of = {stack: shares(runs) for stack, runs in both.items()}
    names = sorted({name for each in of.values() for name in each})
    apart = sum(abs(of["linux"].get(name, 0) - of["hopyard"].get(name, 0)) for name in names) / 2
    head: dict[str, object] = {"standard": standard, "case": case.name}
    means = {stack: statistics.mean(values) for stack, values in kbps.items()}
    row: dict[str, object] = {
        **head,
        "seeds": len(both["linux"]),
        **{f"{stack}_kbps": f"{means[stack]:.0f}" for stack in STACKS},
        "ratio": f"{of_both:.4f}",
        "interval": f"{around:.4f}",
        # Half the sum of the differences of shares: 0 where they are the same, 1 where they have nothing in common.
        "shares_apart": f"{apart:.3f}",
    }
    rates: list[dict[str, object]] = []
    for name in names:
        sums = {
            stack: (sum(it.tries[name] for it in runs), sum(it.acknowledged[name] for it in runs))
            for stack, runs in both.items()
        }
        told = [it.probability[name] for it in both["linux"] if name in it.probability]
        rates.append(
            {
                **head,
                "rate": name,
                **{f"{stack}_share": f"{of[stack].get(name, 0):.4f}" for stack in STACKS},
                **{f"{stack}_success": f"{good / tries:.3f}" if tries else "" for stack, (tries, good) in sums.items()},
                "linux_says": f"{statistics.mean(told):.3f}" if told else "",
            }
        )
    seconds: list[dict[str, object]] = []
    for second in range(int(FROM), int(UNTIL)):
        found: dict[str, tuple[float, int]] = defaultdict(lambda: (0.0, 0))
        for stack, runs in both.items():
            for each in runs:
                total, count = each.seconds.get(second, (0.0, 0))
                found[stack] = found[stack][0] + total, found[stack][1] + count
        mean = {stack: f"{total / count:.2f}" if count else "" for stack, (total, count) in found.items()}
        seconds.append({**head, "second": second, **{f"{stack}_mbps": mean.get(stack, "") for stack in STACKS}})
    return {"minstrel": [row], "minstrel_rates": rates, "minstrel_seconds": seconds}


def write(folder: Path, name: str, new: list[dict[str, object]], done: set[tuple[str, str]]) -> None:
    """Writes a table; the rows of cases that were not run stay."""
    file = folder / f"{name}.csv"
    old: list[dict[str, object]] = []
    if file.exists():
        with file.open(newline="", encoding="utf-8") as known:
            old = [dict(row) for row in csv.DictReader(known) if (row["standard"], row["case"]) not in done]
    places = {case.name: place for place, case in enumerate(CASES)}
    rows = sorted([*old, *new], key=lambda row: (str(row["standard"]), places.get(str(row["case"]), len(places))))
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Writes the tables."""
    parser = argparse.ArgumentParser(prog="python -m validation.stacks.minstrel", description=__doc__)
    parser.add_argument("--standard", choices=("g", "n"), default="g", help="the amendment of 802.11")
    parser.add_argument("--seeds", type=int, default=3, help="how many runs of each kind, at the least")
    parser.add_argument("--most", type=int, default=20, help="how many, where the interval is wider than 1 %%")
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="the case of this name, or the cases with this text in it"
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many runs at a time")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of the tables")
    given = parser.parse_args()
    named = [case for case in CASES if given.only == case.name]
    wanted = named or [case for case in CASES if given.only in case.name]
    with ProcessPoolExecutor(given.jobs) as pool:
        for case in wanted:
            both: dict[str, list[Found]] = {stack: [] for stack in STACKS}
            while (made := len(both["linux"])) < given.most and (made < given.seeds or not is_narrow(both)):
                seeds = range(made + 1, max(given.seeds, made + 2) + 1)
                runs = [(case, stack, given.standard, seed) for seed in seeds for stack in STACKS]
                for (_, stack, *_), found in zip(runs, pool.map(_once, runs), strict=True):
                    both[stack].append(found)
            tables = compared(case, given.standard, both)
            print(*tables["minstrel"][0].values(), flush=True)
            for name, rows in tables.items():
                write(given.out, name, rows, {(given.standard, case.name)})


if __name__ == "__main__":
    main()
