//! Reno's window rule (RFC 5681 §3.1 and §3.2), on which the loss-based variants stand.
//!
//! Read: RFC 5681; RFC 3465 for counting bytes; for the ns-2 profile, ns-2.35's `TcpAgent::opencwnd` and `slowdown`.
//! Deviations of the profile `ns2`: the window is halved, not what is outstanding; the threshold is cut to whole segments while the
//! window keeps its fraction; a repeated timeout cuts the threshold again; the window grows even when the receiver's window
//! or the application holds the sender back.
//! Validated segment for segment against ns-2.35 (`tests/forced_drops.rs`) and by the tests below.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ack, Answer, CongestionControl, Loss, Phase, Timeout, View};
use crate::params::{self, NS2, RFC};
use crate::transport::recovery;

/// What a loss halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Halve {
    /// What is outstanding (RFC 5681 eq. 4).
    Flight,
    /// The window in use, the threshold in whole segments (ns-2).
    Window,
    /// What is estimated to be in the network, without what SACK reported and what is lost (ns-3).
    Pipe,
}

/// Reno's parameters, which Tahoe, NewReno and SACK share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// What a loss halves. rfc: flight; ns2: window.
    pub halve: Halve,
    /// Segments by which one acknowledgement may open the window in slow start, if it covers as many: 1 is RFC 5681 eq. 2,
    /// 2 is RFC 3465. Both: 1.
    pub slow_start_limit: u32,
    /// Whether congestion avoidance counts acknowledged bytes, so that delayed acknowledgements do not slow it down
    /// (RFC 3465 §2.1). Both: off.
    pub count_bytes: bool,
    /// Whether the window grows only while it holds the sender back (RFC 7661 §4.3). rfc: on; ns2: off.
    pub grow_only_when_limited: bool,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        let ns2 = profile == NS2;
        Self {
            halve: if ns2 { Halve::Window } else { Halve::Flight },
            slow_start_limit: 1,
            count_bytes: false,
            grow_only_when_limited: !ns2,
        }
    }

    fn check(&self) -> Result<(), params::Fault> {
        if self.slow_start_limit == 0 {
            return Err(params::Fault::new("slow_start_limit", "expected at least 1, found 0"));
        }
        Ok(())
    }
}

/// Reno's window rule.
#[derive(Clone, Debug)]
pub struct Reno {
    params: Params,
}

impl Reno {
    /// The rule with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self { params: params.clone() }
    }

    /// The slow start threshold after a loss (RFC 5681 eq. 4), and half of what it is taken from.
    #[must_use]
    pub fn halved(&self, view: &View) -> (f64, f64) {
        self.cut(view, 0.5)
    }

    /// As [`halved`](Self::halved), with another share kept than one half.
    #[must_use]
    pub fn cut(&self, view: &View, kept: f64) -> (f64, f64) {
        match self.params.halve {
            Halve::Flight => {
                let rest = (view.flight * kept).max(2.0);
                (rest, rest)
            }
            Halve::Pipe => {
                let rest = (view.pipe * kept).max(2.0);
                (rest, rest)
            }
            Halve::Window => {
                let rest = view.usable() * kept;
                (libm::floor(rest).max(2.0), rest.max(1.0))
            }
        }
    }

    /// The window after an acknowledgement outside recovery (RFC 5681 eq. 2 and 3).
    #[must_use]
    pub fn grown(&self, ack: &Ack, view: &View) -> f64 {
        if self.params.grow_only_when_limited && !ack.window_limited {
            return view.cwnd;
        }
        let acked = if self.params.count_bytes || self.params.slow_start_limit > 1 {
            (ack.bytes as f64 / f64::from(view.segment)).min(f64::from(self.params.slow_start_limit))
        } else {
            1.0
        };
        if view.cwnd < view.ssthresh {
            view.cwnd + acked
        } else if self.params.count_bytes {
            view.cwnd + ack.bytes as f64 / f64::from(view.segment) / view.cwnd
        } else {
            view.cwnd + 1.0 / view.cwnd
        }
    }
}

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        match ack.phase {
            Phase::Open => Answer::Set { cwnd: self.grown(ack, view), ssthresh: view.ssthresh },
            Phase::Partial | Phase::Recovered => Answer::Keep,
        }
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        let (ssthresh, cwnd) = self.halved(view);
        Answer::Set { cwnd, ssthresh }
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        // RFC 5681 §3.1: a segment that times out again leaves the threshold as it is.
        let hold = timeout.repeated > 0 && self.params.halve != Halve::Window;
        let ssthresh = if hold { view.ssthresh } else { self.halved(view).0 };
        Answer::Set { cwnd: 1.0, ssthresh }
    }

    fn recovery(&self) -> recovery::Choice {
        recovery::Choice::Reno
    }
}
