//! The weakest usable signal, as a power or as a distance.

use std::fmt;
use std::str::FromStr;

use hopyard_engine::as_text;
use hopyard_engine::units::{Distance, Power};

use super::propagation::Channel;

/// Signals beyond this distance in metres are ignored. A signal travels 25 km in less time than the shortest preamble
/// of DSSS takes. Therefore a frame of DSSS begins at the farthest hearer before it ends at the nearest one, and a
/// transmission is one part of the medium.
pub(super) const HORIZON: f64 = 25_000.0;

/// The weakest usable signal, given as a power, or as the distance at which a signal has this power.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sensitivity {
    /// The power that arrives at this distance from a transmitter with the radio's power.
    Range(Distance),
    /// This power.
    Threshold(Power),
}

const SENSITIVITY: &str = "a range such as \"250 m\" or a power such as \"-64 dBm\"";

impl FromStr for Sensitivity {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        text.parse()
            .map(Self::Range)
            .or_else(|_| text.parse().map(Self::Threshold))
            .map_err(|_| format!("expected {SENSITIVITY}, found \"{text}\""))
    }
}

impl fmt::Display for Sensitivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(range) => range.fmt(f),
            Self::Threshold(power) => power.fmt(f),
        }
    }
}

as_text!(Sensitivity, "Sensitivity", SENSITIVITY, ["250 m", "-64 dBm"]);

impl Sensitivity {
    /// The problem of a range that no signal is followed to.
    pub(super) fn beyond_horizon(self) -> Option<String> {
        let Self::Range(range) = self else { return None };
        let is_possible = range.metres() > 0.0 && range.metres() <= HORIZON;
        (!is_possible).then(|| format!("expected a range above zero, at most {} km; found {range}", HORIZON / 1e3))
    }

    /// The weakest usable power, in watts.
    #[must_use]
    pub fn watts(self, channel: &Channel, transmit_power: Power) -> f64 {
        match self {
            Self::Range(range) => channel.threshold_for(transmit_power, range).watts(),
            Self::Threshold(power) => power.watts(),
        }
    }
}
