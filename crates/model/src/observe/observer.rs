//! The probe of a run that records more than counters: decisions of senders, changes of routes, paths of packets,
//! segments.

use hopyard_engine::{Span, Time};

use super::cells::Cells;
use super::decisions::Decisions;
use super::detours::Detours;
use super::handoffs::Handoffs;
use super::mobile_log::MobileLog;
use super::mobile_rows::{DetourRow, HandoffRow, MobileEventRow};
use super::network::{MobileView, NetworkView};
use super::path_log::PathLog;
use super::probe::{DecisionView, Probe};
use super::results::{DecisionRow, Outcome, PathRow, RouteChangeRow, SegmentRow};
use super::route_log::{RouteChangeView, RouteChanges, RouteLog};
use super::segment_log::{SegmentFlows, SegmentLog};
use crate::address::{Address, NodeId};
use crate::context::{DropReason, MobileEvent};
use crate::mobility::Leg;
use crate::packet::{FlowId, Packet, TcpHeader};
use crate::transport::tcp::SenderState;

/// What is recorded beyond counters and series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Changes of routes.
    pub routes: RouteChanges,
    /// The paths of data packets.
    pub paths: bool,
    /// The segments of flows.
    pub segments: SegmentFlows,
    /// The events of hosts that move between networks, and of their agents.
    pub mobile_events: bool,
}

impl Recorded {
    /// Whether nothing is recorded.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// A flow, as far as the observer has to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Its source.
    pub from: NodeId,
    /// Its destination.
    pub to: NodeId,
    /// Whether its sender distinguishes causes of loss.
    pub classifies: bool,
}

/// Records decisions of senders, and what else is asked for.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    recorded: Recorded,
    decisions: Decisions,
    routes: RouteLog,
    paths: PathLog,
    segments: SegmentLog,
    handoffs: Handoffs,
    cells: Cells,
    mobile: MobileLog,
    detours: Detours,
}

impl Observer {
    /// An observer that is told the network before the run begins.
    #[must_use]
    pub fn new(recorded: Recorded) -> Self {
        Self { recorded, ..Self::default() }
    }

    /// An observer of a network with so many nodes, interfaces at these of them, these flows, and these hosts that move
    /// between networks.
    #[must_use]
    pub fn of(
        recorded: Recorded,
        nodes: usize,
        interfaces: Vec<NodeId>,
        flows: &[Observed],
        mobile: &MobileView,
    ) -> Self {
        let ends = || flows.iter().map(|flow| (flow.from, flow.to));
        Self {
            decisions: Decisions::of(nodes, flows.iter().map(|flow| flow.classifies.then_some(flow.from))),
            routes: RouteLog::of(recorded.routes, ends()),
            paths: PathLog::new(recorded.paths),
            segments: SegmentLog::of(&recorded.segments, ends()),
            cells: Cells::of(mobile),
            mobile: MobileLog::of(recorded.mobile_events, interfaces.clone()),
            detours: Detours::of(interfaces.clone(), mobile),
            handoffs: Handoffs::of(interfaces, ends().collect()),
            recorded,
        }
    }

    /// A row for each decision so far.
    #[must_use]
    pub fn decisions(&self) -> &[DecisionRow] {
        self.decisions.rows()
    }

    /// A row for each change of a route so far.
    #[must_use]
    pub fn route_changes(&self) -> &[RouteChangeRow] {
        self.routes.rows()
    }

    /// A row for each path of each flow so far.
    #[must_use]
    pub fn paths(&self) -> Vec<PathRow> {
        self.paths.rows()
    }

    /// A row for each segment so far.
    #[must_use]
    pub fn segments(&self) -> Vec<SegmentRow> {
        self.segments.rows()
    }

    /// A row for each handoff so far.
    #[must_use]
    pub fn handoffs(&self, now: Time) -> Vec<HandoffRow> {
        self.handoffs.rows(&self.cells_at(now))
    }

