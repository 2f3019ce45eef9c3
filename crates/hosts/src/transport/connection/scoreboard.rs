//! The segments that were sent and are not acknowledged, in order.
//!
//! Segments keep their boundaries when they are retransmitted, so a record is a segment, not a byte range that may be
//! split again. The records are in a ring buffer: no further memory is allocated after the largest window.

use std::collections::VecDeque;

use hopyard_engine::{Span, Time};

use crate::packet::SackBlocks;

/// A segment that was sent and is not acknowledged cumulatively.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its first sequence number.
    pub seq: u64,
    /// Payload in bytes; 0 for a SYN or a lone FIN.
    pub len: u32,
    /// Whether it opens the connection and therefore uses one sequence number.
    pub syn: bool,
    /// Whether it carries a FIN and therefore uses one sequence number after its payload.
    pub fin: bool,
    /// Whether the receiver reported it (RFC 2018).
    pub sacked: bool,
    /// Whether its last transmission is marked as lost, so that it is not counted in the network.
    pub lost: bool,
    /// How often it was sent.
    pub transmissions: u32,
    /// When it was sent last.
    pub sent: Time,
}

impl Segment {
    /// The sequence number after it.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.seq + self.len as u64 + self.syn as u64 + self.fin as u64
    }
}

/// The data that a cumulative acknowledgement covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acked {
    /// Bytes of payload.
    pub bytes: u64,
    /// Bytes of payload that had not been reported by SACK before.
    pub delivered: u64,
    /// Segments.
    pub segments: u32,
    /// The round trip of the newest segment that is acknowledged here for the first time, if none of those covered was
    /// sent again (Karn's rule). One that SACK had reported, or that waited for a retransmission, would contain the
    /// time that the segment waited behind a gap.
    pub round_trip: Option<Span>,
    /// The time since the newest segment covered was sent, if it was sent only once. It may contain the time behind a
    /// gap.
    pub newest_round_trip: Option<Span>,
}

/// How many segments that were sent and are not acknowledged have which mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// All of them.
    pub outstanding: usize,
    /// Reported by SACK.
    pub sacked: usize,
    /// Deemed lost, and not sent again since.
    pub lost: usize,
    /// Sent again, and not deemed lost since.
    pub sent_again: usize,
}

/// The segments between the first that is not acknowledged and the last that was sent.
#[derive(Clone, Debug, Default)]
pub struct Board {
    segments: VecDeque<Segment>,
    /// Which segment is sent next in the ordinary course; equal to the number of segments when that is a new one.
    next: usize,
    una: u64,
    max: u64,
    sacked: usize,
    lost: usize,
    high_sacked: u64,
    /// Segments that have left the network by the count of duplicate acknowledgements, without SACK.
    pub(crate) unnamed: u32,
}

impl Board {
    /// The first sequence number that is not acknowledged (SND.UNA).
    #[must_use]
    pub const fn una(&self) -> u64 {
        self.una
    }

    /// The first sequence number that was never sent.
    #[must_use]
    pub const fn max(&self) -> u64 {
        self.max
    }

    /// The sequence number sent next in the ordinary course (SND.NXT).
    #[must_use]
    pub fn next_seq(&self) -> u64 {
        self.segments.get(self.next).map_or(self.max, |segment| segment.seq)
    }

    /// Which segment is sent next in the ordinary course, counted from the first that is not acknowledged.
    #[must_use]
    pub const fn next(&self) -> usize {
        self.next
    }

    /// Bytes sent and not acknowledged (FlightSize).
    #[must_use]
    pub const fn flight(&self) -> u64 {
        self.max - self.una
    }

