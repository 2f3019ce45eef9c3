//! Delivery rate samples (draft-cheng-iccrg-delivery-rate-estimation-02), kept only for congestion controls that ask
//! for them.
//!
//! At its last transmission, each segment stores how much data had been delivered. When an acknowledgement or SACK
//! delivers the segment itself, the data delivered in between, divided by the time, is a sample of the delivery rate.
//! The time is the longer of two intervals: that in which the data was sent, and that in which it was acknowledged. So
//! neither a burst of segments nor a burst of acknowledgements looks like a faster path (§2.2).

use std::collections::VecDeque;

use hopyard_engine::{Span, Time};

use super::scoreboard::Board;
use crate::packet::TcpHeader;
use crate::transport::congestion::{LostSegment, RateSample};

/// The state that a segment stores at its last transmission (§3.1.2).
#[derive(Clone, Copy, Debug)]
struct Stamp {
    /// P.delivered: bytes delivered by then.
    delivered: u64,
    /// P.delivered_time: when the last of them was.
    delivered_at: Time,
    /// P.first_sent_time: when the first segment of the flight was sent that this one ends.
    first_sent: Time,
    /// P.is_app_limited.
    app_limited: bool,
    /// P.tx_in_flight and P.lost (draft-ietf-ccwg-bbr): the segments in the network, with this one, and those deemed
    /// lost by then.
    pipe: f64,
    lost: f64,
    /// It was delivered, and gives no further sample.
    counted: bool,
}

/// The state of the connection's deliveries (§3.1.1).
#[derive(Clone, Debug, Default)]
pub(crate) struct RateSampler {
    /// One for each segment of the board, in its order.
    stamps: VecDeque<Stamp>,
    /// C.delivered: bytes delivered so far.
    delivered: u64,
    /// C.delivered_time.
    delivered_at: Time,
    /// C.first_sent_time.
    first_sent: Time,
    /// C.app_limited: samples are limited by the application until more than this is delivered.
    app_limited: Option<u64>,
    /// The shortest round trip of a segment that was sent but once.
    min_rtt: Option<Span>,
    /// How many lost bytes the samples so far have reported.
    lost: u64,
    /// The lost segment of the next sample.
    worst: Option<LostSegment>,
    /// Times are whole microseconds, and a sample must be as long as the shortest round trip of the connection, which
    /// [`Core`](super::core::Core) knows (Linux).
    coarse: bool,
    /// The count of each segment with data, full or not (Linux); zero if its bytes count.
    each: u64,
}

impl RateSampler {
    /// Before anything is sent. `each`: as in Linux, where each segment counts for so many bytes.
    pub fn new(each: Option<u32>) -> Self {
        Self { coarse: each.is_some(), each: each.map_or(0, u64::from), ..Self::default() }
    }

    /// Whether its times are whole microseconds.
    pub const fn is_coarse(&self) -> bool {
        self.coarse
    }

    const fn time(&self, time: Time) -> Time {
        if self.coarse { Time::from_nanos(time.nanos() / 1000 * 1000) } else { time }
    }

