//! YeAH: grows fast while the queue of the path is short, and as Reno while it is long. It empties a queue that it has
//! built itself.
//!
//! Read: A. Baiocchi, A. P. Castellani, F. Vacirca, "YeAH-TCP: Yet Another Highspeed TCP", PFLDnet 2007; for the
//! profile `linux`, the behaviour of Linux's `tcp_yeah`, whose constants both profiles have. Once in each round trip
//! the shortest round trip of the window tells how many segments of it wait in a queue, as in Vegas. With few segments
//! and a small delay the window grows as that of Scalable TCP, by a hundredth of a segment for each one. Otherwise it
//! grows as that of Reno, and a queue of more than `max_queue` segments is taken from the window at once, but not below
//! an estimate of the window that a competing Reno would have. A loss takes as many segments as were in the queue, at
//! least an eighth of the window; it halves the window if the queue has been long for sixteen round trips, because
//! then others fill it. The profile `linux` counts whole segments, and measures no queue while segments are missing.
//! Left out of Linux: a pause does not stop the measurement. Validated by values computed by hand, by the closed form
//! of the growth (`tests/delay_senders.rs`), and against ns-3.37 and Linux 6.1 (`tests/windows.rs`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::control::{Arithmetic, Round, RoundTrips, Whole, delivered, slow_start};
use super::reno::{self, Halve, Reno};
use super::{Ack, Answer, Condition, CongestionControl, Loss, Phase, Timeout, View};
use crate::params::{self, Fault, LINUX, RFC};

/// With fewer samples in a window, all may be from delayed acknowledgements.
const FEWEST_SAMPLES: u32 = 3;
/// The smallest estimate of Reno's window.
const SMALLEST: f64 = 2.0;

reno::grows_as_reno! {
    /// YeAH's parameters.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Params {
        /// The largest number of segments in the queue in fast mode; more are taken from the window (`Q_max`).
        pub max_queue: f64,
        /// The largest queueing delay in fast mode, as a share of the shortest round trip (1/φ).
        pub max_delay: f64,
        /// The share of the segments in the queue that is taken from the window (γ).
        pub decongestion: f64,
        /// The largest share of the window that is taken so (ε).
        pub max_decongestion: f64,
        /// The smallest share of the window that a loss takes (δ).
        pub min_decrease: f64,
        /// The number of round trips with a long queue after which a loss halves the window (ρ).
        pub competition_rounds: u32,
        /// The number of round trips in fast mode after which the estimate of Reno's window starts again (ζ).
        pub fast_rounds: u32,
        /// The number of acknowledged segments for which the window grows by one in fast mode, if the window is larger.
        pub fast_growth: u32,
        ..growth
        /// Whether the computation is the published one, or Linux's in whole segments. rfc: published; linux: linux.
        pub arithmetic: Arithmetic,
    }
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, LINUX];

    fn of_profile(profile: &str) -> Self {
        let linux = profile == LINUX;
        Self {
            max_queue: 80.0,
            max_delay: 0.125,
            decongestion: 1.0,
            max_decongestion: 0.5,
            min_decrease: 0.125,
            competition_rounds: 16,
            fast_rounds: 50,
            fast_growth: 100,
            slow_start_limit: if linux { 65_535 } else { 1 },
            count_bytes: true,
            grow_only_when_limited: true,
            arithmetic: if linux { Arithmetic::Linux } else { Arithmetic::Published },
        }
    }

    fn check(&self) -> Result<(), Fault> {
        Fault::unless("max_queue", self.max_queue, |it| it > 0.0 && it.is_finite(), "more than 0 segments")?;
        Fault::unless("max_delay", self.max_delay, |it| it > 0.0 && it.is_finite(), "more than 0")?;
        let shares = [
            ("decongestion", self.decongestion),
            ("max_decongestion", self.max_decongestion),
            ("min_decrease", self.min_decrease),
        ];
        if let Some((name, share)) = shares.into_iter().find(|(_, share)| !(*share > 0.0 && *share <= 1.0)) {
            return Err(Fault::new(name, format!("expected more than 0 and at most 1, found {share}")));
        }
        Fault::unless("fast_growth", self.fast_growth, |it| it > 0, "at least 1")?;
        self.reno(Halve::Window, true).check()
    }
}

/// YeAH's congestion control.
#[derive(Clone, Debug)]
pub struct Yeah {
    params: Params,
    reno: Reno,
    whole: Whole,
    trips: RoundTrips,
    /// Segments are missing, and no round ends.
    paused: bool,
    /// Segments in the queue in the last window.
    queue: f64,
    /// The number of round trips since the queue became long; zero in fast mode.
    slow_rounds: u32,
    fast_rounds: u32,
    /// The window that a competing Reno would have.
    reno_window: f64,
}

