//! ICMP for IPv4 (RFC 792): echo, and errors with a quote of the datagram that caused them.

use super::{Reader, WireError, Write, checksum};

const FORMAT: &str = "ICMP";

/// Why a destination cannot be reached: codes of type 3 (RFC 792, RFC 1122 §3.2.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreachable(pub u8);

impl Unreachable {
    /// No route to the network.
    pub const NETWORK: Self = Self(0);
    /// The host does not answer on its link.
    pub const HOST: Self = Self(1);
    /// The host does not know the protocol.
    pub const PROTOCOL: Self = Self(2);
    /// No program uses the port.
    pub const PORT: Self = Self(3);
    /// The datagram is too long for the next link, and must not be fragmented.
    pub const FRAGMENTATION_NEEDED: Self = Self(4);
}

/// A message without what follows its header: the data of an echo, or the quote of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Type 8: an echo request.
    EchoRequest {
        /// The identifier of the sender.
        identifier: u16,
        /// The number of the request.
        sequence: u16,
    },
    /// Type 0: an echo reply.
    EchoReply {
        /// As in the request.
        identifier: u16,
        /// As in the request.
        sequence: u16,
    },
    /// Type 3: the quoted datagram could not be delivered.
    DestinationUnreachable {
        /// Why.
        code: Unreachable,
        /// With [`Unreachable::FRAGMENTATION_NEEDED`], the longest datagram for the next link (RFC 1191 §4); otherwise
        /// zero.
        next_hop_mtu: u16,
    },
    /// Type 11: the quoted datagram was dropped.
    TimeExceeded {
        /// 0 if its TTL expired, 1 if its fragments did not arrive in time.
        code: u8,
    },
}

impl Message {
    /// The message, and what follows its header: the data of an echo, or the quote of an error, for
    /// [`super::ipv4::Header::parse_quoted`].
    ///
    /// # Errors
    /// If the bytes end too early, the type is unknown, or the checksum does not match.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let (kind, code) = (reader.u8()?, reader.u8()?);
        let _checksum = reader.u16()?;
        let (high, low) = (reader.u16()?, reader.u16()?);
        if checksum::internet(bytes) != 0 {
            return Err(WireError::Checksum { format: FORMAT });
        }
        let message = match kind {
            0 | 8 => {
                reader.constant("code 0", 0, u32::from(code))?;
                if kind == 8 {
                    Self::EchoRequest { identifier: high, sequence: low }
                } else {
                    Self::EchoReply { identifier: high, sequence: low }
                }
            }
            3 => Self::DestinationUnreachable { code: Unreachable(code), next_hop_mtu: low },
            11 => Self::TimeExceeded { code },
            _ => return Err(reader.malformed("type 0, 3, 8 or 11", u32::from(kind))),
        };
        Ok((message, reader.bytes))
    }

    /// Appends the message's bytes; `rest` is the data of an echo, or the quote of an error.
    pub fn emit(&self, rest: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let (kind, code, high, low) = match *self {
            Self::EchoRequest { identifier, sequence } => (8, 0, identifier, sequence),
            Self::EchoReply { identifier, sequence } => (0, 0, identifier, sequence),
            Self::DestinationUnreachable { code, next_hop_mtu } => (3, code.0, 0, next_hop_mtu),
            Self::TimeExceeded { code } => (11, code, 0, 0),
        };
        out.extend([kind, code, 0, 0]);
        out.u16(high);
        out.u16(low);
        out.extend_from_slice(rest);
        let sum = checksum::internet(&out[start..]);
        out[start + 2..start + 4].copy_from_slice(&sum.to_be_bytes());
    }
}

/// The part of a datagram that an error quotes: as much as fits into 576 bytes with the error's headers (RFC 1812
/// §4.3.2.3).
#[must_use]
pub fn quote(datagram: &[u8]) -> &[u8] {
    &datagram[..datagram.len().min(576 - 20 - 8)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{bytes, hex};
    use crate::{ipv4, udp};

    #[test]
    fn the_unreachable_port_of_linux() {
        // The answer to a datagram from 127.0.0.1:40001 to 127.0.0.2:40002, where nobody listens.
        let bytes = hex("45c0003f 4f470000 40012cb4 7f000002 7f000001 030327ea 00000000 \
            45000023 759c4000 4011c72a 7f000001 7f000002 9c419c42 000ffe23 686f7079617264");
        let (outer, body) = ipv4::Header::parse(&bytes).expect("sound");
        assert_eq!(outer.protocol, ipv4::Protocol::ICMP);
        let (message, quoted) = Message::parse(body).expect("sound");
        assert_eq!(message, Message::DestinationUnreachable { code: Unreachable::PORT, next_hop_mtu: 0 });
        let (inner, start) = ipv4::Header::parse_quoted(quoted).expect("a quote");
        assert_eq!((inner.protocol, inner.source), (ipv4::Protocol::UDP, outer.destination));
        assert_eq!(start[..4], hex("9c41 9c42"));
        // The quote may end eight bytes after the header (RFC 792).
        assert_eq!(ipv4::Header::parse_quoted(&quoted[..28]), Ok((inner, &start[..8])));
        let mut again = Vec::new();
        message.emit(quote(quoted), &mut again);
        assert_eq!(again, body);
        // The sender of the quoted datagram left its checksum to the loopback interface, which computes none.
        assert!(udp::Header::parse(start, outer.destination, outer.source).is_err());
    }

    #[test]
    fn a_quote_keeps_the_error_within_576_bytes() {
        assert_eq!(quote(&[0; 1500]).len(), 548);
        assert_eq!(quote(&[0; 40]).len(), 40);
    }

    #[test]
    fn other_types_are_refused() {
        let mut bytes = hex("0500 0000 0a000001");
        let sum = checksum::internet(&bytes);
        bytes[2..4].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(
            Message::parse(&bytes).expect_err("a redirect").to_string(),
            "ICMP: expected type 0, 3, 8 or 11, found 5"
        );
    }

    fn message() -> impl Strategy<Value = Message> {
        prop_oneof![
            any::<(u16, u16)>().prop_map(|(identifier, sequence)| Message::EchoRequest { identifier, sequence }),
            any::<(u16, u16)>().prop_map(|(identifier, sequence)| Message::EchoReply { identifier, sequence }),
            any::<(u8, u16)>().prop_map(|(code, next_hop_mtu)| Message::DestinationUnreachable {
                code: Unreachable(code),
                next_hop_mtu,
            }),
            any::<u8>().prop_map(|code| Message::TimeExceeded { code }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(message in message(), rest in bytes(100), bit: prop::sample::Index) {
            let mut bytes = Vec::new();
            message.emit(&rest, &mut bytes);
            prop_assert_eq!(Message::parse(&bytes), Ok((message, &rest[..])));
            let bit = bit.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Message::parse(&bytes).is_err());
        }

        #[test]
        fn no_bytes_upset_the_parser(bytes in bytes(60)) {
            let _ = Message::parse(&bytes);
        }
    }
}
