//! Probes: the observers of a run.
//!
//! A world has one probe, of a type that is known when the program is compiled. `()` watches nothing and costs nothing.
//! A pair of probes is a probe, and so is a list of them. A probe sees everything and changes nothing: the digest of a
//! run is the same with any probe.

use std::any::Any;
use std::fmt::Debug;

use hopyard_engine::{Span, Time};

use super::network::NetworkView;
use super::route_change::RouteChangeView;
use super::row::Report;
use crate::address::{Address, InterfaceId, NodeId};
use crate::app::Object;
use crate::context::{DropReason, MobileEvent};
use crate::mac::rate_control::Belief;
use crate::mobility::Leg;
use crate::packet::{FlowId, Packet, TcpHeader};
use crate::phy::Mode;
use crate::phy::frame::Header;
use crate::transport::tcp::{Judged, SenderState};

/// A frame, as a probe sees it.
#[derive(Clone, Copy, Debug)]
pub struct FrameView<'a> {
    /// The kind of the frame.
    pub header: Header,
    /// The interface that sends it.
    pub transmitter: InterfaceId,
    /// The interface that it is for, or [`InterfaceId::BROADCAST`].
    pub receiver: InterfaceId,
    /// How long the exchange continues after the frame.
    pub duration: Span,
    /// The time on the air, preamble included.
    pub airtime: Span,
    /// The part of it before the body.
    pub preamble: Span,
    /// How its bits are sent.
    pub mode: &'static Mode,
    /// The packet in it.
    pub packet: Option<&'a Packet>,
}

/// Says whether a packet is the one that is meant.
pub type IsMeant<'a> = &'a dyn Fn(&Packet) -> bool;

/// A sender's decision about the cause of a loss, as a probe sees it.
pub struct DecisionView<'a> {
    /// The decision, and the segment that it is about.
    pub judged: &'a Judged,
    /// Whether the receiver has the segment.
    pub arrived: bool,
    /// The first node whose routing protocol holds a packet that is meant.
    pub held: &'a dyn Fn(IsMeant<'_>) -> Option<NodeId>,
}

/// The fate of a frame at a radio that could sense it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// It was decoded.
    Decoded,
    /// It was received in error.
    Damaged,
}

/// An edge of a frame at a radio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FrameEdge {
    /// The radio begins to send it.
    Sent,
    /// It has ended at a radio that could sense it.
    Received {
        /// Its fate there.
        reception: Reception,
        /// The power of its signal, in watts.
        power: f64,
    },
}

/// An end of a wire or of a tunnel, where a packet passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It enters a wire at an interface.
    WireEntered(InterfaceId),
    /// It leaves a wire at an interface.
    WireLeft(InterfaceId),
    /// It enters a tunnel at an interface: it has no outer header yet.
    TunnelEntered(InterfaceId),
    /// It leaves a tunnel at an interface: its outer header is gone.
    TunnelLeft(InterfaceId),
    /// It enters a tunnel that an agent has set up, at a node: it has no outer header yet.
    AgentTunnelEntered {
        /// The node.
        node: NodeId,
        /// The far end of the tunnel.
        to: Address,
    },
    /// It leaves such a tunnel at a node: its outer header is gone.
    AgentTunnelLeft(NodeId),
}

/// An event of a packet at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketEvent {
    /// It is passed to IP at its source.
    Originated,
    /// It reaches IP of the node, and another node has sent it.
    Hop {
        /// That node.
        from: NodeId,
    },
    /// It has reached the node that it was for.
    Delivered,
    /// It is for the node's own host, crosses no link, and nobody has sent it: an ICMP error.
    Local,
    /// The node drops it, or a copy of it.
    Dropped(DropReason),
    /// Its last copy has ended, and none has arrived: a copy was dropped last here, for this reason.
    Lost(DropReason),
    /// A link gives it back.
    Returned {
        /// The neighbour that it was for.
        next_hop: Address,
        /// Whether the neighbour could decode a frame that nothing disturbs.
        in_range: bool,
    },
}

