//! The tables of nodes with wires: paths over wires with the shortest delay, computed once.
//!
//! A node with wires knows a way to the prefix of every wire and every channel that wires lead to: that to the nearest
//! node there. An address at the other end of a wire, or the address of a node with a radio and wires, may have a
//! shorter way than its prefix. The table has a host route for such an address. Among paths of equal delay, the one
//! with fewer hops and then with the lower number of the first hop is taken. A prefix of a channel on which the node
//! itself has a radio belongs to its routing protocol. At a node with a radio, so does every address that no wire leads
//! to. Where the routing protocol crosses wires itself, it has the default route instead. A wire that is down at times
//! keeps its routes, as ns-2's static routing does.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use hopyard_engine::Span;

use super::addressing::{AddressPlan, Network};
use crate::address::{Address, NodeId, Prefix};
use crate::ip::{Table, Way};

/// A wire from one of its ends to the other.
#[derive(Clone, Copy, Debug)]
struct Edge {
    /// The wire's number.
    wire: usize,
    /// The node at this end.
    from: NodeId,
    /// The node at the other end.
    to: NodeId,
    /// The address at the other end.
    address: Address,
    /// The delay of the wire.
    delay: Span,
}

/// How far a node is, and by which first hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Path {
    delay: Span,
    hops: u32,
    first: Option<Address>,
}

/// The tables of the nodes with wires for which `asks` is true, by node. `delays` are the delays of the wires, from the
/// first end to the second one and back.
#[must_use]
pub fn tables(
    plan: &AddressPlan,
    delays: &[[Span; 2]],
    nodes: usize,
    asks: impl Fn(NodeId) -> bool,
) -> BTreeMap<NodeId, Table> {
    let mut edges = Vec::new();
    for (wire, &[delay, back]) in delays.iter().enumerate() {
        if let Some([(a, at_a), (b, at_b)]) = plan.members.get(&Network::Wire(wire)).map(Vec::as_slice) {
            for (from, to, address, delay) in [(*a, *b, *at_b, delay), (*b, *a, *at_a, back)] {
                edges.push(Edge { wire, from, to, address, delay });
            }
        }
    }
    let wired: BTreeSet<NodeId> = edges.iter().map(|edge| edge.from).filter(|&node| asks(node)).collect();
    let wires = Wires::new(edges, nodes);
    let channels = plan.members.iter().filter_map(|(network, members)| match network {
        Network::Channel(_) | Network::Served(_) => Some((*network, members.as_slice())),
        Network::Wire(_) | Network::Tunnel(_) => None,
    });
    let channels: Vec<_> = channels.collect();
    wired.into_iter().map(|node| (node, wires.table(node, plan, &channels))).collect()
}

/// Both ends of a wire: node and address, and the delay from there to the other end.
pub(super) type Ends = [(NodeId, Address, Span); 2];

/// The wires on the way from one node to another one for each of these pairs, by number. Each wire has a mark: whether
/// the way crosses it from the first end. Nothing where wires do not lead there. `pairs` with the same first node stand
/// side by side.
#[must_use]
pub(super) fn ways(wires: &[Ends], nodes: usize, pairs: &[(NodeId, NodeId)]) -> Vec<Option<Vec<(usize, bool)>>> {
    let edges = wires.iter().enumerate().flat_map(|(wire, &[a, b])| {
        let edge = |(from, _, delay): (NodeId, Address, Span), (to, address, _): (NodeId, Address, Span)| Edge {
            wire,
            from,
            to,
            address,
            delay,
        };
        [edge(a, b), edge(b, a)]
    });
    let all = Wires::new(edges.collect(), nodes);
    let mut tree = (None, Vec::new());
    let mut way = |&(from, to): &(NodeId, NodeId)| {
        if tree.0 != Some(from) {
            tree = (Some(from), all.tree(from));
        }
        let (mut node, mut way) = (to, Vec::new());
        while node != from {
            let (_, last) = tree.1.get(node.index()).copied().flatten()?;
            let edge = &all.edges[last?];
            way.push((edge.wire, wires[edge.wire][0].0 == edge.from));
            node = edge.from;
        }
        way.reverse();
        Some(way)
    };
    pairs.iter().map(&mut way).collect()
}

