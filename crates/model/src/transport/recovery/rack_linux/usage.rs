//! Whether the congestion window holds the sender back (RFC 7661 §4.3), remembered for a window.
//!
//! A window that is not full grows in slow start up to twice what was outstanding.

use crate::transport::connection::Core;

/// How far the window is used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// The window was full at some time of this round.
    full: bool,
    /// Otherwise the largest number of segments outstanding in it.
    largest: usize,
    /// The round ends when this is acknowledged.
    round: u64,
}

impl Usage {
    /// The sender stops sending, because the window is full, or because there is no more to send.
    pub fn note(&mut self, core: &Core, full: bool) {
        if core.una() >= self.round || full || (!self.full && core.board.len() > self.largest) {
            self.full = full;
            self.largest = core.board.len();
            self.round = core.board.max();
        }
    }

    /// Whether the window may grow.
    pub fn limits(&self, core: &Core) -> bool {
        self.full || (core.cwnd < core.ssthresh && core.cwnd < 2.0 * self.largest as f64)
    }
}
