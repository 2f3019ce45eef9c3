//! A packet of every kind, with what Wireshark must find in it.

use std::net::Ipv4Addr;

use hopyard_engine::{Span, Time};
use hopyard_model::address::{Address, Prefix};
use hopyard_model::packet::{
    ArpMessage, Body, DsrOption, FlowId, IP_HEADER, Packet, RouteError, RoutingMessage, SackBlocks, SourceRoute,
    TcpFlags, TcpHeader, UNREACHABLE, UdpHeader,
};
use hopyard_model::params::{Params as _, RFC};
use hopyard_model::routing::{aodv, aomdv, babel, dsdv, olsr};

/// Names of fields with their values.
pub type Fields = &'static [(&'static str, &'static str)];

/// A packet, and what Wireshark must find in it.
pub struct Sample {
    pub packet: Packet,
    pub expected: Fields,
}

fn sample(size: u32, body: Body, expected: Fields) -> Sample {
    let packet = Packet {
        created: Time::ZERO,
        source: Address(0),
        destination: Address(1),
        flow: FlowId(0),
        size,
        ttl: 64,
        hops: 0,
        salvaged: 0,
        class: 0,
        body,
    };
    Sample { packet, expected }
}

fn broadcast(mut it: Sample) -> Sample {
    it.packet.destination = Address::BROADCAST;
    it.packet.ttl = 1;
    it
}

const NONE: TcpFlags = TcpFlags { syn: false, ack: false, fin: false, psh: false, ece: false, cwr: false, rst: false };
const ACK: TcpFlags = TcpFlags { ack: true, ..NONE };

fn header(seq: u64, ack: u64, flags: TcpFlags) -> TcpHeader {
    TcpHeader { seq, ack, flags, window: 64_240, timestamps: Some((1000, 900)), ..TcpHeader::default() }
}

fn data(seq: u64, fin: bool, expected: Fields) -> Sample {
    let header = TcpHeader { len: 1460, ..header(seq, 1, TcpFlags { fin, ..ACK }) };
    sample(1512, Body::Tcp(header), expected)
}

fn answer(size: u32, header: TcpHeader, expected: Fields) -> Sample {
    let mut it = sample(size, Body::Tcp(header), expected);
    (it.packet.source, it.packet.destination) = (Address(1), Address(0));
    it
}

/// A connection from its SYN to its last acknowledgement. The SYNs have four bytes more than the simulator counts, for
/// the option with the segment size.
pub fn connection() -> Vec<Sample> {
    let acknowledges = |ack, blocks: &[(u64, u64)]| TcpHeader {
        sack: SackBlocks::new(ack, blocks.iter().copied()),
        ..header(1, ack, ACK)
    };
    vec![
        sample(
            52,
            Body::Tcp(header(0, 0, TcpFlags { syn: true, ..NONE })),
            &[
                ("ip.len", "56"),
                ("ip.src", "10.0.0.1"),
                ("ip.dst", "10.0.0.2"),
                ("ip.ttl", "64"),
                ("tcp.srcport", "61440"),
                ("tcp.dstport", "61440"),
                ("tcp.flags", "0x0002"),
                ("tcp.options.mss_val", "1460"),
                ("tcp.option_kind", "2,4,8"),
            ],
        ),
        answer(
            52,
            header(0, 1, TcpFlags { syn: true, ..ACK }),
            &[("ip.len", "56"), ("ip.src", "10.0.0.2"), ("tcp.flags", "0x0012"), ("tcp.ack_raw", "1")],
        ),
        data(
            1,
            false,
            &[
                ("ip.len", "1512"),
                ("tcp.len", "1460"),
                ("tcp.seq_raw", "1"),
                ("tcp.ack_raw", "1"),
                ("tcp.flags", "0x0010"),
                ("tcp.window_size", "64240"),
                ("tcp.options.timestamp.tsval", "1000"),
                ("tcp.options.timestamp.tsecr", "900"),
            ],
        ),
        data(1461, false, &[("tcp.seq_raw", "1461")]),
        data(2921, true, &[("tcp.seq_raw", "2921"), ("tcp.flags", "0x0011")]),
        answer(
            64,
            acknowledges(1461, &[(2921, 4382)]),
            &[
                ("ip.len", "64"),
                ("tcp.ack_raw", "1461"),
                ("tcp.options.sack_le", "2921"),
                ("tcp.options.sack_re", "4382"),
            ],
        ),
        answer(
            80,
            acknowledges(1461, &[(1500, 1600), (1700, 1800), (2921, 4382)]),
            &[("ip.len", "80"), ("tcp.options.sack.count", "3")],
        ),
        answer(52, header(1, 4382, TcpFlags { fin: true, ..ACK }), &[("ip.len", "52"), ("tcp.flags", "0x0011")]),
    ]
}

