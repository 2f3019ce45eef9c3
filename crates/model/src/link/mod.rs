//! The link layer of a node: address resolution, the interface queue, and the time that a packet takes through them.
//! Also wired links.
//!
//! A packet to be sent passes address resolution, the processing delay and the queue, and goes to the MAC. A received
//! packet passes the processing delay, in one line for all nodes ([`ReceivePath`]), and goes to IP. Messages of address
//! resolution end here. The world owns the MAC. It asks for the next packet (`next_frame`) when the MAC becomes free,
//! and, while the MAC is free, after each call that may have put something into the queue.

use std::collections::VecDeque;

use hopyard_engine::{Deadline, Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address::{Address, NodeId, Prefix};
use crate::context::Context;
use crate::packet::{Classes, PacketId};
use crate::params::{self, Fault, NS2, RFC, Shared};

pub mod arp;
pub mod queue;
pub mod receive_path;
pub mod wired;

pub use arp::Arp;
pub use queue::{InterfaceQueue, LengthStatistics, Limit, Maker, Room, RoutingPackets, Takes};
pub use receive_path::ReceivePath;
pub use wired::Wired;

/// Parameters of the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Length of the interface queue in packets.
    pub queue_length: u32,
    /// Whether the queue holds as many packets as its length ("inclusive"), or one less, as in ns-2 ("exclusive").
    pub queue_limit: Limit,
    /// The place of routing packets in the queue: "in_turn", "first" (before data), "at_head" (before all, as in ns-2),
    /// or "by_class" (before TCP's acknowledgements, and these before data). ns-2's DSR needs a queue by class, which
    /// is its default.
    pub routing_packets: RoutingPackets,
    /// Processing time in the link layer: once on the way down to the queue, once on the way up to IP.
    pub processing_delay: Span,
    /// Address resolution.
    pub arp: arp::Params,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        let ns2 = profile == NS2;
        Self {
            queue_length: 50,
            queue_limit: if ns2 { Limit::Exclusive } else { Limit::Inclusive },
            routing_packets: if ns2 { RoutingPackets::AtHead } else { RoutingPackets::First },
            processing_delay: if ns2 { Span::from_micros(25) } else { Span::ZERO },
            arp: arp::Params::of_profile(profile),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.queue_limit.capacity(self.queue_length) == 0 {
            return Err(Fault::new("queue_length", "no packet could wait: must be at least 1, or 2 if \"exclusive\""));
        }
        self.arp.check()
    }

    fn unused(&self) -> Vec<params::Unused> {
        self.arp.unused().into_iter().map(|it| params::Unused { table: "arp", ..it }).collect()
    }
}

/// The link of one interface with a radio.
#[derive(Clone, Debug)]
pub struct Link {
    queue: InterfaceQueue,
    arp: Arp,
    processing_delay: Span,
    /// Resolved packets on their way to the queue.
    down: DelayLine,
    /// Messages of address resolution on their way to the queue.
    resolved: DelayLine,
}

impl Link {
    /// Makes the link of a node's interface with an address. The links share their parameters.
    pub fn maker(params: &Params) -> impl Fn(NodeId, Address, Rng) -> Self {
        let limit = match params.routing_packets {
            RoutingPackets::ByClass => Limit::Inclusive,
            _ => params.queue_limit,
        };
        let capacity = limit.capacity(params.queue_length);
        let (routing_packets, processing_delay) = (params.routing_packets, params.processing_delay);
        let arp = Shared::from(params.arp.clone());
        move |node, address, rng| Self {
            queue: InterfaceQueue::new(node, capacity, routing_packets),
            arp: Arp::new(node, address, arp.clone(), rng),
            processing_delay,
            down: DelayLine::default(),
            resolved: DelayLine::default(),
        }
    }

    /// A packet for a neighbour, or to be broadcast.
    pub fn send(&mut self, packet: PacketId, next_hop: Address, cx: &mut Context) {
        let resolved = if next_hop.is_broadcast() { Some(next_hop) } else { self.arp.resolve(packet, next_hop, cx) };
        match resolved {
            Some(to) => self.send_to(packet, to, cx),
            None => self.send_resolved(cx),
        }
    }

    /// A packet for a neighbour whose link address is known, or to be broadcast.
    pub fn send_to(&mut self, packet: PacketId, to: Address, cx: &mut Context) {
        if self.processing_delay.is_zero() {
            self.queue.push(packet, to, cx);
        } else {
            self.down.push(cx.now + self.processing_delay, packet, to);
        }
    }

    /// The queue has this discipline instead of drop-tail.
    pub fn set_discipline(&mut self, maker: Maker) {
        self.queue.set_discipline(maker);
    }

    /// Packets of each of these classes have a queue's room of their own.
    pub fn set_classes(&mut self, classes: Classes) {
        self.queue.set_classes(classes);
    }

    /// Tells the network of the interface.
    pub const fn set_network(&mut self, network: Prefix) {
        self.arp.set_network(network);
    }

    /// Answers for an address of another node from now on, or no longer.
    pub fn set_proxy(&mut self, address: Address, answers: bool, cx: &mut Context) {
        self.arp.set_proxy(address, answers, cx);
        self.send_resolved(cx);
    }

    /// Knows the link address of a neighbour until a time.
    pub fn learn(&mut self, neighbour: Address, until: Time, cx: &mut Context) {
        self.arp.learn(neighbour, until);
        self.send_resolved(cx);
    }

