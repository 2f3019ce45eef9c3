//! A probe that compares what senders conclude about the causes of losses with the true causes.
//!
//! A sender decides from its observations; the probe sees the fate of the segment. Each row of the table is about the
//! last transmission of the first unacknowledged segment, as it was when the decision was made, before the segment is
//! sent again.

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantNames};

use super::network::{FlowView, NetworkView};
use super::probe::{DecisionView, FlowEvent, PacketEvent, Probe};
use super::row::{Report, Row};
use crate::address::NodeId;
use crate::context::DropReason;
use crate::packet::{Body, FlowId, Packet, PacketKind};
use crate::transport::congestion::Sign;

/// A row for each loss whose cause a sender classified, with the true cause, from the start of the run. Only congestion
/// controls that classify losses produce such rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionRow {
    /// The flow's number.
    pub flow: u32,
    /// Simulated time of the classification.
    #[schemars(extend("unit" = "s"))]
    pub time_s: f64,
    /// How the sender detected the loss: `duplicate_acks` or `timeout`.
    #[schemars(extend("closed" = true))]
    pub detected_by: &'static str,
    /// The sender's classification: `congestion`, `wireless` or `link_failure`.
    #[schemars(extend("closed" = true))]
    pub decided: &'static str,
    /// The true cause: `congestion`, `interference`, `channel_error`, `link_failure`, `spurious` (nothing was lost) or
    /// `other`.
    #[schemars(extend("closed" = true))]
    pub true_cause: &'static str,
    /// The first unacknowledged sequence number.
    pub sequence: u64,
    /// How often the segment at `sequence` had been sent.
    pub transmissions: u32,
    /// The quantity on which the congestion control based its classification; the page of its model defines it.
    pub evidence: f64,
    /// The value of `evidence` above which the congestion control classifies a loss as congestion.
    pub limit: f64,
    /// The number of round-trip times from which `evidence` was computed.
    pub samples: u32,
    /// The congestion control's average of the round-trip time.
    #[schemars(extend("unit" = "ms"))]
    pub rtt_filtered_ms: Option<f64>,
    /// The latest round-trip time.
    #[schemars(extend("unit" = "ms"))]
    pub rtt_last_ms: Option<f64>,
    /// What was lost: `data`, or `ack` if the segment had arrived; empty if nothing was lost.
    #[schemars(extend("closed" = true))]
    pub lost: Option<&'static str>,
    /// Why the lost packet was dropped.
    #[schemars(extend("values" = DropReason::ALL.iter().map(|it| it.name()).collect::<Vec<_>>()))]
    pub lost_reason: Option<&'static str>,
    /// The number of the node that dropped it.
    pub lost_at_node: Option<u32>,
}

impl Row for DecisionRow {}

/// The true cause of a loss, which the simulator knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum TrueCause {
    /// A queue was full.
    Congestion,
    /// The MAC dropped the packet although the next hop was in range: frames of other nodes interfered (or noise, if
    /// the radio has a model of bit errors). Or routing regarded the link as broken after such a drop.
    Interference,
    /// A wire lost the packet because the scenario says so. This represents channel errors.
    ChannelError,
    /// The next hop was out of range, or there was no route for that reason.
    LinkFailure,
    /// Nothing was lost: the segment was late or out of order.
    Spurious,
    /// Anything else: the time to live, a loop, address resolution.
    Other,
}

impl TrueCause {
    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The number of losses of a flow beyond which losses that no longer matter are removed.
const MANY_LOSSES: usize = 128;

/// The MAC or the address resolution of a node could not deliver a packet to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Break {
    at: Time,
    node: NodeId,
    /// Whether the neighbour could have decoded the frames without interference.
    in_range: bool,
}

/// A segment or an acknowledgement that was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lost {
    /// When it was sent by its source.
    created: Time,
    seq: u64,
    ack: u64,
    kind: PacketKind,
    node: NodeId,
    reason: DropReason,
    /// The last break on the packet's path, if known; see [`Decisions::last_break`].
    broken: Option<Break>,
}

/// The record of a flow whose sender distinguishes causes of loss.
#[derive(Clone, Debug)]
struct Watched {
    source: NodeId,
    /// The first sequence number that is not acknowledged, as far as acknowledgements have come back.
    una: u64,
    lost: Vec<Lost>,
    /// The last break that a packet of the flow met.
    broken: Option<Break>,
}

/// The decisions of the senders that distinguish causes of loss, with the true causes. A run without such a sender
/// keeps nothing.
#[derive(Clone, Debug, Default)]
pub struct Decisions {
    /// By flow.
    flows: Vec<Option<Watched>>,
    /// The last break at each node, whatever packet met it; empty without a flow to be watched.
    breaks: Vec<Option<Break>>,
    /// The last break anywhere.
    latest: Option<Break>,
    rows: Vec<DecisionRow>,
}

