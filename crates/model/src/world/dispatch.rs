//! What each event and each action does. The functions are in the order in which a packet meets them.

use hopyard_engine::Time;

use super::{Attachment, Event, World};
use crate::address::{Address, InterfaceId, NodeId};
use crate::agent;
use crate::channel::{self, AnyChannel, ChannelId, Surroundings};
use crate::context::{Action, Context, DropReason, RouteChange, Slots};
use crate::ip::{self, Arrival, Way};
use crate::link::Link;
use crate::link::receive_path::Arriving;
use crate::mac::Outgoing;
use crate::mobility::Mobility;
use crate::observe::Probe;
use crate::order;
use crate::packet::{Body, MOST_BYTES, PacketId};
use crate::phy::medium::{CACHED, TransmissionId, Walk};
use crate::routing::{AfterOptions, Routing};

impl<P: Probe> World<P> {
    /// Starts all protocols and traffic at time zero.
    pub(super) fn start(&mut self) {
        self.look_at_connectivity();
        self.give_first_slots();
        for node in 0..self.nodes.len() {
            self.nodes[node].routing.start(&mut self.cx);
            self.drain();
            self.arm_routing(node);
            for agent in &mut self.nodes[node].agents {
                agent.start(&mut self.cx);
            }
            self.drain();
            self.arm_agents(node);
        }
        for flow in 0..self.flows.len() {
            self.arm_source(flow);
        }
        if !self.quantities.is_empty() {
            self.queue.set(self.timers.sample, Time::ZERO);
        }
        self.look_at_batteries();
        if let Some(flow) = self.flows.first() {
            self.queue.push(flow.meter.from(), order::MEASURE, Event::Measure);
        }
    }

    /// Carries out one event, and all actions that follow from it.
    #[inline]
    pub(super) fn handle(&mut self, event: Event) {
        match event {
            Event::Edge(channel, transmission) => {
                self.queued_edges += 1;
                return self.walk(channel, transmission);
            }
            Event::Enter => return self.receive_in_line(),
            Event::Leg(node) => self.next_leg(node as usize),
            Event::Send(node, packet, next_hop) => self.send_delayed(node, packet, next_hop),
            Event::Connectivity => self.look_at_connectivity(),
            Event::Look(channel) => self.give_slots(channel),
            Event::Measure => self.begin_measuring(),
            Event::Outside(node) => self.on_due(NodeId(node)),
            Event::Sleep(place) => self.fall_asleep(place),
        }
        self.drain();
    }

    /// Carries out what a timer asks for, and all actions that follow from it. Every timer is set again, or stopped.
    #[inline]
    pub(super) fn on_timer(&mut self, timer: u32) {
        let slots = self.timers;
        if timer < slots.links {
            let Attachment::Radio { channel, station, .. } = self.interfaces[timer as usize].attachment else { return };
            let (channels, around) = self.split();
            channels[channel.index()].on_timer(station as usize, around);
            self.drain();
            self.channels[channel.index()].arm(station as usize, self.cx.now, &mut self.queue);
            return;
        }
        if timer < slots.routing {
            let interface = (timer - slots.links) as usize;
            if let Attachment::Radio { link, .. } = &mut self.interfaces[interface].attachment {
                link.on_timer(&mut self.cx);
                self.serve_mac(interface);
                self.arm_link(interface);
            }
        } else if timer < slots.agents {
            let node = (timer - slots.routing) as usize;
            self.nodes[node].routing.on_timer(&mut self.cx);
            self.arm_routing(node);
        } else if timer < slots.sources {
            let node = (timer - slots.agents) as usize;
            for agent in &mut self.nodes[node].agents {
                if agent.deadline() <= self.cx.now {
                    agent.on_timer(&mut self.cx);
                }
            }
            self.arm_agents(node);
        } else if timer < slots.sinks {
            self.on_source_timer((timer - slots.sources) as usize);
        } else if timer < slots.wires {
            self.on_sink_timer((timer - slots.sinks) as usize);
        } else if timer < slots.sample {
            let wire = (timer - slots.wires) as usize;
            self.wires[wire].on_timer(&mut self.cx);
            self.drop_for_the_dead();
            self.arm_wire(wire);
        } else if timer == slots.sample {
            self.sample();
        } else {
            self.look_at_battery(NodeId(timer - slots.batteries));
        }
        self.drain();
    }

