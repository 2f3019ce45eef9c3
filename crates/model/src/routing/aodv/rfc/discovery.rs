//! Looking for routes (RFC 3561 §6.3, §6.4), and local repair (§6.12).

use hopyard_engine::{Span, Time};

use super::super::message::newer;
use super::super::table::{INFINITY, State};
use super::super::{Aodv, AodvMessage, Request, Search};
use super::Outcry;
use crate::address::Address;
use crate::context::Context;

impl Aodv {
    /// Looks for a destination, unless that is being done.
    pub(super) fn rfc_look_for(&mut self, destination: Address, cx: &mut Context) {
        if self.search(destination).is_some() {
            return;
        }
        // §6.4: a search for a destination that was known begins where it was. TTL_THRESHOLD ends the growth of the
        // rings; it does not bound the first one, so that a destination far away is not looked for by a flood at once.
        let ttl = match self.table.get(destination) {
            Some(route) if route.last_hops != INFINITY => route.last_hops.saturating_add(self.params.ttl_increment),
            _ => self.params.ttl_start(),
        };
        let ttl = ttl.min(self.params.net_diameter);
        self.search_or_new(destination).ttl = ttl;
        self.rfc_send_request(destination, Span::ZERO, cx);
        self.rfc_find_next_search();
    }

    /// The TTL of the next ring, or that of a flood if the ring would be too large.
    const fn rfc_ring(&self, ttl: u8) -> u8 {
        if ttl > self.params.ttl_threshold || ttl > self.params.net_diameter { self.params.net_diameter } else { ttl }
    }

    /// Tries to repair the route of a packet that came from `source`.
    pub(super) fn rfc_repair(&mut self, destination: Address, source: Address, cx: &mut Context) {
        let to_source = self.table.get(source).map_or(0, |back| if back.state == State::Up { back.hops } else { 0 });
        let route = self.table.entry(destination);
        // A route that breaks now still has its hop count. One that broke earlier and is repaired now has its last hop
        // count.
        if route.state == State::Up {
            route.last_hops = route.hops;
        }
        (route.state, route.repairable) = (State::InRepair, false);
        let ttl = route.last_hops.max(to_source / 2).saturating_add(self.params.local_add_ttl);
        let ttl = ttl.min(self.params.net_diameter);
        let search = self.search_or_new(destination);
        (search.ttl, search.repair) = (ttl, true);
        self.rfc_send_request(destination, Span::ZERO, cx);
        self.rfc_find_next_search();
    }

    /// Sends the request of a search, or sets it aside until the rate limit lets it pass (§6.3).
    fn rfc_send_request(&mut self, destination: Address, delay: Span, cx: &mut Context) {
        let passed = self.requests_sent.pass(cx.now);
        let (diameter, longest) = (self.params.net_diameter, self.params.max_request_wait());
        let flood_wait = self.params.net_traversal_time();
        let Some(&mut Search { ttl, repair, floods, .. }) = self.search(destination) else { return };
        let ring_wait = self.params.ring_traversal_time(ttl);
        let Some(search) = self.search(destination) else { return };
        if let Err(at) = passed {
            (search.retry_at, search.held_back) = (at, true);
            return;
        }
        search.held_back = false;
        let wait = if ttl < diameter || repair {
            ring_wait
        } else {
            // §6.3: each further flood waits twice as long.
            search.floods += 1;
            flood_wait * (1 << floods.min(32))
        };
        search.retry_at = cx.now + wait.min(longest);
        // §6.1: a node advances its own number before it asks for a route.
        self.sequence = self.sequence.wrapping_add(1);
        self.request_id = self.request_id.wrapping_add(1);
        let known = self.table.get(destination).filter(|route| route.known_sequence).map(|route| route.sequence);
        let request = Request {
            id: self.request_id,
            hops: 0,
            destination,
            destination_sequence: known.unwrap_or(0),
            unknown_sequence: known.is_none(),
            gratuitous: self.params.gratuitous_rrep,
            destination_only: self.params.destination_only,
            originator: self.address,
            originator_sequence: self.sequence,
            sent: cx.now,
        };
        self.send(AodvMessage::Request(request), Address::BROADCAST, ttl, delay, cx);
    }

