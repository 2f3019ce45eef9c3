//! The batteries of all nodes, and when they ran dry.

use hopyard_engine::Time;

use crate::channel::energy::Attojoules;

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
