//! The datagrams of hosts outside that are due, and the reports that are due to them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use hopyard_engine::Time;

use crate::address::{Address, InterfaceId, NodeId};
use crate::clock::{Clock, Event};
use crate::context::{Token, Waiter};
use crate::order;
use crate::packet::{Body, PacketId};

/// How many datagrams may wait for the time at which they are put in. Each is an event, and the queue of a run has room
/// for twice as many.
pub(crate) const MOST_DUE: usize = 1 << 20;

/// Source, destination, protocol and ports of a datagram, which tell notices apart.
pub(crate) type Ends = (Ipv4Addr, Ipv4Addr, u8, [u8; 4]);

/// An event at the border of the network.
#[derive(Debug)]
pub(crate) enum Due {
    /// A datagram is put in; with a next hop, it goes there whatever the way to its destination is.
    Enter { token: Token, source: Address, destination: Address, by: Option<Address>, ttl: u8, bytes: Arc<[u8]> },
    /// A frame of Ethernet or 802.11 is put in, for one neighbour or for all.
    Frame { token: Token, interface: InterfaceId, receiver: InterfaceId, body: Body },
    /// The last bit of a packet is on its first wire.
    Sent { waiter: Waiter },
}

/// A packet of the simulator whose bytes a host outside has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub packet: PacketId,
    /// The node of the host.
    pub node: NodeId,
    /// When it got them.
    pub since: Time,
}

/// The border between the network and hosts outside.
#[derive(Debug, Default)]
pub(crate) struct Border {
    /// The events by time and node, and by the number of their scheduling: first in, first out.
    pub due: BTreeMap<(Time, NodeId, u64), Due>,
    /// The addresses of all interfaces; empty until it is needed.
    pub addresses: BTreeMap<Ipv4Addr, Address>,
    /// The number of datagrams that were put in.
    pub injected: u64,
    /// The number of events here that were scheduled.
    pub scheduled: u64,
    /// Packets whose bytes a host outside has, by source, destination and identification in the header of the bytes.
    pub kept: BTreeMap<(Ipv4Addr, Ipv4Addr, u16), Kept>,
    /// The identification of the last one.
    identification: u16,
}

impl Border {
    /// The identification for the next packet whose bytes a host outside gets. It is never zero: zero marks packets
    /// that nobody fragments.
    pub(crate) const fn next_identification(&mut self) -> u16 {
        self.identification = if self.identification == u16::MAX { 1 } else { self.identification + 1 };
        self.identification
    }

    /// Something is due at a node later, or now.
    pub(crate) fn schedule(&mut self, at: Time, node: NodeId, due: Due, clock: &mut Clock) {
        self.due.insert((at, node, self.scheduled), due);
        self.scheduled += 1;
        clock.queue.push(at, order::outside(node.0), Event::Outside(node.0));
    }

    /// The first event that is due at a node now.
    pub(crate) fn take(&mut self, now: Time, node: NodeId) -> Option<Due> {
        let key = *self.due.range((now, node, 0)..=(now, node, u64::MAX)).next()?.0;
        self.due.remove(&key)
    }
}
