//! The routes in AODV's table.

use hopyard_engine::Time;

use crate::address::Address;
use crate::routing::common::on_demand::{self, INFINITY};

/// Whether a route can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteState {
    /// No.
    Down,
    /// Yes.
    Up,
    /// Not yet again: a local repair is under way.
    InRepair,
}

/// A route, or the rest of one. Small, because floods leave one at every node for every originator.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Where it leads.
    pub destination: Address,
    /// The neighbour to which packets go.
    pub next_hop: Address,
    /// The destination's sequence number.
    pub sequence: u32,
    /// Hops to the destination.
    pub hops: u8,
    /// Hops when the route was last up.
    pub last_hops: u8,
    /// TTL of the last request, or the hop count that a reply has given since (ns-2).
    pub last_ttl: u8,
    /// Whether it can be used.
    pub state: RouteState,
    /// Whether a sequence number is known. Routes with an older number are then refused.
    pub known_sequence: bool,
    /// Whether the present route came with this number (RFC 3561: the valid sequence number flag). It is false for a
    /// neighbour from which a packet was heard but no number. Such a route is not offered to other nodes, and its
    /// number does not grow when the link breaks.
    pub own_sequence: bool,
    /// Whether data have gone this way since it came up, so that its changes are announced.
    pub used: bool,
    /// Whether a packet in transit may start a local repair (RFC 3561 §6.12).
    pub repairable: bool,
    /// When the route expires, or, when it is down, is forgotten.
    pub expires: Time,
}

impl Entry {
    /// The sequence number of the route when it becomes invalid (RFC 3561 §6.1, §6.11). It is one higher, so that nodes
    /// whose next hop is this node cannot offer their old route. It is raised only once for each number of the
    /// destination: the destination's next request must not have an older number.
    #[must_use]
    pub fn advanced(&self) -> u32 {
        self.sequence.wrapping_add(u32::from(self.known_sequence && self.own_sequence))
    }
}

impl on_demand::Entry for Entry {
    fn new(destination: Address) -> Self {
        Self {
            destination,
            next_hop: destination,
            sequence: 0,
            hops: INFINITY,
            last_hops: INFINITY,
            last_ttl: 0,
            state: RouteState::Down,
            known_sequence: false,
            own_sequence: false,
            used: false,
            repairable: false,
            expires: Time::NEVER,
        }
    }

    #[inline]
    fn destination(&self) -> Address {
        self.destination
    }

    #[inline]
    fn is_up(&self) -> bool {
        self.state == RouteState::Up
    }

    fn route(&self) -> Option<(Address, u8)> {
        self.is_up().then_some((self.next_hop, self.hops))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stay_small() {
        assert!(size_of::<Entry>() <= 32, "{}", size_of::<Entry>());
    }
}
