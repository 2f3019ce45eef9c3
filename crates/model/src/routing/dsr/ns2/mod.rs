//! DSR as ns-2.35 does it.
//!
//! The procedures run in the same order as in ns-2, and packets have as many bytes as there. A request grows by the
//! whole header at each hop, because ns-2 forgets to take the old header off. A segment has a second IP header. ns-2
//! looks at the send buffer every 30 to 60 ms at all times. Here a node looks only while the buffer holds a packet.

mod flows;

use hopyard_engine::{Deadline, Prefetch, Rng, Span, Time};

use super::cache::Source;
use super::params::Params;
use super::state::{State, Way};
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason};
use crate::packet::{Body, DsrOption, IP_HEADER, Packet, PacketId, RouteError, SourceRoute};
use crate::params::Shared;
use crate::routing::common::Searches;
use crate::routing::{AfterOptions, Networks, Routes, Routing};
use flows::{Along, Flows};

/// The bytes by which ns-2's route reply is longer than the option, its padding included.
const REPLY_EXTRA: u32 = 9;
/// The bytes that ns-2's DSR adds to a segment for an IP header that the segment has already.
const SECOND_HEADER: u32 = IP_HEADER;
/// How long an error may wait for the request that tells it.
const ERROR_HOLD: Span = Span::from_secs(1);
/// How many routes of gratuitous replies are remembered.
const HELD_ROUTES: usize = 10;
/// The shortest time between two looks at the send buffer.
const BUFFER_CHECK: Span = Span::from_millis(30);
/// Places for packets that were overheard.
const READ: usize = 1024;
/// Errors that a packet carries at most.
const MOST_ERRORS: usize = 3;

/// A destination that is or was looked for.
#[derive(Clone, Copy, Debug, Default)]
struct Search {
    /// Pairs of requests since the last answer.
    outstanding: u8,
    /// When the last pair began; none where there was no pair since the last answer.
    last: Option<Time>,
    /// Whether the request that propagates is still to be sent.
    ring_only: bool,
}

/// The procedures of ns-2.35.
#[derive(Debug)]
pub struct Ns2 {
    state: State,
    searches: Searches<Search>,
    flows: Flows,
    /// When the send buffer is looked at.
    next_check: Time,
    /// The routes of gratuitous replies, each with a time: the time of the reply before, as in ns-2.
    held: Box<[(Time, Vec<Address>); HELD_ROUTES]>,
    victim: usize,
    /// Marks of the packets that were overheard.
    read: Box<[u32; READ]>,
}

impl Ns2 {
    /// A node that knows nothing yet.
    #[must_use]
    pub fn new(params: &Shared<Params>, node: NodeId, rng: Rng) -> Self {
        Self {
            state: State::new(params, node, rng),
            searches: Searches::default(),
            flows: Flows::new(node.into()),
            next_check: Time::NEVER,
            held: Box::new(std::array::from_fn(|_| (Time::ZERO, Vec::new()))),
            victim: 0,
            read: Box::new([0; READ]),
        }
    }

    fn settle(&mut self) {
        let held = self.state.buffer.iter().next().is_some();
        self.state.deadline = if held { self.next_check } else { Time::NEVER };
    }

    /// Puts a packet into the send buffer.
    fn hold(&mut self, packet: PacketId, cx: &mut Context) {
        if self.state.deadline == Time::NEVER || self.next_check <= cx.now {
            // The rest of an interval of a clock that always runs.
            let interval = BUFFER_CHECK.mul_f64(1.0 + self.state.rng.uniform());
            self.next_check = cx.now + interval.mul_f64(self.state.rng.uniform());
        }
        self.state.buffer.push(packet, cx);
        self.state.deadline = self.next_check;
    }

