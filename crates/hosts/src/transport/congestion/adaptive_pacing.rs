//! Adaptive Pacing (TCP-AP): NewReno with a gap between segments, so that a segment does not disturb the next one.
//!
//! Read: S. M. ElRakabawy, A. Klemm and C. Lindemann, "TCP with Adaptive Pacing for Multihop Wireless Networks",
//! MobiHoc 2005; for the profile `agent`, the authors' agent for ns-2 of September 2005. A sender at node i disturbs
//! its own segments until they are received four hops away. Each round-trip time over h hops gives the waiting time of
//! a packet at a hop, t_q = (RTT/h - (s_data + s_ack)/b)/2. It also gives the four-hop propagation delay FHD = 4 (t_q +
//! s_data/b), which is averaged. The variation of the round-trip time shows contention before a segment is lost. The
//! gap between two segments is FHD (1 + 2 cov). NewReno's window still limits the outstanding data. The parameters list
//! the differences of the profile `agent`. Left out: the agent has a queue of paced segments. A fast retransmission
//! discards the segments in this queue, and they are then repaired as lost. Here a segment that waits has not been
//! sent. If the queue is empty at a fast retransmission, the agent's timer stays off until the next loss, and nothing
//! is sent. Here this does not happen. The agent's timer continues while nothing waits, so the next segment waits for
//! the next tick. Here the next segment is sent at once if a gap has passed. The agent takes samples by timestamps,
//! also from duplicate acknowledgements. Here only an acknowledgement of a segment that was sent once gives a sample
//! (Karn's rule). There is no sample between a loss and the acknowledgement of all data that was outstanding then.
//! Retransmissions on partial acknowledgements and limited transmit are not paced. Validated by the tests below,
//! against the formula by hand, and over chains (`studies/adaptive_pacing`).

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use hopyard_engine::Span;
use hopyard_engine::units::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reno::{self, Halve, Reno};
use super::{Ack, Answer, CongestionControl, Duplicate, Loss, Pace, RecoveryChoice, Timeout, View};
use crate::params::{self, Fault, NS2, RFC};

/// The profile that follows the paper's formulas.
pub const PAPER: &str = "paper";
/// The profile that behaves as the authors' agent for ns-2.
pub const AGENT: &str = "agent";

/// The rate of the radios if it is not known: the rate of 802.11 in the paper.
const USUAL_RATE: Rate = Rate::from_bps(2_000_000);

/// The bandwidth of one hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Bandwidth {
    /// The rate of data frames on the scenario's radios.
    Radio,
    /// This rate.
    Fixed(Rate),
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Radio => f.write_str("radio"),
            Self::Fixed(rate) => fmt::Display::fmt(rate, f),
        }
    }
}

impl From<Bandwidth> for String {
    fn from(bandwidth: Bandwidth) -> Self {
        bandwidth.to_string()
    }
}

impl TryFrom<String> for Bandwidth {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        if text.trim() == "radio" {
            return Ok(Self::Radio);
        }
        Rate::from_str(&text).map(Self::Fixed).map_err(|error| format!("{error}, or \"radio\""))
    }
}

/// The source of the number of hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hops {
    /// The source's route.
    Route,
    /// The number of hops of the acknowledgement.
    Acknowledgement,
}

/// The measure of the variation of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Variation {
    /// The standard deviation of round-trip times divided by their mean, with N - 1 in the denominator.
    StandardDeviation,
    /// The mean absolute deviation of propagation delays divided by their mean.
    MeanDeviation,
}

