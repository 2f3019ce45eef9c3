//! When pacing lets the next segment leave.

use hopyard_engine::{Span, Time};

/// The pacing of a sender.
#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    /// Nothing is sent before this time.
    slot: Time,
    /// Segments that may still be sent before that time, because the segments of a quantum are sent together.
    together: u32,
    /// When the next segment is sent, if one waits.
    wake: Time,
}

impl Pacing {
    /// A sender that has sent nothing.
    pub const fn new() -> Self {
        Self { slot: Time::ZERO, together: 0, wake: Time::NEVER }
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

    /// Whether a segment may leave now; if so, the next one leaves later by the gaps of a `quantum` of them. A segment
    /// that may not leave waits.
    pub fn allows(&mut self, now: Time, gap: Span, quantum: u32) -> bool {
        if gap.is_zero() {
            // When pacing begins again, the first segment is sent at once.
            self.slot = now;
        } else if now >= self.slot {
            let quantum = quantum.max(1);
            self.slot = now + gap * u64::from(quantum);
            self.together = quantum - 1;
        } else if self.together > 0 {
            self.together -= 1;
        } else {
            self.wake = self.slot;
            return false;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Span = Span::from_millis(10);

    const fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn segments_leave_one_gap_apart_or_in_quanta() {
        let mut pacing = Pacing::new();
        assert!(pacing.allows(ms(100), GAP, 1));
        assert!(!pacing.allows(ms(105), GAP, 1));
        assert_eq!(pacing.wake(), ms(110));
        assert!(pacing.allows(ms(110), GAP, 2) && pacing.allows(ms(110), GAP, 2));
        assert!(!pacing.allows(ms(110), GAP, 2));
        assert_eq!(pacing.wake(), ms(130));
    }
}
