//! DSDV's updates.

use hopyard_wire::{WireError, dsdv, udp};

use crate::address::Address;
use crate::packet::{Carrier, Message, Place};

/// One destination in an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// The destination.
    pub destination: Address,
    /// The sender's distance to it.
    pub metric: u8,
    /// The destination's sequence number.
    pub sequence: u32,
}

/// What a node tells its neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// Whether it is the whole table.
    pub full: bool,
    /// The destinations, in order.
    pub advertisements: Vec<Advertisement>,
}

impl Message for Update {
    fn kind(&self) -> &'static str {
        "DSDV"
    }

    fn encode(&self, place: &Place<'_>, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        let entries = self.advertisements.iter().map(|it| dsdv::Entry {
            destination: (place.address)(it.destination),
            sequence: it.sequence,
            metric: u16::from(it.metric),
        });
        dsdv::Update { entries: entries.collect() }.emit(out);
        Ok(Carrier::Udp(udp::Header::EXPERIMENT))
    }
}
