//! Packets that the node at which they began has not sent yet, where somebody is told when it has.
//!
//! A kernel outside learns so that the buffer of a datagram is free again. A sender with a limit on its packets in its
//! own node learns so that there is room for the next segment.

use super::{Effort, Token};
use crate::address::NodeId;
use crate::packet::{AmpduStatus, FlowId, PacketId};

/// Who is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiter {
    /// The host outside of a node, which has put a datagram in.
    Host(NodeId, Token),
    /// The sender of a flow at a node: its segment with this sequence number.
    Sender {
        /// The node.
        node: NodeId,
        /// The flow.
        flow: FlowId,
        /// The sequence number.
        seq: u64,
    },
}

/// The packets that somebody waits for.
#[derive(Clone, Debug, Default)]
pub struct Sending {
    packets: Vec<(PacketId, Waiter, Effort)>,
}

impl Sending {
    /// A node begins to send a packet.
    pub fn begin(&mut self, packet: PacketId, waiter: Waiter) {
        self.packets.push((packet, waiter, Effort::default()));
    }

    /// The MAC tries to send a packet once more.
    pub fn try_again(&mut self, packet: PacketId) {
        if let Some((.., effort)) = self.packets.iter_mut().find(|it| it.0 == packet) {
            effort.tries += 1;
        }
    }

    /// A packet tells the fate of the frame on the air that it was in.
    pub fn report(&mut self, packet: PacketId, ampdu: AmpduStatus) {
        if let Some((.., effort)) = self.packets.iter_mut().find(|it| it.0 == packet) {
            effort.ampdu = Some(ampdu);
        }
    }

    /// Whether nobody waits. Most runs are such, and their packets must not wait for this.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Who waits for a packet, and what the MAC has done for it; nobody waits any more.
    pub fn take(&mut self, packet: PacketId) -> Option<(Waiter, Effort)> {
        let place = self.packets.iter().position(|it| it.0 == packet)?;
        let (_, waiter, effort) = self.packets.swap_remove(place);
        Some((waiter, effort))
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Time;

    use super::*;
    use crate::address::Address;
    use crate::packet::{Body, Packet, PacketPool, Series, UdpHeader};

    const fn sender(flow: u32) -> Waiter {
        Waiter::Sender { node: NodeId(0), flow: FlowId(flow), seq: 5 }
    }

    fn datagram(flow: u32) -> Packet {
        Packet {
            created: Time::ZERO,
            source: Address(0),
            destination: Address(1),
            flow: FlowId(flow),
            size: 48,
            ttl: 9,
            hops: 0,
            salvaged: 0,
            class: 0,
            body: Body::Udp(UdpHeader { sequence: 0, len: 20, identification: None }),
        }
    }

    #[test]
    fn each_packet_is_told_of_once() {
        let mut pool = PacketPool::default();
        let packets: Vec<_> = (0..3).map(|flow| pool.insert(datagram(flow))).collect();
        let mut sending = Sending::default();
        for (flow, &packet) in packets.iter().enumerate() {
            sending.begin(packet, sender(flow as u32));
        }
        sending.try_again(packets[2]);
        let ampdu = AmpduStatus { series: Series::default(), tries: 1, sent: 2, acknowledged: 1 };
        sending.report(packets[2], ampdu);
        assert_eq!(sending.take(packets[0]), Some((sender(0), Effort::default())));
        assert_eq!(sending.take(packets[0]), None);
        assert_eq!(sending.take(packets[2]), Some((sender(2), Effort { tries: 1, ampdu: Some(ampdu) })));
        assert!(!sending.is_empty());
    }
}