    /// Sends a packet, or looks for a route and holds it.
    fn originate(&mut self, packet: PacketId, cx: &mut Context) {
        let destination = cx.packets[packet].destination;
        if let Some(path) = self.state.cache.take(destination, cx.now) {
            self.send_along(packet, path, Span::ZERO, cx);
        } else {
            let mine = cx.packets[packet].source == self.state.address;
            self.seek(destination, mine, cx);
            self.hold(packet, cx);
        }
    }

    /// Whether another pair of requests may be sent for a destination.
    fn may_ask(&self, search: &mut Search, now: Time) -> bool {
        let params = &self.state.params;
        let wait = (params.request_period * (1 << (2 * search.outstanding.min(10)))).min(params.max_request_period);
        if search.last.is_some_and(|last| last + wait > now) {
            return false;
        }
        search.outstanding = (search.outstanding + 1).min(15);
        search.last = Some(now);
        true
    }

    /// Asks for a route, if it is time to. False if the packet belongs to another node and a request for it was made
    /// before. ns-2 makes the request before it looks at the time. Therefore a request that is not sent takes a number
    /// as well. Scripts divide losses by the highest number.
    fn seek(&mut self, destination: Address, mine: bool, cx: &mut Context) -> bool {
        let mut search = self.searches.get_mut(destination).copied().unwrap_or_default();
        let began = search.last;
        if self.may_ask(&mut search, cx.now) {
            if !mine && search.outstanding > 1 {
                *self.searches.entry(destination) = search;
                cx.ledger.numbered_only += 1;
                return false;
            }
            search.ring_only = self.state.params.nonpropagating;
            self.send_request(destination, !search.ring_only, cx);
        } else if search.ring_only
            && mine
            && began.is_some_and(|began| cx.now.since(began) > self.state.params.nonprop_request_timeout)
        {
            search.ring_only = false;
            self.send_request(destination, true, cx);
        } else {
            cx.ledger.numbered_only += 1;
        }
        *self.searches.entry(destination) = search;
        true
    }

    fn send_request(&mut self, destination: Address, propagating: bool, cx: &mut Context) {
        self.state.last_error = self.state.last_error.filter(|&(.., at)| cx.now.since(at) < ERROR_HOLD);
        let packet = self.state.request(destination, propagating, cx);
        let delay = self.state.jitter();
        self.state.dispatch(packet, Address::BROADCAST, delay, cx);
    }

    /// Sends a packet that begins its way here, along a path.
    fn send_along(&mut self, packet: PacketId, mut path: Vec<Address>, delay: Span, cx: &mut Context) {
        let own = self.state.address;
        let it = &mut cx.packets[packet];
        let salvaged = it.source_route().map_or(0, |route| route.salvage);
        if it.source != own {
            // A salvaged packet, or one that waited here on its way.
            let addresses = [&[own], &path[..path.len() - 1]].concat();
            let Some(route) = SourceRoute::salvaged(addresses, (salvaged + 1).min(15)) else {
                cx.drop_packet(self.state.node, packet, DropReason::NoRoute);
                return;
            };
            it.change_options(|options| {
                options.retain(|option| matches!(option, DsrOption::RouteReply { .. } | DsrOption::RouteError { .. }));
                options.push(DsrOption::SourceRoute(route));
            });
            self.state.dispatch(packet, path[0], delay, cx);
            return;
        }
        let is_data = !it.is_routing();
        if is_data && self.state.params.flow_state {
            self.flows.begin(it, &mut path, cx.now);
        } else if let Some(route) = SourceRoute::new(path[..path.len() - 1].to_vec()) {
            // ns-2 writes the route of one hop too.
            it.change_options(|options| options.push(DsrOption::SourceRoute(route)));
        }
        if is_data {
            self.state.announce(cx.packets[packet].destination, &path, cx);
        }
        self.state.dispatch(packet, path[0], delay, cx);
    }

