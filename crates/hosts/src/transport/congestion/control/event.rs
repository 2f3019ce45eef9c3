//! The events that a congestion control answers.

use hopyard_engine::{Span, Time};

use super::answer::Answer;
use super::view::View;

/// The phase of the connection at an acknowledgement of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Outside recovery.
    Open,
    /// In recovery, which continues: a partial acknowledgement (RFC 6582).
    Partial,
    /// It ends a recovery.
    Recovered,
}

/// A sample of the rate at which the network delivers, from an acknowledgement
/// (draft-cheng-iccrg-delivery-rate-estimation-02). Only a congestion control that
/// [wants](super::CongestionControl::wants) samples receives samples.
///
/// A segment counts as delivered when it is acknowledged or reported by SACK, once. Without SACK, segments that arrive
/// beyond a gap are delivered when the gap is filled. Payload in bytes throughout; a SYN or FIN has none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    /// Bytes delivered over `interval`: since the newest of the segments now delivered was sent.
    pub delivered: u64,
    /// The time of this delivery. `None` if the sample is not valid, because nothing was delivered or the time is less
    /// than the shortest round trip.
    pub interval: Option<Span>,
    /// Whether room was left in the network when that segment was sent. The application had no more to send, or the
    /// congestion control limited itself. The path may then be faster than the sample says.
    pub app_limited: bool,
    /// `total_delivered` as it was when that segment was sent: a round trip is over when this reaches what
    /// `total_delivered` was at its beginning.
    pub prior_delivered: u64,
    /// Bytes that this acknowledgement delivers.
    pub newly_delivered: u64,
    /// Bytes deemed lost since the last sample that the congestion control was given.
    pub newly_lost: u64,
    /// Bytes delivered so far, with these.
    pub total_delivered: u64,
    /// [`View::pipe`](super::View::pipe) before this acknowledgement.
    pub prior_pipe: f64,
    /// The round trip of the newest segment now delivered, by SACK too, if it was sent but once (Karn's rule).
    pub round_trip: Option<Span>,
    /// [`View::pipe`](super::View::pipe) when that segment was sent, with it.
    pub sent_pipe: f64,
    /// [`View::lost`](super::View::lost) when that segment was sent.
    pub prior_lost: f64,
    /// Of the segments deemed lost since the last sample that the congestion control was given, the one with the
    /// largest share of losses.
    pub lost_segment: Option<LostSegment>,
}

/// A lost segment, and the losses since it was sent. Amounts are in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LostSegment {
    /// [`View::pipe`](super::View::pipe) when it was sent, with it.
    pub sent_pipe: f64,
    /// The segments deemed lost since then, with it.
    pub lost: f64,
    /// As [`RateSample::app_limited`].
    pub app_limited: bool,
}

impl RateSample {
    /// The rate in bytes per second, if the sample is valid.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        self.interval.map(|interval| self.delivered as f64 / interval.seconds())
    }
}

/// An acknowledgement arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrived {
    /// The round trip of the newest segment that it delivers, by SACK too where the recovery measures that, if it was
    /// sent once.
    pub round_trip: Option<Span>,
}

/// New data was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack {
    /// Bytes of payload acknowledged.
    pub bytes: u64,
    /// Bytes of payload that reached the receiver since the last event: less than `bytes` where SACK had reported some.
    pub delivered: u64,
    /// The segments that let the window grow: `bytes` (RFC 3465), or `delivered` where the recovery counts so (Linux).
    pub counted: u64,
    /// Segments acknowledged.
    pub segments: u32,
    /// The round trip, on a fine clock, of the newest segment that is acknowledged here for the first time, if none of
    /// those covered was sent again (Karn's rule).
    pub round_trip: Option<Span>,
    /// The time since the newest segment covered was sent, if that was sent but once: it may contain the time that a
    /// hole stood open.
    pub newest_round_trip: Option<Span>,
    /// The time that the newest segment covered took to the receiver, and until it was acknowledged, by the timestamps
    /// of both ends: in whole milliseconds, and with the difference of their clocks. Nothing without timestamps.
    pub one_way: Option<Span>,
    /// The phase of the connection.
    pub phase: Phase,
    /// The number of consecutive duplicate acknowledgements before it.
    pub duplicates: u32,
    /// Whether the congestion window, and not the application or the receiver, held the sender back.
    pub window_limited: bool,
    /// Its sample of the delivery rate, for a congestion control that [wants it](super::CongestionControl::wants).
    pub rate: Option<RateSample>,
}

/// A duplicate acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duplicate {
    /// Its number in a row.
    pub count: u32,
    /// Bytes that SACK newly reports.
    pub sacked: u64,
    /// Its sample of the delivery rate, for a congestion control that [wants it](super::CongestionControl::wants).
    pub rate: Option<RateSample>,
}

/// Duplicate acknowledgements or an expired fine-grained timer say that the first unacknowledged segment is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// When the segment was sent last.
    pub sent: Time,
    /// How often it was sent so far.
    pub transmissions: u32,
}

/// The retransmission timer expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// How often it had gone off before, since the last new acknowledgement.
    pub repeated: u32,
}

/// The window and the threshold before a reduction, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Before {
    /// The congestion window.
    pub cwnd: f64,
    /// The slow start threshold, or three quarters of the window if that is more.
    pub ssthresh: f64,
}

impl Before {
    /// The larger ones of these and the present ones.
    #[must_use]
    pub fn restored(&self, view: &View) -> Answer {
        Answer::Set { cwnd: view.cwnd.max(self.cwnd), ssthresh: view.ssthresh.max(self.ssthresh) }
    }
}

/// The sender's knowledge of losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Nothing is missing.
    Open,
    /// Segments are reported beyond a gap, or were retransmitted.
    Disorder,
    /// The window is reduced for a loss that needs no repair any more.
    Reduced,
    /// Losses are repaired.
    Recovery,
    /// The losses of a timeout are repaired.
    Loss,
}

/// A segment was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its first sequence number.
    pub seq: u64,
    /// Payload in bytes.
    pub len: u32,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// When pacing lets the next segment leave, if the sender paces.
    pub departs: Time,
    /// Whether rate samples count as limited by the application at this time. False if no samples are taken.
    pub app_limited: bool,
}
