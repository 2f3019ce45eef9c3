//! Tunnels: IP in IP (RFC 2003).
//!
//! The inner packet has its time to live lowered once, by the node that forwards it into the tunnel (§3.1). What would
//! go round in circles is dropped as a routing loop, as far as a node can see it: a packet that has come back to its
//! source or would be sent back to it (§3.2), one that would go back through the tunnel that it has just left, and one
//! that is in too many tunnels already. Other circles end when the inner time to live has run out.
//!
//! Left out: fragments, the soft state about the path's MTU and its errors (§5), and the way of ICMP errors over the
//! entry of the tunnel (§4): a node within the tunnel tells the source of the inner packet itself.

use super::{Attachment, World};
use crate::address::{Address, InterfaceId, NodeId};
use crate::context::DropReason;
use crate::ip::Way;
use crate::observe::Probe;
use crate::packet::{Body, Form, Packet, PacketId};
use crate::routing::Routing as _;

/// How many tunnels a packet may be in at once: the default of RFC 2473 §6.6. RFC 2003 names no number.
pub(super) const MOST_NESTED: usize = 4;

impl<P: Probe> World<P> {
    /// Puts a packet into a tunnel, and passes the outer packet to IP.
    pub(super) fn enters_tunnel(&mut self, interface: InterfaceId, packet: PacketId, to: Address) {
        let node = self.interfaces[interface.index()].node;
        if self.would_go_round(node, packet, to, Way::Tunnel(interface)) {
            return self.cx.drop_packet(node, packet, DropReason::RoutingLoop);
        }
        if self.probe.watches() {
            self.probe.on_tunnel_entered(self.cx.now, interface, &self.cx.packets[packet]);
        }
        self.enter(node, packet, to, Form::IpInIp);
    }

    /// The same for a tunnel that an agent has set up, which has no interface.
    pub(super) fn enters_agent_tunnel(&mut self, node: NodeId, packet: PacketId, to: Address, form: Form) {
        if self.would_go_round(node, packet, to, Way::Into { to, form }) {
            return self.cx.drop_packet(node, packet, DropReason::RoutingLoop);
        }
        if self.probe.watches() {
            self.probe.on_agent_tunnel_entered(self.cx.now, node, to, &self.cx.packets[packet]);
        }
        self.enter(node, packet, to, form);
    }

    /// Whether a packet would go round in circles in a tunnel.
    fn would_go_round(&self, node: NodeId, packet: PacketId, to: Address, by: Way) -> bool {
        let it = &self.cx.packets[packet];
        // §3.2 speaks of packets that a router forwards: a host may send its own through a tunnel.
        let source = self.cx.owners.of(it.source);
        let comes_back = it.hops > 0 && (source == node || source == self.cx.owners.of(to));
        // The end of the tunnel must not be sought within the tunnel. Where several ways lead there, only the copy of
        // the outer packet goes round that would take this one.
        let is_its_own_way = self.ways(node, to).any(|way| way == by)
            && (it.destination == to || self.ways(node, to).all(|way| way == by));
        comes_back || is_its_own_way || nested(it) >= MOST_NESTED
    }

