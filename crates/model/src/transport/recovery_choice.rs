//! Which loss recovery a connection uses: a name that congestion control and parameters give, and that
//! [`recovery`](super::recovery) carries out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which recovery a connection uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryChoice {
    /// The recovery that belongs to the congestion control.
    Variant,
    /// Duplicate acknowledgements act as a timeout: everything from the first unacknowledged segment again (Tahoe).
    GoBackN,
    /// Fast retransmit and fast recovery, which the first new acknowledgement ends (RFC 5681 §3.2).
    Reno,
    /// RFC 6582: partial acknowledgements cause retransmissions; only the first of them restarts the timer
    /// ("impatient").
    NewReno,
    /// As `new_reno`, but every partial acknowledgement restarts the timer (RFC 3782 §4, "slow but steady").
    SlowButSteady,
    /// Selective acknowledgements, RFC 6675.
    Sack,
    /// Selective acknowledgements with RACK-TLP (RFC 8985): losses are detected by time, and tail loss probes are sent.
    Rack,
    /// Selective acknowledgements, the pipe algorithm of ns-2's Sack1.
    Pipe,
    /// Vegas's timeout for each segment, checked on duplicate acknowledgements and on the first acknowledgements of new
    /// data.
    FineGrained,
}

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
