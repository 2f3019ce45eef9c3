//! What each event and each action does. The functions are in the order in which a packet meets them.

use std::sync::Arc;

use hopyard_engine::wakeup::Fired;
use hopyard_engine::{Order, Queue, Time, Wakeup};

use super::{Event, World};
use crate::context::{Action, Context, DropReason, RouteChange};
use crate::frame::Frame;
use crate::ip::{self, Arrival};
use crate::link::Upward;
use crate::link::upward::Rising;
use crate::mac::dcf::{Dcf, Timing};
use crate::mobility::Mobility;
use crate::packet::{Body, NodeId, PacketId};
use crate::radio::medium::{CACHED, Ears, TransmissionId, Walk};
use crate::radio::reception::{Begin, End, Verdict};
use crate::routing::{Connectivity, Routing};

impl World {
    /// Starts all protocols and traffic at time zero.
    pub(super) fn start(&mut self) {
        self.look_at_connectivity();
        for node in 0..self.nodes.len() {
            self.nodes[node].routing.start(&mut self.cx);
            self.drain();
            self.arm_routing(node);
        }
        for flow in 0..self.flows.len() {
            self.arm_source(flow);
        }
        if !self.quantities.is_empty() {
            self.queue.push(Time::ZERO, Event::Sample);
        }
        if let Some(flow) = self.flows.first() {
            self.queue.push(flow.meter.from(), Event::Measure);
        }
    }

    /// Carries out one event, and all actions that follow from it.
    #[inline]
    pub(super) fn handle(&mut self, event: Event) {
        match event {
            Event::Edge(transmission) => {
                self.queued_edges += 1;
                return self.walk(transmission);
            }
            Event::Mac(node) => {
                let node = node as usize;
                if !fired(&mut self.mac_wakeups[node], self.cx.now, &mut self.queue, event) {
                    return;
                }
                if let Some(frame) = self.macs[node].on_timer(&self.timing, &mut self.cx) {
                    self.transmit(frame);
                }
                self.drain();
                self.arm_mac(node);
                return;
            }
            Event::Routing(node) => {
                let node = node as usize;
                if fired(&mut self.nodes[node].routing_wakeup, self.cx.now, &mut self.queue, event) {
                    self.nodes[node].routing.on_timer(&mut self.cx);
                    self.arm_routing(node);
                }
            }
            Event::Link(node) => {
                let node = node as usize;
                if fired(&mut self.nodes[node].link_wakeup, self.cx.now, &mut self.queue, event) {
                    self.nodes[node].link.on_timer(&mut self.cx);
                    self.serve_mac(node);
                    self.arm_link(node);
                }
            }
            Event::Up => return self.bring_up(),
            Event::Source(flow) => {
                let flow = flow as usize;
                if fired(&mut self.flows[flow].source_wakeup, self.cx.now, &mut self.queue, event) {
                    self.on_source_timer(flow);
                }
            }
            Event::Sink(flow) => {
                let flow = flow as usize;
                if fired(&mut self.flows[flow].sink_wakeup, self.cx.now, &mut self.queue, event) {
                    self.on_sink_timer(flow);
                }
            }
            Event::Wire(wire) => {
                let wire = wire as usize;
                if fired(&mut self.wires[wire].wakeup, self.cx.now, &mut self.queue, event) {
                    self.wires[wire].wire.on_timer(&mut self.cx);
                    self.arm_wire(wire);
                }
            }
            Event::Leg(node) => self.next_leg(node as usize),
            Event::Send(node, packet, next_hop) => self.send(node, packet, next_hop),
            Event::Connectivity => self.look_at_connectivity(),
            Event::Sample => self.sample(),
            Event::Measure => self.begin_measuring(),
        }
        self.drain();
    }

    /// Executes the actions of the handlers, first in, first out.
    pub(super) fn drain(&mut self) {
        while let Some(action) = self.cx.actions.pop_front() {
            match action {
                Action::Route { node, packet } => {
                    self.nodes[node.index()].routing.route(packet, &mut self.cx);
                    self.arm_routing(node.index());
                }
                Action::Send { node, packet, next_hop } => self.send(node, packet, next_hop),
                Action::SendLater { node, packet, next_hop, at } => {
                    self.queue.push(at, Event::Send(node, packet, next_hop));
                }
                Action::TakeBack { node, next_hop } => {
                    for packet in self.nodes[node.index()].link.take_back(next_hop, &self.cx) {
                        self.nodes[node.index()].routing.on_taken_back(packet, next_hop, &mut self.cx);
                    }
                    self.arm_routing(node.index());
                }
                Action::Unreachable { node, quote } => self.tell_unreachable(node, quote),
                Action::RouteChanged { node, change } => self.on_route_changed(node, change),
                Action::Arrived { node, packet, from } => self.arrived(node, packet, from),
                Action::Receive { node, packet, from } => self.receive(node, packet, from),
                Action::LinkFailed { node, packet, next_hop, reason } => {
                    self.cx.link_failure = reason;
                    self.on_link_failed(node, packet, next_hop);
                }
                Action::MacReady { node } => self.serve_mac(node.index()),
            }
        }
    }

