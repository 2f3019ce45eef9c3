//! The cost of finding routes: messages of routing protocols and agents, by node and type.
//!
//! Each transmission counts, at every hop (Broch et al., "A performance comparison of multi-hop wireless ad hoc network
//! routing protocols", MobiCom 1998, §5.3). In a packet with several messages, each message counts with its own bytes,
//! and the headers of the packet count for the first one. Bytes are bytes of IP, without the MAC.
//!
//! A type has a number from the first message of it on, so that a message is counted without a search in a map.

use crate::address::NodeId;
use crate::packet::{Body, DsrOption, MessagePart, Packet, PacketKind, RoutingMessage};

/// The messages of one type that a node sent and received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Transmissions in packets of the protocol.
    pub sent: u64,
    /// The bytes of these.
    pub bytes: u64,
    /// How often they went out at radios. A broadcast goes out at several interfaces.
    pub by_radio: u64,
    /// The bytes of these.
    pub radio_bytes: u64,
    /// How often they went out by wires.
    pub by_wire: u64,
    /// The bytes of these.
    pub wire_bytes: u64,
    /// Messages that the node has made itself, and not forwarded for others.
    pub originated: u64,
    /// The bytes of these.
    pub originated_bytes: u64,
    /// Transmissions within packets that belong to others, such as source routes in data packets.
    pub piggybacked: u64,
    /// The bytes of these.
    pub piggybacked_bytes: u64,
    /// Messages in packets that a neighbour sent and that IP received here, including messages that are known already.
    pub received: u64,
}

impl Tally {
    /// Adds a message that goes out in a packet of the protocol.
    fn send(&mut self, bytes: u64, media: Media) {
        self.sent += 1;
        self.bytes += bytes;
        self.by_radio += media.radios;
        self.radio_bytes += media.radios * bytes;
        self.by_wire += media.wires;
        self.wire_bytes += media.wires * bytes;
    }
}

/// At how many interfaces of each kind a packet goes out: none of either for one that goes into a tunnel, or nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Media {
    /// Radios.
    pub radios: u64,
    /// Wires.
    pub wires: u64,
}

/// Whose message a node puts into a new packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The node's own.
    Own,
    /// The message that the node handles at that time: the node passes it on, with changes.
    Forwarded,
}

