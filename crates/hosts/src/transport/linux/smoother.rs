//! The retransmission timeout as Linux computes it.
//!
//! Read: RFC 6298, which it follows in smoothing, and TCP_INFO and the timeouts in captures. It differs in three
//! points. The minimum applies to the deviation and not to the sum, so that the timeout is always longer than the
//! smoothed round trip by `min_rto`. The deviation that counts is the largest of a round trip, and falls by a quarter
//! of the difference in each round without a larger one. A round trip shorter than the average increases the deviation
//! by an eighth of the usual share only, so that a queue that empties does not lengthen the timeout.

use hopyard_engine::Span;

/// Smoothed round trip and deviation, in microseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Smoother {
    /// Eight times the smoothed round trip; 0 before the first sample.
    srtt: i64,
    /// Four times the mean deviation.
    deviation: i64,
    /// The largest value of `deviation` in this round, not less than the minimum.
    largest: i64,
    /// The value that counts for the timeout.
    counted: i64,
    /// The round ends when this is acknowledged.
    round: u64,
    minimum: i64,
}

impl Smoother {
    /// Before the first sample; `minimum` is the least part that the deviation has in the timeout.
    #[must_use]
    pub fn new(minimum: Span) -> Self {
        let minimum = micros(minimum);
        Self { srtt: 0, deviation: 0, largest: minimum, counted: minimum, round: 0, minimum }
    }

    /// Takes in a round trip. `una` and `next` are the first sequence number not acknowledged and the first not sent.
    pub fn sample(&mut self, round_trip: Span, una: u64, next: u64) {
        let sample = micros(round_trip);
        if self.srtt == 0 {
            self.srtt = (sample << 3).max(1);
            self.deviation = sample << 1;
            self.counted = self.deviation.max(self.minimum);
            self.largest = self.counted;
            self.round = next;
            return;
        }
        let difference = sample - (self.srtt >> 3);
        self.srtt = (self.srtt + difference).max(1);
        let mut change = difference.abs() - (self.deviation >> 2);
        if difference < 0 && change > 0 {
            change >>= 3;
        }
        self.deviation += change;
        self.largest = self.largest.max(self.deviation);
        self.counted = self.counted.max(self.largest);
        if una > self.round {
            if self.largest < self.counted {
                self.counted -= (self.counted - self.largest) >> 2;
            }
            self.round = next;
            self.largest = self.minimum;
        }
    }

    /// The smoothed round trip, after the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Span> {
        (self.srtt > 0).then(|| Span::from_micros((self.srtt >> 3) as u64))
    }

    /// The timeout that the samples give.
    #[must_use]
    pub fn timeout(&self) -> Span {
        Span::from_micros(((self.srtt >> 3) + self.counted) as u64)
    }
}

fn micros(span: Span) -> i64 {
    (span.nanos() / 1000) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    #[test]
    fn the_minimum_is_a_part_of_the_timeout() {
        let mut smoother = Smoother::new(ms(200));
        smoother.sample(ms(20), 1, 1);
        assert_eq!((smoother.srtt(), smoother.timeout()), (Some(ms(20)), ms(220)));
        (0..100).for_each(|n| smoother.sample(ms(20), n, n + 10));
        assert_eq!(smoother.timeout(), ms(220), "RFC 6298 with the same minimum: 200 ms");
    }

    #[test]
    fn the_largest_deviation_of_a_round_counts() {
        let mut smoother = Smoother::new(ms(200));
        smoother.sample(ms(100), 0, 10);
        // Four times the deviation: 200 ms; of the sample 400 ms it becomes 150 + 300 ms.
        smoother.sample(ms(400), 5, 10);
        assert_eq!(smoother.timeout(), Span::from_micros(137_500 + 450_000));
        let before = smoother.timeout() - smoother.srtt().expect("a sample");
        // A round without deviation takes off a quarter of what is too much.
        let mut una = 11;
        for _ in 0..2 {
            let steady = smoother.srtt().expect("a sample");
            smoother.sample(steady, una, una + 10);
            una += 11;
        }
        let after = smoother.timeout() - smoother.srtt().expect("a sample");
        assert!(after < before && after > before * 3 / 4 - ms(1), "{before} {after}");
    }

    #[test]
    fn a_shorter_round_trip_hardly_lengthens_the_timeout() {
        let after = |last| {
            let mut smoother = Smoother::new(ms(1));
            // Each sample ends a round, so that the first deviation is forgotten.
            (1..100).for_each(|n| smoother.sample(ms(500), n * 10, n * 10 + 5));
            smoother.sample(last, 0, 10);
            smoother.timeout() - smoother.srtt().expect("a sample")
        };
        let (longer, shorter) = (after(ms(900)), after(ms(100)));
        assert!(longer > ms(390) && shorter < longer / 7, "{longer} {shorter}");
    }
}
