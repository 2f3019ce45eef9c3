//! The state of a node, and its reaction to what it hears (RFC 8966 §3.4, 3.5).

use hopyard_engine::{Rng, Span, Time};

use super::message::{INFINITY, Message, Neighbour as Heard, RouterId, Target, Update, identifier, newer, plus};
use super::neighbours::Neighbour;
use super::params::{Params, of_centiseconds};
use super::pending::{Repeat, Request};
use super::table::{Destination, Route, Table};
use crate::address::{Address, NodeId, Prefix};
use crate::context::{Action, Context, RouteChange};
use crate::params::Shared;
use crate::routing::Networks;

/// Routes that expire, or that become better than the selected one in the mean, are looked for no more often than this.
const LOOK: Span = Span::from_secs(1);
/// In the last part of its hold, a neighbour is asked whether a route still holds (babeld: 1/8).
const EARLY: f64 = 0.125;

/// An interface on which the protocol runs, with what waits to be sent there.
#[derive(Debug)]
pub struct Interface {
    /// Its address.
    pub address: Address,
    /// The network of a radio; the other end of a wire.
    pub network: Result<Prefix, Address>,
    /// The number of the next Hello.
    pub hello: u16,
    /// When it is due.
    pub hello_at: Time,
    /// When all routes are to be told.
    pub update_at: Time,
    /// When they were told last.
    pub told_all: Time,
    /// Hellos and IHUs that wait.
    pub signs: Vec<Message>,
    /// Destinations whose routes are to be told, and whether also that there is none, if that was the last
    /// news.
    pub updates: Vec<(Address, bool)>,
    /// Whether all routes are to be told.
    pub all: bool,
    /// Requests that wait.
    pub requests: Vec<Message>,
    /// Requests that wait for one neighbour.
    pub unicast: Vec<(Address, Message)>,
    /// When all that waits is sent.
    pub flush_at: Time,
}

impl Interface {
    fn new(address: Address, network: Result<Prefix, Address>) -> Self {
        Self {
            address,
            network,
            hello: 0,
            hello_at: Time::NEVER,
            update_at: Time::NEVER,
            told_all: Time::ZERO,
            signs: Vec::new(),
            updates: Vec::new(),
            all: false,
            requests: Vec::new(),
            unicast: Vec::new(),
            flush_at: Time::NEVER,
        }
    }

    /// Whether an IHU is for it.
    fn is(&self, neighbour: Heard) -> bool {
        match neighbour {
            Heard::Ipv4(address) => address == self.address,
            Heard::LinkLocal(it) => it == identifier(self.address),
        }
    }

    /// Whether it is the end of a wire.
    pub const fn is_wired(&self) -> bool {
        self.network.is_err()
    }
}

/// When a message must leave at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Within the longest jitter, together with others.
    Normal,
    /// Within the urgent timeout.
    Urgent,
}

/// Babel at one node.
#[derive(Debug)]
pub struct State {
    pub node: NodeId,
    /// The name of the router, made from an address.
    pub router: RouterId,
    /// All addresses, which the node originates.
    pub own: Vec<Address>,
    pub params: Shared<Params>,
    pub rng: Rng,
    /// The node's own sequence number.
    pub seqno: u16,
    pub interfaces: Vec<Interface>,
    /// The neighbours, by the addresses of their interfaces.
    pub neighbours: Vec<Neighbour>,
    pub table: Table,
    /// Requests that were sent or forwarded.
    pub pending: Vec<Request>,
    /// Retractions that are repeated.
    pub repeats: Vec<Repeat>,
    /// Destinations to which another route is better than the selected one, but not in the mean yet, and when they are
    /// looked at again.
    doubtful: Vec<Address>,
    doubts_at: Time,
    /// No route expires or is to be asked for before this time.
    pub next_expiry: Time,
    /// When the timer is to be called.
    pub due: Time,
}

impl State {
    pub fn new(params: &Shared<Params>, node: NodeId, rng: Rng) -> Self {
        let address = node.into();
        Self {
            node,
            router: RouterId::Of(address),
            own: vec![address],
            params: params.clone(),
            rng,
            seqno: 0,
            interfaces: vec![Interface::new(address, Ok(Prefix::DEFAULT))],
            neighbours: Vec::new(),
            table: Table::default(),
            pending: Vec::new(),
            repeats: Vec::new(),
            doubtful: Vec::new(),
            doubts_at: Time::NEVER,
            next_expiry: Time::NEVER,
            due: Time::NEVER,
        }
    }

