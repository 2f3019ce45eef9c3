//! The history of round-trip times: an agile or stable average, and which of the last samples exceeded it.

use std::collections::VecDeque;

use super::{Average, Growths, Params};

/// The constant that converts the mean moving range of two samples into a standard deviation (Shewhart's d2).
const RANGE_TO_SIGMA: f64 = 1.128;
/// The number of standard deviations within the control limits.
const CONTROL_SIGMAS: f64 = 3.0;
/// The weight of the old value in TCP's average (RFC 6298 §2.3).
const SMOOTHED_WEIGHT: f64 = 7.0 / 8.0;

/// An average of round-trip times in seconds. The flip-flop filter has two averages. The agile one is used when
/// possible, and the stable one when the samples are noisy.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    kind: Average,
    /// The weight of the old value in each of the two averages.
    weights: (f64, f64),
    /// The share of the stable value by which the agile value may differ from it (`Average::Band`).
    band: f64,
    /// The agile and the stable value, after the first sample.
    values: Option<(f64, f64)>,
    last: f64,
    /// The mean difference between two consecutive samples, after the second sample.
    moving_range: Option<f64>,
}

impl Filter {
    fn new(params: &Params) -> Self {
        let weights = match params.average {
            Average::Smoothed => (SMOOTHED_WEIGHT, SMOOTHED_WEIGHT),
            Average::Band | Average::ControlLimits => (params.agile_weight, params.stable_weight),
        };
        Self { kind: params.average, weights, band: params.stable_band, values: None, last: 0.0, moving_range: None }
    }

    /// The average, after the first sample.
    pub(super) fn value(&self) -> Option<f64> {
        let (agile, stable) = self.values?;
        let apart = (agile - stable).abs();
        let noisy = match self.kind {
            Average::Smoothed => false,
            Average::Band => apart > self.band * stable,
            Average::ControlLimits => {
                self.moving_range.is_some_and(|range| apart > CONTROL_SIGMAS * range / RANGE_TO_SIGMA)
            }
        };
        Some(if noisy { stable } else { agile })
    }

    fn sample(&mut self, round_trip: f64) {
        let mix = |old: f64, new: f64, weight: f64| weight * old + (1.0 - weight) * new;
        let Some((agile, stable)) = &mut self.values else {
            self.values = Some((round_trip, round_trip));
            self.last = round_trip;
            return;
        };
        *agile = mix(*agile, round_trip, self.weights.0);
        *stable = mix(*stable, round_trip, self.weights.1);
        let range = (round_trip - self.last).abs();
        self.moving_range = Some(self.moving_range.map_or(range, |old| mix(old, range, self.weights.1)));
        self.last = round_trip;
    }
}

/// The last round-trip times, and which of them had increased.
#[derive(Clone, Debug)]
pub(super) struct History {
    pub(super) filter: Filter,
    /// Whether each sample exceeded the average before it; the newest last.
    bits: VecDeque<bool>,
    capacity: usize,
    threshold: f64,
    growths: Growths,
    pub(super) last: Option<f64>,
    pub(super) shortest: Option<f64>,
}

impl History {
    pub(super) fn new(params: &Params) -> Self {
        let capacity = params.samples as usize;
        Self {
            filter: Filter::new(params),
            bits: VecDeque::with_capacity(capacity),
            capacity,
            threshold: params.growth,
            growths: params.growths,
            last: None,
            shortest: None,
        }
    }

    /// A round-trip time in seconds.
    pub(super) fn sample(&mut self, round_trip: f64) {
        let grown = self.filter.value().is_some_and(|average| round_trip > (1.0 + self.threshold) * average);
        if self.bits.len() == self.capacity {
            self.bits.pop_front();
        }
        self.bits.push_back(grown);
        self.filter.sample(round_trip);
        self.last = Some(round_trip);
        self.shortest = Some(self.shortest.map_or(round_trip, |shortest| shortest.min(round_trip)));
    }

    /// How many of the stored samples had increased: all of them, or the longest consecutive sequence.
    pub(super) fn growth(&self) -> u32 {
        match self.growths {
            Growths::Any => self.bits.iter().filter(|&&grown| grown).count() as u32,
            Growths::Consecutive => {
                let runs = self.bits.iter().scan(0, |run, &grown| {
                    *run = if grown { *run + 1 } else { 0 };
                    Some(*run)
                });
                runs.max().unwrap_or(0)
            }
        }
    }

