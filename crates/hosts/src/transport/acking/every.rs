//! Every segment is acknowledged at once.
//!
//! Read: ns-2.35's `TcpSink`. RFC 5681 §4.2 allows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AckPolicy, Arrival, Verdict};
use crate::params;

/// No parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {}
    }
}

/// Acknowledges every segment at once.
#[derive(Clone, Copy, Debug)]
pub struct Every;

impl Every {
    /// The policy.
    #[must_use]
    pub const fn new(_params: &Params) -> Self {
        Self
    }
}

impl AckPolicy for Every {
    fn on_arrival(&mut self, _arrival: &Arrival) -> Verdict {
        Verdict::Now
    }
}
