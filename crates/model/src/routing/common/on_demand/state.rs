//! The description of a protocol, the state of a node, and its use under every set of procedures.

use std::fmt::Debug;

use hopyard_engine::{Rng, Span, Time};

use super::{Entry, Radios, Table, tick_from};
use crate::address::{Address, InterfaceId, NodeId};
use crate::context::{Action, Context, DropReason, Origin};
use crate::packet::{Body, Message, PacketId, Quote, RoutingMessage};
use crate::params::Shared;
use crate::routing::Networks;
use crate::routing::common::SendBuffer;

/// A protocol of this kind, by its parameters.
pub trait OnDemand: Clone + Debug {
    /// Its messages.
    type Message: Message + Clone;
    /// Its notes of the requests that were heard.
    type Heard: Default + Debug;
    /// Its table's entry for each destination.
    type Entry: Entry;
    /// Further state of a node.
    type Own: Default + Debug;

    /// The parameters that all protocols of this kind have.
    fn common(&self) -> Common;

    /// The bytes of a packet with this message, with its headers.
    fn packet_size(&self, message: &Self::Message) -> u32;

    /// Reads what a message needs that arrives soon into the cache; the value means nothing.
    #[inline]
    fn prefetch(state: &State<Self>, _message: &Self::Message) -> u32 {
        state.address.0
    }

    /// Whether packets from an address enter the ad hoc network at this node, so that it looks for routes for them.
    #[inline]
    fn is_source(state: &State<Self>, source: Address, cx: &Context) -> bool {
        state.is_own(source, cx)
    }

    /// Bytes that the protocol adds to each TCP segment of its node.
    #[inline]
    fn repeated_header(&self) -> u32 {
        0
    }

    /// The node is told what it is attached to. The state has its radios already.
    fn on_networks(_state: &mut State<Self>, _networks: &Networks) {}

    /// Whether the node takes packets out of tunnels.
    fn accepts_tunnels(_state: &State<Self>) -> bool {
        false
    }

    /// The next hop and the hops of the route to a destination.
    fn lookup(state: &State<Self>, destination: Address) -> Option<(Address, u8)> {
        state.table.up(destination).and_then(Entry::route)
    }

    /// The gateway for which packets to a destination go into a tunnel.
    fn tunnel_end(_state: &State<Self>, _destination: Address) -> Option<Address> {
        None
    }

    /// Whether there is a way for an ICMP error to a destination.
    fn has_way(state: &State<Self>, destination: Address, _cx: &Context) -> bool {
        state.table.up(destination).is_some()
    }
}

/// The parameters that all protocols of this kind have.
#[derive(Clone, Copy, Debug)]
pub struct Common {
    /// Whether the link layer's failures count.
    pub by_link_layer: bool,
    /// Whether HELLO messages are sent and counted.
    pub by_hello: bool,
    /// How long a request's number is remembered.
    pub path_discovery_time: Span,
    /// How long a route stays valid after its last use.
    pub active_route_timeout: Span,
    /// Time between a node's HELLO messages.
    pub hello_interval: Span,
    /// By how much each interval may be longer or shorter.
    pub hello_jitter: Span,
    /// The silence after which a neighbour is lost.
    pub neighbour_expiry: Span,
    /// Largest random delay of a broadcast.
    pub broadcast_jitter: Span,
    /// Packets that a node can hold.
    pub buffer_packets: u16,
    /// How long a packet is held.
    pub buffer_timeout: Span,
    /// TTL given to packets originated here; 0: as transport set it.
    pub data_ttl: u8,
}

/// The state that all sets of procedures have.
///
/// Most packets that a node hears in a flood are requests that it has heard before. The fields needed for these come
/// first, so that they share a cache line.
#[derive(Debug)]
#[repr(C)]
pub struct State<P: OnDemand> {
    /// When the timer is next to be called, as found after the last change.
    pub deadline: Time,
    /// The requests that were heard.
    pub heard: P::Heard,
    /// How long a request's number is remembered.
    pub memory: Span,
    /// This node.
    pub node: NodeId,
    /// The address of the first interface, by which other nodes know this one.
    pub address: Address,
    /// The node's own sequence number.
    pub sequence: u32,
    /// The number of the last request.
    pub request_id: u32,
    /// The entry of each destination.
    pub table: Table<P::Entry>,
    /// The node's random numbers.
    pub rng: Rng,
    /// The radios of a node that has several.
    pub radios: Radios,
    /// The packets that wait for routes.
    pub buffer: SendBuffer,
    /// Neighbours whose HELLO was heard, each with the time at which it is lost.
    neighbours: Vec<(Address, Time)>,
    /// No neighbour is lost before this time.
    pub next_loss: Time,
    /// Only without feedback of the link layer: the last segment of each flow that did not reach a neighbour, and when.
    /// When the neighbour is lost, the sources of these segments are told.
    failed: Vec<(Address, Quote, Time)>,
    /// When this node last broadcast a message.
    last_broadcast: Time,
    /// When the next HELLO is due.
    pub hello_at: Time,
    /// Until when the node is part of an active route.
    active_until: Time,
    /// The state of this protocol alone.
    pub own: P::Own,
    /// The parameters that all protocols of this kind have.
    pub common: Common,
    /// The protocol's parameters.
    pub params: Shared<P>,
}

