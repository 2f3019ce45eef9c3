//! AODV as RFC 3561 describes it: forwarding, broken links, errors, connectivity and timers.

mod discovery;
mod gateways;
mod interfaces;
mod messages;

use hopyard_engine::{Rng, Span, Time};

use super::forwarding::Forwarding;
use super::message::{AodvMessage, RouteError};
use super::params::Params;
use super::state::State;
use super::table::RouteState;
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason, Origin};
use crate::packet::PacketId;
use crate::params::Shared;
use crate::routing::common::on_demand::{Procedures, Rings};
use crate::routing::common::{Limiter, newer};

/// What only AODV notes of a search.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    /// Whether this is a local repair.
    repair: bool,
    /// A gateway that has answered, if the destination counts as outside only when nobody else answers.
    gateway: Option<Address>,
}

/// The procedures of RFC 3561.
#[derive(Debug)]
#[repr(C)]
pub struct Rfc3561 {
    state: State,
    /// The last packet heard, and the neighbour that sent it: the previous hop of a packet that is to be forwarded.
    last_heard: Option<(PacketId, Address)>,
    searches: Rings<Own>,
    errors_sent: Limiter,
    /// Neighbours that have been sent a reply with flag A, each with the time by which it must be acknowledged.
    awaited_acks: Vec<(Address, Time)>,
    /// Neighbours that do not hear this node, each with the time until which their requests are ignored.
    blacklist: Vec<(Address, Time)>,
    /// Nodes that have sent too few HELLO messages to count as neighbours: how many, and when the last one came.
    strangers: Vec<(Address, u8, Time)>,
}

/// The receivers of an error, and its content.
#[derive(Debug, Default)]
struct Outcry {
    unreachable: Vec<(Address, u32)>,
    /// Neighbours that use one of the routes, sorted.
    recipients: Vec<Address>,
}

impl Procedures for Rfc3561 {
    type Params = Params;

    fn new(params: &Shared<Params>, node: NodeId, rng: Rng) -> Self {
        Self {
            state: State::new(params, node, rng, 0),
            last_heard: None,
            searches: Rings::new(params.rreq_ratelimit),
            errors_sent: Limiter::new(params.rerr_ratelimit),
            awaited_acks: Vec::new(),
            blacklist: Vec::new(),
            strangers: Vec::new(),
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
        let (lifetime, remembered) = (self.state.common.active_route_timeout, self.state.params.delete_period());
        let (in_repair, repairable) = self.state.table.get_mut(destination).map_or((false, false), |route| {
            // §6.12: the flag ends when the route would have expired without use, ACTIVE_ROUTE_TIMEOUT after the break.
            // The entry is forgotten DELETE_PERIOD after the break.
            route.repairable &= route.expires.since(cx.now) + lifetime >= remembered;
            (route.state == RouteState::InRepair, route.repairable)
        });
        if self.state.is_source(source, cx) {
            self.state.buffer.push(packet, cx);
            self.look_for(destination, cx);
        } else if in_repair {
            self.state.buffer.push(packet, cx);
        } else if repairable {
            // §6.12: only one route is repaired at once. Other routes over the same link are repaired when data arrive
            // for them.
            self.state.buffer.push(packet, cx);
            self.repair(destination, source, cx);
        } else {
            cx.unreachable(self.state.node, packet);
            self.report_lacking(packet, destination, cx);
            cx.drop_packet(self.state.node, packet, DropReason::NoRoute);
        }
    }

    fn on_message(&mut self, packet: PacketId, message: &AodvMessage, from: Address, cx: &mut Context) {
        self.receive(packet, message, from, cx);
    }

    /// Any packet from a neighbour shows that the link is up (§6.9).
    fn on_heard(&mut self, packet: PacketId, from: Address, cx: &mut Context) -> bool {
        self.last_heard = Some((packet, from));
        self.state.hear_neighbour(from, cx.now);
        let it = &cx.packets[packet];
        if !it.is_routing() && self.state.is_own(it.destination, cx) {
            // The destination is part of the active route, and the route back is in use.
            let until = cx.now + self.state.common.active_route_timeout;
            if let Some(previous_hop) = self.keep(it.source, until) {
                self.keep(previous_hop, until);
            }
            self.state.take_part(until);
        }
        true
    }

    fn on_link_failure(&mut self, packet: PacketId, next_hop: Address, reason: DropReason, cx: &mut Context) {
        let it = &cx.packets[packet];
        let (source, destination, routing) = (it.source, it.destination, it.is_routing());
        let is_source = self.state.is_source(source, cx);
        cx.act(Action::TakeBack { node: self.state.node, next_hop });
        if routing {
            self.on_message_lost(packet, next_hop, cx);
            cx.drop_packet(self.state.node, packet, reason);
            self.break_link(next_hop, Address::BROADCAST, cx);
            return;
        }
        let repair =
            self.state.params.local_repair
                && !is_source
                && self.state.table.up(destination).is_some_and(|route| {
                    route.next_hop == next_hop && route.hops <= self.state.params.max_repair_ttl()
                });
        // Another route can take the packet, or a repair is already under way for it.
        let recoverable = self.state.table.get(destination).is_some_and(|route| match route.state {
            RouteState::Up => route.next_hop != next_hop,
            RouteState::InRepair => !is_source,
            RouteState::Down => false,
        });
        if !repair && !recoverable {
            cx.unreachable(self.state.node, packet);
        }
        self.break_link(next_hop, if repair { destination } else { Address::BROADCAST }, cx);
        if repair {
            self.state.buffer.push(packet, cx);
            self.repair(destination, source, cx);
        } else {
            self.recover(packet, reason, cx);
        }
    }

    fn on_taken_back(&mut self, packet: PacketId, cx: &mut Context) {
        if cx.packets[packet].is_routing() {
            cx.drop_packet(self.state.node, packet, DropReason::BrokenLink);
        } else {
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
                self.break_link(neighbour, Address::BROADCAST, cx);
            }
        }
        while let Some(&(neighbour, _)) = self.awaited_acks.first().filter(|&&(_, at)| at <= cx.now) {
            self.awaited_acks.remove(0);
            self.ignore(neighbour, cx);
        }
        if self.searches.next_at() <= cx.now {
            self.search_on(cx);
        }
        if self.state.table.next_expiry() < cx.now {
            self.purge(cx);
        }
    }

