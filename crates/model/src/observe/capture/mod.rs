//! Packets and frames as bytes, for captures.
//!
//! The simulator passes typed headers and lengths. [`packet`] gives the bytes that a real node would send for them: a
//! whole IPv4 packet with correct lengths and checksums, or an ARP message. [`Frame`] puts them into an 802.11 frame.
//! [`Capture`] is the probe that writes them to a file during a run.
//!
//! - [`Names`] says which addresses interfaces have, and which port a flow has, the same at both ends. [`station_of`]
//!   and
//!   [`port_of`] are the usual rules for link addresses and ports.
//! - Sequence numbers of TCP are the simulator's numbers modulo 2^32. A connection's first number is zero.
//! - Payload is zero, except that a UDP datagram begins with its number in the flow (64 bits), if it has room for it.
//! - IP's identification is zero and fragments are forbidden, as RFC 6864 §4.1 permits, unless the source of datagrams
//!   for a group numbers them.
//!
//! # Sizes
//!
//! With the profile `rfc` the bytes are as many as [`Packet::size`], except for a SYN. Its options for the segment
//! size, for SACK and for the window scale are on the wire, but the simulator does not count them. The profile `ns2`
//! counts as ns-2 does, and the differences are larger. Routing messages have no UDP header, and AODV's requests and
//! replies have four bytes more. Options of TCP have no padding, Vegas's segments have no headers, and segments that
//! DSDV routes have one more IP header. `docs/development/wire-formats.md` has the table. [`size_note`] is a comment
//! for the capture.

mod comments;
mod frame;
mod options;
mod probe;

use std::net::{Ipv4Addr, Ipv6Addr};

use hopyard_wire::ieee80211::EtherType;
use hopyard_wire::ipv4::{self, Protocol};
use hopyard_wire::{HardwareAddress, WireError, arp, dsr, icmp, ipv6, minimal, tcp, udp};

pub use frame::{Frame, FrameKind, radiotap};
pub use hopyard_wire::pcapng::CaptureError;
pub use options::{Kind, Options};
pub use probe::Capture;

use crate::address::{Address, InterfaceId};
use crate::packet::{ArpMessage, Body, Carrier, ETHERNET, FlowId, Form, Packet, Quote, TcpHeader, UdpHeader};
use crate::transport::tcp as tcp_model;

/// By which names the interfaces and flows are known in a capture.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// The IP address that the user knows ([`crate::context::Owners::name`]); not asked for groups.
    pub address: &'a dyn Fn(Address) -> Ipv4Addr,
    /// The link address of an interface.
    pub station: &'a dyn Fn(InterfaceId) -> HardwareAddress,
    /// A flow.
    pub flow: &'a dyn Fn(FlowId) -> Flow,
}

/// The facts about a flow that a capture needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// The port of both ends; of a connection after the first one, the port of the end that did not open it.
    pub port: u16,
    /// Whether the flow answers another one, whose source opened the connection.
    pub answers: bool,
    /// The payload of a full segment in bytes; zero for UDP.
    pub segment_size: u16,
    /// Whether the ends permit selective acknowledgements.
    pub sack: bool,
    /// By how many bits windows are shifted (RFC 7323 §2).
    pub window_scale: u8,
}

impl Flow {
    /// A flow of UDP datagrams.
    #[must_use]
    pub const fn udp(id: FlowId) -> Self {
        Self { port: port_of(id), answers: false, segment_size: 0, sack: false, window_scale: 0 }
    }

    /// A TCP connection. `sack` says whether its receiver reports blocks. Windows of more than 65,535 bytes are scaled,
    /// if both ends open the connection: otherwise no scale can be agreed on, and larger windows appear as 65,535.
    #[must_use]
    pub fn tcp(id: FlowId, params: &tcp_model::Params, sack: bool) -> Self {
        let mut window_scale = 0;
        if params.connect == tcp_model::Connect::ThreeWay {
            // RFC 7323 §2.3 allows at most 14.
            while window_scale < 14 && params.window_bytes() >> window_scale > 0xffff {
                window_scale += 1;
            }
        }
        // Parameters keep a segment within an IP packet.
        Self { port: port_of(id), answers: false, segment_size: params.mss() as u16, sack, window_scale }
    }

