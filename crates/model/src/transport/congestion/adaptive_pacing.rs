//! Adaptive Pacing (TCP-AP): NewReno with a gap between segments, after which a segment no longer disturbs the next
//! one.
//!
//! Read: S. M. ElRakabawy, A. Klemm and C. Lindemann, "TCP with Adaptive Pacing for Multihop Wireless Networks",
//! MobiHoc 2005; for the profile `agent`, the authors' agent for ns-2 of September 2005. A sender at node i disturbs
//! its own segments until they are received four hops on. Each round trip over h hops gives the time that a packet
//! spends waiting at a hop, t_q = (RTT/h - (s_data + s_ack)/b)/2, and the four-hop propagation delay FHD = 4 (t_q +
//! s_data/b), which is averaged. The variation of round trips shows contention before a segment is lost. The gap
//! between two segments is FHD (1 + 2 cov); the window is NewReno's and still bounds what is outstanding. The profile
//! `agent` differs: see the parameters. Left out: the agent has a queue of paced segments. A fast retransmission
//! discards the segments in this queue, and they are then repaired as lost. Here a segment that waits has not been
//! sent. If the queue is empty at a fast retransmission, the agent's timer stays off until the next loss, and nothing
//! is sent. Here this does not happen. The agent's timer continues while nothing waits, so the next segment waits for
//! the next tick. Here the next segment is sent at once if a gap has passed. It takes samples by timestamps, of
//! duplicate acknowledgements too; here only an acknowledgement of a segment that was sent once gives one (Karn's
//! rule), and none between a loss and the acknowledgement of all that was outstanding then. Repairs on partial
//! acknowledgements and limited transmit are not paced. Validated by the tests below, against the formula by hand, and
//! over chains (`studies/adaptive_pacing`).

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

use hopyard_engine::Span;
use hopyard_engine::units::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reno::{self, Halve, Reno};
use super::{Ack, Answer, CongestionControl, Duplicate, Loss, Timeout, View};
use crate::params::{self, Fault, NS2, RFC};
use crate::transport::recovery;

/// The profile that follows the paper's formulas.
pub const PAPER: &str = "paper";
/// The profile that behaves as the authors' agent for ns-2.
pub const AGENT: &str = "agent";

/// What the rate of the radios is taken to be where nobody has told it: 802.11's as the paper used it.
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

/// Where the number of hops is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hops {
    /// The source's route.
    Route,
    /// The hops that the acknowledgement took.
    Acknowledgement,
}

/// How much samples vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Variation {
    /// The standard deviation of round trips over their mean, with N - 1 in the denominator.
    StandardDeviation,
    /// The mean absolute deviation of propagation delays over their mean.
    MeanDeviation,
}

/// Adaptive Pacing's parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The bandwidth b of a hop: a rate, or "radio", that of data frames on the scenario's radios. paper: radio; agent:
    /// 2 Mb/s (`ll_bandwidth_`).
    pub bandwidth: Bandwidth,
    /// Bytes of headers that count with a segment's payload, and make an acknowledgement. Both: 112 B, the agent's; the
    /// paper gives no number.
    pub overhead: Bytes,
    /// Where the number of hops is taken from. paper: route; agent: acknowledgement.
    pub hops: Hops,
    /// Hops after which a segment disturbs its successor no more: 4 where a node is sensed a little more than twice as
    /// far as it is heard (250 m and 550 m). Both: 4 (`n_factor_`).
    pub reuse_hops: u8,
    /// Whether a route shorter than that is paced by the delay of one hop instead. paper: off; agent: on.
    pub one_hop_if_short: bool,
    /// Weight of the past in the mean propagation delay. Both: 0.7 (`alpha_`).
    pub smoothing: f64,
    /// How many samples the variation is taken over. Both: 50 (`history_`).
    pub samples: u16,
    /// How much the samples vary. paper: standard_deviation; agent: mean_deviation.
    pub variation: Variation,
    /// What the variation is multiplied by in the gap. Both: 2.
    pub variation_weight: f64,
    /// A longer wait at a hop is replaced by the mean wait (with weight 0.5 of the past), and a propagation delay as
    /// long is thrown away; "0 s" for no bound. paper: 0 s; agent: 0.5 s (`delaybound_`).
    pub delay_bound: Span,
    /// The gap before the first sample; "0 s" to send unpaced till then. paper: 0 s; agent: 50 ms (`rate_interval_`).
    pub initial_gap: Span,
    /// Whether a loss or timeout stops the pacing until the next acknowledgement. paper: off; agent: on.
    pub pause_on_loss: bool,
    /// Whether the retransmission timeout is doubled each time it passes. paper: on; agent: off.
    pub back_off: bool,
    /// What a loss halves. paper: flight; agent: window.
    pub halve: Halve,
    /// Whether a segment that times out again leaves the threshold as the first timeout has set it (RFC 5681 §3.1).
    /// paper: on; agent: off.
    pub hold_ssthresh: bool,
    /// Segments by which one acknowledgement may open the window in slow start, if it covers as many: 1 is RFC 5681 eq.
    /// 2, 2 is RFC 3465. Both: 1.
    pub slow_start_limit: u32,
    /// Whether congestion avoidance counts acknowledged bytes (RFC 3465 §2.1). Both: off.
    pub count_bytes: bool,
    /// Whether the window grows only while it holds the sender back (RFC 7661 §4.3). paper: on; agent: off.
    pub grow_only_when_limited: bool,
}

