//! Automatic rate fallback (ARF): a step up after successes, a step down after failures.
//!
//! Read: A. Kamerman and L. Monteban, WaveLAN-II, Bell Labs Technical Journal 2(3), 1997; ns-3's `ArfWifiManager` for
//! the counts. Validated by its rules, and against ns-3.37 (`docs/validation.md`).

use hopyard_engine::{Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::candidates::Candidates;
use super::control::{Belief, Choice, Outcome, RateControl, Tries};
use crate::params::{self, Fault};
use crate::phy::Mode;

/// Parameters of ARF.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The number of acknowledged frames in a row after which the rate goes up.
    pub successes: u32,
    /// The number of frames since the last change of the rate after which the next acknowledged frame raises it.
    pub timer: u32,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { successes: 10, timer: 15 }
    }

    fn check(&self) -> Result<(), Fault> {
        for (parameter, value) in [("successes", self.successes), ("timer", self.timer)] {
            Fault::unless(parameter, value, |it| it > 0, "at least 1 frame")?;
        }
        Ok(())
    }
}

/// The state that all links share.
#[derive(Clone, Debug)]
pub struct Shared<P> {
    pub(super) params: P,
    /// The modes in order of rate.
    pub(super) steps: Vec<&'static Mode>,
}

/// After how many frames the rate goes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Patience {
    pub successes: u32,
    pub timer: u32,
}

/// Why the rate went down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fall {
    /// The first frame at a higher rate failed.
    Probe,
    /// Two frames in a row failed.
    Usual,
}

/// The place of a link on the ladder of rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arf {
    pub(super) step: usize,
    /// Frames since the last change.
    timer: u32,
    /// Frames in a row that were acknowledged, and that were not.
    successes: u32,
    failures: u32,
    /// Whether no frame has been sent since the rate went up.
    is_probing: bool,
}

impl Arf {
    /// A frame was acknowledged.
    pub(super) fn succeed(&mut self, patience: Patience, top: usize) {
        self.timer += 1;
        self.successes += 1;
        (self.failures, self.is_probing) = (0, false);
        if (self.successes >= patience.successes || self.timer >= patience.timer) && self.step < top {
            *self = Self { step: self.step + 1, is_probing: true, ..Self::default() };
        }
    }

    /// A frame was not acknowledged. Returns why the rate goes down, if it does.
    pub(super) fn fail(&mut self) -> Option<Fall> {
        self.timer += 1;
        self.failures += 1;
        self.successes = 0;
        let fall = match self.is_probing {
            true => Fall::Probe,
            false if self.failures == 2 => Fall::Usual,
            false => return None,
        };
        *self = Self { step: self.step.saturating_sub(1), ..Self::default() };
        Some(fall)
    }
}

impl RateControl for Arf {
    type Params = Params;
    type Shared = Shared<Params>;

    fn share(params: &Params, candidates: &Candidates, _draws: Vec<Rng>) -> Shared<Params> {
        Shared { params: params.clone(), steps: candidates.ladder() }
    }

    fn new(_station: usize, _now: Time, _shared: &Shared<Params>) -> Self {
        Self::default()
    }

    fn choose(&mut self, tries: &Tries, _now: Time, shared: &Shared<Params>) -> Option<Choice> {
        // The state itself changes when all frames of the packet are known.
        let mut ahead = *self;
        (0..tries.count()).for_each(|_| _ = ahead.fail());
        Some(Choice::of(shared.steps[ahead.step]))
    }

    fn report(&mut self, outcome: &Outcome<'_>, _now: Time, shared: &Shared<Params>) {
        (0..outcome.failed()).for_each(|_| _ = self.fail());
        if outcome.succeeded() {
            let Params { successes, timer } = shared.params;
            self.succeed(Patience { successes, timer }, shared.steps.len() - 1);
        }
    }

    fn belief(&self, shared: &Shared<Params>) -> Belief {
        Belief::of(shared.steps[self.step])
    }
}
