//! The role of a node among networks whose hosts move.

use crate::address::NodeId;
use crate::mobility::Leg;

/// The role of a node for hosts that move between networks.
#[derive(Clone, Debug)]
pub(crate) struct MobileRole {
    /// It is such a host.
    pub moves: bool,
    /// It serves such hosts, and takes packets out of tunnels that end at it.
    pub serves: bool,
    /// The hosts whose home agent it is, sorted.
    pub home_of: Vec<NodeId>,
    /// Packets that these hosts send while they are away may come through tunnels (RFC 3024).
    pub takes_reverse_tunnels: bool,
    /// On which leg the node begins.
    pub leg: Leg,
}

impl MobileRole {
    /// Whether the node is the home agent of a host.
    pub(crate) fn is_home_of(&self, host: NodeId) -> bool {
        self.home_of.binary_search(&host).is_ok()
    }
}