impl Params {
    fn reno(&self) -> reno::Params {
        let &Self { halve, hold_ssthresh, slow_start_limit, count_bytes, grow_only_when_limited, .. } = self;
        reno::Params { halve, hold_ssthresh, slow_start_limit, count_bytes, grow_only_when_limited }
    }
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[PAPER, AGENT];

    /// Under ns-2's profile the gap is the paper's, over the window rule of ns-2.
    fn of_profile(profile: &str) -> Self {
        let agent = profile == AGENT;
        let base = if agent || profile == NS2 { NS2 } else { RFC };
        let reno::Params { halve, hold_ssthresh, slow_start_limit, count_bytes, grow_only_when_limited } =
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
        if self.overhead.count() == 0 || self.overhead.count() > 65_535 {
            let problem = format!("expected 1 B to 65535 B, found {}", self.overhead);
            return Err(Fault::new("overhead", problem));
        }
        if self.reuse_hops == 0 {
            return Err(Fault::new("reuse_hops", "expected at least 1 hop, found 0"));
        }
        if !(0.0..1.0).contains(&self.smoothing) {
            return Err(Fault::new("smoothing", format!("expected 0 to less than 1, found {}", self.smoothing)));
        }
        if self.samples < 2 {
            return Err(Fault::new("samples", format!("expected at least 2 samples, found {}", self.samples)));
        }
        if !(self.variation_weight >= 0.0 && self.variation_weight.is_finite()) {
            let problem = format!("expected 0 or more, found {}", self.variation_weight);
            return Err(Fault::new("variation_weight", problem));
        }
        self.reno().check()
    }
}

/// Weight of the past in the agent's mean wait at a hop.
const WAIT_SMOOTHING: f64 = 0.5;

/// Adaptive Pacing's rule: NewReno's window, and a gap. Times in seconds.
#[derive(Clone, Debug)]
pub struct AdaptivePacing {
    params: Params,
    reno: Reno,
    /// The mean four-hop propagation delay, after the first sample.
    delay: Option<f64>,
    /// The mean wait at a hop.
    wait: f64,
    /// The samples whose variation counts, oldest first; their sum and the sum of their squares in nanoseconds, exact,
    /// so that a sample costs the same however many count.
    history: VecDeque<Span>,
    sum: u64,
    squares: u128,
    gap: Span,
    /// Not paced until the next acknowledgement.
    paused: bool,
    /// Below this number an acknowledgement may cover segments that arrived long before, behind a gap that has only now
    /// been filled: it tells nothing of the round trip.
    doubtful: u64,
}

impl AdaptivePacing {
    /// The rule with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            reno: Reno::new(&params.reno()),
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
            // No path is known: the gap stays.
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

    /// How much the samples vary, relative to their mean.
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

    fn pacing_gap(&self) -> Span {
        if self.paused { Span::ZERO } else { self.gap }
    }

    fn recovery(&self) -> recovery::Choice {
        recovery::Choice::NewReno
    }
}

#[cfg(test)]
mod tests;