    pub(super) fn rfc_find_next_search(&mut self) {
        self.next_search = self.searches.iter().map(|search| search.retry_at).min().unwrap_or(Time::NEVER);
    }

    /// Goes on with the searches that have waited long enough.
    pub(super) fn rfc_search_on(&mut self, cx: &mut Context) {
        let due: Vec<Search> = self.searches.iter().filter(|search| search.retry_at <= cx.now).copied().collect();
        for search in due {
            let destination = search.destination;
            let flooded = search.ttl >= self.params.net_diameter;
            // If the requests of two nodes collided, a random delay prevents the next collision.
            let delay = self.jitter();
            if search.held_back {
                self.rfc_send_request(destination, delay, cx);
            } else if search.repair {
                self.rfc_end_search(destination);
                self.rfc_repair_failed(destination, cx);
            } else if flooded && search.floods >= self.params.rreq_retries {
                self.rfc_end_search(destination);
                self.give_up(destination, cx);
            } else {
                let ttl = self.rfc_ring(search.ttl.saturating_add(self.params.ttl_increment));
                self.search_or_new(destination).ttl = ttl;
                self.rfc_send_request(destination, delay, cx);
            }
        }
        self.rfc_find_next_search();
    }

    fn rfc_end_search(&mut self, destination: Address) -> Option<Search> {
        let place = self.searches.binary_search_by_key(&destination, |search| search.destination).ok()?;
        let search = self.searches.remove(place);
        self.rfc_find_next_search();
        Some(search)
    }

    fn rfc_repair_failed(&mut self, destination: Address, cx: &mut Context) {
        let mut outcry = Outcry::default();
        let sequence = self.table.entry(destination).sequence;
        self.rfc_invalidate(destination, sequence, &mut outcry, cx);
        // The sources of the packets that waited are told before the routes' users.
        self.give_up(destination, cx);
        self.rfc_send_error(outcry, false, cx);
    }

    /// Makes a route valid; packets that waited for it go, and a search for it is over.
    pub(super) fn rfc_bring_up(
        &mut self,
        destination: Address,
        next_hop: Address,
        hops: u8,
        expires: Time,
        cx: &mut Context,
    ) {
        self.bring_up(destination, next_hop, hops, expires, cx);
        if self.rfc_end_search(destination).is_some_and(|search| search.repair) {
            let route = self.table.entry(destination);
            if hops > route.last_hops {
                // §6.12: the users of the route are told that it became longer, with flag N so that they keep it.
                let mut outcry = Outcry { unreachable: vec![(destination, route.sequence)], recipients: Vec::new() };
                outcry.recipients.extend(self.precursors.of(destination));
                self.rfc_send_error(outcry, true, cx);
            }
        }
        if self.buffer.has(destination) {
            self.flush(destination, self.params.buffer_spacing, cx);
        }
    }

    /// Learns a route with a sequence number, if it is news (§6.2). Whether it was.
    pub(super) fn rfc_learn(
        &mut self,
        destination: Address,
        next_hop: Address,
        hops: u8,
        sequence: u32,
        expires: Time,
        cx: &mut Context,
    ) -> bool {
        let route = self.table.entry(destination);
        // A neighbour that was only heard has a route without a valid number (§6.7 (i)): its number is but a lower
        // bound.
        let numbered = route.state == State::Up && route.own_sequence;
        let news = !route.known_sequence
            || newer(sequence, route.sequence)
            || sequence == route.sequence && (!numbered || hops < route.hops);
        if news {
            (route.sequence, route.known_sequence, route.own_sequence) = (sequence, true, true);
            self.rfc_bring_up(destination, next_hop, hops, expires, cx);
        }
        news
    }
}
