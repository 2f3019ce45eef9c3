//! The world's service for flows: it runs their sources and their transport, and delivers their packets.

use hopyard_engine::Time;

use super::World;
use super::error::RuleFailure;
use super::flow::{Counts, Endpoints};
use crate::address::{Address, NodeId};
use crate::clock::Wake;
use crate::context::{DropReason, Waiter};
use crate::observe::{PacketEvent, Probe};
use crate::packet::{Body, FlowId, IP_HEADER, Packet, PacketId, Quote, TcpHeader, UDP_HEADER, UNREACHABLE, UdpHeader};
use crate::traffic::{Offer, Traffic};
use crate::transport::tcp::NetworkEvent;

impl<P: Probe> World<P> {
    pub(super) fn arm_source(&mut self, flow: usize) {
        let it = &mut self.flows[flow];
        let transport = match &it.transport {
            Endpoints::Udp { .. } => Time::NEVER,
            Endpoints::Tcp { sender, .. } => sender.deadline(),
        };
        let deadline = it.source.deadline().min(transport).max(self.cx.now);
        self.clock.set(Wake::Source(flow as u32), deadline);
    }

    fn arm_sink(&mut self, flow: usize) {
        let it = &mut self.flows[flow];
        if let Endpoints::Tcp { receiver, .. } = &it.transport {
            self.clock.set(Wake::Sink(flow as u32), receiver.deadline().max(self.cx.now));
        }
    }

    /// The application offers data, or TCP's timer runs out.
    pub(super) fn on_source_timer(&mut self, flow: usize) {
        let now = self.cx.now;
        while self.flows[flow].source.deadline() <= now {
            match self.flows[flow].source.on_timer(now) {
                Offer::Bytes(bytes) => self.write(flow, bytes),
                Offer::Unlimited => self.write(flow, u64::MAX),
                Offer::Last(bytes) => {
                    if bytes > 0 {
                        self.write(flow, bytes);
                    }
                    if let Endpoints::Tcp { sender, .. } = &mut self.flows[flow].transport {
                        if bytes == 0 {
                            sender.stop(now);
                        }
                        sender.close(now);
                    }
                }
            }
        }
        if let Endpoints::Tcp { sender, .. } = &mut self.flows[flow].transport
            && sender.deadline() <= now
        {
            sender.on_timer(now);
        }
        self.pump_sender(flow);
    }

    fn write(&mut self, flow: usize, bytes: u64) {
        let now = self.cx.now;
        let it = &mut self.flows[flow];
        let (from, to) = (it.from, it.to);
        match &mut it.transport {
            Endpoints::Tcp { sender, .. } => sender.write(bytes, now),
            Endpoints::Udp { next, .. } => {
                let header = UdpHeader { sequence: *next, len: bytes.min(u64::from(u16::MAX)) as u32 };
                *next += 1;
                it.meter.on_sent(0, now);
                let size = IP_HEADER + UDP_HEADER + header.len;
                self.originate(flow, from, to, size, Body::Udp(header));
            }
        }
    }

    /// Sends everything that TCP wants to send now.
    fn pump_sender(&mut self, flow: usize) {
        // A node whose battery is empty sends nothing, whatever its sender learns of the packets that it lost with it.
        if self.energy.is_dead(self.flows[flow].from) {
            return;
        }
        let now = self.cx.now;
        if self.flows[flow].classifies {
            self.tell_decisions(flow);
        }
        loop {
            let it = &mut self.flows[flow];
            let Endpoints::Tcp { sender, .. } = &mut it.transport else { break };
            let Some(header) = sender.poll_transmit(now) else { break };
            let size = sender.header_bytes(&header) + header.len;
            if header.len > 0 || header.flags.syn {
                it.meter.on_sent(if header.retransmission { 0 } else { header.len }, now);
            }
            let (from, to) = (it.from, it.to);
            if self.probe.watches() {
                self.probe.on_segment(now, FlowId(flow as u32), &header, &sender.state());
            }
            self.originate(flow, from, to, size, Body::Tcp(header));
        }
        let it = &mut self.flows[flow];
        if let Endpoints::Tcp { sender, .. } = &mut it.transport {
            it.cwnd.set(now, sender.state().cwnd);
            if let Some(message) = sender.failure() {
                self.fail(flow, message);
            }
        }
        self.arm_source(flow);
    }

