//! Compound TCP: Reno's window, and beside it a window that grows fast while the path has no queue.
//!
//! Read: K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP Approach for High-Speed and Long Distance Networks",
//! INFOCOM 2006; draft-sridharan-tcpm-ctcp-02. The window is the sum of two: one that grows as Reno's, and the delay
//! window. Once in each round trip of congestion avoidance, the delay window grows by `α win^k - 1` segments if fewer
//! than `γ` segments wait in the queue of the path, estimated as in Vegas from the average round trip. Otherwise it
//! shrinks by `ζ` times their number. A loss leaves the share `1 - β` of the whole window and half of Reno's. A timeout
//! ends the delay window. γ follows the queue that Reno's window alone would have at a loss (draft §3.6): three
//! quarters of it, averaged and between `gamma_low` and `gamma_high`. Left out: an initial window of its own, and the
//! sampling of a part of the round trips, which saves memory. Validated by values computed by hand (tests below) and by
//! the closed form of the growth without a queue (`tests/delay_senders.rs`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::control::{Round, RoundTrips};
use super::reno::{self, Halve, Reno};
use super::{Ack, Answer, CongestionControl, Loss, Phase, Timeout, View};
use crate::params::{self, Fault};

reno::grows_as_reno! {
    /// Compound TCP's parameters.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Params {
        /// The factor of the delay window's growth (α).
        pub alpha: f64,
        /// The share of the whole window that a loss takes (β).
        pub beta: f64,
        /// The exponent of the delay window's growth (k).
        pub exponent: f64,
        /// The number of segments that leave the delay window for each one in the queue (ζ).
        pub zeta: f64,
        /// The number of segments in the queue from which the delay window shrinks (γ), at the beginning.
        pub gamma: f64,
        /// Whether γ follows the queue of Reno's window at each loss.
        pub tune_gamma: bool,
        /// The smallest γ that follows.
        pub gamma_low: f64,
        /// The largest γ that follows.
        pub gamma_high: f64,
        /// The weight of a new value of γ.
        pub gamma_weight: f64,
        ..growth
    }
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            alpha: 0.125,
            beta: 0.5,
            exponent: 0.75,
            zeta: 1.0,
            gamma: 30.0,
            tune_gamma: true,
            gamma_low: 5.0,
            gamma_high: 30.0,
            gamma_weight: 0.5,
            slow_start_limit: 1,
            count_bytes: false,
            grow_only_when_limited: true,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        let positive =
            [("alpha", self.alpha), ("zeta", self.zeta), ("gamma", self.gamma), ("gamma_low", self.gamma_low)];
        if let Some((name, value)) = positive.into_iter().find(|(_, value)| !(*value > 0.0 && value.is_finite())) {
            return Err(Fault::new(name, format!("expected more than 0, found {value}")));
        }
        let shares = [("beta", self.beta), ("exponent", self.exponent)];
        if let Some((name, value)) = shares.into_iter().find(|(_, value)| !(*value > 0.0 && *value < 1.0)) {
            return Err(Fault::new(name, format!("expected more than 0 and less than 1, found {value}")));
        }
        if !(self.gamma_high >= self.gamma_low && self.gamma_high.is_finite()) {
            let problem = format!("expected at least gamma_low ({}), found {}", self.gamma_low, self.gamma_high);
            return Err(Fault::new("gamma_high", problem));
        }
        Fault::unless("gamma_weight", self.gamma_weight, |it| it > 0.0 && it <= 1.0, "more than 0 and at most 1")?;
        self.reno(Halve::Flight, true).check()
    }

    fn unused(&self) -> Vec<params::Unused> {
        params::unused_where([(!self.tune_gamma, "tune_gamma", &["gamma_low", "gamma_high", "gamma_weight"])])
    }
}

/// Compound TCP's congestion control.
#[derive(Clone, Debug)]
pub struct Compound {
    params: Params,
    reno: Reno,
    trips: RoundTrips,
    /// The delay window. The rest of the window is Reno's.
    delay: f64,
    gamma: f64,
    /// The segments of Reno's window that waited in the queue in the last window, if it is known.
    reno_queue: Option<f64>,
}

impl Compound {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            reno: Reno::new(&params.reno(Halve::Flight, true)),
            trips: RoundTrips::default(),
            delay: 0.0,
            gamma: params.gamma,
            reno_queue: None,
            params: params.clone(),
        }
    }

    /// The delay window after the round trips of one window, while the whole window is `cwnd`.
    fn end_round(&mut self, round: Round, cwnd: f64) {
        let queue = self.trips.queued(cwnd, round.mean);
        self.reno_queue = Some(self.trips.queued(cwnd - self.delay, round.mean));
        if queue < self.gamma {
            self.delay += (self.params.alpha * libm::pow(cwnd, self.params.exponent) - 1.0).max(0.0);
        } else {
            self.delay = (self.delay - self.params.zeta * queue).max(0.0);
        }
    }

    fn tune(&mut self) {
        let Some(queue) = self.reno_queue.take().filter(|_| self.params.tune_gamma) else { return };
        let weight = self.params.gamma_weight;
        let next = (1.0 - weight) * self.gamma + weight * 0.75 * queue;
        self.gamma = next.clamp(self.params.gamma_low, self.params.gamma_high);
    }
}

impl CongestionControl for Compound {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        // The opening segment is shorter: it is not compared with the others.
        if let Some(round_trip) = ack.round_trip.filter(|_| ack.bytes > 0) {
            self.trips.add(round_trip);
        }
        let ended = self.trips.ended(view);
        if ack.phase != Phase::Open {
            return Answer::Keep;
        }
        let cwnd = self.reno.grown(ack, view);
        // A recovery may have left less than the delay window.
        self.delay = self.delay.min(cwnd - 1.0).max(0.0);
        let before = self.delay;
        if let Some(round) = ended
            && view.cwnd >= view.ssthresh
            && (ack.window_limited || !self.params.grow_only_when_limited)
        {
            self.end_round(round, cwnd);
        }
        Answer::Set { cwnd: (cwnd + self.delay - before).max(2.0), ssthresh: view.ssthresh }
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        self.tune();
        let reno = (view.cwnd - self.delay) / 2.0;
        let (ssthresh, cwnd) = self.reno.cut(view, 1.0 - self.params.beta);
        self.delay = (cwnd - reno).max(0.0);
        Answer::Set { cwnd, ssthresh }
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.delay = 0.0;
        self.reno_queue = None;
        self.trips.restart(view);
        self.reno.on_timeout(timeout, view)
    }
}

#[cfg(test)]
mod tests;
