//! The interface queue: packets that wait for the MAC.
//!
//! Drop-tail has two properties here that ns-2 adds and that affect results: routing packets may pass data packets, and
//! "50 packets" may mean that at most 49 wait. Read for the facts: ns-2.35 `queue/drop-tail.cc`, `queue/priqueue.cc`.
//! Under another discipline the packets that pass all data still wait in that queue, and all others under the
//! discipline. The packet that the MAC works on has left the queue.

use std::collections::VecDeque;

use hopyard_engine::{Streams, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Config, Item, LengthMeter, LengthStatistics, Line, Room, Takes};
use crate::address::{Address, NodeId};
use crate::context::{Context, DropReason};
use crate::packet::{Body, Classes, Packet, PacketId, PacketKind};

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

/// The maker of the queues of an interface, one for each class of packets that comes.
#[derive(Clone, Debug)]
pub struct Maker {
    /// The discipline, which is not drop-tail.
    pub config: Config,
    /// The interface.
    pub room: Room,
    /// The source of the random stream of each queue.
    pub streams: Streams,
    /// The name of the interface, which its streams have.
    pub name: String,
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
    /// The packets that do not pass others; nothing for drop-tail, under which all are `entries`.
    disciplined: Option<Box<Disciplined>>,
    meter: LengthMeter,
}

/// The packets under a discipline.
#[derive(Clone, Debug)]
struct Disciplined {
    maker: Maker,
    /// One queue for each class, sorted by class.
    lines: Vec<(u8, Line)>,
}

fn is_of_agent(packet: PacketId, cx: &Context) -> bool {
    cx.packets[packet].kind() == PacketKind::Control
}

impl InterfaceQueue {
    /// An empty queue for `capacity` packets.
    #[must_use]
    pub fn new(node: NodeId, capacity: usize, routing: RoutingPackets) -> Self {
        let (entries, meter) = (VecDeque::new(), LengthMeter::default());
        Self { node, capacity, routing, entries, classes: None, disciplined: None, meter }
    }

    /// The queue has this discipline.
    pub fn set_discipline(&mut self, maker: Maker) {
        self.disciplined = Some(Box::new(Disciplined { maker, lines: Vec::new() }));
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
        if self.disciplined.is_some() && !self.passes(&cx.packets[packet]) {
            return self.push_in_line(packet, next_hop, cx);
        }
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
                return self.meter.grown(self.len());
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
        self.meter.grown(self.len());
    }

    /// Whether a packet passes the packets under a discipline.
    fn passes(&self, packet: &Packet) -> bool {
        match self.routing {
            RoutingPackets::InTurn => false,
            RoutingPackets::First | RoutingPackets::AtHead => packet.is_routing(),
            RoutingPackets::ByClass => matches!(packet.kind(), PacketKind::Routing | PacketKind::Ack),
        }
    }

    /// Adds a packet under the discipline of the interface, to the queue of its class.
    fn push_in_line(&mut self, packet: PacketId, next_hop: Address, cx: &mut Context) {
        let it = &cx.packets[packet];
        let item = Item { packet, next_hop, size: it.size, entered: cx.now };
        let class = self.classes.as_ref().map_or(0, |classes| classes.of(it, next_hop));
        let Some(Disciplined { maker, lines }) = self.disciplined.as_deref_mut() else { return };
        let place = lines.binary_search_by_key(&class, |(class, _)| *class);
        let place = place.unwrap_or_else(|place| {
            let Maker { config, room, streams, name } = maker;
            let draws = streams.stream(&format!("{name}/queue/{class}"));
            lines.insert(place, (class, Line::new(self.node, config, room, draws)));
            place
        });
        lines[place].1.push(item, cx);
        self.meter.grown(self.len());
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
        self.meter.grown(self.len());
    }

    /// Takes the next packet out.
    #[inline]
    pub fn pop(&mut self, cx: &mut Context) -> Option<(PacketId, Address)> {
        if self.entries.is_empty() {
            return self.pop_in_line(None, cx);
        }
        self.account(cx.now);
        self.entries.pop_front()
    }

    /// Takes the first packet out that is chosen.
    pub fn pop_chosen(&mut self, cx: &mut Context, takes: Takes<'_>) -> Option<(PacketId, Address)> {
        let chosen = |&(packet, next_hop): &(PacketId, Address)| takes(&cx.packets[packet], next_hop);
        let Some(place) = self.entries.iter().position(chosen) else { return self.pop_in_line(Some(takes), cx) };
        self.account(cx.now);
        self.entries.remove(place)
    }

    /// Takes the next packet out of the first queue under the discipline that has one for the MAC.
    fn pop_in_line(&mut self, takes: Option<Takes<'_>>, cx: &mut Context) -> Option<(PacketId, Address)> {
        if self.lines().is_empty() {
            return None;
        }
        self.account(cx.now);
        let item = self.disciplined.as_mut()?.lines.iter_mut().find_map(|(_, line)| line.pop(takes, cx))?;
        Some((item.packet, item.next_hop))
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
        for (_, line) in self.disciplined.iter_mut().flat_map(|it| &mut it.lines) {
            line.retain(&mut |item| {
                let take = item.next_hop == next_hop && !matches!(cx.packets[item.packet].body, Body::Arp(_));
                if take {
                    taken.push(item.packet);
                }
                !take
            });
        }
        taken
    }

    /// Forgets all packets.
    pub(in crate::link) fn clear(&mut self, now: Time) {
        self.account(now);
        self.entries.clear();
        if let Some(it) = &mut self.disciplined {
            it.lines.clear();
        }
    }

    /// How many packets the queue has marked; nothing under drop-tail, which marks none.
    #[must_use]
    pub fn marks(&self) -> Option<u64> {
        self.disciplined.as_ref().map(|it| it.lines.iter().map(|(_, line)| line.marks()).sum())
    }

    /// The queues under the discipline.
    fn lines(&self) -> &[(u8, Line)] {
        self.disciplined.as_ref().map_or(&[], |it| &it.lines)
    }

    /// How many packets wait.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len() + self.lines().iter().map(|(_, line)| line.len()).sum::<usize>()
    }

    /// Whether no packet waits.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The packets that wait, in the order in which they leave as far as that is known.
    pub fn iter(&self) -> impl Iterator<Item = (PacketId, Address)> + '_ {
        let in_lines = self.lines().iter().flat_map(|(_, line)| line.items()).map(|item| (item.packet, item.next_hop));
        self.entries.iter().copied().chain(in_lines)
    }

    /// Mean and maximum of the length from the start of the run to `now`.
    #[must_use]
    pub fn statistics(&self, now: Time) -> LengthStatistics {
        self.meter.statistics(self.len(), now)
    }

    /// The length is about to change.
    fn account(&mut self, now: Time) {
        self.meter.account(self.len(), now);
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
        assert_eq!(queue.pop(&mut cx), Some((message, Address::BROADCAST)));
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
                queue.pop(&mut cx);
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
