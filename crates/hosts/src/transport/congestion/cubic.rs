//! CUBIC: the window is a cubic function of the time since the last loss. The function is flat near the window at which
//! the loss occurred.
//!
//! Read: RFC 9438; RFC 9406 for the end of slow start (`control/hystart.rs`); for the profile `ns3`, ns-3.37's
//! `TcpCubic`. Implemented of RFC 9438: §4.2 (function, target and its limits), §4.3 (Reno-friendly region), §4.4 and
//! §4.5 (concave and convex regions), §4.6 (decrease), §4.7 (fast convergence), §4.8 (timeout), §4.10 (slow start),
//! §5.8 (pauses do not count). If §4.3 would reduce the window to `W_est`, the window does not change, because §4.2
//! requires that it never decreases without a loss. Left out: §4.9 (the undoing of a reduction), because spurious
//! losses are not detected; ECN; of ns-3, its hybrid slow start. Validated against the closed forms of §4.2 and §4.3
//! (tests below) and, in the profile `ns3`, against ns-3.37's windows (`tests/drops_ns3.rs`).

mod linux;

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::linux::{Constants, Linux};
use super::control::hystart::{self, HyStart};
use super::control::two_computations;
use super::{
    Ack, Answer, Arrived, CongestionControl, Duplicate, Loss, NetworkEvent, Pace, Phase, RecoveryChoice, Sent, Timeout,
    View, Wants,
};
use crate::params::{self, Fault, LINUX, RFC, Unused, unused_where};

const NS3: &str = "ns3";

/// The quantity that a loss reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reduce {
    /// The outstanding data (RFC 9438 §4.6).
    Flight,
    /// The congestion window (Linux, ns-3).
    Window,
}

/// How the window follows the cubic function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Growth {
    /// RFC 9438 §4.2 to §4.5.
    Rfc9438,
    /// As in ns-3.37. The window grows by whole segments, each after a number of acknowledged segments. The target is
    /// computed one smallest smoothed round-trip time ahead. There is no Reno-friendly region. Thresholds are whole
    /// segments. The window grows with the acknowledgement that ends a recovery.
    Ns3,
    /// As in Linux 6.1: fixed-point numbers, growth by whole segments for the segments that were delivered.
    Linux,
}

/// CUBIC's parameters. Windows count segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The constant C of the cubic function, in segments per cubic second. RFC 9438 §5.
    pub c: f64,
    /// The share of the window that remains after a loss. RFC 9438 §4.6.
    pub beta: f64,
    /// Whether a flow reduces its window further if the loss occurred at a smaller window than the previous loss (RFC
    /// 9438 §4.7).
    pub fast_convergence: bool,
    /// Whether the window is at least that of Reno (RFC 9438 §4.3); only with growth by RFC 9438.
    pub reno_friendly: bool,
    /// The quantity that a loss reduces.
    pub reduce: Reduce,
    /// How the window follows the cubic function.
    pub growth: Growth,
    /// Whether growth above the threshold counts acknowledged segments. Otherwise each acknowledgement counts as one
    /// segment, so that delayed acknowledgements reduce the growth (RFC 9438 §4.4).
    pub count_bytes: bool,
    /// The largest increase of the window by one acknowledgement in slow start without HyStart++, in segments. rfc: RFC
    /// 5681 eq. 2.
    pub slow_start_limit: u32,
    /// Whether the window grows only while it limits the sender (RFC 9438 §5.8).
    pub grow_only_when_limited: bool,
    /// Whether round trips end the first slow start (RFC 9406).
    pub hystart: hystart::Choice,
    /// `MIN_RTT_THRESH`: a smaller increase of the round-trip time has no effect (RFC 9406 §4.3).
    pub hystart_min_threshold: Span,
    /// `MAX_RTT_THRESH`: a larger increase of the round-trip time always ends slow start (RFC 9406 §4.3).
    pub hystart_max_threshold: Span,
    /// `MIN_RTT_DIVISOR`: between these limits, the share of the round-trip time by which it must have increased (RFC
    /// 9406 §4.3).
    pub hystart_divisor: u32,
    /// `N_RTT_SAMPLE`: the number of samples in a round before they are evaluated (RFC 9406 §4.3).
    pub hystart_samples: u32,
    /// `CSS_GROWTH_DIVISOR`: the divisor of the window's growth in conservative slow start (RFC 9406 §4.3).
    pub hystart_growth_divisor: u32,
    /// `CSS_ROUNDS`: the number of rounds of conservative slow start before slow start ends (RFC 9406 §4.3).
    pub hystart_rounds: u32,
    /// `L`: the largest increase of the window by one acknowledgement under HyStart++, in segments (RFC 9406 §4.3).
    pub hystart_limit: u32,
}

