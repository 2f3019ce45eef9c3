"""Queue disciplines with drawn arrivals: which packets ns-3 drops and marks."""

from dataclasses import dataclass

from peerlib import ns3
from peerlib.peer import Run
from peerlib.table import Row

COLUMNS = ("discipline", "case", "fates")


@dataclass(frozen=True)
class Case(Run):
    """One run."""

    discipline: str
    case: int


def cases() -> list[Case]:
    """All runs, in the order of the table."""
    return [Case(discipline, number) for discipline in ("codel", "fq_codel") for number in range(20)]


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run: the packets with their fates, in one row."""
    fates = ns3.output("queues", {"discipline": case.discipline, "case": case.case}).strip()
    return {"queues.csv": [{**case.key, "fates": fates}]}
