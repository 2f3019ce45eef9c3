//! Messages of a node: when they leave, and in which packets (RFC 8966 §3.1, 3.4, 3.7, appendix B).

use hopyard_engine::{Span, Time};

use super::message::{BabelPacket, INFINITY, Message, Neighbour, ROUTERS, Target, Update, identifier};
use super::params::centiseconds;
use super::state::{Interface, State, Urgency};
use crate::address::{Address, InterfaceId};
use crate::context::{Action, Context, Origin};
use crate::packet::RoutingMessage;

/// The time to live of packets, which go one hop.
const TTL: u8 = 1;
/// Mean delay of a packet with updates after these are written (babeld 1.12.1).
const NOW: Span = Span::from_millis(8);

impl State {
    /// Sets the timers. Nodes that start together do not speak together. With its first Hello, a node tells its own
    /// addresses, and asks for all routes.
    pub fn start(&mut self, now: Time) {
        for interface in 0..self.interfaces.len() {
            let at = now + self.params.hello_interval.mul_f64(self.rng.uniform());
            self.look_at = self.look_at.min(at);
            let number = self.rng.below(1 << 16) as u16;
            let it = &mut self.interfaces[interface];
            (it.hello, it.hello_at, it.update_at) = (number, at, at);
            it.messages.push(Message::Request(Target::All));
        }
        self.seqno = self.rng.below(1 << 16) as u16;
    }

    /// A time that is about as long.
    pub fn roughly(&mut self, span: Span) -> Span {
        let spread = self.params.spread;
        span.mul_f64(self.rng.uniform_in(1.0 - spread, 1.0 + spread))
    }

    /// A delay that is about as long: babeld draws twice.
    fn about(&mut self, delay: Span) -> Span {
        let once = self.roughly(delay);
        self.roughly(once)
    }

    /// What waits at an interface leaves after a random time, and earlier if that was said before.
    pub fn schedule(&mut self, interface: usize, urgency: Urgency, now: Time) {
        let delay = match urgency {
            Urgency::Update => self.params.update_delay(),
            Urgency::Packet => self.params.packet_delay(),
            Urgency::Urgent => self.params.urgent_delay,
            Urgency::Now => Span::ZERO,
        };
        let written = now + self.about(delay);
        let at = if urgency == Urgency::Packet { written } else { written + self.about(NOW) };
        let it = &mut self.interfaces[interface];
        it.flush_at = it.flush_at.min(at);
    }

    /// The route to a destination is to be told at an interface, or that there is none.
    pub fn tell(&mut self, interface: usize, destination: Address, urgency: Urgency, now: Time) {
        // Also where all routes are to be told: not every retraction is among them.
        self.interfaces[interface].updates.push(destination);
        self.schedule(interface, urgency, now);
    }

    /// The same at all interfaces.
    pub fn tell_everywhere(&mut self, destination: Address, urgency: Urgency, now: Time) {
        for interface in 0..self.interfaces.len() {
            self.tell(interface, destination, urgency, now);
        }
    }

    /// A request for all neighbours at all interfaces.
    pub fn send_request(&mut self, message: Message, now: Time) {
        for interface in 0..self.interfaces.len() {
            self.hurry(interface, now);
            self.interfaces[interface].messages.push(message);
            self.schedule(interface, Urgency::Packet, now);
        }
    }

    /// A request for one neighbour.
    pub fn send_to(&mut self, neighbour: Address, message: Message, now: Time) {
        let Some(place) = self.neighbour(neighbour) else { return };
        let interface = self.neighbours[place].interface;
        self.hurry(interface, now);
        let at = now + self.about(self.params.packet_delay());
        let it = &mut self.interfaces[interface];
        it.unicast.push((neighbour, message));
        it.unicast_at = it.unicast_at.min(at);
    }

    /// Updates go before a request: its answer may depend on them. What comes up about the same destinations is told
    /// again then, even in the same packet, as by babeld.
    fn hurry(&mut self, interface: usize, now: Time) {
        let it = &self.interfaces[interface];
        if it.all || !it.updates.is_empty() {
            self.write_updates(interface, now);
            self.schedule(interface, Urgency::Now, now);
        }
    }

    /// Makes the messages that are due, and sends what has waited long enough.
    pub fn emit(&mut self, cx: &mut Context) {
        let now = cx.now;
        for interface in 0..self.interfaces.len() {
            if self.interfaces[interface].hello_at <= now {
                self.make_hello(interface, now);
            }
            if self.interfaces[interface].update_at <= now {
                let next = now + self.roughly(self.params.update_interval());
                let it = &mut self.interfaces[interface];
                (it.all, it.update_at) = (true, next);
                self.schedule(interface, Urgency::Update, now);
            }
            if self.interfaces[interface].flush_at <= now {
                self.flush(interface, cx);
            }
            if self.interfaces[interface].unicast_at <= now {
                self.flush_unicast(interface, cx);
            }
        }
    }

    /// The Hello of an interface, and the IHUs beside it: for all neighbours with every third Hello, for those on lossy
    /// links with each.
    fn make_hello(&mut self, interface: usize, now: Time) {
        let next = now + self.roughly(self.params.hello_interval);
        let params = &self.params;
        let it = &mut self.interfaces[interface];
        it.hello_at = next;
        // Two Hellos in one packet would be lost or heard together.
        if it.messages.iter().any(|it| matches!(it, Message::Hello { .. })) {
            return;
        }
        let seqno = it.hello;
        it.hello = seqno.wrapping_add(1);
        // First: a neighbour that hears this node for the first time may answer what else is in the packet.
        let hello = Message::Hello { unicast: false, seqno, interval: centiseconds(params.hello_interval) };
        it.messages.insert(0, hello);
        let all = seqno.is_multiple_of(u16::from(params.ihu_hellos));
        for place in 0..self.neighbours.len() {
            let neighbour = &self.neighbours[place];
            if neighbour.interface == interface && (all || neighbour.is_lossy()) {
                self.make_ihu(place);
            }
        }
        self.schedule(interface, Urgency::Packet, now);
    }

