//! Detection of losses by time (RFC 8985 §6), as Linux runs it.

use hopyard_engine::{Span, Time};

use crate::transport::connection::{Core, Segment};
use crate::transport::linux::state::State;

/// Recoveries without DSACK after which the reordering window shrinks to its first size (§6.2 step 4).
const PERSIST: u32 = 16;
/// The largest extent of reordering that is remembered (`tcp_max_reordering`).
const FARTHEST: u32 = 300;

/// The losses that a check has found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// How long it takes until the last segment that is within the reordering window is lost.
    pub wait: Option<Span>,
    /// A retransmission is lost.
    pub lost_again: bool,
}

#[derive(Clone, Debug)]
pub struct Detection {
    /// When the most recently sent of the delivered segments was sent, and its end (`RACK.xmit_ts`, `RACK.end_seq`).
    newest: Option<(Time, u64)>,
    /// The round trip of the segment that was delivered last (`RACK.rtt`).
    rtt: Span,
    /// A segment was delivered since the last check.
    pub advanced: bool,
    pub reordering_seen: bool,
    /// By how many segments the network reorders, as far as is known.
    pub reordering: u32,
    /// The reordering window in quarters of the shortest round trip.
    multiple: u32,
    persist: u32,
    /// A DSACK was seen that has not widened the window yet, and when one did last.
    dsack_seen: bool,
    widened: Time,
}

impl Detection {
    pub const fn new(threshold: u32) -> Self {
        Self {
            newest: None,
            rtt: Span::ZERO,
            advanced: false,
            reordering_seen: false,
            reordering: threshold,
            multiple: 1,
            persist: 0,
            dsack_seen: false,
            widened: Time::ZERO,
        }
    }

    /// §6.2 steps 1 and 2 for one newly delivered segment. An answer that comes sooner than the shortest round trip
    /// belongs to the first transmission.
    pub fn deliver(&mut self, core: &Core, segment: &Segment) {
        let rtt = core.now.since(segment.sent);
        if segment.transmissions > 1 && core.min_rtt.is_some_and(|min| rtt < min) {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if self.newest.is_none_or(|newest| (segment.sent, segment.end()) > newest) {
            self.newest = Some((segment.sent, segment.end()));
        }
    }

    /// §6.2 step 3: a segment arrived that was sent once, although segments from `lowest` up to `highest` had been
    /// reported before.
    pub fn note_order(&mut self, core: &Core, lowest: Option<u64>, highest: u64) {
        if let Some(span) = lowest.and_then(|lowest| highest.checked_sub(lowest)).filter(|span| *span > 0) {
            let segments = span.div_ceil(u64::from(core.params.mss()));
            self.reordering = self.reordering.max(segments.min(FARTHEST.into()) as u32);
            self.reordering_seen = true;
        }
    }

    /// The network reorders by this many segments.
    pub fn note_extent(&mut self, segments: u32) {
        self.reordering = self.reordering.max(segments.min(FARTHEST));
        self.reordering_seen = true;
    }

    /// A timeout came although so many segments had been reported that reordering cannot explain it.
    pub const fn forget_extent(&mut self, threshold: u32) {
        if self.reordering > threshold {
            self.reordering = threshold;
        }
    }

    /// A duplicate was reported that no probe explains.
    pub const fn note_duplicate(&mut self) {
        self.dsack_seen |= self.reordering_seen;
    }

    /// The DSACK part of §6.2 step 4, when the last of the segments that an acknowledgement delivers was sent at
    /// `sent`: once in a round trip.
    pub fn widen(&mut self, core: &Core, sent: Time) {
        if sent < self.widened {
            self.dsack_seen = false;
        }
        if std::mem::take(&mut self.dsack_seen) {
            self.multiple = (self.multiple + 1).min(255);
            self.widened = core.now;
            self.persist = PERSIST;
        } else if self.persist == 0 {
            self.multiple = 1;
        }
    }

    /// A recovery ends that was none too many.
    pub const fn calm_down(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// A recovery was undone.
    pub fn excite(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }

    /// §6.2 step 4: the time by which a segment may be overtaken. `repairing` says that losses are being repaired.
    fn window(&self, core: &Core, repairing: bool) -> Span {
        if !self.reordering_seen && (repairing || core.board.sacked() >= self.reordering as usize) {
            return Span::ZERO;
        }
        let window = core.min_rtt.unwrap_or(Span::ZERO) * u64::from(self.multiple) / 4;
        window.min(core.rtt.srtt().unwrap_or(window))
    }

    /// §6.2 step 5: marks lost segments. Linux takes these segments off the list that it times, until they are sent
    /// again. If an undone reduction takes the marks back, only a timeout finds the missing segments.
    pub fn detect(&mut self, tcp: &mut State, repairing: bool) -> Found {
        let mut found = Found::default();
        let Some(newest) = self.newest else { return found };
        let allowance = self.rtt + self.window(&tcp.core, repairing);
        for index in 0..tcp.core.board.len() {
            let Some(segment) = tcp.core.board.get(index) else { break };
            if segment.sacked || segment.lost || tcp.tags[index].untimed || newest <= (segment.sent, segment.end()) {
                continue;
            }
            let due = segment.sent + allowance;
            if due <= tcp.core.now {
                found.lost_again |= segment.transmissions > 1;
                tcp.mark_lost(index);
                tcp.tags[index].untimed = true;
            } else {
                found.wait = found.wait.max(Some(due.since(tcp.core.now)));
            }
        }
        found
    }

    /// §6.3, at a timeout: the first segment is lost, and so is every segment that was sent too long ago. There is no
    /// allowance for reordering.
    pub fn mark_timed_out(&self, tcp: &mut State) {
        for index in 0..tcp.core.board.len() {
            if index == 0 || tcp.core.board.get(index).is_some_and(|segment| segment.sent + self.rtt <= tcp.core.now) {
                tcp.mark_lost(index);
            }
        }
    }
}
