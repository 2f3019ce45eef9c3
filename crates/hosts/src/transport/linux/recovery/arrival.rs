//! The delivery of an acknowledgement, segment by segment.

use hopyard_engine::{Span, Time};

use crate::packet::TcpHeader;
use crate::transport::connection::{Segment, ascending, is_earlier, milliseconds};
use crate::transport::linux::state::State;

/// The report of one acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// SND.UNA before it.
    pub una: u64,
    /// It acknowledges new data.
    pub advances: bool,
    /// SACK reports new segments.
    pub sacks: bool,
    /// The duplicate that it reports.
    pub duplicate: Option<(u64, u64)>,
    /// Segments that it delivers, and their payload in bytes.
    pub segments: u32,
    pub bytes: u64,
    /// A segment that was sent again is acknowledged.
    covers_resent: bool,
    /// The sending times of the first and the last segment that are acknowledged here for the first time. Only segments
    /// that were sent once count. The field `sacked` has the same of the segments that SACK reports.
    acked: Option<(Time, Time)>,
    sacked: Option<(Time, Time)>,
    /// The latest sending time among the segments that it delivers.
    pub newest: Option<Time>,
    /// The first sequence number of the lowest segment that arrived, sent once, by acknowledgement and by SACK.
    pub lowest_acked: Option<u64>,
    pub lowest_sacked: Option<u64>,
    /// A segment below the end of the losses at hand arrived although it was sent once.
    pub original_arrived: bool,
}

/// The round trips that an acknowledgement gives.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundTrips {
    /// The round trip of the first segment that it delivers: the sample for the timeout.
    pub first: Option<Span>,
    /// The round trip of the last segment that it delivers: for the congestion control, and the shortest round trip.
    pub last: Option<Span>,
    /// The round trip of the first segment that SACK reports.
    pub sacked: Option<Span>,
}

impl Report {
    /// Takes in a segment that SACK reports. `highest` is the end of the highest segment reported before, `end` the end
    /// of the losses at hand.
    pub fn add_sacked(&mut self, segment: &Segment, highest: u64, end: u64) {
        self.sacks = true;
        self.count(segment);
        if segment.transmissions == 1 {
            if segment.seq < highest {
                self.lowest_sacked = Some(self.lowest_sacked.map_or(segment.seq, |lowest| lowest.min(segment.seq)));
            }
            self.original_arrived |= segment.end() <= end;
            self.sacked = Some((self.sacked.map_or(segment.sent, |(first, _)| first), segment.sent));
        }
    }

    /// Takes in a segment that is acknowledged.
    pub fn add_acked(&mut self, segment: &Segment, end: u64) {
        if segment.transmissions > 1 {
            self.covers_resent = true;
        } else if !segment.sacked {
            self.acked = Some((self.acked.map_or(segment.sent, |(first, _)| first), segment.sent));
            self.lowest_acked = self.lowest_acked.or(Some(segment.seq));
            self.original_arrived |= segment.end() <= end;
        }
        if !segment.sacked {
            self.count(segment);
        }
    }

    fn count(&mut self, segment: &Segment) {
        self.newest = self.newest.max(Some(segment.sent));
        self.segments += u32::from(!segment.syn);
        self.bytes += u64::from(segment.len);
    }

    /// Without SACK, `unnamed` segments had been counted when duplicate acknowledgements arrived: they are not
    /// delivered again. One segment at least is. Returns how many segments are acknowledged.
    pub fn without_unnamed(&mut self, unnamed: u32) -> u32 {
        let acked = self.segments;
        // The acknowledgement may be that of the retransmission, whatever else it covers.
        self.original_arrived &= !self.covers_resent;
        if acked > 0 {
            self.segments = acked.saturating_sub(unnamed).max(1);
            self.bytes = self.bytes * u64::from(self.segments) / u64::from(acked);
        }
        acked
    }

    /// A duplicate acknowledgement without SACK delivers so many segments of `mss` bytes.
    pub fn add_unnamed(&mut self, segments: u32, mss: u32) {
        self.segments += segments;
        self.bytes += u64::from(segments) * u64::from(mss);
    }

    /// The round trips. Timestamps measure one only where a retransmitted segment is acknowledged: they are coarser.
    pub fn round_trips(&self, tcp: &State, header: &TcpHeader) -> RoundTrips {
        // Both times are whole microseconds.
        let since = |sent: Time| Span::from_micros(tcp.core.now.nanos() / 1000 - sent.nanos() / 1000);
        let acked = self.acked.filter(|_| !self.covers_resent);
        let sacked = self.sacked.map(|(first, _)| since(first));
        let mut first = acked.map(|(first, _)| since(first)).or(sacked);
        let mut last = self.sacked.or(acked).map(|(_, last)| since(last));
        if first.is_none()
            && self.advances
            && let Some((_, echo)) = header.timestamps
        {
            let elapsed = milliseconds(tcp.core.now).wrapping_sub(echo);
            first = (elapsed <= u32::MAX / 2).then(|| Span::from_millis(u64::from(elapsed.max(1))));
            last = first;
        }
        RoundTrips { first, last, sacked }
    }

    /// The shares of an acknowledgement before the scoreboard has processed it. `end` is the end of the losses at hand.
    /// Calls `deliver` for each segment that arrives, and whether SACK reports it, in the order in which Linux counts:
    /// first what SACK reports.
    pub fn read(tcp: &State, header: &TcpHeader, end: u64, mut deliver: impl FnMut(&Segment, bool)) -> Self {
        let duplicate = tcp.spurious;
        let mut report =
            Self { una: tcp.core.una(), advances: header.ack > tcp.core.una(), duplicate, ..Self::default() };
        if let Some((start, end)) = duplicate {
            // A retransmission for nothing was delivered too.
            report.add_unnamed(tcp.spurious_count() as u32, tcp.core.params.mss());
            report.lowest_sacked = sacked_again(tcp, start, end);
        }
        let mut highest = tcp.core.board.high_sacked().unwrap_or(tcp.core.una());
        for (start, block_end) in ascending(&header.sack) {
            // What is acknowledged too is counted there.
            let start = start.max(tcp.core.una()).max(header.ack);
            let mut index = tcp.core.board.index_of(start);
            while let Some(segment) = tcp.core.board.get(index)
                && segment.end() <= block_end
            {
                if !segment.sacked && segment.seq >= start {
                    report.add_sacked(segment, highest, end);
                    deliver(segment, true);
                    highest = highest.max(segment.end());
                }
                index += 1;
            }
        }
        let mut index = 0;
        while let Some(segment) = tcp.core.board.get(index)
            && segment.end() <= header.ack
        {
            report.add_acked(segment, end);
            if !segment.sacked {
                deliver(segment, false);
            }
            index += 1;
        }
        report
    }
}

/// Whether an acknowledgement echoes a time before `sent`: its segments arrived before they could be sent again.
pub fn echoes_earlier(header: &TcpHeader, sent: Time) -> bool {
    header.timestamps.is_some_and(|(_, echo)| is_earlier(echo, milliseconds(sent)))
}

/// The lowest segment of a reported duplicate that was sent again and that SACK had reported before: the original had
/// only been late.
fn sacked_again(tcp: &State, start: u64, end: u64) -> Option<u64> {
    let first = tcp.core.board.index_of(start.max(tcp.core.una()));
    let covered =
        (first..tcp.core.board.len()).map_while(|index| tcp.core.board.get(index).filter(|it| it.end() <= end));
    covered.filter(|it| it.transmissions > 1 && it.sacked).map(|it| it.seq).next()
}
