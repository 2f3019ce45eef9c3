//! Illinois: losses decide when the window shrinks; the queueing delay decides how fast it grows and by how much it
//! shrinks.
//!
//! Read: S. Liu, T. Basar and R. Srikant, "TCP-Illinois: A Loss- and Delay-Based Congestion Control Algorithm for
//! High-Speed Networks", VALUETOOLS 2006 and Performance Evaluation 65, 2008; for the profile `linux`, the behaviour of
//! Linux's `tcp_illinois`. Once in each round trip, the average queueing delay da and the largest one so far, dm, give
//! two values. Alpha is the growth of the window in each round trip of congestion avoidance; it is large while the
//! queue is empty and small when it is full. Beta is the share by which a loss reduces the window; it is small when the
//! queue is empty. Alpha returns to its maximum only after some rounds with an empty queue. Small windows behave as in
//! Reno. The profiles differ in constants (of the paper's simulations, and of Linux) and in the recovery. Left out of
//! Linux: fixed-point arithmetic, the limit of round-trip times at 3.3 s, the growth of the window in whole segments.
//! Validated by points of both curves computed by hand, and against the kernel module in ns-2.35
//! (`tests/kernel_modules.rs`). That module is older: it reduces the window to the share beta instead of by the share
//! beta. Later kernels and this file do not have this error.

mod linux;

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::linux::{Constants, Linux};
use super::control::{Arithmetic, two_computations};
use super::reno::{self, Halve, Reno};
use super::{
    Ack, Answer, Arrived, CongestionControl, Duplicate, Loss, NetworkEvent, Pace, Phase, RecoveryChoice, Sent, Timeout,
    View, Wants,
};
use crate::params::{self, Fault, LINUX, RFC};

const PAPER: &str = "paper";

reno::grows_as_reno! {
    /// Illinois's parameters.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Params {
        /// The maximum growth of the window in a round trip, in segments.
        pub alpha_max: f64,
        /// The minimum growth of the window in a round trip, in segments. rfc, linux: 0.3; paper: 0.1.
        pub alpha_min: f64,
        /// The minimum share by which a loss reduces the window.
        pub beta_min: f64,
        /// The maximum share by which a loss reduces the window.
        pub beta_max: f64,
        /// Below this window, in segments, alpha is 1 and beta is a half. rfc, linux: 15; paper: 10.
        pub window_threshold: f64,
        /// The number of rounds with a delay below `low_delay` after which alpha is `alpha_max` again (theta).
        pub patience: u32,
        /// The share of the largest queueing delay up to which alpha is `alpha_max`.
        pub low_delay: f64,
        /// The share of the largest queueing delay up to which beta is `beta_min`.
        pub beta_min_delay: f64,
        /// The share of the largest queueing delay from which beta is `beta_max`.
        pub beta_max_delay: f64,
        /// The quantity that a loss reduces. rfc, linux: window; paper: flight.
        pub halve: Halve,
        /// Whether losses are repaired with selective acknowledgements (RFC 6675) instead of NewReno's recovery. rfc,
        /// rfc, linux: on; paper: off.
        pub sack: bool,
        ..growth
        /// Whether the computation is the published one, or Linux's in whole segments. rfc, paper: published; linux:
        /// linux.
        pub arithmetic: Arithmetic,
    }
}

impl Params {
    /// The constants in the computation of Linux.
    const fn linux(&self) -> Constants {
        let &Self {
            alpha_max,
            alpha_min,
            beta_min,
            beta_max,
            window_threshold,
            patience,
            low_delay,
            beta_min_delay,
            beta_max_delay,
            ..
        } = self;
        Constants {
            alpha_max,
            alpha_min,
            beta_min,
            beta_max,
            window_threshold,
            patience,
            low_delay,
            beta_min_delay,
            beta_max_delay,
        }
    }

    /// Alpha for a queueing delay `da` of at most `dm`, both in seconds, above the low delay.
    fn alpha(&self, da: f64, dm: f64) -> f64 {
        let d1 = self.low_delay * dm;
        let spread = self.alpha_max - self.alpha_min;
        if spread <= 0.0 {
            return self.alpha_max;
        }
        // k1 / (k2 + da): alpha_max at d1 and alpha_min at dm.
        let k1 = (dm - d1) * self.alpha_min * self.alpha_max / spread;
        let k2 = (dm - d1) * self.alpha_min / spread - d1;
        k1 / (k2 + da)
    }

