//! ICMP for IPv4: echo, errors with a quote of the datagram that caused them (RFC 792), and router discovery (RFC
//! 1256).

use std::net::Ipv4Addr;

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
    /// No program uses the port.
    pub const PORT: Self = Self(3);
    /// The datagram is too long for the next link, and must not be fragmented.
    pub const FRAGMENTATION_NEEDED: Self = Self(4);
}

/// The types of errors, about which no error is sent (RFC 1122 §3.2.2): destination unreachable, source quench,
/// redirect, time exceeded, and parameter problem.
pub const ERRORS: [u8; 5] = [3, 4, 5, 11, 12];

/// A router in an advertisement (RFC 1256 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Router {
    /// Its address on the link on which the advertisement is sent.
    pub address: Ipv4Addr,
    /// How much it is preferred as a default router over others of its link. [`Self::NEVER_DEFAULT`] says not at all.
    pub preference: i32,
}

impl Router {
    /// The preference of an address that is no default router.
    pub const NEVER_DEFAULT: i32 = i32::MIN;
}

/// A message without what follows its header: the data of an echo, the quote of an error, or the extensions of a router
/// advertisement.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// Type 9: a router advertisement (RFC 1256 §3). The advertisement of a mobility agent has extensions.
    RouterAdvertisement {
        /// Whether the routers also forward what does not come from registered mobile nodes. If so, the code is 0,
        /// otherwise 16 (RFC 5944 §2.1).
        common_traffic: bool,
        /// The number of seconds for which the routers are valid.
        lifetime: u16,
        /// The routers; at most 255. Mobility agents may give none (RFC 5944 §2.1).
        routers: Vec<Router>,
    },
    /// Type 10: asks routers, or mobility agents, for an advertisement (RFC 1256 §3).
    RouterSolicitation,
}

/// The code of a router advertisement whose routers do not forward common traffic.
const NO_COMMON_TRAFFIC: u8 = 16;

