//! Datagrams that somebody outside puts into the network and takes out of it: a real kernel, or a program.
//!
//! A node whose host is outside keeps its interfaces, MAC and routing. Datagrams of its host are put in as bytes, and
//! travel as packets with the body [`Body::External`]. Datagrams for its host are taken out as the same bytes, with the
//! time to live that is left.
//!
//! The first interface that sends a datagram reports when it has done so, as a driver reports to a kernel. A kernel
//! that learns of it at that time keeps its queue short. A kernel that learns of it at once fills the simulated queue.
//!
//! An interface whose host is outside may also carry whole Ethernet frames ([`Body::Frame`]), which skip IP, routing
//! and address resolution: the host has all of these itself. Between such an interface and a node of the simulator, a
//! frame becomes a packet and a packet a frame where it arrives. The host can be a whole station of 802.11, which makes
//! its frames itself and chooses their modes ([`Body::Mpdu`]).
//!
//! [`Body::External`]: crate::packet::Body::External
//! [`Body::Frame`]: crate::packet::Body::Frame
//! [`Body::Mpdu`]: crate::packet::Body::Mpdu

use std::collections::{BTreeSet, VecDeque};
use std::net::Ipv4Addr;
use std::sync::Arc;

use hopyard_engine::Time;

use super::DropReason;
use crate::address::{Address, InterfaceId, NodeId};
use crate::packet::{AmpduStatus, Received, Unreachable};

/// The number of a datagram that was put in, from zero on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub u64);

/// What the MAC has done for a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// How often it has tried to send the packet, if the packet is a frame of 802.11.
    pub tries: u32,
    /// The fate of the frame on the air that the packet was in. One of its packets tells it.
    pub ampdu: Option<AmpduStatus>,
}

/// A datagram that leaves the network, or the report about one that was put in; in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub enum Departure {
    /// A datagram has reached the host of a node.
    Datagram {
        /// When.
        at: Time,
        /// The node.
        node: NodeId,
        /// The node's address that the datagram is for: the address of the interface, if there are several.
        address: Ipv4Addr,
        /// The IPv4 datagram: the bytes that were put in, with a lower time to live and its checksum.
        bytes: Vec<u8>,
    },
    /// An Ethernet frame, or a frame of 802.11, has reached an interface whose host is outside.
    Frame {
        /// When.
        at: Time,
        /// The interface that received it.
        interface: InterfaceId,
        /// The interface that sent it.
        from: InterfaceId,
        /// The frame as it was put in. One of 802.11 says whether it was sent before, and when, if it has a place for
        /// that.
        bytes: Arc<[u8]>,
        /// The reception of a frame of 802.11.
        received: Option<Received>,
    },
    /// The radio of an interface whose host sends frames is off for good: there is no carrier any more.
    NoCarrier {
        /// When.
        at: Time,
        /// The interface.
        interface: InterfaceId,
    },
    /// The node at which a datagram or a frame was put in has done with it. Each datagram has one such report, unless
    /// the run ends before.
    Completed {
        /// When.
        at: Time,
        /// The node.
        node: NodeId,
        /// The datagram.
        token: Token,
        /// What the MAC has done for it.
        effort: Effort,
        /// Sent: the MAC has its acknowledgement, or the last bit is on the wire. Otherwise the reason why it was not
        /// sent: the node dropped it, or the MAC or address resolution gave it up. Routing may still send a datagram
        /// that was given up, to another neighbour.
        result: Result<(), DropReason>,
    },
}

/// A datagram from outside that could not be forwarded, and whose host is to be told.
#[derive(Clone, Debug)]
pub struct Untold {
    /// Where.
    pub node: NodeId,
    /// Why.
    pub why: Unreachable,
    /// The source of the packet.
    pub source: Address,
    /// The time to live that is left.
    pub ttl: u8,
    /// The datagram as it was put in.
    pub datagram: Arc<[u8]>,
}

/// The datagrams between the network and those outside.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    /// The nodes whose hosts are outside.
    hosts: BTreeSet<NodeId>,
    /// The nodes among these that are told of datagrams that cannot be forwarded.
    notified: BTreeSet<NodeId>,
    untold: Vec<Untold>,
    /// The interfaces whose hosts outside send and receive frames.
    framed: BTreeSet<InterfaceId>,
    /// The nodes among these that choose the interface of a datagram by its source address.
    choosing: BTreeSet<NodeId>,
    departures: VecDeque<Departure>,
}

impl Outside {
    /// The host of a node is outside from now on.
    pub fn attach(&mut self, node: NodeId) {
        self.hosts.insert(node);
    }

    /// The host of a node chooses the interface of a datagram by its source address.
    pub fn attach_interfaces(&mut self, node: NodeId) {
        self.choosing.insert(node);
    }

    /// Whether the host of a node chooses the interface of a datagram by its source address.
    #[must_use]
    pub fn chooses(&self, node: NodeId) -> bool {
        self.choosing.contains(&node)
    }

    /// The host of an interface sends and receives frames from now on.
    pub fn attach_frames(&mut self, interface: InterfaceId) {
        self.framed.insert(interface);
    }

    /// Whether the hosts of some interfaces send and receive frames.
    #[inline]
    #[must_use]
    pub fn any_frames(&self) -> bool {
        !self.framed.is_empty()
    }

    /// Whether the host of an interface sends and receives frames.
    #[must_use]
    pub fn has_frames(&self, interface: InterfaceId) -> bool {
        self.framed.contains(&interface)
    }

    /// Whether the host of a node is outside.
    #[must_use]
    pub fn has(&self, node: NodeId) -> bool {
        self.hosts.contains(&node)
    }

    /// The host of a node is told from now on when routing cannot forward what it has sent.
    pub fn notify(&mut self, node: NodeId) {
        self.notified.insert(node);
    }

    /// Whether the host of a node is told when routing cannot forward what it has sent.
    #[must_use]
    pub fn wants_notices(&self, node: NodeId) -> bool {
        self.notified.contains(&node)
    }

    /// The host that has sent a datagram is to be told.
    pub fn tell(&mut self, what: Untold) {
        self.untold.push(what);
    }

    /// All hosts that are to be told.
    pub fn untold(&mut self) -> Vec<Untold> {
        std::mem::take(&mut self.untold)
    }

    /// Something leaves the network now.
    pub fn leave(&mut self, departure: Departure) {
        self.departures.push_back(departure);
    }

    /// Takes what left first out.
    pub fn first(&mut self) -> Option<Departure> {
        self.departures.pop_front()
    }
}
