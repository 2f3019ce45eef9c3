//! Free space: the direct path only.
//!
//! Read: H. T. Friis, A note on a simple transmission formula, Proc. IRE 34 (1946) 254-256. Left out: obstacles and
//! reflections. Validated against the formula at one metre in decibels.

use hopyard_engine::units::{Frequency, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path_loss::{Carrier, PathLoss, friis, positive};
use crate::params::{self, Fault, NS2, RFC};

/// Parameters of free space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The carrier's frequency: 802.11 channel 1; ns-2 has that of the first WaveLAN cards.
    pub frequency: Frequency,
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
            antenna_gain: Ratio::from_factor(1.0),
            system_loss: Ratio::from_factor(1.0),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        positive(&[("frequency", self.frequency.hertz())])
    }
}

impl Carrier for Params {
    fn frequency(&self) -> Option<Frequency> {
        Some(self.frequency)
    }
}

/// The compiled form: the gain times d².
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FreeSpace(f64);

impl FreeSpace {
    /// Compiles the parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self(friis(params.frequency, params.antenna_gain, params.system_loss))
    }
}

impl PathLoss for FreeSpace {
    /// The formula does not hold for distances below λ/4π. There, all of the power arrives.
    #[inline]
    fn gain(&self, distance_squared: f64) -> f64 {
        (self.0 / distance_squared).min(1.0)
    }

    fn reach(&self, gain: f64) -> f64 {
        libm::sqrt(self.0 / gain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params as _;

    #[test]
    fn loss_is_that_of_the_textbook() {
        // 20 log10(d in km) + 20 log10(f in MHz) + 32.45 dB, the usual engineering form.
        let model = FreeSpace::new(&Params::of_profile(RFC));
        for metres in [1.0_f64, 100.0, 5000.0] {
            let loss = -10.0 * libm::log10(model.gain(metres * metres));
            let textbook = 20.0 * libm::log10(metres / 1e3) + 20.0 * libm::log10(2412.0) + 32.45;
            assert!((loss - textbook).abs() < 0.02, "{loss} dB at {metres} m, the textbook has {textbook}");
        }
    }

    #[test]
    fn antennas_and_losses_count_once_each() {
        let mut params = Params::of_profile(RFC);
        let plain = FreeSpace::new(&params).gain(1e4);
        params.antenna_gain = Ratio::from_db(3.0);
        params.system_loss = Ratio::from_db(6.0);
        assert!((FreeSpace::new(&params).gain(1e4) / plain - 1.0).abs() < 1e-12, "3 dB at each end make up for 6 dB");
    }
}