    /// The ports of source and destination of a segment of the connection with this number. Each connection after the
    /// first has another port where it was opened, in the dynamic range (RFC 6335 §6) below [`port_of`].
    const fn ports(&self, connection: u32) -> (u16, u16) {
        let opener = match connection.checked_sub(1) {
            None => self.port,
            Some(number) => 0xc000 + (number % 0x3000) as u16,
        };
        if self.answers { (self.port, opener) } else { (opener, self.port) }
    }
}

/// The usual link address of an interface ([`InterfaceId::station`]).
#[must_use]
pub const fn station_of(interface: InterfaceId) -> HardwareAddress {
    interface.station()
}

/// The usual port of a flow, from 61440 on. Analysers of packets assign no protocol to these ports. Flow 4096 has the
/// port of flow 0 again.
#[must_use]
pub const fn port_of(flow: FlowId) -> u16 {
    0xf000 | (flow.0 & 0x0fff) as u16
}

/// Appends the bytes of a packet: an IPv4 packet, or an ARP message, as the returned type says.
///
/// # Errors
/// If the packet is too long for its format.
pub fn packet(packet: &Packet, names: &Names<'_>, out: &mut Vec<u8>) -> Result<EtherType, WireError> {
    let (source, destination) = (names.ip(packet.source), names.ip(packet.destination));
    if let Body::Arp(message) = &packet.body {
        names.arp(packet, *message).emit(out);
        return Ok(EtherType::ARP);
    }
    if let Body::External(bytes) = &packet.body {
        let start = out.len();
        out.extend_from_slice(bytes);
        ipv4::set_ttl(&mut out[start..], packet.ttl);
        ipv4::set_class(&mut out[start..], packet.class);
        return Ok(EtherType::IPV4);
    }
    if let Body::Frame(bytes) = &packet.body
        && let Some((header, payload)) = bytes.split_at_checked(ETHERNET)
    {
        out.extend_from_slice(payload);
        return Ok(EtherType(u16::from_be_bytes([header[12], header[13]])));
    }
    if let Body::Mpdu(mpdu) = &packet.body
        && let Some((kind, payload)) = mpdu.payload()
    {
        out.extend_from_slice(payload);
        return Ok(EtherType(kind));
    }
    if let Body::Routing(message) = &packet.body {
        let mut payload = Vec::new();
        if let Carrier::Udp6(port, group) = message.encode(&|node| names.ip(node), &mut payload)? {
            over_ipv6(packet, port, group, &payload, names, out)?;
            return Ok(EtherType::IPV6);
        }
    }
    let mut body = Vec::new();
    let protocol = carried(&packet.body, packet, names, &mut body)?;
    if protocol == Protocol::IP_IN_IP {
        let start = out.len();
        ipv4::encapsulate(&body, source, destination, packet.ttl, out)?;
        ipv4::set_class(&mut out[start..], packet.class);
    } else {
        let mut header = ip(protocol, source, destination, packet.ttl);
        if let Body::Udp(UdpHeader { identification: Some(identification), .. }) = packet.body {
            (header.identification, header.dont_fragment) = (identification, false);
        }
        ipv4::Header { traffic_class: packet.class, ..header }.emit(&body, out)?;
    }
    Ok(EtherType::IPV4)
}

