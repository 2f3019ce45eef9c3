//! The tree of shortest paths from a node (RFC 3626 §10): breadth-first search for hops, Dijkstra's algorithm for
//! costs.
//!
//! Most changes of the topology leave a node's paths as they are, and the tree is computed again only when a packet
//! needs a path that has become doubtful. For hops three rules keep that exact without a new search:
//!
//! - An edge that is removed matters only if it is one of the tree. The node at its end is *cut*: it and the nodes
//!   behind it may be further away than noted, never nearer.
//! - An edge that is added matters only if it leads to a node that is noted as further away. The shorter path is passed
//!   on from there. If the path to its beginning is cut, the whole tree is doubtful instead.
//! - A path without a cut is a shortest path.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The cost of a node that is not reached.
const UNREACHED: u32 = u32::MAX;

/// The directed graph that a node knows.
pub trait Graph {
    /// The symmetric neighbours: for each its number, the address to which packets for it go, and the cost.
    fn neighbours(&self, visit: impl FnMut(u32, u32, u32));

    /// The ends of the edges from a node with their costs. `near` says that the node may be a neighbour.
    fn edges(&self, from: u32, near: bool, visit: impl FnMut(u32, u32));
}

/// The end of a path.
#[derive(Clone, Copy, Debug)]
struct Entry {
    cost: u32,
    parent: u32,
    next_hop: u32,
    hops: u8,
    /// Whether the edge from the parent has gone.
    cut: bool,
}

impl Entry {
    const NONE: Self = Self { cost: UNREACHED, parent: 0, next_hop: 0, hops: 0, cut: false };
}

/// The answer of a tree about a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The next hop and the hops, or that there is no path.
    Known(Option<(u32, u8)>),
    /// The tree must be computed again.
    Doubtful,
}

/// The shortest paths from a node.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    entries: Vec<Entry>,
    /// Whether the rules above hold; otherwise the tree says nothing.
    valid: bool,
    cuts: usize,
    queue: Vec<u32>,
}

impl Tree {
    fn entry(&self, node: u32) -> Entry {
        self.entries.get(node as usize).copied().unwrap_or(Entry::NONE)
    }

    fn set(&mut self, node: u32, entry: Entry) {
        let place = node as usize;
        if self.entries.len() <= place {
            self.entries.resize(place + 1, Entry::NONE);
        }
        let old = std::mem::replace(&mut self.entries[place], entry);
        self.cuts -= usize::from(old.cut);
    }

