use hopyard_engine::units::Bytes;

use super::*;
use crate::packet::{CAPABLE, CONGESTION, Datagram, Form, RoutingMessage, SackBlocks, TcpFlags, UNREACHABLE};
use crate::params::{NS2, Params, RFC};
use crate::transport::connection::header_bytes;

const A: Address = Address(0);
const B: Address = Address(300);

fn parameters(profile: &str) -> tcp_model::Params {
    tcp_model::Params::of_profile(profile)
}

/// The first interfaces are in 10.0.0.0/8.
fn address_of(address: Address) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0001 + address.0)
}

/// The bytes of a packet, with the flows of these parameters.
fn captured_with(params: &tcp_model::Params, it: &Packet) -> (EtherType, Vec<u8>) {
    let flow = |id| Flow::tcp(id, params, true);
    let names = Names { address: &address_of, station: &station_of, flow: &flow };
    let mut bytes = Vec::new();
    let kind = packet(it, &names, &mut bytes).expect("it has an encoding");
    (kind, bytes)
}

fn captured(it: &Packet) -> Vec<u8> {
    let (kind, bytes) = captured_with(&parameters(RFC), it);
    assert_eq!(kind, EtherType::IPV4);
    bytes
}

fn from_a_to_b(size: u32, body: Body) -> Packet {
    Packet { source: A, destination: B, flow: FlowId(5), ttl: 63, hops: 1, ..crate::samples::packet(size, body) }
}

/// The header of a packet's segment, and the length of its payload.
fn parsed(bytes: &[u8]) -> (tcp::Header, usize) {
    let (header, payload) = ipv4::Header::parse(bytes).expect("sound");
    assert_eq!((header.source, header.destination), (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 1, 45)));
    assert_eq!((header.protocol, header.ttl, header.dont_fragment), (Protocol::TCP, 63, true));
    let (segment, payload) = tcp::Header::parse(payload, header.source, header.destination).expect("sound");
    assert_eq!((segment.source_port, segment.destination_port), (0xf005, 0xf005));
    (segment, payload.len())
}

/// Segments with every combination of options that a connection sends after its opening.
fn segments() -> Vec<TcpHeader> {
    let mut found = Vec::new();
    for timestamps in [None, Some((7, 6))] {
        for blocks in 0..=if timestamps.is_some() { 3 } else { 4 } {
            let blocks = (0..blocks).map(|n| (2000 * n + 5000, 2000 * n + 6000));
            let sack = SackBlocks::new(1000, blocks);
            let flags = TcpFlags { ack: true, ..TcpFlags::default() };
            found.push(TcpHeader {
                seq: 1,
                ack: 1000,
                window: 64_240,
                timestamps,
                sack,
                flags,
                ..TcpHeader::default()
            });
        }
        for fin in [false, true] {
            let flags = TcpFlags { ack: true, fin, psh: fin, ..TcpFlags::default() };
            found.push(TcpHeader { seq: 9, len: 1460, timestamps, flags, window: 1, ..TcpHeader::default() });
        }
    }
    found
}

#[test]
fn segments_have_the_sizes_of_the_simulator() {
    for header in segments() {
        let size = header_bytes(&parameters(RFC), &header) + header.len;
        assert_eq!(size, header.length());
        let it = from_a_to_b(size, Body::Tcp(header));
        let bytes = captured(&it);
        assert_eq!(bytes.len(), size as usize, "{header:?}");
        assert_eq!(size_note(it.size, bytes.len()), None);
        let (segment, payload) = parsed(&bytes);
        assert_eq!((segment.options.timestamps, payload), (header.timestamps, header.len as usize));
        let blocks: Vec<_> = header.sack.iter().map(|(start, end)| (start as u32, end as u32)).collect();
        assert_eq!(segment.options.sack, blocks);
        let has = |flag| segment.flags.contains(flag);
        assert_eq!((has(tcp::Flags::FIN), has(tcp::Flags::PSH)), (header.flags.fin, header.flags.psh));
        assert_eq!(segment.window, header.window as u16);
    }
}

