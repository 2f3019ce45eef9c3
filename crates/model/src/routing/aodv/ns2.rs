//! AODV as ns-2.35 does it.
//!
//! The procedures run in the same order as in ns-2. The hop count of a message starts at one. ns-2 checks its tables
//! every half second from time zero. Here only those checks are made that would find something; their times are
//! computed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hopyard_engine::{Rng, Span, Time};

use super::forwarding::Forwarding;
use super::message::{AodvMessage, Reply, Request, RouteError};
use super::params::{Params, RepairTimer};
use super::state::State;
use super::table::RouteState;
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason, Origin};
use crate::packet::PacketId;
use crate::params::Shared;
use crate::routing::common::Searches;
use crate::routing::common::on_demand::{Entry as _, INFINITY, Procedures, tick_from};

/// How many discoveries the mean time per hop is taken of.
const LATENCIES: usize = 3;

/// The next hop of a route that is down. In ns-2 it is 0, the address of the first node.
const CLEARED: Address = Address(0);

/// A destination that is or was looked for.
#[derive(Clone, Copy, Debug, Default)]
struct Search {
    /// Floods of the whole network so far.
    floods: u8,
    /// When the next request may be sent.
    retry_at: Time,
    /// How long the last discoveries took for each hop; zero where there was none.
    latencies: [Span; LATENCIES],
    /// Where the next one is noted.
    next_latency: u8,
}

/// The procedures of ns-2.35.
#[derive(Debug)]
#[repr(C)]
pub struct Ns2 {
    state: State,
    searches: Searches<Search>,
    /// When the next search must be looked at.
    next_search: Time,
    /// Repairs: the time at which each is given up, and its destination.
    repairs: BinaryHeap<Reverse<(Time, Address)>>,
}

impl Procedures for Ns2 {
    type Params = Params;