    /// All ways that copies of a packet to a destination would go from a node.
    fn ways(&self, node: NodeId, destination: Address) -> impl Iterator<Item = Way> + '_ {
        let name = self.cx.owners.name(destination);
        let table = self.nodes[node.index()].table.as_ref();
        self.way(node, destination).into_iter().chain(table.into_iter().flat_map(move |it| it.further(name)))
    }

    fn enter(&mut self, node: NodeId, packet: PacketId, to: Address, form: Form) {
        self.cx.encapsulate(packet, node.into(), to, self.ttl, form);
        self.route(node, packet);
        self.arm_routing(node.index());
    }

    /// Takes a packet out of a tunnel that ends at a node. Returns the tunnel's interface, if it came through one.
    pub(super) fn leaves_tunnel(&mut self, node: NodeId, packet: PacketId) -> Option<InterfaceId> {
        if !matches!(self.cx.packets[packet].body, Body::Tunnelled(..)) {
            return None;
        }
        let source = self.cx.packets[packet].source;
        let interface = self.interfaces_of(node).find(|interface| {
            matches!(self.interfaces[interface.index()].attachment, Attachment::Tunnel { to } if to == source)
        })?;
        let is_out = self.cx.decapsulate(packet);
        if self.probe.watches() && is_out {
            self.probe.on_tunnel_left(self.cx.now, interface, &self.cx.packets[packet]);
        }
        is_out.then_some(interface)
    }

    /// Takes out of its outer packet what was tunnelled to a node whose routing protocol ends tunnels, such as a
    /// gateway. What comes from one agent to another is theirs. Returns whether there was something.
    pub(super) fn takes_out(&mut self, node: NodeId, packet: PacketId) -> bool {
        let it = &self.cx.packets[packet];
        let serves =
            |node: NodeId| self.nodes.get(node.index()).is_some_and(|it| it.part.as_ref().is_some_and(|it| it.serves));
        matches!(it.body, Body::Tunnelled(..))
            && self.nodes[node.index()].routing.accepts_tunnels()
            && !(serves(node) && serves(self.cx.owners.of(it.source)))
            && self.cx.decapsulate(packet)
    }

    /// Passes on a packet that has left a tunnel, unless it would go back through the tunnel.
    pub(super) fn pass_out_of(&mut self, tunnel: InterfaceId, node: NodeId, packet: PacketId, from: Address) {
        let destination = self.cx.packets[packet].destination;
        if self.cx.owners.of(destination) != node && self.way(node, destination) == Some(Way::Tunnel(tunnel)) {
            return self.cx.drop_packet(node, packet, DropReason::RoutingLoop);
        }
        self.pass_inner(node, packet, from);
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

#[cfg(test)]
mod tests {
    use hopyard_engine::{Span, Time};

    use super::*;
    use crate::address::Prefix;
    use crate::context::WayChange;
    use crate::link::wired;
    use crate::packet::{FlowId, PacketKind, UdpHeader};
    use crate::params::{Params as _, RFC};
    use crate::world::{NodeSpec, Spec, Watch, WireSpec};
    use crate::{mobility, routing};

    /// Node 0 has wires to nodes 1 and 2, tunnels to node 1 what is for node 2, and reaches node 1 these ways. What
    /// becomes of one packet of it to node 2: how many packets were dropped, and how many of them as loops.
    fn fate(ways: &[WayChange]) -> (u64, u64) {
        let mut spec = Spec::network(RFC);
        spec.duration = Span::from_secs(1);
        for _ in 0..3 {
            let routing = routing::Config::of_profile("static", RFC).expect("a protocol");
            let mut node = NodeSpec::stationary(mobility::Position::default(), routing);
            node.radios.clear();
            spec.nodes.push(node);
        }
        for to in [1, 2] {
            let params = wired::Params::of_profile(RFC);
            spec.wires.push(WireSpec { ends: (NodeId(0), NodeId(to)), params, network: None });
        }
        let mut world = World::new(&spec).expect("a world");
        let host = |world: &World, node: u32| Prefix::of(world.cx.owners.name(Address(node)), 32);
        let into = Way::Into { to: Address(1), form: Form::IpInIp };
        let (end, target) = (host(&world, 1), host(&world, 2));
        world.set_way(NodeId(0), target, WayChange::Only(into));
        for &way in ways {
            world.set_way(NodeId(0), end, way);
        }
        let packet = world.cx.originate(Packet {
            created: Time::ZERO,
            source: Address(0),
            destination: Address(2),
            flow: FlowId(0),
            size: 100,
            ttl: 64,
            hops: 0,
            salvaged: 0,
            body: Body::Udp(UdpHeader { sequence: 0, len: 72 }),
        });
        world.route(NodeId(0), packet);
        world.advance(Time::NEVER, &Watch::default());
        let (dropped, drops) = (world.cx.ledger.dropped, world.cx.drops.clone());
        let loops = [PacketKind::Data, PacketKind::Control].map(|it| drops.get(NodeId(0), it, DropReason::RoutingLoop));
        world.finish().expect("packets add up");
        (dropped, loops.iter().sum())
    }

    #[test]
    fn of_several_ways_to_its_end_only_that_through_the_tunnel_itself_goes_round() {
        let (direct, round) = (Way::Via(Address(1)), Way::Into { to: Address(1), form: Form::IpInIp });
        let (dropped, loops) = fate(&[WayChange::Only(direct)]);
        assert_eq!(loops, 0, "{dropped} dropped");
        // Whichever is the first one, a copy of the outer packet is lost, and no other packet.
        for ways in [[direct, round], [round, direct]] {
            let (more, loops) = fate(&[WayChange::Only(ways[0]), WayChange::Also(ways[1])]);
            assert_eq!((more, loops), (dropped + 1, 1), "{ways:?}");
        }
        assert_eq!(fate(&[WayChange::Only(round)]), (1, 1));
    }
}
