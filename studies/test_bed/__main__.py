"""The test-bed: `python -m studies.test_bed` writes `studies/test_bed/results`.

The paper's test-bed is a laptop, an emulator, and a PC. Here the two ends are Linux kernels in
simulated time, and the network between them is simulated, in the four situations of the paper. One
part measures throughput. The other counts what TCP computes at the sender, in instructions.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import hopyard
from hopyard import _core
from hopyard.kernels.cache import newest
from hopyard.statistics import Claim, Kind, judge_all, student
from hopyard.tables.arrays import floats, integers, where

from studies.test_bed.counting import CountingError, bind, compiled, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hopyard import Scenario

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
SCENARIOS = HERE.parent / "tcp_welcome"
#: The situations, each with the flows that have the sender in question.
SITUATIONS = {"congestion": 3, "interference": 1, "link_failure": 1, "signal_loss": 1}
#: The paper's senders, by keys of a flow and of `[linux]`. NewReno is Reno without SACK. Linux's
#: Westwood is Westwood+; that as published and WELCOME are modules of Hopyard.
SENDERS: dict[str, dict[str, object]] = {
    "NewReno": {"tcp": "reno", "sysctls": ["net.ipv4.tcp_sack=0"]},
    "SACK": {"tcp": "reno"},
    "Vegas": {"tcp": "vegas"},
    "Westwood+": {"tcp": "westwood"},
    "Westwood": {"tcp": "westwood", "westwood": "published"},
    "WELCOME": {"tcp": "welcome"},
}
#: The names of those that are modules of Hopyard.
MODULES = {"Westwood": "westwood_2001", "WELCOME": "welcome"}
VERSION = "6.1"
RUN = ("situation", "sender", "run", "goodput_kbps")
COUNTED = ("receiving", "sending", "timers")
THROUGHPUT = (*RUN, "build")
COSTS = (*RUN, "payload_bytes", "acks", "stepped", "segments", "buffers", *COUNTED, "every", "build")
#: Costs that differ by no more than this part are about equal.
ABOUT = 0.1


def _scenario(situation: str, sender: str) -> Scenario:
    scenario = hopyard.load(SCENARIOS / f"{situation}.toml")
    keys = SENDERS[sender]
    settings: dict[str, object] = {}
    for flow in range(SITUATIONS[situation]):
        settings |= {f"flow.{flow}.tcp": keys["tcp"], f"flow.{flow}.stack": "linux"}
    if situation == "interference":
        # The neighbour keeps Hopyard's NewReno.
        settings["flow.1.tcp"] = "newreno"
    settings |= {"linux.sysctls": keys.get("sysctls", []), "linux.version": VERSION}
    if "westwood" in keys:
        settings["linux.westwood"] = keys["westwood"]
    scenario.update(settings)
    return scenario


def throughput(situation: str, sender: str, run: int) -> list[object]:
    """A row of `throughput.csv`: the goodput of the first flow in kbit/s."""
    results = hopyard.run(_scenario(situation, sender), runs=[run], progress=False)
    first = where(results.flows, integers(results.flows, "flow") == 0)
    goodput = round(float(floats(first, "goodput_kbps")[0]), 3)
    return [situation, sender, run, goodput, _core.BUILD]


def measured(situation: str, sender: str, run: int, every: int, steps: Path) -> list[object]:
    """A row of `runs.csv`: one run, in which the kernel of the first flow's source is counted."""
    scenario = _scenario(situation, sender)
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "scenario.toml", Path(folder) / "out"
        scenario.save(file)
        words = ["run", str(file), "--run", str(run), "--out", str(out), "--format", "csv"]
        # Of the nodes with kernels, the first flow's source has the lowest number.
        counts = counted([*words, "--quiet"], newest(VERSION).program, 0, every, steps)
        with (out / "flows.csv").open(newline="", encoding="utf-8") as table:
            flow = next(row for row in csv.DictReader(table) if row["flow"] == "0")
    goodput = float(flow["goodput_kbps"])
    window = _seconds(scenario, "duration") - _seconds(scenario, "measure.from")
    return [
        *(situation, sender, run, round(goodput, 3), round(goodput * 125 * window)),
        *(counts.acks, counts.stepped, flow["packets_sent"], counts.buffers),
        *(round(getattr(counts, kind)) for kind in COUNTED),
        *(every, _core.BUILD),
    ]


