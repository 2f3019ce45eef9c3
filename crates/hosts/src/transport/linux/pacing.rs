//! When pacing lets the next segment leave in Linux: a quantum leaves as one buffer, and a segment that leaves late
//! shortens the next gap.

use hopyard_engine::{Span, Time};

/// The pacing of a sender.
#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    /// Nothing is sent before this time.
    slot: Time,
    /// When the last quantum left, by how much later than allowed, and how many of its bytes did.
    left: Time,
    credit: Span,
    bytes: u64,
    /// Segments that may still be sent before that time, because the segments of a quantum are sent together.
    together: u32,
    /// The segment that was allowed last leaves in one buffer with the one before it.
    joins: bool,
    /// When the next segment is sent, if one waits.
    wake: Time,
}

impl Pacing {
    /// A sender that has sent nothing.
    pub const fn new() -> Self {
        Self {
            slot: Time::ZERO,
            left: Time::ZERO,
            credit: Span::ZERO,
            bytes: 0,
            together: 0,
            joins: false,
            wake: Time::NEVER,
        }
    }

    /// An event at the sender: the rest of a quantum is not sent later.
    pub const fn begin(&mut self) {
        self.together = 0;
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

    /// Whether nothing may leave now. Linux looks at the time before it looks at what there is to send.
    pub fn blocks(&mut self, now: Time) -> bool {
        let blocks = self.together == 0 && now < self.slot;
        if blocks {
            self.wake = self.slot;
        }
        blocks
    }

    /// A segment leaves without pacing. When pacing begins again, the first one is sent at once.
    pub const fn stop(&mut self, now: Time) {
        self.slot = now;
        self.joins = false;
    }

    /// Whether a segment of `len` bytes may leave now. If so, the next one leaves later by the `gap` of the bytes of a
    /// `quantum` of them, which counts from when the first of them left. A segment that may not leave waits. A buffer
    /// has no gap if all of it is among the next `unpaced` segments but the last one.
    pub fn allows(
        &mut self,
        now: Time,
        len: u64,
        gap: impl Fn(u64) -> Span,
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
            self.bytes += len;
            self.set_slot(gap(self.bytes));
        } else {
            self.bytes = len;
            self.leave(now, gap(len));
        }
        self.together -= 1;
        true
    }

    /// A segment leaves that does not wait for pacing. The next segment waits for this one. This one counts as sent
    /// when pacing would have let it leave: the time that is returned.
    pub fn on_forced(&mut self, now: Time, gap: Span) -> Time {
        let departure = now.max(self.slot);
        self.leave(now, gap);
        departure
    }

    fn leave(&mut self, now: Time, gap: Span) {
        self.left = self.slot.max(now);
        self.credit = now.since(self.slot);
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

    fn gap(bytes: u64) -> Span {
        Span::from_micros(10 * bytes)
    }

    const fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_late_segment_shortens_the_next_gap_by_a_half_at_most() {
        for (late, next) in [(3, 107), (50, 105)] {
            let mut pacing = Pacing::new();
            pacing.slot = ms(100 - late);
            pacing.allows(ms(100), 1000, gap, 0, || 1);
            assert_eq!(pacing.slot(), ms(next), "{late}");
        }
        // Two segments late by 8 ms: the second gap is shorter too.
        let mut pacing = Pacing::new();
        pacing.slot = ms(92);
        assert!(pacing.allows(ms(100), 1000, gap, 0, || 2) && pacing.allows(ms(100), 1000, gap, 0, || 2));
        assert_eq!(pacing.slot(), ms(112));
    }

    #[test]
    fn a_small_segment_has_a_small_gap() {
        let mut pacing = Pacing::new();
        pacing.slot = ms(100);
        assert!(pacing.allows(ms(100), 1000, gap, 0, || 2) && pacing.allows(ms(100), 300, gap, 0, || 2));
        assert_eq!(pacing.slot(), ms(113));
        assert_eq!(pacing.on_forced(ms(200), gap(50)), ms(200));
    }

    #[test]
    fn the_rest_of_a_quantum_is_lost_with_the_event() {
        let mut pacing = Pacing::new();
        pacing.allows(ms(100), 1000, gap, 0, || 2);
        pacing.begin();
        assert!(!pacing.allows(ms(101), 1000, gap, 0, || 2));
    }
}
