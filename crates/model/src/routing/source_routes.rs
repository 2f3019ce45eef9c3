//! Source routes: the source of a packet writes its whole path into it, and the nodes on the path follow it.
//!
//! Read: RFC 4728 §6.7 and §8.1.3 to §8.1.5 (the Source Route option, and its handling by a node).
//!
//! Not a protocol, but the least cost of a protocol with source routes. Paths are known without messages, from the
//! scenario or from the links at the start of the run. Every packet with more than one hop has the header and the
//! addresses of its path. A packet whose next hop does not answer is lost, and the path stays.
//!
//! Left out: the discovery of routes, route errors, salvaging, and everything else of DSR.
//!
//! Validated by arithmetic: `tests/source_routes.rs` compares the bytes on the air, hop by hop.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hopyard_engine::{Deadline, Prefetch, Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AfterOptions, Connectivity, Oracular, Prescribed, Routes, Routing, RoutingFacts};
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason, RouteChange};
use crate::packet::{DsrOption, MOST_ADDRESSES, Packet, PacketId, SourceRoute};
use crate::params::{self, Fault};

/// Where packets go for which no path is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Others {
    /// Along a path with the fewest radio hops, and the shortest delay over wires, as the links are at the start of the
    /// run. A packet without such a path is dropped.
    Shortest,
    /// Nowhere: they are dropped.
    Drop,
}

/// Parameters of source routes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Paths, each as the numbers of its nodes from the source to the destination, such as [[0, 1, 2], [2, 1, 0]].
    pub paths: Vec<Vec<u32>>,
    /// Where packets go for which no path is written.
    pub others: Others,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { paths: Vec::new(), others: Others::Shortest }
    }

    fn check(&self) -> Result<(), Fault> {
        let mut known = BTreeSet::new();
        let mut fault = |path: &[u32]| {
            let [from, between @ .., to] = path else {
                return Some(format!("expected at least two nodes in a path, found {path:?}"));
            };
            if between.len() > MOST_ADDRESSES {
                let most = MOST_ADDRESSES + 2;
                return Some(format!("expected at most {most} nodes in a path, found {}", path.len()));
            }
            if let Some((_, node)) = path.iter().enumerate().find(|&(place, node)| path[..place].contains(node)) {
                return Some(format!("the path of node {from} to node {to} passes node {node} twice"));
            }
            (!known.insert((*from, *to))).then(|| format!("node {from} has two paths to node {to}"))
        };
        let faults = self.paths.iter().enumerate().filter_map(|(place, path)| Some((place, fault(path)?)));
        Fault::of_elements("paths", faults.collect())
    }
}

impl RoutingFacts for Params {
    const MESSAGES: &'static [&'static str] = &["source_route"];
    const CROSSES_WIRES: bool = true;

    fn reaches_wires(&self) -> bool {
        true
    }

    fn named_nodes(&self) -> Vec<(String, u32)> {
        let named = |(place, path): (usize, &Vec<u32>)| {
            path.iter().map(move |&node| (format!("paths.{place}"), node)).collect::<Vec<_>>()
        };
        self.paths.iter().enumerate().flat_map(named).collect()
    }

    fn prescribed(&self, from: u32, to: u32) -> Prescribed {
        match (self.paths.iter().find(|path| path.first() == Some(&from) && path.last() == Some(&to)), self.others) {
            (Some(path), _) => Prescribed::Hops(path.windows(2).map(|hop| (hop[0], hop[1])).collect()),
            (None, Others::Shortest) => Prescribed::Hops(Vec::new()),
            (None, Others::Drop) => Prescribed::Unreachable,
        }
    }
}

/// A path that was looked up: the hops to a destination, the destination included.
type Path = Option<Vec<Address>>;

/// Source routes at one node.
#[derive(Debug)]
pub struct SourceRoutes {
    node: NodeId,
    others: Others,
    /// Paths by destination: the paths written for this node, and the paths that were looked up.
    paths: BTreeMap<Address, Path>,
    /// Destinations whose path has been announced.
    announced: Vec<Address>,
    /// The links at the start of the run.
    connectivity: Option<Arc<Connectivity>>,
}

impl SourceRoutes {
    /// The paths of `node`.
    #[must_use]
    pub fn new(params: &Params, node: NodeId, _nodes: usize, _rng: Rng) -> Self {
        let own = params.paths.iter().filter(|path| path.first() == Some(&node.0));
        let paths = own.filter_map(|path| {
            let hops: Vec<Address> = path[1..].iter().map(|&node| Address(node)).collect();
            Some((*hops.last()?, Some(hops)))
        });
        Self { node, others: params.others, paths: paths.collect(), announced: Vec::new(), connectivity: None }
    }

