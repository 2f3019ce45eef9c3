//! AOMDV as the papers of Marina and Das describe it. Steps that they leave to AODV follow RFC 3561.

use hopyard_engine::{Rng, Span, Time};

use super::discovery;
use super::message::{AomdvMessage, Request};
use super::multipath::Multipath;
use super::params::Params;
use super::state::State;
use super::table::{Entry, Learned, Path};
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason, Origin};
use crate::packet::PacketId;
use crate::params::Shared;
use crate::routing::common::on_demand::{Entry as _, INFINITY, Procedures, Rings};
use crate::routing::common::{Limiter, newer};

/// The procedures of Marina and Das.
#[derive(Debug)]
pub struct Marina2006 {
    state: State,
    /// The last packet heard, and the neighbour that sent it: the previous hop of a packet that is to be forwarded.
    last_heard: Option<(PacketId, Address)>,
    searches: Rings<()>,
    errors_sent: Limiter,
}

impl Procedures for Marina2006 {
    type Params = Params;

    fn new(params: &Shared<Params>, node: NodeId, rng: Rng) -> Self {
        Self {
            state: State::new(params, node, rng, 0),
            last_heard: None,
            searches: Rings::new(params.rreq_ratelimit),
            errors_sent: Limiter::new(params.rerr_ratelimit),
        }
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    #[inline]
    fn send_along(&mut self, packet: PacketId, delay: Span, cx: &mut Context) -> bool {
        self.forward(packet, delay, cx)
    }

    fn route_lacking(&mut self, packet: PacketId, cx: &mut Context) {
        let it = &cx.packets[packet];
        let (source, destination) = (it.source, it.destination);
        if self.state.is_own(source, cx) {
            self.state.buffer.push(packet, cx);
            self.look_for(destination, cx);
            return;
        }
        // RFC 3561 §6.11 case (ii). The neighbour that sent the packet uses the route still, so that the entry must not
        // be forgotten yet.
        cx.unreachable(self.state.node, packet);
        let forget = self.forget_at(cx.now);
        let sequence = match self.state.table.get_mut(destination) {
            Some(entry) => {
                entry.forget = entry.forget.max(forget);
                if entry.known_sequence { entry.sequence } else { 0 }
            }
            None => 0,
        };
        self.send_error(Origin::Own, &[(destination, sequence)], cx);
        cx.drop_packet(self.state.node, packet, DropReason::NoRoute);
    }

    fn on_message(&mut self, packet: PacketId, message: &AomdvMessage, from: Address, cx: &mut Context) {
        discovery::on_message(self, packet, message, from, cx);
    }

    #[inline]
    fn on_heard(&mut self, packet: PacketId, from: Address, cx: &mut Context) -> bool {
        self.last_heard = Some((packet, from));
        // RFC 3561 §6.9: any packet shows that the neighbour is there.
        self.state.hear_neighbour(from, cx.now);
        let it = &cx.packets[packet];
        if !it.is_routing() && self.state.is_own(it.destination, cx) {
            // The destination is part of the active route, and the route back is in use.
            let (source, until) = (it.source, cx.now + self.state.params.active_route_timeout);
            self.keep(source, from, until);
            self.state.take_part(until);
        }
        true
    }

    fn on_link_failure(&mut self, packet: PacketId, next_hop: Address, reason: DropReason, cx: &mut Context) {
        let it = &cx.packets[packet];
        let (destination, routing) = (it.destination, it.is_routing());
        cx.act(Action::TakeBack { node: self.state.node, next_hop });
        let other = |entry: &Entry| entry.paths.iter().any(|path| path.next_hop != next_hop);
        let recoverable = self.may_salvage(packet, cx) && self.state.table.get(destination).is_some_and(other);
        if !routing && !recoverable {
            cx.unreachable(self.state.node, packet);
        }
        self.break_link(next_hop, cx);
        if routing {
            cx.drop_packet(self.state.node, packet, reason);
        } else {
            self.recover(packet, reason, cx);
        }
    }

    fn on_taken_back(&mut self, packet: PacketId, cx: &mut Context) {
        if cx.packets[packet].is_routing() {
            cx.drop_packet(self.state.node, packet, DropReason::BrokenLink);
        } else {
            if self.state.table.up(cx.packets[packet].destination).is_none() || !self.may_salvage(packet, cx) {
                cx.unreachable(self.state.node, packet);
            }
            self.recover(packet, DropReason::BrokenLink, cx);
        }
    }

    fn on_timer(&mut self, cx: &mut Context) {
        self.state.buffer.expire(cx);
        if self.state.hello_at <= cx.now {
            self.hello(cx);
        }
        if self.state.next_loss <= cx.now {
            for neighbour in self.state.lost_neighbours(cx.now) {
                self.state.report_failures(neighbour, cx);
                cx.act(Action::TakeBack { node: self.state.node, next_hop: neighbour });
                self.break_link(neighbour, cx);
            }
        }
        if self.searches.next_at() <= cx.now {
            self.search_on(cx);
        }
        if self.state.table.next_expiry() < cx.now {
            self.purge(cx);
        }
    }

    fn next_deadline(&self) -> Time {
        // A path is still valid at the time at which it expires.
        (self.state.table.next_expiry() + Span::from_nanos(1))
            .min(self.searches.next_at())
            .min(self.state.buffer.next_expiry())
            .min(self.state.next_loss)
            .min(self.state.hello_at)
    }
}

impl Multipath for Marina2006 {
    fn request_forgotten(&self, now: Time) -> Time {
        now + self.state.memory
    }

