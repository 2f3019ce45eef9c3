//! A small network in memory, to run routers in: links that can be cut, one queue a node, feedback when a link fails.
//!
//! A frame takes a millisecond; one that nobody acknowledges is given up after ten. A frame is acknowledged when the
//! link works both ways. Nothing else is lost, but for the messages that a test names.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::net::Ipv4Addr;

use hopyard_engine::{Deadline as _, Next, Queue, Rank, Span, Streams, Time};

use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason, Origin, RouteChange};
use crate::packet::{
    Body, DsrOption, FlowId, Packet, PacketId, PacketKind, Quote, RoutingMessage, TcpHeader, UNREACHABLE, UdpHeader,
};
use crate::routing::{AfterOptions, Config, Model, Networks, Routes, Routing};

#[derive(Clone, Copy)]
enum Event {
    Sent(Address),
    Later { node: NodeId, packet: PacketId, next_hop: Address },
}

struct Node {
    router: Model,
    queue: VecDeque<(PacketId, Address)>,
    busy: bool,
}

/// Routers and the links between them.
pub struct Network {
    pub cx: Context,
    /// Why links fail.
    pub reason: DropReason,
    nodes: Vec<Node>,
    /// The timers are those of the routers.
    events: Queue<Event>,
    /// The number of events so far, which is their order where they are simultaneous.
    scheduled: u32,
    /// Who hears whom: (speaker, listener).
    links: BTreeSet<(u32, u32)>,
    next_sequence: u64,
    /// The nodes that each datagram has reached, in order.
    pub ways: BTreeMap<u64, Vec<Address>>,
    /// Datagrams that arrived: number and time.
    pub arrived: Vec<(u64, Time)>,
    /// Every message: time in milliseconds, sender, receiver (or `*`), what it says.
    pub talk: Vec<String>,
    /// Routes that changed: time, node, change.
    pub changes: Vec<(Time, Address, RouteChange)>,
    describe: fn(&RoutingMessage) -> String,
    /// Beginnings of messages, such as `2>1 RERR`: the next message like each is sent, and nobody hears it.
    pub lost: Vec<String>,
    /// Gateways: there IP takes over packets for addresses that no router has.
    pub gateways: Vec<u32>,
    /// Whether the routers listen to frames for others.
    overhears: bool,
    /// Timer calls, over all nodes.
    pub timer_calls: u64,
}

impl Network {
    /// So many routers without any link.
    pub fn new(config: &Config, nodes: usize, seed: u64, describe: fn(&RoutingMessage) -> String) -> Self {
        Self::attached(config, nodes, seed, describe, &[])
    }

    /// The same, with the networks that some nodes are attached to.
    pub fn attached(
        config: &Config,
        nodes: usize,
        seed: u64,
        describe: fn(&RoutingMessage) -> String,
        networks: &[(u32, Networks)],
    ) -> Self {
        let streams = Streams::new(seed, 0);
        let node = |index: usize| {
            let mut router = config.build(NodeId(index as u32), nodes, streams.node(index, "routing"));
            for (_, networks) in networks.iter().filter(|(node, _)| *node == index as u32) {
                router.on_networks(networks);
            }
            Node { router, queue: VecDeque::new(), busy: false }
        };
        let mut net = Self {
            cx: Context::default(),
            reason: DropReason::RetryLimit,
            nodes: (0..nodes).map(node).collect(),
            events: Queue::with_timers(nodes),
            scheduled: 0,
            links: BTreeSet::new(),
            next_sequence: 0,
            ways: BTreeMap::new(),
            arrived: Vec::new(),
            talk: Vec::new(),
            changes: Vec::new(),
            describe,
            lost: Vec::new(),
            gateways: Vec::new(),
            overhears: config.overhears(),
            timer_calls: 0,
        };
        for index in 0..nodes {
            net.call(NodeId(index as u32), |router, cx| router.start(cx));
        }
        net
    }

