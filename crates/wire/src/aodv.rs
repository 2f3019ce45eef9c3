//! The messages of AODV (RFC 3561 §5). UDP carries them on port 654. Extensions (§9) may follow each message.

use std::net::Ipv4Addr;

use super::{Reader, WireError, Write};

const FORMAT: &str = "AODV";

/// A route request (§5.1), 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteRequest {
    /// J: reserved for multicast.
    pub join: bool,
    /// R: reserved for multicast.
    pub repair: bool,
    /// G: whether a gratuitous reply is sent to the destination.
    pub gratuitous: bool,
    /// D: whether only the destination may reply.
    pub destination_only: bool,
    /// U: whether the destination's sequence number is unknown.
    pub unknown_sequence: bool,
    /// Hops from the originator.
    pub hop_count: u8,
    /// The number of the request among those of its originator.
    pub id: u32,
    /// The destination to which a route is needed.
    pub destination: Ipv4Addr,
    /// The last known sequence number of the destination.
    pub destination_sequence: u32,
    /// The originator, which needs the route.
    pub originator: Ipv4Addr,
    /// The sequence number of the originator.
    pub originator_sequence: u32,
}

/// A route reply (§5.2), 20 bytes; also a hello (§6.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteReply {
    /// R: reserved for multicast.
    pub repair: bool,
    /// A: whether an acknowledgement is required.
    pub acknowledge: bool,
    /// If not zero, the next hop may be used for any node with the same prefix of this length; below 32.
    pub prefix_size: u8,
    /// Hops to the destination.
    pub hop_count: u8,
    /// The destination of the route.
    pub destination: Ipv4Addr,
    /// The sequence number of the destination.
    pub destination_sequence: u32,
    /// The originator of the request.
    pub originator: Ipv4Addr,
    /// The lifetime of the route in milliseconds.
    pub lifetime: u32,
}

/// A route error (§5.3), 4 bytes and 8 for each destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteError {
    /// N: whether the link has been repaired, so that the route should not be deleted.
    pub no_delete: bool,
    /// The unreachable destinations with their sequence numbers: 1 to 255.
    pub unreachable: Vec<(Ipv4Addr, u32)>,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Type 1.
    RouteRequest(RouteRequest),
    /// Type 2.
    RouteReply(RouteReply),
    /// Type 3.
    RouteError(RouteError),
    /// Type 4, the acknowledgement of a reply (§5.4).
    RouteReplyAck,
}

/// An extension behind a message (§9): type, length, value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// Type 4 of AODV-UU: the host outside the ad hoc network for which a gateway answers.
    InternetDestination(Ipv4Addr),
}

impl Extension {
    /// Bytes of the extension.
    pub const BYTES: u32 = 6;

    /// Appends the extension's bytes.
    pub fn emit(self, out: &mut Vec<u8>) {
        let Self::InternetDestination(address) = self;
        out.extend([4, 4]);
        out.address(address);
    }
}

const fn bit(set: bool, mask: u8) -> u8 {
    if set { mask } else { 0 }
}

