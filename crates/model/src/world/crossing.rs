//! Between nodes of the simulator and hosts outside that are whole nodes: frames become packets, and packets frames,
//! where they arrive.
//!
//! A frame of a host outside that reaches a node of the simulator is read there: messages of address resolution, of a
//! routing protocol that can read them, and datagrams of IPv4, which are forwarded as bytes. A packet of the simulator
//! that reaches a host outside is written as its bytes. A packet of a flow of the simulator is more than its bytes. So
//! the simulator keeps the packet while the host has its bytes, and knows it again by the identification in their IP
//! header. When the host sends the bytes on, the packet goes on with their time to live and their marks.

use std::net::{Ipv4Addr, Ipv6Addr};

use hopyard_engine::{Span, Time};
use hopyard_wire::ieee80211::EtherType;
use hopyard_wire::ipv4::{self, Protocol};
use hopyard_wire::{HardwareAddress, arp, icmp, ipv6, ndp, udp};

use super::World;
use crate::address::{Address, InterfaceId, NodeId};
use crate::context::{Departure, DropReason};
use crate::node::Kept;
use crate::observe::capture::{Flow, Names, group_of, packet, station_of};
use crate::observe::{PacketEvent, Probe};
use crate::packet::{ArpMessage, Body, ETHERNET, FlowId, Packet, PacketId};
use crate::routing;

/// A packet that a host outside has not sent on for so long is lost there.
const LONGEST_STAY: Span = Span::from_secs(60);
/// Where the header of Ethernet has the type.
const TYPE: std::ops::Range<usize> = ETHERNET - 2..ETHERNET;

/// A frame as a node of the simulator reads it.
enum Read {
    /// A packet from an address to another one, with the time to live and the traffic class of its header.
    Packet { source: Address, destination: Address, ttl: u8, class: u8, size: u32, body: Body },
    /// Somebody asks for the link address of the node's link-local address; the answer.
    Asked(Vec<u8>),
}

impl<P: Probe> World<P> {
    /// A frame reaches a node of the simulator, or a packet a host outside. Returns whether the packet continues
    /// unchanged.
    #[cold]
    pub(super) fn crosses(&mut self, interface: InterfaceId, packet: PacketId, from: InterfaceId) -> bool {
        let is_frame = matches!(self.cx.packets[packet].body, Body::Frame(_) | Body::Mpdu(_));
        match (is_frame, self.cx.outside.has_frames(interface)) {
            (true, true) | (false, false) => true,
            (true, false) => self.enters_simulator(interface, packet, from),
            (false, true) => {
                self.leaves_simulator(interface, packet, from);
                false
            }
        }
    }

    /// A frame of a host outside has reached a node of the simulator, which reads it. Whether a packet goes on.
    fn enters_simulator(&mut self, interface: InterfaceId, id: PacketId, from: InterfaceId) -> bool {
        let node = self.topology.node(interface);
        let read = match &self.cx.packets[id].body {
            Body::Frame(bytes) => self.read(interface, &bytes.clone()),
            _ => None,
        };
        match read {
            Some(Read::Packet { source, destination, ttl, class, size, body }) => {
                let it = &mut self.cx.packets[id];
                (it.source, it.destination, it.ttl, it.class, it.size) = (source, destination, ttl, class, size);
                it.body = body;
                return true;
            }
            Some(Read::Asked(answer)) => {
                self.cx.deliver(id);
                let packet = self.cx.originate(frame(interface, from, self.cx.now, answer));
                let (node, mut around) = self.node_at(interface);
                node.send_frame(interface, packet, from, &mut around);
            }
            None => self.cx.drop_packet(node, id, DropReason::NoListener),
        }
        false
    }

    /// Reads a frame; nothing if the simulator does not know such frames.
    fn read(&self, interface: InterfaceId, bytes: &[u8]) -> Option<Read> {
        let owners = &self.cx.owners;
        let (header, payload) = bytes.split_at_checked(ETHERNET)?;
        match EtherType(u16::from_be_bytes(header[TYPE].try_into().ok()?)) {
            EtherType::ARP => {
                let message = arp::Message::parse(payload).ok()?;
                let (source, target) = (owners.find(message.sender)?, owners.find(message.target)?);
                let (destination, message) = match message.operation {
                    arp::Operation::Request => (Address::BROADCAST, ArpMessage::Request { target }),
                    arp::Operation::Reply => (target, ArpMessage::Reply),
                };
                let (ttl, class, size) = (1, 0, payload.len() as u32);
                Some(Read::Packet { source, destination, ttl, class, size, body: Body::Arp(message) })
            }
            EtherType::IPV4 => {
                let (header, rest) = ipv4::Header::parse(payload).ok()?;
                let (source, destination) = (owners.find(header.source)?, owners.find(header.destination)?);
                let datagram = &payload[..header.len() + rest.len()];
                let (ttl, class, size) = (header.ttl, header.traffic_class, datagram.len() as u32);
                Some(Read::Packet { source, destination, ttl, class, size, body: Body::External(datagram.into()) })
            }
            EtherType::IPV6 => self.read_ipv6(interface, payload),
            _ => None,
        }
    }

