//! AODV's messages (RFC 3561 §5).
//!
//! The routers pass these values; [`AodvMessage::on_the_wire`] gives the same as RFC 3561 lays it out. ns-2's messages
//! are captured in that form too, although ns-2 counts other sizes: no UDP header, and four bytes more in a request and
//! a reply, for the time in them.

use std::net::Ipv4Addr;

use hopyard_engine::{Span, Time};
use hopyard_wire::{WireError, aodv, udp};

use crate::address::Address;
use crate::packet::{Carrier, Message, Place};
use crate::routing::common::on_demand::milliseconds;

/// A message of AODV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AodvMessage {
    /// A request for a route (RREQ).
    Request(Request),
    /// A reply that gives a route (RREP).
    Reply(Reply),
    /// A route error: destinations that cannot be reached any more through the sender (RERR).
    Error(RouteError),
    /// Acknowledges a reply with flag A (RREP-ACK).
    ReplyAck,
    /// HELLO: a reply about the sender itself, with a TTL of one.
    Hello {
        /// The sender's sequence number.
        sequence: u32,
        /// How long the route to the sender is valid.
        lifetime: Span,
    },
}

/// RREQ (RFC 3561 §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The request's number at its originator.
    pub id: u32,
    /// Hops from the originator to the node that handles the message; ns-2 starts counting at one.
    pub hops: u8,
    /// The node to which a route is needed.
    pub destination: Address,
    /// The latest sequence number known of the destination; no meaning when it is unknown.
    pub destination_sequence: u32,
    /// Flag U: no sequence number of the destination is known.
    pub unknown_sequence: bool,
    /// Flag G: the destination is to receive a gratuitous reply, with the route to the originator.
    pub gratuitous: bool,
    /// Flag D: only the destination may answer.
    pub destination_only: bool,
    /// The node that needs the route.
    pub originator: Address,
    /// The originator's sequence number.
    pub originator_sequence: u32,
    /// When the request was sent: ns-2's requests carry it, to measure how long discoveries take.
    pub sent: Time,
}

/// RREP (RFC 3561 §5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Hops to the destination.
    pub hops: u8,
    /// Where the route leads.
    pub destination: Address,
    /// The destination's sequence number.
    pub destination_sequence: u32,
    /// The originator of the request.
    pub originator: Address,
    /// How long the route is valid.
    pub lifetime: Span,
    /// Flag A: the receiver shall acknowledge.
    pub ack_required: bool,
    /// The host outside the ad hoc network for which a gateway answers: the route leads to the gateway (RREP-I of
    /// AODV-UU, an extension of type 4).
    pub internet: Option<Address>,
    /// When the request was sent (see [`Request::sent`]).
    pub sent: Time,
}

/// RERR (RFC 3561 §5.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteError {
    /// Flag N: the route was repaired, and must not be deleted.
    pub no_delete: bool,
    /// Destinations, each with its sequence number.
    pub unreachable: Vec<(Address, u32)>,
}

impl RouteError {
    /// Bytes of the message (RFC 3561 §5.3; ns-2 the same).
    #[must_use]
    pub fn size(&self) -> u32 {
        4 + 8 * self.unreachable.len() as u32
    }
}

impl AodvMessage {
    /// The message with addresses and without what only the simulator knows, the time in ns-2's messages. A HELLO is a
    /// reply about `source`, its sender (RFC 3561 §6.9).
    #[must_use]
    pub fn on_the_wire(&self, source: Address, address: &dyn Fn(Address) -> Ipv4Addr) -> aodv::Message {
        match self {
            Self::Request(it) => aodv::Message::RouteRequest(aodv::RouteRequest {
                join: false,
                repair: false,
                gratuitous: it.gratuitous,
                destination_only: it.destination_only,
                unknown_sequence: it.unknown_sequence,
                hop_count: it.hops,
                id: it.id,
                destination: address(it.destination),
                destination_sequence: it.destination_sequence,
                originator: address(it.originator),
                originator_sequence: it.originator_sequence,
            }),
            Self::Reply(it) => aodv::Message::RouteReply(aodv::RouteReply {
                repair: false,
                acknowledge: it.ack_required,
                prefix_size: 0,
                hop_count: it.hops,
                destination: address(it.destination),
                destination_sequence: it.destination_sequence,
                originator: address(it.originator),
                lifetime: milliseconds(it.lifetime),
            }),
            Self::Error(it) => aodv::Message::RouteError(aodv::RouteError {
                no_delete: it.no_delete,
                unreachable: it.unreachable.iter().map(|&(node, sequence)| (address(node), sequence)).collect(),
            }),
            Self::ReplyAck => aodv::Message::RouteReplyAck,
            Self::Hello { sequence, lifetime } => aodv::Message::RouteReply(aodv::RouteReply {
                repair: false,
                acknowledge: false,
                prefix_size: 0,
                hop_count: 0,
                destination: address(source),
                destination_sequence: *sequence,
                originator: address(source),
                lifetime: milliseconds(*lifetime),
            }),
        }
    }
}

impl Message for AodvMessage {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request(_) => "RREQ",
            Self::Reply(Reply { internet: Some(_), .. }) => "RREP-I",
            Self::Reply(_) => "RREP",
            Self::Error(_) => "RERR",
            Self::ReplyAck => "RREP-ACK",
            Self::Hello { .. } => "HELLO",
        }
    }

    fn encode(&self, place: &Place<'_>, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        self.on_the_wire(place.source, place.address).emit(out)?;
        if let Self::Reply(Reply { internet: Some(host), .. }) = self {
            aodv::Extension::InternetDestination((place.address)(*host)).emit(out);
        }
        Ok(Carrier::Udp(udp::Header::AODV))
    }
}