impl Message {
    /// The message, and the bytes after its header: the data of an echo, the quote of an error for
    /// [`super::ipv4::Header::parse_quoted`], or the extensions of a router advertisement for
    /// [`super::mobile_ip::Advertisement::parse`].
    ///
    /// # Errors
    /// If the bytes end too early, the type or a code is unknown, or the checksum does not match.
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
            9 => {
                let [count, words] = high.to_be_bytes();
                if ![0, NO_COMMON_TRAFFIC].contains(&code) {
                    return Err(reader.malformed("code 0 or 16", u32::from(code)));
                }
                // Longer entries are of a later version, which adds to their end (RFC 1256 §4.2).
                if words < 2 {
                    return Err(reader.malformed("routers of 2 words or more", u32::from(words)));
                }
                // The bytes that are there bound what is set aside for a count that nothing follows.
                let mut routers = Vec::with_capacity(usize::from(count).min(reader.bytes.len() / 8));
                for _ in 0..count {
                    let (address, preference) = (reader.address()?, reader.u32()?.cast_signed());
                    reader.take(usize::from(words - 2) * 4)?;
                    routers.push(Router { address, preference });
                }
                Self::RouterAdvertisement { common_traffic: code == 0, lifetime: low, routers }
            }
            10 => {
                reader.constant("code 0", 0, u32::from(code))?;
                Self::RouterSolicitation
            }
            11 => Self::TimeExceeded { code },
            _ => return Err(reader.malformed("type 0, 3 or 8 to 11", u32::from(kind))),
        };
        Ok((message, reader.bytes))
    }

    /// Appends the message's bytes; `rest` is the data of an echo, the quote of an error, or the extensions of a router
    /// advertisement.
    ///
    /// # Errors
    /// If there are more than 255 routers.
    pub fn emit(&self, rest: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        let start = out.len();
        let mut all: &[Router] = &[];
        let (kind, code, high, low) = match *self {
            Self::EchoRequest { identifier, sequence } => (8, 0, identifier, sequence),
            Self::EchoReply { identifier, sequence } => (0, 0, identifier, sequence),
            Self::DestinationUnreachable { code, next_hop_mtu } => (3, code.0, 0, next_hop_mtu),
            Self::TimeExceeded { code } => (11, code, 0, 0),
            Self::RouterAdvertisement { common_traffic, lifetime, ref routers } => {
                all = routers;
                let found = routers.len();
                let too_many = |_| WireError::TooLong { format: FORMAT, unit: "routers", limit: 255, found };
                let count = u8::try_from(found).map_err(too_many)?;
                let code = if common_traffic { 0 } else { NO_COMMON_TRAFFIC };
                (9, code, u16::from_be_bytes([count, 2]), lifetime)
            }
            Self::RouterSolicitation => (10, 0, 0, 0),
        };
        out.extend([kind, code, 0, 0]);
        out.u16(high);
        out.u16(low);
        for router in all {
            out.address(router.address);
            out.u32(router.preference.cast_unsigned());
        }
        out.extend_from_slice(rest);
        let sum = checksum::internet(&out[start..]);
        out[start + 2..start + 4].copy_from_slice(&sum.to_be_bytes());
        Ok(())
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
    use crate::testing::{address, bytes, hex};
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
        message.emit(quote(quoted), &mut again).expect("no routers");
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
        let bytes = with_sum(hex("0500 0000 0a000001"));
        assert_eq!(
            Message::parse(&bytes).expect_err("a redirect").to_string(),
            "ICMP: expected type 0, 3 or 8 to 11, found 5"
        );
    }

    /// The bytes with their checksum.
    fn with_sum(mut bytes: Vec<u8>) -> Vec<u8> {
        let sum = checksum::internet(&bytes);
        bytes[2..4].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    #[test]
    fn router_discovery_as_in_the_figures_of_rfc_1256() {
        // Type, code, checksum; two routers of two words, a lifetime of 1800 s; each router with its preference.
        let bytes = with_sum(hex("09 00 0000 02 02 0708 0a000001 00000000 0a000002 80000000"));
        let routers = vec![
            Router { address: Ipv4Addr::new(10, 0, 0, 1), preference: 0 },
            Router { address: Ipv4Addr::new(10, 0, 0, 2), preference: Router::NEVER_DEFAULT },
        ];
        let mut message = Message::RouterAdvertisement { common_traffic: true, lifetime: 1800, routers };
        assert_eq!(Message::parse(&bytes), Ok((message.clone(), &[][..])));
        let mut again = Vec::new();
        message.emit(&[], &mut again).expect("two routers");
        assert_eq!(again, bytes);
        // An agent that forwards only for its mobile nodes has code 16; extensions follow the routers.
        let agent = with_sum([&[9, 16, 0, 0], &bytes[4..], &[19, 2, 24, 16]].concat());
        let Message::RouterAdvertisement { common_traffic, .. } = &mut message else { panic!("it is one") };
        *common_traffic = false;
        assert_eq!(Message::parse(&agent), Ok((message.clone(), &[19, 2, 24, 16][..])));
        // A later version has longer entries; what it adds is passed over.
        let longer = with_sum(hex("0900 0000 01 03 0708 0a000001 00000007 ffffffff"));
        let routers = vec![Router { address: Ipv4Addr::new(10, 0, 0, 1), preference: 7 }];
        message = Message::RouterAdvertisement { common_traffic: true, lifetime: 1800, routers };
        assert_eq!(Message::parse(&longer), Ok((message, &[][..])));
        // A solicitation; its last four bytes are reserved.
        let bytes = hex("0a00 f5ff 00000000");
        assert_eq!(Message::parse(&bytes), Ok((Message::RouterSolicitation, &[][..])));
        again.clear();
        Message::RouterSolicitation.emit(&[], &mut again).expect("no routers");
        assert_eq!(again, bytes);
    }

    #[test]
    fn unsound_router_discovery_is_refused() {
        let said = |text: &str| Message::parse(&with_sum(hex(text))).expect_err("unsound").to_string();
        assert_eq!(said("0901 0000 0002 0708"), "ICMP: expected code 0 or 16, found 1");
        assert_eq!(said("0900 0000 0101 0708 0a000001"), "ICMP: expected routers of 2 words or more, found 1");
        assert_eq!(said("0900 0000 0202 0708 0a000001 00000000"), "ICMP: expected 20 bytes or more, found 16");
        assert_eq!(said("0a10 0000 00000000"), "ICMP: expected code 0, found 16");
        let router = Router { address: Ipv4Addr::UNSPECIFIED, preference: 0 };
        let message = Message::RouterAdvertisement { common_traffic: true, lifetime: 0, routers: vec![router; 256] };
        let error = message.emit(&[], &mut Vec::new()).expect_err("too many");
        assert_eq!(error.to_string(), "ICMP: expected at most 255 routers, found 256");
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
            (any::<bool>(), any::<u16>(), prop::collection::vec(router(), 0..4)).prop_map(
                |(common_traffic, lifetime, routers)| Message::RouterAdvertisement {
                    common_traffic,
                    lifetime,
                    routers
                }
            ),
            Just(Message::RouterSolicitation),
        ]
    }

    fn router() -> impl Strategy<Value = Router> {
        (address(), any::<i32>()).prop_map(|(address, preference)| Router { address, preference })
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(message in message(), rest in bytes(100), bit: prop::sample::Index) {
            let mut bytes = Vec::new();
            message.emit(&rest, &mut bytes).expect("few routers");
            prop_assert_eq!(Message::parse(&bytes), Ok((message, &rest[..])));
            let bit = bit.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Message::parse(&bytes).is_err());
        }
    }
}
