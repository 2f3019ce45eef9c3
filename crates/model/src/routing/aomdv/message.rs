//! AOMDV's messages: those of AODV, with the first hop of each path.

use std::net::Ipv4Addr;

use hopyard_engine::Span;
use hopyard_wire::{WireError, aomdv, udp};

use crate::address::Address;
use crate::packet::{Carrier, Message, Place};
use crate::routing::common::on_demand::milliseconds;

/// A message of AOMDV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AomdvMessage {
    /// A request for routes (RREQ).
    Request(Request),
    /// A reply that gives a path (RREP).
    Reply(Reply),
    /// A route error: destinations that cannot be reached any more through the sender, each with its sequence number
    /// (RERR).
    Error(Vec<(Address, u32)>),
    /// HELLO: the sender is there.
    Hello {
        /// The sender's sequence number.
        sequence: u32,
        /// How long the route to the sender is valid.
        lifetime: Span,
    },
}

/// RREQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The request's number at its originator.
    pub id: u32,
    /// The hop count that the sender advertises for its route to the originator.
    pub hops: u8,
    /// The node to which routes are needed.
    pub destination: Address,
    /// The latest sequence number known of the destination; no meaning when it is unknown.
    pub destination_sequence: u32,
    /// Whether no sequence number of the destination is known.
    pub unknown_sequence: bool,
    /// The node that needs the routes.
    pub originator: Address,
    /// The originator's sequence number.
    pub originator_sequence: u32,
    /// The neighbour of the originator through which this copy came. The neighbour itself writes it.
    pub first_hop: Address,
}

/// RREP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The hop count that the sender advertises for its route to the destination.
    pub hops: u8,
    /// Where the path leads.
    pub destination: Address,
    /// The destination's sequence number.
    pub destination_sequence: u32,
    /// The originator of the request.
    pub originator: Address,
    /// How long the path is valid.
    pub lifetime: Span,
    /// The number of the request that is answered.
    pub id: u32,
    /// The neighbour of the destination to which this path leads.
    pub first_hop: Address,
}

impl AomdvMessage {
    /// The message with addresses; a HELLO is about `source`, its sender.
    #[must_use]
    pub fn on_the_wire(&self, source: Address, address: &dyn Fn(Address) -> Ipv4Addr) -> aomdv::Message {
        match self {
            Self::Request(it) => aomdv::Message::RouteRequest(aomdv::RouteRequest {
                unknown_sequence: it.unknown_sequence,
                hop_count: it.hops,
                id: it.id,
                destination: address(it.destination),
                destination_sequence: it.destination_sequence,
                originator: address(it.originator),
                originator_sequence: it.originator_sequence,
                first_hop: address(it.first_hop),
            }),
            Self::Reply(it) => aomdv::Message::RouteReply(aomdv::RouteReply {
                hop_count: it.hops,
                destination: address(it.destination),
                destination_sequence: it.destination_sequence,
                originator: address(it.originator),
                lifetime: milliseconds(it.lifetime),
                id: it.id,
                first_hop: address(it.first_hop),
            }),
            Self::Error(unreachable) => aomdv::Message::RouteError(
                unreachable.iter().map(|&(node, sequence)| (address(node), sequence)).collect(),
            ),
            Self::Hello { sequence, lifetime } => aomdv::Message::Hello {
                sender: address(source),
                sequence: *sequence,
                lifetime: milliseconds(*lifetime),
            },
        }
    }
}

impl Message for AomdvMessage {
    fn kind(&self) -> &'static str {
        match self {
            Self::Request(_) => "RREQ",
            Self::Reply(_) => "RREP",
            Self::Error(_) => "RERR",
            Self::Hello { .. } => "HELLO",
        }
    }

    fn encode(&self, place: &Place<'_>, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        self.on_the_wire(place.source, place.address).emit(out)?;
        Ok(Carrier::Udp(udp::Header::EXPERIMENT_2))
    }
}