/// Datagrams, address resolution and an error about a segment of [`connection`].
pub fn others() -> Vec<Sample> {
    let quote = connection()[2].packet.quote().expect("it has payload");
    let mut error = sample(
        UNREACHABLE,
        Body::Icmp(quote),
        &[
            ("ip.len", "56,1512"),
            ("ip.src", "10.0.0.8,10.0.0.1"),
            ("ip.checksum.status", "1,1"),
            ("icmp.type", "3"),
            ("icmp.code", "1"),
            ("icmp.checksum.status", "1"),
            ("tcp.srcport", "61440"),
            ("tcp.seq", "1"),
        ],
    );
    (error.packet.source, error.packet.destination) = (Address(7), Address(0));
    let flow = |mut it: Sample| {
        it.packet.flow = FlowId(1);
        it
    };
    vec![
        flow(sample(
            540,
            Body::Udp(UdpHeader { sequence: 258, len: 512, identification: None }),
            &[("ip.len", "540"), ("udp.length", "520"), ("udp.srcport", "61441"), ("udp.dstport", "61441")],
        )),
        flow(sample(
            28,
            Body::Udp(UdpHeader { sequence: 0, len: 0, identification: None }),
            &[("ip.len", "28"), ("udp.length", "8")],
        )),
        broadcast(sample(
            28,
            Body::Arp(ArpMessage::Request { target: Address(1) }),
            &[
                ("arp.opcode", "1"),
                ("arp.src.hw_mac", "02:00:00:00:00:01"),
                ("arp.src.proto_ipv4", "10.0.0.1"),
                ("arp.dst.hw_mac", "00:00:00:00:00:00"),
                ("arp.dst.proto_ipv4", "10.0.0.2"),
            ],
        )),
        sample(
            28,
            Body::Arp(ArpMessage::Reply),
            &[("arp.opcode", "2"), ("arp.dst.hw_mac", "02:00:00:00:00:02"), ("arp.dst.proto_ipv4", "10.0.0.2")],
        ),
        error,
    ]
}

fn aodv(message: aodv::AodvMessage, expected: Fields) -> Sample {
    let size = aodv::Params::of_profile(RFC).packet_size(&message);
    sample(size, Body::Routing(RoutingMessage::new(message)), expected)
}

fn aomdv(message: aomdv::AomdvMessage, length: &'static str) -> Sample {
    let size = aomdv::Params::of_profile(RFC).packet_size(&message);
    let expected = match length {
        "56" => &[("ip.len", "56"), ("udp.dstport", "1022"), ("udp.length", "36")][..],
        _ => &[("ip.len", "48"), ("udp.dstport", "1022"), ("udp.length", "28")],
    };
    sample(size, Body::Routing(RoutingMessage::new(message)), expected)
}

/// AOMDV's messages, which tshark takes for data.
fn aomdv_messages() -> [Sample; 4] {
    let request = aomdv::Request {
        id: 7,
        hops: 2,
        destination: Address(9),
        destination_sequence: 0,
        unknown_sequence: true,
        originator: Address(4),
        originator_sequence: 12,
        first_hop: Address(5),
    };
    let reply = aomdv::Reply {
        hops: 3,
        destination: Address(9),
        destination_sequence: 5,
        originator: Address(4),
        lifetime: Span::from_secs(6),
        id: 7,
        first_hop: Address(8),
    };
    let error = vec![(Address(9), 6), (Address(8), 2)];
    [
        broadcast(aomdv(aomdv::AomdvMessage::Request(request), "56")),
        aomdv(aomdv::AomdvMessage::Reply(reply), "56"),
        broadcast(aomdv(aomdv::AomdvMessage::Error(error), "48")),
        broadcast(aomdv(
            aomdv::AomdvMessage::Hello { sender: Address(0), sequence: 8, lifetime: Span::from_secs(2) },
            "48",
        )),
    ]
}