#[test]
fn ns2_counts_options_without_padding() {
    for header in segments() {
        let counted = header_bytes(&parameters(NS2), &header) + header.len;
        let padding = if header.timestamps.is_some() { 2 } else { 0 } + if header.sack.is_empty() { 0 } else { 4 };
        let it = from_a_to_b(counted, Body::Tcp(header));
        let bytes = captured(&it);
        assert_eq!(bytes.len() as u32, counted + padding);
        let note = format!("simulated with {counted} bytes, captured with {}", bytes.len());
        assert_eq!(size_note(it.size, bytes.len()), (padding > 0).then_some(note));
    }
}

/// The bits for congestion of an IPv4 header, whose checksum is right.
fn congestion(bytes: &[u8]) -> u8 {
    ipv4::Header::parse(bytes).expect("a sound header");
    bytes[1] & CONGESTION
}

#[test]
fn marks_are_in_the_headers_of_ip_and_tcp() {
    let flags = TcpFlags { ack: true, ece: true, cwr: true, ..TcpFlags::default() };
    let header = TcpHeader { len: 100, flags, ..TcpHeader::default() };
    let mut it = from_a_to_b(header.length(), Body::Tcp(header));
    assert!(!it.mark(), "its transport understands no marks");
    it.class = 46 << 2 | CAPABLE;
    assert_eq!(captured(&it)[1], 46 << 2 | 2, "ECT(0), RFC 3168 §5");
    assert!(it.mark() && it.is_marked() && it.dscp() == 46);
    let bytes = captured(&it);
    assert_eq!((bytes[1], congestion(&bytes)), (46 << 2 | 3, 3));
    let (segment, _) = parsed(&bytes);
    assert!(segment.flags.contains(tcp::Flags::ECE | tcp::Flags::CWR));
    // A datagram from outside, and a packet in a tunnel whose outer header is marked there.
    let inner = Packet { class: CAPABLE, ..it.clone() };
    let mut outside = Packet { body: Body::External(captured(&inner).into()), ..inner.clone() };
    outside.mark();
    assert_eq!(congestion(&captured(&outside)), 3);
    let mut outer =
        Packet { body: Body::Tunnelled(Form::IpInIp, Box::new(inner.clone())), size: it.size + 20, ..inner };
    outer.mark();
    let bytes = captured(&outer);
    assert_eq!((congestion(&bytes), congestion(&bytes[20..])), (3, 2));
}

fn syn(ack: bool, timestamps: Option<(u32, u32)>, window: u32) -> Packet {
    let flags = TcpFlags { syn: true, ack, ..TcpFlags::default() };
    let header = TcpHeader { ack: u64::from(ack), window, timestamps, flags, ..TcpHeader::default() };
    from_a_to_b(header_bytes(&parameters(RFC), &header), Body::Tcp(header))
}

#[test]
fn a_syn_says_what_its_options_must_say() {
    let it = syn(false, Some((1, 0)), 64_240);
    let bytes = captured(&it);
    // The option for the segment size is not counted by the simulator.
    assert_eq!((it.size, bytes.len()), (52, 56));
    let note = "simulated with 52 bytes, captured with 56";
    assert_eq!(size_note(it.size, bytes.len()).as_deref(), Some(note));
    let (segment, _) = parsed(&bytes);
    let options = tcp::Options {
        mss: Some(1460),
        window_scale: None,
        sack_permitted: true,
        timestamps: Some((1, 0)),
        sack: vec![],
    };
    assert_eq!((segment.flags, segment.ack, segment.options), (tcp::Flags::SYN, 0, options));
    let (segment, _) = parsed(&captured(&syn(true, None, 64_240)));
    assert_eq!((segment.flags, segment.ack), (tcp::Flags::SYN | tcp::Flags::ACK, 1));
    assert_eq!((segment.options.mss, segment.options.timestamps), (Some(1448), None));
}