impl Params {
    /// The constants in the computation of Linux.
    fn linux(&self) -> Constants {
        let &Self { c, beta, fast_convergence, reno_friendly, .. } = self;
        Constants { c, beta, fast_convergence, reno_friendly, hystart: self.hystart != hystart::Choice::Off }
    }

    fn hystart(&self) -> hystart::Params {
        hystart::Params {
            choice: self.hystart,
            min_threshold: self.hystart_min_threshold,
            max_threshold: self.hystart_max_threshold,
            divisor: self.hystart_divisor,
            samples: self.hystart_samples,
            growth_divisor: self.hystart_growth_divisor,
            rounds: self.hystart_rounds,
            limit: self.hystart_limit,
        }
    }
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS3, LINUX];

    fn of_profile(profile: &str) -> Self {
        let hystart = hystart::Params::default();
        let (ns3, linux) = (profile == NS3, profile == LINUX);
        Self {
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            reno_friendly: !ns3,
            reduce: if ns3 || linux { Reduce::Window } else { Reduce::Flight },
            growth: match profile {
                NS3 => Growth::Ns3,
                LINUX => Growth::Linux,
                _ => Growth::Rfc9438,
            },
            count_bytes: ns3 || linux,
            slow_start_limit: if ns3 || linux { 65_535 } else { 1 },
            grow_only_when_limited: !ns3,
            hystart: match profile {
                NS3 => hystart::Choice::Off,
                LINUX => hystart::Choice::Classic,
                _ => hystart.choice,
            },
            hystart_min_threshold: hystart.min_threshold,
            hystart_max_threshold: hystart.max_threshold,
            hystart_divisor: hystart.divisor,
            hystart_samples: hystart.samples,
            hystart_growth_divisor: hystart.growth_divisor,
            hystart_rounds: hystart.rounds,
            hystart_limit: hystart.limit,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        Fault::unless("c", self.c, |it| it > 0.0 && it.is_finite(), "a number above 0")?;
        Fault::unless("beta", self.beta, |it| it > 0.0 && it < 1.0, "a number between 0 and 1")?;
        if (self.hystart == hystart::Choice::Classic) != (self.growth == Growth::Linux)
            && self.hystart != hystart::Choice::Off
        {
            let expected = if self.growth == Growth::Linux { "classic" } else { "plus_plus" };
            return Err(Fault::new("hystart", format!("expected \"{expected}\" or \"off\" with this growth")));
        }
        Fault::unless("slow_start_limit", self.slow_start_limit, |it| it > 0, "at least 1")?;
        self.hystart().check([
            "hystart_min_threshold",
            "hystart_max_threshold",
            "hystart_divisor",
            "hystart_samples",
            "hystart_growth_divisor",
            "hystart_rounds",
            "hystart_limit",
        ])
    }

    fn unused(&self) -> Vec<Unused> {
        unused_where([
            (self.growth != Growth::Rfc9438, "growth", &["reno_friendly"]),
            (
                self.hystart != hystart::Choice::PlusPlus,
                "hystart",
                &[
                    "hystart_min_threshold",
                    "hystart_max_threshold",
                    "hystart_divisor",
                    "hystart_samples",
                    "hystart_growth_divisor",
                    "hystart_rounds",
                    "hystart_limit",
                ],
            ),
        ])
    }
}

/// A stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// Its duration, without pauses.
    elapsed: Span,
    /// The time up to which the duration was counted.
    counted: Time,
    /// When the function reaches its flat part, in seconds.
    k: f64,
    /// The window there.
    origin: f64,
    /// The window that Reno would have.
    w_est: f64,
}

