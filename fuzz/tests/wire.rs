//! Fuzz targets: the parsers of the wire formats.
//!
//! Whatever the bytes, a parser returns; what it accepts, it accepts again after it has been written.

use std::net::Ipv4Addr;

use bolero::check;
use hopyard_wire::{
    WireError, aodv, aomdv, arp, babel, checksum, cooked, drand, dsdv, dsr, hwsim, icmp, ieee80211, ipv4, minimal,
    mobile_ip, olsr, radiotap, tcp, udp,
};

const A: Ipv4Addr = Ipv4Addr::new(10, 1, 1, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 1, 1, 2);

/// Parses, writes and parses again; the second result must equal the first.
fn check_again<T: PartialEq + std::fmt::Debug>(
    bytes: &[u8],
    parse: impl Fn(&[u8]) -> Result<(T, &[u8]), WireError>,
    emit: impl Fn(&T, &[u8], &mut Vec<u8>) -> Result<(), WireError>,
) {
    let Ok((header, rest)) = parse(bytes) else { return };
    let mut again = Vec::new();
    // Repeated options may make a header whose written form is too long; nothing else may.
    match emit(&header, rest, &mut again) {
        Ok(()) => assert_eq!(parse(&again), Ok((header, rest))),
        Err(error) => assert!(matches!(error, WireError::TooLong { .. }), "{header:?}: {error}"),
    }
}

/// The bytes with the Internet checksum at `place` set right for a sum that starts from `sum`.
fn with_checksum(bytes: &[u8], place: usize, sum: checksum::Checksum) -> Option<Vec<u8>> {
    let mut bytes = bytes.to_vec();
    bytes.get_mut(place..place + 2)?.fill(0);
    let value = sum.bytes(&bytes).finish();
    bytes[place..place + 2].copy_from_slice(&value.to_be_bytes());
    Some(bytes)
}

fn check_ipv4(bytes: &[u8]) {
    check_again(bytes, ipv4::Header::parse, |header, payload, out| header.emit(payload, out));
    let _ = ipv4::Header::parse_quoted(bytes);
    let mut tunnelled = Vec::new();
    if ipv4::encapsulate(bytes, A, B, 64, &mut tunnelled).is_ok() {
        let (outer, inner) = ipv4::Header::parse(&tunnelled).expect("it was just written");
        assert_eq!((outer.protocol, inner), (ipv4::Protocol::IP_IN_IP, &bytes[..inner.len()]));
    }
}

fn check_transport(bytes: &[u8]) {
    check_again(bytes, |b| udp::Header::parse(b, A, B), |header, payload, out| header.emit(payload, A, B, out));
    check_again(bytes, |b| tcp::Header::parse(b, A, B), |header, payload, out| header.emit(payload, A, B, out));
    check_again(bytes, icmp::Message::parse, |message, rest, out| message.emit(rest, out));
    check_again(bytes, minimal::Header::parse, |header, rest, out| {
        header.emit(out);
        out.extend_from_slice(rest);
        Ok(())
    });
}

#[test]
fn internet_formats() {
    check!().for_each(|bytes: &[u8]| {
        check_ipv4(bytes);
        check_transport(bytes);
        // Checksums stop nearly all random bytes, so they are set right for a second look.
        if let Some(&[first, ..]) = bytes.first_chunk::<20>() {
            let header = usize::from(first & 0xf) * 4;
            let none = checksum::Checksum::new();
            if let Some((head, rest)) = bytes.split_at_checked(header)
                && let Some(mut sound) = with_checksum(head, 10, none)
            {
                sound.extend_from_slice(rest);
                check_ipv4(&sound);
            }
            let pseudo = none.pseudo_header(A, B, ipv4::Protocol::TCP.0, bytes.len());
            for (place, sum) in [(16, pseudo), (2, none)] {
                if let Some(sound) = with_checksum(bytes, place, sum) {
                    check_transport(&sound);
                }
            }
            // The checksum of minimal encapsulation covers its header alone.
            let header = if bytes[1] & 0x80 == 0 { 8 } else { 12 };
            if let Some(mut sound) = with_checksum(&bytes[..header], 2, none) {
                sound.extend_from_slice(&bytes[header..]);
                check_transport(&sound);
            }
        }
    });
}