    /// Passes a packet to the wire or the radio that leads to its next hop.
    fn send(&mut self, node: NodeId, packet: PacketId, next_hop: NodeId) {
        let n = node.index();
        self.count_routing(node, packet);
        if let Some(&(_, direction, wire)) = self.nodes[n].wires.iter().find(|(other, ..)| *other == next_hop) {
            self.wires[wire].wire.enqueue(direction, packet, &mut self.cx);
            self.arm_wire(wire);
        } else if self.nodes[n].wireless {
            self.nodes[n].link.send(packet, next_hop, &mut self.cx);
            self.serve_mac(n);
            self.arm_link(n);
        } else if next_hop.is_broadcast() {
            // A broadcast of a node without a radio reaches no other node.
            self.cx.hand_over(packet);
        } else {
            self.cx.drop_packet(node, packet, DropReason::NoRoute);
        }
    }

    /// Gives the MAC the next packet, if it can take one.
    fn serve_mac(&mut self, node: usize) {
        if self.nodes[node].wireless
            && self.macs[node].is_ready()
            && let Some((packet, next_hop)) = self.nodes[node].link.next_frame(self.cx.now)
        {
            let size = self.cx.packets[packet].size;
            self.macs[node].accept(packet, size, next_hop, &self.timing, self.cx.now);
            self.arm_mac(node);
        }
    }

    /// Starts the transmission of a frame.
    fn transmit(&mut self, frame: Frame) {
        let word = self.cx.now.nanos() ^ (u64::from(frame.transmitter.0) << 44);
        self.cx.digest.fold(word ^ (frame.kind as u64) << 62 ^ u64::from(frame.bytes) << 32);
        match self.medium.transmit(frame, self.cx.now, &mut self.queue) {
            Some(transmission) if self.exact => {
                for index in 0..self.medium.edges(transmission) {
                    let (at, order) = self.medium.edge(transmission, index);
                    self.queue.push_ordered(at, order, Event::Edge(transmission));
                }
            }
            Some(transmission) => {
                let (at, order) = self.medium.edge(transmission, 0);
                self.queue.push_ordered(at, order, Event::Edge(transmission));
            }
            None => {
                if let (true, Some(packet)) = (frame.receiver.is_broadcast(), frame.packet) {
                    self.cx.hand_over(packet);
                }
            }
        }
    }

    /// Processes the edges of a transmission, and of other transmissions in between, until another kind of event comes
    /// first.
    fn walk(&mut self, mut transmission: TransmissionId) {
        loop {
            let mut ears = MacEars {
                queue: &mut self.queue,
                macs: &mut self.macs,
                wakeups: &mut self.mac_wakeups,
                timing: &self.timing,
                upward: &mut self.upward,
                cx: &mut self.cx,
                end: self.end,
            };
            let (at, order) = match self.medium.walk(transmission, self.exact, &mut ears) {
                Walk::Next(..) if self.exact => return,
                Walk::Next(at, order) => (at, order),
                Walk::Interrupted => {
                    self.drain();
                    if self.exact {
                        return;
                    }
                    let (at, order) = self.medium.next_edge(transmission);
                    if at <= self.end && self.queue.comes_first(at, order) {
                        self.cx.now = at;
                        continue;
                    }
                    (at, order)
                }
                Walk::Finished => {
                    self.edges += self.medium.edges(transmission) as u64;
                    if let Some(packet) = self.medium.finish(transmission) {
                        self.cx.hand_over(packet);
                    }
                    return self.drain();
                }
            };
            if self.queue.is_empty() {
                return self.queue.push_ordered(at, order, Event::Edge(transmission));
            }
            // Another event comes first. Often it is an edge of a transmission that began within the same microsecond.
            match self.queue.next_time() {
                Some(time) if time <= self.end => {}
                _ => return self.queue.push_ordered(at, order, Event::Edge(transmission)),
            }
            let (now, event) = self.queue.replace_first(at, order, Event::Edge(transmission));
            self.cx.now = now;
            self.events += 1;
            match event {
                Event::Edge(other) => {
                    self.queued_edges += 1;
                    transmission = other;
                }
                other => return self.handle(other),
            }
        }
    }