    /// Sends a reply with a route over the hops back.
    fn send_reply(&mut self, route: Vec<Address>, back: &[Address], delay: Span, cx: &mut Context) {
        let Some((&to, between)) = back.split_last() else { return };
        let Some(way) = SourceRoute::new(between.to_vec()) else { return };
        let reply = DsrOption::RouteReply { last_hop_external: false, addresses: route };
        let packet = self.state.control(to, vec![reply, DsrOption::SourceRoute(way)], cx);
        cx.packets[packet].size += REPLY_EXTRA;
        self.state.dispatch(packet, back[0], delay, cx);
    }

    /// A request arrived.
    fn on_request(&mut self, packet: PacketId, it: &Packet, request: (u16, Address, &[Address]), cx: &mut Context) {
        let ((identification, target, passed), initiator, own) = (request, it.source, self.state.address);
        let most = usize::from(self.state.params.route_hops);
        let back: Vec<Address> = passed.iter().rev().copied().chain([initiator]).collect();
        if initiator == own || passed.contains(&own) || passed.len() + 1 >= most {
            cx.deliver(packet);
            return;
        }
        let route = [passed, &[own]].concat();
        let forget = cx.now + self.state.params.request_memory;
        let is_new = self.state.heard.note(initiator, identification.into(), cx.now, forget);
        if target == own {
            self.state.cache.add(&back, Source::Asked, cx.now);
            // ns-2's reply waits outside of its routing, which then reads the way of the reply as that of any packet.
            self.state.cache.add(&back, Source::Noticed, cx.now);
            let delay = self.state.jitter();
            self.send_reply(route, &back, delay, cx);
            cx.deliver(packet);
        } else if !is_new || self.reply_from_cache(initiator, target, &route, &back, cx) {
            cx.deliver(packet);
        } else if cx.packets[packet].ttl <= 1 {
            cx.drop_packet(self.state.node, packet, DropReason::TtlExpired);
        } else {
            let it = &mut cx.packets[packet];
            it.ttl -= 1;
            let before = it.size;
            it.change_options(|options| {
                for option in options {
                    if let DsrOption::RouteRequest { addresses, .. } = option {
                        addresses.push(own);
                    }
                }
            });
            if let Body::Extended(extended) = &it.body {
                it.size = before + extended.header_bytes();
            }
            let delay = self.state.jitter();
            self.state.dispatch(packet, Address::BROADCAST, delay, cx);
        }
    }

    /// Answers a request from the cache, at once. Whether it can.
    fn reply_from_cache(
        &mut self,
        initiator: Address,
        target: Address,
        route: &[Address],
        back: &[Address],
        cx: &mut Context,
    ) -> bool {
        let Some(rest) = self.state.cache.find(target, cx.now).filter(|_| self.state.params.reply_from_cache) else {
            return false;
        };
        let mut nodes = [&[initiator], route, &rest].concat();
        if nodes.len() > usize::from(self.state.params.route_hops) {
            return false;
        }
        // From A B C B D the way to C and back is cut out.
        let mut place = 0;
        while place < nodes.len() {
            if let Some(again) = nodes[place + 1..].iter().rposition(|&node| node == nodes[place]) {
                nodes.drain(place..=place + again);
            }
            place += 1;
        }
        if !nodes.contains(&self.state.address) {
            return false;
        }
        self.state.cache.add(back, Source::Asked, cx.now);
        self.send_reply(nodes[1..].to_vec(), back, Span::ZERO, cx);
        true
    }

    /// A route was told to this node: the packets that wait for one leave, one after the other.
    fn on_reply(&mut self, addresses: &[Address], cx: &mut Context) {
        self.state.cache.add(addresses, Source::Asked, cx.now);
        if let Some(&target) = addresses.last() {
            *self.searches.entry(target) = Search::default();
        }
        let mut waiting: Vec<Address> = Vec::new();
        for packet in self.state.buffer.iter() {
            let destination = cx.packets[packet].destination;
            if !waiting.contains(&destination) {
                waiting.push(destination);
            }
        }
        let mut delay = Span::ZERO;
        for destination in waiting {
            if !self.state.cache.has(destination, cx.now) {
                continue;
            }
            for packet in self.state.buffer.take(destination, cx) {
                if let Some(path) = self.state.cache.take(destination, cx.now) {
                    self.send_along(packet, path, delay, cx);
                    delay += self.state.params.buffer_spacing;
                }
            }
        }
    }

