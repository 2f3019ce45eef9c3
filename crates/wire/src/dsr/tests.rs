use proptest::prelude::*;

use super::*;
use crate::testing::{address, bytes, hex};

fn emitted(header: &Header, payload: &[u8]) -> Result<Vec<u8>, WireError> {
    let mut out = Vec::new();
    emit(&header.options, header.next, payload, &|it| it, &mut out).map(|()| out)
}

fn bytes_of(header: &Header) -> usize {
    header_bytes(&header.options) as usize
}

/// The formats of §6.1 to §6.8, written out by hand.
#[test]
fn the_layout_of_the_options() {
    let [a, b, c] = [[10, 0, 0, 1], [10, 0, 0, 2], [10, 0, 0, 3]].map(Ipv4Addr::from);
    let cases = [
        (
            DsrOption::RouteRequest { identification: 0x0102, target: c, addresses: vec![a, b] },
            "01 0e 0102 0a000003 0a000001 0a000002",
        ),
        (
            DsrOption::RouteReply { last_hop_external: true, addresses: vec![a, b, c] },
            "02 0d 80 0a000001 0a000002 0a000003",
        ),
        (
            DsrOption::RouteError { error: RouteError::NodeUnreachable(c), salvage: 3, source: b, destination: a },
            "03 0e 01 03 0a000002 0a000001 0a000003",
        ),
        (
            DsrOption::RouteError { error: RouteError::OptionNotSupported(160), salvage: 0, source: b, destination: a },
            "03 0b 03 00 0a000002 0a000001 a0",
        ),
        (
            DsrOption::RouteError { error: RouteError::UnknownFlow(c, 5), salvage: 0, source: b, destination: a },
            "03 10 81 00 0a000002 0a000001 0a000003 0005",
        ),
        (
            DsrOption::RouteError { error: RouteError::DefaultFlowUnknown(c), salvage: 0, source: b, destination: a },
            "03 0e 82 00 0a000002 0a000001 0a000003",
        ),
        (DsrOption::Timeout(60), "80 02 003c"),
        (DsrOption::AckRequest { identification: 7 }, "a0 02 0007"),
        (DsrOption::Ack { identification: 7, source: b, destination: a }, "20 0a 0007 0a000002 0a000001"),
        (
            DsrOption::SourceRoute(SourceRoute {
                first_hop_external: false,
                last_hop_external: true,
                salvage: 15,
                segments_left: 1,
                addresses: vec![a, b],
            }),
            "60 0a 43c1 0a000001 0a000002",
        ),
    ];
    for (option, text) in cases {
        let header = Header { next: Protocol::UDP, options: vec![option.clone()] };
        let emitted = emitted(&header, b"payload").expect("it has an encoding");
        let expected = hex(text);
        assert_eq!(emitted[4..4 + expected.len()], expected, "{option:?}");
        assert_eq!(emitted[..4], [17, 0, 0, expected.len() as u8]);
        assert_eq!((option.bytes() as usize, bytes_of(&header)), (expected.len(), 4 + expected.len()));
        assert_eq!(Header::parse(&emitted), Ok((header, &b"payload"[..])));
    }
}

/// The flow state header (§7.1) stands alone, or before the other one.
#[test]
fn the_layout_of_the_flow_state_header() {
    let flow = |hops| DsrOption::Flow { identification: 0x0102, hops };
    for (options, text) in
        [(vec![flow(3)], "11 83 0102"), (vec![flow(3), DsrOption::Timeout(60)], "30 83 0102 11 00 0004 80 02 003c")]
    {
        let header = Header { next: Protocol::UDP, options };
        let emitted = emitted(&header, b"payload").expect("it has an encoding");
        assert_eq!(emitted, [&hex(text)[..], b"payload"].concat());
        assert_eq!(bytes_of(&header), hex(text).len());
        assert_eq!(Header::parse(&emitted), Ok((header, &b"payload"[..])));
    }
    let header = Header { next: Protocol::UDP, options: vec![flow(128)] };
    assert!(emitted(&header, b"").is_err(), "seven bits");
    assert!(Header::parse(&hex("30 83 0102 11 80 0000")).is_err(), "a second one");
}