    /// A segment has left the node of its source, where the amount of waiting data is limited.
    pub(super) fn on_left_node(&mut self, flow: FlowId, seq: u64) {
        let now = self.cx.now;
        if let Endpoints::Tcp { sender, .. } = &mut self.flows[flow.index()].transport
            && sender.on_left_node(seq, now)
        {
            self.pump_sender(flow.index());
        }
    }

    /// A flow's congestion control has failed: the run ends here.
    fn fail(&mut self, flow: usize, message: String) {
        if self.progress.failure.is_none() {
            self.progress.failure = Some(RuleFailure { flow: flow as u32, time: self.cx.now, message });
            // The other events of this instant are harmless, because the failed rule is not called again.
            (self.clock.end, self.clock.horizon) = (self.cx.now, self.cx.now);
        }
    }

    /// Sends the acknowledgements that are due.
    fn pump_receiver(&mut self, flow: usize) {
        if self.energy.is_dead(self.flows[flow].to) {
            return;
        }
        let now = self.cx.now;
        loop {
            let it = &mut self.flows[flow];
            let Endpoints::Tcp { receiver, .. } = &mut it.transport else { break };
            let Some(header) = receiver.poll_transmit(now) else { break };
            let size = receiver.header_bytes(&header);
            let (from, to) = (it.to, it.from);
            self.originate(flow, from, to, size, Body::Tcp(header));
        }
        self.arm_sink(flow);
    }

    pub(super) fn on_sink_timer(&mut self, flow: usize) {
        let now = self.cx.now;
        if let Endpoints::Tcp { receiver, .. } = &mut self.flows[flow].transport {
            receiver.on_timer(now);
        }
        self.pump_receiver(flow);
    }

    fn originate(&mut self, flow: usize, source: NodeId, destination: NodeId, size: u32, body: Body) {
        let waits = match &body {
            Body::Tcp(header) if header.len > 0 || header.flags.syn => Some((header.seq, header.len)),
            _ => None,
        };
        let packet = self.cx.originate(Packet {
            created: self.cx.now,
            source: source.into(),
            destination: destination.into(),
            flow: FlowId(flow as u32),
            size,
            ttl: self.topology.ip.ttl,
            hops: 0,
            salvaged: 0,
            body,
        });
        if self.probe.watches() {
            self.probe.on_packet(self.cx.now, source, &self.cx.packets[packet], PacketEvent::Originated);
        }
        if let Some((seq, len)) = waits
            && let Endpoints::Tcp { sender, .. } = &mut self.flows[flow].transport
            && sender.limits_queue()
        {
            sender.on_queued(seq, u64::from(len));
            let waiter = Waiter::Sender { node: source, flow: FlowId(flow as u32), seq };
            self.cx.sending.begin(packet, waiter);
        }
        self.route(source, packet);
    }

    /// A packet has reached the node it was for.
    pub(super) fn deliver(&mut self, node: NodeId, packet: PacketId) {
        if matches!(self.cx.packets[packet].body, Body::External(_)) && self.cx.outside.has(node) {
            return self.leaves(node, packet);
        }
        let flow = self.cx.packets[packet].flow.index();
        let it = self
            .flows
            .get(flow)
            .filter(|_| !matches!(self.cx.packets[packet].body, Body::Tunnelled(..) | Body::Extended(_) | Body::Empty));
        let Some(it) = it else {
            self.cx.drop_packet(node, packet, DropReason::NoListener);
            return;
        };
        let to_sink = node == it.to;
        let (packet, is_first) = self.cx.deliver_copy(packet);
        if self.probe.watches() {
            self.probe.on_packet(self.cx.now, node, &packet, PacketEvent::Delivered);
        }
        self.cx.digest.fold(self.cx.now.nanos() ^ u64::from(packet.size) << 48 ^ (flow as u64) << 40);
        match packet.body {
            Body::Tcp(header) if to_sink => self.on_data(flow, &packet, &header),
            Body::Tcp(header) => self.on_acknowledgement(flow, &packet, &header),
            Body::Udp(header) => self.on_datagram(flow, &packet, &header, is_first),
            Body::Icmp(quote) if !to_sink => self.on_unreachable(flow, quote.seq),
            Body::Arp(_) | Body::Routing(_) | Body::Control { .. } | Body::Icmp(_) | Body::External(_) => {}
            // These end before.
            Body::Tunnelled(..) | Body::Extended(_) | Body::Empty => {}
        }
    }