    /// Executes the actions of the handlers, first in, first out. Most events leave none.
    #[inline(always)]
    pub(super) fn drain(&mut self) {
        if P::WATCHES || !self.cx.actions.is_empty() {
            self.drain_all();
        }
    }

    #[inline(never)]
    fn drain_all(&mut self) {
        while let Some(action) = self.cx.actions.pop_front() {
            match action {
                Action::Route { node, packet } => {
                    self.route(node, packet);
                    self.arm_routing(node.index());
                }
                Action::Send { node, packet, next_hop } => self.send(node, packet, next_hop),
                Action::SendBy { interface, packet, next_hop } => {
                    self.count_sent(self.interfaces[interface.index()].node, packet, Some(interface));
                    self.send_by(interface, packet, next_hop);
                }
                Action::SendLater { node, packet, next_hop, at } => {
                    self.delayed = self.delayed.wrapping_add(1);
                    self.queue.push(at, order::delayed(node.0, self.delayed), Event::Send(node, packet, next_hop));
                }
                Action::TakeBack { node, next_hop } => {
                    if let Some((interface, next_hop)) = self.towards(node, next_hop)
                        && let Attachment::Radio { link, .. } = &mut self.interfaces[interface.index()].attachment
                    {
                        for packet in link.take_back(next_hop, &self.cx) {
                            self.nodes[node.index()].routing.on_taken_back(packet, next_hop, &mut self.cx);
                        }
                    }
                    self.arm_routing(node.index());
                }
                Action::Unreachable { node, quote } => self.tell_unreachable(node, quote),
                Action::LeftNode { flow, seq } => self.on_left_node(flow, seq),
                Action::UnreachableOutside => self.tell_outside(),
                Action::Undelivered => self.tell_undelivered(),
                Action::RouteChanged { node, change } => self.on_route_changed(node, change),
                Action::SlotsAssigned { node, slots } => self.assign_slots(node, &slots),
                Action::Arrived { interface, packet, from } => self.arrived(interface, packet, from),
                Action::Receive { interface, packet, from } => self.receive(interface, packet, from),
                Action::Overheard { interface, packet, from, to } => {
                    self.overheard(interface, packet, from.into(), to.into());
                }
                Action::LinkFailed { interface, packet, to, reason } => {
                    self.cx.link_failure = reason;
                    self.on_link_failed(interface, packet, to.into());
                }
                Action::SetWay { node, prefix, change } => self.set_way(node, prefix, change),
                Action::SetSourceWay { node, source, way } => self.set_source_way(node, source, way),
                Action::Reroute { node, next_hop } => self.reroute(node, next_hop),
                Action::Proxy { interface, address, answers } => self.announce(interface, address, Some(answers)),
                Action::Announce { interface, address } => self.announce(interface, address, None),
                Action::Learn { node, neighbour, until } => self.learn(node, neighbour, until),
                Action::Mobile { node, event } => self.on_mobile(node, event),
                Action::MacReady { interface } => self.serve_mac(interface.index()),
            }
        }
        self.tell_drops();
    }

    /// IP passes a packet on: by the table, or as the routing protocol decides.
    #[inline]
    pub(super) fn route(&mut self, node: NodeId, packet: PacketId) {
        if self.nodes[node.index()].table.is_none() {
            return self.nodes[node.index()].routing.route(packet, &mut self.cx);
        }
        self.route_by_table(node, packet);
    }

