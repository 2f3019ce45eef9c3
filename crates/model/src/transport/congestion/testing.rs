//! What the variants' own tests share.

use hopyard_engine::{Span, Time};

use super::{Ack, Phase, View};

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
    }
}

/// An acknowledgement of one segment outside recovery, while the window holds the sender back.
pub const ACK: Ack = Ack {
    bytes: 1000,
    delivered: 1000,
    segments: 1,
    round_trip: Some(Span::from_millis(100)),
    phase: Phase::Open,
    duplicates: 0,
    window_limited: true,
    rate: None,
};
