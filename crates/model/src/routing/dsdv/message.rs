//! DSDV's updates.

use hopyard_wire::{WireError, dsdv, udp};

use crate::address::Address;
use crate::packet::{Carrier, Message, Place};

/// One destination in an update.
pub type Advertisement = dsdv::Advertisement<Address>;
/// The update that a node sends its neighbours.
pub type Update = dsdv::Update<Address>;

impl Message for Update {
    fn kind(&self) -> &'static str {
        if self.full { "full_dump" } else { "incremental" }
    }

    fn encode(&self, place: &Place<'_>, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        self.emit(place.address, out);
        Ok(Carrier::Udp(udp::Header::EXPERIMENT))
    }
}