impl<P: OnDemand> State<P> {
    /// The state of a node that knows nothing yet; its sequence number is `sequence`.
    #[must_use]
    pub fn new(params: &Shared<P>, node: NodeId, rng: Rng, sequence: u32) -> Self {
        let common = params.common();
        Self {
            deadline: Time::NEVER,
            heard: P::Heard::default(),
            memory: common.path_discovery_time,
            node,
            address: node.into(),
            sequence,
            request_id: 0,
            table: Table::default(),
            rng,
            radios: Radios::default(),
            buffer: SendBuffer::new(node, usize::from(common.buffer_packets), common.buffer_timeout),
            neighbours: Vec::new(),
            next_loss: Time::NEVER,
            failed: Vec::new(),
            last_broadcast: Time::ZERO,
            hello_at: Time::NEVER,
            active_until: Time::ZERO,
            own: P::Own::default(),
            common,
            params: params.clone(),
        }
    }

    /// Whether an address is this node's.
    #[inline]
    pub fn is_own(&self, address: Address, cx: &Context) -> bool {
        address == self.address || cx.is_local(self.node, address)
    }

    /// Whether packets from an address enter the ad hoc network here: this node looks for routes for them.
    #[inline]
    pub fn is_source(&self, source: Address, cx: &Context) -> bool {
        P::is_source(self, source, cx)
    }

    /// A random delay for a broadcast that several neighbours could otherwise send at the same time.
    pub fn jitter(&mut self) -> Span {
        self.common.broadcast_jitter.mul_f64(self.rng.uniform())
    }

    /// Sends a new message of this node to a neighbour, or to all.
    pub fn send(&mut self, message: P::Message, to: Address, ttl: u8, delay: Span, cx: &mut Context) {
        self.send_as(Origin::Own, message, to, ttl, delay, cx);
    }

    /// Sends a new message to a neighbour, or to all; `origin` says whose it is.
    pub fn send_as(
        &mut self,
        origin: Origin,
        message: P::Message,
        to: Address,
        ttl: u8,
        delay: Span,
        cx: &mut Context,
    ) {
        let size = self.params.packet_size(&message);
        let packet = cx.originate_routing(origin, self.address, to, ttl, size, RoutingMessage::new(message));
        self.dispatch(packet, to, delay, cx);
    }

    /// Broadcasts a new message by one of several radios, from the address that the node has there.
    pub fn send_by(&mut self, origin: Origin, message: P::Message, interface: InterfaceId, cx: &mut Context) {
        let size = self.params.packet_size(&message);
        let message = RoutingMessage::new(message);
        let packet = cx.originate_routing(origin, interface.into(), Address::BROADCAST, 1, size, message);
        self.last_broadcast = cx.now;
        cx.act(Action::SendBy { interface, packet, next_hop: Address::BROADCAST });
    }

    /// Sends a message on, changed.
    pub fn send_on(
        &mut self,
        packet: PacketId,
        message: P::Message,
        to: Address,
        ttl: u8,
        delay: Span,
        cx: &mut Context,
    ) {
        let it = &mut cx.packets[packet];
        it.source = self.address;
        it.destination = to;
        it.ttl = ttl;
        it.body = Body::Routing(RoutingMessage::new(message));
        self.dispatch(packet, to, delay, cx);
    }

    /// Gives a packet to the link, after a delay.
    pub fn dispatch(&mut self, packet: PacketId, next_hop: Address, delay: Span, cx: &mut Context) {
        if next_hop.is_broadcast() {
            self.last_broadcast = cx.now + delay;
        }
        let node = self.node;
        cx.act(if delay.is_zero() {
            Action::Send { node, packet, next_hop }
        } else {
            Action::SendLater { node, packet, next_hop, at: cx.now + delay }
        });
    }

    /// As in ns-2, which looks at its searches at every `tick`: the first look at which a request may be sent for a
    /// destination that has packets waiting. `retries` are the destinations, each with the time of its next request.
    pub fn next_look(&self, retries: impl Iterator<Item = (Address, Time)>, tick: Span) -> Time {
        let waiting = retries.filter(|&(destination, _)| self.buffer.has(destination));
        waiting.map(|(_, at)| tick_from(at, tick)).min().unwrap_or(Time::NEVER)
    }

    /// As in ns-2: the destinations that have packets waiting and for which a request may be sent.
    pub fn to_retry(&self, retries: impl Iterator<Item = (Address, Time)>, now: Time) -> Vec<Address> {
        let due = retries.filter(|&(destination, at)| at <= now && self.buffer.has(destination));
        due.map(|(destination, _)| destination).collect()
    }

    /// Drops the packets for which no route was found.
    pub fn give_up(&mut self, destination: Address, cx: &mut Context) {
        for packet in self.buffer.take(destination, cx) {
            self.abandon(packet, cx);
        }
    }

