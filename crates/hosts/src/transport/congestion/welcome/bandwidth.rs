//! The bandwidth estimate: the mean bytes divided by the mean interval of acknowledgements, then smoothed over time.
//!
//! Read: A. Capone and F. Martignon, "Bandwidth Estimates in the TCP Congestion Control Scheme", IWDC 2001; A. Capone,
//! L. Fratta, F. Martignon, "Bandwidth Estimation Schemes for TCP over Wireless Networks", IEEE TMC 3(2), 2004 (TIBET).
//! Bytes and intervals are averaged separately, so that acknowledgements in bursts do not increase the estimate.

use hopyard_engine::{Span, Time};

/// The estimate, in bytes per second.
#[derive(Clone, Debug)]
pub(super) struct Bandwidth {
    /// The weight of the old value in both means.
    weight: f64,
    /// The time constant of the second filter, in seconds.
    constant: f64,
    /// Mean bytes and mean interval in seconds, after the first interval.
    means: Option<(f64, f64)>,
    estimate: Option<f64>,
    last: Option<Time>,
}

impl Bandwidth {
    pub(super) fn new(weight: f64, constant: Span) -> Self {
        Self { weight, constant: constant.seconds(), means: None, estimate: None, last: None }
    }

    /// `bytes` were acknowledged.
    pub(super) fn sample(&mut self, bytes: u64, now: Time) {
        let Some(last) = self.last.replace(now) else { return };
        let interval = now.since(last).seconds();
        let bytes = bytes as f64;
        let (mean_bytes, mean_interval) = self.means.map_or((bytes, interval), |(mean_bytes, mean_interval)| {
            let mix = |old: f64, new: f64| self.weight * old + (1.0 - self.weight) * new;
            (mix(mean_bytes, bytes), mix(mean_interval, interval))
        });
        self.means = Some((mean_bytes, mean_interval));
        if mean_interval > 0.0 {
            let raw = mean_bytes / mean_interval;
            let kept = libm::exp(-interval / self.constant);
            self.estimate = Some(self.estimate.map_or(raw, |old| kept * old + (1.0 - kept) * raw));
        }
    }

    /// The sender was silent for some time, or all segments were lost: the interval that ends with the next
    /// acknowledgement gives no information about the path.
    pub(super) const fn pause(&mut self) {
        self.last = None;
    }

    /// The estimate in bytes per second, after the first interval.
    pub(super) const fn value(&self) -> Option<f64> {
        self.estimate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn near(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found / expected - 1.0).abs() < 1e-9)
    }

    #[test]
    fn two_filters_by_hand() {
        let mut bandwidth = Bandwidth::new(0.9, Span::from_secs(1));
        bandwidth.sample(500, at(0));
        assert_eq!(bandwidth.value(), None, "no interval yet");
        bandwidth.sample(500, at(10));
        assert!(near(bandwidth.value(), 50_000.0));
        // Bytes 0.9 * 500 + 0.1 * 1000 = 550, interval 0.9 * 10 + 0.1 * 20 = 11 ms: again 50,000.
        bandwidth.sample(1000, at(30));
        assert!(near(bandwidth.value(), 50_000.0));
        // Bytes 545, interval 0.9 * 11 + 0.1 * 110 = 20.9 ms: 26,076.6; of the old 50,000 e^-0.11 is kept.
        bandwidth.sample(500, at(140));
        let kept = libm::exp(-0.11);
        assert!(near(bandwidth.value(), kept * 50_000.0 + (1.0 - kept) * 545.0 / 0.0209));
    }

    #[test]
    fn acknowledgements_in_bunches_do_not_raise_it() {
        // 500 bytes every 10 ms, but the acknowledgements come five at a time.
        let mut bandwidth = Bandwidth::new(0.9, Span::from_secs(1));
        for bunch in 1..400 {
            (0..5).for_each(|_| bandwidth.sample(500, at(bunch * 50)));
        }
        // At the first of a bunch the mean interval x is 0.9^5 x + 0.1 * 50 ms = 12.2 ms; the others add no time and so
        // nothing.
        let interval = 0.005 / (1.0 - libm::pow(0.9, 5.0));
        assert!((bandwidth.value().unwrap_or(0.0) - 500.0 / interval).abs() < 0.01, "{:?}", bandwidth.value());
    }

    #[test]
    fn a_pause_is_no_sample() {
        let mut bandwidth = Bandwidth::new(0.9, Span::from_secs(1));
        (0..50).for_each(|step| bandwidth.sample(500, at(step * 10)));
        bandwidth.pause();
        bandwidth.sample(500, at(20_000));
        assert!(near(bandwidth.value(), 50_000.0));
        bandwidth.sample(500, at(20_010));
        assert!(near(bandwidth.value(), 50_000.0));
    }
}