    fn next_deadline(&self) -> Time {
        let awaited = self.awaited_acks.first().map_or(Time::NEVER, |&(_, at)| at);
        // A route is still valid at the time at which it expires.
        (self.state.table.next_expiry() + Span::from_nanos(1))
            .min(self.searches.next_at())
            .min(self.state.buffer.next_expiry())
            .min(self.state.next_loss)
            .min(self.state.hello_at)
            .min(awaited)
    }
}

impl Forwarding for Rfc3561 {
    /// A data packet goes from `source` through `next_hop` to its destination. Extends the lifetime of the routes to
    /// all of these, and to the previous hop, to at least `until` (§6.2).
    #[inline]
    fn extend(&mut self, source: Address, destination: Address, next_hop: Address, until: Time) {
        self.keep(destination, until);
        if next_hop != destination {
            self.keep(next_hop, until);
        }
        if source != self.state.address
            && let Some(previous_hop) = self.keep(source, until)
            && previous_hop != source
        {
            self.keep(previous_hop, until);
        }
        self.state.take_part(until);
    }
}

impl Rfc3561 {
    /// Whether a destination is looked for.
    pub fn looks_for(&self, destination: Address) -> bool {
        self.searches.destinations().any(|other| other == destination)
    }

    /// Extends a valid route's lifetime to at least `until`, and returns its next hop.
    #[inline]
    fn keep(&mut self, destination: Address, until: Time) -> Option<Address> {
        let route = self.state.table.get_mut(destination).filter(|route| route.state == RouteState::Up)?;
        route.expires = route.expires.max(until);
        Some(route.next_hop)
    }

    /// §6.11 case (ii): data came for a destination without a route. The RFC tells the precursors. The neighbour that
    /// sent the packet is told too: it uses the route, and may not be a precursor, or may have missed the error that
    /// cleared them.
    ///
    /// The sequence number was advanced when the route became invalid. The number is not advanced for each packet that
    /// still comes, or it would pass the destination's own number.
    fn report_lacking(&mut self, packet: PacketId, destination: Address, cx: &mut Context) {
        let forget = cx.now + self.state.params.delete_period();
        let sequence = match self.state.table.get_mut(destination) {
            Some(route) => {
                // Step 3: a neighbour uses the route still, so that the entry must not be forgotten yet.
                route.expires = route.expires.max(forget);
                if route.known_sequence { route.sequence } else { 0 }
            }
            None => 0,
        };
        let mut recipients: Vec<_> = self.state.own.precursors.of(destination).collect();
        recipients.push(match self.last_heard {
            Some((heard, from)) if heard == packet => from,
            _ => Address::BROADCAST,
        });
        recipients.sort_unstable();
        recipients.dedup();
        self.send_error(Outcry { unreachable: vec![(destination, sequence)], recipients }, Origin::Own, false, cx);
    }

