//! The round trips of each window of data, from which a variant estimates the queue on the path.

use hopyard_engine::Span;

use super::View;

/// The round trips of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// The shortest one.
    pub min: Span,
    /// The average.
    pub mean: Span,
    /// The number of samples.
    pub count: u32,
}

/// The round trips of a connection.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrips {
    /// The shortest one of the connection.
    pub base: Span,
    min: Span,
    /// A sum of whole nanoseconds: with a rounded one, equal round trips would have an average above their minimum.
    sum: Span,
    count: u32,
    /// The window ends when more than this is acknowledged.
    end: u64,
}

impl Default for RoundTrips {
    fn default() -> Self {
        Self { base: Span::MAX, min: Span::MAX, sum: Span::ZERO, count: 0, end: 0 }
    }
}

impl RoundTrips {
    /// A round trip was measured.
    pub fn add(&mut self, round_trip: Span) {
        self.base = self.base.min(round_trip);
        self.min = self.min.min(round_trip);
        self.sum += round_trip;
        self.count += 1;
    }

    /// Another window begins; the base stays.
    pub fn restart(&mut self, view: &View) {
        *self = Self { base: self.base, end: view.next, ..Self::default() };
    }

    /// The round trips of the window that this acknowledgement ends, if it ends one with samples.
    pub fn ended(&mut self, view: &View) -> Option<Round> {
        if view.una <= self.end {
            return None;
        }
        let round = (self.count > 0).then(|| Round {
            min: self.min,
            mean: self.sum / u64::from(self.count),
            count: self.count,
        });
        self.restart(view);
        round
    }

    /// The segments of a window of `cwnd` that wait in the queue, by this round trip (Vegas).
    pub fn queued(&self, cwnd: f64, round_trip: Span) -> f64 {
        let above = round_trip - self.base.min(round_trip);
        if round_trip.is_zero() { 0.0 } else { cwnd * above.seconds() / round_trip.seconds() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::congestion::testing::view_at;

    #[test]
    fn a_window_has_its_own_round_trips_and_the_connection_its_base() {
        let mut trips = RoundTrips::default();
        let ms = Span::from_millis;
        trips.add(ms(100));
        trips.add(ms(130));
        let end = |una, next| View { una, next, ..view_at(0, 10.0) };
        let round = Round { min: ms(100), mean: ms(115), count: 2 };
        assert_eq!(trips.ended(&end(1, 5001)), Some(round));
        trips.add(ms(150));
        assert_eq!(trips.ended(&end(5001, 9001)), None);
        assert_eq!(trips.ended(&end(5002, 9001)), Some(Round { min: ms(150), mean: ms(150), count: 1 }));
        assert_eq!(trips.ended(&end(9002, 9001)), None, "no samples");
        assert_eq!((trips.base, trips.queued(30.0, ms(150)), trips.queued(30.0, ms(90))), (ms(100), 10.0, 0.0));
    }
}
