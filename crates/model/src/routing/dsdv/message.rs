//! DSDV's updates.

use hopyard_wire::{WireError, dsdv, udp};

use crate::address::{Address, Prefix};
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
    /// The networks that some of these destinations reach, in the order of the destinations. Each is one entry more.
    pub networks: Vec<(Address, Prefix)>,
}

impl Update {
    /// How many entries it has.
    #[must_use]
    pub const fn entries(&self) -> usize {
        self.advertisements.len() + self.networks.len()
    }

    /// The networks that a destination reaches.
    pub fn networks_of(&self, gateway: Address) -> impl Iterator<Item = Prefix> + '_ {
        self.networks.iter().filter(move |it| it.0 == gateway).map(|it| it.1)
    }
}

impl Message for Update {
    fn kind(&self) -> &'static str {
        if self.full { "full_dump" } else { "incremental" }
    }

    fn encode(&self, place: &Place<'_>, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        let mut entries = Vec::with_capacity(self.entries());
        for it in &self.advertisements {
            let (sequence, metric) = (it.sequence, u16::from(it.metric));
            entries.push(dsdv::Entry { destination: (place.address)(it.destination), sequence, metric, network: None });
            // The networks behind a gateway follow it, one hop further away.
            entries.extend(self.networks_of(it.destination).map(|prefix| dsdv::Entry {
                destination: prefix.first(),
                sequence,
                metric: metric + 1,
                network: Some(prefix.length()),
            }));
        }
        dsdv::Update { entries }.emit(out);
        Ok(Carrier::Udp(udp::Header::EXPERIMENT))
    }
}
