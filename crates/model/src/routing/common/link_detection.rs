//! How protocols with link feedback and HELLO messages notice broken links.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a broken link is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkDetection {
    /// The link layer says that it could not deliver a packet.
    LinkLayer,
    /// A neighbour's HELLO messages stay away.
    Hello,
    /// Either.
    Both,
}

impl LinkDetection {
    /// Whether the link layer's failures count.
    #[must_use]
    pub fn by_link_layer(self) -> bool {
        self != Self::Hello
    }

    /// Whether HELLO messages are sent and counted.
    #[must_use]
    pub fn by_hello(self) -> bool {
        self != Self::LinkLayer
    }

    /// TTL_START, unless it is given. HELLO messages tell of the neighbours, so that a search among them alone finds
    /// nothing (RFC 3561 §10).
    #[must_use]
    pub fn ttl_start(self, given: u8) -> u8 {
        match given {
            0 => 1 + u8::from(self.by_hello()),
            ttl => ttl,
        }
    }
}
