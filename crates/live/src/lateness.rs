//! How much later than due something happened.

use hdrhistogram::Histogram;
use hopyard_engine::Span;
use serde::Serialize;

/// The longest lateness that is told from longer ones, in nanoseconds: an hour.
const MOST: u64 = 3_600_000_000_000;
/// The digits to which a quantile is exact.
const DIGITS: u8 = 3;

/// The lateness of many packets or events.
#[derive(Clone, Debug)]
pub struct Lateness {
    histogram: Histogram<u64>,
    bound: Span,
    late: u64,
    /// The greatest one, exactly.
    max: Span,
    /// The smallest one, exactly.
    min: Span,
}

/// The summary of a [`Lateness`]. Times are in seconds, and missing where there was nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How many there were.
    pub count: u64,
    /// How many of them were later than the bound.
    pub late: u64,
    /// The least lateness.
    pub min_s: Option<f64>,
    /// The median.
    pub median_s: Option<f64>,
    /// The 99th percentile.
    pub p99_s: Option<f64>,
    /// The greatest lateness.
    pub max_s: Option<f64>,
}

impl Lateness {
    /// Nothing yet. Events that are later than the bound are counted.
    #[must_use]
    pub fn new(bound: Span) -> Self {
        let histogram = Histogram::new_with_max(MOST, DIGITS);
        // The bounds and the digits are constants that the library accepts.
        let histogram = histogram.unwrap_or_else(|error| unreachable!("{error}"));
        Self { histogram, bound, late: 0, max: Span::ZERO, min: Span::MAX }
    }

    /// Something happened so much later than due.
    pub fn record(&mut self, late: Span) {
        self.histogram.saturating_record(late.nanos());
        self.late += u64::from(late > self.bound);
        self.max = self.max.max(late);
        self.min = self.min.min(late);
    }

    /// Adds what another one has recorded, against the same bound.
    pub fn add(&mut self, other: &Self) {
        // Both have the same range.
        let added = self.histogram.add(&other.histogram);
        debug_assert!(added.is_ok(), "{added:?}");
        self.late += other.late;
        self.max = self.max.max(other.max);
        self.min = self.min.min(other.min);
    }

    /// How many were recorded.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Whether at most this share was later than the bound.
    #[must_use]
    pub fn is_within(&self, share: f64) -> bool {
        self.late as f64 <= share * self.count() as f64
    }

    /// The summary.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let some = |span: Span| (self.count() > 0).then(|| span.seconds());
        // The library gives the highest value of a quantile's class, which may be above the greatest one.
        let quantile = |share| some(Span::from_nanos(self.histogram.value_at_quantile(share)).min(self.max));
        Summary {
            count: self.count(),
            late: self.late,
            min_s: some(self.min),
            median_s: quantile(0.5),
            p99_s: quantile(0.99),
            max_s: some(self.max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_the_order_statistics() {
        let mut lateness = Lateness::new(Span::from_micros(990));
        for micros in (1..=1000).rev() {
            lateness.record(Span::from_micros(micros));
        }
        let it = lateness.summary();
        assert_eq!((it.count, it.late, it.min_s, it.max_s), (1000, 10, Some(1e-6), Some(1e-3)));
        let near = |found: Option<f64>, wanted: f64| found.is_some_and(|it| (it / wanted - 1.0).abs() < 2e-3);
        assert!(near(it.median_s, 500e-6) && near(it.p99_s, 990e-6), "{it:?}");
        assert!(lateness.is_within(0.01) && !lateness.is_within(0.009));
    }

    #[test]
    fn nothing_has_no_quantiles_and_is_in_time() {
        let none = Lateness::new(Span::ZERO);
        let Summary { count, late, min_s, median_s, p99_s, max_s } = none.summary();
        assert_eq!((count, late, min_s, median_s, p99_s, max_s), (0, 0, None, None, None, None));
        assert!(none.is_within(0.0));
    }

    #[test]
    fn two_are_added_up_and_the_longest_are_not_lost() {
        let mut one = Lateness::new(Span::from_millis(1));
        one.record(Span::from_micros(10));
        let mut other = one.clone();
        other.record(Span::from_secs(7200));
        one.add(&other);
        let it = one.summary();
        assert_eq!((it.count, it.late, it.min_s, it.max_s), (3, 1, Some(1e-5), Some(7200.0)));
    }
}
