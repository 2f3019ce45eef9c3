//! What is measured: counters of flows and nodes, drops by reason, sampled series.
//!
//! Observation does not change a run: it draws no random number and requests no action.

pub mod capture;
mod decisions;
mod flow;
mod network;
mod probe;
mod results;
mod state;

pub use decisions::Decisions;
pub use flow::FlowMeter;
pub use network::{AttachmentView, FlowView, InterfaceView, NetworkView};
pub use probe::{DecisionView, FrameView, IsMeant, Probe, Reception};
pub use results::{DecisionRow, DropRow, FlowRow, NodeRow, Outcome, SeriesRow, TrueCause, mac_columns};
pub use state::{PositionRow, QueueRow, RouteRow, Totals};
