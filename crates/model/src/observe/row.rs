//! The rows of a table, the description of its columns, and the report into which rows go.

use std::any::{Any, TypeId};
use std::borrow::Cow;

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

/// The rows of a table.
pub trait Rows: Default + 'static {
    /// One of them.
    type Row: Row + Clone;

    /// All of them in order, in parts, so that rows that have to be made need not all be there at once.
    fn parts(&self) -> impl Iterator<Item = Cow<'_, [Self::Row]>>;
}

impl<R: Row + Clone> Rows for Vec<R> {
    type Row = R;

    fn parts(&self) -> impl Iterator<Item = Cow<'_, [R]>> {
        std::iter::once(Cow::Borrowed(self.as_slice()))
    }
}

/// The values of a column. While all are the same, as in the columns of what a run does not have, one is kept.
#[derive(Clone, Debug)]
pub enum Values<T> {
    /// The value of all rows.
    Same(T),
    /// The value of each row.
    Each(Vec<T>),
}

impl<T: Default> Default for Values<T> {
    fn default() -> Self {
        Self::Same(T::default())
    }
}

impl<T: Copy + PartialEq> Values<T> {
    /// Adds the value of the next row. The column has the values of `len` rows already; the table will have about
    /// `all`.
    pub fn push(&mut self, value: T, len: usize, all: usize) {
        match self {
            Self::Each(values) => values.push(value),
            Self::Same(same) if *same == value => {}
            Self::Same(same) if len == 0 => *same = value,
            Self::Same(same) => {
                let mut values = Vec::with_capacity(all.max(len + 1));
                values.resize(len, *same);
                values.push(value);
                *self = Self::Each(values);
            }
        }
    }

    /// The value of a row.
    pub fn get(&self, row: usize) -> T {
        match self {
            Self::Same(value) => *value,
            Self::Each(values) => values[row],
        }
    }
}

/// Declares a row: each column once, with its meaning, its type, its unit if it has one, and its value. Counters that
/// are further columns come last: their values, their columns, and the type of a table that keeps columns.
macro_rules! row {
    (
        $(#[$about:meta])*
        pub struct $row:ident of $it:ident: $source:ty {
            $($(#[$meaning:meta])+ $column:ident: $kind:ty $([$unit:literal])? = $value:expr,)+
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub struct $row {
            $($(#[$meaning])+ $(#[schemars(extend("unit" = $unit))])? pub $column: $kind,)+
        }

        impl $row {
            /// The row of the counts.
            #[must_use]
            pub fn of($it: $source) -> Self {
                Self { $($column: $value,)+ }
            }
        }

        impl $crate::observe::Row for $row {}
    };
    (
        $(#[$about:meta])*
        pub struct $row:ident of $it:ident: $source:ty {
            $($(#[$meaning:meta])+ $column:ident: $kind:ty $([$unit:literal])? = $value:expr,)+
        }
        $(#[$of_further:meta])+
        further $further:ident = $counts:expr, $columns:expr;
        $(#[$of_table:meta])+
        kept in $table:ident;
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        pub struct $row {
            $($(#[$meaning])+ $(#[schemars(extend("unit" = $unit))])? pub $column: $kind,)+
            $(#[$of_further])+
            #[serde(skip)]
            pub $further: Vec<Option<u64>>,
        }

        impl $row {
            /// The row of the counts.
            #[must_use]
            pub fn of($it: $source) -> Self {
                Self { $($column: $value,)+ $further: $counts }
            }
        }

        impl $crate::observe::Row for $row {
            fn further_columns() -> Vec<$crate::observe::Column> {
                $columns
            }

            fn further(&self) -> &[Option<u64>] {
                &self.$further
            }
        }

        $(#[$of_table])+
        #[derive(Clone, Debug, Default)]
        pub struct $table {
            len: usize,
            $($column: $crate::observe::row::Values<$kind>,)+
            $further: Vec<$crate::observe::row::Values<Option<u64>>>,
            rows: std::sync::OnceLock<Vec<$row>>,
        }

        impl FromIterator<$row> for $table {
            fn from_iter<I: IntoIterator<Item = $row>>(rows: I) -> Self {
                let rows = rows.into_iter();
                let (all, mut it) = (rows.size_hint().0, Self::default());
                for row in rows {
                    $(it.$column.push(row.$column, it.len, all);)+
                    it.$further.resize_with(row.$further.len(), Default::default);
                    for (column, value) in it.$further.iter_mut().zip(row.$further) {
                        column.push(value, it.len, all);
                    }
                    it.len += 1;
                }
                it
            }
        }

        impl $table {
            fn made(&self, places: std::ops::Range<usize>) -> Vec<$row> {
                let further = |place| self.$further.iter().map(|it| it.get(place)).collect();
                places.map(|it| $row { $($column: self.$column.get(it),)+ $further: further(it) }).collect()
            }
        }

        impl std::ops::Deref for $table {
            type Target = [$row];

            fn deref(&self) -> &[$row] {
                self.rows.get_or_init(|| self.made(0..self.len))
            }
        }

        impl PartialEq for $table {
            fn eq(&self, other: &Self) -> bool {
                **self == **other
            }
        }

        impl<'a> IntoIterator for &'a $table {
            type Item = &'a $row;
            type IntoIter = std::slice::Iter<'a, $row>;

            fn into_iter(self) -> Self::IntoIter {
                self.iter()
            }
        }

        impl $crate::observe::Rows for $table {
            type Row = $row;

            fn parts(&self) -> impl Iterator<Item = std::borrow::Cow<'_, [$row]>> {
                const PART: usize = 1024;
                let end = |start: usize| self.len.min(start + PART);
                (0..self.len).step_by(PART).map(move |start| self.made(start..end(start)).into())
            }
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
    /// A report whose rows go to `put`, as the rows of a table: of all tables, or of the one with this type.
    pub(super) fn new(now: Time, only: Option<TypeId>, put: &'a mut dyn FnMut(Box<dyn Any>)) -> Self {
        Self { now, only, put }
    }

    /// Puts in the rows of the table with this type, if the table is asked for.
    pub fn table<T: Rows>(&mut self, rows: impl FnOnce() -> T) {
        if self.only.is_none_or(|only| only == TypeId::of::<T>()) {
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
