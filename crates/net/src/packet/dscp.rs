//! The class of a packet, by which routers and radios may treat it (RFC 2474).

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::params::{Given, read_given};

/// A differentiated services code point: 0 to 63.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dscp(u8);

const DSCP: &str = "the name of a class such as \"cs0\", \"cs6\", \"af41\" or \"ef\", or a number from 0 to 63";

impl Dscp {
    /// Network control (RFC 4594 §3.2): messages of routing protocols.
    pub const CS6: Self = Self(48);

    /// Expedited forwarding (RFC 3246).
    pub const EF: Self = Self(46);

    /// The six bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }
}

impl FromStr for Dscp {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.trim().to_ascii_lowercase();
        let digits = |rest: &str| rest.bytes().map(|digit| digit.wrapping_sub(b'0')).collect::<Vec<u8>>();
        let bits = match name.as_str() {
            "ef" => Some(Self::EF.0),
            "va" => Some(44),
            _ => match (name.strip_prefix("cs").map(digits), name.strip_prefix("af").map(digits)) {
                (Some(class), _) => class.first().filter(|class| **class < 8).map(|class| class << 3),
                // RFC 2597 §6.
                (_, Some(class)) => match class[..] {
                    [class @ 1..=4, precedence @ 1..=3] => Some(class << 3 | precedence << 1),
                    _ => None,
                },
                _ => name.parse().ok().filter(|bits| *bits < 64),
            },
        };
        let one_digit = !name.starts_with("cs") || name.len() == 3;
        bits.filter(|_| one_digit).map(Self).ok_or_else(|| format!("expected {DSCP}, found \"{text}\""))
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (class, rest) = (self.0 >> 3, self.0 & 7);
        match (self.0, rest) {
            (46, _) => f.write_str("ef"),
            (44, _) => f.write_str("va"),
            (_, 0) => write!(f, "cs{class}"),
            (8..40, 2 | 4 | 6) => write!(f, "af{class}{}", rest / 2),
            _ => write!(f, "{}", self.0),
        }
    }
}

impl Serialize for Dscp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Dscp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_given(deserializer, DSCP, |given: Given<'_, de::IgnoredAny>| match given {
            Given::Word(name) => name.parse().ok(),
            Given::Whole(bits) => bits.to_string().parse().ok(),
            _ => None,
        })
    }
}

impl JsonSchema for Dscp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Dscp".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "integer"], "description": DSCP, "examples": ["cs0", "af41", "ef", 48] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_read_as_it_is_written() {
        for bits in 0..64 {
            assert_eq!(Dscp(bits).to_string().parse(), Ok(Dscp(bits)), "{}", Dscp(bits));
            assert_eq!(bits.to_string().parse(), Ok(Dscp(bits)));
        }
        let bits = |text: &str| text.parse::<Dscp>().map(Dscp::bits);
        assert_eq!([bits("EF"), bits("cs6"), bits("af11"), bits("af43")], [Ok(46), Ok(48), Ok(10), Ok(38)]);
    }

    #[test]
    fn a_number_needs_no_quotes() {
        let read =
            |value: serde_json::Value| Dscp::deserialize(value).map(Dscp::bits).map_err(|error| error.to_string());
        assert_eq!([read(46.into()), read("46".into()), read("ef".into())], [Ok(46), Ok(46), Ok(46)]);
        for value in [64.into(), (-1).into(), 4.5.into(), true.into()] {
            let error = read(value).expect_err("no class");
            assert!(error.ends_with(", expected the name of a class such as \"cs0\", \"cs6\", \"af41\" or \"ef\", or a number from 0 to 63"), "{error}");
        }
    }

    #[test]
    fn other_words_are_no_classes() {
        for text in ["", "64", "-1", "cs", "cs8", "cs66", "af44", "af51", "af4", "af", "voice", "cs/"] {
            let error = text.parse::<Dscp>().expect_err(text);
            assert!(error.starts_with("expected the name of a class such as"), "{error}");
        }
    }
}
