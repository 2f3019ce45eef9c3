//! Path loss: the fraction of the transmitted power that arrives at a distance.
//!
//! Parameters are compiled once into a [`Channel`], which is asked for every pair of sender and hearer. It works on
//! squared distances: most models need neither a root nor a logarithm. The difference from signal to signal is fading,
//! which has a list of its own.

use hopyard_engine::units::{Distance, Frequency, Power};

pub use path_loss::{Carrier, PathLoss, SPEED_OF_LIGHT};

use super::fading::Fader;
use crate::mobility::Position;
use crate::registry;

pub mod air_to_ground;
pub mod free_space;
pub mod log_distance;
mod path_loss;
pub mod range_disc;
pub mod table;
pub mod two_ray_ground;
pub mod two_ray_heights;

/// The factor by which [`Channel::reach`] exceeds the exact inverse, because of rounding errors.
const REACH_MARGIN: f64 = 1e-9;

/// Makes the registry, and the enum that forwards to one of the models.
///
/// A model's module holds `Params`, which implements [`Carrier`], and a type of the variant's name, which implements
/// [`PathLoss`] and has `new(&Params)`.
macro_rules! models {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        registry! { "propagation": $($name => $module::$variant, $summary;)+ }

        /// Any path loss model, ready for use.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Channel {
            $(#[doc = $summary] $variant($module::$variant),)+
        }

        impl Config {
            /// Compiles the parameters.
            #[must_use]
            pub fn channel(&self) -> Channel {
                match self { $(Self::$variant(params) => Channel::$variant($module::$variant::new(params)),)+ }
            }

            /// Whether all signals have about the same power ([`Carrier::EQUAL_POWERS`]).
            #[must_use]
            pub const fn equal_powers(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::Params as Carrier>::EQUAL_POWERS,)+ }
            }

            /// Whether all antennas are taken as equally high ([`Carrier::EQUAL_HEIGHTS`]).
            #[must_use]
            pub const fn equal_heights(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::Params as Carrier>::EQUAL_HEIGHTS,)+ }
            }

            /// The carrier's frequency, if the model depends on it.
            #[must_use]
            pub fn frequency(&self) -> Option<Frequency> {
                match self { $(Self::$variant(params) => params.frequency(),)+ }
            }
        }

        impl Channel {
            /// The median of received power over transmitted power, at this distance squared in m². At most one, and
            /// falling with distance.
            #[inline]
            #[must_use]
            pub fn gain(&self, distance_squared: f64) -> f64 {
                match self { $(Self::$variant(model) => model.gain(distance_squared),)+ }
            }

            /// The gain between two places.
            #[must_use]
            pub fn between(&self, one: Position, other: Position) -> f64 {
                match self { $(Self::$variant(model) => model.between(one, other),)+ }
            }

            /// Whether the gain depends on the places of both ends ([`PathLoss::SITED`]).
            #[must_use]
            pub const fn is_sited(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::$variant as PathLoss>::SITED,)+ }
            }

            /// The gains at each of these distances squared. They replace the content of `gains`.
            pub fn gains(&self, squares: &[f64], gains: &mut Vec<f64>) {
                match self { $(Self::$variant(model) => model.gains(squares, gains),)+ }
            }

            /// A distance in metres beyond which no gain is as high as `gain`.
            #[must_use]
            pub fn reach(&self, gain: f64) -> f64 {
                self.range(gain) * (1.0 + REACH_MARGIN)
            }

            /// The distance in metres up to which the gain is as high as this.
            #[must_use]
            pub fn range(&self, gain: f64) -> f64 {
                match self { $(Self::$variant(model) => model.reach(gain),)+ }
            }

            /// The fading that belongs to the model, if it has any.
            #[must_use]
            pub fn shadowing(&self) -> Option<Fader> {
                match self { $(Self::$variant(model) => model.shadowing(),)+ }.map(Fader::LogNormal)
            }
        }
    };
}

models! {
    "two_ray_ground" => two_ray_ground::TwoRayGround,
        "Free space nearby, reflection from flat ground beyond the crossover (Rappaport 2002 §4.6).";
    "free_space" => free_space::FreeSpace, "Line of sight without reflections (Friis 1946).";
    "log_distance" => log_distance::LogDistance, "A power law with log-normal shadowing (Rappaport 2002 §4.9).";
    "two_ray_heights" => two_ray_heights::TwoRayHeights,
        "Two-ray reflection between antennas of different heights (Rappaport 2002 §4.6).";
    "air_to_ground" => air_to_ground::AirToGround,
        "Free space with an excess loss by elevation, between air and ground (Al-Hourani et al. 2014).";
    "range_disc" => range_disc::RangeDisc,
        "Only the ranges decide: all signals have nearly the same power, so there is no capture.";
    "table" => table::Table, "Links of a file: losses, ratios of signal to noise, or delivery ratios, pair by pair.";
}