/// A message of every kind of every routing protocol.
pub fn routing() -> Vec<Sample> {
    let request = aodv::Request {
        id: 7,
        hops: 2,
        destination: Address(9),
        destination_sequence: 0,
        unknown_sequence: true,
        gratuitous: true,
        destination_only: false,
        originator: Address(4),
        originator_sequence: 12,
        sent: Time::ZERO,
    };
    let reply = aodv::Reply {
        hops: 3,
        destination: Address(9),
        destination_sequence: 5,
        originator: Address(4),
        lifetime: Span::from_secs(6),
        ack_required: true,
        internet: None,
        sent: Time::ZERO,
    };
    let error = aodv::RouteError { no_delete: false, unreachable: vec![(Address(9), 6), (Address(8), 2)] };
    let advertisements = (0..3).map(|n| dsdv::Advertisement { destination: Address(n), metric: n as u8, sequence: 2 });
    let update = dsdv::Update { full: true, advertisements: advertisements.collect(), networks: Vec::new() };
    let update_size = dsdv::Params::of_profile(RFC).packet_size(&update);
    let mut samples = vec![
        broadcast(aodv(
            aodv::AodvMessage::Request(request),
            &[
                ("ip.len", "52"),
                ("ip.dst", "255.255.255.255"),
                ("udp.srcport", "654"),
                ("udp.dstport", "654"),
                ("aodv.type", "1"),
                ("aodv.flags.rreq_unknown", "1"),
                ("aodv.flags.rreq_gratuitous", "1"),
                ("aodv.flags.rreq_destinationonly", "0"),
                ("aodv.hopcount", "2"),
                ("aodv.rreq_id", "7"),
                ("aodv.dest_ip", "10.0.0.10"),
                ("aodv.orig_ip", "10.0.0.5"),
                ("aodv.orig_seqno", "12"),
            ],
        )),
        aodv(
            aodv::AodvMessage::Reply(reply),
            &[
                ("ip.len", "48"),
                ("aodv.type", "2"),
                ("aodv.flags.rrep_ack", "1"),
                ("aodv.prefix_sz", "0"),
                ("aodv.hopcount", "3"),
                ("aodv.dest_ip", "10.0.0.10"),
                ("aodv.dest_seqno", "5"),
                ("aodv.orig_ip", "10.0.0.5"),
                ("aodv.lifetime", "6000"),
            ],
        ),
        aodv(
            aodv::AodvMessage::Reply(aodv::Reply { internet: Some(Address(20)), ..reply }),
            &[
                ("ip.len", "54"),
                ("aodv.type", "2"),
                ("aodv.dest_ip", "10.0.0.10"),
                ("aodv.ext_type", "4"),
                ("aodv.ext_length", "4"),
            ],
        ),
        broadcast(aodv(
            aodv::AodvMessage::Error(error),
            &[
                ("ip.len", "48"),
                ("aodv.type", "3"),
                ("aodv.destcount", "2"),
                ("aodv.unreach_dest_ip", "10.0.0.10,10.0.0.9"),
                ("aodv.dest_seqno", "6,2"),
            ],
        )),
        aodv(aodv::AodvMessage::ReplyAck, &[("ip.len", "30"), ("aodv.type", "4")]),
        broadcast(aodv(
            aodv::AodvMessage::Hello { sender: Address(0), sequence: 8, lifetime: Span::from_secs(2) },
            &[
                ("ip.len", "48"),
                ("aodv.type", "2"),
                ("aodv.hopcount", "0"),
                ("aodv.dest_ip", "10.0.0.1"),
                ("aodv.dest_seqno", "8"),
                ("aodv.lifetime", "2000"),
            ],
        )),
        broadcast(sample(
            update_size,
            Body::Routing(RoutingMessage::new(update)),
            &[
                ("ip.len", "64"),
                ("udp.dstport", "1021"),
                ("data.data", "0a00000100000002000000000a00000200000002000100000a0000030000000200020000"),
            ],
        )),
        olsr(
            vec![olsr_hello(false)],
            &[
                ("ip.len", "68"),
                ("udp.dstport", "698"),
                ("olsr.packet_len", "40"),
                ("olsr.packet_seq_num", "7"),
                ("olsr.message_type", "1"),
                ("olsr.vtime", "6"),
                ("olsr.htime", "2"),
                ("olsr.willingness", "3"),
                ("olsr.ttl", "1"),
                ("olsr.link_type", "1,10"),
                ("olsr.neighbor_addr", "10.0.0.4,10.0.0.2,10.0.0.3"),
            ],
        ),
        olsr(
            vec![olsr_tc(Vec::new()), olsr_message(olsr::Content::Mid([Address(8)].into())), {
                olsr_message(olsr::Content::Hna(["192.168.4.0/22".parse::<Prefix>().expect("a prefix")].into()))
            }],
            &[
                ("ip.len", "92"),
                ("olsr.message_type", "2,3,4"),
                ("olsr.vtime", "15,15,15"),
                ("olsr.origin_addr", "10.0.0.6,10.0.0.6,10.0.0.6"),
                ("olsr.hop_count", "2,2,2"),
                ("olsr.ansn", "259"),
                ("olsr.neighbor_addr", "10.0.0.2,10.0.0.3"),
                ("olsr.interface_addr", "10.0.0.9"),
                ("olsr.network_addr", "192.168.4.0"),
                ("olsr.netmask", "255.255.252.0"),
            ],
        ),
        olsr(
            vec![olsr_hello(true), olsr_tc(vec![(255, 255), (128, 255)])],
            &[("ip.len", "112"), ("olsr.message_type", "201,202"), ("olsr.ansn", "259")],
        ),
    ];
    samples.extend(aomdv_messages());
    samples.push(babel_packet());
    samples
}

