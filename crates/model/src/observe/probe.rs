//! Probes: whoever watches a run.
//!
//! A world has one probe, of a type that is known when the program is compiled. `()` watches nothing and costs nothing,
//! and a pair of probes is a probe. A probe sees everything and changes nothing: the digest of a run is the same with
//! any probe.

use hopyard_engine::{Span, Time};

use super::network::NetworkView;
use super::results::Outcome;
use super::route_log::RouteChangeView;
use crate::address::{Address, InterfaceId, NodeId};
use crate::context::{DropReason, MobileEvent};
use crate::frame::Header;
use crate::mobility::Leg;
use crate::packet::{FlowId, Packet, TcpHeader};
use crate::phy::Mode;
use crate::transport::tcp::{Judged, SenderState};

/// A frame, as a probe sees it.
#[derive(Clone, Copy, Debug)]
pub struct FrameView<'a> {
    /// What the frame is.
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

/// What became of a frame at a radio that could sense it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// It was decoded.
    Decoded,
    /// It was received in error.
    Damaged,
}

/// What a probe is told. Every function has an empty default.
pub trait Probe: std::fmt::Debug + Sized {
    /// Whether it watches at all. If not, none of its functions is called.
    const WATCHES: bool = true;

    /// The network is built, and nothing has happened in it yet.
    fn on_start(&mut self, _network: &NetworkView<'_>) {}

    /// An interface begins to send a frame.
    fn on_sent(&mut self, _now: Time, _interface: InterfaceId, _frame: &FrameView<'_>) {}

    /// A frame has ended at the radio of an interface; `power` is that of its signal, in watts.
    fn on_received(
        &mut self,
        _now: Time,
        _interface: InterfaceId,
        _frame: &FrameView<'_>,
        _reception: Reception,
        _power: f64,
    ) {
    }

    /// A packet enters a wire at an interface.
    fn on_wire_sent(&mut self, _now: Time, _interface: InterfaceId, _packet: &Packet) {}

    /// A packet leaves a wire at an interface.
    fn on_wire_received(&mut self, _now: Time, _interface: InterfaceId, _packet: &Packet) {}

    /// A packet enters a tunnel at an interface: it has no outer header yet.
    fn on_tunnel_entered(&mut self, _now: Time, _interface: InterfaceId, _packet: &Packet) {}

    /// A packet leaves a tunnel at an interface: its outer header is gone.
    fn on_tunnel_left(&mut self, _now: Time, _interface: InterfaceId, _packet: &Packet) {}

    /// A packet enters a tunnel that an agent has set up, at a node: it has no outer header yet.
    fn on_agent_tunnel_entered(&mut self, _now: Time, _node: NodeId, _to: Address, _packet: &Packet) {}

    /// A packet leaves such a tunnel at a node: its outer header is gone.
    fn on_agent_tunnel_left(&mut self, _now: Time, _node: NodeId, _packet: &Packet) {}

    /// An agent tells what happened to a host that moves between networks, or what it found out.
    fn on_mobile(&mut self, _now: Time, _node: NodeId, _event: &MobileEvent) {}

    /// A TCP sender passes a segment to IP; `state` is the sender's state after that.
    fn on_segment(&mut self, _now: Time, _flow: FlowId, _header: &TcpHeader, _state: &SenderState) {}

    /// A packet is passed to IP at its source.
    fn on_originated(&mut self, _now: Time, _node: NodeId, _packet: &Packet) {}

    /// A packet that another node has sent reaches IP of a node.
    fn on_hop(&mut self, _now: Time, _from: NodeId, _node: NodeId, _packet: &Packet) {}

    /// A packet has reached the node that it was for.
    fn on_delivered(&mut self, _now: Time, _node: NodeId, _packet: &Packet) {}

    /// A node has something for its own host that crosses no link, and that nobody has sent: an ICMP error.
    fn on_local(&mut self, _now: Time, _node: NodeId, _packet: &Packet) {}

    /// A node drops a packet.
    fn on_drop(&mut self, _now: Time, _node: NodeId, _packet: &Packet, _reason: DropReason) {}

    /// The last copy of a packet has ended, and none has arrived: where and why a copy was dropped last.
    fn on_lost(&mut self, _now: Time, _node: NodeId, _packet: &Packet, _reason: DropReason) {}

    /// A link gives a packet back; `in_range` says whether the neighbour could decode a frame that nothing disturbs.
    fn on_link_failure(&mut self, _now: Time, _node: NodeId, _next_hop: Address, _packet: &Packet, _in_range: bool) {}

    /// The routing protocol of a node announces that a route has changed.
    fn on_route_changed(&mut self, _now: Time, _node: NodeId, _change: &RouteChangeView<'_>) {}

    /// A node begins its next leg.
    fn on_leg(&mut self, _node: NodeId, _leg: &Leg) {}

    /// A sender that distinguishes causes of loss has decided, before it sends the segment again.
    fn on_decision(&mut self, _now: Time, _flow: FlowId, _decision: &DecisionView<'_>) {}

    /// The run has ended: what the probe has found may go into the results.
    fn report(&mut self, _outcome: &mut Outcome) {}
}

/// Watches nothing.
impl Probe for () {
    const WATCHES: bool = false;
}

/// Both watch.
impl<A: Probe, B: Probe> Probe for (A, B) {
    const WATCHES: bool = A::WATCHES || B::WATCHES;

    fn on_start(&mut self, network: &NetworkView<'_>) {
        self.0.on_start(network);
        self.1.on_start(network);
    }

    fn on_sent(&mut self, now: Time, interface: InterfaceId, frame: &FrameView<'_>) {
        self.0.on_sent(now, interface, frame);
        self.1.on_sent(now, interface, frame);
    }

    fn on_received(
        &mut self,
        now: Time,
        interface: InterfaceId,
        frame: &FrameView<'_>,
        reception: Reception,
        power: f64,
    ) {
        self.0.on_received(now, interface, frame, reception, power);
        self.1.on_received(now, interface, frame, reception, power);
    }

    fn on_wire_sent(&mut self, now: Time, interface: InterfaceId, packet: &Packet) {
        self.0.on_wire_sent(now, interface, packet);
        self.1.on_wire_sent(now, interface, packet);
    }

    fn on_wire_received(&mut self, now: Time, interface: InterfaceId, packet: &Packet) {
        self.0.on_wire_received(now, interface, packet);
        self.1.on_wire_received(now, interface, packet);
    }

    fn on_tunnel_entered(&mut self, now: Time, interface: InterfaceId, packet: &Packet) {
        self.0.on_tunnel_entered(now, interface, packet);
        self.1.on_tunnel_entered(now, interface, packet);
    }

    fn on_tunnel_left(&mut self, now: Time, interface: InterfaceId, packet: &Packet) {
        self.0.on_tunnel_left(now, interface, packet);
        self.1.on_tunnel_left(now, interface, packet);
    }

    fn on_agent_tunnel_entered(&mut self, now: Time, node: NodeId, to: Address, packet: &Packet) {
        self.0.on_agent_tunnel_entered(now, node, to, packet);
        self.1.on_agent_tunnel_entered(now, node, to, packet);
    }

    fn on_agent_tunnel_left(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.0.on_agent_tunnel_left(now, node, packet);
        self.1.on_agent_tunnel_left(now, node, packet);
    }

    fn on_mobile(&mut self, now: Time, node: NodeId, event: &MobileEvent) {
        self.0.on_mobile(now, node, event);
        self.1.on_mobile(now, node, event);
    }

    fn on_segment(&mut self, now: Time, flow: FlowId, header: &TcpHeader, state: &SenderState) {
        self.0.on_segment(now, flow, header, state);
        self.1.on_segment(now, flow, header, state);
    }

    fn on_originated(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.0.on_originated(now, node, packet);
        self.1.on_originated(now, node, packet);
    }

    fn on_hop(&mut self, now: Time, from: NodeId, node: NodeId, packet: &Packet) {
        self.0.on_hop(now, from, node, packet);
        self.1.on_hop(now, from, node, packet);
    }

    fn on_delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.0.on_delivered(now, node, packet);
        self.1.on_delivered(now, node, packet);
    }

    fn on_local(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.0.on_local(now, node, packet);
        self.1.on_local(now, node, packet);
    }

    fn on_drop(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        self.0.on_drop(now, node, packet, reason);
        self.1.on_drop(now, node, packet, reason);
    }

    fn on_lost(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        self.0.on_lost(now, node, packet, reason);
        self.1.on_lost(now, node, packet, reason);
    }

    fn on_link_failure(&mut self, now: Time, node: NodeId, next_hop: Address, packet: &Packet, in_range: bool) {
        self.0.on_link_failure(now, node, next_hop, packet, in_range);
        self.1.on_link_failure(now, node, next_hop, packet, in_range);
    }

    fn on_route_changed(&mut self, now: Time, node: NodeId, change: &RouteChangeView<'_>) {
        self.0.on_route_changed(now, node, change);
        self.1.on_route_changed(now, node, change);
    }

    fn on_leg(&mut self, node: NodeId, leg: &Leg) {
        self.0.on_leg(node, leg);
        self.1.on_leg(node, leg);
    }

    fn on_decision(&mut self, now: Time, flow: FlowId, decision: &DecisionView<'_>) {
        self.0.on_decision(now, flow, decision);
        self.1.on_decision(now, flow, decision);
    }

    fn report(&mut self, outcome: &mut Outcome) {
        self.0.report(outcome);
        self.1.report(outcome);
    }
}
