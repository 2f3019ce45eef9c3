//! The world's service for sockets: it calls them when their deadlines are reached, brings them packets and sends
//! theirs.

use super::World;
use super::error::RuleFailure;
use super::flow::{Counts, Flow};
use crate::address::{Address, NodeId};
use crate::clock::Wake;
use crate::context::{DropReason, Waiter};
use crate::host::{Emission, Endpoint as _, News, Socket, Written};
use crate::observe::{FlowEvent, PacketEvent, Probe};
use crate::packet::{Body, FlowId, Packet, PacketId, Quote, UNREACHABLE};
use crate::transport::tcp::{NetworkEvent, TcpSender};

impl<P: Probe> World<P> {
    /// The TCP sender of a flow; none if it has another transport.
    pub(super) fn sender(&self, flow: usize) -> Option<&TcpSender> {
        self.sockets[self.flows[flow].source].endpoint.tcp()?.sender.as_deref()
    }

    /// As [`Self::sender`].
    pub(super) fn sender_mut(&mut self, flow: usize) -> Option<&mut TcpSender> {
        self.sockets[self.flows[flow].source].endpoint.tcp_mut()?.sender.as_deref_mut()
    }

    /// Sets the timer of a socket.
    pub(super) fn arm(&mut self, socket: usize) {
        let deadline = self.sockets[socket].deadline().max(self.cx.now);
        self.clock.set(Wake::Socket(socket as u32), deadline);
    }

    /// The deadline of a socket is reached.
    pub(super) fn on_socket_timer(&mut self, socket: usize) {
        self.sockets[socket].on_timer(self.cx.now);
        self.pump(socket);
    }

    /// Sends everything that a socket wants to send now.
    fn pump(&mut self, socket: usize) {
        let Socket { node, flow, .. } = self.sockets[socket];
        self.tell_written(socket);
        // A node whose battery is empty sends nothing, whatever its sender learns of the packets that it lost with it.
        if self.energy.is_dead(node) {
            return;
        }
        let now = self.cx.now;
        let is_source = self.flows[flow].source == socket;
        if is_source && self.flows[flow].classifies {
            self.tell_decisions(flow);
        }
        loop {
            let it = &mut self.sockets[socket];
            let Some(outgoing) = it.endpoint.poll_transmit(now) else {
                // Its transport protocol has sent what it could. The application may learn of data now, and write.
                if it.tell_app(now) {
                    self.tell_written(socket);
                    continue;
                }
                break;
            };
            if let Some(new) = outgoing.data {
                for place in 0..self.flows[flow].receivers() {
                    let flow = self.flows[flow].of_receiver(place).unwrap_or(flow);
                    self.flows[flow].meter.on_sent(new, now);
                }
            }
            if is_source
                && self.probe.watches()
                && let Body::Tcp(header) = &outgoing.body
            {
                let tcp = self.sockets[socket].endpoint.tcp_of(header.connection);
                let state = tcp.and_then(|it| it.sender.as_ref()).map(|it| it.state());
                let event = FlowEvent::Sent { header, state: state.as_ref() };
                self.probe.on_flow(now, FlowId(flow as u32), &event);
            }
            self.originate(socket, outgoing);
        }
        if is_source && let Some(sender) = self.sender_mut(flow) {
            let (cwnd, failure) = (sender.cwnd(), sender.failure());
            self.flows[flow].cwnd.set(now, cwnd);
            if let Some(message) = failure {
                self.fail(flow, message);
            }
        }
        self.arm(socket);
    }

    /// The objects that the application of a socket has written just now, for each receiver.
    fn tell_written(&mut self, socket: usize) {
        if self.sockets[socket].written.is_empty() {
            return;
        }
        let flow = self.sockets[socket].flow;
        for Written { object, connection, units } in self.sockets[socket].written.drain(..) {
            if self.probe.watches() {
                for place in 0..self.flows[flow].receivers() {
                    let flow = self.flows[flow].of_receiver(place).unwrap_or(flow);
                    let event = FlowEvent::Written { object: &object, connection, units };
                    self.probe.on_flow(self.cx.now, FlowId(flow as u32), &event);
                }
            }
        }
    }

    /// A segment has left the node of its source, where the amount of waiting data is limited.
    pub(super) fn on_left_node(&mut self, flow: FlowId, seq: u64) {
        self.tell(flow.index(), News::LeftNode { seq });
    }

