//! Rayleigh fading: a signal comes over many scattered paths, and none of them is direct.
//!
//! The power has an exponential distribution with mean one. Read: the papers of [`super::scatter`], which has the paths
//! and their memory. Left out: correlation between pairs, and an environment that moves while the radios do not.
//! Validated against closed forms: distribution, level crossings, duration of fades, and autocorrelation.

use hopyard_engine::units::Frequency;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scatter::{self, Coherence, Scatter};
use super::signal::{Fading, Signal};
use crate::params::{self, Fault, NS2, RFC};

/// Parameters of Rayleigh fading.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The carrier's frequency, on whose wavelength the memory depends: 802.11 channel 1; ns-2 has that of the first
    /// WaveLAN cards.
    pub frequency: Frequency,
    /// How long signals between two radios fade alike: "movement" (as long as they take for a part of a wavelength), or
    /// a given time. "0 s": each transmission fades anew.
    pub coherence: Coherence,
    /// How many paths there are, 8 to 256. More of them come nearer to the distribution, and take longer to compute.
    pub sinusoids: u32,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        Self {
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
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rayleigh(Scatter);

impl Rayleigh {
    /// Compiles the parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self(Scatter::new(params.frequency, params.coherence, params.sinusoids))
    }
}

impl Fading for Rayleigh {
    fn factor(&self, signal: &Signal) -> f64 {
        let (real, imaginary) = self.0.sum(signal);
        real * real + imaginary * imaginary
    }

    fn limit(&self) -> f64 {
        // Rounding may pass the exact limit.
        self.0.limit() * (1.0 + 1e-9)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::scatter::tests::{METRE, after};
    use super::*;
    use crate::params::Params as _;

    fn model(sinusoids: u32) -> Rayleigh {
        let frequency = Frequency::new(METRE);
        Rayleigh::new(&Params { frequency, sinusoids, ..Params::of_profile(RFC) })
    }

    /// The share of powers below a level, the times that the power rises through the level in a wavelength, and the
    /// mean length of fades in wavelengths, over the ways of many pairs.
    pub fn fades(factor: impl Fn(u64, f64) -> f64, level: f64) -> (f64, f64, f64) {
        const STEPS: u32 = 100;
        let (mut below, mut crossings, mut all) = (0.0, 0.0, 0.0);
        for pair in 0..400 {
            let powers: Vec<f64> =
                (0..20 * STEPS).map(|step| factor(pair, f64::from(step) / f64::from(STEPS))).collect();
            below += powers.iter().filter(|power| **power < level).count() as f64;
            crossings += powers.windows(2).filter(|pair| pair[0] < level && pair[1] >= level).count() as f64;
            all += powers.len() as f64;
        }
        let wavelengths = all / f64::from(STEPS);
        (below / all, crossings / wavelengths, below / f64::from(STEPS) / crossings)
    }

    #[test]
    fn fades_follow_the_closed_forms() {
        // The level below the mean power in decibels; the distribution, the crossings in a wavelength, and the mean
        // length of a fade in wavelengths (Rice 1948).
        for (decibels, share, crossings, length) in
            [(0.0, 0.632, 0.922, 0.686), (3.0, 0.394, 1.075, 0.367), (10.0, 0.0952, 0.717, 0.133)]
        {
            let level = libm::pow(10.0, -decibels / 10.0);
            let found = fades(|pair, way| model(32).factor(&after(pair, way)), level);
            for (found, expected) in [(found.0, share), (found.1, crossings), (found.2, length)] {
                assert!((found / expected - 1.0).abs() < 0.04, "-{decibels} dB: {found}, expected {expected}");
            }
        }
    }

    #[test]
    fn fading_stands_still_with_the_radios() {
        let still = |millis: u64| {
            model(16).factor(&Signal { at: hopyard_engine::Time::from_nanos(millis * 1_000_000), ..after(3, 5.0) })
        };
        assert_eq!(still(0), still(60_000));
    }

    #[test]
    fn impossible_values_are_named() {
        let of = |change: fn(&mut Params)| {
            let mut params = Params::of_profile(RFC);
            change(&mut params);
            params.check().expect_err("it is impossible").to_string()
        };
        assert_eq!(of(|it| it.sinusoids = 7), "sinusoids: expected 8 to 256, found 7");
        assert!(of(|it| it.frequency = Frequency::new(0.0)).starts_with("frequency: must be above zero"));
    }
}
