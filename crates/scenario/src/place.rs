//! The position of a node in a scenario.

use hopyard_model::mobility::Position;
use hopyard_model::params::{Given, read_given};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The position of a node, as a list of numbers: metres to the east, to the north, and up. A height of zero may be left
/// out, and is not written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place(pub Position);

const PLACE: &str = "two or three numbers: metres to the east, to the north, and up";

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Position { x, y, z } = self.0;
        let length = if z == 0.0 { 2 } else { 3 };
        [x, y, z][..length].serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_given(deserializer, PLACE, |given| match given {
            Given::List(place) => match place[..] {
                [x, y] => Some(Self(Position::ground(x, y))),
                [x, y, z] => Some(Self(Position { x, y, z })),
                _ => None,
            },
            _ => None,
        })
    }
}

impl JsonSchema for Place {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Position".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let number = json_schema!({ "type": "number" });
        json_schema!({ "type": "array", "items": number, "minItems": 2, "maxItems": 3, "description": PLACE })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn a_height_of_zero_is_not_written() {
        for (value, place, written) in [
            (json!([1, -2.5]), Position::ground(1.0, -2.5), json!([1.0, -2.5])),
            (json!([1, 2, 0]), Position::ground(1.0, 2.0), json!([1.0, 2.0])),
            (json!([1, 2, -3]), Position { x: 1.0, y: 2.0, z: -3.0 }, json!([1.0, 2.0, -3.0])),
        ] {
            assert_eq!(from_value::<Place>(value).ok(), Some(Place(place)));
            assert_eq!(serde_json::to_value(Place(place)).ok(), Some(written));
        }
        for value in [json!([1]), json!([]), json!([1, 2, 3, 4]), json!(1), json!("1 m")] {
            let error = from_value::<Place>(value.clone()).expect_err("no position").to_string();
            assert!(error.contains(PLACE), "{value}: {error}");
        }
    }
}
