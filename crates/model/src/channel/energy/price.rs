//! What radios take, as whole numbers, and what batteries hold.

use std::fmt;

use hopyard_engine::units::{Draw, Energy};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::params::Params;

/// Parameters that say what a radio takes.
pub trait Priced: Params {
    /// What it takes; nothing if energy is not counted.
    fn prices(&self) -> Option<Prices>;
}

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
pub(super) fn nanowatts(power: Draw) -> u64 {
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

/// The price of an operation on a packet, in attojoules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    pub(super) fixed: Attojoules,
    pub(super) per_byte: Attojoules,
}

impl Price {
    /// The energy of a packet of this size.
    #[must_use]
    pub fn of(self, bytes: u32) -> Attojoules {
        self.of_all(1, u64::from(bytes))
    }

    /// The energy of so many packets, which have so many bytes together.
    pub(super) fn of_all(self, packets: u64, bytes: u64) -> Attojoules {
        self.fixed * Attojoules::from(packets) + self.per_byte * Attojoules::from(bytes)
    }
}

/// The prices of all operations; the fields are those of the model's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the model's parameters explain them")]
pub struct PacketPrices {
    pub send: Price,
    pub receive: Price,
    pub send_broadcast: Price,
    pub receive_broadcast: Price,
    pub overhear: Price,
    pub discard: Price,
}
