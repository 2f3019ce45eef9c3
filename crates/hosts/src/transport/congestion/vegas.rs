//! Vegas: compares the expected rate with the actual rate, and keeps a few segments in the queue of the path.
//!
//! Read: L. S. Brakmo and L. L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC
//! 13(8), 1995; for the profile `ns2`, ns-2.35's `VegasTcpAgent`. This file implements §3.2 of the paper (congestion
//! avoidance) and §3.3 (slow start). The fine-grained retransmission of §3.1 is in `recovery/fine_grained.rs`. The
//! profile `ns2` differs as follows. The difference is rounded to whole segments. Data packets count without their
//! headers, and the first segment carries data. The inflation of the window by duplicate acknowledgements ends only if
//! there were more than three. The window is then as after the last reduction, which a timeout sets to zero. Times
//! count from the last transmission of the first segment. Left out of ns-2: arrays that wrap at the window's size, so
//! that some segments are mistaken for retransmitted ones. Validated segment by segment against ns-2.35
//! (`tests/forced_drops.rs`).

mod linux;

use hopyard_engine::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::linux::{Constants, Linux};
use super::control::two_computations;
use super::{
    Ack, Answer, Arrived, Condition, CongestionControl, Duplicate, Loss, NetworkEvent, Pace, RecoveryChoice, Sent,
    Timeout, View, Wants,
};
use crate::params::{self, Fault, LINUX, NS2, RFC};
use crate::transport::connection::Habits;

/// Vegas's parameters. The thresholds are numbers of segments queued on the path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The window grows if fewer segments are queued. ns-2: `v_alpha_`.
    pub alpha: f64,
    /// The window shrinks if more segments are queued. ns-2: `v_beta_`.
    pub beta: f64,
    /// Slow start ends if more segments are queued. ns-2: `v_gamma_`.
    pub gamma: f64,
    /// Whose computation it is: the published one, ns-2's, or Linux's in whole segments.
    pub habits: Habits,
}

impl Params {
    /// The constants in the computation of Linux.
    const fn linux(&self) -> Constants {
        let &Self { alpha, beta, gamma, .. } = self;
        Constants { alpha, beta, gamma }
    }
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2, LINUX];

    fn of_profile(profile: &str) -> Self {
        let linux = profile == LINUX;
        Self {
            alpha: if linux { 2.0 } else { 1.0 },
            beta: if linux { 4.0 } else { 3.0 },
            gamma: 1.0,
            habits: match profile {
                NS2 => Habits::Ns2,
                LINUX => Habits::Linux,
                _ => Habits::Rfc,
            },
        }
    }

    fn check(&self) -> Result<(), Fault> {
        Fault::unless("alpha", self.alpha, |it| it >= 0.0 && it.is_finite(), "a number of segments")?;
        let least = self.alpha;
        Fault::unless("beta", self.beta, |it| it >= least && it.is_finite(), format_args!("at least alpha ({least})"))?;
        Fault::unless("gamma", self.gamma, |it| it >= 0.0 && it.is_finite(), "a number of segments")?;
        Ok(())
    }
}

two_computations!(Vegas, "Vegas's congestion control.", habits == Habits::Linux);

impl Vegas {
    /// Whether it is ns-2's.
    pub(super) const fn is_ns2(&self) -> bool {
        matches!(self, Self::Published(published) if published.is_ns2())
    }

    pub(super) fn on_condition(&mut self, condition: Condition, view: &View) {
        if let Self::Linux(linux) = self {
            linux.on_condition(condition, view);
        }
    }
}

/// Vegas's congestion control as published. Times are in seconds.
#[derive(Clone, Debug)]
pub struct Published {
    params: Params,
    /// When the first segment was sent.
    started: Option<Time>,
    /// The shortest round trip.
    base: Option<f64>,
    /// The round ends when this sequence number is acknowledged.
    round: u64,
    round_began: Time,
    /// Sum and number of the round's samples.
    samples: (f64, u32),
    /// The increase of the window for each acknowledgement in this round.
    increment: f64,
    /// Slow start grows only in every second round.
    growing: bool,
    last_cut: Time,
    /// The window after the last reduction, and whether duplicate acknowledgements have inflated it since.
    cut_to: f64,
    inflated: bool,
}

