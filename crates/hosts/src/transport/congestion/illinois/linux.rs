//! Illinois as Linux computes it: whole segments, alpha in 128ths and beta in 64ths, microseconds.

use crate::transport::congestion::control::{Whole, delivered, micros, slow_start};
use crate::transport::congestion::{
    Ack, Answer, Arrived, CongestionControl, Loss, Phase, RecoveryChoice, Timeout, View,
};

const ALPHA: f64 = 128.0;
const BETA: f64 = 64.0;
/// One segment in a round trip, and one half.
const BASE: (u64, u64) = (128, 32);

/// The constants of the computation.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// The largest growth of the window in a round trip, in segments.
    pub alpha_max: f64,
    /// The smallest.
    pub alpha_min: f64,
    /// The smallest share by which a loss reduces the window.
    pub beta_min: f64,
    /// The largest.
    pub beta_max: f64,
    /// Below this window, in segments, alpha is 1 and beta is a half.
    pub window_threshold: f64,
    /// The rounds with a low delay after which alpha is at its maximum again.
    pub patience: u32,
    /// The share of the longest queueing delay up to which alpha is at its maximum.
    pub low_delay: f64,
    /// That up to which beta is at its minimum.
    pub beta_min_delay: f64,
    /// That from which beta is at its maximum.
    pub beta_max_delay: f64,
}

/// Illinois's congestion control as in Linux.
#[derive(Clone, Debug)]
pub struct Linux {
    constants: Constants,
    whole: Whole,
    alpha: u64,
    beta: u64,
    /// The shortest and the longest round trip, in microseconds.
    min_rtt: u64,
    max_rtt: u64,
    /// Sum and number of the round's samples; it ends beyond this sequence number.
    sum: u64,
    samples: u64,
    round: u64,
    above: bool,
    low_rounds: u32,
}

impl Linux {
    /// The congestion control with these constants.
    #[must_use]
    pub fn new(constants: Constants) -> Self {
        Self {
            constants,
            whole: Whole::default(),
            alpha: (constants.alpha_max * ALPHA) as u64,
            beta: BASE.1,
            min_rtt: u64::MAX,
            max_rtt: 0,
            sum: 0,
            samples: 0,
            // The first acknowledgement of data ends the round of the opening.
            round: 1,
            above: false,
            low_rounds: 0,
        }
    }

    /// The longest round trip that the arithmetic allows: 3.36 s.
    fn longest(&self) -> u64 {
        u64::from(u32::MAX) / (self.constants.alpha_max * ALPHA) as u64
    }

    fn end_round(&mut self, view: &View) {
        if view.cwnd < self.constants.window_threshold {
            (self.alpha, self.beta) = BASE;
        } else if let Some(average) = self.sum.checked_div(self.samples) {
            let longest = self.max_rtt - self.min_rtt;
            let average = average - self.min_rtt;
            self.alpha = self.next_alpha(average, longest);
            self.beta = self.next_beta(average, longest);
        }
        self.begin_round(view);
    }

    const fn begin_round(&mut self, view: &View) {
        self.round = view.max;
        self.sum = 0;
        self.samples = 0;
    }

    fn next_alpha(&mut self, average: u64, longest: u64) -> u64 {
        let (largest, smallest) =
            ((self.constants.alpha_max * ALPHA) as u64, (self.constants.alpha_min * ALPHA) as u64);
        let low = part(longest, self.constants.low_delay);
        if average > low {
            self.above = true;
            let (average, longest) = (average - low, longest - low);
            return longest * largest / (longest + average * (largest - smallest) / smallest);
        }
        if self.above {
            self.low_rounds += 1;
            if self.low_rounds < self.constants.patience {
                return self.alpha;
            }
        }
        self.low_rounds = 0;
        self.above = false;
        largest
    }

    fn next_beta(&self, average: u64, longest: u64) -> u64 {
        let (smallest, largest) = ((self.constants.beta_min * BETA) as u64, (self.constants.beta_max * BETA) as u64);
        let (low, high) = (part(longest, self.constants.beta_min_delay), part(longest, self.constants.beta_max_delay));
        if average <= low {
            smallest
        } else if average >= high || high <= low {
            largest
        } else {
            (smallest * high + (largest - smallest) * average - largest * low) / (high - low)
        }
    }

