"""Forced drops of one window over a wired bottleneck: every segment of the sender, from ns-2."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from peerlib import ns2
from peerlib.peer import Option, PeerError, Run
from peerlib.table import Row

VARIANTS = ("Tahoe", "Reno", "Newreno", "NewrenoSBS", "Sack1", "Vegas")
CONFIGURATIONS: dict[str, dict[str, Option]] = {
    "clean": {"initial": 1, "limited": 0, "syn": 0, "minrto": 1.0},
    "ff96": {"initial": 1, "limited": 0, "syn": 0, "minrto": 0.2},
    "ns235": {"initial": 2, "limited": 1, "syn": 1, "minrto": 0.2},
}
# Positions, counted from 0, of the packets that the bottleneck loses.
LOSSES: dict[str, tuple[int, ...]] = {
    "drop0": (),
    "drop1": (14,),
    "drop2": (14, 28),
    "drop3": (14, 26, 28),
    "drop4": (14, 24, 26, 28),
}
RETRANSMISSION_LOST = "drop1_and_its_rtx"
LAST_ROW_S = 3.5
# The times of variables are printed with five decimals.
VARIABLE_RESOLUTION_S = 1e-5
STOP_S = 6.0

COLUMNS = ("cfg", "tcp", "case", "drops", "time", "event", "seqno", "size", "rtx", "cwnd", "ssthresh", "dupacks")
SUMMARY_COLUMNS = ("cfg", "tcp", "case", "drops", "rtx_count", "rtx_seqs", "timeouts", "max_ack", "t_first_rtx")


@dataclass(frozen=True)
class Case(Run):
    """One run."""

    cfg: str
    tcp: str
    case: str


@dataclass
class Segment:
    """A segment that the sender sends, or an acknowledgement that it receives."""

    time: float
    event: str
    seqno: int
    size: int
    retransmission: bool
    cwnd: float
    ssthresh: int
    dupacks: int

    def row(self) -> Row:
        """Its columns, without the size."""
        return {
            "time": f"{self.time:.6f}",
            "event": self.event,
            "seqno": self.seqno,
            "rtx": int(self.retransmission),
            "cwnd": f"{self.cwnd:.3f}",
            "ssthresh": self.ssthresh,
            "dupacks": self.dupacks,
        }


@dataclass
class Conversation:
    """The sender's view of the transfer, built from the trace.

    A "send" shows the window that the segment was sent in; an "ack" shows it as it is when the
    acknowledgement has been dealt with, so its row is open until the next event arrives.
    """

    segments: list[Segment] = field(default_factory=list)
    cwnd: float = 0.0
    ssthresh: int = 0
    dupacks: int = 0
    _highest: int = -1
    _open: Segment | None = None

    def read(self, trace: Iterable[bytes]) -> None:
        """Process a whole trace of `wired.tcl`."""
        for line in trace:
            words = line.decode().split()
            if words[0] in "+r" and words[4] in ("tcp", "ack"):
                self._on_packet(words)
            elif len(words) == 7:
                self._on_variable(float(words[0]), words[5], words[6])
        self._close()

    def _on_packet(self, words: list[str]) -> None:
        event, time, source, seqno = words[0], float(words[1]), words[2], int(words[10])
        size = int(words[5])
        if event == "+" and source == "0":
            retransmission = seqno <= self._highest
            self._highest = max(self._highest, seqno)
            self.segments.append(self._segment(time, "send", seqno, size, retransmission))
        elif event == "r" and source == "1":
            self._close()
            self._open = self._segment(time, "ack", seqno, size, False)
            self.segments.append(self._open)

    def _segment(self, time: float, event: str, seqno: int, size: int, rtx: bool) -> Segment:
        return Segment(time, event, seqno, size, rtx, self.cwnd, self.ssthresh, self.dupacks)

    def _on_variable(self, time: float, name: str, value: str) -> None:
        # The retransmission timer causes later changes.
        if self._open is not None and time > self._open.time + VARIABLE_RESOLUTION_S:
            self._close()
        if name == "cwnd_":
            self.cwnd = float(value)
        elif name == "ssthresh_":
            self.ssthresh = int(value)
        elif name == "dupacks_":
            self.dupacks = int(value)

    def _close(self) -> None:
        if self._open is not None:
            self._open.cwnd = self.cwnd
            self._open.ssthresh = self.ssthresh
            self._open.dupacks = self.dupacks
            self._open = None

    def sends(self) -> Iterator[tuple[int, Segment]]:
        """Every segment sent, with its position on the link counted from 0."""
        return enumerate(s for s in self.segments if s.event == "send")


def cases() -> list[Case]:
    """All runs, in the order of the table."""
    return [
        Case(configuration, variant, case)
        for configuration in CONFIGURATIONS
        for variant in VARIANTS
        for case in (*LOSSES, RETRANSMISSION_LOST)
    ]


def _transfer(case: Case, losses: tuple[int, ...]) -> tuple[Conversation, dict[str, int]]:
    steady = case.tcp == "NewrenoSBS"
    options: dict[str, Option] = {
        "variant": "Newreno" if steady else case.tcp,
        "impatient": int(not steady),
        "drops": " ".join(str(place) for place in losses),
        "stop": STOP_S,
        **CONFIGURATIONS[case.cfg],
    }
    conversation = Conversation()
    output = ns2.run("wired.tcl", options, conversation.read)
    found = re.search(r"^flow timeouts (\d+) highest_ack (\d+)$", "\n".join(output), re.MULTILINE)
    if found is None:
        raise PeerError(f"wired.tcl printed no result for {case.name()}")
    return conversation, {"timeouts": int(found[1]), "max_ack": int(found[2])}


def run(case: Case) -> dict[str, list[Row]]:
    """Make one run: its segments, and one row of summary."""
    if case.case == RETRANSMISSION_LOST:
        first, _ = _transfer(case, LOSSES["drop1"])
        place = next(place for place, segment in first.sends() if segment.retransmission)
        losses = (*LOSSES["drop1"], place)
    else:
        losses = LOSSES[case.case]
    conversation, totals = _transfer(case, losses)
    key = {**case.key, "drops": " ".join(map(str, losses))}
    rows: list[Row] = [
        {**key, **segment.row(), "size": segment.size}
        for segment in conversation.segments
        if segment.time <= LAST_ROW_S
    ]
    again = [segment for _, segment in conversation.sends() if segment.retransmission]
    summary: Row = {
        **key,
        **totals,
        "rtx_count": len(again),
        "rtx_seqs": " ".join(str(segment.seqno) for segment in again),
        "t_first_rtx": f"{again[0].time:.6f}" if again else None,
    }
    return {"forced_drops.csv.gz": rows, "forced_drops_summary.csv": [summary]}
