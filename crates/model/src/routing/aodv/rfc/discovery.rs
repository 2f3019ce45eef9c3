//! Looking for routes (RFC 3561 §6.3, §6.4), and local repair (§6.12).

use hopyard_engine::{Span, Time};

use super::super::message::{AodvMessage, Request};
use super::super::params::Rules;
use super::super::table::RouteState;
use super::{Outcry, Rfc3561};
use crate::address::Address;
use crate::context::{Context, Origin};
use crate::packet::Body;
use crate::routing::common::newer;
use crate::routing::common::on_demand::{INFINITY, Procedures as _};

impl Rfc3561 {
    /// Looks for a destination, unless that is being done.
    pub(super) fn look_for(&mut self, destination: Address, cx: &mut Context) {
        if self.searches.get_mut(destination).is_some() {
            return;
        }
        // §6.4: a search for a destination that was known begins where it was. TTL_THRESHOLD ends the growth of the
        // rings; it does not bound the first one, so that a destination far away is not looked for by a flood at once.
        let ttl = match self.state.table.get(destination) {
            Some(route) if route.last_hops != INFINITY => {
                route.last_hops.saturating_add(self.state.params.ttl_increment)
            }
            // A host outside is looked for from where its last gateway was.
            _ => match self.state.own.internet.last_hops(destination) {
                Some(hops) => hops.saturating_add(self.state.params.ttl_increment),
                None => self.state.params.ttl_start(),
            },
        };
        let ttl = ttl.min(self.state.params.net_diameter);
        self.searches.with_ttl(destination, ttl);
        self.send_request(destination, Span::ZERO, cx);
        self.searches.find_next();
    }

    /// The TTL of the next ring, or the TTL of a flood if the ring would be too large.
    fn ring(&self, ttl: u8) -> u8 {
        if ttl > self.state.params.ttl_threshold || ttl > self.state.params.net_diameter {
            self.state.params.net_diameter
        } else {
            ttl
        }
    }

    /// Tries to repair the route of a packet that came from `source`.
    pub fn repair(&mut self, destination: Address, source: Address, cx: &mut Context) {
        let to_source =
            self.state.table.get(source).map_or(0, |back| if back.state == RouteState::Up { back.hops } else { 0 });
        let route = self.state.table.entry(destination);
        // A route that breaks now still has its hop count. One that broke earlier and is repaired now has its last hop
        // count.
        if route.state == RouteState::Up {
            route.last_hops = route.hops;
        }
        (route.state, route.repairable) = (RouteState::InRepair, false);
        let ttl = route.last_hops.max(to_source / 2).saturating_add(self.state.params.local_add_ttl);
        let ttl = ttl.min(self.state.params.net_diameter);
        self.searches.with_ttl(destination, ttl).own.repair = true;
        self.send_request(destination, Span::ZERO, cx);
        self.searches.find_next();
    }

    /// Sends the request of a search, or sets it aside until the rate limit lets it pass (§6.3).
    fn send_request(&mut self, destination: Address, delay: Span, cx: &mut Context) {
        let Some(search) = self.searches.admit(destination, cx.now) else { return };
        let (params, ttl) = (&self.state.params, search.ttl);
        let waits_as_ring = search.own.repair || params.rules == Rules::Uu;
        let (ring, flood) = (params.ring_traversal_time(ttl), params.net_traversal_time());
        let wait = search.wait(ttl >= params.net_diameter, waits_as_ring, ring, flood);
        search.retry_at = cx.now + wait.min(params.max_request_wait());
        // §6.1: a node advances its own number before it asks for a route.
        self.state.sequence = self.state.sequence.wrapping_add(1);
        self.state.request_id = self.state.request_id.wrapping_add(1);
        let known = self.state.table.get(destination).filter(|route| route.known_sequence).map(|route| route.sequence);
        let request = Request {
            id: self.state.request_id,
            hops: 0,
            destination,
            destination_sequence: known.unwrap_or(0),
            unknown_sequence: known.is_none(),
            gratuitous: self.state.params.gratuitous_rrep
                && (!self.state.params.gratuitous_for_tcp || self.is_for_tcp(destination, cx)),
            destination_only: self.state.params.destination_only,
            originator: self.state.address,
            originator_sequence: self.state.sequence,
            sent: Time::ZERO,
        };
        self.state.send(AodvMessage::Request(request), Address::BROADCAST, ttl, delay, cx);
    }

