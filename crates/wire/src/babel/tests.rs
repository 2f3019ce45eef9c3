//! Babel's format: bytes laid out by hand, bad packets, and round trips.

use proptest::prelude::*;

use super::*;
use crate::testing::{A, B, address, bytes, hex};

fn update(destination: Target, router: Ipv4Addr, seqno: u16, metric: u16) -> Message {
    let router = (metric != INFINITY).then_some(RouterId::Of(router));
    Message::Update(Update { destination, router, next_hop: None, seqno, metric, interval: 1600 })
}

fn packed(messages: &[Message]) -> (Packet, Vec<u8>) {
    let packet = Packet::whole(messages.to_vec()).expect("it has an encoding");
    let mut out = Vec::new();
    packet.emit(&|it| it, &mut out).expect("it is short");
    (packet, out)
}

#[test]
fn a_packet_is_laid_out_as_in_the_rfc() {
    let messages = [
        Message::Hello { unicast: false, seqno: 0x0102, interval: 400 },
        Message::Ihu { rxcost: 256, interval: 1200, address: Some(Neighbour::Ipv4(B)) },
        update(Target::Host(A), A, 7, 0),
        // The same router: no second Router-Id.
        update(Target::Host(Ipv4Addr::new(10, 0, 0, 2)), A, 7, 0),
        update(Target::Host(B), B, 9, 256),
        update(Target::Network(Prefix::of(Ipv4Addr::new(10, 9, 0, 0), 16)), A, 7, INFINITY),
        Message::Request(Target::All),
        Message::Request(Target::Host(B)),
        Message::SeqnoRequest { destination: Target::Host(B), router: RouterId::Of(B), seqno: 10, hops: 64 },
    ];
    let (packet, out) = packed(&messages);
    let expected = "2a 02 008a
        04 06 0000 0102 0190
        05 0a 01 00 0100 04b0 0a000009
        06 0a 0000 00005efe0a000001  08 0e 01 00 20 00 0640 0007 0000 0a000001
        08 0e 01 00 20 00 0640 0007 0000 0a000002
        06 0a 0000 00005efe0a000009  08 0e 01 00 20 00 0640 0009 0100 0a000009
        08 0c 01 00 10 00 0640 0007 ffff 0a09
        09 02 00 00
        09 06 01 20 0a000009
        0a 12 01 20 000a 40 00 00005efe0a000009 0a000009";
    assert_eq!(out, hex(expected));
    assert_eq!(Packet::parse(&out), Ok((packet.clone(), &[][..])));
    assert_eq!(packet.size() as usize, out.len());
    assert_eq!(packet.messages(), messages);
    let mut parts = Vec::new();
    packet.parts(&mut |part| parts.push((part.kind, part.bytes)));
    assert_eq!(parts[..4], [("HELLO", 8), ("IHU", 12), ("UPDATE", 28), ("UPDATE", 16)]);
    assert_eq!(parts.iter().map(|it| it.1).sum::<u32>() + HEADER, packet.size());
    assert_eq!(packet.kind(), "BABEL");
}

/// babeld 1.12.1 sends IPv6 prefixes, next hops, unknown sub-TLVs and padding beside.
#[test]
fn what_is_not_known_is_passed_over_and_sets_the_state_all_the_same() {
    let (expected, _) = packed(&[
        Message::Hello { unicast: true, seqno: 1, interval: 0 },
        Message::Ihu { rxcost: 256, interval: 1200, address: Some(Neighbour::LinkLocal(*b"\x02\0\0\xff\xfe\0\0\x09")) },
        Message::Update(Update {
            destination: Target::Host(A),
            router: Some(RouterId::Other(*b"\x02\0\0\xff\xfe\0\0\x01")),
            next_hop: Some(B),
            seqno: 2,
            metric: 96,
            interval: 1600,
        }),
    ]);
    let text = "00 01 02 0000
        04 0c 8000 0001 0000 01 04 00000000
        05 0e 03 00 0100 04b0 020000fffe000009
        07 06 01 00 0a000009
        08 1a 02 c0 80 00 0640 0002 0000 fd000000000000000200 00fffe000001
        08 0e 01 00 20 00 0640 0002 0060 0a000001
        04 08 0000 0002 0190 80 00
        63 03 010203
        08 0c 01 00 20 00 0640 0002 0060 0a00";
    // The last TLV ends too early: it is passed over, and the packet without its last bytes is none.
    let bytes = hex(text);
    let framed = |body: &[u8]| [&[42, 2][..], &(body.len() as u16).to_be_bytes(), body].concat();
    assert_eq!(Packet::parse(&framed(&bytes)), Ok((expected, &[][..])));
    assert!(matches!(Packet::parse(&framed(&bytes[..bytes.len() - 1])), Err(WireError::Truncated { .. })));
}

