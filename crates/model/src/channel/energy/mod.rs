//! The energy that radios take: which model counts it, and what it costs.
//!
//! Times are whole nanoseconds and powers whole nanowatts, so that an energy is a whole number of attojoules: sums are
//! exact, and the same in any order. A model is a file with its parameters, which say what they cost ([`Prices`]), and
//! an entry in the list below.

mod account;
mod gauge;
pub mod off;
pub mod per_packet;
pub mod state;

use std::fmt;

use hopyard_engine::units::{Draw, Energy};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub use account::{Account, Purpose, Spent};
pub use gauge::{Gauge, Heard, Load, Meter};
pub use per_packet::PacketPrices;

use crate::params::Params;

/// The list of all models: calls a macro with it.
macro_rules! energies {
    ($macro:ident) => {
        $macro! {
            "off" => off::Off, "Energy is not counted.";
            "state" => state::State,
                "Power times time in each state of the radio: sending, hearing, idle (ns-2.35, ns-3, INET)";
            "per_packet" => per_packet::PerPacket,
                "A cost for each packet sent, received or discarded, linear in its size (Feeney and Nilsson, 2001)";
        }
    };
}

/// Parameters that say what a radio takes.
pub trait Priced: Params {
    /// What it takes; nothing if energy is not counted.
    fn prices(&self) -> Option<Prices>;
}

macro_rules! config {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        crate::registry! { "energy": $($name => $module::$variant, $summary;)+ }

        impl Config {
            /// What a radio takes; nothing if energy is not counted.
            #[must_use]
            pub fn prices(&self) -> Option<Prices> {
                match self { $(Self::$variant(params) => params.prices(),)+ }
            }
        }
    };
}
energies!(config);

/// Attojoules: what a power of one nanowatt takes in one nanosecond.
pub type Attojoules = i128;

/// What a radio takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    /// The power while the radio sends, in nanowatts.
    pub send: u64,
    /// The power while it hears a signal and does not send, in nanowatts.
    pub hear: u64,
    /// The power in all other time, in nanowatts; with prices of packets in all of the time.
    pub idle: u64,
    /// Whether it hears those signals only that are strong enough to be decoded.
    pub only_decodable: bool,
    /// The prices of packets, which come on top of the power of an idle radio.
    pub packets: Option<PacketPrices>,
}

impl Prices {
    /// The power of the time in which a radio is idle, sends, or hears, in nanowatts.
    #[must_use]
    pub const fn power(&self, sends: bool, hears: bool) -> u64 {
        match (&self.packets, sends, hears) {
            (None, true, _) => self.send,
            (None, false, true) => self.hear,
            _ => self.idle,
        }
    }

    /// The greatest power, in nanowatts.
    #[must_use]
    pub fn most(&self) -> u64 {
        [(false, false), (false, true), (true, false)]
            .map(|(sends, hears)| self.power(sends, hears))
            .into_iter()
            .fold(0, u64::max)
    }
}

/// A power as whole nanowatts.
fn nanowatts(power: Draw) -> u64 {
    libm::round(power.watts() * 1e9) as u64
}

/// An energy as whole attojoules.
#[must_use]
pub fn attojoules(energy: Energy) -> Attojoules {
    libm::round(energy.joules() * 1e18) as Attojoules
}

/// Attojoules as joules.
#[must_use]
pub fn joules(energy: Attojoules) -> f64 {
    energy as f64 / 1e18
}

/// What a node has to spend.
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

const BATTERY: &str = "an energy above zero such as \"100 J\", or \"endless\"";

impl fmt::Display for Battery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Endless => f.write_str("endless"),
            Self::Full(energy) => energy.fmt(f),
        }
    }
}

impl Serialize for Battery {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Battery {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Battery;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(BATTERY)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Battery, E> {
                if text.trim() == "endless" {
                    return Ok(Battery::Endless);
                }
                let energy: Energy =
                    text.parse().map_err(|_| E::custom(format!("expected {BATTERY}, found \"{text}\"")))?;
                if attojoules(energy) == 0 {
                    return Err(E::custom(format!("expected {BATTERY}, found \"{text}\"")));
                }
                Ok(Battery::Full(energy))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl JsonSchema for Battery {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Battery".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": BATTERY, "examples": ["100 J", "endless"] })
    }
}

#[cfg(test)]
mod tests;
