//! What a world keeps for datagrams from outside, and why it refuses one.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use hopyard_engine::Time;
use hopyard_wire::WireError;

use crate::address::{Address, NodeId};
use crate::context::{Token, Waiter};

/// Why a datagram cannot be put in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InjectError {
    /// The node does not exist.
    #[error("expected a node from 0 to {}, found {node}", nodes - 1)]
    NoNode {
        /// The node.
        node: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// The host of the node is the simulator's.
    #[error("the host of node {0} is not outside: expected that it is attached first")]
    NotAttached(NodeId),
    /// The time has passed, or is after the end of the run.
    #[error("expected a time from {now} to {end}, found {at}")]
    Time {
        /// The time.
        at: Time,
        /// The present.
        now: Time,
        /// The end of the run.
        end: Time,
    },
    /// The bytes are no IPv4 datagram.
    #[error("expected an IPv4 datagram: {0}")]
    Datagram(#[from] WireError),
    /// The time to live is zero: such a datagram must not be sent (RFC 1122 §3.2.1.7).
    #[error("expected a time to live of 1 or more, found 0")]
    NoHops,
    /// The source is no address of the node.
    #[error("expected a source among the addresses of node {node} ({own}), found {source_address}")]
    Source {
        /// The node.
        node: NodeId,
        /// Its addresses.
        own: String,
        /// The source of the datagram.
        source_address: Ipv4Addr,
    },
    /// The destination is no address of another node. There is no multicast and no broadcast.
    #[error("expected the address of another node as destination, found {0}")]
    Destination(Ipv4Addr),
    /// As many datagrams as there is room for wait for their time.
    #[error("{MOST_DUE} datagrams wait for their time: expected that the world is advanced first")]
    Full,
}

/// How many datagrams may wait for the time at which they are put in. Each is an event, and the queue of a run has room
/// for twice as many.
pub(super) const MOST_DUE: usize = 1 << 20;

/// How many connections may be known about which a host was told, before those are forgotten that hold nothing back.
pub(super) const MOST_TOLD: usize = 1 << 12;

/// What is to happen at the border of the network.
#[derive(Debug)]
pub(super) enum Due {
    /// A datagram is put in; with a next hop, it goes there whatever the way to its destination is.
    Enter { token: Token, source: Address, destination: Address, by: Option<Address>, ttl: u8, bytes: Arc<[u8]> },
    /// The last bit of a packet is on its first wire.
    Sent { waiter: Waiter },
}

/// Source, destination, protocol and ports of a datagram: what notices are told apart by.
pub(super) type Ends = (Ipv4Addr, Ipv4Addr, u8, [u8; 4]);

/// What a world knows of those outside.
#[derive(Debug, Default)]
pub(super) struct Border {
    /// What is due at which time and node, by the number of its scheduling: first in, first out.
    pub due: BTreeMap<(Time, NodeId, u64), Due>,
    /// The size of the largest packet on each channel, if there is a limit.
    pub mtus: Vec<Option<u32>>,
    /// The addresses of all interfaces; empty until it is needed.
    pub addresses: BTreeMap<Ipv4Addr, Address>,
    /// When a node has told a host about a connection: the last time.
    pub told: BTreeMap<(NodeId, Ends), Time>,
    /// The number of datagrams that were put in.
    pub injected: u64,
    /// The number of events here that were scheduled.
    pub scheduled: u64,
}
