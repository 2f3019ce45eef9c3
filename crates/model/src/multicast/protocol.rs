//! The trait of every forwarding protocol.

use hopyard_engine::Time;

use crate::address::Address;
use crate::context::Context;
use crate::packet::{Packet, PacketId};

/// The neighbour that has sent a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Previous {
    /// Its address.
    pub address: Address,
    /// Whether it has chosen this node as a relay, as the routing protocol heard.
    pub has_chosen: bool,
}

/// The forwarding of datagrams to groups at one node. IP lowers the time to live, and drops a datagram whose time to
/// live has run out.
pub trait Multicast {
    /// Whether neighbours must choose relays among each other, as some routing protocols do.
    const NEEDS_RELAYS: bool = false;

    /// An application of the node sends a datagram to a group. IP broadcasts the datagram afterwards.
    fn originate(&mut self, packet: PacketId, cx: &mut Context);

    /// A datagram for a group arrived. Returns whether the node has not heard it before.
    fn hears(&mut self, packet: &Packet, now: Time) -> bool;

    /// When the node broadcasts a datagram that is new to it; nothing if it does not.
    fn relays(&mut self, packet: &Packet, previous: Previous, now: Time) -> Option<Time>;
}
