"""What became of each packet of a TCP flow: when it was sent, its round-trip time, or its loss.

The records are those of `measure.segments`. A packet here is one transmission of a segment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from hopyard.tables.arrays import floats, integers, values, where

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pyarrow as pa
    from hopyard.results.results import Results
    from hopyard.tables.arrays import Floats, Integers, Mask


@dataclass(frozen=True)
class Trace:
    """The packets of one flow in one run, in the order in which they were sent.

    The round-trip time of a packet is the time that the packet and the acknowledgement which
    answered it were on their way. It leaves out for how long the receiver delayed the
    acknowledgement. It is NaN where one of the two was lost or still on its way at the end.
    """

    #: Seconds.
    sent: Floats
    rtt: Floats
    #: Whether the packet did not arrive, and was not on its way at the end.
    lost: Mask
    #: When each acknowledgement was sent, in seconds; whether it was lost; and the place of the
    #: packet that it answered.
    ack_sent: Floats
    ack_lost: Mask
    ack_of: Integers

    def __len__(self) -> int:
        return len(self.sent)

    @property
    def loss(self) -> float:
        """The share of the packets that were lost."""
        return float(self.lost.mean()) if len(self) else 0.0


def traces(results: Results, flow: int) -> list[Trace]:
    """The traces of a flow, one for each run of results with segments.

    Raises:
        ValueError: when no segments of the flow were recorded.
    """
    rows = results.segments
    runs = integers(rows, "run") if len(rows) else np.empty(0, dtype=np.int64)
    of_flow = integers(rows, "flow") == flow if len(rows) else np.empty(0, dtype=np.bool_)
    if not of_flow.any():
        raise ValueError(
            f"no segments of flow {flow} were recorded: expected a TCP flow whose stack is "
            '"hopyard", and `measure.segments` or `--segments`'
        )
    numbers = sorted(set(runs[of_flow].tolist()))
    return [trace(where(rows, of_flow & (runs == number))) for number in numbers]


def trace(rows: pa.Table) -> Trace:
    """The trace of the segments of one flow in one run."""
    time, events = floats(rows, "time_s"), np.asarray(values(rows["event"]))
    seq, end = integers(rows, "seq"), integers(rows, "end")
    data = [(int(a), int(b)) for a, b in zip(seq, end, strict=True)]
    acks = list(zip(values(rows["ack"]), values(rows["sack"]), strict=True))
    sent, received, answers, heard = (
        np.flatnonzero(events == it) for it in ("data_sent", "data_received", "ack_sent", "ack_received")
    )
    arrival = _matched(time, [data[it] for it in sent], sent, [data[it] for it in received], received)
    answer = _matched(time, [acks[it] for it in answers], answers, [acks[it] for it in heard], heard)
    # The packet that an acknowledgement answers is the last one that arrived before it. Events of
    # one time are in the order in which they happened.
    arrived = np.flatnonzero(arrival >= 0)
    arrived = arrived[np.argsort(arrival[arrived], kind="stable")]
    before = np.searchsorted(arrival[arrived], answers) - 1
    ack_of = np.where(before >= 0, arrived[np.maximum(before, 0)] if len(arrived) else 0, 0)
    rtt = np.full(len(sent), np.nan)
    first = np.searchsorted(answers, arrival[arrived])
    for packet, place in zip(arrived, first, strict=True):
        if place < len(answers) and answer[place] >= 0:
            waited = time[answers[place]] - time[arrival[packet]]
            rtt[packet] = time[answer[place]] - time[sent[packet]] - waited
    return Trace(
        sent=time[sent],
        rtt=rtt,
        lost=_lost(sent, arrival),
        ack_sent=time[answers],
        ack_lost=_lost(answers, answer),
        ack_of=ack_of.astype(np.int64),
    )


def _lost(sent: Integers, arrival: Integers) -> Mask:
    """What did not arrive, up to the last one that did: those after it were on their way."""
    arrived = np.flatnonzero(arrival >= 0)
    end = int(arrived[-1]) if len(arrived) else -1
    return np.asarray((arrival < 0) & (np.arange(len(sent)) < end))


def _matched(
    time: Floats, sent_as: Sequence[Hashable], sent: Integers, received_as: Sequence[Hashable], received: Integers
) -> Integers:
    """The row in which each transmission was received; -1 where none is.

    Transmissions of the same bytes cannot be told apart. If all of them arrived, they did so in
    order. Otherwise each one that arrived is the last one that was sent before: a segment is sent
    again because the transmission before was lost.
    """
    transmissions: dict[Hashable, list[int]] = {}
    for place, what in enumerate(sent_as):
        transmissions.setdefault(what, []).append(place)
    arrivals: dict[Hashable, list[int]] = {}
    for row, what in zip(received, received_as, strict=True):
        arrivals.setdefault(what, []).append(int(row))
    found = np.full(len(sent), -1, dtype=np.int64)
    for what, rows in arrivals.items():
        places = transmissions.get(what, [])
        if len(places) == len(rows):
            found[places] = rows
            continue
        left = list(places)
        for row in reversed(rows):
            while left and time[sent[left[-1]]] >= time[row]:
                left.pop()
            if not left:
                break
            found[left.pop()] = row
    return found
