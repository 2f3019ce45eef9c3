//! AODV as RFC 3561 describes it: forwarding, broken links, errors, connectivity and timers.

mod discovery;
mod messages;

use hopyard_engine::{Span, Time};

use super::message::newer;
use super::table::State;
use super::{Aodv, AodvMessage, RouteError};
use crate::address::Address;
use crate::context::{Action, Context, DropReason};
use crate::packet::PacketId;

/// Whom an error concerns, and what it says.
#[derive(Debug, Default)]
struct Outcry {
    unreachable: Vec<(Address, u32)>,
    /// Neighbours that use one of the routes, sorted.
    recipients: Vec<Address>,
}

impl Aodv {
    /// A data packet goes from `source` through `next_hop` to its destination. Extends the lifetime of the routes to
    /// all of these, and to the previous hop, to at least `until` (§6.2).
    #[inline]
    pub(super) fn rfc_extend(&mut self, source: Address, destination: Address, next_hop: Address, until: Time) {
        self.rfc_keep(destination, until);
        if next_hop != destination {
            self.rfc_keep(next_hop, until);
        }
        if source != self.address
            && let Some(previous_hop) = self.rfc_keep(source, until)
            && previous_hop != source
        {
            self.rfc_keep(previous_hop, until);
        }
        self.rfc_take_part(until);
    }

    /// Extends a valid route's lifetime to at least `until`, and returns its next hop.
    #[inline]
    fn rfc_keep(&mut self, destination: Address, until: Time) -> Option<Address> {
        let route = self.table.get_mut(destination).filter(|route| route.state == State::Up)?;
        route.expires = route.expires.max(until);
        Some(route.next_hop)
    }

    /// The node is part of an active route: only such nodes send HELLO messages (§6.9).
    #[inline]
    fn rfc_take_part(&mut self, until: Time) {
        self.active_until = until;
        if self.hello_at == Time::NEVER && self.params.by_hello() {
            self.hello_at =
                self.last_broadcast.max(until - self.params.active_route_timeout()) + self.params.hello_interval;
        }
    }

    /// A data packet has no valid route.
    pub(super) fn rfc_route_lacking(&mut self, packet: PacketId, cx: &mut Context) {
        let it = &cx.packets[packet];
        let (source, destination) = (it.source, it.destination);
        let (in_repair, repairable) = self.table.get(destination).map_or((false, false), |route| {
            // §6.12: the flag ends when the route would have expired without use, ACTIVE_ROUTE_TIMEOUT after the break.
            // The entry is forgotten DELETE_PERIOD after the break.
            let forgotten_in = route.expires.since(cx.now) + self.params.active_route_timeout();
            (route.state == State::InRepair, route.repairable && forgotten_in >= self.params.delete_period())
        });
        if source == self.address {
            self.buffer.push(packet, cx);
            self.rfc_look_for(destination, cx);
        } else if in_repair {
            self.buffer.push(packet, cx);
        } else if repairable {
            // §6.12: only one route is repaired at once. Other routes over the same link are repaired when data arrive
            // for them.
            self.buffer.push(packet, cx);
            self.rfc_repair(destination, source, cx);
        } else {
            cx.unreachable(self.node, packet);
            self.rfc_report_lacking(packet, destination, cx);
            cx.drop_packet(self.node, packet, DropReason::NoRoute);
        }
    }

    /// §6.11 case (ii): data came for a destination without a route. The RFC tells the precursors. The neighbour that
    /// sent the packet is told too: it uses the route, and may not be a precursor, or may have missed the error that
    /// cleared them.
    ///
    /// The sequence number was advanced when the route became invalid. It is not advanced for each packet that still
    /// comes, or it would pass the destination's own number.
    fn rfc_report_lacking(&mut self, packet: PacketId, destination: Address, cx: &mut Context) {
        let forget = cx.now + self.params.delete_period();
        let sequence = match self.table.get_mut(destination) {
            Some(route) => {
                // Step 3: a neighbour uses the route still, so that the entry must not be forgotten yet.
                route.expires = route.expires.max(forget);
                if route.known_sequence { route.sequence } else { 0 }
            }
            None => 0,
        };
        let mut recipients: Vec<_> = self.precursors.of(destination).collect();
        recipients.push(match self.last_heard {
            Some((heard, from)) if heard == packet => from,
            _ => Address::BROADCAST,
        });
        recipients.sort_unstable();
        recipients.dedup();
        self.rfc_send_error(Outcry { unreachable: vec![(destination, sequence)], recipients }, false, cx);
    }