    /// The networks of the node.
    pub fn on_networks(&mut self, networks: &Networks) {
        let radios = networks.radios.iter().map(|&(address, prefix)| Interface::new(address, Ok(prefix)));
        let wires = networks.wires.iter().map(|&(address, other)| Interface::new(address, Err(other)));
        self.interfaces = radios.chain(wires).collect();
        if !self.interfaces.is_empty() {
            self.own = self.interfaces.iter().map(|it| it.address).collect();
        }
    }

    /// The place of the interface that hears a neighbour's interface.
    fn interface_of(&self, from: Address, cx: &Context) -> Option<usize> {
        let hears = |it: &Interface| match it.network {
            Ok(prefix) => prefix.contains(cx.owners.name(from)),
            Err(other) => other == from,
        };
        let wired = self.interfaces.iter().position(|it| it.network == Err(from));
        wired.or_else(|| self.interfaces.iter().position(hears))
    }

    pub fn neighbour(&self, address: Address) -> Option<usize> {
        self.neighbours.binary_search_by_key(&address, |it| it.address).ok()
    }

    fn is_wired(&self, neighbour: usize) -> bool {
        self.interfaces[self.neighbours[neighbour].interface].is_wired()
    }

    /// The messages of a packet.
    pub fn receive(&mut self, messages: &[Message], from: Address, cx: &mut Context) {
        let Some(hears) = self.interface_of(from, cx) else { return };
        let found = self.neighbours.binary_search_by_key(&from, |it| it.address);
        let place = found.unwrap_or_else(|place| {
            self.neighbours.insert(place, Neighbour::new(from, hears));
            place
        });
        // Updates come last, so that the cost of the link is known by then.
        let mut weighed = false;
        for message in messages {
            match *message {
                Message::Hello { unicast: false, seqno, interval } => {
                    self.neighbours[place].hello(seqno, of_centiseconds(interval), cx.now);
                    weighed = true;
                }
                Message::Ihu { rxcost, interval, address }
                    if address.is_none_or(|it| self.interfaces[hears].is(it)) =>
                {
                    let hold = of_centiseconds(interval).mul_f64(self.params.ihu_hold);
                    self.neighbours[place].ihu(rxcost, cx.now + hold);
                    weighed = true;
                }
                _ => {}
            }
        }
        if weighed {
            self.weigh(place, cx);
        }
        for message in messages {
            match *message {
                Message::Update(ref update) => self.hear_update(update, place, cx),
                Message::Request(destination) => self.hear_request(destination, place, cx),
                Message::SeqnoRequest { destination: Target::Host(it), router, seqno, hops } => {
                    self.hear_seqno_request(it, router, seqno, hops, place, cx);
                }
                _ => {}
            }
        }
    }

    /// Computes the cost of a link anew, and the metrics of the routes over it (§3.5.2).
    fn weigh(&mut self, place: usize, cx: &mut Context) {
        let wired = self.is_wired(place);
        let it = &mut self.neighbours[place];
        if !it.weigh(&self.params, wired) {
            return;
        }
        let (address, cost, constant) = (it.address, it.cost, self.params.smoothing());
        for destination in 0..self.table.all().len() {
            let it = &mut self.table.all_mut()[destination];
            let Some(route) = it.place(address) else { continue };
            let route = &mut it.routes[route];
            let before = route.metric;
            route.set_metric(plus(route.advertised, cost), cx.now, constant);
            if route.metric != before {
                self.choose(destination, cx);
            }
        }
    }

    /// §3.5.3.
    fn hear_update(&mut self, update: &Update, place: usize, cx: &mut Context) {
        let (from, cost) = (self.neighbours[place].address, self.neighbours[place].cost);
        match (update.destination, update.router) {
            // A retraction of everything (§4.6.9).
            (Target::All, _) => self.retract_all(from, cx),
            (Target::Host(address), router) if !self.own.contains(&address) => {
                // A retraction, which names no router, makes no destination known.
                let router = router.unwrap_or(RouterId::Of(from));
                self.hear_route(address, router, update, from, cost, cx);
            }
            // No router here originates a network, and nobody else the node's own addresses.
            _ => {}
        }
    }