    /// Sends a packet one way.
    pub(super) fn send_by_way(&mut self, node: NodeId, packet: PacketId, destination: Address, way: Option<Way>) {
        match way {
            Some(Way::Protocol) => self.nodes[node.index()].routing.route(packet, &mut self.cx),
            Some(Way::Direct) => self.cx.act(Action::Send { node, packet, next_hop: destination }),
            Some(Way::Via(next_hop)) => self.cx.act(Action::Send { node, packet, next_hop }),
            Some(Way::Tunnel(interface)) => self.send_by(interface, packet, destination),
            Some(Way::Nowhere) => self.cx.drop_packet(node, packet, DropReason::NotRegistered),
            Some(Way::Towards(router)) => {
                self.nodes[node.index()].routing.route_towards(packet, router, node, &mut self.cx);
            }
            Some(Way::Into { to, form }) => self.enters_agent_tunnel(node, packet, to, form),
            None => self.cx.drop_packet(node, packet, DropReason::NoRoute),
        }
    }

    /// Which way packets to a destination go from a node.
    pub(super) fn way(&self, node: NodeId, destination: Address) -> Option<Way> {
        match &self.nodes[node.index()].table {
            None => Some(Way::Protocol),
            Some(table) => table.lookup(self.cx.owners.name(destination)),
        }
    }

    /// Passes a packet to the interface that leads to its next hop, and a broadcast to all interfaces of the node.
    pub(super) fn send(&mut self, node: NodeId, packet: PacketId, next_hop: Address) {
        if next_hop.is_broadcast() {
            self.count_broadcast(node, packet);
            return self.broadcast(node, packet);
        }
        let way = self.towards(node, next_hop);
        self.count_sent(node, packet, way.map(|(interface, _)| interface));
        match way {
            Some((interface, next_hop)) => self.send_by(interface, packet, next_hop),
            None => self.cx.drop_packet(node, packet, DropReason::NoRoute),
        }
    }

    /// Passes a packet to an interface. One that options or tunnels have made too long for an IP packet is dropped;
    /// messages of routing protocols, which grow with the network, have no limit here.
    fn send_by(&mut self, interface: InterfaceId, packet: PacketId, next_hop: Address) {
        let it = &self.cx.packets[packet];
        if it.size > MOST_BYTES && !matches!(it.body, Body::Routing(_)) {
            let node = self.interfaces[interface.index()].node;
            return self.cx.drop_packet(node, packet, DropReason::TooLong);
        }
        if matches!(it.body, Body::External(_))
            && let Some(most) = self.mtu(interface).filter(|most| it.size > *most)
        {
            return self.exceeds_link(interface, packet, most);
        }
        match &mut self.interfaces[interface.index()].attachment {
            Attachment::Radio { link, .. } => {
                link.send(packet, next_hop, &mut self.cx);
                self.serve_mac(interface.index());
                self.arm_link(interface.index());
            }
            Attachment::Wire { wire, direction } => {
                let (wire, direction) = (*wire, *direction);
                if P::WATCHES {
                    self.probe.on_wire_sent(self.cx.now, interface, &self.cx.packets[packet]);
                }
                self.wires[wire].enqueue(direction, packet, &mut self.cx);
                self.enters_wire(packet, self.wires[wire].busy_until(direction));
                self.arm_wire(wire);
            }
            Attachment::Tunnel { to } => {
                let to = *to;
                self.enters_tunnel(interface, packet, to);
            }
            // It reaches no other node.
            Attachment::Nothing => self.cx.hand_over(packet),
        }
    }

    /// Broadcasts a packet on all interfaces of a node. Messages of a routing protocol go only where it runs: on
    /// radios, and on wires if it finds routes over them.
    fn broadcast(&mut self, node: NodeId, packet: PacketId) {
        let mut last = None;
        for place in 0..=self.nodes[node.index()].further.len() {
            let interface = match place.checked_sub(1) {
                Some(place) => self.nodes[node.index()].further[place],
                None => node.into(),
            };
            if self.takes_broadcasts(interface, packet)
                && let Some(before) = last.replace(interface)
            {
                let copy = self.cx.copy(packet);
                self.send_by(before, copy, Address::BROADCAST);
            }
        }
        match last {
            Some(interface) => self.send_by(interface, packet, Address::BROADCAST),
            // It reaches no other node.
            None => self.cx.hand_over(packet),
        }
    }

