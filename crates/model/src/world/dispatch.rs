//! The effect of each event and each action.

use hopyard_engine::{Prefetch as _, Time, is_worth_reading_ahead, read_ahead};

use super::World;
use crate::address::{Address, InterfaceId, NodeId};
use crate::channel::{self, ChannelId};
use crate::clock::{Event, Wake};
use crate::context::{Action, RouteChange};
use crate::link::receive_path::Arriving;
use crate::mobility::Mobility;
use crate::node::{self, Attachment};
use crate::observe::Probe;
use crate::order;
use crate::packet::{Body, PacketId};
use crate::phy::medium::{TransmissionId, Walk};
use crate::transport::tcp::NetworkEvent;

impl<P: Probe> World<P> {
    /// Starts all protocols and traffic at time zero.
    pub(super) fn start(&mut self) {
        self.look_at_connectivity();
        self.give_first_slots();
        for node in (0..self.nodes.len() as u32).map(NodeId) {
            let (it, mut around) = self.node(node);
            it.start_routing(&mut around);
            self.drain();
            let (it, mut around) = self.node(node);
            it.start_agents(&mut around);
            self.drain();
        }
        for socket in 0..self.sockets.len() {
            self.arm(socket);
        }
        if !self.sampling.quantities.is_empty() {
            self.clock.set(Wake::Sample, Time::ZERO);
        }
        self.look_at_batteries();
        if let Some(flow) = self.flows.first() {
            self.clock.queue.push(flow.meter.from(), order::MEASURE, Event::Measure);
        }
    }

    /// Carries out one event, and all actions that follow from it.
    #[inline]
    pub(super) fn handle(&mut self, event: Event) {
        match event {
            Event::Edge(channel, transmission) => {
                self.clock.queued_edges += 1;
                return self.walk(channel, transmission);
            }
            Event::Enter => return self.receive_in_line(),
            Event::Leg(node) => self.next_leg(NodeId(node)),
            Event::Send(node, packet, next_hop) => self.send_delayed(node, packet, next_hop),
            Event::Connectivity => self.look_at_connectivity(),
            Event::Look(channel) => self.give_slots(channel),
            Event::Measure => self.begin_measuring(),
            Event::Outside(node) => self.on_due(NodeId(node)),
            Event::Sleep(place) => self.fall_asleep(place),
            Event::Jam(place) => self.radiate(place),
        }
        self.drain();
    }

    /// Carries out what a timer asks for, and all actions that follow from it. Every timer is set again, or stopped.
    #[inline(always)]
    pub(super) fn on_timer(&mut self, timer: u32) {
        match self.clock.wakes(timer) {
            Wake::Mac(interface) => return self.on_mac_timer(interface),
            Wake::Link(interface) => {
                let (node, mut around) = self.node_at(interface);
                node.on_link_timer(interface, &mut around);
            }
            Wake::Routing(node) => {
                let (node, mut around) = self.node(node);
                node.on_routing_timer(&mut around);
            }
            Wake::Agents(node) => {
                let (node, mut around) = self.node(node);
                node.on_agent_timer(&mut around);
            }
            Wake::Socket(socket) => self.on_socket_timer(socket as usize),
            Wake::Wire(wire) => {
                let its = &mut self.wires[wire as usize];
                self.clock.lend(its, Wake::Wire(wire), self.cx.now).on_timer(&mut self.cx);
                self.drop_for_the_dead();
            }
            Wake::Sample => self.sample(),
            Wake::Battery(node) => self.look_at_battery(node),
        }
        self.drain();
    }

    /// The deadline of a MAC is reached.
    #[inline]
    fn on_mac_timer(&mut self, interface: InterfaceId) {
        let Attachment::Radio { channel, station } = self.topology.attachment(interface) else { return };
        let (channel, station) = (channel.index(), station as usize);
        if self.channels[channel].gathers() {
            let (node, mut around) = self.node_at(interface);
            node.serve_mac(interface, &mut around);
        }
        let (channels, around) = self.split();
        channels[channel].on_timer(station, around);
        self.drain();
        self.channels[channel].arm(station, self.cx.now, &mut self.clock.queue);
    }

    /// Executes the actions of the handlers, first in, first out. Most events leave none.
    #[inline(always)]
    pub(super) fn drain(&mut self) {
        if !self.cx.actions.is_empty() || (self.cx.has_drops() && self.probe.watches()) {
            self.drain_all();
        }
    }

    #[inline(never)]
    fn drain_all(&mut self) {
        while let Some(action) = self.cx.actions.pop_front() {
            self.carry_out(action);
        }
        self.tell_drops();
    }

