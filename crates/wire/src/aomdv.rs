//! The messages of AOMDV. Marina and Das (ICNP 2001; Wireless Communications and Mobile Computing 6, 2006) tell the
//! contents of the messages, but define no format. This format is Hopyard's own: the format of AODV (RFC 3561 §5), with
//! the fields that AOMDV adds at the end of requests and replies. All numbers are in network byte order.
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
//! A RERR (type 3) has the format of AODV without flags: the number of destinations is in byte 3, and each destination
//! is followed by its sequence number. Fields that are zero here are ignored on reception. UDP carries the messages on
//! a port for experiments (RFC 4727 §6), because AODV's port would make other programs read them as AODV.

use std::net::Ipv4Addr;

use hopyard_engine::Span;

use super::{Carrier, Datagram, Name, Reader, WireError, Write, emit_unreachable};

const FORMAT: &str = "AOMDV";

/// The flag of a request that says that no sequence number of the destination is known.
const UNKNOWN_SEQUENCE: u8 = 0x08;

/// A route request, 28 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteRequest<A = Ipv4Addr> {
    /// Whether the destination's sequence number is unknown.
    pub unknown_sequence: bool,
    /// The hop count that the sender advertises for its route to the originator.
    pub hops: u8,
    /// The number of the request among the requests of its originator.
    pub id: u32,
    /// The destination to which routes are needed.
    pub destination: A,
    /// The last known sequence number of the destination; no meaning if it is unknown.
    pub destination_sequence: u32,
    /// The originator, which needs the routes.
    pub originator: A,
    /// The sequence number of the originator.
    pub originator_sequence: u32,
    /// The neighbour of the originator through which this copy came. The neighbour itself writes it.
    pub first_hop: A,
}

/// A route reply, 28 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteReply<A = Ipv4Addr> {
    /// The hop count that the sender advertises for its route to the destination.
    pub hops: u8,
    /// The destination of the routes.
    pub destination: A,
    /// The sequence number of the destination.
    pub destination_sequence: u32,
    /// The originator of the request.
    pub originator: A,
    /// How long the path is valid; whole milliseconds on the wire.
    pub lifetime: Span,
    /// The number of the request that is answered.
    pub id: u32,
    /// The neighbour of the destination to which this path leads.
    pub first_hop: A,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message<A = Ipv4Addr> {
    /// A request for routes (RREQ), type 1.
    Request(RouteRequest<A>),
    /// A reply that gives a path (RREP), type 2.
    Reply(RouteReply<A>),
    /// A route error (RERR), type 3: the destinations that cannot be reached any more through the sender, with their
    /// sequence numbers, 1 to 255.
    Error(Vec<(A, u32)>),
    /// The sender is there (HELLO), type 4.
    Hello {
        /// The sender.
        sender: A,
        /// Its sequence number.
        sequence: u32,
        /// How long the route to the sender is valid; whole milliseconds on the wire.
        lifetime: Span,
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
            1 => Self::Request(RouteRequest {
                unknown_sequence: flags & UNKNOWN_SEQUENCE != 0,
                hops: count,
                id: reader.u32()?,
                destination: reader.address()?,
                destination_sequence: reader.u32()?,
                originator: reader.address()?,
                originator_sequence: reader.u32()?,
                first_hop: reader.address()?,
            }),
            2 => Self::Reply(RouteReply {
                hops: count,
                destination: reader.address()?,
                destination_sequence: reader.u32()?,
                originator: reader.address()?,
                lifetime: reader.milliseconds()?,
                id: reader.u32()?,
                first_hop: reader.address()?,
            }),
            3 => Self::Error(reader.unreachable(count)?),
            4 => {
                let (sender, sequence, _sender) = (reader.address()?, reader.u32()?, reader.address()?);
                Self::Hello { sender, sequence, lifetime: reader.milliseconds()? }
            }
            _ => return Err(reader.malformed("type 1 to 4", u32::from(kind))),
        };
        Ok((message, reader.bytes))
    }
}