    /// Sends an error to those whom it concerns: to one alone, or to all in reach (§6.11).
    fn send_error(&mut self, outcry: Outcry, origin: Origin, no_delete: bool, cx: &mut Context) {
        if outcry.recipients.is_empty() || self.errors_sent.pass(cx.now).is_err() {
            return;
        }
        let (to, delay) = match outcry.recipients[..] {
            [one] if !one.is_broadcast() => (one, Span::ZERO),
            _ => (Address::BROADCAST, self.state.jitter()),
        };
        // A message counts its destinations in eight bits.
        for unreachable in outcry.unreachable.chunks(255) {
            let error = RouteError { no_delete, unreachable: unreachable.to_vec() };
            if !self.send_error_by_each(origin, &error, &outcry.recipients, cx) {
                self.state.send_as(origin, AodvMessage::Error(error), to, 1, delay, cx);
            }
        }
    }

    /// Makes a route invalid, and notes it for the error if a neighbour uses it.
    fn invalidate(&mut self, destination: Address, sequence: u32, outcry: &mut Outcry, cx: &mut Context) {
        let forget = cx.now + self.state.params.delete_period();
        self.state.table.entry(destination).sequence = sequence;
        self.state.take_down(destination, true, forget, cx);
        if self.state.own.precursors.any(destination) {
            outcry.unreachable.push((destination, sequence));
            outcry.recipients.extend(self.state.own.precursors.of(destination));
            outcry.recipients.sort_unstable();
            outcry.recipients.dedup();
            self.state.own.precursors.clear(destination);
        }
    }

    /// A packet that could not be sent takes another route if there is one, or waits until one is found. Otherwise it
    /// is dropped.
    fn recover(&mut self, packet: PacketId, reason: DropReason, cx: &mut Context) {
        self.take_out(packet, cx);
        if self.send_along(packet, Span::ZERO, cx) {
            return;
        }
        let it = &cx.packets[packet];
        let (source, destination, error) = (it.source, it.destination, it.is_error());
        let route = self.state.table.get(destination);
        if !error && self.state.is_source(source, cx) {
            if reason == DropReason::BrokenLink {
                cx.unreachable(self.state.node, packet);
            }
            self.state.buffer.push(packet, cx);
            self.look_for(destination, cx);
        } else if route.is_some_and(|route| route.state == RouteState::InRepair) {
            self.state.buffer.push(packet, cx);
        } else {
            if reason == DropReason::BrokenLink {
                cx.unreachable(self.state.node, packet);
            }
            cx.drop_packet(self.state.node, packet, reason);
        }
    }

    /// §6.11 case (i): the link to a neighbour is broken. `repaired` is the destination for which a repair begins; no
    /// error is sent for it yet. Other destinations that are near enough can be repaired later, when data arrive for
    /// them (§6.12).
    pub fn break_link(&mut self, lost: Address, repaired: Address, cx: &mut Context) {
        self.state.forget_neighbour(lost);
        self.state.own.precursors.remove_neighbour(lost);
        let repairing = !repaired.is_broadcast();
        let mut outcry = Outcry::default();
        let broken: Vec<_> = self
            .state
            .table
            .iter_mut()
            .filter(|route| route.state == RouteState::Up && route.next_hop == lost)
            .map(|route| (route.destination, route.advanced(), route.hops))
            .collect();
        for (destination, sequence, hops) in broken {
            if repairing && hops <= self.state.params.max_repair_ttl() {
                let forget = cx.now + self.state.params.delete_period();
                self.state.table.entry(destination).sequence = sequence;
                if destination != repaired {
                    self.state.take_down(destination, true, forget, cx);
                    self.state.table.entry(destination).repairable = true;
                }
            } else {
                self.invalidate(destination, sequence, &mut outcry, cx);
            }
        }
        self.send_error(outcry, Origin::Own, false, cx);
    }

