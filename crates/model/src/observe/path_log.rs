//! A probe that records which paths data packets really took, hop by hop.

use std::collections::BTreeMap;

use hopyard_engine::Time;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::probe::{PacketEvent, Probe};
use super::route_change::text;
use super::row::{Report, Row};
use super::trails::Trails;
use crate::address::NodeId;
use crate::packet::{FlowId, Packet};

/// A row for each path that data packets of a flow took, from the start of the run, if `measure.paths` is set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathRow {
    /// The flow's number.
    pub flow: u32,
    /// What became of the packets: `delivered` or `dropped`.
    pub fate: &'static str,
    /// The nodes that they visited, in order, such as `0 3 5`.
    pub path: String,
    /// The hops of the path.
    #[schemars(extend("unit" = "hops"))]
    pub hops: u32,
    /// How many packets took this path; each retransmission is a separate packet.
    #[schemars(extend("unit" = "packets"))]
    pub packets: u64,
    /// `packets` as a share, from 0 to 1, of the flow's packets with this fate.
    pub share: f64,
    /// How many of the visits were to a node that the packet had visited before.
    pub repeats: u32,
}

impl Row for PathRow {}

/// The fate of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
enum Fate {
    Delivered,
    Dropped,
}

impl Fate {
    fn name(self) -> &'static str {
        self.into()
    }
}

/// How many packets of each flow took each path, by their fate.
#[derive(Clone, Debug, Default)]
pub struct PathCounts(BTreeMap<(FlowId, Fate, Vec<NodeId>), u64>);

impl PathCounts {
    /// A packet of a flow has arrived, or is lost, after a path.
    pub fn add(&mut self, flow: FlowId, is_delivered: bool, path: Vec<NodeId>) {
        let fate = if is_delivered { Fate::Delivered } else { Fate::Dropped };
        *self.0.entry((flow, fate, path)).or_default() += 1;
    }

    /// A row for each path of each flow so far, for packets that were delivered and packets that were dropped; the path
    /// of most packets first.
    #[must_use]
    pub fn rows(&self) -> Vec<PathRow> {
        let mut sums: BTreeMap<(FlowId, Fate), u64> = BTreeMap::new();
        for ((flow, fate, _), count) in &self.0 {
            *sums.entry((*flow, *fate)).or_default() += count;
        }
        let mut paths: Vec<_> = self.0.iter().collect();
        paths.sort_by_key(|((flow, fate, _), count)| (*flow, *fate, std::cmp::Reverse(**count)));
        let row = |((flow, fate, path), &packets): (&(FlowId, Fate, Vec<NodeId>), &u64)| {
            let mut different = path.clone();
            different.sort_unstable();
            different.dedup();
            PathRow {
                flow: flow.0,
                fate: fate.name(),
                path: text(path),
                hops: path.len() as u32 - 1,
                packets,
                share: packets as f64 / sums[&(*flow, *fate)] as f64,
                repeats: (path.len() - different.len()) as u32,
            }
        };
        paths.into_iter().map(row).collect()
    }
}

/// The paths of data packets so far.
#[derive(Clone, Debug, Default)]
pub struct PathLog {
    trails: Trails,
    paths: PathCounts,
}

impl PathLog {
    /// A packet is delivered at a node, or was dropped there last and is lost.
    fn on_end(&mut self, node: NodeId, packet: &Packet, is_delivered: bool) {
        if let Some((flow, path)) = self.trails.on_end(node, packet) {
            self.paths.add(flow, is_delivered, path);
        }
    }
}

impl Probe for PathLog {
    fn on_packet(&mut self, _: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        match event {
            PacketEvent::Originated => self.trails.on_originated(node, packet),
            PacketEvent::Hop { from } => self.trails.on_hop(from, node, packet),
            PacketEvent::Delivered => self.on_end(node, packet, true),
            PacketEvent::Lost(_) => self.on_end(node, packet, false),
            _ => {}
        }
    }

    fn report(&self, report: &mut Report<'_>) {
        report.table(|| self.paths.rows());
    }
}

#[cfg(test)]
mod tests {
    use super::super::trails::KEPT;
    use super::*;
    use crate::address::Address;
    use crate::packet::{Body, UdpHeader};

    fn packet(sequence: u64) -> Packet {
        Packet {
            created: Time::from_nanos(sequence),
            destination: Address(3),
            flow: FlowId(1),
            ..crate::samples::packet(100, Body::Udp(UdpHeader { sequence, len: 72, identification: None }))
        }
    }

    /// Sends a packet over these nodes.
    fn send(log: &mut PathLog, sequence: u64, path: &[u32], is_delivered: bool) {
        let packet = packet(sequence);
        log.trails.on_originated(NodeId(path[0]), &packet);
        path.windows(2).for_each(|hop| log.trails.on_hop(NodeId(hop[0]), NodeId(hop[1]), &packet));
        log.on_end(NodeId(path[path.len() - 1]), &packet, is_delivered);
    }

    #[test]
    fn paths_are_counted_by_flow_and_fate() {
        let mut log = PathLog::default();
        send(&mut log, 0, &[0, 1, 3], true);
        send(&mut log, 1, &[0, 2, 3], true);
        send(&mut log, 2, &[0, 2, 3], true);
        send(&mut log, 3, &[0, 1, 2, 1, 0], false);
        let rows = log.paths.rows();
        let found: Vec<_> =
            rows.iter().map(|row| (row.fate, row.path.as_str(), row.packets, row.hops, row.repeats)).collect();
        assert_eq!(
            found,
            [("delivered", "0 2 3", 2, 2, 0), ("delivered", "0 1 3", 1, 2, 0), ("dropped", "0 1 2 1 0", 1, 4, 2)]
        );
        assert_eq!([rows[0].share, rows[2].share], [2.0 / 3.0, 1.0]);
    }

    #[test]
    fn a_packet_whose_acknowledgement_is_lost_goes_two_ways() {
        let mut log = PathLog::default();
        let it = packet(0);
        log.trails.on_originated(NodeId(0), &it);
        log.trails.on_hop(NodeId(0), NodeId(1), &it);
        // Node 1 has it, but node 0 does not know, and sends it by node 2.
        log.trails.on_hop(NodeId(0), NodeId(2), &it);
        log.trails.on_hop(NodeId(1), NodeId(3), &it);
        log.on_end(NodeId(3), &it, true);
        log.on_end(NodeId(2), &it, false);
        let found: Vec<_> = log.paths.rows().into_iter().map(|row| (row.fate, row.path)).collect();
        assert_eq!(found, [("delivered", "0 1 3".to_owned()), ("dropped", "0 2".to_owned())]);
    }

    #[test]
    fn a_packet_that_is_lost_before_the_node_that_loses_it_has_the_path_so_far() {
        let mut log = PathLog::default();
        let it = packet(0);
        log.trails.on_originated(NodeId(0), &it);
        log.trails.on_hop(NodeId(0), NodeId(1), &it);
        log.on_end(NodeId(2), &it, false);
        let found: Vec<_> = log.paths.rows().into_iter().map(|row| (row.fate, row.path, row.packets)).collect();
        assert_eq!(found, [("dropped", "0 1".to_owned(), 1)]);
    }

    #[test]
    fn packets_that_ended_long_ago_are_forgotten() {
        let mut log = PathLog::default();
        (0..KEPT as u64 + 10).for_each(|sequence| send(&mut log, sequence, &[0, 3], true));
        assert_eq!((log.trails.len(), log.paths.rows()[0].packets), (KEPT, KEPT as u64 + 10));
    }
}