    /// A row for each event of hosts that move between networks so far.
    #[must_use]
    pub fn mobile_events(&self, now: Time) -> Vec<MobileEventRow> {
        self.mobile.rows(&self.cells_at(now))
    }

    /// A row for each flow of such a host and each agent so far, with packets that came through a tunnel.
    #[must_use]
    pub fn detours(&self) -> Vec<DetourRow> {
        self.detours.rows()
    }

    fn cells_at(&self, now: Time) -> Cells {
        let mut cells = self.cells.clone();
        cells.advance(now);
        cells
    }
}

impl Probe for Observer {
    fn on_start(&mut self, network: &NetworkView<'_>) {
        let flows: Vec<_> = network
            .flows
            .iter()
            .map(|flow| Observed { from: flow.from, to: flow.to, classifies: flow.classifies })
            .collect();
        let interfaces = network.interfaces.iter().map(|it| it.node).collect();
        *self = Self::of(std::mem::take(&mut self.recorded), network.nodes, interfaces, &flows, network.mobile);
    }

    fn on_segment(&mut self, now: Time, flow: FlowId, header: &TcpHeader, state: &SenderState) {
        self.segments.on_segment(now, flow, header, state.cwnd);
        self.handoffs.on_segment(now, flow, state);
    }

    fn on_originated(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.segments.on_originated(now, node, packet);
        self.paths.on_originated(node, packet);
    }

    fn on_hop(&mut self, now: Time, from: NodeId, node: NodeId, packet: &Packet) {
        self.paths.on_hop(from, node, packet);
        self.handoffs.on_hop(now, from, node, packet, &mut self.mobile);
        self.detours.on_hop(now, from, node, packet);
    }

    fn on_delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.decisions.on_delivered(now, node, packet);
        self.paths.on_end(node, packet, false);
        self.segments.on_delivered(now, node, packet);
        self.handoffs.on_delivered(now, packet);
    }

    fn on_drop(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        self.decisions.on_drop(now, node, packet, reason);
        self.detours.on_drop(node, packet);
    }

    fn on_lost(&mut self, now: Time, node: NodeId, packet: &Packet, reason: DropReason) {
        self.paths.on_end(node, packet, true);
        self.handoffs.on_lost(now, packet, reason);
    }

    fn on_mobile(&mut self, now: Time, node: NodeId, event: &MobileEvent) {
        self.handoffs.on_mobile(now, node, event);
        self.mobile.on_mobile(now, node, event);
    }

    fn on_agent_tunnel_entered(&mut self, now: Time, node: NodeId, _to: Address, packet: &Packet) {
        self.detours.on_entered(now, node, packet);
    }

    fn on_agent_tunnel_left(&mut self, now: Time, node: NodeId, packet: &Packet) {
        self.detours.on_left(now, node, packet);
    }

    fn on_leg(&mut self, node: NodeId, leg: &Leg) {
        self.cells.on_leg(node, leg);
    }

    fn on_link_failure(&mut self, now: Time, node: NodeId, next_hop: Address, packet: &Packet, in_range: bool) {
        self.decisions.on_link_failure(now, node, next_hop, packet, in_range);
    }

    fn on_route_changed(&mut self, now: Time, node: NodeId, change: &RouteChangeView<'_>) {
        self.routes.on_change(now, node, change);
    }

    fn on_decision(&mut self, now: Time, flow: FlowId, decision: &DecisionView<'_>) {
        self.decisions.on_decision(now, flow, decision);
    }

    fn report(&mut self, outcome: &mut Outcome) {
        self.decisions.report(outcome);
        outcome.route_changes = self.routes.take();
        outcome.paths = self.paths.rows();
        outcome.segments = self.segments.rows();
        self.cells.advance(Time::ZERO + Span::from_secs_f64(outcome.simulated));
        outcome.handoffs = self.handoffs.rows(&self.cells);
        outcome.mobile_events = self.mobile.rows(&self.cells);
        outcome.detours = self.detours.rows();
    }
}