    /// An error arrived (§6.11 case (iii)).
    fn on_error(&mut self, error: &RouteError, from: Address, cx: &mut Context) {
        let mut outcry = Outcry::default();
        for &(destination, sequence) in &error.unreachable {
            let Some(route) = self.state.table.get(destination) else {
                self.on_host_error(destination, sequence, from, &mut outcry, cx);
                continue;
            };
            if route.next_hop != from || route.state == RouteState::Down {
                continue;
            }
            if error.no_delete {
                // §6.12: the route was repaired and stays, but those who use it may want a shorter one.
                outcry.unreachable.push((destination, sequence));
                outcry.recipients.extend(self.state.own.precursors.of(destination));
                continue;
            }
            let sequence = if newer(sequence, route.sequence) { sequence } else { route.sequence };
            self.invalidate(destination, sequence, &mut outcry, cx);
        }
        outcry.recipients.sort_unstable();
        outcry.recipients.dedup();
        self.send_error(outcry, Origin::Forwarded, error.no_delete, cx);
    }

    /// Notes a HELLO of a node that is not yet a neighbour. Whether more are needed, one after the other, before the
    /// node counts as a neighbour.
    fn is_stranger(&mut self, from: Address, now: Time) -> bool {
        let needed = self.state.params.hellos_to_accept;
        if needed <= 1 || self.state.is_neighbour(from) {
            return false;
        }
        let patience = self.state.params.hello_interval + self.state.params.hello_interval / 2;
        let before = self.strangers.iter().position(|&(stranger, ..)| stranger == from);
        let before = before.map(|place| self.strangers.swap_remove(place));
        let heard = match before {
            Some((_, heard, at)) if now.since(at) < patience => heard + 1,
            _ => 1,
        };
        if heard < needed {
            self.strangers.push((from, heard, now));
        }
        heard < needed
    }

    /// A HELLO arrived (§6.9).
    fn on_hello(&mut self, sequence: u32, from: Address, cx: &mut Context) {
        if self.is_stranger(from, cx.now) {
            return;
        }
        let lost_at = cx.now + self.state.common.neighbour_expiry;
        self.state.meet_neighbour(from, lost_at, lost_at);
        let route = self.state.table.entry(from);
        if !route.known_sequence || !newer(route.sequence, sequence) {
            (route.sequence, route.known_sequence, route.own_sequence) = (sequence, true, true);
        } else if route.state != RouteState::Up {
            route.own_sequence = false;
        }
        let expires = match route.state {
            RouteState::Up => route.expires.max(lost_at),
            RouteState::Down | RouteState::InRepair => lost_at,
        };
        self.bring_up(from, from, 1, expires, cx);
    }

    /// Sends a HELLO, if it is due (§6.9).
    fn hello(&mut self, cx: &mut Context) {
        let lifetime = self.state.params.hello_interval * u64::from(self.state.params.allowed_hello_loss);
        let sequence = self.state.sequence;
        self.state.hello(|sender| AodvMessage::Hello { sender, sequence, lifetime }, cx);
    }

    /// Unused routes expire; their entries are deleted later (§6.11, §6.13).
    fn purge(&mut self, cx: &mut Context) {
        let now = cx.now;
        // §6.4: an entry is kept while its destination is looked for. Otherwise the search would accept older sequence
        // numbers.
        let waiting = now + self.state.params.net_traversal_time() * 2;
        for destination in self.searches.destinations() {
            if let Some(route) = self.state.table.get_mut(destination)
                && route.state == RouteState::Down
                && route.expires < now
            {
                route.expires = waiting;
            }
        }
        let precursors = &mut self.state.own.precursors;
        self.state.table.retain(|route| {
            let kept = route.state != RouteState::Down || route.expires >= now;
            if !kept {
                // Left to be repaired when it is needed (§6.12), it has its precursors yet.
                precursors.clear(route.destination);
            }
            kept
        });
        let expired: Vec<_> = self
            .state
            .table
            .iter_mut()
            .filter(|route| route.state == RouteState::Up && route.expires < now)
            .map(|route| {
                // §6.1: a route that expires counts as one whose link is lost.
                route.sequence = route.advanced();
                route.destination
            })
            .collect();
        let forget = now + self.state.params.delete_period();
        for destination in expired {
            self.state.take_down(destination, false, forget, cx);
            self.state.own.precursors.clear(destination);
        }
        self.state.table.find_next_expiry(|route| (route.state != RouteState::InRepair).then_some(route.expires));
    }
}