    /// The MAC received a packet from a neighbour.
    fn arrived(&mut self, node: NodeId, packet: PacketId, from: NodeId) {
        if matches!(self.cx.packets[packet].body, Body::Arp(_)) {
            self.nodes[node.index()].link.on_arp(packet, from, &mut self.cx);
            self.serve_mac(node.index());
            self.arm_link(node.index());
        } else if self.upward.is_instant() {
            self.cx.act(Action::Receive { node, packet, from });
        } else {
            line_up(&mut self.upward, &mut self.queue, node, packet, from, self.cx.now);
        }
    }

    /// The first packet in the line reaches IP, and then those behind it, until another event comes first.
    fn bring_up(&mut self) {
        loop {
            if self.nodes.len() > CACHED {
                // As with the edges of a transmission, the state of all receivers of a broadcast is read at once.
                let fetched = self.upward.coming().fold(0, |sum: u32, rising| {
                    sum.wrapping_add(self.nodes[rising.node.index()].routing.fetch(&self.cx.packets[rising.packet]))
                });
                std::hint::black_box(fetched);
            }
            let Some(rising) = self.upward.pop() else { return };
            self.receive(rising.node, rising.packet, rising.from);
            self.drain();
            let Some(&Rising { at, order, .. }) = self.upward.front() else { return };
            if at > self.end || !self.queue.comes_first(at, order) {
                return self.queue.push_ordered(at, order, Event::Up);
            }
            self.cx.now = at;
            self.events += 1;
        }
    }

    /// IP receives a packet from a link or from a wire.
    fn receive(&mut self, node: NodeId, packet: PacketId, from: NodeId) {
        let n = node.index();
        let arrival = ip::arrive(&mut self.cx.packets[packet], node);
        self.nodes[n].routing.on_heard(packet, from, &mut self.cx);
        match arrival {
            Arrival::Local => self.deliver(node, packet),
            Arrival::Routing => self.nodes[n].routing.on_message(packet, from, &mut self.cx),
            Arrival::Forward => {
                self.nodes[n].forwarded += 1;
                self.nodes[n].routing.route(packet, &mut self.cx);
            }
            Arrival::Expired => self.cx.drop_packet(node, packet, DropReason::TtlExpired),
        }
        self.arm_routing(n);
    }

    /// The link gave a packet back.
    fn on_link_failed(&mut self, node: NodeId, packet: PacketId, next_hop: NodeId) {
        self.cx.digest.fold(self.cx.now.nanos() ^ u64::from(node.0) << 40 ^ u64::from(next_hop.0));
        self.note_break(node, packet, next_hop);
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
        for i in 0..self.nodes[node.index()].flows.len() {
            let flow = self.nodes[node.index()].flows[i];
            if self.flows[flow].to == change.destination {
                self.on_flow_route_changed(flow, change.route);
            }
        }
    }

    fn next_leg(&mut self, node: usize) {
        let leg = self.nodes[node].mobility.next_leg();
        self.medium.set_leg(NodeId(node as u32), leg);
        if leg.until < Time::NEVER {
            self.queue.push(leg.until, Event::Leg(node as u32));
        }
    }

    /// Gives the true connectivity to protocols that use it.
    fn look_at_connectivity(&mut self) {
        if self.connectivity_interval.is_zero() {
            return;
        }
        let now = self.cx.now;
        let mut neighbours: Vec<Vec<NodeId>> = (0..self.nodes.len())
            .map(|n| {
                let node = NodeId(n as u32);
                if self.nodes[n].wireless { self.medium.in_range(node, now) } else { Vec::new() }
            })
            .collect();
        for list in &mut neighbours {
            list.retain(|other| self.nodes[other.index()].wireless);
        }
        for (n, node) in self.nodes.iter().enumerate() {
            neighbours[n].extend(node.wires.iter().map(|&(other, ..)| other));
            neighbours[n].sort_unstable();
            neighbours[n].dedup();
        }
        let connectivity = Connectivity::new(neighbours);
        if *self.connectivity != connectivity || now == Time::ZERO {
            self.connectivity = Arc::new(connectivity);
            for n in 0..self.nodes.len() {
                self.nodes[n].routing.on_connectivity(&self.connectivity);
            }
        }
        self.queue.push(now + self.connectivity_interval, Event::Connectivity);
    }

    fn count_routing(&mut self, node: NodeId, packet: PacketId) {
        let packet = &self.cx.packets[packet];
        if packet.is_routing() {
            let node = &mut self.nodes[node.index()];
            node.routing_packets += 1;
            node.routing_bytes += u64::from(packet.size);
        }
    }

