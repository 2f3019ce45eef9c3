use proptest::prelude::*;

use super::*;
use crate::testing::{bytes, hardware_address, hex};

fn emitted(header: &Header, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    header.emit(payload, &mut bytes).expect("in range");
    bytes
}

#[test]
fn a_captured_cts() {
    let bytes = hex("c400 6800 000c4182b255 5509cb58");
    let cts = Header::Cts { duration: 104, receiver: HardwareAddress([0x00, 0x0c, 0x41, 0x82, 0xb2, 0x55]) };
    assert_eq!(Header::parse(&bytes), Ok((cts, &[][..])));
    assert_eq!(emitted(&cts, &[]), bytes);
}

#[test]
fn frames_have_the_lengths_of_the_standard() {
    let address = HardwareAddress([2, 0, 0, 0, 0, 1]);
    let rts = Header::Rts { duration: 152, receiver: address, transmitter: address };
    assert_eq!(emitted(&rts, &[]).len(), 20);
    assert_eq!(emitted(&Header::Ack { duration: 0, receiver: address }, &[]).len(), 14);
    let data = |addresses| {
        Header::Data(Data {
            duration: 0,
            addresses,
            sequence: 0,
            fragment: 0,
            more_fragments: false,
            retry: false,
            power_management: false,
            more_data: false,
            tid: None,
        })
    };
    let ad_hoc = data(Addresses::AdHoc { destination: address, source: address, bssid: address });
    assert_eq!(emitted(&ad_hoc, &[0; 100]).len(), 24 + 100 + 4);
    let bridge =
        data(Addresses::Bridge { receiver: address, transmitter: address, destination: address, source: address });
    assert_eq!(emitted(&bridge, &[0; 100]).len(), 30 + 100 + 4);
}

#[test]
fn a_data_frame_is_laid_out_as_the_standard_says() {
    let (a, b, network) =
        (HardwareAddress([2, 0, 0, 0, 0, 1]), HardwareAddress([2, 0, 0, 0, 0, 2]), HardwareAddress([9; 6]));
    let frame = Header::Data(Data {
        duration: 314,
        addresses: Addresses::AdHoc { destination: b, source: a, bssid: network },
        sequence: 0xabc,
        fragment: 5,
        more_fragments: false,
        retry: true,
        power_management: false,
        more_data: false,
        tid: None,
    });
    let mut payload = Vec::new();
    EtherType::ARP.emit(&mut payload);
    let bytes = emitted(&frame, &payload);
    let expected = hex("0808 3a01 020000000002 020000000001 090909090909 c5ab aaaa03000000 0806");
    assert_eq!(bytes[..bytes.len() - 4], expected);
    let (_, payload) = Header::parse(&bytes).expect("sound");
    assert_eq!(EtherType::parse(payload), Ok((EtherType::ARP, &[][..])));
}

#[test]
fn frames_of_block_acknowledgement_are_laid_out_as_the_standard_says() {
    let (a, b, network) =
        (HardwareAddress([2, 0, 0, 0, 0, 1]), HardwareAddress([2, 0, 0, 0, 0, 2]), HardwareAddress([9; 6]));
    let answer = BlockAck {
        duration: 0,
        receiver: a,
        transmitter: b,
        tid: 5,
        start: 0xabc,
        received: Some(0x8000_0000_0000_0001),
    };
    let request = BlockAck { received: None, ..answer };
    let ask = Addba {
        duration: 60,
        receiver: b,
        transmitter: a,
        bssid: network,
        sequence: 7,
        retry: false,
        tid: 5,
        window: 64,
        start: Some(0xabc),
    };
    for (header, expected, length) in [
        (Header::BlockAck(answer), "9400 0000 020000000001 020000000002 0450 c0ab 0100000000000080", 32),
        (Header::BlockAck(request), "8400 0000 020000000001 020000000002 0450 c0ab", 24),
        (Header::Addba(ask), "d000 3c00 020000000002 020000000001 090909090909 7000 03 00 01 1610 0000 c0ab", 37),
        (
            Header::Addba(Addba { start: None, ..ask }),
            "d000 3c00 020000000002 020000000001 090909090909 7000 03 01 01 0000 1610 0000",
            37,
        ),
    ] {
        let bytes = emitted(&header, &[]);
        assert_eq!((&bytes[..bytes.len() - 4], bytes.len()), (&hex(expected)[..], length));
    }
}

/// The bytes with their check sequence.
fn sealed(text: &str) -> Vec<u8> {
    let mut bytes = hex(text);
    bytes.extend(checksum::frame_check_sequence(&bytes).to_le_bytes());
    bytes
}

