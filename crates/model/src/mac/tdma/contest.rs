//! Stations that contend for a part of the frame that is nobody's: the contention part, or a slot that its owner leaves
//! empty.

use hopyard_engine::{Span, Time};

/// A back-off within a part of the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contest {
    /// From when units of the back-off are counted.
    pub from: Time,
    /// How long the medium must have been idle before they are counted.
    pub wait: Span,
    /// When the frame must have ended.
    pub until: Time,
    /// Units of the back-off that are left.
    pub left: u64,
    /// How long the frame, and what answers it, takes.
    pub need: Span,
}

impl Contest {
    #[inline]
    fn counts_from(&self, idle_since: Time) -> Time {
        self.from.max(idle_since + self.wait)
    }

    /// When the frame may be sent if the medium has been idle since a time and stays so.
    #[inline]
    #[must_use]
    pub fn due(&self, idle_since: Time, unit: Span) -> Time {
        self.counts_from(idle_since) + unit * self.left
    }

    /// The medium turns busy, which was idle since a time. Only whole units count.
    #[inline]
    pub fn freeze(&mut self, idle_since: Time, now: Time, unit: Span) {
        let begun = self.counts_from(idle_since);
        if now > begun {
            self.left = self.left.saturating_sub(now.since(begun).nanos() / unit.nanos());
        }
    }

    /// Whether the frame still ends in time.
    #[inline]
    #[must_use]
    pub fn fits(&self, idle_since: Time, unit: Span) -> bool {
        self.due(idle_since, unit) + self.need <= self.until
    }
}