    /// The number of stored samples.
    pub(super) fn len(&self) -> u32 {
        self.bits.len() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params as _;

    fn params() -> Params {
        Params { average: Average::Band, ..Params::of_profile("rfc") }
    }

    fn fed(params: &Params, samples: &[f64]) -> History {
        let mut history = History::new(params);
        samples.iter().for_each(|&sample| history.sample(sample));
        history
    }

    fn assert_near(found: Option<f64>, expected: f64) {
        assert!(found.is_some_and(|found| (found - expected).abs() < 1e-9), "{found:?}, expected {expected}");
    }

    #[test]
    fn the_agile_average_follows_what_is_quiet() {
        let history = fed(&params(), &[100.0, 104.0]);
        // Agile 0.1 * 100 + 0.9 * 104 = 103.6, stable 100.4: 3 % apart.
        assert_near(history.filter.value(), 103.6);
    }

    #[test]
    fn the_stable_average_takes_over_when_it_is_noisy() {
        let mut history = fed(&params(), &[100.0, 200.0]);
        // Agile 190, stable 110: further apart than a tenth of 110.
        assert_near(history.filter.value(), 110.0);
        // 200 for long: both are there.
        (0..40).for_each(|_| history.sample(200.0));
        assert!(history.filter.value().is_some_and(|value| value > 198.0));
        assert_eq!((history.shortest, history.last), (Some(100.0), Some(200.0)));
    }

    #[test]
    fn control_limits_follow_the_moving_range() {
        let params = Params { average: Average::ControlLimits, ..params() };
        // One range of 100: the limits are 3 * 100 / 1.128 = 266 to both sides; the agile 190 lies within.
        assert_near(fed(&params, &[100.0, 200.0]).filter.value(), 190.0);
        // Quiet before the jump: the mean range is 0.9 * 0 + 0.1 * 100 = 10, the limits 26.6; 190 - 110 lies beyond.
        assert_near(fed(&params, &[100.0, 100.0, 200.0]).filter.value(), 110.0);
    }

    #[test]
    fn smoothed_is_the_average_of_tcp() {
        let params = Params { average: Average::Smoothed, ..params() };
        assert_near(fed(&params, &[100.0, 200.0]).filter.value(), 112.5);
    }

    #[test]
    fn a_sample_has_grown_beyond_five_percent_of_the_average_before_it() {
        assert_eq!(fed(&params(), &[100.0]).growth(), 0, "nothing to compare with");
        assert_eq!(fed(&params(), &[100.0, 105.0]).growth(), 0);
        assert_eq!(fed(&params(), &[100.0, 105.1]).growth(), 1);
        let wide = Params { growth: 0.2, ..params() };
        assert_eq!(fed(&wide, &[100.0, 119.0]).growth(), 0);
    }

    #[test]
    fn old_samples_leave_the_vector() {
        // A steady climb by 8 %: each sample is above the one before, and the agile average follows.
        let climb: Vec<f64> = (0..6).map(|step| 100.0 * libm::pow(1.08, f64::from(step))).collect();
        let mut history = fed(&params(), &climb);
        assert_eq!((history.growth(), history.len()), (5, 6));
        (0..4).for_each(|_| history.sample(100.0));
        assert_eq!((history.growth(), history.len()), (5, 10));
        history.sample(100.0);
        assert_eq!((history.growth(), history.len()), (5, 10), "the first had not grown");
        history.sample(100.0);
        assert_eq!(history.growth(), 4);
    }

    #[test]
    fn growths_in_a_row_or_in_any_order() {
        // Up and down: bits 0 1 0 1 0 1 1 0 1. The agile average is next to the sample before.
        let samples = [100.0, 106.0, 100.0, 106.0, 100.0, 106.0, 113.0, 105.0, 112.0];
        let wide = Params { stable_band: 1.0, ..params() };
        assert_eq!(fed(&wide, &samples).growth(), 5);
        let consecutive = Params { growths: Growths::Consecutive, ..wide };
        assert_eq!(fed(&consecutive, &samples).growth(), 2);
    }
}
