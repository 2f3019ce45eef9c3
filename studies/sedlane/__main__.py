"""The experiment of SEDLANE: `python -m studies.sedlane` writes `studies/sedlane/results`.

In each of the four situations of TCP-WELCOME's paper, every sender runs over the simulated network,
over the replay of its own trace, and over the replay of NewReno's trace. The paper of SEDLANE
claims that a replay gives the results of the simulation. A second part replays NewReno's trace to
NewReno by other rules, down to a schedule that says the fate of each packet.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import astuple, fields
from pathlib import Path
from typing import TYPE_CHECKING

import hopyard
from hopyard.statistics import Claim, Kind, judge_all, student

from studies.sedlane import Network, Over, Row, Rules, experiment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hopyard import Scenario

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
SCENARIOS = HERE.parent / "tcp_welcome"
#: The situations, each with the flows that have the sender in question.
SITUATIONS = {"congestion": 3, "interference": 1, "link_failure": 1, "signal_loss": 1}
#: Hopyard's senders; the trace of the first one is replayed to all.
OWN = {
    "NewReno": {"tcp": "newreno"},
    "SACK": {"tcp": "sack"},
    "Vegas": {"tcp": "vegas"},
    "Westwood": {"tcp": "westwood"},
    "Westwood+": {"tcp": "westwood_plus"},
    "WELCOME": {"tcp": "welcome"},
}
#: Linux's own TCP; NewReno is Reno without SACK.
LINUX = {
    "NewReno (Linux)": {"tcp": "reno", "stack": "linux"},
    "SACK (Linux)": {"tcp": "reno", "stack": "linux"},
    "Vegas (Linux)": {"tcp": "vegas", "stack": "linux"},
    "Westwood+ (Linux)": {"tcp": "westwood", "stack": "linux"},
}
SYSCTLS = {"NewReno (Linux)": ["net.ipv4.tcp_sack=0"]}
#: How the trace becomes a schedule.
RULES = {
    "classes of 10 %, by time": (Rules(), Network()),
    "20 classes of equal size, by time": (Rules(quantiles=20), Network()),
    "classes of 10 %, by packet": (Rules(by="packet"), Network()),
    "pipes that overtake": (Rules(), Network(overtaking=True)),
    "a loss rate for each entry": (Rules(losses="entry"), Network()),
    "acknowledgements lost too": (Rules(lose_acks=True), Network()),
    "the fate of each packet": (Rules(width=0.001, by="packet", losses="packet", lose_acks=True), Network()),
}
#: Two results are the same if they differ by no more than this part.
TOLERANCE = 0.1
COLUMNS = tuple(field.name for field in fields(Row))


def _scenario(situation: str, case: str) -> Scenario:
    scenario = hopyard.load(SCENARIOS / f"{situation}.toml")
    keys = {**OWN, **LINUX}[case]
    settings: dict[str, object] = {
        f"flow.{flow}.{key}": value for flow in range(SITUATIONS[situation]) for key, value in keys.items()
    }
    if situation == "interference":
        # The neighbour keeps NewReno.
        settings["flow.1.tcp"] = "newreno"
    if "stack" in keys:
        settings["linux.sysctls"] = SYSCTLS.get(case, [])
    scenario.update(settings)
    return scenario


def _write(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with (RESULTS / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def _plain(row: Row) -> list[object]:
    return [round(it, 6) if isinstance(it, float) else str(it) for it in astuple(row)]


def _read(name: str) -> list[tuple[str, Row]]:
    """The rows of a file, each with its situation or rule; none if there is no such file."""
    path = RESULTS / name
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    place = head.index("case")
    return [
        (
            " | ".join(row[:place]),
            Row(row[place], Over(row[place + 1]), int(row[place + 2]), *map(float, row[place + 3 :])),
        )
        for row in rows
    ]


def senders(situations: Sequence[str], cases: Mapping[str, object], runs: int) -> None:
    """Adds the runs of these senders to `runs.csv`, in place of older ones."""
    for situation in situations:
        # Only the rows of the cases asked for are new; NewReno is there for its trace.
        named = [(name, _scenario(situation, name)) for name in dict.fromkeys(["NewReno", *cases])]
        print(situation, flush=True)
        made = experiment(named, 0, runs, tell=lambda text: print(f"  {text}", flush=True))
        new = [(situation, row) for row in made if row.case in cases]
        names = set(cases)
        kept = [it for it in _read("runs.csv") if it[0] != situation or it[1].case not in names]
        _write("runs.csv", ("situation", *COLUMNS), ([at, *_plain(row)] for at, row in kept + new))


def rules(situations: Sequence[str], runs: int) -> None:
    """Replays NewReno's trace to NewReno by each of the rules, into `rules.csv`."""
    found: list[list[object]] = []
    for situation in situations:
        for name, (rule, network) in RULES.items():
            print(f"{situation}: {name}", flush=True)
            named = [("NewReno", _scenario(situation, "NewReno"))]
            rows = experiment(named, 0, runs, rule, network)
            found += [[situation, name, *_plain(row)] for row in rows]
    _write("rules.csv", ("situation", "rules", *COLUMNS), found)