    fn hear_route(
        &mut self,
        address: Address,
        router: RouterId,
        update: &Update,
        from: Address,
        cost: u16,
        cx: &mut Context,
    ) {
        let (now, constant) = (cx.now, self.params.smoothing());
        let (seqno, advertised) = (update.seqno, update.metric);
        let destination = match self.table.place(address) {
            Some(place) => place,
            None if advertised == INFINITY => return,
            None => self.table.place_or_new(address, router),
        };
        let metric = plus(advertised, cost);
        let hold = of_centiseconds(update.interval).mul_f64(self.params.route_hold);
        let expires = now + hold;
        let it = &mut self.table.all_mut()[destination];
        let feasible = it.is_feasible(seqno, advertised, now);
        let selected = it.selected == Some(from);
        let Some(route) = it.place(from) else {
            if advertised == INFINITY {
                return;
            }
            it.add(Route::new(from, seqno, advertised, metric, now, expires));
            self.next_expiry = self.next_expiry.min(now + hold.mul_f64(1.0 - EARLY));
            self.choose(destination, cx);
            if !feasible {
                self.ask_for_better(destination, cx);
            }
            return;
        };
        let route = &mut it.routes[route];
        // §3.5.3 lets an unfeasible update of the selected route be ignored. As in babeld, the route stays selected,
        // with its new metric.
        if selected && advertised != INFINITY && newer(route.seqno, seqno) {
            return;
        }
        let same = (route.seqno, route.metric) == (seqno, metric);
        (route.seqno, route.advertised) = (seqno, advertised);
        route.set_metric(metric, now, constant);
        if advertised != INFINITY {
            (route.expires, route.asked) = (expires, false);
        }
        // A periodic update of the selected route, as most are, changes nothing.
        if !(same && selected) {
            self.choose(destination, cx);
        }
        if !feasible {
            self.ask_for_better(destination, cx);
        }
    }

    /// A neighbour retracts all its routes.
    fn retract_all(&mut self, from: Address, cx: &mut Context) {
        let constant = self.params.smoothing();
        for destination in 0..self.table.all().len() {
            let it = &mut self.table.all_mut()[destination];
            if let Some(route) = it.place(from) {
                it.routes[route].advertised = INFINITY;
                it.routes[route].set_metric(INFINITY, cx.now, constant);
                self.choose(destination, cx);
            }
        }
    }

    /// Chooses among the routes to a destination, and tells what has changed (§3.6, 3.7.2).
    pub fn choose(&mut self, destination: usize, cx: &mut Context) {
        let constant = self.params.smoothing();
        let it = &mut self.table.all_mut()[destination];
        let had = it.selected.is_some();
        let waits = it.select(cx.now, constant);
        let (address, told) = (it.address, it.told);
        if waits && !std::mem::replace(&mut it.doubted, true) {
            self.doubtful.push(address);
            self.doubts_at = self.doubts_at.min(cx.now + LOOK);
        }
        match it.route() {
            None if had => self.lose(destination, cx),
            None => {}
            Some(&Route { metric, seqno, .. }) => {
                if std::mem::replace(&mut it.repeats, false) {
                    self.repeats.retain(|it| it.destination != address);
                }
                let worse = told != INFINITY && metric >= plus(told, self.params.urgent_increase);
                let urgent = self.satisfies(destination, seqno) || worse;
                let tells = urgent
                    || told == INFINITY
                    || metric >= plus(told, self.params.triggered_increase)
                    || plus(metric, self.params.triggered_decrease) <= told;
                if worse {
                    self.ask_for_better(destination, cx);
                }
                if tells {
                    self.tell_everywhere(address, if urgent { Urgency::Urgent } else { Urgency::Normal }, cx.now);
                }
            }
        }
        self.announce(destination, cx);
    }

    /// No route to a destination is left: it is retracted, and a newer number is asked for (§3.5.4, 3.8.2.1).
    fn lose(&mut self, destination: usize, cx: &mut Context) {
        let it = &self.table.all()[destination];
        let (address, told) = (it.address, it.told);
        if told != INFINITY {
            self.tell_everywhere(address, Urgency::Urgent, cx.now);
            self.repeat_retraction(destination, cx.now);
        }
        self.ask_somebody(destination, cx);
    }

