//! Tunnels: IP in IP (RFC 2003).
//!
//! The inner packet has its time to live lowered once, by the node that forwards it into the tunnel (§3.1). A packet
//! that would go round in circles is dropped as a routing loop, as far as a node can see the circle. A node sees three
//! kinds: a packet that came back to its source or would be sent back to it (§3.2), a packet that would go back through
//! the tunnel that it has just left, and a packet that is in too many tunnels already. Other circles end when the inner
//! time to live has run out.
//!
//! Left out: fragments, the soft state about the path's MTU and its errors (§5), and the way of ICMP errors over the
//! entry of the tunnel (§4). A node within the tunnel tells the source of the inner packet itself.

use super::{Around, Attachment, Node};
use crate::address::{Address, InterfaceId};
use crate::context::{Context, DropReason};
use crate::ip::{MOST_TUNNELS, Way};
use crate::observe::{Passage, Probe};
use crate::packet::{Body, Form, Packet, PacketId};
use crate::routing::Routes as _;

impl Node {
    /// Puts a packet into a tunnel, and passes the outer packet to IP.
    pub(super) fn enters_tunnel<P: Probe>(
        &mut self,
        interface: InterfaceId,
        packet: PacketId,
        to: Address,
        around: &mut Around<'_, P>,
    ) {
        if self.would_go_round(packet, to, Way::Tunnel(interface), around.cx) {
            return around.cx.drop_packet(self.id, packet, DropReason::RoutingLoop);
        }
        if around.probe.watches() {
            around.probe.on_passage(around.cx.now, &around.cx.packets[packet], Passage::TunnelEntered(interface));
        }
        self.enter(packet, to, Form::IpInIp, around);
    }

    /// The same for a tunnel that an agent has set up, which has no interface.
    pub(super) fn enters_agent_tunnel<P: Probe>(
        &mut self,
        packet: PacketId,
        to: Address,
        form: Form,
        around: &mut Around<'_, P>,
    ) {
        if self.would_go_round(packet, to, Way::Into { to, form }, around.cx) {
            return around.cx.drop_packet(self.id, packet, DropReason::RoutingLoop);
        }
        if around.probe.watches() {
            let passage = Passage::AgentTunnelEntered { node: self.id, to };
            around.probe.on_passage(around.cx.now, &around.cx.packets[packet], passage);
        }
        self.enter(packet, to, form, around);
    }

    /// Whether a packet would go round in circles in a tunnel.
    fn would_go_round(&self, packet: PacketId, to: Address, by: Way, cx: &Context) -> bool {
        let it = &cx.packets[packet];
        // §3.2 speaks of packets that a router forwards: a host may send its own through a tunnel.
        let source = cx.owners.of(it.source);
        let comes_back = it.hops > 0 && (source == self.id || source == cx.owners.of(to));
        // The end of the tunnel must not be sought within the tunnel. Where several ways lead there, only the copy of
        // the outer packet goes round that would take this one.
        let is_its_own_way =
            self.ways(to, cx).any(|way| way == by) && (it.destination == to || self.ways(to, cx).all(|way| way == by));
        comes_back || is_its_own_way || nested(it) >= MOST_TUNNELS
    }

    /// All ways that copies of a packet to a destination would go.
    fn ways(&self, destination: Address, cx: &Context) -> impl Iterator<Item = Way> + '_ {
        let name = cx.owners.name(destination);
        let further = self.table.iter().flat_map(move |it| it.further(name));
        self.way(destination, &cx.owners).into_iter().chain(further)
    }

    fn enter<P: Probe>(&mut self, packet: PacketId, to: Address, form: Form, around: &mut Around<'_, P>) {
        around.cx.encapsulate(packet, self.id.into(), to, around.topology.ip.ttl, form);
        self.route(packet, around);
    }

    /// A packet arrived that has another one in it. Returns the packet if it is for the host of the node.
    pub(super) fn pass_tunnelled<P: Probe>(
        &mut self,
        packet: PacketId,
        from: Address,
        around: &mut Around<'_, P>,
    ) -> Option<PacketId> {
        let source = around.cx.packets[packet].source;
        let ends_here = |interface: &InterfaceId| matches!(around.topology.attachment(*interface), Attachment::Tunnel { to } if to == source);
        let tunnel = self.interfaces().find(ends_here);
        if let Some(tunnel) = tunnel {
            around.cx.decapsulate(packet);
            if around.probe.watches() {
                around.probe.on_passage(around.cx.now, &around.cx.packets[packet], Passage::TunnelLeft(tunnel));
            }
            return self.pass_out_of(tunnel, packet, from, around);
        }
        // What comes from one agent to another is theirs.
        let serves = |node| around.topology.roles.get(&node).is_some_and(|role| role.serves);
        let is_agent = serves(self.id);
        if self.routing.accepts_tunnels() && !(is_agent && serves(around.cx.owners.of(source))) {
            // Such as a gateway, whose routing protocol ends tunnels.
            around.cx.decapsulate(packet);
            return self.pass_inner(packet, from, around);
        }
        if is_agent { self.pass_from_agent(packet, from, around) } else { Some(packet) }
    }

    /// Passes on a packet that has left a tunnel, unless it would go back through the tunnel.
    fn pass_out_of<P: Probe>(
        &mut self,
        tunnel: InterfaceId,
        packet: PacketId,
        from: Address,
        around: &mut Around<'_, P>,
    ) -> Option<PacketId> {
        let destination = around.cx.packets[packet].destination;
        let owners = &around.cx.owners;
        if owners.of(destination) != self.id && self.way(destination, owners) == Some(Way::Tunnel(tunnel)) {
            around.cx.drop_packet(self.id, packet, DropReason::RoutingLoop);
            return None;
        }
        self.pass_inner(packet, from, around)
    }
}

/// In how many tunnels a packet is.
fn nested(packet: &Packet) -> usize {
    match &packet.body {
        Body::Tunnelled(_, inner) => 1 + nested(inner),
        Body::Extended(it) => match it.body() {
            Body::Tunnelled(_, inner) => 1 + nested(inner),
            _ => 0,
        },
        _ => 0,
    }
}
