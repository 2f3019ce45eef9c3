//! Routes written in the scenario. They change only if a program steers a run in steps.
//!
//! For experiments in which routing must have no influence: a chain, a star, a single hop. The parameter `others`
//! decides about a destination without a written route. The destination is reached along a shortest path, counts as a
//! neighbour, is reached along a chain of numbers, or is unreachable. Nothing that a protocol does is modelled. When a
//! link fails, the packet is lost and the route stays.
//!
//! Validated by construction: the tests below walk every route.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hopyard_engine::{Deadline, Prefetch, Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Connectivity, Oracular, Prescribed, Routes, Routing, RoutingFacts};
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason, RouteChange};
use crate::packet::{Packet, PacketId};
use crate::params::{self, Fault};

/// Where packets go for which no route is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Others {
    /// Along a path with the fewest radio hops, and the shortest delay over wires, as the links are at the start of the
    /// run. A packet without such a path is dropped.
    Shortest,
    /// Straight to the destination, as if every node were a neighbour.
    Direct,
    /// To the neighbour whose number is one nearer to the destination's: nodes stand in a chain, in order.
    Chain,
    /// Nowhere: they are dropped.
    Drop,
}

/// One route of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The node that has the route.
    pub at: u32,
    /// The destination's number.
    pub to: u32,
    /// The neighbour to which packets go next: over a wire, or else on the first channel on which it is in reach when
    /// the run starts.
    pub via: u32,
}

/// Parameters of static routes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The routes, each as the node that has it, the destination and the next hop.
    pub routes: Vec<Route>,
    /// Where packets go for which no route is written.
    pub others: Others,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { routes: Vec::new(), others: Others::Shortest }
    }

    fn check(&self) -> Result<(), Fault> {
        let mut known = BTreeMap::new();
        let mut faults: Vec<(usize, String)> = Vec::new();
        for (place, &Route { at, to, via }) in self.routes.iter().enumerate() {
            if at == to || at == via {
                faults.push((place, format!("node {at} has a route that leads to itself")));
                continue;
            }
            match known.entry((at, to)) {
                Entry::Occupied(_) => faults.push((place, format!("node {at} has two routes to node {to}"))),
                Entry::Vacant(free) => {
                    free.insert(via);
                }
            }
        }
        // A route that meets a faulty one may arrive once that is mended.
        let faulty: BTreeSet<_> =
            faults.iter().map(|&(place, _)| (self.routes[place].at, self.routes[place].to)).collect();
        let is_sound = |at: u32, to: u32| !faulty.contains(&(at, to));
        let lost = self.routes.iter().enumerate().filter(|(_, it)| {
            let way = self.way(&known, Address(it.at), Address(it.to));
            way.is_err_and(|last| is_sound(it.at, it.to) && is_sound(last.0, it.to))
        });
        let lost = lost.map(|(place, Route { at, to, .. })| {
            (place, format!("the route of node {at} to node {to} does not arrive there"))
        });
        let lost: Vec<_> = lost.collect();
        faults.extend(lost);
        Fault::of_elements("routes", faults)
    }
}

impl Params {
    /// A node that has no route and sends nothing.
    #[must_use]
    pub const fn silent() -> Self {
        Self { routes: Vec::new(), others: Others::Drop }
    }
}

impl RoutingFacts for Params {
    const CROSSES_WIRES: bool = true;

    fn reaches_wires(&self) -> bool {
        true
    }

    fn named_nodes(&self) -> Vec<(String, u32)> {
        let named = |(place, route): (usize, &Route)| {
            [("at", route.at), ("to", route.to), ("via", route.via)]
                .map(|(key, node)| (format!("routes.{place}.{key}"), node))
        };
        self.routes.iter().enumerate().flat_map(named).collect()
    }

    fn prescribed(&self, from: u32, to: u32) -> Prescribed {
        let known: BTreeMap<_, _> = self.routes.iter().map(|route| ((route.at, route.to), route.via)).collect();
        let (mut at, mut hops) = (from, Vec::new());
        // The largest number of hops that a TTL can count. A longer route is a loop.
        for _ in 0..=u8::MAX {
            if at == to {
                return Prescribed::Hops(hops);
            }
            let next = match (known.get(&(at, to)), self.others) {
                (Some(&via), _) => via,
                (None, Others::Direct) => to,
                (None, Others::Chain) if to > at => at + 1,
                (None, Others::Chain) => at - 1,
                // Whether there is a path depends on the places of the nodes.
                (None, Others::Shortest) => return Prescribed::Hops(hops),
                (None, Others::Drop) => return Prescribed::Unreachable,
            };
            hops.push((at, next));
            at = next;
        }
        Prescribed::Unreachable
    }
}

impl Params {
    /// The next hop, by the written routes or by `others`.
    fn next_hop(&self, known: &BTreeMap<(u32, u32), u32>, at: Address, to: Address) -> Option<Address> {
        known.get(&(at.0, to.0)).map(|&via| Address(via)).or(match self.others {
            // Where a path leads is known when the run starts.
            Others::Direct | Others::Shortest => Some(to),
            Others::Chain if to < at => Some(Address(at.0 - 1)),
            Others::Chain => Some(Address(at.0 + 1)),
            Others::Drop => None,
        })
    }

