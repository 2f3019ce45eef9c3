//! A probe that follows hosts from network to network: each change of the agent, and its cost.
//!
//! Agents tell their events. Whether packets of the host's flows get through, and which are lost, is seen at the
//! packets themselves. A run without such hosts keeps nothing.

use std::collections::{BTreeMap, VecDeque};

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cells::{Cells, Crossing};
use super::mobile_log::MobileLog;
use super::network::NetworkView;
use super::probe::{FlowEvent, PacketEvent, Probe};
use super::row::{Report, Row};
use crate::address::{Address, NodeId};
use crate::context::{DropReason, MobileChange, MobileEvent};
use crate::mobility::Leg;
use crate::packet::{FlowId, Packet, PacketKind};

/// A row for each time, from the start of the run, that a host that moves between networks finds itself at another
/// agent, or at its agent again. There is also a row for each cell that the host passed through and never found itself
/// in. Its flows are those that begin or end at it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandoffRow {
    /// The number of the host's node.
    pub host: u32,
    /// The number of the agent's node before.
    pub agent_before: Option<u32>,
    /// The number of the agent's node now.
    pub agent: u32,
    /// `change`: another agent than before; `return`: the same agent, which the host had lost; `missed`: the host came
    /// into the range of the agent and left the range again, and never found itself there.
    #[schemars(extend("closed" = true))]
    pub kind: &'static str,
    /// When the host left the range of the agent before, by the places of both. It is the last time before the host
    /// found that it had moved, or the first time after that if the host was within range then. The range is the
    /// distance at which a broadcast, such as an advertisement, has just the power that can be decoded
    /// (`radio.receive`); where distance alone does not decide, there is none.
    #[schemars(extend("unit" = "s"))]
    pub left_s: Option<f64>,
    /// When it came into the range of the agent now, likewise; empty if it was there from the start.
    #[schemars(extend("unit" = "s"))]
    pub entered_s: Option<f64>,
    /// When a packet of the host's flows last passed between it and the agent before.
    #[schemars(extend("unit" = "s"))]
    pub last_exchange_s: Option<f64>,
    /// When the host first heard the agent, since it last knew nothing of it.
    #[schemars(extend("unit" = "s"))]
    pub heard_s: Option<f64>,
    /// When the host found that it had moved; empty if it never did.
    #[schemars(extend("unit" = "s"))]
    pub moved_s: Option<f64>,
    /// When it first sent a request to be registered.
    #[schemars(extend("unit" = "s"))]
    pub requested_s: Option<f64>,
    /// The requests until it was registered.
    #[schemars(extend("unit" = "messages"))]
    pub requests: u32,
    /// How many of them were denied.
    #[schemars(extend("unit" = "messages"))]
    pub refused: u32,
    /// When the home agent began to tunnel to the agent; empty at home.
    #[schemars(extend("unit" = "s"))]
    pub tunnel_s: Option<f64>,
    /// When the host learned that it was registered.
    #[schemars(extend("unit" = "s"))]
    pub registered_s: Option<f64>,
    /// When the first packet of its flows came from the host to the agent.
    #[schemars(extend("unit" = "s"))]
    pub first_up_s: Option<f64>,
    /// When the first packet of its flows came from the agent to the host.
    #[schemars(extend("unit" = "s"))]
    pub first_down_s: Option<f64>,
    /// Packets of its flows, acknowledgements too, that were dropped after the last exchange, and before that of the
    /// next handoff, and had been made before the host was registered.
    #[schemars(extend("unit" = "packets"))]
    pub lost: u64,
    /// Why, with numbers, such as `retry_limit 3, visitor_gone 1`.
    pub lost_reasons: String,
    /// Timeouts of the senders of its flows between the last exchange and `recovered_s`, or the next handoff.
    pub timeouts: u32,
    /// IP bytes of the data packets of its flows that arrived in the 5 s up to the last exchange, per second.
    #[schemars(extend("unit" = "kbit/s"))]
    pub rate_before_kbps: f64,
    /// When, after the registration, this rate over the last second first was 90 % of that before.
    #[schemars(extend("unit" = "s"))]
    pub recovered_s: Option<f64>,
}

impl Row for HandoffRow {}

/// The number of losses of a host beyond which losses that no longer matter are removed.
const MANY_LOSSES: usize = 256;
/// The time of the rate before a handoff.
const BEFORE: Span = Span::from_secs(5);
/// The time of the rate after a handoff.
const AFTER: Span = Span::from_secs(1);
/// The part of the rate before that counts as the old rate.
const RECOVERED: f64 = 0.9;

