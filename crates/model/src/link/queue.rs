//! The interface queue: packets that wait for the MAC.
//!
//! Drop-tail, with two properties that ns-2 adds and that affect results: routing packets may pass data packets, and
//! "50 packets" may mean that at most 49 wait. Read for the facts: ns-2.35 `queue/drop-tail.cc`, `queue/priqueue.cc`.
//! The packet that the MAC works on has left the queue.

use std::collections::VecDeque;

use hopyard_engine::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address::{Address, NodeId};
use crate::context::{Context, DropReason};
use crate::packet::{Body, Classes, PacketId, PacketKind};

/// Where a routing packet is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoutingPackets {
    /// Behind all other packets, like a data packet.
    InTurn,
    /// Before all data, behind other routing packets (RFC 1812 §5.3.3: precedence-ordered service).
    First,
    /// Before all others, even routing packets that came earlier (ns-2).
    AtHead,
    /// In a queue of its own, which is served first; then one of TCP's acknowledgements, then one of all the rest. Each
    /// holds as many packets as the length says, whatever its limit (ns-2's CMUPriQueue, which its DSR needs).
    ByClass,
}

/// When the queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// When as many packets wait as the length says.
    Inclusive,
    /// When one packet less waits than the length says (ns-2).
    Exclusive,
}

impl Limit {
    /// How many packets may wait in a queue of this length.
    #[must_use]
    pub fn capacity(self, length: u32) -> usize {
        match self {
            Self::Inclusive => length as usize,
            Self::Exclusive => length.saturating_sub(1) as usize,
        }
    }
}

/// The queue's length over time, in packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LengthStatistics {
    /// The time-weighted mean.
    pub mean: f64,
    /// The largest.
    pub max: usize,
}

/// Packets that wait for the MAC of a node, with the neighbour each goes to.
#[derive(Clone, Debug)]
pub struct InterfaceQueue {
    node: NodeId,
    capacity: usize,
    routing: RoutingPackets,
    entries: VecDeque<(PacketId, Address)>,
    /// The classes of packets that have room for as many each.
    classes: Option<Classes>,
    /// Sum of length times nanoseconds, up to `changed`.
    area: u128,
    changed: Time,
    max: usize,
}

fn is_of_agent(packet: PacketId, cx: &Context) -> bool {
    cx.packets[packet].kind() == PacketKind::Control
}

impl InterfaceQueue {
    /// An empty queue for `capacity` packets.
    #[must_use]
    pub fn new(node: NodeId, capacity: usize, routing: RoutingPackets) -> Self {
        Self { node, capacity, routing, entries: VecDeque::new(), classes: None, area: 0, changed: Time::ZERO, max: 0 }
    }

    /// Packets of each of these classes have room for as many as the capacity says.
    pub fn set_classes(&mut self, classes: Classes) {
        self.classes = Some(classes);
    }

    /// Adds a packet. When the queue is full, a data packet is dropped. A routing packet that goes first is added even
    /// then, and the last packet of the queue is dropped. For an agent's message, which the MAC may send elsewhere
    /// while data waits, it is the last one that is of neither.
    pub fn push(&mut self, packet: PacketId, next_hop: Address, cx: &mut Context) {
        self.account(cx.now);
        if self.routing == RoutingPackets::ByClass {
            return self.push_by_class(packet, next_hop, cx);
        }
        let place = match self.routing {
            RoutingPackets::AtHead if cx.packets[packet].is_routing() => 0,
            RoutingPackets::First if cx.packets[packet].is_routing() => {
                self.entries.iter().take_while(|(waiting, _)| cx.packets[*waiting].is_routing()).count()
            }
            _ => self.entries.len(),
        };
        self.entries.insert(place, (packet, next_hop));
        if self.entries.len() > self.capacity {
            if let Some(classes) = &self.classes {
                let class = |&(waiting, next_hop): &(PacketId, Address)| classes.of(&cx.packets[waiting], next_hop);
                let own = class(&(packet, next_hop));
                if self.entries.iter().filter(|it| class(it) == own).count() > self.capacity
                    && let Some(last) = self.entries.iter().rposition(|it| class(it) == own)
                    && let Some((last, _)) = self.entries.remove(last)
                {
                    cx.drop_packet(self.node, last, DropReason::QueueFull);
                }
                self.max = self.max.max(self.entries.len());
                return;
            }
            let stays = |packet: PacketId| cx.packets[packet].is_routing() || is_of_agent(packet, cx);
            let gives_way = match self.routing {
                RoutingPackets::First | RoutingPackets::AtHead if is_of_agent(packet, cx) => {
                    self.entries.iter().rposition(|&(waiting, _)| !stays(waiting))
                }
                _ => None,
            };
            if let Some((last, _)) = self.entries.remove(gives_way.unwrap_or(self.entries.len() - 1)) {
                cx.drop_packet(self.node, last, DropReason::QueueFull);
            }
        }
        self.max = self.max.max(self.entries.len());
    }

