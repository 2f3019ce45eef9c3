//! IPv6 (RFC 8200 §3), without extension headers.

use std::net::Ipv6Addr;

use super::ipv4::Protocol;
use super::{Reader, WireError, Write};

const FORMAT: &str = "IPv6";

/// The bytes of a header.
pub const HEADER: u32 = 40;

/// A header. The length is computed, and the flow label is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Differentiated services and congestion notification.
    pub traffic_class: u8,
    /// The protocol of the payload.
    pub protocol: Protocol,
    /// The number of hops that remain.
    pub hop_limit: u8,
    /// The source address.
    pub source: Ipv6Addr,
    /// The destination address.
    pub destination: Ipv6Addr,
}

impl Header {
    /// The header and the payload. Bytes after the payload are padding of the link layer. An extension header is a part
    /// of the payload, and its type the protocol.
    ///
    /// # Errors
    /// If the bytes end too early, or the version is not 6.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let first = reader.u32()?;
        reader.constant("version 6", 6, first >> 28)?;
        let (length, protocol, hop_limit) = (reader.u16()?, Protocol(reader.u8()?), reader.u8()?);
        let (source, destination) = (reader.address6()?, reader.address6()?);
        let payload = reader.take(length.into())?;
        Ok((Self { traffic_class: (first >> 20) as u8, protocol, hop_limit, source, destination }, payload))
    }

    /// Appends the bytes of a packet.
    ///
    /// # Errors
    /// If the payload is too long for the format.
    pub fn emit(&self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let (found, limit) = (payload.len(), usize::from(u16::MAX));
        let length =
            u16::try_from(found).map_err(|_| WireError::TooLong { format: FORMAT, unit: "bytes", limit, found })?;
        out.u32(6 << 28 | u32::from(self.traffic_class) << 20);
        out.u16(length);
        out.extend([self.protocol.0, self.hop_limit]);
        out.extend(self.source.octets());
        out.extend(self.destination.octets());
        out.extend_from_slice(payload);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::HardwareAddress;
    use crate::testing::{bytes, hex};

    /// The header of a Hello that babeld 1.12.1 sent in a kernel whose device has the address 02:00:00:00:00:01.
    #[test]
    fn the_header_of_a_kernel() {
        let bytes =
            hex("6c000000 0003 11 01 fe80000000000000 000000fffe000001 ff020000000000000000000000010006 616263");
        let (header, payload) = Header::parse(&bytes).expect("sound");
        let station = HardwareAddress([2, 0, 0, 0, 0, 1]);
        let expected = Header {
            traffic_class: 0xc0,
            protocol: Protocol::UDP,
            hop_limit: 1,
            source: station.link_local(),
            destination: "ff02::1:6".parse().expect("an address"),
        };
        assert_eq!((header, payload), (expected, &b"abc"[..]));
        let mut again = Vec::new();
        header.emit(payload, &mut again).expect("short enough");
        assert_eq!(again, bytes);
        for (end, place, value, problem) in [
            (42, 0, 0x6c, "IPv6: expected 43 bytes or more, found 42"),
            (39, 0, 0x6c, "IPv6: expected 40 bytes or more, found 39"),
            (43, 0, 0x45, "IPv6: expected version 6, found 4"),
        ] {
            let mut bad = bytes[..end].to_vec();
            bad[place] = value;
            assert_eq!(Header::parse(&bad).expect_err(problem).to_string(), problem);
        }
        assert!(header.emit(&vec![0; 65_536], &mut again).is_err());
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(
            traffic_class: u8, protocol: u8, hop_limit: u8, addresses: [u128; 2], payload in bytes(60), rest in bytes(4),
        ) {
            let [source, destination] = addresses.map(Ipv6Addr::from_bits);
            let header = Header { traffic_class, protocol: Protocol(protocol), hop_limit, source, destination };
            let mut out = Vec::new();
            header.emit(&payload, &mut out).expect("short enough");
            out.extend(rest);
            prop_assert_eq!(Header::parse(&out), Ok((header, &payload[..])));
        }
    }
}
