//! Single losses of flows whose sender distinguishes causes of loss. They are kept so that its decisions can be
//! compared with what happened.

use hopyard_engine::Time;

use super::DropReason;
use crate::address::{Address, NodeId};
use crate::packet::{Body, Packet, PacketKind};

/// The MAC or the address resolution of a node could not deliver a packet to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Break {
    /// When.
    pub at: Time,
    /// The node.
    pub node: NodeId,
    /// The neighbour.
    pub next_hop: Address,
    /// Whether the neighbour could have decoded the frames without interference.
    pub in_range: bool,
}

/// A segment or an acknowledgement that was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// When it was sent by its source.
    pub created: Time,
    /// Its first sequence number.
    pub seq: u64,
    /// Its acknowledgement number.
    pub ack: u64,
    /// Data or acknowledgement.
    pub kind: PacketKind,
    /// Where it was dropped.
    pub node: NodeId,
    /// Why.
    pub reason: DropReason,
    /// The last break on the packet's path, if known; see [`LossLog::last_break`].
    pub broken: Option<Break>,
}

/// What is kept of one flow.
#[derive(Clone, Debug, Default)]
struct Watched {
    lost: Vec<Lost>,
    /// The last break that a packet of the flow met.
    broken: Option<Break>,
}

/// The losses of the flows that are watched. Without such a flow nothing is kept.
#[derive(Clone, Debug, Default)]
pub struct LossLog {
    /// By flow.
    flows: Vec<Option<Watched>>,
    /// The last break at each node, whatever packet met it; empty until a flow is watched.
    breaks: Vec<Option<Break>>,
    /// The last break anywhere.
    latest: Option<Break>,
}

impl LossLog {
    /// Begins to watch a flow, in a network with this number of nodes.
    pub fn watch(&mut self, flow: usize, nodes: usize) {
        if self.flows.len() <= flow {
            self.flows.resize(flow + 1, None);
        }
        self.flows[flow].get_or_insert_default();
        self.breaks.resize(nodes, None);
    }

    /// Whether any flow is watched.
    #[must_use]
    pub const fn is_watching(&self) -> bool {
        !self.flows.is_empty()
    }

    /// How many losses of a flow are kept.
    #[must_use]
    pub fn count(&self, flow: usize) -> usize {
        self.flows.get(flow).and_then(Option::as_ref).map_or(0, |watched| watched.lost.len())
    }

    /// This packet could not be delivered to a neighbour.
    pub fn on_break(&mut self, packet: &Packet, broken: Break) {
        if let Some(place) = self.breaks.get_mut(broken.node.index()) {
            *place = Some(broken);
        }
        self.latest = Some(broken);
        if let Some(Some(watched)) = self.flows.get_mut(packet.flow.index()) {
            watched.broken = Some(broken);
        }
    }

    /// A packet was dropped.
    pub(super) fn on_drop(&mut self, packet: &Packet, node: NodeId, reason: DropReason, now: Time) {
        let flow = packet.flow.index();
        let Body::Tcp(header) = packet.carried() else { return };
        if !matches!(self.flows.get(flow), Some(Some(_))) {
            return;
        }
        let lost = Lost {
            created: packet.created,
            seq: header.seq,
            ack: header.ack,
            kind: packet.kind(),
            node,
            reason,
            broken: self.last_break(flow, node, now),
        };
        if let Some(Some(watched)) = self.flows.get_mut(flow) {
            watched.lost.push(lost);
        }
    }

    /// The last break that can be the cause of what happens to a flow's packet at a node. It is the later one of the
    /// last break at this node and the last break that a packet of the flow met. If there is neither, it is the last
    /// break anywhere, of which other nodes may have told this node.
    #[must_use]
    pub fn last_break(&self, flow: usize, node: NodeId, now: Time) -> Option<Break> {
        let here = self.breaks.get(node.index()).copied().flatten();
        // A packet that is dropped in the instant of a break at its node is dropped because of this break.
        if here.is_some_and(|broken| broken.at == now) {
            return here;
        }
        let of_flow = self.flows.get(flow).and_then(Option::as_ref).and_then(|watched| watched.broken);
        [here, of_flow].into_iter().flatten().max_by_key(|broken| broken.at).or(self.latest)
    }