/// An event at an end of a flow.
pub enum FlowEvent<'a> {
    /// Its TCP sender passes a segment to IP, or its end answers a segment of a connection that it does not know, or
    /// remembers in TIME-WAIT only.
    Sent {
        /// The segment.
        header: &'a TcpHeader,
        /// The sender's state after that, if there is a sender.
        state: Option<&'a SenderState>,
    },
    /// A sender that distinguishes causes of loss has decided, before it sends the segment again.
    Decided(&'a DecisionView<'a>),
    /// The application at its source writes an object.
    Written {
        /// The object.
        object: &'a Object,
        /// The number of its connection within the flow.
        connection: u32,
        /// The bytes of the connection's stream that carry it, or the datagrams.
        units: u64,
    },
    /// The application at its far end gets a part of its data: bytes of the stream, or datagrams.
    Read {
        /// The number of the connection within the flow.
        connection: u32,
        /// The number of the first.
        begin: u64,
        /// The number after the last.
        end: u64,
    },
}

/// Declares what a probe is told: each function once, with an empty default, and carried out by every probe of a pair
/// or of a list.
macro_rules! probe {
    ($($(#[$about:meta])* fn $told:ident($($what:ident: $type:ty),+ $(,)?);)+) => {
        /// An observer of a run. Every function has an empty default.
        pub trait Probe: Any + Debug {
            /// Whether it watches at all, from the start of the run on. If not, none of its functions need be called.
            fn watches(&self) -> bool {
                true
            }

            $($(#[$about])* fn $told(&mut self, $(#[expect(unused_variables, reason = "a default")] $what: $type),+) {})+

            /// Puts the tables that the probe fills into a report of the run so far.
            #[expect(unused_variables, reason = "a default")]
            fn report(&self, report: &mut Report<'_>) {}
        }

        /// Both watch.
        impl<A: Probe, B: Probe> Probe for (A, B) {
            fn watches(&self) -> bool {
                self.0.watches() || self.1.watches()
            }

            $(fn $told(&mut self, $($what: $type),+) {
                self.0.$told($($what),+);
                self.1.$told($($what),+);
            })+

            fn report(&self, report: &mut Report<'_>) {
                self.0.report(report);
                self.1.report(report);
            }
        }

        /// All watch, in order.
        impl Probe for Probes {
            fn watches(&self) -> bool {
                self.iter().any(|probe| probe.watches())
            }

            $(fn $told(&mut self, $($what: $type),+) {
                for probe in self {
                    probe.$told($($what),+);
                }
            })+

            fn report(&self, report: &mut Report<'_>) {
                self.iter().for_each(|probe| probe.report(report));
            }
        }
    };
}

/// Probes that watch one run.
pub type Probes = Vec<Box<dyn Probe + Send>>;

probe! {
    /// The network is built, and nothing has happened in it yet.
    fn on_start(network: &NetworkView<'_>);

    /// A frame begins or ends at an interface.
    fn on_frame(now: Time, interface: InterfaceId, frame: &FrameView<'_>, edge: FrameEdge);

    /// A packet passes an end of a wire or of a tunnel.
    fn on_passage(now: Time, packet: &Packet, passage: Passage);

    /// Something happens to a packet at a node.
    fn on_packet(now: Time, node: NodeId, packet: &Packet, event: PacketEvent);

    /// An agent tells of an event of a host that moves between networks, or of its findings.
    fn on_mobile(now: Time, node: NodeId, event: &MobileEvent);

    /// Something happens at an end of a flow.
    fn on_flow(now: Time, flow: FlowId, event: &FlowEvent<'_>);

    /// The routing protocol of a node announces that a route has changed.
    fn on_route_changed(now: Time, node: NodeId, change: &RouteChangeView<'_>);

    /// Rate control at an interface has changed the mode of frames to a neighbour's interface.
    fn on_rate_changed(now: Time, interface: InterfaceId, neighbour: InterfaceId, belief: &Belief);

    /// A node begins its next leg.
    fn on_leg(node: NodeId, leg: &Leg);
}

/// Watches nothing.
impl Probe for () {
    #[inline]
    fn watches(&self) -> bool {
        false
    }
}