    /// Tells the node's measures and transports of another route to a destination that data go to.
    pub fn announce(&mut self, destination: usize, cx: &mut Context) {
        let it = &mut self.table.all_mut()[destination];
        let route = it.route().map(|it| (it.neighbour, hops(it.metric)));
        if it.used && it.announced != route {
            it.announced = route;
            let change = RouteChange { destination: it.address, route };
            cx.act(Action::RouteChanged { node: self.node, change });
        }
    }

    /// Looks at neighbours and routes whose time has come.
    pub fn expire(&mut self, cx: &mut Context) {
        let mut place = 0;
        while place < self.neighbours.len() {
            if self.neighbours[place].look(cx.now) {
                self.weigh(place, cx);
            }
            if self.neighbours[place].is_silent() && self.neighbours[place].cost == INFINITY {
                self.forget(place);
            } else {
                place += 1;
            }
        }
        if self.next_expiry <= cx.now {
            self.expire_routes(cx);
        }
        if self.doubts_at <= cx.now {
            self.doubts_at = Time::NEVER;
            for address in std::mem::take(&mut self.doubtful) {
                if let Some(destination) = self.table.place(address) {
                    self.table.all_mut()[destination].doubted = false;
                    self.choose(destination, cx);
                }
            }
        }
    }

    /// Forgets a neighbour that is heard no more. None of its routes is selected.
    fn forget(&mut self, place: usize) {
        let address = self.neighbours.remove(place).address;
        for it in self.table.all_mut() {
            it.routes.retain(|it| it.neighbour != address);
        }
        for it in &mut self.interfaces {
            it.unicast.retain(|it| it.0 != address);
        }
    }

    /// A route that expires is retracted first, and removed after as long again (§3.5.3). Shortly before, the neighbour
    /// is asked whether a selected route still holds (§3.8.2.3).
    fn expire_routes(&mut self, cx: &mut Context) {
        let (now, constant) = (cx.now, self.params.smoothing());
        let hold = self.params.update_interval().mul_f64(self.params.route_hold);
        let early = hold.mul_f64(EARLY);
        let (mut next, mut asks) = (Time::NEVER, Vec::new());
        for destination in 0..self.table.all().len() {
            let Destination { routes, selected, address, .. } = &mut self.table.all_mut()[destination];
            let mut lost = false;
            routes.retain_mut(|it| {
                if it.expires <= now {
                    if it.advertised == INFINITY {
                        return false;
                    }
                    (it.advertised, it.expires) = (INFINITY, now + hold);
                    it.set_metric(INFINITY, now, constant);
                    lost |= *selected == Some(it.neighbour);
                }
                let asks_now = !it.asked && *selected == Some(it.neighbour) && it.expires <= now + early;
                if asks_now {
                    it.asked = true;
                    asks.push((it.neighbour, Message::Request(Target::Host(*address))));
                }
                let early = if it.asked { Span::ZERO } else { early };
                next = next.min(Time::ZERO + it.expires.since(Time::ZERO).saturating_sub(early));
                true
            });
            if lost {
                self.choose(destination, cx);
            }
        }
        self.next_expiry = next.max(now + LOOK);
        for (neighbour, message) in asks {
            self.send_to(neighbour, message, Urgency::Normal, now);
        }
    }

    /// When the timer is next to be called.
    pub fn deadline(&self) -> Time {
        let of_interface = |it: &Interface| it.hello_at.min(it.update_at).min(it.flush_at);
        let interfaces = self.interfaces.iter().map(of_interface);
        let neighbours = self.neighbours.iter().map(Neighbour::next_look);
        let pending = self.pending.iter().map(Request::next);
        let repeats = self.repeats.iter().map(|it| it.at);
        interfaces.chain(neighbours).chain(pending).chain(repeats).fold(self.next_expiry.min(self.doubts_at), Time::min)
    }

    /// The next hop and the hops of the route to a destination.
    pub fn lookup(&self, destination: Address) -> Option<(Address, u8)> {
        let route = self.table.get(destination)?.route()?;
        Some((route.neighbour, hops(route.metric)))
    }
}

/// The hops of a path with a metric: each costs 256 over radio where nothing is lost. The protocol itself knows no
/// hops.
fn hops(metric: u16) -> u8 {
    ((u32::from(metric) + 128) / 256).clamp(1, 255) as u8
}
