"""Losses at the start of a transfer, and delayed acknowledgements: every segment, from ns-2."""

from dataclasses import dataclass

from peerlib import ns2
from peerlib.ns2_drops import CONFIGURATIONS, VARIANTS, Conversation
from peerlib.peer import Option, Run
from peerlib.table import Row

STOP_S = 6.0
# After the loss of the first packet the transfer begins at 3 s.
LAST_ROW_S = {"first": 6.0, "first_ack": 6.0, "first_and_later": 6.0}
OTHER_LAST_ROW_S = 3.5
# The first five describe the case and are only in its first row.
COLUMNS = ("cfg", "tcp", "case", "drops", "time", "event", "seqno", "ack_drops", "rtx", "cwnd", "ssthresh", "dupacks")
# Positions, counted from 0, of the packets and the acknowledgements that are lost.
LOSSES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "none": ((), ()),
    "first": ((0,), ()),
    "first_ack": ((), (0,)),
    "second": ((1,), ()),
    "first_and_later": ((0, 40), ()),
    "second_and_later": ((1, 40), ()),
    "fourth_ack": ((), (3,)),
}
VEGAS_CASES = ("first", "first_ack", "second", "first_and_later", "second_and_later")
DELAYED_CASES = ("none", "first_ack", "second_and_later")


@dataclass(frozen=True)
class Case(Run):
    """One run."""

    cfg: str
    tcp: str
    case: str
    delayed: bool = False
    window: int = 100

    def label(self) -> str:
        """The name of the configuration in the table."""
        if self.window == 1:
            return f"{self.cfg}_delayed_one"
        return f"{self.cfg}_delayed" if self.delayed else self.cfg


def cases() -> list[Case]:
    """All runs, in the order of the table."""
    both = ("clean", "ns235")
    return [
        *(Case(cfg, "Vegas", case) for cfg in both for case in VEGAS_CASES),
        *(Case(cfg, variant, "second") for cfg in both for variant in VARIANTS[:-1]),
        Case("ns235", "Tahoe", "second_and_later"),
        *(
            Case(cfg, variant, case, delayed=True)
            for cfg in both
            for variant in ("Newreno", "Vegas")
            for case in DELAYED_CASES
        ),
        # One segment at a time: after the loss of an acknowledgement a duplicate segment arrives.
        Case("clean", "Newreno", "fourth_ack", delayed=True, window=1),
    ]


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run: its segments."""
    steady = case.tcp == "NewrenoSBS"
    drops, ack_drops = (" ".join(map(str, places)) for places in LOSSES[case.case])
    options: dict[str, Option] = {
        "variant": "Newreno" if steady else case.tcp,
        "impatient": int(not steady),
        "drops": drops,
        "ackdrops": ack_drops,
        "delayed": int(case.delayed),
        "window": case.window,
        "stop": STOP_S,
        **CONFIGURATIONS[case.cfg],
    }
    conversation = Conversation()
    ns2.run("wired.tcl", options, conversation.read)
    rows: list[Row] = []
    last = LAST_ROW_S.get(case.case, OTHER_LAST_ROW_S)
    described = {"cfg": case.label(), "tcp": case.tcp, "case": case.case, "drops": drops, "ack_drops": ack_drops}
    for _, segment in conversation.sends():
        if segment.time > last:
            break
        rows.append({**(dict.fromkeys(described) if rows else described), **segment.row()})
    return {"openings.csv": rows}