    #[inline(always)]
    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Route { node, packet } => self.route(node, packet),
            Action::Send { node, packet, next_hop } => self.send(node, packet, next_hop),
            Action::SendLater { node, packet, next_hop, at } => self.clock.send_later(at, node, packet, next_hop),
            Action::SendBy { interface, packet, next_hop } => {
                let (node, mut around) = self.node_at(interface);
                node.send_by(interface, packet, next_hop, &mut around);
            }
            Action::TakeBack { node, next_hop } => {
                let (node, mut around) = self.node(node);
                node.take_back(next_hop, &mut around);
            }
            Action::Reroute { node, next_hop } => {
                let (node, mut around) = self.node(node);
                node.reroute(next_hop, &mut around);
            }
            Action::Arrived { interface, packet, from } => self.arrived(interface, packet, from),
            Action::Receive { interface, packet, from } => self.receive(interface, packet, from),
            Action::Overheard { interface, packet, from, to } => {
                let (node, mut around) = self.node_at(interface);
                node.overheard(packet, from.into(), to.into(), &mut around);
            }
            Action::RateChanged { interface, neighbour } => self.on_rate_changed(interface, neighbour),
            Action::LinkFailed { interface, packet, to, reason } => {
                let (node, mut around) = self.node_at(interface);
                node.on_link_failed(packet, to.into(), reason, &mut around);
            }
            Action::MacReady { interface } => {
                let (node, mut around) = self.node_at(interface);
                node.serve_mac(interface, &mut around);
            }
            Action::SetWay { node, prefix, change } => {
                self.nodes[node.index()].set_way(prefix, change, &mut self.cx);
            }
            Action::SetSourceWay { node, source, way } => {
                self.nodes[node.index()].set_source_way(source, way, &mut self.cx);
            }
            Action::Chosen { node, by, until } => {
                if let Some(groups) = &mut self.nodes[node.index()].groups {
                    groups.on_chosen(by, until, &self.cx);
                }
            }
            Action::SlotsAssigned { node, slots } => {
                let (node, mut around) = self.node(node);
                node.assign_slots(&slots, &mut around);
            }
            Action::Proxy { interface, address, answers } => {
                let (node, mut around) = self.node_at(interface);
                node.announce(interface, address, Some(answers), &mut around);
            }
            Action::Announce { interface, address } => {
                let (node, mut around) = self.node_at(interface);
                node.announce(interface, address, None, &mut around);
            }
            Action::Learn { node, neighbour, until } => {
                let (node, mut around) = self.node(node);
                node.learn(neighbour, until, &mut around);
            }
            Action::Mobile { node, event } => {
                let (it, mut around) = self.node(node);
                if it.on_mobile(&event, &mut around) {
                    self.tell_flows(node, NetworkEvent::CareOfChanged);
                }
            }
            Action::RouteChanged { node, change } => self.on_route_changed(node, change),
            Action::Unreachable { node, quote } => self.tell_unreachable(node, quote),
            Action::UnreachableOutside => {
                for untold in self.cx.outside.untold() {
                    let (node, mut around) = self.node(untold.node);
                    node.tell_host(untold, &mut around);
                }
            }
            Action::Undelivered => {
                for (node, packet, reason) in std::mem::take(&mut self.cx.undelivered) {
                    let (node, mut around) = self.node(node);
                    node.tell_source(&packet, reason, &mut around);
                }
            }
            Action::LeftNode { flow, seq } => self.on_left_node(flow, seq),
        }
    }

    /// IP at a node passes a packet on.
    #[inline]
    pub(super) fn route(&mut self, node: NodeId, packet: PacketId) {
        let (node, mut around) = self.node(node);
        node.route(packet, &mut around);
    }

    /// A node passes a packet to the interface that leads to its next hop.
    pub(super) fn send(&mut self, node: NodeId, packet: PacketId, next_hop: Address) {
        let (node, mut around) = self.node(node);
        node.send(packet, next_hop, &mut around);
    }

    /// Processes the edges of a transmission, and of other transmissions in between, until another kind of event comes
    /// first.
    #[inline(always)]
    fn walk(&mut self, mut channel: ChannelId, mut transmission: TransmissionId) {
        let exact = self.clock.exact;
        loop {
            let (channels, around) = self.split();
            let (at, rank) = match channels[channel.index()].walk(transmission, around) {
                Walk::Next(..) if exact => return,
                Walk::Next(at, rank) => (at, rank),
                Walk::Interrupted => {
                    self.drain();
                    if exact {
                        return;
                    }
                    let (at, rank) = self.channels[channel.index()].next_edge(transmission);
                    if at <= self.clock.horizon && self.clock.queue.comes_first(at, rank) {
                        self.cx.now = at;
                        continue;
                    }
                    (at, rank)
                }
                Walk::Finished => return self.drain(),
            };
            let edge = Event::Edge(channel, transmission);
            // Another event comes first. Often it is an edge of a transmission that began within the same microsecond.
            let clock = &mut self.clock;
            let Some((now, event)) = clock.queue.replace_first(at, rank, edge, clock.horizon) else { return };
            self.cx.now = now;
            clock.events += 1;
            match event {
                Event::Edge(its, other) => {
                    clock.queued_edges += 1;
                    (channel, transmission) = (its, other);
                }
                other => return self.handle(other),
            }
        }
    }

    /// The MAC of an interface received a packet from a neighbour.
    fn arrived(&mut self, interface: InterfaceId, packet: PacketId, from: InterfaceId) {
        if channel::waits(&self.receive_path, &self.cx.packets[packet].body) {
            let queue = &mut self.clock.queue;
            channel::enter(&mut self.receive_path, queue, interface, packet, from, self.cx.now);
        } else {
            self.leaves_link(interface, packet, from);
        }
    }

    /// A packet leaves the link on its way up: to IP, to the address resolution of the link, or to a host outside.
    fn leaves_link(&mut self, interface: InterfaceId, packet: PacketId, from: InterfaceId) {
        if self.cx.outside.any_frames() && !self.crosses(interface, packet, from) {
            return;
        }
        if matches!(self.cx.packets[packet].body, Body::Arp(_)) {
            let (node, mut around) = self.node_at(interface);
            node.on_arp(interface, packet, from.into(), &mut around);
        } else if self.cx.actions.is_empty() {
            // It would be the next action.
            self.receive(interface, packet, from);
        } else {
            self.cx.act(Action::Receive { interface, packet, from });
        }
    }

    /// The first packet of the receive path reaches IP, and then those behind it, until another event comes first.
    fn receive_in_line(&mut self) {
        if self.energy.batteries.is_some() && self.waits_for_first() {
            return;
        }
        loop {
            if is_worth_reading_ahead(self.nodes.len()) {
                // All receivers of a broadcast.
                read_ahead(self.receive_path.coming().map(|arriving| {
                    let node = self.topology.node(arriving.interface);
                    self.nodes[node.index()].routing.prefetch(&self.cx.packets[arriving.packet])
                }));
            }
            let Some(arriving) = self.receive_path.pop() else { return };
            self.leaves_link(arriving.interface, arriving.packet, arriving.from);
            self.drain();
            let Some(&Arriving { at, .. }) = self.receive_path.front() else { return };
            if at > self.clock.horizon || !self.clock.queue.comes_first(at, order::ENTER) {
                return self.clock.queue.push(at, order::ENTER, Event::Enter);
            }
            self.cx.now = at;
            self.clock.events += 1;
        }
    }

    /// IP receives a packet from a link or from a wire.
    fn receive(&mut self, interface: InterfaceId, packet: PacketId, from: InterfaceId) {
        if matches!(self.cx.packets[packet].body, Body::Frame(_) | Body::Mpdu(_)) {
            return self.frame_leaves(interface, packet, from);
        }
        let (node, mut around) = self.node_at(interface);
        let id = node.id;
        if let Some(packet) = node.receive(interface, packet, from.into(), &mut around) {
            self.deliver(id, packet);
        }
    }

    fn on_route_changed(&mut self, node: NodeId, change: RouteChange) {
        if self.probe.watches() {
            self.tell_route_change(node, change);
        }
        for i in 0..self.nodes[node.index()].flows.len() {
            let flow = self.nodes[node.index()].flows[i];
            if Address::from(self.flows[flow].to) == change.destination {
                self.on_flow_route_changed(flow, change.route);
            }
        }
    }

    /// Tells the probe which packets were dropped, and which of them are lost.
    #[inline]
    pub(super) fn tell_drops(&mut self) {
        node::tell_drops(&mut self.cx, &mut self.probe);
    }

    fn next_leg(&mut self, node: NodeId) {
        let leg = self.nodes[node.index()].mobility.next_leg();
        if self.probe.watches() {
            self.probe.on_leg(node, &leg);
        }
        for interface in self.nodes[node.index()].interfaces() {
            if let Attachment::Radio { channel, station } = self.topology.attachment(interface) {
                self.channels[channel.index()].set_leg(station as usize, leg);
            }
        }
        if leg.until < Time::NEVER {
            self.clock.queue.push(leg.until, order::leg(node.0), Event::Leg(node.0));
        }
    }
}