/// Appends what IP carries in a packet, and returns its protocol.
fn carried(body: &Body, packet: &Packet, names: &Names<'_>, out: &mut Vec<u8>) -> Result<Protocol, WireError> {
    let (source, destination) = (names.ip(packet.source), names.ip(packet.destination));
    match body {
        Body::Tcp(header) => {
            let payload = vec![0; header.len as usize];
            segment(header, &(names.flow)(packet.flow)).emit(&payload, source, destination, out)?;
            Ok(Protocol::TCP)
        }
        Body::Udp(header) => {
            let port = (names.flow)(packet.flow).port;
            datagram(port, &numbered(header), source, destination, out)
        }
        Body::Routing(message) | Body::Control { message, .. } => {
            let mut bytes = Vec::new();
            let name = &|node| names.ip(node);
            match message.encode(name, &mut bytes)? {
                // Within IPv4, such as a tunnel, a message for IPv6 has the port alone.
                Carrier::Udp(port) | Carrier::Udp6(port, _) => datagram(port, &bytes, source, destination, out),
                Carrier::Ip(number) => {
                    out.extend_from_slice(&bytes);
                    Ok(Protocol(number))
                }
            }
        }
        Body::Tunnelled(Form::IpInIp, inner) => {
            self::packet(inner, names, out)?;
            Ok(Protocol::IP_IN_IP)
        }
        Body::Tunnelled(Form::Minimal, inner) => {
            let mut payload = Vec::new();
            let protocol = carried(&inner.body, inner, names, &mut payload)?;
            let from = (inner.source != packet.source).then(|| names.ip(inner.source));
            minimal::Header { protocol, destination: names.ip(inner.destination), source: from }.emit(out);
            out.extend_from_slice(&payload);
            Ok(Protocol::MINIMAL_ENCAPSULATION)
        }
        Body::Icmp(quote) => {
            let message = icmp::Message::DestinationUnreachable { code: icmp::Unreachable::HOST, next_hop_mtu: 0 };
            message.emit(&names.quoted(quote)?, out)?;
            Ok(Protocol::ICMP)
        }
        Body::External(bytes) => {
            let (header, payload) = ipv4::Header::parse(bytes)?;
            out.extend_from_slice(payload);
            Ok(header.protocol)
        }
        Body::Extended(it) => {
            let mut payload = Vec::new();
            let next = carried(it.body(), packet, names, &mut payload)?;
            dsr::emit(packet.options(), next, &payload, &|address| names.ip(address), out)?;
            Ok(Protocol::DSR)
        }
        // Messages of address resolution are not in IP.
        Body::Arp(_) | Body::Frame(_) | Body::Mpdu(_) | Body::Empty => Ok(Protocol::NO_NEXT_HEADER),
    }
}

/// Appends a message that UDP carries over IPv6, between link-local addresses.
fn over_ipv6(
    packet: &Packet,
    port: u16,
    group: Ipv6Addr,
    payload: &[u8],
    names: &Names<'_>,
    out: &mut Vec<u8>,
) -> Result<(), WireError> {
    let link_local = |address: Address| (names.station)(address.into()).link_local();
    let source = link_local(packet.source);
    let destination = if packet.destination.is_group() { group } else { link_local(packet.destination) };
    let mut body = Vec::new();
    udp::Header { source_port: port, destination_port: port }.emit(payload, source, destination, &mut body)?;
    let (traffic_class, protocol, hop_limit) = (packet.class, Protocol::UDP, packet.ttl);
    ipv6::Header { traffic_class, protocol, hop_limit, source, destination }.emit(&body, out)
}

/// The link address of the group that a packet is for: the last 23 bits of the address of IPv4 (RFC 1112 §6.4), or the
/// last 32 bits of that of IPv6 (RFC 2464 §7); nothing for a packet that is for no group.
#[must_use]
pub fn group_of(protocol: EtherType, packet: &[u8]) -> Option<HardwareAddress> {
    if protocol == EtherType::IPV6 {
        let [0xff, .., a, b, c, d] = *packet.get(24..40)? else { return None };
        return Some(HardwareAddress([0x33, 0x33, a, b, c, d]));
    }
    let [a, b, c, d] = *packet.get(16..20).filter(|_| protocol == EtherType::IPV4)?.first_chunk()?;
    Ipv4Addr::new(a, b, c, d).is_multicast().then_some(HardwareAddress([0x01, 0x00, 0x5e, b & 0x7f, c, d]))
}

/// A comment for a packet or frame that has more or fewer bytes in a capture than the simulator counts for it, if so.
#[must_use]
pub fn size_note(counted: u32, captured: usize) -> Option<String> {
    (counted as usize != captured).then(|| format!("simulated with {counted} bytes, captured with {captured}"))
}

