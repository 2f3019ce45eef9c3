//! The messages of AOMDV. Marina and Das (ICNP 2001; Wireless Communications and Mobile Computing 6, 2006) say what
//! they carry, but define no format. This format is Hopyard's own: that of AODV (RFC 3561 §5), with the fields that
//! AOMDV adds at the end of requests and replies. All numbers are in network byte order.
//!
//! | bytes | RREQ (type 1) | RREP (type 2) | HELLO (type 4) |
//! |---|---|---|---|
//! | 0–3 | type, flags, zero, hops | type, zero, zero, hops | type, zeros |
//! | 4–7 | number of the request | destination | the sender |
//! | 8–11 | destination | its sequence number | its sequence number |
//! | 12–15 | its sequence number | originator of the request | the sender |
//! | 16–19 | originator | lifetime in milliseconds | lifetime in milliseconds |
//! | 20–23 | its sequence number | number of the request | |
//! | 24–27 | first hop | first hop | |
//!
//! The flag 08 says that the destination's sequence number is unknown; the hops are the advertised hop count.
//!
//! A RERR (type 3) is that of AODV without flags: the number of destinations is in byte 3, and each destination is
//! followed by its sequence number. What is zero here is ignored on reception. UDP carries the messages on a port for
//! experiments (RFC 4727 §6), because AODV's port would make other programs read them as AODV.

use std::net::Ipv4Addr;

use super::{Reader, WireError, Write};

const FORMAT: &str = "AOMDV";

/// The flag of a request that says that no sequence number of the destination is known.
const UNKNOWN_SEQUENCE: u8 = 0x08;

/// A route request, 28 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteRequest {
    /// Whether the destination's sequence number is unknown.
    pub unknown_sequence: bool,
    /// The hop count that the sender advertises for its route to the originator.
    pub hop_count: u8,
    /// The number of the request among those of its originator.
    pub id: u32,
    /// The destination to which routes are needed.
    pub destination: Ipv4Addr,
    /// The last known sequence number of the destination.
    pub destination_sequence: u32,
    /// The originator, which needs the routes.
    pub originator: Ipv4Addr,
    /// The sequence number of the originator.
    pub originator_sequence: u32,
    /// The neighbour of the originator through which this copy came.
    pub first_hop: Ipv4Addr,
}

/// A route reply, 28 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteReply {
    /// The hop count that the sender advertises for its route to the destination.
    pub hop_count: u8,
    /// The destination of the routes.
    pub destination: Ipv4Addr,
    /// The sequence number of the destination.
    pub destination_sequence: u32,
    /// The originator of the request.
    pub originator: Ipv4Addr,
    /// The lifetime of the path in milliseconds.
    pub lifetime: u32,
    /// The number of the request that is answered.
    pub id: u32,
    /// The neighbour of the destination to which this path leads.
    pub first_hop: Ipv4Addr,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Type 1.
    RouteRequest(RouteRequest),
    /// Type 2.
    RouteReply(RouteReply),
    /// Type 3: the unreachable destinations with their sequence numbers, 1 to 255.
    RouteError(Vec<(Ipv4Addr, u32)>),
    /// Type 4.
    Hello {
        /// The sender.
        sender: Ipv4Addr,
        /// Its sequence number.
        sequence: u32,
        /// How long the route to the sender is valid, in milliseconds.
        lifetime: u32,
    },
}