/// The wires of a network.
#[derive(Debug)]
struct Wires {
    /// Both directions of each wire, sorted by the node at this end.
    edges: Vec<Edge>,
    nodes: usize,
}

impl Wires {
    /// The wires with these edges among so many nodes.
    fn new(mut edges: Vec<Edge>, nodes: usize) -> Self {
        edges.sort_by_key(|edge| (edge.from, edge.address));
        Self { edges, nodes }
    }

    /// The wires that begin at a node.
    fn at(&self, node: NodeId) -> &[Edge] {
        let start = self.edges.partition_point(|edge| edge.from < node);
        let count = self.edges[start..].partition_point(|edge| edge.from == node);
        &self.edges[start..start + count]
    }

    /// The shortest path over wires to each node.
    fn paths(&self, from: NodeId) -> Vec<Option<Path>> {
        self.tree(from).into_iter().map(|it| it.map(|(path, _)| path)).collect()
    }

    /// The shortest path over wires to each node, and its last edge (Dijkstra's algorithm).
    fn tree(&self, from: NodeId) -> Vec<Option<(Path, Option<usize>)>> {
        let mut paths = vec![None; self.nodes];
        let mut heap = BinaryHeap::from([Reverse((Path { delay: Span::ZERO, hops: 0, first: None }, from, None))]);
        while let Some(Reverse((path, node, last))) = heap.pop() {
            if paths[node.index()].is_some() {
                continue;
            }
            paths[node.index()] = Some((path, last));
            let start = self.edges.partition_point(|edge| edge.from < node);
            for (place, edge) in (start..).zip(self.at(node)) {
                let first = path.first.or(Some(edge.address));
                let path = Path { delay: path.delay + edge.delay, hops: path.hops + 1, first };
                heap.push(Reverse((path, edge.to, Some(place))));
            }
        }
        paths
    }