    /// The interface of a node that leads to a neighbour, and the neighbour's address there.
    #[inline]
    pub(super) fn towards(&self, node: NodeId, next_hop: Address) -> Option<(InterfaceId, Address)> {
        let first = InterfaceId::from(node);
        if self.nodes[node.index()].further.is_empty()
            && let Attachment::Radio { channel, .. } = &self.interfaces[first.index()].attachment
            && matches!(&self.interfaces.get(next_hop.index())?.attachment,
                Attachment::Radio { channel: other, .. } if other == channel)
        {
            return Some((first, next_hop));
        }
        self.search_towards(node, next_hop)
    }

    /// [`World::towards`] for nodes with several interfaces, and for addresses of a neighbour's other interfaces: the
    /// interface in whose network the address is. If the node has none, another address of the same neighbour is
    /// taken, that at the other end of a wire before one on a channel.
    fn search_towards(&self, node: NodeId, next_hop: Address) -> Option<(InterfaceId, Address)> {
        let joins = |other: InterfaceId, by_wire: bool| {
            let found = self.interfaces_of(node).find(|interface| {
                match (&self.interfaces[interface.index()].attachment, &self.interfaces[other.index()].attachment) {
                    (Attachment::Wire { wire, direction }, _) => by_wire && self.wires[*wire].to(*direction) == other,
                    (Attachment::Radio { channel, .. }, Attachment::Radio { channel: its, .. }) => channel == its,
                    _ => false,
                }
            });
            found.map(|interface| (interface, Address::from(other)))
        };
        let named = InterfaceId::from(next_hop);
        let neighbour = self.interfaces.get(named.index())?.node;
        let others = || self.interfaces_of(neighbour);
        let wired = |it: &InterfaceId| matches!(self.interfaces[it.index()].attachment, Attachment::Wire { .. });
        joins(named, true)
            .or_else(|| others().filter(wired).find_map(|other| joins(other, true)))
            .or_else(|| others().find_map(|other| joins(other, false)))
    }