impl Message {
    /// The message, and the bytes that follow it.
    ///
    /// # Errors
    /// If the bytes end too early, the type is unknown, or a route error has no destination.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let (kind, flags, _zero, count) = (reader.u8()?, reader.u8()?, reader.u8()?, reader.u8()?);
        let message = match kind {
            1 => Self::RouteRequest(RouteRequest {
                unknown_sequence: flags & UNKNOWN_SEQUENCE != 0,
                hop_count: count,
                id: reader.u32()?,
                destination: reader.address()?,
                destination_sequence: reader.u32()?,
                originator: reader.address()?,
                originator_sequence: reader.u32()?,
                first_hop: reader.address()?,
            }),
            2 => Self::RouteReply(RouteReply {
                hop_count: count,
                destination: reader.address()?,
                destination_sequence: reader.u32()?,
                originator: reader.address()?,
                lifetime: reader.u32()?,
                id: reader.u32()?,
                first_hop: reader.address()?,
            }),
            3 => {
                if count == 0 {
                    return Err(reader.malformed("at least one unreachable destination", 0));
                }
                let mut unreachable = Vec::with_capacity(usize::from(count));
                for _ in 0..count {
                    unreachable.push((reader.address()?, reader.u32()?));
                }
                Self::RouteError(unreachable)
            }
            4 => {
                let (sender, sequence, _sender) = (reader.address()?, reader.u32()?, reader.address()?);
                Self::Hello { sender, sequence, lifetime: reader.u32()? }
            }
            _ => return Err(reader.malformed("type 1 to 4", u32::from(kind))),
        };
        Ok((message, reader.bytes))
    }

    /// Appends the message's bytes.
    ///
    /// # Errors
    /// If a route error has no destination or more than 255.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        match self {
            Self::RouteRequest(request) => {
                let flags = if request.unknown_sequence { UNKNOWN_SEQUENCE } else { 0 };
                out.extend([1, flags, 0, request.hop_count]);
                out.u32(request.id);
                out.address(request.destination);
                out.u32(request.destination_sequence);
                out.address(request.originator);
                out.u32(request.originator_sequence);
                out.address(request.first_hop);
            }
            Self::RouteReply(reply) => {
                out.extend([2, 0, 0, reply.hop_count]);
                out.address(reply.destination);
                out.u32(reply.destination_sequence);
                out.address(reply.originator);
                out.u32(reply.lifetime);
                out.u32(reply.id);
                out.address(reply.first_hop);
            }
            Self::RouteError(unreachable) => {
                let (unit, found) = ("unreachable destinations", unreachable.len());
                let count =
                    u8::try_from(found).map_err(|_| WireError::TooLong { format: FORMAT, unit, limit: 255, found })?;
                if count == 0 {
                    let expected = "at least one unreachable destination";
                    return Err(WireError::Malformed { format: FORMAT, expected, found: 0 });
                }
                out.extend([3, 0, 0, count]);
                for &(address, sequence) in unreachable {
                    out.address(address);
                    out.u32(sequence);
                }
            }
            Self::Hello { sender, sequence, lifetime } => {
                out.extend([4, 0, 0, 0]);
                out.address(*sender);
                out.u32(*sequence);
                out.address(*sender);
                out.u32(*lifetime);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{A, B, address, hex, holds_of_messages};

    #[test]
    fn messages_are_laid_out_as_said() {
        let request = Message::RouteRequest(RouteRequest {
            unknown_sequence: true,
            hop_count: 3,
            id: 7,
            destination: B,
            destination_sequence: 0,
            originator: A,
            originator_sequence: 0x0102_0304,
            first_hop: Ipv4Addr::new(10, 0, 0, 2),
        });
        let bytes = hex("01080003 00000007 0a000009 00000000 0a000001 01020304 0a000002");
        assert_eq!(emitted(&request), bytes);
        let noisy = hex("01ffff03 00000007 0a000009 00000000 0a000001 01020304 0a000002");
        assert_eq!(Message::parse(&noisy), Ok((request, &[][..])), "what has no meaning is ignored");
        let reply = Message::RouteReply(RouteReply {
            hop_count: 2,
            destination: B,
            destination_sequence: 11,
            originator: A,
            lifetime: 3000,
            id: 7,
            first_hop: Ipv4Addr::new(10, 0, 0, 8),
        });
        assert_eq!(emitted(&reply), hex("02000002 0a000009 0000000b 0a000001 00000bb8 00000007 0a000008"));
        let error = Message::RouteError(vec![(B, 12), (A, 1)]);
        assert_eq!(emitted(&error), hex("03000002 0a000009 0000000c 0a000001 00000001"));
        let hello = Message::Hello { sender: A, sequence: 6, lifetime: 4000 };
        assert_eq!(emitted(&hello), hex("04000000 0a000001 00000006 0a000001 00000fa0"));
    }

    #[test]
    fn impossible_messages_are_refused() {
        refuses(&[
            ("05000000", "AOMDV: expected type 1 to 4, found 5"),
            ("03000000", "AOMDV: expected at least one unreachable destination, found 0"),
            ("03000002 0a000009 0000000c 0a0000", "AOMDV: expected 16 bytes or more, found 15"),
            ("04", "AOMDV: expected 2 bytes or more, found 1"),
        ]);
        for count in [0, 256] {
            assert!(Message::RouteError(vec![(A, 1); count]).emit(&mut Vec::new()).is_err(), "{count}");
        }
    }

    fn message() -> impl Strategy<Value = Message> {
        let numbers = any::<(bool, u8, u32, u32, u32)>();
        let request = (numbers, address(), address(), address()).prop_map(
            |((unknown_sequence, hop_count, id, destination_sequence, originator_sequence), a, b, c)| {
                Message::RouteRequest(RouteRequest {
                    unknown_sequence,
                    hop_count,
                    id,
                    destination: a,
                    destination_sequence,
                    originator: b,
                    originator_sequence,
                    first_hop: c,
                })
            },
        );
        let reply = (any::<(u8, u32, u32, u32)>(), address(), address(), address()).prop_map(
            |((hop_count, destination_sequence, lifetime, id), destination, originator, first_hop)| {
                Message::RouteReply(RouteReply {
                    hop_count,
                    destination,
                    destination_sequence,
                    originator,
                    lifetime,
                    id,
                    first_hop,
                })
            },
        );
        let error = prop::collection::vec((address(), any::<u32>()), 1..256).prop_map(Message::RouteError);
        let hello = (address(), any::<(u32, u32)>()).prop_map(|(sender, (sequence, lifetime))| Message::Hello {
            sender,
            sequence,
            lifetime,
        });
        prop_oneof![request, reply, error, hello]
    }

    holds_of_messages!(rest: 10, types: 0..6_u8, bytes: 60);
}