/// A packet of a host's flow that was dropped.
#[derive(Clone, Copy, Debug)]
struct Loss {
    at: Time,
    /// When its source made it.
    made: Time,
    reason: DropReason,
}

/// A handoff.
#[derive(Clone, Debug)]
struct Handoff {
    from: Option<NodeId>,
    to: NodeId,
    exchanged: Option<Time>,
    heard: Option<Time>,
    moved: Time,
    requested: Option<Time>,
    requests: u32,
    refused: u32,
    registered: Option<Time>,
    tunnel: Option<Time>,
    up: Option<Time>,
    down: Option<Time>,
    /// Bytes a second before it.
    rate: f64,
    recovered: Option<Time>,
}

impl Handoff {
    /// The time from which on losses belong to it.
    fn begin(&self) -> Time {
        self.exchanged.unwrap_or(self.moved)
    }

    /// Whether a loss belongs to it, if no other handoff has begun since.
    fn has(&self, loss: &Loss) -> bool {
        self.begin() <= loss.at && self.registered.is_none_or(|registered| loss.made <= registered)
    }

    /// The times at which the host left the cell of the agent before, and came into the cell of the agent now.
    fn crossings(&self, all: &[Crossing], until: Time) -> [Option<f64>; 2] {
        let of = |agent: Option<NodeId>| all.iter().filter(move |it| Some(it.agent) == agent && it.at < until);
        let before = || of(self.from).filter(|it| it.at <= self.moved);
        let left = match before().next_back() {
            Some(last) if !last.enters => Some(last),
            // It came back before it found the same agent again.
            _ if self.from == Some(self.to) => before().rfind(|it| !it.enters),
            _ => of(self.from).find(|it| it.at > self.moved && !it.enters),
        };
        let entered = of(Some(self.to)).rfind(|it| it.at <= self.moved && it.enters);
        [left, entered].map(|it| it.map(|it| it.at.seconds()))
    }

    fn row(&self, host: NodeId, losses: &[Loss], timeouts: &[Time], until: Time) -> HandoffRow {
        let is_its = |it: &&Loss| self.has(it) && it.at < until;
        let mut reasons: BTreeMap<&'static str, u64> = BTreeMap::new();
        for loss in losses.iter().filter(is_its) {
            *reasons.entry(loss.reason.name()).or_default() += 1;
        }
        let named: Vec<String> = reasons.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
        let end = self.recovered.unwrap_or(until);
        HandoffRow {
            host: host.0,
            agent_before: self.from.map(|it| it.0),
            agent: self.to.0,
            kind: if self.from == Some(self.to) { "return" } else { "change" },
            left_s: None,
            entered_s: None,
            last_exchange_s: self.exchanged.map(Time::seconds),
            heard_s: self.heard.map(Time::seconds),
            moved_s: Some(self.moved.seconds()),
            requested_s: self.requested.map(Time::seconds),
            requests: self.requests,
            refused: self.refused,
            tunnel_s: self.tunnel.map(Time::seconds),
            registered_s: self.registered.map(Time::seconds),
            first_up_s: self.up.map(Time::seconds),
            first_down_s: self.down.map(Time::seconds),
            lost: reasons.values().sum(),
            lost_reasons: named.join(", "),
            timeouts: timeouts.iter().filter(|at| (self.begin()..end).contains(at)).count() as u32,
            rate_before_kbps: self.rate * 8.0 / 1e3,
            recovered_s: self.recovered.map(Time::seconds),
        }
    }
}

/// The state of a host.
#[derive(Clone, Debug, Default)]
struct Host {
    /// The agent at which it is, or was last.
    agent: Option<NodeId>,
    /// The host has found that it is there no more.
    is_lost: bool,
    /// When a packet of a flow last passed between the two, while the host was there.
    exchanged: Option<Time>,
    /// The times at which it heard agents that it had not known.
    heard: BTreeMap<NodeId, Time>,
    /// Since the last handoff began.
    losses: Vec<Loss>,
    timeouts: Vec<Time>,
    /// Data packets of its flows that arrived lately, with their bytes.
    arrivals: VecDeque<(Time, u32)>,
    current: Option<Handoff>,
    /// The handoffs before it, each with the time at which the next one begins.
    past: Vec<(Handoff, Time, HandoffRow)>,
    /// At which agent it found itself, and from when on.
    stays: Vec<(Time, Option<NodeId>)>,
}

