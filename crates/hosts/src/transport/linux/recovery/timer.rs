//! The one timer of probes, reordering and timeouts.

use hopyard_engine::{Span, Time};

use crate::transport::linux::state::State;

/// Linux's addition to the timeout of a probe.
const PROBE_MARGIN: Span = Span::from_millis(2);
/// Linux's addition to the reordering timer.
const REORDERING_MARGIN: Span = Span::from_millis(2);
/// The probe timeout before the first round trip is measured (RFC 8985 §7.2).
const FIRST_PROBE: Span = Span::from_secs(1);

/// The event that the timer waits for. The retransmission timer itself belongs to `Core`: at most one of the two
/// runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pending {
    /// Nothing, or a timeout.
    Timeout,
    /// A tail loss probe.
    Probe,
    /// Segments within the reordering window.
    Reordering,
}

#[derive(Clone, Copy, Debug)]
pub struct Timer {
    pub pending: Pending,
    /// The time at which it expires, if it does not wait for a timeout.
    pub at: Time,
}

impl Timer {
    pub const fn new() -> Self {
        Self { pending: Pending::Timeout, at: Time::NEVER }
    }

    fn set(&mut self, tcp: &mut State, pending: Pending, wait: Span) {
        self.pending = pending;
        // What pacing holds back is sent later, in whole ticks. What waits for its order was sent.
        let held = if pending == Pending::Reordering { Span::ZERO } else { tcp.departs.since(tcp.core.now) };
        let wait = wait + tcp.wheel.elapsed(held);
        let at = tcp.wheel.set(tcp.core.now, wait);
        (self.at, tcp.core.rto) = if pending == Pending::Timeout { (Time::NEVER, at) } else { (at, Time::NEVER) };
    }

    /// Waits for a timeout from now.
    pub fn restart(&mut self, tcp: &mut State) {
        let wait = tcp.core.rtt.timeout();
        self.set(tcp, Pending::Timeout, wait);
    }

    /// Stops waiting.
    pub const fn stop(&mut self, tcp: &mut State) {
        self.pending = Pending::Timeout;
        self.at = Time::NEVER;
        tcp.core.rto = Time::NEVER;
    }

    /// Waits for a timeout. The time that the timer has waited for something else counts: from when the first segment
    /// was sent.
    pub fn rearm(&mut self, tcp: &mut State) {
        if tcp.core.board.is_empty() {
            self.stop(tcp);
        } else if self.pending == Pending::Timeout {
            self.restart(tcp);
        } else {
            let wait = Self::until_timeout(tcp).unwrap_or(Span::from_micros(1));
            self.set(tcp, Pending::Timeout, wait);
        }
    }

    /// How long it takes until a timeout that counts from when the first segment was sent last.
    fn until_timeout(tcp: &State) -> Option<Span> {
        let first = tcp.core.board.get(0)?;
        let at = first.sent + tcp.core.rtt.timeout();
        (at > tcp.core.now).then(|| at.since(tcp.core.now))
    }

    /// Waits for a probe (RFC 8985 §7.2), but not longer than for a timeout. If that counts from now, `advancing`
    /// holds.
    pub fn schedule_probe(&mut self, tcp: &mut State, advancing: bool) {
        let alone = if tcp.core.board.len() == 1 { tcp.core.params.max_ack_delay } else { PROBE_MARGIN };
        let wait = tcp.core.rtt.srtt().map_or(FIRST_PROBE, |srtt| tcp.wheel.ticks(srtt * 2 + alone));
        let limit = if advancing { Some(tcp.core.rtt.timeout()) } else { Self::until_timeout(tcp) };
        self.set(tcp, Pending::Probe, limit.map_or(wait, |limit| wait.min(limit)));
    }

    /// Waits until segments leave the reordering window.
    pub fn wait_for_reordering(&mut self, tcp: &mut State, wait: Span) {
        let wait = tcp.wheel.ticks(wait + REORDERING_MARGIN).min(tcp.core.rtt.timeout());
        self.set(tcp, Pending::Reordering, wait);
    }
}
