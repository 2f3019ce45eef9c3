//! When pacing lets the next segment leave.

use hopyard_engine::{Span, Time};

/// The pacing of a sender.
#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    /// Whether a segment that leaves late shortens the next gap (Linux).
    takes_credit: bool,
    /// Nothing is sent before this time.
    slot: Time,
    /// When the last quantum left, by how much later than allowed, and how many of its segments did.
    left: Time,
    credit: Span,
    count: u32,
    /// Segments that may still be sent before that time, because the segments of a quantum are sent together.
    together: u32,
    /// The segment that was allowed last leaves in one buffer with the one before it.
    joins: bool,
    /// When the next segment is sent, if one waits.
    wake: Time,
}

impl Pacing {
    /// A sender that has sent nothing.
    pub const fn new(takes_credit: bool) -> Self {
        Self {
            takes_credit,
            slot: Time::ZERO,
            left: Time::ZERO,
            credit: Span::ZERO,
            count: 0,
            together: 0,
            joins: false,
            wake: Time::NEVER,
        }
    }

    /// An event at the sender: in Linux the rest of a quantum is not sent later.
    pub const fn begin(&mut self) {
        if self.takes_credit {
            self.together = 0;
        }
    }

    /// When the next segment leaves, if one waits.
    pub const fn wake(&self) -> Time {
        self.wake
    }

    /// When the next segment may leave.
    pub const fn slot(&self) -> Time {
        self.slot
    }

    /// Nothing waits any more.
    pub const fn stop_waiting(&mut self) {
        self.wake = Time::NEVER;
    }

    /// Whether the segment that was allowed last leaves in one buffer with the one before it.
    pub const fn joins(&self) -> bool {
        self.joins
    }

    /// Whether nothing may leave now in Linux, which looks at the time before it looks at what there is to send.
    pub fn blocks(&mut self, now: Time) -> bool {
        let blocks = self.takes_credit && self.together == 0 && now < self.slot;
        if blocks {
            self.wake = self.slot;
        }
        blocks
    }

    /// Whether a segment may leave now; if so, the next one leaves later by the `gap` of a `quantum` of them. A segment
    /// that may not leave waits. The next `unpaced` segments have no gap.
    pub fn allows(
        &mut self,
        now: Time,
        gap: impl Fn(u32) -> Span,
        unpaced: u64,
        quantum: impl FnOnce() -> u32,
    ) -> bool {
        let one = gap(1);
        if one.is_zero() || (unpaced > 0 && !self.takes_credit) {
            // When pacing begins again, the first segment is sent at once.
            self.slot = now;
            self.joins = false;
        } else if self.takes_credit {
            return self.allows_buffer(now, gap, unpaced, quantum);
        } else if now >= self.slot {
            let quantum = quantum().max(1);
            self.slot = now + one * u64::from(quantum);
            self.together = quantum - 1;
        } else if self.together > 0 {
            self.together -= 1;
        } else {
            self.wake = self.slot;
            return false;
        }
        true
    }

    /// As [`allows`](Self::allows) in Linux: a quantum leaves as one buffer, and its gaps count from then. A buffer has
    /// no gap if all of it is among the `unpaced` segments but the last one.
    fn allows_buffer(
        &mut self,
        now: Time,
        gap: impl Fn(u32) -> Span,
        unpaced: u64,
        quantum: impl FnOnce() -> u32,
    ) -> bool {
        self.joins = self.together > 0;
        if !self.joins {
            if self.blocks(now) {
                return false;
            }
            self.together = quantum().max(1);
        }
        if u64::from(self.together) < unpaced {
            self.slot = now;
        } else if self.joins {
            self.count += 1;
            self.set_slot(gap(self.count));
        } else {
            self.leave(now, gap(1));
        }
        self.together -= 1;
        true
    }

    /// A segment leaves that does not wait for pacing. In Linux the next one waits for it, and it counts as sent when
    /// pacing would have let it leave: the time that is returned.
    pub fn on_forced(&mut self, now: Time, gap: Span) -> Time {
        if !self.takes_credit {
            return now;
        }
        let departure = now.max(self.slot);
        self.leave(now, gap);
        departure
    }

    fn leave(&mut self, now: Time, gap: Span) {
        self.left = self.slot.max(now);
        self.credit = now.since(self.slot);
        self.count = 1;
        self.set_slot(gap);
    }

    /// The time of the next one, `gap` after the quantum left. The credit takes a half of it at most.
    fn set_slot(&mut self, gap: Span) {
        self.slot = self.left + gap - self.credit.min(gap / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(segments: u32) -> Span {
        Span::from_millis(10) * u64::from(segments)
    }

    const fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn segments_leave_one_gap_apart_or_in_quanta() {
        let mut pacing = Pacing::new(false);
        assert!(pacing.allows(ms(100), gap, 0, || 1));
        assert!(!pacing.allows(ms(105), gap, 0, || 1));
        assert_eq!(pacing.wake(), ms(110));
        assert!(pacing.allows(ms(110), gap, 0, || 2) && pacing.allows(ms(110), gap, 0, || 2));
        assert!(!pacing.allows(ms(110), gap, 0, || 2));
        assert_eq!(pacing.wake(), ms(130));
    }

    #[test]
    fn a_late_segment_shortens_the_next_gap_by_a_half_at_most() {
        for (takes_credit, late, next) in [(true, 3, 107), (true, 50, 105), (false, 3, 110)] {
            let mut pacing = Pacing::new(takes_credit);
            pacing.slot = ms(100 - late);
            pacing.allows(ms(100), gap, 0, || 1);
            assert_eq!(pacing.slot(), ms(next), "{late}");
        }
        // Two segments late by 8 ms: the second gap is shorter too.
        let mut pacing = Pacing::new(true);
        pacing.slot = ms(92);
        assert!(pacing.allows(ms(100), gap, 0, || 2) && pacing.allows(ms(100), gap, 0, || 2));
        assert_eq!(pacing.slot(), ms(112));
    }

    #[test]
    fn the_rest_of_a_quantum_is_lost_with_the_event_in_linux() {
        for takes_credit in [true, false] {
            let mut pacing = Pacing::new(takes_credit);
            pacing.allows(ms(100), gap, 0, || 2);
            pacing.begin();
            assert_eq!(pacing.allows(ms(101), gap, 0, || 2), !takes_credit);
        }
    }
}