fn ip(protocol: Protocol, source: Ipv4Addr, destination: Ipv4Addr, ttl: u8) -> ipv4::Header {
    ipv4::Header { dont_fragment: true, ..ipv4::Header::new(protocol, source, destination, ttl) }
}

fn datagram(
    port: u16,
    payload: &[u8],
    source: Ipv4Addr,
    destination: Ipv4Addr,
    out: &mut Vec<u8>,
) -> Result<Protocol, WireError> {
    udp::Header { source_port: port, destination_port: port }.emit(payload, source, destination, out)?;
    Ok(Protocol::UDP)
}

/// The payload of a datagram of an application.
fn numbered(header: &UdpHeader) -> Vec<u8> {
    let mut payload = vec![0; header.len as usize];
    if let Some(number) = payload.first_chunk_mut() {
        *number = header.sequence.to_be_bytes();
    }
    payload
}

/// The header of a segment on the wire.
fn segment(header: &TcpHeader, flow: &Flow) -> tcp::Header {
    let syn = header.flags.syn;
    let flags = [
        (syn, tcp::Flags::SYN),
        (header.flags.ack, tcp::Flags::ACK),
        (header.flags.fin, tcp::Flags::FIN),
        (header.flags.rst, tcp::Flags::RST),
        (header.flags.psh, tcp::Flags::PSH),
        (header.flags.ece, tcp::Flags::ECE),
        (header.flags.cwr, tcp::Flags::CWR),
    ];
    let flags = flags.into_iter().filter(|(set, _)| *set).fold(tcp::Flags::default(), |all, (_, flag)| all | flag);
    // The window of a SYN is never scaled (RFC 7323 §2.2).
    let window = header.window >> if syn { 0 } else { flow.window_scale };
    // Options reduce the payload of a segment below what the option says (RFC 9293 §3.7.1).
    let mss = flow.segment_size.saturating_add(if header.timestamps.is_some() { 12 } else { 0 });
    let (source_port, destination_port) = flow.ports(header.connection);
    tcp::Header {
        source_port,
        destination_port,
        seq: header.seq as u32,
        ack: if header.flags.ack { header.ack as u32 } else { 0 },
        flags,
        window: u16::try_from(window).unwrap_or(u16::MAX),
        urgent: 0,
        options: tcp::Options {
            mss: syn.then_some(mss),
            window_scale: (syn && flow.window_scale > 0).then_some(flow.window_scale),
            sack_permitted: syn && flow.sack,
            timestamps: header.timestamps,
            sack: header.sack.iter().map(|(start, end)| (start as u32, end as u32)).collect(),
        },
    }
}

impl Names<'_> {
    fn ip(&self, address: Address) -> Ipv4Addr {
        address.group().unwrap_or_else(|| (self.address)(address))
    }

    fn arp(&self, packet: &Packet, message: ArpMessage) -> arp::Message {
        let (operation, target, target_hardware) = match message {
            // The asker does not know the target's link address.
            ArpMessage::Request { target } => (arp::Operation::Request, target, HardwareAddress([0; 6])),
            ArpMessage::Reply => (arp::Operation::Reply, packet.destination, (self.station)(packet.destination.into())),
        };
        arp::Message {
            operation,
            sender_hardware: (self.station)(packet.source.into()),
            sender: self.ip(packet.source),
            target_hardware,
            target: self.ip(target),
        }
    }

    /// The IP header and the first eight bytes of a quoted segment (RFC 792).
    fn quoted(&self, quote: &Quote) -> Result<Vec<u8>, WireError> {
        let header = ip(Protocol::TCP, self.ip(quote.source), self.ip(quote.destination), quote.ttl);
        let (source, destination) = (self.flow)(quote.flow).ports(quote.connection);
        let start = [&source.to_be_bytes()[..], &destination.to_be_bytes(), &(quote.seq as u32).to_be_bytes()].concat();
        let mut bytes = Vec::new();
        header.emit_quoted(&start, quote.length, &mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests;
