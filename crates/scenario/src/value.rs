//! Values without their places in a text.

use serde_json::{Map, Value};

/// A model's parameters, or a section's keys, as an object.
pub(crate) type Values = Map<String, Value>;

/// A program's scenario as TOML, so that it is read in the same way as a file.
fn value_to_toml(value: &Value) -> Option<toml::Value> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => integer.into(),
            // TOML has no integers of more than 63 bits. The reader reports the expected value.
            (None, Some(float)) => float.into(),
            (None, None) => return None,
        },
        Value::String(text) => text.clone().into(),
        Value::Array(items) => toml::Value::Array(items.iter().filter_map(value_to_toml).collect()),
        Value::Object(map) => {
            toml::Value::Table(map.iter().filter_map(|(k, v)| Some((k.clone(), value_to_toml(v)?))).collect())
        }
    })
}

/// A value on one line; nothing if TOML cannot express it.
pub(crate) fn inline(value: &Value) -> Option<String> {
    value_to_toml(value).map(|value| value.to_string())
}
