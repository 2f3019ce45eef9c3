//! OLSR's packets and messages (RFC 3626 §3.3, 5.1, 6.1, 9.1, 12.1).

use std::net::Ipv4Addr;
use std::sync::Arc;

use hopyard_engine::Span;
use hopyard_wire::{WireError, olsr, udp};

use crate::address::{Address, Prefix};
use crate::packet::{Carrier, Message, Part, Place};

/// What a HELLO says of a link (§6.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkType {
    /// Nothing: the neighbour is linked to another interface.
    Unspecified,
    /// The neighbour is heard.
    Asymmetric,
    /// The link works in both directions.
    Symmetric,
    /// The link is lost.
    Lost,
}

/// What a HELLO says of a neighbour (§6.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NeighbourType {
    /// It is none, or not a symmetric one.
    Not,
    /// It is symmetric.
    Symmetric,
    /// It is symmetric, and a multipoint relay of the sender.
    Mpr,
}

/// A neighbour in a HELLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The address of its interface, or its main address if the link is unspecified.
    pub address: Address,
    /// The link to it.
    pub link: LinkType,
    /// What it is.
    pub neighbour: NeighbourType,
    /// The part of the packets that arrive, from the neighbour and at it, in units of 1/255; for ETX only.
    pub quality: (u8, u8),
}

/// A HELLO (§6.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The interval until the next one, as it is coded.
    pub htime: u8,
    /// The sender's willingness to relay.
    pub willingness: u8,
    /// Whether it has the qualities of links (type 201).
    pub qualities: bool,
    /// The neighbours, in order of their addresses.
    pub listed: Vec<Listed>,
}

/// A TC (§9.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tc {
    /// The number of the advertised set.
    pub ansn: u16,
    /// The main addresses of the advertised neighbours, in order.
    pub advertised: Vec<Address>,
    /// The quality of the link to each, for ETX (type 202); otherwise empty.
    pub qualities: Vec<(u8, u8)>,
}

/// The content of a message. Receivers share it with its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The sender's links.
    Hello(Arc<Hello>),
    /// The originator's advertised neighbours.
    Tc(Arc<Tc>),
    /// The originator's further interfaces (§5.1).
    Mid(Arc<[Address]>),
    /// The networks that the originator leads to (§12.1).
    Hna(Arc<[Prefix]>),
}

/// A message with its header (§3.3.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OlsrMessage {
    /// How long it is valid, as it is coded.
    pub vtime: u8,
    /// The main address of the node that has made it.
    pub originator: Address,
    /// Hops that it may still take.
    pub ttl: u8,
    /// Hops that it has taken.
    pub hops: u8,
    /// Its number.
    pub sequence: u16,
    /// Its content.
    pub content: Content,
}

/// A packet (§3.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OlsrPacket {
    /// The number of the packet among those of the interface.
    pub sequence: u16,
    /// Its messages.
    pub messages: Vec<OlsrMessage>,
}

impl OlsrPacket {
    /// Bytes of the packet's header.
    pub const HEADER: u32 = 4;

    /// Bytes of the packet.
    #[must_use]
    pub fn size(&self) -> u32 {
        Self::HEADER + self.messages.iter().map(OlsrMessage::size).sum::<u32>()
    }
}

impl Hello {
    /// The link code of a neighbour (§6.1.1).
    const fn code(it: &Listed) -> u8 {
        (it.neighbour as u8) << 2 | it.link as u8
    }

    /// The neighbours that the sender has symmetric links to.
    pub fn symmetric(&self) -> impl Iterator<Item = &Listed> {
        self.listed.iter().filter(|it| it.neighbour != NeighbourType::Not)
    }
}

impl OlsrMessage {
    /// Bytes of the message's header.
    pub const HEADER: u32 = 12;

