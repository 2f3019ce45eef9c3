//! Drops, counted.

use super::drop_reason::DropReason;
use crate::address::NodeId;
use crate::packet::PacketKind;

/// Drops, kept apart by node, kind of packet and reason. Most nodes of a large network drop nothing: they have no
/// counts.
#[derive(Clone, Debug, Default)]
pub struct DropCounts(Vec<Option<Box<DropsOfNode>>>);

type DropsOfNode = [[u64; DropReason::ALL.len()]; PacketKind::ALL.len()];

impl DropCounts {
    pub(super) fn count(&mut self, node: NodeId, kind: PacketKind, reason: DropReason) {
        if self.0.len() <= node.index() {
            self.0.resize(node.index() + 1, None);
        }
        let counts =
            self.0[node.index()].get_or_insert_with(|| Box::new([[0; DropReason::ALL.len()]; PacketKind::ALL.len()]));
        counts[kind as usize][reason as usize] += 1;
    }

    /// The kinds of packets that a node dropped, each with the reasons and with how many packets.
    pub fn of(&self, node: NodeId) -> impl Iterator<Item = (PacketKind, DropReason, u64)> {
        let counts = self.0.get(node.index()).and_then(Option::as_deref);
        let kinds = counts.into_iter().flatten().zip(PacketKind::ALL);
        let all = kinds.flat_map(|(of, &kind)| of.iter().zip(DropReason::ALL).map(move |(&it, &why)| (kind, why, it)));
        all.filter(|(_, _, count)| *count > 0)
    }

    /// How many packets of a kind a node dropped for a reason.
    #[must_use]
    pub fn get(&self, node: NodeId, kind: PacketKind, reason: DropReason) -> u64 {
        let counts = self.0.get(node.index()).and_then(Option::as_deref);
        counts.map_or(0, |kinds| kinds[kind as usize][reason as usize])
    }
}
