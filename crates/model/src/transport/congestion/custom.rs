//! Congestion controls from outside this crate, such as those that a user writes.
//!
//! A configuration holds a [`CustomRule`]: its name, its identity, and how to make an instance for each
//! connection. This module does not depend on the language in which it is written.

use std::fmt;
use std::sync::Arc;

use hopyard_engine::Rng;
use serde_json::Value;

use super::CongestionControl;

/// A congestion control from outside this crate, with its parameters. It makes an instance for each connection.
pub trait CustomRule: fmt::Debug + Send + Sync {
    /// Its name in scenarios and tables.
    fn name(&self) -> &str;

    /// What its runs depend on besides scenario and seed: its parameters, and its code or a hash of that. Rules that
    /// are called the same and have the same identity behave the same.
    fn identity(&self) -> Value;

    /// A new instance, for one connection of one run. `rng` is the sender's own stream. If the instance cannot be made,
    /// the returned instance reports this as its failure.
    fn build(&self, rng: Rng) -> Box<dyn CongestionControl + Send>;
}

/// A congestion control from outside this crate, as a configuration holds it.
#[derive(Clone, Debug)]
pub struct Custom(Arc<dyn CustomRule>);

impl Custom {
    /// The configuration of a rule.
    #[must_use]
    pub fn new(rule: Arc<dyn CustomRule>) -> Self {
        Self(rule)
    }

    /// The rule's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// What its runs depend on besides scenario and seed.
    #[must_use]
    pub fn identity(&self) -> Value {
        self.0.identity()
    }

    /// A new instance, for one connection of one run.
    #[must_use]
    pub fn build(&self, rng: Rng) -> Box<dyn CongestionControl + Send> {
        self.0.build(rng)
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.name() == other.name() && self.identity() == other.identity())
    }
}
