//! Log-distance path loss with log-normal shadowing.
//!
//! Read: T. S. Rappaport, Wireless Communications, 2nd edition 2002, §4.9; free space gives the loss at the reference
//! distance. At smaller distances the loss is the same as there (as in ns-2). The shadowing is `log_normal`. Validated
//! against the formula.

use hopyard_engine::units::{Distance, Frequency, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path_loss::{Carrier, PathLoss, friis, positive};
use crate::params::{self, Fault, NS2, RFC};
use crate::phy::fading::Fading as _;
use crate::phy::fading::log_normal::{self, LogNormal};

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
        log_normal::check("sigma", self.sigma)
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
    shadowing: LogNormal,
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
            shadowing: LogNormal::of(params.sigma),
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

    fn reach(&self, gain: f64) -> f64 {
        let ratio = (self.reference_gain / gain).max(1.0);
        libm::sqrt(self.reference_squared) * libm::pow(ratio, 0.5 / self.half_exponent)
    }

    fn shadowing(&self) -> Option<LogNormal> {
        (!self.shadowing.is_none()).then_some(self.shadowing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params as _;

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
    fn there_is_shadowing_unless_its_deviation_is_zero() {
        let sigma = |db| LogDistance::new(&Params { sigma: Ratio::from_db(db), ..Params::of_profile(RFC) }).shadowing();
        assert_eq!(sigma(4.0), Some(LogNormal::of(Ratio::from_db(4.0))));
        assert_eq!(sigma(0.0), None);
    }
}