    fn new(params: &Shared<Params>, node: NodeId, rng: Rng) -> Self {
        Self {
            // ns-2 starts at two and keeps its own number even.
            state: State::new(params, node, rng, 2),
            searches: Searches::default(),
            next_search: Time::NEVER,
            repairs: BinaryHeap::new(),
        }
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    fn start(&mut self, cx: &mut Context) {
        if self.state.common.by_hello {
            self.state.hello_at = cx.now;
        }
    }

    /// Requests of this node, and those heard before, are ignored.
    #[inline]
    fn ignores(&mut self, message: &AodvMessage, now: Time) -> bool {
        let AodvMessage::Request(request) = message else { return false };
        let state = &mut self.state;
        request.originator == state.address
            || !state.heard.note(request.originator, request.id, now, now + state.memory)
    }

    #[inline]
    fn send_along(&mut self, packet: PacketId, delay: Span, cx: &mut Context) -> bool {
        self.forward(packet, delay, cx)
    }

    fn route_lacking(&mut self, packet: PacketId, cx: &mut Context) {
        let it = &cx.packets[packet];
        let (source, destination) = (it.source, it.destination);
        let route = self.state.table.entry(destination);
        let (state, sequence) = (route.state, route.sequence);
        if source == self.state.address {
            self.state.buffer.push(packet, cx);
            self.send_request(destination, cx);
        } else if state == RouteState::InRepair {
            self.state.buffer.push(packet, cx);
            self.find_next_search();
        } else {
            cx.unreachable(self.state.node, packet);
            self.send_error(Origin::Own, vec![(destination, sequence)], Span::ZERO, cx);
            cx.drop_packet(self.state.node, packet, DropReason::NoRoute);
        }
    }

    fn on_message(&mut self, packet: PacketId, message: &AodvMessage, from: Address, cx: &mut Context) {
        match message {
            AodvMessage::Request(request) => self.on_request(packet, *request, from, cx),
            AodvMessage::Reply(reply) => self.on_reply(packet, *reply, from, cx),
            AodvMessage::Error(error) => {
                self.on_error(error, from, cx);
                cx.deliver(packet);
            }
            AodvMessage::Hello { .. } => {
                self.on_hello(from, cx);
                cx.deliver(packet);
            }
            AodvMessage::ReplyAck => {
                cx.deliver(packet);
            }
        }
    }

    fn on_link_failure(&mut self, packet: PacketId, next_hop: Address, reason: DropReason, cx: &mut Context) {
        let it = &cx.packets[packet];
        let (destination, hops) = (it.destination, it.hops);
        let Some(route) = self.state.table.get_mut(destination).filter(|_| !it.is_routing()) else {
            cx.drop_packet(self.state.node, packet, reason);
            return;
        };
        let remaining = if route.state == RouteState::Down { INFINITY } else { route.hops };
        if self.state.params.local_repair && hops > remaining {
            route.state = RouteState::InRepair;
            self.state.buffer.push(packet, cx);
            self.send_request(destination, cx);
            let retry_at = self.searches.entry(destination).retry_at;
            let give_up = match self.state.params.repair_timer {
                RepairTimer::Literal => cx.now + retry_at.since(Time::ZERO),
                RepairTimer::Intended => retry_at,
            };
            self.repairs.push(Reverse((give_up, destination)));
            return;
        }
        cx.unreachable(self.state.node, packet);
        cx.drop_packet(self.state.node, packet, reason);
        cx.act(Action::TakeBack { node: self.state.node, next_hop });
        self.lose_neighbour(next_hop, cx);
    }

    fn on_taken_back(&mut self, packet: PacketId, cx: &mut Context) {
        cx.unreachable(self.state.node, packet);
        cx.drop_packet(self.state.node, packet, DropReason::BrokenLink);
    }

    fn on_timer(&mut self, cx: &mut Context) {
        if self.state.hello_at <= cx.now {
            let lifetime = self.state.params.hello_interval * (1 + u64::from(self.state.params.allowed_hello_loss));
            let hello = AodvMessage::Hello { sender: self.state.address, sequence: self.state.sequence, lifetime };
            self.state.send(hello, Address::BROADCAST, 1, Span::ZERO, cx);
            self.state.hello_at = cx.now + self.state.hello_interval();
        }
        if tick_from(self.state.next_loss, self.state.params.hello_interval) <= cx.now {
            for neighbour in self.state.lost_neighbours(cx.now) {
                self.state.report_failures(neighbour, cx);
                self.lose_neighbour(neighbour, cx);
            }
        }
        while let Some(&Reverse((_, destination))) = self.repairs.peek().filter(|&&Reverse((at, _))| at <= cx.now) {
            self.repairs.pop();
            self.repair_failed(destination, cx);
        }
        self.purge(cx);
    }

    fn next_deadline(&self) -> Time {
        let tick = self.state.params.purge_interval;
        let next_expiry = match self.state.table.next_expiry() {
            Time::NEVER => Time::NEVER,
            // A route is found expired at the first tick after its expiry, not at the same instant.
            expiry => tick_from(expiry + Span::from_nanos(1), tick),
        };
        let repair = self.repairs.peek().map_or(Time::NEVER, |&Reverse((at, _))| at);
        let loss = tick_from(self.state.next_loss, self.state.params.hello_interval);
        next_expiry.min(self.next_search).min(repair).min(loss).min(self.state.hello_at)
    }
}

impl Forwarding for Ns2 {
    #[inline]
    fn extend(&mut self, _source: Address, destination: Address, _next_hop: Address, until: Time) {
        if let Some(route) = self.state.table.get_mut(destination) {
            route.expires = until;
        }
        self.state.table.expires(until);
    }
}

impl Ns2 {
    /// Sends a request, unless the wait after the last one is not over.
    fn send_request(&mut self, destination: Address, cx: &mut Context) {
        let (diameter, threshold, increment) =
            (self.state.params.net_diameter, self.state.params.ttl_threshold, self.state.params.ttl_increment);
        let route = *self.state.table.entry(destination);
        let retries = self.state.params.rreq_retries;
        let longest = self.state.params.max_request_wait();
        let search = self.searches.entry(destination);
        if route.state == RouteState::Up || search.retry_at > cx.now {
            self.find_next_search();
            return;
        }
        if search.floods > retries {
            search.retry_at = cx.now + longest;
            search.floods = 0;
            self.state.give_up(destination, cx);
            self.find_next_search();
            return;
        }
        // At first the last hop count is "infinite", so that the search begins with a flood of the network.
        let last = route.last_ttl.max(route.last_hops);
        let ttl = if last == 0 {
            self.state.params.ttl_start()
        } else if last < threshold {
            last.saturating_add(increment)
        } else {
            self.searches.entry(destination).floods += 1;
            diameter
        };
        let per_hop = self.time_per_hop(destination);
        let search = self.searches.entry(destination);
        let wait = per_hop * (2 * u64::from(ttl)) * u64::from(search.floods.max(1));
        search.retry_at = cx.now + wait.min(longest);
        let route = self.state.table.entry(destination);
        route.last_ttl = ttl;
        route.expires = Time::ZERO;
        self.state.request_id = self.state.request_id.wrapping_add(1);
        self.state.sequence = self.state.sequence.wrapping_add(2);
        let request = Request {
            id: self.state.request_id,
            hops: 1,
            destination,
            destination_sequence: route.sequence,
            unknown_sequence: false,
            gratuitous: false,
            destination_only: false,
            originator: self.state.address,
            originator_sequence: self.state.sequence,
            sent: cx.now,
        };
        self.state.send(AodvMessage::Request(request), Address::BROADCAST, ttl, Span::ZERO, cx);
        self.find_next_search();
    }

