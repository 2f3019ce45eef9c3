//! The fastest mode that the ratio of signal to noise at the receiver of the last frame allows.
//!
//! Read: ns-3's documentation of `IdealWifiManager`; G. Holland, N. Vaidya and P. Bahl, A rate-adaptive MAC protocol
//! for multi-hop wireless networks (RBAR), MobiCom 2001, whose receiver tells the ratio in its answer. Here every
//! acknowledgement tells it, at no cost. Validated by its rule, and against ns-3.37 (`docs/validation.md`).

use hopyard_engine::units::Ratio;
use hopyard_engine::{Rng, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::candidates::Candidates;
use super::control::{Belief, Choice, Outcome, RateControl, Tries};
use crate::params::{self, Fault};
use crate::phy::Mode;
use crate::phy::error_rate::chunk_success;
use crate::phy::mode::Coding;

/// Parameters of the ideal rate control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The largest probability of a wrong bit with which a mode is used.
    pub bit_error_rate: f64,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { bit_error_rate: 1e-6 }
    }

    fn check(&self) -> Result<(), Fault> {
        if (1e-12..=0.5).contains(&self.bit_error_rate) {
            return Ok(());
        }
        Err(Fault::new("bit_error_rate", format!("expected 1e-12 to 0.5, found {:?}", self.bit_error_rate)))
    }
}

/// The modes, each with the least ratio of signal to noise, in order of rate; of equal rates, the one with more streams
/// comes first.
#[derive(Clone, Debug)]
pub struct Shared(Vec<(f64, &'static Mode)>);

/// A link, by its last ratio of signal to noise.
#[derive(Clone, Copy, Debug)]
pub struct Ideal {
    ratio: f64,
}

impl Ideal {
    fn mode(self, shared: &Shared) -> &'static Mode {
        let usable = shared.0.iter().rev().find(|(least, _)| *least <= self.ratio);
        usable.unwrap_or(&shared.0[0]).1
    }
}

impl RateControl for Ideal {
    type Params = Params;
    type Shared = Shared;

    fn share(params: &Params, candidates: &Candidates, _draws: Vec<Rng>) -> Shared {
        let usual = candidates.usual.body.bandwidth.hertz();
        // The same power has less noise in a narrower band.
        let least = |mode: &'static Mode| {
            let by_errors = least_ratio(&mode.body, params.bit_error_rate) * mode.body.bandwidth.hertz() / usual;
            (candidates.floors.get(&mode.row).map_or(by_errors, |floor| by_errors.max(*floor)), mode)
        };
        let mut modes: Vec<_> = candidates.modes.iter().copied().map(least).collect();
        modes.sort_by_key(|(_, mode)| (mode.rate(), std::cmp::Reverse(mode.body.streams)));
        Shared(modes)
    }

    fn new(_station: usize, _now: Time, _shared: &Shared) -> Self {
        Self { ratio: 0.0 }
    }

    fn choose(&mut self, _tries: &Tries, _now: Time, shared: &Shared) -> Option<Choice> {
        Some(Choice::of(self.mode(shared)))
    }

    fn report(&mut self, outcome: &Outcome<'_>, _now: Time, _shared: &Shared) {
        // What was known of the link has led to nothing: the next packet begins as the first one did.
        self.ratio = outcome.ratio.unwrap_or(0.0);
    }

    fn belief(&self, shared: &Shared) -> Belief {
        Belief::of(self.mode(shared))
    }
}

/// The least ratio of signal to noise at which a bit is wrong with at most a probability.
fn least_ratio(coding: &Coding, bit_error_rate: f64) -> f64 {
    let (mut low, mut high) = (-30.0, 70.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        let success = chunk_success(coding, Ratio::from_db(middle).factor(), 1.0);
        *(if 1.0 - success <= bit_error_rate { &mut high } else { &mut low }) = middle;
    }
    Ratio::from_db(high).factor()
}