    /// Reads a packet of IPv6: the message of a routing protocol, or a question for the node's link address.
    fn read_ipv6(&self, interface: InterfaceId, bytes: &[u8]) -> Option<Read> {
        let (header, rest) = ipv6::Header::parse(bytes).ok()?;
        let ipv6::Header { source, destination, hop_limit, traffic_class, protocol } = header;
        let own = station_of(interface);
        match protocol {
            Protocol::UDP => {
                let (ports, payload) = udp::Header::parse(rest, source, destination).ok()?;
                let message = routing::read(ports.destination_port, payload, &self.cx.owners)?;
                let sender = sender(source)?;
                let destination =
                    if destination.is_multicast() { Address::BROADCAST } else { Address::from(interface) };
                let (size, body) = (bytes.len() as u32, Body::Routing(message));
                Some(Read::Packet { source: sender, destination, ttl: hop_limit, class: traffic_class, size, body })
            }
            Protocol::ICMPV6 => {
                let ndp::Message::Solicitation { target, source: Some(asker) } =
                    ndp::Message::parse(rest, source, destination).ok()?
                else {
                    return None;
                };
                (target == own.link_local()).then(|| Read::Asked(answer(own, asker, source)))
            }
            _ => None,
        }
    }

    /// A packet of the simulator has reached a host outside, which gets its bytes.
    fn leaves_simulator(&mut self, interface: InterfaceId, id: PacketId, from: InterfaceId) {
        let (node, now) = (self.topology.node(interface), self.cx.now);
        let it = &self.cx.packets[id];
        let own = self.cx.owners.of(it.destination) == node;
        let (is_flow, carried) = match it.body {
            // The ends of a flow of the simulator are in it.
            Body::Tcp(_) | Body::Udp(_) | Body::Icmp(_) => (true, !own && !it.destination.is_group()),
            Body::Arp(_) | Body::Routing(_) | Body::External(_) => (false, true),
            _ => (false, false),
        };
        let Some(mut bytes) = self.bytes(interface, id, from).filter(|_| carried) else {
            return self.cx.drop_packet(node, id, DropReason::NoListener);
        };
        if !is_flow {
            self.cx.packets[id].body = Body::Frame(bytes.into());
            return self.frame_leaves(interface, id, from);
        }
        let it = &mut self.cx.packets[id];
        it.hops = it.hops.saturating_add(1);
        let ends = (self.cx.owners.name(it.source), self.cx.owners.name(it.destination));
        if self.probe.watches() {
            let event = PacketEvent::Hop { from: self.cx.owners.of(from.into()) };
            self.probe.on_packet(now, node, &self.cx.packets[id], event);
        }
        let old = self.border.kept.values().filter(|it| now.since(it.since) > LONGEST_STAY).count();
        if old > 0 {
            let lost = self.border.kept.extract_if(.., |_, it| now.since(it.since) > LONGEST_STAY);
            let lost: Vec<Kept> = lost.map(|it| it.1).collect();
            lost.into_iter().for_each(|it| self.cx.drop_packet(it.node, it.packet, DropReason::LostOutside));
        }
        let identification = self.border.next_identification();
        ipv4::set_identification(&mut bytes[ETHERNET..], identification);
        let kept = Kept { packet: id, node, since: now };
        if let Some(before) = self.border.kept.insert((ends.0, ends.1, identification), kept) {
            self.cx.drop_packet(before.node, before.packet, DropReason::LostOutside);
        }
        self.cx.digest.fold(now.nanos() ^ u64::from(node.0) << 20 ^ u64::from(identification) << 40);
        self.cx.outside.leave(Departure::Frame { at: now, interface, from, bytes: bytes.into(), received: None });
    }