    /// How many hops a route takes, if it arrives within the largest TTL; otherwise the last node.
    fn way(&self, known: &BTreeMap<(u32, u32), u32>, from: Address, to: Address) -> Result<u8, Address> {
        let (mut at, mut hops) = (from, 0_u8);
        while at != to {
            (at, hops) = (self.next_hop(known, at, to).ok_or(at)?, hops.checked_add(1).ok_or(at)?);
        }
        Ok(hops)
    }
}

/// Static routes at one node.
#[derive(Debug)]
pub struct StaticRoutes {
    node: NodeId,
    others: Others,
    /// Routes written for this node: destination, next hop, number of hops; sorted.
    routes: Vec<(Address, Address, u8)>,
    /// Destinations whose route has been announced, sorted.
    announced: Vec<Address>,
    /// The links at the start of the run.
    connectivity: Option<Arc<Connectivity>>,
    /// Shortest paths that were looked up: first hop and number of hops, by destination.
    paths: Vec<(Address, Option<(Address, u8)>)>,
}

impl StaticRoutes {
    /// The routes of `node`.
    #[must_use]
    pub fn new(params: &Params, node: NodeId, _nodes: usize, _rng: Rng) -> Self {
        let known: BTreeMap<_, _> = params.routes.iter().map(|route| ((route.at, route.to), route.via)).collect();
        let routes = known
            .range((node.0, 0)..=(node.0, u32::MAX))
            .map(|(&(_, to), &via)| {
                let hops = params.way(&known, node.into(), Address(to)).unwrap_or(u8::MAX);
                (Address(to), Address(via), hops)
            })
            .collect();
        Self { node, others: params.others, routes, announced: Vec::new(), connectivity: None, paths: Vec::new() }
    }
}

impl StaticRoutes {
    /// The address under which a neighbour is reached. The routes name nodes, which may have several.
    fn link(&self, neighbour: NodeId, named: Address) -> Address {
        let found = self.connectivity.as_ref().and_then(|it| it.link(self.node, neighbour, named));
        found.unwrap_or(named)
    }

    fn shortest(&self, destination: Address) -> Option<(Address, u8)> {
        let (first, hops) = self.connectivity.as_ref()?.shortest_path(self.node, destination)?;
        Some((first, u8::try_from(hops).ok()?))
    }
}