    /// A segment is sent, at this place of the board, for the first time or again (§3.2); `idle` when nothing was
    /// outstanding. `pipe` and `lost` are the segments in the network, with this one, and those deemed lost so far.
    pub fn on_sent(&mut self, index: usize, idle: bool, (pipe, lost): (f64, f64), now: Time) {
        let now = self.time(now);
        if idle {
            self.first_sent = now;
            self.delivered_at = now;
        }
        let stamp = Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.app_limited.is_some(),
            pipe,
            lost,
            counted: self.stamps.get(index).is_some_and(|old| old.counted),
        };
        match self.stamps.get_mut(index) {
            Some(old) => *old = stamp,
            None => self.stamps.push_back(stamp),
        }
    }

    /// The segment at `index` is deemed lost, after which these many segments were in all.
    pub fn on_lost(&mut self, index: usize, lost: f64) {
        let Some(stamp) = self.stamps.get(index) else { return };
        let found = LostSegment { sent_pipe: stamp.pipe, lost: lost - stamp.lost, app_limited: stamp.app_limited };
        if self.worst.is_none_or(|worst| found.lost * worst.sent_pipe > worst.lost * found.sent_pipe) {
            self.worst = Some(found);
        }
    }

    /// An acknowledgement arrived, which the board does not know of yet (§3.3). `pipe` is the data in the network by
    /// its report. It reports duplicates of `spurious` bytes besides, which count as delivered.
    pub fn on_acknowledgement(
        &mut self,
        board: &Board,
        header: &TcpHeader,
        pipe: f64,
        spurious: u64,
        now: Time,
    ) -> RateSample {
        let now = self.time(now);
        let before = self.delivered;
        if spurious > 0 {
            self.delivered += spurious;
            self.delivered_at = now;
        }
        // The stamp of the newest segment delivered, when it was sent, and its end.
        let mut newest: Option<(Stamp, Time, u64)> = None;
        let mut round_trip = None;
        let mut covered = 0;
        for (index, segment) in board.iter().enumerate() {
            if segment.end() > header.ack {
                // The rest of a partly acknowledged segment counts as delivered when it is acknowledged.
                self.delivered += header.ack.saturating_sub(segment.seq);
                break;
            }
            covered = index + 1;
            self.deliver(board, index, now, &mut newest, &mut round_trip);
        }
        for (start, end) in header.sack.iter() {
            let mut index = board.index_of(start.max(board.una()));
            while board.get(index).is_some_and(|segment| segment.end() <= end) {
                self.deliver(board, index, now, &mut newest, &mut round_trip);
                index += 1;
            }
        }
        self.stamps.drain(..covered.min(self.stamps.len()));
        // All data of the limited period is delivered. Data sent after it measures the network again.
        if self.app_limited.is_some_and(|until| self.delivered > until) {
            self.app_limited = None;
        }
        let mut sample = RateSample {
            delivered: 0,
            interval: None,
            app_limited: false,
            prior_delivered: self.delivered,
            newly_delivered: self.delivered - before,
            newly_lost: 0,
            total_delivered: self.delivered,
            prior_pipe: pipe,
            round_trip,
            sent_pipe: 0.0,
            prior_lost: 0.0,
            lost_segment: None,
        };
        if let Some((stamp, sent, _)) = newest {
            let sent = self.time(sent);
            let send_elapsed = sent.since(stamp.first_sent);
            let ack_elapsed = self.delivered_at.since(stamp.delivered_at);
            self.first_sent = sent;
            sample.prior_delivered = stamp.delivered;
            sample.app_limited = stamp.app_limited;
            (sample.sent_pipe, sample.prior_lost) = (stamp.pipe, stamp.lost);
            sample.delivered = self.delivered - stamp.delivered;
            // An interval of less than a round trip cannot be distinguished from a burst (§3.3, GenerateRateSample).
            let interval = send_elapsed.max(ack_elapsed);
            let whole = self.coarse || self.min_rtt.is_none_or(|min| interval >= min);
            if !interval.is_zero() && whole && sample.delivered > 0 {
                sample.interval = Some(interval);
            }
        }
        sample
    }

    fn deliver(
        &mut self,
        board: &Board,
        index: usize,
        now: Time,
        newest: &mut Option<(Stamp, Time, u64)>,
        round_trip: &mut Option<Span>,
    ) {
        let (Some(segment), Some(stamp)) = (board.get(index), self.stamps.get_mut(index)) else { return };
        if std::mem::replace(&mut stamp.counted, true) {
            return;
        }
        let stamp = *stamp;
        let whole = self.each > 0 && segment.len > 0;
        self.delivered += if whole { self.each } else { u64::from(segment.len) };
        self.delivered_at = now;
        if newest.is_none_or(|(_, sent, end)| (segment.sent, segment.end()) >= (sent, end)) {
            *newest = Some((stamp, segment.sent, segment.end()));
            let elapsed = now.since(segment.sent);
            *round_trip = (segment.transmissions == 1).then_some(elapsed);
            if segment.transmissions == 1 {
                self.min_rtt = Some(self.min_rtt.map_or(elapsed, |min| min.min(elapsed)));
            }
        }
    }

    /// The segment after the one at `index` has become a part of it.
    pub fn on_merged(&mut self, index: usize) {
        self.stamps.remove(index + 1);
    }

    /// How many of the `lost` bytes were marked as lost since the last call, and the segment with the largest share of
    /// losses among them.
    pub const fn take_losses(&mut self, lost: u64) -> (u64, Option<LostSegment>) {
        let before = std::mem::replace(&mut self.lost, lost);
        (lost - before, self.worst.take())
    }

    /// Whether what is sent now counts as limited.
    pub const fn is_app_limited(&self) -> bool {
        self.app_limited.is_some()
    }

    /// The application or the congestion control sends less than the network could take; `pipe` bytes are in the
    /// network (§3.4).
    pub fn mark_app_limited(&mut self, pipe: u64) {
        self.app_limited = Some(self.delivered + pipe);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::SackBlocks;

    const fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// A board and its sampler.
    #[derive(Default)]
    struct Rig {
        board: Board,
        sampler: RateSampler,
        lost: f64,
    }

    impl Rig {
        fn send(&mut self, now: u64) {
            let index = self.board.len();
            let pipe = self.board.in_network() as f64 + 1.0;
            self.sampler.on_sent(index, self.board.is_empty(), (pipe, self.lost), ms(now));
            self.board.push(1000, false, false, ms(now));
        }

        fn ack(&mut self, ack: u64, blocks: &[(u64, u64)], now: u64) -> RateSample {
            let sack = SackBlocks::new(0, blocks.iter().copied());
            let header = TcpHeader { ack, sack, ..TcpHeader::default() };
            let sample = self.sampler.on_acknowledgement(&self.board, &header, 0.0, 0, ms(now));
            if ack > self.board.una() {
                self.board.advance(ack, ms(now));
            }
            self.board.mark_sacked(&sack);
            sample
        }
    }

    #[test]
    fn a_flight_is_measured_by_its_longer_side() {
        let mut rig = Rig::default();
        // Four segments at once; the bottleneck lets one through every 10 ms.
        (0..4).for_each(|_| rig.send(0));
        assert_eq!(rig.ack(1000, &[], 100).rate(), Some(10_000.0), "the first one: a segment in a round trip");
        rig.send(100);
        assert_eq!(rig.ack(2000, &[], 110).rate(), Some(2000.0 / 0.11));
        assert_eq!(rig.ack(3000, &[], 120).rate(), Some(3000.0 / 0.12));
        assert_eq!(rig.ack(4000, &[], 130).rate(), Some(4000.0 / 0.13));
        // The fifth was sent after the first delivery: three more came over 100 ms, all together 4000 bytes.
        let sample = rig.ack(5000, &[], 200);
        assert_eq!((sample.delivered, sample.interval), (4000, Some(Span::from_millis(100))));
        assert_eq!(sample.prior_delivered, 1000);
        assert_eq!(sample.round_trip, Some(Span::from_millis(100)));
    }

    #[test]
    fn a_burst_of_acknowledgements_is_no_faster_path() {
        let mut rig = Rig::default();
        rig.send(0);
        rig.ack(1000, &[], 100);
        // Sent over 90 ms, acknowledged within one.
        (0..10).for_each(|i| rig.send(100 + 10 * i));
        let sample = rig.ack(11_000, &[], 300);
        assert_eq!((sample.delivered, sample.newly_delivered), (10_000, 10_000));
        assert_eq!(sample.interval, Some(Span::from_millis(200)), "since the delivery of the first");
    }

    #[test]
    fn sack_delivers_once() {
        let mut rig = Rig::default();
        (0..4).for_each(|i| rig.send(i));
        assert_eq!(rig.ack(0, &[(1000, 2000)], 100).newly_delivered, 1000);
        let sample = rig.ack(0, &[(1000, 3000)], 101);
        assert_eq!((sample.newly_delivered, sample.total_delivered), (1000, 2000));
        assert_eq!(rig.ack(0, &[(1000, 3000)], 102).rate(), None, "nothing new");
        let sample = rig.ack(4000, &[], 200);
        assert_eq!((sample.newly_delivered, sample.total_delivered), (2000, 4000));
        // A duplicate that DSACK reports below the acknowledgement is no delivery.
        rig.send(200);
        assert_eq!(rig.ack(4000, &[(1000, 2000)], 300).newly_delivered, 0);
    }

    #[test]
    fn losses_are_related_to_the_data_in_flight() {
        let mut rig = Rig::default();
        (0..4).for_each(|i| rig.send(i));
        for index in [0, 2] {
            rig.board.mark_lost(index);
            rig.lost += 1.0;
            rig.sampler.on_lost(index, rig.lost);
        }
        // Two were lost since each of them was sent; the first had one segment in flight, the third had three.
        let first = LostSegment { sent_pipe: 1.0, lost: 1.0, app_limited: false };
        assert_eq!(rig.sampler.take_losses(0).1, Some(first));
        assert_eq!(rig.sampler.take_losses(0).1, None);
        let sample = rig.ack(0, &[(3000, 4000)], 100);
        assert_eq!((sample.sent_pipe, sample.prior_lost), (4.0, 0.0));
        rig.send(100);
        let sample = rig.ack(0, &[(3000, 5000)], 200);
        assert_eq!((sample.sent_pipe, sample.prior_lost), (2.0, 2.0));
    }

    #[test]
    fn a_bubble_marks_what_is_sent_behind_it() {
        let mut rig = Rig::default();
        rig.send(0);
        rig.sampler.mark_app_limited(1000);
        rig.send(1);
        assert!(!rig.ack(1000, &[], 100).app_limited, "sent before the bubble");
        assert!(rig.ack(2000, &[], 101).app_limited);
        // More than the 1000 bytes of the limited period are delivered: the period is over.
        rig.send(101);
        assert!(!rig.ack(3000, &[], 201).app_limited);
    }
}
