//! Minimal encapsulation (RFC 2004): a tunnel with a header of 8 or 12 bytes in place of a second IP header. This
//! header keeps the fields that the tunnel changes in the IP header. It stands between the IP header and the payload of
//! IP, as IP protocol 55.

use std::net::Ipv4Addr;

use super::ipv4::{self, Protocol};
use super::{Reader, WireError, Write, checksum};

const FORMAT: &str = "minimal encapsulation";

/// S: the header contains the original source.
const SOURCE_PRESENT: u8 = 0x80;

/// The minimal forwarding header (§3). The checksum is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The protocol of the datagram.
    pub protocol: Protocol,
    /// The original destination.
    pub destination: Ipv4Addr,
    /// The original source, unless it is the entry of the tunnel.
    pub source: Option<Ipv4Addr>,
}

impl Header {
    /// The header's length in bytes.
    #[must_use]
    pub const fn len(&self) -> usize {
        if self.source.is_some() { 12 } else { 8 }
    }

    /// A header is never empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The header, and the payload of the datagram.
    ///
    /// # Errors
    /// If the bytes end too early, or the checksum does not match.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let (protocol, flags) = (Protocol(reader.u8()?), reader.u8()?);
        let _checksum = reader.u16()?;
        let destination = reader.address()?;
        let source = if flags & SOURCE_PRESENT != 0 { Some(reader.address()?) } else { None };
        if checksum::internet(&bytes[..reader.taken]) != 0 {
            return Err(WireError::Checksum { format: FORMAT });
        }
        Ok((Self { protocol, destination, source }, reader.bytes))
    }

    /// Appends the header's bytes.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([self.protocol.0, if self.source.is_some() { SOURCE_PRESENT } else { 0 }, 0, 0]);
        out.address(self.destination);
        if let Some(source) = self.source {
            out.address(source);
        }
        let sum = checksum::internet(&out[start..]);
        out[start + 2..start + 4].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Appends a datagram as it is sent from the entry of a tunnel to its exit (§3). Its time to live stays as it is.
///
/// # Errors
/// If the bytes are not a datagram, are a fragment, which this encapsulation cannot carry, or become too long.
pub fn encapsulate(datagram: &[u8], entry: Ipv4Addr, exit: Ipv4Addr, out: &mut Vec<u8>) -> Result<(), WireError> {
    let (header, payload) = ipv4::Header::parse(datagram)?;
    if header.more_fragments || header.fragment_offset != 0 {
        let found = u32::from(header.fragment_offset);
        return Err(WireError::Malformed { format: FORMAT, expected: "a whole datagram, not a fragment", found });
    }
    let source = (header.source != entry).then_some(header.source);
    let minimal = Header { protocol: header.protocol, destination: header.destination, source };
    let mut inner = Vec::with_capacity(minimal.len() + payload.len());
    minimal.emit(&mut inner);
    inner.extend_from_slice(payload);
    let outer = ipv4::Header { protocol: Protocol::MINIMAL_ENCAPSULATION, source: entry, destination: exit, ..header };
    outer.emit(&inner, out)
}

