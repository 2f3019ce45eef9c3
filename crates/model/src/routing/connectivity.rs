//! Who can hear whom, as the simulator knows it: the oracle's input.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hopyard_engine::Span;

use crate::address::{Address, NodeId};
use crate::context::Owners;

/// The true connectivity of a network: for each node the addresses of its neighbours.
///
/// Only links that work in both directions belong here, since unicast frames need an acknowledgement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connectivity {
    /// Where each node's neighbours start in `neighbours`; one more entry marks the end.
    starts: Vec<u32>,
    neighbours: Vec<Address>,
    owners: Owners,
    /// The addresses at the ends of wires, each with the delay to it; sorted.
    wires: Vec<(Address, Span)>,
}

/// The cost of a path: first the frames that it takes on radio channels, then the delay of its wires, then its hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cost {
    frames: u32,
    delay: Span,
    hops: u32,
}

impl Connectivity {
    /// From each node's neighbours, in order of nodes; each list is sorted here, by node.
    ///
    /// # Panics
    /// When there are more than 2^32 links.
    #[must_use]
    pub fn new<L: IntoIterator<Item = Address>>(lists: impl IntoIterator<Item = L>, owners: Owners) -> Self {
        let mut it = Self { starts: vec![0], neighbours: Vec::new(), owners, wires: Vec::new() };
        for list in lists {
            let start = it.neighbours.len();
            it.neighbours.extend(list);
            let owners = &it.owners;
            it.neighbours[start..].sort_unstable_by_key(|&address| (owners.of(address), address));
            it.starts.push(u32::try_from(it.neighbours.len()).expect("fewer than 2^32 links"));
        }
        it
    }

