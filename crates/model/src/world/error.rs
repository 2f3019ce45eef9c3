//! Why a run did not reach its end.

use hopyard_engine::Time;

/// Packets that do not add up: a defect of the simulator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "packets do not add up in run {run} of seed {seed}, after event {event}: {outstanding} by the ledger, {existing} \
     exist, {held} are held somewhere ({detail}); please report this with the scenario"
)]
pub struct Unaccounted {
    pub(super) seed: u64,
    pub(super) run: u64,
    pub(super) event: u64,
    pub(super) outstanding: u64,
    pub(super) existing: usize,
    pub(super) held: usize,
    pub(super) detail: String,
}

/// A flow's congestion control failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("flow {flow} at {time}: {message}")]
pub struct RuleFailure {
    /// The flow.
    pub flow: u32,
    /// The simulated time.
    pub time: Time,
    /// The rule's message.
    pub message: String,
}

/// Why a run did not reach its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The packets do not add up.
    #[error(transparent)]
    Unaccounted(#[from] Unaccounted),
    /// A flow's congestion control failed.
    #[error(transparent)]
    Rule(#[from] RuleFailure),
}