    /// A flow's congestion control has failed: the run ends here.
    fn fail(&mut self, flow: usize, message: String) {
        if self.progress.failure.is_none() {
            self.progress.failure = Some(RuleFailure { flow: flow as u32, time: self.cx.now, message });
            // The other events of this instant are harmless, because the failed rule is not called again.
            (self.clock.end, self.clock.horizon) = (self.cx.now, self.cx.now);
        }
    }

    /// A socket sends a packet.
    fn originate(&mut self, socket: usize, outgoing: Emission) {
        let Socket { node, peer, flow, .. } = self.sockets[socket];
        let dscp = self.flows[flow].dscp;
        let group = self.flows[flow].group.as_ref().map(|it| it.address);
        let flow = FlowId(flow as u32);
        let packet = self.cx.originate(Packet {
            created: self.cx.now,
            source: node.into(),
            destination: group.unwrap_or_else(|| peer.into()),
            flow,
            size: outgoing.size,
            ttl: self.topology.ip.ttl,
            hops: 0,
            salvaged: 0,
            class: dscp << 2 | outgoing.ecn,
            body: outgoing.body,
        });
        if self.probe.watches() {
            self.probe.on_packet(self.cx.now, node, &self.cx.packets[packet], PacketEvent::Originated);
        }
        if let Some(seq) = outgoing.waits {
            self.cx.sending.begin(packet, Waiter::Sender { node, flow, seq });
        }
        if group.is_some() {
            let (node, mut around) = self.node(node);
            node.send_to_group(packet, &mut around);
        } else {
            self.route(node, packet);
        }
    }

    /// A packet has reached the node it was for.
    pub(super) fn deliver(&mut self, node: NodeId, packet: PacketId) {
        if matches!(self.cx.packets[packet].body, Body::External(_)) && self.cx.outside.has(node) {
            return self.leaves(node, packet);
        }
        let flow = self.cx.packets[packet].flow.index();
        // Each receiver in a group has a flow of its own.
        let to_group = |it: &Flow| it.group.as_ref()?.of(node);
        let flow = self.flows.get(flow).and_then(to_group).unwrap_or(flow);
        let it = self
            .flows
            .get(flow)
            .filter(|_| !matches!(self.cx.packets[packet].body, Body::Tunnelled(..) | Body::Extended(_) | Body::Empty));
        let Some(it) = it else {
            self.cx.drop_packet(node, packet, DropReason::NoListener);
            return;
        };
        let to_sink = node == it.to;
        let socket = if to_sink { it.sink } else { it.source };
        let (mut packet, mut is_first) = self.cx.deliver_copy(packet);
        if let (Some(group), Body::Udp(header)) = (&mut self.flows[flow].group, &packet.body) {
            is_first = group.note(header.sequence);
        }
        if self.probe.watches() {
            // Its hops were told under the number that it has.
            self.probe.on_packet(self.cx.now, node, &packet, PacketEvent::Delivered);
        }
        packet.flow = FlowId(flow as u32);
        self.cx.digest.fold(self.cx.now.nanos() ^ u64::from(packet.size) << 48 ^ (flow as u64) << 40);
        match packet.body {
            Body::Tcp(_) | Body::Udp(_) => self.on_packet(socket, &packet, is_first),
            Body::Icmp(quote) if !to_sink => self.on_unreachable(&quote),
            Body::Arp(_) | Body::Routing(_) | Body::Control { .. } | Body::Icmp(_) => {}
            Body::External(_) | Body::Frame(_) | Body::Mpdu(_) => {}
            // These end before.
            Body::Tunnelled(..) | Body::Extended(_) | Body::Empty => {}
        }
    }

    /// A packet of its flow, or of the flow back, has come to a socket.
    fn on_packet(&mut self, socket: usize, packet: &Packet, is_first: bool) {
        let now = self.cx.now;
        let received = self.sockets[socket].on_packet(packet, is_first, now);
        let meter = &mut self.flows[packet.flow.index()].meter;
        if let Some(is_unique) = received.unique {
            meter.on_arrival(packet.size, packet.hops, packet.created, is_unique, now);
            if !is_unique && let Some(spending) = &mut self.cx.spending {
                spending.on_repeated();
            }
        }
        if let Some(bytes) = received.delivered {
            meter.on_delivered(bytes, now);
            if bytes > 0 && self.probe.watches() {
                let (begin, end) = match (received.stream, &packet.body) {
                    (Some(end), _) => (end - bytes, end),
                    (None, Body::Udp(header)) => (header.sequence, header.sequence + 1),
                    (None, _) => (0, 0),
                };
                let event = FlowEvent::Read { connection: received.connection, begin, end };
                self.probe.on_flow(now, packet.flow, &event);
            }
        }
        if let Some(bytes) = received.stream {
            self.cx.digest.fold(bytes);
        }
        self.pump(socket);
    }

