//! What the variants' own tests share.

use hopyard_engine::{Span, Time};

use super::{Ack, Answer, Duplicate, Loss, Phase, View};

/// A connection with `cwnd` segments of 1000 bytes outstanding, in congestion avoidance, at time zero.
pub fn view(cwnd: f64) -> View {
    View {
        now: Time::ZERO,
        cwnd,
        ssthresh: 1.0,
        inflation: 0.0,
        advertised: 1e6,
        flight: cwnd,
        pipe: cwnd,
        recovering: false,
        lost: 0.0,
        app_limited: false,
        segment: 1000,
        una: 1000,
        next: 1000 + 1000 * cwnd as u64,
        max: 1000 + 1000 * cwnd as u64,
        duplicates: 0,
        duplicate_threshold: 3,
        srtt: Some(Span::from_millis(100)),
        rto: Span::from_secs(1),
        hops: 0,
        ack_hops: 0,
        link_rate: None,
    }
}

/// An acknowledgement of one segment outside recovery, while the window holds the sender back.
pub const ACK: Ack = Ack {
    bytes: 1000,
    delivered: 1000,
    counted: 1000,
    segments: 1,
    round_trip: Some(Span::from_millis(100)),
    newest_round_trip: Some(Span::from_millis(100)),
    one_way: None,
    phase: Phase::Open,
    duplicates: 0,
    window_limited: true,
    rate: None,
};

/// So many milliseconds after the beginning.
pub fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// The same connection at this time, at its threshold, before any round trip was measured.
pub fn view_at(millis: u64, cwnd: f64) -> View {
    View { now: at(millis), ssthresh: cwnd, una: 1, next: 1, max: 1, srtt: None, ..view(cwnd) }
}

/// An acknowledgement of this many segments, with a round trip in milliseconds.
pub fn ack(segments: u32, round_trip: u64) -> Ack {
    let bytes = u64::from(segments) * ACK.bytes;
    let round_trip = Some(Span::from_millis(round_trip));
    Ack { bytes, delivered: bytes, counted: bytes, segments, round_trip, newest_round_trip: round_trip, ..ACK }
}

/// A duplicate acknowledgement.
pub const DUPLICATE: Duplicate = Duplicate { count: 1, sacked: 0, rate: None };

/// A segment sent once is lost.
pub const LOSS: Loss = Loss { sent: Time::ZERO, transmissions: 1 };

/// The window and the threshold that an answer sets.
pub fn set(answer: Answer) -> (f64, f64) {
    match answer {
        Answer::Set { cwnd, ssthresh } => (cwnd, ssthresh),
        other => panic!("{other:?} sets no window"),
    }
}

/// Whether two numbers are the same but for rounding.
pub fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}