    /// The losses of a flow that still matter: those above the first sequence number not acknowledged.
    pub fn lost(&mut self, flow: usize, una: u64) -> &[Lost] {
        let Some(Some(watched)) = self.flows.get_mut(flow) else { return &[] };
        watched.lost.retain(|lost| match lost.kind {
            PacketKind::Ack => lost.ack > una,
            _ => lost.seq >= una,
        });
        &watched.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::packet::{FlowId, PacketId, TcpFlags, TcpHeader};

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn segment(cx: &mut Context, flow: u32, seq: u64, len: u32, ack: u64) -> PacketId {
        let flags = TcpFlags { ack: true, ..TcpFlags::default() };
        let header = TcpHeader { seq, ack, len, flags, ..TcpHeader::default() };
        cx.originate(Packet {
            created: cx.now,
            source: Address(0),
            destination: Address(9),
            flow: FlowId(flow),
            size: 40 + len,
            ttl: 32,
            hops: 0,
            body: Body::Tcp(header),
        })
    }

    #[test]
    fn only_flows_that_are_watched_leave_a_trace() {
        let mut cx = Context::default();
        let packet = segment(&mut cx, 0, 0, 500, 0);
        cx.drop_packet(NodeId(1), packet, DropReason::QueueFull);
        assert!(!cx.losses.is_watching());
        assert!(cx.losses.lost(0, 0).is_empty());
        cx.losses.watch(1, 10);
        for flow in [0, 1] {
            let packet = segment(&mut cx, flow, 0, 500, 0);
            cx.drop_packet(NodeId(1), packet, DropReason::QueueFull);
        }
        assert!(cx.losses.lost(0, 0).is_empty());
        assert_eq!(cx.losses.lost(1, 0).len(), 1);
    }

    #[test]
    fn what_is_acknowledged_is_forgotten() {
        let mut cx = Context::default();
        cx.losses.watch(0, 10);
        for (seq, len, ack) in [(0, 500, 0), (1000, 500, 0), (0, 0, 500), (0, 0, 1500)] {
            let packet = segment(&mut cx, 0, seq, len, ack);
            cx.drop_packet(NodeId(1), packet, DropReason::QueueFull);
        }
        let left: Vec<_> = cx.losses.lost(0, 500).iter().map(|lost| (lost.kind, lost.seq, lost.ack)).collect();
        assert_eq!(left, [(PacketKind::Data, 1000, 0), (PacketKind::Ack, 0, 1500)]);
    }

    #[test]
    fn a_drop_knows_the_break_behind_it() {
        let mut cx = Context::default();
        cx.losses.watch(0, 10);
        let note = |cx: &mut Context, millis, node, flow, in_range| {
            cx.now = at(millis);
            let packet = segment(cx, flow, 0, 500, 0);
            let broken = Break { at: cx.now, node: NodeId(node), next_hop: Address(node + 1), in_range };
            cx.losses.on_break(&cx.packets[packet], broken);
            packet
        };
        // Another flow's packet at node 3, then one of this flow at node 5.
        note(&mut cx, 10, 3, 1, true);
        let packet = note(&mut cx, 20, 5, 0, false);
        cx.drop_packet(NodeId(5), packet, DropReason::RetryLimit);
        // Later the source has no route: because of node 5, not of node 3.
        cx.now = at(30);
        let packet = segment(&mut cx, 0, 500, 500, 0);
        cx.drop_packet(NodeId(0), packet, DropReason::NoRoute);
        // At node 7 a break of another flow came last.
        note(&mut cx, 40, 7, 1, true);
        let packet = segment(&mut cx, 0, 1000, 500, 0);
        cx.drop_packet(NodeId(7), packet, DropReason::NoRoute);
        let nodes: Vec<_> =
            cx.losses.lost(0, 0).iter().map(|lost| lost.broken.map(|b| (b.node.0, b.in_range))).collect();
        assert_eq!(nodes, [Some((5, false)), Some((5, false)), Some((7, true))]);
    }
}
