use proptest::prelude::*;

use super::*;
use crate::testing::{address, bytes, hex};

const A: Ipv4Addr = Ipv4Addr::new(10, 1, 1, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 1, 1, 2);

/// What a segment from A to B parses to, after a look that it is emitted as it came.
fn captured(text: &str) -> (Header, Vec<u8>) {
    let bytes = hex(text);
    let (header, payload) = Header::parse(&bytes, A, B).expect("sound");
    let mut again = Vec::new();
    header.emit(payload, A, B, &mut again).expect("short enough");
    assert_eq!(again, bytes);
    (header, payload.to_vec())
}

// The segments were sent by Linux 6 to a peer that acknowledged its SYN and then sent data with gaps.

#[test]
fn the_syn_of_linux() {
    let (syn, payload) =
        captured("bdfc1389 61bd6307 00000000 a002faf0 d0640000 020405b4 0402080a 32299e2f 00000000 0103030a");
    let expected = Header {
        source_port: 48636,
        destination_port: 5001,
        seq: 0x61bd_6307,
        ack: 0,
        flags: Flags::SYN,
        window: 64240,
        urgent: 0,
        options: Options {
            mss: Some(1460),
            window_scale: Some(10),
            sack_permitted: true,
            timestamps: Some((0x3229_9e2f, 0)),
            sack: vec![],
        },
    };
    assert_eq!(syn, expected);
    assert!(payload.is_empty());
}

#[test]
fn the_acknowledgements_of_linux() {
    let (ack, _) = captured("bdfc1389 61bd6308 000003e9 80100 03f f59e0000 0101080a 32299e30 0000004d");
    assert_eq!((ack.ack, ack.flags, ack.window), (1001, Flags::ACK, 63));
    assert_eq!(ack.options, Options { timestamps: Some((0x3229_9e30, 77)), ..Options::default() });
    let (one, _) =
        captured("bdfc1389 61bd6308 000003e9 b010003f b6890000 0101080a 32299e30 0000004d 0101050a 0000044d 000004b1");
    assert_eq!(one.options.sack, [(1101, 1201)]);
    let (two, payload) = captured(
        "bdfc1389 61bd6308 000003e9 d018003f ed190000 0101080a 32299e97 0000004d 01010512 00000515 00000579 \
         0000044d 000004b1 686f7079617264",
    );
    assert_eq!(two.options.sack, [(1301, 1401), (1101, 1201)]);
    assert_eq!((two.flags, &payload[..]), (Flags::PSH | Flags::ACK, &b"hopyard"[..]));
    assert!(two.flags.contains(Flags::ACK) && !two.flags.contains(Flags::SYN));
    assert_eq!(format!("{:?}", two.flags), "[\"PSH\", \"ACK\"]");
}

/// A sound segment with these options.
fn with_options(options: &[u8]) -> Result<Options, WireError> {
    let mut bytes = hex("0001 0002 00000000 00000000 00000000 00000000");
    bytes.extend_from_slice(options);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes[12] = (bytes.len() * 4) as u8;
    let sum = Checksum::new().pseudo_header(A, B, 6, bytes.len()).bytes(&bytes).finish();
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    Header::parse(&bytes, A, B).map(|(header, _)| header.options)
}

#[test]
fn unknown_options_are_passed_over_and_broken_ones_refused() {
    let known = Options { mss: Some(536), ..Options::default() };
    assert_eq!(with_options(&hex("fd04abcd 02040218")), Ok(known.clone()));
    // Nothing counts after the end of options.
    assert_eq!(with_options(&hex("02040218 00 030a")), Ok(known));
    for (options, problem) in [
        ("02030218", "TCP options: expected the length of its kind, found 3"),
        ("0301", "TCP options: expected a length of 2 or more, found 1"),
        ("050600000000", "TCP options: expected the length of whole SACK blocks, found 6"),
        ("0502", "TCP options: expected the length of whole SACK blocks, found 2"),
        ("080a000000", "TCP options: expected 10 bytes or more, found 8"),
    ] {
        assert_eq!(with_options(&hex(options)).expect_err(options).to_string(), problem);
    }
}

#[test]
fn impossible_segments_are_refused() {
    let ack = hex("bdfc1389 61bd6308 000003e9 8010003f f59e0000 0101080a 32299e30 0000004d");
    assert_eq!(Header::parse(&ack, A, A), Err(WireError::Checksum { format: "TCP" }));
    assert!(matches!(Header::parse(&ack[..31], A, B), Err(WireError::Truncated { expected: 32, found: 31, .. })));
    let mut short = ack;
    short[12] = 0x40;
    assert_eq!(
        Header::parse(&short, A, B).expect_err("short").to_string(),
        "TCP: expected a header of 20 bytes or more, found 16"
    );
    let (mut header, _) = captured("bdfc1389 61bd6308 000003e9 8010003f f59e0000 0101080a 32299e30 0000004d");
    header.options.sack = vec![(1, 2); 4];
    assert!(matches!(header.emit(&[], A, B, &mut Vec::new()), Err(WireError::TooLong { found: 48, limit: 40, .. })));
}

fn options() -> impl Strategy<Value = Options> {
    let syn = (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), any::<Option<(u32, u32)>>());
    let syn = syn.prop_map(|(mss, window_scale, sack_permitted, timestamps)| Options {
        mss,
        window_scale,
        sack_permitted,
        timestamps,
        sack: vec![],
    });
    let ack = (any::<Option<(u32, u32)>>(), prop::collection::vec(any::<(u32, u32)>(), 0..=4));
    let ack = ack.prop_map(|(timestamps, mut sack)| {
        sack.truncate(if timestamps.is_some() { 3 } else { 4 });
        Options { timestamps, sack, ..Options::default() }
    });
    prop_oneof![syn, ack]
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(
        ports: (u16, u16), numbers: (u32, u32), flags: u8, window: (u16, u16), options in options(),
        payload in bytes(100), source in address(), destination in address(), bit: prop::sample::Index,
    ) {
        let header = Header {
            source_port: ports.0, destination_port: ports.1, seq: numbers.0, ack: numbers.1, flags: Flags(flags),
            window: window.0, urgent: window.1, options,
        };
        let mut bytes = Vec::new();
        header.emit(&payload, source, destination, &mut bytes).expect("short enough");
        prop_assert_eq!(Header::parse(&bytes, source, destination), Ok((header, &payload[..])));
        // The checksum finds every single wrong bit.
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(Header::parse(&bytes, source, destination).is_err());
    }

    #[test]
    fn no_options_upset_the_parser(options in bytes(40)) {
        let _ = with_options(&options);
    }
}
