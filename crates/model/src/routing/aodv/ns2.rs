//! AODV as ns-2.35 does it.
//!
//! The procedures run in the same order as in ns-2. The hop count of a message starts at one. ns-2 checks its tables
//! every half second from time zero. Here only those checks are made that would find something; their times are
//! computed.

use std::cmp::Reverse;

use hopyard_engine::{Span, Time};

use super::table::{INFINITY, State};
use super::{Aodv, AodvMessage, RepairTimer, Reply, Request, RouteError};
use crate::address::Address;
use crate::context::{Action, Context, DropReason};
use crate::packet::PacketId;

/// The first multiple of `interval` at or after `at`.
fn tick_from(at: Time, interval: Span) -> Time {
    if at == Time::NEVER {
        return at;
    }
    Time::from_nanos(at.nanos().div_ceil(interval.nanos()).saturating_mul(interval.nanos()))
}

impl Aodv {
    /// A data packet has no valid route.
    pub(super) fn ns2_route_lacking(&mut self, packet: PacketId, cx: &mut Context) {
        let it = &cx.packets[packet];
        let (source, destination) = (it.source, it.destination);
        let route = self.table.entry(destination);
        let (state, sequence) = (route.state, route.sequence);
        if source == self.address {
            self.buffer.push(packet, cx);
            self.ns2_send_request(destination, cx);
        } else if state == State::InRepair {
            self.buffer.push(packet, cx);
            self.ns2_find_next_search();
        } else {
            cx.unreachable(self.node, packet);
            self.ns2_send_error(vec![(destination, sequence)], Span::ZERO, cx);
            cx.drop_packet(self.node, packet, DropReason::NoRoute);
        }
    }

    /// Sends a request, unless the wait after the last one is not over.
    fn ns2_send_request(&mut self, destination: Address, cx: &mut Context) {
        let (diameter, threshold, increment) =
            (self.params.net_diameter, self.params.ttl_threshold, self.params.ttl_increment);
        let route = *self.table.entry(destination);
        let retries = self.params.rreq_retries;
        let longest = self.params.max_request_wait();
        let search = self.search_or_new(destination);
        if route.state == State::Up || search.retry_at > cx.now {
            self.ns2_find_next_search();
            return;
        }
        if search.floods > retries {
            search.retry_at = cx.now + longest;
            search.floods = 0;
            self.give_up(destination, cx);
            self.ns2_find_next_search();
            return;
        }
        // At first the last hop count is "infinite", so that the search begins with a flood of the network.
        let last = route.last_ttl.max(route.last_hops);
        let ttl = if last == 0 {
            self.params.ttl_start()
        } else if last < threshold {
            last.saturating_add(increment)
        } else {
            self.search_or_new(destination).floods += 1;
            diameter
        };
        let per_hop = self.ns2_time_per_hop(destination);
        let search = self.search_or_new(destination);
        let wait = per_hop * (2 * u64::from(ttl)) * u64::from(search.floods.max(1));
        search.ttl = ttl;
        search.retry_at = cx.now + wait.min(longest);
        let route = self.table.entry(destination);
        route.last_ttl = ttl;
        route.expires = Time::ZERO;
        self.request_id = self.request_id.wrapping_add(1);
        self.sequence = self.sequence.wrapping_add(2);
        let request = Request {
            id: self.request_id,
            hops: 1,
            destination,
            destination_sequence: route.sequence,
            unknown_sequence: false,
            gratuitous: false,
            destination_only: false,
            originator: self.address,
            originator_sequence: self.sequence,
            sent: cx.now,
        };
        self.send(AodvMessage::Request(request), Address::BROADCAST, ttl, Span::ZERO, cx);
        self.ns2_find_next_search();
    }

    /// The mean time per hop of the last discoveries.
    fn ns2_time_per_hop(&mut self, destination: Address) -> Span {
        let known = self.search_or_new(destination).latencies;
        let count = known.iter().filter(|latency| !latency.is_zero()).count() as u64;
        if count == 0 {
            return self.params.node_traversal_time;
        }
        known.iter().fold(Span::ZERO, |sum, &latency| sum + latency) / count
    }

    /// Finds when a search must next be checked: at the first tick at which a request may be sent for a destination
    /// that has packets waiting.
    fn ns2_find_next_search(&mut self) {
        self.next_search = self
            .searches
            .iter()
            .filter(|search| self.buffer.has(search.destination))
            .map(|search| tick_from(search.retry_at, self.params.purge_interval))
            .min()
            .unwrap_or(Time::NEVER);
    }

