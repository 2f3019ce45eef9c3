//! UDP (RFC 768).

use std::net::IpAddr;

use super::checksum::Checksum;
use super::ipv4::Protocol;
use super::{Reader, WireError, Write};

const FORMAT: &str = "UDP";

/// A header. Length and checksum are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The sender's port.
    pub source_port: u16,
    /// The receiver's port.
    pub destination_port: u16,
}

impl Header {
    /// The port of Mobile IP (RFC 5944 §3.3).
    pub const MOBILE_IP: u16 = 434;
    /// The port of AODV (RFC 3561 §10).
    pub const AODV: u16 = 654;
    /// The port of OLSR (RFC 3626 §3.1).
    pub const OLSR: u16 = 698;
    /// A port for experiments (RFC 4727 §6). Updates of DSDV have it, because no port is assigned to them.
    pub const EXPERIMENT: u16 = 1021;
    /// The other port for experiments (RFC 4727 §6). Messages of AOMDV have it, for the same reason.
    pub const EXPERIMENT_2: u16 = 1022;

    /// The header and the payload of a datagram from `source` to `destination`. A checksum of zero means that there is
    /// none, which IPv6 does not permit (RFC 8200 §8.1).
    ///
    /// # Errors
    /// If the bytes end too early, the length is impossible, or the checksum does not match.
    pub fn parse(
        bytes: &[u8],
        source: impl Into<IpAddr>,
        destination: impl Into<IpAddr>,
    ) -> Result<(Self, &[u8]), WireError> {
        let (source, destination) = (source.into(), destination.into());
        let mut reader = Reader::new(FORMAT, bytes);
        let header = Self { source_port: reader.u16()?, destination_port: reader.u16()? };
        let length = usize::from(reader.u16()?);
        let checksum = reader.u16()?;
        if length < 8 {
            return Err(reader.malformed("a length of 8 or more", length as u32));
        }
        let payload = reader.take(length - 8)?;
        let sum = Checksum::new().pseudo_header(source, destination, Protocol::UDP.0, length).bytes(&bytes[..length]);
        if (checksum != 0 || source.is_ipv6()) && sum.finish() != 0 {
            return Err(WireError::Checksum { format: FORMAT });
        }
        Ok((header, payload))
    }

    /// Appends the bytes of a datagram from `source` to `destination`.
    ///
    /// # Errors
    /// If the payload is too long for the format.
    pub fn emit(
        &self,
        payload: &[u8],
        source: impl Into<IpAddr>,
        destination: impl Into<IpAddr>,
        out: &mut Vec<u8>,
    ) -> Result<(), WireError> {
        let length = 8 + payload.len();
        if length > 0xffff {
            return Err(WireError::TooLong { format: FORMAT, unit: "bytes", limit: 0xffff, found: length });
        }
        let start = out.len();
        out.u16(self.source_port);
        out.u16(self.destination_port);
        out.u16(length as u16);
        out.u16(0);
        out.extend_from_slice(payload);
        let sum = Checksum::new().pseudo_header(source, destination, Protocol::UDP.0, length).bytes(&out[start..]);
        // Zero would mean that there is no checksum. The other form of zero in ones' complement is sent instead.
        let sum = if sum.finish() == 0 { 0xffff } else { sum.finish() };
        out[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;

    use super::*;
    use crate::testing::{address, bytes, hex};

    const A: Ipv4Addr = Ipv4Addr::new(10, 1, 1, 1);
    const B: Ipv4Addr = Ipv4Addr::new(10, 1, 1, 2);

    #[test]
    fn a_datagram_of_linux() {
        let bytes = hex("028e028e000b1153 6f6464");
        let (header, payload) = Header::parse(&bytes, A, B).expect("sound");
        assert_eq!(header, Header { source_port: Header::AODV, destination_port: Header::AODV });
        assert_eq!(payload, b"odd");
        let mut again = Vec::new();
        header.emit(payload, A, B, &mut again).expect("short enough");
        assert_eq!(again, bytes);
        assert_eq!(Header::parse(&bytes, A, A), Err(WireError::Checksum { format: "UDP" }));
        // Without a checksum from the sender, nothing is checked.
        let unchecked = hex("028e028e000b0000 6f6464");
        assert_eq!(Header::parse(&unchecked, A, A), Ok((header, &b"odd"[..])));
    }

    #[test]
    fn over_ipv6_the_sum_has_the_longer_addresses_and_is_needed() {
        let addresses: [Ipv6Addr; 2] = ["fe80::ff:fe00:1", "ff02::1:6"].map(|it| it.parse().expect("an address"));
        let header = Header { source_port: 6696, destination_port: 6696 };
        let mut bytes = Vec::new();
        header.emit(b"odd", addresses[0], addresses[1], &mut bytes).expect("short enough");
        // The sum of all words: fe80 + 00ff + fe00 + 1, ff02 + 1 + 6, 17 + 11, 1a28 twice, 000b, 6f64, 6400.
        assert_eq!(bytes[6..8], (!0x0468_u16).to_be_bytes());
        assert_eq!(Header::parse(&bytes, addresses[0], addresses[1]), Ok((header, &b"odd"[..])));
        bytes[6..8].fill(0);
        assert_eq!(Header::parse(&bytes, addresses[0], addresses[1]), Err(WireError::Checksum { format: "UDP" }));
    }

    #[test]
    fn a_checksum_of_zero_is_sent_as_its_other_form() {
        // The two bytes make the sum of all words ffff.
        let header = Header { source_port: 1, destination_port: 2 };
        let mut bytes = Vec::new();
        header.emit(&[0, 0], A, B, &mut bytes).expect("short enough");
        let sum = [bytes[6], bytes[7]];
        bytes.clear();
        header.emit(&sum, A, B, &mut bytes).expect("short enough");
        assert_eq!(bytes[6..8], [0xff, 0xff]);
        assert!(Header::parse(&bytes, A, B).is_ok());
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(
            ports: (u16, u16), payload in bytes(100), source in address(), destination in address(),
        ) {
            let header = Header { source_port: ports.0, destination_port: ports.1 };
            let mut bytes = Vec::new();
            header.emit(&payload, source, destination, &mut bytes).expect("short enough");
            prop_assert_eq!(Header::parse(&bytes, source, destination), Ok((header, &payload[..])));
            prop_assert!(Header::parse(&bytes[..bytes.len() - 1], source, destination).is_err());
        }
    }
}