    /// Adds a packet behind the packets of its class, unless that class has its length.
    fn push_by_class(&mut self, packet: PacketId, next_hop: Address, cx: &mut Context) {
        let class = |packet: PacketId| match cx.packets[packet].kind() {
            PacketKind::Routing => 0,
            PacketKind::Ack => 1,
            _ => 2,
        };
        let own = class(packet);
        let end = self.entries.partition_point(|&(waiting, _)| class(waiting) <= own);
        let waiting = self.entries.range(..end).rev().take_while(|&&(waiting, _)| class(waiting) == own).count();
        if waiting >= self.capacity {
            cx.drop_packet(self.node, packet, DropReason::QueueFull);
            return;
        }
        self.entries.insert(end, (packet, next_hop));
        self.max = self.max.max(self.entries.len());
    }

    /// Takes the next packet out.
    pub fn pop(&mut self, now: Time) -> Option<(PacketId, Address)> {
        if self.entries.is_empty() {
            return None;
        }
        self.account(now);
        self.entries.pop_front()
    }

    /// Takes the first packet out that is chosen.
    pub fn pop_chosen(&mut self, now: Time, chosen: impl Fn(PacketId, Address) -> bool) -> Option<(PacketId, Address)> {
        let place = self.entries.iter().position(|&(packet, next_hop)| chosen(packet, next_hop))?;
        self.account(now);
        self.entries.remove(place)
    }

    /// Removes every packet for a neighbour, oldest first, except messages of address resolution, which routing does
    /// not handle.
    pub fn take_back(&mut self, next_hop: Address, cx: &Context) -> Vec<PacketId> {
        self.account(cx.now);
        let mut taken = Vec::new();
        self.entries.retain(|&(packet, hop)| {
            let take = hop == next_hop && !matches!(cx.packets[packet].body, Body::Arp(_));
            if take {
                taken.push(packet);
            }
            !take
        });
        taken
    }

    /// Forgets all packets.
    pub(super) fn clear(&mut self, now: Time) {
        self.account(now);
        self.entries.clear();
    }

