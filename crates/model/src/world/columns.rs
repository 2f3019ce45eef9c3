//! The meanings of result columns and of quantities of series, read from the doc comments of the row types and of
//! [`Quantity`], so that each meaning is written only once.

use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use serde_json::Value;

use crate::observe::{
    DecisionRow, DetourRow, DropRow, FlowRow, HandoffRow, MobileEventRow, NodeRow, OverheadRow, PathRow, ProgramRow,
    RouteChangeRow, SegmentRow, SeriesRow, own_columns,
};
use crate::world::Quantity;

/// A column of a table of results, or a quantity of a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its unit; empty for numbers without one and for text.
    pub unit: String,
    /// The kind of its values.
    pub meaning: String,
    /// Whether rows may have no value in it.
    pub optional: bool,
    /// Every text that it can have, if these are few and fixed: those that its row type lists (`values`), or that
    /// stand in backticks in its meaning (`closed`).
    pub values: Vec<String>,
}

/// A table of results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableInfo {
    /// Its name.
    pub name: &'static str,
    /// The meaning of a row.
    pub meaning: String,
    /// Its columns, without those that say which run a row is from.
    pub columns: Vec<Column>,
}

/// Every table of results, with its columns in order.
#[must_use]
pub fn tables() -> Vec<TableInfo> {
    vec![
        table::<FlowRow>("flows"),
        nodes(),
        table::<DropRow>("drops"),
        table::<SeriesRow>("series"),
        table::<DecisionRow>("decisions"),
        table::<OverheadRow>("overhead"),
        table::<RouteChangeRow>("route_changes"),
        table::<PathRow>("paths"),
        table::<SegmentRow>("segments"),
        table::<HandoffRow>("handoffs"),
        table::<MobileEventRow>("mobile_events"),
        table::<DetourRow>("detours"),
        table::<ProgramRow>("programs"),
    ]
}

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

/// The table of nodes: common columns, and those of single models.
fn nodes() -> TableInfo {
    let mut table = table::<NodeRow>("nodes");
    table.columns.extend(own_columns().map(|(kind, model, metric)| Column {
        name: metric.name.to_owned(),
        unit: metric.unit.to_owned(),
        meaning: format!("{kind} `{model}`: {}", metric.meaning.trim()),
        optional: true,
        values: Vec::new(),
    }));
    table
}

fn table<R: JsonSchema>(name: &'static str) -> TableInfo {
    let schema: Schema = schema_for!(R);
    let required = schema.get("required").and_then(Value::as_array);
    let properties = schema.get("properties").and_then(Value::as_object);
    let columns = properties.into_iter().flatten().map(|(name, property)| Column {
        name: name.clone(),
        unit: property.get("unit").and_then(Value::as_str).unwrap_or_default().to_owned(),
        meaning: description(property),
        optional: !required.is_some_and(|names| names.iter().any(|required| required == name)),
        values: values(property),
    });
    TableInfo { name, meaning: description(schema.as_value()), columns: columns.collect() }
}

fn values(property: &Value) -> Vec<String> {
    let listed = property.get("values").and_then(Value::as_array).into_iter().flatten();
    let listed = listed.filter_map(Value::as_str).map(str::to_owned).collect();
    if property.get("closed").is_none() {
        return listed;
    }
    description(property).split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::TrueCause;
    use crate::packet::PacketKind;

    #[test]
    fn every_column_and_quantity_has_a_meaning() {
        let columns = tables().into_iter().flat_map(|table| {
            assert!(table.meaning.ends_with('.'), "{table:?}");
            table.columns
        });
        for column in columns.chain(quantities()) {
            assert!(column.meaning.ends_with('.'), "{column:?}");
        }
    }

    #[test]
    fn a_unit_agrees_with_the_ending_of_the_name() {
        for column in tables().into_iter().flat_map(|table| table.columns) {
            for (ending, unit) in
                [("_kbps", "kbit/s"), ("_ms", "ms"), ("_s", "s"), ("_percent", "%"), ("_bytes", "bytes"), ("_j", "J")]
            {
                if column.name.ends_with(ending) {
                    assert_eq!(column.unit, unit, "{}", column.name);
                }
            }
        }
    }

    #[test]
    fn no_two_columns_of_a_table_have_one_name() {
        for table in tables() {
            let names: std::collections::BTreeSet<_> = table.columns.iter().map(|column| &column.name).collect();
            assert_eq!(names.len(), table.columns.len(), "{}", table.name);
        }
        assert!(tables()[1].columns.iter().any(|column| column.name == "slots_unused" && column.optional));
    }

    #[test]
    fn closed_columns_have_their_values() {
        let values = |table: &str, column: &str| {
            let table = tables().into_iter().find(|it| it.name == table).expect("a table");
            table.columns.into_iter().find(|it| it.name == column).expect("a column").values
        };
        let causes = [
            TrueCause::Congestion,
            TrueCause::Interference,
            TrueCause::ChannelError,
            TrueCause::LinkFailure,
            TrueCause::Spurious,
            TrueCause::Other,
        ];
        assert_eq!(values("decisions", "true_cause"), causes.map(TrueCause::name));
        let kinds = PacketKind::ALL.map(PacketKind::name);
        assert_eq!(values("drops", "kind"), kinds);
        assert_eq!(values("drops", "reason"), values("decisions", "lost_reason"));
        assert!(values("decisions", "lost_reason").iter().any(|reason| reason == "queue_full"));
        assert!(values("overhead", "message").is_empty());
    }

    #[test]
    fn optional_columns_are_known() {
        let flows = &tables()[0];
        let optional = |name: &str| flows.columns.iter().any(|column| column.name == name && column.optional);
        assert!(optional("delay_ms") && !optional("goodput_kbps"));
    }
}