    pub(super) fn ns2_on_message(&mut self, packet: PacketId, message: &AodvMessage, from: Address, cx: &mut Context) {
        match message {
            AodvMessage::Request(request) => self.ns2_on_request(packet, *request, from, cx),
            AodvMessage::Reply(reply) => self.ns2_on_reply(packet, *reply, from, cx),
            AodvMessage::Error(error) => {
                self.ns2_on_error(error, from, cx);
                cx.deliver(packet);
            }
            AodvMessage::Hello { .. } => {
                self.ns2_on_hello(from, cx);
                cx.deliver(packet);
            }
            AodvMessage::ReplyAck => {
                cx.deliver(packet);
            }
        }
    }

    /// Whether a request is another's, and is heard for the first time.
    #[inline]
    pub(super) fn ns2_is_new(&mut self, request: &Request, now: Time) -> bool {
        request.originator != self.address && self.heard.note(request.originator, request.id, now, now + self.memory)
    }

    fn ns2_on_request(&mut self, packet: PacketId, mut request: Request, from: Address, cx: &mut Context) {
        // The reverse route comes first, whether or not it will be used.
        let least = cx.now + self.params.reverse_route_life(request.hops);
        let active = cx.now + self.params.active_route_timeout();
        let back = self.table.entry(request.originator);
        // An entry that is down has no lifetime of its own.
        let mut expires = if back.state == State::Up { back.expires.max(least) } else { least };
        back.expires = expires;
        let known_hops = if back.state == State::Down { INFINITY } else { back.hops };
        if request.originator_sequence > back.sequence
            || request.originator_sequence == back.sequence && request.hops < known_hops
        {
            back.sequence = request.originator_sequence;
            if let Some(search) = self.search(request.originator).filter(|search| search.retry_at > Time::ZERO) {
                // This node was itself looking for the originator.
                search.retry_at = Time::ZERO;
                search.floods = 0;
                expires = active;
                self.table.entry(request.originator).last_ttl = request.hops;
            }
            self.bring_up(request.originator, from, request.hops, expires, cx);
            self.flush(request.originator, Span::ZERO, cx);
            self.ns2_find_next_search();
        } else {
            self.table.expires(expires);
        }
        let known = self.table.get(request.destination).copied();
        if request.destination == self.address {
            self.sequence = self.sequence.max(request.destination_sequence).wrapping_add(1);
            self.sequence = self.sequence.wrapping_add(self.sequence % 2);
            let lifetime = self.params.my_route_timeout();
            self.ns2_send_reply(&request, 1, self.sequence, lifetime, cx);
            cx.deliver(packet);
        } else if let Some(route) = known.filter(|route| {
            // A route in repair has not lost its hop count and is offered all the same.
            route.state != State::Down && route.sequence >= request.destination_sequence
        }) {
            // Whole seconds, and modulo 2^32 where the route should have expired already.
            let left = (route.expires.seconds() - cx.now.seconds()) as i64 as u32;
            let lifetime = Span::from_secs(u64::from(left));
            self.ns2_send_reply(&request, route.hops.saturating_add(1), route.sequence, lifetime, cx);
            if let Some(back) = self.table.get(request.originator) {
                self.precursors.insert(request.destination, back.next_hop);
            }
            self.precursors.insert(request.originator, route.next_hop);
            cx.deliver(packet);
        } else {
            if let Some(route) = known {
                request.destination_sequence = request.destination_sequence.max(route.sequence);
            }
            request.hops = request.hops.saturating_add(1);
            let ttl = cx.packets[packet].ttl.saturating_sub(1);
            if ttl == 0 {
                cx.drop_packet(self.node, packet, DropReason::TtlExpired);
                return;
            }
            let delay = self.jitter();
            self.send_on(packet, AodvMessage::Request(request), Address::BROADCAST, ttl, delay, cx);
        }
    }

    fn ns2_send_reply(&mut self, request: &Request, hops: u8, sequence: u32, lifetime: Span, cx: &mut Context) {
        let Some(next_hop) = self.table.get(request.originator).map(|back| back.next_hop) else { return };
        let reply = Reply {
            hops,
            destination: request.destination,
            destination_sequence: sequence,
            originator: request.originator,
            lifetime,
            ack_required: false,
            sent: request.sent,
        };
        self.send(AodvMessage::Reply(reply), next_hop, self.params.net_diameter, Span::ZERO, cx);
    }