    /// RFC 3561 §6.1, §6.6.1: at least what the originator knows.
    fn number_for(&mut self, request: &Request) -> u32 {
        if !request.unknown_sequence && newer(request.destination_sequence, self.state.sequence) {
            self.state.sequence = request.destination_sequence;
        }
        self.state.sequence
    }

    /// The destination answers every copy that came without a loop. The reverse path of the copy need not be disjoint
    /// from the others, because nodes on the way may know a path that is.
    fn answers(&self, _request: &Request, learned: Learned) -> bool {
        learned.is_acceptable()
    }

    fn found(&mut self, destination: Address, cx: &mut Context) {
        if self.state.table.up(destination).is_none() {
            return;
        }
        self.searches.end(destination);
        if self.state.buffer.has(destination) {
            self.flush(destination, Span::ZERO, cx);
        }
    }

    /// RFC 3561 §6.5, §6.7: the neighbour can be reached. In a crowd this keeps discoveries few: the first flood lets
    /// everybody know everybody.
    fn met(&mut self, neighbour: Address, cx: &mut Context) {
        self.hear(neighbour, cx.now + self.state.params.active_route_timeout, cx);
    }

    /// The way back to the source is in use too (RFC 3561 §6.2), through the neighbour that sent the packet.
    fn on_use(&mut self, source: Address, until: Time, cx: &Context) {
        if !self.state.is_own(source, cx)
            && let Some((_, previous)) = self.last_heard
        {
            self.keep(source, previous, until);
        }
        self.state.take_part(until);
    }

    fn on_error(&mut self, unreachable: &[(Address, u32)], from: Address, cx: &mut Context) {
        let forget = self.forget_at(cx.now);
        let mut lost = Vec::new();
        for &(destination, sequence) in unreachable {
            let Some(entry) = self.state.table.get_mut(destination) else { continue };
            if !entry.paths.iter().any(|path| path.next_hop == from) {
                continue;
            }
            if newer(sequence, entry.highest_heard) {
                entry.highest_heard = sequence;
            }
            // An error without a newer number is from a node that has forgotten the destination. The number is raised
            // all the same: nodes whose paths lead through this one may not offer them.
            let raised = self.state.cut(destination, from, Entry::raised, forget, cx);
            lost.extend(raised.map(|sequence| (destination, sequence)));
        }
        self.send_error(Origin::Forwarded, &lost, cx);
    }

    fn on_hello(&mut self, sequence: u32, _lifetime: Span, from: Address, cx: &mut Context) {
        let lost_at = cx.now + self.state.common.neighbour_expiry;
        self.state.meet_neighbour(from, lost_at, lost_at);
        let this = self.state.address;
        self.state.learn(from, sequence, 0, from, this, lost_at, cx);
        // After a break this node has a higher number than the neighbour, which is one hop away all the same (§6.9).
        self.hear(from, lost_at, cx);
    }
}

impl Marina2006 {
    /// A neighbour was heard: it is one hop away until then.
    fn hear(&mut self, neighbour: Address, expires: Time, cx: &mut Context) {
        let limits = self.state.params.limits();
        let path = Path { next_hop: neighbour, last_hop: self.state.address, hops: 1, expires };
        self.state.change(neighbour, true, cx, |entry| entry.meet(path, limits));
        self.found(neighbour, cx);
    }

    fn forget_at(&self, now: Time) -> Time {
        now + self.state.params.delete_period
    }

    /// Extends the lifetime of the path to a destination through a neighbour.
    #[inline]
    fn keep(&mut self, destination: Address, next_hop: Address, until: Time) {
        if let Some(entry) = self.state.table.get_mut(destination)
            && let Some(path) = entry.paths.iter_mut().find(|path| path.next_hop == next_hop)
        {
            path.expires = path.expires.max(until);
        }
    }

    /// Sends a HELLO, if it is due (RFC 3561 §6.9).
    fn hello(&mut self, cx: &mut Context) {
        let lifetime = self.state.params.hello_interval * u64::from(self.state.params.allowed_hello_loss);
        let sequence = self.state.sequence;
        self.state.hello(|sender| AomdvMessage::Hello { sender, sequence, lifetime }, cx);
    }

    /// Tells all in reach of routes that were lost, if the rate limit lets it.
    fn send_error(&mut self, origin: Origin, lost: &[(Address, u32)], cx: &mut Context) {
        if !lost.is_empty() && self.errors_sent.pass(cx.now).is_ok() {
            let delay = self.state.jitter();
            self.state.send_error(origin, lost, delay, cx);
        }
    }

