//! The powers and sensitivities of single stations beside those that all radios of a channel have in common.
//!
//! A factor for what a station sends, and one for what it receives, stand beside the common power and the common
//! thresholds. A receiver that needs weaker or stronger signals than the others does so against noise, too: sensitivity
//! is a noise figure. So the thresholds of all receivers stay the same numbers, and only powers differ.

use super::mode::Mode;
use super::params::Params;
use super::propagation::Channel;
use super::single::Single;

/// What a station has beside the others.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Factor {
    /// For the power that it sends.
    sends: f64,
    /// For the power that it receives.
    hears: f64,
    /// The part of that which is no power at its antenna.
    sensitivity: f64,
}

/// The factors of the stations of a channel; nothing if all are alike.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Factors(Box<[Factor]>);

impl Factors {
    /// The factors of stations with these nodes, whose data frames have this mode.
    #[must_use]
    pub fn of(radio: &Params, channel: &Channel, mode: &Mode, nodes: &[u32]) -> Self {
        let mut factors = Vec::new();
        for single in &radio.single {
            let on = single.nodes.iter().filter_map(|node| nodes.binary_search(node).ok());
            for station in on {
                factors.resize(nodes.len(), Factor::NONE);
                factors[station] = single.factors(radio, channel, mode);
            }
        }
        Self(factors.into())
    }

    /// A station radiates with a power that is so many times the common one, and hears nothing.
    pub fn jam(&mut self, station: usize, stations: usize, sends: f64) {
        let mut factors = std::mem::take(&mut self.0).into_vec();
        factors.resize(stations, Factor::NONE);
        factors[station] = Factor { sends, hears: 0.0, sensitivity: 1.0 };
        self.0 = factors.into();
    }

    /// Whether a station is one that only radiates.
    #[must_use]
    pub fn jams(&self, station: usize) -> bool {
        self.at(station).hears == 0.0
    }

    /// Whether no station differs.
    #[inline]
    #[must_use]
    pub const fn are_alike(&self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    fn at(&self, station: usize) -> Factor {
        self.0.get(station).copied().unwrap_or(Factor::NONE)
    }

    /// The factor for the power that a station sends.
    #[inline]
    #[must_use]
    pub fn sends(&self, station: usize) -> f64 {
        self.at(station).sends
    }

    /// The factor for the power that a station receives.
    #[inline]
    #[must_use]
    pub fn hears(&self, station: usize) -> f64 {
        self.at(station).hears
    }

    /// Multiplies the power at each of these stations by the factor of the station.
    #[inline]
    pub fn apply(&self, stations: &[u32], powers: &mut [f64]) {
        if !self.are_alike() {
            powers.iter_mut().zip(stations).for_each(|(power, &station)| *power *= self.hears(station as usize));
        }
    }

    /// The part of that factor which is no power at its antenna.
    #[must_use]
    pub fn sensitivity(&self, station: usize) -> f64 {
        self.at(station).sensitivity
    }

    /// The factor for the best sender and the best receiver.
    #[must_use]
    pub fn largest(&self) -> f64 {
        let largest = |of: fn(&Factor) -> f64| self.0.iter().map(of).reduce(f64::max).unwrap_or(1.0);
        largest(|it| it.sends) * largest(|it| it.hears)
    }
}

impl Factor {
    const NONE: Self = Self { sends: 1.0, hears: 1.0, sensitivity: 1.0 };
}

impl Single {
    fn factors(&self, radio: &Params, channel: &Channel, mode: &Mode) -> Factor {
        // So that rounding does not leave out a node at exactly the range.
        const AT_RANGE: f64 = 1.0 + 1e-12;
        let (common, gain) = (radio.transmit_power, self.gain.factor());
        let both = self.receive.zip(radio.receive.of(mode));
        let sensitivity =
            both.map_or(1.0, |(own, all)| all.watts(channel, common) / own.watts(channel, common) * AT_RANGE);
        let power = self.transmit_power.map_or(1.0, |own| own.watts() / common.watts());
        Factor { sends: power * gain, hears: sensitivity * gain, sensitivity }
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::units::{Distance, Power, Ratio};

    use super::*;
    use crate::params::{Params as _, RFC};
    use crate::phy::Sensitivity;
    use crate::phy::mode::MODES;
    use crate::phy::propagation::Config;

    fn of(singles: &[Single], nodes: &[u32]) -> Factors {
        let channel = Config::of_profile("two_ray_ground", RFC).expect("a model").channel();
        let radio = Params { single: singles.to_vec(), ..Params::of_profile(RFC) };
        Factors::of(&radio, &channel, &MODES[0], nodes)
    }

    fn single(node: u32) -> Single {
        Single { nodes: vec![node], transmit_power: None, gain: Ratio::from_factor(1.0), receive: None }
    }

    #[test]
    fn a_gain_counts_twice_and_a_sensitivity_once() {
        let gain = Single { gain: Ratio::from_factor(4.0), ..single(5) };
        let deaf = Single { receive: Some(Sensitivity::Threshold(Power::from_dbm(-50.0))), ..single(9) };
        let factors = of(&[gain, deaf], &[2, 5, 9]);
        assert_eq!((factors.sends(0), factors.hears(0)), (1.0, 1.0));
        assert_eq!((factors.sends(1), factors.hears(1), factors.sensitivity(1)), (4.0, 4.0, 1.0));
        assert!(factors.sends(2) == 1.0 && factors.hears(2) < 0.1 && factors.hears(2) == factors.sensitivity(2));
        assert_eq!(factors.largest(), 16.0);
    }

    #[test]
    fn stations_that_are_all_worse_have_no_better_one_among_them() {
        let weak = |node: u32| Single { transmit_power: Some(Power::from_dbm(-60.0)), ..single(node) };
        let alike = Power::from_dbm(-60.0).watts() / Params::of_profile(RFC).transmit_power.watts();
        assert_eq!(of(&[weak(2), weak(5)], &[2, 5]).largest(), alike);
        assert_eq!(of(&[weak(2), weak(5)], &[2, 5, 9]).largest(), 1.0);
    }

    #[test]
    fn the_own_range_includes_a_node_at_its_end() {
        let channel = Config::of_profile("two_ray_ground", RFC).expect("a model").channel();
        let radio = Params::of_profile(RFC);
        for metres in [1.0, 33.3, 100.0, 249.9, 1234.5] {
            let own = Single { receive: Some(Sensitivity::Range(Distance::new(metres))), ..single(0) };
            let power = radio.transmit_power.watts() * channel.gain(metres * metres);
            assert!(power * of(&[own], &[0]).hears(0) >= radio.receiver(&channel, &MODES[0]).threshold, "{metres} m");
        }
    }

    #[test]
    fn nodes_of_other_channels_change_nothing() {
        let factors = of(&[Single { gain: Ratio::from_factor(4.0), ..single(5) }], &[2, 9]);
        assert!(factors.are_alike() && factors.largest() == 1.0);
    }
}
