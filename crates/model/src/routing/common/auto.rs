//! Times that may follow from other parameters.

use std::fmt;

use hopyard_engine::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A time, or "auto": derived from other parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auto {
    /// Derived, as the parameter's description says.
    Derived,
    /// This long.
    Fixed(Span),
}

impl Auto {
    /// The time, which is `derived` unless it is fixed.
    #[must_use]
    pub fn or(self, derived: Span) -> Span {
        match self {
            Self::Derived => derived,
            Self::Fixed(span) => span,
        }
    }
}

impl fmt::Display for Auto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Derived => f.write_str("auto"),
            Self::Fixed(span) => fmt::Display::fmt(span, f),
        }
    }
}

const AUTO: &str = "a time such as \"10 ms\", or \"auto\"";

impl Serialize for Auto {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Auto {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Auto;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(AUTO)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Auto, E> {
                if text.trim() == "auto" {
                    return Ok(Auto::Derived);
                }
                text.parse().map(Auto::Fixed).map_err(|_| E::custom(format!("expected {AUTO}, found \"{text}\"")))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl JsonSchema for Auto {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TimeOrAuto".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": AUTO, "examples": ["10 ms", "auto"] })
    }
}