    /// The packet of the simulator that goes on in the place of a frame that a host outside sends, if there is one.
    pub(super) fn goes_on(&mut self, node: NodeId, frame: &[u8]) -> Option<PacketId> {
        if self.border.kept.is_empty() || frame.get(TYPE) != Some(&[8, 0]) {
            return None;
        }
        let (header, payload) = ipv4::Header::parse(&frame[ETHERNET..]).ok()?;
        if header.protocol == Protocol::ICMP {
            self.is_told(node, payload);
        }
        let kept = self.border.kept.remove(&ends_of(&header))?;
        let it = &mut self.cx.packets[kept.packet];
        (it.ttl, it.class) = (header.ttl, header.traffic_class);
        Some(kept.packet)
    }

    /// A host outside reports with ICMP that it has dropped a packet of the simulator.
    fn is_told(&mut self, node: NodeId, message: &[u8]) {
        let Ok((kind, quoted)) = icmp::Message::parse(message) else { return };
        let reason = match kind {
            icmp::Message::DestinationUnreachable { .. } => DropReason::NoRoute,
            icmp::Message::TimeExceeded { .. } => DropReason::TtlExpired,
            _ => return,
        };
        let Ok((header, _)) = ipv4::Header::parse_quoted(quoted) else { return };
        if let Some(kept) = self.border.kept.remove(&ends_of(&header)) {
            self.cx.unreachable(node, kept.packet);
            self.cx.drop_packet(node, kept.packet, reason);
        }
    }

    /// The frame with the bytes of a packet, if it has any.
    fn bytes(&self, interface: InterfaceId, id: PacketId, from: InterfaceId) -> Option<Vec<u8>> {
        let owners = &self.cx.owners;
        // Routers read no more of a flow than its ports.
        let flow = |flow: FlowId| {
            let answered = self.flows.get(flow.index()).and_then(|it| it.answers);
            Flow { answers: answered.is_some(), ..Flow::udp(FlowId(answered.unwrap_or(flow.0))) }
        };
        let names = Names { address: &|it| owners.name(it), station: &station_of, flow: &flow };
        let it = &self.cx.packets[id];
        let mut payload = Vec::new();
        let kind = packet(it, &names, &mut payload).ok()?;
        let group = group_of(kind, &payload);
        let to = match it.body {
            Body::Arp(ArpMessage::Request { .. }) => HardwareAddress::BROADCAST,
            _ => group.unwrap_or_else(|| station_of(interface)),
        };
        Some([&to.0[..], &station_of(from).0, &kind.0.to_be_bytes(), &payload].concat())
    }
}

/// The interface with a link-local address of IPv6.
fn sender(address: Ipv6Addr) -> Option<Address> {
    let [0xfe, 0x80, _, _, _, _, _, _, a, b, c, 0xff, 0xfe, d, e, f] = address.octets() else { return None };
    InterfaceId::of_station(HardwareAddress([a ^ 2, b, c, d, e, f])).map(Address::from)
}

/// The frame that tells a neighbour the link address of a node.
fn answer(own: HardwareAddress, asker: HardwareAddress, to: Ipv6Addr) -> Vec<u8> {
    let source = own.link_local();
    let mut message = Vec::new();
    ndp::Message::Advertisement { target: source, link: Some(own) }.emit(source, to, &mut message);
    let header = ipv6::Header {
        traffic_class: 0,
        protocol: Protocol::ICMPV6,
        hop_limit: ndp::HOP_LIMIT,
        source,
        destination: to,
    };
    let mut bytes = [&asker.0[..], &own.0, &EtherType::IPV6.0.to_be_bytes()].concat();
    header.emit(&message, &mut bytes).expect("an answer is short");
    bytes
}

/// A frame that a node of the simulator sends to a neighbour.
fn frame(from: InterfaceId, to: InterfaceId, now: Time, bytes: Vec<u8>) -> Packet {
    Packet {
        created: now,
        source: from.into(),
        destination: to.into(),
        flow: FlowId::NONE,
        size: (bytes.len() - ETHERNET) as u32,
        ttl: 1,
        hops: 0,
        salvaged: 0,
        class: 0,
        body: Body::Frame(bytes.into()),
    }
}

/// The key of a packet that is kept while a host outside has its bytes, which begin with this header.
const fn ends_of(header: &ipv4::Header) -> (Ipv4Addr, Ipv4Addr, u16) {
    (header.source, header.destination, header.identification)
}
