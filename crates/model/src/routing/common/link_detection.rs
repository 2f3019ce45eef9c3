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
