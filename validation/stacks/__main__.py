"""The comparison of stacks: `python -m validation.stacks` writes `validation/stacks/results`.

The runs are those of `hopyard sweep validation/stacks`. Goodput is to agree within 1 % over wires,
and within 2 % or the confidence interval over radio.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hopyard
from hopyard.statistics import difference, student

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
#: The stacks that are compared: Linux's first.
PAIRS = (("Linux", "Hopyard"), ("Linux, at once", "Hopyard, at once"))
#: What Linux calls Westwood is Westwood+.
WESTWOOD = "Westwood+"
WIRES = ("wire", "wire with losses")
MEASURES = ("main_goodput", "goodput", "loss", "retransmitted", "delay")
COMPARED = (*("network", "sender", "stack", "runs", "linux", "hopyard", "percent"), *("low", "high", "verdict"))
HEAD = ("network", "sender", "stack", "run", *MEASURES)


def _runs(out: Path | None, *, quick: bool = False) -> list[dict[str, Any]]:
    """A row for each run."""
    table = hopyard.load_results(HERE, out=out, measures=list(MEASURES), quick=quick, frame="pyarrow")
    found = []
    for row in table.to_pylist():
        network = row["network"] or row["moving"]
        # All flows count among moving nodes, where the flows have any source.
        if row["moving"]:
            row["main_goodput"] = row["goodput"]
        sender = WESTWOOD if row["sender"] == "Westwood" else row["sender"]
        found.append({**row, "network": network, "sender": sender})
    return found


def _compared(rows: Sequence[dict[str, Any]]) -> Iterable[list[object]]:
    """Both stacks beside one another, in each network and for each sender."""
    groups: dict[tuple[str, str, str], dict[int, float]] = {}
    for row in rows:
        key = (row["network"], row["sender"], row["stack"])
        groups.setdefault(key, {})[row["run"]] = row["main_goodput"]
    for (network, sender, stack), linux in groups.items():
        for first, second in PAIRS:
            hopyards = groups.get((network, sender, second), {})
            numbers = sorted(set(linux) & set(hopyards))
            if stack != first or not numbers:
                continue
            values = [[each[number] for number in numbers] for each in (hopyards, linux)]
            means = [student(it).figure for it in values]
            apart = difference(values[0], values[1])
            share = [100 * it / means[1] for it in (apart.figure, apart.low, apart.high)]
            yield [
                *(network, sender, first, len(numbers)),
                *(round(it, 1) for it in (means[1], means[0])),
                *(round(it, 2) for it in share),
                _verdict(network, share, len(numbers)),
            ]


def _verdict(network: str, share: Sequence[float], runs: int) -> str:
    """What the criterion says."""
    bound = 1 if network in WIRES else 2
    figure, low, high = share
    if abs(figure) <= bound:
        return f"within {bound} %"
    if network in WIRES:
        return "differs"
    if runs < 2:
        return "one run"
    return "in the interval" if low <= 0 <= high else "differs"


def main() -> None:
    """Writes the tables."""
    parser = argparse.ArgumentParser(prog="python -m validation.stacks", description=__doc__)
    parser.add_argument("--out", type=Path, help="the folder of the sweep")
    rows = _runs(parser.parse_args().out)
    RESULTS.mkdir(exist_ok=True)
    _write("runs.csv", HEAD, ([_short(row[name]) for name in HEAD] for row in rows))
    _write("goodput.csv", COMPARED, _compared(rows))


def _short(value: object) -> object:
    return round(value, 4) if isinstance(value, float) else value


def _write(name: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with (RESULTS / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
