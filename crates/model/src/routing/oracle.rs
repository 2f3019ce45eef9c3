//! The oracle: shortest paths over the true connectivity, at no cost in packets.
//!
//! It is not a protocol but an upper bound for protocols: the difference between it and a protocol is the cost of
//! finding routes. Paths have the fewest hops. Among several such paths it takes the one whose first hop has the lowest
//! number, so that runs can be repeated. It sends no messages and holds no packets. It notices a broken link only at
//! the next update of the connectivity.
//!
//! Validated against breadth-first search by hand on small graphs, and by the test of freedom from loops in
//! `routing/tests`.

use std::sync::Arc;

use hopyard_engine::{Deadline, Prefetch, Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Connectivity, Oracular, Routes, Routing, RoutingFacts};
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason, RouteChange};
use crate::packet::{Packet, PacketId};
use crate::params::{self, Fault};

/// Parameters of the oracle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// How often the true connectivity is looked at while nodes move.
    pub interval: Span,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { interval: Span::from_millis(100) }
    }

    fn check(&self) -> Result<(), Fault> {
        Fault::unless("interval", self.interval, |it| it >= Span::from_millis(1), "at least 1 ms")?;
        Ok(())
    }
}

impl RoutingFacts for Params {
    const REPORTS_BREAKS: bool = true;
    const CROSSES_WIRES: bool = true;

    fn keeps_routes(&self) -> bool {
        true
    }

    fn reaches_wires(&self) -> bool {
        true
    }
}

/// A path that was looked up.
#[derive(Clone, Copy, Debug)]
struct Path {
    destination: Address,
    /// The first hop and the number of hops, as of `version`.
    route: Option<(Address, u8)>,
    version: u64,
}

/// The oracle at one node.
#[derive(Debug)]
pub struct Oracle {
    node: NodeId,
    interval: Span,
    connectivity: Arc<Connectivity>,
    /// Counts changes of the connectivity.
    version: u64,
    /// Paths that were looked up, by destination.
    paths: Vec<Path>,
}

impl Oracle {
    /// The oracle at `node`.
    #[must_use]
    pub fn new(params: &Params, node: NodeId, _nodes: usize, _rng: Rng) -> Self {
        Self { node, interval: params.interval, connectivity: Arc::default(), version: 0, paths: Vec::new() }
    }

    fn path(&mut self, destination: Address, cx: &mut Context) -> Option<(Address, u8)> {
        let place = self.paths.binary_search_by_key(&destination, |path| path.destination);
        let before = match place {
            Ok(place) if self.paths[place].version == self.version => return self.paths[place].route,
            Ok(place) => self.paths[place].route,
            Err(_) => None,
        };
        // A path of more than 255 hops is useless: the TTL has eight bits.
        let route = self
            .connectivity
            .shortest_path(self.node, destination)
            .and_then(|(first, hops)| Some((first, u8::try_from(hops).ok()?)));
        let path = Path { destination, route, version: self.version };
        match place {
            Ok(place) => self.paths[place] = path,
            Err(place) => self.paths.insert(place, path),
        }
        if route != before {
            cx.act(Action::RouteChanged { node: self.node, change: RouteChange { destination, route } });
        }
        route
    }
}

impl Routing for Oracle {
    fn route(&mut self, packet: PacketId, cx: &mut Context) {
        match self.path(cx.packets[packet].destination, cx) {
            Some((next_hop, _)) => cx.act(Action::Send { node: self.node, packet, next_hop }),
            None => {
                if cx.is_local(self.node, cx.packets[packet].source) {
                    cx.unreachable(self.node, packet);
                }
                cx.drop_packet(self.node, packet, DropReason::NoRoute);
            }
        }
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

impl Deadline for Oracle {
    fn deadline(&self) -> Time {
        Time::NEVER
    }
}

impl Routes for Oracle {
    fn lookup(&self, destination: Address) -> Option<(Address, u8)> {
        let place = self.paths.binary_search_by_key(&destination, |path| path.destination).ok()?;
        self.paths[place].route
    }
}

impl Oracular for Oracle {
    fn connectivity_interval(&self) -> Span {
        self.interval
    }

    fn on_connectivity(&mut self, connectivity: &Arc<Connectivity>) {
        if !Arc::ptr_eq(&self.connectivity, connectivity) && self.connectivity != *connectivity {
            self.connectivity = Arc::clone(connectivity);
            self.version += 1;
        }
    }
}

impl Prefetch<Packet> for Oracle {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Owners;
    use crate::params::Params as _;
    use crate::routing::tests::{datagram, sends};
    use hopyard_engine::Streams;

    fn net(lists: &[&[u32]]) -> Arc<Connectivity> {
        Arc::new(Connectivity::new(
            lists.iter().map(|list| list.iter().map(|&n| Address(n)).collect::<Vec<_>>()),
            Owners::default(),
        ))
    }

    #[test]
    fn a_path_follows_the_connectivity_and_a_change_is_announced_once() {
        let params = Params::of_profile("rfc");
        let mut oracle = Oracle::new(&params, NodeId(0), 4, Streams::new(1, 0).node(0, "routing"));
        let mut cx = Context::default();
        let changes = |cx: &mut Context| {
            let found: Vec<_> = cx
                .actions
                .iter()
                .filter_map(|action| match action {
                    Action::RouteChanged { change, .. } => Some(change.route),
                    _ => None,
                })
                .collect();
            found
        };
        let square = net(&[&[1, 2], &[0, 3], &[0, 3], &[1, 2]]);
        oracle.on_connectivity(&square);
        for _ in 0..2 {
            let packet = datagram(&mut cx, Address(0), Address(3));
            oracle.route(packet, &mut cx);
        }
        assert_eq!(changes(&mut cx), [Some((Address(1), 2))]);
        assert_eq!(sends(&cx), [Address(1), Address(1)]);
        assert_eq!(oracle.lookup(Address(3)), Some((Address(1), 2)));

        // The link 1-3 breaks, then 2-3 as well.
        for (lists, route) in
            [(&[&[1, 2][..], &[0], &[0, 3], &[2]], Some((Address(2), 2))), (&[&[1, 2][..], &[0], &[0], &[]], None)]
        {
            cx.actions.clear();
            oracle.on_connectivity(&net(lists));
            let packet = datagram(&mut cx, Address(0), Address(3));
            oracle.route(packet, &mut cx);
            assert_eq!(changes(&mut cx), [route]);
            assert_eq!(sends(&cx), route.map(|(first, _)| first).into_iter().collect::<Vec<_>>());
        }
        assert_eq!(cx.ledger.dropped, 1);
    }
}