    /// The table of a node with wires. It has one entry for each wire and each channel that wires lead to, and a host
    /// route for each address to which another way is shorter. `channels` have their nodes with their addresses there.
    fn table(&self, node: NodeId, plan: &AddressPlan, channels: &[(Network, &[(NodeId, Address)])]) -> Table {
        let paths = self.paths(node);
        let wires = self.edges.iter().map(|edge| (Network::Wire(edge.wire), edge.to, edge.address));
        let has_radio = channels.iter().any(|(_, members)| members.iter().any(|&(member, _)| member == node));
        // A network with a prefix of its own on a channel is reached by way of its router, which is its first member.
        let ends = |channel: Network, nodes: &[(NodeId, Address)]| match channel {
            Network::Served(_) => nodes.len().min(1),
            _ => nodes.len(),
        };
        let channels = (channels.iter()).flat_map(|&(channel, nodes)| {
            nodes[..ends(channel, nodes)].iter().map(move |&(node, at)| (channel, node, at))
        });
        let hosts: Vec<_> = wires.chain(channels).collect();
        // The nearest node at each network.
        let mut nearest: BTreeMap<Network, Path> = BTreeMap::new();
        for &(network, at, _) in &hosts {
            if let Some(path) = paths[at.index()] {
                nearest.entry(network).and_modify(|it| *it = path.min(*it)).or_insert(path);
            }
        }
        let mut table = Table::default();
        // What no wire leads to may be in reach by radio: behind another gateway, or on a channel of another node.
        if has_radio {
            table.insert(Prefix::DEFAULT, Way::Protocol);
        }
        for (&network, path) in &nearest {
            let Some(&prefix) = plan.prefixes.get(&network) else { continue };
            table.insert(
                prefix,
                match (path.first, network) {
                    (Some(first), _) => Way::Via(first),
                    // The node itself is at the network.
                    (None, Network::Wire(_)) => Way::Direct,
                    (None, Network::Channel(_) | Network::Served(_) | Network::Tunnel(_)) => Way::Protocol,
                },
            );
        }
        for (network, at, address) in hosts {
            let (Some(path), Some(nearest)) = (paths[at.index()], nearest.get(&network)) else { continue };
            let differs = match (nearest.first, network) {
                // The wire of the node itself leads there, unless another way is shorter.
                (None, Network::Wire(_)) => path.first != Some(address),
                // On a channel of its own, the node asks its routing protocol.
                (None, _) => false,
                (first, _) => path.first != first,
            };
            if let Some(first) = path.first.filter(|_| differs)
                && let Some(&name) = plan.names.get(address.index())
            {
                table.insert(Prefix::of(name, 32), Way::Via(first));
            }
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

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

    fn plan(wires: usize, channels: usize) -> AddressPlan {
        let prefix = |text: String| text.parse::<Prefix>().expect("a prefix");
        let mut plan = AddressPlan::default();
        plan.prefixes.extend((0..wires).map(|n| (Network::Wire(n), prefix(format!("192.168.0.{}/30", 4 * n)))));
        plan.prefixes.extend((0..channels).map(|n| (Network::Channel(n), prefix(format!("10.{n}.0.0/16")))));
        // Radio n of channel c has the address 10c + n; the ends of wires follow from 100 on.
        plan.names = (0..100).map(|n| Ipv4Addr::new(10, n / 10, 0, n % 10)).collect();
        plan.names.extend((0..2 * wires as u8).map(|n| Ipv4Addr::new(192, 168, 0, 4 * (n / 2) + 1 + n % 2)));
        plan
    }

    #[test]
    fn a_way_is_the_wires_of_the_shortest_delay() {
        // 0 - 1 - 2 is shorter than the wire 2 - 0, and nothing leads to 3.
        let ends = |from, to, address, delay| {
            let delay = Span::from_millis(delay);
            [(NodeId(from), Address(address), delay), (NodeId(to), Address(address + 1), delay)]
        };
        let wires = [ends(0, 1, 100, 2), ends(2, 1, 102, 3), ends(2, 0, 104, 9)];
        let pairs = [(0, 2), (0, 1), (0, 0), (0, 3), (2, 0)].map(|(from, to)| (NodeId(from), NodeId(to)));
        let found = ways(&wires, 4, &pairs);
        let there = Some(vec![(0, true), (1, false)]);
        assert_eq!(found, [there, Some(vec![(0, true)]), Some(vec![]), None, Some(vec![(1, true), (0, false)])]);
    }

    #[test]
    fn the_shortest_delay_decides() {
        // Two ways from 0 to 3: over 1 in 5 ms, over 2 in 4 ms; and a direct wire of 9 ms.
        let wires = wires(&[(0, 1, 1), (1, 3, 4), (0, 2, 2), (2, 3, 2), (0, 3, 9)], 4);
        let table = wires.table(NodeId(0), &plan(5, 0), &[]);
        let ip = |text: &str| text.parse().expect("an address");
        // The prefix of wire 1 is at node 1, 1 ms away; its other end, node 3, is nearer over node 2.
        assert_eq!(table.lookup(ip("192.168.0.5")), Some(Way::Via(Address(101))));
        assert_eq!(table.lookup(ip("192.168.0.6")), Some(Way::Via(Address(105))));
        assert_eq!(table.lookup(ip("192.168.0.18")), Some(Way::Via(Address(105))), "4 ms, over 9 ms by its own wire");
        assert_eq!(table.lookup(ip("192.168.0.2")), Some(Way::Direct), "1 ms by its own wire");
        // Prefixes without a host, and own addresses, need no host route.
        assert_eq!(table.lookup(ip("192.168.0.1")), Some(Way::Direct));
        let table = wires.table(NodeId(3), &plan(5, 0), &[]);
        assert_eq!(table.lookup(ip("192.168.0.2")), Some(Way::Via(Address(102))), "node 1 is at wire 0");
        assert_eq!(table.lookup(ip("192.168.0.1")), Some(Way::Via(Address(106))), "node 0 is nearer over node 2");
    }

    #[test]
    fn a_channel_is_reached_by_the_nearest_node_with_a_radio() {
        // 0 - 1 - 2, where 2 has a radio, and 0 - 3 with a radio, farther away.
        let wires = wires(&[(0, 1, 1), (1, 2, 1), (0, 3, 5)], 6);
        let radios = [vec![2, 3, 4], vec![5]]
            .map(|nodes: Vec<u32>| nodes.into_iter().map(|node| (NodeId(node), Address(node))).collect::<Vec<_>>());
        let radios: Vec<_> = (0..).map(Network::Channel).zip(radios.iter().map(Vec::as_slice)).collect();
        let table = wires.table(NodeId(0), &plan(3, 2), &radios);
        let ip = |text: &str| text.parse().expect("an address");
        assert_eq!(table.lookup(ip("10.0.0.9")), Some(Way::Via(Address(101))));
        assert_eq!(table.lookup(ip("10.0.0.3")), Some(Way::Via(Address(105))), "node 3 has a wire of its own");
        assert_eq!(table.lookup(ip("10.1.0.9")), None, "no wire leads to the second channel");
        let gateway = wires.table(NodeId(2), &plan(3, 2), &radios);
        assert_eq!(gateway.lookup(ip("10.0.0.9")), Some(Way::Protocol));
        assert_eq!(gateway.lookup(ip("10.0.0.3")), Some(Way::Protocol), "it has a radio on this channel itself");
        assert_eq!(gateway.lookup(ip("192.168.0.9")), Some(Way::Via(Address(102))), "wire 2, over node 1");
        assert_eq!(gateway.lookup(ip("10.1.0.9")), Some(Way::Protocol), "over radio, if at all");
    }

    #[test]
    fn a_served_network_is_reached_by_way_of_its_router_alone() {
        // 0 - 1 and 0 - 2 - 3: node 3 is the router of a network, and node 1, a member of it, is nearer to node 0.
        let network = wires(&[(0, 1, 1), (0, 2, 1), (2, 3, 5)], 5);
        let members: Vec<_> = [3, 1, 4].map(|node| (NodeId(node), Address(node))).into();
        let channel: Vec<_> = [2].map(|node| (NodeId(node), Address(10 + node))).into();
        let channels = [(Network::Served(0), members.as_slice()), (Network::Channel(1), channel.as_slice())];
        let mut plan = plan(3, 2);
        let prefix = plan.prefixes.remove(&Network::Channel(0)).expect("it has one");
        plan.prefixes.insert(Network::Served(0), prefix);
        let ip = |text: &str| text.parse().expect("an address");
        let table = network.table(NodeId(0), &plan, &channels);
        for address in ["10.0.0.3", "10.0.0.1", "10.0.0.4", "10.0.0.77"] {
            assert_eq!(table.lookup(ip(address)), Some(Way::Via(Address(103))), "{address}");
        }
        assert_eq!(table.lookup(ip("10.1.0.2")), Some(Way::Via(Address(103))), "a channel, by its node with a wire");
        // The router asks its routing protocol.
        let router = network.table(NodeId(3), &plan, &channels);
        assert_eq!(router.lookup(ip("10.0.0.4")), Some(Way::Protocol));
        assert_eq!(router.lookup(ip("10.0.0.1")), Some(Way::Protocol), "a member with a wire, too");
        // A router without a way over wires is not reached.
        let network = wires(&[(0, 1, 1)], 5);
        let table = network.table(NodeId(0), &plan, &channels);
        assert_eq!(table.lookup(ip("10.0.0.1")), None);
    }
}