    /// The link to a neighbour is broken. An error is sent only for routes whose last path led through it.
    fn break_link(&mut self, lost: Address, cx: &mut Context) {
        self.state.forget_neighbour(lost);
        let forget = self.forget_at(cx.now);
        let mut outcry = Vec::new();
        for destination in self.state.behind(lost) {
            let raised = self.state.cut(destination, lost, Entry::raised, forget, cx);
            outcry.extend(raised.map(|sequence| (destination, sequence)));
        }
        self.send_error(Origin::Own, &outcry, cx);
    }

    /// A packet that could not be sent takes another path. Without one, it waits at its source for a new route, and is
    /// lost elsewhere.
    fn recover(&mut self, packet: PacketId, reason: DropReason, cx: &mut Context) {
        if self.salvage(packet, cx) {
            return;
        }
        let it = &cx.packets[packet];
        let (own, destination, error) = (self.state.is_own(it.source, cx), it.destination, it.is_error());
        if own && !error {
            self.state.buffer.push(packet, cx);
            if self.state.table.up(destination).is_some() {
                self.flush(destination, Span::ZERO, cx);
            } else {
                self.look_for(destination, cx);
            }
        } else {
            cx.drop_packet(self.state.node, packet, reason);
        }
    }

    /// Looks for a destination, unless that is being done (RFC 3561 §6.3, §6.4).
    fn look_for(&mut self, destination: Address, cx: &mut Context) {
        if self.searches.get_mut(destination).is_some() {
            return;
        }
        let ttl = match self.state.table.get(destination) {
            Some(entry) if entry.last_hops != INFINITY => {
                entry.last_hops.saturating_add(self.state.params.ttl_increment)
            }
            _ => self.state.params.ttl_start(),
        };
        self.searches.with_ttl(destination, ttl.min(self.state.params.net_diameter));
        self.send_request(destination, Span::ZERO, cx);
        self.searches.find_next();
    }

    /// Sends the request of a search, or sets it aside until the rate limit lets it pass.
    fn send_request(&mut self, destination: Address, delay: Span, cx: &mut Context) {
        let Some(search) = self.searches.admit(destination, cx.now) else { return };
        let (params, ttl) = (&self.state.params, search.ttl);
        let (ring, flood) = (params.ring_traversal_time(ttl), params.net_traversal_time());
        let wait = search.wait(ttl >= params.net_diameter, false, ring, flood);
        search.retry_at = cx.now + wait.min(params.max_request_wait());
        // RFC 3561 §6.1: a node advances its own number before it asks for a route.
        self.state.sequence = self.state.sequence.wrapping_add(1);
        self.state.request_id = self.state.request_id.wrapping_add(1);
        let known = self.state.table.get(destination).filter(|entry| entry.known_sequence).map(|entry| entry.sequence);
        let request = Request {
            id: self.state.request_id,
            hops: 0,
            destination,
            destination_sequence: known.unwrap_or(0),
            unknown_sequence: known.is_none(),
            originator: self.state.address,
            originator_sequence: self.state.sequence,
            first_hop: self.state.address,
        };
        self.state.send(AomdvMessage::Request(request), Address::BROADCAST, ttl, delay, cx);
    }

    /// Goes on with the searches that have waited long enough.
    fn search_on(&mut self, cx: &mut Context) {
        let (diameter, threshold) = (self.state.params.net_diameter, self.state.params.ttl_threshold);
        for (destination, search) in self.searches.due(cx.now) {
            // If the requests of two nodes collided, a random delay prevents the next collision.
            let delay = self.state.jitter();
            if search.held_back {
                self.send_request(destination, delay, cx);
            } else if search.ttl >= diameter && search.floods >= self.state.params.rreq_retries {
                self.searches.end(destination);
                self.state.give_up(destination, cx);
            } else {
                let ttl = search.ttl.saturating_add(self.state.params.ttl_increment);
                let ttl = if ttl > threshold.min(diameter) { diameter } else { ttl };
                self.searches.with_ttl(destination, ttl);
                self.send_request(destination, delay, cx);
            }
        }
        self.searches.find_next();
    }

    /// Each path expires by itself. A route whose last path expires counts as one whose link is lost (RFC 3561 §6.1),
    /// but nobody is told. Entries without paths are forgotten later.
    fn purge(&mut self, cx: &mut Context) {
        let now = cx.now;
        // RFC 3561 §6.4: an entry is kept while its destination is looked for. Otherwise the search would accept older
        // sequence numbers.
        let waiting = now + self.state.params.net_traversal_time() * 2;
        for destination in self.searches.destinations() {
            if let Some(entry) = self.state.table.get_mut(destination)
                && entry.forget < now
            {
                entry.forget = waiting;
            }
        }
        self.state.table.retain(|entry| entry.is_up() || entry.forget >= now);
        let forget = self.forget_at(now);
        for destination in self.state.expire_paths(cx) {
            let entry = self.state.table.entry(destination);
            let sequence = entry.raised();
            entry.go_down(sequence, forget);
            entry.shared = false;
        }
        self.state.table.find_next_expiry(|entry| Some(entry.next_change()));
    }
}