    #[inline]
    pub(super) fn arm_mac(&mut self, node: usize) {
        let deadline = self.macs[node].deadline(&self.timing).max(self.cx.now);
        if let Some(at) = self.mac_wakeups[node].set(deadline) {
            self.queue.push(at, Event::Mac(node as u32));
        }
    }

    pub(super) fn arm_routing(&mut self, node: usize) {
        let it = &mut self.nodes[node];
        if let Some(at) = it.routing_wakeup.set(it.routing.deadline().max(self.cx.now)) {
            self.queue.push(at, Event::Routing(node as u32));
        }
    }

    fn arm_link(&mut self, node: usize) {
        let it = &mut self.nodes[node];
        if let Some(at) = it.link_wakeup.set(it.link.deadline().max(self.cx.now)) {
            self.queue.push(at, Event::Link(node as u32));
        }
    }

    fn arm_wire(&mut self, wire: usize) {
        let it = &mut self.wires[wire];
        if let Some(at) = it.wakeup.set(it.wire.deadline().max(self.cx.now)) {
            self.queue.push(at, Event::Wire(wire as u32));
        }
    }
}

/// The MACs of all nodes, as the medium sees them.
struct MacEars<'a> {
    queue: &'a mut Queue<Event>,
    macs: &'a mut [Dcf],
    wakeups: &'a mut [Wakeup],
    timing: &'a Timing,
    upward: &'a mut Upward,
    cx: &'a mut Context,
    end: Time,
}

impl MacEars<'_> {
    /// Whether there is work left to do. A single packet that only has to wait for the processing delay is added to the
    /// line here, and needs no other work.
    #[inline]
    fn must_act(&mut self, now: Time) -> bool {
        match self.cx.actions.front() {
            None => false,
            Some(&Action::Arrived { node, packet, from })
                if self.cx.actions.len() == 1
                    && !self.upward.is_instant()
                    && !matches!(self.cx.packets[packet].body, Body::Arp(_)) =>
            {
                self.cx.actions.clear();
                line_up(self.upward, self.queue, node, packet, from, now);
                false
            }
            Some(_) => true,
        }
    }
}

impl Ears for MacEars<'_> {
    #[inline]
    fn comes_first(&self, at: Time, order: Order) -> bool {
        at <= self.end && self.queue.comes_first(at, order)
    }

    #[inline]
    fn fetch(&self, node: NodeId) -> u32 {
        self.macs[node.index()].fetch()
    }

    #[inline]
    fn on_begin(&mut self, node: NodeId, begin: Begin, now: Time) {
        match begin {
            Begin::Busy => self.macs[node.index()].on_busy(self.timing, now),
            Begin::Ignored(end) => self.macs[node.index()].on_ignored(end, self.timing),
            Begin::Nothing => {}
        }
    }

    #[inline]
    fn on_end(&mut self, node: NodeId, end: End, frame: &Frame, now: Time) -> bool {
        let mac = &mut self.macs[node.index()];
        match end.verdict {
            Verdict::Decoded if frame.receiver == node || frame.receiver.is_broadcast() => {
                self.cx.now = now;
                mac.on_frame(frame, self.timing, self.cx);
            }
            Verdict::Decoded => mac.on_other_frame(frame, self.timing, now),
            Verdict::Error => mac.on_error(self.timing, now),
            Verdict::Missed => {}
        }
        if end.idle {
            mac.on_idle(self.timing, now);
        }
        if mac.is_quiet() && frame.receiver != node {
            return self.must_act(now);
        }
        let deadline = mac.deadline(self.timing).max(now);
        if let Some(at) = self.wakeups[node.index()].set(deadline) {
            self.queue.push(at, Event::Mac(node.0));
        }
        self.must_act(now)
    }
}

/// Adds a packet to the line to IP.
#[inline]
fn line_up(upward: &mut Upward, queue: &mut Queue<Event>, node: NodeId, packet: PacketId, from: NodeId, now: Time) {
    let order = queue.reserve(1);
    if let Some(at) = upward.push(node, packet, from, now, order) {
        queue.push_ordered(at, order, Event::Up);
    }
}

/// Whether a wake-up is due; if its deadline has moved back, the event is set again.
fn fired(wakeup: &mut Wakeup, now: Time, queue: &mut Queue<Event>, event: Event) -> bool {
    match wakeup.fire(now) {
        Fired::Due => true,
        Fired::Early(at) => {
            queue.push(at, event);
            false
        }
        Fired::Stale => false,
    }
}