    /// Connects two nodes in both directions.
    pub fn join(&mut self, a: u32, b: u32) -> &mut Self {
        self.links.extend([(a, b), (b, a)]);
        self
    }

    /// Connects each node with the next one.
    pub fn chain(&mut self, nodes: &[u32]) {
        for pair in nodes.windows(2) {
            self.join(pair[0], pair[1]);
        }
    }

    /// Disconnects two nodes in both directions.
    pub fn part(&mut self, a: u32, b: u32) -> &mut Self {
        self.mute(a, b).mute(b, a)
    }

    /// From now on `listener` does not hear `speaker`.
    pub fn mute(&mut self, speaker: u32, listener: u32) -> &mut Self {
        self.links.remove(&(speaker, listener));
        self
    }

    /// A node's router.
    pub fn router(&self, node: u32) -> &Model {
        &self.nodes[node as usize].router
    }

    /// A node's route, as (next hop, hops).
    pub fn route(&self, node: u32, destination: u32) -> Option<(u32, u8)> {
        self.router(node).lookup(Address(destination)).map(|(next_hop, hops)| (next_hop.0, hops))
    }

    /// Joins each of these pairs.
    pub fn join_all(&mut self, pairs: &[(u32, u32)]) {
        for &(a, b) in pairs {
            self.join(a, b);
        }
    }

    /// The network with these links too.
    pub fn joined(mut self, pairs: &[(u32, u32)]) -> Self {
        self.join_all(pairs);
        self
    }

    /// The network with links between these nodes in a row.
    pub fn chained(mut self, nodes: &[u32]) -> Self {
        self.chain(nodes);
        self
    }

    /// The network this many milliseconds after the start.
    pub fn after(mut self, millis: u64) -> Self {
        self.run_until(millis);
        self
    }

    /// The network this many milliseconds after the start, where a datagram is sent now.
    pub fn having_sent(mut self, source: u32, destination: u32, millis: u64) -> Self {
        self.send_until(source, destination, millis);
        self
    }

    /// Sends a datagram now, and runs until this many milliseconds after the start.
    pub fn send_until(&mut self, source: u32, destination: u32, millis: u64) -> u64 {
        let number = self.send(source, destination);
        self.run_until(millis);
        number
    }

    /// A packet of flow 0, made now.
    fn originate(&mut self, source: u32, destination: u32, size: u32, body: Body) -> PacketId {
        self.cx.originate(Packet {
            created: self.cx.now,
            source: Address(source),
            destination: Address(destination),
            ttl: 64,
            ..crate::samples::packet(size, body)
        })
    }