/// The fate of a segment.
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

impl Decisions {
    fn watched(&mut self, flow: FlowId) -> Option<&mut Watched> {
        self.flows.get_mut(flow.index())?.as_mut()
    }

    /// The last break that can be the cause of an event of a flow's packet at a node. It is the later one of the last
    /// break at this node and the last break that a packet of the flow met. If there is neither, it is the last break
    /// anywhere, because other nodes may have told this node of it.
    fn last_break(&self, flow: FlowId, node: NodeId, now: Time) -> Option<Break> {
        let here = self.breaks.get(node.index()).copied().flatten();
        // A packet that is dropped in the instant of a break at its node is dropped because of this break.
        if here.is_some_and(|broken| broken.at == now) {
            return here;
        }
        let of_flow = self.flows.get(flow.index()).and_then(Option::as_ref).and_then(|watched| watched.broken);
        [here, of_flow].into_iter().flatten().max_by_key(|broken| broken.at).or(self.latest)
    }

    /// The fate of the segment of a decision.
    fn fate(&mut self, now: Time, flow: FlowId, decision: &DecisionView<'_>) -> Fate {
        let (judged, arrived) = (decision.judged, decision.arrived);
        let kind = if arrived { PacketKind::Ack } else { PacketKind::Data };
        if arrived && judged.decision.by == Sign::DuplicateAcks {
            return Fate::without_loss(TrueCause::Spurious);
        }
        let is_it = |lost: &&Lost| {
            lost.kind == kind
                && if arrived { lost.ack > judged.seq } else { (lost.seq, lost.created) == (judged.seq, judged.sent) }
        };
        if let Some(&lost) = self.watched(flow).and_then(|watched| watched.lost.iter().rev().find(is_it)) {
            return Fate { cause: cause_of(&lost), lost: Some(lost) };
        }
        // It is not lost, but it may wait for a route.
        let is_it = |packet: &Packet| {
            packet.flow == flow
                && packet.kind() == kind
                && matches!(packet.carried(), Body::Tcp(header) if arrived || header.seq == judged.seq)
        };
        match (decision.held)(&is_it) {
            Some(node) => Fate::without_loss(cause_of_break(self.last_break(flow, node, now))),
            None => Fate::without_loss(TrueCause::Spurious),
        }
    }
}

impl Watched {
    /// Forgets the losses that do not matter any more: those below the first sequence number not acknowledged.
    fn forget(&mut self) {
        let una = self.una;
        self.lost.retain(|lost| match lost.kind {
            PacketKind::Ack => lost.ack > una,
            _ => lost.seq >= una,
        });
    }
}

impl Decisions {
    fn on_link_failure(&mut self, now: Time, node: NodeId, packet: &Packet, in_range: bool) {
        let Some(place) = self.breaks.get_mut(node.index()) else { return };
        let broken = Some(Break { at: now, node, in_range });
        *place = broken;
        self.latest = broken;
        if let Some(watched) = self.watched(packet.flow) {
            watched.broken = broken;
        }
    }

    fn on_drop(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        let Body::Tcp(header) = packet.carried() else { return };
        let broken = self.last_break(packet.flow, node, now);
        let Some(watched) = self.watched(packet.flow) else { return };
        let (created, seq, ack, kind) = (packet.created, header.seq, header.ack, packet.kind());
        watched.lost.push(Lost { created, seq, ack, kind, node, reason, broken });
        if watched.lost.len() > MANY_LOSSES {
            watched.forget();
        }
    }

    fn on_delivered(&mut self, node: NodeId, packet: &Packet) {
        if let Body::Tcp(header) = &packet.body
            && let Some(watched) = self.watched(packet.flow)
            && watched.source == node
        {
            watched.una = watched.una.max(header.ack);
        }
    }
}

impl Probe for Decisions {
    fn on_start(&mut self, network: &NetworkView<'_>) {
        let watch = |flow: &FlowView<'_>| Watched { source: flow.from, una: 0, lost: Vec::new(), broken: None };
        self.flows = network.flows.iter().map(|flow| flow.classifies.then(|| watch(flow))).collect();
        if self.flows.iter().any(Option::is_some) {
            self.breaks = vec![None; network.nodes];
        }
    }

    fn on_packet(&mut self, now: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        match event {
            PacketEvent::Returned { in_range, .. } => self.on_link_failure(now, node, packet, in_range),
            PacketEvent::Dropped(reason) => self.on_drop(now, node, packet, reason),
            PacketEvent::Delivered => self.on_delivered(node, packet),
            _ => {}
        }
    }

