//! The messages of routing and of address resolution in Ethernet frames of real systems, for counters.
//!
//! Their formats: Babel (RFC 8966 §4), over IPv4 and IPv6; OSPF (RFC 2328 §A.3.1, RFC 5340 §A.3.1), a packet being a
//! message; batman-adv (Linux, `include/uapi/linux/batadv_packet.h`), whose OGMs share packets; ARP (RFC 826);
//! neighbour discovery and reports of multicast groups (RFC 4861 §4, RFC 3810 §5), also in frames within batman-adv.
//!
//! Counters need types and sizes. Checksums are the receivers' business.

use super::MessagePart;
use super::babel::{PORT, is_forwarded};

/// The bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// The time to live of a new unicast packet of batman-adv (`BATADV_TTL`).
const NEW: u8 = 50;

/// What messages are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Finding routes.
    Routing,
    /// Finding the addresses of neighbours.
    Resolution,
}

/// The messages in a frame, if it carries nothing else. Headers above Ethernet's count for the first one.
#[must_use]
pub fn messages(frame: &[u8]) -> Option<(Purpose, Vec<MessagePart>)> {
    let (purpose, mut parts) = of_frame(frame, frame.get(6..12)?)?;
    let rest: u32 = parts.iter().skip(1).map(|it| it.bytes).sum();
    parts.first_mut()?.bytes = (frame.len() - ETHERNET) as u32 - rest;
    Some((purpose, parts))
}

/// Whether a frame carries data of another node than the one with this address, which sends it: a datagram of IPv4, one
/// of IPv6 whose source ends with the address, or a unicast packet of batman-adv.
#[must_use]
pub fn forwards(frame: &[u8], own: [u8; 4]) -> bool {
    let payload = frame.get(ETHERNET..).unwrap_or_default();
    let is = |range: std::ops::Range<usize>| payload.get(range).unwrap_or_default();
    let has_data = messages(frame).is_none() && frame.first().is_some_and(|it| it & 1 == 0);
    has_data
        && match frame.get(12..ETHERNET) {
            Some([0x08, 0x00]) => is(12..16) != own,
            // Link-local datagrams stay on their link.
            Some([0x86, 0xdd]) => is(20..24) != own && is(8..10) != [0xfe, 0x80],
            Some([0x43, 0x05]) => matches!(payload, [0x40..=0x42, _, ttl, ..] if *ttl < NEW),
            _ => false,
        }
}

fn one(purpose: Purpose, kind: &'static str, forwarded: bool) -> Option<(Purpose, Vec<MessagePart>)> {
    // A single message has all bytes of its frame.
    Some((purpose, vec![MessagePart { kind, bytes: 0, forwarded }]))
}

/// The messages in a frame that is on the air from the station with this address.
fn of_frame(frame: &[u8], station: &[u8]) -> Option<(Purpose, Vec<MessagePart>)> {
    let payload = frame.get(ETHERNET..)?;
    match [frame[12], frame[13]] {
        [0x08, 0x06] => match payload.get(6..8)? {
            [0, 1] => one(Purpose::Resolution, "ARP_REQUEST", false),
            [0, 2] => one(Purpose::Resolution, "ARP_REPLY", false),
            _ => None,
        },
        [0x08, 0x00] => {
            // Fragments but the first have no header of the protocol.
            let (first, offset) = (payload.first()?, payload.get(6..8)?);
            let is_first = u16::from_be_bytes([offset[0] & 0x1f, offset[1]]) == 0;
            of_ip(*payload.get(9)?, payload.get(usize::from(first & 15) * 4..)?).filter(|_| is_first)
        }
        [0x86, 0xdd] => match (payload.get(6)?, payload.get(40..)?) {
            // Reports of groups have a hop-by-hop option, of eight bytes (RFC 3810 §5).
            (0, [58, 0, rest @ ..]) => of_ip(58, rest.get(6..)?),
            (protocol, rest) => of_ip(*protocol, rest),
        },
        [0x43, 0x05] => of_batman(payload, station),
        _ => None,
    }
}

/// The messages of a protocol of IP.
fn of_ip(protocol: u8, payload: &[u8]) -> Option<(Purpose, Vec<MessagePart>)> {
    match protocol {
        17 if payload.get(2..4)? == PORT.to_be_bytes() => Some((Purpose::Routing, of_babel(payload.get(8..)?)?)),
        58 => {
            let kind = match payload.first()? {
                130 | 131 | 132 | 143 => "MLD",
                133 => "ROUTER_SOLICITATION",
                134 => "ROUTER_ADVERTISEMENT",
                135 => "NEIGHBOUR_SOLICITATION",
                136 => "NEIGHBOUR_ADVERTISEMENT",
                _ => return None,
            };
            one(Purpose::Resolution, kind, false)
        }
        89 => {
            let kind = match payload.get(1)? {
                1 => "HELLO",
                2 => "DATABASE_DESCRIPTION",
                3 => "LS_REQUEST",
                4 => "LS_UPDATE",
                5 => "LS_ACK",
                _ => return None,
            };
            one(Purpose::Routing, kind, false)
        }
        _ => None,
    }
}

