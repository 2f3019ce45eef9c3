//! The messages of AODV (RFC 3561 §5). UDP carries them on port 654. Extensions (§9) may follow each message.
//!
//! Left out: the flags for multicast (J, and R of requests and replies) and the prefix size of replies. They are zero,
//! and ignored on reception.

use std::net::Ipv4Addr;

use hopyard_engine::{Span, Time};

use super::{Carrier, Datagram, Name, Reader, WireError, Write, emit_unreachable};

const FORMAT: &str = "AODV";

/// A route request (§5.1), 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteRequest<A = Ipv4Addr> {
    /// G: whether a gratuitous reply is sent to the destination.
    pub gratuitous: bool,
    /// D: whether only the destination may reply.
    pub destination_only: bool,
    /// U: whether the destination's sequence number is unknown.
    pub unknown_sequence: bool,
    /// Hops from the originator to the node that handles the message; ns-2 starts counting at one.
    pub hops: u8,
    /// The number of the request among the requests of its originator.
    pub id: u32,
    /// The destination to which a route is needed.
    pub destination: A,
    /// The last known sequence number of the destination; no meaning if it is unknown.
    pub destination_sequence: u32,
    /// The originator, which needs the route.
    pub originator: A,
    /// The sequence number of the originator.
    pub originator_sequence: u32,
    /// When the request was sent: requests of ns-2 carry the time, to measure how long discoveries take. RFC 3561 has
    /// no bytes for it.
    pub sent: Time,
}

/// A route reply (§5.2), 20 bytes, and [`INTERNET_DESTINATION`] with a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteReply<A = Ipv4Addr> {
    /// A: whether an acknowledgement is required.
    pub ack_required: bool,
    /// Hops to the destination.
    pub hops: u8,
    /// The destination of the route.
    pub destination: A,
    /// The sequence number of the destination.
    pub destination_sequence: u32,
    /// The originator of the request.
    pub originator: A,
    /// How long the route is valid; whole milliseconds on the wire.
    pub lifetime: Span,
    /// The host outside the ad hoc network for which a gateway answers: the route leads to the gateway (RREP-I of
    /// AODV-UU, an extension of type 4).
    pub internet: Option<A>,
    /// When the request was sent (see [`RouteRequest::sent`]).
    pub sent: Time,
}

/// A route error (§5.3), 4 bytes and 8 for each destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteError<A = Ipv4Addr> {
    /// N: whether the link has been repaired, so that the route should not be deleted.
    pub no_delete: bool,
    /// The unreachable destinations with their sequence numbers: 1 to 255.
    pub unreachable: Vec<(A, u32)>,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message<A = Ipv4Addr> {
    /// A request for a route (RREQ), type 1.
    Request(RouteRequest<A>),
    /// A reply that gives a route (RREP), type 2.
    Reply(RouteReply<A>),
    /// Destinations that cannot be reached any more through the sender (RERR), type 3.
    Error(RouteError<A>),
    /// The acknowledgement of a reply with flag A (RREP-ACK, §5.4), type 4.
    ReplyAck,
    /// A HELLO (§6.9): a reply about its sender, without hops and flags.
    Hello {
        /// The sender.
        sender: A,
        /// The sequence number of the sender.
        sequence: u32,
        /// How long the route to the sender is valid.
        lifetime: Span,
    },
}

/// Bytes of the extension of a reply that names a host outside the ad hoc network.
pub const INTERNET_DESTINATION: u32 = 6;

/// Type and length of that extension.
const INTERNET_HEAD: [u8; 2] = [4, 4];

const fn bit(set: bool, mask: u8) -> u8 {
    if set { mask } else { 0 }
}

impl<A> RouteError<A> {
    /// Bytes of the message (ns-2 the same).
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        4 + 8 * self.unreachable.len() as u32
    }
}

