//! A node that stays where the scenario puts it.

use hopyard_engine::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BuildError, Leg, Mobility, MobilityFacts, Nodes, Position};
use crate::address::NodeId;
use crate::params;

/// A stationary node has no parameters. The scenario places it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {}
    }
}

impl MobilityFacts for Params {
    const STATIONARY: bool = true;
}

/// A node that does not move.
#[derive(Clone, Debug)]
pub struct Stationary(Position);

impl Stationary {
    /// A node at the scenario's place.
    pub(super) fn build(_: &Params, node: NodeId, nodes: &Nodes<'_>) -> Result<Self, BuildError> {
        Ok(Self(nodes.spec(node)?.start))
    }
}

impl Mobility for Stationary {
    fn next_leg(&mut self) -> Leg {
        Leg::still(Time::ZERO, self.0)
    }
}
