//! The state that a frozen sender keeps.

use hopyard_engine::{Span, Time};

use super::rtt::Estimator;

/// The state that the end of a freeze restores.
#[derive(Clone, Debug)]
pub struct Kept {
    pub cwnd: f64,
    pub ssthresh: f64,
    pub inflation: f64,
    /// Smoothed round trip, its deviation, timeout and back-off.
    pub rtt: Estimator,
}

/// The state that is kept while a sender is frozen.
#[derive(Clone, Debug)]
pub struct Frozen {
    pub probe: Span,
    /// When the next probe goes out.
    pub next: Time,
    pub kept: Kept,
}