two_computations!(Cubic, "CUBIC's congestion control.", growth == Growth::Linux);

/// CUBIC's congestion control as published.
#[derive(Clone, Debug)]
pub struct Published {
    params: Params,
    /// `α_cubic` (§4.3).
    alpha: f64,
    hystart: HyStart,
    /// The window before the last loss, reduced by fast convergence; nothing before the first loss and after a timeout.
    w_max: Option<f64>,
    /// The window when the threshold was set last.
    cwnd_prior: f64,
    epoch: Option<Epoch>,
    /// For `growth = "ns3"`: the smallest smoothed round-trip time, and acknowledged segments that have not been
    /// counted yet.
    shortest: Option<Span>,
    credit: f64,
}

impl Published {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            alpha: 3.0 * (1.0 - params.beta) / (1.0 + params.beta),
            hystart: HyStart::new(&params.hystart()),
            params: params.clone(),
            w_max: None,
            cwnd_prior: 0.0,
            epoch: None,
            shortest: None,
            credit: 0.0,
        }
    }

    /// The current stage of congestion avoidance; the first acknowledgement begins it (§4.2).
    fn epoch(&mut self, view: &View) -> &mut Epoch {
        let (w_max, c) = (self.w_max, self.params.c);
        self.epoch.get_or_insert_with(|| {
            // After a timeout, and when slow start ended without a loss, the flat part begins here (§4.8, §4.10).
            let origin = w_max.filter(|w_max| *w_max > view.cwnd).unwrap_or(view.cwnd);
            let k = libm::cbrt((origin - view.cwnd) / c);
            Epoch { elapsed: Span::ZERO, counted: view.now, k, origin, w_est: view.cwnd }
        })
    }

    /// The window after an acknowledgement in congestion avoidance (§4.2 to §4.5).
    fn avoid(&mut self, ack: &Ack, view: &View) -> f64 {
        let limited = ack.window_limited || !self.params.grow_only_when_limited;
        let (c, alpha, prior) = (self.params.c, self.alpha, self.cwnd_prior);
        let segments = ack.counted as f64 / f64::from(view.segment);
        let counted = if self.params.count_bytes { segments } else { 1.0 };
        let friendly = self.params.reno_friendly;
        let epoch = self.epoch(view);
        let since = view.now.since(epoch.counted);
        epoch.counted = view.now;
        // §5.8: neither growth nor time counts while the sender is limited by something else than the window.
        if !limited {
            return view.cwnd;
        }
        epoch.elapsed += since;
        let w_cubic = |t: f64| c * (t - epoch.k) * (t - epoch.k) * (t - epoch.k) + epoch.origin;
        let t = epoch.elapsed.seconds();
        let alpha = if epoch.w_est >= prior { 1.0 } else { alpha };
        epoch.w_est += alpha * segments / view.cwnd;
        if friendly && w_cubic(t) < epoch.w_est {
            return view.cwnd.max(epoch.w_est);
        }
        let round_trip = view.srtt.unwrap_or(Span::ZERO).seconds();
        let target = w_cubic(t + round_trip).clamp(view.cwnd, 1.5 * view.cwnd);
        view.cwnd + counted * (target - view.cwnd) / view.cwnd
    }

    /// As `avoid`, but as in ns-3.37.
    fn avoid_ns3(&mut self, ack: &Ack, view: &View) -> f64 {
        let window = libm::floor(view.cwnd);
        let (c, first, shortest) = (self.params.c, self.w_max.is_none(), self.shortest.unwrap_or(Span::ZERO));
        let epoch = self.epoch(&View { cwnd: window, ..*view });
        let offset = (view.now.since(epoch.counted) + shortest).seconds() - epoch.k;
        // The change is truncated to whole segments, towards the flat part.
        let target = epoch.origin + libm::trunc(c * offset * offset * offset);
        let mut count = if target > window { libm::floor(window / (target - window)) } else { 100.0 * window };
        if first {
            count = count.min(20.0);
        }
        let count = count.max(2.0);
        self.credit += f64::from(ack.segments);
        if self.credit < count {
            return view.cwnd;
        }
        self.credit -= count;
        view.cwnd + 1.0
    }

    /// The window after an acknowledgement in slow start, and the threshold.
    fn slow_start(&mut self, ack: &Ack, view: &View) -> (f64, f64) {
        if self.params.grow_only_when_limited && !ack.window_limited {
            return (view.cwnd, view.ssthresh);
        }
        let acked = ack.counted as f64 / f64::from(view.segment);
        let standard = acked.min(f64::from(self.params.slow_start_limit));
        let step = self.hystart.on_ack(acked, standard, ack.round_trip, view);
        let cwnd = view.cwnd + step.growth;
        if step.done {
            // §4.10.
            self.cwnd_prior = cwnd;
            return (cwnd, cwnd);
        }
        (cwnd, view.ssthresh)
    }

    /// The window after a loss (§4.6).
    fn reduced(&self, view: &View) -> f64 {
        let base = match self.params.reduce {
            Reduce::Flight => view.flight,
            Reduce::Window => view.cwnd.min(view.advertised),
        };
        match self.params.growth {
            Growth::Rfc9438 => base * self.params.beta,
            Growth::Ns3 | Growth::Linux => libm::floor(libm::floor(base) * self.params.beta),
        }
        .max(2.0)
    }
}

