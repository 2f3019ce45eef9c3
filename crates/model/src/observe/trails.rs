//! The trails of data packets: the nodes that each has visited, in order.
//!
//! A packet has no number, and each receiver of a frame has its own copy. A packet is known by its flow, its time of
//! creation and its place in the flow, and the visited nodes are kept as a tree. Where the acknowledgement of a frame
//! is lost, a packet goes on from the receiver, and once more from the sender.

use std::collections::{BTreeMap, VecDeque};

use hopyard_engine::Time;

use crate::address::NodeId;
use crate::packet::{Body, FlowId, Packet, PacketKind};

/// So many packets that have arrived or were dropped are still known, because a copy of them may still be on the way.
pub const KEPT: usize = 65_536;

/// The key of a data packet: its flow, its time of creation and its sequence number.
type Key = (FlowId, Time, u64);

/// A node that a packet has visited, and the place of the visit before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Visit {
    node: NodeId,
    before: Option<u32>,
}

/// The trails of data packets so far.
#[derive(Clone, Debug, Default)]
pub struct Trails {
    packets: BTreeMap<Key, Vec<Visit>>,
    /// The packets that have come to an end, the first one first.
    ended: VecDeque<Key>,
}

impl Trails {
    fn key(packet: &Packet) -> Option<Key> {
        if packet.kind() != PacketKind::Data {
            return None;
        }
        match packet.carried() {
            Body::Tcp(header) => Some((packet.flow, packet.created, header.seq)),
            Body::Udp(header) => Some((packet.flow, packet.created, header.sequence)),
            _ => None,
        }
    }

    /// How many packets are known.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// A packet begins its way at a node.
    pub fn on_originated(&mut self, node: NodeId, packet: &Packet) {
        if let Some(key) = Self::key(packet) {
            self.packets.insert(key, vec![Visit { node, before: None }]);
        }
    }

    /// A packet comes from one node to another.
    pub fn on_hop(&mut self, from: NodeId, node: NodeId, packet: &Packet) {
        let Some(visits) = Self::key(packet).and_then(|key| self.packets.get_mut(&key)) else { return };
        let before = visits.iter().rposition(|visit| visit.node == from).map(|place| place as u32);
        visits.push(Visit { node, before });
    }

    /// A packet is delivered at a node, or was dropped there last and is lost. Returns its flow, and the nodes on its
    /// path.
    pub fn on_end(&mut self, node: NodeId, packet: &Packet) -> Option<(FlowId, Vec<NodeId>)> {
        let key = Self::key(packet)?;
        let visits = self.packets.get(&key)?;
        // It may be lost at a node that it has not come to: beyond a wire, where the battery is empty.
        let there = visits.iter().rposition(|visit| visit.node == node);
        let last = there.or_else(|| visits.len().checked_sub(1))?;
        let mut path = Vec::new();
        let mut at = Some(last as u32);
        while let Some(visit) = at.map(|place| visits[place as usize]) {
            path.push(visit.node);
            at = visit.before;
        }
        path.reverse();
        self.ended.push_back(key);
        if self.ended.len() > KEPT
            && let Some(oldest) = self.ended.pop_front()
        {
            self.packets.remove(&oldest);
        }
        Some((key.0, path))
    }
}