/// The type of a message: whose it is, and its name.
type Type = (PacketKind, &'static str);

/// Counters by node and type of message.
#[derive(Clone, Debug, Default)]
pub struct Overhead {
    types: Vec<Type>,
    nodes: Vec<Vec<Tally>>,
    /// The place of the type that was counted last.
    last: usize,
    /// The message received last. A broadcast is counted at many nodes one after the other.
    received: Option<Received>,
}

/// A message that was received, and the places of the types of all messages in it.
#[derive(Clone, Debug)]
struct Received {
    message: RoutingMessage,
    kind: PacketKind,
    places: Vec<usize>,
    /// A node has counters for all of them if it has as many as this.
    counters: usize,
}

impl Overhead {
    /// Counts a packet that a node sends or forwards. Bytes that DSR adds to a packet have their originator in the
    /// packet's source (`is_source`). Among other messages, [`Self::on_originated`] counts the new ones. `media` says
    /// where it goes out.
    #[inline]
    pub fn on_sent(&mut self, node: NodeId, packet: &Packet, is_source: bool, media: Media) {
        match &packet.body {
            Body::Routing(message) => {
                self.message(node, PacketKind::Routing, message, packet.size, |it, bytes, _| it.send(bytes, media));
            }
            Body::Control { message, .. } => {
                self.message(node, PacketKind::Control, message, packet.size, |it, bytes, _| it.send(bytes, media));
            }
            Body::Extended(_) => self.options(node, packet, |it, bytes, alone| {
                if alone {
                    it.send(bytes, media);
                } else {
                    it.piggybacked += 1;
                    it.piggybacked_bytes += bytes;
                }
                it.originated += u64::from(is_source);
                it.originated_bytes += if is_source { bytes } else { 0 };
            }),
            _ => {}
        }
    }

    /// Counts a packet that a node makes. `origin` holds for messages that do not say themselves whether they are
    /// forwarded ([`MessagePart::forwarded`]).
    pub fn on_originated(&mut self, node: NodeId, packet: &Packet, origin: Origin) {
        let (kind, message) = match &packet.body {
            Body::Routing(message) => (PacketKind::Routing, message),
            Body::Control { message, .. } => (PacketKind::Control, message),
            _ => return,
        };
        self.message(node, kind, message, packet.size, |it, bytes, forwarded| {
            if !forwarded.unwrap_or(origin == Origin::Forwarded) {
                it.originated += 1;
                it.originated_bytes += bytes;
            }
        });
    }

    /// Counts what a packet from a neighbour carries.
    #[inline]
    pub fn on_received(&mut self, node: NodeId, packet: &Packet) {
        let (kind, message) = match &packet.body {
            Body::Routing(message) => (PacketKind::Routing, message),
            Body::Control { message, .. } => (PacketKind::Control, message),
            Body::Extended(_) => return self.options(node, packet, |it, _, _| it.received += 1),
            _ => return,
        };
        if let Some(it) = self.received.as_ref().filter(|it| it.message.is(message) && it.kind == kind)
            && let Some(tallies) = self.nodes.get_mut(node.index()).filter(|tallies| tallies.len() >= it.counters)
        {
            it.places.iter().for_each(|&place| tallies[place].received += 1);
            return;
        }
        self.on_other_received(node, kind, message);
    }

    /// As [`Self::on_received`], of a message that was not received last, or at a node without counters for it.
    #[inline(never)]
    fn on_other_received(&mut self, node: NodeId, kind: PacketKind, message: &RoutingMessage) {
        let mut places = self.received.take().map_or(Vec::new(), |it| it.places);
        places.clear();
        message.kinds(&mut |name| {
            self.tally(node, kind, name).received += 1;
            places.push(self.last);
        });
        let counters = places.iter().fold(0, |most, &place| most.max(place + 1));
        self.received = Some(Received { message: message.clone(), kind, places, counters });
    }

    /// Counts the messages in a frame that a node's host outside sends by a radio.
    pub fn on_frame_sent(&mut self, node: NodeId, kind: PacketKind, parts: &[MessagePart]) {
        for part in parts {
            let (it, bytes) = (self.tally(node, kind, part.kind), u64::from(part.bytes));
            it.send(bytes, Media { radios: 1, wires: 0 });
            it.originated += u64::from(!part.forwarded);
            it.originated_bytes += if part.forwarded { 0 } else { bytes };
        }
    }

    /// Counts the messages in a frame that reaches a node's host outside.
    pub fn on_frame_received(&mut self, node: NodeId, kind: PacketKind, parts: &[MessagePart]) {
        parts.iter().for_each(|part| self.tally(node, kind, part.kind).received += 1);
    }

    /// Calls `add` for each message in a packet: the counters of its type, its bytes, and whether it is forwarded, if
    /// the message says so.
    #[inline]
    fn message(
        &mut self,
        node: NodeId,
        kind: PacketKind,
        message: &RoutingMessage,
        size: u32,
        add: impl Fn(&mut Tally, u64, Option<bool>),
    ) {
        let (mut first, mut rest) = (None, size);
        let mut parts = |part: MessagePart| match first {
            None => first = Some(part),
            Some(_) => {
                rest = rest.saturating_sub(part.bytes);
                add(self.tally(node, kind, part.kind), u64::from(part.bytes), Some(part.forwarded));
            }
        };
        message.parts(&mut parts);
        let (name, forwarded) = first.map_or_else(|| (message.kind(), None), |it| (it.kind, Some(it.forwarded)));
        add(self.tally(node, kind, name), u64::from(rest), forwarded);
    }

    /// Calls `add` for each option of a packet: the counters of its type, its bytes, and whether the packet has only
    /// options. The bytes of IP's header, in a packet of options, and of the header of options count for the first one.
    fn options(&mut self, node: NodeId, packet: &Packet, add: impl Fn(&mut Tally, u64, bool)) {
        let Body::Extended(extended) = &packet.body else { return };
        let alone = matches!(extended.body(), Body::Empty);
        let options = packet.options();
        let of_options: u32 = options.iter().map(DsrOption::bytes).sum();
        let mut headers = if alone { packet.size } else { extended.header_bytes() }.saturating_sub(of_options);
        for option in options {
            let bytes = option.bytes() + std::mem::take(&mut headers);
            add(self.tally(node, PacketKind::Routing, option.kind()), u64::from(bytes), alone);
        }
    }

    #[inline]
    fn tally(&mut self, node: NodeId, kind: PacketKind, name: &'static str) -> &mut Tally {
        // A name is mostly the same constant as before.
        let is_last = self.types.get(self.last).is_some_and(|it| it.0 == kind && std::ptr::eq(it.1, name));
        if !(is_last && self.nodes.get(node.index()).is_some_and(|tallies| tallies.len() > self.last)) {
            self.look_up(node, kind, name);
        }
        &mut self.nodes[node.index()][self.last]
    }

    /// Finds the place of a type, and makes room for its counters at a node.
    #[inline(never)]
    fn look_up(&mut self, node: NodeId, kind: PacketKind, name: &'static str) {
        let same = |&(other, known): &Type| other == kind && std::ptr::eq(known, name);
        self.last = self.types.iter().position(same).unwrap_or_else(|| self.other_place(kind, name));
        if self.nodes.len() <= node.index() {
            self.nodes.resize(node.index() + 1, Vec::new());
        }
        let tallies = &mut self.nodes[node.index()];
        if tallies.len() <= self.last {
            tallies.resize(self.last + 1, Tally::default());
        }
    }

    /// The place of a type whose name stands elsewhere in memory than that of the same text before, or that is new.
    #[cold]
    fn other_place(&mut self, kind: PacketKind, name: &'static str) -> usize {
        self.types.iter().position(|&known| known == (kind, name)).unwrap_or_else(|| {
            self.types.push((kind, name));
            self.types.len() - 1
        })
    }

    /// The messages that a node sent and received, by type, in the order of kinds and of names.
    #[must_use]
    pub fn of(&self, node: NodeId) -> Vec<(PacketKind, &'static str, Tally)> {
        let tallies = self.nodes.get(node.index()).map_or(&[][..], Vec::as_slice);
        let mut found: Vec<_> = self.types.iter().zip(tallies).map(|(&(kind, name), &it)| (kind, name, it)).collect();
        found.retain(|(_, _, it)| *it != Tally::default());
        found.sort_unstable_by_key(|&(kind, name, _)| (kind, name));
        found
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use hopyard_engine::Time;
    use hopyard_wire::WireError;

    use super::*;
    use crate::address::Address;
    use crate::packet::{Carrier, Datagram, FlowId, SourceRoute, UdpHeader};

    /// A packet with several messages, each of a type and a size, and whether it is forwarded.
    #[derive(Debug)]
    struct Several(Vec<MessagePart>);

    impl Datagram<Address> for Several {
        fn kind(&self) -> &'static str {
            "PACKET"
        }
        fn parts(&self, each: &mut dyn FnMut(MessagePart)) {
            self.0.iter().copied().for_each(each);
        }
        fn encode(&self, _: &dyn Fn(Address) -> Ipv4Addr, _: &mut Vec<u8>) -> Result<Carrier, WireError> {
            Ok(Carrier::Udp(698))
        }
    }

    fn packet(size: u32, body: Body) -> Packet {
        let created = Time::ZERO;
        let (source, destination) = (Address(2), Address(3));
        Packet { created, source, destination, flow: FlowId::NONE, size, ttl: 1, hops: 0, salvaged: 0, class: 0, body }
    }

    #[test]
    fn the_messages_of_a_packet_share_its_bytes() {
        let part = |kind, bytes, forwarded| MessagePart { kind, bytes, forwarded };
        let parts = vec![part("HELLO", 20, false), part("TC", 16, true), part("TC", 24, false)];
        let packet = packet(28 + 4 + 60, Body::Routing(RoutingMessage::new(Several(parts))));
        let mut overhead = Overhead::default();
        overhead.on_originated(NodeId(2), &packet, Origin::Own);
        // By a radio, and by two wires.
        overhead.on_sent(NodeId(2), &packet, true, Media { radios: 1, wires: 2 });
        let out = |by_radio, radio_bytes| {
            let (by_wire, wire_bytes) = (2 * by_radio, 2 * radio_bytes);
            Tally { sent: by_radio, bytes: radio_bytes, by_radio, radio_bytes, by_wire, wire_bytes, ..Tally::default() }
        };
        let hello = Tally { originated: 1, originated_bytes: 52, ..out(1, 52) };
        let tc = Tally { originated: 1, originated_bytes: 24, ..out(2, 40) };
        let routing = PacketKind::Routing;
        assert_eq!(overhead.of(NodeId(2)), [(routing, "HELLO", hello), (routing, "TC", tc)]);
        assert!(overhead.of(NodeId(1)).is_empty() && overhead.of(NodeId(9)).is_empty());
    }

    #[test]
    fn each_message_that_arrives_counts() {
        let part = |kind| MessagePart { kind, bytes: 20, forwarded: true };
        let olsr = packet(92, Body::Routing(RoutingMessage::new(Several(vec![part("HELLO"), part("TC"), part("TC")]))));
        let mut overhead = Overhead::default();
        overhead.on_received(NodeId(1), &olsr);
        overhead.on_received(NodeId(1), &olsr);
        let mut data = packet(120, Body::Udp(UdpHeader { sequence: 0, len: 92, identification: None }));
        overhead.on_received(NodeId(1), &data);
        data.change_options(|it| it.push(DsrOption::AckRequest { identification: 1 }));
        overhead.on_received(NodeId(1), &data);
        let of = |received| Tally { received, ..Tally::default() };
        let routing = PacketKind::Routing;
        let expected = [(routing, "HELLO", of(2)), (routing, "TC", of(4)), (routing, "ack_request", of(1))];
        assert_eq!(overhead.of(NodeId(1)), expected);
    }

    #[test]
    fn a_message_counts_at_each_receiver_however_they_take_turns() {
        let part = |kind| MessagePart { kind, bytes: 20, forwarded: false };
        let of = |parts: &[MessagePart]| RoutingMessage::new(Several(parts.to_vec()));
        let messages = [of(&[part("TC"), part("HELLO")]), of(&[part("TC")]), of(&[])];
        let mut overhead = Overhead::default();
        // The message that was received last, another one, and the same one as a message of an agent.
        for (node, message) in [(1, 0), (2, 0), (2, 0), (1, 1), (2, 1), (3, 1), (3, 0), (1, 2), (1, 0)] {
            let it = packet(92, Body::Routing(messages[message].clone()));
            overhead.on_received(NodeId(node), &it);
        }
        let control = packet(92, Body::Control { port: 1, message: messages[0].clone() });
        overhead.on_received(NodeId(1), &control);
        let found = |node| overhead.of(NodeId(node)).iter().map(|it| (it.0, it.1, it.2.received)).collect::<Vec<_>>();
        let (routing, agent) = (PacketKind::Routing, PacketKind::Control);
        let mut first = vec![(routing, "HELLO", 2), (routing, "TC", 3), (agent, "HELLO", 1), (agent, "TC", 1)];
        // One that says nothing of its parts counts as a whole.
        first.push((routing, "PACKET", 1));
        first.sort_unstable();
        assert_eq!(found(1), first);
        assert_eq!(found(2), [(routing, "HELLO", 2), (routing, "TC", 3)]);
        assert_eq!(found(3), [(routing, "HELLO", 1), (routing, "TC", 2)]);
    }

    #[test]
    fn the_messages_of_frames_count_as_those_of_packets() {
        let parts = [("HELLO", 60, false), ("OGM", 24, true)].map(|(kind, bytes, forwarded)| MessagePart {
            kind,
            bytes,
            forwarded,
        });
        let mut overhead = Overhead::default();
        overhead.on_frame_sent(NodeId(0), PacketKind::Routing, &parts);
        overhead.on_frame_received(NodeId(0), PacketKind::Arp, &parts[1..]);
        let sent = |bytes| Tally { sent: 1, bytes, by_radio: 1, radio_bytes: bytes, ..Tally::default() };
        let expected = [
            (PacketKind::Routing, "HELLO", Tally { originated: 1, originated_bytes: 60, ..sent(60) }),
            (PacketKind::Routing, "OGM", sent(24)),
            (PacketKind::Arp, "OGM", Tally { received: 1, ..Tally::default() }),
        ];
        assert_eq!(overhead.of(NodeId(0)), expected);
    }

    #[test]
    fn a_message_that_is_passed_on_is_not_originated() {
        let packet = packet(52, Body::Routing(RoutingMessage::new(Several(Vec::new()))));
        let mut overhead = Overhead::default();
        for origin in [Origin::Own, Origin::Forwarded] {
            overhead.on_originated(NodeId(0), &packet, origin);
        }
        let expected = Tally { originated: 1, originated_bytes: 52, ..Tally::default() };
        assert_eq!(overhead.of(NodeId(0)), [(PacketKind::Routing, "PACKET", expected)]);
    }

    #[test]
    fn options_are_packets_of_their_own_or_parts_of_others() {
        let mut overhead = Overhead::default();
        let mut alone = packet(20, Body::Empty);
        alone.change_options(|it| it.push(DsrOption::AckRequest { identification: 1 }));
        overhead.on_sent(NodeId(2), &alone, true, Media { radios: 1, wires: 0 });
        let mut data = packet(120, Body::Udp(UdpHeader { sequence: 0, len: 92, identification: None }));
        let route = SourceRoute::new(vec![Address(5)]).expect("it fits");
        data.change_options(|it| it.push(DsrOption::SourceRoute(route)));
        overhead.on_sent(NodeId(2), &data, false, Media { radios: 1, wires: 0 });
        let routing = PacketKind::Routing;
        // A header of 4 bytes and an option of 4 behind IP's 20; a header of 4 and an option of 8 in a data packet.
        let (by_radio, radio_bytes) = (1, 28);
        let request = Tally {
            sent: 1,
            bytes: 28,
            by_radio,
            radio_bytes,
            originated: 1,
            originated_bytes: 28,
            ..Tally::default()
        };
        let route = Tally { piggybacked: 1, piggybacked_bytes: 12, ..Tally::default() };
        assert_eq!(overhead.of(NodeId(2)), [(routing, "ack_request", request), (routing, "source_route", route)]);
    }
}