    /// Whether a TCP segment waits for a route to a destination.
    fn is_for_tcp(&self, destination: Address, cx: &Context) -> bool {
        let mut waiting = self.state.buffer.iter().map(|packet| &cx.packets[packet]);
        waiting.any(|it| it.destination == destination && matches!(it.carried(), Body::Tcp(_)))
    }

    /// Goes on with the searches that have waited long enough.
    pub(super) fn search_on(&mut self, cx: &mut Context) {
        for (destination, search) in self.searches.due(cx.now) {
            let flooded = search.ttl >= self.state.params.net_diameter;
            // If the requests of two nodes collided, a random delay prevents the next collision.
            let delay = self.state.jitter();
            if search.held_back {
                self.send_request(destination, delay, cx);
            } else if search.own.repair {
                self.searches.end(destination);
                self.repair_failed(destination, cx);
            } else if flooded && search.floods >= self.state.params.rreq_retries {
                self.searches.end(destination);
                if !search.own.gateway.is_some_and(|gateway| self.reach_by(destination, gateway, cx)) {
                    self.state.give_up(destination, cx);
                }
            } else {
                let next = search.ttl.saturating_add(self.state.params.ttl_increment);
                let ttl = if self.state.params.rules == Rules::Uu && search.ttl < self.state.params.ttl_threshold {
                    next.min(self.state.params.net_diameter)
                } else {
                    self.ring(next)
                };
                self.searches.with_ttl(destination, ttl);
                self.send_request(destination, delay, cx);
            }
        }
        self.searches.find_next();
    }

    fn repair_failed(&mut self, destination: Address, cx: &mut Context) {
        let mut outcry = Outcry::default();
        let sequence = self.state.table.entry(destination).sequence;
        self.invalidate(destination, sequence, &mut outcry, cx);
        // The sources of the packets that waited are told before the routes' users.
        self.state.buffer.expire(cx);
        let passing = self.state.buffer.iter().filter(|&packet| {
            let it = &cx.packets[packet];
            it.destination == destination && !self.state.is_source(it.source, cx)
        });
        for packet in passing.collect::<Vec<_>>() {
            self.state.buffer.remove(packet);
            self.state.abandon(packet, cx);
        }
        self.send_error(outcry, Origin::Own, false, cx);
        // For the packets of this node the repair was no search: as their source it may ask farther and longer (§6.3).
        if self.state.buffer.has(destination) {
            self.look_for(destination, cx);
        }
    }

    /// Makes a route valid; packets that waited for it go, and a search for it is over.
    pub(super) fn bring_up(
        &mut self,
        destination: Address,
        next_hop: Address,
        hops: u8,
        expires: Time,
        cx: &mut Context,
    ) {
        self.state.bring_up(destination, next_hop, hops, expires, cx);
        if self.searches.end(destination).is_some_and(|search| search.own.repair) {
            let route = self.state.table.entry(destination);
            if hops > route.last_hops {
                // §6.12: the users of the route are told that it became longer, with flag N so that they keep it.
                let mut outcry = Outcry { unreachable: vec![(destination, route.sequence)], recipients: Vec::new() };
                outcry.recipients.extend(self.state.own.precursors.of(destination));
                self.send_error(outcry, Origin::Own, true, cx);
            }
        }
        if self.state.buffer.has(destination) {
            self.flush(destination, self.state.params.buffer_spacing, cx);
        }
    }

    /// Learns a route with a sequence number, if it is news (§6.2). Whether it was.
    pub(super) fn learn(
        &mut self,
        destination: Address,
        next_hop: Address,
        hops: u8,
        sequence: u32,
        expires: Time,
        cx: &mut Context,
    ) -> bool {
        let route = self.state.table.entry(destination);
        // A neighbour that was only heard has a route without a valid number (§6.7 (i)): its number is but a lower
        // bound.
        let numbered = route.state == RouteState::Up && route.own_sequence;
        let news = !route.known_sequence
            || newer(sequence, route.sequence)
            || sequence == route.sequence && (!numbered || hops < route.hops);
        if news {
            (route.sequence, route.known_sequence, route.own_sequence) = (sequence, true, true);
            self.bring_up(destination, next_hop, hops, expires, cx);
        }
        news
    }
}
