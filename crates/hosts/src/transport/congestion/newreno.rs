//! NewReno: Reno's window, with a recovery that repairs several losses of one window.
//!
//! Read: RFC 6582. The window follows Reno's rules. Only the recovery differs (`recovery/newreno.rs`), which keeps the
//! window in one reduction until all losses of the window are repaired.
//! Validated segment for segment against ns-2.35, impatient and slow-but-steady (`tests/forced_drops.rs`).

use super::reno::Reno;
pub use super::reno::{Halve, Params};
use super::{Ack, Answer, CongestionControl, Loss, RecoveryChoice, Timeout, View};

/// NewReno's congestion control.
#[derive(Clone, Debug)]
pub struct NewReno {
    reno: Reno,
}

impl NewReno {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self { reno: Reno::new(params) }
    }
}

impl CongestionControl for NewReno {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        self.reno.on_ack(ack, view)
    }

    fn on_loss(&mut self, loss: &Loss, view: &View) -> Answer {
        self.reno.on_loss(loss, view)
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.reno.on_timeout(timeout, view)
    }

    fn recovery(&self) -> RecoveryChoice {
        RecoveryChoice::NewReno
    }
}
