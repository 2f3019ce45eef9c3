use proptest::prelude::*;

use super::*;
use crate::testing::{address, bytes, hex};

fn header() -> impl Strategy<Value = Header> {
    let flags = (any::<bool>(), any::<bool>(), 0..0x2000_u16);
    let options = prop::collection::vec(any::<[u8; 4]>(), 0..=10).prop_map(|words| words.concat());
    (any::<(u8, u16, u8, u8)>(), flags, address(), address(), options).prop_map(
        |((traffic_class, identification, ttl, protocol), (dont, more, offset), source, destination, options)| Header {
            traffic_class,
            identification,
            dont_fragment: dont,
            more_fragments: more,
            fragment_offset: offset,
            ttl,
            protocol: Protocol(protocol),
            source,
            destination,
            options,
        },
    )
}

#[test]
fn a_datagram_of_linux() {
    // A UDP datagram from port 654, seen on an interface of Linux 6.
    let bytes = hex("4500001f 72414000 4011b288 0a010101 0a010102 028e028e000b1153 6f6464");
    let (header, payload) = Header::parse(&bytes).expect("sound");
    let expected = Header {
        identification: 0x7241,
        dont_fragment: true,
        ..Header::new(Protocol::UDP, Ipv4Addr::new(10, 1, 1, 1), Ipv4Addr::new(10, 1, 1, 2), 64)
    };
    assert_eq!(header, expected);
    assert_eq!(payload.len(), 11);
    let mut again = Vec::new();
    header.emit(payload, &mut again).expect("short enough");
    assert_eq!(again, bytes);
    // Short frames have padding.
    let padded = [&bytes[..], &[0; 15]].concat();
    assert_eq!(Header::parse(&padded), Ok((header, payload)));
}

#[test]
fn impossible_headers_are_refused() {
    let sound = hex("4500001f 72414000 4011b288 0a010101 0a010102 028e028e000b1153 6f6464");
    let with = |place: usize, value: u8| {
        let mut bytes = sound.clone();
        bytes[place] = value;
        Header::parse(&bytes).expect_err("unsound").to_string()
    };
    assert_eq!(with(0, 0x65), "IPv4: expected version 4, found 6");
    assert_eq!(with(0, 0x44), "IPv4: expected a header of 20 bytes or more, found 16");
    assert_eq!(with(3, 19), "IPv4: expected a total length that holds the header, found 19");
    assert_eq!(with(8, 63), "IPv4: the checksum does not match");
    assert_eq!(Header::parse(&sound[..30]).expect_err("cut").to_string(), "IPv4: expected 31 bytes or more, found 30");
    let (_, quoted) = Header::parse_quoted(&sound[..28]).expect("cut, but quoted");
    assert_eq!(quoted, &sound[20..28]);
    let mut start = Vec::new();
    let (header, payload) = Header::parse(&sound).expect("sound");
    header.emit_quoted(&payload[..8], 31, &mut start).expect("short enough");
    assert_eq!(start, sound[..28]);
    assert_eq!(
        header.emit_quoted(&payload[..8], 27, &mut Vec::new()).expect_err("more than all").to_string(),
        "IPv4: expected at most 27 bytes of a quoted datagram, found 28"
    );
    let long = Header::new(Protocol::UDP, Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, 1);
    assert!(matches!(long.emit(&[0; 65_516], &mut Vec::new()), Err(WireError::TooLong { found: 65_536, .. })));
}

#[test]
fn a_tunnel_keeps_the_datagram() {
    let (entry, exit) = (Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2));
    let mut inner = Vec::new();
    let header = Header {
        traffic_class: 0x48,
        dont_fragment: true,
        ..Header::new(Protocol::UDP, Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2), 3)
    };
    header.emit(&[1, 2, 3], &mut inner).expect("short enough");
    let mut bytes = Vec::new();
    let padded = [&inner[..], &[0; 9]].concat();
    encapsulate(&padded, entry, exit, 64, &mut bytes).expect("short enough");
    let (outer, payload) = Header::parse(&bytes).expect("sound");
    assert_eq!((outer.protocol, outer.source, outer.destination, outer.ttl), (Protocol::IP_IN_IP, entry, exit, 64));
    assert_eq!((outer.traffic_class, outer.dont_fragment), (0x48, true));
    assert_eq!(Header::parse(payload), Ok((header, &[1, 2, 3][..])));
    assert!(encapsulate(&inner[..10], entry, exit, 64, &mut Vec::new()).is_err());
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(header in header(), payload in bytes(100), bit in 0..160_usize) {
        let mut bytes = Vec::new();
        header.emit(&payload, &mut bytes).expect("short enough");
        prop_assert_eq!(Header::parse(&bytes), Ok((header, &payload[..])));
        // The checksum detects every single-bit error.
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Header::parse(&bytes).is_err());
    }
}

#[test]
fn the_time_to_live_is_set_with_its_checksum() {
    let header = Header {
        options: vec![0x94, 4, 0, 0],
        ..Header::new(Protocol::UDP, Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2), 64)
    };
    let mut bytes = Vec::new();
    header.emit(b"payload", &mut bytes).expect("short enough");
    let before = bytes.clone();
    for ttl in [0, 1, 63, 255] {
        set_ttl(&mut bytes, ttl);
        assert_eq!(Header::parse(&bytes), Ok((Header { ttl, ..header.clone() }, &b"payload"[..])));
    }
    set_ttl(&mut bytes, 64);
    assert_eq!(bytes, before);
    for mut other in [vec![], vec![0x44; 30], vec![0x46; 20], vec![0x45; 19]] {
        let before = other.clone();
        set_ttl(&mut other, 7);
        assert_eq!(other, before);
    }
}
