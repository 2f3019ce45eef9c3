//! The energy of the nodes: the counted part, the energy in batteries, and the times at which radios sleep.

use hopyard_engine::Time;

use super::sleepers::Sleeper;
use crate::address::NodeId;
use crate::channel::energy::Attojoules;

/// The energy of the nodes.
#[derive(Debug)]
pub(super) struct Energy {
    /// Whether energy is counted.
    pub is_metered: bool,
    /// The batteries, if any of them can run dry.
    pub batteries: Option<Box<Batteries>>,
    /// The radios that sleep at given times.
    pub sleepers: Vec<Sleeper>,
}

impl Energy {
    /// Whether the battery of a node is empty.
    #[inline]
    pub(super) fn is_dead(&self, node: NodeId) -> bool {
        self.died(node).is_some()
    }

    /// When the battery of a node ran dry.
    #[inline]
    pub(super) fn died(&self, node: NodeId) -> Option<Time> {
        self.batteries.as_ref()?.died[node.index()]
    }

    /// The energy in the full battery of a node; nothing if it is endless.
    pub(super) fn capacity(&self, node: NodeId) -> Option<Attojoules> {
        self.batteries.as_ref()?.capacities[node.index()]
    }
}

/// The batteries of all nodes.
#[derive(Clone, Debug)]
pub(super) struct Batteries {
    /// The energy in each node's full battery; nothing if it is endless.
    pub capacities: Vec<Option<Attojoules>>,
    /// When each node stopped.
    pub died: Vec<Option<Time>>,
}

impl Batteries {
    /// The batteries of nodes, which are full; nothing if all are endless.
    pub(super) fn new(capacities: Vec<Option<Attojoules>>) -> Option<Box<Self>> {
        let died = vec![None; capacities.len()];
        capacities.iter().any(Option::is_some).then(|| Box::new(Self { capacities, died }))
    }
}
