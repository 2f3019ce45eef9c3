//! The network, as a probe sees it before the run begins.

use std::net::Ipv4Addr;

use hopyard_engine::Span;
use hopyard_engine::units::Frequency;

use crate::address::NodeId;
use crate::transport::tcp;

/// The network, as a probe sees it before the run begins.
#[derive(Clone, Copy, Debug)]
pub struct NetworkView<'a> {
    /// How many nodes there are.
    pub nodes: usize,
    /// The interfaces, in the order of their numbers.
    pub interfaces: &'a [InterfaceView],
    /// The flows, in the order of their numbers.
    pub flows: &'a [FlowView<'a>],
}

/// An interface, as a probe sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterfaceView {
    /// Its node.
    pub node: NodeId,
    /// Its address.
    pub address: Ipv4Addr,
    /// What it is attached to.
    pub attachment: AttachmentView,
}

/// What an interface is attached to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AttachmentView {
    /// A radio channel.
    Radio {
        /// The channel's number.
        channel: u16,
        /// The frequency of the carrier, if the propagation model depends on it.
        frequency: Option<Frequency>,
        /// The time that the preamble and the header of the physical layer take.
        preamble: Span,
    },
    /// A wire.
    Wire {
        /// The node at the other end.
        peer: NodeId,
    },
    /// A tunnel.
    Tunnel {
        /// The node at the other end.
        peer: NodeId,
    },
    /// Nothing.
    Nothing,
}

/// A flow, as a probe sees it.
#[derive(Clone, Copy, Debug)]
pub struct FlowView<'a> {
    /// The node that the data comes from.
    pub from: NodeId,
    /// The node that it goes to.
    pub to: NodeId,
    /// TCP's parameters; nothing for UDP.
    pub tcp: Option<&'a tcp::Params>,
    /// Whether the receiver reports blocks of data (SACK).
    pub sack: bool,
    /// Whether the sender distinguishes causes of loss.
    pub classifies: bool,
}