    /// The interfaces of a node.
    pub(super) fn interfaces_of(&self, node: NodeId) -> impl Iterator<Item = InterfaceId> + '_ {
        std::iter::once(node.into()).chain(self.nodes[node.index()].further.iter().copied())
    }

    /// The links of all interfaces with a radio.
    pub(super) fn links(&self) -> impl Iterator<Item = &Link> {
        self.interfaces.iter().filter_map(|interface| match &interface.attachment {
            Attachment::Radio { link, .. } => Some(&**link),
            _ => None,
        })
    }

    /// Gives the MAC of an interface the next packet, if it can take one.
    pub(super) fn serve_mac(&mut self, interface: usize) {
        let Self { channels, interfaces, cx, queue, .. } = self;
        let Attachment::Radio { channel, station, link, .. } = &mut interfaces[interface].attachment else { return };
        channels[channel.index()].serve(*station as usize, cx, queue, |cx, takes| {
            let (packet, next_hop) = match takes {
                None => link.next_frame(cx.now)?,
                Some(takes) => link.next_chosen(cx, takes)?,
            };
            Some(Outgoing { packet, size: cx.packets[packet].size, to: next_hop.into() })
        });
    }

    /// An agent has found slots. The MACs of the node's radios learn them.
    fn assign_slots(&mut self, node: NodeId, slots: &Slots) {
        for place in 0..=self.nodes[node.index()].further.len() {
            let interface = place.checked_sub(1).map_or(node.index(), |n| self.nodes[node.index()].further[n].index());
            if let Attachment::Radio { channel, station, .. } = self.interfaces[interface].attachment {
                let Self { channels, cx, queue, .. } = self;
                channels[channel.index()].assign(station as usize, slots, cx, queue);
                self.serve_mac(interface);
            }
        }
    }

    /// The channels, and what surrounds them.
    #[inline]
    fn split(&mut self) -> (&mut [AnyChannel], Surroundings<'_, Event, P>) {
        let around = Surroundings {
            queue: &mut self.queue,
            cx: &mut self.cx,
            receive_path: &mut self.receive_path,
            end: self.horizon,
            exact: self.exact,
            probe: &mut self.probe,
        };
        (&mut self.channels, around)
    }

    /// Processes the edges of a transmission, and of other transmissions in between, until another kind of event comes
    /// first.
    #[inline(always)]
    fn walk(&mut self, mut channel: ChannelId, mut transmission: TransmissionId) {
        loop {
            let (channels, around) = self.split();
            let (at, rank) = match channels[channel.index()].walk(transmission, around) {
                Walk::Next(..) if self.exact => return,
                Walk::Next(at, rank) => (at, rank),
                Walk::Interrupted => {
                    self.drain();
                    if self.exact {
                        return;
                    }
                    let (at, rank) = self.channels[channel.index()].next_edge(transmission);
                    if at <= self.horizon && self.queue.comes_first(at, rank) {
                        self.cx.now = at;
                        continue;
                    }
                    (at, rank)
                }
                Walk::Finished => return self.drain(),
            };
            let edge = Event::Edge(channel, transmission);
            // Another event comes first. Often it is an edge of a transmission that began within the same microsecond.
            let Some((now, event)) = self.queue.replace_first(at, rank, edge, self.horizon) else { return };
            self.cx.now = now;
            self.events += 1;
            match event {
                Event::Edge(its, other) => {
                    self.queued_edges += 1;
                    (channel, transmission) = (its, other);
                }
                other => return self.handle(other),
            }
        }
    }

    /// The MAC of an interface received a packet from a neighbour.
    fn arrived(&mut self, interface: InterfaceId, packet: PacketId, from: InterfaceId) {
        if matches!(self.cx.packets[packet].body, Body::Arp(_)) {
            if let Attachment::Radio { link, .. } = &mut self.interfaces[interface.index()].attachment {
                link.on_arp(packet, from.into(), &mut self.cx);
            }
            self.serve_mac(interface.index());
            self.arm_link(interface.index());
        } else if self.receive_path.is_instant() && self.cx.actions.is_empty() {
            // It would be the next action.
            self.receive(interface, packet, from);
        } else if self.receive_path.is_instant() {
            self.cx.act(Action::Receive { interface, packet, from });
        } else {
            channel::enter(&mut self.receive_path, &mut self.queue, interface, packet, from, self.cx.now);
        }
    }

    /// The first packet of the receive path reaches IP, and then those behind it, until another event comes first.
    fn receive_in_line(&mut self) {
        if self.batteries.is_some() && self.waits_for_first() {
            return;
        }
        loop {
            if self.nodes.len() > CACHED {
                // As with the edges of a transmission, the state of all receivers of a broadcast is read at once.
                let read = self.receive_path.coming().fold(0, |sum: u32, arriving| {
                    let node = self.interfaces[arriving.interface.index()].node;
                    sum.wrapping_add(self.nodes[node.index()].routing.prefetch(&self.cx.packets[arriving.packet]))
                });
                std::hint::black_box(read);
            }
            let Some(arriving) = self.receive_path.pop() else { return };
            self.receive(arriving.interface, arriving.packet, arriving.from);
            self.drain();
            let Some(&Arriving { at, .. }) = self.receive_path.front() else { return };
            if at > self.horizon || !self.queue.comes_first(at, order::ENTER) {
                return self.queue.push(at, order::ENTER, Event::Enter);
            }
            self.cx.now = at;
            self.events += 1;
        }
    }

    /// IP receives a packet from a link or from a wire.
    fn receive(&mut self, interface: InterfaceId, packet: PacketId, from: InterfaceId) {
        let (node, from) = (self.interfaces[interface.index()].node, Address::from(from));
        let n = node.index();
        if P::WATCHES && matches!(self.interfaces[interface.index()].attachment, Attachment::Wire { .. }) {
            self.probe.on_wire_received(self.cx.now, interface, &self.cx.packets[packet]);
        }
        let Context { packets, owners, .. } = &mut self.cx;
        let arrival = ip::arrive(&mut packets[packet], |address| owners.of(address) == node);
        let Context { packets, overhead, .. } = &mut self.cx;
        if !matches!(packets[packet].body, Body::Tcp(_) | Body::Udp(_)) {
            overhead.on_received(node, &packets[packet]);
        }
        if P::WATCHES {
            self.probe.on_hop(self.cx.now, self.cx.owners.of(from), node, &self.cx.packets[packet]);
        }
        self.nodes[n].routing.on_heard(packet, from, &mut self.cx);
        self.pass(node, packet, from, arrival);
        self.arm_routing(n);
    }

    /// Passes a packet on as IP says.
    pub(super) fn pass(&mut self, node: NodeId, packet: PacketId, from: Address, arrival: Arrival) {
        let n = node.index();
        match arrival {
            Arrival::Local => match self.leaves_tunnel(node, packet) {
                Some(tunnel) => self.pass_out_of(tunnel, node, packet, from),
                None if self.takes_out(node, packet) => self.pass_inner(node, packet, from),
                None if self.takes_out_for_agent(node, packet, from) => {}
                None => self.deliver(node, packet),
            },
            Arrival::Routing => {
                self.cx.answering = self.cx.overhead.message_kind(&self.cx.packets[packet]);
                self.nodes[n].routing.on_message(packet, from, &mut self.cx);
                self.cx.answering = None;
            }
            Arrival::Options => self.on_options(node, packet, from),
            Arrival::Agent(port) => match self.nodes[n].agents.iter_mut().find(|agent| agent.ports().contains(&port)) {
                Some(agent) => {
                    self.cx.answering = self.cx.overhead.message_kind(&self.cx.packets[packet]);
                    agent.on_message(packet, from, &mut self.cx);
                    self.cx.answering = None;
                    self.arm_agents(n);
                }
                None => self.cx.drop_packet(node, packet, DropReason::NoListener),
            },
            Arrival::Forward => {
                self.nodes[n].forwarded += 1;
                self.route(node, packet);
            }
            Arrival::Expired => self.cx.drop_packet(node, packet, DropReason::TtlExpired),
        }
    }

    /// Passes on what came out of a tunnel, or was behind options: it is for this node, or it is forwarded.
    pub(super) fn pass_inner(&mut self, node: NodeId, packet: PacketId, from: Address) {
        let Context { packets, owners, .. } = &mut self.cx;
        let arrival = ip::arrive_again(&mut packets[packet], |address| owners.of(address) == node);
        self.pass(node, packet, from, arrival);
    }

    /// A packet with options arrived. The routing protocol says what becomes of it.
    fn on_options(&mut self, node: NodeId, packet: PacketId, from: Address) {
        let n = node.index();
        let answer = self.nodes[n].routing.on_options(packet, from, &mut self.cx);
        let it = match answer {
            AfterOptions::Taken => return,
            _ => &mut self.cx.packets[packet],
        };
        match answer {
            AfterOptions::Deliver => {
                it.strip_options();
                if matches!(it.body, Body::Empty) {
                    self.cx.deliver(packet);
                } else {
                    self.pass_inner(node, packet, from);
                }
            }
            AfterOptions::Unknown if it.destination.is_group() || self.cx.owners.of(it.destination) == node => {
                self.cx.drop_packet(node, packet, DropReason::NoListener);
            }
            _ if ip::forward(it) == Arrival::Expired => self.cx.drop_packet(node, packet, DropReason::TtlExpired),
            AfterOptions::Forward(next_hop) => {
                self.nodes[n].forwarded += 1;
                self.cx.act(Action::Send { node, packet, next_hop });
            }
            AfterOptions::Unknown | AfterOptions::Taken => {
                self.nodes[n].forwarded += 1;
                self.route(node, packet);
            }
        }
    }

    /// The MAC of an interface passed up a packet for another node. Those read it that asked for such packets.
    fn overheard(&mut self, interface: InterfaceId, packet: PacketId, from: Address, to: Address) {
        let n = self.interfaces[interface.index()].node.index();
        let node = &mut self.nodes[n];
        if node.routing.overhears() {
            node.routing.on_overheard(packet, from, to, &mut self.cx);
        }
        for agent in node.agents.iter_mut().filter(|agent| agent.overhears()) {
            agent.on_overheard(packet, from, to, &mut self.cx);
        }
        self.cx.hand_over(packet);
        self.arm_routing(n);
        self.arm_agents(n);
    }

    /// The link gave a packet back.
    fn on_link_failed(&mut self, interface: InterfaceId, packet: PacketId, next_hop: Address) {
        let node = self.interfaces[interface.index()].node;
        self.cx.digest.fold(self.cx.now.nanos() ^ u64::from(node.0) << 40 ^ u64::from(next_hop.0));
        self.cx.complete(packet, Err(self.cx.link_failure));
        if P::WATCHES {
            // What was dropped before is told before.
            self.tell_drops();
            let in_range = self.reaches(node, next_hop);
            self.probe.on_link_failure(self.cx.now, node, next_hop, &self.cx.packets[packet], in_range);
        }
        if matches!(self.cx.packets[packet].body, Body::Arp(_)) {
            self.cx.drop_packet(node, packet, self.cx.link_failure);
            return;
        }
        // The MAC is free now, and its action `MacReady` is still in the list. The actions of routing must come before
        // it: packets that routing takes back from the queue must not be sent to the broken next hop.
        let pending = self.cx.actions.len();
        self.nodes[node.index()].routing.on_link_failure(packet, next_hop, &mut self.cx);
        let asked = self.cx.actions.len() - pending;
        self.cx.actions.rotate_right(asked);
        self.arm_routing(node.index());
    }

    fn on_route_changed(&mut self, node: NodeId, change: RouteChange) {
        if P::WATCHES {
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
        if P::WATCHES {
            for (at, node, packet, reason) in self.cx.dropped.drain(..) {
                self.probe.on_drop(at, node, &packet, reason);
            }
            for (at, node, packet, reason) in self.cx.lost.drain(..) {
                self.probe.on_lost(at, node, &packet, reason);
            }
        }
    }

    fn next_leg(&mut self, node: usize) {
        let leg = self.nodes[node].mobility.next_leg();
        if P::WATCHES {
            self.probe.on_leg(NodeId(node as u32), &leg);
        }
        for place in 0..=self.nodes[node].further.len() {
            let interface = place.checked_sub(1).map_or(node, |place| self.nodes[node].further[place].index());
            if let Attachment::Radio { channel, station, .. } = &self.interfaces[interface].attachment {
                self.channels[channel.index()].set_leg(*station as usize, leg);
            }
        }
        if leg.until < Time::NEVER {
            self.queue.push(leg.until, order::leg(node as u32), Event::Leg(node as u32));
        }
    }

    /// Whether a frame of a node can be decoded at an interface when nothing disturbs it.
    pub(super) fn reaches(&self, node: NodeId, neighbour: Address) -> bool {
        let Some((own, to)) = self.towards(node, neighbour) else { return false };
        match [own, to.into()].map(|it| &self.interfaces[it.index()].attachment) {
            [Attachment::Radio { channel, station: a, .. }, Attachment::Radio { channel: other, station: b, .. }]
                if channel == other =>
            {
                self.channels[channel.index()].reaches(*a as usize, *b as usize, self.cx.now)
            }
            _ => false,
        }
    }

    pub(super) fn arm_routing(&mut self, node: usize) {
        let it = &self.nodes[node];
        self.queue.set(self.timers.routing + node as u32, it.routing.deadline().max(self.cx.now));
    }

    fn arm_agents(&mut self, node: usize) {
        let it = &self.nodes[node];
        let Some(deadline) = it.agents.iter().map(agent::Model::deadline).min() else { return };
        self.queue.set(self.timers.agents + node as u32, deadline.max(self.cx.now));
    }

    pub(super) fn arm_link(&mut self, interface: usize) {
        if let Attachment::Radio { link, .. } = &self.interfaces[interface].attachment {
            self.queue.set(self.timers.links + interface as u32, link.deadline().max(self.cx.now));
        }
    }

    fn arm_wire(&mut self, wire: usize) {
        self.queue.set(self.timers.wires + wire as u32, self.wires[wire].deadline().max(self.cx.now));
    }
}