    /// How many packets wait.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no packet waits.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The packets that wait, in order.
    pub fn iter(&self) -> impl Iterator<Item = (PacketId, Address)> + '_ {
        self.entries.iter().copied()
    }

    /// Mean and maximum of the length from the start of the run to `now`.
    #[must_use]
    pub fn statistics(&self, now: Time) -> LengthStatistics {
        let area = self.area + self.since_change(now);
        let mean = if now == Time::ZERO { 0.0 } else { area as f64 / now.nanos() as f64 };
        LengthStatistics { mean, max: self.max }
    }

    fn since_change(&self, now: Time) -> u128 {
        self.entries.len() as u128 * u128::from(now.since(self.changed).nanos())
    }

    /// The length is about to change.
    fn account(&mut self, now: Time) {
        self.area += self.since_change(now);
        self.changed = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::test_packets::{arp, control, data, routing};

    const HERE: Address = Address(0);
    const NEXT: Address = Address(1);
    const OTHER: Address = Address(2);

    fn order(queue: &InterfaceQueue) -> Vec<PacketId> {
        queue.iter().map(|(packet, _)| packet).collect()
    }

    fn dropped(cx: &Context, kind: PacketKind) -> u64 {
        cx.drops.get(NodeId(HERE.0), kind, DropReason::QueueFull)
    }

    #[test]
    fn a_full_queue_drops_what_comes() {
        let mut cx = Context::default();
        let mut queue = InterfaceQueue::new(NodeId(HERE.0), Limit::Inclusive.capacity(2), RoutingPackets::InTurn);
        let packets = [(); 3].map(|()| data(&mut cx));
        for packet in packets {
            queue.push(packet, NEXT, &mut cx);
        }
        assert_eq!(order(&queue), packets[..2]);
        assert_eq!((dropped(&cx, PacketKind::Data), cx.packets.len()), (1, 2));
    }

    #[test]
    fn fifty_in_ns2_are_forty_nine() {
        let mut cx = Context::default();
        let mut queue = InterfaceQueue::new(NodeId(HERE.0), Limit::Exclusive.capacity(50), RoutingPackets::AtHead);
        for _ in 0..60 {
            let packet = data(&mut cx);
            queue.push(packet, NEXT, &mut cx);
        }
        assert_eq!((queue.len(), dropped(&cx, PacketKind::Data)), (49, 11));
        let message = routing(&mut cx);
        queue.push(message, Address::BROADCAST, &mut cx);
        assert_eq!((queue.len(), dropped(&cx, PacketKind::Data)), (49, 12), "a routing packet pushes the last one out");
        assert_eq!(queue.pop(cx.now), Some((message, Address::BROADCAST)));
    }

    #[test]
    fn routing_packets_pass_data() {
        for (place, expected) in [
            (RoutingPackets::InTurn, [0, 1, 2, 3]),
            (RoutingPackets::First, [1, 3, 0, 2]),
            (RoutingPackets::AtHead, [3, 1, 0, 2]),
        ] {
            let mut cx = Context::default();
            let mut queue = InterfaceQueue::new(NodeId(HERE.0), 50, place);
            let packets = [data(&mut cx), routing(&mut cx), arp(&mut cx), routing(&mut cx)];
            for packet in packets {
                queue.push(packet, NEXT, &mut cx);
            }
            assert_eq!(order(&queue), expected.map(|index| packets[index]), "{place:?}");
        }
    }

    #[test]
    fn a_message_of_an_agent_has_room_in_a_queue_full_of_data() {
        for (place, dropped_of) in [
            (RoutingPackets::First, PacketKind::Data),
            (RoutingPackets::AtHead, PacketKind::Data),
            (RoutingPackets::InTurn, PacketKind::Control),
        ] {
            let mut cx = Context::default();
            let mut queue = InterfaceQueue::new(NodeId(HERE.0), 3, place);
            let packets = [routing(&mut cx), data(&mut cx), data(&mut cx), control(&mut cx)];
            for packet in packets {
                queue.push(packet, NEXT, &mut cx);
            }
            let last = if dropped_of == PacketKind::Data { packets[3] } else { packets[2] };
            assert_eq!(order(&queue), [packets[0], packets[1], last], "{place:?}");
            assert_eq!(dropped(&cx, dropped_of), 1);
        }
        // Where all others are messages too, it is lost.
        let mut cx = Context::default();
        let mut queue = InterfaceQueue::new(NodeId(HERE.0), 2, RoutingPackets::First);
        let packets = [control(&mut cx), routing(&mut cx), control(&mut cx)];
        for packet in packets {
            queue.push(packet, NEXT, &mut cx);
        }
        assert_eq!((order(&queue), dropped(&cx, PacketKind::Control)), (vec![packets[1], packets[0]], 1));
    }

    #[test]
    fn each_class_has_room_of_its_own() {
        let mut cx = Context::default();
        let mut queue = InterfaceQueue::new(NodeId(HERE.0), 2, RoutingPackets::First);
        queue.set_classes(Classes::new(|packet, _| u8::from(packet.is_routing())));
        let packets =
            [data(&mut cx), data(&mut cx), data(&mut cx), routing(&mut cx), routing(&mut cx), routing(&mut cx)];
        for packet in packets {
            queue.push(packet, NEXT, &mut cx);
        }
        assert_eq!(order(&queue), [packets[3], packets[4], packets[0], packets[1]]);
        assert_eq!((dropped(&cx, PacketKind::Data), dropped(&cx, PacketKind::Routing)), (1, 1));
    }

    #[test]
    fn packets_for_a_broken_link_are_taken_back_in_order() {
        let mut cx = Context::default();
        let mut queue = InterfaceQueue::new(NodeId(HERE.0), 50, RoutingPackets::First);
        let packets = [data(&mut cx), data(&mut cx), arp(&mut cx), data(&mut cx)];
        for (packet, hop) in packets.into_iter().zip([NEXT, OTHER, NEXT, NEXT]) {
            queue.push(packet, hop, &mut cx);
        }
        assert_eq!(queue.take_back(NEXT, &cx), [packets[0], packets[3]]);
        assert_eq!(order(&queue), [packets[1], packets[2]]);
    }

    #[test]
    fn the_mean_length_is_weighed_by_time() {
        let mut cx = Context::default();
        let mut queue = InterfaceQueue::new(NodeId(HERE.0), 50, RoutingPackets::First);
        let mut at = |nanos, queue: &mut InterfaceQueue, push: bool| {
            cx.now = Time::from_nanos(nanos);
            if push {
                let packet = data(&mut cx);
                queue.push(packet, NEXT, &mut cx);
            } else {
                queue.pop(cx.now);
            }
        };
        at(100, &mut queue, true);
        at(200, &mut queue, true);
        at(500, &mut queue, false);
        at(600, &mut queue, false);
        // One packet for 100 ns, two for 300 ns, one for 100 ns.
        let statistics = queue.statistics(Time::from_nanos(1000));
        assert!((statistics.mean - 0.8).abs() < 1e-12);
        assert_eq!(statistics.max, 2);
    }
}