impl Host {
    /// The bytes a second that arrived in a time.
    fn rate(&self, from: Time, until: Time) -> f64 {
        let inside = self.arrivals.iter().rev().skip_while(|(at, _)| *at > until).take_while(|(at, _)| *at > from);
        let bytes: u64 = inside.map(|&(_, bytes)| u64::from(bytes)).sum();
        let seconds = until.since(from).seconds();
        if seconds > 0.0 { bytes as f64 / seconds } else { 0.0 }
    }

    fn on_moved(&mut self, host: NodeId, to: NodeId, now: Time) {
        self.is_lost = false;
        let from = self.agent.replace(to);
        // The first agent is no change.
        if from.is_none() {
            return;
        }
        let exchanged = self.exchanged.take();
        let begin = exchanged.unwrap_or(now);
        self.close(host, begin);
        let start = Time::from_nanos(begin.nanos().saturating_sub(BEFORE.nanos()));
        self.current = Some(Handoff {
            from,
            to,
            exchanged,
            heard: self.heard.get(&to).copied(),
            moved: now,
            requested: None,
            requests: 0,
            refused: 0,
            registered: None,
            tunnel: None,
            up: None,
            down: None,
            rate: self.rate(start, begin),
            recovered: None,
        });
    }

    /// A row for each handoff so far, and for each cell that the host passed through and never found itself in.
    fn rows(&self, host: NodeId, crossings: &[Crossing]) -> Vec<HandoffRow> {
        let open =
            self.current.iter().map(|it| (it, Time::NEVER, it.row(host, &self.losses, &self.timeouts, Time::NEVER)));
        let all = self.past.iter().map(|(it, until, row)| (it, *until, row.clone())).chain(open);
        let mut rows: Vec<HandoffRow> = all
            .map(|(handoff, until, row)| {
                let [left_s, entered_s] = handoff.crossings(crossings, until);
                HandoffRow { left_s, entered_s, ..row }
            })
            .collect();
        rows.extend(self.missed(host, crossings));
        let begin = |row: &HandoffRow| row.moved_s.or(row.entered_s).unwrap_or_default();
        rows.sort_by(|a, b| begin(a).total_cmp(&begin(b)));
        rows
    }

    /// A row for each cell that the host came into and left again, and never found itself in meanwhile.
    fn missed(&self, host: NodeId, crossings: &[Crossing]) -> Vec<HandoffRow> {
        let mut rows = Vec::new();
        for (place, entry) in crossings.iter().enumerate().filter(|(_, it)| it.enters) {
            let leaves = |it: &&Crossing| it.agent == entry.agent && !it.enters;
            let Some(exit) = crossings[place + 1..].iter().find(leaves) else { continue };
            let first = self.stays.partition_point(|(at, _)| *at <= entry.at).saturating_sub(1);
            let meanwhile = self.stays[first..].iter().take_while(|(at, _)| *at < exit.at);
            if meanwhile.clone().any(|(_, agent)| *agent == Some(entry.agent)) {
                continue;
            }
            let before = self.stays.get(first).filter(|(at, _)| *at <= entry.at).and_then(|(_, agent)| *agent);
            rows.push(HandoffRow {
                host: host.0,
                agent_before: before.map(|it| it.0),
                agent: entry.agent.0,
                kind: "missed",
                entered_s: Some(entry.at.seconds()),
                ..HandoffRow::default()
            });
        }
        rows
    }

    /// The handoff before ends where the next one begins.
    fn close(&mut self, host: NodeId, until: Time) {
        if let Some(handoff) = self.current.take() {
            let row = handoff.row(host, &self.losses, &self.timeouts, until);
            self.past.push((handoff, until, row));
        }
        self.losses.retain(|it| it.at >= until);
        self.timeouts.retain(|at| *at >= until);
    }

    fn on_loss(&mut self, loss: Loss) {
        self.losses.push(loss);
        if self.losses.len().is_multiple_of(MANY_LOSSES)
            && let Some(exchanged) = self.exchanged
        {
            // The next handoff begins at the last exchange, or later.
            let current = self.current.as_ref();
            self.losses.retain(|it| it.at >= exchanged || current.is_some_and(|handoff| handoff.has(it)));
        }
    }

