//! AODV: routes are looked for when they are needed, by flooding a request, and kept while they are used.
//!
//! Reference: RFC 3561 (Perkins, Belding-Royer, Das, 2003). There are two sets of procedures. [`Rules::Rfc3561`]
//! follows the RFC with HELLO messages, link-layer feedback, expanding rings, rate limits, precursors, gratuitous
//! replies, RREP-ACK with its blacklist, and local repair (§6.12). [`Rules::Ns2`] does what ns-2.35 does, with which
//! many papers were made:
//!
//! - The first search for a destination floods the whole network: a search starts from the last hop count, which is
//!   infinite at first, so that `ttl_start` has no effect. Later searches start at the last hop count plus two.
//! - Waits are twice the TTL times the time per hop that earlier discoveries took, times the number of floods so far.
//! - Retries, expired routes and repairs are checked every half second, and whenever a packet is sent.
//! - Errors are broadcast at once, whether or not a neighbour uses the route. There is no rate limit, blacklist or
//!   gratuitous reply.
//! - A link breaks only when a data packet fails. Other packets in the queue for that neighbour are dropped too, unless
//!   a repair begins: then they stay in the queue.
//! - The remaining lifetime in an intermediate node's reply is cut to whole seconds.
//!
//! Left out: multicast (flags J, R), prefixes, several interfaces, and the wait after a reboot (§6.13), as nodes do not
//! reboot here. Where the RFC leaves a choice:
//!
//! - When a node's own packet cannot be sent, the node puts it back into the buffer and looks for a new route.
//! - When a packet in transit has no route, the precursors and the neighbour that sent it are told. The sequence number
//!   of a route that was already invalid does not grow.
//! - An error never lowers a sequence number.
//! - The first ring of a search may be larger than TTL_THRESHOLD (§6.4): the last hop count plus TTL_INCREMENT, or
//!   TTL_START.
//!
//! Validated by message exchanges between routers, one for each rule, in `tests`; by a property test that no packet
//! visits a node twice; and against ns-2.35 on the same scenarios (docs/validation.md).

mod buffer;
mod message;
mod ns2;
mod params;
mod rfc;
mod table;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use hopyard_engine::{Rng, Span, Time};

use super::Routing;
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason, RouteChange};
use crate::packet::{Body, Packet, PacketId, Quote, RoutingMessage};
use buffer::Buffer;
pub use message::{AodvMessage, Reply, Request, RouteError};
pub use params::{Auto, LinkDetection, Params, RepairTimer, Rules};
use table::{Precursors, Requests, State, Table};

/// A second, over which rates are limited.
const SECOND: Span = Span::from_secs(1);

/// A destination that is looked for; under ns-2's rules also one that was.
#[derive(Clone, Copy, Debug)]
struct Search {
    destination: Address,
    /// TTL of the last request.
    ttl: u8,
    /// Floods of the whole network so far.
    floods: u8,
    /// When the next request may be sent.
    retry_at: Time,
    /// Whether the rate limit holds the request back.
    held_back: bool,
    /// Whether this is a local repair.
    repair: bool,
    /// How long the last discoveries took for each hop (ns-2); zero where there was none.
    latencies: [Span; 3],
    /// Where the next one is noted.
    next_latency: u8,
}

/// Allows so many messages in any second.
#[derive(Debug)]
struct Limiter {
    limit: usize,
    sent: VecDeque<Time>,
}

impl Limiter {
    const fn new(limit: u16) -> Self {
        Self { limit: limit as usize, sent: VecDeque::new() }
    }

    /// Counts a message, or says when it may be sent.
    fn pass(&mut self, now: Time) -> Result<(), Time> {
        if self.limit == 0 {
            return Ok(());
        }
        if self.sent.len() == self.limit {
            match self.sent.front() {
                Some(&oldest) if now.since(oldest) < SECOND => return Err(oldest + SECOND),
                _ => self.sent.pop_front(),
            };
        }
        self.sent.push_back(now);
        Ok(())
    }
}

