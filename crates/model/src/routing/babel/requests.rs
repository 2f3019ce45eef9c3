//! Requests for routes and for new sequence numbers, and retractions that are repeated (RFC 8966 §3.8).

use hopyard_engine::{Span, Time};

use super::message::{HOPS, INFINITY, Message, RouterId, Target, newer, plus};
use super::pending::{Repeat, Request};
use super::state::{State, Urgency};
use super::table::Route;
use crate::address::Address;
use crate::context::Context;

/// A request is forwarded once in this time, unless its answer has come (babeld).
const REMEMBERED: Span = Span::from_secs(65);

impl State {
    /// A neighbour asks for a route (§3.8.1.1).
    pub fn hear_request(&mut self, destination: Target, place: usize, cx: &Context) {
        let interface = self.neighbours[place].interface;
        match destination {
            Target::Host(address) => self.tell(interface, address, Urgency::Update, cx.now),
            // Many nodes that start together ask together: who has told everything not long ago has answered.
            Target::All => {
                self.make_ihu(place);
                self.schedule(interface, Urgency::Packet, cx.now);
                let it = &mut self.interfaces[interface];
                if it.told_all == Time::ZERO || it.told_all + self.params.hello_interval * 10 < cx.now {
                    it.all = true;
                    self.schedule(interface, Urgency::Update, cx.now);
                }
            }
            Target::Network(_) => {}
        }
    }

    /// A neighbour asks for a route with a seqno (§3.8.1.2).
    pub fn hear_seqno_request(
        &mut self,
        destination: Address,
        router: RouterId,
        seqno: u16,
        hops: u8,
        place: usize,
        cx: &Context,
    ) {
        let (from, interface) = (self.neighbours[place].address, self.neighbours[place].interface);
        if self.own.contains(&destination) {
            if router == self.router && newer(seqno, self.seqno) {
                self.seqno = self.seqno.wrapping_add(1);
            }
            return self.tell(interface, destination, Urgency::Urgent, cx.now);
        }
        let Some(it) = self.table.get(destination) else { return };
        if it.route().is_some_and(|route| it.router != router || !newer(seqno, route.seqno)) {
            return self.tell(interface, destination, Urgency::Urgent, cx.now);
        }
        if hops < 2 || self.has_sent(destination, router, seqno) {
            return;
        }
        // The selected route, or the best other one; feasible ones first.
        let usable = it.routes.iter().filter(|it| it.metric != INFINITY && it.neighbour != from);
        let next = usable.min_by_key(|route| {
            let infeasible = !it.is_feasible(route.seqno, route.advertised, cx.now);
            (infeasible, Some(route.neighbour) != it.selected, route.metric, route.neighbour)
        });
        let Some(next) = next.map(|it| it.neighbour) else { return };
        self.remember(destination, router, seqno, next, 0, cx.now);
        let message = Message::SeqnoRequest { destination: Target::Host(destination), router, seqno, hops: hops - 1 };
        self.send_to(next, message, cx.now);
    }

    /// Whether a request for this seqno, or for a newer one, is waiting for an answer.
    fn has_sent(&self, destination: Address, router: RouterId, seqno: u16) -> bool {
        if self.table.get(destination).is_none_or(|it| it.requests == 0) {
            return false;
        }
        let same = |it: &Request| (it.destination, it.router) == (destination, router) && !newer(seqno, it.seqno);
        self.pending.iter().any(same)
    }

    fn remember(&mut self, destination: Address, router: RouterId, seqno: u16, to: Address, repeats: u8, now: Time) {
        let is_other = |it: &Request| (it.destination, it.router, it.to) != (destination, router, to);
        self.forget_requests(|it| !is_other(it), Some(destination));
        let Some(place) = self.table.place(destination) else { return };
        self.table.all_mut()[place].requests += 1;
        let wait = self.params.request_timeout;
        let again = if repeats > 0 { now + wait } else { Time::NEVER };
        let until = now + REMEMBERED;
        self.pending.push(Request { destination, router, seqno, to, again, wait, left: repeats, until });
    }

