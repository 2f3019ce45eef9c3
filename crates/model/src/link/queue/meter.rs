//! The length of a queue over time.

use hopyard_engine::Time;

/// The queue's length over time, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LengthStatistics {
    /// The time-weighted mean.
    pub mean: f64,
    /// The largest.
    pub max: usize,
}

/// The sum of a queue's lengths so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct LengthMeter {
    /// Sum of length times nanoseconds, up to `changed`.
    area: u128,
    changed: Time,
    max: usize,
}

impl LengthMeter {
    /// The length, which was this, is about to change.
    pub fn account(&mut self, length: usize, now: Time) {
        self.area += self.since_change(length, now);
        self.changed = now;
    }

    /// The length has grown to this.
    pub fn grown(&mut self, length: usize) {
        self.max = self.max.max(length);
    }

    /// Mean and maximum from the start of the run to `now`, if the length is this.
    #[must_use]
    pub fn statistics(&self, length: usize, now: Time) -> LengthStatistics {
        let area = self.area + self.since_change(length, now);
        let mean = if now == Time::ZERO { 0.0 } else { area as f64 / now.nanos() as f64 };
        LengthStatistics { mean, max: self.max }
    }

    fn since_change(&self, length: usize, now: Time) -> u128 {
        length as u128 * u128::from(now.since(self.changed).nanos())
    }
}