impl Published {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
            started: None,
            base: None,
            round: 0,
            round_began: Time::ZERO,
            samples: (0.0, 0),
            increment: 0.0,
            growing: true,
            last_cut: Time::ZERO,
            cut_to: 0.0,
            inflated: false,
        }
    }

    const fn is_ns2(&self) -> bool {
        matches!(self.params.habits, Habits::Ns2)
    }

    /// Once in each round trip (§3.2, §3.3): computes the change of the window.
    fn end_of_round(&mut self, cwnd: &mut f64, ssthresh: &mut f64, view: &View) {
        let segments = |bytes: u64| libm::round(bytes as f64 / f64::from(view.segment));
        let (sum, count) = std::mem::take(&mut self.samples);
        let rtt = if count > 0 { sum / f64::from(count) } else { view.now.since(self.round_began).seconds() };
        let sent = segments(view.next - self.round.min(view.next));
        self.round = view.next;
        self.round_began = view.now;
        if rtt <= 0.0 {
            return;
        }
        // A single segment cannot cause a queue.
        let base = match self.base {
            Some(base) if base <= rtt && sent > 1.0 => base,
            _ => rtt,
        };
        self.base = Some(base);
        let actual = sent / rtt;
        // The segment that this acknowledgement allows counts as sent.
        let expected = (segments(view.next - view.una) + 1.0) / base;
        let mut queued = (expected - actual) * base;
        if self.is_ns2() {
            queued = libm::trunc(queued + 0.5);
        }
        self.increment = 0.0;
        if *cwnd < *ssthresh {
            self.growing = !self.growing;
            if !self.growing {
                return;
            }
            if queued > self.params.gamma {
                *ssthresh = 2.0;
                *cwnd = (*cwnd - *cwnd / 8.0).max(2.0);
            } else {
                self.increment = 1.0;
            }
        } else if queued > self.params.beta {
            *cwnd = (*cwnd - 1.0).max(2.0);
        } else if queued < self.params.alpha {
            self.increment = 1.0 / *cwnd;
        }
    }
}

impl CongestionControl for Published {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        let (mut cwnd, mut ssthresh) = (view.cwnd, view.ssthresh);
        if self.base.is_none()
            && let Some(started) = self.started
        {
            self.base = Some(view.now.since(started).seconds());
        }
        let deflate = if self.is_ns2() { ack.duplicates > view.duplicate_threshold } else { self.inflated };
        if deflate && cwnd > self.cut_to {
            cwnd = self.cut_to;
            ssthresh = 2.0;
        }
        self.inflated = false;
        if view.una > self.round {
            self.end_of_round(&mut cwnd, &mut ssthresh, view);
        }
        // Slow start may reach its threshold within a round.
        if self.increment == 1.0 && cwnd >= ssthresh {
            self.increment = 0.0;
        }
        let outstanding = libm::round((view.next - view.una) as f64 / f64::from(view.segment)) + 1.0;
        if self.increment > 0.0 && cwnd - outstanding <= 2.0 {
            cwnd += self.increment;
        }
        let sample = if self.is_ns2() { ack.newest_round_trip } else { ack.round_trip };
        let first_data = ack.segments == 1 && ack.bytes > 0 && view.una == ack.bytes;
        if let Some(round_trip) = sample.filter(|_| !(self.is_ns2() && first_data)) {
            let rtt = round_trip.seconds();
            self.samples.0 += rtt;
            self.samples.1 += 1;
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
        }
        Answer::Set { cwnd, ssthresh }
    }

    fn on_duplicate(&mut self, _duplicate: &Duplicate, view: &View) -> Answer {
        if !self.is_ns2() && !self.inflated {
            return Answer::Keep;
        }
        Answer::Set { cwnd: view.cwnd + 1.0, ssthresh: view.ssthresh }
    }

    fn on_loss(&mut self, loss: &Loss, view: &View) -> Answer {
        // §3.1: the loss of a segment sent before the last reduction is no new information.
        if self.last_cut >= loss.sent {
            return Answer::Keep;
        }
        let window = libm::floor(view.usable());
        self.cut_to = if window <= 3.0 {
            2.0
        } else if loss.transmissions > 1 {
            libm::floor(window / 2.0)
        } else {
            window - libm::floor(window / 4.0)
        };
        self.last_cut = view.now;
        self.inflated = true;
        Answer::Set { cwnd: self.cut_to + f64::from(view.duplicates), ssthresh: view.ssthresh }
    }

    fn on_timeout(&mut self, _timeout: &Timeout, view: &View) -> Answer {
        self.last_cut = view.now;
        self.cut_to = 0.0;
        self.inflated = false;
        Answer::Set { cwnd: 2.0, ssthresh: libm::floor(view.usable() / 2.0).max(2.0) }
    }

    fn on_sent(&mut self, sent: &Sent, view: &View) {
        if sent.seq == 0 || self.started.is_none() {
            // The first round begins with the last transmission of the first segment.
            self.round_began = view.now;
            self.last_cut = match self.started {
                Some(started) if self.is_ns2() => view.now + self.last_cut.since(started),
                _ => view.now,
            };
            self.started = Some(view.now);
        }
    }

    fn recovery(&self) -> RecoveryChoice {
        RecoveryChoice::FineGrained
    }
}