    /// The IHU for a neighbour.
    pub fn make_ihu(&mut self, place: usize) {
        let (params, neighbour) = (&self.params, &self.neighbours[place]);
        let it = &mut self.interfaces[neighbour.interface];
        let rxcost = neighbour.rxcost(params, it.is_wired());
        let address = match params.ipv6 {
            true => Neighbour::LinkLocal(identifier(neighbour.address)),
            false => Neighbour::Ipv4(neighbour.address),
        };
        let interval = centiseconds(params.ihu_interval());
        it.messages.push(Message::Ihu { rxcost, interval, address: Some(address) });
    }

    /// Sends what waits for all neighbours at an interface.
    fn flush(&mut self, interface: usize, cx: &mut Context) {
        self.interfaces[interface].flush_at = Time::NEVER;
        self.write_updates(interface, cx.now);
        let messages = std::mem::take(&mut self.interfaces[interface].messages);
        self.send(interface, messages, None, cx);
    }

    /// Makes the updates that are due.
    fn write_updates(&mut self, interface: usize, now: Time) {
        let it = &mut self.interfaces[interface];
        let mut updates = std::mem::take(&mut it.updates);
        if std::mem::take(&mut it.all) {
            it.told_all = now;
            let known = self.table.all().iter().filter(|it| it.selected.or(it.lost).is_some()).map(|it| it.address);
            updates.extend(self.own.iter().copied().chain(known));
        }
        let mut messages = std::mem::take(&mut self.interfaces[interface].messages);
        self.make_updates(interface, updates, &mut messages, now);
        self.interfaces[interface].messages = messages;
    }

    /// Sends what waits for single neighbours.
    fn flush_unicast(&mut self, interface: usize, cx: &mut Context) {
        let it = &mut self.interfaces[interface];
        it.unicast_at = Time::NEVER;
        let mut unicast = std::mem::take(&mut it.unicast);
        // Stable: a neighbour gets its messages in their order.
        unicast.sort_by_key(|it| it.0);
        for of_one in unicast.chunk_by(|a, b| a.0 == b.0) {
            self.send(interface, of_one.iter().map(|it| it.1).collect(), Some(of_one[0].0), cx);
        }
    }

    /// The updates about these destinations, each once, in the order of their routers. The feasibility distances
    /// follow (§3.7.3).
    fn make_updates(&mut self, interface: usize, mut of: Vec<Address>, to: &mut Vec<Message>, now: Time) {
        of.sort_unstable();
        of.dedup();
        let first = to.len();
        let interval = centiseconds(self.params.update_interval());
        let splits = self.params.split_horizon && self.interfaces[interface].is_wired();
        // Over IPv6 the sender's address is no next hop for packets of IPv4 (§4.6.8).
        let next_hop = self.params.ipv6.then_some(self.interfaces[interface].address);
        let update = |address, router, seqno, metric| {
            // As babeld does, also in a retraction, which needs no router.
            let (destination, router) = (Target::Host(address), Some(router));
            Message::Update(Update { destination, router, next_hop, seqno, metric, interval })
        };
        for address in of {
            if self.own.contains(&address) {
                to.push(update(address, self.router, self.seqno, 0));
                continue;
            }
            let Some(place) = self.table.place(address) else {
                to.push(update(address, self.router, self.seqno, INFINITY));
                continue;
            };
            let it = &mut self.table.all_mut()[place];
            let Some(&route) = it.route() else {
                to.push(update(address, it.router, self.seqno, INFINITY));
                continue;
            };
            // §3.7.4: whoever is at the other end of the wire has told this route.
            let by = self.neighbours.binary_search_by_key(&route.neighbour, |it| it.address);
            if splits && by.is_ok_and(|by| self.neighbours[by].interface == interface) {
                continue;
            }
            to.push(update(address, it.router, route.seqno, route.metric));
            it.tell(route.seqno, route.metric, now, self.params.source_hold);
        }
        // Routers with several addresses are named once.
        to[first..].sort_by_key(|it| if let Message::Update(it) = it { it.router } else { None });
    }

    /// Sends messages to all neighbours at an interface, or to one.
    fn send(&mut self, interface: usize, messages: Vec<Message>, to: Option<Address>, cx: &mut Context) {
        let Interface { address, .. } = self.interfaces[interface];
        let name = |it: Address| cx.owners.name(it);
        let packets = BabelPacket::pack(messages, self.params.payload_limit(), &name);
        let packets = packets.expect("every finite metric has its router");
        for packet in packets {
            let packet = if self.params.ipv6 { packet.over_ipv6() } else { packet };
            let size = self.params.headers() + packet.size();
            let (destination, next_hop) = (to.unwrap_or(ROUTERS), to.unwrap_or(Address::BROADCAST));
            let message = RoutingMessage::new(packet);
            let packet = cx.originate_routing(Origin::Own, address, destination, TTL, size, message);
            cx.act(Action::SendBy { interface: InterfaceId::from(address), packet, next_hop });
        }
    }
}