#[test]
fn other_frames_are_refused() {
    for (text, problem) in [
        ("8000 0000 ffffffffffff", "expected a data, RTS, CTS or ACK frame, found 128"),
        ("9400 0000 020000000002 020000000001 0000 0000", "expected a compressed block acknowledgement, found 0"),
        ("d440 0000 000c4182b255", "expected no flags in a control frame, found 64"),
        ("d400 0000 000c4182b255 00", "expected no bytes after a control frame, found 1"),
        ("d400 0000 000c4182", "expected 10 bytes or more, found 8"),
        ("0840 0000 020000000002 020000000001 090909090909 0000", "expected a frame that is not encrypted, found 64"),
        ("0803 0000 020000000002 020000000001 090909090909 0000", "expected 30 bytes or more, found 24"),
    ] {
        assert_eq!(Header::parse(&sealed(text)).expect_err(text).to_string(), format!("IEEE 802.11: {problem}"));
    }
    assert_eq!(Header::parse(&hex("c400 6800 000c4182b255 5509cb59")), Err(WireError::Checksum { format: FORMAT }));
    let ack = Header::Ack { duration: 0, receiver: HardwareAddress::BROADCAST };
    assert!(ack.emit(&[1], &mut Vec::new()).is_err());
    assert!(EtherType::parse(&hex("aaaa03 00000c 0800")).is_err());
}

fn header() -> impl Strategy<Value = Header> {
    let two = || (any::<u16>(), hardware_address(), hardware_address());
    prop_oneof![
        two().prop_map(|(duration, receiver, transmitter)| Header::Rts { duration, receiver, transmitter }),
        two().prop_map(|(duration, receiver, _)| Header::Cts { duration, receiver }),
        two().prop_map(|(duration, receiver, _)| Header::Ack { duration, receiver }),
        (two(), 0..16_u8, 0..4096_u16, any::<Option<u64>>()).prop_map(
            |((duration, receiver, transmitter), tid, start, received)| {
                Header::BlockAck(BlockAck { duration, receiver, transmitter, tid, start, received })
            }
        ),
        (two(), two(), [0..4096_u16, 0..4096], any::<[bool; 2]>(), (0..16_u8, 0..1024_u16)).prop_map(
            |(
                (duration, receiver, transmitter),
                (_, bssid, _),
                [sequence, start],
                [retry, is_request],
                (tid, window),
            )| {
                let start = is_request.then_some(start);
                Header::Addba(Addba { duration, receiver, transmitter, bssid, sequence, retry, tid, window, start })
            }
        ),
        (two(), two(), 0..4096_u16, (0..16_u8, prop::option::of(0..16_u8)), any::<[bool; 4]>(), 0..4).prop_map(
            |((duration, a, b), (_, c, d), sequence, (fragment, tid), flags, way)| {
                let addresses = match way {
                    0 => Addresses::AdHoc { destination: a, source: b, bssid: c },
                    1 => Addresses::ToAccessPoint { bssid: a, source: b, destination: c },
                    2 => Addresses::FromAccessPoint { destination: a, bssid: b, source: c },
                    _ => Addresses::Bridge { receiver: a, transmitter: b, destination: c, source: d },
                };
                let [more_fragments, retry, power_management, more_data] = flags;
                Header::Data(Data {
                    duration,
                    addresses,
                    sequence,
                    fragment,
                    more_fragments,
                    retry,
                    power_management,
                    more_data,
                    tid,
                })
            }
        ),
    ]
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(header in header(), payload in bytes(100), bit: prop::sample::Index) {
        let payload = if matches!(header, Header::Data(_)) { payload } else { vec![] };
        let mut bytes = emitted(&header, &payload);
        prop_assert_eq!(Header::parse(&bytes), Ok((header, &payload[..])));
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(Header::parse(&bytes), Err(WireError::Checksum { format: FORMAT }));
    }

    #[test]
    fn no_bytes_upset_the_parser(
        mut bytes in bytes(60),
        kind in prop::sample::select(vec![DATA, RTS, CTS, ACK, QOS_DATA, BLOCK_ACK, BLOCK_ACK_REQUEST, ACTION, 0x80])
    ) {
        let _ = Header::parse(&bytes);
        let _ = EtherType::parse(&bytes);
        if let Some(first) = bytes.first_mut() {
            *first = kind;
        }
        bytes.extend(checksum::frame_check_sequence(&bytes).to_le_bytes());
        let _ = Header::parse(&bytes);
    }
}
