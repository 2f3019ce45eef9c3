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
    /// The options header of DSR (RFC 4728).
    pub const DSR: Self = Self(48);
    /// Minimal encapsulation (RFC 2004).
    pub const MINIMAL_ENCAPSULATION: Self = Self(55);
    /// ICMP over IPv6 (RFC 4443).
    pub const ICMPV6: Self = Self(58);
    /// Nothing follows (RFC 8200 §4.7).
    pub const NO_NEXT_HEADER: Self = Self(59);
    /// For experiments (RFC 3692).
    pub const EXPERIMENT: Self = Self(253);
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
        self.emit_header(self.len() + payload.len(), out)?;
        out.extend_from_slice(payload);
        Ok(())
    }

    /// Appends the first bytes of a datagram whose total length is `total`, for the quote of an error. The header
    /// belongs to the whole datagram; `start` is where its payload begins.
    ///
    /// # Errors
    /// If options or offset are too long for the format, or `start` for `total`.
    pub fn emit_quoted(&self, start: &[u8], total: u16, out: &mut Vec<u8>) -> Result<(), WireError> {
        limit("bytes of a quoted datagram", usize::from(total), self.len() + start.len())?;
        self.emit_header(usize::from(total), out)?;
        out.extend_from_slice(start);
        Ok(())
    }

    fn emit_header(&self, total: usize, out: &mut Vec<u8>) -> Result<(), WireError> {
        limit("bytes of options", 40, self.options.len())?;
        limit("units of offset", 0x1fff, usize::from(self.fragment_offset))?;
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
        Ok(())
    }
}

fn limit(unit: &'static str, limit: usize, found: usize) -> Result<(), WireError> {
    if found > limit { Err(WireError::TooLong { format: FORMAT, unit, limit, found }) } else { Ok(()) }
}

/// Appends a datagram in another datagram: IP in IP (RFC 2003). The outer header runs from the entry of the tunnel to
/// its exit. As §3.1 says, the outer header takes the traffic class and the flag "don't fragment" of the inner header.
/// `ttl` is the TTL of the outer header. The TTL of the inner header stays as it is.
///
/// # Errors
/// If the inner bytes are not a datagram, or both together are too long.
pub fn encapsulate(inner: &[u8], entry: Ipv4Addr, exit: Ipv4Addr, ttl: u8, out: &mut Vec<u8>) -> Result<(), WireError> {
    let (header, payload) = Header::parse(inner)?;
    let outer = Header {
        traffic_class: header.traffic_class,
        dont_fragment: header.dont_fragment,
        ..Header::new(Protocol::IP_IN_IP, entry, exit, ttl)
    };
    // Padding of the link layer stays behind.
    outer.emit(&inner[..header.len() + payload.len()], out)
}

/// Sets the time to live in the bytes of a datagram, and its checksum. Everything else stays as it is. Bytes that are
/// no datagram stay as they are.
pub fn set_ttl(datagram: &mut [u8], ttl: u8) {
    set(datagram, 8, &[ttl]);
}

/// Sets the traffic class in the bytes of a datagram, as [`set_ttl`] sets the time to live.
pub fn set_class(datagram: &mut [u8], class: u8) {
    set(datagram, 1, &[class]);
}

/// Sets the identification in the bytes of a datagram, as [`set_ttl`] sets the time to live.
pub fn set_identification(datagram: &mut [u8], identification: u16) {
    set(datagram, 4, &identification.to_be_bytes());
}

fn set(datagram: &mut [u8], place: usize, value: &[u8]) {
    let length = datagram.first().map_or(0, |first| usize::from(first & 0xf) * 4);
    let Some(header) = datagram.get_mut(..length).filter(|header| header.len() >= 20) else { return };
    header[place..place + value.len()].copy_from_slice(value);
    header[10..12].fill(0);
    let sum = checksum::internet(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests;
