//! The packets of OLSR (RFC 3626 §3.3), which UDP carries on port 698, with the messages HELLO (§6.1), TC (§9.1), MID
//! (§5.1) and HNA (§12.1). Messages of other types are kept as bytes, since nodes forward what they do not know (§3.4).
//!
//! The types 201 and 202 are the HELLO and the TC of olsrd with the quality of each link. Two bytes after each address
//! say how well packets arrive from the neighbour and at the neighbour, in units of 1/255. Two bytes of zero follow.

use std::net::Ipv4Addr;
use std::sync::Arc;

use hopyard_engine::Span;

use super::{Carrier, Datagram, MessagePart, Name, Prefix, Reader, WireError, Write};

const FORMAT: &str = "OLSR";

/// The statement of a HELLO about a link (§6.1.1).
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

/// The statement of a HELLO about a neighbour (§6.1.1).
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
pub struct Listed<A = Ipv4Addr> {
    /// The address of its interface, or its main address if the link is unspecified.
    pub address: A,
    /// The link to it.
    pub link: LinkType,
    /// Its kind.
    pub neighbour: NeighbourType,
    /// The part of the packets that arrive, from the neighbour and at it, in units of 1/255; for ETX only.
    pub quality: (u8, u8),
}

/// A HELLO (§6.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello<A = Ipv4Addr> {
    /// The interval until the next one, as it is coded.
    pub htime: u8,
    /// The sender's willingness to relay.
    pub willingness: u8,
    /// Whether it has the qualities of links (type 201).
    pub qualities: bool,
    /// The neighbours, in order of their addresses.
    pub listed: Vec<Listed<A>>,
}

/// A TC (§9.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tc<A = Ipv4Addr> {
    /// The number of the advertised set.
    pub ansn: u16,
    /// The main addresses of the advertised neighbours, in order.
    pub advertised: Vec<A>,
    /// The quality of the link to each, for ETX (type 202); otherwise empty.
    pub qualities: Vec<(u8, u8)>,
}

/// The content of a message. Receivers share it with its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content<A = Ipv4Addr> {
    /// The sender's links: type 1, or with qualities 201.
    Hello(Arc<Hello<A>>),
    /// The originator's advertised neighbours: type 2, or with qualities 202.
    Tc(Arc<Tc<A>>),
    /// The originator's further interfaces: type 3 (§5.1).
    Mid(Arc<[A]>),
    /// The networks that the originator leads to: type 4 (§12.1).
    Hna(Arc<[Prefix]>),
    /// Another type, which nodes forward (§3.4).
    Other {
        /// The type.
        kind: u8,
        /// The bytes behind the header.
        bytes: Arc<[u8]>,
    },
}

/// A message with its header (§3.3.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<A = Ipv4Addr> {
    /// The time for which it is valid, as it is coded.
    pub vtime: u8,
    /// The main address of the node that has made it.
    pub originator: A,
    /// Hops that it may still take.
    pub ttl: u8,
    /// Hops that it has taken.
    pub hops: u8,
    /// Its number.
    pub sequence: u16,
    /// Its content.
    pub content: Content<A>,
}

/// A packet (§3.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<A = Ipv4Addr> {
    /// The number of the packet among the packets of the interface.
    pub sequence: u16,
    /// Its messages.
    pub messages: Vec<Message<A>>,
}

impl<A> Listed<A> {
    /// The link code (§6.1.1): link type in the two low bits, neighbour type in the two bits above.
    const fn code(&self) -> u8 {
        (self.neighbour as u8) << 2 | self.link as u8
    }

    /// A neighbour with a link code; `None` if the code has no meaning, so that the link is to be ignored.
    const fn of_code(code: u8, address: A, quality: (u8, u8)) -> Option<Self>
    where
        A: Copy,
    {
        let link = match code & 3 {
            0 => LinkType::Unspecified,
            1 => LinkType::Asymmetric,
            2 => LinkType::Symmetric,
            _ => LinkType::Lost,
        };
        let neighbour = match code >> 2 {
            0 => NeighbourType::Not,
            1 => NeighbourType::Symmetric,
            2 => NeighbourType::Mpr,
            _ => return None,
        };
        Some(Self { address, link, neighbour, quality })
    }
}

