//! Air to ground: free space, and an excess loss that depends on the elevation.
//!
//! Read: A. Al-Hourani, S. Kandeepan, S. Lardner, "Optimal LAP Altitude for Maximum Coverage", IEEE Wireless
//! Communications Letters 3(6), 2014. The probability of sight is 1/(1 + a·exp(-b(θ - a))) at an elevation of θ
//! degrees. The excess loss in decibels is the mean of the losses with and without sight. Between two nodes in the air,
//! free space holds. Left out: a draw of sight for each pair, and links near the ground, for which the law was not
//! made. Validated against values of the law.

use hopyard_engine::units::{Coordinate, Frequency, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::free_space::{self, FreeSpace};
use super::path_loss::{Carrier, PathLoss, positive};
use crate::mobility::Position;
use crate::params::{self, Fault, NS2, RFC};

/// Parameters of air to ground. The defaults of the law are those of a town.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The carrier's frequency: 802.11 channel 1; ns-2 has that of the first WaveLAN cards.
    pub frequency: Frequency,
    /// Gain of every antenna over an isotropic one, for sending and for receiving.
    pub antenna_gain: Ratio,
    /// Losses in cables and filters, both ends together.
    pub system_loss: Ratio,
    /// The parameter a of the probability of sight, in degrees: suburban 4.88, urban 9.61, dense urban 12.08, high-rise
    /// 27.23.
    pub a: f64,
    /// The parameter b of the probability of sight, a degree: suburban 0.43, urban 0.16, dense urban 0.11, high-rise
    /// 0.08.
    pub b: f64,
    /// The excess loss with sight: suburban 0.1 dB, urban 1 dB, dense urban 1.6 dB, high-rise 2.3 dB.
    pub sight_loss: Ratio,
    /// The excess loss without sight: suburban 21 dB, urban 20 dB, dense urban 23 dB, high-rise 34 dB.
    pub shadow_loss: Ratio,
    /// Nodes above this height are in the air. Between two of them, free space holds.
    pub air_above: Coordinate,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        Self {
            frequency: Frequency::new(if profile == NS2 { 914e6 } else { 2412e6 }),
            antenna_gain: Ratio::from_factor(1.0),
            system_loss: Ratio::from_factor(1.0),
            a: 9.61,
            b: 0.16,
            sight_loss: Ratio::from_db(1.0),
            shadow_loss: Ratio::from_db(20.0),
            air_above: Coordinate::new(20.0),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        positive(&[("frequency", self.frequency.hertz()), ("a", self.a), ("b", self.b)])?;
        Fault::unless("sight_loss", self.sight_loss, |it| it.factor() >= 1.0, "at least 0 dB")?;
        let least = self.sight_loss;
        let is_possible = |it: Ratio| it.factor() >= least.factor();
        Fault::unless("shadow_loss", self.shadow_loss, is_possible, format_args!("at least `sight_loss` ({least})"))
    }
}

impl Carrier for Params {
    fn frequency(&self) -> Option<Frequency> {
        Some(self.frequency)
    }
}

/// The compiled form. A range in metres stands for its power in free space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AirToGround {
    free: FreeSpace,
    a: f64,
    b: f64,
    /// The natural logarithms of the excess losses with sight and without.
    losses: [f64; 2],
    air_above: f64,
}

impl AirToGround {
    /// Compiles the parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        let Params { frequency, antenna_gain, system_loss, a, b, sight_loss, shadow_loss, air_above } = params.clone();
        Self {
            free: FreeSpace::new(&free_space::Params { frequency, antenna_gain, system_loss }),
            a,
            b,
            losses: [sight_loss, shadow_loss].map(|loss| libm::log(loss.factor())),
            air_above: air_above.metres(),
        }
    }

    /// The probability of sight at an elevation in degrees.
    fn sight(&self, degrees: f64) -> f64 {
        1.0 / (1.0 + self.a * libm::exp(-self.b * (degrees - self.a)))
    }
}

impl PathLoss for AirToGround {
    const SITED: bool = true;

    fn gain(&self, distance_squared: f64) -> f64 {
        self.free.gain(distance_squared)
    }

    fn reach(&self, gain: f64) -> f64 {
        self.free.reach(gain)
    }

    fn between(&self, one: Position, other: Position) -> f64 {
        let free = self.free.gain(one.distance_squared(other));
        if one.z.min(other.z) > self.air_above {
            return free;
        }
        let way = other - one;
        let elevation = libm::atan2(way.z.abs(), libm::hypot(way.x, way.y)).to_degrees();
        let sight = self.sight(elevation);
        let [clear, shadowed] = self.losses;
        free * libm::exp(-(sight * clear + (1.0 - sight) * shadowed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params as _;

    /// The law of a kind of town: a, b, and the losses in decibels.
    fn town(a: f64, b: f64, sight: f64, shadow: f64) -> AirToGround {
        AirToGround::new(&Params {
            frequency: Frequency::new(2.4e9),
            a,
            b,
            sight_loss: Ratio::from_db(sight),
            shadow_loss: Ratio::from_db(shadow),
            ..Params::of_profile(RFC)
        })
    }

    #[test]
    fn losses_are_those_of_the_law() {
        let (urban, dense, high) =
            (town(9.61, 0.16, 1.0, 20.0), town(12.08, 0.11, 1.6, 23.0), town(27.23, 0.08, 2.3, 34.0));
        for (law, degrees, expected) in [(&urban, 20.0, 0.3543), (&urban, 45.0, 0.9677), (&high, 45.0, 0.1321)] {
            assert!((law.sight(degrees) - expected).abs() < 1e-4, "{degrees}: {}", law.sight(degrees));
        }
        // 100 m up and 100 m away, where free space loses 83.06 dB.
        let (drone, ground) = (Position { x: 0.0, y: 0.0, z: 100.0 }, Position::ground(100.0, 0.0));
        for (law, expected) in [(urban, 84.68), (dense, 89.89), (high, 112.88)] {
            let loss = -10.0 * libm::log10(law.between(drone, ground));
            assert!((loss - expected).abs() < 0.02, "{loss}, expected {expected}");
            assert_eq!(law.between(drone, ground), law.between(ground, drone));
        }
    }

    #[test]
    fn drones_see_each_other_in_free_space() {
        let law = AirToGround::new(&Params::of_profile(RFC));
        let at = |x: f64, z: f64| Position { x, y: 0.0, z };
        assert_eq!(law.between(at(0.0, 50.0), at(300.0, 60.0)), law.gain(300.0 * 300.0 + 100.0));
        // Free space is the nearest relative: a node on the ground loses more, and most of all far away.
        let excess = |x: f64| law.gain(x * x + 2500.0) / law.between(at(0.0, 50.0), at(x, 0.0));
        assert!(excess(10.0) > 1.2 && excess(1000.0) > 50.0 * excess(10.0));
    }

    #[test]
    fn impossible_values_are_named() {
        let of = |change: fn(&mut Params)| crate::samples::fault(RFC, change).parameter;
        assert_eq!(of(|it| it.a = 0.0), "a");
        assert_eq!(of(|it| it.sight_loss = Ratio::from_db(-1.0)), "sight_loss");
        assert_eq!(of(|it| it.shadow_loss = Ratio::from_db(0.5)), "shadow_loss");
    }
}