    /// The mean time per hop of the last discoveries.
    fn time_per_hop(&mut self, destination: Address) -> Span {
        let known = self.searches.entry(destination).latencies;
        let count = known.iter().filter(|latency| !latency.is_zero()).count() as u64;
        if count == 0 {
            return self.state.params.node_traversal_time;
        }
        known.iter().fold(Span::ZERO, |sum, &latency| sum + latency) / count
    }

    /// The destinations that are or were looked for, each with the time at which the next request may be sent.
    fn retries(&self) -> impl Iterator<Item = (Address, Time)> {
        self.searches.iter().map(|(destination, search)| (destination, search.retry_at))
    }

    /// Finds when a search must next be looked at.
    fn find_next_search(&mut self) {
        self.next_search = self.state.next_look(self.retries(), self.state.params.purge_interval);
    }

    fn on_request(&mut self, packet: PacketId, mut request: Request, from: Address, cx: &mut Context) {
        // The reverse route comes first, whether or not it will be used.
        let least = cx.now + self.state.params.reverse_route_life(request.hops);
        let active = cx.now + self.state.common.active_route_timeout;
        let back = self.state.table.entry(request.originator);
        // An entry that is down has no lifetime of its own.
        let mut expires = if back.state == RouteState::Up { back.expires.max(least) } else { least };
        back.expires = expires;
        let known_hops = if back.state == RouteState::Down { INFINITY } else { back.hops };
        if request.originator_sequence > back.sequence
            || request.originator_sequence == back.sequence && request.hops < known_hops
        {
            back.sequence = request.originator_sequence;
            if let Some(search) =
                self.searches.get_mut(request.originator).filter(|search| search.retry_at > Time::ZERO)
            {
                // This node was itself looking for the originator.
                search.retry_at = Time::ZERO;
                search.floods = 0;
                expires = active;
                self.state.table.entry(request.originator).last_ttl = request.hops;
            }
            self.state.bring_up(request.originator, from, request.hops, expires, cx);
            self.flush(request.originator, Span::ZERO, cx);
            self.find_next_search();
        } else {
            self.state.table.expires(expires);
        }
        let known = self.state.table.get(request.destination).copied();
        if request.destination == self.state.address {
            self.state.sequence = self.state.sequence.max(request.destination_sequence).wrapping_add(1);
            self.state.sequence = self.state.sequence.wrapping_add(self.state.sequence % 2);
            let lifetime = self.state.params.my_route_timeout();
            self.send_reply(&request, 1, self.state.sequence, lifetime, cx);
            cx.deliver(packet);
        } else if let Some(route) = known.filter(|route| {
            // A route in repair has not lost its hop count and is offered all the same.
            route.state != RouteState::Down && route.sequence >= request.destination_sequence
        }) {
            // Whole seconds, and modulo 2^32 where the route should have expired already.
            let left = (route.expires.seconds() - cx.now.seconds()) as i64 as u32;
            let lifetime = Span::from_secs(u64::from(left));
            self.send_reply(&request, route.hops.saturating_add(1), route.sequence, lifetime, cx);
            if let Some(back) = self.state.table.get(request.originator) {
                self.state.own.precursors.insert(request.destination, back.next_hop);
            }
            self.state.own.precursors.insert(request.originator, route.next_hop);
            cx.deliver(packet);
        } else {
            if let Some(route) = known {
                request.destination_sequence = request.destination_sequence.max(route.sequence);
            }
            request.hops = request.hops.saturating_add(1);
            let ttl = cx.packets[packet].ttl.saturating_sub(1);
            if ttl == 0 {
                cx.drop_packet(self.state.node, packet, DropReason::TtlExpired);
                return;
            }
            let delay = self.state.jitter();
            self.state.send_on(packet, AodvMessage::Request(request), Address::BROADCAST, ttl, delay, cx);
        }
    }