/// A packet of Babel with a message of each kind that nodes send.
fn babel_packet() -> Sample {
    use babel::{Message, Neighbour, RouterId, Target, Update};
    let update = |to, router: Option<u32>, metric| {
        let router = router.map(|it| RouterId::Of(Address(it)));
        let destination = Target::Host(Address(to));
        Message::Update(Update { destination, router, next_hop: None, seqno: 258, metric, interval: 1600 })
    };
    let (destination, router) = (Target::Host(Address(6)), RouterId::Of(Address(6)));
    let messages = [
        Message::Hello { unicast: false, seqno: 9, interval: 400 },
        Message::Ihu { rxcost: 307, interval: 1200, address: Some(Neighbour::Ipv4(Address(3))) },
        update(4, Some(4), 0),
        update(5, Some(5), 512),
        update(7, None, 0xffff),
        Message::Request(Target::All),
        Message::SeqnoRequest { destination, router, seqno: 259, hops: 63 },
    ];
    let mut packets = babel::BabelPacket::pack(messages, 1400, &|it| Ipv4Addr::new(10, 0, 0, 1 + it.0 as u8))
        .expect("they have an encoding");
    let packet = packets.pop().expect("one packet");
    let mut it = sample(
        packet.size() + 28,
        Body::Routing(RoutingMessage::new(packet)),
        &[
            ("ip.len", "148"),
            ("ip.dst", "224.0.0.111"),
            ("udp.srcport", "6696"),
            ("udp.dstport", "6696"),
            ("babel.bodylen", "116"),
            ("babel.message.type", "4,5,6,8,6,8,8,9,10"),
            ("babel.message.seqno", "0x0009,0x0102,0x0102,0x0102,0x0103"),
            ("babel.message.rxcost", "0x0133"),
            ("babel.message.metric", "0,512,65535"),
            ("babel.message.hopcount", "63"),
            ("babel.message.omitted", "0,0,0"),
        ],
    );
    it.packet.destination = Address::local_group(111);
    it
}

/// A packet of OLSR.
fn olsr(messages: Vec<olsr::OlsrMessage>, expected: Fields) -> Sample {
    let packet = olsr::OlsrPacket { sequence: 7, messages };
    broadcast(sample(packet.size() + 28, Body::Routing(RoutingMessage::new(packet)), expected))
}

/// A message of node 5 that has taken two hops.
fn olsr_message(content: olsr::Content) -> olsr::OlsrMessage {
    olsr::OlsrMessage { vtime: 0xe7, originator: Address(5), ttl: 253, hops: 2, sequence: 9, content }
}

fn olsr_hello(qualities: bool) -> olsr::OlsrMessage {
    use olsr::{LinkType, NeighbourType};
    let listed = |address, link, neighbour| olsr::Listed {
        address: Address(address),
        link,
        neighbour,
        quality: if qualities { (255, 128) } else { (0, 0) },
    };
    let listed = vec![
        listed(1, LinkType::Symmetric, NeighbourType::Mpr),
        listed(2, LinkType::Symmetric, NeighbourType::Mpr),
        listed(3, LinkType::Asymmetric, NeighbourType::Not),
    ];
    let hello = olsr::Hello { htime: 0x05, willingness: 3, qualities, listed };
    let content = olsr::Content::Hello(hello.into());
    olsr::OlsrMessage { vtime: 0x86, originator: Address(0), ttl: 1, hops: 0, ..olsr_message(content) }
}

