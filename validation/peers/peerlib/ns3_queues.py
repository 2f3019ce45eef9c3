"""Queue disciplines with drawn arrivals: which packets ns-3 drops and marks."""

from dataclasses import dataclass

from peerlib import ns3
from peerlib.table import Row

COLUMNS = ("discipline", "case", "fates")


@dataclass(frozen=True)
class Case:
    """One run."""

    discipline: str
    number: int

    def name(self) -> str:
        """The text of the progress line."""
        return f"{self.discipline}, case {self.number}"


def cases() -> list[Case]:
    """All runs, in the order of the table."""
    return [Case(discipline, number) for discipline in ("codel", "fq_codel") for number in range(20)]


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run: the packets with their fates, in one row."""
    fates = ns3.output("queues", {"discipline": case.discipline, "case": case.number}).strip()
    return {"queues.csv": [{"discipline": case.discipline, "case": case.number, "fates": fates}]}
