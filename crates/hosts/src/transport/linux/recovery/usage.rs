//! Whether the congestion window holds the sender back (RFC 7661 §4.3), remembered for a window.
//!
//! A window that is not full grows in slow start up to twice what was outstanding.

use crate::transport::linux::state::State;

/// How far the window is used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// The window was full at some time of this round.
    full: bool,
    /// Otherwise the largest number of segments outstanding in it.
    largest: usize,
    /// The round ends when this is acknowledged.
    round: u64,
    /// The largest number of segments outstanding since the window was full or was changed last.
    used: usize,
}

impl Usage {
    /// The sender stops sending, because the window is full, or because there is no more to send.
    pub fn note(&mut self, tcp: &State, full: bool) {
        if tcp.core.una() >= self.round || full || (!self.full && tcp.core.board.len() > self.largest) {
            self.full = full;
            self.largest = tcp.core.board.len();
            self.round = tcp.core.board.max();
        }
    }

    /// RFC 2861 §3.2. A window that was not full for a timeout goes half of the way to its used part, with the initial
    /// window as the least. The threshold remembers three quarters.
    pub fn validate(&mut self, tcp: &mut State, decays: bool, may: bool) {
        if self.limits(tcp) {
            self.used = 0;
            tcp.window_changed = tcp.core.now;
            return;
        }
        self.used = self.used.max(tcp.core.board.len());
        let tick = tcp.core.params.tick.nanos();
        let passed = tcp.core.now.nanos() / tick - tcp.window_changed.nanos() / tick;
        if !decays || passed < tcp.core.rtt.timeout().nanos() / tick {
            return;
        }
        if may {
            let used = (self.used as f64).max(f64::from(tcp.core.params.initial_window));
            if used < tcp.core.cwnd {
                tcp.core.ssthresh =
                    tcp.core.ssthresh.max(libm::floor(tcp.core.cwnd / 2.0) + libm::floor(tcp.core.cwnd / 4.0));
                tcp.core.cwnd = libm::floor((tcp.core.cwnd + used) / 2.0);
            }
            self.used = 0;
        }
        tcp.window_changed = tcp.core.now;
    }

    /// Whether the window may grow.
    pub fn limits(&self, tcp: &State) -> bool {
        self.full || (tcp.core.cwnd < tcp.core.ssthresh && tcp.core.cwnd < 2.0 * self.largest as f64)
    }
}
