//! What agents do for hosts that move between networks: the ways that they set, and what they tell.

use hopyard_engine::Time;

use super::part::Part;
use super::{Attachment, RoleSpec, Spec, World};
use crate::address::{Address, InterfaceId, NodeId, Prefix};
use crate::agent::{Port, Role, Site};
use crate::context::{DropReason, MobileChange, MobileEvent};
use crate::ip::{Table, Way, WayChange};
use crate::observe::Probe;
use crate::packet::{Body, Form, PacketId};
use crate::transport::tcp::NetworkEvent;

impl<P: Probe> World<P> {
    /// An agent changes which way packets for a prefix go.
    pub(super) fn set_way(&mut self, node: NodeId, prefix: Prefix, change: WayChange) {
        let table = self.nodes[node.index()].table.get_or_insert_with(|| Box::new(Table::of_protocol()));
        table.change(prefix, change);
        let (kind, way) = match change {
            WayChange::Only(way) => (1, Some(way)),
            WayChange::Also(way) => (2, Some(way)),
            WayChange::Not(way) => (3, Some(way)),
            WayChange::Clear => (4, None),
        };
        let prefix = u64::from(prefix.first().to_bits()) << 8 | u64::from(prefix.length());
        self.fold_way(node, prefix, kind, way);
    }

    /// An agent changes which way packets from a source go.
    pub(super) fn set_source_way(&mut self, node: NodeId, source: Address, way: Option<Way>) {
        let table = self.nodes[node.index()].table.get_or_insert_with(|| Box::new(Table::of_protocol()));
        table.change_source(source, way);
        self.fold_way(node, u64::from(source.0), 5, way);
    }

    /// The digest knows each change of a way.
    fn fold_way(&mut self, node: NodeId, of: u64, kind: u64, way: Option<Way>) {
        let [choice, to] = match way {
            None => [0, 0],
            Some(Way::Protocol) => [1, 0],
            Some(Way::Direct) => [2, 0],
            Some(Way::Nowhere) => [3, 0],
            Some(Way::Via(to)) => [4, u64::from(to.0)],
            Some(Way::Towards(to)) => [5, u64::from(to.0)],
            Some(Way::Tunnel(interface)) => [6, u64::from(interface.0)],
            Some(Way::Into { to, form: Form::IpInIp }) => [7, u64::from(to.0)],
            Some(Way::Into { to, form: Form::Minimal }) => [8, u64::from(to.0)],
        };
        for value in [self.cx.now.nanos(), u64::from(node.0) << 48 | kind << 40 | choice << 32, of, to] {
            self.cx.digest.fold(value);
        }
    }

    /// Sends a packet the way that the table of a node says, and copies of it the further ones.
    pub(super) fn route_by_table(&mut self, node: NodeId, packet: PacketId) {
        let Some(table) = &self.nodes[node.index()].table else { return };
        let it = &self.cx.packets[packet];
        let destination = it.destination;
        let name = self.cx.owners.name(destination);
        // A visitor is a neighbour. What it sent and comes from elsewhere has been through its tunnel already.
        let of_source = if it.hops == 1 { table.of_source(it.source) } else { None };
        let way = of_source.or_else(|| table.lookup(name));
        let further: Vec<Way> = if of_source.is_some() { Vec::new() } else { table.further(name).collect() };
        for way in further {
            let copy = self.cx.copy(packet);
            self.send_by_way(node, copy, destination, Some(way));
        }
        self.send_by_way(node, packet, destination, way);
    }

    /// An interface tells its neighbours that it has an address; for that of another node, it answers from now on, or
    /// no longer.
    pub(super) fn announce(&mut self, interface: InterfaceId, address: Address, answers: Option<bool>) {
        let Attachment::Radio { link, .. } = &mut self.interfaces[interface.index()].attachment else { return };
        match answers {
            Some(answers) => link.set_proxy(address, answers, &mut self.cx),
            None => link.announce(address, &mut self.cx),
        }
        self.serve_mac(interface.index());
        self.arm_link(interface.index());
    }

    /// A node knows the link address of a neighbour by radio, without a question.
    pub(super) fn learn(&mut self, node: NodeId, neighbour: Address, until: Time) {
        let Some((interface, next_hop)) = self.towards(node, neighbour) else { return };
        let Attachment::Radio { link, .. } = &mut self.interfaces[interface.index()].attachment else { return };
        link.learn(next_hop, until, &mut self.cx);
        self.serve_mac(interface.index());
        self.arm_link(interface.index());
    }

    /// Packets that are queued for a neighbour go as the table says now.
    pub(super) fn reroute(&mut self, node: NodeId, next_hop: Address) {
        let mut packets = Vec::new();
        if let Some((interface, next_hop)) = self.towards(node, next_hop)
            && let Attachment::Radio { link, .. } = &mut self.interfaces[interface.index()].attachment
        {
            packets.extend(link.take_back(next_hop, &self.cx));
        }
        for packet in packets {
            self.route(node, packet);
        }
    }

