//! Growth of the window in whole segments, as in Linux.
//!
//! The window grows for the segments that reached the receiver, by acknowledgement or by SACK. Slow start ends at the
//! threshold; the rest counts for congestion avoidance. There a counter holds what has not led to a whole segment yet.

use hopyard_engine::Span;

use super::event::Ack;
use super::view::View;

/// The counter of segments that have not led to growth yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Whole {
    count: f64,
}

/// The segments that an acknowledgement delivers. The last segment of a transfer may be shorter.
#[must_use]
pub fn delivered(ack: &Ack, view: &View) -> f64 {
    libm::ceil(ack.delivered as f64 / f64::from(view.segment))
}

impl Whole {
    /// The window after an acknowledgement, by Reno's rules.
    pub fn grown(&mut self, ack: &Ack, view: &View) -> f64 {
        let (cwnd, rest) = slow_start(delivered(ack, view), view);
        if rest > 0.0 { self.avoid(cwnd, cwnd, rest) } else { cwnd }
    }

    /// The window `cwnd` in congestion avoidance after `delivered` segments. As many as `each` let it grow by one.
    pub fn avoid(&mut self, cwnd: f64, each: f64, delivered: f64) -> f64 {
        let mut cwnd = cwnd;
        // What was counted while the window grew more slowly.
        if self.count >= each {
            self.count = 0.0;
            cwnd += 1.0;
        }
        self.count += delivered;
        if self.count >= each {
            let growth = libm::floor(self.count / each);
            self.count -= growth * each;
            cwnd += growth;
        }
        cwnd
    }

    /// Segments that have not led to growth yet.
    #[must_use]
    pub const fn count(&self) -> f64 {
        self.count
    }

    /// Counts segments without growth.
    pub fn add(&mut self, segments: f64) {
        self.count += segments;
    }

    /// The window is reduced.
    pub const fn forget(&mut self) {
        self.count = 0.0;
    }
}

/// The window after `delivered` segments in slow start, and how many of them are left for congestion avoidance.
#[must_use]
pub fn slow_start(delivered: f64, view: &View) -> (f64, f64) {
    if view.cwnd >= view.ssthresh {
        return (view.cwnd, delivered);
    }
    let cwnd = (view.cwnd + delivered).min(view.ssthresh);
    (cwnd, delivered - (cwnd - view.cwnd))
}

/// Whole microseconds.
#[must_use]
pub const fn micros(span: Span) -> u64 {
    span.nanos() / 1000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::congestion::testing::{ack, view_at};

    #[test]
    fn slow_start_ends_at_the_threshold_and_the_rest_counts() {
        let mut whole = Whole::default();
        let view = View { ssthresh: 12.0, ..view_at(0, 10.0) };
        assert_eq!(whole.grown(&ack(8, 100), &view), 12.0);
        assert_eq!(whole.count(), 6.0);
    }

    #[test]
    fn a_window_of_segments_lets_it_grow_by_one() {
        let mut whole = Whole::default();
        let grown: Vec<f64> = (0..21).map(|_| whole.grown(&ack(1, 100), &view_at(0, 10.0))).collect();
        assert!(grown[..9].iter().all(|cwnd| *cwnd == 10.0));
        assert_eq!(grown[9], 11.0);
        // A loss takes back what was counted.
        whole.forget();
        assert_eq!(whole.grown(&ack(9, 100), &view_at(0, 10.0)), 10.0);
        // What was counted at a larger window counts at most once.
        let mut whole = Whole::default();
        whole.grown(&ack(19, 100), &view_at(0, 20.0));
        assert_eq!((whole.grown(&ack(1, 100), &view_at(0, 5.0)), whole.count()), (6.0, 1.0));
    }
}
