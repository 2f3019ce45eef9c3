//! What senders conclude about the causes of losses, compared with the true causes.
//!
//! A sender decides from its observations; the world knows what happened to the segment. Both are recorded when the
//! decision is made, before the segment is sent again: each row of the table is about the last transmission of the
//! first unacknowledged segment.

use super::World;
use super::flow::Endpoints;
use crate::address::{Address, NodeId};
use crate::context::{Break, DropReason, Lost};
use crate::observe::{DecisionRow, Probe, TrueCause};
use crate::packet::{Body, PacketId, PacketKind};
use crate::routing::Routing;
use crate::transport::congestion::Sign;
use crate::transport::tcp::Judged;

/// When more losses of a flow than this are kept, those that no longer matter are removed.
const MANY_LOSSES: usize = 128;

/// What happened to a segment.
struct Fate {
    cause: TrueCause,
    /// The drop, if the segment was dropped.
    lost: Option<Lost>,
}

impl Fate {
    const fn without_loss(cause: TrueCause) -> Self {
        Self { cause, lost: None }
    }
}

impl<P: Probe> World<P> {
    /// Begins to record the losses of flows whose senders distinguish causes of loss.
    pub(super) fn watch_losses(&mut self) {
        for (number, flow) in self.flows.iter_mut().enumerate() {
            if let Endpoints::Tcp { sender, .. } = &flow.transport
                && sender.classifies()
            {
                flow.classifies = true;
                self.cx.losses.watch(number, self.nodes.len());
            }
        }
    }

    /// The MAC or the address resolution of a node could not deliver this packet to a neighbour.
    pub(super) fn note_break(&mut self, node: NodeId, packet: PacketId, next_hop: Address) {
        if self.cx.losses.is_watching() {
            let in_range = self.reaches(node, next_hop);
            let broken = Break { at: self.cx.now, node, next_hop, in_range };
            self.cx.losses.on_break(&self.cx.packets[packet], broken);
        }
    }

    /// Records the decisions of the flow's sender since the last call.
    pub(super) fn note_decisions(&mut self, flow: usize) {
        let Endpoints::Tcp { sender, .. } = &mut self.flows[flow].transport else { return };
        let judged = sender.take_judged();
        let (una, _, _) = sender.window_edges();
        if self.cx.losses.count(flow) > MANY_LOSSES {
            self.cx.losses.lost(flow, una);
        }
        for judged in judged {
            let fate = self.fate(flow, &judged);
            let milliseconds = |span: hopyard_engine::Span| span.seconds() * 1e3;
            self.decisions.push(DecisionRow {
                flow: flow as u32,
                time_s: judged.at.seconds(),
                detected_by: judged.decision.by.name(),
                decided: judged.decision.cause.name(),
                true_cause: fate.cause.name(),
                sequence: judged.seq,
                transmissions: judged.transmissions,
                evidence: judged.decision.evidence,
                limit: judged.decision.limit,
                samples: judged.decision.samples,
                rtt_filtered_ms: judged.decision.filtered.map(milliseconds),
                rtt_last_ms: judged.decision.last.map(milliseconds),
                lost: fate.lost.map(|lost| lost.kind.name()),
                lost_reason: fate.lost.map(|lost| lost.reason.name()),
                lost_at_node: fate.lost.map(|lost| lost.node.0),
            });
        }
    }

    /// What happened to the segment of a decision.
    fn fate(&mut self, flow: usize, judged: &Judged) -> Fate {
        let Endpoints::Tcp { receiver, .. } = &self.flows[flow].transport else {
            return Fate::without_loss(TrueCause::Spurious);
        };
        let arrived = receiver.has(judged.seq);
        let kind = if arrived { PacketKind::Ack } else { PacketKind::Data };
        if arrived && judged.decision.by == Sign::DuplicateAcks {
            return Fate::without_loss(TrueCause::Spurious);
        }
        let lost = self.cx.losses.lost(flow, judged.seq).iter().rev().find(|lost| {
            lost.kind == kind
                && if arrived { lost.ack > judged.seq } else { (lost.seq, lost.created) == (judged.seq, judged.sent) }
        });
        if let Some(&lost) = lost {
            return Fate { cause: cause_of(&lost), lost: Some(lost) };
        }
        // It is not lost, but it may wait for a route.
        for (number, node) in self.nodes.iter().enumerate() {
            let waits = node.routing.held().into_iter().any(|packet| {
                let packet = &self.cx.packets[packet];
                packet.flow.index() == flow
                    && packet.kind() == kind
                    && matches!(packet.carried(), Body::Tcp(header) if arrived || header.seq == judged.seq)
            });
            if waits {
                let broken = self.cx.losses.last_break(flow, NodeId(number as u32), self.cx.now);
                return Fate::without_loss(cause_of_break(broken));
            }
        }
        Fate::without_loss(TrueCause::Spurious)
    }
}

/// The true cause of a drop.
fn cause_of(lost: &Lost) -> TrueCause {
    match lost.reason {
        DropReason::QueueFull => TrueCause::Congestion,
        DropReason::ScriptedLoss => TrueCause::ChannelError,
        DropReason::RetryLimit
        | DropReason::BrokenLink
        | DropReason::ArpFailed
        | DropReason::NoRoute
        | DropReason::DiscoveryFailed
        | DropReason::RouteTimeout
        | DropReason::RouteBufferFull => cause_of_break(lost.broken),
        _ => TrueCause::Other,
    }
}

/// The true cause of a missing link or route. When frames fail, routing treats the neighbour as lost, both when it is
/// out of range and when other frames interfered.
const fn cause_of_break(broken: Option<Break>) -> TrueCause {
    match broken {
        Some(Break { in_range: true, .. }) => TrueCause::Interference,
        _ => TrueCause::LinkFailure,
    }
}