impl Yeah {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            reno: Reno::new(&params.reno(Halve::Window, true)),
            whole: Whole::default(),
            trips: RoundTrips::default(),
            paused: false,
            queue: 0.0,
            slow_rounds: 0,
            fast_rounds: 0,
            reno_window: SMALLEST,
            params: params.clone(),
        }
    }

    /// Linux measures the queue while nothing is missing, and begins a round when nothing is missing any more.
    pub(super) fn on_condition(&mut self, condition: Condition, view: &View) {
        self.paused = self.is_linux() && condition != Condition::Open;
        if self.is_linux() && !self.paused {
            self.trips.restart(view);
        }
    }

    fn is_linux(&self) -> bool {
        self.params.arithmetic == Arithmetic::Linux
    }

    /// A number of segments as the profile counts them.
    fn whole(&self, segments: f64) -> f64 {
        if self.is_linux() { libm::floor(segments) } else { segments }
    }

    /// The window after the round trips of one window, from the window after the acknowledgement.
    fn end_round(&mut self, round: Round, cwnd: f64, ssthresh: f64) -> (f64, f64) {
        if round.count < FEWEST_SAMPLES {
            return (cwnd, ssthresh);
        }
        self.queue = self.whole(self.trips.queued(cwnd, round.min));
        let delay = (round.min - self.trips.base).seconds();
        let long = self.queue > self.params.max_queue;
        if !long && delay <= self.params.max_delay * self.trips.base.seconds() {
            self.slow_rounds = 0;
            self.fast_rounds += 1;
            if self.fast_rounds > self.params.fast_rounds {
                self.fast_rounds = 0;
                self.reno_window = SMALLEST;
            }
            return (cwnd, ssthresh);
        }
        self.slow_rounds += 1;
        let mut answer = (cwnd, ssthresh);
        if long && cwnd > self.reno_window {
            let share = self.whole(self.params.max_decongestion * cwnd);
            let rest = cwnd - self.whole(self.params.decongestion * self.queue).min(share);
            let rest = rest.max(self.reno_window);
            answer = (rest, rest);
        }
        if self.reno_window <= SMALLEST {
            self.reno_window = self.whole(answer.0 / 2.0).max(SMALLEST);
        } else {
            self.reno_window += 1.0;
        }
        answer
    }

    fn avoid(&mut self, ack: &Ack, view: &View) -> f64 {
        if self.params.grow_only_when_limited && !ack.window_limited {
            return view.cwnd;
        }
        let fast = self.slow_rounds == 0;
        let each = if fast { view.cwnd.min(f64::from(self.params.fast_growth)) } else { view.cwnd };
        if self.is_linux() {
            return self.whole.avoid(view.cwnd, each, delivered(ack, view));
        }
        view.cwnd + (self.reno.grown(ack, view) - view.cwnd) * view.cwnd / each
    }

    /// The share of the window that a loss leaves.
    fn kept(&mut self, view: &View) -> f64 {
        let half = self.whole(view.cwnd / 2.0).max(SMALLEST);
        let taken = if self.slow_rounds < self.params.competition_rounds {
            self.queue.min(half).max(self.whole(self.params.min_decrease * view.cwnd))
        } else {
            half
        };
        self.fast_rounds = 0;
        self.reno_window = self.whole(self.reno_window / 2.0).max(SMALLEST);
        self.whole.forget();
        (1.0 - taken / view.cwnd).max(0.0)
    }
}

impl CongestionControl for Yeah {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        // The opening segment is shorter: it is not compared with the others.
        if let Some(round_trip) = ack.round_trip.filter(|_| ack.bytes > 0) {
            self.trips.add(round_trip);
        }
        let ended = if self.paused { None } else { self.trips.ended(view) };
        if ack.phase != Phase::Open {
            return Answer::Keep;
        }
        let cwnd = if view.cwnd >= view.ssthresh {
            self.avoid(ack, view)
        } else if self.is_linux() && (ack.window_limited || !self.params.grow_only_when_limited) {
            slow_start(delivered(ack, view), view).0
        } else {
            self.reno.grown(ack, view)
        };
        let (cwnd, ssthresh) = ended.map_or((cwnd, view.ssthresh), |round| self.end_round(round, cwnd, view.ssthresh));
        Answer::Set { cwnd, ssthresh }
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        let kept = self.kept(view);
        let (ssthresh, cwnd) = self.reno.cut(view, kept);
        Answer::Set { cwnd: if self.is_linux() { ssthresh } else { cwnd }, ssthresh }
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        if timeout.repeated > 0 {
            return self.reno.on_timeout(timeout, view);
        }
        let kept = self.kept(view);
        self.trips.restart(view);
        Answer::Set { cwnd: 1.0, ssthresh: self.reno.cut(view, kept).0 }
    }
}

#[cfg(test)]
mod tests;
