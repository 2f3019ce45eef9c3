//! A packet leaves a node: to the interface that leads to its next hop, and there to the MAC, a wire or a tunnel.

use super::{Around, Attachment, Due, Node};
use crate::address::{Address, InterfaceId};
use crate::clock::Wake;
use crate::context::{Context, DropReason, Slots, Waiter};
use crate::link::Link;
use crate::mac::Outgoing;
use crate::observe::{Passage, Probe};
use crate::packet::{Body, MOST_BYTES, PacketId};
use crate::routing::Routing as _;

impl Node {
    /// Passes a packet to the interface that leads to its next hop, and a broadcast to all interfaces of the node.
    pub(crate) fn send<P: Probe>(&mut self, packet: PacketId, next_hop: Address, around: &mut Around<'_, P>) {
        if next_hop.is_broadcast() {
            self.count_broadcast(packet, around);
            return self.broadcast(packet, around);
        }
        let way = self.towards(next_hop, around);
        self.count_sent(packet, way.map(|(interface, _)| interface), around);
        match way {
            Some((interface, next_hop)) => self.send_at(interface, packet, next_hop, around),
            None => around.cx.drop_packet(self.id, packet, DropReason::NoRoute),
        }
    }

    /// Passes a packet of the node's own protocols to one interface, a broadcast too.
    pub(crate) fn send_by<P: Probe>(
        &mut self,
        interface: InterfaceId,
        packet: PacketId,
        next_hop: Address,
        around: &mut Around<'_, P>,
    ) {
        self.count_sent(packet, Some(interface), around);
        self.send_at(interface, packet, next_hop, around);
    }

    /// Passes a packet to an interface. One that options or tunnels have made too long for an IP packet is dropped;
    /// messages of routing protocols, which grow with the network, have no limit here.
    pub(super) fn send_at<P: Probe>(
        &mut self,
        interface: InterfaceId,
        packet: PacketId,
        next_hop: Address,
        around: &mut Around<'_, P>,
    ) {
        let it = &around.cx.packets[packet];
        if it.size > MOST_BYTES && !matches!(it.body, Body::Routing(_)) {
            return around.cx.drop_packet(self.id, packet, DropReason::TooLong);
        }
        if matches!(it.body, Body::External(_))
            && let Some(most) = around.mtu(interface).filter(|most| it.size > *most)
        {
            return self.exceeds_link(packet, most, around.cx);
        }
        match around.topology.attachment(interface) {
            Attachment::Radio { .. } => {
                self.with_link(interface, around, |link, cx| link.send(packet, next_hop, cx));
            }
            Attachment::Wire { wire, direction } => {
                if around.probe.watches() {
                    around.probe.on_passage(around.cx.now, &around.cx.packets[packet], Passage::WireEntered(interface));
                }
                let its = &mut around.wires[wire];
                around.clock.lend(its, Wake::Wire(wire as u32), around.cx.now).enqueue(direction, packet, around.cx);
                if !around.cx.sending.is_empty()
                    && around.wires[wire].knows_ahead(direction)
                    && let Some((waiter, _)) = around.cx.sending.take(packet)
                {
                    let (Waiter::Host(node, _) | Waiter::Sender { node, .. }) = waiter;
                    // Sent when the last bit is on the wire.
                    let at = around.wires[wire].busy_until(direction);
                    around.border.schedule(at, node, Due::Sent { waiter }, around.clock);
                }
            }
            Attachment::Tunnel { to } => self.enters_tunnel(interface, packet, to, around),
            // It reaches no other node.
            Attachment::Nothing => around.cx.hand_over(packet),
        }
    }

    /// Passes a frame of a host outside to the link of an interface, which resolves no address.
    pub(crate) fn send_frame<P: Probe>(
        &mut self,
        interface: InterfaceId,
        packet: PacketId,
        receiver: InterfaceId,
        around: &mut Around<'_, P>,
    ) {
        if around.mtu(interface).is_some_and(|most| around.cx.packets[packet].size > most) {
            return around.cx.drop_packet(self.id, packet, DropReason::TooLong);
        }
        self.with_link(interface, around, |link, cx| link.send_to(packet, receiver.into(), cx));
    }

    /// Broadcasts a packet on all interfaces of the node that take it.
    fn broadcast<P: Probe>(&mut self, packet: PacketId, around: &mut Around<'_, P>) {
        let mut last = None;
        for place in 0..=self.further.len() {
            if let Some(interface) = self.interface(place)
                && self.takes_broadcasts(interface, packet, around)
                && let Some(before) = last.replace(interface)
            {
                let copy = around.cx.copy(packet);
                self.send_at(before, copy, Address::BROADCAST, around);
            }
        }
        match last {
            Some(interface) => self.send_at(interface, packet, Address::BROADCAST, around),
            // It reaches no other node.
            None => around.cx.hand_over(packet),
        }
    }

    /// The interface that leads to a neighbour, and the neighbour's address there.
    #[inline]
    pub(crate) fn towards<P>(&self, next_hop: Address, around: &Around<'_, P>) -> Option<(InterfaceId, Address)> {
        let first = InterfaceId::from(self.id);
        if self.further.is_empty()
            && let Attachment::Radio { channel, .. } = around.topology.attachment(first)
            && matches!(around.topology.interfaces.get(next_hop.index())?.attachment,
                Attachment::Radio { channel: other, .. } if other == channel)
        {
            return Some((first, next_hop));
        }
        self.search_towards(next_hop, around)
    }