/// RFC 8966, §4.6.9 and §4.6.10: what must be ignored is ignored alone.
#[test]
fn s4_6_9_a_malformed_tlv_takes_no_other_with_it() {
    let hello = "04 06 0000 0007 0190";
    let (expected, _) = packed(&[Message::Hello { unicast: false, seqno: 7, interval: 400 }]);
    for tlv in [
        // A Hello that is too short; prefixes that are too long, or leave out bytes that no update has said.
        "04 02 0000",
        "08 0f 01 00 21 00 0640 0002 0060 0a00000100",
        "08 1b 02 00 81 00 0640 0002 0060 0000000000000000000000000000000000",
        "08 0b 01 00 20 03 0640 0002 0060 01",
        // An update without a router-id, and a finite one of every destination.
        "08 0e 01 00 20 00 0640 0002 0060 0a000001",
        "08 0a 00 00 00 00 0640 0002 0060",
        // A retraction of every destination, and a request for all, whose prefixes have lengths.
        "08 0b 00 00 08 00 0640 0002 ffff 0a",
        "09 03 00 08 0a",
    ] {
        for text in [format!("{tlv} {hello}"), format!("{hello} {tlv}")] {
            let body = hex(&text);
            let bytes = [&[42, 2][..], &(body.len() as u16).to_be_bytes(), &body].concat();
            assert_eq!(Packet::parse(&bytes), Ok((expected.clone(), &[][..])), "{text}");
        }
    }
}

/// §4.5: an update leaves out bytes that the default prefix has.
#[test]
fn s4_5_bytes_left_out_are_those_of_the_default_prefix() {
    let router = "06 0a 0000 00005efe0a000001";
    let bytes = hex(&format!(
        "2a02 0029 {router} 08 0e 01 80 20 00 0640 0007 0000 0a000001 08 0b 01 00 20 03 0640 0007 0000 02"
    ));
    let (packet, _) = Packet::parse(&bytes).expect("sound");
    let second = Ipv4Addr::new(10, 0, 0, 2);
    assert_eq!(packet.messages(), [update(Target::Host(A), A, 7, 0), update(Target::Host(second), A, 7, 0)]);
}

/// A retraction names a router where the sender says so. Nobody needs it, and the parser leaves it out.
#[test]
fn a_retraction_may_name_its_router() {
    let named = Update { router: Some(RouterId::Of(B)), ..first(update(Target::Host(A), A, 7, INFINITY)) };
    let (packet, out) = packed(&[Message::Update(named)]);
    assert_eq!(out, hex("2a02 001c  06 0a 0000 00005efe0a000009  08 0e 01 00 20 00 0640 0007 ffff 0a000001"));
    assert_eq!(packet.size() as usize, out.len());
    let (parsed, _) = Packet::parse(&out).expect("sound");
    assert_eq!(parsed.messages(), [update(Target::Host(A), A, 7, INFINITY)]);
}

#[test]
fn s4_6_9_a_flag_makes_the_prefix_the_router_id() {
    let bytes = hex("2a02 0010  08 0e 01 40 20 00 0640 0002 0060 0a000001");
    let (packet, _) = Packet::parse(&bytes).expect("sound");
    let [Message::Update(update)] = packet.messages() else { panic!("an update") };
    assert_eq!(update.router, Some(RouterId::Other([0, 0, 0, 0, 10, 0, 0, 1])));
}

