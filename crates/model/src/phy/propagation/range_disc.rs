//! Range disc: nodes within the range receive a signal, nodes outside do not.
//!
//! This is the disc of the literature on ad hoc networks (Gupta and Kumar 2000, protocol model). The ranges are the
//! radio's thresholds, given in metres. In this model, power falls slowly with distance (to a half at 100 km).
//! Therefore no signal is strong enough to capture another, while each threshold still has its exact range. It cannot
//! be used with the reception "sinr", because all signals have about the same power.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Carrier, PathLoss};
use crate::params::{self, NS2, RFC};

/// A range disc has no parameters: the ranges are the radio's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(_profile: &str) -> Self {
        Self {}
    }
}

impl Carrier for Params {
    const EQUAL_POWERS: bool = true;
}

/// The square of the distance at which half of the power is left, in m².
const HALF_SQUARED: f64 = 1e10;

/// The compiled form.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangeDisc;

impl RangeDisc {
    /// The model.
    #[must_use]
    pub const fn new(_params: &Params) -> Self {
        Self
    }
}

impl PathLoss for RangeDisc {
    #[inline]
    fn gain(&self, distance_squared: f64) -> f64 {
        HALF_SQUARED / (HALF_SQUARED + distance_squared)
    }

    fn reach(&self, gain: f64) -> f64 {
        // The subtraction keeps at least six digits of the distance. The result is enlarged by the rest, so that no
        // node is left out.
        libm::sqrt((HALF_SQUARED / gain - HALF_SQUARED).max(0.0)) * (1.0 + 1e-7)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_signal_captures_another() {
        let nearest = RangeDisc.gain(0.0);
        let farthest = RangeDisc.gain(1e8);
        assert!(nearest / farthest < 1.02, "within 10 km power differs by less than 0.1 dB");
    }

    #[test]
    fn millimetres_still_make_a_difference() {
        assert!(RangeDisc.gain(250.0 * 250.0) > RangeDisc.gain(250.001 * 250.001));
    }
}
