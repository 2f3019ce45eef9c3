//! What an AODV node knows, and what it does with that under every set of procedures.

use hopyard_engine::{Rng, Span, Time};

use super::buffer::Buffer;
use super::message::AodvMessage;
use super::params::Params;
use super::table::{Precursors, Requests, RouteState, Table};
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason, RouteChange};
use crate::packet::{Body, PacketId, Quote, RoutingMessage};

/// The state that both sets of procedures have.
///
/// Most packets that a node hears in a flood are requests that it has heard before. The fields needed for these come
/// first, so that they share a cache line.
#[derive(Debug)]
#[repr(C)]
pub struct State {
    /// When the timer is next to be called, as found after the last change.
    pub deadline: Time,
    pub heard: Requests,
    /// How long a request's number is remembered.
    pub memory: Span,
    pub node: NodeId,
    /// The address of the first interface, by which other nodes know this one.
    pub address: Address,
    /// The node's own sequence number.
    pub sequence: u32,
    /// The number of the last request.
    pub request_id: u32,
    pub table: Table,
    pub rng: Rng,
    pub precursors: Precursors,
    pub buffer: Buffer,
    /// Neighbours whose HELLO was heard, each with the time at which it is lost.
    pub neighbours: Vec<(Address, Time)>,
    /// No neighbour is lost before this time.
    pub next_loss: Time,
    /// Only without feedback of the link layer: the last segment of each flow that did not reach a neighbour, and when.
    /// When the neighbour is lost, the sources of these segments are told.
    pub failed: Vec<(Address, Quote, Time)>,
    /// When this node last broadcast a message.
    pub last_broadcast: Time,
    /// When the next HELLO is due.
    pub hello_at: Time,
    pub params: Params,
}

impl State {
    /// The state of a node that knows nothing yet; its sequence number is `sequence`.
    #[must_use]
    pub fn new(params: &Params, node: NodeId, rng: Rng, sequence: u32) -> Self {
        Self {
            deadline: Time::NEVER,
            heard: Requests::default(),
            memory: params.path_discovery_time(),
            node,
            address: node.into(),
            sequence,
            request_id: 0,
            table: Table::default(),
            rng,
            precursors: Precursors::default(),
            buffer: Buffer::new(node, usize::from(params.buffer_packets), params.buffer_timeout),
            neighbours: Vec::new(),
            next_loss: Time::NEVER,
            failed: Vec::new(),
            last_broadcast: Time::ZERO,
            hello_at: Time::NEVER,
            params: params.clone(),
        }
    }

    /// A random delay for a broadcast that several neighbours could otherwise send at the same time.
    pub fn jitter(&mut self) -> Span {
        self.params.broadcast_jitter.mul_f64(self.rng.uniform())
    }

    /// Sends a new message to a neighbour, or to all.
    pub fn send(&mut self, message: AodvMessage, to: Address, ttl: u8, delay: Span, cx: &mut Context) {
        let size = self.params.packet_size(&message);
        let packet = cx.originate_routing(self.address, to, ttl, size, RoutingMessage::new(message));
        self.dispatch(packet, to, delay, cx);
    }

    /// Sends a message on, changed.
    pub fn send_on(
        &mut self,
        packet: PacketId,
        message: AodvMessage,
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

    /// Drops the packets for which no route was found.
    pub fn give_up(&mut self, destination: Address, cx: &mut Context) {
        for packet in self.buffer.take(destination, cx) {
            // RFC 3561 §6.3: after the last search the destination counts as unreachable.
            cx.unreachable(self.node, packet);
            cx.drop_packet(self.node, packet, DropReason::DiscoveryFailed);
        }
    }

    /// Makes a route valid.
    pub fn bring_up(&mut self, destination: Address, next_hop: Address, hops: u8, expires: Time, cx: &mut Context) {
        let route = self.table.entry(destination);
        let changed = route.state != RouteState::Up || (route.next_hop, route.hops) != (next_hop, hops);
        (route.next_hop, route.hops, route.state) = (next_hop, hops, RouteState::Up);
        (route.expires, route.repairable) = (expires, false);
        if changed && route.used {
            let change = RouteChange { destination, route: Some((next_hop, hops)) };
            cx.act(Action::RouteChanged { node: self.node, change });
        }
        self.table.expires(expires);
    }

    /// Makes a route invalid until `forget`. A route that breaks while it is used is reported as lost. A route that
    /// expires is not, because it was not in use.
    pub fn take_down(&mut self, destination: Address, broken: bool, forget: Time, cx: &mut Context) {
        let route = self.table.entry(destination);
        if route.state == RouteState::Down {
            return;
        }
        (route.last_hops, route.state, route.expires) = (route.hops, RouteState::Down, forget);
        if std::mem::replace(&mut route.used, false) && broken {
            let change = RouteChange { destination, route: None };
            cx.act(Action::RouteChanged { node: self.node, change });
        }
        self.table.expires(forget);
    }

    /// A HELLO of this neighbour was heard. Whether it was the first.
    pub fn meet_neighbour(&mut self, neighbour: Address, lost_at: Time) -> bool {
        self.next_loss = self.next_loss.min(lost_at);
        match self.neighbours.binary_search_by_key(&neighbour, |&(node, _)| node) {
            Ok(place) => {
                self.neighbours[place].1 = lost_at;
                false
            }
            Err(place) => {
                self.neighbours.insert(place, (neighbour, lost_at));
                true
            }
        }
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
        let silence = self.params.neighbour_expiry() + self.params.hello_interval;
        for &(next_hop, quote, at) in &self.failed {
            if next_hop == lost && cx.now.since(at) <= silence {
                cx.act(Action::Unreachable { node: self.node, quote });
            }
        }
        self.failed.retain(|&(next_hop, ..)| next_hop != lost);
    }

    /// Removes the neighbours that are lost.
    pub fn lost_neighbours(&mut self, now: Time) -> Vec<Address> {
        let lost = self.neighbours.iter().filter(|&&(_, at)| at <= now).map(|&(node, _)| node).collect();
        self.neighbours.retain(|&(_, at)| at > now);
        self.next_loss = self.neighbours.iter().map(|&(_, at)| at).min().unwrap_or(Time::NEVER);
        lost
    }
}
