//! The tables of results. Each is declared once: its name here, its columns by its row.
//!
//! A table that a probe fills is one file with the row and the probe, a line here, and one in the list of observers.

use std::any::{Any, TypeId};
use std::sync::LazyLock;

use hopyard_engine::Time;
use schemars::{Schema, schema_for};
use serde::Serialize;

use super::decisions::DecisionRow;
use super::detours::DetourRow;
use super::flow_row::FlowRow;
use super::handoffs::HandoffRow;
use super::mobile_log::MobileEventRow;
use super::node_row::NodeTable;
use super::object_log::ObjectRow;
use super::path_log::PathRow;
use super::rate_log::RateChangeRow;
use super::results::{DropRow, OverheadRow, ProgramRow, SeriesRow};
use super::route_log::RouteChangeRow;
use super::row::{Column, Report, Row as _, Rows, description, fields};
use super::segment_log::SegmentRow;

/// A table of results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableInfo {
    /// Its name.
    pub name: &'static str,
    /// The meaning of a row.
    pub meaning: String,
    /// Its columns, without the columns that say which run a row is from.
    pub columns: Vec<Column>,
}

/// A visitor of all tables, which is shown one after the other.
pub trait TableVisitor {
    /// Why the visit ends early.
    type Error;

    /// Visits a table: its name, and where an outcome has its rows.
    ///
    /// # Errors
    /// If the visitor does not go on.
    fn table<T: Rows>(&mut self, name: &'static str, rows: fn(&Outcome) -> &T) -> Result<(), Self::Error>;
}

/// The list of the tables: the name of each, and the type that keeps its rows.
macro_rules! tables {
    ($($name:ident: $table:ident $(<$row:ident>)?,)+) => {
        /// The result of a run.
        #[derive(Clone, Debug, Default)]
        pub struct Outcome {
            /// The digest of all events.
            pub digest: u64,
            /// The number of events: starts and ends of signals at radios, deadlines, packets that reach IP. It does
            /// not depend on how the medium processes the starts and ends.
            pub events: u64,
            /// Frames sent.
            pub frames: u64,
            /// Receptions of frames, decoded or not: each frame counts once for each radio that could sense it.
            pub receptions: u64,
            /// Packets made by transport, routing and address resolution, which are the packets that ns-2 numbers.
            pub packets: u64,
            /// Simulated time in seconds.
            pub simulated: f64,
            /// Whether the run was stopped before its end.
            pub cancelled: bool,
            $(#[doc = concat!("The table `", stringify!($name), "`", $(": see [`", stringify!($row), "`]",)? ".")]
            pub $name: $table $(<$row>)?,)+
        }

        /// The names of all tables, in order.
        pub const TABLES: &[&str] = &[$(stringify!($name)),+];

        /// Shows every table to a visitor, in order.
        ///
        /// # Errors
        /// The error of the visitor.
        pub fn visit_tables<V: TableVisitor>(visitor: &mut V) -> Result<(), V::Error> {
            $(visitor.table(stringify!($name), |outcome| &outcome.$name)?;)+
            Ok(())
        }

        /// The type of the table with this name.
        fn type_of(name: &str) -> Option<TypeId> {
            match name {
                $(stringify!($name) => Some(TypeId::of::<$table $(<$row>)?>()),)+
                _ => None,
            }
        }

        impl Outcome {
            /// Puts rows into the table that consists of them.
            fn put(&mut self, rows: Box<dyn Any>) {
                $(let rows = match rows.downcast() {
                    Ok(rows) => {
                        self.$name = *rows;
                        return;
                    }
                    Err(rows) => rows,
                };)+
                debug_assert!(false, "rows of no table: {rows:?}");
            }
        }
    };
}

tables! {
    flows: Vec<FlowRow>,
    nodes: NodeTable,
    drops: Vec<DropRow>,
    series: Vec<SeriesRow>,
    decisions: Vec<DecisionRow>,
    overhead: Vec<OverheadRow>,
    route_changes: Vec<RouteChangeRow>,
    rate_changes: Vec<RateChangeRow>,
    paths: Vec<PathRow>,
    segments: Vec<SegmentRow>,
    handoffs: Vec<HandoffRow>,
    mobile_events: Vec<MobileEventRow>,
    detours: Vec<DetourRow>,
    programs: Vec<ProgramRow>,
    objects: Vec<ObjectRow>,
}

impl Outcome {
    /// Fills the tables, or the one with this name, by the reports that are made up to a time.
    pub fn fill(&mut self, only: Option<&str>, now: Time, report: impl FnOnce(&mut Report<'_>)) {
        // A name of no table asks for none.
        let only = only.map(|name| type_of(name).unwrap_or(TypeId::of::<()>()));
        report(&mut Report::new(now, only, &mut |rows| self.put(rows)));
    }
}

/// Every table of results, with its columns in order and their meanings.
#[must_use]
pub fn tables() -> &'static [TableInfo] {
    struct Described(Vec<TableInfo>);
    impl TableVisitor for Described {
        type Error = std::convert::Infallible;

        fn table<T: Rows>(&mut self, name: &'static str, _: fn(&Outcome) -> &T) -> Result<(), Self::Error> {
            let schema: Schema = schema_for!(T::Row);
            let mut columns = fields(&schema);
            columns.extend(T::Row::further_columns());
            self.0.push(TableInfo { name, meaning: description(schema.as_value()), columns });
            Ok(())
        }
    }
    static TABLES: LazyLock<Vec<TableInfo>> = LazyLock::new(|| {
        let mut described = Described(Vec::new());
        let Ok(()) = visit_tables(&mut described);
        described.0
    });
    &TABLES
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::VariantNames;

    use crate::observe::TrueCause;
    use crate::packet::PacketKind;

    #[test]
    fn every_table_and_column_has_a_meaning() {
        for table in tables() {
            assert!(table.meaning.ends_with('.'), "{table:?}");
            for column in &table.columns {
                assert!(column.meaning.ends_with('.'), "{column:?}");
            }
        }
    }

    #[test]
    fn a_unit_agrees_with_the_ending_of_the_name() {
        for column in tables().iter().flat_map(|table| &table.columns) {
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
            let table = tables().iter().find(|it| it.name == table).expect("a table");
            table.columns.iter().find(|it| it.name == column).expect("a column").values.clone()
        };
        assert_eq!(values("decisions", "true_cause"), TrueCause::VARIANTS);
        assert_eq!(values("drops", "kind"), PacketKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>());
        assert_eq!(values("drops", "reason"), values("decisions", "lost_reason"));
        assert!(values("decisions", "lost_reason").iter().any(|reason| reason == "queue_full"));
        assert!(values("overhead", "message").is_empty());
    }

    #[test]
    fn optional_columns_are_known() {
        let optional = |name: &str| tables()[0].columns.iter().any(|column| column.name == name && column.optional);
        assert!(optional("delay_ms") && !optional("goodput_kbps"));
    }

    #[test]
    fn a_report_of_one_table_leaves_the_others_empty() {
        let mut outcome = Outcome::default();
        outcome.fill(Some("drops"), Time::ZERO, |report| {
            report.table(|| vec![DropRow { node: 1, kind: "data", reason: "no_route", count: 2 }]);
            report.table::<Vec<FlowRow>>(|| panic!("nobody asks for flows"));
        });
        assert_eq!((outcome.drops.len(), outcome.flows.len(), TABLES[2]), (1, 0, "drops"));
    }
}
