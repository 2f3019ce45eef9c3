//! IPv4 (RFC 791 §3.1).

use std::net::Ipv4Addr;

use super::{Reader, WireError, Write, checksum};

const FORMAT: &str = "IPv4";

/// The protocol that IP carries: a number of the registry "Protocol Numbers".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Protocol(pub u8);

impl Protocol {
    /// ICMP (RFC 792).
    pub const ICMP: Self = Self(1);
    /// IP in IP (RFC 2003).
    pub const IP_IN_IP: Self = Self(4);
    /// TCP (RFC 9293).
    pub const TCP: Self = Self(6);
    /// UDP (RFC 768).
    pub const UDP: Self = Self(17);
}

/// A header. Lengths and the checksum are computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Differentiated services and congestion notification (RFC 2474, RFC 3168).
    pub traffic_class: u8,
    /// The identification of the datagram, for reassembly.
    pub identification: u16,
    /// Whether routers must not fragment the datagram.
    pub dont_fragment: bool,
    /// Whether this is a fragment other than the last one.
    pub more_fragments: bool,
    /// The offset of the fragment in units of eight bytes; below 2^13.
    pub fragment_offset: u16,
    /// The time to live: the number of hops that remain.
    pub ttl: u8,
    /// The protocol of the payload.
    pub protocol: Protocol,
    /// The source address.
    pub source: Ipv4Addr,
    /// The destination address.
    pub destination: Ipv4Addr,
    /// The options as bytes, at most 40. `emit` adds zeros up to a multiple of four.
    pub options: Vec<u8>,
}

impl Header {
    /// The header of a whole datagram without options.
    #[must_use]
    pub const fn new(protocol: Protocol, source: Ipv4Addr, destination: Ipv4Addr, ttl: u8) -> Self {
        Self {
            traffic_class: 0,
            identification: 0,
            dont_fragment: false,
            more_fragments: false,
            fragment_offset: 0,
            ttl,
            protocol,
            source,
            destination,
            options: Vec::new(),
        }
    }

    /// The header's length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        20 + self.options.len().next_multiple_of(4)
    }

    /// A header is never empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The header and the payload. Bytes after the total length are padding of the link layer.
    ///
    /// # Errors
    /// If the bytes end too early, the version is not 4, a length is impossible, or the checksum does not match.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (header, total) = Self::parse_alone(bytes)?;
        let payload = bytes.get(header.len()..total).ok_or(WireError::Truncated {
            format: FORMAT,
            expected: total,
            found: bytes.len(),
        })?;
        Ok((header, payload))
    }

    /// The header and the existing part of the payload, which may be truncated, as in the quotes of ICMP.
    ///
    /// # Errors
    /// The same as [`Self::parse`], but a truncated datagram is not an error.
    pub fn parse_quoted(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (header, total) = Self::parse_alone(bytes)?;
        let payload = &bytes[header.len()..total.min(bytes.len())];
        Ok((header, payload))
    }

    /// The header, and the total length in it.
    fn parse_alone(bytes: &[u8]) -> Result<(Self, usize), WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let first = reader.u8()?;
        reader.constant("version 4", 4, u32::from(first >> 4))?;
        let length = usize::from(first & 0xf) * 4;
        if length < 20 {
            return Err(reader.malformed("a header of 20 bytes or more", length as u32));
        }
        let traffic_class = reader.u8()?;
        let total = usize::from(reader.u16()?);
        if total < length {
            return Err(reader.malformed("a total length that holds the header", total as u32));
        }
        let identification = reader.u16()?;
        let fragment = reader.u16()?;
        if fragment & 0x8000 != 0 {
            return Err(reader.malformed("the reserved flag to be zero", 1));
        }
        let ttl = reader.u8()?;
        let protocol = Protocol(reader.u8()?);
        let _checksum = reader.u16()?;
        let (source, destination) = (reader.address()?, reader.address()?);
        let options = reader.take(length - 20)?.to_vec();
        if checksum::internet(&bytes[..length]) != 0 {
            return Err(WireError::Checksum { format: FORMAT });
        }
        let header = Self {
            traffic_class,
            identification,
            dont_fragment: fragment & 0x4000 != 0,
            more_fragments: fragment & 0x2000 != 0,
            fragment_offset: fragment & 0x1fff,
            ttl,
            protocol,
            source,
            destination,
            options,
        };
        Ok((header, total))
    }

    /// Appends the datagram's bytes.
    ///
    /// # Errors
    /// If options, offset or payload are too long for the format.
    pub fn emit(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let limit = |unit, limit, found| {
            if found > limit { Err(WireError::TooLong { format: FORMAT, unit, limit, found }) } else { Ok(()) }
        };
        limit("bytes of options", 40, self.options.len())?;
        limit("units of offset", 0x1fff, usize::from(self.fragment_offset))?;
        let total = self.len() + payload.len();
        limit("bytes", 0xffff, total)?;
        let start = out.len();
        out.u8(0x40 | (self.len() / 4) as u8);
        out.u8(self.traffic_class);
        out.u16(total as u16);
        out.u16(self.identification);
        out.u16(u16::from(self.dont_fragment) << 14 | u16::from(self.more_fragments) << 13 | self.fragment_offset);
        out.u8(self.ttl);
        out.u8(self.protocol.0);
        out.u16(0);
        out.address(self.source);
        out.address(self.destination);
        out.extend_from_slice(&self.options);
        out.resize(start + self.len(), 0);
        let sum = checksum::internet(&out[start..]);
        out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
        out.extend_from_slice(payload);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{address, bytes, hex};

    fn header() -> impl Strategy<Value = Header> {
        let flags = (any::<bool>(), any::<bool>(), 0..0x2000_u16);
        let options = prop::collection::vec(any::<[u8; 4]>(), 0..=10).prop_map(|words| words.concat());
        (any::<(u8, u16, u8, u8)>(), flags, address(), address(), options).prop_map(
            |((traffic_class, identification, ttl, protocol), (dont, more, offset), source, destination, options)| {
                Header {
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
                }
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
        assert_eq!(
            Header::parse(&sound[..30]).expect_err("cut").to_string(),
            "IPv4: expected 31 bytes or more, found 30"
        );
        let (_, quoted) = Header::parse_quoted(&sound[..28]).expect("cut, but quoted");
        assert_eq!(quoted, &sound[20..28]);
        let long = Header::new(Protocol::UDP, Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST, 1);
        assert!(matches!(long.emit(&[0; 65_516], &mut Vec::new()), Err(WireError::TooLong { found: 65_536, .. })));
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

        #[test]
        fn no_bytes_upset_the_parser(bytes in bytes(80)) {
            let _ = Header::parse(&bytes);
            let _ = Header::parse_quoted(&bytes);
        }
    }
}