    /// The bytes of the tree.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>() + self.queue.capacity() * size_of::<u32>()
    }

    /// Everything may have changed.
    pub fn invalidate(&mut self) {
        self.valid = false;
    }

    /// Whether changes are noted one by one.
    pub const fn is_valid(&self) -> bool {
        self.valid
    }

    /// The path to a node.
    pub fn path(&self, to: u32) -> Answer {
        if !self.valid {
            return Answer::Doubtful;
        }
        let found = self.entry(to);
        if found.cost == UNREACHED || found.hops == 0 {
            return Answer::Known(None);
        }
        if self.cuts > 0 && self.is_cut(to) {
            return Answer::Doubtful;
        }
        Answer::Known(Some((found.next_hop, found.hops)))
    }

    /// The cost of the path to a node, if it is certain.
    pub fn cost(&self, to: u32) -> Option<u32> {
        matches!(self.path(to), Answer::Known(Some(_))).then(|| self.entry(to).cost)
    }

    /// Whether an edge of the path to a node has gone.
    fn is_cut(&self, mut node: u32) -> bool {
        loop {
            let entry = self.entry(node);
            if entry.hops == 0 || entry.cut {
                return entry.cut;
            }
            node = entry.parent;
        }
    }

    fn clear(&mut self, root: u32) {
        self.entries.fill(Entry::NONE);
        (self.cuts, self.valid) = (0, true);
        self.queue.clear();
        self.set(root, Entry { cost: 0, parent: root, ..Entry::NONE });
    }

    /// Computes the tree for the fewest hops.
    pub fn by_hops(&mut self, root: u32, graph: &impl Graph) {
        self.clear(root);
        graph.neighbours(|node, next_hop, _| {
            if self.entry(node).cost == UNREACHED {
                self.set(node, Entry { cost: 1, parent: root, next_hop, hops: 1, cut: false });
                self.queue.push(node);
            }
        });
        let near = self.queue.len();
        let mut head = 0;
        while let Some(&from) = self.queue.get(head) {
            let at = self.entry(from);
            let next = Entry { cost: at.cost + 1, parent: from, hops: at.hops.saturating_add(1), ..at };
            graph.edges(from, head < near, |to, _| {
                if self.entry(to).cost == UNREACHED {
                    self.set(to, next);
                    self.queue.push(to);
                }
            });
            head += 1;
        }
    }

    /// Computes the tree for the least sum of costs; of equal costs the fewest hops.
    pub fn by_cost(&mut self, root: u32, graph: &impl Graph) {
        self.clear(root);
        let mut heap = BinaryHeap::new();
        graph.neighbours(|node, next_hop, cost| heap.push(Reverse((cost, 1_u8, node, root, next_hop))));
        while let Some(Reverse((cost, hops, node, parent, next_hop))) = heap.pop() {
            if self.entry(node).cost != UNREACHED {
                continue;
            }
            self.set(node, Entry { cost, parent, next_hop, hops, cut: false });
            graph.edges(node, true, |to, more| {
                if self.entry(to).cost == UNREACHED {
                    heap.push(Reverse((cost.saturating_add(more), hops.saturating_add(1), to, node, next_hop)));
                }
            });
        }
    }

    /// An edge has gone. Whether paths may have changed. Only for trees by hops.
    pub fn remove(&mut self, from: u32, to: u32) -> bool {
        if !self.valid {
            return false;
        }
        let Some(entry) = self.entries.get_mut(to as usize) else { return false };
        if entry.cost == UNREACHED || entry.hops < 2 || entry.parent != from || entry.cut {
            return false;
        }
        entry.cut = true;
        self.cuts += 1;
        true
    }

    /// An edge has come, which `graph` has already. Whether paths may have changed. Only for trees by hops.
    pub fn add(&mut self, from: u32, to: u32, graph: &impl Graph) -> bool {
        let at = self.entry(from);
        if !self.valid || at.cost == UNREACHED || at.hops == 0 || at.cost + 1 >= self.entry(to).cost {
            return false;
        }
        if self.cuts > 0 && self.is_cut(from) {
            self.valid = false;
            return true;
        }
        self.set(to, Entry { cost: at.cost + 1, parent: from, hops: at.hops.saturating_add(1), ..at });
        self.queue.clear();
        self.queue.push(to);
        let mut head = 0;
        while let Some(&from) = self.queue.get(head) {
            let at = self.entry(from);
            let next = Entry { cost: at.cost + 1, parent: from, hops: at.hops.saturating_add(1), ..at };
            graph.edges(from, false, |to, _| {
                if next.cost < self.entry(to).cost {
                    self.set(to, next);
                    self.queue.push(to);
                }
            });
            head += 1;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Edges of equal cost; those from node 0 lead to its neighbours.
    #[derive(Default)]
    struct Edges(BTreeSet<(u32, u32)>);

    impl Edges {
        fn from(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
            self.0.range((node, 0)..=(node, u32::MAX)).map(|edge| edge.1)
        }
    }

    impl Graph for Edges {
        fn neighbours(&self, mut visit: impl FnMut(u32, u32, u32)) {
            self.from(0).for_each(|node| visit(node, node, 1));
        }

        fn edges(&self, from: u32, _near: bool, mut visit: impl FnMut(u32, u32)) {
            self.from(from).for_each(|to| visit(to, 1));
        }
    }

    proptest! {
        /// Edges come and go; every certain answer of the tree is the answer of a new search.
        #[test]
        fn what_a_tree_is_certain_of_is_shortest(
            changes in prop::collection::vec((0_u32..12, 0_u32..12, 0_u32..12), 1..200),
        ) {
            let mut edges = Edges::default();
            let mut tree = Tree::default();
            tree.by_hops(0, &edges);
            for (from, to, asked) in changes {
                if from != to && to != 0 {
                    if !edges.0.remove(&(from, to)) {
                        edges.0.insert((from, to));
                        if from != 0 {
                            tree.add(from, to, &edges);
                        }
                    } else if from != 0 {
                        tree.remove(from, to);
                    }
                    if from == 0 {
                        tree.invalidate();
                    }
                }
                let mut exact = Tree::default();
                exact.by_hops(0, &edges);
                for node in 1..12 {
                    if let Answer::Known(path) = tree.path(node) {
                        prop_assert_eq!(path.map(|it| it.1), exact.entry(node).hops.ge(&1).then_some(exact.entry(node).hops));
                        if let Some((next_hop, hops)) = path {
                            let mut from_there = Tree::default();
                            let mut others = Edges(edges.0.iter().copied().filter(|edge| edge.0 != 0).collect());
                            others.0.insert((0, next_hop));
                            from_there.by_hops(0, &others);
                            prop_assert!(edges.0.contains(&(0, next_hop)));
                            prop_assert_eq!(from_there.entry(node).hops, hops, "by way of {}", next_hop);
                        }
                    }
                }
                if tree.path(asked) == Answer::Doubtful {
                    tree.by_hops(0, &edges);
                }
                let mut by_cost = Tree::default();
                by_cost.by_cost(0, &edges);
                prop_assert_eq!(by_cost.entry(asked).hops, exact.entry(asked).hops);
            }
        }
    }
}