/// The messages of a packet of Babel. TLVs that only set the state of the parser count for the message behind them.
fn of_babel(packet: &[u8]) -> Option<Vec<MessagePart>> {
    let [42, 2, length @ ..] = packet.first_chunk::<4>()? else { return None };
    let mut rest = packet.get(4..)?.get(..u16::from_be_bytes(*length).into())?;
    let (mut parts, mut before) = (Vec::new(), 0);
    while let [kind, tail @ ..] = rest {
        let bytes = if *kind == 0 { 1 } else { 2 + usize::from(*tail.first()?) };
        let (tlv, behind) = rest.split_at_checked(bytes)?;
        rest = behind;
        before += bytes as u32;
        let name = match kind {
            2 => "ACK_REQUEST",
            3 => "ACK",
            4 => "HELLO",
            5 => "IHU",
            8 => "UPDATE",
            9 => "REQUEST",
            10 => "SEQNO_REQUEST",
            _ => continue,
        };
        let forwarded = *kind == 10 && tlv.get(6).is_some_and(|hops| is_forwarded(*hops));
        parts.push(MessagePart { kind: name, bytes: std::mem::take(&mut before), forwarded });
    }
    Some(parts).filter(|it| !it.is_empty())
}

/// The messages of a packet of batman-adv that a station has sent.
fn of_batman(packet: &[u8], station: &[u8]) -> Option<(Purpose, Vec<MessagePart>)> {
    let inner = |at: usize, forwarded: bool| {
        let (purpose, parts) = of_frame(packet.get(at..)?, station).filter(|it| it.0 == Purpose::Resolution)?;
        Some((purpose, parts.into_iter().map(|it| MessagePart { forwarded, ..it }).collect()))
    };
    match packet.first()? {
        0 => of_ogms(packet, "OGM", 24, 22, station),
        3 => one(Purpose::Routing, "ELP", false),
        4 => of_ogms(packet, "OGM2", 20, 14, station),
        // What is inside begins behind the header.
        1 => inner(14, packet.get(8..14)? != station),
        0x40 => inner(10, *packet.get(2)? < NEW),
        0x42 => inner(18, packet.get(10..16)? != station),
        0x44 => one(Purpose::Routing, "TVLV", packet.get(10..16)? != station),
        _ => None,
    }
}

