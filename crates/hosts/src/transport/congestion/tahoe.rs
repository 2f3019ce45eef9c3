//! Tahoe: after every loss the window is one segment.
//!
//! Read: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988; RFC 2001 for the threshold. The window grows as
//! in Reno. Tahoe differs in its reduction, and goes back to the first unacknowledged segment instead of repairing only
//! the gap. Validated segment for segment against ns-2.35 (`tests/forced_drops.rs`).

use super::reno::Reno;
pub use super::reno::{Halve, Params};
use super::{Ack, Answer, CongestionControl, Loss, RecoveryChoice, Timeout, View};

/// Tahoe's congestion control.
#[derive(Clone, Debug)]
pub struct Tahoe {
    reno: Reno,
}

impl Tahoe {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self { reno: Reno::new(params) }
    }
}

impl CongestionControl for Tahoe {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        self.reno.on_ack(ack, view)
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        Answer::Set { cwnd: 1.0, ssthresh: self.reno.halved(view).0 }
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.reno.on_timeout(timeout, view)
    }

    fn recovery(&self) -> RecoveryChoice {
        RecoveryChoice::GoBackN
    }
}