    /// Reads the errors of a packet, wherever it goes. Errors that it carries for others go on from the node that is
    /// told the first one.
    fn read_errors(&mut self, it: &Packet, is_mine: bool, cx: &mut Context) {
        let mut others = Vec::new();
        for option in it.options() {
            let DsrOption::RouteError { error, source, destination, .. } = option else { continue };
            match *error {
                RouteError::NodeUnreachable(to) => {
                    self.forget_link(*source, to, cx);
                    if is_mine && *destination != self.state.address {
                        others.push((*destination, option.clone()));
                    } else if is_mine {
                        self.state.last_error = Some((*source, to, cx.now));
                    }
                }
                RouteError::UnknownFlow(to, flow) if is_mine => self.flows.establish_again(to, flow),
                // An unknown default flow changes nothing: ns-2 looks for a flow whose number was never set.
                _ => {}
            }
        }
        if let Some(&(to, _)) = others.first() {
            let options = others.into_iter().map(|(_, option)| option).collect();
            let packet = self.state.control(to, options, cx);
            self.originate(packet, cx);
        }
    }

    fn forget_link(&mut self, from: Address, to: Address, cx: &mut Context) {
        self.state.forget_link(from, to, cx);
        self.flows.forget_link(from, to, cx.now);
    }

    /// A packet cannot go on along its route: it goes along another one, or waits for one.
    fn rescue(&mut self, packet: PacketId, reason: DropReason, cx: &mut Context) {
        let it = &mut cx.packets[packet];
        let salvaged = it.source_route().map_or(0, |route| route.salvage);
        if it.source == self.state.address {
            if it.is_routing() && it.options().iter().all(|o| matches!(o, DsrOption::SourceRoute(_))) {
                cx.drop_packet(self.state.node, packet, reason);
                return;
            }
            it.change_options(|options| {
                options.retain(|o| matches!(o, DsrOption::RouteReply { .. } | DsrOption::RouteError { .. }));
            });
            if !self.state.cache.has(it.destination, cx.now) {
                cx.unreachable(self.state.node, packet);
            }
            self.originate(packet, cx);
            return;
        }
        if salvaged >= self.state.params.max_salvage_count {
            cx.unreachable(self.state.node, packet);
            cx.drop_packet(self.state.node, packet, reason);
        } else if let Some(path) = self.state.cache.find(it.destination, cx.now) {
            self.send_along(packet, path, Span::ZERO, cx);
        } else {
            cx.unreachable(self.state.node, packet);
            self.hold(packet, cx);
        }
    }

    /// Whether a packet is a reply with the link that did not carry it, and nothing else.
    fn is_bad_reply(it: &Packet, own: Address, to: Address) -> bool {
        it.is_routing()
            && it.options().iter().any(|option| match option {
                DsrOption::RouteReply { addresses, .. } => {
                    let nodes = [&[it.destination], &addresses[..]].concat();
                    nodes.windows(2).any(|link| link == [own, to] || link == [to, own])
                }
                _ => false,
            })
            && !it.options().iter().any(|option| matches!(option, DsrOption::RouteError { .. }))
    }

    /// The flow of a packet is not known here: its source is told, and the packet goes along another route.
    fn unknown_flow(&mut self, packet: PacketId, flow: Option<u16>, cx: &mut Context) {
        let it = &cx.packets[packet];
        let (source, destination, own) = (it.source, it.destination, self.state.address);
        if source == own {
            cx.drop_packet(self.state.node, packet, DropReason::NoRoute);
            return;
        }
        let error = match flow {
            Some(flow) => RouteError::UnknownFlow(destination, flow),
            None => RouteError::DefaultFlowUnknown(destination),
        };
        self.rescue(packet, DropReason::NoRoute, cx);
        let error = DsrOption::RouteError { error, salvage: 0, source: own, destination: source };
        let packet = self.state.control(source, vec![error], cx);
        self.originate(packet, cx);
    }

