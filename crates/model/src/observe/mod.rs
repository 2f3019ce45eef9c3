//! What is measured: counters of flows and nodes, drops by reason, sampled series.
//!
//! Observation does not change a run: it draws no random number and requests no action.

pub mod capture;
mod cells;
mod decisions;
mod detours;
mod flow;
mod handoffs;
mod mobile_log;
mod mobile_rows;
mod network;
mod observer;
mod path_log;
mod probe;
mod results;
mod route_log;
mod segment_log;
mod state;

pub use decisions::Decisions;
pub use flow::FlowMeter;
pub use handoffs::Handoffs;
pub use mobile_rows::{DetourRow, HandoffRow, MobileEventRow};
pub use network::{AttachmentView, FlowView, InterfaceView, MobileView, NetworkView, StationView, WiredWay};
pub use observer::{Observed, Observer, Recorded};
pub use path_log::PathLog;
pub use probe::{DecisionView, FrameView, IsMeant, Probe, Reception};
pub use results::{
    DecisionRow, DropRow, FlowRow, NodeRow, Outcome, OverheadRow, PathRow, ProgramRow, RouteChangeRow, SegmentRow,
    SeriesRow, TrueCause, own_columns,
};
pub use route_log::{Path, PathEnd, RouteChangeView, RouteChanges, RouteLog};
pub use segment_log::{SegmentFlows, SegmentLog};
pub use state::{PositionRow, QueueRow, RouteRow, Totals};
