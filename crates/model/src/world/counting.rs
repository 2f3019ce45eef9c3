//! Counts what nodes send of routing protocols and agents, and at which interfaces.

use super::{Attachment, World};
use crate::address::{InterfaceId, NodeId};
use crate::context::{Context, Media};
use crate::observe::Probe;
use crate::packet::{Body, PacketId};

impl<P: Probe> World<P> {
    /// Counts a packet that goes to a neighbour by an interface, if there is one that leads to it.
    #[inline]
    pub(super) fn count_sent(&mut self, node: NodeId, packet: PacketId, by: Option<InterfaceId>) {
        if self.is_counted(packet) {
            let mut media = Media::default();
            if let Some(interface) = by {
                self.add(interface, &mut media);
            }
            self.count(node, packet, media);
        }
    }

    /// Counts a packet that goes to all neighbours.
    #[inline]
    pub(super) fn count_broadcast(&mut self, node: NodeId, packet: PacketId) {
        if self.is_counted(packet) {
            let mut media = Media::default();
            for interface in self.interfaces_of(node).filter(|&it| self.takes_broadcasts(it, packet)) {
                self.add(interface, &mut media);
            }
            self.count(node, packet, media);
        }
    }

    /// Whether a broadcast goes out at an interface. Messages of a routing protocol go only where it runs: on radios,
    /// and on wires if it finds routes over them.
    pub(super) fn takes_broadcasts(&self, interface: InterfaceId, packet: PacketId) -> bool {
        let it = &self.interfaces[interface.index()];
        match it.attachment {
            Attachment::Radio { .. } => true,
            Attachment::Wire { .. } => {
                self.nodes[it.node.index()].routes_wires || !self.cx.packets[packet].is_routing()
            }
            Attachment::Tunnel { .. } | Attachment::Nothing => false,
        }
    }

    /// Most packets carry neither a message nor options.
    #[inline]
    fn is_counted(&self, packet: PacketId) -> bool {
        !matches!(self.cx.packets[packet].body, Body::Tcp(_) | Body::Udp(_))
    }

    fn add(&self, interface: InterfaceId, media: &mut Media) {
        match self.interfaces[interface.index()].attachment {
            Attachment::Radio { .. } => media.radios += 1,
            Attachment::Wire { .. } => media.wires += 1,
            Attachment::Tunnel { .. } | Attachment::Nothing => {}
        }
    }

    fn count(&mut self, node: NodeId, packet: PacketId, media: Media) {
        let Context { packets, owners, overhead, .. } = &mut self.cx;
        let packet = &packets[packet];
        overhead.on_sent(node, packet, owners.of(packet.source) == node, media);
        if packet.is_routing() {
            let node = &mut self.nodes[node.index()];
            node.routing_packets += 1;
            node.routing_bytes += u64::from(packet.size);
        }
    }
}
