//! Adaptive automatic rate fallback (AARF): ARF that waits longer after each step up that failed.
//!
//! Read: M. Lacage, M. H. Manshaei and T. Turletti, IEEE 802.11 rate adaptation: a practical approach, MSWiM 2004;
//! ns-3's `AarfWifiManager` for the counts. Validated by its rules, and against ns-3.37 (`docs/validation.md`).

use hopyard_engine::{Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::arf::{Arf, Fall, Patience, Shared};
use super::candidates::Candidates;
use super::control::{Belief, Choice, Outcome, RateControl, Tries};
use crate::params::{self, Fault};

/// Parameters of AARF.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The number of acknowledged frames in a row after which the rate goes up, at first.
    pub successes: u32,
    /// The largest value to which this number grows.
    pub most_successes: u32,
    /// The number of frames since the last change of the rate after which the next acknowledged frame raises it, at
    /// first.
    pub timer: u32,
    /// The factor by which both numbers grow when the first frame at a higher rate fails.
    pub growth: u32,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { successes: 10, most_successes: 60, timer: 15, growth: 2 }
    }

    fn check(&self) -> Result<(), Fault> {
        for (parameter, value) in [("successes", self.successes), ("timer", self.timer)] {
            Fault::unless(parameter, value, |it| it > 0, "at least 1 frame")?;
        }
        if self.most_successes < self.successes {
            let (least, found) = (self.successes, self.most_successes);
            return Err(Fault::new("most_successes", format!("expected at least `successes`, {least}, found {found}")));
        }
        Fault::unless("growth", self.growth, |it| it > 0, "at least 1")?;
        Ok(())
    }
}

/// The place of a link on the ladder, and how long it waits before it goes up.
#[derive(Clone, Copy, Debug)]
pub struct Aarf {
    arf: Arf,
    patience: Patience,
}

impl Aarf {
    fn fail(&mut self, params: &Params) {
        let Params { successes, most_successes, timer, growth } = *params;
        match self.arf.fail() {
            Some(Fall::Probe) => {
                self.patience.successes = self.patience.successes.saturating_mul(growth).min(most_successes);
                self.patience.timer = self.patience.timer.saturating_mul(growth);
            }
            Some(Fall::Usual) => self.patience = Patience { successes, timer },
            None => {}
        }
    }
}

impl RateControl for Aarf {
    type Params = Params;
    type Shared = Shared<Params>;

    fn share(params: &Params, candidates: &Candidates, _draws: Vec<Rng>) -> Shared<Params> {
        Shared { params: params.clone(), steps: candidates.ladder() }
    }

    fn new(_station: usize, _now: Time, shared: &Shared<Params>) -> Self {
        let Params { successes, timer, .. } = shared.params;
        Self { arf: Arf::default(), patience: Patience { successes, timer } }
    }

    fn choose(&mut self, tries: &Tries, _now: Time, shared: &Shared<Params>) -> Option<Choice> {
        let mut ahead = self.arf;
        (0..tries.count()).for_each(|_| _ = ahead.fail());
        Some(Choice::of(shared.steps[ahead.step]))
    }

    fn report(&mut self, outcome: &Outcome<'_>, _now: Time, shared: &Shared<Params>) {
        (0..outcome.failed()).for_each(|_| self.fail(&shared.params));
        if outcome.succeeded() {
            self.arf.succeed(self.patience, shared.steps.len() - 1);
        }
    }

    fn belief(&self, shared: &Shared<Params>) -> Belief {
        Belief::of(shared.steps[self.arf.step])
    }
}
