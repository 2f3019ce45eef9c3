//! The prices that a model of energy sets for radios, and the energy that batteries hold.

use std::fmt;

use hopyard_engine::units::{Draw, Energy};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

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
