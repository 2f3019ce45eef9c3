//! The measures of a run: counters of flows and nodes, drops by reason, sampled series.
//!
//! Observation does not change a run: it draws no random number and requests no action.

pub mod capture;
mod cells;
mod decisions;
mod detours;
mod flow;
mod flow_row;
mod handoffs;
mod mobile_log;
mod network;
mod node_row;
mod object_log;
mod path_log;
mod probe;
mod rate_log;
mod recorded;
pub mod replay;
mod results;
mod route_change;
mod route_log;
mod row;
mod segment_log;
mod state;
mod tables;
mod trails;

pub use decisions::{DecisionRow, TrueCause};
pub use detours::DetourRow;
pub use flow::FlowMeter;
pub use flow_row::{FlowCounts, FlowRow, PacketsLeft};
pub use handoffs::HandoffRow;
pub use mobile_log::MobileEventRow;
pub use network::{AttachmentView, FlowView, InterfaceView, MobileView, NetworkView, StationView, WiredWay};
pub use node_row::{NodeCounts, NodeRow, NodeTable, OwnColumn, own_columns};
pub use object_log::{ObjectLog, ObjectRow};
pub use path_log::{PathCounts, PathRow};
pub use probe::{
    DecisionView, FlowEvent, FrameEdge, FrameView, IsMeant, PacketEvent, Passage, Probe, Probes, Reception,
};
pub use rate_log::RateChangeRow;
pub use recorded::Recorded;
pub use results::{DropRow, OverheadRow, ProgramRow, SeriesRow};
pub use route_change::{Path, PathEnd, RouteChangeView};
pub use route_log::{RouteChangeRow, RouteChanges};
pub use row::{Column, Report, Row, Rows, description};
pub use segment_log::{SegmentFlows, SegmentLog, SegmentRow};
pub use state::{PositionRow, QueueRow, RouteRow, Totals};
pub use tables::{Outcome, TABLES, TableInfo, TableVisitor, tables, visit_tables};
