//! Rayleigh fading: a signal comes over many scattered paths, and none of them is direct.
//!
//! The power has an exponential distribution with mean one. Read: the papers of `scatter`, which has the paths
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
    /// How long signals between two radios fade alike: "movement" (until they have moved by a part of a wavelength), or
    /// a given time. "0 s": each transmission fades anew.
    pub coherence: Coherence,
    /// The number of paths, 8 to 256. More paths come nearer to the distribution, and take longer to compute.
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
#[derive(Clone, Debug)]
pub struct Rayleigh(Scatter);

impl Rayleigh {
    /// Compiles the parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self(Scatter::new(params.frequency, params.coherence, params.sinusoids))
    }
}

impl Fading for Rayleigh {
    fn factor(&mut self, signal: &Signal) -> f64 {
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

    /// For a level of power: the share of powers below it, the times in a wavelength that the power rises through it,
    /// and the mean length of fades in wavelengths; over the ways of many pairs.
    pub fn fades<const N: usize>(factor: impl Fn(u64, f64) -> f64, levels: [f64; N]) -> [[f64; 3]; N] {
        const STEPS: u32 = 60;
        let power = |pair, step| factor(pair, f64::from(step) / f64::from(STEPS));
        let ways: Vec<Vec<f64>> =
            (0..300).map(|pair| (0..12 * STEPS).map(|step| power(pair, step)).collect()).collect();
        let all = ways.iter().map(Vec::len).sum::<usize>() as f64;
        levels.map(|level| {
            let below = ways.iter().flatten().filter(|power| **power < level).count() as f64;
            let rises = |way: &Vec<f64>| way.windows(2).filter(|pair| pair[0] < level && pair[1] >= level).count();
            let crossings = ways.iter().map(rises).sum::<usize>() as f64;
            [below / all, crossings / all * f64::from(STEPS), below / f64::from(STEPS) / crossings]
        })
    }

    /// A level that is so many decibels below the mean power.
    pub fn below(decibels: f64) -> f64 {
        libm::pow(10.0, -decibels / 10.0)
    }

    #[test]
    fn fades_follow_the_closed_forms() {
        let found = fades(|pair, way| model(32).factor(&after(pair, way)), [0.0, 3.0, 10.0].map(below));
        // Rice 1948, at 0, -3 and -10 dB.
        for (found, expected) in
            found.iter().flatten().zip([0.632, 0.922, 0.686, 0.394, 1.075, 0.367, 0.0952, 0.717, 0.133])
        {
            assert!((found / expected - 1.0).abs() < 0.06, "{found}, expected {expected}");
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
        let of = |change: fn(&mut Params)| crate::samples::fault(RFC, change).to_string();
        assert_eq!(of(|it| it.sinusoids = 7), "sinusoids: expected 8 to 256, found 7");
        assert!(of(|it| it.frequency = Frequency::new(0.0)).starts_with("frequency: must be above zero"));
    }
}
