//! AODV's messages.
//!
//! A capture has ns-2's messages in the layout of RFC 3561 too, although ns-2 counts other sizes. ns-2 counts no UDP
//! header, and four more bytes for the time in a request and a reply.

use hopyard_wire::{WireError, aodv, udp};

use crate::address::Address;
use crate::packet::{Carrier, Message, Place};

/// A message of AODV.
pub type AodvMessage = aodv::Message<Address>;
/// RREQ.
pub type Request = aodv::RouteRequest<Address>;
/// RREP.
pub type Reply = aodv::RouteReply<Address>;
/// RERR.
pub type RouteError = aodv::RouteError<Address>;

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
        self.emit(place.address, out)?;
        Ok(Carrier::Udp(udp::Header::AODV))
    }
}
