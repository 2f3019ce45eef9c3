//! Why a datagram from outside is refused.

use std::net::Ipv4Addr;

use hopyard_engine::Time;
use hopyard_wire::WireError;

use crate::address::{InterfaceId, NodeId};
use crate::node::MOST_DUE;
use crate::packet::ETHERNET;

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
    /// An interface cannot carry frames of a host.
    #[error("expected an interface with a radio, found {0}")]
    NoRadio(InterfaceId),
    /// The host of the interface sends no frames.
    #[error("the host of interface {0} sends no frames: expected that it is attached first")]
    NoFrames(InterfaceId),
    /// A frame is shorter than its header.
    #[error("expected an Ethernet frame with a header of {ETHERNET} bytes, found {0} bytes")]
    Frame(usize),
    /// The receiver of a frame is no station of the channel.
    #[error("expected an interface on the same channel as receiver, found {0}")]
    Station(InterfaceId),
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