def _seconds(scenario: Scenario, key: str) -> float:
    return float(_core.parse_time(str(scenario[key]))) / 1e9


def _write(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with (RESULTS / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def _read(name: str) -> list[dict[str, str]]:
    path = RESULTS / name
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _values(rows: Iterable[Mapping[str, str]], what: str) -> list[float]:
    """A quantity of each run."""

    def of(row: Mapping[str, str]) -> float:
        if what == "goodput":
            return float(row["goodput_kbps"])
        acks, segments = int(row["acks"]), int(row["segments"])
        total = sum(float(row[kind]) for kind in COUNTED)
        return {
            "total": total / 1e6,
            "per_ack": float(row["receiving"]) / max(acks, 1),
            "per_segment": float(row["sending"]) / max(segments, 1),
            "per_byte": total / max(int(row["payload_bytes"]), 1),
            "acks_per_segment": acks / max(segments, 1),
        }[what]

    return [of(row) for row in sorted(rows, key=lambda row: int(row["run"]))]


QUANTITIES = ("total", "per_ack", "per_segment", "per_byte", "acks_per_segment")
#: The runs by situation and sender: those of `throughput.csv`, and those of `runs.csv`.
Groups = dict[tuple[str, str], list[dict[str, str]]]


def _grouped(name: str) -> Groups:
    groups: Groups = {}
    for row in _read(name):
        groups.setdefault((row["situation"], row["sender"]), []).append(row)
    order = [(situation, sender) for situation in SITUATIONS for sender in SENDERS]
    return {key: groups[key] for key in order if key in groups}


def tables() -> None:
    """Writes `senders.csv`, `costs.csv` and `claims.csv` of the runs that are there."""
    plain, costs = _grouped("throughput.csv"), _grouped("runs.csv")
    _check(plain, costs)
    head = ("situation", "sender", "quantity", "runs", "mean", "low", "high")
    _write("senders.csv", head, (_summary(*key, "goodput", rows) for key, rows in plain.items()))
    _write("costs.csv", head, (_summary(*key, what, rows) for key, rows in costs.items() for what in QUANTITIES))
    made = [
        (claim, plain if claim["what"] == "goodput" else costs)
        for claim in json.loads((HERE / "claims.json").read_text())
    ]
    made = [(claim, groups) for claim, groups in made if _is_known(claim, groups)]
    pairs = [_judged(claim, groups) for claim, groups in made]
    verdicts = judge_all(pairs) if pairs else []
    _write(
        "claims.csv",
        ("id", "text", "reading", "runs", "verdict", "quantity", "figure", "low", "high"),
        (
            [
                *(claim["id"], claim["text"], claim["what"], len(next(iter(cases.values())))),
                *(verdict.outcome, verdict.quantity),
                *(_rounded(it) for it in (verdict.interval.figure, verdict.interval.low)),
                _rounded(verdict.interval.high),
            ]
            for (claim, _), (_, cases), verdict in zip(made, pairs, verdicts, strict=True)
        ),
    )


def _rounded(value: float) -> float:
    return round(float(value), 3)


def _summary(situation: str, sender: str, what: str, rows: list[dict[str, str]]) -> list[object]:
    found = student(_values(rows, what))
    figures = (found.figure, found.low, found.high)
    return [situation, sender, what, found.runs, *map(_rounded, figures)]


def _check(plain: Groups, costs: Groups) -> None:
    """Tells of runs that are not of one version.

    Stepping decides nothing: if a run in both files has two goodputs, something is wrong.
    """
    builds = {row["build"] for groups in (plain, costs) for rows in groups.values() for row in rows}
    if len(builds) > 1:
        print(f"the runs were made by several builds: {', '.join(sorted(builds))}")
    for key, rows in costs.items():
        known = {row["run"]: row["goodput_kbps"] for row in plain.get(key, [])}
        for row in rows:
            found, expected = row["goodput_kbps"], known.get(row["run"], row["goodput_kbps"])
            if found != expected:
                print(
                    "{}, {}, run {}: ".format(*key, row["run"])
                    + f"runs.csv has {found} kbit/s, throughput.csv {expected}: expected the same"
                )


def _is_known(claim: Mapping[str, object], groups: Groups) -> bool:
    senders = [claim["of"], *claim["than"]]  # type: ignore[misc]
    # Fewer than two runs say nothing of a difference.
    return all(len(groups.get((str(claim["situation"]), it), [])) > 1 for it in senders)


def _judged(claim: Mapping[str, object], groups: Groups) -> tuple[Claim, dict[str, list[float]]]:
    senders = [claim["of"], *claim["than"]]  # type: ignore[misc]
    situation, what = str(claim["situation"]), str(claim["what"])
    cases = {str(sender): _values(groups[situation, str(sender)], what) for sender in senders}
    fewest = min(map(len, cases.values()))
    cases = {name: values[:fewest] for name, values in cases.items()}
    kind = Kind(str(claim["kind"]))
    if kind is Kind.EQUAL:
        return Claim(kind, tolerance=ABOUT, relative=True), cases
    return Claim(kind), cases


def main() -> None:
    """Makes the runs that are asked for, and the tables of all that are there."""
    parser = argparse.ArgumentParser(prog="python -m studies.test_bed", description=__doc__)
    parser.add_argument(
        "--parts",
        nargs="+",
        default=["throughput", "costs"],
        choices=["throughput", "costs", "tables"],
        help="throughput; costs: the instructions; tables: only those of runs that are there",
    )
    parser.add_argument("--runs", type=int, default=5, help="runs for the throughput (5)")
    parser.add_argument("--counted", type=int, default=5, help="runs for the costs (5)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first run (0)")
    parser.add_argument("--every", type=int, default=37, help="one call of so many is stepped (37)")
    parser.add_argument("--situations", nargs="+", default=list(SITUATIONS), choices=SITUATIONS, metavar="NAME")
    parser.add_argument("--senders", nargs="+", default=list(SENDERS), choices=SENDERS, metavar="NAME")
    given = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    if {"throughput", "costs"} & {*given.parts}:
        _require(given.senders)
        # Kernels and their network run in turn: on one core they need not wake each other up.
        bind()
    cases = [(situation, sender) for situation in given.situations for sender in given.senders]
    if "throughput" in given.parts:
        for run in range(given.first, given.first + given.runs):
            for case in cases:
                print("{}, {}, run {}".format(*case, run), flush=True)
                _add("throughput.csv", THROUGHPUT, throughput(*case, run))
    if "costs" in given.parts:
        with tempfile.TemporaryDirectory() as folder:
            steps = compiled(Path(folder))
            for run in range(given.first, given.first + given.counted):
                for case in cases:
                    print("{}, {}, run {}: instructions".format(*case, run), flush=True)
                    row = measured(*case, run, given.every, steps)
                    _add("runs.csv", COSTS, row)
    tables()


def _require(senders: Iterable[str]) -> None:
    """Whether the kernel has the modules.

    Raises:
        CountingError: if one was not built.
    """
    kernel = newest(VERSION)
    for sender in senders:
        if sender in MODULES and MODULES[sender] not in kernel.module_variants():
            raise CountingError(
                f"Linux {VERSION} has no module hopyard_{MODULES[sender]} for {sender}: "
                f"`hopyard kernels build {VERSION}` builds it"
            )


def _add(name: str, head: Sequence[str], row: Sequence[object]) -> None:
    """Adds a run to a file, in place of an older one."""
    new = dict(zip(head, map(str, row), strict=True))
    kept = [it for it in _read(name) if any(it[key] != new[key] for key in RUN[:3])]
    rows = sorted([*kept, new], key=_place)
    _write(name, head, ([it[key] for key in head] for it in rows))


def _place(row: Mapping[str, str]) -> tuple[int, int, int]:
    """The place of a run in a file: whatever the order in which runs are made, the file is one."""
    situation, sender = list(SITUATIONS).index(row["situation"]), list(SENDERS).index(row["sender"])
    return situation, sender, int(row["run"])


if __name__ == "__main__":
    try:
        main()
    except (CountingError, ValueError) as error:
        raise SystemExit(f"error: {error}") from None
