//! SACK: Reno's window, with a recovery that learns from selective acknowledgements which segments are missing.
//!
//! Read: RFC 2018 (the option), RFC 6675 (the recovery). The window follows Reno's rules. Only the recovery differs:
//! RFC 6675 (`recovery/sack.rs`), or in the profile `ns2` the older pipe algorithm of ns-2's Sack1
//! (`recovery/pipe.rs`). Validated segment for segment against ns-2.35's Sack1 (`tests/forced_drops.rs`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reno::{self, Halve, Reno};
use super::{Ack, Answer, CongestionControl, Loss, RecoveryChoice, Timeout, View};
use crate::params::{self, NS2, RFC};

/// Which algorithm repairs losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// RFC 6675.
    Rfc6675,
    /// The pipe algorithm of Fall and Floyd (1996) as in ns-2's Sack1.
    Pipe,
}

reno::grows_as_reno! {
    /// SACK's parameters: Reno's, and which algorithm repairs losses.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Params {
        /// Which algorithm repairs losses.
        pub repair: Repair,
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
        let repair = if profile == NS2 { Repair::Pipe } else { Repair::Rfc6675 };
        let reno::Params { halve, hold_ssthresh, slow_start_limit, count_bytes, grow_only_when_limited, .. } =
            params::Params::of_profile(profile);
        Self { repair, halve, hold_ssthresh, slow_start_limit, count_bytes, grow_only_when_limited }
    }

    fn check(&self) -> Result<(), params::Fault> {
        self.reno(self.halve, self.hold_ssthresh).check()
    }
}

/// The congestion control of SACK.
#[derive(Clone, Debug)]
pub struct Sack {
    reno: Reno,
    repair: Repair,
}

impl Sack {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self { reno: Reno::new(&params.reno(params.halve, params.hold_ssthresh)), repair: params.repair }
    }
}

impl CongestionControl for Sack {
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

    fn recovery(&self) -> RecoveryChoice {
        match self.repair {
            Repair::Rfc6675 => RecoveryChoice::Sack,
            Repair::Pipe => RecoveryChoice::Pipe,
        }
    }
}