reno::grows_as_reno! {
    /// Adaptive Pacing's parameters.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Params {
        /// The bandwidth b of a hop: a rate, or "radio" for the rate of data frames on the scenario's radios. paper:
        /// radio; agent: 2 Mb/s (`ll_bandwidth_`).
        pub bandwidth: Bandwidth,
        /// Bytes of headers, which are added to the payload of a segment and form an acknowledgement. Both: 112 B as in
        /// the agent; the paper gives no number.
        pub overhead: Bytes,
        /// The source of the number of hops. paper: route; agent: acknowledgement.
        pub hops: Hops,
        /// The number of hops after which a segment does not disturb its successor. It is 4 if the sensing range is
        /// slightly more than twice the reception range (250 m and 550 m). ns-2: `n_factor_`.
        pub reuse_hops: u8,
        /// Whether a shorter route is paced by the delay of one hop instead. paper: off; agent: on.
        pub one_hop_if_short: bool,
        /// The weight of the old value in the mean propagation delay. ns-2: `alpha_`.
        pub smoothing: f64,
        /// The number of samples from which the variation is computed. ns-2: `history_`.
        pub samples: u16,
        /// The measure of the variation. paper: standard_deviation; agent: mean_deviation.
        pub variation: Variation,
        /// The factor of the variation in the gap.
        pub variation_weight: f64,
        /// The mean wait (with weight 0.5 of the old value) replaces a longer wait at a hop, and a longer propagation
        /// delay is ignored. "0 s" for no limit. paper: 0 s; agent: 0.5 s (`delaybound_`).
        pub delay_bound: Span,
        /// The gap before the first sample; "0 s" to send without pacing until then. paper: 0 s; agent: 50 ms
        /// (`rate_interval_`).
        pub initial_gap: Span,
        /// Whether a loss or timeout stops the pacing until the next acknowledgement. paper: off; agent: on.
        pub pause_on_loss: bool,
        /// Whether each timeout doubles the retransmission timeout. paper: on; agent: off.
        pub back_off: bool,
        /// The quantity that a loss halves. paper: flight; agent: window.
        pub halve: Halve,
        /// Whether another timeout of the same segment leaves the threshold unchanged (RFC 5681 §3.1). paper: on;
        /// agent: off.
        pub hold_ssthresh: bool,
        ..growth
    }
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[PAPER, AGENT];

    /// In the profile `ns2` the gap is that of the paper, with the congestion control of ns-2.
    fn of_profile(profile: &str) -> Self {
        let agent = profile == AGENT;
        let base = if agent || profile == NS2 { NS2 } else { RFC };
        let reno::Params { halve, hold_ssthresh, slow_start_limit, count_bytes, grow_only_when_limited, .. } =
            params::Params::of_profile(base);
        Self {
            bandwidth: if agent { Bandwidth::Fixed(USUAL_RATE) } else { Bandwidth::Radio },
            overhead: Bytes::new(112),
            hops: if agent { Hops::Acknowledgement } else { Hops::Route },
            reuse_hops: 4,
            one_hop_if_short: agent,
            smoothing: 0.7,
            samples: 50,
            variation: if agent { Variation::MeanDeviation } else { Variation::StandardDeviation },
            variation_weight: 2.0,
            delay_bound: if agent { Span::from_millis(500) } else { Span::ZERO },
            initial_gap: if agent { Span::from_millis(50) } else { Span::ZERO },
            pause_on_loss: agent,
            back_off: !agent,
            halve,
            hold_ssthresh,
            slow_start_limit,
            count_bytes,
            grow_only_when_limited,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        Fault::unless("overhead", self.overhead, |it| it.count() > 0 && it.count() <= 65_535, "1 B to 65535 B")?;
        Fault::unless("reuse_hops", self.reuse_hops, |it| it > 0, "at least 1 hop")?;
        Fault::unless("smoothing", self.smoothing, |it| (0.0..1.0).contains(&it), "0 to less than 1")?;
        Fault::unless("samples", self.samples, |it| it >= 2, "at least 2 samples")?;
        Fault::unless("variation_weight", self.variation_weight, |it| it >= 0.0 && it.is_finite(), "0 or more")?;
        self.reno(self.halve, self.hold_ssthresh).check()
    }
}

/// The weight of the old value in the agent's mean wait at a hop.
const WAIT_SMOOTHING: f64 = 0.5;

/// Adaptive Pacing's congestion control: NewReno's window, and a gap. Times are in seconds.
#[derive(Clone, Debug)]
pub struct AdaptivePacing {
    params: Params,
    reno: Reno,
    /// The mean four-hop propagation delay, after the first sample.
    delay: Option<f64>,
    /// The mean wait at a hop.
    wait: f64,
    /// The samples from which the variation is computed, oldest first. Their sum and the sum of their squares are in
    /// nanoseconds and exact, so that the cost of a sample does not depend on their number.
    history: VecDeque<Span>,
    sum: u64,
    squares: u128,
    gap: Span,
    /// Not paced until the next acknowledgement.
    paused: bool,
    /// Below this sequence number an acknowledgement may cover segments that arrived long before and waited behind a
    /// gap. It gives no sample of the round-trip time.
    doubtful: u64,
}