impl Message {
    /// The message, and the extensions that follow it. Reserved bits are ignored on reception (§5).
    ///
    /// # Errors
    /// If the bytes end too early, the type is unknown, or a route error has no destination.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let kind = reader.u8()?;
        let flags = reader.u8()?;
        let message = match kind {
            1 => {
                let (_reserved, hop_count) = (reader.u8()?, reader.u8()?);
                Self::RouteRequest(RouteRequest {
                    join: flags & 0x80 != 0,
                    repair: flags & 0x40 != 0,
                    gratuitous: flags & 0x20 != 0,
                    destination_only: flags & 0x10 != 0,
                    unknown_sequence: flags & 0x08 != 0,
                    hop_count,
                    id: reader.u32()?,
                    destination: reader.address()?,
                    destination_sequence: reader.u32()?,
                    originator: reader.address()?,
                    originator_sequence: reader.u32()?,
                })
            }
            2 => {
                let (prefix, hop_count) = (reader.u8()?, reader.u8()?);
                Self::RouteReply(RouteReply {
                    repair: flags & 0x80 != 0,
                    acknowledge: flags & 0x40 != 0,
                    prefix_size: prefix & 0x1f,
                    hop_count,
                    destination: reader.address()?,
                    destination_sequence: reader.u32()?,
                    originator: reader.address()?,
                    lifetime: reader.u32()?,
                })
            }
            3 => {
                let (_reserved, count) = (reader.u8()?, reader.u8()?);
                if count == 0 {
                    return Err(reader.malformed("at least one unreachable destination", 0));
                }
                let mut unreachable = Vec::with_capacity(usize::from(count));
                for _ in 0..count {
                    unreachable.push((reader.address()?, reader.u32()?));
                }
                Self::RouteError(RouteError { no_delete: flags & 0x80 != 0, unreachable })
            }
            4 => Self::RouteReplyAck,
            _ => return Err(reader.malformed("type 1 to 4", u32::from(kind))),
        };
        Ok((message, reader.bytes))
    }

    /// Appends the message's bytes.
    ///
    /// # Errors
    /// If a prefix has more than 31 bits, or a route error has no destination or more than 255.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        match self {
            Self::RouteRequest(request) => {
                let flags = bit(request.join, 0x80)
                    | bit(request.repair, 0x40)
                    | bit(request.gratuitous, 0x20)
                    | bit(request.destination_only, 0x10)
                    | bit(request.unknown_sequence, 0x08);
                out.extend([1, flags, 0, request.hop_count]);
                out.u32(request.id);
                out.address(request.destination);
                out.u32(request.destination_sequence);
                out.address(request.originator);
                out.u32(request.originator_sequence);
            }
            Self::RouteReply(reply) => {
                if reply.prefix_size > 31 {
                    let found = usize::from(reply.prefix_size);
                    return Err(WireError::TooLong { format: FORMAT, unit: "bits of prefix", limit: 31, found });
                }
                let flags = bit(reply.repair, 0x80) | bit(reply.acknowledge, 0x40);
                out.extend([2, flags, reply.prefix_size, reply.hop_count]);
                out.address(reply.destination);
                out.u32(reply.destination_sequence);
                out.address(reply.originator);
                out.u32(reply.lifetime);
            }
            Self::RouteError(error) => {
                let found = error.unreachable.len();
                let count = u8::try_from(found).map_err(|_| WireError::TooLong {
                    format: FORMAT,
                    unit: "unreachable destinations",
                    limit: 255,
                    found,
                })?;
                if count == 0 {
                    let expected = "at least one unreachable destination";
                    return Err(WireError::Malformed { format: FORMAT, expected, found: 0 });
                }
                out.extend([3, bit(error.no_delete, 0x80), 0, count]);
                for &(address, sequence) in &error.unreachable {
                    out.address(address);
                    out.u32(sequence);
                }
            }
            Self::RouteReplyAck => out.extend([4, 0]),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{A, B, address, hex, holds_of_messages};

    // There is no capture. These bytes were written by hand from the figures of RFC 3561 §5.1 to §5.4.

    #[test]
    fn a_request_is_laid_out_as_the_rfc_says() {
        let request = RouteRequest {
            join: false,
            repair: false,
            gratuitous: true,
            destination_only: false,
            unknown_sequence: true,
            hop_count: 3,
            id: 7,
            destination: B,
            destination_sequence: 0,
            originator: A,
            originator_sequence: 0x0102_0304,
        };
        let bytes = hex("01280003 00000007 0a000009 00000000 0a000001 01020304");
        assert_eq!(emitted(&Message::RouteRequest(request)), bytes);
        // The reserved bits are ignored.
        let noisy = hex("012fff03 00000007 0a000009 00000000 0a000001 01020304");
        assert_eq!(Message::parse(&noisy), Ok((Message::RouteRequest(request), &[][..])));
    }

    #[test]
    fn a_reply_is_laid_out_as_the_rfc_says() {
        let reply = RouteReply {
            repair: false,
            acknowledge: true,
            prefix_size: 24,
            hop_count: 2,
            destination: B,
            destination_sequence: 11,
            originator: A,
            lifetime: 3000,
        };
        assert_eq!(emitted(&Message::RouteReply(reply)), hex("02401802 0a000009 0000000b 0a000001 00000bb8"));
        let mut with_host = emitted(&Message::RouteReply(reply));
        Extension::InternetDestination(A).emit(&mut with_host);
        assert_eq!(with_host[20..], hex("0404 0a000001"));
        assert_eq!(with_host.len() as u32, 20 + Extension::BYTES);
        // A hello interval of one second follows (§9.2).
        let hello = hex("02401802 0a000009 0000000b 0a000001 00000bb8 0104 000003e8");
        assert_eq!(Message::parse(&hello), Ok((Message::RouteReply(reply), &hello[20..])));
    }

    #[test]
    fn errors_and_acknowledgements_are_laid_out_as_the_rfc_says() {
        let error = RouteError { no_delete: true, unreachable: vec![(B, 12), (A, 1)] };
        assert_eq!(emitted(&Message::RouteError(error)), hex("03800002 0a000009 0000000c 0a000001 00000001"));
        assert_eq!(emitted(&Message::RouteReplyAck), hex("0400"));
    }

    #[test]
    fn impossible_messages_are_refused() {
        refuses(&[
            ("05000000", "AODV: expected type 1 to 4, found 5"),
            ("03000000", "AODV: expected at least one unreachable destination, found 0"),
            ("03000002 0a000009 0000000c 0a0000", "AODV: expected 16 bytes or more, found 15"),
            ("04", "AODV: expected 2 bytes or more, found 1"),
        ]);
        let many = RouteError { no_delete: false, unreachable: vec![(A, 1); 256] };
        assert!(Message::RouteError(many).emit(&mut Vec::new()).is_err());
        let none = RouteError { no_delete: false, unreachable: vec![] };
        assert!(Message::RouteError(none).emit(&mut Vec::new()).is_err());
    }

    fn message() -> impl Strategy<Value = Message> {
        let request = (any::<[bool; 5]>(), any::<(u8, u32, u32, u32)>(), address(), address()).prop_map(
            |([join, repair, gratuitous, destination_only, unknown_sequence], numbers, destination, originator)| {
                Message::RouteRequest(RouteRequest {
                    join,
                    repair,
                    gratuitous,
                    destination_only,
                    unknown_sequence,
                    hop_count: numbers.0,
                    id: numbers.1,
                    destination,
                    destination_sequence: numbers.2,
                    originator,
                    originator_sequence: numbers.3,
                })
            },
        );
        let reply = (any::<[bool; 2]>(), 0..32_u8, any::<(u8, u32, u32)>(), address(), address()).prop_map(
            |([repair, acknowledge], prefix_size, numbers, destination, originator)| {
                Message::RouteReply(RouteReply {
                    repair,
                    acknowledge,
                    prefix_size,
                    hop_count: numbers.0,
                    destination,
                    destination_sequence: numbers.1,
                    originator,
                    lifetime: numbers.2,
                })
            },
        );
        let error = (any::<bool>(), prop::collection::vec((address(), any::<u32>()), 1..256))
            .prop_map(|(no_delete, unreachable)| Message::RouteError(RouteError { no_delete, unreachable }));
        prop_oneof![request, reply, error, Just(Message::RouteReplyAck)]
    }

    holds_of_messages!(rest: 10, types: 0..6_u8, bytes: 60);
}