    fn cut(&self, view: &View) -> f64 {
        let window = view.cwnd as u64;
        ((window - window * self.beta / BETA as u64) as f64).max(2.0)
    }

    fn avoid(&mut self, ack: &Ack, view: &View) -> f64 {
        self.whole.add(f64::from(ack.segments));
        let window = view.cwnd as u64;
        let growth = self.whole.count() as u64 * self.alpha / ALPHA as u64;
        if growth < window {
            return view.cwnd;
        }
        self.whole.forget();
        view.cwnd + (growth / window) as f64
    }
}

/// A share of a delay, in whole microseconds.
fn part(delay: u64, share: f64) -> u64 {
    libm::floor(delay as f64 * share + 1e-9) as u64
}

impl CongestionControl for Linux {
    fn on_arrival(&mut self, arrived: &Arrived, _view: &View) -> Answer {
        if let Some(round_trip) = arrived.round_trip {
            let trip = micros(round_trip).min(self.longest());
            self.min_rtt = self.min_rtt.min(trip);
            self.max_rtt = self.max_rtt.max(trip);
            self.sum += trip;
            self.samples += 1;
        }
        Answer::Keep
    }

    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        if ack.phase != Phase::Open {
            return Answer::Keep;
        }
        if view.una > self.round {
            self.end_round(view);
        }
        if !ack.window_limited {
            return Answer::Keep;
        }
        let cwnd =
            if view.cwnd < view.ssthresh { slow_start(delivered(ack, view), view).0 } else { self.avoid(ack, view) };
        Answer::Set { cwnd, ssthresh: view.ssthresh }
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        self.whole.forget();
        let ssthresh = self.cut(view);
        Answer::Set { cwnd: ssthresh, ssthresh }
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.whole.forget();
        let ssthresh = if timeout.repeated > 0 { view.ssthresh } else { self.cut(view) };
        (self.alpha, self.beta) = BASE;
        self.low_rounds = 0;
        self.above = false;
        self.begin_round(view);
        Answer::Set { cwnd: 1.0, ssthresh }
    }

    fn recovery(&self) -> RecoveryChoice {
        RecoveryChoice::Rack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{LINUX, Params as _};
    use crate::transport::congestion::illinois::Params;
    use crate::transport::congestion::testing::{ACK, LOSS, ack, set, view_at};

    /// After a round of these round trips in milliseconds with a window of 40.
    fn illinois(millis: &[u64]) -> Linux {
        let mut illinois = Linux::new(Params::of_profile(LINUX).linux());
        for millis in millis {
            illinois.on_arrival(&Arrived { round_trip: ack(1, *millis).round_trip }, &view_at(0, 40.0));
        }
        illinois.on_ack(&ACK, &View { una: 5000, max: 90_000, ..view_at(0, 40.0) });
        illinois
    }

    #[test]
    fn without_a_queue_the_window_grows_fast_and_falls_little() {
        let mut free = illinois(&[100, 100]);
        assert_eq!((free.alpha, free.beta), (1280, 8));
        assert_eq!(set(free.on_loss(&LOSS, &view_at(0, 40.0))), (35.0, 35.0));
    }

    #[test]
    fn with_a_full_queue_it_is_the_reverse() {
        // The average is at the end of the range: 200 of 100 to 200 ms.
        let mut full = illinois(&[100, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200]);
        assert!((38..=46).contains(&full.alpha), "{}", full.alpha);
        assert_eq!(full.beta, 32);
        assert_eq!(set(full.on_loss(&LOSS, &view_at(0, 41.0))), (21.0, 21.0), "the half that is taken is rounded");
    }

    #[test]
    fn a_timeout_forgets_both() {
        let mut free = illinois(&[100, 100]);
        assert_eq!(set(free.on_timeout(&Timeout { repeated: 0 }, &view_at(0, 40.0))), (1.0, 35.0));
        assert_eq!((free.alpha, free.beta), BASE);
    }
}