#[test]
fn bad_packets_are_refused_with_the_value_and_what_was_expected() {
    for (text, problem) in [
        ("2b02 0000", "expected the magic number 42, found 43"),
        ("2a01 0000", "expected version 2, found 1"),
        ("2a02 0004 0402 00", "expected 8 bytes or more, found 7"),
        ("2a02 0003 0402 00", "expected 4 bytes or more, found 3"),
    ] {
        let error = Packet::parse(&hex(text)).expect_err(text).to_string();
        assert_eq!(error, format!("Babel: {problem}"), "{text}");
    }
    let bad = [
        Update { router: None, ..first(update(Target::Host(A), A, 1, 96)) },
        Update { destination: Target::All, ..first(update(Target::Host(A), A, 1, 96)) },
    ];
    for update in bad {
        assert!(matches!(Packet::whole(vec![Message::Update(update)]), Err(WireError::Malformed { found: 96, .. })));
    }
}

fn first(message: Message) -> Update {
    let Message::Update(update) = message else { panic!("an update") };
    update
}

#[test]
fn messages_are_packed_up_to_the_limit_and_each_packet_stands_alone() {
    let messages = (0..100).map(|last| update(Target::Host(Ipv4Addr::new(10, 0, 0, last)), A, 1, 256));
    let packets = Packet::pack(messages, 200, &|it| it).expect("they have an encoding");
    // The first update has the router-id; with six others, less than the room for another one is free.
    assert!(packets[..packets.len() - 1].iter().all(|it| it.size() == 4 + 28 + 6 * 16));
    let mut last = 0;
    for packet in &packets {
        let mut out = Vec::new();
        packet.emit(&|it| it, &mut out).expect("it is short");
        assert_eq!(Packet::parse(&out), Ok((packet.clone(), &[][..])));
        last += packet.messages().len();
    }
    assert_eq!((packets.len(), last), (15, 100));
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        address().prop_map(Target::Host),
        (address(), 0_u8..32).prop_map(|(address, length)| Target::Network(Prefix::of(address, length))),
    ]
}

fn router() -> impl Strategy<Value = RouterId> {
    prop_oneof![address().prop_map(RouterId::Of), any::<[u8; 8]>().prop_map(RouterId::of)]
}

fn neighbour() -> impl Strategy<Value = Neighbour> {
    prop_oneof![address().prop_map(Neighbour::Ipv4), any::<[u8; 8]>().prop_map(Neighbour::LinkLocal)]
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        any::<(u16, u16)>().prop_map(|(opaque, interval)| Message::AckRequest { opaque, interval }),
        any::<u16>().prop_map(|opaque| Message::Ack { opaque }),
        any::<(bool, u16, u16)>().prop_map(|(unicast, seqno, interval)| Message::Hello { unicast, seqno, interval }),
        (any::<(u16, u16)>(), prop::option::of(neighbour())).prop_map(|((rxcost, interval), address)| Message::Ihu {
            rxcost,
            interval,
            address
        }),
        (target(), router(), any::<(u16, u16, u16)>()).prop_map(|(destination, router, (seqno, metric, interval))| {
            let router = (metric != INFINITY).then_some(router);
            Message::Update(Update { destination, router, next_hop: None, seqno, metric, interval })
        }),
        any::<(u16, u16)>().prop_map(|(seqno, interval)| {
            let (destination, router, next_hop) = (Target::All, None, None);
            Message::Update(Update { destination, router, next_hop, seqno, metric: INFINITY, interval })
        }),
        prop_oneof![target(), Just(Target::All)].prop_map(Message::Request),
        (target(), router(), any::<(u16, u8)>()).prop_map(|(destination, router, (seqno, hops))| {
            Message::SeqnoRequest { destination, router, seqno, hops }
        }),
    ]
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(messages in prop::collection::vec(message(), 0..30), rest in bytes(5)) {
        let (packet, mut out) = packed(&messages);
        prop_assert_eq!(out.len(), packet.size() as usize);
        prop_assert_eq!(packet.messages(), &messages[..]);
        out.extend_from_slice(&rest);
        prop_assert_eq!(Packet::parse(&out), Ok((packet, &rest[..])));
    }

    #[test]
    fn no_bytes_upset_the_parser(kinds in prop::collection::vec((0_u8..12, bytes(24)), 0..6), rest in bytes(8)) {
        let tlv = |(kind, it): (u8, Vec<u8>)| [vec![kind, it.len() as u8], it].concat();
        let mut body: Vec<u8> = kinds.into_iter().flat_map(tlv).collect();
        body.extend(rest);
        let _ = Packet::parse(&[&[42, 2][..], &(body.len() as u16).to_be_bytes(), &body].concat());
    }
}