#[test]
fn padding_is_passed_over() {
    let bytes = hex("3b 00 000a  e0 a0020007 e0 00020000 2a");
    let (header, rest) = Header::parse(&bytes).expect("sound");
    assert_eq!(header.next, Protocol::NO_NEXT_HEADER);
    assert_eq!((header.options, rest), (vec![DsrOption::AckRequest { identification: 7 }], &[0x2a][..]));
}

#[test]
fn wrong_headers_are_refused() {
    for (bytes, words) in [
        ("11 00 0002 05 00", "type 1, 2, 3, 32, 96, 128 or 160, found 5"),
        ("11 00 0005 a003000700", "no bytes after"),
        ("11 00 0004 60020001", "segments left"),
        ("11 00 0008 6006 0000 0a0000", "expected 12 bytes"),
        ("11 00 0010 030e 02 00 0a000002 0a000001 0a000003", "type 1, 3, 129 or 130, found 2"),
    ] {
        let error = Header::parse(&hex(bytes)).expect_err("it is wrong").to_string();
        assert!(error.contains(words), "{bytes}: {error}");
    }
    let addresses = vec![Ipv4Addr::LOCALHOST; 63];
    let long = DsrOption::RouteRequest { identification: 0, target: Ipv4Addr::LOCALHOST, addresses };
    let header = Header { next: Protocol::UDP, options: vec![long] };
    let error = emitted(&header, &[]).expect_err("260 bytes").to_string();
    assert!(error.contains("at most 257 bytes of an option, found 260"), "{error}");
}

#[test]
fn a_source_route_names_one_hop_after_the_other() {
    let mut route = SourceRoute::new(vec![4, 5]).expect("it fits");
    let destination = 9;
    assert_eq!((route.next_hop(destination), route.segments_left()), (4, 2));
    assert!(route.visit());
    assert_eq!(route.next_hop(destination), 5);
    assert!(route.visit());
    assert_eq!((route.next_hop(destination), route.segments_left()), (destination, 0));
    assert!(!route.visit(), "it is at its end");
    assert!(SourceRoute::new(vec![1; MOST_ADDRESSES]).is_some());
    assert!(SourceRoute::new(vec![1; MOST_ADDRESSES + 1]).is_none());
}

fn option() -> impl Strategy<Value = DsrOption> {
    let addresses = || prop::collection::vec(address(), 0..20);
    prop_oneof![
        (any::<u16>(), address(), addresses()).prop_map(|(identification, target, addresses)| {
            DsrOption::RouteRequest { identification, target, addresses }
        }),
        (any::<bool>(), addresses())
            .prop_map(|(last_hop_external, addresses)| DsrOption::RouteReply { last_hop_external, addresses }),
        (any::<Option<u8>>(), 0..16_u8, address(), address(), address()).prop_map(
            |(kind, salvage, source, destination, node)| {
                let error = kind.map_or(RouteError::NodeUnreachable(node), RouteError::OptionNotSupported);
                DsrOption::RouteError { error, salvage, source, destination }
            }
        ),
        any::<u16>().prop_map(|identification| DsrOption::AckRequest { identification }),
        (any::<u16>(), address(), address()).prop_map(|(identification, source, destination)| DsrOption::Ack {
            identification,
            source,
            destination
        }),
        (any::<[bool; 2]>(), 0..16_u8, any::<prop::sample::Index>(), addresses()).prop_map(
            |([first_hop_external, last_hop_external], salvage, left, addresses)| {
                let segments_left = left.index(addresses.len() + 1) as u8;
                DsrOption::SourceRoute(SourceRoute {
                    first_hop_external,
                    last_hop_external,
                    salvage,
                    segments_left,
                    addresses,
                })
            }
        ),
    ]
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(
        next in any::<u8>(),
        options in prop::collection::vec(option(), 1..5),
        rest in bytes(50),
    ) {
        let header = Header { next: Protocol(next), options };
        let bytes = emitted(&header, &rest).expect("it has an encoding");
        prop_assert_eq!(bytes.len(), bytes_of(&header) + rest.len());
        prop_assert_eq!(Header::parse(&bytes), Ok((header, &rest[..])));
    }
}
