//! A whole run, watched as its specification asks for.

use hopyard_engine::Streams;

use super::{BuildError, RoleSpec, RunError, Spec, Transport, Watch, World};
use crate::address::NodeId;
use crate::observe::Outcome;
use crate::transport::congestion::{Config, Controller};

/// Why a run has no results.
#[derive(Debug, thiserror::Error)]
pub enum RunFailure {
    /// The network cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The run has failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Makes a run to its end, or until the watch asks to stop, and returns the results. Probes watch if the specification
/// needs them.
///
/// # Errors
/// As [`World::new`] and [`World::finish`].
pub fn simulate(spec: &Spec, watch: &Watch) -> Result<Outcome, RunFailure> {
    if spec.needs_probes() {
        let world = World::with_probe(spec, spec.observe.recorded.probes())?;
        Ok(world.run_watched(watch)?.0)
    } else {
        Ok(World::new(spec)?.run_watched(watch)?.0)
    }
}

impl Spec {
    /// Whether results need probes: more than counters is recorded, a host moves between networks, a sender
    /// distinguishes causes of loss, or an application writes objects.
    #[must_use]
    pub fn needs_probes(&self) -> bool {
        let moves = |node: u32| matches!(self.role(NodeId(node)), RoleSpec::Host { .. });
        let classifies = |transport: &Transport| match transport {
            // Nothing of a user's congestion control is asked before it runs.
            Transport::Tcp { config, .. } if !matches!(config.congestion, Config::External(_)) => {
                let random = Streams::new(self.seed, self.run).stream("probes");
                Controller::new(&config.congestion, random).classifies()
            }
            _ => false,
        };
        !self.observe.recorded.is_nothing()
            || (0..self.nodes.len() as u32).any(moves)
            || self.flows.iter().any(|flow| flow.traffic.has_objects() || classifies(&flow.transport))
    }
}