    fn send_reply(&mut self, request: &Request, hops: u8, sequence: u32, lifetime: Span, cx: &mut Context) {
        let Some(next_hop) = self.state.table.get(request.originator).map(|back| back.next_hop) else { return };
        let reply = Reply {
            hops,
            destination: request.destination,
            destination_sequence: sequence,
            originator: request.originator,
            lifetime,
            ack_required: false,
            internet: None,
            sent: request.sent,
        };
        self.state.send(AodvMessage::Reply(reply), next_hop, self.state.params.net_diameter, Span::ZERO, cx);
    }

    fn on_reply(&mut self, packet: PacketId, mut reply: Reply, from: Address, cx: &mut Context) {
        let route = self.state.table.entry(reply.destination);
        let known_hops = if route.state == RouteState::Down { INFINITY } else { route.hops };
        let news = route.sequence < reply.destination_sequence
            || route.sequence == reply.destination_sequence && known_hops > reply.hops;
        if news {
            route.sequence = reply.destination_sequence;
            route.last_ttl = reply.hops;
            self.state.bring_up(reply.destination, from, reply.hops, cx.now + reply.lifetime, cx);
            let mine = reply.originator == self.state.address;
            if mine {
                self.searches.entry(reply.destination);
            }
            if let Some(search) = self.searches.get_mut(reply.destination) {
                search.floods = 0;
                search.retry_at = Time::ZERO;
                if mine {
                    let place = usize::from(search.next_latency);
                    search.latencies[place] = cx.now.since(reply.sent) / u64::from(reply.hops.max(1));
                    search.next_latency = (search.next_latency + 1) % LATENCIES as u8;
                }
            }
            self.flush(reply.destination, self.state.params.buffer_spacing, cx);
            self.find_next_search();
        }
        if reply.originator == self.state.address || !news {
            cx.deliver(packet);
            return;
        }
        let ttl = cx.packets[packet].ttl.saturating_sub(1);
        let Some(back) = self.state.table.get_mut(reply.originator).filter(|back| back.state != RouteState::Down)
        else {
            cx.drop_packet(self.state.node, packet, DropReason::NoRoute);
            return;
        };
        if ttl == 0 {
            cx.drop_packet(self.state.node, packet, DropReason::TtlExpired);
            return;
        }
        back.expires = cx.now + self.state.common.active_route_timeout;
        let (next_hop, expires) = (back.next_hop, back.expires);
        self.state.table.expires(expires);
        reply.hops = reply.hops.saturating_add(1);
        self.state.send_on(packet, AodvMessage::Reply(reply), next_hop, ttl, Span::ZERO, cx);
        self.state.own.precursors.insert(reply.destination, next_hop);
    }