    /// The hops of a shortest path, if they fit into a source route.
    fn shortest(&self, destination: Address) -> Path {
        let connectivity = self.connectivity.as_ref()?;
        let (mut at, mut hops) = (self.node, Vec::new());
        loop {
            let (next, left) = connectivity.shortest_path(at, destination)?;
            hops.push(next);
            if left == 1 {
                return Some(hops);
            }
            if hops.len() > MOST_ADDRESSES {
                return None;
            }
            at = connectivity.owner(next);
        }
    }

    fn path(&self, destination: Address) -> Path {
        // A path to a node leads to all of its addresses.
        let node = self.connectivity.as_ref().map_or(NodeId(destination.0), |it| it.owner(destination));
        let known = self.paths.get(&destination).or_else(|| self.paths.get(&node.into()));
        match (known, self.others) {
            (Some(path), _) => path.clone(),
            (None, Others::Shortest) => self.shortest(destination),
            (None, Others::Drop) => None,
        }
    }
}

impl Routing for SourceRoutes {
    fn route(&mut self, packet: PacketId, cx: &mut Context) {
        let destination = cx.packets[packet].destination;
        if !self.paths.contains_key(&destination) {
            self.paths.insert(destination, self.path(destination));
        }
        let Some(Some([between @ .., last])) = self.paths.get(&destination).map(Option::as_deref) else {
            cx.drop_packet(self.node, packet, DropReason::NoRoute);
            return;
        };
        let next_hop = *between.first().unwrap_or(last);
        let hops = between.len() as u8 + 1;
        // §8.1.3: a packet to a neighbour needs no source route.
        if let Some(route) = SourceRoute::new(between.to_vec()).filter(|_| !between.is_empty()) {
            cx.packets[packet].change_options(|options| options.push(DsrOption::SourceRoute(route)));
        }
        if let Err(place) = self.announced.binary_search(&destination) {
            self.announced.insert(place, destination);
            let change = RouteChange { destination, route: Some((next_hop, hops)) };
            cx.act(Action::RouteChanged { node: self.node, change });
        }
        cx.act(Action::Send { node: self.node, packet, next_hop });
    }

    fn on_options(&mut self, packet: PacketId, _from: Address, cx: &mut Context) -> AfterOptions {
        let destination = cx.packets[packet].destination;
        if cx.is_local(self.node, destination) {
            return AfterOptions::Deliver;
        }
        let Context { packets, owners, .. } = cx;
        let next_hop = packets[packet].change_options(|options| {
            let route = options.iter_mut().find_map(|option| match option {
                DsrOption::SourceRoute(route) => Some(route),
                _ => None,
            })?;
            // A hop whose protocol does not know the option has left its own place to be visited.
            while route.visit() {
                let next_hop = route.next_hop(destination);
                let node = owners.of(next_hop);
                if node != self.node {
                    let links = self.connectivity.as_ref().filter(|_| next_hop == destination);
                    return Some(links.and_then(|it| it.link(self.node, node, next_hop)).unwrap_or(next_hop));
                }
            }
            None
        });
        next_hop.map_or(AfterOptions::Unknown, AfterOptions::Forward)
    }

    fn on_message(&mut self, packet: PacketId, _from: Address, cx: &mut Context) {
        cx.drop_packet(self.node, packet, DropReason::NoListener);
    }

    fn on_link_failure(&mut self, packet: PacketId, _next_hop: Address, reason: DropReason, cx: &mut Context) {
        cx.drop_packet(self.node, packet, reason);
    }

    fn on_taken_back(&mut self, packet: PacketId, _next_hop: Address, cx: &mut Context) {
        cx.drop_packet(self.node, packet, DropReason::BrokenLink);
    }

    fn on_timer(&mut self, _cx: &mut Context) {}

    fn oracle(&mut self) -> Option<&mut dyn Oracular> {
        Some(self)
    }
}

impl Deadline for SourceRoutes {
    fn deadline(&self) -> Time {
        Time::NEVER
    }
}

impl Routes for SourceRoutes {
    fn lookup(&self, destination: Address) -> Option<(Address, u8)> {
        let path = self.path(destination)?;
        Some((*path.first()?, path.len() as u8))
    }

