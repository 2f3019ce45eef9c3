//! The view of a world between two steps. Looking changes nothing.

use super::World;
use crate::address::{Address, InterfaceId, NodeId};
use crate::channel::AnyChannel;
use crate::ip::Way;
use crate::node::Attachment;
use crate::observe::{PositionRow, Probe, QueueRow, RouteRow, SeriesRow, Totals};
use crate::packet::PacketKind;
use crate::routing::Routes;

impl<P: Probe> World<P> {
    /// How many nodes there are.
    #[must_use]
    pub const fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// How many interfaces there are.
    #[must_use]
    pub const fn interface_count(&self) -> usize {
        self.topology.interfaces.len()
    }

    /// Where the nodes with a radio are.
    #[must_use]
    pub fn positions(&self) -> Vec<PositionRow> {
        let position = |node: u32| {
            let at = self.nodes[node as usize].interfaces().find_map(|it| match self.topology.attachment(it) {
                Attachment::Radio { channel, station } => {
                    Some(self.channels[channel.index()].position(station as usize, self.cx.now))
                }
                _ => None,
            })?;
            Some(PositionRow { node, x_m: at.x, y_m: at.y, z_m: at.z })
        };
        (0..self.nodes.len() as u32).filter_map(position).collect()
    }

    /// The queues of all interfaces with a radio or a wire, in the order of nodes and of their interfaces.
    #[must_use]
    pub fn queues(&self) -> Vec<QueueRow> {
        let now = self.cx.now;
        let row = |interface: InterfaceId| {
            let it = &self.topology.interfaces[interface.index()];
            let (attached, statistics) = match it.attachment {
                Attachment::Radio { .. } => {
                    ("radio", self.nodes[it.node.index()].link_of(interface)?.queue().statistics(now))
                }
                Attachment::Wire { wire, direction } => ("wire", self.wires[wire].statistics(direction, now)),
                Attachment::Tunnel { .. } | Attachment::Nothing => return None,
            };
            let packets = self.waiting(interface)?;
            Some(QueueRow {
                node: it.node.0,
                interface: self.cx.owners.name(interface.into()).to_string(),
                attached,
                packets: packets as u64,
                mean: statistics.mean,
                max: statistics.max as u64,
            })
        };
        let nodes = (0..self.nodes.len() as u32).map(NodeId);
        nodes.flat_map(|node| self.nodes[node.index()].interfaces()).filter_map(row).collect()
    }

    /// How many packets wait in the queue of an interface, if it has one. The packet that is being sent has left it.
    #[must_use]
    pub fn waiting(&self, interface: InterfaceId) -> Option<usize> {
        let it = self.topology.interfaces.get(interface.index())?;
        match it.attachment {
            Attachment::Radio { .. } => Some(self.nodes[it.node.index()].link_of(interface)?.queue().len()),
            Attachment::Wire { wire, direction } => Some(self.wires[wire].waiting(direction, self.cx.now)),
            Attachment::Tunnel { .. } | Attachment::Nothing => None,
        }
    }

    /// For each channel the distance in metres up to which a broadcast can be decoded when nothing disturbs it, if
    /// distance alone decides.
    #[must_use]
    pub fn ranges(&self) -> Vec<Option<f64>> {
        self.channels.iter().map(AnyChannel::range).collect()
    }

    /// The ways that a node has to the addresses of other nodes. A route that the routing protocol would first search
    /// for, or compute, is no way yet.
    #[must_use]
    pub fn routes(&self, node: NodeId) -> Vec<RouteRow> {
        let way = |to: InterfaceId| {
            let destination = Address::from(to);
            let (next_hop, hops) = match self.nodes[node.index()].way(destination, &self.cx.owners)? {
                Way::Protocol => {
                    let (next_hop, hops) = self.nodes[node.index()].routing.lookup(destination)?;
                    (next_hop, Some(hops))
                }
                Way::Direct => (destination, None),
                Way::Via(next_hop) => (next_hop, None),
                Way::Nowhere => return None,
                Way::Into { to, .. } => (to, None),
                Way::Towards(router) => (self.nodes[node.index()].routing.lookup_towards(destination, router)?.0, None),
                Way::Tunnel(interface) => match self.topology.attachment(interface) {
                    Attachment::Tunnel { to } => (to, None),
                    _ => return None,
                },
            };
            Some(RouteRow {
                destination: self.topology.node(to).0,
                address: self.cx.owners.name(destination).to_string(),
                next_hop: self.cx.owners.of(next_hop).0,
                next_address: self.cx.owners.name(next_hop).to_string(),
                hops,
            })
        };
        let all = (0..self.topology.interfaces.len() as u32).map(InterfaceId);
        all.filter(|it| self.topology.node(*it) != node).filter_map(way).collect()
    }

    /// The samples of series that were taken so far.
    #[must_use]
    pub fn series(&self) -> &[SeriesRow] {
        &self.sampling.series
    }

    /// Counters of packets.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let ledger = &self.cx.ledger;
        let kinds = PacketKind::ALL.iter();
        Totals {
            events: self.events_so_far(),
            frames: self.channels.iter().map(AnyChannel::frames).sum(),
            originated: kinds.map(|&kind| (kind.name(), ledger.originated_by_kind[kind as usize])).collect(),
            copied: ledger.copied,
            delivered: ledger.delivered,
            handed_over: ledger.handed_over,
            dropped: ledger.dropped,
            existing: self.cx.packets.len() as u64,
        }
    }
}
