//! Counts what a node sends of its routing protocol and its agents, and at which interfaces.

use super::{Around, Attachment, Node};
use crate::address::InterfaceId;
use crate::context::{Context, Media};
use crate::observe::Probe;
use crate::packet::{Body, PacketId};

impl Node {
    /// Counts a packet that goes to a neighbour by an interface, if there is one that leads to it.
    #[inline]
    pub(super) fn count_sent<P: Probe>(
        &mut self,
        packet: PacketId,
        by: Option<InterfaceId>,
        around: &mut Around<'_, P>,
    ) {
        if is_counted(packet, around.cx) {
            let mut media = Media::default();
            if let Some(interface) = by {
                add(around.topology.attachment(interface), &mut media);
            }
            self.count(packet, media, around.cx);
        }
    }

    /// Counts a packet that goes to all neighbours.
    #[inline]
    pub(super) fn count_broadcast<P: Probe>(&mut self, packet: PacketId, around: &mut Around<'_, P>) {
        if is_counted(packet, around.cx) {
            let mut media = Media::default();
            for interface in self.interfaces().filter(|&it| self.takes_broadcasts(it, packet, around)) {
                add(around.topology.attachment(interface), &mut media);
            }
            self.count(packet, media, around.cx);
        }
    }

    /// Whether a broadcast goes out at an interface. Messages of a routing protocol go only where it runs: on radios,
    /// and on wires if it finds routes over them. Datagrams for groups go to radios.
    pub(super) fn takes_broadcasts<P>(&self, interface: InterfaceId, packet: PacketId, around: &Around<'_, P>) -> bool {
        match around.topology.attachment(interface) {
            Attachment::Radio { .. } => true,
            Attachment::Wire { .. } => {
                let it = &around.cx.packets[packet];
                !it.destination.is_wide_group() && (self.routes_wires || !it.is_routing())
            }
            Attachment::Tunnel { .. } | Attachment::Nothing => false,
        }
    }

    fn count(&mut self, packet: PacketId, media: Media, cx: &mut Context) {
        let Context { packets, owners, overhead, .. } = cx;
        let packet = &packets[packet];
        overhead.on_sent(self.id, packet, owners.of(packet.source) == self.id, media);
        if packet.is_routing() {
            self.routing_packets += 1;
            self.routing_bytes += u64::from(packet.size);
        }
    }
}

/// Most packets carry neither a message nor options.
#[inline]
fn is_counted(packet: PacketId, cx: &Context) -> bool {
    !matches!(cx.packets[packet].body, Body::Tcp(_) | Body::Udp(_))
}

const fn add(to: Attachment, media: &mut Media) {
    match to {
        Attachment::Radio { .. } => media.radios += 1,
        Attachment::Wire { .. } => media.wires += 1,
        Attachment::Tunnel { .. } | Attachment::Nothing => {}
    }
}