    /// Sends an error to the node that wrote the route of a packet.
    fn send_error(&mut self, carried: Vec<DsrOption>, way: &Way, place: usize, to: Address, cx: &mut Context) {
        let own = self.state.address;
        let told = way.nodes[0];
        let back: Vec<Address> = way.nodes[..place].iter().rev().copied().collect();
        if told == own || back.is_empty() || carried.len() >= MOST_ERRORS {
            return;
        }
        let error = RouteError::NodeUnreachable(to);
        let mut options = vec![DsrOption::RouteError { error, salvage: 0, source: own, destination: told }];
        options.extend(carried);
        let packet = self.state.control(told, options, cx);
        self.send_along(packet, back, Span::ZERO, cx);
    }

    /// Whether a packet was overheard before, at any hop and along any route. A route along which the packet was
    /// salvaged is not read. ns-2 compares the packet's number with the number in its place of a table.
    fn has_read(&mut self, it: &Packet) -> bool {
        let number = match it.carried() {
            Body::Tcp(header) => header.seq ^ header.ack.rotate_left(32),
            Body::Udp(header) => header.sequence,
            _ => 0,
        };
        let parts = [it.created.nanos(), number, it.source.0.into(), it.destination.0.into(), it.is_routing().into()];
        let mix = |mark: u64, part: u64| (mark ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        let mark = parts.into_iter().fold(0, mix);
        let place = &mut self.read[(mark >> 32) as usize % READ];
        std::mem::replace(place, mark as u32) == mark as u32
    }

    /// A packet was overheard that will reach this node only later: the source may leave out the hops between.
    fn shorten(&mut self, way: &Way, cx: &mut Context) {
        let own = self.state.address;
        let Some(later) = way.nodes[way.next..].iter().position(|&node| node == own).filter(|&later| later > 0) else {
            return;
        };
        if !self.state.params.gratuitous_replies {
            return;
        }
        match self.held.iter().position(|(_, route)| *route == way.nodes) {
            Some(place) if cx.now.since(self.held[place].0) < self.state.params.grat_reply_holdoff => return,
            Some(place) => self.held[place].0 = cx.now,
            None => {
                self.held[self.victim].1.clone_from(&way.nodes);
                self.victim = (self.victim + 1) % HELD_ROUTES;
                self.held[self.victim].0 = cx.now;
            }
        }
        let route = [&way.nodes[1..way.next], &way.nodes[way.next + later..]].concat();
        let back: Vec<Address> = way.nodes[..way.next].iter().rev().copied().collect();
        self.state.cache.add(&back, Source::Asked, cx.now);
        self.send_reply(route, &back, Span::ZERO, cx);
    }
}

impl Routing for Ns2 {
    fn on_networks(&mut self, networks: &Networks) {
        self.state.networks = networks.clone();
    }

    fn route(&mut self, packet: PacketId, cx: &mut Context) {
        let it = &cx.packets[packet];
        let own = self.state.address;
        if it.source == own && it.hops > 0 {
            cx.drop_packet(self.state.node, packet, DropReason::RoutingLoop);
        } else if it.source == own && it.is_error() && !self.state.cache.has(it.destination, cx.now) {
            cx.drop_packet(self.state.node, packet, DropReason::NoRoute);
        } else if it.source == own {
            if matches!(it.body, Body::Tcp(_)) {
                cx.packets[packet].size += SECOND_HEADER;
            }
            self.originate(packet, cx);
        } else {
            // IP has lowered the TTL already.
            match self.flows.along(it.source, it.destination, None, Some(it.ttl.saturating_add(1)), cx.now) {
                Along::Hop(next_hop) => self.state.dispatch(packet, next_hop, Span::ZERO, cx),
                Along::Unknown(flow) => self.unknown_flow(packet, flow, cx),
            }
        }
        self.settle();
    }

