//! The packets of OLSR (RFC 3626 §3.3), which UDP carries on port 698, with the messages HELLO (§6.1), TC (§9.1), MID
//! (§5.1) and HNA (§12.1). Messages of other types are kept as bytes, since nodes forward what they do not know (§3.4).
//!
//! The types 201 and 202 are those of olsrd for HELLO and TC with the quality of each link: after each address two
//! bytes, how well packets arrive from the neighbour and at it in units of 1/255, and two bytes of zero.

use std::net::Ipv4Addr;

use super::{Reader, WireError, Write};

const FORMAT: &str = "OLSR";

/// A neighbour in a HELLO or TC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its address.
    pub address: Ipv4Addr,
    /// The quality of the link from it and to it; in messages with qualities only.
    pub quality: Option<(u8, u8)>,
}

/// The neighbours of a HELLO with the same link code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Links {
    /// Link type in the two low bits, neighbour type in the two bits above (§6.1.1).
    pub code: u8,
    /// The neighbours.
    pub neighbours: Vec<Neighbour>,
}

/// The body of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Type 1; with qualities, type 201.
    Hello {
        /// The interval of the sender's HELLOs (§18.3).
        htime: u8,
        /// 0 never to 7 always (§18.8).
        willingness: u8,
        /// Whether the neighbours have qualities.
        qualities: bool,
        /// The neighbours by link code.
        links: Vec<Links>,
    },
    /// Type 2; with qualities, type 202.
    Tc {
        /// The number of the advertised set.
        ansn: u16,
        /// Whether the neighbours have qualities.
        qualities: bool,
        /// The advertised neighbours.
        neighbours: Vec<Neighbour>,
    },
    /// Type 3: the originator's further addresses.
    Mid(Vec<Ipv4Addr>),
    /// Type 4: networks with the length of their prefix.
    Hna(Vec<(Ipv4Addr, u8)>),
    /// Another type.
    Other {
        /// The type.
        kind: u8,
        /// The bytes behind the header.
        bytes: Vec<u8>,
    },
}

/// A message (§3.3.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// How long the content is valid (§18.3).
    pub vtime: u8,
    /// The main address of the originator.
    pub originator: Ipv4Addr,
    /// Hops that the message may still take.
    pub ttl: u8,
    /// Hops that it has taken.
    pub hop_count: u8,
    /// Its number.
    pub sequence: u16,
    /// Its content.
    pub body: Body,
}

/// A packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The number of the packet among those of the interface.
    pub sequence: u16,
    /// Its messages.
    pub messages: Vec<Message>,
}

fn neighbours(reader: &mut Reader<'_>, qualities: bool) -> Result<Vec<Neighbour>, WireError> {
    let mut neighbours = Vec::new();
    while !reader.bytes.is_empty() {
        let address = reader.address()?;
        let quality = if qualities {
            let quality = (reader.u8()?, reader.u8()?);
            let _zero = reader.u16()?;
            Some(quality)
        } else {
            None
        };
        neighbours.push(Neighbour { address, quality });
    }
    Ok(neighbours)
}

fn emit_neighbours(neighbours: &[Neighbour], qualities: bool, out: &mut Vec<u8>) {
    for it in neighbours {
        out.address(it.address);
        if qualities {
            let (from, to) = it.quality.unwrap_or_default();
            out.u8(from);
            out.u8(to);
            out.u16(0);
        }
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

/// A reader for the next `length` bytes, of which the header has taken `header`.
fn within<'a>(reader: &mut Reader<'a>, length: u16, header: usize) -> Result<Reader<'a>, WireError> {
    let Some(rest) = usize::from(length).checked_sub(header) else {
        return Err(reader.malformed("a length that includes the header", u32::from(length)));
    };
    Ok(Reader::new(FORMAT, reader.take(rest)?))
}

impl Body {
    fn parse(kind: u8, reader: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(match kind {
            1 | 201 => {
                let _reserved = reader.u16()?;
                let (htime, willingness) = (reader.u8()?, reader.u8()?);
                let qualities = kind == 201;
                let mut links = Vec::new();
                while !reader.bytes.is_empty() {
                    let (code, _reserved, length) = (reader.u8()?, reader.u8()?, reader.u16()?);
                    let mut block = within(reader, length, 4)?;
                    links.push(Links { code, neighbours: neighbours(&mut block, qualities)? });
                }
                Self::Hello { htime, willingness, qualities, links }
            }
            2 | 202 => {
                let ansn = reader.u16()?;
                let _reserved = reader.u16()?;
                Self::Tc { ansn, qualities: kind == 202, neighbours: neighbours(reader, kind == 202)? }
            }
            3 => {
                let mut addresses = Vec::new();
                while !reader.bytes.is_empty() {
                    addresses.push(reader.address()?);
                }
                Self::Mid(addresses)
            }
            4 => {
                let mut networks = Vec::new();
                while !reader.bytes.is_empty() {
                    let (network, mask) = (reader.address()?, reader.u32()?);
                    if mask.leading_ones() + mask.trailing_zeros() != 32 {
                        return Err(reader.malformed("a netmask", mask));
                    }
                    networks.push((network, mask.leading_ones() as u8));
                }
                Self::Hna(networks)
            }
            _ => Self::Other { kind, bytes: reader.take(reader.bytes.len())?.to_vec() },
        })
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::Hello { qualities, .. } => 1 + if *qualities { 200 } else { 0 },
            Self::Tc { qualities, .. } => 2 + if *qualities { 200 } else { 0 },
            Self::Mid(_) => 3,
            Self::Hna(_) => 4,
            Self::Other { kind, .. } => *kind,
        }
    }

    fn emit(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        match self {
            Self::Hello { htime, willingness, qualities, links } => {
                out.u16(0);
                out.u8(*htime);
                out.u8(*willingness);
                for block in links {
                    let start = out.len();
                    out.u8(block.code);
                    out.u8(0);
                    out.u16(0);
                    emit_neighbours(&block.neighbours, *qualities, out);
                    set_length(out, start + 2, start)?;
                }
            }
            Self::Tc { ansn, qualities, neighbours } => {
                out.u16(*ansn);
                out.u16(0);
                emit_neighbours(neighbours, *qualities, out);
            }
            Self::Mid(addresses) => addresses.iter().for_each(|&it| out.address(it)),
            Self::Hna(networks) => {
                for &(network, length) in networks {
                    out.address(network);
                    out.u32(u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0));
                }
            }
            Self::Other { bytes, .. } => out.extend_from_slice(bytes),
        }
        Ok(())
    }
}