    /// Sends an error to those whom it concerns: to one alone, or to all in reach (§6.11).
    fn rfc_send_error(&mut self, outcry: Outcry, no_delete: bool, cx: &mut Context) {
        if outcry.recipients.is_empty() || self.errors_sent.pass(cx.now).is_err() {
            return;
        }
        let (to, delay) = match outcry.recipients[..] {
            [one] if !one.is_broadcast() => (one, Span::ZERO),
            _ => (Address::BROADCAST, self.jitter()),
        };
        // A message counts its destinations in eight bits.
        for unreachable in outcry.unreachable.chunks(255) {
            let error = RouteError { no_delete, unreachable: unreachable.to_vec() };
            self.send(AodvMessage::Error(error), to, 1, delay, cx);
        }
    }

    /// Makes a route invalid, and notes it for the error if a neighbour uses it.
    fn rfc_invalidate(&mut self, destination: Address, sequence: u32, outcry: &mut Outcry, cx: &mut Context) {
        let forget = cx.now + self.params.delete_period();
        self.table.entry(destination).sequence = sequence;
        self.take_down(destination, true, forget, cx);
        if self.precursors.any(destination) {
            outcry.unreachable.push((destination, sequence));
            outcry.recipients.extend(self.precursors.of(destination));
            outcry.recipients.sort_unstable();
            outcry.recipients.dedup();
            self.precursors.clear(destination);
        }
    }

    pub(super) fn rfc_on_link_failure(&mut self, packet: PacketId, next_hop: Address, cx: &mut Context) {
        let it = &cx.packets[packet];
        let (source, destination, routing) = (it.source, it.destination, it.is_routing());
        cx.act(Action::TakeBack { node: self.node, next_hop });
        if routing {
            self.rfc_on_message_lost(packet, next_hop, cx);
            cx.drop_packet(self.node, packet, cx.link_failure);
            self.rfc_break(next_hop, Address::BROADCAST, cx);
            return;
        }
        let repair = self.params.local_repair
            && source != self.address
            && self
                .table
                .up(destination)
                .is_some_and(|route| route.next_hop == next_hop && route.hops <= self.params.max_repair_ttl());
        // Another route can take the packet, or a repair is already under way for it.
        let recoverable = self.table.get(destination).is_some_and(|route| match route.state {
            State::Up => route.next_hop != next_hop,
            State::InRepair => source != self.address,
            State::Down => false,
        });
        if !repair && !recoverable {
            cx.unreachable(self.node, packet);
        }
        self.rfc_break(next_hop, if repair { destination } else { Address::BROADCAST }, cx);
        if repair {
            self.buffer.push(packet, cx);
            self.rfc_repair(destination, source, cx);
        } else {
            self.rfc_recover(packet, cx.link_failure, cx);
        }
    }

    pub(super) fn rfc_on_taken_back(&mut self, packet: PacketId, cx: &mut Context) {
        if cx.packets[packet].is_routing() {
            cx.drop_packet(self.node, packet, DropReason::BrokenLink);
        } else {
            self.rfc_recover(packet, DropReason::BrokenLink, cx);
        }
    }

