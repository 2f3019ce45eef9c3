//! The routes of kernels that are nodes, as their agents report them, in the table of all changes of routes. Beside them
//! are those of Hopyard's nodes in the same network.

use std::collections::BTreeMap;

use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::observe::{Path, RouteChangeRow, RouteChanges};

/// The longest time between the removal of a route and the addition that replaces it.
const AT_ONCE: Span = Span::from_micros(100);

/// A change of a kernel's routing table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteEvent {
    pub at: Time,
    pub node: NodeId,
    pub destination: NodeId,
    pub change: Change,
}

/// What has become of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It leads over this next hop.
    Added(NodeId),
    /// The route over this next hop is gone.
    Removed(NodeId),
    /// The table says that there is no way.
    Unreachable,
}

/// The changes of routes of a run.
#[derive(Debug, Default)]
pub struct RouteEvents(Vec<RouteEvent>);

impl RouteEvents {
    /// A kernel has changed its table.
    pub fn push(&mut self, event: RouteEvent) {
        self.0.push(event);
    }

    /// The kernels report one after the other, each in the order of time.
    pub fn sort(&mut self) {
        self.0.sort_by_key(|it| (it.at, it.node));
    }

    /// The rows of the changes that are recorded, in the order of time. `flows` are numbers, sources and destinations;
    /// `own` are the rows of Hopyard's nodes, whose paths over kernels become known here.
    pub fn rows(
        &self,
        which: RouteChanges,
        flows: &[(u32, NodeId, NodeId)],
        own: Vec<RouteChangeRow>,
    ) -> Vec<RouteChangeRow> {
        let (mut known, mut rows) = (BTreeMap::<(NodeId, NodeId), NodeId>::new(), Vec::new());
        let mut own = own.into_iter().peekable();
        for (place, event) in self.0.iter().enumerate() {
            while let Some(it) = own.next_if(|it| it.time_s <= event.at.seconds()) {
                rows.push(with_path(it, &mut known));
            }
            let ends = (event.node, event.destination);
            let before = known.get(&ends).copied();
            match event.change {
                Change::Added(next_hop) => _ = known.insert(ends, next_hop),
                Change::Removed(next_hop) if before != Some(next_hop) => {}
                _ if self.is_replaced(place) => {}
                Change::Removed(_) | Change::Unreachable => _ = known.remove(&ends),
            }
            let after = known.get(&ends).copied();
            let flow = flows.iter().find(|(_, from, to)| (*from, *to) == ends).map(|it| it.0);
            let is_recorded = match which {
                RouteChanges::None => false,
                RouteChanges::Flows => flow.is_some(),
                RouteChanges::All => true,
            };
            if before != after && is_recorded {
                rows.push(row(event.at, ends, flow, [before, after], &known));
            }
        }
        rows.extend(own.map(|it| with_path(it, &mut known)));
        rows
    }

    /// Whether a route that goes comes back at once: daemons replace a route by a removal and an addition, between
    /// which their calls take some time.
    fn is_replaced(&self, place: usize) -> bool {
        let gone = self.0[place];
        let soon = self.0[place + 1..].iter().take_while(|it| it.at.since(gone.at) <= AT_ONCE);
        let same = |it: &&RouteEvent| (it.node, it.destination) == (gone.node, gone.destination);
        soon.filter(same).any(|it| matches!(it.change, Change::Added(_)))
    }
}

fn row(
    at: Time,
    (node, destination): (NodeId, NodeId),
    flow: Option<u32>,
    [before, after]: [Option<NodeId>; 2],
    known: &BTreeMap<(NodeId, NodeId), NodeId>,
) -> RouteChangeRow {
    let row = RouteChangeRow {
        time_s: at.seconds(),
        node: node.0,
        destination: destination.0,
        flow,
        next_hop_before: before.map(|it| it.0),
        // Linux's table has metrics, which are no hops.
        hops_before: None,
        next_hop: after.map(|it| it.0),
        hops: None,
        path: None,
        path_ends: None,
    };
    follow(row, known)
}