    /// [`Node::towards`] for nodes with several interfaces, and for addresses of a neighbour's other interfaces: the
    /// interface in whose network the address is. If the node has none, another address of the same neighbour is
    /// taken, that at the other end of a wire before one on a channel.
    fn search_towards<P>(&self, next_hop: Address, around: &Around<'_, P>) -> Option<(InterfaceId, Address)> {
        let (topology, wires) = (around.topology, &around.wires);
        let joins = |other: InterfaceId, by_wire: bool| {
            let found = self.interfaces().find(|&interface| {
                match (topology.attachment(interface), topology.attachment(other)) {
                    (Attachment::Wire { wire, direction }, _) => by_wire && wires[wire].to(direction) == other,
                    (Attachment::Radio { channel, .. }, Attachment::Radio { channel: its, .. }) => channel == its,
                    _ => false,
                }
            });
            found.map(|interface| (interface, Address::from(other)))
        };
        let named = InterfaceId::from(next_hop);
        let neighbour = topology.interfaces.get(named.index())?.node;
        let others = || topology.interfaces_of(neighbour);
        let wired = |it: &InterfaceId| matches!(topology.attachment(*it), Attachment::Wire { .. });
        joins(named, true)
            .or_else(|| others().filter(wired).find_map(|other| joins(other, true)))
            .or_else(|| others().find_map(|other| joins(other, false)))
    }

    /// Whether a frame of the node can be decoded by a neighbour when nothing disturbs it.
    pub(super) fn reaches<P>(&self, neighbour: Address, around: &Around<'_, P>) -> bool {
        let Some((own, to)) = self.towards(neighbour, around) else { return false };
        match [own, to.into()].map(|it| around.topology.attachment(it)) {
            [Attachment::Radio { channel, station: a }, Attachment::Radio { channel: other, station: b }]
                if channel == other =>
            {
                around.channels[channel.index()].reaches(a as usize, b as usize, around.cx.now)
            }
            _ => false,
        }
    }

    /// Calls the link of an interface with a radio, and then gives the MAC the next packet, if the link has one for it.
    #[inline]
    pub(super) fn with_link<P: Probe>(
        &mut self,
        interface: InterfaceId,
        around: &mut Around<'_, P>,
        call: impl FnOnce(&mut Link, &mut Context),
    ) {
        if let Some(link) = self.link(interface) {
            call(&mut around.clock.lend(link, Wake::Link(interface), around.cx.now), around.cx);
            self.serve_mac(interface, around);
        }
    }

    /// The deadline of a link is reached.
    pub(crate) fn on_link_timer<P: Probe>(&mut self, interface: InterfaceId, around: &mut Around<'_, P>) {
        self.with_link(interface, around, Link::on_timer);
    }

    /// Gives the MAC of an interface the next packet, if it can take one.
    #[inline]
    pub(crate) fn serve_mac<P: Probe>(&mut self, interface: InterfaceId, around: &mut Around<'_, P>) {
        let Attachment::Radio { channel, station } = around.topology.attachment(interface) else { return };
        let Some(link) = self.link(interface) else { return };
        let channel = &mut around.channels[channel.index()];
        channel.serve(station as usize, around.cx, &mut around.clock.queue, |cx, takes| {
            let (packet, next_hop) = match takes {
                None => link.next_frame(cx)?,
                Some(takes) => link.next_chosen(cx, &|packet, next_hop| takes(packet, next_hop.into()))?,
            };
            Some(Outgoing { packet, size: cx.packets[packet].size, to: next_hop.into() })
        });
    }

    /// An agent has found slots. The MACs of the node's radios learn them.
    pub(crate) fn assign_slots<P: Probe>(&mut self, slots: &Slots, around: &mut Around<'_, P>) {
        for place in 0..=self.further.len() {
            if let Some(interface) = self.interface(place)
                && let Attachment::Radio { channel, station } = around.topology.attachment(interface)
            {
                let channel = &mut around.channels[channel.index()];
                channel.assign(station as usize, slots, around.cx, &mut around.clock.queue);
                self.serve_mac(interface, around);
            }
        }
    }

    /// Routing takes back the packets that are queued for a next hop.
    pub(crate) fn take_back<P: Probe>(&mut self, next_hop: Address, around: &mut Around<'_, P>) {
        for (packet, next_hop) in self.taken_from_queue(next_hop, around) {
            self.routing(around.clock, around.cx.now).on_taken_back(packet, next_hop, around.cx);
        }
    }

    /// Packets that are queued for a neighbour go as the table says now.
    pub(crate) fn reroute<P: Probe>(&mut self, next_hop: Address, around: &mut Around<'_, P>) {
        for (packet, _) in self.taken_from_queue(next_hop, around) {
            self.route(packet, around);
        }
    }

    /// The packets that wait for a next hop in the queue of its interface, each with its next hop.
    fn taken_from_queue<P>(&mut self, next_hop: Address, around: &mut Around<'_, P>) -> Vec<(PacketId, Address)> {
        let Some((interface, next_hop)) = self.towards(next_hop, around) else { return Vec::new() };
        let Some(link) = self.link(interface) else { return Vec::new() };
        link.take_back(next_hop, around.cx).into_iter().map(|packet| (packet, next_hop)).collect()
    }
}