    /// Beta for a queueing delay `da` of at most `dm`.
    fn beta(&self, da: f64, dm: f64) -> f64 {
        let (d2, d3) = (self.beta_min_delay * dm, self.beta_max_delay * dm);
        if da <= d2 {
            self.beta_min
        } else if da >= d3 {
            self.beta_max
        } else {
            self.beta_min + (self.beta_max - self.beta_min) * (da - d2) / (d3 - d2)
        }
    }
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, PAPER, LINUX];

    fn of_profile(profile: &str) -> Self {
        let paper = profile == PAPER;
        Self {
            alpha_max: 10.0,
            alpha_min: if paper { 0.1 } else { 0.3 },
            beta_min: 0.125,
            beta_max: 0.5,
            window_threshold: if paper { 10.0 } else { 15.0 },
            patience: 5,
            low_delay: 0.01,
            beta_min_delay: 0.1,
            beta_max_delay: 0.8,
            halve: if paper { Halve::Flight } else { Halve::Window },
            sack: !paper,
            slow_start_limit: 1,
            count_bytes: !paper,
            grow_only_when_limited: true,
            arithmetic: if profile == LINUX { Arithmetic::Linux } else { Arithmetic::Published },
        }
    }

    fn check(&self) -> Result<(), Fault> {
        Fault::unless("alpha_min", self.alpha_min, |it| it > 0.0 && it.is_finite(), "more than 0")?;
        if !(self.alpha_max >= self.alpha_min && self.alpha_max.is_finite()) {
            let problem = format!("expected at least alpha_min ({}), found {}", self.alpha_min, self.alpha_max);
            return Err(Fault::new("alpha_max", problem));
        }
        Fault::unless("beta_min", self.beta_min, |it| it > 0.0 && it < 1.0, "more than 0 and less than 1")?;
        if !(self.beta_max >= self.beta_min && self.beta_max < 1.0) {
            let problem =
                format!("expected at least beta_min ({}) and less than 1, found {}", self.beta_min, self.beta_max);
            return Err(Fault::new("beta_max", problem));
        }
        if !(self.window_threshold >= 0.0 && self.window_threshold.is_finite()) {
            let problem = format!("expected a number of segments, found {}", self.window_threshold);
            return Err(Fault::new("window_threshold", problem));
        }
        Fault::unless("low_delay", self.low_delay, |it| (0.0..1.0).contains(&it), "at least 0 and less than 1")?;
        if !(0.0..1.0).contains(&self.beta_min_delay) {
            let problem = format!("expected at least 0 and less than 1, found {}", self.beta_min_delay);
            return Err(Fault::new("beta_min_delay", problem));
        }
        Fault::unless(
            "beta_max_delay",
            self.beta_max_delay,
            |it| it > self.beta_min_delay && it <= 1.0,
            format_args!("more than beta_min_delay ({}) and at most 1", self.beta_min_delay),
        )?;
        self.reno(self.halve, true).check()
    }
}

two_computations!(Illinois, "Illinois's congestion control.", arithmetic == Arithmetic::Linux);

/// Illinois's congestion control as published. Round-trip times are summed in whole nanoseconds. With a rounded sum,
/// equal round-trip times would have an average above their minimum, and a path without a queue would seem to have a
/// full one.
#[derive(Clone, Debug)]
pub struct Published {
    params: Params,
    reno: Reno,
    alpha: f64,
    beta: f64,
    /// The shortest and the longest round trip.
    min_rtt: Span,
    max_rtt: Span,
    /// Sum and number of the round's samples; it ends beyond this sequence number.
    samples: (Span, u64),
    round: u64,
    /// The delay was above the low delay since alpha was last at its maximum; and the number of rounds for which it has
    /// been below.
    above: bool,
    low_rounds: u32,
}

impl Published {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
            reno: Reno::new(&params.reno(params.halve, true)),
            alpha: params.alpha_max,
            beta: params.beta_max,
            min_rtt: Span::MAX,
            max_rtt: Span::ZERO,
            samples: (Span::ZERO, 0),
            round: 0,
            above: false,
            low_rounds: 0,
        }
    }

    fn measure(&mut self, round_trip: Span) {
        self.min_rtt = self.min_rtt.min(round_trip);
        self.max_rtt = self.max_rtt.max(round_trip);
        self.samples.0 += round_trip;
        self.samples.1 += 1;
    }

    fn end_round(&mut self, view: &View) {
        let (sum, count) = std::mem::take(&mut self.samples);
        self.round = view.next;
        if view.cwnd < self.params.window_threshold {
            (self.alpha, self.beta) = (1.0, 0.5);
        } else if count > 0 {
            let da = (sum / count - self.min_rtt).seconds();
            let dm = (self.max_rtt - self.min_rtt).seconds();
            self.adapt_alpha(da, dm);
            self.beta = self.params.beta(da, dm);
        }
    }

    fn adapt_alpha(&mut self, da: f64, dm: f64) {
        if da > self.params.low_delay * dm {
            self.above = true;
            self.alpha = self.params.alpha(da, dm);
            return;
        }
        if self.above {
            self.low_rounds += 1;
            if self.low_rounds < self.params.patience {
                return;
            }
        }
        self.low_rounds = 0;
        self.above = false;
        self.alpha = self.params.alpha_max;
    }
}

impl CongestionControl for Published {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        // The segment that opens the connection is shorter. It is not compared with the others (Linux begins after it).
        if let Some(round_trip) = ack.round_trip.filter(|_| ack.bytes > 0) {
            self.measure(round_trip);
        }
        if view.una > self.round {
            self.end_round(view);
        }
        if ack.phase != Phase::Open {
            return Answer::Keep;
        }
        let grown = self.reno.grown(ack, view);
        let cwnd = if view.cwnd < view.ssthresh { grown } else { view.cwnd + self.alpha * (grown - view.cwnd) };
        Answer::Set { cwnd, ssthresh: view.ssthresh }
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        let (ssthresh, cwnd) = self.reno.cut(view, 1.0 - self.beta);
        Answer::Set { cwnd, ssthresh }
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        let answer = if timeout.repeated == 0 {
            Answer::Set { cwnd: 1.0, ssthresh: self.reno.cut(view, 1.0 - self.beta).0 }
        } else {
            self.reno.on_timeout(timeout, view)
        };
        (self.alpha, self.beta) = (1.0, 0.5);
        self.above = false;
        self.low_rounds = 0;
        self.samples = (Span::ZERO, 0);
        self.round = view.next;
        answer
    }

    fn recovery(&self) -> RecoveryChoice {
        if self.params.sack { RecoveryChoice::Sack } else { RecoveryChoice::NewReno }
    }
}

#[cfg(test)]
mod tests;
