//! The network, as a probe sees it before the run begins.

use std::net::Ipv4Addr;

use hopyard_engine::units::{Frequency, Rate};
use hopyard_engine::{Span, Time};

use crate::address::NodeId;
use crate::mobility::Leg;
use crate::packet::FlowId;
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
    /// The hosts that move between networks, and their agents.
    pub mobile: &'a MobileView,
}

/// The hosts that move between networks and the agents that serve them, as a probe sees them before the run begins.
#[derive(Clone, Debug, Default)]
pub struct MobileView {
    /// The hosts.
    pub hosts: Vec<NodeId>,
    /// The agents.
    pub agents: Vec<NodeId>,
    /// The stations of both that have a radio.
    pub stations: Vec<StationView>,
    /// Ways over wires between agents and the other ends of the hosts' flows, where there is one.
    pub ways: Vec<WiredWay>,
}

/// The radio of a host or of an agent.
#[derive(Clone, Copy, Debug)]
pub struct StationView {
    /// Its node.
    pub node: NodeId,
    /// The channel's number.
    pub channel: u16,
    /// The node's first leg.
    pub leg: Leg,
    /// The distance in metres at which a broadcast has just the power that can be decoded; nothing if distance alone
    /// does not decide.
    pub range: Option<f64>,
}

/// The way over wires from one node to another one that has the shortest delay.
#[derive(Clone, Debug)]
pub struct WiredWay {
    /// Where it begins.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// Rate and delay of each wire, in order.
    pub wires: Vec<(Rate, Span)>,
}

impl WiredWay {
    /// How long a packet of so many bytes is on the way, if no other one is.
    #[must_use]
    pub fn time(&self, bytes: u32) -> Span {
        self.wires.iter().fold(Span::ZERO, |sum, &(rate, delay)| sum + rate.airtime(bytes) + delay)
    }
}

/// An interface, as a probe sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterfaceView {
    /// Its node.
    pub node: NodeId,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its attachment.
    pub attachment: AttachmentView,
}

/// The attachment of an interface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AttachmentView {
    /// A radio channel.
    Radio {
        /// The channel's number.
        channel: u16,
        /// The frequency of the carrier, if the propagation model depends on it.
        frequency: Option<Frequency>,
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
    /// Its label.
    pub label: &'a str,
    /// When the measuring window begins.
    pub measured_from: Time,
    /// When its source stops; [`Time::NEVER`] if it goes on until the end of the run.
    pub stop: Time,
    /// The flow that opens its connection: itself, or the flow that it answers.
    pub connection: FlowId,
    /// TCP's parameters; nothing for UDP.
    pub tcp: Option<&'a tcp::Params>,
    /// Whether the receiver reports blocks of data (SACK).
    pub sack: bool,
    /// Whether the sender distinguishes causes of loss.
    pub classifies: bool,
}

#[cfg(test)]
impl FlowView<'_> {
    /// A flow over UDP between two nodes.
    pub(super) const fn between(from: NodeId, to: NodeId) -> Self {
        Self {
            from,
            to,
            label: "",
            measured_from: Time::ZERO,
            stop: Time::NEVER,
            connection: FlowId(0),
            tcp: None,
            sack: false,
            classifies: false,
        }
    }
}