/// The row of one of Hopyard's nodes, whose next hop is known from now on, with its path.
fn with_path(row: RouteChangeRow, known: &mut BTreeMap<(NodeId, NodeId), NodeId>) -> RouteChangeRow {
    let ends = (NodeId(row.node), NodeId(row.destination));
    match row.next_hop {
        Some(next_hop) => known.insert(ends, NodeId(next_hop)),
        None => known.remove(&ends),
    };
    follow(row, known)
}

/// The row with the path that packets take now.
fn follow(row: RouteChangeRow, known: &BTreeMap<(NodeId, NodeId), NodeId>) -> RouteChangeRow {
    let (node, destination) = (NodeId(row.node), NodeId(row.destination));
    let path = row.next_hop.map(|_| Path::follow(node, destination, |at| known.get(&(at, destination)).copied()));
    let text = |path: &Path| path.nodes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    RouteChangeRow { path: path.as_ref().map(text), path_ends: path.map(|path| path.end.name()), ..row }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_route_is_one_change_in_either_order() {
        let event = |at: u64, node, next_hop, added| RouteEvent {
            at: Time::from_nanos(at * 1_000_000_000),
            node: NodeId(node),
            destination: NodeId(3),
            change: if added { Change::Added(NodeId(next_hop)) } else { Change::Removed(NodeId(next_hop)) },
        };
        let later =
            |at, next_hop| RouteEvent { at: event(at, 0, 0, true).at + AT_ONCE, ..event(at, 0, next_hop, true) };
        let mut events = RouteEvents::default();
        // Each kernel's reports come together.
        for it in [event(1, 0, 1, true), event(3, 0, 1, false), later(3, 2), event(4, 0, 1, true)] {
            events.push(it);
        }
        for it in [event(4, 0, 2, false), event(5, 0, 1, false), event(2, 1, 3, true), event(6, 2, 0, true)] {
            events.push(it);
        }
        events.push(RouteEvent { change: Change::Unreachable, ..event(7, 2, 0, true) });
        events.sort();
        let rows = events.rows(RouteChanges::All, &[(7, NodeId(0), NodeId(3))], Vec::new());
        let found: Vec<_> = rows.iter().map(|it| (it.time_s, it.node, it.next_hop, it.flow)).collect();
        let expected = [
            (1.0, 0, Some(1), Some(7)),
            (2.0, 1, Some(3), None),
            (3.0001, 0, Some(2), Some(7)),
            (4.0, 0, Some(1), Some(7)),
            (5.0, 0, None, Some(7)),
            (6.0, 2, Some(0), None),
            (7.0, 2, None, None),
        ];
        assert_eq!(found, expected);
        let paths: Vec<_> = rows.iter().filter_map(|it| Some((it.path.as_deref()?, it.path_ends?))).collect();
        let gap = |path| (path, "gap");
        assert_eq!(paths, [gap("0 1"), ("1 3", "destination"), gap("0 2"), ("0 1 3", "destination"), gap("2 0")]);
        assert_eq!(events.rows(RouteChanges::Flows, &[(7, NodeId(1), NodeId(3))], Vec::new()).len(), 1);
    }

    #[test]
    fn a_path_leads_over_kernels_and_nodes_of_hopyard() {
        let at = |second: u64| Time::from_nanos(second * 1_000_000_000);
        let added = |second, node, next_hop| RouteEvent {
            at: at(second),
            node: NodeId(node),
            destination: NodeId(3),
            change: Change::Added(NodeId(next_hop)),
        };
        let mut events = RouteEvents::default();
        [added(1, 1, 2), added(3, 1, 4)].into_iter().for_each(|it| events.push(it));
        let own = |second, node, next_hop| {
            let ends = (NodeId(node), NodeId(3));
            row(at(second), ends, None, [None, Some(NodeId(next_hop))], &BTreeMap::new())
        };
        let rows = events.rows(RouteChanges::All, &[], vec![own(0, 2, 3), own(2, 0, 1), own(4, 4, 3)]);
        let found: Vec<_> = rows.iter().map(|it| (it.node, it.path.as_deref(), it.path_ends)).collect();
        let whole = |node, path| (node, Some(path), Some("destination"));
        let cut = (1, Some("1 4"), Some("gap"));
        assert_eq!(found, [whole(2, "2 3"), whole(1, "1 2 3"), whole(0, "0 1 2 3"), cut, whole(4, "4 3")]);
    }
}