    /// Drops a packet for which no route was found.
    pub fn abandon(&self, packet: PacketId, cx: &mut Context) {
        // RFC 3561 §6.3: after the last search the destination counts as unreachable.
        cx.unreachable(self.node, packet);
        cx.drop_packet(self.node, packet, DropReason::DiscoveryFailed);
    }

    /// The node is part of an active route until then: only such nodes send HELLO messages (RFC 3561 §6.9).
    #[inline]
    pub fn take_part(&mut self, until: Time) {
        self.active_until = until;
        if self.hello_at == Time::NEVER && self.common.by_hello {
            let now = until - self.common.active_route_timeout;
            self.hello_at = self.last_broadcast.max(now) + self.common.hello_interval;
        }
    }

    /// A HELLO may be due. Finds when the next HELLO is due, and sends this one, `hello` of its sender. Nothing is sent
    /// if the node is part of no active route, or sent another broadcast within the last interval (RFC 3561 §6.9).
    pub fn hello(&mut self, hello: impl Fn(Address) -> P::Message, cx: &mut Context) {
        if cx.now >= self.active_until {
            self.hello_at = Time::NEVER;
            return;
        }
        let interval = self.hello_interval();
        if self.last_broadcast != Time::ZERO && cx.now.since(self.last_broadcast) < self.common.hello_interval {
            self.hello_at = (self.last_broadcast + interval).max(cx.now + Span::from_millis(1));
            return;
        }
        let delay = self.jitter();
        self.send_hello(hello, delay, cx);
        self.hello_at = cx.now + interval;
    }

    /// Sends a HELLO, by each of several radios at once, about the address that the node has there.
    pub fn send_hello(&mut self, hello: impl Fn(Address) -> P::Message, delay: Span, cx: &mut Context) {
        let radios = self.radios.interfaces();
        for &radio in &radios {
            self.send_by(Origin::Own, hello(radio.into()), radio, cx);
        }
        if radios.is_empty() {
            self.send(hello(self.address), Address::BROADCAST, 1, delay, cx);
        }
    }

    /// The time to the next HELLO, with its jitter.
    pub fn hello_interval(&mut self) -> Span {
        let jitter = self.common.hello_jitter.seconds();
        Span::from_secs_f64(self.common.hello_interval.seconds() + self.rng.uniform_in(-jitter, jitter))
    }

    /// A HELLO of this neighbour was heard, which is lost at `lost_at` now, or, if it was the first one, at
    /// `first_lost_at`. Whether it was the first.
    pub fn meet_neighbour(&mut self, neighbour: Address, first_lost_at: Time, lost_at: Time) -> bool {
        let place = self.neighbours.binary_search_by_key(&neighbour, |&(node, _)| node);
        let at = if place.is_ok() { lost_at } else { first_lost_at };
        self.next_loss = self.next_loss.min(at);
        match place {
            Ok(place) => self.neighbours[place].1 = at,
            Err(place) => self.neighbours.insert(place, (neighbour, at)),
        }
        place.is_err()
    }

    /// Whether a HELLO of this neighbour was heard.
    #[must_use]
    pub fn is_neighbour(&self, address: Address) -> bool {
        self.neighbours.iter().any(|&(neighbour, _)| neighbour == address)
    }

    /// Any packet from a neighbour shows that the link is up (RFC 3561 §6.9).
    #[inline]
    pub fn hear_neighbour(&mut self, neighbour: Address, now: Time) {
        if let Ok(place) = self.neighbours.binary_search_by_key(&neighbour, |&(node, _)| node) {
            self.neighbours[place].1 = now + self.common.neighbour_expiry;
        }
    }

    /// Forgets a neighbour.
    pub fn forget_neighbour(&mut self, lost: Address) {
        self.neighbours.retain(|&(neighbour, _)| neighbour != lost);
    }

    /// Removes the neighbours that are lost.
    pub fn lost_neighbours(&mut self, now: Time) -> Vec<Address> {
        let lost = self.neighbours.iter().filter(|&&(_, at)| at <= now).map(|&(node, _)| node).collect();
        self.neighbours.retain(|&(_, at)| at > now);
        self.next_loss = self.neighbours.iter().map(|&(_, at)| at).min().unwrap_or(Time::NEVER);
        lost
    }

    /// The link layer has given up a packet. With HELLO messages alone this does not break the link.
    pub fn note_failure(&mut self, packet: PacketId, next_hop: Address, cx: &Context) {
        if let Some(quote) = cx.packets[packet].quote() {
            self.failed.retain(|(_, other, _)| other.flow != quote.flow);
            self.failed.push((next_hop, quote, cx.now));
        }
    }

    /// A neighbour is lost because its HELLO messages did not arrive. Tells the sources of all segments that failed
    /// since it was last heard.
    pub fn report_failures(&mut self, lost: Address, cx: &mut Context) {
        // The check for lost neighbours runs up to one interval late.
        let silence = self.common.neighbour_expiry + self.common.hello_interval;
        for &(next_hop, quote, at) in &self.failed {
            if next_hop == lost && cx.now.since(at) <= silence {
                cx.act(Action::Unreachable { node: self.node, quote });
            }
        }
        self.failed.retain(|&(next_hop, ..)| next_hop != lost);
    }
}
