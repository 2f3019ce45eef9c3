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

/// Routes that expire are looked for no more often than this.
const LOOK: Span = Span::from_secs(1);
/// A metric that has grown from more than this is not urgent (babeld).
const URGENT_BELOW: u16 = 6 * 256;

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
    /// Messages that wait.
    pub messages: Vec<Message>,
    /// Destinations whose routes are to be told after them, or that there is none.
    pub updates: Vec<Address>,
    /// Whether all routes are to be told.
    pub all: bool,
    /// Requests that wait for one neighbour, and when they are sent.
    pub unicast: Vec<(Address, Message)>,
    pub unicast_at: Time,
    /// When all else that waits is sent.
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
            messages: Vec::new(),
            updates: Vec::new(),
            all: false,
            unicast: Vec::new(),
            unicast_at: Time::NEVER,
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

/// How long a message waits for others that share its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// As updates do.
    Update,
    /// As Hellos, IHUs and requests do.
    Packet,
    /// As updates that are urgent do.
    Urgent,
    /// As updates that are written already.
    Now,
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
    /// When missing Hellos and old IHUs are looked for.
    pub look_at: Time,
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
            look_at: Time::NEVER,
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
                    let (interval, hold) = (of_centiseconds(interval), self.params.hello_hold);
                    self.neighbours[place].hello(seqno, interval, hold, cx.now);
                    if !interval.is_zero() {
                        self.look_after(interval, cx.now);
                    }
                    weighed = true;
                }
                Message::Ihu { rxcost, interval, address }
                    if address.is_none_or(|it| self.interfaces[hears].is(it)) =>
                {
                    self.neighbours[place].ihu(rxcost, of_centiseconds(interval), self.params.ihu_hold, cx.now);
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

    /// Missing Hellos are looked for when one of a neighbour with this interval may be missing.
    fn look_after(&mut self, interval: Span, now: Time) {
        let own = self.params.look_interval();
        if !own.is_zero() {
            let scale = own.seconds() / self.params.hello_interval.seconds();
            let at = now + self.roughly(interval.mul_f64(scale));
            self.look_at = self.look_at.min(at);
        }
    }

    /// Computes the cost of a link anew, and the metrics of the routes over it (§3.5.2).
    fn weigh(&mut self, place: usize, cx: &mut Context) {
        let wired = self.is_wired(place);
        let it = &mut self.neighbours[place];
        if !it.weigh(&self.params, wired) {
            return;
        }
        let (address, cost, smoothing) = (it.address, it.cost, self.params.smoothed());
        for destination in 0..self.table.all().len() {
            let it = &mut self.table.all_mut()[destination];
            let Some(place) = it.place(address) else { continue };
            let route = &mut it.routes[place];
            let before = route.metric;
            route.set_metric(plus(route.advertised, cost), cx.now, smoothing);
            if route.metric != before {
                self.choose(destination, place, before, cx);
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
        let (now, smoothing) = (cx.now, self.params.smoothed());
        let (seqno, advertised) = (update.seqno, update.metric);
        let destination = match self.table.place(address) {
            Some(place) => place,
            None if advertised == INFINITY => return,
            None => self.table.place_or_new(address, router),
        };
        let metric = plus(advertised, cost);
        let hold = of_centiseconds(update.interval).mul_f64(self.params.route_hold);
        let it = &mut self.table.all_mut()[destination];
        let feasible = it.is_feasible(seqno, advertised, now);
        let selected = it.selected == Some(from);
        let Some(route) = it.place(from) else {
            if advertised == INFINITY {
                return;
            }
            let place = it.routes.len();
            it.add(Route::new(from, seqno, advertised, now, hold));
            it.routes[place].set_first(metric, now, smoothing);
            self.next_expiry = self.next_expiry.min(it.routes[place].ask_at);
            self.choose(destination, place, INFINITY, cx);
            if !feasible {
                self.ask_for_better(destination, place, cx);
            }
            return;
        };
        let place = route;
        let route = &mut it.routes[place];
        // §3.5.3 lets an unfeasible update of the selected route be ignored. As in babeld, the route stays selected,
        // with its new metric.
        if selected && advertised != INFINITY && newer(route.seqno, seqno) {
            return self.ask_for_newer(destination, from, cx);
        }
        let before = route.metric;
        (route.seqno, route.advertised) = (seqno, advertised);
        route.set_metric(metric, now, smoothing);
        if advertised != INFINITY {
            route.keep(now, hold);
            // The interval may be shorter than that of the update before.
            self.next_expiry = self.next_expiry.min(route.ask_at);
        }
        // Also where nothing has changed: the smoothed metrics have. Most updates are of routes that are longer.
        if selected || metric <= it.metric() {
            self.choose(destination, place, before, cx);
        }
        if !feasible {
            self.ask_for_better(destination, place, cx);
        }
    }

    /// A neighbour retracts all its routes.
    fn retract_all(&mut self, from: Address, cx: &mut Context) {
        let smoothing = self.params.smoothed();
        for destination in 0..self.table.all().len() {
            let it = &mut self.table.all_mut()[destination];
            if let Some(place) = it.place(from) {
                let route = &mut it.routes[place];
                let before = route.metric;
                route.advertised = INFINITY;
                route.set_metric(INFINITY, cx.now, smoothing);
                self.choose(destination, place, before, cx);
            }
        }
    }

    /// Chooses among the routes to a destination after one of them has changed, whose metric was `before`, and tells
    /// the neighbours (§3.6, 3.7.2).
    fn choose(&mut self, destination: usize, changed: usize, before: u16, cx: &mut Context) {
        let smoothing = self.params.smoothed();
        let it = &mut self.table.all_mut()[destination];
        let (address, neighbour, had) = (it.address, it.routes[changed].neighbour, it.selected);
        // The metric of the selected route until now.
        let before = if had == Some(neighbour) { before } else { it.metric() };
        it.select(changed, cx.now, smoothing);
        // A change of the route is compared with what the route has become, which may have been told.
        let before = match (had, it.selected) {
            (Some(old), Some(new)) if old != new => {
                it.routes.iter().find(|it| it.neighbour == old).map_or(INFINITY, |it| it.metric)
            }
            _ => before,
        };
        match it.route() {
            None if had.is_some() => {
                it.lost = had;
                self.tell_everywhere(address, Urgency::Urgent, cx.now);
                self.repeat_retraction(address, cx.now);
            }
            None => {}
            Some(&Route { metric, seqno, .. }) => {
                let first = it.lost.take().is_none() && had.is_none();
                if let Some(urgency) = self.news(destination, first, before, metric, seqno) {
                    self.tell_everywhere(address, urgency, cx.now);
                }
            }
        }
        let after = self.table.all()[destination].metric();
        if before != INFINITY && after >= plus(before, self.params.triggered_increase) {
            self.send_request(Message::Request(Target::Host(address)), cx.now);
        }
        self.announce(destination, cx);
    }

    /// How soon a route with a metric is to be told whose metric was `before`, if before the next update of all routes.
    fn news(&mut self, destination: usize, first: bool, before: u16, metric: u16, seqno: u16) -> Option<Urgency> {
        let worse = before < URGENT_BELOW && metric >= plus(before, self.params.urgent_increase);
        if self.satisfies(destination, seqno) || worse || first {
            return Some(Urgency::Urgent);
        }
        let params = &self.params;
        let tells = before == INFINITY
            || metric >= plus(before, params.triggered_increase)
            || plus(metric, params.triggered_decrease) <= before;
        tells.then_some(Urgency::Update)
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
        let looks = self.params.look_interval();
        if looks.is_zero() || self.look_at <= cx.now {
            let mut shortest = self.params.hello_interval;
            let mut place = 0;
            while place < self.neighbours.len() {
                if self.neighbours[place].look(cx.now) {
                    self.weigh(place, cx);
                }
                if self.neighbours[place].is_silent() && self.neighbours[place].cost == INFINITY {
                    self.forget(place);
                } else {
                    shortest = self.neighbours[place].hello_interval().map_or(shortest, |it| it.min(shortest));
                    place += 1;
                }
            }
            self.look_at = Time::NEVER;
            self.look_after(shortest, cx.now);
        }
        if self.next_expiry <= cx.now {
            self.expire_routes(cx);
        }
    }

    /// Forgets a neighbour that is heard no more. None of its routes is selected.
    fn forget(&mut self, place: usize) {
        let address = self.neighbours.remove(place).address;
        for it in self.table.all_mut() {
            it.routes.retain(|it| it.neighbour != address);
            it.lost = it.lost.filter(|it| *it != address);
        }
        for it in &mut self.interfaces {
            it.unicast.retain(|it| it.0 != address);
        }
    }

    /// A route that expires is retracted first, and removed after as long again (§3.5.3). Shortly before, the neighbour
    /// is asked whether a selected route still holds (§3.8.2.3).
    fn expire_routes(&mut self, cx: &mut Context) {
        let (now, smoothing) = (cx.now, self.params.smoothed());
        let hold = self.params.update_interval().mul_f64(self.params.route_hold);
        let (mut next, mut asks) = (Time::NEVER, Vec::new());
        for destination in 0..self.table.all().len() {
            let Destination { routes, selected, lost: retracted, address, .. } = &mut self.table.all_mut()[destination];
            let mut lost = None;
            routes.retain_mut(|it| {
                if it.expires <= now {
                    *retracted = retracted.filter(|lost| *lost != it.neighbour);
                    if it.advertised == INFINITY {
                        return false;
                    }
                    let was_asked = it.ask_at == Time::NEVER;
                    it.advertised = INFINITY;
                    it.keep(now, hold);
                    if was_asked {
                        it.ask_at = Time::NEVER;
                    }
                    if *selected == Some(it.neighbour) {
                        lost = Some((it.neighbour, it.metric));
                    }
                    it.set_metric(INFINITY, now, smoothing);
                }
                if it.ask_at <= now && *selected == Some(it.neighbour) {
                    it.ask_at = Time::NEVER;
                    asks.push((it.neighbour, Message::Request(Target::Host(*address))));
                }
                next = next.min(it.ask_at).min(it.expires);
                true
            });
            if let Some((neighbour, before)) = lost
                && let Some(place) = self.table.all()[destination].place(neighbour)
            {
                self.choose(destination, place, before, cx);
                // Nobody tells it any more, so that a newer number is asked for (§3.8.2.1).
                if self.table.all()[destination].selected.is_none() {
                    self.table.all_mut()[destination].lost = None;
                    self.ask_somebody(destination, cx);
                }
            }
        }
        self.next_expiry = next.max(now + LOOK);
        for (neighbour, message) in asks {
            self.send_to(neighbour, message, now);
        }
    }

    /// When the timer is next to be called.
    pub fn deadline(&self) -> Time {
        let of_interface = |it: &Interface| it.hello_at.min(it.update_at).min(it.flush_at).min(it.unicast_at);
        let interfaces = self.interfaces.iter().map(of_interface);
        let looks = match self.params.look_interval().is_zero() {
            true => self.neighbours.iter().map(Neighbour::next_look).fold(Time::NEVER, Time::min),
            false => self.look_at,
        };
        let pending = self.pending.iter().map(Request::next);
        let repeats = self.repeats.iter().map(|it| it.at);
        interfaces.chain(pending).chain(repeats).fold(self.next_expiry.min(looks), Time::min)
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
