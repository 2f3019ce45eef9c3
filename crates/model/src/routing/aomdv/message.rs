//! AOMDV's messages.

use hopyard_wire::{WireError, aomdv, udp};

use crate::address::Address;
use crate::packet::{Carrier, Message, Place};

/// A message of AOMDV.
pub type AomdvMessage = aomdv::Message<Address>;
/// RREQ.
pub type Request = aomdv::RouteRequest<Address>;
/// RREP.
pub type Reply = aomdv::RouteReply<Address>;

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
        self.emit(place.address, out)?;
        Ok(Carrier::Udp(udp::Header::EXPERIMENT_2))
    }
}
