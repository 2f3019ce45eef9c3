//! A change of a route as a probe sees it, and the path that packets would take after it.

use strum::IntoStaticStr;

use crate::address::NodeId;
use crate::context::RouteChange;

/// The path from a node to a destination, as far as the next hops at one instant lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The nodes, the first one included. A loop ends with the node that was there before.
    pub nodes: Vec<NodeId>,
    /// How it ends.
    pub end: PathEnd,
}

/// How a path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum PathEnd {
    /// At the destination.
    Destination,
    /// At a node that has no route.
    Gap,
    /// At a node that is on the path already.
    Loop,
}

impl PathEnd {
    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Path {
    /// Follows next hops from a node to a destination; each must be another node than the one asked.
    #[must_use]
    pub fn follow(from: NodeId, to: NodeId, next_hop: impl Fn(NodeId) -> Option<NodeId>) -> Self {
        let mut nodes = vec![from];
        let mut at = from;
        while at != to {
            let Some(next) = next_hop(at) else { return Self { nodes, end: PathEnd::Gap } };
            let is_loop = nodes.contains(&next);
            nodes.push(next);
            if is_loop {
                return Self { nodes, end: PathEnd::Loop };
            }
            at = next;
        }
        Self { nodes, end: PathEnd::Destination }
    }
}

/// Writes nodes as `0 1 2`.
#[must_use]
pub(super) fn text(nodes: &[NodeId]) -> String {
    nodes.iter().map(|node| node.0.to_string()).collect::<Vec<_>>().join(" ")
}

/// A change of a route, as a probe sees it.
pub struct RouteChangeView<'a> {
    /// The node that owns the destination's address.
    pub destination: NodeId,
    /// The neighbour that the new route leads to.
    pub next_hop: Option<NodeId>,
    /// The change itself.
    pub change: RouteChange,
    /// The path now.
    pub path: &'a dyn Fn() -> Path,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next_hops(of: &'static [Option<u32>]) -> impl Fn(NodeId) -> Option<NodeId> {
        move |node| of[node.index()].map(NodeId)
    }

    #[test]
    fn a_path_ends_at_the_destination_in_a_gap_or_in_a_loop() {
        let hops: &[Option<u32>] = &[Some(1), Some(2), Some(3), None, Some(5), Some(4)];
        let follow = |from: u32| {
            let path = Path::follow(NodeId(from), NodeId(9), next_hops(hops));
            (text(&path.nodes), path.end)
        };
        assert_eq!(follow(0), ("0 1 2 3".to_owned(), PathEnd::Gap));
        assert_eq!(follow(4), ("4 5 4".to_owned(), PathEnd::Loop));
        let whole = Path::follow(NodeId(0), NodeId(3), next_hops(hops));
        assert_eq!((text(&whole.nodes), whole.end), ("0 1 2 3".to_owned(), PathEnd::Destination));
    }
}
