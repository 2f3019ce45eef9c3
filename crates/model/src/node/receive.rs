//! A packet reaches a node: it is for the node itself, or it is passed on.

use super::{Around, Attachment, Node};
use crate::address::{Address, InterfaceId};
use crate::agent::Agent as _;
use crate::clock::Wake;
use crate::context::{Action, Context, DropReason};
use crate::ip::{self, Arrival};
use crate::observe::{PacketEvent, Passage, Probe};
use crate::packet::{Body, PacketId};
use crate::routing::{AfterOptions, Routing as _};

impl Node {
    /// IP receives a packet from a link or from a wire. Returns the packet if it is for the host of the node.
    pub(crate) fn receive<P: Probe>(
        &mut self,
        interface: InterfaceId,
        packet: PacketId,
        from: Address,
        around: &mut Around<'_, P>,
    ) -> Option<PacketId> {
        let node = self.id;
        if around.probe.watches() && matches!(around.topology.attachment(interface), Attachment::Wire { .. }) {
            around.probe.on_passage(around.cx.now, &around.cx.packets[packet], Passage::WireLeft(interface));
        }
        let Context { now, packets, owners, overhead, .. } = &mut *around.cx;
        let arrival = ip::arrive(&mut packets[packet], |address| owners.of(address) == node);
        if !matches!(packets[packet].body, Body::Tcp(_) | Body::Udp(_)) {
            overhead.on_received(node, &packets[packet]);
        }
        if around.probe.watches() {
            let event = PacketEvent::Hop { from: owners.of(from) };
            around.probe.on_packet(*now, node, &packets[packet], event);
        }
        let mut routing = self.routing(around.clock, around.cx.now);
        routing.on_heard(packet, from, around.cx);
        if arrival == Arrival::Routing {
            // Its timer is set once for both.
            routing.on_message(packet, from, around.cx);
            return None;
        }
        drop(routing);
        self.pass(packet, from, arrival, around)
    }

    /// Passes a packet on as IP says. Returns the packet if it is for the host of the node.
    pub(super) fn pass<P: Probe>(
        &mut self,
        packet: PacketId,
        from: Address,
        arrival: Arrival,
        around: &mut Around<'_, P>,
    ) -> Option<PacketId> {
        match arrival {
            Arrival::Local => return self.pass_local(packet, from, around),
            Arrival::Options => return self.on_options(packet, from, around),
            Arrival::Routing => {
                self.routing(around.clock, around.cx.now).on_message(packet, from, around.cx);
            }
            Arrival::Agent(port) => self.pass_to_agent(port, packet, from, around),
            Arrival::Group => return self.pass_to_group(packet, from, around),
            Arrival::Forward => {
                self.forwarded += 1;
                self.route(packet, around);
            }
            Arrival::Expired => around.cx.drop_packet(self.id, packet, DropReason::TtlExpired),
        }
        None
    }

    /// A packet for this node may have another one in it. Returns the packet if it is for the host of the node.
    fn pass_local<P: Probe>(
        &mut self,
        packet: PacketId,
        from: Address,
        around: &mut Around<'_, P>,
    ) -> Option<PacketId> {
        if matches!(around.cx.packets[packet].body, Body::Tunnelled(..)) {
            self.pass_tunnelled(packet, from, around)
        } else {
            Some(packet)
        }
    }

    /// A message for an agent arrives.
    pub(super) fn pass_to_agent<P: Probe>(
        &mut self,
        port: u16,
        packet: PacketId,
        from: Address,
        around: &mut Around<'_, P>,
    ) {
        let mut agents = around.clock.lend(&mut self.agents, Wake::Agents(self.id), around.cx.now);
        match agents.0.iter_mut().find(|agent| agent.ports().contains(&port)) {
            Some(agent) => agent.on_message(packet, from, around.cx),
            None => around.cx.drop_packet(self.id, packet, DropReason::NoListener),
        }
    }

