//! No fading.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::signal::{Fading, Signal};
use crate::params;

/// No fading has no parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {}
    }
}

/// The compiled form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoFading;

impl NoFading {
    /// The model.
    #[must_use]
    pub const fn new(_params: &Params) -> Self {
        Self
    }
}

impl Fading for NoFading {
    fn factor(&mut self, _signal: &Signal) -> f64 {
        1.0
    }

    fn limit(&self) -> f64 {
        1.0
    }

    fn is_none(&self) -> bool {
        true
    }
}
