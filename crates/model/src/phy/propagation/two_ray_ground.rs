//! Two-ray ground reflection: direct ray and the ray reflected from flat ground.
//!
//! Read: T. S. Rappaport, Wireless Communications, 2nd edition 2002, §4.6. As in ns-2, free space (Friis) holds up to
//! the crossover distance 4π·h²/λ, where both formulas agree, and the asymptote h⁴/d⁴ beyond. Left out: the oscillation
//! between the two rays, and the heights of nodes, which count in the distance only. Validated against the thresholds
//! that ns-2 publishes for 250 m and 550 m.

use hopyard_engine::units::{Distance, Frequency, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path_loss::{Carrier, PathLoss, SPEED_OF_LIGHT, friis, positive};
use crate::params::{self, Fault, NS2, RFC};

/// Parameters of two-ray ground reflection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The carrier's frequency: 802.11 channel 1; ns-2 has that of the first WaveLAN cards.
    pub frequency: Frequency,
    /// Height of every antenna above the ground.
    pub antenna_height: Distance,
    /// Gain of every antenna over an isotropic one, for sending and for receiving.
    pub antenna_gain: Ratio,
    /// Losses in cables and filters, both ends together.
    pub system_loss: Ratio,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        Self {
            frequency: Frequency::new(if profile == NS2 { 914e6 } else { 2412e6 }),
            antenna_height: Distance::new(1.5),
            antenna_gain: Ratio::from_factor(1.0),
            system_loss: Ratio::from_factor(1.0),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        positive(&[("frequency", self.frequency.hertz()), ("antenna_height", self.antenna_height.metres())])
    }
}

impl Carrier for Params {
    const EQUAL_HEIGHTS: bool = true;

    fn frequency(&self) -> Option<Frequency> {
        Some(self.frequency)
    }
}

/// The compiled form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoRayGround {
    /// The gain times d², for distances below the crossover.
    near: f64,
    /// The gain times d⁴, for distances from the crossover on.
    far: f64,
    /// The square of the crossover distance.
    crossover_squared: f64,
}

impl TwoRayGround {
    /// Compiles the parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        let near = friis(params.frequency, params.antenna_gain, params.system_loss);
        let height_squared = params.antenna_height.metres() * params.antenna_height.metres();
        let amplitude = params.antenna_gain.factor() * height_squared;
        let crossover = 4.0 * std::f64::consts::PI * height_squared * params.frequency.hertz() / SPEED_OF_LIGHT;
        Self {
            near,
            far: amplitude * amplitude / params.system_loss.factor(),
            crossover_squared: crossover * crossover,
        }
    }
}

impl PathLoss for TwoRayGround {
    /// Friis's formula does not hold for distances below λ/4π. There, all of the power arrives.
    #[inline]
    fn gain(&self, distance_squared: f64) -> f64 {
        // One division and no branch, so that several distances can be computed at once.
        let is_near = distance_squared < self.crossover_squared;
        let (gain, power) =
            if is_near { (self.near, distance_squared) } else { (self.far, distance_squared * distance_squared) };
        (gain / power).min(1.0)
    }

    fn reach(&self, gain: f64) -> f64 {
        let near = libm::sqrt(self.near / gain);
        if near * near < self.crossover_squared { near } else { libm::sqrt(libm::sqrt(self.far / gain)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params as _;

    /// ns-2's transmission power in watts.
    const POWER: f64 = 0.281_838_15;

    #[test]
    fn ns2_ranges_follow_from_its_thresholds() {
        let law = TwoRayGround::new(&Params::of_profile(NS2));
        // ns-2.35: RXThresh_ 3.652e-10 W is said to be 250 m, CSThresh_ 1.559e-11 W is 550 m.
        assert!((POWER * law.gain(250.0 * 250.0) / 3.6526e-10 - 1.0).abs() < 1e-4);
        assert!((POWER * law.gain(550.0 * 550.0) / 1.5592e-11 - 1.0).abs() < 1e-4);
        assert!((law.reach(3.652e-10 / POWER) - 250.0).abs() < 0.03);
        assert!((law.reach(1.559e-11 / POWER) - 550.0).abs() < 0.03);
        // The threshold for 200 m at the same power, as ns-2's tool `threshold` prints it.
        assert!((POWER * law.gain(200.0 * 200.0) / 8.917_54e-10 - 1.0).abs() < 1e-5);
    }

    #[test]
    fn both_formulas_meet_at_the_crossover() {
        let law = TwoRayGround::new(&Params::of_profile(NS2));
        let crossover = libm::sqrt(law.crossover_squared);
        assert!((crossover - 86.14).abs() < 0.01, "{crossover}");
        let (below, above) = (law.gain(law.crossover_squared * (1.0 - 1e-12)), law.gain(law.crossover_squared));
        assert!((below / above - 1.0).abs() < 1e-10);
    }

    #[test]
    fn power_falls_by_six_and_twelve_decibels_a_doubling() {
        let law = TwoRayGround::new(&Params::of_profile(NS2));
        assert!((law.gain(20.0 * 20.0) / law.gain(40.0 * 40.0) - 4.0).abs() < 1e-12);
        assert!((law.gain(100.0 * 100.0) / law.gain(200.0 * 200.0) - 16.0).abs() < 1e-12);
        assert!((law.gain(0.0) - 1.0).abs() < f64::EPSILON);
    }
}