    fn on_arrival(&mut self, now: Time, bytes: u32) {
        self.arrivals.push_back((now, bytes));
        // What came before the last exchange is wanted for the rate before the next handoff.
        let since = self.exchanged.unwrap_or(now).nanos().min(now.nanos());
        let oldest = Time::from_nanos(since.saturating_sub(BEFORE.nanos()));
        while self.arrivals.front().is_some_and(|(at, _)| *at < oldest) {
            self.arrivals.pop_front();
        }
        let start = Time::from_nanos(now.nanos().saturating_sub(AFTER.nanos()));
        let rate = match &self.current {
            Some(it) if it.recovered.is_none() && it.registered.is_some_and(|at| at < now) => self.rate(start, now),
            _ => return,
        };
        if let Some(handoff) = &mut self.current
            && handoff.rate > 0.0
            && rate >= RECOVERED * handoff.rate
        {
            handoff.recovered = Some(now);
        }
    }
}

/// The handoffs of the hosts that move between networks.
#[derive(Clone, Debug, Default)]
pub struct Handoffs {
    /// The nodes of the interfaces.
    nodes: Vec<NodeId>,
    flows: Vec<(NodeId, NodeId)>,
    /// The timeouts of each flow's sender since its last progress.
    timeouts: Vec<u32>,
    hosts: BTreeMap<NodeId, Host>,
    cells: Cells,
    /// Whether their events are a table of their own.
    logs: bool,
    log: MobileLog,
}

impl Handoffs {
    /// A probe that records the events of hosts and agents too, or handoffs only.
    #[must_use]
    pub fn new(logs: bool) -> Self {
        Self { logs, ..Self::default() }
    }

    /// A row for each handoff so far: by host, then by time.
    fn rows(&self, cells: &Cells) -> Vec<HandoffRow> {
        // One that has never heard an agent may have passed through cells all the same.
        let unheard = cells.hosts().filter(|node| !self.hosts.contains_key(node));
        let of_host = |node: NodeId, host: &Host| host.rows(node, &cells.of_host(node));
        let mut rows: Vec<HandoffRow> = self.hosts.iter().flat_map(|(&node, host)| of_host(node, host)).collect();
        rows.extend(unheard.flat_map(|node| of_host(node, &Host::default())));
        rows.sort_by_key(|row| row.host);
        rows
    }

    fn node(&self, address: Address) -> Option<NodeId> {
        self.nodes.get(address.0 as usize).copied()
    }

    /// The hosts at the ends of a packet's flow.
    fn ends(&mut self, flow: FlowId, mut change: impl FnMut(&mut Host)) {
        let Some(&(from, to)) = self.flows.get(flow.index()) else { return };
        for node in [from, to] {
            if let Some(host) = self.hosts.get_mut(&node) {
                change(host);
            }
        }
    }

    /// An agent tells something about a host.
    fn note(&mut self, now: Time, node: NodeId, event: &MobileEvent) {
        let Some(of) = self.node(event.host) else { return };
        if of != node {
            // The home agent's tunnel is for the current handoff, if that has begun.
            if let MobileChange::TunnelBegun { .. } = event.what
                && let Some(handoff) = self.hosts.get_mut(&of).and_then(|host| host.current.as_mut())
                && handoff.requested.is_some()
            {
                handoff.tunnel.get_or_insert(now);
            }
            return;
        }
        match event.what {
            MobileChange::Heard { agent } => {
                if let Some(agent) = self.node(agent) {
                    self.hosts.entry(node).or_default().heard.insert(agent, now);
                }
            }
            MobileChange::Moved { to, .. } => {
                let to = to.and_then(|to| self.node(to));
                let host = self.hosts.entry(node).or_default();
                host.stays.push((now, to));
                match to {
                    Some(to) => host.on_moved(node, to, now),
                    None => host.is_lost = true,
                }
            }
            what => {
                let Some(handoff) = self.hosts.get_mut(&node).and_then(|host| host.current.as_mut()) else { return };
                match what {
                    MobileChange::Requested { .. } => {
                        handoff.requested.get_or_insert(now);
                        // Renewals are no part of it.
                        handoff.requests += u32::from(handoff.registered.is_none());
                    }
                    MobileChange::Registered { .. } => {
                        handoff.registered.get_or_insert(now);
                    }
                    MobileChange::Refused { .. } => handoff.refused += u32::from(handoff.registered.is_none()),
                    _ => {}
                }
            }
        }
    }