    /// Says which of the addresses are at the end of a wire, and after which delay.
    #[must_use]
    pub fn with_wires(mut self, mut wires: Vec<(Address, Span)>) -> Self {
        wires.sort_unstable();
        self.wires = wires;
        self
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The node that has an address.
    #[must_use]
    pub fn owner(&self, address: Address) -> NodeId {
        self.owners.of(address)
    }

    /// The addresses of a node's neighbours, sorted by node. Empty for a node that does not exist.
    #[must_use]
    pub fn neighbours(&self, node: NodeId) -> &[Address] {
        match (self.starts.get(node.index()), self.starts.get(node.index() + 1)) {
            (Some(&start), Some(&end)) => &self.neighbours[start as usize..end as usize],
            _ => &[],
        }
    }

    /// The address under which a node reaches a neighbour. It is the address at the other end of the wire with the
    /// shortest delay, or `named` if that is in reach, or the first address in reach over radio. Nothing if they are no
    /// neighbours.
    #[must_use]
    pub fn link(&self, from: NodeId, neighbour: NodeId, named: Address) -> Option<Address> {
        let all = self.neighbours(from);
        let start = all.partition_point(|&address| self.owners.of(address) < neighbour);
        let mut its = all[start..].iter().copied().take_while(|&address| self.owners.of(address) == neighbour);
        let first = its.next()?;
        let Some(second) = its.next() else { return Some(first) };
        [first, second].into_iter().chain(its).min_by_key(|&address| {
            match self.wires.binary_search_by_key(&address, |&(end, _)| end) {
                Ok(place) => (false, self.wires[place].1, false, address),
                Err(_) => (true, Span::ZERO, address != named, address),
            }
        })
    }

    /// The first hop and the number of hops of a shortest path to the node with an address. The path has the fewest
    /// hops over radio and, among such paths, the shortest delay over wires. Among several such paths it is the one
    /// whose first hop has the lowest number.
    #[must_use]
    pub fn shortest_path(&self, from: NodeId, to: Address) -> Option<(Address, u32)> {
        if self.wires.is_empty() { self.fewest_hops(from, to) } else { self.least_cost(from, to) }
    }

    /// Dijkstra's algorithm, for networks with wires.
    fn least_cost(&self, from: NodeId, to: Address) -> Option<(Address, u32)> {
        let to = self.owners.of(to);
        let mut seen = vec![false; self.nodes()];
        *seen.get_mut(from.index())? = true;
        let mut heap = BinaryHeap::new();
        let reach = |node: NodeId, cost: Cost, first: Option<Address>, seen: &[bool], heap: &mut BinaryHeap<_>| {
            for &neighbour in self.neighbours(node) {
                let next = self.owners.of(neighbour);
                if !seen[next.index()] {
                    let wire = self.wires.binary_search_by_key(&neighbour, |&(address, _)| address);
                    let delay = wire.map_or(Span::ZERO, |place| self.wires[place].1);
                    let cost = Cost {
                        frames: cost.frames + u32::from(wire.is_err()),
                        delay: cost.delay + delay,
                        hops: cost.hops + 1,
                    };
                    let first = first.unwrap_or(neighbour);
                    heap.push(Reverse((cost, self.owners.of(first), first, next)));
                }
            }
        };
        reach(from, Cost { frames: 0, delay: Span::ZERO, hops: 0 }, None, &seen, &mut heap);
        while let Some(Reverse((cost, _, first, node))) = heap.pop() {
            if node == to {
                return Some((first, cost.hops));
            }
            if !std::mem::replace(&mut seen[node.index()], true) {
                reach(node, cost, Some(first), &seen, &mut heap);
            }
        }
        None
    }

    /// Breadth-first search, for networks without wires.
    fn fewest_hops(&self, from: NodeId, to: Address) -> Option<(Address, u32)> {
        // Breadth-first search. Neighbours enter the queue sorted by node, so that nodes of equal distance leave it
        // sorted by first hop. The first path found to a node therefore has the lowest first hop.
        let to = self.owners.of(to);
        let mut seen = vec![false; self.nodes()];
        *seen.get_mut(from.index())? = true;
        let mut queue = Vec::new();
        for &neighbour in self.neighbours(from) {
            let node = self.owners.of(neighbour);
            if node == to {
                return Some((neighbour, 1));
            }
            seen[node.index()] = true;
            queue.push((node, neighbour, 1));
        }
        let mut head = 0;
        while let Some(&(node, first, hops)) = queue.get(head) {
            head += 1;
            for &neighbour in self.neighbours(node) {
                let node = self.owners.of(neighbour);
                if node == to {
                    return Some((first, hops + 1));
                }
                if !std::mem::replace(&mut seen[node.index()], true) {
                    queue.push((node, first, hops + 1));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lists: &[&[u32]]) -> Connectivity {
        Connectivity::new(
            lists.iter().map(|list| list.iter().map(|&n| Address(n)).collect::<Vec<_>>()),
            Owners::default(),
        )
    }

    #[test]
    fn lists_are_sorted_and_unknown_nodes_have_no_neighbours() {
        let net = of(&[&[2, 1], &[0], &[0]]);
        assert_eq!(net.neighbours(NodeId(0)), [Address(1), Address(2)]);
        assert_eq!(net.neighbours(NodeId(3)), []);
        assert_eq!(Connectivity::default().neighbours(NodeId(0)), []);
    }

    #[test]
    fn of_equal_paths_the_lowest_first_hop_wins() {
        // A square 0-1-3-2-0 with a tail 3-4, and 5 on its own.
        let net = of(&[&[1, 2], &[0, 3], &[0, 3], &[1, 2, 4], &[3], &[]]);
        assert_eq!(net.shortest_path(NodeId(0), Address(3)), Some((Address(1), 2)));
        assert_eq!(net.shortest_path(NodeId(0), Address(4)), Some((Address(1), 3)));
        assert_eq!(net.shortest_path(NodeId(4), Address(0)), Some((Address(3), 3)));
        assert_eq!(net.shortest_path(NodeId(0), Address(5)), None);
        assert_eq!(net.shortest_path(NodeId(7), Address(0)), None);
    }

    #[test]
    fn a_neighbour_is_reached_by_wire_or_under_an_address_in_reach() {
        // Nodes 0 to 2; addresses 3 and 4 are further ones of node 1, and 5 of node 2.
        let owners = Owners::new(3, vec![NodeId(1), NodeId(1), NodeId(2)], Vec::new());
        let lists = [&[3, 4, 5][..], &[0], &[0]].map(|list| list.iter().map(|&n| Address(n)).collect::<Vec<_>>());
        let net = Connectivity::new(lists, owners);
        let link = |net: &Connectivity, to: u32, named: u32| net.link(NodeId(0), NodeId(to), Address(named));
        assert_eq!(link(&net, 1, 1), Some(Address(3)), "its first address is not in reach");
        assert_eq!(link(&net, 1, 4), Some(Address(4)), "the one named is");
        assert_eq!(link(&net, 2, 2), Some(Address(5)));
        assert_eq!(net.link(NodeId(1), NodeId(2), Address(2)), None);
        let net = net.with_wires(vec![(Address(4), Span::from_millis(9))]);
        assert_eq!(link(&net, 1, 3), Some(Address(4)), "a wire comes first");
    }

    #[test]
    fn wires_count_by_their_delay_and_less_than_radio() {
        // 0 and 4 hear each other over radio; wires lead from 0 over 1 and 2, or over 3, to 4.
        let lists = [&[1, 3, 4][..], &[0, 2], &[1, 4], &[0, 4], &[0, 2, 3]];
        let wires = |delays: [u64; 5]| {
            let ends = [(0, 4), (1, 1), (2, 2), (3, 3)];
            let radio = delays[0] == 0;
            let ends = ends.into_iter().filter(|&(at, _)| !(radio && at == 0));
            ends.map(|(at, end)| (Address(end), Span::from_millis(delays[at]))).collect::<Vec<_>>()
        };
        let net = Connectivity::new(
            lists.iter().map(|list| list.iter().map(|&n| Address(n)).collect::<Vec<_>>()),
            Owners::default(),
        );
        // Node 4 is one hop away over radio. All addresses but its own are ends of wires.
        let net = net.with_wires(wires([0, 1, 1, 5, 0]));
        assert_eq!(net.shortest_path(NodeId(0), Address(2)), Some((Address(1), 2)));
        assert_eq!(net.shortest_path(NodeId(0), Address(4)), Some((Address(4), 1)), "every way ends with radio");
        assert_eq!(net.shortest_path(NodeId(4), Address(1)), Some((Address(2), 2)), "3 ms less than over node 3");
        let net = net.with_wires(wires([9, 1, 1, 5, 0]));
        assert_eq!(net.shortest_path(NodeId(0), Address(4)), Some((Address(4), 1)), "9 ms, over 11 ms");
    }
}