    /// A packet that could not be sent takes another route if there is one, or waits until one is found. Otherwise it
    /// is dropped.
    fn rfc_recover(&mut self, packet: PacketId, reason: DropReason, cx: &mut Context) {
        let it = &cx.packets[packet];
        let (source, destination, error) = (it.source, it.destination, it.is_error());
        let route = self.table.get(destination);
        if route.is_some_and(|route| route.state == State::Up) {
            self.send_along(packet, Span::ZERO, cx);
        } else if source == self.address && !error {
            if reason == DropReason::BrokenLink {
                cx.unreachable(self.node, packet);
            }
            self.buffer.push(packet, cx);
            self.rfc_look_for(destination, cx);
        } else if route.is_some_and(|route| route.state == State::InRepair) {
            self.buffer.push(packet, cx);
        } else {
            if reason == DropReason::BrokenLink {
                cx.unreachable(self.node, packet);
            }
            cx.drop_packet(self.node, packet, reason);
        }
    }

    /// §6.11 case (i): the link to a neighbour is broken. `repaired` is the destination for which a repair begins; no
    /// error is sent for it yet. Other destinations that are near enough can be repaired later, when data arrive for
    /// them (§6.12).
    fn rfc_break(&mut self, lost: Address, repaired: Address, cx: &mut Context) {
        self.neighbours.retain(|&(neighbour, _)| neighbour != lost);
        self.precursors.remove_neighbour(lost);
        let repairing = !repaired.is_broadcast();
        let mut outcry = Outcry::default();
        let broken: Vec<_> = self
            .table
            .iter_mut()
            .filter(|route| route.state == State::Up && route.next_hop == lost)
            .map(|route| (route.destination, route.advanced(), route.hops))
            .collect();
        for (destination, sequence, hops) in broken {
            if repairing && hops <= self.params.max_repair_ttl() {
                let forget = cx.now + self.params.delete_period();
                self.table.entry(destination).sequence = sequence;
                if destination != repaired {
                    self.take_down(destination, true, forget, cx);
                    self.table.entry(destination).repairable = true;
                }
            } else {
                self.rfc_invalidate(destination, sequence, &mut outcry, cx);
            }
        }
        self.rfc_send_error(outcry, false, cx);
    }

    /// An error arrived (§6.11 case (iii)).
    fn rfc_on_error(&mut self, error: &RouteError, from: Address, cx: &mut Context) {
        let mut outcry = Outcry::default();
        for &(destination, sequence) in &error.unreachable {
            let Some(route) = self.table.get(destination) else { continue };
            if route.next_hop != from || route.state == State::Down {
                continue;
            }
            if error.no_delete {
                // §6.12: the route was repaired and stays, but those who use it may want a shorter one.
                outcry.unreachable.push((destination, sequence));
                outcry.recipients.extend(self.precursors.of(destination));
                continue;
            }
            let sequence = if newer(sequence, route.sequence) { sequence } else { route.sequence };
            self.rfc_invalidate(destination, sequence, &mut outcry, cx);
        }
        outcry.recipients.sort_unstable();
        outcry.recipients.dedup();
        self.rfc_send_error(outcry, error.no_delete, cx);
    }

    /// Any packet from a neighbour shows that the link is up (§6.9).
    pub(super) fn rfc_on_heard(&mut self, packet: PacketId, from: Address, cx: &mut Context) {
        self.last_heard = Some((packet, from));
        if let Ok(place) = self.neighbours.binary_search_by_key(&from, |&(neighbour, _)| neighbour) {
            self.neighbours[place].1 = cx.now + self.params.neighbour_expiry();
        }
        let it = &cx.packets[packet];
        if it.destination == self.address && !it.is_routing() {
            // The destination is part of the active route, and the route back is in use.
            let until = cx.now + self.params.active_route_timeout();
            if let Some(previous_hop) = self.rfc_keep(it.source, until) {
                self.rfc_keep(previous_hop, until);
            }
            self.rfc_take_part(until);
        }
    }

    /// A HELLO arrived (§6.9).
    fn rfc_on_hello(&mut self, sequence: u32, from: Address, cx: &mut Context) {
        let lost_at = cx.now + self.params.neighbour_expiry();
        self.meet_neighbour(from, lost_at);
        let route = self.table.entry(from);
        if !route.known_sequence || !newer(route.sequence, sequence) {
            (route.sequence, route.known_sequence, route.own_sequence) = (sequence, true, true);
        } else if route.state != State::Up {
            route.own_sequence = false;
        }
        let expires = match route.state {
            State::Up => route.expires.max(lost_at),
            State::Down | State::InRepair => lost_at,
        };
        self.rfc_bring_up(from, from, 1, expires, cx);
    }

