//! ELFN: a sender that receives a notice of a broken route freezes, and restores its state when there is a route again.
//!
//! Read: G. Holland and N. Vaidya, "Analysis of TCP Performance over Mobile Ad Hoc Networks", Wireless Networks 8, 2002
//! (first at MobiCom 1999); J. Karlsson, V. G. Dimitrov, A. Kassler, A. Brunstrom, J. Nilsson and A. Hansson,
//! "Performance Evaluation for TCP in Tactical Mobile Ad Hoc Networks", §3 (an ICMP error before the route error; a
//! source without a route informs itself; probes every 2 s; the race between the notice and the timeout). There are two
//! states. NORMAL is the base variant. A notice about an outstanding segment leads to FROZEN: no timer runs, and the
//! first unacknowledged segment is sent every `probe_interval` until any acknowledgement arrives. This leads back to
//! NORMAL and restores the windows, the timeout, the smoothed round-trip time, its deviation and the back-off. The
//! sender implements the states ([`Answer::Freeze`]); notices have no effect while it is frozen. If the retransmission
//! timer expires before the notice arrives, the published scheme stores, and later restores, a window of one segment
//! and a timeout after back-off. The parameter `race` can select the values from before that timeout instead. The
//! papers do not specify two rules, which are chosen here. A notice about data that was acknowledged since then is
//! ignored, and so is any notice before the connection is open. Left out: Holland and Vaidya's experiments with other
//! windows and timeouts after the freeze. Validated by the tests below, event by event, and over breaking chains
//! (`studies/elfn`).

use hopyard_engine::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reno::{self, Halve, Reno};
use super::{Ack, Answer, CongestionControl, Loss, NetworkEvent, RecoveryChoice, Restore, Timeout, View, Wants};
use crate::params::{self, Fault, NS2, RFC};

/// The base variant, while no route is broken. All have Reno's window and differ in their loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Base {
    /// Reno (RFC 5681).
    Reno,
    /// `NewReno` (RFC 6582).
    NewReno,
    /// Selective acknowledgements (RFC 6675, or ns-2's pipe).
    Sack,
}

/// What is restored if a timeout occurred before the notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Race {
    /// The state after the timeout: a window of one segment, a timeout after back-off.
    Published,
    /// The state before the first timeout since the last new acknowledgement.
    RestoreBeforeTimeout,
}

reno::grows_as_reno! {
    /// ELFN's parameters.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Params {
        /// The base variant, while no route is broken: "newreno", "reno" or "sack".
        pub base: Base,
        /// The time between probes while frozen. As in both papers.
        pub probe_interval: Span,
        /// What is restored if the retransmission timer expired before the notice arrived: "published" (the state after
        /// the timeout) or "restore_before_timeout".
        pub race: Race,
        /// The quantity that a loss halves.
        pub halve: Halve,
        /// Whether another timeout of the same segment leaves the threshold unchanged (RFC 5681 §3.1).
        pub hold_ssthresh: bool,
        ..growth
    }
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        let reno::Params { halve, hold_ssthresh, slow_start_limit, count_bytes, grow_only_when_limited, .. } =
            params::Params::of_profile(profile);
        Self {
            base: Base::NewReno,
            probe_interval: Span::from_secs(2),
            race: Race::Published,
            halve,
            hold_ssthresh,
            slow_start_limit,
            count_bytes,
            grow_only_when_limited,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.probe_interval < Span::from_millis(1) {
            let found = self.probe_interval;
            return Err(Fault::new("probe_interval", format!("expected at least 1 ms, found {found}")));
        }
        self.reno(self.halve, self.hold_ssthresh).check()
    }
}

/// ELFN's congestion control.
#[derive(Clone, Debug)]
pub struct Elfn {
    reno: Reno,
    recovery: RecoveryChoice,
    freeze: Answer,
}

impl Elfn {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        let restore = match params.race {
            Race::Published => Restore::AtFreeze,
            Race::RestoreBeforeTimeout => Restore::BeforeTimeout,
        };
        Self {
            reno: Reno::new(&params.reno(params.halve, params.hold_ssthresh)),
            recovery: match params.base {
                Base::Reno => RecoveryChoice::Reno,
                Base::NewReno => RecoveryChoice::NewReno,
                Base::Sack => RecoveryChoice::Sack,
            },
            freeze: Answer::Freeze { probe: params.probe_interval, restore },
        }
    }
}

impl CongestionControl for Elfn {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        self.reno.on_ack(ack, view)
    }

    fn on_loss(&mut self, loss: &Loss, view: &View) -> Answer {
        self.reno.on_loss(loss, view)
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.reno.on_timeout(timeout, view)
    }

    fn on_network(&mut self, event: NetworkEvent, view: &View) -> Answer {
        match event {
            NetworkEvent::Unreachable { seq } if (view.una..view.max).contains(&seq) => self.freeze,
            _ => Answer::Keep,
        }
    }

    fn wants(&self) -> Wants {
        Wants { notices: true, ..Wants::default() }
    }

    fn recovery(&self) -> RecoveryChoice {
        self.recovery
    }
}

#[cfg(test)]
mod tests;