    fn ns2_on_reply(&mut self, packet: PacketId, mut reply: Reply, from: Address, cx: &mut Context) {
        let route = self.table.entry(reply.destination);
        let known_hops = if route.state == State::Down { INFINITY } else { route.hops };
        let news = route.sequence < reply.destination_sequence
            || route.sequence == reply.destination_sequence && known_hops > reply.hops;
        if news {
            route.sequence = reply.destination_sequence;
            route.last_ttl = reply.hops;
            self.bring_up(reply.destination, from, reply.hops, cx.now + reply.lifetime, cx);
            let mine = reply.originator == self.address;
            if mine {
                self.search_or_new(reply.destination);
            }
            if let Some(search) = self.search(reply.destination) {
                search.floods = 0;
                search.retry_at = Time::ZERO;
                if mine {
                    let place = usize::from(search.next_latency);
                    search.latencies[place] = cx.now.since(reply.sent) / u64::from(reply.hops.max(1));
                    search.next_latency = (search.next_latency + 1) % 3;
                }
            }
            self.flush(reply.destination, self.params.buffer_spacing, cx);
            self.ns2_find_next_search();
        }
        if reply.originator == self.address || !news {
            cx.deliver(packet);
            return;
        }
        let ttl = cx.packets[packet].ttl.saturating_sub(1);
        let Some(back) = self.table.get_mut(reply.originator).filter(|back| back.state != State::Down) else {
            cx.drop_packet(self.node, packet, DropReason::NoRoute);
            return;
        };
        if ttl == 0 {
            cx.drop_packet(self.node, packet, DropReason::TtlExpired);
            return;
        }
        back.expires = cx.now + self.params.active_route_timeout();
        let (next_hop, expires) = (back.next_hop, back.expires);
        self.table.expires(expires);
        reply.hops = reply.hops.saturating_add(1);
        self.send_on(packet, AodvMessage::Reply(reply), next_hop, ttl, Span::ZERO, cx);
        self.precursors.insert(reply.destination, next_hop);
    }

    fn ns2_on_error(&mut self, error: &RouteError, from: Address, cx: &mut Context) {
        let mut unreachable = Vec::new();
        for &(destination, sequence) in &error.unreachable {
            let Some(route) = self.table.get_mut(destination) else { continue };
            if route.state == State::Down || route.next_hop != from || route.sequence > sequence {
                continue;
            }
            route.sequence = sequence;
            self.take_down(destination, true, Time::NEVER, cx);
            cx.act(Action::TakeBack { node: self.node, next_hop: from });
            if self.precursors.any(destination) {
                unreachable.push((destination, sequence));
                self.precursors.clear(destination);
            }
        }
        if !unreachable.is_empty() {
            let delay = self.jitter();
            self.ns2_send_error(unreachable, delay, cx);
        }
    }

    fn ns2_send_error(&mut self, unreachable: Vec<(Address, u32)>, delay: Span, cx: &mut Context) {
        let error = RouteError { no_delete: false, unreachable };
        self.send(AodvMessage::Error(error), Address::BROADCAST, 1, delay, cx);
    }

    pub(super) fn ns2_on_link_failure(&mut self, packet: PacketId, next_hop: Address, cx: &mut Context) {
        let it = &cx.packets[packet];
        let (destination, hops) = (it.destination, it.hops);
        let Some(route) = self.table.get_mut(destination).filter(|_| !it.is_routing()) else {
            cx.drop_packet(self.node, packet, cx.link_failure);
            return;
        };
        let remaining = if route.state == State::Down { INFINITY } else { route.hops };
        if self.params.local_repair && hops > remaining {
            route.state = State::InRepair;
            self.buffer.push(packet, cx);
            self.ns2_send_request(destination, cx);
            let retry_at = self.search_or_new(destination).retry_at;
            let give_up = match self.params.repair_timer {
                RepairTimer::Literal => cx.now + retry_at.since(Time::ZERO),
                RepairTimer::Intended => retry_at,
            };
            self.repairs.push(Reverse((give_up, destination)));
            return;
        }
        cx.unreachable(self.node, packet);
        cx.drop_packet(self.node, packet, cx.link_failure);
        cx.act(Action::TakeBack { node: self.node, next_hop });
        self.ns2_lose_neighbour(next_hop, cx);
    }

