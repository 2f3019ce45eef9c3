//! Vegas as Linux computes it. The window doubles in every round of slow start, the round trip of a round is its
//! shortest one, and losses are repaired as in Reno.
//!
//! Once in each round the difference between the window and the capacity of the path without a queue decides. A round
//! with fewer than three round trips, and the time while segments are missing, follow Reno.

use crate::transport::congestion::control::{Whole, delivered, micros, slow_start};
use crate::transport::congestion::{
    Ack, Answer, Arrived, Condition, CongestionControl, Loss, Phase, RecoveryChoice, Sent, Timeout, View,
};

/// Round trips that a round must have.
const ENOUGH: u32 = 3;

/// The constants of the computation.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// The window grows if fewer segments are queued.
    pub alpha: f64,
    /// The window shrinks if more segments are queued.
    pub beta: f64,
    /// Slow start ends if more segments are queued.
    pub gamma: f64,
}

/// Vegas's congestion control as in Linux. Round trips are in microseconds; Linux adds one to each.
#[derive(Clone, Debug)]
pub struct Linux {
    constants: Constants,
    whole: Whole,
    /// Whether no segment is missing.
    open: bool,
    /// The sequence number beyond which the round ends.
    round: Option<u64>,
    /// The shortest round trip, the shortest of this round, and the number of round trips of this round.
    base: Option<u64>,
    least: Option<u64>,
    samples: u32,
}

impl Linux {
    /// The congestion control with these constants.
    #[must_use]
    pub fn new(constants: Constants) -> Self {
        Self { constants, whole: Whole::default(), open: true, round: None, base: None, least: None, samples: 0 }
    }

    const fn begin_round(&mut self, view: &View) {
        self.round = Some(view.max);
        self.forget_samples();
    }

    const fn forget_samples(&mut self) {
        self.samples = 0;
        self.least = None;
    }

    /// The window and the threshold at the end of a round.
    fn end_round(&mut self, ack: &Ack, view: &View) -> (f64, f64) {
        self.round = Some(view.max);
        let (Some(base), Some(least)) = (self.base, self.least.filter(|_| self.samples >= ENOUGH)) else {
            return (self.reno(ack, view), view.ssthresh);
        };
        let window = view.cwnd as u64;
        let target = (window * base / least) as f64;
        let queued = (window * (least - base) / base) as f64;
        let (mut cwnd, mut ssthresh) = (view.cwnd, view.ssthresh);
        if cwnd < ssthresh {
            if queued > self.constants.gamma {
                cwnd = cwnd.min(target + 1.0);
                ssthresh = ssthresh.min(cwnd);
            } else {
                cwnd = slow_start(delivered(ack, view), view).0;
            }
        } else if queued > self.constants.beta {
            cwnd -= 1.0;
            ssthresh = ssthresh.min(cwnd);
        } else if queued < self.constants.alpha {
            cwnd += 1.0;
        }
        cwnd = cwnd.max(2.0);
        (cwnd, ssthresh.max(libm::floor(cwnd / 2.0) + libm::floor(cwnd / 4.0)))
    }

    fn reno(&mut self, ack: &Ack, view: &View) -> f64 {
        if ack.window_limited { self.whole.grown(ack, view) } else { view.cwnd }
    }
}

impl Linux {
    pub fn on_condition(&mut self, condition: Condition, view: &View) {
        self.open = condition == Condition::Open;
        if self.open {
            self.begin_round(view);
        }
    }
}

impl CongestionControl for Linux {
    fn on_arrival(&mut self, arrived: &Arrived, _view: &View) -> Answer {
        if let Some(round_trip) = arrived.round_trip {
            let trip = micros(round_trip) + 1;
            let least = |known: Option<u64>| Some(known.map_or(trip, |known| known.min(trip)));
            self.base = least(self.base);
            self.least = least(self.least);
            self.samples += 1;
        }
        Answer::Keep
    }

    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        if ack.phase != Phase::Open {
            return Answer::Keep;
        }
        let (cwnd, ssthresh) = if !self.open {
            (self.reno(ack, view), view.ssthresh)
        } else if self.round.is_none_or(|round| view.una > round) {
            let windows = self.end_round(ack, view);
            self.forget_samples();
            windows
        } else {
            (slow_start(delivered(ack, view), view).0, view.ssthresh)
        };
        Answer::Set { cwnd, ssthresh }
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        self.whole.forget();
        let ssthresh = libm::floor(view.cwnd / 2.0).max(2.0);
        Answer::Set { cwnd: ssthresh, ssthresh }
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.whole.forget();
        let halved = libm::floor(view.cwnd / 2.0).max(2.0);
        Answer::Set { cwnd: 1.0, ssthresh: if timeout.repeated > 0 { view.ssthresh } else { halved } }
    }

    fn on_sent(&mut self, sent: &Sent, view: &View) {
        // Nothing else is in the network: the path may have changed.
        if view.pipe <= 1.0 {
            self.base = None;
            self.open = true;
            self.begin_round(&View { max: if sent.retransmission { view.max } else { sent.seq }, ..*view });
        }
    }

    fn recovery(&self) -> RecoveryChoice {
        RecoveryChoice::Rack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{LINUX, Params as _};
    use crate::transport::congestion::testing::{ACK, LOSS, ack, set, view_at};
    use crate::transport::congestion::vegas::Params;

    /// The window after a round of three round trips that ends with this window.
    fn end_of_round(millis: u64, cwnd: f64, ssthresh: f64) -> (f64, f64) {
        let mut vegas = Linux::new(Params::of_profile(LINUX).linux());
        let view = View { ssthresh, una: 5000, max: 90_000, ..view_at(0, cwnd) };
        vegas.base = Some(100_001);
        for _ in 0..3 {
            vegas.on_arrival(&Arrived { round_trip: ack(1, millis).round_trip }, &view);
        }
        set(vegas.on_ack(&ACK, &view))
    }

    #[test]
    fn slow_start_ends_with_the_first_queue() {
        assert_eq!(end_of_round(105, 10.0, 1e9), (11.0, 1e9), "half a segment is queued");
        assert_eq!(end_of_round(150, 10.0, 1e9), (7.0, 7.0), "the path holds six");
    }

    #[test]
    fn the_window_moves_by_one_in_a_round() {
        assert_eq!(end_of_round(110, 10.0, 8.0).0, 11.0, "one segment is queued");
        assert_eq!(end_of_round(130, 10.0, 8.0).0, 10.0);
        assert_eq!(end_of_round(160, 10.0, 8.0).0, 9.0);
    }

    #[test]
    fn a_loss_halves_as_in_reno() {
        let mut vegas = Linux::new(Params::of_profile(LINUX).linux());
        assert_eq!(set(vegas.on_loss(&LOSS, &view_at(0, 21.0))), (10.0, 10.0));
    }
}
