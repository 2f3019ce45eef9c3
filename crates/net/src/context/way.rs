//! Which way packets go from a node, and how agents change that.

use crate::address::{Address, InterfaceId};
use crate::packet::Form;

/// The way of packets whose destination is in a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The routing protocol decides: it sends the packet, holds it, or drops it.
    Protocol,
    /// The destination is a neighbour.
    Direct,
    /// To this neighbour.
    Via(Address),
    /// Through a tunnel, which is this interface of the node.
    Tunnel(InterfaceId),
    /// To the next hop that the routing protocol has towards this address; without one, the packet is dropped.
    Towards(Address),
    /// Nowhere: the host is away from home, and registered with no agent.
    Nowhere,
    /// Into a tunnel that an agent has set up.
    Into {
        /// The other end.
        to: Address,
        /// The form of the outer header.
        form: Form,
    },
}

/// How an agent changes the way of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayChange {
    /// Packets go this way, and no other.
    Only(Way),
    /// A copy of each packet goes this way too.
    Also(Way),
    /// No packet goes this way any more.
    Not(Way),
    /// No way that an agent has set is left. The entry that the table had before counts again.
    Clear,
}