    fn source_route(&self, destination: Address) -> Option<Vec<Address>> {
        self.path(destination).map(|path| path.to_vec())
    }
}

impl Oracular for SourceRoutes {
    fn connectivity_interval(&self) -> Span {
        // Once, at the start.
        Span::MAX
    }

    fn on_connectivity(&mut self, connectivity: &Arc<Connectivity>) {
        if self.connectivity.is_some() {
            return;
        }
        // The written paths name nodes, which may have several addresses.
        for hops in self.paths.values_mut().flatten() {
            let mut at = self.node;
            for hop in hops {
                let node = connectivity.owner(*hop);
                *hop = connectivity.link(at, node, *hop).unwrap_or(*hop);
                at = node;
            }
        }
        self.connectivity = Some(Arc::clone(connectivity));
    }
}

impl Prefetch<Packet> for SourceRoutes {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Owners;
    use crate::params::{Params as _, read};
    use crate::routing::tests::{datagram, sends};
    use hopyard_engine::Streams;

    fn at(params: &Params, node: u32) -> SourceRoutes {
        SourceRoutes::new(params, NodeId(node), 6, Streams::new(1, 0).node(node as usize, "routing"))
    }

    fn written(paths: &[&[u32]]) -> Params {
        Params { paths: paths.iter().map(|path| path.to_vec()).collect(), others: Others::Drop }
    }

    #[test]
    fn a_packet_is_forwarded_along_its_own_path() {
        let params = written(&[&[0, 2, 4, 5]]);
        let mut cx = Context::default();
        let packet = datagram(&mut cx, Address(0), Address(5));
        let size = cx.packets[packet].size;
        at(&params, 0).route(packet, &mut cx);
        assert_eq!(sends(&cx), [Address(2)]);
        assert_eq!(cx.packets[packet].size, size + 4 + 4 + 2 * 4);
        // Nodes on the path know no route.
        for (node, next) in [(2, Address(4)), (4, Address(5))] {
            let answer = at(&params, node).on_options(packet, Address(0), &mut cx);
            assert_eq!(answer, AfterOptions::Forward(next), "at node {node}");
        }
        assert_eq!(at(&params, 5).on_options(packet, Address(4), &mut cx), AfterOptions::Deliver);
        assert_eq!(at(&params, 3).on_options(packet, Address(4), &mut cx), AfterOptions::Unknown, "it is at its end");
        assert_eq!(at(&params, 0).lookup(Address(5)), Some((Address(2), 3)));
    }

    #[test]
    fn a_neighbour_needs_no_source_route_and_a_missing_path_drops() {
        let params = written(&[&[0, 1]]);
        let mut cx = Context::default();
        let [near, far] = [1, 2].map(|to| datagram(&mut cx, Address(0), Address(to)));
        let mut node = at(&params, 0);
        node.route(near, &mut cx);
        assert_eq!((sends(&cx), cx.packets[near].options().len()), (vec![Address(1)], 0));
        node.route(far, &mut cx);
        assert_eq!(cx.ledger.dropped, 1);
    }

    #[test]
    fn other_paths_are_the_shortest_at_the_start() {
        let lists = [&[1][..], &[0, 2], &[1, 3], &[2]].map(|list| list.iter().map(|&n| Address(n)).collect::<Vec<_>>());
        let owners = Owners::new(4, Vec::new(), Vec::new());
        let mut node = at(&Params::of_profile("rfc"), 0);
        node.on_connectivity(&Arc::new(Connectivity::new(lists, owners)));
        let mut cx = Context::default();
        let packet = datagram(&mut cx, Address(0), Address(3));
        node.route(packet, &mut cx);
        let route = cx.packets[packet].source_route().expect("a route");
        assert_eq!(route.addresses(), [Address(1), Address(2)]);
        assert_eq!(node.lookup(Address(5)), None);
    }

    #[test]
    fn impossible_paths_are_refused() {
        let fault = |paths: serde_json::Value| {
            let value = serde_json::json!({ "paths": paths, "others": "drop" });
            read::<Params>(&value).expect_err("a fault").to_string()
        };
        assert!(fault(serde_json::json!([[3]])).contains("at least two nodes"));
        assert!(fault(serde_json::json!([[0, 1, 0]])).contains("passes node 0 twice"));
        assert!(fault(serde_json::json!([[0, 1, 2], [0, 3, 2]])).contains("two paths to node 2"));
        let long: Vec<u32> = (0..65).collect();
        assert!(fault(serde_json::json!([long])).contains("at most 64 nodes"));
    }
}