/// AODV at one node.
///
/// Most packets that a node hears in a flood are requests that it has heard before. The fields needed for these come
/// first, so that they share a cache line.
#[derive(Debug)]
#[repr(C)]
pub struct Aodv {
    /// When the timer is next to be called, as found after the last change.
    deadline: Time,
    heard: Requests,
    /// How long a request's number is remembered.
    memory: Span,
    node: NodeId,
    /// The address of the first interface, by which other nodes know this one.
    address: Address,
    rules: Rules,
    /// The last packet heard under RFC 3561's rules, and the neighbour that sent it: the previous hop of a packet that
    /// is to be forwarded.
    last_heard: Option<(PacketId, Address)>,
    /// The node's own sequence number.
    sequence: u32,
    /// The number of the last request.
    request_id: u32,
    table: Table,
    rng: Rng,
    precursors: Precursors,
    buffer: Buffer,
    /// By destination.
    searches: Vec<Search>,
    /// When the next search must be looked at.
    next_search: Time,
    /// ns-2's repairs: when each is given up, and of which destination.
    repairs: BinaryHeap<Reverse<(Time, Address)>>,
    requests_sent: Limiter,
    errors_sent: Limiter,
    /// Neighbours whose HELLO was heard, each with the time at which it is lost.
    neighbours: Vec<(Address, Time)>,
    /// No neighbour is lost before this time.
    next_loss: Time,
    /// Neighbours that have been sent a reply with flag A, each with the time by which it must be acknowledged.
    awaited_acks: Vec<(Address, Time)>,
    /// Neighbours that do not hear this node, each with the time until which their requests are ignored.
    blacklist: Vec<(Address, Time)>,
    /// Only without feedback of the link layer: the last segment of each flow that did not reach a neighbour, and when.
    /// When the neighbour is lost, the sources of these segments are told.
    failed: Vec<(Address, Quote, Time)>,
    /// When this node last broadcast a message.
    last_broadcast: Time,
    /// Until when the node is part of an active route.
    active_until: Time,
    /// When the next HELLO is due.
    hello_at: Time,
    params: Params,
}

impl Aodv {
    /// AODV at `node`.
    #[must_use]
    pub fn new(params: &Params, node: NodeId, _nodes: usize, rng: Rng) -> Self {
        Self {
            deadline: Time::NEVER,
            memory: params.path_discovery_time(),
            node,
            address: node.into(),
            rules: params.rules,
            last_heard: None,
            rng,
            // ns-2 starts at two and keeps its own number even.
            sequence: if params.rules == Rules::Ns2 { 2 } else { 0 },
            request_id: 0,
            table: Table::default(),
            precursors: Precursors::default(),
            heard: Requests::default(),
            buffer: Buffer::new(node, usize::from(params.buffer_packets), params.buffer_timeout),
            searches: Vec::new(),
            next_search: Time::NEVER,
            repairs: BinaryHeap::new(),
            requests_sent: Limiter::new(params.rreq_ratelimit),
            errors_sent: Limiter::new(params.rerr_ratelimit),
            neighbours: Vec::new(),
            next_loss: Time::NEVER,
            awaited_acks: Vec::new(),
            blacklist: Vec::new(),
            failed: Vec::new(),
            last_broadcast: Time::ZERO,
            active_until: Time::ZERO,
            hello_at: Time::NEVER,
            params: params.clone(),
        }
    }

    fn is_ns2(&self) -> bool {
        self.rules == Rules::Ns2
    }

    /// Computes when the timer must next be called. Needed after every change that can move this time.
    fn find_deadline(&mut self) {
        self.deadline = self.present_deadline();
    }

    fn present_deadline(&self) -> Time {
        match self.rules {
            Rules::Rfc3561 => self.rfc_deadline(),
            Rules::Ns2 => self.ns2_deadline(),
        }
    }