    #[inline]
    fn on_heard(&mut self, packet: PacketId, _from: Address, cx: &mut Context) {
        let it = &cx.packets[packet];
        if matches!(it.carried(), Body::Tcp(_)) && cx.is_local(self.state.node, it.destination) {
            cx.packets[packet].size -= SECOND_HEADER;
        }
    }

    fn on_message(&mut self, packet: PacketId, _from: Address, cx: &mut Context) {
        cx.drop_packet(self.state.node, packet, DropReason::NoListener);
    }

    fn on_options(&mut self, packet: PacketId, _from: Address, cx: &mut Context) -> AfterOptions {
        let it = &cx.packets[packet];
        let is_mine = cx.is_local(self.state.node, it.destination);
        if it.is_routing() {
            let it = it.clone();
            let request = it.options().iter().find_map(|option| match option {
                DsrOption::RouteRequest { identification, target, addresses } => {
                    Some((*identification, *target, &addresses[..]))
                }
                _ => None,
            });
            self.read_errors(&it, is_mine, cx);
            if let Some(request) = request {
                self.on_request(packet, &it, request, cx);
                self.settle();
                return AfterOptions::Taken;
            }
            for option in it.options() {
                if let DsrOption::RouteReply { addresses, .. } = option
                    && is_mine
                {
                    self.on_reply(addresses, cx);
                }
            }
        }
        if is_mine {
            self.settle();
            return AfterOptions::Deliver;
        }
        let answer = self.pass_on(packet, cx);
        self.settle();
        answer
    }

    fn on_overheard(&mut self, packet: PacketId, _from: Address, _to: Address, cx: &mut Context) {
        let it = &cx.packets[packet];
        if it.source_route().is_none() || it.source == self.state.address {
            return;
        }
        let Some(way) = Way::of(it) else { return };
        if way.nodes.get(way.next) == Some(&self.state.address) || way.next == 0 || self.has_read(it) {
            return;
        }
        let is_control = it.is_routing();
        if is_control {
            let it = it.clone();
            self.read_errors(&it, false, cx);
            for option in it.options() {
                if let DsrOption::RouteReply { addresses, .. } = option {
                    let nodes = [&[it.destination], &addresses[..]].concat();
                    if let Some(place) = nodes.iter().position(|&node| node == self.state.address) {
                        self.state.learn(&nodes, place, false, cx.now);
                    }
                }
            }
        }
        self.state.learn_overheard(&way.nodes, way.next - 1, false, cx.now);
        if !is_control {
            self.shorten(&way, cx);
        }
        self.settle();
    }

    fn on_link_failure(&mut self, packet: PacketId, next_hop: Address, reason: DropReason, cx: &mut Context) {
        let it = &cx.packets[packet];
        let own = self.state.address;
        let way = match Way::of(it) {
            Some(way) => Some(way),
            None => self.flows.way(it, cx.now),
        };
        let Some(way) = way else {
            // The flow has been forgotten: ns-2 loses the packet.
            cx.drop_packet(self.state.node, packet, reason);
            return;
        };
        let place = way.nodes[..way.next.min(way.nodes.len())].iter().rposition(|&node| node == own).unwrap_or(0);
        let carried: Vec<DsrOption> =
            it.options().iter().filter(|option| matches!(option, DsrOption::RouteError { .. })).cloned().collect();
        // ns-2 looks at this when it has found another way for a reply that it passes on. One of its own goes another
        // way or is asked for, and so does one without another way.
        let is_bad = it.source != own && Self::is_bad_reply(it, own, next_hop);
        let destination = it.destination;
        self.forget_link(own, next_hop, cx);
        if is_bad && self.state.cache.has(destination, cx.now) {
            cx.drop_packet(self.state.node, packet, reason);
        } else {
            self.rescue(packet, reason, cx);
        }
        cx.act(Action::TakeBack { node: self.state.node, next_hop });
        self.send_error(carried, &way, place, next_hop, cx);
        self.settle();
    }