impl Message {
    /// The message, and the bytes that follow it, with the extensions that are unknown here. Reserved bits are ignored
    /// on reception (§5).
    ///
    /// # Errors
    /// If the bytes end too early, the type is unknown, or a route error has no destination.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let kind = reader.u8()?;
        let flags = reader.u8()?;
        let message = match kind {
            1 => {
                let (_reserved, hops) = (reader.u8()?, reader.u8()?);
                Self::Request(RouteRequest {
                    gratuitous: flags & 0x20 != 0,
                    destination_only: flags & 0x10 != 0,
                    unknown_sequence: flags & 0x08 != 0,
                    hops,
                    id: reader.u32()?,
                    destination: reader.address()?,
                    destination_sequence: reader.u32()?,
                    originator: reader.address()?,
                    originator_sequence: reader.u32()?,
                    sent: Time::ZERO,
                })
            }
            2 => {
                let (_prefix, hops) = (reader.u8()?, reader.u8()?);
                let mut reply = RouteReply {
                    ack_required: flags & 0x40 != 0,
                    hops,
                    destination: reader.address()?,
                    destination_sequence: reader.u32()?,
                    originator: reader.address()?,
                    lifetime: reader.milliseconds()?,
                    internet: None,
                    sent: Time::ZERO,
                };
                if reader.bytes.starts_with(&INTERNET_HEAD) {
                    reader.take(INTERNET_HEAD.len())?;
                    reply.internet = Some(reader.address()?);
                }
                let RouteReply { destination: sender, destination_sequence: sequence, lifetime, .. } = reply;
                let hello = RouteReply::hello(sender, sequence, lifetime);
                if reply == hello { Self::Hello { sender, sequence, lifetime } } else { Self::Reply(reply) }
            }
            3 => {
                let (_reserved, count) = (reader.u8()?, reader.u8()?);
                Self::Error(RouteError { no_delete: flags & 0x80 != 0, unreachable: reader.unreachable(count)? })
            }
            4 => Self::ReplyAck,
            _ => return Err(reader.malformed("type 1 to 4", u32::from(kind))),
        };
        Ok((message, reader.bytes))
    }
}

impl<A: Copy> RouteReply<A> {
    /// The reply that a HELLO is.
    const fn hello(sender: A, sequence: u32, lifetime: Span) -> Self {
        Self {
            ack_required: false,
            hops: 0,
            destination: sender,
            destination_sequence: sequence,
            originator: sender,
            lifetime,
            internet: None,
            sent: Time::ZERO,
        }
    }

    fn emit(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) {
        out.extend([2, bit(self.ack_required, 0x40), 0, self.hops]);
        out.address(name(self.destination));
        out.u32(self.destination_sequence);
        out.address(name(self.originator));
        out.milliseconds(self.lifetime);
        if let Some(host) = self.internet {
            out.extend(INTERNET_HEAD);
            out.address(name(host));
        }
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
                let flags = bit(request.gratuitous, 0x20)
                    | bit(request.destination_only, 0x10)
                    | bit(request.unknown_sequence, 0x08);
                out.extend([1, flags, 0, request.hops]);
                out.u32(request.id);
                out.address(name(request.destination));
                out.u32(request.destination_sequence);
                out.address(name(request.originator));
                out.u32(request.originator_sequence);
            }
            Self::Reply(reply) => reply.emit(name, out),
            Self::Error(error) => {
                emit_unreachable(FORMAT, bit(error.no_delete, 0x80), &error.unreachable, name, out)?;
            }
            Self::ReplyAck => out.extend([4, 0]),
            &Self::Hello { sender, sequence, lifetime } => {
                RouteReply::hello(sender, sequence, lifetime).emit(name, out);
            }
        }
        Ok(())
    }
}