impl Routing for StaticRoutes {
    fn route(&mut self, packet: PacketId, cx: &mut Context) {
        let destination = cx.packets[packet].destination;
        if self.others == Others::Shortest
            && let Err(place) = self.paths.binary_search_by_key(&destination, |path| path.0)
        {
            self.paths.insert(place, (destination, self.shortest(destination)));
        }
        let Some((next_hop, hops)) = self.lookup(destination) else {
            cx.drop_packet(self.node, packet, DropReason::NoRoute);
            return;
        };
        if let Err(place) = self.announced.binary_search(&destination) {
            self.announced.insert(place, destination);
            let change = RouteChange { destination, route: Some((next_hop, hops)) };
            cx.act(Action::RouteChanged { node: self.node, change });
        }
        cx.act(Action::Send { node: self.node, packet, next_hop });
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

impl Deadline for StaticRoutes {
    fn deadline(&self) -> Time {
        Time::NEVER
    }
}

impl Routes for StaticRoutes {
    fn lookup(&self, destination: Address) -> Option<(Address, u8)> {
        let to = self.connectivity.as_ref().map_or(NodeId(destination.0), |it| it.owner(destination));
        if let Ok(place) = self.routes.binary_search_by_key(&to.into(), |route| route.0) {
            let (_, next_hop, hops) = self.routes[place];
            return Some((self.link(NodeId(next_hop.0), next_hop), hops));
        }
        match self.others {
            Others::Shortest => match self.paths.binary_search_by_key(&destination, |path| path.0) {
                Ok(place) => self.paths[place].1,
                Err(_) => self.shortest(destination),
            },
            Others::Direct => Some((self.link(to, destination), 1)),
            Others::Chain => {
                let next_hop = NodeId(if to < self.node { self.node.0 - 1 } else { self.node.0 + 1 });
                let named = if next_hop == to { destination } else { next_hop.into() };
                Some((self.link(next_hop, named), u8::try_from(to.0.abs_diff(self.node.0)).ok()?))
            }
            Others::Drop => None,
        }
    }
}

impl Oracular for StaticRoutes {
    fn connectivity_interval(&self) -> Span {
        // Once, at the start.
        Span::MAX
    }

    fn on_connectivity(&mut self, connectivity: &Arc<Connectivity>) {
        if self.connectivity.is_none() {
            self.connectivity = Some(Arc::clone(connectivity));
        }
    }

    fn steer(&mut self, destination: NodeId, route: Option<(NodeId, u8)>) -> bool {
        let to = Address::from(destination);
        let route = route.map(|(next_hop, hops)| (to, Address::from(next_hop), hops));
        match (self.routes.binary_search_by_key(&to, |it| it.0), route) {
            (Ok(place), Some(route)) if self.routes[place] == route => return true,
            (Ok(place), Some(route)) => self.routes[place] = route,
            (Ok(place), None) => {
                self.routes.remove(place);
            }
            (Err(place), Some(route)) => self.routes.insert(place, route),
            (Err(_), None) => return true,
        }
        // The next packet announces the change.
        let owner = |address: Address| self.connectivity.as_ref().map_or(NodeId(address.0), |it| it.owner(address));
        let announced: Vec<_> = self.announced.iter().copied().filter(|it| owner(*it) != destination).collect();
        self.announced = announced;
        true
    }
}

impl Prefetch<Packet> for StaticRoutes {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Owners;
    use crate::params::{Params as _, read};
    use crate::routing::tests::{datagram, sends};
    use hopyard_engine::Streams;

    fn at(params: &Params, node: u32) -> StaticRoutes {
        StaticRoutes::new(params, NodeId(node), 6, Streams::new(1, 0).node(node as usize, "routing"))
    }

    #[test]
    fn a_chain_leads_both_ways() {
        let params = Params { others: Others::Chain, ..Params::of_profile("rfc") };
        for (from, to, next_hop, hops) in [(0, 5, 1, 5), (5, 0, 4, 5), (2, 3, 3, 1), (3, 2, 2, 1)] {
            assert_eq!(at(&params, from).lookup(Address(to)), Some((Address(next_hop), hops)));
        }
    }

    #[test]
    fn written_routes_come_before_others() {
        let routes =
            vec![Route { at: 0, to: 3, via: 2 }, Route { at: 2, to: 3, via: 1 }, Route { at: 1, to: 3, via: 3 }];
        let params = Params { routes, others: Others::Drop };
        assert_eq!(params.check(), Ok(()));
        let mut cx = Context::default();
        let mut node = at(&params, 0);
        assert_eq!(node.lookup(Address(3)), Some((Address(2), 3)));
        for destination in [3, 4] {
            let packet = datagram(&mut cx, Address(0), Address(destination));
            node.route(packet, &mut cx);
        }
        assert_eq!(sends(&cx), [Address(2)]);
        assert_eq!(cx.ledger.dropped, 1);
    }

    #[test]
    fn other_destinations_are_reached_along_the_links_of_the_start() {
        let lists = [&[1][..], &[0, 2], &[1], &[]].map(|list| list.iter().map(|&n| Address(n)).collect::<Vec<_>>());
        let start = Arc::new(Connectivity::new(lists.clone(), Owners::default()));
        let later = Arc::new(Connectivity::new([vec![Address(2)], lists[1].clone()], Owners::default()));
        let mut node = at(&Params::of_profile("rfc"), 0);
        node.on_connectivity(&start);
        node.on_connectivity(&later);
        let mut cx = Context::default();
        for destination in [2, 3] {
            let packet = datagram(&mut cx, Address(0), Address(destination));
            node.route(packet, &mut cx);
        }
        assert_eq!((sends(&cx), cx.ledger.dropped), (vec![Address(1)], 1), "node 3 is not connected");
        assert_eq!(node.lookup(Address(2)), Some((Address(1), 2)));
    }

    #[test]
    fn a_route_from_outside_replaces_the_written_one() {
        let params = Params { routes: vec![Route { at: 0, to: 3, via: 3 }], others: Others::Drop };
        let (mut cx, mut node) = (Context::default(), at(&params, 0));
        for route in [None, Some((NodeId(1), 2)), Some((NodeId(2), 3)), None] {
            assert!(node.steer(NodeId(3), route));
            assert_eq!(node.lookup(Address(3)), route.map(|(via, hops)| (via.into(), hops)));
            let packet = datagram(&mut cx, Address(0), Address(3));
            node.route(packet, &mut cx);
        }
        assert_eq!((sends(&cx), cx.ledger.dropped), (vec![Address(1), Address(2)], 2));
    }

    #[test]
    fn impossible_routes_are_refused() {
        let fault = |routes: serde_json::Value| {
            let value = serde_json::json!({ "routes": routes, "others": "drop" });
            read::<Params>(&value).expect_err("a fault").to_string()
        };
        let route = |at: u32, to: u32, via: u32| serde_json::json!({ "at": at, "to": to, "via": via });
        assert!(fault(serde_json::json!([route(0, 0, 1)])).contains("itself"));
        assert!(fault(serde_json::json!([route(0, 2, 1), route(0, 2, 3)])).contains("two routes"));
        assert!(fault(serde_json::json!([route(0, 2, 1), route(1, 2, 0)])).contains("does not arrive"));
        assert!(fault(serde_json::json!([route(0, 2, 1)])).contains("does not arrive"));
    }
}