impl<A> Hello<A> {
    /// The neighbours that the sender has symmetric links to.
    pub fn symmetric(&self) -> impl Iterator<Item = &Listed<A>> {
        self.listed.iter().filter(|it| it.neighbour != NeighbourType::Not)
    }
}

/// Reads an address, and the quality of the link if there are qualities.
fn neighbour(reader: &mut Reader<'_>, qualities: bool) -> Result<(Ipv4Addr, (u8, u8)), WireError> {
    let address = reader.address()?;
    let mut quality = (0, 0);
    if qualities {
        quality = (reader.u8()?, reader.u8()?);
        let _zero = reader.u16()?;
    }
    Ok((address, quality))
}

fn emit_neighbour(address: Ipv4Addr, quality: Option<(u8, u8)>, out: &mut Vec<u8>) {
    out.address(address);
    if let Some((from, to)) = quality {
        out.extend([from, to, 0, 0]);
    }
}

/// Puts the number of bytes since `start` into the two bytes at `place`.
fn set_length(out: &mut [u8], place: usize, start: usize) -> Result<(), WireError> {
    let found = out.len() - start;
    let length = u16::try_from(found).map_err(|_| WireError::TooLong {
        format: FORMAT,
        unit: "bytes",
        limit: usize::from(u16::MAX),
        found,
    })?;
    out[place..place + 2].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// A reader for the next `length` bytes, of a block whose header has taken `header` bytes.
fn within<'a>(reader: &mut Reader<'a>, length: u16, header: usize) -> Result<Reader<'a>, WireError> {
    let Some(rest) = usize::from(length).checked_sub(header) else {
        return Err(reader.malformed("a length that includes the header", u32::from(length)));
    };
    Ok(Reader::new(FORMAT, reader.take(rest)?))
}

impl Content {
    fn parse(kind: u8, reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(match kind {
            1 | 201 => {
                let _reserved = reader.u16()?;
                let (htime, willingness) = (reader.u8()?, reader.u8()?);
                let qualities = kind == 201;
                let mut listed = Vec::new();
                while !reader.bytes.is_empty() {
                    let (code, _reserved, length) = (reader.u8()?, reader.u8()?, reader.u16()?);
                    let mut block = within(reader, length, 4)?;
                    while !block.bytes.is_empty() {
                        let (address, quality) = neighbour(&mut block, qualities)?;
                        listed.extend(Listed::of_code(code, address, quality));
                    }
                }
                listed.sort_by_key(|it| (it.address, it.code()));
                Self::Hello(Hello { htime, willingness, qualities, listed }.into())
            }
            2 | 202 => {
                let ansn = reader.u16()?;
                let _reserved = reader.u16()?;
                let (mut advertised, mut qualities) = (Vec::new(), Vec::new());
                while !reader.bytes.is_empty() {
                    let (address, quality) = neighbour(reader, kind == 202)?;
                    advertised.push(address);
                    qualities.extend((kind == 202).then_some(quality));
                }
                Self::Tc(Tc { ansn, advertised, qualities }.into())
            }
            3 => {
                let mut addresses = Vec::new();
                while !reader.bytes.is_empty() {
                    addresses.push(reader.address()?);
                }
                Self::Mid(addresses.into())
            }
            4 => {
                let mut networks = Vec::new();
                while !reader.bytes.is_empty() {
                    let (network, mask) = (reader.address()?, reader.u32()?);
                    if mask.leading_ones() + mask.trailing_zeros() != 32 {
                        return Err(reader.malformed("a netmask", mask));
                    }
                    networks.push(Prefix::of(network, mask.leading_ones() as u8));
                }
                Self::Hna(networks.into())
            }
            _ => Self::Other { kind, bytes: reader.take(reader.bytes.len())?.into() },
        })
    }
}

