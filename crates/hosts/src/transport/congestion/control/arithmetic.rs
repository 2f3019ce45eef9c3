//! Which computation of a variant is used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The computation of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arithmetic {
    /// As published, with real numbers.
    Published,
    /// As in Linux: the window grows in whole segments, for the segments that were delivered.
    Linux,
}