    /// A node cannot forward a segment. If the sender uses such notices, the source is informed. If the node is the
    /// source itself, this happens directly. Otherwise the node sends an ICMP error, if it has a route to the source.
    /// It searches for none. An ICMP error causes no further one (RFC 1122 §3.2.2).
    pub(super) fn tell_unreachable(&mut self, node: NodeId, quote: Quote) {
        let now = self.cx.now;
        let flow = quote.flow.index();
        let Some(it) = self.flows.get_mut(flow).filter(|it| it.wants_notices) else { return };
        if self.cx.is_local(node, quote.source) {
            self.on_unreachable(&quote);
            return;
        }
        // A broken link returns a queue full of segments. One error is sent for all of them.
        match it.errors.iter_mut().find(|(other, _)| *other == node) {
            Some((_, last)) if now.since(*last) < self.topology.ip.unreachable_interval => return,
            Some((_, last)) => *last = now,
            None => it.errors.push((node, now)),
        }
        let packet = self.cx.originate(Packet {
            created: now,
            source: node.into(),
            destination: quote.source,
            flow: quote.flow,
            size: UNREACHABLE,
            ttl: self.topology.ip.ttl,
            hops: 0,
            salvaged: 0,
            class: 0,
            body: Body::Icmp(quote),
        });
        let (node, mut around) = self.node(node);
        node.icmp_errors += 1;
        node.send_notice(packet, quote.source, &mut around);
    }

    /// The source of a flow learns that one of its segments could not be forwarded, if it is of the latest connection.
    fn on_unreachable(&mut self, quote: &Quote) {
        let flow = quote.flow.index();
        if self.sockets[self.flows[flow].source].endpoint.number() == quote.connection {
            self.tell(flow, News::Network(NetworkEvent::Unreachable { seq: quote.seq }));
        }
    }

    /// The source of a flow learns something.
    fn tell(&mut self, flow: usize, news: News) {
        let source = self.flows[flow].source;
        if self.sockets[source].endpoint.on_news(news, self.cx.now) {
            self.pump(source);
        }
    }

    /// Routing announced a change at a flow's source.
    pub(super) fn on_flow_route_changed(&mut self, flow: usize, route: Option<(Address, u8)>) {
        let now = self.cx.now;
        let it = &mut self.flows[flow];
        let before = std::mem::replace(&mut it.route, route);
        if before == route {
            return;
        }
        it.route_changes += u64::from(now >= it.meter.from());
        let change = match (before, route) {
            (_, None) => Some(NetworkEvent::RouteLost),
            (None, Some(_)) => Some(NetworkEvent::RouteRestored),
            (Some(_), Some(_)) => None,
        };
        let length = route.map(|(_, hops)| hops).filter(|&hops| before.map(|(_, hops)| hops) != Some(hops));
        if let Some((next_hop, _)) = route.filter(|(next_hop, _)| before.map(|(hop, _)| hop) != Some(*next_hop)) {
            self.on_next_hop(flow, next_hop);
        }
        let source = self.flows[flow].source;
        for event in change.into_iter().chain(length.map(NetworkEvent::HopCount)) {
            self.sockets[source].endpoint.on_news(News::Network(event), now);
        }
        self.pump(source);
    }

    /// The senders at a node learn something of the network.
    pub(super) fn tell_flows(&mut self, node: NodeId, event: NetworkEvent) {
        for place in 0..self.nodes[node.index()].flows.len() {
            let flow = self.nodes[node.index()].flows[place];
            self.tell(flow, News::Network(event));
        }
    }

    /// The counters of a flow so far.
    pub(super) fn counts(&self, flow: usize) -> Counts {
        let dropped = self.cx.flow_drops.get(flow).copied().unwrap_or_default();
        match self.sender(flow) {
            None => Counts { dropped, ..Counts::default() },
            Some(sender) => {
                let (counters, phases) = self.sockets[self.flows[flow].source].endpoint.before(self.cx.now);
                let (sender, phases) = (sender.counters().plus(&counters), sender.phases(self.cx.now).plus(&phases));
                Counts { sender, dropped, phases }
            }
        }
    }
}