    fn on_hop(&mut self, now: Time, from: NodeId, node: NodeId, packet: &Packet) {
        if self.hosts.is_empty() || !matches!(packet.kind(), PacketKind::Data | PacketKind::Ack) {
            return;
        }
        for (at, other, is_up) in [(from, node, true), (node, from, false)] {
            let is_there = |host: &&mut Host| host.agent == Some(other) && !host.is_lost;
            let Some(host) = self.hosts.get_mut(&at).filter(is_there) else { continue };
            host.exchanged = Some(now);
            if let Some(handoff) = &mut host.current {
                let first = if is_up { &mut handoff.up } else { &mut handoff.down };
                if first.is_none() {
                    *first = Some(now);
                    self.log.on_first(now, at, other, is_up);
                }
            }
        }
    }

    fn on_delivered(&mut self, now: Time, packet: &Packet) {
        if !self.hosts.is_empty() && packet.kind() == PacketKind::Data {
            self.ends(packet.flow, |host| host.on_arrival(now, packet.size));
        }
    }

    fn on_lost(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        if !self.hosts.is_empty() && matches!(packet.kind(), PacketKind::Data | PacketKind::Ack) {
            let made = packet.created;
            self.ends(packet.flow, |host| host.on_loss(Loss { at: now, made, reason }));
        }
    }
}

impl Probe for Handoffs {
    fn on_start(&mut self, network: &NetworkView<'_>) {
        self.nodes = network.interfaces.iter().map(|it| it.node).collect();
        self.flows = network.flows.iter().map(|flow| (flow.from, flow.to)).collect();
        self.timeouts = vec![0; self.flows.len()];
        self.cells = Cells::of(network.mobile);
        self.log = MobileLog::of(self.logs, self.nodes.clone());
    }

    fn on_mobile(&mut self, now: Time, node: NodeId, event: &MobileEvent) {
        self.note(now, node, event);
        self.log.on_mobile(now, node, event);
    }

    fn on_leg(&mut self, node: NodeId, leg: &Leg) {
        self.cells.on_leg(node, leg);
    }

    fn on_packet(&mut self, now: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        match event {
            PacketEvent::Hop { from } => self.on_hop(now, from, node, packet),
            PacketEvent::Delivered => self.on_delivered(now, packet),
            PacketEvent::Lost(reason) => self.on_lost(now, packet, reason),
            _ => {}
        }
    }

    fn on_flow(&mut self, now: Time, flow: FlowId, event: &FlowEvent<'_>) {
        let FlowEvent::Sent { state: Some(state), .. } = event else { return };
        if self.hosts.is_empty() {
            return;
        }
        let Some(before) = self.timeouts.get_mut(flow.index()) else { return };
        let more = state.timeouts.saturating_sub(*before);
        *before = state.timeouts;
        if more > 0 {
            self.ends(flow, |host| host.timeouts.extend(std::iter::repeat_n(now, more as usize)));
        }
    }

    fn report(&self, report: &mut Report<'_>) {
        let now = report.now;
        let cells = || {
            let mut cells = self.cells.clone();
            cells.advance(now);
            cells
        };
        report.table(|| self.rows(&cells()));
        report.table(|| self.log.rows(&cells()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    fn loss(seconds: u64) -> Loss {
        Loss { at: at(seconds), made: at(seconds), reason: DropReason::QueueFull }
    }

    #[test]
    fn losses_that_belong_to_no_handoff_are_forgotten() {
        let (host, from, to) = (NodeId(2), NodeId(0), NodeId(1));
        let mut it = Host { agent: Some(from), ..Host::default() };
        for second in 0..3000 {
            it.exchanged = Some(at(second));
            it.on_loss(loss(second));
        }
        assert!(it.losses.len() < 2 * MANY_LOSSES, "{}", it.losses.len());
        // Those since the last exchange are kept, however many they are.
        for second in 3000..4000 {
            it.on_loss(loss(second));
        }
        it.on_moved(host, to, at(4000));
        for second in 4000..4300 {
            it.on_loss(loss(second));
        }
        it.close(host, at(5000));
        let rows = it.rows(host, &[]);
        assert_eq!(rows.len(), 1);
        // From 2999 s, the last exchange, to 4299 s.
        assert_eq!((rows[0].lost, rows[0].lost_reasons.as_str()), (1301, "queue_full 1301"));
        assert!(it.losses.is_empty());
    }
}