    fn on_error(&mut self, error: &RouteError, from: Address, cx: &mut Context) {
        let mut unreachable = Vec::new();
        for &(destination, sequence) in &error.unreachable {
            let Some(route) = self.state.table.get_mut(destination) else { continue };
            if route.state == RouteState::Down || route.next_hop != from || route.sequence > sequence {
                continue;
            }
            route.sequence = sequence;
            self.take_down(destination, true, cx);
            cx.act(Action::TakeBack { node: self.state.node, next_hop: from });
            if self.state.own.precursors.any(destination) {
                unreachable.push((destination, sequence));
                self.state.own.precursors.clear(destination);
            }
        }
        if !unreachable.is_empty() {
            let delay = self.state.jitter();
            self.send_error(Origin::Forwarded, unreachable, delay, cx);
        }
    }

    fn send_error(&mut self, origin: Origin, unreachable: Vec<(Address, u32)>, delay: Span, cx: &mut Context) {
        let error = RouteError { no_delete: false, unreachable };
        self.state.send_as(origin, AodvMessage::Error(error), Address::BROADCAST, 1, delay, cx);
    }

    /// Makes a route invalid, and clears its next hop. A reply to a request that renews no route goes there all the
    /// same.
    fn take_down(&mut self, destination: Address, broken: bool, cx: &mut Context) {
        self.state.take_down(destination, broken, Time::NEVER, cx);
        self.state.table.entry(destination).next_hop = CLEARED;
    }

    /// A neighbour is gone: every route through it goes down, and everyone in reach is told.
    fn lose_neighbour(&mut self, lost: Address, cx: &mut Context) {
        self.state.forget_neighbour(lost);
        self.state.sequence = self.state.sequence.wrapping_add(2);
        let mut unreachable = Vec::new();
        for route in
            self.state.table.iter_mut().filter(|route| route.state != RouteState::Down && route.next_hop == lost)
        {
            route.sequence = route.sequence.wrapping_add(1);
            unreachable.push((route.destination, route.sequence));
        }
        for &(destination, _) in &unreachable {
            self.take_down(destination, true, cx);
        }
        self.state.own.precursors.remove_neighbour(lost);
        if !unreachable.is_empty() {
            self.send_error(Origin::Own, unreachable, Span::ZERO, cx);
        }
    }

    fn on_hello(&mut self, from: Address, cx: &Context) {
        let lost_at = cx.now + self.state.common.neighbour_expiry;
        if self.state.meet_neighbour(from, lost_at, lost_at) {
            self.state.sequence = self.state.sequence.wrapping_add(2);
        }
    }

    fn repair_failed(&mut self, destination: Address, cx: &mut Context) {
        let route = self.state.table.entry(destination);
        if route.state != RouteState::InRepair {
            return;
        }
        let sequence = route.sequence;
        self.take_down(destination, true, cx);
        if self.state.params.repair_timer == RepairTimer::Intended {
            // `give_up` tells the sources first.
            self.state.give_up(destination, cx);
            self.send_error(Origin::Own, vec![(destination, sequence)], Span::ZERO, cx);
            self.find_next_search();
        }
    }

    /// ns-2's work of every half second: expired routes become invalid, and requests are sent for destinations that
    /// have packets waiting.
    fn purge(&mut self, cx: &mut Context) {
        if self.state.table.next_expiry() < cx.now {
            let expired: Vec<_> = self
                .state
                .table
                .iter_mut()
                .filter(|route| route.state == RouteState::Up && route.expires < cx.now)
                .map(|route| {
                    route.sequence = route.sequence.wrapping_add(1);
                    route.destination
                })
                .collect();
            for destination in expired {
                self.take_down(destination, false, cx);
            }
            self.state.table.find_next_expiry(|route| route.is_up().then_some(route.expires));
        }
        if self.next_search <= cx.now {
            for destination in self.state.to_retry(self.retries(), cx.now) {
                if self.state.table.up(destination).is_some() {
                    self.flush(destination, self.state.params.buffer_spacing, cx);
                } else {
                    self.send_request(destination, cx);
                }
            }
            self.find_next_search();
        }
    }
}