    /// A random delay for a broadcast that several neighbours could otherwise send at the same time.
    fn jitter(&mut self) -> Span {
        self.params.broadcast_jitter.mul_f64(self.rng.uniform())
    }

    /// Sends a new message to a neighbour, or to all.
    fn send(&mut self, message: AodvMessage, to: Address, ttl: u8, delay: Span, cx: &mut Context) {
        let size = self.params.packet_size(&message);
        let packet = cx.originate_routing(self.address, to, ttl, size, RoutingMessage::new(message));
        self.dispatch(packet, to, delay, cx);
    }

    /// Sends a message on, changed.
    fn send_on(&mut self, packet: PacketId, message: AodvMessage, to: Address, ttl: u8, delay: Span, cx: &mut Context) {
        let it = &mut cx.packets[packet];
        it.source = self.address;
        it.destination = to;
        it.ttl = ttl;
        it.body = Body::Routing(RoutingMessage::new(message));
        self.dispatch(packet, to, delay, cx);
    }

    /// Gives a packet to the link, after a delay.
    fn dispatch(&mut self, packet: PacketId, next_hop: Address, delay: Span, cx: &mut Context) {
        if next_hop.is_broadcast() {
            self.last_broadcast = cx.now + delay;
        }
        let node = self.node;
        cx.act(if delay.is_zero() {
            Action::Send { node, packet, next_hop }
        } else {
            Action::SendLater { node, packet, next_hop, at: cx.now + delay }
        });
    }

    /// Sends a data packet along the valid route to its destination, and extends the route's lifetime.
    #[inline]
    fn send_along(&mut self, packet: PacketId, delay: Span, cx: &mut Context) {
        let it = &cx.packets[packet];
        let (source, destination, ttl) = (it.source, it.destination, it.ttl);
        if ttl == 0 {
            cx.drop_packet(self.node, packet, DropReason::TtlExpired);
            return;
        }
        let until = cx.now + self.params.active_route_timeout();
        let Some(route) = self.table.get_mut(destination).filter(|route| route.state == State::Up) else {
            cx.drop_packet(self.node, packet, DropReason::NoRoute);
            return;
        };
        let (next_hop, hops) = (route.next_hop, route.hops);
        if !std::mem::replace(&mut route.used, true) {
            let change = RouteChange { destination, route: Some((next_hop, hops)) };
            cx.act(Action::RouteChanged { node: self.node, change });
        }
        if self.rules == Rules::Ns2 {
            route.expires = until;
            self.table.expires(until);
        } else {
            self.rfc_extend(source, destination, next_hop, until);
        }
        self.dispatch(packet, next_hop, delay, cx);
    }

    /// Sends the packets that have waited for a route.
    fn flush(&mut self, destination: Address, spacing: Span, cx: &mut Context) {
        for (place, packet) in self.buffer.take(destination, cx).into_iter().enumerate() {
            self.send_along(packet, spacing * place as u64, cx);
        }
    }

    /// Drops the packets for which no route was found.
    fn give_up(&mut self, destination: Address, cx: &mut Context) {
        for packet in self.buffer.take(destination, cx) {
            // RFC 3561 §6.3: after the last search the destination counts as unreachable.
            cx.unreachable(self.node, packet);
            cx.drop_packet(self.node, packet, DropReason::DiscoveryFailed);
        }
    }

    /// Makes a route valid.
    fn bring_up(&mut self, destination: Address, next_hop: Address, hops: u8, expires: Time, cx: &mut Context) {
        let route = self.table.entry(destination);
        let changed = route.state != State::Up || (route.next_hop, route.hops) != (next_hop, hops);
        (route.next_hop, route.hops, route.state) = (next_hop, hops, State::Up);
        (route.expires, route.repairable) = (expires, false);
        if changed && route.used {
            let change = RouteChange { destination, route: Some((next_hop, hops)) };
            cx.act(Action::RouteChanged { node: self.node, change });
        }
        self.table.expires(expires);
    }