impl<A: Copy> Content<A> {
    fn number(&self) -> u8 {
        match self {
            Self::Hello(it) => 1 + if it.qualities { 200 } else { 0 },
            Self::Tc(it) => 2 + if it.qualities.is_empty() { 0 } else { 200 },
            Self::Mid(_) => 3,
            Self::Hna(_) => 4,
            Self::Other { kind, .. } => *kind,
        }
    }

    fn emit(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<(), WireError> {
        match self {
            Self::Hello(it) => {
                out.extend([0, 0, it.htime, it.willingness]);
                for code in 0..16 {
                    let start = out.len();
                    for listed in it.listed.iter().filter(|listed| listed.code() == code) {
                        if out.len() == start {
                            out.extend([code, 0, 0, 0]);
                        }
                        emit_neighbour(name(listed.address), it.qualities.then_some(listed.quality), out);
                    }
                    if out.len() > start {
                        set_length(out, start + 2, start)?;
                    }
                }
            }
            Self::Tc(it) => {
                out.u16(it.ansn);
                out.u16(0);
                for (place, &address) in it.advertised.iter().enumerate() {
                    emit_neighbour(name(address), it.qualities.get(place).copied(), out);
                }
            }
            Self::Mid(addresses) => addresses.iter().for_each(|&it| out.address(name(it))),
            Self::Hna(networks) => {
                for it in networks.iter() {
                    out.address(it.first());
                    out.u32(u32::MAX.checked_shl(32 - u32::from(it.length())).unwrap_or(0));
                }
            }
            Self::Other { bytes, .. } => out.extend_from_slice(bytes),
        }
        Ok(())
    }
}

impl<A: Copy> Message<A> {
    /// Bytes of the message's header.
    pub const HEADER: u32 = 12;

    /// Bytes of the message.
    #[must_use]
    pub fn size(&self) -> u32 {
        let body = match &self.content {
            Content::Hello(it) => {
                let codes = it.listed.iter().fold(0_u16, |codes, listed| codes | 1 << listed.code());
                let each = if it.qualities { 8 } else { 4 };
                4 + 4 * codes.count_ones() + each * it.listed.len() as u32
            }
            Content::Tc(it) => 4 + 4 * (it.advertised.len() + it.qualities.len()) as u32,
            Content::Mid(addresses) => 4 * addresses.len() as u32,
            Content::Hna(networks) => 8 * networks.len() as u32,
            Content::Other { bytes, .. } => bytes.len() as u32,
        };
        Self::HEADER + body
    }

    /// A short name for counters.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.content {
            Content::Hello(_) => "HELLO",
            Content::Tc(_) => "TC",
            Content::Mid(_) => "MID",
            Content::Hna(_) => "HNA",
            Content::Other { .. } => "OTHER",
        }
    }
}

impl Packet {
    /// The packet, and the bytes after it. Reserved fields are ignored on reception, and neighbours with a link code
    /// that has no meaning.
    ///
    /// # Errors
    /// If the bytes end too early, a length does not include its own header, or a netmask has gaps.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let (length, sequence) = (reader.u16()?, reader.u16()?);
        let mut packet = within(&mut reader, length, 4)?;
        let mut messages = Vec::new();
        while !packet.bytes.is_empty() {
            let (kind, vtime, size) = (packet.u8()?, packet.u8()?, packet.u16()?);
            let originator = packet.address()?;
            let (ttl, hops, sequence) = (packet.u8()?, packet.u8()?, packet.u16()?);
            let content = Content::parse(kind, &mut within(&mut packet, size, 12)?)?;
            messages.push(Message { vtime, originator, ttl, hops, sequence, content });
        }
        Ok((Self { sequence, messages }, reader.bytes))
    }
}

impl<A: Copy> Packet<A> {
    /// Bytes of the packet's header.
    pub const HEADER: u32 = 4;