/// OGMs of one kind: their headers have as many bytes, and at a place the number of the bytes that follow.
fn of_ogms(
    packet: &[u8],
    kind: &'static str,
    header: usize,
    length_at: usize,
    station: &[u8],
) -> Option<(Purpose, Vec<MessagePart>)> {
    let (mut rest, mut parts) = (packet, Vec::new());
    while rest.first() == packet.first() && rest.len() >= header {
        let bytes = header + usize::from(u16::from_be_bytes([rest[length_at], rest[length_at + 1]]));
        let (ogm, behind) = rest.split_at_checked(bytes)?;
        parts.push(MessagePart { kind, bytes: bytes as u32, forwarded: &ogm[8..14] != station });
        rest = behind;
    }
    Some((Purpose::Routing, parts)).filter(|it| !it.1.is_empty())
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::Datagram as _;
    use crate::babel::{Message, Packet, RouterId, Target};

    const STATION: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const OTHER: [u8; 6] = [2, 0, 0, 0, 0, 2];

    fn frame(kind: [u8; 2], payload: &[u8]) -> Vec<u8> {
        [&[0xff; 6], &STATION[..], &kind, payload].concat()
    }

    fn found(frame: &[u8]) -> Vec<(&'static str, u32, bool)> {
        let parts = messages(frame).map_or_else(Vec::new, |it| it.1);
        parts.into_iter().map(|it| (it.kind, it.bytes, it.forwarded)).collect()
    }

    /// The codec's own sizes are the judge.
    #[test]
    fn babels_messages_are_those_of_its_codec() {
        let id = RouterId::Other([1, 2, 3, 4, 5, 6, 7, 8]);
        let destination = Target::Host(Ipv4Addr::new(10, 0, 0, 9));
        let request = |hops| Message::SeqnoRequest { destination, router: id, seqno: 3, hops };
        let update = Message::Update(crate::babel::Update {
            destination,
            router: Some(id),
            next_hop: None,
            seqno: 1,
            metric: 256,
            interval: 1600,
        });
        let hello = Message::Hello { unicast: false, seqno: 1, interval: 400 };
        // Ours begin with 64, babeld's with 127.
        let all = [hello, update, request(64), request(63), request(127), request(126)];
        let packets = Packet::pack(all, 1000, &|it| it).expect("they have encodings");
        let [packet] = &packets[..] else { panic!("{packets:?}") };
        let mut bytes = Vec::new();
        packet.emit(&|it| it, &mut bytes).expect("it has an encoding");
        let mut expected = Vec::new();
        packet.parts(&mut |it| expected.push((it.kind, it.bytes, it.forwarded)));
        // Headers of IPv6, UDP and Babel.
        expected[0].1 += 40 + 8 + 4;
        let datagram = [&[0x60, 0, 0, 0, 0, 0, 17, 1][..], &[0; 32], &[0x1a, 0x28, 0x1a, 0x28, 0, 0, 0, 0], &bytes];
        assert_eq!(found(&frame([0x86, 0xdd], &datagram.concat())), expected);
        assert_eq!(expected.iter().map(|it| it.2).collect::<Vec<_>>(), [false, false, false, true, false, true]);
    }

    #[test]
    fn ogms_share_a_packet_and_are_forwarded_if_they_are_anothers() {
        let ogm = |of: [u8; 6], more: u8| {
            let header = [&[0, 15, 50, 0, 0, 0, 0, 1][..], &of, &[0; 6], &[0, 255, 0, more]].concat();
            [header, vec![7; more.into()]].concat()
        };
        let both = frame([0x43, 5], &[ogm(STATION, 16), ogm(OTHER, 0)].concat());
        assert_eq!(found(&both), [("OGM", 40, false), ("OGM", 24, true)]);
        // One that is cut off makes the packet one that is not known.
        assert_eq!(found(&both[..both.len() - 30]), []);
        let second = [&[4, 15, 50, 0, 0, 0, 0, 1][..], &OTHER, &[0, 0, 0, 0, 0, 9]].concat();
        assert_eq!(found(&frame([0x43, 5], &second)), [("OGM2", 20, true)]);
        assert_eq!(found(&frame([0x43, 5], &[3; 200])), [("ELP", 200, false)]);
    }

    #[test]
    fn resolution_is_found_within_batman_too() {
        let arp = [0, 1, 8, 0, 6, 4, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let request = frame([8, 6], &arp);
        assert_eq!(found(&request), [("ARP_REQUEST", 28, false)]);
        let within = |of: [u8; 6]| [&[1, 15, 49, 0, 0, 0, 0, 1][..], &of, &request].concat();
        assert_eq!(found(&frame([0x43, 5], &within(STATION))), [("ARP_REQUEST", 56, false)]);
        assert_eq!(found(&frame([0x43, 5], &within(OTHER))), [("ARP_REQUEST", 56, true)]);
        // A datagram within is data.
        let data = [&[0x40, 15, 50, 0][..], &OTHER, &frame([8, 0], &[0x45; 40])].concat();
        assert_eq!(found(&frame([0x43, 5], &data)), []);
        let report = [&[0x60, 0, 0, 0, 0, 0, 0, 1][..], &[0; 32], &[58, 0, 5, 2, 0, 0, 1, 0, 143, 0, 0, 0]].concat();
        assert_eq!(found(&frame([0x86, 0xdd], &report)), [("MLD", 52, false)]);
        let purpose = |frame: &[u8]| messages(frame).map(|it| it.0);
        assert_eq!(purpose(&request), Some(Purpose::Resolution));
        let hello = [&[0x45, 0, 0, 0, 0, 0, 0, 0, 1, 89][..], &[0; 10], &[2, 1, 0, 44]].concat();
        assert_eq!(
            (found(&frame([8, 0], &hello)), purpose(&frame([8, 0], &hello))),
            (vec![("HELLO", 24, false)], Some(Purpose::Routing))
        );
    }

    #[test]
    fn data_of_others_are_forwarded() {
        let one = |kind: [u8; 2], payload: &[u8]| [&OTHER, &STATION[..], &kind, payload].concat();
        let own = [10, 0, 0, 1];
        let v4 = |from: [u8; 4]| one([8, 0], &[&[0x45; 12][..], &from, &[0; 24]].concat());
        assert_eq!([own, [10, 0, 0, 2]].map(|from| forwards(&v4(from), own)), [false, true]);
        let v6 = |first: [u8; 2], last: u8| {
            one(
                [0x86, 0xdd],
                &[&[0x60, 0, 0, 0, 0, 9, 6, 9][..], &first, &[0; 10], &[10, 0, 0, last], &[0; 40]].concat(),
            )
        };
        assert_eq!(
            [v6([0xfd, 0], 1), v6([0xfd, 0], 2), v6([0xfe, 0x80], 2)].map(|it| forwards(&it, own)),
            [false, true, false]
        );
        let batman = |ttl| one([0x43, 5], &[&[0x40, 15, ttl, 0][..], &OTHER, &v4(own)].concat());
        assert_eq!([50, 49].map(|ttl| forwards(&batman(ttl), own)), [false, true]);
        assert!(!forwards(&[], own) && !forwards(&frame([8, 0], &[0x45; 40]), own));
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let mut state = 7_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        for length in (0..200).cycle().take(20_000) {
            let mut bytes: Vec<u8> = (0..length).map(|_| next() & 0x4f).collect();
            if let Some(kind) = bytes.get_mut(12..14) {
                kind.copy_from_slice(&[[8, 0], [8, 6], [0x86, 0xdd], [0x43, 5]][usize::from(next() & 3)]);
            }
            let _ = (messages(&bytes), forwards(&bytes, [0; 4]));
        }
    }
}
