//! The way that packets would take now. It leads from next hop to next hop, each node asked at the same instant, or
//! along the route that the first node writes into its packets.

use std::cell::Cell;

use super::World;
use crate::address::{Address, NodeId};
use crate::context::{Owners, RouteChange};
use crate::ip::Way;
use crate::node::{Attachment, Node, Topology};
use crate::observe::{Path, Probe, RouteChangeView};
use crate::routing::Routes;

/// The parts of a world that know ways.
struct Ways<'a> {
    nodes: &'a [Node],
    topology: &'a Topology,
    owners: &'a Owners,
}

impl Ways<'_> {
    /// The next hop of a packet with this route, the first node included; without one, or beyond its end, the next hop
    /// that the node itself knows.
    fn next_hop(&self, route: &[NodeId], node: NodeId, destination: Address) -> Option<NodeId> {
        let it = &self.nodes[node.index()];
        let next_hop = match it.way(destination, self.owners)? {
            Way::Protocol => {
                let place = route.iter().position(|&known| known == node);
                if let Some(&next) = place.and_then(|place| route.get(place + 1)) {
                    return Some(next);
                }
                it.routing.lookup_named(destination, self.owners.name(destination))?.0
            }
            Way::Direct => destination,
            Way::Via(next_hop) => next_hop,
            Way::Nowhere => return None,
            Way::Towards(router) => it.routing.lookup_towards(destination, router)?.0,
            Way::Into { to, .. } => to,
            Way::Tunnel(interface) => match self.topology.attachment(interface) {
                Attachment::Tunnel { to } => to,
                _ => return None,
            },
        };
        Some(self.owners.of(next_hop)).filter(|next| next.index() < self.nodes.len())
    }

    fn path(&self, from: NodeId, destination: Address) -> Path {
        let hops = self.nodes[from.index()].routing.source_route(destination).unwrap_or_default();
        let mut route = vec![from];
        route.extend(hops.iter().map(|&hop| self.owners.of(hop)));
        // Only the source puts packets into a tunnel of the protocol's. Up to its end, nodes see the outer packet.
        let tunnel = Cell::new(self.tunnel_end(from, destination));
        Path::follow(from, self.owners.of(destination), |node| {
            tunnel.set(tunnel.get().filter(|&end| self.owners.of(end) != node));
            self.next_hop(&route, node, tunnel.get().unwrap_or(destination))
        })
    }

    /// The end of the tunnel into which the routing protocol of a node puts its packets to a destination.
    fn tunnel_end(&self, node: NodeId, destination: Address) -> Option<Address> {
        let it = &self.nodes[node.index()];
        let is_routed =
            it.table.as_ref().is_none_or(|it| it.lookup(self.owners.name(destination)) == Some(Way::Protocol));
        it.routing.tunnel_end(destination).filter(|_| is_routed)
    }
}

impl<P: Probe> World<P> {
    /// The way that a packet from a node to an address would take now, as far as the next hops lead. It changes
    /// nothing, so that a route which a protocol would first search for is none yet.
    #[must_use]
    pub fn path(&self, from: NodeId, destination: Address) -> Path {
        Ways { nodes: &self.nodes, topology: &self.topology, owners: &self.cx.owners }.path(from, destination)
    }

    /// Tells the probe that a route has changed.
    pub(super) fn tell_route_change(&mut self, node: NodeId, change: RouteChange) {
        let Self { probe, nodes, topology, cx, .. } = self;
        let ways = Ways { nodes, topology, owners: &cx.owners };
        let path = || ways.path(node, change.destination);
        let destination = cx.owners.of(change.destination);
        let next_hop = change.route.map(|(hop, _)| cx.owners.of(hop));
        probe.on_route_changed(cx.now, node, &RouteChangeView { destination, next_hop, change, path: &path });
    }
}
