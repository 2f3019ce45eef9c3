//! Which loss recovery a connection uses: a name that congestion control and parameters give, and that
//! [`recovery`](super::recovery) carries out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The list of all recoveries: calls a macro with it. The names, and the recoveries themselves, come from this list.
///
/// `name => module::Type, "summary"`: the type implements the traits of `recovery/mod.rs`.
macro_rules! recoveries {
    ($macro:ident) => {
        $macro! {
            "go_back_n" => go_back_n::GoBackN,
                "Duplicate acknowledgements act as a timeout: everything from the first unacknowledged segment again \
                 (Tahoe).";
            "reno" => reno::Reno,
                "Fast retransmit and fast recovery, which the first new acknowledgement ends (RFC 5681 §3.2).";
            "new_reno" => newreno::NewReno,
                "RFC 6582: partial acknowledgements cause retransmissions; only the first of them restarts the timer \
                 (\"impatient\").";
            "slow_but_steady" => newreno::SlowButSteady,
                "As `new_reno`, but every partial acknowledgement restarts the timer (RFC 3782 §4, \"slow but \
                 steady\").";
            "sack" => sack::Sack, "Selective acknowledgements, RFC 6675.";
            "rack" => rack::Rack,
                "Selective acknowledgements with RACK-TLP (RFC 8985): losses are detected by time, and tail loss probes \
                 are sent.";
            "pipe" => pipe::Pipe, "Selective acknowledgements, the pipe algorithm of ns-2's Sack1.";
            "fine_grained" => fine_grained::FineGrained,
                "Vegas's timeout for each segment, checked on duplicate acknowledgements and on the first \
                 acknowledgements of new data.";
        }
    };
}
pub(super) use recoveries;

macro_rules! choice {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        /// Which recovery a connection uses.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum RecoveryChoice {
            /// The recovery that belongs to the congestion control.
            #[serde(rename = "variant")]
            Variant,
            $(#[doc = $summary] #[serde(rename = $name)] $variant,)+
        }

        impl RecoveryChoice {
            /// Every choice.
            pub const ALL: &[Self] = &[Self::Variant, $(Self::$variant,)+];

            /// The recovery of a congestion control that names none.
            pub const STANDARD: Self = Self::NewReno;
        }
    };
}
recoveries!(choice);

/// Whether a recovery reduces the window in proportion to the delivered data (RFC 9937).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Proportional {
    /// As usual for the recovery: yes for `rack`, no for `sack`.
    Recovery,
    /// Yes, if the recovery is `rack` or `sack`.
    On,
    /// No.
    Off,
}