#[test]
fn windows_are_scaled_where_both_ends_agree_on_it() {
    let large = tcp_model::Params { window: 1000, ..parameters(RFC) };
    let (_, bytes) = captured_with(&large, &syn(false, None, 1_460_000));
    let (segment, _) = parsed(&bytes);
    assert_eq!((segment.window, segment.options.window_scale), (65_535, Some(5)));
    let header = TcpHeader { seq: 1, len: 10, window: 1_460_000, ..TcpHeader::default() };
    let it = from_a_to_b(header.length(), Body::Tcp(header));
    assert_eq!(parsed(&captured_with(&large, &it).1).0.window, 45_625);
    let one_way = tcp_model::Params { connect: tcp_model::Connect::Ns2, ..large };
    assert_eq!(parsed(&captured_with(&one_way, &it).1).0.window, 65_535);
    assert_eq!(Flow::tcp(FlowId(0), &parameters(RFC), true).window_scale, 0);
    let largest = tcp_model::Params { segment_size: Bytes::new(1024), window: 1 << 20, ..parameters(RFC) };
    assert_eq!(Flow::tcp(FlowId(0), &largest, true).window_scale, 14);
}

#[test]
fn numbers_wrap_at_32_bits() {
    let far = (1 << 32) + 70_000;
    let sack = SackBlocks::new(far, [(far + 1000, far + 2000)]);
    let flags = TcpFlags { ack: true, ..TcpFlags::default() };
    let header = TcpHeader { seq: far - 80_000, ack: far, sack, flags, ..TcpHeader::default() };
    let (segment, _) = parsed(&captured(&from_a_to_b(52, Body::Tcp(header))));
    assert_eq!((segment.seq, segment.ack), (u32::MAX - 9999, 70_000));
    assert_eq!(segment.options.sack, [(71_000, 72_000)]);
}

#[test]
fn datagrams_carry_their_number_if_they_have_room() {
    for len in [0, 7, 8, 512, 65_507] {
        let header = UdpHeader { sequence: 0x0102_0304_0506_0708, len, identification: None };
        let it = from_a_to_b(28 + len, Body::Udp(header));
        let bytes = captured(&it);
        assert_eq!(bytes.len(), it.size as usize);
        let (header, payload) = ipv4::Header::parse(&bytes).expect("sound");
        let (ports, payload) = udp::Header::parse(payload, header.source, header.destination).expect("sound");
        assert_eq!((ports.source_port, ports.destination_port), (0xf005, 0xf005));
        let sum: u32 = payload.iter().map(|&byte| u32::from(byte)).sum();
        assert_eq!((payload.len(), sum), (len as usize, if len < 8 { 0 } else { 36 }));
    }
}

#[test]
fn the_number_of_a_source_is_the_identification() {
    for (identification, expected) in [(Some(0x1234), [0x12, 0x34, 0, 0]), (None, [0, 0, 0x40, 0])] {
        let header = UdpHeader { sequence: 3, len: 8, identification };
        assert_eq!(
            captured(&from_a_to_b(36, Body::Udp(header)))[4..8],
            expected,
            "fragments are forbidden without one"
        );
    }
}

#[test]
fn what_is_longer_than_a_packet_is_refused() {
    let it = from_a_to_b(0, Body::Udp(UdpHeader { sequence: 0, len: 65_508, identification: None }));
    let names = Names { address: &address_of, station: &station_of, flow: &Flow::udp };
    let error = packet(&it, &names, &mut Vec::new()).expect_err("too long");
    assert_eq!(error.to_string(), "IPv4: expected at most 65535 bytes, found 65536");
}

#[test]
fn address_resolution_knows_stations_and_nodes() {
    let broadcast =
        Packet { destination: Address::BROADCAST, ..from_a_to_b(28, Body::Arp(ArpMessage::Request { target: B })) };
    let (kind, bytes) = captured_with(&parameters(RFC), &broadcast);
    assert_eq!((kind, bytes.len()), (EtherType::ARP, broadcast.size as usize));
    let (ip, hardware) = ([address_of(A), address_of(B)], [station_of(A.into()), station_of(B.into())]);
    let request = arp::Message {
        operation: arp::Operation::Request,
        sender_hardware: hardware[0],
        sender: ip[0],
        target_hardware: HardwareAddress([0; 6]),
        target: ip[1],
    };
    assert_eq!(arp::Message::parse(&bytes), Ok(request));
    let (kind, bytes) = captured_with(&parameters(RFC), &from_a_to_b(28, Body::Arp(ArpMessage::Reply)));
    assert_eq!((kind, bytes.len()), (EtherType::ARP, 28));
    let reply = arp::Message { operation: arp::Operation::Reply, target_hardware: hardware[1], ..request };
    assert_eq!(arp::Message::parse(&bytes), Ok(reply));
}