fn olsr_tc(qualities: Vec<(u8, u8)>) -> olsr::OlsrMessage {
    let tc = olsr::Tc { ansn: 0x103, advertised: vec![Address(1), Address(2)], qualities };
    olsr_message(olsr::Content::Tc(tc.into()))
}

fn with(mut it: Sample, options: Vec<DsrOption>) -> Sample {
    it.packet.change_options(|all| all.extend(options));
    it
}

/// Packets with options of DSR: a datagram on a source route, and packets of options alone.
pub fn options() -> Vec<Sample> {
    let [a, b, c] = [1, 2, 3].map(Address);
    let mut route = SourceRoute::new(vec![b, c]).expect("it fits");
    route.visit();
    route.salvage = 2;
    let [datagram, datagram_of_flow] =
        [1, 2].map(|sequence| Body::Udp(UdpHeader { sequence, len: 100, identification: None }));
    let flow_route = SourceRoute::new(vec![b]).expect("it fits");
    let alone = |expected| sample(IP_HEADER, Body::Empty, expected);
    vec![
        with(
            sample(
                128,
                datagram,
                &[
                    ("ip.len", "148"),
                    ("ip.proto", "48"),
                    ("dsr.nexthdr", "0x11"),
                    ("dsr.len", "16"),
                    ("dsr.option.type", "96,160"),
                    ("dsr.option.srcrt.salvage", "0x02"),
                    ("dsr.option.srcrt.segsleft", "1"),
                    ("dsr.option.ackreq.id", "0x0009"),
                    ("udp.length", "108"),
                ],
            ),
            vec![DsrOption::SourceRoute(route), DsrOption::AckRequest { identification: 9 }],
        ),
        with(
            broadcast(alone(&[
                ("ip.len", "40"),
                ("dsr.nexthdr", "0x3b"),
                ("dsr.option.type", "1"),
                ("dsr.option.rreq.id", "0x0007"),
                ("dsr.option.rreq.targetaddress", "10.0.0.4"),
                ("dsr.option.rreq.address", "10.0.0.2,10.0.0.3"),
            ])),
            vec![DsrOption::RouteRequest { identification: 7, target: c, addresses: vec![a, b] }],
        ),
        with(
            alone(&[
                ("ip.len", "35"),
                ("dsr.option.type", "2"),
                ("dsr.option.rrep.lasthopex", "1"),
                ("dsr.option.rrep.address", "10.0.0.2,10.0.0.4"),
            ]),
            vec![DsrOption::RouteReply { last_hop_external: true, addresses: vec![a, c] }],
        ),
        with(
            alone(&[
                ("ip.len", "52"),
                ("dsr.option.type", "3,32"),
                ("dsr.option.err.type", "1"),
                ("dsr.option.err.salvage", "0x01"),
                ("dsr.option.err.src", "10.0.0.3"),
                ("dsr.option.err.dest", "10.0.0.2"),
                ("dsr.option.err.unreachablenode", "10.0.0.4"),
                ("dsr.option.ack.id", "0x0009"),
                ("dsr.option.ack.source", "10.0.0.3"),
            ]),
            vec![
                DsrOption::RouteError { error: RouteError::NodeUnreachable(c), salvage: 1, source: b, destination: a },
                DsrOption::Ack { identification: 9, source: b, destination: a },
            ],
        ),
        with(
            sample(
                128,
                datagram_of_flow,
                &[
                    ("ip.len", "148"),
                    ("ip.proto", "48"),
                    // tshark reads the number of the flow from another place; tests of the wire format have its bytes.
                    ("dsr.fs.hopcount", "2"),
                    ("dsr.option.type", "128,96"),
                    ("dsr.option.timeout.timeout", "60"),
                    ("udp.length", "108"),
                ],
            ),
            vec![
                DsrOption::Flow { identification: 5, hops: 2 },
                DsrOption::Timeout(60),
                DsrOption::SourceRoute(flow_route),
            ],
        ),
        with(
            alone(&[
                ("dsr.option.type", "3,3"),
                ("dsr.option.err.type", "129,130"),
                ("dsr.option.err.unknownflow.dest", "10.0.0.4"),
                ("dsr.option.err.unknownflow.id", "0x0005"),
                ("dsr.option.err.defaultflowunknown.dest", "10.0.0.4"),
            ]),
            vec![
                DsrOption::RouteError { error: RouteError::UnknownFlow(c, 5), salvage: 0, source: b, destination: a },
                DsrOption::RouteError {
                    error: RouteError::DefaultFlowUnknown(c),
                    salvage: 0,
                    source: b,
                    destination: a,
                },
            ],
        ),
    ]
}