/// Appends the original datagram of one that has left a tunnel (§3.2). Its time to live stays as it is.
///
/// # Errors
/// If the bytes are not a datagram with this encapsulation.
pub fn decapsulate(datagram: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    let (outer, inner) = ipv4::Header::parse(datagram)?;
    if outer.protocol != Protocol::MINIMAL_ENCAPSULATION {
        let (expected, found) = ("IP protocol 55", u32::from(outer.protocol.0));
        return Err(WireError::Malformed { format: FORMAT, expected, found });
    }
    let (minimal, payload) = Header::parse(inner)?;
    let source = minimal.source.unwrap_or(outer.source);
    ipv4::Header { protocol: minimal.protocol, source, destination: minimal.destination, ..outer }.emit(payload, out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{address, bytes, hex};

    const ENTRY: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 3);
    const EXIT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 4);

    #[test]
    fn headers_as_in_the_figure_of_rfc_2004() {
        // Protocol 6 (TCP), S, checksum, original destination, original source.
        // 0680 + 0a00 + 0002 + 0a00 + 0001 = 1a83.
        let bytes = hex("06 80 e57c 0a000002 0a000001 ffff");
        let source = Some(Ipv4Addr::new(10, 0, 0, 1));
        let header = Header { protocol: Protocol::TCP, destination: Ipv4Addr::new(10, 0, 0, 2), source };
        assert_eq!(Header::parse(&bytes), Ok((header, &[0xff, 0xff][..])));
        let mut again = Vec::new();
        header.emit(&mut again);
        assert_eq!((again.len(), &again[..]), (header.len(), &bytes[..12]));
        // Without the original source: 1100 + 0a00 + 0002 = 1b02. The other bits are reserved.
        let bytes = hex("11 00 e4fd 0a000002");
        let header = Header { protocol: Protocol::UDP, source: None, ..header };
        assert_eq!(Header::parse(&bytes), Ok((header, &[][..])));
        assert_eq!(Header::parse(&hex("11 7f e47e 0a000002")), Ok((header, &[][..])));
        again.clear();
        header.emit(&mut again);
        assert_eq!((again.len(), &again[..]), (header.len(), &bytes[..]));
        assert_eq!(Header::parse(&hex("11 00 e4fc 0a000002")), Err(WireError::Checksum { format: FORMAT }));
        assert!(Header::parse(&hex("06 80 e57c 0a000002 0a0000")).is_err());
    }

    #[test]
    fn a_datagram_through_a_tunnel() {
        let (source, destination) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let header = ipv4::Header { identification: 7, ..ipv4::Header::new(Protocol::UDP, source, destination, 9) };
        let mut datagram = Vec::new();
        header.emit(b"twelve bytes", &mut datagram).expect("short");
        let mut tunnelled = Vec::new();
        encapsulate(&datagram, ENTRY, EXIT, &mut tunnelled).expect("sound");
        assert_eq!(tunnelled.len(), datagram.len() + 12);
        let (outer, _) = ipv4::Header::parse(&tunnelled).expect("sound");
        assert_eq!((outer.source, outer.destination, outer.ttl, outer.identification), (ENTRY, EXIT, 9, 7));
        let mut back = Vec::new();
        decapsulate(&tunnelled, &mut back).expect("sound");
        assert_eq!(back, datagram);
        // The source itself is the entry of the tunnel: its address need not be repeated.
        tunnelled.clear();
        encapsulate(&datagram, source, EXIT, &mut tunnelled).expect("sound");
        assert_eq!(tunnelled.len(), datagram.len() + 8);
        back.clear();
        decapsulate(&tunnelled, &mut back).expect("sound");
        assert_eq!(back, datagram);
        assert!(decapsulate(&datagram, &mut back).is_err(), "it came through no tunnel");
        let mut fragment = Vec::new();
        ipv4::Header { fragment_offset: 3, ..header }.emit(b"more", &mut fragment).expect("short");
        let error = encapsulate(&fragment, ENTRY, EXIT, &mut back).expect_err("a fragment");
        assert_eq!(error.to_string(), "minimal encapsulation: expected a whole datagram, not a fragment, found 3");
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(
            protocol: u8, destination in address(), source in prop::option::of(address()), rest in bytes(20),
            bit: prop::sample::Index,
        ) {
            let header = Header { protocol: Protocol(protocol), destination, source };
            let mut bytes = Vec::new();
            header.emit(&mut bytes);
            prop_assert_eq!(bytes.len(), header.len());
            let bit = bit.index(bytes.len() * 8);
            bytes.extend_from_slice(&rest);
            prop_assert_eq!(Header::parse(&bytes), Ok((header, &rest[..])));
            bytes[bit / 8] ^= 1 << (bit % 8);
            // The bit S decides over the bytes that the checksum covers.
            prop_assume!(bit != 15);
            prop_assert!(Header::parse(&bytes).is_err());
        }

        #[test]
        fn a_tunnel_changes_nothing(
            protocol: u8, ttl: u8, ends in [address(), address(), address(), address()], payload in bytes(40),
        ) {
            let [source, destination, entry, exit] = ends;
            let mut datagram = Vec::new();
            let header = ipv4::Header::new(Protocol(protocol), source, destination, ttl);
            header.emit(&payload, &mut datagram).expect("short");
            let (mut tunnelled, mut back) = (Vec::new(), Vec::new());
            encapsulate(&datagram, entry, exit, &mut tunnelled).expect("sound");
            decapsulate(&tunnelled, &mut back).expect("sound");
            prop_assert_eq!(back, datagram);
        }
    }
}