impl Packet {
    /// The packet, and what follows it. Reserved fields are ignored on reception.
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
            let (ttl, hop_count, sequence) = (packet.u8()?, packet.u8()?, packet.u16()?);
            let mut body = within(&mut packet, size, 12)?;
            let body = Body::parse(kind, &mut body)?;
            messages.push(Message { vtime, originator, ttl, hop_count, sequence, body });
        }
        Ok((Self { sequence, messages }, reader.bytes))
    }

    /// Appends the packet's bytes.
    ///
    /// # Errors
    /// If the packet, a message or a block of links is too long for its length field.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let start = out.len();
        out.u16(0);
        out.u16(self.sequence);
        for message in &self.messages {
            let begin = out.len();
            out.u8(message.body.kind());
            out.u8(message.vtime);
            out.u16(0);
            out.address(message.originator);
            out.u8(message.ttl);
            out.u8(message.hop_count);
            out.u16(message.sequence);
            message.body.emit(out)?;
            set_length(out, begin + 2, begin)?;
        }
        set_length(out, start, start)
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
        let plain = |last| Neighbour { address: ip(last), quality: None };
        let hello = Message {
            vtime: 0x86,
            originator: ip(1),
            ttl: 1,
            hop_count: 0,
            sequence: 9,
            body: Body::Hello {
                htime: 0x05,
                willingness: 3,
                qualities: false,
                links: vec![
                    Links { code: 6, neighbours: vec![plain(2), plain(3)] },
                    Links { code: 1, neighbours: vec![plain(4)] },
                ],
            },
        };
        let body = Body::Tc {
            ansn: 0x102,
            qualities: true,
            neighbours: vec![Neighbour { quality: Some((255, 128)), ..plain(3) }],
        };
        let tc = Message { vtime: 0xe7, originator: ip(2), ttl: 254, hop_count: 1, sequence: 10, body };
        let body = Body::Hna(vec![(Ipv4Addr::new(192, 168, 4, 0), 22), (Ipv4Addr::UNSPECIFIED, 0)]);
        let hna = Message { vtime: 0xe7, originator: ip(3), ttl: 255, hop_count: 0, sequence: 11, body };
        let mid = Message { body: Body::Mid(vec![ip(77)]), sequence: 12, ..hna.clone() };
        let packet = Packet { sequence: 0x1234, messages: vec![hello, tc, hna, mid] };
        let mut out = Vec::new();
        packet.emit(&mut out).expect("it is short");
        let expected = "006c 1234
            01 86 0024 0a000001 01 00 0009  0000 05 03  06 00 000c 0a000002 0a000003  01 00 0008 0a000004
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

    fn neighbours(qualities: bool) -> impl Strategy<Value = Vec<Neighbour>> {
        let one = (address(), any::<(u8, u8)>())
            .prop_map(move |(address, quality)| Neighbour { address, quality: qualities.then_some(quality) });
        prop::collection::vec(one, 0..6)
    }

    fn body() -> impl Strategy<Value = Body> {
        let hello = (any::<(u8, u8)>(), any::<bool>()).prop_flat_map(|((htime, willingness), qualities)| {
            let block = (any::<u8>(), neighbours(qualities)).prop_map(|(code, neighbours)| Links { code, neighbours });
            prop::collection::vec(block, 0..4).prop_map(move |links| Body::Hello {
                htime,
                willingness,
                qualities,
                links,
            })
        });
        let tc = (any::<u16>(), any::<bool>()).prop_flat_map(|(ansn, qualities)| {
            neighbours(qualities).prop_map(move |neighbours| Body::Tc { ansn, qualities, neighbours })
        });
        prop_oneof![
            hello,
            tc,
            prop::collection::vec(address(), 0..5).prop_map(Body::Mid),
            prop::collection::vec((address(), 0_u8..=32), 0..5).prop_map(Body::Hna),
            (5_u8..200, bytes(12)).prop_map(|(kind, bytes)| Body::Other { kind, bytes }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(
            messages in prop::collection::vec((any::<(u8, u8, u8, u16)>(), address(), body()), 0..5),
            sequence in any::<u16>(),
            rest in bytes(5),
        ) {
            let message = |((vtime, ttl, hop_count, sequence), originator, body)| Message { vtime, originator, ttl, hop_count, sequence, body };
            let packet = Packet { sequence, messages: messages.into_iter().map(message).collect() };
            let mut out = Vec::new();
            packet.emit(&mut out).expect("it is short");
            out.extend_from_slice(&rest);
            prop_assert_eq!(Packet::parse(&out), Ok((packet, &rest[..])));
        }

        #[test]
        fn no_bytes_upset_the_parser(bytes in bytes(80)) {
            if let Ok((packet, rest)) = Packet::parse(&bytes) {
                let mut out = Vec::new();
                packet.emit(&mut out).expect("it was short enough");
                out.extend_from_slice(rest);
                prop_assert_eq!(Packet::parse(&out), Ok((packet, rest)));
            }
        }
    }
}
