//! The tables of a run, at its end and before.

use std::collections::{BTreeMap, BTreeSet};

use super::World;
use super::flow::Flow;
use crate::address::NodeId;
use crate::agent::Agent as _;
use crate::channel::AnyChannel;
use crate::channel::energy::Spent;
use crate::context::{DropReason, Shares};
use crate::link::queue::MARKS;
use crate::mobility::Mobility as _;
use crate::node::{Attachment, Node};
use crate::observe::{
    DropRow, FlowCounts, FlowRow, NodeCounts, NodeRow, NodeTable, Outcome, OverheadRow, PacketsLeft, Probe, own_columns,
};
use crate::packet::{Body, FlowId, Packet, PacketKind};
use crate::params::Metric;
use crate::phy::reception::Lost;

/// The places of the counters of models among [`own_columns`], each found once for a table.
#[derive(Default)]
struct OwnPlaces(Vec<(&'static [Metric], Vec<usize>)>);

impl OwnPlaces {
    fn of(&mut self, metrics: &'static [Metric]) -> &[usize] {
        let known = self.0.iter().position(|(it, _)| std::ptr::eq(*it, metrics));
        let known = known.unwrap_or_else(|| {
            let place = |metric: &Metric| own_columns().iter().position(|it| it.metric.name == metric.name);
            let places = metrics.iter().map(|it| place(it).expect("every counter of a model has a column"));
            self.0.push((metrics, places.collect()));
            self.0.len() - 1
        });
        &self.0[known].1
    }
}

impl<P: Probe> World<P> {
    /// The results up to now: all tables, or the one with this name.
    #[must_use]
    pub fn outcome(&self, only: Option<&str>) -> Outcome {
        let mut outcome = Outcome {
            digest: self.cx.digest.value(),
            events: self.events_so_far(),
            frames: self.channels.iter().map(AnyChannel::frames).sum(),
            receptions: self.edges() / 2,
            packets: self.cx.ledger.originated,
            simulated: self.cx.now.seconds(),
            cancelled: self.progress.cancelled || self.cx.now < self.clock.end,
            ..Outcome::default()
        };
        outcome.fill(only, self.cx.now, |report| {
            report.table(|| self.flows());
            report.table(|| self.nodes().collect::<NodeTable>());
            report.table(|| self.drops());
            report.table(|| self.sampling.series.clone());
            report.table(|| self.overhead());
            self.probe.report(report);
        });
        outcome
    }

    /// Edges of transmissions at radios.
    fn edges(&self) -> u64 {
        self.channels.iter().map(AnyChannel::edges).sum()
    }

    /// The number of events so far, as [`Outcome::events`] counts them.
    pub(super) fn events_so_far(&self) -> u64 {
        self.clock.events - self.clock.queued_edges + self.edges()
    }

    /// A row for each flow, as of now.
    #[must_use]
    pub fn flows(&self) -> Vec<FlowRow> {
        self.flow_counts().iter().map(FlowRow::of).collect()
    }

    /// The counts of each flow up to now.
    #[must_use]
    pub fn flow_counts(&self) -> Vec<FlowCounts<'_>> {
        let mut left = vec![PacketsLeft::default(); self.flows.len()];
        let mut count = |packet: &Packet, field: fn(&mut PacketsLeft) -> &mut u64| {
            if packet.kind() == PacketKind::Data
                && let Some(left) = left.get_mut(packet.flow.index())
            {
                *field(left) += 1;
            }
        };
        self.under_way().for_each(|packet| count(packet, |left| &mut left.anywhere));
        self.queued().for_each(|packet| count(packet, |left| &mut left.queued));
        self.count_left_for_groups(&mut left);
        let spent = self.cx.spending.as_ref().map(|spending| spending.shares(self.cx.now));
        let spent = |flow: usize| spent.as_ref().and_then(|spent| spent.get(flow)).copied();
        left.into_iter().enumerate().map(|(flow, left)| self.counts_of(flow, left, spent(flow))).collect()
    }

    /// Counts, for each receiver in a group, the datagrams of which a copy is under way and none has arrived there.
    fn count_left_for_groups(&self, left: &mut [PacketsLeft]) {
        let mut under_way: BTreeMap<FlowId, BTreeSet<u64>> = BTreeMap::new();
        for packet in self.under_way().filter(|packet| packet.destination.is_wide_group()) {
            if let Body::Udp(header) = &packet.body {
                under_way.entry(packet.flow).or_default().insert(header.sequence);
            }
        }
        for (flow, left) in self.flows.iter().zip(left) {
            if let Some(group) = &flow.group {
                let of_packets = under_way.get(&group.first);
                left.anywhere = of_packets.map_or(0, |all| all.iter().filter(|it| !group.has(**it)).count() as u64);
            }
        }
    }

    /// A row for each node, as of now.
    #[must_use]
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeRow> {
        let mut places = OwnPlaces::default();
        (0..self.nodes.len()).map(move |node| self.node_row(node, &mut places))
    }

    fn counts_of(&self, number: usize, left: PacketsLeft, energy: Option<Shares>) -> FlowCounts<'_> {
        let flow: &Flow = &self.flows[number];
        let (all, before, meter) = (self.counts(number), &flow.before, &flow.meter);
        let mut dropped = all.dropped.since(&before.dropped);
        if flow.group.is_some() {
            // A datagram that one receiver got is lost for another one.
            dropped.packets = meter.sent.saturating_sub(meter.unique + left.anywhere);
        }
        FlowCounts {
            flow: number as u32,
            answers: flow.answers,
            ends: (flow.from, flow.to),
            transport: flow.name.clone(),
            label: flow.label.clone(),
            routing: self.nodes[flow.from.index()].routing_protocol,
            meter,
            unique_bytes: if flow.segment > 0 { meter.unique * flow.segment } else { meter.delivered },
            dropped,
            left,
            numbered: self.numbered_measured(),
            sender: all.sender.since(&before.sender),
            phases: all.phases.since(&before.phases),
            route_changes: flow.route_changes,
            cwnd_mean: (flow.segment > 0).then(|| flow.cwnd.mean(self.cx.now)).flatten(),
            energy,
            until: self.cx.now,
        }
    }

    /// The number of packets so far that ns-2 would number. ns-2 numbers neither AODV's messages nor the messages of
    /// address resolution.
    pub(super) fn numbered(&self) -> u64 {
        let of_kind = |kind: PacketKind| self.cx.ledger.originated_by_kind[kind as usize];
        let routing = if self.nodes.iter().any(|node| !node.numbered_by_ns2) {
            0
        } else {
            of_kind(PacketKind::Routing) + self.cx.ledger.numbered_only
        };
        of_kind(PacketKind::Data) + of_kind(PacketKind::Ack) + of_kind(PacketKind::External) + routing
    }

    /// The packets since `measure.from` that ns-2 would number.
    fn numbered_measured(&self) -> u64 {
        self.numbered() - self.sampling.numbered_before
    }

    /// The packets that are on their way now, each once, however many copies there are. Remaining copies of packets
    /// that arrived are not among them.
    pub fn under_way(&self) -> impl Iterator<Item = &Packet> {
        let mut counted = Vec::new();
        let packets = self.cx.packets.iter();
        packets.filter(move |&(id, _)| self.cx.copies.counts(id, &mut counted)).map(|(_, packet)| packet)
    }

    /// The packets that are in interface queues of radios; copies count.
    pub fn queued(&self) -> impl Iterator<Item = &Packet> {
        self.nodes
            .iter()
            .flat_map(Node::links)
            .flat_map(|link| link.queue().iter())
            .map(|(packet, _)| &self.cx.packets[packet])
    }

    fn node_row(&self, number: usize, places: &mut OwnPlaces) -> NodeRow {
        let node = &self.nodes[number];
        let (mut frames, mut data_frames, mut broadcasts) = (0, 0, 0);
        let mut lost = Lost::default();
        let mut own = vec![None; own_columns().len()];
        for (&place, value) in places.of(node.mobility.metrics()).iter().zip(node.mobility.counts()) {
            own[place] = Some(value);
        }
        for agent in &node.agents.0 {
            for (&place, value) in places.of(agent.metrics()).iter().zip(agent.counts()) {
                own[place] = own[place].or(value);
            }
        }
        let mut spent: Option<Spent> = None;
        let mut received = None;
        let (mut queue_mean, mut queue_max) = (0.0, 0);
        for interface in node.interfaces() {
            if let Attachment::Radio { channel, station } = self.topology.attachment(interface) {
                let it = self.channels[channel.index()].station(station as usize, self.cx.now);
                frames += it.frames;
                data_frames += it.counted.data;
                broadcasts += it.counted.broadcasts;
                for (&place, value) in places.of(it.own.0).iter().zip(it.own.1) {
                    *own[place].get_or_insert(0) += value;
                }
                if let Some(radio) = it.spent {
                    *spent.get_or_insert_default() += radio;
                }
                if let Some(spending) = &self.cx.spending {
                    *received.get_or_insert(0) += spending.received(interface);
                }
                lost.collisions += it.lost.collisions;
                lost.bit_errors += it.lost.bit_errors;
            }
        }
        let wire = |interface| match self.topology.attachment(interface) {
            Attachment::Wire { wire, direction } => self.wires[wire].marks(direction),
            _ => None,
        };
        let marks = node.links().filter_map(|link| link.queue().marks()).chain(node.interfaces().filter_map(wire));
        let marks = marks.reduce(|all, its| all + its);
        own[places.of(&[MARKS])[0]] = marks;
        for link in node.links() {
            let queue = link.queue().statistics(self.cx.now);
            queue_mean += queue.mean;
            queue_max = queue_max.max(queue.max as u64);
        }
        let id = NodeId(number as u32);
        let dropped = self.cx.drops.of(id).map(|(_, _, count)| count).sum();
        let overhead = self.cx.overhead.of(id);
        let (mut data_packets, mut data_bytes) = (0, 0);
        for flow in self.flows.iter().filter(|flow| flow.to == id) {
            data_packets += flow.meter.total_unique();
            data_bytes += flow.meter.total_delivered();
        }
        NodeRow::of(NodeCounts {
            node: id,
            now: self.cx.now,
            forwarded: node.forwarded,
            routing_packets: node.routing_packets,
            routing_bytes: node.routing_bytes,
            piggybacked_bytes: overhead.iter().map(|(_, _, tally)| tally.piggybacked_bytes).sum(),
            data_packets,
            data_bytes,
            frames,
            data_frames,
            broadcasts,
            lost,
            queue_mean,
            queue_max,
            dropped,
            icmp_errors: node.icmp_errors,
            tunnelled: self.cx.tunnelled.get(number).copied().unwrap_or_default(),
            spent,
            is_metered: self.energy.is_metered,
            received,
            capacity: self.energy.capacity(id),
            died: self.energy.died(id),
            own,
        })
    }

    /// A row for each node and type of routing or control message that it has sent or received so far.
    #[must_use]
    pub fn overhead(&self) -> Vec<OverheadRow> {
        let of_node = |node: u32| {
            self.cx.overhead.of(NodeId(node)).into_iter().map(move |(kind, message, tally)| OverheadRow {
                node,
                kind: kind.name(),
                message,
                sent: tally.sent,
                sent_bytes: tally.bytes,
                sent_radio: tally.by_radio,
                sent_radio_bytes: tally.radio_bytes,
                sent_wire: tally.by_wire,
                sent_wire_bytes: tally.wire_bytes,
                originated: tally.originated,
                originated_bytes: tally.originated_bytes,
                piggybacked: tally.piggybacked,
                piggybacked_bytes: tally.piggybacked_bytes,
                received: tally.received,
            })
        };
        (0..self.nodes.len() as u32).flat_map(of_node).collect()
    }

    /// A row for each node, kind of packet and reason with a drop so far.
    #[must_use]
    pub fn drops(&self) -> Vec<DropRow> {
        let row = |node, (kind, reason, count): (PacketKind, DropReason, u64)| DropRow {
            node,
            kind: kind.name(),
            reason: reason.name(),
            count,
        };
        let of_node = |node| self.cx.drops.of(NodeId(node)).map(move |it| row(node, it));
        (0..self.nodes.len() as u32).flat_map(of_node).collect()
    }
}
