//! Rician fading: a signal comes over a direct path, and over many scattered ones.
//!
//! K is the power of the direct path over the power of all others. The mean of the factor is one. Read: S. O. Rice,
//! "Statistical Properties of a Sine Wave Plus Random Noise", Bell System Technical Journal 27, 1948, and the papers of
//! `scatter`, which has the scattered paths and their memory. The phase of the direct path turns with the
//! distance. Left out: a K that depends on the distance or on the elevation. Validated against closed forms:
//! distribution, level crossings, and duration of fades.

use hopyard_engine::units::{Frequency, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scatter::{self, Coherence, Scatter};
use super::signal::{Fading, Signal};
use crate::params::{self, Fault, NS2, RFC};

/// Parameters of Rician fading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// K: the power of the direct path over the power of all others.
    pub k: Ratio,
    /// The carrier's frequency, on whose wavelength the memory depends: 802.11 channel 1; ns-2 has that of the first
    /// WaveLAN cards.
    pub frequency: Frequency,
    /// How long signals between two radios fade alike: "movement" (until they have moved by a part of a wavelength), or
    /// a given time. "0 s": each transmission fades anew.
    pub coherence: Coherence,
    /// The number of scattered paths, 8 to 256. More paths come nearer to the distribution, and take longer to compute.
    pub sinusoids: u32,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        Self {
            k: Ratio::from_db(6.0),
            frequency: Frequency::new(if profile == NS2 { 914e6 } else { 2412e6 }),
            coherence: Coherence::Movement,
            sinusoids: 16,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        scatter::check(self.frequency, self.sinusoids)
    }
}

/// The compiled form.
#[derive(Clone, Debug)]
pub struct Rician {
    scatter: Scatter,
    /// The amplitudes of the direct path and of the scattered ones.
    amplitudes: (f64, f64),
}

impl Rician {
    /// Compiles the parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        let k = params.k.factor();
        Self {
            scatter: Scatter::new(params.frequency, params.coherence, params.sinusoids),
            amplitudes: (libm::sqrt(k / (1.0 + k)), libm::sqrt(1.0 / (1.0 + k))),
        }
    }
}

impl Fading for Rician {
    fn factor(&mut self, signal: &Signal) -> f64 {
        let (direct, scattered) = self.amplitudes;
        let (own, others) = (self.scatter.direct(signal), self.scatter.sum(signal));
        let (real, imaginary) = (direct * own.0 + scattered * others.0, direct * own.1 + scattered * others.1);
        real * real + imaginary * imaginary
    }

    fn limit(&self) -> f64 {
        let (direct, scattered) = self.amplitudes;
        let most = direct + scattered * libm::sqrt(self.scatter.limit());
        // Rounding may pass the exact limit.
        most * most * (1.0 + 1e-8)
    }
}

#[cfg(test)]
mod tests {
    use super::super::rayleigh::tests::{below, fades};
    use super::super::scatter::tests::{METRE, after};
    use super::*;
    use crate::params::Params as _;

    fn model(k: f64, sinusoids: u32) -> Rician {
        let params = Params { frequency: Frequency::new(METRE), sinusoids, ..Params::of_profile(RFC) };
        Rician::new(&Params { k: Ratio::from_db(k), ..params })
    }

    #[test]
    fn fades_follow_the_closed_forms() {
        // On a circle around the other radio, the direct path does not turn.
        let found = fades(|pair, way| model(6.0, 32).factor(&after(pair, way)), [0.0, 3.0].map(below));
        // Rice 1948, at 0 and -3 dB.
        for (found, expected) in found.iter().flatten().zip([0.565, 0.718, 0.787, 0.214, 0.541, 0.396]) {
            assert!((found / expected - 1.0).abs() < 0.06, "{found}, expected {expected}");
        }
    }

    #[test]
    fn powers_have_the_distribution_of_each_k() {
        for (k, at_mean, at_half) in [(3.0, 0.585, 0.291), (10.0, 0.543, 0.0998)] {
            for (level, expected) in [(1.0, at_mean), (below(3.0), at_half)] {
                let weak = (0..40_000).filter(|pair| model(k, 16).factor(&after(*pair, 0.0)) < level).count();
                let share = weak as f64 / 40_000.0;
                assert!((share - expected).abs() < 0.01, "{k} dB: {share}, expected {expected}");
            }
        }
    }

    #[test]
    fn a_direct_path_makes_fades_rarer_than_rayleighs() {
        let deep = |k: f64| (0..20_000).filter(|pair| model(k, 16).factor(&after(*pair, 0.0)) < 0.1).count();
        assert!(deep(-300.0) > 5 * deep(6.0), "{} and {}", deep(-300.0), deep(6.0));
    }
}