    /// A node cannot forward a segment. If the sender uses such notices, the source is informed. If the node is the
    /// source itself, this happens directly. Otherwise the node sends an ICMP error, if it has a route to the source.
    /// It searches for none. An ICMP error causes no further one (RFC 1122 §3.2.2).
    pub(super) fn tell_unreachable(&mut self, node: NodeId, quote: Quote) {
        let now = self.cx.now;
        let flow = quote.flow.index();
        let Some(it) = self.flows.get_mut(flow) else { return };
        if !matches!(&it.transport, Endpoints::Tcp { sender, .. } if sender.wants_notices()) {
            return;
        }
        if self.cx.is_local(node, quote.source) {
            self.on_unreachable(flow, quote.seq);
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
            body: Body::Icmp(quote),
        });
        let (node, mut around) = self.node(node);
        node.icmp_errors += 1;
        node.send_notice(packet, quote.source, &mut around);
    }

    /// The source of a flow learns that one of its segments could not be forwarded.
    fn on_unreachable(&mut self, flow: usize, seq: u64) {
        let now = self.cx.now;
        if let Endpoints::Tcp { sender, .. } = &mut self.flows[flow].transport {
            sender.on_network(NetworkEvent::Unreachable { seq }, now);
            self.pump_sender(flow);
        }
    }

    fn on_data(&mut self, flow: usize, packet: &Packet, header: &TcpHeader) {
        let now = self.cx.now;
        let it = &mut self.flows[flow];
        let Endpoints::Tcp { receiver, .. } = &mut it.transport else { return };
        let before = *receiver.counters();
        receiver.on_segment(header, now);
        let after = *receiver.counters();
        // A SYN without payload counts as new once. The acknowledgement that completes the opening has no payload, and
        // is not counted.
        if header.len > 0 || header.flags.syn {
            let first_syn = header.flags.syn && !std::mem::replace(&mut it.opened, true);
            let unique = after.unique_bytes > before.unique_bytes || first_syn;
            it.meter.on_arrival(packet.size, packet.hops, packet.created, unique, now);
            if !unique && let Some(spending) = &mut self.cx.spending {
                spending.on_repeated();
            }
        }
        it.meter.on_delivered(after.delivered_bytes - before.delivered_bytes, now);
        self.cx.digest.fold(after.delivered_bytes);
        self.pump_receiver(flow);
    }

    fn on_acknowledgement(&mut self, flow: usize, packet: &Packet, header: &TcpHeader) {
        let now = self.cx.now;
        if let Endpoints::Tcp { sender, .. } = &mut self.flows[flow].transport {
            sender.set_ack_hops(packet.hops);
            sender.on_segment(header, now);
        }
        self.pump_sender(flow);
    }

    /// The application gets each datagram once, however many copies of it arrive.
    fn on_datagram(&mut self, flow: usize, packet: &Packet, header: &UdpHeader, is_first: bool) {
        let now = self.cx.now;
        let it = &mut self.flows[flow];
        it.meter.on_arrival(packet.size, packet.hops, packet.created, is_first, now);
        if is_first {
            it.meter.on_delivered(u64::from(header.len), now);
        } else if let Some(spending) = &mut self.cx.spending {
            spending.on_repeated();
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
        if let Endpoints::Tcp { sender, .. } = &mut it.transport {
            match (before, route) {
                (_, None) => sender.on_network(NetworkEvent::RouteLost, now),
                (None, Some(_)) => sender.on_network(NetworkEvent::RouteRestored, now),
                (Some(_), Some(_)) => {}
            }
            if let Some((_, hops)) = route
                && before.map(|(_, hops)| hops) != Some(hops)
            {
                sender.on_network(NetworkEvent::HopCount(hops), now);
            }
            self.pump_sender(flow);
        }
    }

    /// The senders at a node learn something of the network.
    pub(super) fn tell_flows(&mut self, node: NodeId, event: NetworkEvent) {
        let now = self.cx.now;
        for place in 0..self.nodes[node.index()].flows.len() {
            let flow = self.nodes[node.index()].flows[place];
            if let Endpoints::Tcp { sender, .. } = &mut self.flows[flow].transport {
                sender.on_network(event, now);
                self.pump_sender(flow);
            }
        }
    }

    /// The counters of a flow so far.
    pub(super) fn counts(&self, flow: usize) -> Counts {
        let dropped = self.cx.flow_drops.get(flow).copied().unwrap_or_default();
        match &self.flows[flow].transport {
            Endpoints::Udp { .. } => Counts { dropped, ..Counts::default() },
            Endpoints::Tcp { sender, .. } => {
                Counts { sender: *sender.counters(), dropped, phases: sender.phases(self.cx.now) }
            }
        }
    }
}