    /// Whether a route answers requests that this node sent or forwarded. They are done then.
    pub fn satisfies(&mut self, destination: usize, seqno: u16) -> bool {
        let address = self.table.all()[destination].address;
        self.forget_requests(|it| it.destination == address && !newer(it.seqno, seqno), Some(address))
    }

    /// Forgets the requests that are meant, which are about one destination if that is given. Whether there were any.
    fn forget_requests(&mut self, meant: impl Fn(&Request) -> bool, about: Option<Address>) -> bool {
        if about.is_some_and(|it| self.table.get(it).is_none_or(|it| it.requests == 0)) {
            return false;
        }
        let (before, table) = (self.pending.len(), &mut self.table);
        self.pending.retain(|it| {
            let goes = meant(it);
            if goes && let Some(place) = table.place(it.destination) {
                table.all_mut()[place].requests -= 1;
            }
            !goes
        });
        self.pending.len() != before
    }

    /// A neighbour's update was not feasible. If its route would be much better than the selected one, the neighbour is
    /// asked for a newer number (§3.8.2.2).
    pub fn ask_for_better(&mut self, destination: usize, route: usize, cx: &Context) {
        let it = &self.table.all()[destination];
        let Route { metric, neighbour, .. } = it.routes[route];
        if metric != INFINITY && plus(metric, self.params.urgent_increase) <= it.metric() {
            self.ask_for_newer(destination, neighbour, cx);
        }
    }

    /// A neighbour is asked for a newer number (§3.8.2.2).
    pub fn ask_for_newer(&mut self, destination: usize, neighbour: Address, cx: &Context) {
        let it = &self.table.all()[destination];
        let message = request(it.address, it.router, it.wanted(cx.now));
        self.send_to(neighbour, message, cx.now);
    }

    /// No route is left. The neighbour with the best unfeasible one is asked for a new seqno, and later all of them.
    /// Where there is none, all are asked once (§3.8.2.1).
    pub fn ask_somebody(&mut self, destination: usize, cx: &Context) {
        let it = &self.table.all()[destination];
        let (address, router, seqno) = (it.address, it.router, it.wanted(cx.now));
        let others = it.routes.iter().filter(|it| it.metric != INFINITY);
        let message = request(address, router, seqno);
        match others.min_by_key(|it| (it.metric, it.neighbour)).map(|it| it.neighbour) {
            Some(next) => {
                self.remember(address, router, seqno, next, self.params.request_repeats, cx.now);
                self.send_to(next, message, cx.now);
            }
            None => {
                self.remember(address, router, seqno, Address::BROADCAST, 0, cx.now);
                self.send_request(message, cx.now);
            }
        }
    }

    /// What a node tells about a destination that it has retracted, it tells again after a while.
    pub fn repeat_retraction(&mut self, destination: Address, now: Time) {
        let (wait, left) = (self.params.request_timeout, self.params.request_repeats);
        self.repeats.retain(|it| it.destination != destination);
        if left > 0 {
            self.repeats.push(Repeat { destination, at: now + wait, wait, left });
        }
    }

    /// Sends requests and retractions again whose time has come.
    pub fn repeat(&mut self, now: Time) {
        if self.pending.iter().any(|it| it.until <= now) {
            self.forget_requests(|it| it.until <= now, None);
        }
        for place in 0..self.pending.len() {
            let it = &mut self.pending[place];
            if it.again <= now {
                it.left -= 1;
                it.again = if it.left > 0 { it.again + it.wait } else { Time::NEVER };
                it.wait = it.wait * 2;
                let message = request(it.destination, it.router, it.seqno);
                self.send_request(message, now);
            }
        }
        let due: Vec<_> = self.repeats.iter().filter(|it| it.at <= now).map(|it| it.destination).collect();
        for it in self.repeats.iter_mut().filter(|it| it.at <= now) {
            it.left -= 1;
            it.at += it.wait;
            it.wait = it.wait * 2;
        }
        self.repeats.retain(|it| it.left > 0);
        for destination in due {
            for interface in 0..self.interfaces.len() {
                self.tell(interface, destination, Urgency::Urgent, now);
            }
        }
    }
}

/// A new request of this node.
const fn request(destination: Address, router: RouterId, seqno: u16) -> Message {
    Message::SeqnoRequest { destination: Target::Host(destination), router, seqno, hops: HOPS }
}