    fn on_taken_back(&mut self, packet: PacketId, _next_hop: Address, cx: &mut Context) {
        self.rescue(packet, DropReason::BrokenLink, cx);
        self.settle();
    }

    fn on_timer(&mut self, cx: &mut Context) {
        self.state.buffer.expire(cx);
        let waiting: Vec<PacketId> = self.state.buffer.iter().collect();
        for packet in waiting {
            let it = &cx.packets[packet];
            let (destination, mine) = (it.destination, it.source == self.state.address);
            if let Some(path) = self.state.cache.take(destination, cx.now) {
                self.state.buffer.remove(packet);
                self.send_along(packet, path, Span::ZERO, cx);
            } else if !self.seek(destination, mine, cx) {
                self.state.buffer.remove(packet);
                cx.drop_packet(self.state.node, packet, DropReason::NoRoute);
            }
        }
        self.next_check = cx.now + BUFFER_CHECK.mul_f64(1.0 + self.state.rng.uniform());
        self.settle();
    }
}

impl Deadline for Ns2 {
    fn deadline(&self) -> Time {
        self.state.deadline
    }
}

impl Routes for Ns2 {
    fn lookup(&self, destination: Address) -> Option<(Address, u8)> {
        self.state.announced(destination).map(|path| (path[0], path.len() as u8))
    }

    fn source_route(&self, destination: Address) -> Option<Vec<Address>> {
        self.state.announced(destination).map(<[Address]>::to_vec)
    }

    fn held(&self) -> Vec<PacketId> {
        self.state.buffer.iter().collect()
    }
}

impl Prefetch<Packet> for Ns2 {}

impl Ns2 {
    /// Passes a packet with options on, along its source route or its flow.
    fn pass_on(&mut self, packet: PacketId, cx: &mut Context) -> AfterOptions {
        let it = &cx.packets[packet];
        let flow = it.options().iter().find_map(|option| match option {
            DsrOption::Flow { identification, .. } => Some(*identification),
            _ => None,
        });
        let Some(way) = Way::of(it) else {
            let Some(flow) = flow else {
                cx.drop_packet(self.state.node, packet, DropReason::NoRoute);
                return AfterOptions::Taken;
            };
            return match self.flows.along(it.source, it.destination, Some(flow), None, cx.now) {
                Along::Hop(next_hop) => {
                    Self::count_hop(&mut cx.packets[packet]);
                    AfterOptions::Forward(next_hop)
                }
                Along::Unknown(flow) => {
                    self.unknown_flow(packet, flow, cx);
                    AfterOptions::Taken
                }
            };
        };
        if way.nodes.get(way.next) != Some(&self.state.address) || way.next + 1 >= way.nodes.len() {
            cx.drop_packet(self.state.node, packet, DropReason::NoRoute);
            return AfterOptions::Taken;
        }
        if let Some(flow) = flow {
            self.flows.learn(it, flow, &way, cx.now);
        }
        self.state.learn(&way.nodes, way.next, false, cx.now);
        let it = &mut cx.packets[packet];
        Self::count_hop(it);
        it.change_options(|options| {
            for option in options {
                if let DsrOption::SourceRoute(route) = option {
                    route.visit();
                }
            }
        });
        AfterOptions::Forward(way.nodes[way.next + 1])
    }

    fn count_hop(it: &mut Packet) {
        if it.options().iter().any(|option| matches!(option, DsrOption::Flow { .. })) {
            it.change_options(|options| {
                for option in options {
                    if let DsrOption::Flow { hops, .. } = option {
                        *hops = (*hops + 1).min(127);
                    }
                }
            });
        }
    }
}
