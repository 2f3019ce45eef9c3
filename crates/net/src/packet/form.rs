//! Forms of tunnels.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::IP_HEADER;

/// How a packet is put into another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// IP in IP (RFC 2003): a whole header more.
    #[default]
    IpInIp,
    /// Minimal encapsulation (RFC 2004): what the outer header replaces of the inner one.
    Minimal,
}

impl Form {
    /// The bytes that it adds to a packet. `is_source` says whether the packet's source puts it into the tunnel, so
    /// that both headers have the same source.
    #[must_use]
    pub const fn bytes(self, is_source: bool) -> u32 {
        match (self, is_source) {
            (Self::IpInIp, _) => IP_HEADER,
            // RFC 2004 §3.
            (Self::Minimal, false) => 12,
            (Self::Minimal, true) => 8,
        }
    }
}
