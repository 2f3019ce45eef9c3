//! Log-distance path loss with log-normal shadowing.
//!
//! Read: T. S. Rappaport, Wireless Communications, 2nd edition 2002, §4.9; free space gives the loss at the reference
//! distance. At smaller distances the loss is the same as there (as in ns-2). Each reception of each transmission is
//! shadowed independently, as in ns-2: draws are correlated neither in time nor in space. This models fading rather
//! than buildings. Validated by its moments and against the formula.

use hopyard_engine::units::{Distance, Frequency, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path_loss::{Carrier, PathLoss, SHADOWING_LIMIT, friis, positive};
use crate::params::{self, Fault, NS2, RFC};

/// Parameters of log-distance path loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The carrier's frequency: 802.11 channel 1; ns-2 has that of the first WaveLAN cards.
    pub frequency: Frequency,
    /// Gain of every antenna over an isotropic one, for sending and for receiving.
    pub antenna_gain: Ratio,
    /// Losses in cables and filters, both ends together.
    pub system_loss: Ratio,
    /// The path loss exponent: 2 in free space, 2.7 to 5 in towns.
    pub exponent: f64,
    /// The reference distance, from which the power law holds.
    pub reference_distance: Distance,
    /// Standard deviation of the shadowing; "0 dB" for none.
    pub sigma: Ratio,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        Self {
            frequency: Frequency::new(if profile == NS2 { 914e6 } else { 2412e6 }),
            antenna_gain: Ratio::from_factor(1.0),
            system_loss: Ratio::from_factor(1.0),
            exponent: if profile == NS2 { 2.0 } else { 3.0 },
            reference_distance: Distance::new(1.0),
            sigma: Ratio::from_db(4.0),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        positive(&[
            ("frequency", self.frequency.hertz()),
            ("exponent", self.exponent),
            ("reference_distance", self.reference_distance.metres()),
        ])?;
        if self.sigma.factor() < 1.0 {
            return Err(Fault::new("sigma", format!("must not be negative, found {}", self.sigma)));
        }
        Ok(())
    }
}

impl Carrier for Params {
    fn frequency(&self) -> Option<Frequency> {
        Some(self.frequency)
    }
}

/// The compiled form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogDistance {
    reference_gain: f64,
    reference_squared: f64,
    half_exponent: f64,
    /// Standard deviation of the natural logarithm of the power.
    sigma: f64,
}

impl LogDistance {
    /// Compiles the parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        let reference_squared = params.reference_distance.metres() * params.reference_distance.metres();
        let at_reference = friis(params.frequency, params.antenna_gain, params.system_loss) / reference_squared;
        Self {
            reference_gain: at_reference.min(1.0),
            reference_squared,
            half_exponent: params.exponent / 2.0,
            sigma: libm::log(params.sigma.factor()),
        }
    }
}

impl PathLoss for LogDistance {
    #[inline]
    fn gain(&self, distance_squared: f64) -> f64 {
        if distance_squared <= self.reference_squared {
            return self.reference_gain;
        }
        self.reference_gain * libm::pow(self.reference_squared / distance_squared, self.half_exponent)
    }

    #[inline]
    fn shadowing(&self, key: u64) -> f64 {
        if self.is_deterministic() { 1.0 } else { libm::exp(self.sigma * normal(key)) }
    }

    fn reach(&self, gain: f64) -> f64 {
        let strongest = self.reference_gain * libm::exp(self.sigma * SHADOWING_LIMIT);
        libm::sqrt(self.reference_squared) * libm::pow((strongest / gain).max(1.0), 0.5 / self.half_exponent)
    }

    #[inline]
    fn is_deterministic(&self) -> bool {
        self.sigma == 0.0
    }
}

/// The output function of SplitMix64 (Steele, Lea, Flood 2014): every bit of the key reaches every bit of the result.
#[inline]
const fn mix(key: u64) -> u64 {
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}

/// A standard normal deviate that depends on the key alone (Box and Muller 1958), cut at [`SHADOWING_LIMIT`].
fn normal(key: u64) -> f64 {
    /// 2^64 over the golden ratio: the step between SplitMix64's states.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;
    // The key itself is mixed first: keys one step apart would otherwise share a half of their draws.
    let state = mix(key ^ STEP);
    let uniform = |number: u64| (mix(state.wrapping_add(STEP.wrapping_mul(number))) >> 11) as f64;
    let radius = libm::sqrt(-2.0 * libm::log((uniform(1) + 1.0) * UNIT));
    let angle = 2.0 * std::f64::consts::PI * (uniform(2) * UNIT);
    (radius * libm::cos(angle)).clamp(-SHADOWING_LIMIT, SHADOWING_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params as _;

    #[test]
    fn the_reach_is_that_of_the_strongest_draw_that_is_possible() {
        let params = Params { sigma: Ratio::from_db(4.0), ..Params::of_profile(RFC) };
        let law = LogDistance::new(&params);
        let threshold = law.gain(250.0 * 250.0);
        let reach = law.reach(threshold);
        let limit = libm::pow(10.0, 0.1 * SHADOWING_LIMIT * 4.0);
        assert!((law.gain(reach * reach) * limit / threshold - 1.0).abs() < 1e-6);
    }

    #[test]
    fn the_median_follows_the_power_law() {
        let params = Params { exponent: 2.7, ..Params::of_profile(RFC) };
        let law = LogDistance::new(&params);
        let loss = |metres: f64| -10.0 * libm::log10(law.gain(metres * metres));
        // Free space loses 40.09 dB over the first metre at 2412 MHz.
        assert!((loss(1.0) - 40.09).abs() < 0.01, "{}", loss(1.0));
        assert!((loss(100.0) - loss(1.0) - 54.0).abs() < 1e-9);
        assert!((loss(0.2) - loss(1.0)).abs() < 1e-12);
    }

    #[test]
    fn shadowing_has_its_standard_deviation_in_decibels() {
        let law = LogDistance::new(&Params::of_profile(NS2));
        let n = 200_000_u32;
        let draws: Vec<f64> = (0..n).map(|key| 10.0 * libm::log10(law.shadowing(u64::from(key)))).collect();
        let n = f64::from(n);
        let mean = draws.iter().sum::<f64>() / n;
        let variance = draws.iter().map(|draw| (draw - mean) * (draw - mean)).sum::<f64>() / n;
        assert!(mean.abs() < 0.03, "mean {mean} dB");
        assert!((libm::sqrt(variance) - 4.0).abs() < 0.03, "standard deviation {} dB", libm::sqrt(variance));
        // Keys of the same transmission, and of the same receiver, differ in few bits: their draws must not be alike.
        for stride in [1, 1 << 32] {
            let shifted = |key: u64| 10.0 * libm::log10(law.shadowing(key + stride));
            let covariance = draws.iter().zip(0..).map(|(draw, key)| draw * shifted(key)).sum::<f64>() / n;
            assert!((covariance / variance).abs() < 0.01, "correlation {}", covariance / variance);
        }
    }

    #[test]
    fn a_draw_depends_on_its_key_alone() {
        let law = LogDistance::new(&Params::of_profile(NS2));
        assert_eq!(law.shadowing(17).to_bits(), law.shadowing(17).to_bits());
        assert_ne!(law.shadowing(17).to_bits(), law.shadowing(18).to_bits());
        let still = LogDistance::new(&Params { sigma: Ratio::from_db(0.0), ..Params::of_profile(NS2) });
        assert!(still.is_deterministic() && still.shadowing(17) == 1.0);
    }
}
