//! Packets that the node at which they began has not sent yet, where somebody is told when it has.
//!
//! A kernel outside learns so that the buffer of a datagram is free again. A sender with a limit on its packets in its
//! own node learns so that there is room for the next segment.

use super::Token;
use crate::address::NodeId;
use crate::packet::{FlowId, PacketId};

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
    packets: Vec<(PacketId, Waiter, u32)>,
}

impl Sending {
    /// A node begins to send a packet.
    pub fn begin(&mut self, packet: PacketId, waiter: Waiter) {
        self.packets.push((packet, waiter, 0));
    }

    /// The MAC tries to send a packet once more.
    pub fn try_again(&mut self, packet: PacketId) {
        if let Some((_, _, tries)) = self.packets.iter_mut().find(|it| it.0 == packet) {
            *tries += 1;
        }
    }

    /// Whether nobody waits. Most runs are such, and their packets must not wait for this.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Who waits for a packet, and how often it was tried; nobody waits any more.
    pub fn take(&mut self, packet: PacketId) -> Option<(Waiter, u32)> {
        let place = self.packets.iter().position(|it| it.0 == packet)?;
        let (_, waiter, tries) = self.packets.swap_remove(place);
        Some((waiter, tries))
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Time;

    use super::*;
    use crate::address::Address;
    use crate::packet::{Body, Packet, PacketPool, UdpHeader};

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
        assert_eq!(sending.take(packets[0]), Some((sender(0), 0)));
        assert_eq!(sending.take(packets[0]), None);
        assert_eq!(sending.take(packets[2]), Some((sender(2), 1)));
        assert!(!sending.is_empty());
    }
}