    /// Sends a datagram now; returns its number.
    pub fn send(&mut self, source: u32, destination: u32) -> u64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let packet =
            self.originate(source, destination, 540, Body::Udp(UdpHeader { sequence, len: 512, identification: None }));
        self.ways.insert(sequence, vec![Address(source)]);
        self.call(NodeId(source), |router, cx| router.route(packet, cx));
        sequence
    }

    /// Sends a TCP segment with payload now; returns its number.
    pub fn send_segment(&mut self, source: u32, destination: u32) -> u64 {
        let (packet, sequence) = self.segment(source, destination);
        self.call(NodeId(source), |router, cx| router.route(packet, cx));
        sequence
    }

    /// Returns a segment from `source` to `destination` to a router, as if the link to `next_hop` had failed.
    pub fn fail_segment(&mut self, source: u32, destination: u32, node: u32, next_hop: u32) {
        let (packet, _) = self.segment(source, destination);
        let reason = self.reason;
        self.call(NodeId(node), |router, cx| router.on_link_failure(packet, Address(next_hop), reason, cx));
    }

    fn segment(&mut self, source: u32, destination: u32) -> (PacketId, u64) {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let header = TcpHeader { seq: sequence, len: 512, ..TcpHeader::default() };
        let packet = self.originate(source, destination, 552, Body::Tcp(header));
        self.ways.insert(sequence, vec![Address(source)]);
        (packet, sequence)
    }

    /// Sends an ICMP error now.
    pub fn send_error(&mut self, source: u32, destination: u32) {
        let (source_of_quoted, its_destination) = (Address(destination), Address(source));
        let quote = Quote {
            flow: FlowId(0),
            source: source_of_quoted,
            destination: its_destination,
            connection: 0,
            seq: 0,
            length: 552,
            ttl: 64,
        };
        let packet = self.originate(source, destination, UNREACHABLE, Body::Icmp(quote));
        self.call(NodeId(source), |router, cx| router.route(packet, cx));
    }

    /// Gives a router a message as if a neighbour had sent it.
    pub fn inject(&mut self, from: u32, to: u32, ttl: u8, message: RoutingMessage) -> &mut Self {
        let packet = self.cx.originate_routing(Origin::Own, Address(from), Address(to), ttl, 52, message);
        self.receive(NodeId(to), packet, Address(from));
        self
    }

    /// Runs until this many milliseconds after the start.
    pub fn run_until(&mut self, millis: u64) {
        self.at(millis);
    }

    /// The network at that time.
    pub fn at(&mut self, millis: u64) -> &mut Self {
        let end = Time::ZERO + Span::from_millis(millis);
        while let Some((at, next)) = self.events.pop(end) {
            self.cx.now = at;
            match next {
                Next::Timer(node) => {
                    self.timer_calls += 1;
                    self.call(NodeId(node), |router, cx| router.on_timer(cx));
                }
                Next::Event(Event::Sent(node)) => self.sent(NodeId(node.0)),
                Next::Event(Event::Later { node, packet, next_hop }) => self.enqueue(node, packet, next_hop),
            }
            self.set_timers();
        }
        self.cx.now = end;
        self
    }

    /// How many packets a node dropped for a reason.
    pub fn dropped(&self, node: u32, reason: DropReason) -> u64 {
        PacketKind::ALL.iter().map(|&kind| self.cx.drops.get(NodeId(node), kind, reason)).sum()
    }

    /// How many packets all nodes dropped for a reason.
    pub fn dropped_anywhere(&self, reason: DropReason) -> u64 {
        (0..self.nodes.len() as u32).map(|node| self.dropped(node, reason)).sum()
    }

    /// Messages that mention `what`.
    pub fn said(&self, what: &str) -> Vec<&str> {
        self.talk.iter().map(String::as_str).filter(|line| line.contains(what)).collect()
    }

    /// Every packet must be where someone can account for it.
    pub fn check_account(&self) {
        let mut kept = 0;
        for node in &self.nodes {
            let held = node.router.held();
            assert!(held.iter().all(|&id| self.cx.packets.iter().any(|(other, _)| other == id)));
            kept += held.len() + node.queue.len();
        }
        kept += self.events.pending().filter(|event| matches!(event, Event::Later { .. })).count();
        assert_eq!(kept, self.cx.packets.len(), "packets that nobody holds");
        assert_eq!(self.cx.ledger.outstanding(), kept as u64, "{:?}", self.cx.ledger);
    }

    /// The next hops to a destination, all asked now, never come back to a node.
    pub fn check_next_hops(&self) {
        let nodes = self.nodes.len() as u32;
        for (from, to) in (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))) {
            let (mut place, mut way) = (from, vec![from]);
            while place != to
                && let Some((next, _)) = self.route(place, to)
            {
                assert!(!way.contains(&next), "at {}, from {from} to {to}: {way:?}, {next}", self.cx.now);
                way.push(next);
                place = next;
            }
        }
    }

    /// No datagram has met a node twice.
    pub fn check_loops(&self) {
        for (sequence, way) in &self.ways {
            let met: BTreeSet<_> = way.iter().collect();
            assert_eq!(met.len(), way.len(), "datagram {sequence} went {way:?}");
        }
        assert_eq!(self.dropped_anywhere(DropReason::RoutingLoop), 0);
    }

    fn call(&mut self, node: NodeId, handler: impl FnOnce(&mut Model, &mut Context)) {
        handler(&mut self.nodes[node.index()].router, &mut self.cx);
        while let Some(action) = self.cx.actions.pop_front() {
            match action {
                Action::Send { node, packet, next_hop } => self.enqueue(node, packet, next_hop),
                // Every node of this network has one interface.
                Action::SendBy { interface, packet, next_hop } => {
                    self.enqueue(NodeId(interface.0), packet, next_hop);
                }
                Action::SendLater { node, packet, next_hop, at } => {
                    self.schedule(at, Event::Later { node, packet, next_hop });
                }
                Action::TakeBack { node, next_hop } => {
                    let queue = &mut self.nodes[node.index()];
                    let first = usize::from(queue.busy);
                    let mut taken = Vec::new();
                    let mut place = 0;
                    queue.queue.retain(|&(packet, to)| {
                        place += 1;
                        let keep = place <= first || to != next_hop;
                        if !keep {
                            taken.push(packet);
                        }
                        keep
                    });
                    for packet in taken {
                        self.nodes[node.index()].router.on_taken_back(packet, next_hop, &mut self.cx);
                    }
                }
                Action::Unreachable { node, quote } => {
                    let millis = self.cx.now.nanos() / 1_000_000;
                    self.talk.push(format!("{millis} {node} cannot pass on segment {} of {}", quote.seq, quote.source));
                }
                Action::RouteChanged { node, change } => self.changes.push((self.cx.now, node.into(), change)),
                // Nobody sends to a group here.
                Action::Chosen { .. } => {}
                other => panic!("a router asked for {other:?}"),
            }
        }
        self.set_timers();
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.scheduled += 1;
        self.events.push(at, Rank::new(0, self.scheduled, 0), event);
    }

    fn set_timers(&mut self) {
        for (index, node) in self.nodes.iter().enumerate() {
            self.events.set(index as u32, node.router.deadline().max(self.cx.now));
        }
    }

    fn enqueue(&mut self, node: NodeId, packet: PacketId, next_hop: Address) {
        let it = &mut self.nodes[node.index()];
        let place = if self.cx.packets[packet].is_routing() { usize::from(it.busy) } else { it.queue.len() };
        it.queue.insert(place, (packet, next_hop));
        self.transmit(node);
    }

    /// Whether a test wants this message lost; it is asked for once.
    fn is_lost(&mut self, node: NodeId, packet: PacketId, next_hop: Address) -> bool {
        let it = &self.cx.packets[packet];
        let what = match &it.body {
            Body::Routing(message) => self.speech(node, next_hop, message),
            _ if !it.options().is_empty() => self.words(node, next_hop, it),
            _ => return false,
        };
        let place = self.lost.iter().position(|lost| what.starts_with(lost));
        place.map(|place| self.lost.remove(place)).is_some()
    }

    /// A message as one line: sender, receiver (or `*`), what it says.
    fn speech(&self, node: NodeId, next_hop: Address, message: &RoutingMessage) -> String {
        let to = if next_hop.is_broadcast() { "*".to_owned() } else { next_hop.to_string() };
        format!("{node}>{to} {}", (self.describe)(message))
    }

    /// The options of a packet as one line: sender, receiver (or `*`), from where to where, what they say.
    fn words(&self, node: NodeId, next_hop: Address, packet: &Packet) -> String {
        let to = if next_hop.is_broadcast() { "*".to_owned() } else { next_hop.to_string() };
        let end = if packet.destination.is_broadcast() { "*".to_owned() } else { packet.destination.to_string() };
        let mut line = format!("{node}>{to} {}->{end}", packet.source);
        for option in packet.options() {
            let all = |addresses: &[Address]| addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
            match option {
                DsrOption::RouteRequest { identification, target, addresses } => {
                    write!(line, " request {identification} for {target} [{}]", all(addresses))
                }
                DsrOption::RouteReply { addresses, last_hop_external } => {
                    write!(line, " reply [{}]{}", all(addresses), if *last_hop_external { " L" } else { "" })
                }
                DsrOption::RouteError { error, source, destination, salvage } => {
                    write!(line, " error of {source} for {destination}: {error:?} {salvage}")
                }
                DsrOption::AckRequest { identification } => write!(line, " asks {identification}"),
                DsrOption::Ack { identification, .. } => write!(line, " ack {identification}"),
                DsrOption::SourceRoute(route) => {
                    let flags = [(route.first_hop_external, " F"), (route.last_hop_external, " L")];
                    let flags: String = flags.iter().filter(|flag| flag.0).map(|flag| flag.1).collect();
                    let (salvage, left) = (route.salvage, route.segments_left());
                    write!(line, " route {salvage} {left} [{}]{flags}", all(route.addresses()))
                }
                DsrOption::Flow { identification, hops } => write!(line, " flow {identification} {hops}"),
                DsrOption::Timeout(seconds) => write!(line, " timeout {seconds}"),
            }
            .expect("a string takes all");
        }
        line
    }

    /// Neighbours of both that listen to frames for others get a copy of a frame between two nodes.
    fn overhear(&mut self, node: NodeId, packet: PacketId, next_hop: Address) {
        if !self.overhears {
            return;
        }
        let hearers: Vec<u32> = self.links.range((node.0, 0)..=(node.0, u32::MAX)).map(|&(_, hearer)| hearer).collect();
        for hearer in hearers {
            if Address(hearer) != next_hop {
                let copy = self.cx.copy(packet);
                self.call(NodeId(hearer), |router, cx| router.on_overheard(copy, node.into(), next_hop, cx));
                self.cx.hand_over(copy);
            }
        }
    }

    /// Tells a router of its networks.
    pub fn attach(&mut self, node: u32, networks: &Networks) {
        self.nodes[node as usize].router.on_networks(networks);
    }

    fn transmit(&mut self, node: NodeId) {
        let it = &mut self.nodes[node.index()];
        if it.busy {
            return;
        }
        let Some(&(packet, next_hop)) = it.queue.front() else { return };
        it.busy = true;
        let fails = !next_hop.is_broadcast() && !self.linked(node.into(), next_hop);
        if let Body::Routing(message) = &self.cx.packets[packet].body {
            let name = &|node: Address| Ipv4Addr::from_bits(node.0);
            message.encode(name, &mut Vec::new()).expect("every message that is sent has an encoding");
            let millis = self.cx.now.nanos() / 1_000_000;
            let mut line = format!("{millis} {}", self.speech(node, next_hop, message));
            let it = &self.cx.packets[packet];
            write!(line, " ttl {} {} B", it.ttl, it.size).expect("a string takes all");
            self.talk.push(line);
        } else if !self.cx.packets[packet].options().is_empty() {
            let millis = self.cx.now.nanos() / 1_000_000;
            let it = &self.cx.packets[packet];
            let line = format!("{millis} {} ttl {} {} B", self.words(node, next_hop, it), it.ttl, it.size);
            self.talk.push(line);
        }
        let takes = if fails { Span::from_millis(10) } else { Span::from_millis(1) };
        self.schedule(self.cx.now + takes, Event::Sent(node.into()));
    }

    fn linked(&self, a: Address, b: Address) -> bool {
        self.links.contains(&(a.0, b.0)) && self.links.contains(&(b.0, a.0))
    }

    fn sent(&mut self, node: NodeId) {
        let it = &mut self.nodes[node.index()];
        it.busy = false;
        let Some((packet, next_hop)) = it.queue.pop_front() else { return };
        if self.is_lost(node, packet, next_hop) {
            self.cx.hand_over(packet);
        } else if next_hop.is_broadcast() {
            let hearers: Vec<_> =
                self.links.range((node.0, 0)..=(node.0, u32::MAX)).map(|&(_, hearer)| Address(hearer)).collect();
            for hearer in hearers {
                let copy = self.cx.copy(packet);
                self.receive(NodeId(hearer.0), copy, node.into());
            }
            self.cx.hand_over(packet);
        } else if self.linked(node.into(), next_hop) {
            self.overhear(node, packet, next_hop);
            let copy = self.cx.copy(packet);
            self.cx.hand_over(packet);
            self.receive(NodeId(next_hop.0), copy, node.into());
        } else {
            let reason = self.reason;
            self.call(node, |router, cx| router.on_link_failure(packet, next_hop, reason, cx));
        }
        self.transmit(node);
    }

    fn receive(&mut self, node: NodeId, packet: PacketId, from: Address) {
        self.cx.packets[packet].hops += 1;
        self.call(node, |router, cx| router.on_heard(packet, from, cx));
        if let Some(sequence) = sequence(&self.cx.packets[packet])
            && !self.cx.packets[packet].options().is_empty()
        {
            self.ways.entry(sequence).or_default().push(node.into());
        }
        let it = &mut self.cx.packets[packet];
        let destination = it.destination;
        match &it.body {
            Body::Routing(_) => self.call(node, |router, cx| router.on_message(packet, from, cx)),
            Body::Extended(_) => self.receive_options(node, packet, from),
            Body::Udp(UdpHeader { sequence, .. }) | Body::Tcp(TcpHeader { seq: sequence, .. }) => {
                let sequence = *sequence;
                self.ways.entry(sequence).or_default().push(node.into());
                it.ttl -= 1;
                let ttl = it.ttl;
                let leaves = destination.index() >= self.nodes.len() && self.gateways.contains(&node.0);
                if destination == node.into() || leaves {
                    self.arrived.push((sequence, self.cx.now));
                    self.cx.deliver(packet);
                } else if ttl == 0 {
                    self.cx.drop_packet(node, packet, DropReason::TtlExpired);
                } else {
                    self.call(node, |router, cx| router.route(packet, cx));
                }
            }
            Body::Tunnelled(..) if destination == node.into() => drop(self.cx.deliver(packet)),
            Body::Tunnelled(..) => self.call(node, |router, cx| router.route(packet, cx)),
            other => panic!("nobody sends {other:?} here"),
        }
    }

    /// As IP does with what the router says of a packet with options.
    fn receive_options(&mut self, node: NodeId, packet: PacketId, from: Address) {
        let mut answer = AfterOptions::Unknown;
        self.call(node, |router, cx| answer = router.on_options(packet, from, cx));
        let (is_mine, ttl) = match answer {
            AfterOptions::Taken => return,
            _ => (self.cx.packets[packet].destination == node.into(), self.cx.packets[packet].ttl),
        };
        match answer {
            AfterOptions::Deliver => {
                if let Some(sequence) = sequence(&self.cx.packets[packet]) {
                    self.arrived.push((sequence, self.cx.now));
                }
                self.cx.deliver(packet);
            }
            AfterOptions::Unknown if is_mine => self.cx.drop_packet(node, packet, DropReason::NoListener),
            _ if ttl <= 1 => self.cx.drop_packet(node, packet, DropReason::TtlExpired),
            AfterOptions::Forward(next_hop) => {
                self.cx.packets[packet].ttl -= 1;
                self.enqueue(node, packet, next_hop);
            }
            AfterOptions::Unknown | AfterOptions::Taken => {
                let text = self.cx.packets[packet].destination;
                self.talk.push(format!("{node} sends a packet for {text} over its wires"));
                self.cx.deliver(packet);
            }
        }
    }
}

/// The number of a datagram or a segment, behind options too.
fn sequence(packet: &Packet) -> Option<u64> {
    match packet.carried() {
        Body::Udp(UdpHeader { sequence, .. }) | Body::Tcp(TcpHeader { seq: sequence, .. }) => Some(*sequence),
        _ => None,
    }
}
