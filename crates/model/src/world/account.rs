//! The account of packets: each that came into being was delivered, dropped for a reason, or is still somewhere.

use std::collections::BTreeSet;

use super::{Event, World};
use crate::packet::PacketId;
use crate::routing::Routing;

/// Packets that do not add up: a defect of the simulator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "packets do not add up in run {run} of seed {seed}, after event {event}: {outstanding} by the ledger, {existing} exist, \
     {held} are held somewhere ({detail}); please report this with the scenario"
)]
pub struct Unaccounted {
    seed: u64,
    run: u64,
    event: u64,
    outstanding: u64,
    existing: usize,
    held: usize,
    detail: String,
}

impl World {
    /// Looks into every place where a packet can be.
    pub(super) fn check_account(&self) -> Result<(), Unaccounted> {
        let mut held: Vec<PacketId> = self.medium.held();
        held.extend(self.macs.iter().filter_map(crate::mac::dcf::Dcf::held));
        for node in &self.nodes {
            held.extend(node.link.held());
            held.extend(node.routing.held());
        }
        for wire in &self.wires {
            held.extend(wire.wire.held());
        }
        held.extend(self.queue.pending().filter_map(|event| match event {
            Event::Send(_, packet, _) => Some(*packet),
            _ => None,
        }));
        let places = held.len();
        let held: BTreeSet<PacketId> = held.into_iter().collect();
        let existing = self.cx.packets.len();
        let outstanding = self.cx.ledger.outstanding();
        if held.len() == existing && places == existing && outstanding == existing as u64 {
            return Ok(());
        }
        let lost = self.cx.packets.iter().find(|(id, _)| !held.contains(id));
        let detail = match lost {
            Some((_, packet)) => format!("nobody holds {packet:?}"),
            None => format!("{places} places hold {} packets", held.len()),
        };
        Err(Unaccounted {
            seed: self.seed,
            run: self.run,
            event: self.events,
            outstanding,
            existing,
            held: held.len(),
            detail,
        })
    }
}
