//! No account of energy, which costs nothing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Priced, Prices};
use crate::params;

/// No parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {}
    }
}

impl Priced for Params {
    fn prices(&self) -> Option<Prices> {
        None
    }
}
