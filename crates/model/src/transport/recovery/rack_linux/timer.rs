//! The one timer of probes, reordering and timeouts.

use hopyard_engine::{Span, Time};

use crate::transport::connection::Core;

/// What Linux adds to the timeout of a probe.
const PROBE_MARGIN: Span = Span::from_millis(2);
/// What Linux adds to the reordering timer.
const REORDERING_MARGIN: Span = Span::from_millis(2);
/// The probe timeout before the first round trip is measured (RFC 8985 §7.2).
const FIRST_PROBE: Span = Span::from_secs(1);

/// What the timer waits for. The retransmission timer itself is that of [`Core`]: at most one of the two runs.
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
    /// When it expires, if it does not wait for a timeout.
    pub at: Time,
}

impl Timer {
    pub const fn new() -> Self {
        Self { pending: Pending::Timeout, at: Time::NEVER }
    }

    fn set(&mut self, core: &mut Core, pending: Pending, wait: Span) {
        self.pending = pending;
        // What pacing holds back is sent later, in whole ticks. What waits for its order was sent.
        let held = if pending == Pending::Reordering { Span::ZERO } else { core.departs.since(core.now) };
        let at = core.wheel.expiry(core.now, wait + core.wheel.elapsed(held));
        (self.at, core.rto) = if pending == Pending::Timeout { (Time::NEVER, at) } else { (at, Time::NEVER) };
    }

    /// Waits for a timeout from now.
    pub fn restart(&mut self, core: &mut Core) {
        let wait = core.rtt.timeout();
        self.set(core, Pending::Timeout, wait);
    }

    /// Stops waiting.
    pub const fn stop(&mut self, core: &mut Core) {
        self.pending = Pending::Timeout;
        self.at = Time::NEVER;
        core.rto = Time::NEVER;
    }

    /// Waits for a timeout. What the timer has waited for something else counts: from when the first segment was sent.
    pub fn rearm(&mut self, core: &mut Core) {
        if core.board.is_empty() {
            self.stop(core);
        } else if self.pending == Pending::Timeout {
            self.restart(core);
        } else {
            let wait = Self::until_timeout(core).unwrap_or(Span::from_micros(1));
            self.set(core, Pending::Timeout, wait);
        }
    }

    /// How long it takes until a timeout that counts from when the first segment was sent last.
    fn until_timeout(core: &Core) -> Option<Span> {
        let first = core.board.get(0)?;
        let at = first.sent + core.rtt.timeout();
        (at > core.now).then(|| at.since(core.now))
    }

    /// Waits for a probe (RFC 8985 §7.2), but not longer than for a timeout. If that counts from now, `advancing`
    /// holds.
    pub fn schedule_probe(&mut self, core: &mut Core, advancing: bool) {
        let alone = if core.board.len() == 1 { core.params.max_ack_delay } else { PROBE_MARGIN };
        let wait = core.rtt.srtt().map_or(FIRST_PROBE, |srtt| core.ticks(srtt * 2 + alone));
        let limit = if advancing { Some(core.rtt.timeout()) } else { Self::until_timeout(core) };
        self.set(core, Pending::Probe, limit.map_or(wait, |limit| wait.min(limit)));
    }

    /// Waits until segments leave the reordering window.
    pub fn wait_for_reordering(&mut self, core: &mut Core, wait: Span) {
        let wait = core.ticks(wait + REORDERING_MARGIN).min(core.rtt.timeout());
        self.set(core, Pending::Reordering, wait);
    }
}