impl AdaptivePacing {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            reno: Reno::new(&params.reno(params.halve, params.hold_ssthresh)),
            delay: None,
            wait: 0.0,
            history: VecDeque::with_capacity(usize::from(params.samples)),
            sum: 0,
            squares: 0,
            gap: params.initial_gap,
            paused: false,
            doubtful: 0,
            params: params.clone(),
        }
    }

    /// A round trip was measured.
    fn sample(&mut self, sample: Span, view: &View) {
        let hops = match self.params.hops {
            Hops::Route => view.hops,
            Hops::Acknowledgement => view.ack_hops,
        };
        if hops == 0 {
            // The path is not known: the gap does not change.
            return;
        }
        let rate = match self.params.bandwidth {
            Bandwidth::Radio => view.link_rate.unwrap_or(USUAL_RATE),
            Bandwidth::Fixed(rate) => rate,
        };
        let bytes_per_second = rate.bps() as f64 / 8.0;
        let overhead = self.params.overhead.count() as f64;
        let data = (f64::from(view.segment) + overhead) / bytes_per_second;
        let ack = overhead / bytes_per_second;
        let round_trip = sample.seconds();
        let mut wait = (round_trip / f64::from(hops) - (data + ack)) / 2.0;
        let bound = self.params.delay_bound.seconds();
        if bound > 0.0 {
            if wait > bound {
                wait = self.wait;
            }
            self.wait = WAIT_SMOOTHING * self.wait + (1.0 - WAIT_SMOOTHING) * wait;
        }
        let short = hops < self.params.reuse_hops && self.params.one_hop_if_short;
        let counted = if short { 1.0 } else { f64::from(self.params.reuse_hops) };
        let delay = counted * (wait + data);
        if delay <= 0.0 || bound > 0.0 && delay >= bound {
            return;
        }
        let past = self.params.smoothing;
        let mean = self.delay.map_or(delay, |mean| past * mean + (1.0 - past) * delay);
        self.delay = Some(mean);
        self.remember(match self.params.variation {
            Variation::StandardDeviation => sample,
            Variation::MeanDeviation => Span::from_secs_f64(delay),
        });
        self.gap = Span::from_secs_f64(mean * (1.0 + self.params.variation_weight * self.variation()));
    }

    fn remember(&mut self, sample: Span) {
        let square = |sample: Span| u128::from(sample.nanos()) * u128::from(sample.nanos());
        if self.history.len() == usize::from(self.params.samples)
            && let Some(oldest) = self.history.pop_front()
        {
            self.sum -= oldest.nanos();
            self.squares -= square(oldest);
        }
        self.history.push_back(sample);
        self.sum += sample.nanos();
        self.squares += square(sample);
    }

    /// The variation of the samples, relative to their mean.
    fn variation(&self) -> f64 {
        let count = self.history.len() as u64;
        if count < 2 || self.sum == 0 {
            return 0.0;
        }
        let (number, sum) = (count as f64, self.sum as f64);
        match self.params.variation {
            Variation::StandardDeviation => {
                // n Σx² - (Σx)², which is n (n - 1) times the variance.
                let spread = u128::from(count) * self.squares - u128::from(self.sum) * u128::from(self.sum);
                libm::sqrt(spread as f64 * number / (number - 1.0)) / sum
            }
            Variation::MeanDeviation => {
                let mean = sum / number;
                let deviations = self.history.iter().map(|sample| (sample.nanos() as f64 - mean).abs());
                deviations.sum::<f64>() / sum
            }
        }
    }
}

impl CongestionControl for AdaptivePacing {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        self.paused = false;
        if let Some(round_trip) = ack.round_trip
            && ack.duplicates == 0
            && view.una > self.doubtful
        {
            self.sample(round_trip, view);
        }
        self.reno.on_ack(ack, view)
    }

    fn on_duplicate(&mut self, _duplicate: &Duplicate, _view: &View) -> Answer {
        self.paused = false;
        Answer::Keep
    }

    fn on_loss(&mut self, loss: &Loss, view: &View) -> Answer {
        self.paused = self.params.pause_on_loss;
        self.doubtful = view.max;
        self.reno.on_loss(loss, view)
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.paused = self.params.pause_on_loss;
        self.doubtful = view.max;
        match self.reno.on_timeout(timeout, view) {
            Answer::Set { cwnd, ssthresh } if !self.params.back_off => Answer::Rescale { cwnd, ssthresh, rto: 1.0 },
            answer => answer,
        }
    }

    fn pace(&self) -> Pace {
        if self.paused { Pace::NONE } else { Pace::of(self.gap) }
    }

    fn recovery(&self) -> RecoveryChoice {
        RecoveryChoice::NewReno
    }
}

#[cfg(test)]
mod tests;
