//! Veno: Reno with Vegas's estimate of queued segments, which distinguishes random losses from congestion losses.
//!
//! Read: C. P. Fu and S. C. Liew, "TCP Veno: TCP Enhancement for Transmission over Wireless Access Networks", IEEE JSAC
//! 21(2), 2003: the backlog (§III-A), the additive increase (§III-B), the multiplicative decrease (§III-C); for the
//! profile `linux`, the behaviour of Linux's `tcp_veno`. The backlog is N = W (1 - BaseRTT / RTT). If N is below beta,
//! a loss reduces the window to 4/5, otherwise to half. If N is at least beta in congestion avoidance, only every
//! second acknowledgement increases the window. Profile `linux`: the last round-trip time is used instead of the
//! smoothed one. The shortest round-trip time is kept after losses without a timeout, and is forgotten when the network
//! is empty. Timeouts are classified as well. Left out of Linux: Reno's growth applies until a third round-trip time is
//! measured and while losses of a timeout are repaired; the window grows in whole segments. Validated by backlogs
//! computed by hand, and against the kernel module in ns-2.35 (`tests/kernel_modules.rs`).

mod linux;

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::linux::{Constants, Linux};
use super::control::{Arithmetic, two_computations};
use super::reno::{self, Halve, Reno};
use super::{
    Ack, Answer, Arrived, Condition, CongestionControl, Duplicate, Loss, NetworkEvent, Pace, Phase, RecoveryChoice,
    Sent, Timeout, View, Wants,
};
use crate::params::{self, Fault};

const PAPER: &str = "paper";
const LINUX: &str = "linux";

/// The round-trip time from which the backlog is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoundTrip {
    /// The smoothed round-trip time of the retransmission timer.
    Smoothed,
    /// The last measured round-trip time.
    Last,
}

reno::grows_as_reno! {
    /// Veno's parameters.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Params {
        /// A loss is random if fewer segments than this are queued.
        pub beta: f64,
        /// The share of the window that remains after a random loss.
        pub random_loss_keeps: f64,
        /// The round-trip time from which the backlog is computed. paper: smoothed; linux: last.
        pub round_trip: RoundTrip,
        /// Whether a loss resets the shortest round-trip time. paper: on; linux: off.
        pub forget_min_rtt: bool,
        /// Whether the shortest round-trip time is reset when the network is empty: when data is sent and nothing is
        /// outstanding, and at a timeout. paper: off; linux: on.
        pub forget_when_empty: bool,
        /// Whether a timeout may also be classified as a random loss. paper: off; linux: on.
        pub discern_timeouts: bool,
        /// The quantity that a loss reduces. paper: flight; linux: window.
        pub halve: Halve,
        /// Whether losses are repaired with selective acknowledgements (RFC 6675) instead of NewReno's recovery. paper:
        /// off; linux: on.
        pub sack: bool,
        ..growth
        /// Whether the computation is the published one, or Linux's in whole segments. paper: published; linux: linux.
        pub arithmetic: Arithmetic,
    }
}

impl Params {
    /// The constants in the computation of Linux.
    const fn linux(&self) -> Constants {
        let &Self { beta, random_loss_keeps, .. } = self;
        Constants { beta, random_loss_keeps }
    }
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[PAPER, LINUX];

    fn of_profile(profile: &str) -> Self {
        let linux = profile == LINUX;
        Self {
            beta: 3.0,
            random_loss_keeps: 0.8,
            round_trip: if linux { RoundTrip::Last } else { RoundTrip::Smoothed },
            forget_min_rtt: !linux,
            forget_when_empty: linux,
            discern_timeouts: linux,
            halve: if linux { Halve::Window } else { Halve::Flight },
            sack: linux,
            slow_start_limit: 1,
            count_bytes: false,
            grow_only_when_limited: true,
            arithmetic: if linux { Arithmetic::Linux } else { Arithmetic::Published },
        }
    }

    fn check(&self) -> Result<(), Fault> {
        Fault::unless("beta", self.beta, |it| it >= 0.0 && it.is_finite(), "a number of segments")?;
        if !(0.5..=1.0).contains(&self.random_loss_keeps) {
            let problem = format!("expected at least a half and at most 1, found {}", self.random_loss_keeps);
            return Err(Fault::new("random_loss_keeps", problem));
        }
        self.reno(self.halve, true).check()
    }
}

two_computations!(Veno, "Veno's congestion control.", arithmetic == Arithmetic::Linux);

impl Veno {
    pub(super) fn on_condition(&mut self, condition: Condition) {
        if let Self::Linux(linux) = self {
            linux.on_condition(condition);
        }
    }
}

/// Veno's congestion control as published.
#[derive(Clone, Debug)]
pub struct Published {
    params: Params,
    reno: Reno,
    min_rtt: Option<Span>,
    /// N: segments queued on the path, as last computed.
    backlog: f64,
    /// The previous acknowledgement increased the window.
    opened: bool,
}

impl Published {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
            reno: Reno::new(&params.reno(params.halve, true)),
            min_rtt: None,
            backlog: 0.0,
            opened: false,
        }
    }

    /// §III-A.
    fn measure(&mut self, round_trip: Span, view: &View) {
        let base = self.min_rtt.map_or(round_trip, |min| min.min(round_trip));
        self.min_rtt = Some(base);
        let rtt = match self.params.round_trip {
            RoundTrip::Smoothed => view.srtt.unwrap_or(round_trip),
            RoundTrip::Last => round_trip,
        };
        if !rtt.is_zero() {
            self.backlog = (view.cwnd * (1.0 - base.seconds() / rtt.seconds())).max(0.0);
        }
    }

    const fn congested(&self) -> bool {
        self.backlog >= self.params.beta
    }

    /// §III-C.
    fn kept(&self) -> f64 {
        if self.congested() { 0.5 } else { self.params.random_loss_keeps }
    }

    /// Nothing is in the network: the path may have changed.
    const fn restart(&mut self) {
        if self.params.forget_when_empty {
            self.min_rtt = None;
            self.opened = false;
        }
    }

    const fn after_loss(&mut self) {
        if self.params.forget_min_rtt {
            self.min_rtt = None;
        }
    }
}

impl CongestionControl for Published {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        // The opening segment is shorter: it is not compared with the others (Linux begins after it).
        if let Some(round_trip) = ack.round_trip.filter(|_| ack.bytes > 0) {
            self.measure(round_trip, view);
        }
        // §III-B.
        if ack.phase == Phase::Open && view.cwnd >= view.ssthresh && self.congested() {
            self.opened = !self.opened;
            if !self.opened {
                return Answer::Keep;
            }
        }
        self.reno.on_ack(ack, view)
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        let (ssthresh, cwnd) = self.reno.cut(view, self.kept());
        self.after_loss();
        Answer::Set { cwnd, ssthresh }
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        let kept = self.kept();
        self.after_loss();
        self.restart();
        if self.params.discern_timeouts && timeout.repeated == 0 {
            return Answer::Set { cwnd: 1.0, ssthresh: self.reno.cut(view, kept).0 };
        }
        self.reno.on_timeout(timeout, view)
    }

    fn on_sent(&mut self, sent: &Sent, view: &View) {
        if !sent.retransmission && sent.seq == view.una {
            self.restart();
        }
    }

    fn recovery(&self) -> RecoveryChoice {
        if self.params.sack { RecoveryChoice::Sack } else { RecoveryChoice::NewReno }
    }
}

#[cfg(test)]
mod tests;