    /// Sends a HELLO, unless the node has sent another broadcast within the last interval (§6.9).
    fn rfc_hello(&mut self, cx: &mut Context) {
        if cx.now >= self.active_until {
            self.hello_at = Time::NEVER;
            return;
        }
        let jitter = self.params.hello_jitter.seconds();
        let interval = self.params.hello_interval.seconds() + self.rng.uniform_in(-jitter, jitter);
        let interval = Span::from_secs_f64(interval);
        if cx.now.since(self.last_broadcast) < self.params.hello_interval && self.last_broadcast != Time::ZERO {
            self.hello_at = (self.last_broadcast + interval).max(cx.now + Span::from_millis(1));
            return;
        }
        let delay = self.jitter();
        let lifetime = self.params.hello_interval * u64::from(self.params.allowed_hello_loss);
        let hello = AodvMessage::Hello { sequence: self.sequence, lifetime };
        self.send(hello, Address::BROADCAST, 1, delay, cx);
        self.hello_at = cx.now + interval;
    }

    pub(super) fn rfc_deadline(&self) -> Time {
        let awaited = self.awaited_acks.first().map_or(Time::NEVER, |&(_, at)| at);
        // A route is still valid at the time at which it expires.
        (self.table.next_expiry() + Span::from_nanos(1))
            .min(self.next_search)
            .min(self.buffer.next_expiry())
            .min(self.next_loss)
            .min(self.hello_at)
            .min(awaited)
    }

    pub(super) fn rfc_on_timer(&mut self, cx: &mut Context) {
        self.buffer.expire(cx);
        if self.hello_at <= cx.now {
            self.rfc_hello(cx);
        }
        if self.next_loss <= cx.now {
            for neighbour in self.lost_neighbours(cx.now) {
                self.report_failures(neighbour, cx);
                cx.act(Action::TakeBack { node: self.node, next_hop: neighbour });
                self.rfc_break(neighbour, Address::BROADCAST, cx);
            }
        }
        while let Some(&(neighbour, _)) = self.awaited_acks.first().filter(|&&(_, at)| at <= cx.now) {
            self.awaited_acks.remove(0);
            self.rfc_ignore(neighbour, cx);
        }
        if self.next_search <= cx.now {
            self.rfc_search_on(cx);
        }
        if self.table.next_expiry() < cx.now {
            self.rfc_purge(cx);
        }
    }

    /// Unused routes expire; their entries are deleted later (§6.11, §6.13).
    fn rfc_purge(&mut self, cx: &mut Context) {
        let now = cx.now;
        // §6.4: an entry is kept while its destination is looked for. Otherwise the search would accept older sequence
        // numbers.
        let waiting = now + self.params.net_traversal_time() * 2;
        for search in &self.searches {
            if let Some(route) = self.table.get_mut(search.destination)
                && route.state == State::Down
                && route.expires < now
            {
                route.expires = waiting;
            }
        }
        let precursors = &mut self.precursors;
        self.table.retain(|route| {
            let kept = route.state != State::Down || route.expires >= now;
            if !kept {
                // Left to be repaired when it is needed (§6.12), it has its precursors yet.
                precursors.clear(route.destination);
            }
            kept
        });
        let expired: Vec<_> = self
            .table
            .iter_mut()
            .filter(|route| route.state == State::Up && route.expires < now)
            .map(|route| {
                // §6.1: a route that expires counts as one whose link is lost.
                route.sequence = route.advanced();
                route.destination
            })
            .collect();
        let forget = now + self.params.delete_period();
        for destination in expired {
            self.take_down(destination, false, forget, cx);
            self.precursors.clear(destination);
        }
        self.table.find_next_expiry(|route| route.state != State::InRepair);
    }
}
