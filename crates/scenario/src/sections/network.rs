//! The key that gives the prefix of a network.

use std::fmt;

use hopyard_model::address::Prefix;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The prefix of a channel or a wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// The next free one.
    #[default]
    Auto,
    /// This one.
    Prefix(Prefix),
}

impl Network {
    /// The prefix, if it is given.
    #[must_use]
    pub const fn prefix(self) -> Option<Prefix> {
        match self {
            Self::Auto => None,
            Self::Prefix(prefix) => Some(prefix),
        }
    }
}

const NETWORK: &str = "a prefix such as \"172.29.0.0/16\", or \"auto\"";

impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Prefix(prefix) => serializer.collect_str(prefix),
        }
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Network;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(NETWORK)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Network, E> {
                if text == "auto" {
                    return Ok(Network::Auto);
                }
                text.parse().map(Network::Prefix).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl JsonSchema for Network {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Network".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": NETWORK, "examples": ["172.29.0.0/16", "auto"] })
    }
}