    /// A neighbour is gone: every route through it goes down, and everyone in reach is told.
    fn ns2_lose_neighbour(&mut self, lost: Address, cx: &mut Context) {
        self.neighbours.retain(|&(neighbour, _)| neighbour != lost);
        self.sequence = self.sequence.wrapping_add(2);
        let mut unreachable = Vec::new();
        for route in self.table.iter_mut().filter(|route| route.state != State::Down && route.next_hop == lost) {
            route.sequence = route.sequence.wrapping_add(1);
            unreachable.push((route.destination, route.sequence));
        }
        for &(destination, _) in &unreachable {
            self.take_down(destination, true, Time::NEVER, cx);
        }
        self.precursors.remove_neighbour(lost);
        if !unreachable.is_empty() {
            self.ns2_send_error(unreachable, Span::ZERO, cx);
        }
    }

    fn ns2_on_hello(&mut self, from: Address, cx: &Context) {
        if self.meet_neighbour(from, cx.now + self.params.neighbour_expiry()) {
            self.sequence = self.sequence.wrapping_add(2);
        }
    }

    pub(super) fn ns2_deadline(&self) -> Time {
        let tick = self.params.purge_interval;
        let next_expiry = match self.table.next_expiry() {
            Time::NEVER => Time::NEVER,
            // A route is found expired at the first tick after its expiry, not at the same instant.
            expiry => tick_from(expiry + Span::from_nanos(1), tick),
        };
        let repair = self.repairs.peek().map_or(Time::NEVER, |&Reverse((at, _))| at);
        let loss = tick_from(self.next_loss, self.params.hello_interval);
        next_expiry.min(self.next_search).min(repair).min(loss).min(self.hello_at)
    }

    pub(super) fn ns2_on_timer(&mut self, cx: &mut Context) {
        if self.hello_at <= cx.now {
            let lifetime = self.params.hello_interval * (1 + u64::from(self.params.allowed_hello_loss));
            let hello = AodvMessage::Hello { sequence: self.sequence, lifetime };
            self.send(hello, Address::BROADCAST, 1, Span::ZERO, cx);
            let jitter = self.params.hello_jitter.seconds();
            let interval = self.params.hello_interval.seconds() + self.rng.uniform_in(-jitter, jitter);
            self.hello_at = cx.now + Span::from_secs_f64(interval);
        }
        if tick_from(self.next_loss, self.params.hello_interval) <= cx.now {
            for neighbour in self.lost_neighbours(cx.now) {
                self.report_failures(neighbour, cx);
                self.ns2_lose_neighbour(neighbour, cx);
            }
        }
        while let Some(&Reverse((_, destination))) = self.repairs.peek().filter(|&&Reverse((at, _))| at <= cx.now) {
            self.repairs.pop();
            self.ns2_repair_failed(destination, cx);
        }
        self.ns2_purge(cx);
    }

    fn ns2_repair_failed(&mut self, destination: Address, cx: &mut Context) {
        let route = self.table.entry(destination);
        if route.state != State::InRepair {
            return;
        }
        let sequence = route.sequence;
        self.take_down(destination, true, Time::NEVER, cx);
        if self.params.repair_timer == RepairTimer::Intended {
            // `give_up` tells the sources first.
            self.give_up(destination, cx);
            self.ns2_send_error(vec![(destination, sequence)], Span::ZERO, cx);
            self.ns2_find_next_search();
        }
    }

    /// What ns-2 does every half second: expired routes become invalid, and requests are sent for destinations that
    /// have packets waiting.
    fn ns2_purge(&mut self, cx: &mut Context) {
        if self.table.next_expiry() < cx.now {
            let expired: Vec<_> = self
                .table
                .iter_mut()
                .filter(|route| route.state == State::Up && route.expires < cx.now)
                .map(|route| {
                    route.sequence = route.sequence.wrapping_add(1);
                    route.destination
                })
                .collect();
            for destination in expired {
                self.take_down(destination, false, Time::NEVER, cx);
            }
            self.table.find_next_expiry(|route| route.state == State::Up);
        }
        if self.next_search <= cx.now {
            let due: Vec<_> = self
                .searches
                .iter()
                .filter(|search| search.retry_at <= cx.now && self.buffer.has(search.destination))
                .map(|search| search.destination)
                .collect();
            for destination in due {
                if self.table.up(destination).is_some() {
                    self.flush(destination, self.params.buffer_spacing, cx);
                } else {
                    self.ns2_send_request(destination, cx);
                }
            }
            self.ns2_find_next_search();
        }
    }
}