    /// Makes a route invalid until `forget`. A route that breaks while it is used is reported as lost. A route that
    /// expires is not, because it was not in use.
    fn take_down(&mut self, destination: Address, broken: bool, forget: Time, cx: &mut Context) {
        let route = self.table.entry(destination);
        if route.state == State::Down {
            return;
        }
        (route.last_hops, route.state, route.expires) = (route.hops, State::Down, forget);
        if std::mem::replace(&mut route.used, false) && broken {
            let change = RouteChange { destination, route: None };
            cx.act(Action::RouteChanged { node: self.node, change });
        }
        self.table.expires(forget);
    }

    /// The search for a destination.
    fn search(&mut self, destination: Address) -> Option<&mut Search> {
        let place = self.searches.binary_search_by_key(&destination, |search| search.destination).ok()?;
        Some(&mut self.searches[place])
    }

    /// The search for a destination, which is made if there is none.
    fn search_or_new(&mut self, destination: Address) -> &mut Search {
        let place = self.searches.binary_search_by_key(&destination, |search| search.destination);
        let place = place.unwrap_or_else(|place| {
            let search = Search {
                destination,
                ttl: 0,
                floods: 0,
                retry_at: Time::ZERO,
                held_back: false,
                repair: false,
                latencies: [Span::ZERO; 3],
                next_latency: 0,
            };
            self.searches.insert(place, search);
            place
        });
        &mut self.searches[place]
    }

    /// A HELLO of this neighbour was heard. Whether it was the first.
    fn meet_neighbour(&mut self, neighbour: Address, lost_at: Time) -> bool {
        self.next_loss = self.next_loss.min(lost_at);
        match self.neighbours.binary_search_by_key(&neighbour, |&(node, _)| node) {
            Ok(place) => {
                self.neighbours[place].1 = lost_at;
                false
            }
            Err(place) => {
                self.neighbours.insert(place, (neighbour, lost_at));
                true
            }
        }
    }

    /// The link layer has given up a packet. With HELLO messages alone this does not break the link.
    fn note_failure(&mut self, packet: PacketId, next_hop: Address, cx: &Context) {
        if let Some(quote) = cx.packets[packet].quote() {
            self.failed.retain(|(_, other, _)| other.flow != quote.flow);
            self.failed.push((next_hop, quote, cx.now));
        }
    }

    /// A neighbour is lost because its HELLO messages did not arrive. Tells the sources of all segments that failed
    /// since it was last heard.
    fn report_failures(&mut self, lost: Address, cx: &mut Context) {
        // The check for lost neighbours runs up to one interval late.
        let silence = self.params.neighbour_expiry() + self.params.hello_interval;
        for &(next_hop, quote, at) in &self.failed {
            if next_hop == lost && cx.now.since(at) <= silence {
                cx.act(Action::Unreachable { node: self.node, quote });
            }
        }
        self.failed.retain(|&(next_hop, ..)| next_hop != lost);
    }

    /// Removes the neighbours that are lost.
    fn lost_neighbours(&mut self, now: Time) -> Vec<Address> {
        let lost = self.neighbours.iter().filter(|&&(_, at)| at <= now).map(|&(node, _)| node).collect();
        self.neighbours.retain(|&(_, at)| at > now);
        self.next_loss = self.neighbours.iter().map(|&(_, at)| at).min().unwrap_or(Time::NEVER);
        lost
    }
}

impl Routing for Aodv {
    const REPORTS_BREAKS: bool = true;

    fn start(&mut self, cx: &mut Context) {
        if self.is_ns2() && self.params.by_hello() {
            self.hello_at = cx.now;
        }
        self.find_deadline();
    }

