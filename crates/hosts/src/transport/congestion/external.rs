//! Congestion controls from outside this crate, for example those that users write.
//!
//! This module does not depend on the language in which they are written.

use std::fmt;
use std::sync::Arc;

use hopyard_engine::Rng;
use serde_json::Value;

use super::ExternalControl;

/// Makes the congestion control of one connection of one run. The argument is the sender's own random stream.
type Build = dyn Fn(Rng) -> Box<dyn ExternalControl> + Send + Sync;

/// A congestion control from outside this crate, with its parameters.
#[derive(Clone)]
pub struct ExternalConfig {
    name: Arc<str>,
    identity: Value,
    build: Arc<Build>,
}

impl ExternalConfig {
    /// A congestion control called `name` in scenarios and tables.
    ///
    /// `identity` has the values on which its runs depend besides scenario and seed: its parameters, and its code or a
    /// hash of the code. Congestion controls with the same name and the same identity behave the same. `build` is
    /// called for each connection of each run. If it cannot make a congestion control, the one that it returns reports
    /// this as its [failure](ExternalControl::failure).
    #[must_use]
    pub fn new(
        name: &str,
        identity: Value,
        build: impl Fn(Rng) -> Box<dyn ExternalControl> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), identity, build: Arc::new(build) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The values on which its runs depend besides scenario and seed.
    #[must_use]
    pub fn identity(&self) -> &Value {
        &self.identity
    }

    /// The congestion control of one connection of one run.
    #[must_use]
    pub fn build(&self, rng: Rng) -> Box<dyn ExternalControl> {
        (self.build)(rng)
    }
}

impl fmt::Debug for ExternalConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalConfig").field("name", &self.name).field("identity", &self.identity).finish()
    }
}

impl PartialEq for ExternalConfig {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.identity == other.identity
    }
}
