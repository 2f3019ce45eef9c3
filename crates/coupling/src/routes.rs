//! Changes of routes in kernels that are nodes. The agents of the kernels report them, and they stand in the table of
//! all changes of routes, together with the changes of Hopyard's nodes in the same network.

use std::collections::BTreeMap;

use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::observe::{Path, PathEnd, RouteChangeRow, RouteChanges};

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
    /// One of Hopyard's nodes has this next hop, or none.
    Own(Option<NodeId>),
}

/// The next hops from nodes to destinations.
type Known = BTreeMap<(NodeId, NodeId), NodeId>;

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

    /// These changes and those of Hopyard's nodes in the same network, which `own` has.
    #[must_use]
    pub fn beside(&self, own: &[RouteChangeRow]) -> Self {
        let event = |it: &RouteChangeRow| RouteEvent {
            at: time(it),
            node: NodeId(it.node),
            destination: NodeId(it.destination),
            change: Change::Own(it.next_hop.map(NodeId)),
        };
        let mut all = Self(self.0.iter().copied().chain(own.iter().map(event)).collect());
        all.sort();
        all
    }

    /// The rows of the changes that are recorded, in the order of time. `flows` are numbers, sources and destinations;
    /// `own` are the rows of Hopyard's nodes, whose paths over kernels become known here.
    pub fn rows(
        &self,
        which: RouteChanges,
        flows: &[(u32, NodeId, NodeId)],
        own: Vec<RouteChangeRow>,
    ) -> Vec<RouteChangeRow> {
        let mut rows = Vec::new();
        let mut theirs = BTreeMap::<_, Vec<RouteChangeRow>>::new();
        for it in &own {
            theirs.entry((time(it), (NodeId(it.node), NodeId(it.destination)))).or_default().push(it.clone());
        }
        self.beside(&own).replay(|at, ends, hops, known| {
            if let Some(found) = theirs.remove(&(at, ends)) {
                rows.extend(found.into_iter().map(|it| with_path(it, known)));
                return;
            }
            let flow = flows.iter().find(|(_, from, to)| (*from, *to) == ends).map(|it| it.0);
            let is_recorded = match which {
                RouteChanges::None => false,
                RouteChanges::Flows => flow.is_some(),
                RouteChanges::All => true,
            };
            if is_recorded {
                rows.push(row(at, ends, flow, hops, known));
            }
        });
        rows
    }

    /// How often the next hop of a route changed from a time on.
    pub fn changes(&self, from: NodeId, to: NodeId, since: Time) -> u64 {
        let mut count = 0;
        self.replay(|at, ends, _, _| count += u64::from(ends == (from, to) && at >= since));
        count
    }

    /// The hops of the way from a node to another one after each change of a route to the latter; nothing while there
    /// is no whole way.
    pub fn hops(&self, from: NodeId, to: NodeId) -> Vec<(Time, Option<usize>)> {
        let mut found = Vec::new();
        self.replay(|at, (_, destination), _, known| {
            if destination == to {
                let path = follow((from, to), known);
                found.push((at, (path.end == PathEnd::Destination).then(|| path.nodes.len() - 1)));
            }
        });
        found
    }

    /// Calls `each` for each change of a next hop, in the order of time: its time, the ends of the route, the next hop
    /// before and after it, and all next hops after it. Changes of one instant happen together: batman-adv is asked at
    /// all nodes at the same time.
    fn replay(&self, mut each: impl FnMut(Time, (NodeId, NodeId), [Option<NodeId>; 2], &Known)) {
        let (mut known, mut places) = (Known::new(), 0..self.0.len());
        for together in self.0.chunk_by(|one, other| one.at == other.at) {
            let mut before = BTreeMap::new();
            for (event, place) in together.iter().zip(&mut places) {
                let ends = (event.node, event.destination);
                let next_hop = known.get(&ends).copied();
                before.entry(ends).or_insert(next_hop);
                match event.change {
                    Change::Own(Some(next_hop)) => _ = known.insert(ends, next_hop),
                    Change::Own(None) => _ = known.remove(&ends),
                    Change::Added(next_hop) => _ = known.insert(ends, next_hop),
                    Change::Removed(gone) if next_hop != Some(gone) => {}
                    _ if self.is_replaced(place) => {}
                    Change::Removed(_) | Change::Unreachable => _ = known.remove(&ends),
                }
            }
            for (ends, before) in before {
                let after = known.get(&ends).copied();
                // Of its own nodes Hopyard tells changes of hops too.
                let is_own = |it: &RouteEvent| (it.node, it.destination) == ends && matches!(it.change, Change::Own(_));
                if before != after || together.iter().any(is_own) {
                    each(together[0].at, ends, [before, after], &known);
                }
            }
        }
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

/// When a change of one of Hopyard's nodes was.
fn time(row: &RouteChangeRow) -> Time {
    Time::from_nanos((row.time_s * 1e9).round() as u64)
}

/// The path that the next hops of all nodes give.
fn follow((from, to): (NodeId, NodeId), known: &Known) -> Path {
    Path::follow(from, to, |at| known.get(&(at, to)).copied())
}

fn row(
    at: Time,
    (node, destination): (NodeId, NodeId),
    flow: Option<u32>,
    [before, after]: [Option<NodeId>; 2],
    known: &Known,
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
    with_path(row, known)
}

/// The row with the path that packets take now.
fn with_path(row: RouteChangeRow, known: &Known) -> RouteChangeRow {
    let path = row.next_hop.map(|_| follow((NodeId(row.node), NodeId(row.destination)), known));
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
        let changes = |since| events.changes(NodeId(0), NodeId(3), Time::from_nanos(since));
        assert_eq!([changes(0), changes(2_000_000_000)], [4, 3]);
        let hops: Vec<_> =
            events.hops(NodeId(0), NodeId(3)).into_iter().map(|(at, hops)| (at.seconds(), hops)).collect();
        let expected =
            [(1.0, None), (2.0, Some(2)), (3.0001, None), (4.0, Some(2)), (5.0, None), (6.0, None), (7.0, None)];
        assert_eq!(hops, expected);
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
            row(at(second), ends, None, [None, Some(NodeId(next_hop))], &Known::new())
        };
        let rows = events.rows(RouteChanges::All, &[], vec![own(0, 2, 3), own(2, 0, 1), own(4, 4, 3)]);
        let found: Vec<_> = rows.iter().map(|it| (it.node, it.path.as_deref(), it.path_ends)).collect();
        let whole = |node, path| (node, Some(path), Some("destination"));
        let cut = (1, Some("1 4"), Some("gap"));
        assert_eq!(found, [whole(2, "2 3"), whole(1, "1 2 3"), whole(0, "0 1 2 3"), cut, whole(4, "4 3")]);
    }
}