    fn on_flow(&mut self, now: Time, flow: FlowId, event: &FlowEvent<'_>) {
        let FlowEvent::Decided(decision) = event else { return };
        let fate = self.fate(now, flow, decision);
        let milliseconds = |span: Span| span.seconds() * 1e3;
        let judged = decision.judged;
        self.rows.push(DecisionRow {
            flow: flow.0,
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

    fn report(&self, report: &mut Report<'_>) {
        report.table(|| self.rows.clone());
    }
}

/// The true cause of a drop.
fn cause_of(lost: &Lost) -> TrueCause {
    match lost.reason {
        DropReason::QueueFull => TrueCause::Congestion,
        DropReason::ScriptedLoss => TrueCause::ChannelError,
        DropReason::WireDown => TrueCause::LinkFailure,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Address;
    use crate::observe::MobileView;
    use crate::packet::{TcpFlags, TcpHeader};

    /// A probe of three flows, of which the second is watched, among ten nodes.
    fn probe() -> Decisions {
        let flow = |classifies| FlowView { classifies, ..FlowView::between(NodeId(0), NodeId(9)) };
        let flows = [flow(false), flow(true), flow(false)];
        let mut probe = Decisions::default();
        probe.on_start(&NetworkView { nodes: 10, interfaces: &[], flows: &flows, mobile: &MobileView::default() });
        probe
    }

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    fn segment(flow: u32, seq: u64, len: u32, ack: u64) -> Packet {
        let flags = TcpFlags { ack: true, ..TcpFlags::default() };
        Packet {
            destination: Address(9),
            flow: FlowId(flow),
            ..crate::samples::packet(40 + len, Body::Tcp(TcpHeader { seq, ack, len, flags, ..TcpHeader::default() }))
        }
    }

    fn lost(probe: &Decisions, flow: usize) -> &[Lost] {
        &probe.flows[flow].as_ref().expect("it is watched").lost
    }

    #[test]
    fn only_flows_that_are_watched_leave_a_trace() {
        let mut probe = probe();
        for flow in 0..3 {
            probe.on_drop(at(1), NodeId(1), &segment(flow, 0, 500, 0), DropReason::QueueFull);
        }
        assert!(probe.flows[0].is_none() && probe.flows[2].is_none());
        assert_eq!(lost(&probe, 1).len(), 1);
        let mut idle = Decisions::default();
        let flow = FlowView::between(NodeId(0), NodeId(9));
        idle.on_start(&NetworkView { nodes: 10, interfaces: &[], flows: &[flow], mobile: &MobileView::default() });
        idle.on_drop(at(1), NodeId(1), &segment(0, 0, 500, 0), DropReason::QueueFull);
        idle.on_link_failure(at(1), NodeId(1), &segment(0, 0, 500, 0), true);
        assert!(idle.flows[0].is_none() && idle.breaks.is_empty() && idle.latest.is_none());
    }

    #[test]
    fn what_is_acknowledged_is_forgotten() {
        let mut probe = probe();
        for (seq, len, ack) in [(0, 500, 0), (1000, 500, 0), (0, 0, 500), (0, 0, 1500)] {
            probe.on_drop(at(1), NodeId(1), &segment(1, seq, len, ack), DropReason::QueueFull);
        }
        // An acknowledgement at another node is none of the sender's.
        probe.on_delivered(NodeId(9), &segment(1, 0, 0, 5000));
        probe.on_delivered(NodeId(0), &segment(1, 0, 0, 500));
        for seq in 0..MANY_LOSSES as u64 {
            probe.on_drop(at(3), NodeId(1), &segment(1, seq, 1, 0), DropReason::QueueFull);
        }
        let left: Vec<_> = lost(&probe, 1).iter().map(|lost| (lost.kind, lost.seq, lost.ack)).collect();
        assert_eq!(left[..2], [(PacketKind::Data, 1000, 0), (PacketKind::Ack, 0, 1500)]);
        assert!(left.len() < MANY_LOSSES, "{}", left.len());
    }

    #[test]
    fn a_drop_knows_the_break_behind_it() {
        let mut probe = probe();
        let packet = |flow, seq| segment(flow, seq, 500, 0);
        // Another flow's packet at node 3, then one of this flow at node 5.
        probe.on_link_failure(at(10), NodeId(3), &packet(0, 0), true);
        probe.on_link_failure(at(20), NodeId(5), &packet(1, 0), false);
        probe.on_drop(at(20), NodeId(5), &packet(1, 0), DropReason::RetryLimit);
        // Later the source has no route: because of node 5, not of node 3.
        probe.on_drop(at(30), NodeId(0), &packet(1, 500), DropReason::NoRoute);
        // At node 7 a break of another flow came last.
        probe.on_link_failure(at(40), NodeId(7), &packet(0, 0), true);
        probe.on_drop(at(40), NodeId(7), &packet(1, 1000), DropReason::NoRoute);
        let breaks = lost(&probe, 1).iter().map(|lost| lost.broken.map(|it| (it.node.0, it.in_range)));
        assert_eq!(breaks.collect::<Vec<_>>(), [Some((5, false)), Some((5, false)), Some((7, true))]);
    }
}