    /// Bytes of the message.
    #[must_use]
    pub fn size(&self) -> u32 {
        let body = match &self.content {
            Content::Hello(it) => {
                let codes = it.listed.iter().fold(0_u16, |codes, listed| codes | 1 << Hello::code(listed));
                let each = if it.qualities { 8 } else { 4 };
                4 + 4 * codes.count_ones() + each * it.listed.len() as u32
            }
            Content::Tc(it) => 4 + 4 * (it.advertised.len() + it.qualities.len()) as u32,
            Content::Mid(addresses) => 4 * addresses.len() as u32,
            Content::Hna(networks) => 8 * networks.len() as u32,
        };
        Self::HEADER + body
    }

    /// A short name.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.content {
            Content::Hello(_) => "HELLO",
            Content::Tc(_) => "TC",
            Content::Mid(_) => "MID",
            Content::Hna(_) => "HNA",
        }
    }

    fn on_the_wire(&self, address: &dyn Fn(Address) -> Ipv4Addr) -> olsr::Message {
        let body = match &self.content {
            Content::Hello(it) => {
                let mut links: Vec<olsr::Links> = Vec::new();
                for code in 0..16 {
                    let of_code = it.listed.iter().filter(|listed| Hello::code(listed) == code);
                    let neighbours: Vec<_> = of_code
                        .map(|listed| olsr::Neighbour {
                            address: address(listed.address),
                            quality: it.qualities.then_some(listed.quality),
                        })
                        .collect();
                    if !neighbours.is_empty() {
                        links.push(olsr::Links { code, neighbours });
                    }
                }
                olsr::Body::Hello { htime: it.htime, willingness: it.willingness, qualities: it.qualities, links }
            }
            Content::Tc(it) => {
                let neighbour = |(place, &node): (usize, &Address)| olsr::Neighbour {
                    address: address(node),
                    quality: it.qualities.get(place).copied(),
                };
                let neighbours = it.advertised.iter().enumerate().map(neighbour).collect();
                olsr::Body::Tc { ansn: it.ansn, qualities: !it.qualities.is_empty(), neighbours }
            }
            Content::Mid(addresses) => olsr::Body::Mid(addresses.iter().map(|&it| address(it)).collect()),
            Content::Hna(networks) => olsr::Body::Hna(networks.iter().map(|it| (it.first(), it.length())).collect()),
        };
        olsr::Message {
            vtime: self.vtime,
            originator: address(self.originator),
            ttl: self.ttl,
            hop_count: self.hops,
            sequence: self.sequence,
            body,
        }
    }
}

impl Message for OlsrPacket {
    fn kind(&self) -> &'static str {
        let mut kinds = self.messages.iter().map(OlsrMessage::kind);
        let first = kinds.next().unwrap_or("OLSR");
        if kinds.all(|kind| kind == first) { first } else { "OLSR" }
    }

    fn parts(&self, each: &mut dyn FnMut(Part)) {
        for it in &self.messages {
            // Its originator sends a message with a hop count of 0 (§3.3.2).
            each(Part { kind: it.kind(), bytes: it.size(), forwarded: it.hops > 0 });
        }
    }

    fn kinds(&self, each: &mut dyn FnMut(&'static str)) {
        // Receivers only count messages, and need no sizes.
        if self.messages.is_empty() {
            each(self.kind());
        }
        self.messages.iter().for_each(|it| each(it.kind()));
    }

    fn encode(&self, place: &Place<'_>, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        let messages = self.messages.iter().map(|it| it.on_the_wire(place.address)).collect();
        olsr::Packet { sequence: self.sequence, messages }.emit(out)?;
        Ok(Carrier::Udp(udp::Header::OLSR))
    }
}

/// The unit of times in messages: C (§18.3).
const UNIT: u64 = 62_500_000;

/// The code of a time: mantissa in the high four bits, exponent in the low four; the nearest time not below (§18.3).
#[must_use]
pub const fn to_code(span: Span) -> u8 {
    let nanos = span.nanos();
    let mut exponent = 0;
    while exponent < 15 && nanos >= UNIT << (exponent + 1) {
        exponent += 1;
    }
    let step = (UNIT << exponent) / 16;
    let mantissa = nanos.saturating_sub(UNIT << exponent).div_ceil(step);
    match (mantissa, exponent) {
        (0..16, _) => (mantissa as u8) << 4 | exponent,
        (_, 0..15) => exponent + 1,
        _ => 0xff,
    }
}

