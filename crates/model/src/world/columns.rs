//! The meanings of the quantities of series, read from the doc comments of [`Quantity`], so that each is written once.

use schemars::schema_for;
use serde_json::Value;

use crate::observe::{Column, description};
use crate::world::Quantity;

/// Every quantity that can be sampled over time.
#[must_use]
pub fn quantities() -> Vec<Column> {
    let schema = schema_for!(Quantity);
    let choices = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let meaning = |name: &str| {
        let found = choices.clone().find(|choice| choice.get("const").and_then(Value::as_str) == Some(name));
        found.map(description).unwrap_or_default()
    };
    let column = |quantity: &Quantity| Column {
        name: quantity.name().to_owned(),
        unit: quantity.unit().to_owned(),
        meaning: meaning(quantity.name()),
        optional: true,
        values: Vec::new(),
    };
    Quantity::ALL.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quantity_has_a_meaning() {
        for column in quantities() {
            assert!(column.meaning.ends_with('.'), "{column:?}");
        }
    }
}