    #[inline]
    fn route(&mut self, packet: PacketId, cx: &mut Context) {
        let it = &mut cx.packets[packet];
        if it.source == self.address {
            if it.hops > 0 {
                cx.drop_packet(self.node, packet, DropReason::RoutingLoop);
                return;
            }
            if self.params.data_ttl > 0 {
                it.ttl = self.params.data_ttl;
            }
        }
        if self.table.up(it.destination).is_some() {
            self.send_along(packet, Span::ZERO, cx);
        } else if it.source == self.address && it.is_error() {
            cx.drop_packet(self.node, packet, DropReason::NoRoute);
        } else if self.is_ns2() {
            self.ns2_route_lacking(packet, cx);
        } else {
            self.rfc_route_lacking(packet, cx);
        }
        self.find_deadline();
    }

    fn on_message(&mut self, packet: PacketId, from: Address, cx: &mut Context) {
        let Body::Routing(message) = &cx.packets[packet].body else {
            cx.drop_packet(self.node, packet, DropReason::NoListener);
            return;
        };
        if let (Some(AodvMessage::Request(request)), Rules::Ns2) = (message.get::<AodvMessage>(), self.rules)
            && !self.ns2_is_new(request, cx.now)
        {
            cx.deliver(packet);
            return;
        }
        let message = message.clone();
        match (message.get::<AodvMessage>(), self.rules) {
            (None, _) => cx.drop_packet(self.node, packet, DropReason::NoListener),
            (Some(message), Rules::Rfc3561) => self.rfc_on_message(packet, message, from, cx),
            (Some(message), Rules::Ns2) => self.ns2_on_message(packet, message, from, cx),
        }
        self.find_deadline();
    }

    #[inline]
    fn on_heard(&mut self, packet: PacketId, from: Address, cx: &mut Context) {
        if self.rules == Rules::Rfc3561 {
            self.rfc_on_heard(packet, from, cx);
            self.find_deadline();
        }
    }

    #[inline]
    fn prefetch(&self, packet: &Packet) -> u32 {
        match &packet.body {
            Body::Routing(message) => match message.get::<AodvMessage>() {
                Some(AodvMessage::Request(request)) => self.heard.prefetch(request.originator),
                _ => self.address.0,
            },
            _ => self.address.0,
        }
    }

    fn on_link_failure(&mut self, packet: PacketId, next_hop: Address, cx: &mut Context) {
        match self.rules {
            _ if !self.params.by_link_layer() => {
                self.note_failure(packet, next_hop, cx);
                cx.drop_packet(self.node, packet, cx.link_failure);
            }
            Rules::Rfc3561 => self.rfc_on_link_failure(packet, next_hop, cx),
            Rules::Ns2 => self.ns2_on_link_failure(packet, next_hop, cx),
        }
        self.find_deadline();
    }

    fn on_taken_back(&mut self, packet: PacketId, _next_hop: Address, cx: &mut Context) {
        match self.rules {
            Rules::Rfc3561 => self.rfc_on_taken_back(packet, cx),
            Rules::Ns2 => {
                cx.unreachable(self.node, packet);
                cx.drop_packet(self.node, packet, DropReason::BrokenLink);
            }
        }
        self.find_deadline();
    }

    fn on_timer(&mut self, cx: &mut Context) {
        match self.rules {
            Rules::Rfc3561 => self.rfc_on_timer(cx),
            Rules::Ns2 => self.ns2_on_timer(cx),
        }
        self.find_deadline();
    }

    #[inline]
    fn deadline(&self) -> Time {
        debug_assert_eq!(self.deadline, self.present_deadline(), "found anew after whatever changed it");
        self.deadline
    }

    fn lookup(&self, destination: Address) -> Option<(Address, u8)> {
        self.table.up(destination).map(|route| (route.next_hop, route.hops))
    }

    fn held(&self) -> Vec<PacketId> {
        self.buffer.iter().collect()
    }
}
