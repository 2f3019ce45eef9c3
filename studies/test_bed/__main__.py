"""The test-bed: `python -m studies.test_bed` writes `studies/test_bed/results`.

The paper's test-bed is a laptop, an emulator, and a PC. Here the two ends are Linux kernels in
simulated time, and the network between them is simulated, in the four situations of the paper. What
TCP computes at the sender is counted in instructions.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import hopyard
from hopyard.kernels.cache import newest
from hopyard.statistics import Claim, Kind, judge_all, student

from studies.test_bed.counting import CountingError, bind, compiled, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hopyard import Scenario

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
SCENARIOS = HERE.parent / "tcp_welcome"
#: The situations, each with the flows that have the sender in question.
SITUATIONS = {"congestion": 3, "interference": 1, "link_failure": 1, "signal_loss": 1}
#: The paper's senders by Linux's names. NewReno is Reno without SACK. WELCOME runs where the kernel
#: has it (`hopyard kernels list`).
SENDERS = {
    "NewReno": ("reno", ["net.ipv4.tcp_sack=0"]),
    "SACK": ("reno", []),
    "Vegas": ("vegas", []),
    "Westwood": ("westwood", []),
    "WELCOME": ("welcome", []),
}
VERSION = "6.1"
HEAD = (
    "situation",
    "sender",
    "run",
    "goodput_kbps",
    "payload_bytes",
    "acks",
    "stepped",
    "segments",
)
COUNTED = ("receiving", "sending", "timers")
#: Costs that differ by no more than this part are about equal.
ABOUT = 0.1


def _scenario(situation: str, sender: str) -> Scenario:
    scenario = hopyard.load(SCENARIOS / f"{situation}.toml")
    tcp, sysctls = SENDERS[sender]
    settings: dict[str, object] = {}
    for flow in range(SITUATIONS[situation]):
        settings |= {f"flow.{flow}.tcp": tcp, f"flow.{flow}.stack": "linux"}
    if situation == "interference":
        # The neighbour keeps Hopyard's NewReno.
        settings["flow.1.tcp"] = "newreno"
    settings |= {"linux.sysctls": sysctls, "linux.version": VERSION}
    scenario.update(settings)
    return scenario


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
        *(counts.acks, counts.stepped, flow["packets_sent"]),
        *(round(getattr(counts, kind)) for kind in COUNTED),
    ]


def _seconds(scenario: Scenario, key: str) -> float:
    from hopyard import _core

    return float(_core.parse_time(str(scenario[key]))) / 1e9


def _write(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with (RESULTS / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def _read() -> list[dict[str, str]]:
    path = RESULTS / "runs.csv"
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _values(rows: Iterable[Mapping[str, str]], what: str) -> list[float]:
    """A quantity of each run."""

    def of(row: Mapping[str, str]) -> float:
        acks, segments = int(row["acks"]), int(row["segments"])
        total = sum(float(row[kind]) for kind in COUNTED)
        return {
            "goodput": float(row["goodput_kbps"]),
            "total": total / 1e6,
            "per_ack": float(row["receiving"]) / max(acks, 1),
            "per_segment": float(row["sending"]) / max(segments, 1),
            "per_byte": total / max(int(row["payload_bytes"]), 1),
            "acks_per_segment": acks / max(segments, 1),
        }[what]

    return [of(row) for row in sorted(rows, key=lambda row: int(row["run"]))]


QUANTITIES = ("goodput", "total", "per_ack", "per_segment", "per_byte", "acks_per_segment")


def tables() -> None:
    """Writes `costs.csv` and `claims.csv` of the runs that are there."""
    groups: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in _read():
        groups.setdefault((row["situation"], row["sender"]), []).append(row)
    rows = []
    for (situation, sender), each in groups.items():
        for what in QUANTITIES:
            found = student(_values(each, what))
            figures = (found.figure, found.low, found.high)
            rows.append([situation, sender, what, found.runs, *(round(it, 3) for it in figures)])
    _write("costs.csv", ("situation", "sender", "quantity", "runs", "mean", "low", "high"), rows)
    made = [it for it in json.loads((HERE / "claims.json").read_text()) if _is_known(it, groups)]
    pairs = [_judged(claim, groups) for claim in made]
    verdicts = judge_all(pairs) if pairs else []
    _write(
        "claims.csv",
        ("id", "text", "reading", "verdict", "quantity", "figure", "low", "high"),
        (
            [
                *(claim["id"], claim["text"], claim["what"], verdict.outcome, verdict.quantity),
                *(round(it, 3) for it in (verdict.interval.figure, verdict.interval.low)),
                round(verdict.interval.high, 3),
            ]
            for claim, verdict in zip(made, verdicts, strict=True)
        ),
    )


def _is_known(claim: Mapping[str, object], groups: Mapping[tuple[str, str], object]) -> bool:
    senders = [claim["of"], *claim["than"]]  # type: ignore[misc]
    return all((claim["situation"], sender) in groups for sender in senders)


def _judged(
    claim: Mapping[str, object], groups: Mapping[tuple[str, str], list[dict[str, str]]]
) -> tuple[Claim, dict[str, list[float]]]:
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
    parser.add_argument("--runs", type=int, default=3, help="runs of each sender (3)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first run (0)")
    parser.add_argument("--every", type=int, default=19, help="one call of so many is stepped (19)")
    parser.add_argument(
        "--situations", nargs="*", default=list(SITUATIONS), choices=SITUATIONS, metavar="NAME"
    )
    parser.add_argument("--senders", nargs="+", default=list(SENDERS), choices=SENDERS)
    given = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    variants = newest(VERSION).variants if given.situations else []
    bind()
    with tempfile.TemporaryDirectory() as folder:
        steps = compiled(Path(folder)) if given.situations else Path()
        for run in range(given.first, given.first + given.runs):
            for situation in given.situations:
                for sender in given.senders:
                    if SENDERS[sender][0] not in variants:
                        print(f"Linux {VERSION} has no {SENDERS[sender][0]}: no {sender}")
                        continue
                    print(f"{situation}, {sender}, run {run}", flush=True)
                    row = measured(situation, sender, run, given.every, steps)
                    _add(row)
    tables()


def _add(row: Sequence[object]) -> None:
    """Adds a run to `runs.csv`, in place of an older one."""
    head = (*HEAD, *COUNTED)
    new = dict(zip(head, map(str, row), strict=True))
    kept = [it for it in _read() if any(it[key] != new[key] for key in HEAD[:3])]
    _write("runs.csv", head, ([it[key] for key in head] for it in [*kept, new]))


if __name__ == "__main__":
    try:
        main()
    except (CountingError, ValueError) as error:
        raise SystemExit(f"error: {error}") from None