def _values(rows: Iterable[Row], name: str) -> list[float]:
    return [getattr(row, name) for row in sorted(rows, key=lambda row: row.run)]


def tables() -> None:
    """Writes what the runs show: `senders.csv`, `fidelity.csv` and `claims.csv`."""
    groups: dict[tuple[str, str, Over], list[Row]] = {}
    for situation, row in _read("runs.csv"):
        groups.setdefault((situation, row.case, row.over), []).append(row)
    rows = []
    claims = []
    for (situation, case, over), each in groups.items():
        goodput = student(_values(each, "goodput"))
        loss, rtt = (student(_values(each, name)) for name in ("loss", "rtt"))
        distance = student(_values(each, "distance"))
        rows.append(
            [
                situation,
                case,
                over,
                goodput.runs,
                *_rounded(goodput.figure, goodput.low, goodput.high),
                *_rounded(100 * loss.figure, 1000 * rtt.figure, distance.figure),
            ]
        )
        if over is not Over.NETWORK:
            network = groups[situation, case, Over.NETWORK]
            cases = {over.value: _values(each, "goodput"), "network": _values(network, "goodput")[: len(each)]}
            claims.append((situation, case, over, cases))
    head = ["situation", "case", "over", "runs", "goodput", "low", "high", "loss", "rtt", "distance"]
    _write("senders.csv", head, rows)
    same = Claim(Kind.EQUAL, tolerance=TOLERANCE, relative=True)
    verdicts = judge_all([(same, cases) for *_, cases in claims])
    _write(
        "claims.csv",
        ["situation", "case", "over", "ratio", "low", "high", "outcome"],
        (
            [situation, case, over, *_ratio(cases), verdict.outcome]
            for (situation, case, over, cases), verdict in zip(claims, verdicts, strict=True)
        ),
    )
    by_rules: dict[str, dict[Over, list[Row]]] = {}
    for at, row in _read("rules.csv"):
        by_rules.setdefault(at, {}).setdefault(row.over, []).append(row)
    _write(
        "fidelity.csv",
        ["situation", "rules", "ratio", "low", "high", "loss_network", "loss", "rtt_network", "rtt", "distance"],
        (_fidelity(at, overs) for at, overs in by_rules.items()),
    )


def _fidelity(at: str, overs: Mapping[Over, Sequence[Row]]) -> list[object]:
    network, replay = overs[Over.NETWORK], overs[Over.OWN]
    pair = {over.value: _values(overs[over], "goodput") for over in (Over.OWN, Over.NETWORK)}
    means = {
        name: [student(_values(rows, name)).figure for rows in (network, replay)]
        for name in ("loss", "rtt", "distance")
    }
    return [
        *at.split(" | "),
        *_ratio(pair),
        *_rounded(*(100 * it for it in means["loss"])),
        *_rounded(*(1000 * it for it in means["rtt"])),
        *_rounded(means["distance"][1]),
    ]


def _ratio(cases: Mapping[str, Sequence[float]]) -> list[float]:
    from hopyard.statistics import ratio

    first, second = cases.values()
    found = ratio(first, second)
    return _rounded(found.figure, found.low, found.high)


def _rounded(*values: float) -> list[float]:
    return [round(float(value), 3) for value in values]


def main() -> None:
    """Makes the parts that are asked for; all of them if none is."""
    parser = argparse.ArgumentParser(prog="python -m studies.sedlane", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="runs of each case (10)")
    parser.add_argument("--situations", nargs="+", default=list(SITUATIONS), choices=SITUATIONS, metavar="NAME")
    parser.add_argument(
        "--parts",
        nargs="+",
        default=["hopyard", "linux", "rules"],
        choices=["hopyard", "linux", "rules", "tables"],
        help="hopyard, linux: the senders; rules; tables: only those of runs that are there",
    )
    parser.add_argument("--senders", nargs="+", default=[*OWN, *LINUX], choices=[*OWN, *LINUX], metavar="NAME")
    given = parser.parse_args()
    RESULTS.mkdir(exist_ok=True)
    for part, cases in (("hopyard", OWN), ("linux", LINUX)):
        if part in given.parts:
            chosen = {name: keys for name, keys in cases.items() if name in given.senders}
            senders(given.situations, chosen, given.runs)
    if "rules" in given.parts:
        rules(given.situations, given.runs)
    tables()


if __name__ == "__main__":
    main()