    /// Segments sent and not acknowledged.
    #[must_use]
    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// Whether all that was sent is acknowledged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// A segment, counted from the first that is not acknowledged.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&Segment> {
        self.segments.get(index)
    }

    /// Every segment in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Segment> + ExactSizeIterator {
        self.segments.iter()
    }

    /// Adds a segment that is sent for the first time.
    pub fn push(&mut self, len: u32, syn: bool, fin: bool, now: Time) {
        let segment = Segment { seq: self.max, len, syn, fin, sacked: false, lost: false, transmissions: 1, sent: now };
        self.max = segment.end();
        self.segments.push_back(segment);
    }

    /// Records that a segment is retransmitted.
    pub fn resend(&mut self, index: usize, now: Time) -> Segment {
        let segment = &mut self.segments[index];
        self.lost -= usize::from(std::mem::take(&mut segment.lost));
        segment.transmissions += 1;
        segment.sent = now;
        *segment
    }

    /// The segment after the one at `index` becomes a part of it.
    pub fn merge(&mut self, index: usize) {
        let Some(next) = self.segments.remove(index + 1) else { return };
        let segment = &mut self.segments[index];
        segment.len += next.len;
        segment.fin |= next.fin;
        segment.transmissions = segment.transmissions.max(next.transmissions);
        self.lost -= usize::from(next.lost);
        self.next -= usize::from(self.next > index);
    }

    /// Advances SND.NXT past the segment sent next in normal order.
    pub fn set_next(&mut self, index: usize) {
        debug_assert!(index <= self.segments.len(), "the next segment is one that was sent, or the one after");
        self.next = index;
    }

    /// The place of the segment that starts at `seq`, or of the one after the last.
    #[must_use]
    pub fn index_of(&self, seq: u64) -> usize {
        // Most segments are as long as the first, so the first guess is nearly always right.
        if let Some(first) = self.segments.front()
            && first.len > 0
            && let Some(offset) = seq.checked_sub(first.seq)
        {
            let guess = (offset / u64::from(first.len)) as usize;
            if self.segments.get(guess).is_some_and(|segment| segment.seq == seq) {
                return guess;
            }
        }
        self.segments.partition_point(|segment| segment.seq < seq)
    }

    /// Removes the segments that `ack` covers. `ack` must be new and not beyond the data sent.
    pub fn advance(&mut self, ack: u64, now: Time) -> Acked {
        debug_assert!(ack > self.una && ack <= self.max);
        let mut acked = Acked { bytes: 0, delivered: 0, segments: 0, round_trip: None, newest_round_trip: None };
        let mut again = false;
        while let Some(segment) = self.segments.front_mut() {
            if segment.seq >= ack {
                break;
            }
            if segment.end() > ack {
                // A part of a segment is acknowledged. The rest keeps its history.
                let part = ack - segment.seq;
                segment.seq = ack;
                segment.len -= part as u32;
                acked.bytes += part;
                acked.delivered += part;
                break;
            }
            acked.bytes += u64::from(segment.len);
            acked.segments += 1;
            again |= segment.transmissions > 1;
            acked.newest_round_trip = (segment.transmissions == 1).then(|| now.since(segment.sent));
            if segment.sacked {
                self.sacked -= 1;
            } else {
                acked.delivered += u64::from(segment.len);
                acked.round_trip = acked.newest_round_trip;
            }
            self.lost -= usize::from(segment.lost);
            self.segments.pop_front();
            self.next = self.next.saturating_sub(1);
        }
        if again {
            acked.round_trip = None;
        }
        self.una = ack;
        acked
    }

    /// Marks the segments that `blocks` cover whole, and returns how many bytes of them were not marked before.
    pub fn mark_sacked(&mut self, blocks: &SackBlocks) -> u64 {
        let mut news = 0;
        for (start, end) in blocks.iter() {
            let first = self.index_of(start.max(self.una));
            for segment in self.segments.iter_mut().skip(first) {
                if segment.end() > end {
                    break;
                }
                if !segment.sacked {
                    segment.sacked = true;
                    self.sacked += 1;
                    self.lost -= usize::from(std::mem::take(&mut segment.lost));
                    news += u64::from(segment.len);
                    self.high_sacked = self.high_sacked.max(segment.end());
                }
            }
        }
        news
    }

    /// Marks the segment at `index` as lost, and returns how many bytes of it were not marked before.
    pub fn mark_lost(&mut self, index: usize) -> u64 {
        match self.segments.get_mut(index) {
            Some(segment) if !segment.sacked && !segment.lost => {
                segment.lost = true;
                self.lost += 1;
                u64::from(segment.len)
            }
            _ => 0,
        }
    }

    /// Takes back the marks of all segments that are marked as lost.
    pub fn unmark_losses(&mut self) {
        self.segments.iter_mut().for_each(|segment| segment.lost = false);
        self.lost = 0;
    }

    /// Segments that are marked as lost and were not retransmitted.
    #[must_use]
    pub const fn lost(&self) -> usize {
        self.lost
    }

    /// Which segment is the first that is deemed lost, if any is.
    #[must_use]
    pub fn first_lost(&self) -> Option<usize> {
        if self.lost == 0 { None } else { self.segments.iter().position(|segment| segment.lost) }
    }

    /// Segments that the receiver reported by SACK.
    #[must_use]
    pub const fn sacked(&self) -> usize {
        self.sacked
    }

    /// Segments in the network as far as is known: neither acknowledged, nor reported, nor deemed lost.
    #[must_use]
    pub fn in_network(&self) -> usize {
        (self.segments.len() - self.sacked - self.lost).saturating_sub(self.unnamed as usize)
    }

    /// How many segments have which mark.
    #[must_use]
    pub fn marks(&self) -> Marks {
        let again = |segment: &&Segment| segment.transmissions > 1 && !segment.sacked && !segment.lost;
        let sent_again = self.segments.iter().filter(again).count();
        Marks { outstanding: self.segments.len(), sacked: self.sacked, lost: self.lost, sent_again }
    }

    /// Deletes the reports of SACK.
    pub fn clear_sacked(&mut self) {
        if self.sacked > 0 {
            self.segments.iter_mut().for_each(|segment| segment.sacked = false);
            self.sacked = 0;
        }
        self.high_sacked = 0;
    }

    /// The end of the highest segment that the receiver reported by SACK, if any is still of interest.
    #[must_use]
    pub fn high_sacked(&self) -> Option<u64> {
        (self.sacked > 0).then_some(self.high_sacked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(segments: u64) -> Board {
        let mut board = Board::default();
        (0..segments).for_each(|_| board.push(1000, false, false, Time::ZERO));
        board.set_next(segments as usize);
        board
    }

    #[test]
    fn acknowledgements_take_segments_off() {
        let mut board = board(5);
        let now = Time::from_nanos(7);
        let acked = board.advance(2000, now);
        let round_trip = Some(Span::from_nanos(7));
        let expected = Acked { bytes: 2000, delivered: 2000, segments: 2, round_trip, newest_round_trip: round_trip };
        assert_eq!(acked, expected);
        assert_eq!((board.len(), board.next(), board.una(), board.flight()), (3, 3, 2000, 3000));
        board.resend(0, now);
        assert_eq!(board.advance(3000, now).round_trip, None, "a segment sent twice gives no sample");
    }

    #[test]
    fn a_round_trip_does_not_contain_the_time_that_a_hole_stood_open() {
        let (sent_again, late) = (Time::from_nanos(100), Time::from_nanos(200));
        // Segment 0 is lost and sent again; 1 to 3 wait for it at the receiver.
        let mut silent = board(5);
        silent.resend(0, sent_again);
        let acked = silent.advance(4000, late);
        assert_eq!((acked.round_trip, acked.newest_round_trip), (None, Some(Span::from_nanos(200))));
        // Segment 0 comes late by itself; 1 and 2 were reported, 3 was not.
        let mut reported = board(5);
        reported.mark_sacked(&SackBlocks::new(0, [(1000, 3000)]));
        assert_eq!(reported.advance(3000, sent_again).round_trip, Some(Span::from_nanos(100)), "of segment 0");
        reported.mark_sacked(&SackBlocks::new(3000, [(4000, 5000)]));
        reported.resend(0, sent_again);
        assert_eq!(reported.advance(5000, late).round_trip, None);
    }

    #[test]
    fn part_of_a_segment_may_be_acknowledged() {
        let mut board = board(2);
        let acked = board.advance(400, Time::ZERO);
        assert_eq!((acked.bytes, acked.segments, board.len()), (400, 0, 2));
        assert_eq!((board.get(0).map(|s| (s.seq, s.len)), board.index_of(1000)), (Some((400, 600)), 1));
    }

    #[test]
    fn sack_marks_whole_segments_once() {
        let mut board = board(6);
        let blocks = SackBlocks::new(0, [(2000, 4000), (4500, 5500)]);
        assert_eq!(board.mark_sacked(&blocks), 2000, "parts of segments are not marked");
        assert_eq!(board.mark_sacked(&blocks), 0);
        assert_eq!(board.high_sacked(), Some(4000));
        assert_eq!((board.mark_lost(1), board.mark_lost(1), board.mark_lost(2)), (1000, 0, 0));
        assert_eq!((board.lost(), board.in_network()), (1, 3));
        assert_eq!(board.marks(), Marks { outstanding: 6, sacked: 2, lost: 1, sent_again: 0 });
        board.resend(1, Time::ZERO);
        assert_eq!((board.lost(), board.in_network()), (0, 4), "in the network once more");
        assert_eq!(board.marks(), Marks { outstanding: 6, sacked: 2, lost: 0, sent_again: 1 });
        board.mark_lost(0);
        let acked = board.advance(3000, Time::ZERO);
        assert_eq!((acked.bytes, acked.delivered), (3000, 2000));
        assert_eq!((board.lost(), board.in_network()), (0, 2));
        board.clear_sacked();
        assert_eq!(board.high_sacked(), None);
    }
}
