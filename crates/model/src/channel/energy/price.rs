//! The prices that a model of energy sets for radios, and the energy that batteries hold.

use std::fmt;
use std::str::FromStr;

use hopyard_engine::as_text;
use hopyard_engine::units::{Draw, Energy};

pub use crate::context::{Attojoules, PacketPrices, Price, Prices, joules};
use crate::params::Params;

/// Parameters that set the prices of a radio.
pub trait Priced: Params {
    /// Its prices; nothing if energy is not counted.
    fn prices(&self) -> Option<Prices>;
}

/// A power as whole nanowatts.
pub(super) fn nanowatts(power: Draw) -> u64 {
    libm::round(power.watts() * 1e9) as u64
}

/// An energy as whole attojoules.
#[must_use]
pub fn attojoules(energy: Energy) -> Attojoules {
    libm::round(energy.joules() * 1e18) as Attojoules
}

/// The energy that a node can spend.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Battery {
    /// As much as it needs.
    #[default]
    Endless,
    /// This energy. Then its node stops.
    Full(Energy),
}

impl Battery {
    /// The energy in a full battery.
    #[must_use]
    pub fn capacity(self) -> Option<Attojoules> {
        match self {
            Self::Endless => None,
            Self::Full(energy) => Some(attojoules(energy)),
        }
    }
}

pub(super) const BATTERY: &str = "an energy above zero such as \"100 J\", or \"endless\"";

impl fmt::Display for Battery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endless => f.write_str("endless"),
            Self::Full(energy) => energy.fmt(f),
        }
    }
}

impl FromStr for Battery {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "endless" {
            return Ok(Self::Endless);
        }
        let energy = text.parse().ok().filter(|energy| attojoules(*energy) > 0);
        energy.map(Self::Full).ok_or_else(|| format!("expected {BATTERY}, found \"{text}\""))
    }
}

as_text!(Battery, "Battery", BATTERY, ["100 J", "endless"]);
