//! The rows of a table, the description of its columns, and the report into which rows go.

use std::any::{Any, TypeId};

use hopyard_engine::Time;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A row of a table. Its fields are the columns: the documentation of a field is the column's meaning, and its unit the
/// extension `unit` of the schema.
pub trait Row: Serialize + Deserialize<'static> + JsonSchema + 'static {
    /// Counters that are further columns, after the fields.
    #[must_use]
    fn further_columns() -> Vec<Column> {
        Vec::new()
    }

    /// The values of the further columns, in their order.
    fn further(&self) -> &[Option<u64>] {
        &[]
    }
}

/// Declares a row: each column once, with its meaning, its type, its unit if it has one, and its value. Counters that
/// are further columns come last: their values and their columns.
macro_rules! row {
    (
        $(#[$about:meta])*
        pub struct $row:ident of $it:ident: $source:ty {
            $($(#[$meaning:meta])+ $column:ident: $kind:ty $([$unit:literal])? = $value:expr,)+
        }
        $($(#[$of_further:meta])+ further $further:ident = $counts:expr, $columns:expr;)?
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub struct $row {
            $($(#[$meaning])+ $(#[schemars(extend("unit" = $unit))])? pub $column: $kind,)+
            $($(#[$of_further])+ #[serde(skip)] pub $further: Vec<Option<u64>>,)?
        }

        impl $row {
            /// The row of the counts.
            #[must_use]
            pub fn of($it: $source) -> Self {
                Self { $($column: $value,)+ $($further: $counts,)? }
            }
        }

        impl $crate::observe::Row for $row {
            $(fn further_columns() -> Vec<$crate::observe::Column> {
                $columns
            }

            fn further(&self) -> &[Option<u64>] {
                &self.$further
            })?
        }
    };
}
pub(super) use row;

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
    /// Every text that the column can have, if these are few and fixed: texts that its row type lists (`values`), or
    /// that stand in backticks in its meaning (`closed`).
    pub values: Vec<String>,
}

/// The report of a run up to a time: the world and its probe put the rows of their tables into it.
pub struct Report<'a> {
    /// The simulated time.
    pub now: Time,
    only: Option<TypeId>,
    put: &'a mut dyn FnMut(Box<dyn Any>),
}

impl<'a> Report<'a> {
    /// A report whose rows go to `put`, as a vector of each type of row: of all tables, or of the one with this type.
    pub(super) fn new(now: Time, only: Option<TypeId>, put: &'a mut dyn FnMut(Box<dyn Any>)) -> Self {
        Self { now, only, put }
    }

    /// Puts in the rows of the table that consists of rows of this type, if the table is asked for.
    pub fn table<R: Row>(&mut self, rows: impl FnOnce() -> Vec<R>) {
        if self.only.is_none_or(|only| only == TypeId::of::<R>()) {
            (self.put)(Box::new(rows()));
        }
    }
}

/// The columns that are the fields of a row with this schema.
pub fn fields(schema: &Schema) -> Vec<Column> {
    let required = schema.get("required").and_then(Value::as_array);
    let properties = schema.get("properties").and_then(Value::as_object);
    let column = |(name, property): (&String, &Value)| Column {
        name: name.clone(),
        unit: property.get("unit").and_then(Value::as_str).unwrap_or_default().to_owned(),
        meaning: description(property),
        optional: !required.is_some_and(|names| names.iter().any(|required| required == name)),
        values: values(property),
    };
    properties.into_iter().flatten().map(column).collect()
}

fn values(property: &Value) -> Vec<String> {
    let listed = property.get("values").and_then(Value::as_array).into_iter().flatten();
    let listed = listed.filter_map(Value::as_str).map(str::to_owned).collect();
    if property.get("closed").is_none() {
        return listed;
    }
    description(property).split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The documentation of a type or a field, on one line.
pub fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