impl<A: Name> Datagram<A> for Message<A> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request(_) => "RREQ",
            Self::Reply(RouteReply { internet: Some(_), .. }) => "RREP-I",
            Self::Reply(_) => "RREP",
            Self::Error(_) => "RERR",
            Self::ReplyAck => "RREP-ACK",
            Self::Hello { .. } => "HELLO",
        }
    }

    fn encode(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        self.emit(name, out)?;
        Ok(Carrier::Udp(crate::udp::Header::AODV))
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
            gratuitous: true,
            destination_only: false,
            unknown_sequence: true,
            hops: 3,
            id: 7,
            destination: B,
            destination_sequence: 0,
            originator: A,
            originator_sequence: 0x0102_0304,
            sent: Time::ZERO,
        };
        let bytes = hex("01280003 00000007 0a000009 00000000 0a000001 01020304");
        assert_eq!(emitted(&Message::Request(request)), bytes);
        // The reserved bits are ignored.
        let noisy = hex("012fff03 00000007 0a000009 00000000 0a000001 01020304");
        assert_eq!(Message::parse(&noisy), Ok((Message::Request(request), &[][..])));
    }

    #[test]
    fn a_reply_is_laid_out_as_the_rfc_says() {
        let reply = RouteReply {
            ack_required: true,
            hops: 2,
            destination: B,
            destination_sequence: 11,
            originator: A,
            lifetime: Span::from_millis(3000),
            internet: None,
            sent: Time::ZERO,
        };
        assert_eq!(emitted(&Message::Reply(reply)), hex("02400002 0a000009 0000000b 0a000001 00000bb8"));
        let with_host = emitted(&Message::Reply(RouteReply { internet: Some(A), ..reply }));
        assert_eq!(with_host[20..], hex("0404 0a000001"));
        assert_eq!(with_host.len() as u32, 20 + INTERNET_DESTINATION);
        // A HELLO is a reply about its sender (§6.9).
        let hello = Message::Hello { sender: B, sequence: 11, lifetime: Span::from_secs(3) };
        assert_eq!(emitted(&hello), hex("02000000 0a000009 0000000b 0a000009 00000bb8"));
        let for_ever = Message::Hello { sender: B, sequence: 11, lifetime: Span::from_secs(1 << 33) };
        assert_eq!(emitted(&for_ever)[16..], [0xff; 4]);
        // A hello interval of one second follows (§9.2). Flag R and the prefix size are ignored.
        let hello = hex("02c01802 0a000009 0000000b 0a000001 00000bb8 0104 000003e8");
        assert_eq!(Message::parse(&hello), Ok((Message::Reply(reply), &hello[20..])));
    }

    #[test]
    fn errors_and_acknowledgements_are_laid_out_as_the_rfc_says() {
        let error = RouteError { no_delete: true, unreachable: vec![(B, 12), (A, 1)] };
        assert_eq!(emitted(&Message::Error(error)), hex("03800002 0a000009 0000000c 0a000001 00000001"));
        assert_eq!(emitted(&Message::ReplyAck), hex("0400"));
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
        assert!(Message::Error(many).emit(&|it| it, &mut Vec::new()).is_err());
        let none = RouteError { no_delete: false, unreachable: vec![] };
        assert!(Message::Error(none).emit(&|it| it, &mut Vec::new()).is_err());
    }

    fn message() -> impl Strategy<Value = Message> {
        let request = (any::<[bool; 3]>(), any::<(u8, u32, u32, u32)>(), address(), address()).prop_map(
            |([gratuitous, destination_only, unknown_sequence], numbers, destination, originator)| {
                Message::Request(RouteRequest {
                    gratuitous,
                    destination_only,
                    unknown_sequence,
                    hops: numbers.0,
                    id: numbers.1,
                    destination,
                    destination_sequence: numbers.2,
                    originator,
                    originator_sequence: numbers.3,
                    sent: Time::ZERO,
                })
            },
        );
        let reply = (any::<bool>(), any::<(u8, u32, u32)>(), address(), address(), prop::option::of(address()))
            .prop_map(|(ack_required, numbers, destination, originator, internet)| {
                Message::Reply(RouteReply {
                    ack_required,
                    hops: numbers.0,
                    destination,
                    destination_sequence: numbers.1,
                    originator,
                    lifetime: Span::from_millis(numbers.2.into()),
                    internet,
                    sent: Time::ZERO,
                })
            });
        let error = (any::<bool>(), prop::collection::vec((address(), any::<u32>()), 1..256))
            .prop_map(|(no_delete, unreachable)| Message::Error(RouteError { no_delete, unreachable }));
        let hello = (address(), any::<(u32, u32)>()).prop_map(|(sender, (sequence, lifetime))| Message::Hello {
            sender,
            sequence,
            lifetime: Span::from_millis(lifetime.into()),
        });
        prop_oneof![request, reply, error, Just(Message::ReplyAck), hello]
    }

    holds_of_messages!(rest: 10, types: 0..6_u8, bytes: 60);
}