    /// Tells the neighbours that this interface has an address.
    pub fn announce(&mut self, address: Address, cx: &mut Context) {
        self.arp.announce(address, cx);
        self.send_resolved(cx);
    }

    /// A message of address resolution that the MAC received from a neighbour.
    pub fn on_arp(&mut self, packet: PacketId, from: Address, cx: &mut Context) {
        self.arp.on_message(packet, from, cx);
        self.send_resolved(cx);
    }

    /// The next packet for the MAC, and the neighbour to which it goes.
    #[inline]
    pub fn next_frame(&mut self, cx: &mut Context) -> Option<(PacketId, Address)> {
        self.queue.pop(cx)
    }

    /// The next packet among those that the MAC chooses.
    pub fn next_chosen(&mut self, cx: &mut Context, takes: Takes<'_>) -> Option<(PacketId, Address)> {
        self.queue.pop_chosen(cx, takes)
    }

    /// Removes every packet for a neighbour from the queue, oldest first, and returns them for routing. Packets that
    /// wait for the neighbour's address stay.
    pub fn take_back(&mut self, next_hop: Address, cx: &Context) -> Vec<PacketId> {
        self.queue.take_back(next_hop, cx)
    }

    /// The deadline is reached.
    pub fn on_timer(&mut self, cx: &mut Context) {
        while let Some((packet, next_hop)) = self.down.pop_due(cx.now) {
            self.queue.push(packet, next_hop, cx);
        }
        while let Some((packet, next_hop)) = self.resolved.pop_due(cx.now) {
            self.queue.push(packet, next_hop, cx);
        }
        if self.arp.deadline() <= cx.now {
            self.arp.on_timer(cx);
            self.send_resolved(cx);
        }
    }

    /// The interface queue, for measurement.
    #[must_use]
    pub const fn queue(&self) -> &InterfaceQueue {
        &self.queue
    }

    /// Every packet that the link holds.
    #[must_use]
    pub fn held(&self) -> Vec<PacketId> {
        let queued = self.queue.iter().map(|(packet, _)| packet);
        let delayed = [&self.down, &self.resolved].into_iter().flat_map(DelayLine::packets);
        queued.chain(delayed).chain(self.arp.held()).collect()
    }

    /// The link stops for good: returns every packet that it held.
    pub fn stop(&mut self, now: Time) -> Vec<PacketId> {
        let held = self.held();
        self.queue.clear(now);
        self.arp.clear();
        (self.down, self.resolved) = (DelayLine::default(), DelayLine::default());
        held
    }

    /// Passes on the packets that address resolution has made ready.
    fn send_resolved(&mut self, cx: &mut Context) {
        let delay = self.arp.delay();
        for (packet, receiver) in self.arp.take_ready() {
            if delay.is_zero() {
                self.queue.push(packet, receiver, cx);
            } else {
                self.resolved.push(cx.now + delay, packet, receiver);
            }
        }
    }
}

impl Deadline for Link {
    #[inline]
    fn deadline(&self) -> Time {
        self.down.deadline().min(self.resolved.deadline()).min(self.arp.deadline())
    }
}

/// Packets that all wait for the same time.
#[derive(Clone, Debug, Default)]
struct DelayLine(VecDeque<(Time, PacketId, Address)>);

impl DelayLine {
    fn push(&mut self, due: Time, packet: PacketId, neighbour: Address) {
        self.0.push_back((due, packet, neighbour));
    }

    fn pop_due(&mut self, now: Time) -> Option<(PacketId, Address)> {
        let &(due, packet, neighbour) = self.0.front()?;
        (due <= now).then(|| {
            self.0.pop_front();
            (packet, neighbour)
        })
    }

    #[inline]
    fn deadline(&self) -> Time {
        self.0.front().map_or(Time::NEVER, |(due, ..)| *due)
    }

    fn packets(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.0.iter().map(|(_, packet, _)| *packet)
    }
}

/// Packets for this room's tests.
#[cfg(test)]
mod test_packets {
    use hopyard_wire::WireError;

    use super::*;
    use std::net::Ipv4Addr;

    use crate::packet::{ArpMessage, Body, Carrier, Datagram, Packet, RoutingMessage, UdpHeader};

    #[derive(Debug)]
    struct Hello;

    impl Datagram<Address> for Hello {
        fn kind(&self) -> &'static str {
            "HELLO"
        }

        fn encode(&self, _: &dyn Fn(Address) -> Ipv4Addr, _: &mut Vec<u8>) -> Result<Carrier, WireError> {
            Ok(Carrier::Udp(1021))
        }
    }

    fn packet(cx: &mut Context, body: Body) -> PacketId {
        cx.originate(Packet { created: cx.now, destination: Address(9), ..crate::samples::packet(540, body) })
    }

    pub(super) fn data(cx: &mut Context) -> PacketId {
        packet(cx, Body::Udp(UdpHeader { sequence: 0, len: 512, identification: None }))
    }

    pub(super) fn routing(cx: &mut Context) -> PacketId {
        packet(cx, Body::Routing(RoutingMessage::new(Hello)))
    }

    pub(super) fn control(cx: &mut Context) -> PacketId {
        packet(cx, Body::Control { port: 1021, message: RoutingMessage::new(Hello) })
    }

    pub(super) fn arp(cx: &mut Context) -> PacketId {
        packet(cx, Body::Arp(ArpMessage::Reply))
    }
}

#[cfg(test)]
mod tests;
