//! A probe that records changes of routes, with the path that packets would take after each change.
//!
//! A routing protocol announces the changes of the routes that it uses. For the path, the probe asks the node for the
//! next hop to the destination, then asks that node, and so on, all at the instant of the change. The belief of a
//! farther node may be out of date, so that the path can end in a gap or in a loop. A packet with a source route
//! ignores what these nodes would say.

use std::collections::BTreeMap;

use hopyard_engine::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::network::NetworkView;
use super::probe::Probe;
use super::route_change::{RouteChangeView, text};
use super::row::{Report, Row};
use crate::address::NodeId;

/// A row for each change of a route that a routing protocol announced, from the start of the run. `measure.routes`
/// says which are recorded: by default, none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RouteChangeRow {
    /// Simulated time of the change.
    #[schemars(extend("unit" = "s"))]
    pub time_s: f64,
    /// The number of the node whose route changed.
    pub node: u32,
    /// The number of the node that the route leads to.
    pub destination: u32,
    /// The number of the first flow from this node to the destination.
    pub flow: Option<u32>,
    /// The next hop's node until then; empty if there was no route.
    pub next_hop_before: Option<u32>,
    /// The hops that the protocol counted until then.
    #[schemars(extend("unit" = "hops"))]
    pub hops_before: Option<u8>,
    /// The next hop's node from then on; empty if the route was lost.
    pub next_hop: Option<u32>,
    /// The hops that the protocol counts from then on.
    #[schemars(extend("unit" = "hops"))]
    pub hops: Option<u8>,
    /// The nodes that a packet would visit now, such as `0 3 5`, if each node on the way is asked for its next hop.
    pub path: Option<String>,
    /// Where `path` ends: at the `destination`, in a `gap` (a node without a route), or in a `loop`.
    pub path_ends: Option<&'static str>,
}

impl Row for RouteChangeRow {}

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
    /// A log of these changes.
    #[must_use]
    pub fn new(which: RouteChanges) -> Self {
        Self { which, ..Self::default() }
    }
}

impl Probe for RouteLog {
    fn watches(&self) -> bool {
        self.which != RouteChanges::None
    }

    fn on_start(&mut self, network: &NetworkView<'_>) {
        for (number, flow) in (0..).zip(network.flows) {
            self.flows.entry((flow.from, flow.to)).or_insert(number);
        }
    }

    fn on_route_changed(&mut self, now: Time, node: NodeId, view: &RouteChangeView<'_>) {
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

    fn report(&self, report: &mut Report<'_>) {
        report.table(|| self.rows.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Address;
    use crate::context::RouteChange;
    use crate::observe::{FlowView, MobileView, Path};

    #[test]
    fn only_changes_that_are_asked_for_and_change_something_are_recorded() {
        let rows = |which| {
            let mut log = RouteLog::new(which);
            let flows = [FlowView::between(NodeId(0), NodeId(3))];
            log.on_start(&NetworkView { nodes: 4, interfaces: &[], flows: &flows, mobile: &MobileView::default() });
            let path = || Path::follow(NodeId(0), NodeId(0), |_| None);
            let mut at = 0;
            let mut change = |node: u32, route: Option<(u32, u8)>| {
                let route = route.map(|(hop, hops)| (Address(hop), hops));
                let change = RouteChange { destination: Address(3), route };
                let next_hop = route.map(|(hop, _)| NodeId(hop.0));
                at += 1;
                let view = RouteChangeView { destination: NodeId(3), next_hop, change, path: &path };
                log.on_route_changed(Time::from_nanos(at * 1_000_000_000), NodeId(node), &view);
            };
            change(0, Some((1, 3)));
            change(0, Some((1, 3)));
            change(1, Some((2, 2)));
            change(0, None);
            change(0, None);
            log.rows
        };
        assert!(rows(RouteChanges::None).is_empty());
        let of_flows = rows(RouteChanges::Flows);
        let steps: Vec<_> = of_flows.iter().map(|row| (row.time_s, row.hops_before, row.hops, row.flow)).collect();
        assert_eq!(steps, [(1.0, None, Some(3), Some(0)), (4.0, Some(3), None, Some(0))]);
        assert_eq!((of_flows[0].path.as_deref(), of_flows[1].path.as_deref()), (Some("0"), None));
        assert_eq!(rows(RouteChanges::All).len(), 3);
    }
}