#[test]
fn an_error_quotes_the_segment_as_it_was() {
    let header = TcpHeader { seq: 1461, len: 1460, timestamps: Some((1, 2)), ..TcpHeader::default() };
    let it = from_a_to_b(header.length(), Body::Tcp(header));
    let original = captured(&it);
    let quote = it.quote().expect("it has payload");
    let error = Packet { source: Address(7), destination: A, ..from_a_to_b(UNREACHABLE, Body::Icmp(quote)) };
    let bytes = captured(&error);
    assert_eq!(bytes.len(), UNREACHABLE as usize);
    let (header, payload) = ipv4::Header::parse(&bytes).expect("sound");
    assert_eq!((header.source, header.destination), (Ipv4Addr::new(10, 0, 0, 8), Ipv4Addr::new(10, 0, 0, 1)));
    let (message, quoted) = icmp::Message::parse(payload).expect("sound");
    let code = icmp::Unreachable::HOST;
    assert_eq!(message, icmp::Message::DestinationUnreachable { code, next_hop_mtu: 0 });
    assert_eq!(quoted, &original[..28]);
}

/// A message that IP carries itself, or UDP.
#[derive(Debug)]
struct Beacon(Carrier);

impl Datagram<Address> for Beacon {
    fn kind(&self) -> &'static str {
        "BEACON"
    }

    fn encode(&self, name: &dyn Fn(Address) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        out.extend(name(Address(0)).octets());
        out.extend(name(Address::BROADCAST).octets());
        Ok(self.0)
    }
}

#[test]
fn routing_messages_go_by_udp_or_by_ip_alone() {
    let message = |carrier| {
        let body = Body::Routing(RoutingMessage::new(Beacon(carrier)));
        captured(&Packet { destination: Address::BROADCAST, ..from_a_to_b(36, body) })
    };
    let expected = [10, 0, 0, 1, 255, 255, 255, 255];
    let bytes = message(Carrier::Udp(1021));
    let (header, payload) = ipv4::Header::parse(&bytes).expect("sound");
    assert_eq!((header.protocol, header.destination), (Protocol::UDP, Ipv4Addr::BROADCAST));
    let ports = udp::Header { source_port: 1021, destination_port: 1021 };
    assert_eq!(udp::Header::parse(payload, header.source, header.destination), Ok((ports, &expected[..])));
    let bytes = message(Carrier::Ip(48));
    let (header, payload) = ipv4::Header::parse(&bytes).expect("sound");
    assert_eq!((header.protocol, payload), (Protocol(48), &expected[..]));
}

#[test]
fn names_are_those_of_numbers() {
    assert_eq!(station_of(InterfaceId(0x0102_0303)).to_string(), "02:00:01:02:03:04");
    assert_eq!(station_of(InterfaceId::BROADCAST), HardwareAddress::BROADCAST);
    assert_eq!([0, 4095, 4096].map(|flow| port_of(FlowId(flow))), [61_440, 65_535, 61_440]);
    assert_eq!(
        Flow::udp(FlowId(1)),
        Flow { port: 61_441, answers: false, segment_size: 0, sack: false, window_scale: 0 }
    );
    let answers = Flow { answers: true, ..Flow::udp(FlowId(1)) };
    assert_eq!((Flow::udp(FlowId(1)).ports(0), answers.ports(0)), ((61_441, 61_441), (61_441, 61_441)));
    assert_eq!((Flow::udp(FlowId(1)).ports(1), answers.ports(1)), ((49_152, 61_441), (61_441, 49_152)));
    assert_eq!(answers.ports(12_289), answers.ports(1), "below the ports of flows");
}