    /// Bytes of the packet.
    #[must_use]
    pub fn size(&self) -> u32 {
        Self::HEADER + self.messages.iter().map(Message::size).sum::<u32>()
    }

    /// Appends the packet's bytes. `name` gives the address that bytes have.
    ///
    /// # Errors
    /// If the packet, a message or a block of links is too long for its length field.
    pub fn emit(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<(), WireError> {
        let start = out.len();
        out.u16(0);
        out.u16(self.sequence);
        for message in &self.messages {
            let begin = out.len();
            out.extend([message.content.number(), message.vtime, 0, 0]);
            out.address(name(message.originator));
            out.extend([message.ttl, message.hops]);
            out.u16(message.sequence);
            message.content.emit(name, out)?;
            set_length(out, begin + 2, begin)?;
        }
        set_length(out, start, start)
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

impl<A: Name> Datagram<A> for Packet<A> {
    fn kind(&self) -> &'static str {
        let mut kinds = self.messages.iter().map(Message::kind);
        let first = kinds.next().unwrap_or("OLSR");
        if kinds.all(|kind| kind == first) { first } else { "OLSR" }
    }

    fn parts(&self, each: &mut dyn FnMut(MessagePart)) {
        for it in &self.messages {
            // Its originator sends a message with a hop count of 0 (§3.3.2).
            each(MessagePart { kind: it.kind(), bytes: it.size(), forwarded: it.hops > 0 });
        }
    }

    fn kinds(&self, each: &mut dyn FnMut(&'static str)) {
        // Receivers only count messages, and need no sizes.
        if self.messages.is_empty() {
            each(self.kind());
        }
        self.messages.iter().for_each(|it| each(it.kind()));
    }

    fn encode(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        self.emit(name, out)?;
        Ok(Carrier::Udp(crate::udp::Header::OLSR))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{address, bytes, hex};

    #[test]
    fn a_packet_is_laid_out_as_in_the_rfc() {
        let ip = |last| Ipv4Addr::new(10, 0, 0, last);
        let listed = |last, link, neighbour| Listed { address: ip(last), link, neighbour, quality: (0, 0) };
        let hello = Hello {
            htime: 0x05,
            willingness: 3,
            qualities: false,
            listed: vec![
                listed(2, LinkType::Symmetric, NeighbourType::Symmetric),
                listed(3, LinkType::Asymmetric, NeighbourType::Not),
                listed(4, LinkType::Symmetric, NeighbourType::Symmetric),
            ],
        };
        let content = Content::Hello(hello.into());
        let hello = Message { vtime: 0x86, originator: ip(1), ttl: 1, hops: 0, sequence: 9, content };
        let content = Content::Tc(Tc { ansn: 0x102, advertised: vec![ip(3)], qualities: vec![(255, 128)] }.into());
        let tc = Message { vtime: 0xe7, originator: ip(2), ttl: 254, hops: 1, sequence: 10, content };
        let content = Content::Hna([Prefix::of(Ipv4Addr::new(192, 168, 4, 0), 22), Prefix::DEFAULT].into());
        let hna = Message { vtime: 0xe7, originator: ip(3), ttl: 255, hops: 0, sequence: 11, content };
        let mid = Message { content: Content::Mid([ip(77)].into()), sequence: 12, ..hna.clone() };
        let packet = Packet { sequence: 0x1234, messages: vec![hello, tc, hna, mid] };
        let mut out = Vec::new();
        packet.emit(&|it| it, &mut out).expect("it is short");
        let expected = "006c 1234
            01 86 0024 0a000001 01 00 0009  0000 05 03  01 00 0008 0a000003  06 00 000c 0a000002 0a000004
            ca e7 0018 0a000002 fe 01 000a  0102 0000  0a000003 ff 80 0000
            04 e7 001c 0a000003 ff 00 000b  c0a80400 fffffc00  00000000 00000000
            03 e7 0010 0a000003 ff 00 000c  0a00004d";
        assert_eq!(out, hex(expected));
        assert_eq!(Packet::parse(&out), Ok((packet, &[][..])));
    }

    #[test]
    fn lengths_and_netmasks_are_checked() {
        assert!(matches!(Packet::parse(&hex("0003 0000")), Err(WireError::Malformed { found: 3, .. })));
        let short = hex("0010 0000 02 00 000b 0a000001 ff 00 0001");
        assert!(matches!(Packet::parse(&short), Err(WireError::Malformed { found: 11, .. })));
        let gaps = hex("0018 0000 04 00 0014 0a000001 ff 00 0001 0a000000 ff00ff00");
        assert!(matches!(Packet::parse(&gaps), Err(WireError::Malformed { expected: "a netmask", .. })));
        assert!(matches!(Packet::parse(&short[..9]), Err(WireError::Truncated { .. })));
    }

    /// §6.1.1: such links are ignored; the others of the message are not.
    #[test]
    fn link_codes_without_meaning_are_passed_over() {
        let bytes =
            hex("0024 0000 01 00 0020 0a000001 01 00 0001 0000 05 03  0e 00 0008 0a000002  05 00 0008 0a000003");
        let (packet, _) = Packet::parse(&bytes).expect("sound");
        let Content::Hello(hello) = &packet.messages[0].content else { panic!("it is a HELLO") };
        let known: Vec<_> = hello.listed.iter().map(|it| (it.address, it.link, it.neighbour)).collect();
        assert_eq!(known, [(Ipv4Addr::new(10, 0, 0, 3), LinkType::Asymmetric, NeighbourType::Symmetric)]);
    }

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

    fn hello() -> impl Strategy<Value = Content> {
        let one = (address(), 0..12_u8, any::<(u8, u8)>());
        (any::<(u8, u8)>(), any::<bool>(), prop::collection::vec(one, 0..12)).prop_map(
            |((htime, willingness), qualities, all)| {
                let of = |(address, code, quality)| {
                    Listed::of_code(code, address, if qualities { quality } else { (0, 0) }).expect("it has a meaning")
                };
                let mut listed: Vec<_> = all.into_iter().map(of).collect();
                listed.sort_by_key(|it| (it.address, it.code()));
                Content::Hello(Hello { htime, willingness, qualities, listed }.into())
            },
        )
    }

    fn content() -> impl Strategy<Value = Content> {
        let neighbours = prop::collection::vec((address(), any::<(u8, u8)>()), 0..6);
        let tc = (any::<u16>(), any::<bool>(), neighbours).prop_map(|(ansn, with, neighbours)| {
            let (advertised, qualities): (Vec<_>, Vec<_>) = neighbours.into_iter().unzip();
            Content::Tc(Tc { ansn, advertised, qualities: if with { qualities } else { Vec::new() } }.into())
        });
        let network = (address(), 0_u8..=32).prop_map(|(address, length)| Prefix::of(address, length));
        prop_oneof![
            hello(),
            tc,
            prop::collection::vec(address(), 0..5).prop_map(|it| Content::Mid(it.into())),
            prop::collection::vec(network, 0..5).prop_map(|it| Content::Hna(it.into())),
            (5_u8..200, bytes(12)).prop_map(|(kind, bytes)| Content::Other { kind, bytes: bytes.into() }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(
            messages in prop::collection::vec((any::<(u8, u8, u8, u16)>(), address(), content()), 0..5),
            sequence in any::<u16>(),
            rest in bytes(5),
        ) {
            let message = |((vtime, ttl, hops, sequence), originator, content)| {
                Message { vtime, originator, ttl, hops, sequence, content }
            };
            let packet = Packet { sequence, messages: messages.into_iter().map(message).collect() };
            let mut out = Vec::new();
            packet.emit(&|it| it, &mut out).expect("it is short");
            prop_assert_eq!(out.len(), packet.size() as usize);
            out.extend_from_slice(&rest);
            prop_assert_eq!(Packet::parse(&out), Ok((packet, &rest[..])));
        }
    }
}
