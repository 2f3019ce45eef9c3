//! The tables about hosts that move between networks and keep their addresses.

use std::fmt;

use hopyard_engine::Span;
use hopyard_model::params::{Fault, Params};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::energy::Interval;
use super::network::Network;

/// When an agent first advertises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum First {
    /// At a random time within the first interval.
    #[default]
    Random,
    /// At a time after the start of the run.
    At(Span),
}

const FIRST: &str = "a time such as \"0.3 s\", or \"random\"";

impl fmt::Display for First {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Random => f.write_str("random"),
            Self::At(span) => span.fmt(f),
        }
    }
}

impl Serialize for First {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = First;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(FIRST)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<First, E> {
                if text.trim() == "random" {
                    return Ok(First::Random);
                }
                text.parse().map(First::At).map_err(|_| E::custom(format!("expected {FIRST}, found \"{text}\"")))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl JsonSchema for First {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "First".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": FIRST })
    }
}

/// `[[home_agent]]`: a node that forwards what is for its hosts to where they are (RFC 5944 §3.8).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HomeAgent {
    /// The node.
    pub node: u32,
    /// The prefix of the network on its radio, in which its hosts have their home addresses, such as "10.1.0.0/24";
    /// "auto": the next free one. An agent without a radio has none.
    pub network: Network,
    /// The numbers of the wires on which it advertises too.
    pub wires: Vec<u32>,
    /// When it first advertises: a time, or "random".
    pub first: First,
}

section!(HomeAgent);

/// `[[foreign_agent]]`: a node that serves hosts of other networks (RFC 5944 §3.7). A node may be a home agent too;
/// then the other keys of both tables are the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForeignAgent {
    /// The node.
    pub node: u32,
    /// The prefix of the network on its radio, such as "10.2.0.0/24"; "auto": the next free one. An agent without a
    /// radio has none.
    pub network: Network,
    /// The numbers of the wires on which it advertises too.
    pub wires: Vec<u32>,
    /// When it first advertises: a time, or "random".
    pub first: First,
}

section!(ForeignAgent);

/// `[[mobile_host]]`: a node that moves between networks and keeps its address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MobileHost {
    /// The numbers of such nodes.
    pub nodes: Vec<u32>,
    /// The node that is their home agent.
    pub home: u32,
    /// When their messages have wrong authenticators, in order.
    pub forged: Vec<Interval>,
}

section!(MobileHost, |host| {
    let mut faults = Vec::new();
    let mut before = Span::ZERO;
    for (place, &Interval { from, to }) in host.forged.iter().enumerate() {
        if to <= from {
            faults.push((place, format!("the time from {from} to {to} has no length: it must end after it begins")));
        } else if from < before {
            faults.push((place, format!("the time from {from} begins before the last one ends, which is at {before}")));
        }
        before = before.max(to);
    }
    Fault::of_elements("forged", faults)
});
