//! One mode for all frames, which the parameter `rate` of the MAC names.

use hopyard_engine::{Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::candidates::Candidates;
use super::control::{Belief, Choice, Outcome, RateControl, Tries};
use crate::params;
use crate::phy::Mode;

/// The rate control has no parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {}
    }
}

/// A link whose mode never changes.
#[derive(Clone, Copy, Debug)]
pub struct Fixed;

impl RateControl for Fixed {
    type Params = Params;
    type Shared = &'static Mode;

    fn share(_params: &Params, candidates: &Candidates, _draws: Vec<Rng>) -> &'static Mode {
        candidates.usual
    }

    fn new(_station: usize, _now: Time, _mode: &&'static Mode) -> Self {
        Self
    }

    fn choose(&mut self, _tries: &Tries, _now: Time, mode: &&'static Mode) -> Option<Choice> {
        Some(Choice::of(mode))
    }

    fn report(&mut self, _outcome: &Outcome<'_>, _now: Time, _mode: &&'static Mode) {}

    fn belief(&self, mode: &&'static Mode) -> Belief {
        Belief::of(mode)
    }
}
