//! A probe that records changes of routes, with the path that packets would take after each change.
//!
//! A routing protocol announces the changes of the routes that it uses. For the path, the node is asked for the next
//! hop to the destination, then that node, and so on, all at the instant of the change: what nodes further on believe
//! may be out of date, so that the path can end in a gap or in a loop. A packet with a source route ignores what these
//! nodes would say.

use std::collections::BTreeMap;

use hopyard_engine::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::results::RouteChangeRow;
use crate::address::NodeId;
use crate::context::RouteChange;

/// Which changes of routes are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RouteChanges {
    /// None.
    #[default]
    None,
    /// Those of the flows' sources, of the routes to the flows' destinations.
    Flows,
    /// Those of all nodes.
    All,
}

/// The path from a node to a destination, as far as the next hops at one instant lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The nodes, the first one included. A loop ends with the node that was there before.
    pub nodes: Vec<NodeId>,
    /// How it ends.
    pub end: PathEnd,
}

/// How a path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    pub const fn name(self) -> &'static str {
        match self {
            Self::Destination => "destination",
            Self::Gap => "gap",
            Self::Loop => "loop",
        }
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

/// The changes of routes so far.
#[derive(Clone, Debug, Default)]
pub struct RouteLog {
    which: RouteChanges,
    /// The first flow from a node to another one.
    flows: BTreeMap<(NodeId, NodeId), u32>,
    /// The next hop and the number of hops that a node used to a destination.
    known: BTreeMap<(NodeId, NodeId), (NodeId, u8)>,
    rows: Vec<RouteChangeRow>,
}

impl RouteLog {
    /// A log of these changes in a network with flows between these nodes.
    #[must_use]
    pub fn of(which: RouteChanges, flows: impl Iterator<Item = (NodeId, NodeId)>) -> Self {
        let mut first = BTreeMap::new();
        if which != RouteChanges::None {
            for (number, ends) in (0..).zip(flows) {
                first.entry(ends).or_insert(number);
            }
        }
        Self { which, flows: first, ..Self::default() }
    }

    /// A row for each change so far.
    #[must_use]
    pub fn rows(&self) -> &[RouteChangeRow] {
        &self.rows
    }

    /// Takes the rows out.
    pub(super) fn take(&mut self) -> Vec<RouteChangeRow> {
        std::mem::take(&mut self.rows)
    }

    /// A node's route has changed.
    pub(super) fn on_change(&mut self, now: Time, node: NodeId, view: &RouteChangeView<'_>) {
        let ends = (node, view.destination);
        let flow = self.flows.get(&ends).copied();
        if self.which == RouteChanges::None || self.which == RouteChanges::Flows && flow.is_none() {
            return;
        }
        let after = view.next_hop.zip(view.change.route.map(|(_, hops)| hops));
        let before = match after {
            Some(route) => self.known.insert(ends, route),
            None => self.known.remove(&ends),
        };
        // Some protocols announce that a route is in use again, and nothing else has changed.
        if before == after {
            return;
        }
        let path = after.map(|_| (view.path)());
        self.rows.push(RouteChangeRow {
            time_s: now.seconds(),
            node: node.0,
            destination: view.destination.0,
            flow,
            next_hop_before: before.map(|(hop, _)| hop.0),
            hops_before: before.map(|(_, hops)| hops),
            next_hop: after.map(|(hop, _)| hop.0),
            hops: after.map(|(_, hops)| hops),
            path: path.as_ref().map(|path| text(&path.nodes)),
            path_ends: path.map(|path| path.end.name()),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Address;

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

    #[test]
    fn only_changes_that_are_asked_for_and_change_something_are_recorded() {
        let rows = |which| {
            let mut log = RouteLog::of(which, [(NodeId(0), NodeId(3))].into_iter());
            let path = || Path::follow(NodeId(0), NodeId(0), |_| None);
            let mut at = 0;
            let mut change = |node: u32, route: Option<(u32, u8)>| {
                let route = route.map(|(hop, hops)| (Address(hop), hops));
                let change = RouteChange { destination: Address(3), route };
                let next_hop = route.map(|(hop, _)| NodeId(hop.0));
                at += 1;
                let view = RouteChangeView { destination: NodeId(3), next_hop, change, path: &path };
                log.on_change(Time::from_nanos(at * 1_000_000_000), NodeId(node), &view);
            };
            change(0, Some((1, 3)));
            change(0, Some((1, 3)));
            change(1, Some((2, 2)));
            change(0, None);
            change(0, None);
            log.take()
        };
        assert!(rows(RouteChanges::None).is_empty());
        let of_flows = rows(RouteChanges::Flows);
        let steps: Vec<_> = of_flows.iter().map(|row| (row.time_s, row.hops_before, row.hops, row.flow)).collect();
        assert_eq!(steps, [(1.0, None, Some(3), Some(0)), (4.0, Some(3), None, Some(0))]);
        assert_eq!((of_flows[0].path.as_deref(), of_flows[1].path.as_deref()), (Some("0"), None));
        assert_eq!(rows(RouteChanges::All).len(), 3);
    }
}