#[test]
fn link_formats() {
    check!().for_each(|bytes: &[u8]| {
        let emit = |header: &ieee80211::Header, payload: &[u8], out: &mut Vec<u8>| header.emit(payload, out);
        check_again(bytes, ieee80211::Header::parse, emit);
        let sequence = checksum::frame_check_sequence(bytes).to_le_bytes();
        check_again(&[bytes, &sequence].concat(), ieee80211::Header::parse, emit);
        check_again(bytes, radiotap::Header::parse, |header, frame, out| {
            header.emit(out);
            out.extend_from_slice(frame);
            Ok(())
        });
        check_again(bytes, cooked::Header::parse, |header, rest, out| {
            header.emit(out);
            out.extend_from_slice(rest);
            Ok(())
        });
        check_again(bytes, ieee80211::EtherType::parse, |kind, rest, out| {
            kind.emit(out);
            out.extend_from_slice(rest);
            Ok(())
        });
        check_again(
            bytes,
            |b| arp::Message::parse(b).map(|message| (message, &[][..])),
            |message, _, out| {
                message.emit(out);
                Ok(())
            },
        );
    });
}

/// What is behind a message is room of its buffer.
fn hwsim_message(bytes: &[u8]) -> Result<(hwsim::FromKernel, &[u8]), WireError> {
    hwsim::FromKernel::parse(bytes).map(|message| (message, &[][..]))
}

#[test]
fn messages_of_hwsim() {
    check!().for_each(|bytes: &[u8]| {
        let emit = |message: &hwsim::FromKernel, _: &[u8], out: &mut Vec<u8>| {
            message.emit(out);
            Ok(())
        };
        check_again(bytes, hwsim_message, emit);
        // Random bytes seldom have their length, and a command that has attributes.
        for command in [2, 7, 8] {
            let length = (bytes.len() as u32 + 20).to_le_bytes();
            let framed = [&length[..], &[0; 12], &[command, 1, 0, 0], bytes].concat();
            check_again(&framed, hwsim_message, emit);
        }
    });
}

#[test]
fn mobile_ip_formats() {
    check!().for_each(|bytes: &[u8]| {
        check_again(
            bytes,
            |b| mobile_ip::Message::parse(b, A).map(|message| (message, &[][..])),
            |message, _, out| {
                match message {
                    mobile_ip::Message::Request(it) => it.emit(&|it| it, out),
                    mobile_ip::Message::Reply(it) => it.emit(&|it| it, out),
                }
                Ok(())
            },
        );
        // The checksum of ICMP stops nearly all random bytes, so it is set right.
        if let Some(sound) = with_checksum(bytes, 2, checksum::Checksum::new()) {
            check_again(
                &sound,
                |b| mobile_ip::Advertisement::parse(b).map(|it| (it, &[][..])),
                |it, _, out| it.emit(&|it| it, out),
            );
        }
        let Some((&protocol, rest)) = bytes.split_first() else { return };
        // What is a datagram comes out of a tunnel as it went in.
        let mut datagram = Vec::new();
        if ipv4::Header::new(ipv4::Protocol(protocol), A, B, 64).emit(rest, &mut datagram).is_err() {
            return;
        }
        for entry in [A, B] {
            let (mut tunnelled, mut back) = (Vec::new(), Vec::new());
            if minimal::encapsulate(&datagram, entry, B, &mut tunnelled).is_ok() {
                minimal::decapsulate(&tunnelled, &mut back).expect("it was just written");
                assert_eq!(back, datagram);
            }
        }
        let _ = minimal::decapsulate(bytes, &mut Vec::new());
        let _ = minimal::encapsulate(bytes, A, B, &mut Vec::new());
    });
}

#[test]
fn routing_formats() {
    check!().for_each(|bytes: &[u8]| {
        check_again(bytes, aodv::Message::parse, |message, rest, out| {
            message.emit(&|it| it, out)?;
            out.extend_from_slice(rest);
            Ok(())
        });
        let framed = [&[42, 2][..], &(bytes.len() as u16).to_be_bytes(), bytes].concat();
        check_again(&framed, babel::Packet::parse, |packet, rest, out| {
            packet.emit(&|it| it, out)?;
            out.extend_from_slice(rest);
            Ok(())
        });
        check_again(bytes, olsr::Packet::parse, |packet, rest, out| {
            packet.emit(&|it| it, out)?;
            out.extend_from_slice(rest);
            Ok(())
        });
        check_again(bytes, aomdv::Message::parse, |message, rest, out| {
            message.emit(&|it| it, out)?;
            out.extend_from_slice(rest);
            Ok(())
        });
        check_again(bytes, drand::Message::parse, |message, rest, out| {
            message.emit(&|it| it, out)?;
            out.extend_from_slice(rest);
            Ok(())
        });
        check_again(bytes, dsr::Header::parse, |header, rest, out| {
            dsr::emit(&header.options, header.next, rest, &|it| it, out)
        });
        check_again(
            bytes,
            |b| dsdv::Update::parse(b).map(|update| (update, &[][..])),
            |update, _, out| {
                update.emit(&|it| it, out);
                Ok(())
            },
        );
    });
}