/// The time that a code stands for (§18.3).
#[must_use]
pub const fn of_code(code: u8) -> Span {
    let (mantissa, exponent) = (code >> 4, code & 15);
    Span::from_nanos((UNIT << exponent) / 16 * (16 + mantissa as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s18_3_the_proposed_hold_times_have_exact_codes() {
        for (seconds, code) in [(6, 0x86), (15, 0xe7), (30, 0xe8), (2, 0x05)] {
            let span = Span::from_secs(seconds);
            assert_eq!((to_code(span), of_code(code)), (code, span), "{seconds} s");
        }
    }

    #[test]
    fn s18_3_other_times_are_coded_as_the_next_longer_one() {
        for code in 0..=255_u8 {
            assert_eq!(to_code(of_code(code)), code);
        }
        for millis in 63..20_000 {
            let span = Span::from_millis(millis);
            let told = of_code(to_code(span));
            assert!(told >= span && told.seconds() < span.seconds() * 1.0626, "{millis} ms: {told}");
        }
        assert_eq!(of_code(to_code(Span::from_secs(100_000))), Span::from_secs(3968));
    }

    #[test]
    fn s3_3_sizes_are_those_of_the_formats() {
        let listed = |address, link, neighbour| Listed { address: Address(address), link, neighbour, quality: (0, 0) };
        let hello = Hello {
            htime: 5,
            willingness: 3,
            qualities: false,
            listed: vec![
                listed(1, LinkType::Symmetric, NeighbourType::Symmetric),
                listed(2, LinkType::Asymmetric, NeighbourType::Not),
                listed(3, LinkType::Symmetric, NeighbourType::Symmetric),
            ],
        };
        let message = |content| OlsrMessage { vtime: 0, originator: Address(0), ttl: 1, hops: 0, sequence: 0, content };
        let hello = message(Content::Hello(hello.into()));
        assert_eq!(hello.size(), 12 + 4 + (4 + 8) + (4 + 4));
        let tc = message(Content::Tc(Tc { ansn: 0, advertised: vec![Address(1); 3], qualities: vec![] }.into()));
        assert_eq!(tc.size(), 12 + 4 + 12);
        assert_eq!(message(Content::Mid(vec![Address(4)].into())).size(), 16);
        assert_eq!(message(Content::Hna(vec![Prefix::DEFAULT].into())).size(), 20);
        let packet = OlsrPacket { sequence: 7, messages: vec![hello, tc] };
        assert_eq!((packet.size(), packet.kind()), (4 + 36 + 28, "OLSR"));
        let mut out = Vec::new();
        let place = Place { source: Address(0), address: &|it| Ipv4Addr::from_bits(it.0) };
        assert_eq!(packet.encode(&place, &mut out), Ok(Carrier::Udp(698)));
        assert_eq!(out.len(), packet.size() as usize);
    }

    #[test]
    fn s3_3_each_message_of_a_packet_is_named_and_says_whether_it_is_forwarded() {
        let message = |hops, networks: usize| {
            let content = Content::Hna(vec![Prefix::DEFAULT; networks].into());
            OlsrMessage { vtime: 0, originator: Address(0), ttl: 9, hops, sequence: 0, content }
        };
        let tc = Content::Tc(Tc { ansn: 0, advertised: vec![Address(1)], qualities: vec![] }.into());
        let tc = OlsrMessage { content: tc, ..message(2, 0) };
        let packet = OlsrPacket { sequence: 7, messages: vec![message(0, 2), tc, message(1, 1)] };
        let mut parts = Vec::new();
        packet.parts(&mut |part| parts.push((part.kind, part.bytes, part.forwarded)));
        assert_eq!(parts, [("HNA", 28, false), ("TC", 20, true), ("HNA", 20, true)]);
        assert_eq!(parts.iter().map(|it| it.1).sum::<u32>() + OlsrPacket::HEADER, packet.size());
    }
}