impl Channel {
    /// The median of the received power at exactly `range`. Used as a threshold it includes a node at this distance,
    /// because [`Channel::gain`] gives the same value.
    #[must_use]
    pub fn threshold_for(&self, tx_power: Power, range: Distance) -> Power {
        Power::from_watts(tx_power.watts() * self.gain(range.metres() * range.metres()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{NS2, Params as _, RFC};

    fn channels() -> impl Iterator<Item = (&'static str, Channel)> {
        MODELS.iter().flat_map(|model| {
            [RFC, NS2].map(|profile| {
                (model.name, Config::of_profile(model.name, profile).expect("a model of this room").channel())
            })
        })
    }

    #[test]
    fn gain_falls_with_distance_and_never_amplifies() {
        for (name, channel) in channels() {
            let mut last = channel.gain(0.0);
            assert_eq!(last.min(1.0), last, "{name}");
            for step in 1..4000 {
                let distance = f64::from(step) * 0.5;
                let gain = channel.gain(distance * distance);
                assert!(gain <= last && gain > 0.0, "{name} at {distance} m: {gain} after {last}");
                last = gain;
            }
            assert!(last < channel.gain(100.0), "{name} does not fall at all");
        }
    }

    #[test]
    fn places_never_gain_more_than_their_distance_and_are_equal_in_both_directions() {
        let places = [(0.0, 0.0, 0.0), (90.0, 10.0, 0.0), (0.0, 200.0, 30.0), (300.0, 300.0, 120.0), (0.0, 0.0, -4.0)];
        let places = places.map(|(x, y, z)| Position { x, y, z });
        for (name, channel) in channels() {
            for (one, other) in places.iter().flat_map(|one| places.iter().map(move |other| (*one, *other))) {
                let (gain, most) = (channel.between(one, other), channel.gain(one.distance_squared(other)));
                assert!(gain <= most && gain > 0.0, "{name}: {one:?} to {other:?}");
                assert_eq!(gain, channel.between(other, one), "{name}: {one:?} to {other:?}");
                assert!(channel.is_sited() || gain == most, "{name}: {one:?} to {other:?}");
            }
        }
    }

    #[test]
    fn reach_is_the_inverse_of_gain() {
        for (name, channel) in channels() {
            for distance in [2.0, 50.0, 86.0, 86.2, 226.0, 250.0, 550.0, 3000.0] {
                let reach = channel.reach(channel.gain(distance * distance));
                let range = channel.range(channel.gain(distance * distance));
                assert!((range / distance - 1.0).abs() < 1e-6, "{name}: {range} for {distance}");
                assert!(reach >= distance, "{name}: {reach} leaves out {distance}");
                assert!(reach < distance * (1.0 + 1e-6), "{name}: {reach} for {distance}");
            }
        }
    }

    #[test]
    fn a_node_at_exactly_the_range_is_received() {
        let power = Power::from_dbm(15.0);
        for (name, channel) in channels() {
            for (x, y) in [(250.0_f64, 0.0_f64), (150.0, 200.0), (70.0, 240.0)] {
                let threshold = channel.threshold_for(power, Distance::new(250.0));
                assert!(power.watts() * channel.gain(x * x + y * y) >= threshold.watts(), "{name}");
                let outside = x + 0.001;
                assert!(power.watts() * channel.gain(outside * outside + y * y) < threshold.watts(), "{name}");
            }
        }
    }

    #[test]
    fn every_default_is_possible() {
        for model in MODELS {
            for profile in [RFC, NS2] {
                assert_eq!((model.check)(&(model.defaults)(profile)), Ok(()), "{model:?}");
            }
        }
    }

    #[test]
    fn impossible_values_are_named() {
        let mut params = two_ray_ground::Params::of_profile(RFC);
        params.antenna_height = Distance::new(0.0);
        let fault = params.check().expect_err("an antenna in the ground");
        assert_eq!(fault.parameter, "antenna_height");
    }
}