impl<A: Copy> Message<A> {
    /// Appends the message's bytes. `name` gives the address that bytes have.
    ///
    /// # Errors
    /// If a route error has no destination or more than 255.
    pub fn emit(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<(), WireError> {
        match self {
            Self::Request(request) => {
                let flags = if request.unknown_sequence { UNKNOWN_SEQUENCE } else { 0 };
                out.extend([1, flags, 0, request.hops]);
                out.u32(request.id);
                out.address(name(request.destination));
                out.u32(request.destination_sequence);
                out.address(name(request.originator));
                out.u32(request.originator_sequence);
                out.address(name(request.first_hop));
            }
            Self::Reply(reply) => {
                out.extend([2, 0, 0, reply.hops]);
                out.address(name(reply.destination));
                out.u32(reply.destination_sequence);
                out.address(name(reply.originator));
                out.milliseconds(reply.lifetime);
                out.u32(reply.id);
                out.address(name(reply.first_hop));
            }
            Self::Error(unreachable) => emit_unreachable(FORMAT, 0, unreachable, name, out)?,
            &Self::Hello { sender, sequence, lifetime } => {
                out.extend([4, 0, 0, 0]);
                out.address(name(sender));
                out.u32(sequence);
                out.address(name(sender));
                out.milliseconds(lifetime);
            }
        }
        Ok(())
    }
}

impl<A: Name> Datagram<A> for Message<A> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request(_) => "RREQ",
            Self::Reply(_) => "RREP",
            Self::Error(_) => "RERR",
            Self::Hello { .. } => "HELLO",
        }
    }

    fn encode(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        self.emit(name, out)?;
        Ok(Carrier::Udp(crate::udp::Header::EXPERIMENT_2))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{A, B, address, hex, holds_of_messages};

    #[test]
    fn messages_are_laid_out_as_said() {
        let request = Message::Request(RouteRequest {
            unknown_sequence: true,
            hops: 3,
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
        let reply = Message::Reply(RouteReply {
            hops: 2,
            destination: B,
            destination_sequence: 11,
            originator: A,
            lifetime: Span::from_millis(3000),
            id: 7,
            first_hop: Ipv4Addr::new(10, 0, 0, 8),
        });
        assert_eq!(emitted(&reply), hex("02000002 0a000009 0000000b 0a000001 00000bb8 00000007 0a000008"));
        let error = Message::Error(vec![(B, 12), (A, 1)]);
        assert_eq!(emitted(&error), hex("03000002 0a000009 0000000c 0a000001 00000001"));
        let hello = Message::Hello { sender: A, sequence: 6, lifetime: Span::from_millis(4000) };
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
            assert!(Message::Error(vec![(A, 1); count]).emit(&|it| it, &mut Vec::new()).is_err(), "{count}");
        }
    }

    fn message() -> impl Strategy<Value = Message> {
        let numbers = any::<(bool, u8, u32, u32, u32)>();
        let request = (numbers, address(), address(), address()).prop_map(
            |((unknown_sequence, hops, id, destination_sequence, originator_sequence), a, b, c)| {
                Message::Request(RouteRequest {
                    unknown_sequence,
                    hops,
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
            |((hops, destination_sequence, lifetime, id), destination, originator, first_hop)| {
                Message::Reply(RouteReply {
                    hops,
                    destination,
                    destination_sequence,
                    originator,
                    lifetime: Span::from_millis(u64::from(lifetime)),
                    id,
                    first_hop,
                })
            },
        );
        let error = prop::collection::vec((address(), any::<u32>()), 1..256).prop_map(Message::Error);
        let hello = (address(), any::<(u32, u32)>()).prop_map(|(sender, (sequence, lifetime))| Message::Hello {
            sender,
            sequence,
            lifetime: Span::from_millis(lifetime.into()),
        });
        prop_oneof![request, reply, error, hello]
    }

    holds_of_messages!(rest: 10, types: 0..6_u8, bytes: 60);
}