    /// Takes a packet out of a tunnel of agents that ends at a node, and passes it on. A foreign agent passes on what
    /// is for its visitors, and nothing for hosts that have left it (RFC 5944 §4.2.1). Returns whether there was one.
    pub(super) fn takes_out_for_agent(&mut self, node: NodeId, packet: PacketId, from: Address) -> bool {
        let serves = self.nodes[node.index()].part.as_ref().is_some_and(|part| part.serves);
        let outer = self.cx.packets[packet].source;
        let hops = self.cx.packets[packet].hops;
        if !serves || !matches!(self.cx.packets[packet].body, Body::Tunnelled(..)) || !self.cx.decapsulate(packet) {
            return false;
        }
        // A visitor is a neighbour of its agent, so what enters a reverse tunnel has made one hop before.
        let is_from_visitor = self.cx.packets[packet].hops.saturating_sub(hops) <= 1;
        let (source, destination) = (self.cx.packets[packet].source, self.cx.packets[packet].destination);
        if self.probe.watches() {
            self.probe.on_agent_tunnel_left(self.cx.now, node, &self.cx.packets[packet]);
        }
        let (to, name) = (self.cx.owners.of(destination), self.cx.owners.name(destination));
        let its = |node: NodeId| self.nodes.get(node.index()).and_then(|it| it.part.as_deref());
        let table = self.nodes[node.index()].table.as_ref();
        // What one of its own hosts has sent from its care-of address comes through a tunnel of the other direction
        // (RFC 3024), for anybody. From elsewhere it comes through the tunnel of another home agent, and must not go
        // back there.
        let sender = self.cx.owners.of(source);
        let takes_from = |part: &Part| part.takes_reverse_tunnels && part.home_of.binary_search(&sender).is_ok();
        let is_reverse = is_from_visitor
            && its(node).is_some_and(takes_from)
            && table.is_some_and(|table| table.leads_into(self.cx.owners.name(source), outer));
        // The home agent knows no binding that such a packet belongs to (RFC 3024 §4.3.2). Visitors get packets of its
        // hosts that have come round by way of other home agents.
        let is_own = |host: NodeId| its(node).is_some_and(|part| part.home_of.binary_search(&host).is_ok());
        let is_visitor = its(to).is_some_and(|part| part.moves) && !is_own(to);
        let is_unbound = to != node
            && !is_reverse
            && !is_visitor
            && is_own(sender)
            && its(node).is_some_and(|part| part.takes_reverse_tunnels);
        if is_unbound {
            self.cx.drop_packet(node, packet, DropReason::NotRegistered);
            return true;
        }
        let is_away = to != node
            && !is_reverse
            && its(to).is_some_and(|part| part.moves)
            && its(node).is_none_or(|part| part.home_of.binary_search(&to).is_err())
            && !table.is_some_and(|table| table.has_host(name));
        if is_away {
            self.cx.drop_packet(node, packet, DropReason::VisitorGone);
        } else {
            self.pass_inner(node, packet, from);
        }
        true
    }

    /// An agent tells what happened to a host that moves.
    pub(super) fn on_mobile(&mut self, node: NodeId, event: MobileEvent) {
        if self.probe.watches() {
            self.tell_drops();
            self.probe.on_mobile(self.cx.now, node, &event);
        }
        let MobileChange::Registered { care_of, .. } = event.what else { return };
        let its_home = self.nodes.get(self.cx.owners.of(care_of).index()).and_then(|agent| agent.part.as_deref());
        let is_home = care_of == node.into() || its_home.is_some_and(|it| it.home_of.binary_search(&node).is_ok());
        let Some(part) = self.nodes[node.index()].part.as_mut().filter(|part| part.moves) else { return };
        // A host that has been at home from the start has not been registered before; to be so at home is no change.
        if part.care_of.replace(care_of).map_or(!is_home, |before| before != care_of) {
            for place in 0..self.nodes[node.index()].flows.len() {
                let flow = self.nodes[node.index()].flows[place];
                self.on_network_event(flow, NetworkEvent::CareOfChanged);
            }
        }
    }
}

/// Where the agents of a node run. `ports` are the interfaces of all nodes.
pub(super) fn site(spec: &Spec, node: NodeId, ports: &[Vec<Port>], wire_ends: &[[InterfaceId; 2]]) -> Site {
    let own = |node: NodeId| ports.get(node.index()).map(Vec::as_slice).unwrap_or_default();
    let radio = |node: NodeId| own(node).iter().find(|port| port.is_radio).map(|port| port.interface);
    let role = match spec.role(node) {
        RoleSpec::Fixed => Role::Fixed,
        RoleSpec::Router { is_foreign, wires, hosts, first } => {
            let ends = wires.iter().filter_map(|&wire| {
                let place = usize::from(spec.wires.get(wire)?.ends.0 != node);
                Some(wire_ends.get(wire)?[place])
            });
            Role::Router {
                serves: radio(node).into_iter().chain(ends).collect(),
                is_foreign: *is_foreign,
                hosts: hosts.iter().map(|&host| host.into()).collect(),
                first: *first,
            }
        }
        RoleSpec::Host { agent, forged } => {
            let network = own(node).first().map_or(Prefix::DEFAULT, |port| port.prefix);
            // The agent's address in the home network, or its first one.
            let at_home = own(*agent).iter().find(|port| network.contains(port.name));
            let agent = at_home.map_or(Address::from(*agent), |port| port.interface.into());
            Role::Host { home: node.into(), agent, network, forged: forged.clone() }
        }
    };
    let orders = spec.orders.get(&node).cloned().unwrap_or_default();
    Site { node, interfaces: own(node).to_vec(), role, orders }
}
