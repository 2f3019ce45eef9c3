//! The tables of nodes with wires: paths over wires with the shortest delay, computed once.
//!
//! A node with wires knows a way to the prefix of every wire and every channel that wires lead to. Among paths of equal
//! delay, the one with fewer hops and then with the lower number of the first hop is taken. Where the routing protocol
//! crosses wires itself, it has the default route instead.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use hopyard_engine::Span;

use super::addressing::{Network, Plan};
use crate::address::{Address, NodeId};
use crate::ip::{Table, Way};

/// A wire from one of its ends to the other.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The wire's number.
    pub wire: usize,
    /// The node at this end.
    pub from: NodeId,
    /// The node at the other end.
    pub to: NodeId,
    /// The address at the other end.
    pub address: Address,
    /// The delay of the wire.
    pub delay: Span,
}

/// How far a node is, and by which first hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Path {
    delay: Span,
    hops: u32,
    first: Option<Address>,
}

/// The wires of a network.
#[derive(Debug)]
pub struct Wires {
    /// Both directions of each wire, sorted by the node at this end.
    edges: Vec<Edge>,
    nodes: usize,
}

impl Wires {
    /// The wires with these edges among so many nodes.
    #[must_use]
    pub fn new(mut edges: Vec<Edge>, nodes: usize) -> Self {
        edges.sort_by_key(|edge| (edge.from, edge.address));
        Self { edges, nodes }
    }

    /// The wires that begin at a node.
    fn at(&self, node: NodeId) -> &[Edge] {
        let start = self.edges.partition_point(|edge| edge.from < node);
        let count = self.edges[start..].partition_point(|edge| edge.from == node);
        &self.edges[start..start + count]
    }

    /// The shortest path over wires to each node (Dijkstra's algorithm).
    fn paths(&self, from: NodeId) -> Vec<Option<Path>> {
        let mut paths: Vec<Option<Path>> = vec![None; self.nodes];
        let mut heap = BinaryHeap::from([Reverse((Path { delay: Span::ZERO, hops: 0, first: None }, from))]);
        while let Some(Reverse((path, node))) = heap.pop() {
            if paths[node.index()].is_some() {
                continue;
            }
            paths[node.index()] = Some(path);
            for edge in self.at(node) {
                let first = path.first.or(Some(edge.address));
                heap.push(Reverse((Path { delay: path.delay + edge.delay, hops: path.hops + 1, first }, edge.to)));
            }
        }
        paths
    }

    /// The table of a node with wires: one entry for each wire and each channel that wires lead to. `radios` are the
    /// nodes of each channel, in order.
    #[must_use]
    pub fn table(&self, node: NodeId, plan: &Plan, radios: &[Vec<NodeId>]) -> Table {
        let paths = self.paths(node);
        let wires = self.edges.iter().map(|edge| (Network::Wire(edge.wire), edge.from));
        let channels = (radios.iter().enumerate())
            .flat_map(|(channel, nodes)| nodes.iter().map(move |&node| (Network::Channel(channel), node)));
        // The nearest node at each network.
        let mut nearest: BTreeMap<Network, Path> = BTreeMap::new();
        for (network, at) in wires.chain(channels) {
            if let Some(path) = paths[at.index()] {
                nearest.entry(network).and_modify(|it| *it = path.min(*it)).or_insert(path);
            }
        }
        let mut table = Table::default();
        for (network, path) in nearest {
            let Some(&prefix) = plan.prefixes.get(&network) else { continue };
            table.insert(
                prefix,
                match (path.first, network) {
                    (Some(first), _) => Way::Via(first),
                    // The node itself is at the network.
                    (None, Network::Wire(_)) => Way::Direct,
                    (None, Network::Channel(_) | Network::Tunnel(_)) => Way::Protocol,
                },
            );
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Prefix;

    /// Wires as (from, to, milliseconds). Wire n has the addresses 100 + 2n and 101 + 2n.
    fn wires(list: &[(u32, u32, u64)], nodes: usize) -> Wires {
        let edges = list.iter().enumerate().flat_map(|(wire, &(a, b, delay))| {
            let edge = |from, to, address| Edge {
                wire,
                from: NodeId(from),
                to: NodeId(to),
                address: Address(address),
                delay: Span::from_millis(delay),
            };
            [edge(a, b, 101 + 2 * wire as u32), edge(b, a, 100 + 2 * wire as u32)]
        });
        Wires::new(edges.collect(), nodes)
    }

    fn plan(wires: usize, channels: usize) -> Plan {
        let prefix = |text: String| text.parse::<Prefix>().expect("a prefix");
        let mut plan = Plan::default();
        plan.prefixes.extend((0..wires).map(|n| (Network::Wire(n), prefix(format!("192.168.0.{}/30", 4 * n)))));
        plan.prefixes.extend((0..channels).map(|n| (Network::Channel(n), prefix(format!("10.{n}.0.0/16")))));
        plan
    }

    #[test]
    fn the_shortest_delay_decides() {
        // Two ways from 0 to 3: over 1 in 5 ms, over 2 in 4 ms; and a direct wire of 9 ms.
        let wires = wires(&[(0, 1, 1), (1, 3, 4), (0, 2, 2), (2, 3, 2), (0, 3, 9)], 4);
        let table = wires.table(NodeId(0), &plan(5, 0), &[]);
        let ip = |text: &str| text.parse().expect("an address");
        // The prefix of wire 1 is at node 1, 1 ms away; that of wire 4 is at the node itself.
        assert_eq!(table.lookup(ip("192.168.0.6")), Some(Way::Via(Address(101))));
        assert_eq!(table.lookup(ip("192.168.0.18")), Some(Way::Direct));
        let table = wires.table(NodeId(3), &plan(5, 0), &[]);
        assert_eq!(table.lookup(ip("192.168.0.1")), Some(Way::Via(Address(102))), "node 1 is at wire 0");
    }

    #[test]
    fn a_channel_is_reached_by_the_nearest_node_with_a_radio() {
        // 0 - 1 - 2, where 2 has a radio, and 0 - 3 with a radio, farther away.
        let wires = wires(&[(0, 1, 1), (1, 2, 1), (0, 3, 5)], 6);
        let radios = [vec![NodeId(2), NodeId(3), NodeId(4)], vec![NodeId(5)]];
        let table = wires.table(NodeId(0), &plan(3, 2), &radios);
        let ip = |text: &str| text.parse().expect("an address");
        assert_eq!(table.lookup(ip("10.0.0.9")), Some(Way::Via(Address(101))));
        assert_eq!(table.lookup(ip("10.1.0.9")), None, "no wire leads to the second channel");
        let gateway = wires.table(NodeId(2), &plan(3, 2), &radios);
        assert_eq!(gateway.lookup(ip("10.0.0.9")), Some(Way::Protocol));
        assert_eq!(gateway.lookup(ip("192.168.0.9")), Some(Way::Via(Address(102))), "wire 2, over node 1");
    }
}
