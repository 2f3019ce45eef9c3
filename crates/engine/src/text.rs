//! Values that a scenario has as text.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use serde::{Deserializer, de};

/// Reads a value from serialised text. `expected` says which texts there are.
///
/// # Errors
/// When it is no text, or none of these.
pub fn from_text<'de, D, T>(deserializer: D, expected: &str) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    struct Visitor<'a, T>(&'a str, PhantomData<T>);
    impl<T: FromStr<Err: Display>> de::Visitor<'_> for Visitor<'_, T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }
    deserializer.deserialize_str(Visitor(expected, PhantomData))
}

/// Serialises a type as its text, and gives it a JSON schema: its name, its texts in words, examples.
#[macro_export]
macro_rules! as_text {
    ($type:ty, $name:expr, $expected:expr $(, $examples:tt)?) => {
        impl ::serde::Serialize for $type {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::text::from_text(deserializer, $expected)
            }
        }

        impl ::schemars::JsonSchema for $type {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({ "type": "string", "description": $expected $(, "examples": $examples)? })
            }
        }
    };
}

/// Gives an enum of a word and a quantity its text, which is also its serialised form, and its JSON schema.
#[macro_export]
macro_rules! word_or {
    ($type:ident { $word:literal => $none:ident, $some:ident }, $name:literal, $expected:ident $(, $examples:tt)?) => {
        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    Self::$none => f.write_str($word),
                    Self::$some(quantity) => ::std::fmt::Display::fmt(quantity, f),
                }
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                if text.trim() == $word {
                    return Ok(Self::$none);
                }
                text.parse().map(Self::$some).map_err(|_| format!("expected {}, found \"{text}\"", $expected))
            }
        }

        $crate::as_text!($type, $name, $expected $(, $examples)?);
    };
}