impl CongestionControl for Published {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        let ns3 = self.params.growth == Growth::Ns3;
        if ns3 && let Some(srtt) = view.srtt {
            self.shortest = Some(self.shortest.map_or(srtt, |shortest| shortest.min(srtt)));
        }
        let grows = match ack.phase {
            Phase::Open => true,
            Phase::Recovered => ns3,
            Phase::Partial => false,
        };
        if !grows {
            return Answer::Keep;
        }
        if view.cwnd < view.ssthresh {
            let (cwnd, ssthresh) = self.slow_start(ack, view);
            return Answer::Set { cwnd, ssthresh };
        }
        let cwnd = if ns3 { self.avoid_ns3(ack, view) } else { self.avoid(ack, view) };
        Answer::Set { cwnd, ssthresh: view.ssthresh }
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        // §4.7: a window below that of the last loss releases bandwidth for other flows.
        let converges = self.params.fast_convergence && self.w_max.is_some_and(|w_max| view.cwnd < w_max);
        let kept = if converges { (1.0 + self.params.beta) / 2.0 } else { 1.0 };
        self.w_max = Some(match self.params.growth {
            Growth::Rfc9438 => view.cwnd * kept,
            Growth::Ns3 | Growth::Linux => libm::floor(libm::floor(view.cwnd) * kept),
        });
        self.cwnd_prior = view.cwnd;
        self.epoch = None;
        self.hystart.stop();
        let cwnd = self.reduced(view);
        Answer::Set { cwnd, ssthresh: cwnd }
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        let mut ssthresh = view.ssthresh;
        // RFC 5681 §3.1: another timeout of the same segment does not change the threshold.
        if timeout.repeated == 0 {
            ssthresh = self.reduced(view);
            self.cwnd_prior = view.cwnd;
        }
        // §4.8: the next stage begins at its flat part.
        self.w_max = None;
        self.epoch = None;
        self.hystart.stop();
        self.shortest = None;
        Answer::Set { cwnd: 1.0, ssthresh }
    }

    fn on_idle(&mut self, restart: f64, view: &View) -> Answer {
        if restart < view.cwnd {
            // A new stage begins when slow start reaches the threshold again.
            self.epoch = None;
        }
        Answer::Set { cwnd: view.cwnd.min(restart), ssthresh: view.ssthresh }
    }

    fn on_sent(&mut self, sent: &Sent, view: &View) {
        // §5.8: the first segment after a pause; the time since the last acknowledgement does not count.
        if self.params.growth == Growth::Rfc9438
            && !sent.retransmission
            && sent.seq == view.una
            && let Some(epoch) = &mut self.epoch
        {
            epoch.counted = view.now;
        }
    }
}

#[cfg(test)]
mod tests;
