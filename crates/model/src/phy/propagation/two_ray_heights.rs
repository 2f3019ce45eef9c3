//! Two-ray ground reflection between antennas of different heights.
//!
//! Read: T. S. Rappaport, Wireless Communications, 2nd edition 2002, §4.6. Free space holds up to the crossover
//! distance 4π·h₁·h₂/λ of the two antennas, and the asymptote (h₁·h₂)²/d⁴ beyond. The height of an antenna is the
//! height of its node and of its mast together. Left out: the oscillation between the two rays, and ground that is not
//! flat and at height zero. Validated against two-ray ground, with which it agrees for nodes on the ground.

use hopyard_engine::units::{Distance, Frequency, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::free_space::{self, FreeSpace};
use super::path_loss::{Carrier, PathLoss, SPEED_OF_LIGHT, positive};
use crate::mobility::Position;
use crate::params::{self, Fault, NS2, RFC};

/// Parameters of two-ray reflection with heights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The carrier's frequency: 802.11 channel 1; ns-2 has that of the first WaveLAN cards.
    pub frequency: Frequency,
    /// Height of every antenna above its node. An antenna at the ground or below it counts as this high.
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
    fn frequency(&self) -> Option<Frequency> {
        Some(self.frequency)
    }
}

/// The compiled form. A range in metres stands for its power in free space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoRayHeights {
    free: FreeSpace,
    mast: f64,
    /// The crossover distance over the product of the heights.
    crossover: f64,
    /// The gain times d⁴ over the square of the product of the heights.
    far: f64,
}

impl TwoRayHeights {
    /// Compiles the parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        let Params { frequency, antenna_height, antenna_gain, system_loss } = params.clone();
        Self {
            free: FreeSpace::new(&free_space::Params { frequency, antenna_gain, system_loss }),
            mast: antenna_height.metres(),
            crossover: 4.0 * std::f64::consts::PI * frequency.hertz() / SPEED_OF_LIGHT,
            far: antenna_gain.factor() * antenna_gain.factor() / system_loss.factor(),
        }
    }
}

impl PathLoss for TwoRayHeights {
    const SITED: bool = true;

    fn gain(&self, distance_squared: f64) -> f64 {
        self.free.gain(distance_squared)
    }

    fn reach(&self, gain: f64) -> f64 {
        self.free.reach(gain)
    }

    fn between(&self, one: Position, other: Position) -> f64 {
        let heights = (one.z.max(0.0) + self.mast) * (other.z.max(0.0) + self.mast);
        let squared = one.distance_squared(other);
        let crossover = self.crossover * heights;
        // Rounding may put the asymptote above free space, of which it is never more.
        let free = self.free.gain(squared);
        if squared < crossover * crossover {
            free
        } else {
            (self.far * heights * heights / (squared * squared)).min(free)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::two_ray_ground::{self, TwoRayGround};
    use super::*;
    use crate::params::Params as _;

    fn at(x: f64, z: f64) -> Position {
        Position { x, y: 0.0, z }
    }

    #[test]
    fn on_the_ground_it_is_two_ray_ground() {
        for profile in [RFC, NS2] {
            let (law, ground) = (
                TwoRayHeights::new(&Params::of_profile(profile)),
                TwoRayGround::new(&two_ray_ground::Params::of_profile(profile)),
            );
            for metres in [0.0, 1.0, 80.0, 90.0, 250.0, 550.0, 3000.0] {
                let (found, expected) = (law.between(at(0.0, 0.0), at(metres, 0.0)), ground.gain(metres * metres));
                assert!((found / expected - 1.0).abs() < 1e-9, "{profile}, {metres} m: {found}, expected {expected}");
            }
        }
    }

    #[test]
    fn height_gains_six_decibels_a_doubling_until_free_space() {
        let law = TwoRayHeights::new(&Params { antenna_height: Distance::new(1.0), ..Params::of_profile(NS2) });
        // 20·log10(h1·h2) at a distance of which the height is a small part.
        let gain = |z: f64| law.between(at(0.0, z - 1.0), at(5000.0, 0.0));
        assert!((gain(4.0) / gain(2.0) / 4.0 - 1.0).abs() < 1e-4, "{}", gain(4.0) / gain(2.0));
        let high = at(0.0, 200.0);
        assert_eq!(law.between(high, at(5000.0, 0.0)), law.gain(high.distance_squared(at(5000.0, 0.0))));
        assert_eq!(law.between(high, at(900.0, 3.0)), law.between(at(900.0, 3.0), high));
    }
}