    /// Passes on a packet that came out of a tunnel, or was behind options: it is for this node, or it is forwarded.
    pub(super) fn pass_inner<P: Probe>(
        &mut self,
        packet: PacketId,
        from: Address,
        around: &mut Around<'_, P>,
    ) -> Option<PacketId> {
        let Context { packets, owners, .. } = &mut *around.cx;
        let arrival = ip::arrive_again(&mut packets[packet], |address| owners.of(address) == self.id);
        self.pass(packet, from, arrival, around)
    }

    /// A packet with options arrived. The routing protocol decides about it.
    fn on_options<P: Probe>(
        &mut self,
        packet: PacketId,
        from: Address,
        around: &mut Around<'_, P>,
    ) -> Option<PacketId> {
        let answer = self.routing(around.clock, around.cx.now).on_options(packet, from, around.cx);
        let it = match answer {
            AfterOptions::Taken => return None,
            _ => &mut around.cx.packets[packet],
        };
        match answer {
            AfterOptions::Deliver => {
                it.strip_options();
                if matches!(it.body, Body::Empty) {
                    around.cx.deliver(packet);
                } else {
                    return self.pass_inner(packet, from, around);
                }
            }
            AfterOptions::Unknown if it.destination.is_group() || around.cx.owners.of(it.destination) == self.id => {
                around.cx.drop_packet(self.id, packet, DropReason::NoListener);
            }
            _ if ip::forward(it) == Arrival::Expired => {
                around.cx.drop_packet(self.id, packet, DropReason::TtlExpired);
            }
            AfterOptions::Forward(next_hop) => {
                self.forwarded += 1;
                around.cx.act(Action::Send { node: self.id, packet, next_hop });
            }
            AfterOptions::Unknown | AfterOptions::Taken => {
                self.forwarded += 1;
                self.route(packet, around);
            }
        }
        None
    }

    /// The MAC of an interface passed up a packet for another node. Those read it that asked for such packets.
    pub(crate) fn overheard<P: Probe>(
        &mut self,
        packet: PacketId,
        from: Address,
        to: Address,
        around: &mut Around<'_, P>,
    ) {
        let now = around.cx.now;
        if self.routing_overhears {
            self.routing(around.clock, now).on_overheard(packet, from, to, around.cx);
        }
        for agent in self.agents(around.clock, now).0.iter_mut().filter(|agent| agent.overhears()) {
            agent.on_overheard(packet, from, to, around.cx);
        }
        around.cx.hand_over(packet);
    }

    /// A message of address resolution arrived.
    pub(crate) fn on_arp<P: Probe>(
        &mut self,
        interface: InterfaceId,
        packet: PacketId,
        from: Address,
        around: &mut Around<'_, P>,
    ) {
        self.with_link(interface, around, |link, cx| link.on_arp(packet, from, cx));
    }

    /// The link gave a packet back.
    pub(crate) fn on_link_failed<P: Probe>(
        &mut self,
        packet: PacketId,
        next_hop: Address,
        reason: DropReason,
        around: &mut Around<'_, P>,
    ) {
        let node = self.id;
        around.cx.digest.fold(around.cx.now.nanos() ^ u64::from(node.0) << 40 ^ u64::from(next_hop.0));
        around.cx.complete(packet, Err(reason));
        if around.probe.watches() {
            // What was dropped before is told before.
            around.tell_drops();
            let event = PacketEvent::Returned { next_hop, in_range: self.reaches(next_hop, around) };
            around.probe.on_packet(around.cx.now, node, &around.cx.packets[packet], event);
        }
        // A node whose host is outside routes nothing itself.
        let is_outside = around.cx.outside.any_frames() && around.cx.outside.has_frames(node.into());
        if is_outside || matches!(around.cx.packets[packet].body, Body::Arp(_) | Body::Frame(_) | Body::Mpdu(_)) {
            return around.cx.drop_packet(node, packet, reason);
        }
        // The MAC is free now, and its action `MacReady` is still in the list. The actions of routing must come before
        // it: packets that routing takes back from the queue must not be sent to the broken next hop.
        around.first(|around| {
            self.routing(around.clock, around.cx.now).on_link_failure(packet, next_hop, reason, around.cx);
        });
    }
}
